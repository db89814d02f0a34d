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
  /** The id of the turn, or the name of the operation, that made it. */
  readonly commit: string;
  readonly entries: readonly Entry[];
  readonly parent: Place | undefined;
  /** How many segments are before it on its path. */
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
  /** The generation of the latest lease; no two leases on a session have the same. */
  generation: number;
  run: Run | undefined;
  /** How many inputs were ever accepted: the `seq` of the latest. */
  accepted: number;
  /** Inputs that wait, oldest first. */
  waiting: TurnRow[];
  /** The latest turn of each key. A withdrawn one stays here, but its key is free. */
  keys: Map<string, TurnRow> | undefined;
  /** The numbers of this session's facts, ascending. */
  facts: number[] | undefined;
  branches: SegmentRow[] | undefined;
  latest: TurnRow | undefined;
  /** Turns by input, up to `indexed`. Made when somebody asks: few ever do. */
  byInput: Map<InputId, TurnRow> | undefined;
  indexed: TurnRow | undefined;
}

/** An accepted input and the turn it opens, unless another turn takes it at a boundary. Kept as long as its session. */
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
  /** Dropped when its turn has ended: nobody asks for it after that. */
  input: NewInput | undefined;
  cancel: CancelRequest | undefined;
  /** How this turn ended, or the one that took its input. */
  end: End | undefined;
  /** The turn's nodes, once committed. */
  segment: SegmentRow | undefined;
  /** The session's input accepted before this one. */
  readonly earlier: TurnRow | undefined;
}

export interface OperationRow {
  readonly session: SessionRow;
  readonly operation: string;
  readonly by: ChangedBy;
  /** The operation's nodes, if it added any. */
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

/** An open turn: what is forgotten when it ends. */
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
