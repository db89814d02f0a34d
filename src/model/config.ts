import type { PromptPart } from "./prompt.ts";
import type { ModelSettings } from "./request.ts";

/** The settings of a session. `model` is a name and not an object, because the settings are stored. */
export interface SessionConfig {
  /** `provider/model`, or a name that the runtime's `models` function resolves. */
  readonly model: string;
  /** The text of the system prompt. */
  readonly instructions?: string | undefined;
  /** Prompt parts in addition to `instructions`. */
  readonly prompt?: readonly PromptPart[] | undefined;
  /** Temperature, output limit and similar settings of every model call of the session. */
  readonly settings?: ModelSettings | undefined;
  /** What turns and descendants can spend. Default: no budget. */
  readonly budget?: Budget | undefined;
  /**
   * Puts waiting inputs together into one turn, up to 65 at a time. Default: false, one turn for each input.
   */
  readonly mergesInputs?: boolean | undefined;
  /** A name for people to read. A fork starts without one. */
  readonly label?: string | undefined;
}

/** An upper bound on spending. It is checked before each model call, so the call that exceeds it still runs. */
export interface Allowance {
  /** Tokens of all kinds together, input and output. */
  readonly tokens?: number | undefined;
  /** Money, in the currency of the price table (`prices`). */
  readonly cost?: number | undefined;
}
/** How much a session can spend, and whether its last round is reserved for an answer. */
export interface Budget {
  /** For each turn, including the completions of its tools and hooks. */
  readonly turn?: Allowance | undefined;
  /** For the session and all its descendants together. It stops children too. */
  readonly tree?: Allowance | undefined;
  /**
   * Reserves the last of `roundsMax` rounds for an answer: in that round the model gets no tools, and reads that it
   * must answer.
   */
  readonly keepsAnswer?: boolean | undefined;
  /**
   * What to do if a provider does not report the usage of a call. `estimate` counts a quarter of the bytes sent and
   * received
   * as tokens. `stop` ends the turn before its next call. Default: `estimate`.
   */
  readonly unknown?: "estimate" | "stop" | undefined;
}
