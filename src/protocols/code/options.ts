import { extension } from "../../kernel/extension.ts";
import { isObject, type Json, type JsonObject } from "../../model/json.ts";
import { optionsSchema } from "../../model/options-schema.ts";
import type { Schema } from "../../model/schema.ts";
import type { RoundView } from "../../turn/driver.ts";

/** How a turn may end. `prose`: with an answer or with `finish(value)`. `finish`: only with `finish(value)`. */
export type Ending = "prose" | "finish";

export interface CodeModeOptions {
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

/** The driver's options. They are recorded with the turn. */
export interface DriverOptions {
  readonly ending: Ending;
  readonly outputCharsMax: number;
  readonly inputCharsMax: number;
  readonly contextTokens: number;
}
export interface Settings extends DriverOptions {
  readonly declarationCharsMax: number;
}

const DEFAULTS: Settings = {
  ending: "prose",
  declarationCharsMax: 24_000,
  outputCharsMax: 20_000,
  inputCharsMax: 10_000,
  contextTokens: 100_000,
};

export const OPTIONS = optionsSchema<CodeModeOptions, Settings>((given) => {
  given.only("ending", "declarationCharsMax", "outputCharsMax", "inputCharsMax", "contextTokens");
  return {
    ending: given.oneOf("ending", ["prose", "finish"], DEFAULTS.ending),
    declarationCharsMax: given.whole("declarationCharsMax", { min: 500 }, DEFAULTS.declarationCharsMax),
    outputCharsMax: given.whole("outputCharsMax", { min: 200 }, DEFAULTS.outputCharsMax),
    inputCharsMax: given.whole("inputCharsMax", { min: 200 }, DEFAULTS.inputCharsMax),
    contextTokens: given.whole("contextTokens", { min: 1_000 }, DEFAULTS.contextTokens),
  };
});

const ID = "bowline/code-mode/ending";
const isEnding = (value: unknown): value is Ending => value === "prose" || value === "finish";

const ENDING: Schema<Ending> = {
  "~standard": {
    version: 1,
    vendor: "bowline",
    validate: (value) => (isEnding(value) ? { value } : { issues: [{ message: 'it must be "prose" or "finish"' }] }),
  },
};

/**
 * How one turn may end, or all later turns of a session: `session.turn("…", { extensions: [ending.of("finish")] })`,
 * `session.extend(ending.of("finish"))`.
 */
export const ending = extension(ID, ENDING);

/** Returns the options of a turn as recorded with it. */
export function optionsIn({
  options = DEFAULTS,
  extensions,
}: Pick<RoundView, "extensions"> & { readonly options?: unknown }): DriverOptions {
  const own = { ...DEFAULTS, ...(options as Partial<DriverOptions> | null) };
  const ofTurn = extensions?.[ID];
  return isEnding(ofTurn) ? { ...own, ending: ofTurn } : own;
}

/** Returns the options to store. The ending stays as `session.extend` set it. */
export function storedOptions({ declarationCharsMax: _, ...settings }: Settings, before: Json | undefined): JsonObject {
  const extended = isObject(before) ? (before as JsonObject).extended : undefined;
  return isEnding(extended) ? { ...settings, ending: extended, extended } : { ...settings };
}

export const extended = (before: Json | undefined, value: Json): JsonObject => ({
  ...(isObject(before) ? (before as JsonObject) : {}),
  ending: value,
  extended: value,
});
