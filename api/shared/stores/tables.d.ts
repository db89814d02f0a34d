import { Awaits, Moves } from "./rows/job.js";
import { CancelRequest } from "../model/outcome.js";
import { EffectName, InputId, JobId, SessionId, TurnId, WaitId, WaitKey } from "../model/ids.js";
import { Ended } from "./rows/ended.js";
import { Entry } from "../model/node.js";
import { InputContent, KeptJournal } from "./rows/codec.js";
import { JobEvent } from "../model/job.js";
import { JobLine, NewInput, PluginSnapshot, SessionChange, SessionOptions } from "./store.js";
import { Json } from "../model/json.js";
import { SessionConfig } from "../model/config.js";
import { SubscriptionBody } from "./rows/trigger.js";
import { TurnEvent } from "../turn/event.js";
import { Usage } from "../model/usage.js";
import { WaitAbout, WaitAnswer, WaitedTurns } from "../model/wait.js";
/**
 * The tables of every store: columns, keys and indexes as data. Rules (`rules/`) read and write rows of these tables; a
 * store decides how it stores them.
 *
 * Rows refer to each other by number (`n`). Turns, segments and operations are numbered in one order, because a segment
 * has the number of the turn or the operation that made it.
 */
/**
 * How a column is stored.
 * - `text`: an id of the runtime, stored unchanged. `name`: any text of a caller, also with NUL or lone surrogates.
 * - `json`: a value. `long`: a value that may be large; only rules that read the row `whole` get it.
 */
