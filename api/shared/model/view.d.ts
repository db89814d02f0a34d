import { Cursor, InputId, NodeId, SessionId, TurnId } from "./ids.js";
import { Draft, Message } from "./message.js";
import { SessionConfig } from "./config.js";
import { Spent, Usage } from "./usage.js";
/** An input that is in no committed turn yet. */
interface OpenInput {
  readonly id: InputId;
  /** The turn that has taken it, or that it will open. Left out for an injected one that no turn has taken. */
  readonly turnId?: TurnId;
  readonly state: "running" | "waiting";
  readonly message: Draft;
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
export { OpenInput, SessionView };
