import { CallId, Cursor, EffectName, InputId, JobId, NodeId, SessionId, TurnId, WaitId } from "./ids.js";
import { Draft, Message } from "./message.js";
import { SessionConfig } from "./config.js";
import { Spent, Usage } from "./usage.js";
import { ToolCall } from "./tool.js";
import { WaitKind } from "./wait.js";
/** An input that is in no committed turn yet. */
interface OpenInput {
  readonly id: InputId;
  /** The turn that has taken it, or that it will open. Left out for an injected one that no turn has taken. */
  readonly turnId?: TurnId;
  readonly state: "running" | "waiting";
  readonly message: Draft;
}
/** Something that the open turn waits for. `runtime.waits.get(id)` gives the key that answers it. */
interface OpenWait {
  readonly id: WaitId;
  /** The turn or the job that waits. */
  readonly turnId?: TurnId;
  readonly jobId?: JobId;
  readonly wants: WaitKind;
  /** The position of the wait in the turn, such as `r1.call.0.w`. */
  readonly effect: EffectName;
  readonly callId: CallId;
  /** As it is made if it is approved. */
  readonly call: ToolCall;
  readonly reason: string;
  /** When it can no longer be answered: milliseconds since 1970. */
  readonly until: number;
}
/** The session as it stands: what is committed, and what is not answered yet. */
interface SessionView {
  readonly id: SessionId;
  readonly parentId?: SessionId;
  /** The session that this one was forked from, and the node where. */
  readonly origin?: {
    readonly sessionId: SessionId;
    readonly at?: NodeId;
  };
  readonly head?: NodeId;
  /** The node at which the active frame begins; left out in the first frame. */
  readonly frame?: NodeId;
  /** The messages of the active frame only. */
  readonly messages: readonly Message[];
  /** Inputs in no committed turn yet, oldest first: those that the open turn has taken, then those that wait. */
  readonly inputs: readonly OpenInput[];
  /** What the open turn waits for and nobody has answered, oldest first. */
  readonly waits: readonly OpenWait[];
  readonly turns: number;
  readonly config: SessionConfig;
  readonly usage: Usage;
  /** The usage by source and model. */
  readonly ledger: readonly Spent[];
  /** The cost of all usage; left out when the price of a model in the ledger is missing. */
  readonly cost?: number;
  /** The last fact that is in this view: observe after it. Left out while there are no facts. */
  readonly cursor?: Cursor;
}
export { OpenInput, OpenWait, SessionView };
