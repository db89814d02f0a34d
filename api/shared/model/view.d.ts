import { CallId, Cursor, EffectName, InputId, JobId, NodeId, SessionId, TurnId, WaitId } from "./ids.js";
import { Draft, Message } from "./message.js";
import { SessionConfig } from "./config.js";
import { Spent, Usage } from "./usage.js";
import { ToolCall, ToolOutput } from "./tool.js";
import { WaitKind } from "./wait.js";
/** An input that no committed turn contains yet. */
interface OpenInput {
  readonly id: InputId;
  /** The turn that contains the input, or that the input will open. Left out for an injected input that still waits. */
  readonly turnId?: TurnId;
  readonly state: "running" | "waiting";
  readonly message: Draft;
}
/** A wait of the open turn. `runtime.waits.resolve(id, answer)` answers it. */
interface OpenWait {
  readonly id: WaitId;
  /** The turn or the job that waits. */
  readonly turnId?: TurnId;
  readonly jobId?: JobId;
  readonly wants: WaitKind;
  /** The position of the wait in the turn, such as `r1.call.0.w`. */
  readonly effect: EffectName;
  readonly callId: CallId;
  /** The call that runs after an approval. */
  readonly call: ToolCall;
  readonly reason: string;
  /** The last time at which it can be answered, in milliseconds since 1970. */
  readonly until: number;
}
/** A call of the open turn whose result is in no message yet. */
interface OpenCall {
  /** The position of the call in the turn, such as `r1.call.0`. */
  readonly effect: EffectName;
  readonly call: ToolCall;
  /** `returned`: the tool has returned, and hooks check its result. `ended`: the call has its output. */
  readonly state: "running" | "returned" | "ended";
  readonly output?: ToolOutput;
}
/** The recorded part of the turn that is not committed yet. It can run in any process, or be parked. */
interface OpenTurn {
  readonly id: TurnId;
  /** The messages of the turn so far, with its inputs. They keep their ids when the turn is committed. */
  readonly messages: readonly Message[];
  /** The calls of the last reply or of the running code, in order. */
  readonly calls: readonly OpenCall[];
}
/**
 * The default model of the runtime differs from the model of the session's earlier turns. Left out if they are equal,
 * and if the session sets its own model.
 */
interface ModelMismatch {
  /** The model of earlier turns. */
  readonly expected: string;
  /** The default, which the next turn uses. */
  readonly actual: string;
}
/** The current state of a session: its committed messages, its open turn, its waiting inputs and its waits. */
interface SessionView {
  readonly id: SessionId;
  readonly parentId?: SessionId;
  /** The session from which this one was forked, and the node of the fork. */
  readonly origin?: {
    readonly sessionId: SessionId;
    readonly at?: NodeId;
  };
  /** The user or tenant that the session belongs to. */
  readonly owner?: string;
  readonly tags?: readonly string[];
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly head?: NodeId;
  /** The node at which the active frame begins; left out in the first frame. */
  readonly frame?: NodeId;
  /** The committed messages, of the active frame only. */
  readonly messages: readonly Message[];
  /** The turn that is not committed yet; left out without one. */
  readonly openTurn?: OpenTurn;
  /** Inputs that no committed turn contains yet, oldest first: inputs of the open turn, then waiting inputs. */
  readonly inputs: readonly OpenInput[];
  /** The unanswered waits of the open turn, oldest first. */
  readonly waits: readonly OpenWait[];
  readonly turns: number;
  readonly config: SessionConfig;
  readonly usage: Usage;
  /** The usage by source and model. */
  readonly ledger: readonly Spent[];
  /** The cost of all usage; left out when the price of a model in the ledger is missing. */
  readonly cost?: number;
  readonly modelMismatch?: ModelMismatch;
  /** The last fact in this view. Observe the session after this cursor. Left out while there are no facts. */
  readonly cursor?: Cursor;
}
export { ModelMismatch, OpenWait, SessionView };
