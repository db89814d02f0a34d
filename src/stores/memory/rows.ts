import type { SessionConfig } from "../../model/config.ts";
import type { EffectName, InputId, NodeId, SessionId, TurnId, WaitKey } from "../../model/ids.ts";
import type { Json } from "../../model/json.ts";
import type { Entry } from "../../model/node.ts";
import type { TurnOutcome } from "../../model/outcome.ts";
import type { Spent, Usage } from "../../model/usage.ts";
import type { TurnEvent, WaitAnswer } from "../../turn/event.ts";
import type {
  CancelRequest,
  ChangedBy,
  Committed,
  Mail,
  NewInput,
  Owner,
  PluginSnapshots,
  StoredSession,
} from "../store.ts";

/** A node, and where it lies. */
export interface Place {
  readonly id: NodeId;
  readonly segment: SegmentRow;
  readonly index: number;
}

export interface SegmentRow {
  /** A turn, or an operation between turns. */
  readonly commit: string;
  readonly entries: readonly Entry[];
  readonly parent: Place | undefined;
  /** Segments before it on its path. */
  readonly depth: number;
  /** The plugin states its session had just before this commit. */
  readonly before: PluginSnapshots;
  /** Heads, branches and segments that build on it; with none left it is forgotten. */
  users: number;
}

export interface SessionRow {
  readonly id: SessionId;
  readonly parentId: SessionId | undefined;
  readonly origin: StoredSession["origin"];
  readonly createdAt: number;
  config: Partial<SessionConfig>;
  revision: number;
  head: Place | undefined;
  plugins: PluginSnapshots;
  usage: Usage;
  ledger: readonly Spent[];
  turns: number;
  /** Changes between turns, by operation. */
  operations: Map<string, OperationRow> | undefined;
  /** Of its latest lease; every lease on a session has its own. */
  generation: number;
  run: Run | undefined;
  /** How many inputs were ever accepted: the `seq` of the latest. */
  accepted: number;
  /** Inputs that wait, oldest first. */
  waiting: TurnRow[];
  /** The latest of each key; one that was withdrawn keeps nobody from using its key. */
  keys: Map<string, TurnRow> | undefined;
  /** Numbers in the order of all facts. */
  facts: number[] | undefined;
  branches: SegmentRow[] | undefined;
  latest: TurnRow | undefined;
  /** Made when somebody asks; it reaches up to `indexed`. */
  byInput: Map<InputId, TurnRow> | undefined;
  indexed: TurnRow | undefined;
}

/** An accepted input and the turn it opens, unless a boundary takes it into another one. Kept for ever. */
export interface TurnRow {
  readonly id: TurnId;
  readonly inputId: InputId;
  readonly session: SessionRow;
  readonly seq: number;
  /** The number of the fact that it was accepted. */
  acceptedAs: number;
  readonly hash: string;
  readonly key: string | undefined;
  state: "waiting" | "taken" | "withdrawn";
  /** Dropped when nobody will ask for it again. */
  input: NewInput | undefined;
  cancel: CancelRequest | undefined;
  /** How it ended, or the turn that took its input. */
  end: End | undefined;
  /** Its nodes, once committed. */
  segment: SegmentRow | undefined;
  /** The session's input accepted before this one. */
  readonly earlier: TurnRow | undefined;
}

export interface OperationRow {
  readonly session: SessionRow;
  readonly operation: string;
  readonly by: ChangedBy;
  /** Its nodes, if it added any. */
  readonly segment: SegmentRow | undefined;
  /** What was sent, to tell a repeat from a conflict. */
  readonly content: string;
  readonly committed: Committed;
}

export interface End {
  readonly turn: TurnRow;
  readonly at: number;
  readonly outcome: TurnOutcome;
  readonly usage: Usage;
  readonly plugins: PluginSnapshots;
  readonly inputs: readonly InputId[];
  readonly committed: Committed;
}

/** What lives only while its turn is open. */
export interface Run {
  readonly turn: TurnRow;
  generation: number;
  owner: Owner;
  until: number;
  readonly journal: TurnEvent[];
  claims: Map<EffectName, readonly TurnRow[]> | undefined;
  waits: WaitRow[] | undefined;
  /** Replaced, never changed: mails share it. */
  resolved: NonNullable<Mail["resolved"]> | undefined;
  notes: Map<string, Json> | undefined;
  attempts: Set<EffectName> | undefined;
}

export interface WaitRow {
  readonly key: WaitKey;
  readonly run: Run;
  readonly until: number;
  answer: WaitAnswer | undefined;
}
