/**
 * Stores that break one rule each. Every store decides by the same rules, so that a mutant is written once: it changes what
 * a rule reads or writes through its port, whichever store that belongs to.
 */
import type { Engine, Key, Port, ScanOptions } from "../../src/stores/rules/port.ts";
import { now, type Read } from "../../src/stores/rules/rule.ts";
import { RuleStore } from "../../src/stores/rules/store.ts";
import type { Store } from "../../src/stores/store.ts";
import {
  ATTEMPT,
  DELIVERY,
  GONE,
  JOB,
  JOB_AWAIT,
  JOB_EVENT,
  JOB_LINE,
  JOB_OWNER,
  JOURNAL,
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
  WAITING,
  WITHDRAWN,
} from "../../src/stores/tables.ts";

// ── How a mutant is written ─────────────────────────────────────────────────────────────────────────────────────────

type Row = Readonly<Record<string, unknown>>;

/** The methods of a port that mutants change, for rows of any table. */
interface Methods {
  get(table: Table, index: string, ...key: readonly Key[]): Read<Row | undefined>;
  scan(table: Table, index: string, key: readonly Key[], options?: ScanOptions): Read<readonly Row[]>;
  count(table: Table, index: string, ...key: readonly Key[]): Read<number>;
  insert(table: Table, row: Row): void;
  update(table: Table, row: Row, change: Row): Row;
  remove(table: Table, row: Row): void;
  fact(...given: Parameters<Port["fact"]>): Read<number>;
  facts(...given: Parameters<Port["facts"]>): ReturnType<Port["facts"]>;
  latestFact(): Read<number>;
  keepBlobs(names: readonly string[]): Read<void>;
  book?: Port["book"] | undefined;
  claimable?: Port["claimable"] | undefined;
}
/** Called for each run of a rule: what it keeps, it keeps for that run. */
export type Mutant = (db: Methods) => Partial<Methods>;

/**
 * What a store may do faster than the rules: a mutant would have to change it in each store. `book` and `claimable` stay:
 * Postgres keeps the order of a ledger in its own way, and passes over jobs that another claim has locked.
 */
const FASTER: readonly (keyof Port)[] = [
  ...(["path", "states", "moved", "keepStates", "forgetStates", "nameSegments", "use", "sessionIds"] as const),
  ...(["addOnce", "waits", "subscriptions", "agenda", "jobEvents", "forgetOwners", "removeFirst"] as const),
];
const isFaster = new Set<string | symbol>(FASTER);

/** The same store without anything faster than the rules, whose port a mutant has changed. */
export function mutated(store: Store, mutant: Mutant): Store {
  const engine = Reflect.get(store, "engine") as Engine;
  const changed = (db: Port): Port => portOf(db, mutant(db as unknown as Methods));
  return new RuleStore({
    kind: engine.kind,
    isDurable: engine.isDurable,
    read: (rule) => engine.read((db) => rule(changed(db))),
    write: (rule, options) => engine.write((db) => rule(changed(db)), options),
    ...(engine.writeJobs && { writeJobs: (rule, options) => engine.writeJobs!((db) => rule(changed(db)), options) }),
    blobs: engine.blobs,
    close: () => engine.close(),
    fast: {},
  });
}

const portOf = (db: Port, own: Partial<Methods>): Port =>
  new Proxy(db, {
    get(_, key) {
      if (Object.hasOwn(own, key)) return Reflect.get(own, key);
      if (isFaster.has(key)) return undefined;
      const found: unknown = Reflect.get(db, key);
      return typeof found === "function" ? found.bind(db) : found;
    },
  });

/** A read whose answer is changed. */
function* read<T, U>(from: Read<T>, change: (found: T) => U): Generator<Promise<unknown>, U, unknown> {
  return change(yield* from);
}

const without = (row: Row, ...columns: readonly string[]): Row =>
  Object.fromEntries(Object.entries(row).filter(([column]) => !columns.includes(column)));

// ── Changes that many mutants make ──────────────────────────────────────────────────────────────────────────────────

