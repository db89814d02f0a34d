import { optionsSchema } from "../../plugin.ts";

export interface RollingHistoryOptions {
  /** The size of the model's window, in tokens. Default 128,000. */
  readonly window?: number | undefined;
  /** The share of the window above which the request has only the names of older attachments. Default 0.6. */
  readonly pruneAt?: number | undefined;
  /**
   * How many tokens stay free. A request that leaves less starts a compaction. Default 20,000, or a quarter of a small
   * window.
   */
  readonly reserve?: number | undefined;
  /**
   * How many tokens of the latest messages a compaction keeps unchanged. Default 20,000, or a quarter of the tokens
   * that are not reserved.
   */
  readonly tail?: number | undefined;
  /** How many of the user's latest turns keep their attachments. Default 2. */
  readonly keepTurns?: number | undefined;
  /** The name of the model that writes summaries. Default: the session's model. */
  readonly model?: string | undefined;
  /**
   * Whether to compact when little room is left. Default true. With false only `session.compact()` and an overflow
   * start a compaction.
   */
  readonly auto?: boolean | undefined;
  /** A text for the model that writes summaries, added to its prompt. */
  readonly instructions?: string | undefined;
}

export interface Settings {
  readonly window: number;
  readonly pruneAt: number;
  readonly reserve: number;
  readonly tail: number;
  readonly keepTurns: number;
  readonly model: string | undefined;
  readonly auto: boolean;
  readonly instructions: string;
}

/** The state that a reopened session needs. */
export interface HistoryState {
  /** The tokens of a request without the conversation: system prompt, tools, volatile parts. */
  readonly around: number;
  /** The id of the first message of the frame to which `error` and `isPruned` apply. */
  readonly frame: string | null;
  /** The tokens that the provider reported in this frame minus the estimated ones. */
  readonly error: number;
  /** Whether requests of this frame have only the names of older attachments. */
  readonly isPruned: boolean;
}

const WINDOW_MIN = 1_000;
const WINDOW_MAX = 100_000_000;

export const OPTIONS = optionsSchema<RollingHistoryOptions, Settings>((given) => {
  given.only("window", "pruneAt", "reserve", "tail", "keepTurns", "model", "auto", "instructions");
  const window = given.whole("window", { min: WINDOW_MIN, max: WINDOW_MAX }, 128_000);
  const reserve = given.whole("reserve", { max: window - 1 }, Math.min(20_000, Math.floor(window / 4)));
  const rest = window - reserve;
  return {
    window,
    pruneAt: given.checked("pruneAt", isShare, "above 0 and at most 1", 0.6),
    reserve,
    tail: given.whole("tail", { max: rest }, Math.min(20_000, Math.floor(rest / 4))),
    keepTurns: given.whole("keepTurns", { min: 1, max: 1_000 }, 2),
    model: given.checked("model", isWords, "a text", undefined),
    auto: given.flag("auto", true),
    instructions: given.checked("instructions", isWords, "a text", ""),
  };
});

export const STATE = optionsSchema<unknown, HistoryState>((given) => ({
  around: given.checked("around", isNumber, "a number", 0),
  frame: given.checked("frame", isFrame, "the id of a message", null),
  error: given.checked("error", isNumber, "a number", 0),
  isPruned: given.flag("isPruned", false),
}));

const isWords = (given: unknown): given is string => typeof given === "string" && given !== "";
const isFrame = (given: unknown): given is string | null => given === null || typeof given === "string";
const isNumber = (given: unknown): given is number => Number.isFinite(given);
const isShare = (given: unknown): given is number => isNumber(given) && given > 0 && given <= 1;
