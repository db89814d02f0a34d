import { type Awaitable, andThen } from "../model/awaitable.ts";
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
import { idText, type Json } from "../model/json.ts";
import { type Known, requireKnown } from "../model/known.ts";
import type { NewOccurrence, Subscription } from "../model/trigger.ts";
import type { WaitAnswer } from "../model/wait.ts";
import type { TurnEvent } from "../turn/event.ts";
import type { SweepOptions, Swept } from "./rows/sweep.ts";
import { Agendas } from "./sqlite/agenda.ts";
import { Blobs } from "./sqlite/blobs.ts";
import { changes } from "./sqlite/changes.ts";
import { type CheckOptions, check, type Finding } from "./sqlite/check.ts";
import { Commits } from "./sqlite/commits.ts";
import { Connection, type Strength } from "./sqlite/connection.ts";
import { type Database, openFile } from "./sqlite/database.ts";
import { cancel, find, terminal } from "./sqlite/endings.ts";
import { cursorOf, latestFact } from "./sqlite/facts.ts";
import { isOnPath, requirePlace, view } from "./sqlite/graph.ts";
import { claim, couldClaim, holds, waiting, withdraw } from "./sqlite/inputs.ts";
import { claimJobs, leaveJobs, renewJobs } from "./sqlite/job-claims.ts";
import { linesOfJob, takeLines } from "./sqlite/job-lines.ts";
import { changedJobs, countJobs, eventsOfJob, listJobs, loadJob } from "./sqlite/job-list.ts";
import { Jobs } from "./sqlite/jobs.ts";
import { Journals } from "./sqlite/journal.ts";
import { follow, readShown, show } from "./sqlite/live.ts";
import { attempt, note } from "./sqlite/notes.ts";
import { listOccurrences } from "./sqlite/occurrences.ts";
import { findOperation, noteOperation } from "./sqlite/operations.ts";
import { park } from "./sqlite/parking.ts";
import { setUp } from "./sqlite/schema.ts";
import { booked, headOf, Sessions } from "./sqlite/sessions.ts";
import { Sweeper, type Vacuumed, type VacuumOptions } from "./sqlite/sweep.ts";
import { Triggers } from "./sqlite/triggers.ts";
import { Turns } from "./sqlite/turns.ts";
import { get, list } from "./sqlite/wait-list.ts";
import { resolve } from "./sqlite/waits.ts";
import {
  type Appended,
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
  type ParkedTurn,
  type PendingAppend,
  type PendingInput,
  type SessionChange,
  type SessionOptions,
  type Shown,
  type Store,
  type ViewPage,
} from "./store.ts";

export type { CheckOptions, Database, Finding, Strength, SweepOptions, Swept, Vacuumed, VacuumOptions };

export interface SqliteOptions {
  /** What a power cut may cost; `power` unless given. A killed process costs nothing in any of them. */
  readonly strength?: Strength | undefined;
  /**
   * How long to wait for another process that writes, before `store.locked`; 5 s unless given. What a running turn
   * writes is tried as long as its lease holds.
   */
  readonly lockedMs?: number | undefined;
  /** How long a turn is held without being renewed, before another process may take it over; 30 s unless given. */
  readonly leaseMs?: number | undefined;
  /**
   * Makes a new file one that gives free pages back to the disk in slices, when `vacuum` is called. Writing a turn then
   * takes about a tenth longer. Without it, pages are used again, and `vacuum({ compact: true })` gives them back.
   */
  readonly shrinks?: boolean | undefined;
  /** The clock that tells the age of blobs; the real one unless given. */
  readonly now?: (() => number) | undefined;
}

export interface SqliteStore extends Store {
  /** Removes blobs that nothing names. Bounded; call it again while something remains. */
  sweep(options?: SweepOptions): Awaitable<Swept>;
  /** Sweeps, and gives free pages back to the disk when asked to. */
  vacuum(options?: VacuumOptions): Awaitable<Vacuumed>;
  /** Looks for damage and changes nothing. */
  check(options?: CheckOptions): Awaitable<readonly Finding[]>;
}

