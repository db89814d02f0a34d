import type pg from "pg";
import { RuntimeError } from "../model/errors.ts";
import type {
  BlobHash,
  Cursor,
  EffectName,
  JobCursor,
  JobId,
  NodeId,
  SessionId,
  TurnId,
  WaitId,
  WaitKey,
} from "../model/ids.ts";
import type { Json } from "../model/json.ts";
import { type Known, requireKnown } from "../model/known.ts";
import type { NewOccurrence, Subscription } from "../model/trigger.ts";
import type { WaitAnswer } from "../model/wait.ts";
import type { TurnEvent } from "../turn/event.ts";
import { agenda } from "./postgres/agenda.ts";
import { Blobs } from "./postgres/blobs.ts";
import { changes } from "./postgres/changes.ts";
import { Commits } from "./postgres/commits.ts";
import { Connections } from "./postgres/connections.ts";
import { Database, type Pool, type Transaction } from "./postgres/database.ts";
import { loadDriver } from "./postgres/driver.ts";
import { cancel, findTurn, terminal } from "./postgres/endings.ts";
import { cursorOf, latestFact } from "./postgres/facts.ts";
import { isOnPath, requirePlace, view } from "./postgres/graph.ts";
import { Hints } from "./postgres/hints.ts";
import { claim, holdsKey, listWaiting, withdraw } from "./postgres/inputs.ts";
import { claimJobs, leaveJobs, renewJobs } from "./postgres/job-claims.ts";
import { linesOfJob, takeLines } from "./postgres/job-lines.ts";
import { changedJobs, countJobs, eventsOfJob, listJobs, loadJob } from "./postgres/job-list.ts";
import { Jobs } from "./postgres/jobs.ts";
import { Journals } from "./postgres/journal.ts";
import { Lines } from "./postgres/lines.ts";
import { follow, readLive, show } from "./postgres/live.ts";
import { attempt, note } from "./postgres/notes.ts";
import { listOccurrences } from "./postgres/occurrences.ts";
import { findOperation, noteOperation, operationNote } from "./postgres/operations.ts";
import { park } from "./postgres/parking.ts";
import { setUp } from "./postgres/schema.ts";
import { lockSession } from "./postgres/session-row.ts";
import { booked, headOf, Sessions } from "./postgres/sessions.ts";
import { Sweeper, type SweepOptions, type Swept } from "./postgres/sweep.ts";
import { Triggers } from "./postgres/triggers.ts";
import { Turns } from "./postgres/turns.ts";
import { addressIn, nameOf } from "./postgres/url.ts";
import { getWait, listWaits } from "./postgres/wait-list.ts";
import { resolve } from "./postgres/waits.ts";
import {
  type CancelRequest,
  type EndedTurn,
  type InputRef,
  type JobLease,
  type JobSpawn,
  type JobsPage,
  type JobWrites,
  type KeyedEvent,
  LEASE_MS,
  type Lease,
  type MovedTrigger,
  type NewDelivery,
  type NewInput,
  type NewSession,
  type NewWait,
  type Opening,
  type Owner,
  type ParkAnswer,
  type ParkedTurn,
  type SessionChange,
  type SessionOptions,
  type Shown,
  type Store,
  type ViewPage,
} from "./store.ts";

export type { SweepOptions, Swept };

export interface PostgresOptions {
  /** The schema that has the tables; "bowline" unless given. It is made by whichever process comes first. */
  readonly schema?: string | undefined;
  /** How many connections a pool of our own may open; 10 unless given. Two turns never share one in a write. */
  readonly connections?: number | undefined;
  /** How long a turn is held without being renewed, before another worker may take it over; 30 s unless given. */
  readonly leaseMs?: number | undefined;
  /**
   * How long a call is tried while the server cannot be reached, before `store.unreachable`; 10 s unless given. What a
   * running turn writes is tried as long as its lease holds.
   */
  readonly patienceMs?: number | undefined;
  /** How long the server may take to answer a statement before its connection counts as dead; 10 s unless given. */
  readonly answerMs?: number | undefined;
  /**
   * Whose clock tells when a lease lapses: the server's, so that the clocks of workers may differ, or for tests the `now`
   * that callers give. "server" unless given.
   */
  readonly clock?: "server" | "caller" | undefined;
  /**
   * Where the connection goes that hears what other workers did (LISTEN); the same place unless given. A pooler that gives
   * out connections by transaction forgets who listens: give the server's own URL then, or `false`. Without it workers look
   * for each other's news every second or so.
   */
  readonly listen?: string | false | undefined;
}

