import { Cursor, InputId, NodeId, SessionId, TurnId } from "./ids.js";
import { Draft, Message } from "./message.js";
import { SessionConfig } from "./config.js";
import { Spent, Usage } from "./usage.js";
/** An input that has not ended. */
interface OpenInput {
  readonly id: InputId;
  /** The turn that has it, or that it opens. */
  readonly turnId: TurnId;
  readonly state: "running" | "waiting";
  readonly message: Draft;
}
/** The session as it stands: what is committed, and what is not answered yet. */
interface SessionView {
  readonly id: SessionId;
  readonly parentId?: SessionId;
  /** What it was forked from, and where. */
  readonly origin?: {
    readonly sessionId: SessionId;
    readonly at?: NodeId;
  };
  readonly head?: NodeId;
  /** Where the active frame begins; left out in the first. */
  readonly frame?: NodeId;
  /** Of the active frame. */
  readonly messages: readonly Message[];
  /** Said to it and in no committed turn yet, oldest first: what the open turn has taken, then what waits. */
  readonly inputs: readonly OpenInput[];
  readonly turns: number;
  readonly config: SessionConfig;
  readonly usage: Usage;
  /** Where it comes from. */
  readonly ledger: readonly Spent[];
  /** What it cost, where the price of every model in the ledger is known. */
  readonly cost?: number;
  /** Facts up to here are in the view: observe after it. Left out while there are none. */
  readonly cursor?: Cursor;
}
export { OpenInput, SessionView };
