import { extension } from "../../kernel/extension.ts";
import { isObject, type Json, type JsonObject } from "../../model/json.ts";
import { optionsSchema } from "../../model/options-schema.ts";
import type { Schema } from "../../model/schema.ts";
import type { RoundView } from "../../turn/driver.ts";

/** How a turn may end: `prose`, by an answer or by `finish(value)`; `finish`, by `finish(value)` alone. */
export type Ending = "prose" | "finish";

export interface CodeModeOptions {
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

/** What the driver depends on: it comes to it as data, recorded with the turn. */
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
 * How one turn may end, or a session's turns from now on: `session.turn("…", { extensions: [ending.of("finish")] })`,
 * `session.extend(ending.of("finish"))`.
 */
export const ending = extension(ID, ENDING);

/** The options that hold in a turn, as they were recorded with it. */
export function optionsIn({
  options = DEFAULTS,
  extensions,
}: Pick<RoundView, "extensions"> & { readonly options?: unknown }): DriverOptions {
  const own = { ...DEFAULTS, ...(options as Partial<DriverOptions> | null) };
  const ofTurn = extensions?.[ID];
  return isEnding(ofTurn) ? { ...own, ending: ofTurn } : own;
}

/** The options as they are kept. How turns end stays as `session.extend` left it. */
export function kept({ declarationCharsMax: _, ...settings }: Settings, before: Json | undefined): JsonObject {
  const extended = isObject(before) ? (before as JsonObject).extended : undefined;
  return isEnding(extended) ? { ...settings, ending: extended, extended } : { ...settings };
}

export const extended = (before: Json | undefined, value: Json): JsonObject => ({
  ...(isObject(before) ? (before as JsonObject) : {}),
  ending: value,
  extended: value,
});