export interface PostgresStore extends Store {
  /** Connects, and makes the tables or brings them up to date. Every other call does so too, and waits for it. */
  ready(): Promise<void>;
  /** Removes blobs that nothing names. Bounded; call it again while something remains. */
  sweep(options?: SweepOptions): Promise<Swept>;
}

/**
 * Keeps turns in a PostgreSQL database (15 or later), shared by any number of workers on any number of machines. The
 * first call connects, and makes the tables or brings them up to date. It needs the package pg, and throws
 * `package.unavailable` without it. A pool that is handed in stays yours: close it after the store.
 */
export function postgres(where: string | Pool, options: PostgresOptions = {}): PostgresStore {
  requireRight(where, options);
  const { schema = "bowline", connections = 10, leaseMs = LEASE_MS } = options;
  const { patienceMs = 10_000, answerMs = 10_000, clock = "server" } = options;
  const isUrl = typeof where === "string";
  const own = isUrl ? new Connections(where, connections, answerMs) : undefined;
  const name = `${isUrl ? nameOf(where) : "the database of the pool"}, schema ${schema}`;
  const db = new Database(own ?? (where as Pool), { schema, name, leaseMs, patienceMs, answerMs, clock, setUp });
  const listenTo = options.listen ?? (isUrl ? where : (where as Partial<pg.Pool>).options);
  const connect = listenTo === undefined || listenTo === false ? undefined : () => newListener(listenTo);
  return new Postgres(db, own, connect);
}

async function newListener(to: string | pg.PoolOptions): Promise<pg.Client> {
  const { Client } = await loadDriver();
  const own = typeof to === "string" ? { connectionString: to } : { ...to, pipeline: false };
  return new Client({ ...own, keepAlive: true, application_name: "bowline hints" });
}

const OPTIONS: Known<PostgresOptions> = {
  schema: true,
  connections: true,
  leaseMs: true,
  patienceMs: true,
  answerMs: true,
  clock: true,
  listen: true,
};

function requireRight(where: unknown, options: PostgresOptions): void {
  const wrong = (option: string, problem: string): never => {
    throw new RuntimeError("options.invalid", { option, problem });
  };
  if (typeof where === "string") addressIn(where);
  else if (typeof (Object(where) as Partial<Pool>).connect !== "function")
    throw new RuntimeError("store.url", {
      problem: where == null ? `it is ${where}; is the variable set that it comes from?` : `it is a ${typeof where}`,
    });
  if (typeof options !== "object" || options === null) wrong("options", "they are no object");
  requireKnown("postgres()", options, OPTIONS);
  const { schema = "bowline", clock = "server" } = options;
  if (typeof schema !== "string" || !/^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(schema) || schema.startsWith("pg_"))
    wrong("schema", "it must be a name of letters, digits and _ that does not begin with a digit or pg_");
  if (typeof options.listen === "string") addressIn(options.listen);
  else if (![undefined, false].includes(options.listen)) wrong("listen", "it must be a URL or false");
  if (clock !== "server" && clock !== "caller") wrong("clock", 'it must be "server" or "caller"');
  for (const option of ["connections", "leaseMs", "answerMs"] as const)
    if (!isCount(options[option] ?? 1)) wrong(option, "it must be a whole number above 0");
  const { patienceMs = 0 } = options;
  if (!(typeof patienceMs === "number" && patienceMs >= 0)) wrong("patienceMs", "it must be a number of 0 or more");
}

