import type { ModelPart, ModelSettings } from "../../src/model/request.ts";
import type { LanguageModel } from "../../src/providers/provider.ts";
import type { WireEvent, WireResponse } from "./server.ts";

/** A stream as its provider sends it, and what must come of it. */
export interface WireStory {
  readonly events: readonly WireEvent[];
  readonly parts: readonly ModelPart[];
}

/** One provider: its real package, and small streams written by hand in its format. */
export interface ProviderWire {
  readonly name: string;
  model(url: string, modelId?: string): LanguageModel;
  readonly settings?: ModelSettings;
  readonly text: WireStory;
  readonly calls: WireStory;
  readonly reasoning: WireStory;
  /** What the next request to the same route must hold, and one to another route must not. */
  readonly secrets: readonly string[];
  /** A few deltas, and then an error instead of the end. */
  readonly broken: WireStory;
  readonly limited: WireResponse;
}

export const usage = (input: number, cacheRead: number, cacheWrite: number, output: number, reasoning: number) => ({
  input,
  cacheRead,
  cacheWrite,
  output,
  reasoning,
  unknownCalls: 0,
});
