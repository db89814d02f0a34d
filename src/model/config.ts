import type { PromptPart } from "./prompt.ts";
import type { ModelSettings } from "./request.ts";

/** What a session keeps about how it is run. A name stands for the model, never an object. */
export interface SessionConfig {
  /** `provider/model`, or the name a resolver knows. */
  readonly model: string;
  readonly instructions?: string;
  /** Parts of the prompt besides the instructions. */
  readonly prompt?: readonly PromptPart[];
  readonly settings?: ModelSettings;
}
