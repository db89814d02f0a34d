import type { JobId } from "../../model/ids.ts";
import type { Entry } from "../../model/node.ts";
import type { TurnEvent } from "../../turn/event.ts";
import {
  decodeEntries,
  decodeEvents,
  decodeInput,
  type EncodedEntry,
  type EncodedInput,
  encodeEntries,
  encodeEvents,
  encodeInput,
  fromKeyText,
  keyText,
} from "../rows/codec.ts";
import { decodeEnded, encodeEnded } from "../rows/ended.ts";
import { corrupt } from "../rows/faults.ts";
import type { Awaits } from "../rows/job.ts";
import {
  APPEND,
  ATTEMPT,
  DELIVERY,
  GONE,
  type InputContent,
  JOB,
  JOB_AWAIT,
  JOB_EVENT,
  JOB_LINE,
  JOB_LINE_COUNTS,
  JOB_OWNER,
  JOURNAL,
  type JournalRow,
  LEDGER,
  NOTE,
  OCCURRENCE,
  OPERATION,
  OPERATION_NOTE,
  PROFILE,
  SEGMENT,
  SESSION,
  SESSION_TAG,
  STATE,
  SUBSCRIPTION,
  type Table,
  TURN,
  WAIT,
} from "../tables.ts";
import { seal, unsealText } from "./checksum.ts";
import {
  type Cell,
  type Codec,
  type Layout,
  layout,
  SEQS,
  type StoredRow,
  sealed,
  sumOver,
  type TableFormat,
} from "./layout-rows.ts";
import {
  OPEN_SESSIONS,
  PROFILES,
  PROFILES_FROM,
  profileIn,
  SESSIONS,
  SESSIONS_FROM,
  sessionIn,
} from "./layout-sessions.ts";
import { Statements } from "./layout-statements.ts";

/**
 * How each table is stored in the file. The formats never change, because files are kept for years. Seeds and checksums
 * are those of the code that first wrote them.
 */

// ── Turns ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const turnItem = ({ id }: StoredRow): string => `Turn ${id}`;
const inputItem = ({ id, input_id, is_aside, done }: StoredRow): string =>
  done === null ? `The ${is_aside === APPEND ? "append" : "input"} ${input_id}` : `The journal of turn ${id}`;

const identity = sumOver(["n", "session", "id", "input_id", "is_aside", "key", "hash"]);
const CHANGING = ["state", "claim", "boundary", "ended_by", "done", "cancel", "ended"];
const changing = sumOver([...CHANGING, "input"], ["cancel", "ended", "input"]);
/** Of an ended turn. Its journal is left out: a damaged one must not make the turn unreadable. */
const final = sumOver([...CHANGING, "none"], ["cancel", "ended"]);

const turn: TableFormat = {
  item: turnItem,
  names: { aside: "is_aside" },
  countedBy: "session",
  sum: (row) => identity(row) + (row.done === null ? changing(row) : final(row)),
  codecs: {
    cancel: sealed({ seed: "n", item: ({ n }) => `The cancel of turn ${n}`, isOptional: true }),
    ended: sealed({
      seed: "n",
      item: ({ id }) => `The end of turn ${id}`,
      isOptional: true,
      encode: encodeEnded,
      decode: decodeEnded,
    }),
    input: sealed({
      seed: "n",
      item: inputItem,
      isOptional: true,
      encode: (value: InputContent, { is_aside }) => (is_aside === APPEND ? value : encodeInput(value)),
      decode: (value: EncodedInput, { is_aside }) => (is_aside === APPEND ? value : decodeInput(value)),
    }),
  },
  ways: {
    aside: { only: { aside: "t.is_aside > 0" } },
    ready: { from: "turn t INDEXED BY turn_waiting" },
  },
};

// ── Journals ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The seed contains the session's open turn. */
const events: Codec = sealed({
  seed: "seed",
  item: ({ turn, k }) => `The journal of turn ${turn} at ${Number(k) % SEQS}`,
  encode: (value: readonly TurnEvent[]) => encodeEvents(value),
  decode: decodeEvents,
});

const journal: TableFormat = {
  span: { of: "session", at: "seq" },
  codecs: { events },
  select: `t.k, t.k / ${SEQS} AS session, t.size, t.events, s.turn, t.k + coalesce(s.turn, 0) AS seed`,
  from: `journal t LEFT JOIN session s ON s.n = t.k / ${SEQS}`,
};

/** Returns a journal row of this turn as it is stored. */
export function journalCells({ session, seq, size, events: given }: JournalRow, turn: number | null): Cell[] {
  const k = session * SEQS + seq;
  return [k, size, events.write(given, { k, turn, seed: k + (turn ?? 0) })];
}

// ── Waits ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Omits the key of the wait, which is a secret. */
const waitItem = ({ id, turn, job }: StoredRow): string =>
  `The wait ${id} of ${job === null ? `turn ${turn}` : `job ${job}`}`;

