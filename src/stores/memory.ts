// long: one class, with a method for each of the contract
import { RuntimeError } from "../model/errors.ts";
import type { BlobHash, Cursor, EffectName, NodeId, SessionId, TurnId, WaitId, WaitKey } from "../model/ids.ts";
import type { Json } from "../model/json.ts";
import { addSpent, addUsage } from "../model/usage.ts";
import type { WaitAnswer } from "../model/wait.ts";
import type { Opened, TurnEvent } from "../turn/event.ts";
import { committedOf, isSame } from "./memory/endings.ts";
import { cursorOf, Facts } from "./memory/facts.ts";
import { forkPoint, Graph, isOnPath, lay, pathOf } from "./memory/graph.ts";
import { JobRows } from "./memory/job-rows.ts";
import { Jobs, jobMethods } from "./memory/jobs.ts";
import { contentOf, enqueue, findOperation, keepOperation, keepParts, noteOperation } from "./memory/operations.ts";
import { hasMail, hasNews, hasParked, park, wake, workIn } from "./memory/parking.ts";
import {
  addToQueue,
  isInput,
  nextOf,
  removeFromQueue,
  shown,
  shownAny,
  takeAppends,
  withdraw,
} from "./memory/queue.ts";
import type { Run, SessionRow, TurnRow } from "./memory/rows.ts";
import {
  attempt,
  begin,
  claim,
  leaseLost,
  mailOf,
  note,
  record,
  renew,
  requireHeld,
  settle,
  takeOver,
} from "./memory/run.ts";
import { existing, newSession, optionsOf, Sessions, standingOf, stored } from "./memory/sessions.ts";
import { Triggers, triggerMethods } from "./memory/triggers.ts";
import { stateOf, Turns } from "./memory/turns.ts";
import { Waits } from "./memory/waits.ts";
import type {
  Agenda,
  Appended,
  Booked,
  CancelAnswer,
  CancelRequest,
  Change,
  ChangeAnswer,
  CommitAnswer,
  Committed,
  EndedTurn,
  FoundOperation,
  FoundTurn,
  InputRef,
  JobSpawn,
  Lease,
  Mail,
  NewInput,
  NewSession,
  NewWait,
  OpenAnswer,
  Opening,
  Owner,
  ParkAnswer,
  ParkedTurn,
  PendingAppend,
  PendingInput,
  Receipt,
  Segment,
  SessionChange,
  SessionOptions,
  Store,
  StoredSession,
  Terminal,
  ViewPage,
  Withdrawal,
} from "./store.ts";

const NO_INPUTS: readonly PendingInput[] = [];

/** Keeps turns as long as the process lives. Every answer is given at once, without a promise. */
export const memory = (): Store => new MemoryStore();

/**
 * Sessions, turns and facts as rows that point to each other (`memory/rows.ts`). A dead holder is no case here: all
 * workers on this store die together.
 *
 * 1. What comes in is kept by reference: nobody changes entries, events or messages. Lists are copied both ways.
 * 2. Every method checks before it changes anything, so that a throw leaves all as it was.
 */
class MemoryStore implements Store {
  readonly kind = "memory";
  readonly isDurable = false;

