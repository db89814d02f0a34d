import { Code } from "./errors.js";
import { Json } from "./json.js";
import { Message } from "./message.js";
/** How a turn ended. Closed: every ending is one of these, and each of them is committed. */
type TurnOutcome<Value = Json> = {
  readonly kind: "answered";
  readonly message: Message;
  readonly text: string;
} | {
  readonly kind: "finished";
  readonly by: "model" | "tool";
  readonly value: Value;
} | Stopped | Failed;
interface Stopped {
  readonly kind: "stopped";
  readonly by: "cancel" | "limit" | "plugin" | "incomplete" | "input";
  readonly code: Code | (string & {});
  readonly reason: string;
  /** What was said so far, kept. */
  readonly text: string;
}
interface Failed {
  readonly kind: "failed";
  readonly by: "provider" | "tool" | "plugin" | "runtime";
  readonly code: Code | (string & {});
  readonly reason: string;
  readonly text: string;
}
/** An ending before the machine has added what was said. */
type Ending = Omit<Stopped, "text"> | Omit<Failed, "text">;
interface CancelRequest {
  readonly requestId: string;
  readonly reason: string;
  readonly at: number;
}
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
