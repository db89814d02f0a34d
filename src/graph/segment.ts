import type { Awaitable } from "../model/awaitable.ts";
import type { NodeId, SessionId, TurnId } from "../model/ids.ts";
import type { Entry } from "../model/node.ts";

/** The nodes of one commit. A segment's parent is a node of another one; a head may point inside it. */
export interface Segment {
  readonly commit: string;
  readonly parent?: NodeId;
  readonly entries: readonly Entry[];
}

export const segmentOn = (parent: NodeId | undefined, commit: string, entries: readonly Entry[]): Segment =>
  parent === undefined ? { commit, entries } : { commit, parent, entries };

export interface ViewPage {
  readonly from?: NodeId;
  readonly max?: number;
  /** The page ends with the segment in which the frame of `from` begins. */
  readonly toFrame?: true;
}

/** A source of segments. Every store is one. */
export interface Segments {
  view(session: SessionId, page?: ViewPage): Awaitable<readonly Segment[]>;
  /** Returns whether a node is on the path to the head. */
  holds(session: SessionId, node: NodeId): Awaitable<boolean>;
  /** Returns the session of a turn that has ended. */
  terminal(turn: TurnId): Awaitable<{ readonly sessionId: SessionId } | undefined>;
}