const WAIT_COLUMNS = [
  ...["n", "id", "key", "session", "turn", "effect", "at", "about", "until", "is_turns", "asked", "answered", "nth"],
  "answer",
];
/** A wait of a turn has the checksum from before jobs existed. */
const ofTurn = sumOver(WAIT_COLUMNS, ["about", "answer"]);
const ofJob = sumOver([...WAIT_COLUMNS, "job", "moved"], ["about", "answer"]);

const wait: TableFormat = {
  item: waitItem,
  countedBy: "session",
  sum: (row) => (row.job === null && row.moved === null ? ofTurn(row) : ofJob(row)),
  seeds: ["turn"],
  codecs: {
    about: sealed({ seed: "turn", item: waitItem, isOptional: true }),
    answer: sealed({ seed: "turn", item: waitItem, isOptional: true }),
  },
  ways: {
    turns: { from: "wait t INDEXED BY wait_turns" },
    open: { from: "wait t INDEXED BY wait_open" },
    openMoved: { from: "wait t INDEXED BY wait_moved" },
    jobSession: { from: "wait t INDEXED BY wait_job_session" },
  },
};

// ── The graph ───────────────────────────────────────────────────────────────────────────────────────────────────────

const BONES = ["n", "session", "revision", "depth", "parent", "parent_index", "size", "is_branch", "name"];
const bones = sumOver(BONES);
/** The seed before schema 5. */
const bonesBefore = ({ n, parent, parent_index: index }: StoredRow): number =>
  Number(n) * 31 + (parent === null || index === null ? 0 : Number(parent) * 17 + Number(index) + 1);

// Old files contain whole message ids, with this mark in place of the commit's name. JSON never contains it otherwise.
const MARK = "\u0001";
const restored = (text: string, name: string): string =>
  text.includes(MARK) ? text.replaceAll(MARK, () => JSON.stringify(name).slice(1, -1)) : text;

const entries: Codec = {
  write: (value, row) => seal(encodeEntries(value as readonly Entry[], fromKeyText(row.name as string)), bones(row)),
  read: (cell, row) => {
    const commit = fromKeyText(row.name as string);
    const item = `The segment of ${commit}`;
    const text = unsealText(cell as string, bones(row), item, bonesBefore(row));
    let found: readonly Entry[];
    try {
      found = decodeEntries(JSON.parse(restored(text, commit)) as readonly EncodedEntry[], commit);
    } catch (error) {
      throw corrupt(item, "it is not JSON", error);
    }
    if (found.length !== row.size) throw corrupt(item, `it has ${found.length} nodes, not ${row.size}`);
    return found;
  },
};

export const entriesIn = (row: StoredRow): readonly Entry[] =>
  entries.read(row.entries as Cell, row) as readonly Entry[];

const segment: TableFormat = {
  codecs: { entries },
  seeds: ["session", "revision", "depth", "parent", "parentIndex", "size", "isBranch", "name"],
};

// ── Jobs ────────────────────────────────────────────────────────────────────────────────────────────────────────────

const jobItem = ({ id }: StoredRow): string => `Job ${id}`;

/** Job ids are stored as names here too. */
const awaits: Codec = {
  write: (value) => {
    if (value === null) return null;
    const { jobs, need } = value as Awaits;
    return JSON.stringify({ jobs: jobs.map(keyText), need });
  },
  read: (cell) => {
    if (cell === null) return null;
    const { jobs, need } = JSON.parse(cell as string) as Awaits;
    return { jobs: jobs.map((id) => fromKeyText(id) as JobId), need };
  },
};

const job: TableFormat = {
  item: jobItem,
  countedBy: "session",
  sum: sumOver(
    [
      ...["n", "id", "session", "kind", "is_hidden", "recovery", "operation", "parent", "state", "owner", "generation"],
      ...["is_parked", "due", "awaits", "seq", "changed", "moves"],
    ],
    ["moves"],
  ),
  codecs: { awaits, moves: sealed({ seed: "n", item: ({ id }) => `The record of job ${id}` }) },
  ways: {
    live: { from: "job t INDEXED BY job_live" },
    unfinished: { from: "job t INDEXED BY job_live" },
    due: { from: "job t INDEXED BY job_due" },
    held: { from: "job t INDEXED BY job_held" },
  },
};

const jobEvent: TableFormat = {
  span: { of: "job", at: "seq" },
  seeds: ["key"],
  codecs: {
    event: sealed({ seed: ["k", "job", "key"], item: ({ k, job: of }) => `Event ${Number(k) % SEQS} of job ${of}` }),
  },
};

const ownerItem = ({ id }: StoredRow): string => `The owner ${id} of jobs`;
const saidItem = ({ job: of }: StoredRow): string => `What job ${of} has said`;

// ── Triggers ────────────────────────────────────────────────────────────────────────────────────────────────────────

const subscriptionItem = ({ id }: StoredRow): string => `The subscription ${id}`;
const subscription: TableFormat = {
  item: subscriptionItem,
  countedBy: "session",
  sum: sumOver(
    [
      ...["n", "session", "id", "incarnation", "revision", "is_enabled", "kind", "event", "source", "next", "after"],
      "body",
    ],
    ["body"],
  ),
  codecs: { body: sealed({ seed: "n", item: subscriptionItem }) },
  ways: {
    due: { from: "subscription t INDEXED BY subscription_due" },
    kind: { from: "subscription t INDEXED BY subscription_kind" },
  },
};