type Kind = "number" | "text" | "name" | "flag" | "json" | "long";
/** A condition on a column of an index. */
type Condition = typeof SET | null | number | boolean | {
  readonly not: number;
} | {
  readonly below: number;
} | {
  readonly from: number;
};
declare const SET = "set";
/** Returns whether a value meets a condition. */
declare function meets(value: unknown, condition: Condition): boolean;
interface Index<Row> {
  /** The columns that find a row. */
  readonly on: readonly (keyof Row & string)[];
  /**
   * The order of the rows, before that of the key. A scan may begin after, or end at, a value of the first of these
   * columns.
   */
  readonly by?: readonly (keyof Row & string)[];
  /** The index only contains rows that meet these conditions. */
  readonly only?: { readonly [Column in keyof Row & string]?: Condition; };
}
interface Table<Row extends object = any, Name extends string = string> {
  readonly name: string;
  readonly columns: { readonly [Column in keyof Row & string]-?: Kind; };
  readonly key: readonly (keyof Row & string)[];
  readonly indexes: { readonly [name in Name | "key"]: Index<Row>; };
}
/** The row that a rule locks before it writes anything of a session. */
interface SessionRow {
  readonly n: number;
  readonly id: SessionId;
  readonly revision: number;
  readonly turns: number;
  /** The segment of the head, and the node in it. */
  readonly head: number | null;
  readonly headIndex: number | null;
  readonly usage: Usage;
  /** The generation of the latest lease. For a parked turn, a generation that no lease has yet. */
  readonly generation: number;
  readonly turn: number | null;
  readonly owner: string | null;
  readonly process: string | null;
  /** When the lease expires. */
  readonly until: number;
  /** The minimum number of events in the journal of the open turn. If there are fewer, some are lost. */
  readonly written: number;
  /** When a parked turn is due by itself; `0` if mail came for it; null if no turn is parked. */
  readonly wake: number | null;
  /** The waits whose answers wake the parked turn. */
  readonly parked: readonly WaitId[] | null;
  /** The user or tenant that the session belongs to, and its tags. They never change. */
  readonly ownedBy: string | null;
  readonly tags: readonly string[] | null;
  /** When a turn was last opened or a commit last made. 0 until the first change after a migration. */
  readonly activity: number;
  /** The beginning of the last words of the latest turn. */
  readonly words: string | null;
}
declare const SESSION: Table<SessionRow, "active" | "id" | "ids" | "numbers" | "open" | "ownedActive" | "wake">;
/** A tag of a session. The other columns are copies of those of the session, so that a list by tag is one index. */
interface SessionTagRow {
  readonly session: number;
  readonly tag: string;
  readonly ownedBy: string | null;
  readonly activity: number;
}
declare const SESSION_TAG: Table<SessionTagRow, "active" | "ownedActive" | "session">;
/** The columns of a session that rarely change. */
interface ProfileRow {
  readonly session: number;
  readonly parentId: SessionId | null;
  /** The session that this one was forked from, and the node where it begins. */
  readonly originId: SessionId | null;
  readonly originAt: string | null;
  readonly createdAt: number;
  readonly config: Partial<SessionConfig>;
  readonly options: SessionOptions | null;
}
declare const PROFILE: Table<ProfileRow, "origin" | "parent">;
/** A plugin's state as of a revision of its session. A null body means that the state was removed. */
interface StateRow {
  readonly session: number;
  readonly plugin: string;
  readonly since: number;
  readonly body: PluginSnapshot | null;
}
declare const STATE: Table<StateRow, "session">;
/** The spending of a session by source and model. `nth` orders the rows by their first spending. */
interface LedgerRow extends Required<Usage> {
  readonly session: number;
  readonly source: string;
  readonly model: string;
  readonly nth: number;
  readonly calls: number;
}
declare const LEDGER: Table<LedgerRow, "session">;
/** A deleted session. Its id is never used again. */
interface GoneRow {
  readonly id: SessionId;
}
declare const GONE: Table<GoneRow, never>;
/** The nodes of one commit. */
interface SegmentRow {
  readonly n: number;
  readonly session: number;
  /** The revision of its session before the commit. */
  readonly revision: number;
  /** The number of segments before it on its path. */
  readonly depth: number;
  readonly parent: number | null;
  readonly parentIndex: number | null;
  readonly size: number;
  /** The number of heads, branches and child segments. A segment without users is removed. */
  readonly users: number;
  /** It is found by its name, because an operation made it or the session of its turn was deleted. */
  readonly isNamed: boolean;
  readonly isBranch: boolean;
  readonly name: string;
  readonly entries?: readonly Entry[];
}
declare const SEGMENT: Table<SegmentRow, "branch" | "left" | "named">;
/** An input and the turn that it opens, or an append that waits for the open turn. */
interface TurnRow {
  readonly n: number;
  readonly session: number;
  readonly id: TurnId;
  readonly inputId: InputId;
  readonly state: number;
  readonly aside: number;
  readonly key: string | null;
  /** The hash of the content. It distinguishes a repeat from a conflict. */
  readonly hash: string;
  /** The open turn that has taken the input, and the boundary. */
  readonly claim: number | null;
  readonly boundary: EffectName | null;
  /** The turn that settled the input. */
  readonly endedBy: number | null;
  /** The fact of the turn's end, or of the withdrawal of its input. */
  readonly done: number | null;
  readonly cancel: CancelRequest | null;
  readonly ended: Ended | null;
  /**
   * The input or the append. Once the turn has ended: its journal, or null if none is kept. Once another turn has settled
   * the input: what the nodes of that turn do not contain. An early version stored null.
   */
  readonly input?: InputContent | SettledInput | SessionChange | KeptJournal | null;
}
/** Without it, the fact of the acceptance would have another time once the input is settled. */
type SettledInput = Pick<NewInput, "at" | "metadata">;
declare const TURN: Table<TurnRow, "all" | "append" | "aside" | "boundary" | "claim" | "free" | "id" | "injected" | "input" | "inputKey" | "opens" | "ready" | "session" | "waiting" | "withdrawn">;
/** Events of a session's open turn that were written together. */
interface JournalRow {
  readonly session: number;
  readonly seq: number;
  readonly size: number;
  readonly events: readonly TurnEvent[];
}
declare const JOURNAL: Table<JournalRow, "session">;
/** Nested work of an effect of an open turn. */
interface NoteRow {
  readonly turn: number;
  readonly effect: EffectName;
  readonly key: string;
  readonly value: Json;
}
declare const NOTE: Table<NoteRow, "turn">;
/** An effect of an open turn that was started. */
interface AttemptRow {
  readonly turn: number;
  readonly effect: EffectName;
}
declare const ATTEMPT: Table<AttemptRow, "turn">;
/**
 * What a turn or a job waits for. A wait that is a fact stays as long as its session, but loses its key and the value
 * of its answer when its turn or job ends. All others are removed with their turn or job.
 */
