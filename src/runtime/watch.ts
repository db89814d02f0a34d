import { RuntimeError } from "../model/errors.ts";
import type { FactEvent, Preview, SessionEvent } from "../model/event.ts";
import { asCursor, asSessionId, type Cursor, type SessionId, type TurnId } from "../model/ids.ts";
import { describeThrown } from "../model/json.ts";
import type { SessionView } from "../model/view.ts";
import type { Change, Store, StoredSession } from "../stores/store.ts";
import { DONE, joined, type Shown } from "./observe.ts";

/** A session that can be watched here. */
export interface Watched {
  readonly id: SessionId;
  /** Its parent first, the root of its tree last. */
  readonly ancestors: readonly SessionId[];
  /** What the turn that runs here has shown so far. */
  readonly shown: Shown | undefined;
}

export interface ObserveOptions {
  /** The cursor of a fact, or of a view: facts after it come first. Without one, all of them from the beginning. */
  readonly after?: string | undefined;
  /** Also every session that descends from this one, in one order. */
  readonly tree?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A cursor says whose it is: its number alone would be taken anywhere. */
export const cursorFor = (session: SessionId, fact: Cursor): Cursor => asCursor(`${fact}@${session}`);

interface Parsed {
  readonly fact: Cursor;
  readonly session: SessionId;
}
function parsed(cursor: string): Parsed {
  const at = typeof cursor === "string" ? cursor.indexOf("@") : -1;
  if (at <= 0) throw new RuntimeError("cursor.unknown", { cursor: String(cursor).slice(0, 80) });
  return { fact: asCursor(cursor.slice(0, at)), session: asSessionId(cursor.slice(at + 1)) };
}

/** How often facts of other processes are looked for. */
const LOOK_MS = 250;
const PAGE = 256;

/** Tells observers what happens in this process, and finds out what happened elsewhere. */
export class Watch {
  readonly #store: Store;
  readonly #unreadMax: number;
  readonly #own = new Map<SessionId, Set<Observer>>();
  readonly #trees = new Map<SessionId, Set<Observer>>();
  readonly #sessions: (id: SessionId) => Watched | undefined;
  readonly #trace: (problem: string) => void;
  #count = 0;
  #timer: NodeJS.Timeout | undefined;
  #latest: Cursor | undefined;

  constructor(
    store: Store,
    unreadMax: number,
    sessions: (id: SessionId) => Watched | undefined,
    trace: (problem: string) => void,
  ) {
    this.#store = store;
    this.#unreadMax = unreadMax;
    this.#sessions = sessions;
    this.#trace = trace;
  }

  get isIdle(): boolean {
    return this.#count === 0;
  }

