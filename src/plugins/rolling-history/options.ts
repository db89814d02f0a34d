import { optionsSchema } from "../../index.ts";

export interface RollingHistoryOptions {
  /** Tokens that the model can be sent; 128,000 unless given. */
  readonly window?: number;
  /** The share of the window from which on older attachments are only named; 0.6 unless given. */
  readonly pruneAt?: number;
  /** Tokens to keep free for what comes next: above the rest of the window it compacts. 20,000 unless given, or a quarter. */
  readonly reserve?: number;
  /** Tokens of the latest conversation that are carried over as they are; 20,000 unless given, or a quarter of the rest. */
  readonly tail?: number;
  /** The latest turns of the user that keep their attachments; 2 unless given. */
  readonly keepTurns?: number;
  /** The name of the model that summarises; the session's unless given. */
  readonly model?: string;
  /** False leaves it to `session.compact()`, and to a provider that refuses a request because it is too long. */
  readonly auto?: boolean;
  /** What a summary is to heed besides. */
  readonly instructions?: string;
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

/** What must be known when the session is opened again. */
export interface Kept {
  /** Tokens of a request besides the conversation: system prompt, tools, what is said for one round. */
  readonly around: number;
  /** The first message of the frame that the rest is about. */
  readonly frame: string | null;
  /** By how much estimates are wrong there, going by what the provider reported. */
  readonly error: number;
  /** Whether its older attachments are only named. */
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

export const STATE = optionsSchema<unknown, Kept>((given) => ({
  around: given.checked("around", isNumber, "a number", 0),
  frame: given.checked("frame", isFrame, "the id of a message", null),
  error: given.checked("error", isNumber, "a number", 0),
  isPruned: given.flag("isPruned", false),
}));

const isWords = (given: unknown): given is string => typeof given === "string" && given !== "";
const isFrame = (given: unknown): given is string | null => given === null || typeof given === "string";
const isNumber = (given: unknown): given is number => Number.isFinite(given);
const isShare = (given: unknown): given is number => isNumber(given) && given > 0 && given <= 1;