interface WaitRow {
  readonly n: number;
  readonly id: WaitId;
  /** Present while the turn is open or the job is not over. */
  readonly key: WaitKey | null;
  readonly session: number;
  /** 0 for a wait of a job. */
  readonly turn: number;
  readonly job: JobId | null;
  /** The fact of the question, if the job had another session then. The row of that fact stayed there. */
  readonly moved: number | null;
  /** Null, like `at` and `about`, for a wait of an early file version, until the turn writes it again. */
  readonly effect: EffectName | null;
  readonly at: number | null;
  readonly about: WaitAbout | WaitedTurns | null;
  readonly until: number;
  /** It waits for turns and jobs, so it has no answer and is not a fact. */
  readonly isTurns: boolean;
  /** The facts of the question and of the answer. An early wait has none yet. */
  readonly asked: number | null;
  readonly answered: number | null;
  /** The order number of its answer among those of the turn. */
  readonly nth: number | null;
  readonly answer: WaitAnswer | null;
}
declare const WAIT: Table<WaitRow, "id" | "job" | "jobSession" | "named" | "open" | "openMoved" | "session" | "turn" | "turns">;
/** A change between turns. */
interface OperationRow {
  readonly n: number;
  readonly session: number;
  readonly name: string;
  /** The hash of the content. It distinguishes a repeat from a conflict. */
  readonly hash: string;
  readonly committed: Json;
}
declare const OPERATION: Table<OperationRow, "name" | "session">;
/** A note of an unfinished operation. With an empty key: the receipt of an operation that was part of a turn. */
interface OperationNoteRow {
  readonly session: number;
  readonly operation: string;
  readonly key: string;
  readonly value: Json;
}
declare const OPERATION_NOTE: Table<OperationNoteRow, "operation" | "session">;
declare const FACTS: readonly ["accepted", "ended", "applied", "asked", "answered", "withdrawn"];
type FactKind = (typeof FACTS)[number];
/** A fact, and the row of the turn, the operation or the wait that it is about. */
interface FactRow {
  readonly n: number;
  readonly session: number;
  readonly kind: FactKind;
  readonly of: number;
}
/**
 * A job: the columns that find it, its holder, and the changing fields of its record. The others are in its first
 * event, which may be long and is never written again.
 */
