import { Extension } from "../../kernel/extension.js";
/** How a turn may end: `prose`, by an answer or by `finish(value)`; `finish`, by `finish(value)` alone. */
type Ending = "prose" | "finish";
interface CodeModeOptions {
  /** How turns may end, unless one says otherwise. A turn with a typed `output` ends by `finish` in any case. Default: `prose`. */
  readonly ending?: Ending | undefined;
  /** Characters of the tools' declarations in the prompt; `tools.search` finds the rest. Default 24,000. */
  readonly declarationCharsMax?: number | undefined;
  /** Characters that the model is shown of what a cell printed; code can read all of it. Default 20,000. */
  readonly outputCharsMax?: number | undefined;
  /** Characters that the model is shown of a message; code can read all of it. Default 10,000. */
  readonly inputCharsMax?: number | undefined;
  /** The model is told to hand over to a fresh frame when about so many tokens are used. Default 100,000. */
  readonly contextTokens?: number | undefined;
}
/**
 * How one turn may end, or a session's turns from now on: `session.turn("…", { extensions: [ending.of("finish")] })`,
 * `session.extend(ending.of("finish"))`.
 */
declare const ending: Extension<Ending, any>;
export { CodeModeOptions, Ending, ending };
