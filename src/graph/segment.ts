import type { Awaitable } from "../model/awaitable.ts";
import type { NodeId, SessionId, TurnId } from "../model/ids.ts";
import type { Entry } from "../model/node.ts";

/** One commit's nodes. A segment's parent is a node of another one; a head may point inside it. */
export interface Segment {
  readonly commit: string;
  readonly parent?: NodeId;
  readonly entries: readonly Entry[];
}

export interface ViewPage {
  readonly from?: NodeId;
  readonly max?: number;
  /** The page ends with the segment in which the frame of `from` begins. */
  readonly toFrame?: true;
}

/** Where segments are read from; every store is one. */
export interface Segments {
  view(session: SessionId, page?: ViewPage): Awaitable<readonly Segment[]>;
  /** Whether a node is on the path to the head. */
  holds(session: SessionId, node: NodeId): Awaitable<boolean>;
  /** The session of a turn that has ended. */
  terminal(turn: TurnId): Awaitable<{ readonly sessionId: SessionId } | undefined>;
}
