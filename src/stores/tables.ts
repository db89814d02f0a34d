// long: one list of tables
import type { SessionConfig } from "../model/config.ts";
import type { EffectName, InputId, JobId, SessionId, TurnId, WaitId, WaitKey } from "../model/ids.ts";
import type { JobEvent } from "../model/job.ts";
import type { Json } from "../model/json.ts";
import type { Entry } from "../model/node.ts";
import type { CancelRequest } from "../model/outcome.ts";
import type { Usage } from "../model/usage.ts";
import type { WaitAbout, WaitAnswer, WaitedTurns } from "../model/wait.ts";
import type { TurnEvent } from "../turn/event.ts";
import type { InputContent, KeptJournal } from "./rows/codec.ts";
import type { Ended } from "./rows/ended.ts";
import { type Awaits, type Moves, OVER } from "./rows/job.ts";
import { SCHEDULE, type SubscriptionBody } from "./rows/trigger.ts";
import type { JobLine, NewInput, PluginSnapshot, SessionChange, SessionOptions } from "./store.ts";

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
export type Kind = "number" | "text" | "name" | "flag" | "json" | "long";

/** A condition on a column of an index. */
export type Condition =
  | typeof SET
  | null
  | number
  | boolean
  | { readonly not: number }
  | { readonly below: number }
  | { readonly from: number };
export const SET = "set";

/** Returns whether a value meets a condition. */
export function meets(value: unknown, condition: Condition): boolean {
  if (condition === SET) return value !== null;
  if (condition === null || typeof condition !== "object") return value === condition;
  if ("not" in condition) return value !== condition.not;
  return "below" in condition ? (value as number) < condition.below : (value as number) >= condition.from;
}

export interface Index<Row> {
  /** The columns that find a row. */
  readonly on: readonly (keyof Row & string)[];
  /**
   * The order of the rows, before that of the key. A scan may begin after, or end at, a value of the first of these
   * columns.
   */
  readonly by?: readonly (keyof Row & string)[];
  /** The index only contains rows that meet these conditions. */
  readonly only?: { readonly [Column in keyof Row & string]?: Condition };
}

// biome-ignore lint/suspicious/noExplicitAny: a table of any rows
export interface Table<Row extends object = any, Name extends string = string> {
  readonly name: string;
  readonly columns: { readonly [Column in keyof Row & string]-?: Kind };
  readonly key: readonly (keyof Row & string)[];
  readonly indexes: { readonly [name in Name | "key"]: Index<Row> };
}

/** Called twice, so that index names are inferred although the row type is given. */
const table =
  <Row extends object>() =>
  <Name extends string = never>(
    name: string,
    columns: Table<Row>["columns"],
    key: Table<Row>["key"],
    indexes?: { readonly [name in Name]: Index<Row> },
  ): Table<Row, Name> => ({ name, columns, key, indexes: { ...indexes!, key: { on: key } } });

