import { JobId, SessionId, TurnId } from "./ids.js";
import { Json, JsonObject } from "./json.js";
import { ToolCall } from "./tool.js";
/**
 * What an answer decides. `approval`: whether the call can run. `result`: the result of a call that has started.
 * `question`: an answer that the tool needs. `interrupted`: whether a call that a crash interrupted can run again.
 */
type WaitKind = "approval" | "result" | "question" | "interrupted";
/** What a person or another program needs to know to answer. */
interface WaitAbout {
  readonly kind: WaitKind;
  /** The call as it would run: its arguments fit the tool's schema. */
  readonly call: ToolCall;
  readonly reason: string;
  /** JSON Schema of edited arguments (`approval`), or of the requested value. */
  readonly schema?: JsonObject;
  /** A hash of the call's arguments: an approval is valid only for them. */
  readonly argsHash: string;
}
/**
 * A wait for the ends of jobs and of turns of other sessions. It needs no answer, so it is not listed and has no fact.
 */
interface WaitedTurns {
  readonly kind: "turns";
  readonly turns: readonly WaitedTurn[];
  /** An idle job and a deleted job count as ended. */
  readonly jobs?: readonly JobId[];
  readonly need: "any" | "all";
  /** Cancels these when the waiting turn is stopped. */
  readonly cancels?: true;
}
interface WaitedTurn {
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
}
/** The answer to a wait. `by`: the app's name for the person or program that answered. */
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
