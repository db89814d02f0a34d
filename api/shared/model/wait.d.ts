import { JobId, SessionId, TurnId } from "./ids.js";
import { Json, JsonObject } from "./json.js";
import { ToolCall } from "./tool.js";
/**
 * What somebody is asked for. `approval`: may the call run; `result`: what the call that was begun has come to;
 * `question`: something that the tool wants to know; `interrupted`: may a call run again that a crash broke off.
 */
type WaitKind = "approval" | "result" | "question" | "interrupted";
/** What a person or another program needs to know to answer. */
interface WaitAbout {
  readonly kind: WaitKind;
  /** The call as it would be made: its arguments fit the tool's schema. */
  readonly call: ToolCall;
  readonly reason: string;
  /** JSON Schema: of edited arguments (`approval`), or of the value that is asked for. */
  readonly schema?: JsonObject;
  /** Of the call's arguments: an approval is for exactly these. */
  readonly argsHash: string;
}
/**
 * Turns of other sessions, and jobs, whose ends are waited for. Nobody answers such a wait: it is not listed and is no
 * fact.
 */
interface WaitedTurns {
  readonly kind: "turns";
  readonly turns: readonly WaitedTurn[];
  /** A job that is idle counts as ended, and so does one that is not there any more. */
  readonly jobs?: readonly JobId[];
  readonly need: "any" | "all";
  /** When the turn that waits is stopped, these are cancelled. */
  readonly cancels?: true;
}
interface WaitedTurn {
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
}
/** The answer to a wait. `by`: who gave it, as the app names them. */
type WaitAnswer = {
  readonly kind: "value";
  readonly value: Json;
  readonly by?: string;
} | {
  readonly kind: "timeout";
} | {
  readonly kind: "revoked";
  readonly by?: string;
};
export { WaitAbout, WaitAnswer, WaitKind, WaitedTurns };