  readonly #sessions = new Sessions();
  readonly #turns = new Turns();
  readonly #graph = new Graph(this.#turns);
  readonly #facts = new Facts();
  readonly #jobRows = new JobRows();
  readonly #waits = new Waits(this.#facts, this.#sessions, this.#turns, this.#jobRows);
  readonly #jobs = new Jobs(this.#jobRows, {
    sessions: this.#sessions,
    turns: this.#turns,
    waits: this.#waits,
    check: (input) => this.#requireBlobs(input),
    keep: (input) => void this.#keepInput(this.#sessions.require(input.sessionId), input),
  });
  readonly #triggers = new Triggers(this.#sessions, this.#jobs);
  readonly #blobs = new Map<BlobHash, Uint8Array>();
  /** Sessions with an open turn or with inputs that wait to open one. */
  readonly #active = new Set<SessionRow>();
  #isClosed = false;

  create(session: NewSession): StoredSession {
    this.#requireOpen();
    const known = this.#sessions.byId.get(session.id);
    if (known !== undefined) return existing(known, session);
    return stored(this.#sessions.add(newSession(session)));
  }

  load(id: SessionId): StoredSession | undefined {
    this.#requireOpen();
    const session = this.#sessions.byId.get(id);
    return session === undefined ? undefined : stored(session);
  }

  has(id: SessionId): boolean {
    this.#requireOpen();
    return this.#sessions.byId.has(id);
  }

  list(page: Parameters<Store["list"]>[0] = {}): readonly StoredSession[] {
    this.#requireOpen();
    const { after, max = Infinity, parent, origin } = page;
    const isAll = parent === undefined && origin === undefined;
    return (isAll ? this.#sessions.after(after, max) : this.#sessions.related(page, after, max)).map(stored);
  }

  fork(from: SessionId, to: NewSession, at?: NodeId): StoredSession {
    this.#requireOpen();
    const known = this.#sessions.byId.get(to.id);
    if (known !== undefined) return existing(known, to);
    const source = this.#sessions.require(from);
    const { options } = source;
    const { place, plugins } =
      at === undefined ? { place: source.head, plugins: source.plugins } : forkPoint(source, this.#graph.require(at));
    const fork = this.#sessions.add(newSession(to, { from, place, plugins, options }));
    if (place !== undefined) place.segment.users += 1;
    return stored(fork);
  }

  setOptions(id: SessionId, options: SessionOptions): SessionOptions {
    this.#requireOpen();
    const session = this.#sessions.require(id);
    const all = { ...session.options, ...options };
    session.options = optionsOf(all);
    return all;
  }

  delete(id: SessionId): void {
    this.#requireOpen();
    const session = this.#sessions.byId.get(id);
    if (session === undefined) return;
    if (session.run !== undefined) this.#waits.end(session.run.waits);
    this.#jobs.forget(session);
    this.#triggers.forget(id);
    this.#graph.forget(session);
    this.#turns.forget(session);
    this.#waits.forget(this.#facts.forget(session));
    this.#active.delete(session);
    this.#sessions.delete(id);
  }

  view(session: SessionId, { from, max = Infinity, toFrame }: ViewPage = {}): readonly Segment[] {
    this.#requireOpen();
    const { head } = this.#sessions.require(session);
    return pathOf(from === undefined ? head : this.#graph.require(from), max, toFrame === true);
  }

  holds(id: SessionId, node: NodeId): boolean {
    this.#requireOpen();
    return isOnPath(this.#sessions.require(id), node);
  }

  accept(input: NewInput, owner: Owner, opening: Opening | undefined, pendingMax: number): Receipt {
    this.#requireOpen();
    const session = this.#sessions.require(input.sessionId);
    const known = this.#turns.known(session, input);
    if (known !== undefined) return { kind: "known", inputId: known.inputId, turnId: known.id };
    const isAlone = session.waiting.length === 0;
    const isIdle = session.run === undefined && (isAlone || nextOf(session) === undefined);
    const isFirst = isIdle && input.place !== "injected";
    if (!isFirst && session.waiting.length >= pendingMax) throw new RuntimeError("input.full", { max: pendingMax });
    if (input.message.parts.length > 1 || input.message.parts[0]?.kind === "attachment") this.#requireBlobs(input);
    // An opening may throw, so it is called before anything changes (2).
    let opened: Opened | undefined;
    if (isFirst && opening !== undefined) {
      const { config, plugins, options, generation } = session;
      const standing = isAlone && options === undefined ? { plugins } : standingOf(session);
      opened = { ...opening(input, config, standing), generation: generation + 1 };
    }

    if (opened === undefined) return { kind: "queued", ...this.#keepInput(session, input) };
    const turn = this.#turns.add(session, input);
    turn.acceptedAs = this.#facts.add(turn);
    this.#active.add(session);
    const { inputId, id: turnId } = turn;
    return { kind: "opened", inputId, turnId, lease: begin(turn, owner, input.at, opened), opened };
  }

  /** Keeps an input that waits. */
  #keepInput(session: SessionRow, input: NewInput): Pick<Receipt, "inputId" | "turnId"> {
    const turn = this.#turns.add(session, input);
    turn.acceptedAs = this.#facts.add(turn);
    if (!turn.isInjected) this.#active.add(session);
    addToQueue(session, turn);
    return { inputId: turn.inputId, turnId: turn.id };
  }

  #requireBlobs({ message }: NewInput): void {
    for (const part of message.parts)
      if (part.kind === "attachment" && !this.#blobs.has(part.hash))
        throw new RuntimeError("store.swept", { hash: part.hash });
  }

  open(id: SessionId, owner: Owner, now: number, opening: Opening, forOperation?: true): OpenAnswer {
    this.#requireOpen();
    const session = this.#sessions.require(id);
    const { run } = session;
    if (run?.parked !== undefined) {
      const { turn, journal, parked } = run;
      if (forOperation !== true && !hasMail(run, this.#waits, now))
        return { kind: "parked", turnId: turn.id, wakeAt: parked.wakeAt };
      return { kind: "resumed", lease: takeOver(run, owner, now), journal: journal.slice() };
    }
    if (run !== undefined) {
      if (run.until > now) return { kind: "busy", holder: run.owner, forMs: run.until - now };
      return { kind: "resumed", lease: takeOver(run, owner, now), journal: run.journal.slice() };
    }
    const next = nextOf(session);
    if (next === undefined) return { kind: "idle" };
    const opened = { ...opening(next.input!, session.config, standingOf(session)), generation: session.generation + 1 };
    removeFromQueue(session, next);
    return { kind: "opened", lease: begin(next, owner, now, opened), opened };
  }

  renew(lease: Lease, now: number): Mail {
    this.#requireOpen();
    const run = this.#requireHeld(lease);
    renew(run, now);
    return mailOf(run, this.#waits.resolved(run));
  }

  release(lease: Lease): void {
    this.#requireOpen();
    const run = this.#sessions.byId.get(lease.sessionId)?.run;
    if (run?.generation === lease.generation && run.turn.id === lease.turnId) run.until = 0;
  }

  append(
    lease: Lease,
    seq: number,
    events: readonly TurnEvent[],
    now: number,
    waits?: readonly NewWait[],
    spawns?: readonly JobSpawn[],
  ): Appended {
    this.#requireOpen();
    const run = this.#requireHeld(lease);
    if (spawns !== undefined) this.#jobs.check(spawns);
    record(run, seq, events);
    if (waits !== undefined) this.#waits.add(run, waits);
    if (spawns !== undefined) this.#jobs.begin(spawns, now);
    return renew(run, now);
  }

  park(lease: Lease, parked: ParkedTurn, now: number): ParkAnswer {
    this.#requireOpen();
    const session = this.#sessions.byId.get(lease.sessionId);
    if (hasParked(session, lease)) return { kind: "parked" };
    const run = requireHeld(session, lease);
    if (run.turn.id !== parked.turnId) throw leaseLost(lease);
    if (hasNews(run, parked, this.#waits)) return { kind: "mail", mail: this.renew(lease, now) };
    park(run, parked);
    return { kind: "parked" };
  }

  journal(turn: TurnId, after: number): readonly TurnEvent[] {
    this.#requireOpen();
    return this.#turns.runOf(turn)?.journal.slice(after) ?? [];
  }

  commit(lease: Lease, ended: EndedTurn): CommitAnswer {
    this.#requireOpen();
    const turn = this.#turns.byId.get(ended.turnId);
    const end = turn?.end;
    if (end !== undefined) {
      const isTakenOver = end.turn.session.generation !== lease.generation;
      if (!isSame(end, ended))
        throw isTakenOver ? leaseLost(lease) : new RuntimeError("store.conflict", { turnId: ended.turnId });
      return end.committed;
    }
    const run = this.#requireHeld(lease);
    if (run.turn !== turn) throw leaseLost(lease);
    const { session, cancel } = turn;
    if (cancel !== undefined && cancel.requestId !== ended.cancel) return { kind: "reopen", cancel };
    if (ended.spawns !== undefined) this.#jobs.check(ended.spawns);

    const committed = session.head?.id === ended.base ? this.#advance(turn, ended) : this.#branch(turn, ended);
    const { at, outcome, usage, plugins, inputs } = ended;
    turn.end = { turn, at, outcome, usage, plugins, inputs, committed };
    turn.input = undefined;
    if (run.claims !== undefined) settle(run, inputs);
    if (run.waits !== undefined) this.#waits.end(run.waits);
    session.run = undefined;
    if (ended.parts !== undefined) keepParts(session, ended.parts);
    if (ended.spawns !== undefined) this.#jobs.begin(ended.spawns, at);
    if (this.#jobs.hasChildren) this.#jobs.endTurn(turn.id, at);
    if (session.appends !== undefined)
      for (const { operation, change, content } of takeAppends(session))
        if (!session.parts?.has(operation)) this.#keep(session, change!, content);
    if (session.waiting.length === 0 || nextOf(session) === undefined) this.#active.delete(session);
    return committed;
  }

  apply(change: SessionChange): ChangeAnswer {
    this.#requireOpen();
    const session = this.#sessions.require(change.sessionId);
    const { operation, queueMax } = change;
    const content = contentOf(change);
    const before = session.operations?.get(operation) ?? session.appends?.get(operation);
    if (before !== undefined) {
      if (before.content !== content) throw new RuntimeError("append.conflict", { operation });
      return "committed" in before ? before.committed : { kind: "queued" };
    }
    if (session.run !== undefined && queueMax === undefined) return { kind: "busy" };
    const { revision } = session;
    if (change.by === "append" && session.parts?.has(operation)) return { kind: "stale", revision };
    if (change.base !== undefined && change.base !== revision) return { kind: "stale", revision };
    if (change.requires !== undefined && !isOnPath(session, change.requires)) return { kind: "stale", revision };
    // Nodes are named by their operation: the same name in another session would give two nodes one id.
    if (change.entries?.length && this.#graph.has(operation)) throw new RuntimeError("append.conflict", { operation });
    if (session.run === undefined) {
      const { spawns, at } = change;
      if (spawns !== undefined) this.#jobs.check(spawns);
      const committed = this.#keep(session, change, content);
      if (spawns !== undefined) this.#jobs.begin(spawns, at);
      return committed;
    }
    if (session.waiting.length >= queueMax!) throw new RuntimeError("input.full", { max: queueMax! });
    enqueue(session, change, content);
    this.#facts.skip();
    return { kind: "queued" };
  }

  #keep(session: SessionRow, change: SessionChange, content: string): Committed {
    const { operation, entries } = change;
    const added = entries?.length ? this.#graph.add(operation, session, entries) : undefined;
    const row = keepOperation(session, change, content, added, cursorOf(this.#facts.next));
    this.#facts.add(row);
    return row.committed;
  }

  readonly operations = {
    find: (id: SessionId, operation: string): FoundOperation | undefined => {
      this.#requireOpen();
      return findOperation(this.#sessions.byId.get(id), operation);
    },
    note: (id: SessionId, operation: string, key: string, value?: Json): Json | undefined => {
      this.#requireOpen();
      return noteOperation(this.#sessions.require(id), operation, key, value);
    },
  };

  cancel(turn: TurnId, request: CancelRequest, session?: SessionId): CancelAnswer {
    this.#requireOpen();
    const row = this.#turns.byId.get(turn);
    if (row === undefined || row.state === "withdrawn" || row.isInjected) return { kind: "unknown" };
    if (session !== undefined && row.session.id !== session) return { kind: "unknown" };
    if (row.end !== undefined) return { kind: "already-completed", outcome: row.end.outcome };
    // An input that another turn took ends with that turn, or is given back: both must know of the cancel.
    const target = row.state === "taken" ? (row.session.run?.turn ?? row) : row;
    if (target.cancel !== undefined) return { kind: "already-requested", request: target.cancel };
    target.cancel = request;
    row.cancel = request;
    if (row.session.run?.turn === target) wake(row.session.run);
    return { kind: "requested", request };
  }

  find(turn: TurnId): FoundTurn | undefined {
    this.#requireOpen();
    const row = this.#turns.byId.get(turn);
    return row && { sessionId: row.session.id, state: stateOf(row) };
  }

  terminal(turn: TurnId): Terminal | undefined {
    this.#requireOpen();
    const end = this.#turns.byId.get(turn)?.end;
    if (end === undefined) return undefined;
    const { at, outcome, usage, committed } = end;
    return { sessionId: end.turn.session.id, turnId: end.turn.id, at, outcome, usage, committed };
  }

  readonly inputs = {
    list: (id: SessionId): readonly PendingInput[] => {
      this.#requireOpen();
      return this.#sessions.byId.get(id)?.waiting.filter(isInput).map(shown) ?? [];
    },
    holds: (id: SessionId, key: string): boolean => {
      this.#requireOpen();
      const state = this.#sessions.byId.get(id)?.keys?.get(key)?.state;
      return state !== undefined && state !== "withdrawn";
    },
    withdraw: (id: SessionId, which: InputRef): readonly Withdrawal[] => {
      this.#requireOpen();
      const session = this.#sessions.byId.get(id);
      if (session === undefined) return [];
      const answers = this.#turns.named(session, which).map((row) => withdraw(session, row));
      if (session.run === undefined && nextOf(session) === undefined) this.#active.delete(session);
      return answers;
    },
    claim: (
      lease: Lease,
      boundary: EffectName,
      max: number,
      takes?: true | "appends",
    ): readonly (PendingInput | PendingAppend)[] => {
      this.#requireOpen();
      const run = this.#requireHeld(lease);
      if (run.claims === undefined && run.turn.session.waiting.length === 0) return NO_INPUTS;
      return claim(run, boundary, max, takes).map(shownAny);
    },
  };

  readonly waits = {
    list: (page: Parameters<Store["waits"]["list"]>[0]) => {
      this.#requireOpen();
      return this.#waits.list(page);
    },
    get: (id: WaitId) => {
      this.#requireOpen();
      return this.#waits.get(id);
    },
    resolve: (key: WaitKey, answer: WaitAnswer, now: number) => {
      this.#requireOpen();
      return this.#waits.resolve(key, answer, now);
    },
  };

  note(turn: TurnId, effect: EffectName, key: string, value?: Json): Json | undefined {
    this.#requireOpen();
    const run = this.#turns.runOf(turn);
    return run === undefined ? value : note(run, effect, key, value);
  }

  attempt(turn: TurnId, effect: EffectName): "first" | "again" {
    this.#requireOpen();
    const run = this.#turns.runOf(turn);
    return run === undefined ? "again" : attempt(run, effect);
  }

  agenda(now: number, max: number, operations?: readonly string[]): Agenda {
    this.#requireOpen();
    const latest = this.latest();
    const rest = { ...(latest === undefined ? {} : { latest }), gone: this.#sessions.gone };
    const work = workIn(this.#active, this.#waits, now, max);
    const jobs = this.#jobs.agenda(now, operations);
    const triggers = this.#triggers.agenda(now);
    const next = Math.min(work.next ?? Infinity, jobs.next ?? Infinity, triggers.next ?? Infinity);
    return { ...work, ...jobs, ...triggers, ...(next === Infinity ? {} : { next }), ...rest };
  }

  readonly jobs = jobMethods(this.#jobs, () => this.#requireOpen());
  readonly triggers = triggerMethods(this.#triggers, () => this.#requireOpen());

  readonly blobs = {
    // Copied both ways: bytes are often a view of a buffer that is used again.
    put: (hash: BlobHash, data: Uint8Array): void => {
      this.#requireOpen();
      if (!this.#blobs.has(hash)) this.#blobs.set(hash, new Uint8Array(data));
    },
    get: (hash: BlobHash): Uint8Array | undefined => {
      this.#requireOpen();
      const data = this.#blobs.get(hash);
      return data === undefined ? undefined : new Uint8Array(data);
    },
  };

  changes(after: Cursor | undefined, { session, tree, max }: Parameters<Store["changes"]>[1]): readonly Change[] {
    this.#requireOpen();
    if (tree !== undefined) return this.#facts.after(after, max, this.#sessions.tree(tree));
    if (session === undefined) return this.#facts.after(after, max);
    const row = this.#sessions.byId.get(session);
    return this.#facts.after(after, max, row === undefined ? [] : [row]);
  }

  latest(): Cursor | undefined {
    this.#requireOpen();
    const { next } = this.#facts;
    return next === 1 ? undefined : cursorOf(next - 1);
  }

  booked(tree: SessionId): readonly Booked[] {
    this.#requireOpen();
    return this.#sessions
      .tree(tree)
      .flatMap(({ id: sessionId, ledger }) => ledger.map((spent) => ({ sessionId, ...spent })));
  }

  close(): void {
    this.#isClosed = true;
  }

  #advance(turn: TurnRow, { entries, plugins, usage, spent, config }: EndedTurn): Committed {
    const { session } = turn;
    if (config !== undefined) session.config = config;
    if (entries.length > 0) {
      session.head = lay(turn.id, session, session.head, entries);
      turn.segment = session.head.segment;
    }
    session.plugins = plugins;
    session.usage = addUsage(session.usage, usage);
    const ledger = addSpent(session.ledger, spent);
    // A list that was pushed to keeps room for 16 more, which few sessions use: a copy has its own size.
    session.ledger = ledger.length > session.ledger.length ? ledger.slice() : ledger;
    session.revision += 1;
    session.turns += 1;
    return committedOf(turn, this.#facts.add(turn));
  }

  /** The head moved during the turn: its paid work is kept beside the path, and the session goes on without it. */
  #branch(turn: TurnRow, { entries, base }: EndedTurn): Committed {
    const { session } = turn;
    const at = base === undefined ? undefined : this.#graph.require(base);
    if (entries.length === 0) return committedOf(turn, this.#facts.add(turn), at);
    const branch = lay(turn.id, session, at, entries);
    turn.segment = branch.segment;
    if (at !== undefined) at.segment.users += 1;
    session.branches ??= [];
    session.branches.push(branch.segment);
    return committedOf(turn, this.#facts.add(turn), branch);
  }

  #requireHeld(lease: Lease): Run {
    return requireHeld(this.#sessions.byId.get(lease.sessionId), lease);
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new RuntimeError("runtime.closed", {});
  }
}
