import { CallId, Cursor, EffectName, InputId, JobId, NodeId, SessionId, TurnId, WaitId } from "./ids.js";
import { Draft, Message } from "./message.js";
import { SessionConfig } from "./config.js";
import { Spent, Usage } from "./usage.js";
import { ToolCall, ToolOutput } from "./tool.js";
import { WaitKind } from "./wait.js";
/** An input that is in no committed turn yet. */
interface OpenInput {
  readonly id: InputId;
  /** The turn that has taken it, or that it will open. Left out for an injected one that no turn has taken. */
  readonly turnId?: TurnId;
  readonly state: "running" | "waiting";
  readonly message: Draft;
}
/** Something that the open turn waits for. `runtime.waits.resolve(id, answer)` answers it. */
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
/** A call of the open turn whose result is in no message yet. */
interface OpenCall {
  /** The position of the call in the turn, such as `r1.call.0`. */
  readonly effect: EffectName;
  readonly call: ToolCall;
  /** `returned`: the tool is done, and hooks look at its result. `ended`: it has its output. */
  readonly state: "running" | "returned" | "ended";
  readonly output?: ToolOutput;
}
/** The turn that is not committed yet, as far as it is recorded, in whatever process it runs, or if it is parked. */
interface OpenTurn {
  readonly id: TurnId;
  /** What was said in it so far, its inputs included. They keep their ids when the turn is committed. */
  readonly messages: readonly Message[];
  /** The calls of the last reply, or of the code that runs, in their order; empty while there are none. */
  readonly calls: readonly OpenCall[];
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
  /** The committed messages, of the active frame only. */
  readonly messages: readonly Message[];
  /** The turn that is not committed yet; left out when there is none. */
  readonly openTurn?: OpenTurn;
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
export { OpenCall, OpenInput, OpenTurn, OpenWait, SessionView };