  /** Something is shown, and not kept. */
  preview(session: Watched, event: Preview): void {
    const own = this.#own.get(session.id);
    if (own !== undefined) for (const observer of own) observer.preview(event);
    if (this.#trees.size === 0 || event.kind === "child") return; // A tree's observers are told by the child itself.
    for (const observer of this.#above(session)) observer.preview(event);
  }

  /** Something was kept. */
  moved(session: Watched): void {
    const own = this.#own.get(session.id);
    if (own !== undefined) for (const observer of own) observer.moved();
    if (this.#trees.size > 0) for (const observer of this.#above(session)) observer.moved();
  }

  *#above({ id, ancestors }: Watched): Iterable<Observer> {
    yield* this.#trees.get(id) ?? [];
    for (const ancestor of ancestors) yield* this.#trees.get(ancestor) ?? [];
  }

  observe(
    session: Watched,
    view: () => Promise<SessionView>,
    { after, tree, signal }: ObserveOptions,
  ): AsyncIterableIterator<SessionEvent> {
    const from = after === undefined ? undefined : parsed(after);
    if (from !== undefined && from.session !== session.id && tree !== true)
      throw new RuntimeError("cursor.foreign", { session: session.id });
    if (signal !== undefined && typeof signal?.addEventListener !== "function")
      throw new RuntimeError("options.invalid", { option: "signal", problem: "it is no AbortSignal" });
    const where = tree === true ? this.#trees : this.#own;
    const observer: Observer = new Observer({
      store: this.#store,
      max: this.#unreadMax,
      session: session.id,
      isTree: tree === true,
      from,
      view,
      left: () => {
        const observers = where.get(session.id);
        observers?.delete(observer);
        if (observers?.size === 0) where.delete(session.id);
        this.#count--;
        if (this.#count === 0) clearInterval(this.#timer);
      },
    });
    const observers = where.get(session.id) ?? new Set();
    where.set(session.id, observers.add(observer));
    if (this.#count++ === 0 && this.#store.isDurable) this.#look();
    for (const each of tree === true ? this.#members(session.id) : [session])
      if (each.shown !== undefined) observer.join(each.shown);
    if (signal?.aborted === true) observer.end();
    else signal?.addEventListener("abort", () => observer.end(), { once: true });
    return observer;
  }

  /** Those of the tree that are open here. */
  #members(root: SessionId): readonly Watched[] {
    const found: Watched[] = [];
    const own = this.#sessions(root);
    if (own !== undefined) found.push(own);
    for (const each of this.open()) if (each.ancestors.includes(root)) found.push(each);
    return found;
  }
  /** Given by the runtime, which knows them. */
  open: () => Iterable<Watched> = () => [];

  #look(): void {
    const look = async (): Promise<void> => {
      try {
        const latest = await this.#store.latest();
        if (latest === this.#latest) return;
        this.#latest = latest;
        for (const observers of [...this.#own.values(), ...this.#trees.values()])
          for (const observer of observers) observer.moved();
      } catch (error) {
        this.#trace(describeThrown(error)); // Looked for again soon.
      }
    };
    this.#timer = setInterval(() => void look(), LOOK_MS);
    this.#timer.unref();
  }

  close(): void {
    for (const observers of [...this.#own.values(), ...this.#trees.values()])
      for (const observer of [...observers]) observer.end();
  }
}

interface ObserverOptions {
  readonly store: Store;
  readonly max: number;
  readonly session: SessionId;
  readonly isTree: boolean;
  readonly from: Parsed | undefined;
  readonly view: () => Promise<SessionView>;
  readonly left: () => void;
}

const MOVED = Symbol("moved");
type Step = Preview | typeof MOVED;

/**
 * One who follows a session. Facts are read from the store when their turn comes, so none is lost and none is held
 * here; previews wait in line, within a bound, and are passed over once the fact of their turn is out.
 */
class Observer implements AsyncIterableIterator<SessionEvent> {
  readonly #of: ObserverOptions;
  #line: Step[] = [MOVED];
  #head = 0;
  #facts: readonly FactEvent[] = [];
  #nextFact = 0;
  #last: Cursor | undefined;
  /** Of the fact that was last given out. */
  #at: Cursor | undefined;
  readonly #ended = new Set<TurnId>();
  #hasGap = false;
  #isOver = false;
  #wake: (() => void) | undefined;
  #reading: Promise<unknown> = Promise.resolve();
  #isReading = false;

  constructor(of: ObserverOptions) {
    this.#of = of;
    this.#last = of.from?.fact;
  }

  /** Comes in the middle of a turn: what it has shown so far, after the facts. */
  join(shown: Shown): void {
    for (const event of shown.list()) this.#line.push(event);
    if (shown.isTrimmed) this.#hasGap = true;
  }

  preview(event: Preview): void {
    if (this.#line.length - this.#head >= this.#of.max) this.#shrink();
    this.#line.push(event);
    this.#wake?.();
  }

  moved(): void {
    if (this.#line[this.#line.length - 1] !== MOVED) this.#line.push(MOVED);
    this.#wake?.();
  }

  /** Longer deltas first; when that is not enough previews are lost, and a view of what is kept comes in their place. */
  #shrink(): void {
    const waiting = this.#line.slice(this.#head).filter((step) => step !== MOVED);
    const kept = joined(waiting);
    this.#hasGap ||= kept.length > this.#of.max / 2;
    this.#line = [MOVED, ...(kept.length > this.#of.max / 2 ? kept.slice(-this.#of.max / 4) : kept)];
    this.#head = 0;
  }

  next(): Promise<IteratorResult<SessionEvent>> {
    if (!this.#isReading) {
      const ready = this.#ready();
      if (ready !== undefined) return Promise.resolve({ value: ready, done: false });
      if (this.#isOver) return Promise.resolve(DONE);
    }
    this.#isReading = true;
    const read = this.#reading.then(() => this.#read());
    const done = (): void => {
      if (this.#reading === settled) this.#isReading = false;
    };
    const settled: Promise<unknown> = read.then(done, done);
    this.#reading = settled;
    return read;
  }

  /** The next that needs no waiting. */
  #ready(): SessionEvent | undefined {
    if (this.#isOver || this.#hasGap) return undefined;
    const fact = this.#facts[this.#nextFact];
    if (fact !== undefined) {
      this.#nextFact++;
      this.#at = fact.cursor;
      return fact;
    }
    while (this.#head < this.#line.length) {
      const step = this.#line[this.#head] as Step;
      if (step === MOVED) return undefined;
      this.#advance();
      if (!this.#ended.has(step.turnId)) return step;
    }
    this.#ended.clear();
    return undefined;
  }

  #advance(): void {
    this.#head++;
    if (this.#head < this.#line.length) return;
    this.#line = [];
    this.#head = 0;
  }

  async #read(): Promise<IteratorResult<SessionEvent>> {
    for (;;) {
      const ready = this.#ready();
      if (ready !== undefined) return { value: ready, done: false };
      if (this.#isOver) return DONE;
      if (this.#hasGap) return { value: await this.#gap(), done: false };
      if (this.#line[this.#head] === MOVED) await this.#load();
      else await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#wake = undefined;
    }
  }

  async #load(): Promise<void> {
    const { store, session, isTree, from } = this.#of;
    if (isTree && from !== undefined && this.#last === from.fact) await this.#requireOurs(from);
    const whose = isTree ? { tree: session } : { session };
    const changes = await store.changes(this.#last, { ...whose, max: PAGE });
    if (changes.length < PAGE && this.#line[this.#head] === MOVED) this.#advance();
    this.#facts = changes.flatMap(eventsOf);
    this.#nextFact = 0;
    this.#last = changes.at(-1)?.cursor ?? this.#last;
    for (const change of changes)
      if (change.kind === "committed" && change.by === "turn") this.#ended.add(change.turnId);
  }

  async #requireOurs({ session: whose }: Parsed): Promise<void> {
    const { store, session } = this.#of;
    for (let id: SessionId | undefined = whose; id !== session; ) {
      const stored: StoredSession | undefined = id === undefined ? undefined : await store.load(id);
      if (stored === undefined) {
        this.end();
        throw new RuntimeError("cursor.foreign", { session });
      }
      id = stored.parentId;
    }
  }

  /** What is missing of previews is made good by how the session stands; facts go on after that. */
  async #gap(): Promise<FactEvent> {
    this.#hasGap = false;
    const { session, isTree } = this.#of;
    const view = await this.#of.view();
    const { cursor = cursorFor(session, this.#last ?? asCursor("1")) } = view;
    if (isTree) return { fact: true, sessionId: session, cursor: this.#at ?? cursor, kind: "gap", view };
    this.#last = parsed(cursor).fact; // Facts before it are in the view.
    this.#facts = [];
    this.#nextFact = 0;
    this.moved();
    return { fact: true, sessionId: session, cursor, kind: "gap", view };
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#line = [];
    this.#head = 0;
    this.#facts = [];
    this.#of.left();
    this.#wake?.();
  }

  async return(): Promise<IteratorResult<SessionEvent>> {
    this.end();
    return DONE;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

function eventsOf(change: Change): readonly FactEvent[] {
  const { sessionId } = change;
  const base = { fact: true, sessionId, cursor: cursorFor(sessionId, change.cursor) } as const;
  if (change.kind === "accepted") {
    const { turnId, inputId, key } = change;
    return [{ ...base, kind: "accepted", turnId, inputId, ...(key === undefined ? {} : { key }) }];
  }
  const { nodes, frames = [] } = change;
  const opened = frames.map((frame): FactEvent => ({ ...base, kind: "frame", frame }));
  if (change.by !== "turn") return [{ ...base, kind: "committed", by: change.by, nodes }, ...opened];
  const { turnId, outcome, usage, branch } = change;
  const turn = { ...base, kind: "committed", by: "turn", turnId, nodes, outcome, usage } as const;
  return [branch === undefined ? turn : { ...turn, branch }, ...opened];
}