const COUNT_MAX = 2 ** 31 - 1; // Neither the server nor a timer counts further.
const isCount = (value: unknown): boolean => Number.isInteger(value) && Number(value) > 0 && Number(value) <= COUNT_MAX;

const NO_WAITS: readonly NewWait[] = [];
const NO_SPAWNS: readonly JobSpawn[] = [];

/**
 * The door: each method says what its work needs of the server (a transaction, one moment to read, a statement); the work
 * itself is in the folder, in a file per story.
 */
class Postgres implements PostgresStore {
  readonly kind = "postgres";
  readonly isDurable = true;

  readonly #db: Database;
  /** Ours to close. */
  readonly #own: Connections | undefined;
  readonly #lines = new Lines();
  readonly #sessions: Sessions;
  readonly #blobs: Blobs;
  readonly #journals: Journals;
  readonly #turns: Turns;
  readonly #jobs: Jobs;
  readonly #triggers: Triggers;
  readonly #commits: Commits;
  readonly #sweeper: Sweeper;
  readonly #hints: Hints | undefined;
  readonly hints?: NonNullable<Store["hints"]>;

  constructor(db: Database, own: Connections | undefined, connect: (() => Promise<pg.Client>) | undefined) {
    this.#db = db;
    this.#own = own;
    // Trouble with hints is nobody's: whoever waits for one looks by itself, too.
    const hints = connect && new Hints(connect, db.channel, () => {});
    this.#hints = hints;
    if (hints !== undefined) this.hints = (listener) => hints.listen(listener);
    this.#sessions = new Sessions(db);
    this.#blobs = new Blobs(db, Date.now);
    this.#jobs = new Jobs(db, this.#blobs);
    this.#journals = new Journals(db, this.#jobs);
    this.#turns = new Turns(db, this.#sessions, this.#journals, this.#blobs);
    this.#jobs.wakesBy(this.#turns);
    this.#triggers = new Triggers(db, this.#jobs, this.#blobs);
    this.#commits = new Commits(db, this.#sessions, this.#journals, this.#jobs, this.#blobs);
    this.#sweeper = new Sweeper(db);
  }

  ready() {
    return this.#db.patiently(this.#db.patienceMs, async () => {});
  }

  create(session: NewSession) {
    return this.#db.write((tx, attempt) => this.#sessions.create(tx, session, attempt));
  }

  load(id: SessionId) {
    return this.#db.read((tx) => this.#sessions.load(tx, id));
  }