/** No row is found under this index. */
const blind =
  (table: Table, index: string): Mutant =>
  (db) => ({
    get: (of, by, ...key) => (of === table && by === index ? now(undefined) : db.get(of, by, ...key)),
    scan: (of, by, key, options) => (of === table && by === index ? now([]) : db.scan(of, by, key, options)),
  });

/** Rows under this index count as none. */
const uncounted =
  (table: Table, index: string): Mutant =>
  (db) => ({ count: (of, by, ...key) => (of === table && by === index ? now(0) : db.count(of, by, ...key)) });

/** Changes of these columns are not written where `isMeant` says so. */
const unwritten =
  (table: Table, columns: readonly string[], isMeant = (_change: Row, _row: Row) => true): Mutant =>
  (db) => ({
    update(of, row, change) {
      const isHere = of === table && columns.some((column) => column in change) && isMeant(change, row);
      const rest = isHere ? without(change, ...columns) : change;
      return isHere && Object.keys(rest).length === 0 ? row : db.update(of, row, rest);
    },
  });

/** `remove` leaves the rows of this table alone; `removeAll` still removes them. */
const unremoved =
  (table: Table): Mutant =>
  (db) => ({ remove: (of, row) => (of === table ? undefined : db.remove(of, row)) });

// ── The mutants ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** Rules that are broken, and how. */
export const RULE_MUTANTS: { readonly [rule: string]: Mutant } = {
  // Sessions and their graph
  "the id of a deleted session is used again": blind(GONE, "key"),
  "a tree of sessions is its root alone": blind(PROFILE, "parent"),
  "a session keeps its place in lists when it is used": unwritten(SESSION, ["activity"]),
  "the tags of a session are not found": blind(SESSION_TAG, "active"),
  "states of plugins count from the revision after": (db) => ({
    insert: (of, row) => db.insert(of, of === STATE ? { ...row, since: (row.since as number) + 1 } : row),
  }),
  "the ledger is not added up": (db) => ({ ...unwritten(LEDGER, Object.keys(LEDGER.columns))(db), book: undefined }),
  "what turns use is not added to the session": unwritten(SESSION, ["usage"]),
  "a fork does not count as a user of what it shares": unwritten(
    SEGMENT,
    ["users"],
    ({ users }, before) => (users as number) > (before.users as number),
  ),

  // Inputs
  "the key of an input is forgotten": blind(TURN, "inputKey"),
  "what waits is not counted": uncounted(TURN, "waiting"),
  "bytes of an input may be gone": () => ({ keepBlobs: () => now(undefined) }),
  "an input that is withdrawn waits": (db) => ({
    ...unwritten(TURN, ["state", "input", "done"], ({ state }) => state === WITHDRAWN)(db),
    // Some stores keep facts beside the rows, others find them in the rows.
    fact: (session, kind, of) => (kind === "withdrawn" ? db.latestFact() : db.fact(session, kind, of)),
  }),
  "an input that was claimed can be claimed again": unwritten(
    TURN,
    ["state", "claim", "boundary"],
    ({ claim }) => typeof claim === "number",
  ),
  "a claimed input that the turn did not settle is lost": unwritten(TURN, ["state"], ({ state }) => state === WAITING),
  "appends that waited for a turn are lost": blind(TURN, "append"),

  // Turns and their leases
  "a process that takes a turn over does not fence the one before": unwritten(
    SESSION,
    ["generation", "owner", "process"],
    (_, { owner, turn }) => owner !== null && turn !== null,
  ),
  "a lease has the generation of the one before": unwritten(
    SESSION,
    ["generation"],
    ({ owner }, before) => owner !== undefined && before.turn !== null,
  ),
  "a turn whose lease has lapsed is on nobody's agenda": blind(SESSION, "open"),
  "an append that is sent again is not recognised": (db) => {
    let isAppend = false;
    return {
      scan(of, by, key, options) {
        if (of === JOURNAL && options?.max === 1) isAppend = true;
        return of === JOURNAL && isAppend && options === undefined ? now([]) : db.scan(of, by, key, options);
      },
    };
  },
  "a note is written over": blind(NOTE, "key"),
  "every attempt is the first": blind(ATTEMPT, "key"),
  "a commit that is sent again is not recognised": (db) => ({
    get: (of, by, ...key) =>
      of === TURN && by === "id"
        ? read(db.get(of, by, ...key), (row) => row && like(row, { done: null, endedBy: null }))
        : db.get(of, by, ...key),
    update: (of, row, change) => db.update(of, original(row), change),
  }),
  "a note of an operation is written over": blind(OPERATION_NOTE, "key"),
  "a journal is kept although it was forgotten": unwritten(
    TURN,
    ["ended", "input"],
    ({ ended, done }) => ended !== undefined && done === undefined,
  ),
  "an operation is forgotten when it is applied": blind(OPERATION, "name"),
  "a page of facts leaves out the first": (db) => ({
    facts: (...given) => read(db.facts(...given), (rows) => (rows.length > 1 ? rows.slice(1) : rows)),
  }),

  // Waits and parking
  "an answer and a cancel do not wake a parked turn": unwritten(SESSION, ["wake"], ({ wake }) => wake === 0),
  "a turn that is parked keeps its generation": unwritten(
    SESSION,
    ["generation"],
    ({ parked, owner }) => parked !== undefined && owner === undefined,
  ),
  "waits outlive their turns and jobs": (db) => ({
    ...unwritten(WAIT, ["key", "answer"], ({ key }) => key === null)(db),
    ...unremoved(WAIT)(db),
  }),
  "answers are read in the reverse order": (db) => ({
    update: (of, row, change) =>
      db.update(of, row, of === WAIT && typeof change.nth === "number" ? { ...change, nth: -change.nth } : change),
  }),

  // Jobs
  "a session may have any number of jobs": uncounted(JOB, "live"),
  "an event of a job is told again": (db) => {
    const known = new Set<unknown>();
    return {
      get: (of, by, ...key) =>
        of === JOB_EVENT && by === "name" && key[1] !== "spawned"
          ? read(db.get(of, by, ...key), (row) => void (row && known.add(row.key)))
          : db.get(of, by, ...key),
      // Under another key: some stores would refuse the same one.
      insert: (of, row) =>
        db.insert(
          of,
          of === JOB_EVENT && known.has(row.key) ? { ...row, key: `${row.key} again, at ${row.seq}` } : row,
        ),
    };
  },
  "no owner of jobs is ever gone": (db) => ({
    scan: (of, by, key, options) =>
      of === JOB_OWNER
        ? read(db.scan(of, by, key, options), (rows) => rows.map((row) => like(row, { until: Infinity })))
        : db.scan(of, by, key, options),
    update: (of, row, change) => db.update(of, original(row), change),
    remove: (of, row) => db.remove(of, original(row)),
  }),
  "a parked job keeps its lease": unwritten(JOB, ["isParked", "owner"], ({ isParked }) => isParked === true),
  "a claim of a job has the generation of the one before": unwritten(JOB, ["generation"]),
  "a job is claimed before its time": (db) => ({
    scan: (of, by, key, options) =>
      db.scan(of, by, key, of === JOB && by === "due" && options?.above === undefined ? {} : options),
    claimable: db.claimable && ((tasks, _, ...rest) => db.claimable!(tasks, Number.MAX_SAFE_INTEGER, ...rest)),
  }),
  "children do not end with what began them": blind(JOB, "parent"),
  "jobs that await an ended job are not woken": blind(JOB_AWAIT, "awaited"),
  "the lines of a job are not bounded": unremoved(JOB_LINE),

  // Triggers
  "a session may have any number of subscriptions": uncounted(SUBSCRIPTION, "session"),
  "the revision of a subscription stays": unwritten(SUBSCRIPTION, ["revision"]),
  "an occurrence goes with the first session that it was for": uncounted(DELIVERY, "occurrence"),
  "an occurrence is not looked up by its id": blind(OCCURRENCE, "id"),
};

/** Rows as mutants show them, and as the store knows them. */
const originals = new WeakMap<Row, Row>();
function like(row: Row, change: Row): Row {
  const shown = { ...row, ...change };
  originals.set(shown, row);
  return shown;
}
const original = (row: Row): Row => originals.get(row) ?? row;
