// long: one class, with a method for each of the contract
import { type Awaitable, andThen, isThenable } from "../../model/awaitable.ts";
import type {
  Cursor,
  EffectName,
  JobCursor,
  JobId,
  NodeId,
  SessionId,
  TurnId,
  WaitId,
  WaitKey,
} from "../../model/ids.ts";
import type { Json } from "../../model/json.ts";
import type { NewOccurrence, Subscription } from "../../model/trigger.ts";
import type { WaitAnswer } from "../../model/wait.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type {
  Appended,
  CancelRequest,
  CommitAnswer,
  EndedTurn,
  InputRef,
  JobLease,
  JobSpawn,
  JobsPage,
  JobWrites,
  KeyedEvent,
  Lease,
  Mail,
  MovedTrigger,
  NewDelivery,
  NewInput,
  NewSession,
  NewWait,
  OpenAnswer,
  Opening,
  Owner,
  ParkAnswer,
  ParkedTurn,
  Receipt,
  SessionChange,
  SessionOptions,
  Store,
  StoredSession,
  ViewPage,
} from "../store.ts";
import { SESSION } from "../tables.ts";
import { accept, open, peek } from "./acceptance.ts";
import { agenda } from "./agenda.ts";
import { resolve } from "./answers.ts";
import { claim } from "./boundary.ts";
import { apply } from "./changes.ts";
import { commit } from "./commits.ts";
import { deleteSession } from "./deletion.ts";
import { listSessions } from "./directory.ts";
import { cancel, findTurn, terminal } from "./endings.ts";
import { changes, latest } from "./facts.ts";
import { headOf, isOnPath, requirePosition, view } from "./graph.ts";
import { holdsKey, listInputs, withdraw } from "./inputs.ts";
import { appendJob } from "./jobs/append.ts";
import { claimJobs, leaveJobs, renewJobs } from "./jobs/claims.ts";
import { removeJob } from "./jobs/ends.ts";
import { linesOfJob, takeLines } from "./jobs/lines.ts";
import { changedJobs, countJobs, eventsOfJob, listJobs, loadJob } from "./jobs/list.ts";
import { sendToJob } from "./jobs/send.ts";
import { spawnJob } from "./jobs/spawn.ts";
import { transferJobs } from "./jobs/transfer.ts";
import { append, readJournal, release, renew } from "./leases.ts";
import { attempt, note } from "./notes.ts";
import { listOccurrences, occur } from "./occurrences.ts";
import { findOperation, noteOperation } from "./operations.ts";
import { overview } from "./overview.ts";
import { park } from "./parking.ts";
import type { Engine, Fast, Numbered, Port, WriteOptions } from "./port.ts";
import type { Rule } from "./rule.ts";
import { create, fork, ledgerOfTree, load, requireSession, setOptions } from "./sessions.ts";
import {
  dueSubscriptions,
  listSubscriptions,
  loadSubscription,
  moveSubscription,
  putSubscription,
  removeSubscription,
} from "./triggers.ts";
import { forgetJournals, getTurn, keptJournal, listTurns } from "./turns.ts";
import { getWait, listWaits } from "./waits.ts";

/** The caller announces the write to others. */
const TOLD: WriteOptions = { isAcknowledged: true };
/** The writer holds a lease. */
const HELD: WriteOptions = { isHeld: true };
const TOLD_HELD: WriteOptions = { isAcknowledged: true, isHeld: true };

/** A store that runs the rules on an engine. */
export class RuleStore<E extends Engine = Engine> implements Store {
  readonly kind: string;
  readonly isDurable: boolean;
  readonly blobs: Store["blobs"];
  readonly live?: NonNullable<Store["live"]>;
  protected readonly engine: E;
  readonly #fast: Fast;

  constructor(engine: E) {
    this.engine = engine;
    this.#fast = engine.fast ?? {};
    this.kind = engine.kind;
    this.isDurable = engine.isDurable;
    this.blobs = engine.blobs;
    if (engine.live !== undefined) this.live = engine.live;
  }

  // ── Sessions ──────────────────────────────────────────────────────────────────────────────────────────────────────

