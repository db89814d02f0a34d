import { Extension } from "../../kernel/extension.js";
/** How a turn may end. `prose`: with an answer or with `finish(value)`. `finish`: only with `finish(value)`. */
type Ending = "prose" | "finish";
interface CodeModeOptions {
  /**
   * How turns may end; a turn can override it. A turn with a typed `output` always ends with `finish`. Default:
   * `prose`.
   */
  readonly ending?: Ending | undefined;
  /** Maximum characters of tool declarations in the prompt; `tools.search` finds the other tools. Default: 24,000. */
  readonly declarationCharsMax?: number | undefined;
  /** Maximum characters of a cell's output that the model sees; code can read all of it. Default: 20,000. */
  readonly outputCharsMax?: number | undefined;
  /** Maximum characters of a message that the model sees; code can read all of it. Default: 10,000. */
  readonly inputCharsMax?: number | undefined;
  /** The model is asked to continue in a fresh frame when about this many tokens are used. Default: 100,000. */
  readonly contextTokens?: number | undefined;
}
/**
 * How one turn may end, or all later turns of a session: `session.turn("…", { extensions: [ending.of("finish")] })`,
 * `session.extend(ending.of("finish"))`.
 */
declare const ending: Extension<Ending, any>;
export { CodeModeOptions, Ending, ending };
