import { Code } from "./errors.js";
import { Json } from "./json.js";
import { Message } from "./message.js";
/** How a turn ended. Every turn ends as one of these, and each of them is committed. */
type TurnOutcome<Value = Json> = {
  readonly kind: "answered";
  readonly message: Message;
  readonly text: string;
} | {
  readonly kind: "finished";
  readonly by: "model" | "tool";
  readonly value: Value;
} | Stopped | Failed;
/**
 * Something stopped the turn: a cancel, a limit, a plugin, an incomplete reply, or an input that the model cannot
 * process.
 */
interface Stopped {
  readonly kind: "stopped";
  readonly by: "cancel" | "limit" | "plugin" | "incomplete" | "input";
  readonly code: Code | (string & {});
  readonly reason: string;
  /** The text of the model before the stop. It stays in history. */
  readonly text: string;
}
/** The turn ended because of an error. Its messages before the error stay in history. */
interface Failed {
  readonly kind: "failed";
  readonly by: "provider" | "tool" | "plugin" | "runtime";
  readonly code: Code | (string & {});
  readonly reason: string;
  readonly text: string;
}
/** An ending that still lacks `text`, which the machine adds from the log. */
type Ending = Omit<Stopped, "text"> | Omit<Failed, "text">;
interface CancelRequest {
  readonly requestId: string;
  readonly reason: string;
  readonly at: number;
}
/** The result of a cancel: the turn will stop, was already cancelled, had already ended, or is unknown. */
type CancelAnswer = {
  readonly kind: "requested";
  readonly request: CancelRequest;
} | {
  readonly kind: "already-requested";
  readonly request: CancelRequest;
} | {
  readonly kind: "already-completed";
  readonly outcome: TurnOutcome;
} | {
  readonly kind: "unknown";
};
export { CancelAnswer, CancelRequest, Ending, Failed, Stopped, TurnOutcome };