interface JobRow {
  readonly n: number;
  readonly id: JobId;
  readonly session: number;
  readonly kind: string;
  readonly isHidden: boolean;
  readonly recovery: number;
  /** The task that a process needs to run it; empty if any process can; null if no process can claim it. */
  readonly operation: string | null;
  /** The turn or the job that it ends with; null once it is over. */
  readonly parent: string | null;
  readonly state: number;
  readonly owner: string | null;
  /** The generation of its latest lease. */
  readonly generation: number;
  /** Its holder gave up the lease and can no longer write, although no later generation exists. */
  readonly isParked: boolean;
  /** When an unheld job can be claimed; null if only an event can make it claimable. */
  readonly due: number | null;
  /** What a parked job awaits. A store may omit the list of jobs, which `job_await` contains too. */
  readonly awaits: Awaits | null;
  /** The number of events. */
  readonly seq: number;
  /** The number of its latest change in the order of all job changes. */
  readonly changed: number;
  /** The fields of its record that change. */
  readonly moves: Moves;
}
declare const JOB: Table<JobRow, "all" | "changed" | "due" | "held" | "id" | "live" | "owner" | "parent" | "session" | "unfinished">;
/** An event of a job. A key is unique in its job. */
interface JobEventRow {
  readonly job: number;
  readonly seq: number;
  readonly key: string;
  readonly event: JobEvent;
}
declare const JOB_EVENT: Table<JobEventRow, "job" | "name">;
/** A process that holds jobs, and the end of its lease. */
interface JobOwnerRow {
  readonly id: string;
  readonly process: string;
  readonly until: number;
}
declare const JOB_OWNER: Table<JobOwnerRow, "all">;
/** Leads from a job to a parked job that awaits it. */
interface JobAwaitRow {
  readonly awaited: JobId;
  readonly job: number;
}
declare const JOB_AWAIT: Table<JobAwaitRow, "awaited" | "job">;
/** A line that a job has printed. */
interface JobLineRow {
  readonly job: number;
  readonly n: number;
  readonly line: Omit<JobLine, "n">;
}
declare const JOB_LINE: Table<JobLineRow, "job">;
/** The line counters of a job, and the latest call that took lines. */
interface JobLineCountsRow {
  readonly job: number;
  /** The number of the last line, even if that was dropped. */
  readonly last: number;
  /** The number of remaining lines. */
  readonly lines: number;
  /** The latest call that took lines: its key, and the range of numbers that it took. */
  readonly key: string | null;
  readonly since: number;
  readonly taken: number;
}
declare const JOB_LINE_COUNTS: Table<JobLineCountsRow, never>;
/** The columns that find a subscription, and its position. */
interface SubscriptionRow {
  readonly n: number;
  readonly session: number;
  readonly id: string;
  readonly incarnation: string;
  readonly revision: number;
  readonly isEnabled: boolean;
  readonly kind: number;
  readonly event: string | null;
  readonly source: string | null;
  readonly next: number | null;
  readonly after: string | null;
  readonly body: SubscriptionBody;
}
declare const SUBSCRIPTION: Table<SubscriptionRow, "all" | "due" | "event" | "id" | "kind" | "session">;
/** Something that has happened. */
interface OccurrenceRow {
  readonly n: number;
  readonly id: string;
  readonly source: string;
  readonly at: number;
  /** The number of deliveries, in stores that keep it: a missing delivery leaves no other trace. */
  readonly deliveries?: number;
  readonly payload: {
    readonly payload: Json;
  };
}
declare const OCCURRENCE: Table<OccurrenceRow, "all" | "id" | "source">;
/** What an occurrence started for a subscription. */
interface DeliveryRow {
  readonly occurrence: number;
  readonly nth: number;
  readonly session: number;
  readonly subscription: string;
  readonly revision: number;
  readonly job: JobId | null;
  readonly turn: TurnId | null;
  readonly isLost: boolean;
}
declare const DELIVERY: Table<DeliveryRow, "occurrence" | "session">;
declare const TABLES: readonly Table[];
export {
  ATTEMPT,
  AttemptRow,
  Condition,
  DELIVERY,
  DeliveryRow,
  FACTS,
  FactKind,
  FactRow,
  GONE,
  GoneRow,
  Index,
  JOB,
  JOB_AWAIT,
  JOB_EVENT,
  JOB_LINE,
  JOB_LINE_COUNTS,
  JOB_OWNER,
  JOURNAL,
  JobAwaitRow,
  JobEventRow,
  JobLineCountsRow,
  JobLineRow,
  JobOwnerRow,
  JobRow,
  JournalRow,
  Kind,
  LEDGER,
  LedgerRow,
  NOTE,
  NoteRow,
  OCCURRENCE,
  OPERATION,
  OPERATION_NOTE,
  OccurrenceRow,
  OperationNoteRow,
  OperationRow,
  PROFILE,
  ProfileRow,
  SEGMENT,
  SESSION,
  SESSION_TAG,
  SET,
  STATE,
  SUBSCRIPTION,
  SegmentRow,
  SessionRow,
  SessionTagRow,
  StateRow,
  SubscriptionRow,
  TABLES,
  TURN,
  Table,
  TurnRow,
  WAIT,
  WaitRow,
  meets,
};