/**
 * Keeps turns in one file, shared by any number of processes of one machine; ":memory:" keeps them as long as the store
 * is open. Answers come without a promise, except when another process holds the file. A database that is handed in is
 * the store's from then on, and closed with it. Only its owner can read a file that it creates.
 */
export function sqlite(path: string | Database, options: SqliteOptions = {}): SqliteStore {
  requireRight(path, options);
  const { strength = "power", lockedMs = 5_000, leaseMs = LEASE_MS, now = Date.now } = options;
  const isPath = typeof path === "string";
  const name = isPath ? path : "(handed in)";
  const db = new Connection(isPath ? openFile(path) : path, name, strength, lockedMs, leaseMs);
  db.setUp(() => setUp(db, options.shrinks === true));
  return new Sqlite(db, now);
}

const STRENGTHS: readonly unknown[] = ["process", "power", "power-all"] satisfies Strength[];
const OPTIONS: Known<SqliteOptions> = { strength: true, lockedMs: true, leaseMs: true, shrinks: true, now: true };

/** For callers without types: an unknown strength would be the weakest one. */
function requireRight(path: unknown, options: SqliteOptions): void {
  const wrong = (option: string, problem: string): never => {
    throw new RuntimeError("options.invalid", { option, problem });
  };
  const { prepare, exec, close } = Object(path) as Partial<Database>;
  const isDatabase = [prepare, exec, close].every((each) => typeof each === "function");
  if (typeof path !== "string" && !isDatabase)
    throw new RuntimeError("store.path", {
      path: idText(path),
      problem: 'a store is opened with the path of its file, such as sqlite("agent.db"), or with an open database',
    });
  if (typeof options !== "object" || options === null) wrong("options", "they are no object");
  requireKnown("sqlite()", options, OPTIONS);
  const { strength = "power", lockedMs = 0, leaseMs = 1, now = Date.now } = options;
  if (!STRENGTHS.includes(strength))
    wrong("strength", `it is ${JSON.stringify(strength)}, and must be "process", "power" or "power-all"`);
  if (!(typeof lockedMs === "number" && lockedMs >= 0)) wrong("lockedMs", "it must be a number of 0 or more");
  if (!(typeof leaseMs === "number" && leaseMs > 0)) wrong("leaseMs", "it must be a number above 0");
  if (options.shrinks !== undefined && typeof options.shrinks !== "boolean") wrong("shrinks", "it is true or false");
  if (typeof now !== "function") wrong("now", "it must be a function that returns a time in ms");
}

const NO_WAITS: readonly NewWait[] = [];
const NO_SPAWNS: readonly JobSpawn[] = [];
const NO_INPUTS: readonly PendingInput[] = [];

/**
 * The door: each method says what its work needs of the connection (a transaction, a sync); the work itself is in the
 * folder, in a file per story.
 *
 * Work may run more than once, when the file is locked: it may change nothing but the database and what the connection
 * `remembers`.
 */
class Sqlite implements SqliteStore {
  readonly kind = "sqlite";
  readonly isDurable = true;

  readonly #db: Connection;
  readonly #sessions: Sessions;
  readonly #journals: Journals;
  readonly #turns: Turns;
  readonly #agendas: Agendas;
  readonly #commits: Commits;
  readonly #blobs: Blobs;
  readonly #sweeper: Sweeper;
  readonly #jobs: Jobs;
  readonly #triggers: Triggers;
  /** The answer to every append. */
  readonly #appended: Appended;

  constructor(db: Connection, now: () => number) {
    this.#db = db;
    this.#appended = Object.freeze({ heldMs: db.leaseMs });
    this.#sessions = new Sessions(db);
    this.#journals = new Journals(db);
    this.#blobs = new Blobs(db, now);
    this.#turns = new Turns(db, this.#sessions, this.#journals, this.#blobs);
    this.#agendas = new Agendas(db);
    this.#jobs = new Jobs(db, this.#turns, this.#blobs);
    this.#triggers = new Triggers(db, this.#jobs, this.#blobs);
    this.#commits = new Commits(db, this.#sessions, this.#blobs, this.#jobs);
    this.#sweeper = new Sweeper(db, now);
  }

  create(session: NewSession) {
    return this.#db.write(false, () => this.#sessions.create(session));
  }