  create(session: NewSession): Awaitable<StoredSession> {
    const rule = (): Awaitable<StoredSession> => this.engine.write((db) => create(db, session));
    return orElse(this.#fast.create?.(session), rule);
  }

  load(id: SessionId): Awaitable<StoredSession | undefined> {
    const rule = (): Awaitable<StoredSession | undefined> => this.engine.read((db) => load(db, id));
    return orElse(this.#fast.load?.(id), rule);
  }

  has(id: SessionId): Awaitable<boolean> {
    const rule = (): Awaitable<boolean> =>
      this.engine.read(function* (db) {
        return (yield* db.get(SESSION, "id", id)) !== undefined;
      });
    return orElse(this.#fast.has?.(id), rule);
  }

  list(page: Parameters<Store["list"]>[0] = {}) {
    return this.engine.read((db) => listSessions(db, { ...page, max: atLeastNone(page.max) }));
  }

  fork(from: SessionId, to: NewSession, at?: NodeId) {
    return this.engine.write((db) => fork(db, from, to, at));
  }

  setOptions(id: SessionId, options: SessionOptions) {
    return this.engine.write((db) => setOptions(db, id, options), { isAcknowledged: true, line: id });
  }

  delete(id: SessionId) {
    return this.engine.write((db) => deleteSession(db, id), TOLD);
  }

  view(id: SessionId, { from, max = Infinity, toFrame }: ViewPage = {}) {
    return this.engine.read(function* (db) {
      const session = yield* requireSession(db, id);
      return yield* view(
        db,
        from === undefined ? headOf(session) : yield* requirePosition(db, from),
        max,
        toFrame === true,
      );
    });
  }

  holds(id: SessionId, node: NodeId) {
    return this.engine.read(function* (db) {
      return yield* isOnPath(db, headOf(yield* requireSession(db, id)), node);
    });
  }

  // ── Turns ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  accept(input: NewInput, owner: Owner, opening: Opening | undefined, pendingMax: number): Awaitable<Receipt> {
    const rule = (): Awaitable<Receipt> =>
      this.engine.write((db) => accept(db, input, owner, opening, pendingMax), {
        isAcknowledged: true,
        line: input.sessionId,
      });
    return orElse(this.#fast.accept?.(input, owner, opening, pendingMax), rule);
  }

  open(id: SessionId, owner: Owner, now: number, opening: Opening, forOperation?: true): Awaitable<OpenAnswer> {
    // Workers ask repeatedly for a session that another worker holds. So this only reads until there is work to take.
    const isForOperation = forOperation === true;
    const read = (): Awaitable<OpenAnswer | undefined> => this.engine.read((db) => peek(db, id, now, isForOperation));
    const take = (): Awaitable<OpenAnswer> =>
      this.engine.write((db) => open(db, id, owner, now, opening, isForOperation));
    return orElse(orElse(this.#fast.look?.(id, now), read), take);
  }

  renew(lease: Lease, now: number): Awaitable<Mail> {
    const rule = (): Awaitable<Mail> => this.engine.write((db) => renew(db, lease, now), HELD);
    return orElse(this.#fast.renew?.(lease, now), rule);
  }

  release(lease: Lease) {
    return this.engine.write((db) => release(db, lease));
  }

  append(
    lease: Lease,
    seq: number,
    events: readonly TurnEvent[],
    now: number,
    waits?: readonly NewWait[],
    spawns?: readonly JobSpawn[],
  ): Awaitable<Appended> {
    const rule = (): Awaitable<Appended> =>
      this.engine.write((db) => append(db, lease, seq, events, now, waits, spawns), HELD);
    return orElse(this.#fast.append?.(lease, seq, events, now, waits, spawns), rule);
  }

  park(lease: Lease, parked: ParkedTurn, now: number): Awaitable<ParkAnswer> {
    const answer = this.engine.write((db) => park(db, lease, parked), HELD);
    return orElse(answer, () => andThen(this.renew(lease, now), (mail) => ({ kind: "mail", mail }) as const));
  }

  journal(turn: TurnId, after: number) {
    return this.engine.read((db) => readJournal(db, turn, after));
  }

  commit(lease: Lease, ended: EndedTurn): Awaitable<CommitAnswer> {
    const rule = (): Awaitable<CommitAnswer> => this.engine.write((db) => commit(db, lease, ended), TOLD_HELD);
    return orElse(this.#fast.commit?.(lease, ended), rule);
  }

  cancel(turn: TurnId, request: CancelRequest, session?: SessionId) {
    return this.engine.write((db) => cancel(db, turn, request, session), { isAcknowledged: true, line: turn });
  }

  find(turn: TurnId) {
    return this.engine.read((db) => findTurn(db, turn));
  }

  terminal(turn: TurnId) {
    return this.engine.read((db) => terminal(db, turn));
  }

  readonly turns: Store["turns"] = {
    list: (page) => this.engine.read((db) => listTurns(db, within(page))),
    get: (turn, now) => this.engine.read((db) => getTurn(db, turn, now)),
    journal: (turn) => this.engine.read((db) => keptJournal(db, turn)),
    forget: (turns) => this.engine.write((db) => forgetJournals(db, turns)),
  };

  readonly inputs: Store["inputs"] = {
    list: (session) => this.engine.read((db) => listInputs(db, session)),
    holds: (session, key) => this.engine.read((db) => holdsKey(db, session, key)),
    withdraw: (session: SessionId, which: InputRef) =>
      this.engine.write((db) => withdraw(db, session, which), { isAcknowledged: true, line: session }),
    claim: (lease: Lease, boundary: EffectName, max: number, takes?: true | "appends") => {
      const rule = () => this.engine.write((db) => claim(db, lease, boundary, atLeastNone(max), takes), HELD);
      return orElse(this.#fast.claim?.(lease, boundary, max, takes), rule);
    },
  };

  readonly waits: Store["waits"] = {
    list: (page) => this.engine.read((db) => listWaits(db, within(page))),
    get: (id: WaitId) => this.engine.read((db) => getWait(db, id)),
    resolve: (key: WaitKey, answer: WaitAnswer, now: number) => {
      const isHeld = answer.kind === "timeout"; // The turn itself records its timeouts.
      return this.engine.write((db) => resolve(db, key, answer, now), { isAcknowledged: true, isHeld });
    },
  };

  note(turn: TurnId, effect: EffectName, key: string, value?: Json): Awaitable<Json | undefined> {
    if (value === undefined) return this.engine.read((db) => note(db, turn, effect, key, undefined));
    return this.engine.write((db) => note(db, turn, effect, key, value), HELD);
  }

  attempt(turn: TurnId, effect: EffectName) {
    return this.engine.write((db) => attempt(db, turn, effect), HELD);
  }

  // ── Between turns ─────────────────────────────────────────────────────────────────────────────────────────────────

  apply(change: SessionChange) {
    return this.engine.write((db) => apply(db, change), { isAcknowledged: true, line: change.sessionId });
  }

  readonly operations: Store["operations"] = {
    find: (session, operation) => this.engine.read((db) => findOperation(db, session, operation)),
    note: (session, operation, key, value) => {
      const rule = { read: this.engine.read, write: this.engine.write }[value === undefined ? "read" : "write"];
      return rule.call(this.engine, (db) => noteOperation(db, session, operation, key, value)) as Awaitable<
        Json | undefined
      >;
    },
  };

  agenda(now: number, max: number, operations?: readonly string[]) {
    return this.engine.read((db) => agenda(db, now, atLeastNone(max), operations));
  }

  overview(max: number, now?: number) {
    return this.engine.read((db) => overview(db, atLeastNone(max), now));
  }

  changes(after: Cursor | undefined, options: Parameters<Store["changes"]>[1]) {
    return this.engine.read((db) => changes(db, after, within(options)));
  }

  latest() {
    return this.engine.read((db) => latest(db));
  }

  booked(tree: SessionId) {
    return this.engine.read((db) => ledgerOfTree(db, tree));
  }

  // ── Jobs and triggers ─────────────────────────────────────────────────────────────────────────────────────────────

  readonly jobs: Store["jobs"] = {
    spawn: (spawn: JobSpawn, max: number) => this.#writeJobs((db) => spawnJob(db, spawn, max), TOLD),
    claim: (owner: Owner, now: number, max: number, operations: readonly string[]) =>
      this.#writeJobs((db) => claimJobs(db, owner, now, atLeastNone(max), operations)),
    renew: (owner: Owner, now: number, after?: JobCursor) =>
      this.engine.write((db) => renewJobs(db, owner, now, after), HELD),
    leave: (owner: Owner) => this.engine.write((db) => leaveJobs(db, owner)),
    append: (lease: JobLease, events: readonly KeyedEvent[], now: number, more: JobWrites = {}) => {
      // Waiting jobs, and readers of the session's inputs, act on the write.
      const isAcknowledged = (more.wakes ?? []).length > 0 || events.some(({ event }) => event.kind === "ended");
      return this.#writeJobs((db) => appendJob(db, lease, events, now, more), { isAcknowledged, isHeld: true });
    },
    send: (id: JobId, sent: KeyedEvent, now: number, more: Pick<JobWrites, "wakes" | "wakesMax"> = {}) =>
      this.#writeJobs((db) => sendToJob(db, id, sent, now, more), TOLD),
    load: (id) => this.engine.read((db) => loadJob(db, id)),
    events: (id, after) => this.engine.read((db) => eventsOfJob(db, id, after)),
    list: (page: JobsPage) => this.engine.read((db) => listJobs(db, within(page))),
    count: (session) => this.engine.read((db) => countJobs(db, session)),
    transfer: (from, to, ids, now) => this.#writeJobs((db) => transferJobs(db, from, to, ids, now), TOLD),
    remove: (id) => this.engine.write((db) => removeJob(db, id), TOLD),
    changes: (after, options) => this.engine.read((db) => changedJobs(db, after, within(options))),
    lines: (id) => this.engine.read((db) => linesOfJob(db, id)),
    take: (id, key) => this.engine.write((db) => takeLines(db, id, key)),
  };

  readonly triggers: Store["triggers"] = {
    put: (subscription: Subscription, before: number | undefined, max: number) =>
      this.engine.write((db) => putSubscription(db, subscription, before, max), TOLD),
    load: (session, id) => this.engine.read((db) => loadSubscription(db, session, id)),
    list: (page) => this.engine.read((db) => listSubscriptions(db, within(page))),
    due: (now, max) => this.engine.read((db) => dueSubscriptions(db, now, atLeastNone(max))),
    remove: (session, id, revision) => this.engine.write((db) => removeSubscription(db, session, id, revision), TOLD),
    move: (moved: MovedTrigger) => this.engine.write((db) => moveSubscription(db, moved)),
    occur: (occurrence: NewOccurrence, deliveries: readonly NewDelivery[], max: number, moved?: MovedTrigger) =>
      this.engine.write((db) => occur(db, occurrence, deliveries, max, moved), TOLD),
    occurrences: (page) => this.engine.read((db) => listOccurrences(db, within(page))),
  };

  #writeJobs<T>(rule: (db: Port) => Rule<Numbered<T>>, options?: WriteOptions): Awaitable<T> {
    if (this.engine.writeJobs !== undefined) return this.engine.writeJobs(rule, options);
    const numbered = function* (db: Port): Rule<T> {
      return (yield* rule(db))(({ changed }) => changed);
    };
    return this.engine.write(numbered, options);
  }

  close() {
    return this.engine.close();
  }
}

/** A negative page size means an empty page. */
const atLeastNone = (max = Infinity): number => Math.max(0, max);
const within = <Page extends { readonly max: number }>(page: Page): Page => ({ ...page, max: atLeastNone(page.max) });

/** Returns the answer of the faster version, or runs the rule if there is none or it declined. */
function orElse<T>(answer: Awaitable<T | undefined> | undefined, rule: () => Awaitable<T>): Awaitable<T> {
  if (answer === undefined) return rule();
  return isThenable(answer) ? answer.then((found) => found ?? rule()) : answer;
}