const occurrenceItem = ({ id }: StoredRow): string => `The occurrence ${id}`;
const occurrence: TableFormat = {
  item: occurrenceItem,
  sum: sumOver(["n", "id", "source", "at", "deliveries", "payload"], ["payload"]),
  codecs: {
    deliveries: { write: (value) => (value as number | null) ?? 0, read: (cell) => cell },
    payload: sealed({ seed: "n", item: occurrenceItem }),
  },
};

const delivery: TableFormat = {
  item: ({ occurrence: of }) => `A delivery of occurrence ${of}`,
  countedBy: "session",
  sum: sumOver(["occurrence", "nth", "session", "subscription", "revision", "job", "turn", "is_lost"]),
};

// ── All of them ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** The storage of a table, and its statements. */
export interface StoredTable {
  readonly layout: Layout;
  readonly statements: Statements;
}

const place = (table: Table, lying?: TableFormat): [Table, StoredTable] => {
  const made = layout(table, lying);
  return [table, { layout: made, statements: new Statements(made) }];
};

const PLACES: ReadonlyMap<Table, StoredTable> = new Map([
  place(SESSION, {
    select: SESSIONS,
    from: SESSIONS_FROM,
    names: { wake: "p.wake" },
    read: sessionIn as unknown as TableFormat["read"],
    ways: {
      ids: { start: "t.id > ''" },
      numbers: { start: "t.n > 0" },
      active: { start: "t.activity >= 0" },
      open: {
        with: OPEN_SESSIONS,
        from: "open CROSS JOIN session t ON t.n = open.n LEFT JOIN parked p ON p.session = t.n",
      },
      wake: { from: "parked p CROSS JOIN session t ON t.n = p.session" },
    },
  } as TableFormat),
  place(PROFILE, {
    select: PROFILES,
    from: PROFILES_FROM,
    names: { session: "t.n" },
    read: profileIn as unknown as TableFormat["read"],
  } as TableFormat),
  // `check` compares its rows with those of the sessions, which have checksums.
  place(SESSION_TAG),
  place(STATE, {
    countedBy: "session",
    codecs: {
      body: sealed({ seed: ["session", "plugin", "since"], item: ({ plugin }) => `The state of plugin ${plugin}` }),
    },
  }),
  place(LEDGER, {
    item: ({ session }) => `The ledger of session ${session}`,
    countedBy: "session",
    sum: sumOver([
      ...["session", "source", "model", "nth", "calls", "input", "cache_read", "cache_write", "output", "reasoning"],
      ...["unknown_calls", "estimated_input", "estimated_output"],
    ]),
  }),
  // Even a damaged row prevents the reuse of its id. `check` reports the damage.
  place(GONE),
  place(SEGMENT, segment),
  place(TURN, turn),
  place(JOURNAL, journal),
  place(NOTE, {
    countedBy: "turn",
    codecs: {
      value: sealed({
        seed: ["turn", "effect", "key"],
        item: ({ key, turn: of }) => `The note ${key} of turn ${of}`,
        before: "turn",
      }),
    },
  }),
  place(ATTEMPT, {
    item: ({ effect }) => `The attempt ${effect}`,
    countedBy: "turn",
    sum: sumOver(["turn", "effect"]),
  }),
  place(WAIT, wait),
  place(OPERATION, {
    countedBy: "session",
    seeds: ["session", "name", "hash"],
    codecs: {
      committed: sealed({
        seed: ["n", "session", "name", "hash"],
        item: ({ name }) => `The receipt of operation ${name}`,
        before: "n",
      }),
    },
  }),
  place(OPERATION_NOTE, {
    countedBy: "session",
    codecs: {
      value: sealed({
        seed: ["session", "operation", "key"],
        item: ({ operation }) => `A note of operation ${operation}`,
      }),
    },
  }),
  place(JOB, job),
  place(JOB_EVENT, jobEvent),
  // A damaged row is replaced, so that its owner can prolong its lease.
  place(JOB_OWNER, { item: ownerItem, sum: sumOver(["id", "process", "until"]), isReplaced: true }),
  place(JOB_AWAIT),
  place(JOB_LINE, {
    codecs: { line: sealed({ seed: ["job", "n"], item: ({ job: of, n }) => `Line ${n} of job ${of}` }) },
  }),
  place(JOB_LINE_COUNTS, { item: saidItem, sum: sumOver(["job", "last", "lines", "key", "since", "taken"]) }),
  place(SUBSCRIPTION, subscription),
  place(OCCURRENCE, occurrence),
  place(DELIVERY, delivery),
]);

export function storedTableOf(table: Table): StoredTable {
  const found = PLACES.get(table);
  if (found === undefined) throw new Error(`No store has the table ${table.name}.`);
  return found;
}