  async has(id: SessionId) {
    return (await this.#db.row("SELECT 1 FROM @session WHERE id = $1", id)) !== undefined;
  }

  list(page: Parameters<Store["list"]>[0] = {}) {
    return this.#db.read((tx) => this.#sessions.list(tx, page));
  }

  fork(from: SessionId, to: NewSession, at?: NodeId) {
    return this.#db.write((tx, attempt) => this.#sessions.fork(tx, from, to, at, attempt));
  }

  setOptions(id: SessionId, options: SessionOptions) {
    return this.#lines.run(id, () => this.#db.write((tx) => this.#sessions.setOptions(tx, id, options)));
  }

  delete(id: SessionId) {
    return this.#db.write(async (tx) => {
      const row = await lockSession(tx, id);
      if (row === undefined) return;
      await this.#triggers.forgetOf(tx, row.n);
      await this.#jobs.forgetOf(tx, row.n);
      await this.#sessions.delete(tx, row);
    });
  }

  view(session: SessionId, { from, max = Infinity, toFrame }: ViewPage = {}) {
    return this.#db.read(async (tx) => {
      const head = headOf(await this.#sessions.require(tx, session));
      return view(tx, from === undefined ? head : await requirePlace(tx, from), max, toFrame === true);
    });
  }

  holds(session: SessionId, node: NodeId) {
    return this.#db.read(async (tx) => isOnPath(tx, headOf(await this.#sessions.require(tx, session)), node));
  }

  accept(input: NewInput, owner: Owner, opening: Opening | undefined, pendingMax: number) {
    return this.#lines.run(input.sessionId, () => this.#turns.accept(input, owner, opening, pendingMax));
  }

  open(session: SessionId, owner: Owner, now: number, opening: Opening, forOperation?: true) {
    return this.#turns.open(session, owner, now, opening, forOperation === true);
  }

  renew(lease: Lease, now: number) {
    return this.#journals.renew(lease, now);
  }

  release(lease: Lease) {
    return this.#journals.release(lease);
  }

  append(lease: Lease, seq: number, events: readonly TurnEvent[], now: number, waits = NO_WAITS, spawns = NO_SPAWNS) {
    return this.#journals.append(lease, seq, events, now, waits, spawns);
  }

  async park(lease: Lease, parked: ParkedTurn, now: number): Promise<ParkAnswer> {
    const answer = await this.#db.write((tx) => park(tx, this.#journals, lease, parked), this.#db.heldMs);
    return answer ?? { kind: "mail", mail: await this.#journals.renew(lease, now) };
  }

  journal(turn: TurnId, after: number) {
    return this.#db.read((tx) => this.#journals.of(tx, turn, after));
  }

  commit(lease: Lease, ended: EndedTurn) {
    return this.#commits.commit(lease, ended);
  }

  apply(change: SessionChange) {
    return this.#lines.run(change.sessionId, () => this.#commits.apply(change));
  }

  readonly operations = {
    find: (session: SessionId, operation: string) => findOperation(this.#db, session, operation),
    note: (session: SessionId, operation: string, key: string, value?: Json) =>
      value === undefined
        ? operationNote(this.#db, session, operation, key)
        : this.#db.write((tx) => noteOperation(tx, this.#blobs, session, operation, key, value)),
  };

  cancel(turn: TurnId, request: CancelRequest, session?: SessionId) {
    return this.#lines.run(turn, () => this.#db.write((tx) => cancel(tx, turn, request, session)));
  }

  find(turn: TurnId) {
    return findTurn(this.#db, turn);
  }

  terminal(turn: TurnId) {
    return this.#db.read((tx) => terminal(tx, turn));
  }

  readonly inputs = {
    list: (session: SessionId) => listWaiting(this.#db, session),
    holds: (session: SessionId, key: string) => holdsKey(this.#db, session, key),
    withdraw: (session: SessionId, which: InputRef) => {
      const work = async (tx: Transaction) => {
        const row = await lockSession(tx, session);
        return row === undefined ? [] : withdraw(tx, row.n, which);
      };
      return this.#lines.run(session, () => this.#db.write(work));
    },
    claim: (lease: Lease, boundary: EffectName, max: number, takes?: true | "appends") =>
      this.#db.write(async (tx) => {
        const session = await this.#journals.requireHeld(tx, lease);
        const isNothing = session.waiting === 0 && !session.has_more;
        return isNothing ? [] : claim(tx, { session: session.n, turn: session.turn }, boundary, max, takes);
      }, this.#db.heldMs),
  };

  readonly waits = {
    list: (page: Parameters<Store["waits"]["list"]>[0]) => this.#db.read((tx) => listWaits(tx, page)),
    get: (id: WaitId) => this.#db.read((tx) => getWait(tx, id)),
    resolve: (key: WaitKey, answer: WaitAnswer, now: number) => {
      const patienceMs = answer.kind === "timeout" ? this.#db.heldMs : undefined; // The turn itself notes that one.
      return this.#db.write((tx) => resolve(tx, this.#jobs.resolved, key, answer, now), patienceMs);
    },
  };

  note(turn: TurnId, effect: EffectName, key: string, value?: Json) {
    return note(this.#db, turn, effect, key, value);
  }

  attempt(turn: TurnId, effect: EffectName) {
    return attempt(this.#db, turn, effect);
  }

  agenda(now: number, max: number, operations?: readonly string[]) {
    return this.#db.read((tx) => agenda(tx, this.#db, now, max, operations));
  }

  readonly jobs = {
    spawn: (spawn: JobSpawn, max: number) => this.#jobs.spawn(spawn, max),
    claim: (owner: Owner, now: number, max: number, operations: readonly string[]) =>
      claimJobs(this.#db, owner, now, max, operations),
    renew: (owner: Owner, now: number, after?: JobCursor) => renewJobs(this.#db, owner, now, after),
    leave: (owner: Owner) => leaveJobs(this.#db, owner),
    append: (lease: JobLease, events: readonly KeyedEvent[], now: number, more: JobWrites = {}) =>
      this.#jobs.append(lease, events, now, more),
    send: (id: JobId, sent: KeyedEvent, now: number, more: Pick<JobWrites, "wakes" | "wakesMax"> = {}) =>
      this.#jobs.send(id, sent, now, more),
    load: (id: JobId) => loadJob(this.#db, id),
    events: (id: JobId, after: number) => eventsOfJob(this.#db, id, after),
    list: (page: JobsPage) => listJobs(this.#db, page),
    count: (session: SessionId) => countJobs(this.#db, session),
    transfer: (from: SessionId, to: SessionId, ids: readonly JobId[], now: number) =>
      this.#jobs.transfer(from, to, ids, now),
    remove: (id: JobId) => this.#jobs.remove(id),
    changes: (after: JobCursor | undefined, options: Parameters<Store["jobs"]["changes"]>[1]) =>
      changedJobs(this.#db, after, options),
    lines: (id: JobId) => linesOfJob(this.#db, id),
    take: (id: JobId, key: string) => takeLines(this.#db, id, key),
  };

  readonly triggers = {
    put: (subscription: Subscription, before: number | undefined, max: number) =>
      this.#db.write(this.#triggers.put(subscription, before, max)),
    load: (session: SessionId, id: string) => this.#triggers.load(session, id),
    list: (page: Parameters<Store["triggers"]["list"]>[0]) => this.#triggers.list(page),
    due: (now: number, max: number) => this.#triggers.due(now, max),
    remove: (session: SessionId, id: string, revision?: number) =>
      this.#db.write(this.#triggers.remove(session, id, revision)),
    move: (moved: MovedTrigger) => this.#db.write(this.#triggers.move(moved)),
    occur: (occurrence: NewOccurrence, deliveries: readonly NewDelivery[], max: number, moved?: MovedTrigger) =>
      this.#db.write(this.#triggers.occur(occurrence, deliveries, max, moved)),
    occurrences: (page: Parameters<Store["triggers"]["occurrences"]>[0]) => listOccurrences(this.#db, page),
  };

  readonly live = {
    follow: (sessions: readonly SessionId[], now: number, forMs: number) => follow(this.#db, sessions, now, forMs),
    show: async (lease: Lease, shown: Shown) => {
      const run = await this.#journals.find(this.#db, lease.turnId);
      if (run === undefined || run.sessionId !== lease.sessionId) return undefined;
      return show(this.#db, { ...run, generation: lease.generation }, shown);
    },
    read: (session: SessionId, after: number) => readLive(this.#db, session, after),
  };

  readonly blobs = {
    put: (hash: BlobHash, data: Uint8Array) => this.#blobs.put(hash, data),
    get: (hash: BlobHash) => this.#blobs.get(hash),
  };

  changes(after: Cursor | undefined, options: Parameters<Store["changes"]>[1]) {
    return this.#db.read((tx) => changes(tx, after, options));
  }

  async latest() {
    const fact = await latestFact(this.#db);
    return fact === 0 ? undefined : cursorOf(fact);
  }

  booked(tree: SessionId) {
    return booked(this.#db, tree);
  }

  sweep(options: SweepOptions = {}) {
    return this.#sweeper.sweep(options);
  }

  async close(): Promise<void> {
    if (!this.#db.close()) return; // It is closed already.
    await this.#hints?.close();
    await this.#own?.end();
  }
}
