import type { Schema } from "../../index.ts";

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

type Given = { readonly [key: string]: unknown };

class Wrong extends Error {}

const schemaOf = <In, Out>(parse: (given: Given) => Out): Schema<In, Out> => ({
  "~standard": {
    version: 1,
    vendor: "bowline",
    validate(given) {
      if (typeof given !== "object" || given === null || Array.isArray(given))
        return { issues: [{ message: "it must be an object" }] };
      try {
        return { value: parse(given as Given) };
      } catch (error) {
        if (error instanceof Wrong) return { issues: [{ message: error.message }] };
        throw error;
      }
    },
  },
});

export const OPTIONS = schemaOf<RollingHistoryOptions, Settings>(
  ({ window: given, pruneAt = 0.6, reserve: wanted, tail, keepTurns, model, auto = true, instructions, ...others }) => {
    const [other] = Object.keys(others);
    if (other !== undefined) throw new Wrong(`there is no option ${other}`);
    if (!(typeof pruneAt === "number" && pruneAt > 0 && pruneAt <= 1)) throw new Wrong("pruneAt must be in (0, 1]");
    if (typeof auto !== "boolean") throw new Wrong("auto must be true or false");
    const window = whole(given, "window", 128_000, WINDOW_MIN, WINDOW_MAX);
    const reserve = whole(wanted, "reserve", Math.min(20_000, Math.floor(window / 4)), 0, window - 1);
    const rest = window - reserve;
    return {
      window,
      pruneAt,
      reserve,
      tail: whole(tail, "tail", Math.min(20_000, Math.floor(rest / 4)), 0, rest),
      keepTurns: whole(keepTurns, "keepTurns", 2, 1, 1_000),
      model: text(model, "model"),
      auto,
      instructions: text(instructions, "instructions") ?? "",
    };
  },
);

export const STATE = schemaOf<unknown, Kept>(({ around = 0, frame = null, error = 0, isPruned = false }) => {
  if (!Number.isFinite(around) || !Number.isFinite(error)) throw new Wrong("around and error must be numbers");
  if (frame !== null && typeof frame !== "string") throw new Wrong("frame must be the id of a message");
  if (typeof isPruned !== "boolean") throw new Wrong("isPruned must be true or false");
  return { around: around as number, frame, error: error as number, isPruned };
});

function text(given: unknown, what: string): string | undefined {
  if (given === undefined || (typeof given === "string" && given !== "")) return given;
  throw new Wrong(`${what} must be a text`);
}

function whole(given: unknown, what: string, unlessGiven: number, min: number, max: number): number {
  if (given === undefined) return unlessGiven;
  if (typeof given === "number" && Number.isInteger(given) && given >= min && given <= max) return given;
  throw new Wrong(`${what} must be a whole number from ${min} to ${max}`);
}
