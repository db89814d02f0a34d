import { ModelSettings } from "./request.js";
import { PromptPart } from "./prompt.js";
/** What a session keeps about how it is run. A name stands for the model, never an object. */
interface SessionConfig {
  /** `provider/model`, or the name a resolver knows. */
  readonly model: string;
  readonly instructions?: string;
  /** Parts of the prompt besides the instructions. */
  readonly prompt?: readonly PromptPart[];
  readonly settings?: ModelSettings;
  readonly budget?: Budget;
  /** Inputs that wait for turns of their own are taken into one turn, up to 65 of them. */
  readonly mergesInputs?: boolean;
  /** For people: what this session, or this branch, is. A fork begins without. */
  readonly label?: string;
}
/** What may be spent; checked before each model call. */
interface Allowance {
  /** Of all kinds, in and out. */
  readonly tokens?: number;
  /** In the currency of the price table. */
  readonly cost?: number;
}
interface Budget {
  /** Of one turn, with what its tools and hooks spend on completions. */
  readonly turn?: Allowance;
  /** Of a session and all that descend from it; children are held to it too. */
  readonly tree?: Allowance;
  /** The last round of `roundsMax` is for an answer: the model is told so, and has no tools in it. */
  readonly keepsAnswer?: boolean;
}
export { Allowance, Budget, SessionConfig };
