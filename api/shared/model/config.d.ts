import { ModelSettings } from "./request.js";
import { PromptPart } from "./prompt.js";
/** The settings that a session keeps. They are stored, so the model is given by name, never as an object. */
interface SessionConfig {
  /** `provider/model`, or a name that the runtime's `models` resolver knows. */
  readonly model: string;
  /** The system prompt's own text. */
  readonly instructions?: string | undefined;
  /** Prompt parts in addition to `instructions`. */
  readonly prompt?: readonly PromptPart[] | undefined;
  /** Temperature, output limit and the like, for every model call of the session. */
  readonly settings?: ModelSettings | undefined;
  /** What turns and descendants may spend. Default: no bound of its own. */
  readonly budget?: Budget | undefined;
  /**
   * Takes inputs that wait for turns of their own into one turn, up to 65 at a time. Default: false, one turn per
   * input.
   */
  readonly mergesInputs?: boolean | undefined;
  /** A name for people to read. A fork starts without one. */
  readonly label?: string | undefined;
}
/**
 * An upper bound on spending, checked before each model call: the call that crosses it is still made, the next is not.
 */
interface Allowance {
  /** Tokens of all kinds together, input and output. */
  readonly tokens?: number | undefined;
  /** Money, in the currency of the price table (`prices`). */
  readonly cost?: number | undefined;
}
/** How much a session may spend, and whether its last round is saved for an answer. */
interface Budget {
  /** For each turn, including the completions that its tools and hooks ask for. */
  readonly turn?: Allowance | undefined;
  /** For the session and all its descendants together. Children are stopped by it too. */
  readonly tree?: Allowance | undefined;
  /** Reserves the last of `roundsMax` rounds for an answer: the model is told so and gets no tools in that round. */
  readonly keepsAnswer?: boolean | undefined;
  /**
   * What to do when a provider does not say what a call used. `estimate` counts a quarter of the bytes sent and received
   * as tokens. `stop` ends the turn before its next call. Default: `estimate`.
   */
  readonly unknown?: "estimate" | "stop" | undefined;
}
export { Allowance, Budget, SessionConfig };