  load(id: SessionId) {
    return this.#db.readAll(() => {
      const row = this.#sessions.find(id);
      return row === undefined ? undefined : this.#sessions.stored(row);
    });
  }

  has(id: SessionId) {
    return this.#db.read(() => this.#sessions.has(id));
  }

  list(page: Parameters<Store["list"]>[0] = {}) {
    return this.#db.readAll(() => this.#sessions.list(page));
  }

  fork(from: SessionId, to: NewSession, at?: NodeId) {
    return this.#db.write(false, () => this.#sessions.fork(from, to, at));
  }

  setOptions(id: SessionId, options: SessionOptions) {
    return this.#db.write(true, () => this.#sessions.setOptions(id, options));
  }

  delete(id: SessionId) {
    return this.#db.write(true, () => {
      this.#jobs.forgetOf(id);
      this.#triggers.forgetOf(id);
      this.#sessions.delete(id);
    });
  }

  view(session: SessionId, { from, max = Infinity, toFrame }: ViewPage = {}) {
    return this.#db.readAll(() => {
      const head = headOf(this.#sessions.require(session));
      return view(this.#db, from === undefined ? head : requirePlace(this.#db, from), max, toFrame === true);
    });
  }

  holds(session: SessionId, node: NodeId) {
    return this.#db.readAll(() => isOnPath(this.#db, headOf(this.#sessions.require(session)), node));
  }

  accept(input: NewInput, owner: Owner, opening: Opening | undefined, pendingMax: number) {
    return this.#db.write(true, () => this.#turns.accept(input, owner, opening, pendingMax));
  }

  open(session: SessionId, owner: Owner, now: number, opening: Opening, forOperation?: true) {
    // A worker asks for a session that another holds again and again: it only reads until there is something to take.
    const isForOperation = forOperation === true;
    const seen = this.#db.read(() => this.#turns.look(session, now, isForOperation));
    const take = () => this.#turns.open(session, owner, now, opening, isForOperation);
    return andThen(seen, (answer) => answer ?? this.#db.write(false, take));
  }

  renew(lease: Lease, now: number) {
    return this.#db.writeOne(false, () => this.#journals.renew(lease, now), this.#db.heldMs);
  }

  release(lease: Lease) {
    return this.#db.write(false, () => this.#journals.release(lease));
  }

  append(
    lease: Lease,
    seq: number,
    events: readonly TurnEvent[],
    now: number,
    waits = NO_WAITS,
    spawns = NO_SPAWNS,
  ): Awaitable<Appended> {
    const until = now + this.#db.leaseMs;
    if (waits.length > 0 || events.length === 0 || spawns.length > 0)
      return this.#appendInSteps(lease, seq, events, until, waits, spawns);
    const isDone = this.#db.writeOne(false, () => this.#journals.insert(lease, seq, events, until), this.#db.heldMs);
    if (isDone === true) return this.#appended;
    return andThen(isDone, (done) =>
      done ? this.#appended : this.#appendInSteps(lease, seq, events, until, waits, spawns),
    );
  }

  #appendInSteps(
    lease: Lease,
    seq: number,
    events: readonly TurnEvent[],
    until: number,
    waits: readonly NewWait[],
    spawns: readonly JobSpawn[],
  ): Awaitable<Appended> {
    const work = (): Appended => {
      this.#journals.append(lease, seq, events, until, waits);
      this.#jobs.spawnAll(spawns, until - this.#db.leaseMs);
      return this.#appended;
    };
    return this.#db.write(false, work, this.#db.heldMs);
  }

  park(lease: Lease, parked: ParkedTurn, now: number) {
    const work = () => park(this.#db, this.#sessions, this.#journals, lease, parked, now);
    return this.#db.write(false, work, this.#db.heldMs);
  }

  journal(turn: TurnId, after: number) {
    return this.#db.readAll((): readonly TurnEvent[] => {
      const run = this.#journals.openRun(turn);
      return run === undefined ? [] : this.#journals.read(run, after);
    });
  }

  commit(lease: Lease, ended: EndedTurn) {
    return this.#db.write(true, () => this.#commits.commit(lease, ended), this.#db.heldMs);
  }

  apply(change: SessionChange) {
    return this.#db.write(true, () => this.#commits.apply(change));
  }

  readonly operations = {
    find: (session: SessionId, operation: string) =>
      this.#db.readAll(() => findOperation(this.#db, this.#sessions, session, operation)),
    note: (session: SessionId, operation: string, key: string, value?: Json) => {
      const work = () => noteOperation(this.#db, this.#sessions, this.#blobs, session, operation, key, value);
      return value === undefined ? this.#db.readAll(work) : this.#db.write(false, work);
    },
  };

  cancel(turn: TurnId, request: CancelRequest, session?: SessionId) {
    return this.#db.write(true, () => cancel(this.#db, turn, request, session));
  }

  find(turn: TurnId) {
    return this.#db.read(() => find(this.#db, turn));
  }

  terminal(turn: TurnId) {
    return this.#db.readAll(() => terminal(this.#db, turn));
  }

  readonly inputs = {
    list: (session: SessionId) => this.#db.read(() => waiting(this.#db, session)),
    holds: (session: SessionId, key: string) => this.#db.read(() => holds(this.#db, session, key)),
    withdraw: (session: SessionId, which: InputRef) => this.#db.write(true, () => withdraw(this.#db, session, which)),
    claim: (
      lease: Lease,
      boundary: EffectName,
      max: number,
      takes?: true | "appends",
    ): Awaitable<readonly (PendingInput | PendingAppend)[]> => {
      const isThere = this.#db.read(() =>
        couldClaim(this.#db, this.#journals.requireRun(lease), lease, boundary, takes === true),
      );
      if (isThere === false) return NO_INPUTS;
      return andThen(isThere, (is) => (is ? this.#take(lease, boundary, max, takes) : NO_INPUTS));
    },
  };

  #take(lease: Lease, boundary: EffectName, max: number, takes: true | "appends" | undefined) {
    const work = () => claim(this.#db, this.#journals.requireHeld(lease), boundary, max, takes);
    return this.#db.write(false, work, this.#db.heldMs);
  }

  readonly waits = {
    list: (page: Parameters<Store["waits"]["list"]>[0]) => this.#db.readAll(() => list(this.#db, page)),
    get: (id: WaitId) => this.#db.readAll(() => get(this.#db, id)),
    resolve: (key: WaitKey, answer: WaitAnswer, now: number) => {
      const patienceMs = answer.kind === "timeout" ? this.#db.heldMs : undefined; // The turn itself notes that one.
      return this.#db.write(true, () => resolve(this.#db, this.#jobs.resolved, key, answer, now), patienceMs);
    },
  };

  note(turn: TurnId, effect: EffectName, key: string, value?: Json) {
    const work = () => note(this.#db, this.#journals, turn, effect, key, value);
    return value === undefined ? this.#db.readAll(work) : this.#db.write(false, work, this.#db.heldMs);
  }

  attempt(turn: TurnId, effect: EffectName) {
    return this.#db.write(false, () => attempt(this.#db, this.#journals, turn, effect), this.#db.heldMs);
  }

  agenda(now: number, max: number, operations?: readonly string[]) {
    return this.#db.readAll(() => this.#agendas.at(now, max, operations));
  }

  readonly jobs = {
    spawn: (spawn: JobSpawn, max: number) => this.#db.write(true, () => this.#jobs.spawn(spawn, max)),
    claim: (owner: Owner, now: number, max: number, operations: readonly string[]) =>
      this.#db.write(false, () => claimJobs(this.#db, owner, now, max, operations)),
    renew: (owner: Owner, now: number, after?: JobCursor) =>
      this.#db.write(false, () => renewJobs(this.#db, owner, now, after), this.#db.heldMs),
    leave: (owner: Owner) => this.#db.write(false, () => leaveJobs(this.#db, owner)),
    append: (lease: JobLease, events: readonly KeyedEvent[], now: number, more: JobWrites = {}) => {
      // Whoever awaits the job, and whoever reads what the session was told, acts on it.
      const isAcknowledged = (more.wakes ?? []).length > 0 || events.some(({ event }) => event.kind === "ended");
      return this.#db.write(isAcknowledged, () => this.#jobs.append(lease, events, now, more), this.#db.heldMs);
    },
    send: (id: JobId, sent: KeyedEvent, now: number, more: Pick<JobWrites, "wakes" | "wakesMax"> = {}) =>
      this.#db.write(true, () => this.#jobs.send(id, sent, now, more)),
    load: (id: JobId) => this.#db.read(() => loadJob(this.#db, id)),
    events: (id: JobId, after: number) => this.#db.readAll(() => eventsOfJob(this.#db, id, after)),
    list: (page: JobsPage) => this.#db.readAll(() => listJobs(this.#db, page)),
    count: (session: SessionId) => this.#db.readAll(() => countJobs(this.#db, session)),
    transfer: (from: SessionId, to: SessionId, ids: readonly JobId[], now: number) =>
      this.#db.write(true, () => this.#jobs.transfer(from, to, ids, now)),
    remove: (id: JobId) => this.#db.write(true, () => this.#jobs.remove(id)),
    changes: (after: JobCursor | undefined, options: Parameters<Store["jobs"]["changes"]>[1]) =>
      this.#db.readAll(() => changedJobs(this.#db, after, options)),
    lines: (id: JobId) => this.#db.readAll(() => linesOfJob(this.#db, id)),
    take: (id: JobId, key: string) => this.#db.write(false, () => takeLines(this.#db, id, key)),
  };

  readonly triggers = {
    put: (subscription: Subscription, before: number | undefined, max: number) =>
      this.#db.write(true, () => this.#triggers.put(subscription, before, max)),
    load: (session: SessionId, id: string) => this.#db.read(() => this.#triggers.load(session, id)),
    list: (page: Parameters<Store["triggers"]["list"]>[0]) => this.#db.readAll(() => this.#triggers.list(page)),
    due: (now: number, max: number) => this.#db.read(() => this.#triggers.due(now, max)),
    remove: (session: SessionId, id: string, revision?: number) =>
      this.#db.write(true, () => this.#triggers.remove(session, id, revision)),
    move: (moved: MovedTrigger) => this.#db.write(false, () => this.#triggers.move(moved)),
    occur: (occurrence: NewOccurrence, deliveries: readonly NewDelivery[], max: number, moved?: MovedTrigger) =>
      this.#db.write(true, () => this.#triggers.occur(occurrence, deliveries, max, moved)),
    occurrences: (page: Parameters<Store["triggers"]["occurrences"]>[0]) =>
      this.#db.readAll(() => listOccurrences(this.#db, page)),
  };

  readonly live = {
    follow: (sessions: readonly SessionId[], now: number, forMs: number) =>
      this.#db.write(false, () => follow(this.#db, sessions, now, forMs)),
    show: (lease: Lease, shown: Shown) => {
      const work = (): number | undefined => {
        const run = this.#journals.find(lease.turnId);
        return run?.sessionId === lease.sessionId ? show(this.#db, run, lease.generation, shown) : undefined;
      };
      return this.#db.write(false, work);
    },
    read: (session: SessionId, after: number) => this.#db.read(() => readShown(this.#db, session, after)),
  };

  readonly blobs = {
    put: (hash: BlobHash, data: Uint8Array) =>
      this.#db.writeOne(false, () => this.#blobs.put(hash, data), this.#db.heldMs),
    get: (hash: BlobHash) => this.#db.read(() => this.#blobs.get(hash)),
  };

  changes(after: Cursor | undefined, options: Parameters<Store["changes"]>[1]) {
    return this.#db.readAll(() => changes(this.#db, after, options));
  }

  latest() {
    return this.#db.read(() => {
      const fact = latestFact(this.#db);
      return fact === 0 ? undefined : cursorOf(fact);
    });
  }

  booked(tree: SessionId) {
    return this.#db.read(() => booked(this.#db, tree));
  }

  sweep(options: SweepOptions = {}) {
    return this.#sweeper.sweep(options);
  }

  vacuum(options: VacuumOptions = {}) {
    return this.#sweeper.vacuum(options);
  }

  check(options: CheckOptions = {}) {
    return this.#db.readAll(() => check(this.#db, options));
  }

  close(): void {
    this.#db.close();
  }
}
