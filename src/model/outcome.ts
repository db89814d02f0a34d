import { type Code, type Details, RuntimeError } from "./errors.ts";
import type { Json } from "./json.ts";
import type { Message } from "./message.ts";

/** How a turn ended. Every turn ends as one of these, and each of them is committed. */
export type TurnOutcome<Value = Json> =
  | { readonly kind: "answered"; readonly message: Message; readonly text: string }
  | { readonly kind: "finished"; readonly by: "model" | "tool"; readonly value: Value }
  | Stopped
  | Failed;

/**
 * Something stopped the turn: a cancel, a limit, a plugin, an incomplete reply, or an input that the model cannot
 * process.
 */
export interface Stopped {
  readonly kind: "stopped";
  readonly by: "cancel" | "limit" | "plugin" | "incomplete" | "input";
  readonly code: Code | (string & {});
  readonly reason: string;
  /** The text of the model before the stop. It stays in history. */
  readonly text: string;
}

/** The turn ended because of an error. Its messages before the error stay in history. */
export interface Failed {
  readonly kind: "failed";
  readonly by: "provider" | "tool" | "plugin" | "runtime";
  readonly code: Code | (string & {});
  readonly reason: string;
  readonly text: string;
}

/** The text of an answer, or the value of a finished turn: a string unchanged, any other value as JSON. */
export function textOf(
  result: Omit<Details<"turn.unanswered">, "outcome"> & { readonly outcome: TurnOutcome },
): string {
  const { outcome } = result;
  if (outcome.kind === "answered") return outcome.text;
  if (outcome.kind !== "finished") throw new RuntimeError("turn.unanswered", { ...result, outcome });
  return typeof outcome.value === "string" ? outcome.value : JSON.stringify(outcome.value);
}

/** An ending that still lacks `text`, which the machine adds from the log. */
export type Ending = Omit<Stopped, "text"> | Omit<Failed, "text">;

export interface CancelRequest {
  readonly requestId: string;
  readonly reason: string;
  readonly at: number;
}
/** The result of a cancel: the turn will stop, was already cancelled, had already ended, or is unknown. */
export type CancelAnswer =
  | { readonly kind: "requested"; readonly request: CancelRequest }
  | { readonly kind: "already-requested"; readonly request: CancelRequest }
  | { readonly kind: "already-completed"; readonly outcome: TurnOutcome }
  | { readonly kind: "unknown" };