// ── Sessions ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The row that a rule locks before it writes anything of a session. */
export interface SessionRow {
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
export const SESSION = table<SessionRow>()(
  "session",
  {
    ...{ n: "number", id: "text", revision: "number", turns: "number", head: "number", headIndex: "number" },
    ...{ usage: "json", generation: "number", turn: "number", owner: "text", process: "text", until: "number" },
    ...{ written: "number", wake: "number", parked: "json", ownedBy: "name", tags: "json", activity: "number" },
    words: "name",
  } as const,
  ["n"],
  {
    id: { on: ["id"] },
    ids: { on: [], by: ["id"] },
    numbers: { on: [], by: ["n"] },
    active: { on: [], by: ["activity"] },
    ownedActive: { on: ["ownedBy"], by: ["activity"], only: { ownedBy: SET } },
    /** `open`: turns with a lease, valid or not. `wake`: parked turns. */
    open: { on: [], only: { turn: SET, wake: null } },
    wake: { on: [], by: ["wake"], only: { wake: SET } },
  },
);

/** A tag of a session. The other columns are copies of those of the session, so that a list by tag is one index. */
export interface SessionTagRow {
  readonly session: number;
  readonly tag: string;
  readonly ownedBy: string | null;
  readonly activity: number;
}
export const SESSION_TAG = table<SessionTagRow>()(
  "session_tag",
  { session: "number", tag: "name", ownedBy: "name", activity: "number" },
  ["session", "tag"],
  {
    session: { on: ["session"] },
    active: { on: ["tag"], by: ["activity"] },
    ownedActive: { on: ["ownedBy", "tag"], by: ["activity"], only: { ownedBy: SET } },
  },
);

/** The columns of a session that rarely change. */
export interface ProfileRow {
  readonly session: number;
  readonly parentId: SessionId | null;
  /** The session that this one was forked from, and the node where it begins. */
  readonly originId: SessionId | null;
  readonly originAt: string | null;
  readonly createdAt: number;
  readonly config: Partial<SessionConfig>;
  readonly options: SessionOptions | null;
}
export const PROFILE = table<ProfileRow>()(
  "profile",
  {
    ...{ session: "number", parentId: "text", originId: "text", originAt: "name", createdAt: "number" },
    ...{ config: "json", options: "json" },
  } as const,
  ["session"],
  { parent: { on: ["parentId"], only: { parentId: SET } }, origin: { on: ["originId"], only: { originId: SET } } },
);

/** A plugin's state as of a revision of its session. A null body means that the state was removed. */
export interface StateRow {
  readonly session: number;
  readonly plugin: string;
  readonly since: number;
  readonly body: PluginSnapshot | null;
}
export const STATE = table<StateRow>()(
  "state",
  { session: "number", plugin: "name", since: "number", body: "json" },
  ["session", "plugin", "since"],
  { session: { on: ["session"] } },
);

/** The spending of a session by source and model. `nth` orders the rows by their first spending. */
export interface LedgerRow extends Required<Usage> {
  readonly session: number;
  readonly source: string;
  readonly model: string;
  readonly nth: number;
  readonly calls: number;
}
export const LEDGER = table<LedgerRow>()(
  "ledger",
  {
    ...{ session: "number", source: "text", model: "text", nth: "number", calls: "number", input: "number" },
    ...{ cacheRead: "number", cacheWrite: "number", output: "number", reasoning: "number", unknownCalls: "number" },
    ...{ estimatedInput: "number", estimatedOutput: "number" },
  } as const,
  ["session", "source", "model"],
  { session: { on: ["session"], by: ["nth"] } },
);

/** A deleted session. Its id is never used again. */
export interface GoneRow {
  readonly id: SessionId;
}
export const GONE = table<GoneRow>()("gone", { id: "text" }, ["id"]);

// ── The graph ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** The nodes of one commit. */
export interface SegmentRow {
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
export const SEGMENT = table<SegmentRow>()(
  "segment",
  {
    ...{ n: "number", session: "number", revision: "number", depth: "number", parent: "number", parentIndex: "number" },
    ...{ size: "number", users: "number", isNamed: "flag", isBranch: "flag", name: "name", entries: "long" },
  } as const,
  ["n"],
  {
    named: { on: ["name"], only: { isNamed: true } },
    left: { on: ["session"], only: { isNamed: true } },
    branch: { on: ["session"], only: { isBranch: true } },
  },
);

// ── Turns ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The states of an input. */
export const WAITING = 0;
export const TAKEN = 1;
export const WITHDRAWN = 2;

/**
 * The kinds of a row (`aside`): an input that opens a turn (0), one for a boundary (1), one that opens none (2), or a
 * waiting append (3).
 */
export const NEXT_TURN = 0;
export const INJECTED = 2;
export const APPEND = 3;

/** An input and the turn that it opens, or an append that waits for the open turn. */
export interface TurnRow {
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
   * The input or the append. After the end of the turn: its journal, or null if none is kept. If another turn has
   * settled the input: the data that the nodes of that turn do not contain. An early version stored null.
   */
  readonly input?: InputContent | SettledInput | SessionChange | KeptJournal | null;
}
export type { InputContent } from "./rows/codec.ts";
/** Without it, the fact of the acceptance would have another time once the input is settled. */
export type SettledInput = Pick<NewInput, "at" | "metadata">;
export const TURN = table<TurnRow>()(
  "turn",
  {
    ...{ n: "number", session: "number", id: "text", inputId: "text", state: "number", aside: "number", key: "name" },
    ...{ hash: "text", claim: "number", boundary: "text", endedBy: "number", done: "number", cancel: "json" },
    ...{ ended: "json", input: "long" },
  } as const,
  ["n"],
  {
    id: { on: ["id"] },
    session: { on: ["session"] },
    all: { on: [], by: ["n"] },
    inputKey: { on: ["session", "key"], only: { key: SET, state: { not: WITHDRAWN } } },
    withdrawn: { on: ["session", "key"], only: { key: SET, state: WITHDRAWN } },
    input: { on: ["session", "inputId"] },
    /**
     * Waiting rows, and among them: those that open a turn, injected ones, those that another turn may take, and
     * appends.
     */
    waiting: { on: ["session"], only: { state: WAITING } },
    opens: { on: ["session"], only: { state: WAITING, aside: { below: INJECTED } } },
    injected: { on: ["session"], only: { state: WAITING, aside: INJECTED } },
    free: { on: ["session"], only: { state: WAITING, cancel: null } },
    aside: { on: ["session"], only: { state: WAITING, cancel: null, aside: { not: NEXT_TURN } } },
    append: { on: ["session"], only: { state: WAITING, aside: APPEND } },
    ready: { on: [], only: { state: WAITING, aside: { below: INJECTED } } },
    claim: { on: ["claim"], only: { claim: SET } },
    boundary: { on: ["claim", "boundary"], only: { claim: SET } },
  },
);

/** Events of a session's open turn that were written together. */
export interface JournalRow {
  readonly session: number;
  readonly seq: number;
  readonly size: number;
  readonly events: readonly TurnEvent[];
}
export const JOURNAL = table<JournalRow>()(
  "journal",
  { session: "number", seq: "number", size: "number", events: "json" },
  ["session", "seq"],
  { session: { on: ["session"] } },
);

/** Nested work of an effect of an open turn. */
export interface NoteRow {
  readonly turn: number;
  readonly effect: EffectName;
  readonly key: string;
  readonly value: Json;
}
export const NOTE = table<NoteRow>()(
  "note",
  { turn: "number", effect: "name", key: "name", value: "json" },
  ["turn", "effect", "key"],
  { turn: { on: ["turn"] } },
);

/** An effect of an open turn that was started. */
export interface AttemptRow {
  readonly turn: number;
  readonly effect: EffectName;
}
export const ATTEMPT = table<AttemptRow>()("attempt", { turn: "number", effect: "name" }, ["turn", "effect"], {
  turn: { on: ["turn"] },
});

/**
 * What a turn or a job waits for. A wait that is a fact stays as long as its session, but loses its key and the value
 * of its answer when its turn or job ends. All others are removed with their turn or job.
 */
export interface WaitRow {
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
export const WAIT = table<WaitRow>()(
  "wait",
  {
    ...{ n: "number", id: "text", key: "name", session: "number", turn: "number", job: "name", moved: "number" },
    ...{ effect: "text", at: "number", about: "json", until: "number", isTurns: "flag", asked: "number" },
    ...{ answered: "number", nth: "number", answer: "json" },
  } as const,
  ["n"],
  {
    id: { on: ["id"], only: { key: SET } },
    named: { on: ["id"] },
    turn: { on: ["turn"], only: { key: SET } },
    job: { on: ["job"], only: { key: SET, job: SET } },
    session: { on: ["session"] },
    jobSession: { on: ["session"], only: { key: SET, job: SET } },
    turns: { on: [], only: { isTurns: true, key: SET, answer: null } },
    /** Open questions, in the order of their facts. */
    open: { on: [], by: ["asked"], only: { key: SET, asked: SET, answer: null } },
    openMoved: { on: [], by: ["moved"], only: { key: SET, moved: SET, asked: null, answer: null } },
  },
);

// ── Operations ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** A change between turns. */
export interface OperationRow {
  readonly n: number;
  readonly session: number;
  readonly name: string;
  /** The hash of the content. It distinguishes a repeat from a conflict. */
  readonly hash: string;
  readonly committed: Json;
}
export const OPERATION = table<OperationRow>()(
  "operation",
  { n: "number", session: "number", name: "name", hash: "text", committed: "json" },
  ["n"],
  { name: { on: ["session", "name"] }, session: { on: ["session"] } },
);

/** A note of an unfinished operation. With an empty key: the receipt of an operation that was part of a turn. */
export interface OperationNoteRow {
  readonly session: number;
  readonly operation: string;
  readonly key: string;
  readonly value: Json;
}
export const OPERATION_NOTE = table<OperationNoteRow>()(
  "operation_note",
  { session: "number", operation: "name", key: "name", value: "json" },
  ["session", "operation", "key"],
  { operation: { on: ["session", "operation"] }, session: { on: ["session"] } },
);

// ── Facts ───────────────────────────────────────────────────────────────────────────────────────────────────────────

export const FACTS = ["accepted", "ended", "applied", "asked", "answered", "withdrawn"] as const;
export type FactKind = (typeof FACTS)[number];

/** A fact, and the row of the turn, the operation or the wait that it is about. */
export interface FactRow {
  readonly n: number;
  readonly session: number;
  readonly kind: FactKind;
  readonly of: number;
}

// ── Jobs ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * A job: the columns that find it, its holder, and the changing fields of its record. The others are in its first
 * event, which may be long and is never written again.
 */
export interface JobRow {
  readonly n: number;
  readonly id: JobId;
  readonly session: number;
  readonly kind: string;
  readonly isHidden: boolean;
  readonly recovery: number;
  /** The task that a process needs to run it; empty if any process can; null if no process can claim it. */
  readonly operation: string | null;
  /** The turn or the job that it ends with; null after its end. */
  readonly parent: string | null;
  readonly state: number;
  readonly owner: string | null;
  /** The generation of its latest lease. */
  readonly generation: number;
  /** Its holder released the lease and can no longer write, although no later generation exists. */
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
export const JOB = table<JobRow>()(
  "job",
  {
    ...{ n: "number", id: "name", session: "number", kind: "text", isHidden: "flag", recovery: "number" },
    ...{ operation: "name", parent: "name", state: "number", owner: "name", generation: "number", isParked: "flag" },
    ...{ due: "number", awaits: "json", seq: "number", changed: "number", moves: "json" },
  } as const,
  ["n"],
  {
    id: { on: ["id"] },
    session: { on: ["session"] },
    live: { on: ["session"], only: { state: { below: OVER } } },
    unfinished: { on: [], only: { state: { below: OVER } } },
    parent: { on: ["parent"], only: { parent: SET } },
    due: { on: ["operation"], by: ["due"], only: { owner: null, due: SET } },
    held: { on: ["owner", "operation"], only: { owner: SET } },
    owner: { on: ["owner"], only: { owner: SET } },
    changed: { on: [], by: ["changed"] },
    all: { on: [] },
  },
);

/** An event of a job. A key is unique in its job. */
export interface JobEventRow {
  readonly job: number;
  readonly seq: number;
  readonly key: string;
  readonly event: JobEvent;
}
export const JOB_EVENT = table<JobEventRow>()(
  "job_event",
  { job: "number", seq: "number", key: "name", event: "json" },
  ["job", "seq"],
  { job: { on: ["job"], by: ["seq"] }, name: { on: ["job", "key"] } },
);

/** A process that holds jobs, and the end of its lease. */
export interface JobOwnerRow {
  readonly id: string;
  readonly process: string;
  readonly until: number;
}
export const JOB_OWNER = table<JobOwnerRow>()("job_owner", { id: "name", process: "text", until: "number" }, ["id"], {
  all: { on: [] },
});

/** Leads from a job to a parked job that awaits it. */
export interface JobAwaitRow {
  readonly awaited: JobId;
  readonly job: number;
}
export const JOB_AWAIT = table<JobAwaitRow>()("job_await", { awaited: "name", job: "number" }, ["awaited", "job"], {
  awaited: { on: ["awaited"] },
  job: { on: ["job"] },
});

/** A line that a job has printed. */
export interface JobLineRow {
  readonly job: number;
  readonly n: number;
  readonly line: Omit<JobLine, "n">;
}
export const JOB_LINE = table<JobLineRow>()("job_line", { job: "number", n: "number", line: "json" }, ["job", "n"], {
  job: { on: ["job"], by: ["n"] },
});

/** The line counters of a job, and the latest call that took lines. */
export interface JobLineCountsRow {
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
export const JOB_LINE_COUNTS = table<JobLineCountsRow>()(
  "job_said",
  { job: "number", last: "number", lines: "number", key: "name", since: "number", taken: "number" },
  ["job"],
);

// ── Triggers ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The columns that find a subscription, and its position. */
export interface SubscriptionRow {
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
export const SUBSCRIPTION = table<SubscriptionRow>()(
  "subscription",
  {
    ...{ n: "number", session: "number", id: "name", incarnation: "name", revision: "number", isEnabled: "flag" },
    ...{ kind: "number", event: "name", source: "name", next: "number", after: "text", body: "json" },
  } as const,
  ["n"],
  {
    id: { on: ["session", "id"] },
    session: { on: ["session"] },
    event: { on: ["event"], only: { isEnabled: true, event: SET } },
    kind: { on: ["kind"], only: { isEnabled: true } },
    due: { on: [], by: ["next"], only: { isEnabled: true, kind: { from: SCHEDULE }, next: SET } },
    all: { on: [] },
  },
);

/** Something that has happened. */
export interface OccurrenceRow {
  readonly n: number;
  readonly id: string;
  readonly source: string;
  readonly at: number;
  /** The number of deliveries, in stores that keep it: a missing delivery leaves no other trace. */
  readonly deliveries?: number;
  readonly payload: { readonly payload: Json };
}
export const OCCURRENCE = table<OccurrenceRow>()(
  "occurrence",
  { n: "number", id: "name", source: "name", at: "number", deliveries: "number", payload: "json" },
  ["n"],
  { id: { on: ["id"] }, source: { on: ["source"] }, all: { on: [] } },
);

/** What an occurrence started for a subscription. */
export interface DeliveryRow {
  readonly occurrence: number;
  readonly nth: number;
  readonly session: number;
  readonly subscription: string;
  readonly revision: number;
  readonly job: JobId | null;
  readonly turn: TurnId | null;
  readonly isLost: boolean;
}
export const DELIVERY = table<DeliveryRow>()(
  "delivery",
  {
    ...{ occurrence: "number", nth: "number", session: "number", subscription: "name", revision: "number" },
    ...{ job: "name", turn: "name", isLost: "flag" },
  } as const,
  ["occurrence", "nth"],
  { occurrence: { on: ["occurrence"] }, session: { on: ["session"] } },
);

export const TABLES: readonly Table[] = [
  ...[SESSION, SESSION_TAG, PROFILE, STATE, LEDGER, GONE, SEGMENT, TURN, JOURNAL, NOTE, ATTEMPT, WAIT, OPERATION],
  OPERATION_NOTE,
  ...[JOB, JOB_EVENT, JOB_OWNER, JOB_AWAIT, JOB_LINE, JOB_LINE_COUNTS, SUBSCRIPTION, OCCURRENCE, DELIVERY],
];
