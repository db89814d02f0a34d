import type { Code } from "./errors.ts";
import type { Json } from "./json.ts";
import type { Message } from "./message.ts";

/** How a turn ended. Closed: every ending is one of these, and each of them is committed. */
export type TurnOutcome<Value = Json> =
  | { readonly kind: "answered"; readonly message: Message; readonly text: string }
  | { readonly kind: "finished"; readonly by: "model" | "tool"; readonly value: Value }
  | Stopped
  | Failed;

export interface Stopped {
  readonly kind: "stopped";
  readonly by: "cancel" | "limit" | "plugin" | "incomplete" | "input";
  readonly code: Code | (string & {});
  readonly reason: string;
  /** What was said so far, kept. */
  readonly text: string;
}

export interface Failed {
  readonly kind: "failed";
  readonly by: "provider" | "tool" | "plugin" | "runtime";
  readonly code: Code | (string & {});
  readonly reason: string;
  readonly text: string;
}

/** An ending before the machine has added what was said. */
export type Ending = Omit<Stopped, "text"> | Omit<Failed, "text">;

export interface CancelRequest {
  readonly requestId: string;
  readonly reason: string;
  readonly at: number;
}
export type CancelAnswer =
  | { readonly kind: "requested"; readonly request: CancelRequest }
  | { readonly kind: "already-requested"; readonly request: CancelRequest }
  | { readonly kind: "already-completed"; readonly outcome: TurnOutcome }
  | { readonly kind: "unknown" };
