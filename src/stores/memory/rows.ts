import type { SessionConfig } from "../../model/config.ts";
import type { EffectName, InputId, NodeId, SessionId, TurnId, WaitId, WaitKey } from "../../model/ids.ts";
import type { JobEvent, JobRecord, JobState, NewJob } from "../../model/job.ts";
import type { Json } from "../../model/json.ts";
import type { Entry } from "../../model/node.ts";
import type { TurnOutcome } from "../../model/outcome.ts";
import type { Spent, Usage } from "../../model/usage.ts";
import type { WaitAbout, WaitAnswer, WaitedTurns } from "../../model/wait.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type {
  CancelRequest,
  ChangedBy,
  Committed,
  Mail,
  NewInput,
  Owner,
  ParkedJob,
  PluginSnapshots,
  SessionChange,
  SessionOptions,
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
  options: SessionOptions | undefined;
  usage: Usage;
  ledger: readonly Spent[];
  turns: number;
  /** Changes between turns, by operation. */
  operations: Map<string, OperationRow> | undefined;
  /** Appends that wait for the open turn, or that a turn has taken in, by operation. */
  appends: Map<string, AppendRow> | undefined;
  /** The receipts of operations that were part of a turn or of another change. */
  parts: Map<string, Json> | undefined;
  /** Notes by operation, until that is applied. */
  notes: Map<string, Map<string, Json>> | undefined;
  /** The generation of the latest lease; no two leases on a session have the same. */
  generation: number;
  run: Run | undefined;
  /** How many inputs and appends ever came: the `seq` of the latest. */
  accepted: number;
  /** Inputs that wait, and appends, oldest first. */
  waiting: WaitingRow[];
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
  /** It opens no turn. */
  readonly isInjected: boolean;
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

/** Nodes that wait for the open turn. */
export interface AppendRow {
  readonly inputId: InputId;
  readonly seq: number;
  readonly operation: string;
  /** What was sent, to tell a repeat from a conflict. */
  readonly content: string;
  /** Dropped when a turn has taken it in: nobody asks for it after that. */
  change: SessionChange | undefined;
  state: "waiting" | "taken";
}

export type WaitingRow = TurnRow | AppendRow;

export interface OperationRow {
  readonly session: SessionRow;
  readonly operation: string;
  readonly by: ChangedBy;
  /** The operation's nodes, if it added any. */
  readonly segment: SegmentRow | undefined;
  /** What was sent, to tell a repeat from a conflict. */
  readonly content: string;
  readonly committed: Committed;
  readonly receipt: Json | undefined;
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
  claims: Map<EffectName, readonly WaitingRow[]> | undefined;
  waits: WaitRow[] | undefined;
  /** The answered ones, as mails tell them. Replaced, never changed: mails share it. */
  resolved: NonNullable<Mail["resolved"]> | undefined;
  notes: Map<string, Json> | undefined;
  attempts: Set<EffectName> | undefined;
  parked: Parked | undefined;
}

/** How a turn was parked. Its generation is then one that no lease has: the next one is given it. */
export interface Parked {
  readonly wakeAt: number;
  /** The waits whose answers wake it. */
  readonly waits: ReadonlySet<WaitKey>;
  /** Something came for it since. */
  hasMail: boolean;
}

/** Its row stays as long as its session if it is a fact, without what only an open turn or a job needs. */
export interface WaitRow {
  readonly id: WaitId;
  /** That of the turn; or that which has the job, until the wait is answered. */
  session: SessionRow;
  /** Either of these two waits. */
  readonly turn: TurnRow | undefined;
  readonly job: JobRow | undefined;
  /** Undefined once the turn has ended, or the job: nobody can answer it any more. */
  key: WaitKey | undefined;
  effect: EffectName;
  at: number;
  until: number;
  about: WaitAbout | WaitedTurns;
  /** The numbers of the facts that it was asked, and answered. */
  asked: number | undefined;
  /** The session that it was asked in: a job may be handed over before the answer comes. */
  askedIn: SessionRow | undefined;
  answered: number | undefined;
  /** Of an ended turn without its value. */
  answer: WaitAnswer | undefined;
}

/** A process that holds jobs. Its row is forgotten when its time is over and it holds none. */
export interface OwnerRow {
  readonly id: string;
  until: number;
  readonly jobs: Set<JobRow>;
}

/** Small, for there may be many that do nothing but wait: fields that few jobs need stand in `rare`. */
export interface JobRow {
  readonly job: NewJob;
  /** How many jobs were begun before it. */
  readonly nth: number;
  session: SessionRow;
  /** That of the record. */
  state: JobState;
  /** The key and the event of each but the first, in turns: `spawned` is made of the job when somebody asks. */
  log: (string | JobEvent)[];
  /** The number of its latest event among those of all jobs, and the jobs that changed just before and after it. */
  cursor: number;
  earlier: JobRow | undefined;
  later: JobRow | undefined;
  /** The next of the jobs that are to end with the same parent. */
  sibling: JobRow | undefined;
  /** The generation of the latest lease. */
  generation: number;
  holder: OwnerRow | undefined;
  /** Its holder gave up the lease: that lease writes nothing more, though no other has a later generation. */
  isParked: boolean;
  /** While nobody holds it: when it can be claimed. 0: at once; Infinity: when something comes. */
  due: number;
  rare: RareOfJob | undefined;
}
export interface RareOfJob {
  /** Kept while somebody holds the job, or its events are many; else it is made when somebody asks. */
  record?: JobRecord | undefined;
  /** The places of the events by key. Made when there are many: a short list is searched. */
  places?: Map<string, number>;
  waits?: readonly WaitRow[] | undefined;
  awaits?: ParkedJob["awaits"];
}
