import type { SessionConfig } from "./config.ts";
import type { Cursor, NodeId, SessionId } from "./ids.ts";
import type { Message } from "./message.ts";
import type { Spent, Usage } from "./usage.ts";

/** The session as it stands: what is committed. */
export interface SessionView {
  readonly id: SessionId;
  readonly parentId?: SessionId;
  /** What it was forked from, and where. */
  readonly origin?: { readonly sessionId: SessionId; readonly at?: NodeId };
  readonly head?: NodeId;
  /** Where the active frame begins; left out in the first. */
  readonly frame?: NodeId;
  /** Of the active frame. */
  readonly messages: readonly Message[];
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
