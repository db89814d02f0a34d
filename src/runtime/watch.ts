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
  /** How many events of the fact were seen, when it has more. */
  readonly seen: number | undefined;
  readonly session: SessionId;
}
function parsed(cursor: string): Parsed {
  const [, fact, seen, session] =
    (typeof cursor === "string" && /^([1-9]\d{0,15})(?:\.([1-9]\d{0,8}))?@(.+)$/su.exec(cursor)) || [];
  if (fact === undefined || session === undefined)
    throw new RuntimeError("cursor.unknown", {
      cursor: typeof cursor === "string" ? cursor.slice(0, 80) : typeof cursor,
    });
  return { fact: asCursor(fact), seen: seen === undefined ? undefined : Number(seen), session: asSessionId(session) };
}

/** How often facts of other processes are looked for; and after how many looks, whether the session is still there. */
const LOOK_MS = 250;
const GONE_LOOKS = 4;
const PAGE = 256;

/** Tells observers what happens in this process, and finds out what happened elsewhere. */
export class Watch {
  readonly #store: Store;
  readonly #unreadMax: number;
  readonly #own = new Map<SessionId, Set<Observer>>();
  readonly #trees = new Map<SessionId, Set<Observer>>();
  readonly #trace: (problem: string) => void;
  #count = 0;
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;
  #latest: Cursor | undefined;

  /** The sessions that are open here. */
  readonly #open: () => Iterable<Watched>;

  constructor(store: Store, unreadMax: number, open: () => Iterable<Watched>, trace: (problem: string) => void) {
    this.#store = store;
    this.#unreadMax = unreadMax;
    this.#open = open;
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

  /** It was deleted here. */
  gone(session: SessionId): void {
    for (const observers of [this.#own.get(session), this.#trees.get(session)])
      for (const observer of observers ?? []) observer.moved();
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
      shown: () => this.#shownIn(session.id, tree === true),
      waits: (change) => {
        this.#waiting += change;
        if (this.#waiting > 0) this.#timer?.ref();
        else this.#timer?.unref();
      },
      left: () => {
        signal?.removeEventListener("abort", leave);
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
    observer.join();
    if (signal?.aborted === true) observer.end();
    else signal?.addEventListener("abort", leave, { once: true });
    return observer;
    function leave(): void {
      observer.end();
    }
  }

  /** By the turns that run here, whoever opened their sessions. */
  #shownIn(id: SessionId, isTree: boolean): readonly Shown[] {
    const isMeant = (each: Watched): boolean => each.id === id || (isTree && each.ancestors.includes(id));
    return [...this.#open()].flatMap((each) => (isMeant(each) && each.shown !== undefined ? [each.shown] : []));
  }

  #look(): void {
    let looks = 0;
    const look = async (): Promise<void> => {
      try {
        const latest = await this.#store.latest();
        if (latest === this.#latest && ++looks % GONE_LOOKS !== 0) return; // A deletion moves nothing.
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

const numberOf = (cursor: Cursor): number => Number.parseInt(cursor, 10);

interface ObserverOptions {
  readonly store: Store;
  readonly max: number;
  readonly session: SessionId;
  readonly isTree: boolean;
  readonly from: Parsed | undefined;
  readonly view: () => Promise<SessionView>;
  /** By turns that run right now. */
  readonly shown: () => readonly Shown[];
  /** One more waits, or one fewer. */
  readonly waits: (change: 1 | -1) => void;
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
  readonly #ended = new Set<TurnId>();
  /** Previews were lost; until a view stands for them no others are given. */
  #hasGap = false;
  #gap: FactEvent | undefined;
  /** Facts were read. */
  #isBegun = false;
  #isOver = false;
  #wake: (() => void) | undefined;
  #reading: Promise<unknown> = Promise.resolve();
  #isReading = false;

  constructor(of: ObserverOptions) {
    this.#of = of;
    const { from } = of;
    if (from?.seen === undefined) this.#last = from?.fact;
    else if (from.fact !== "1") this.#last = asCursor(String(Number(from.fact) - 1)); // It is read again, in part.
  }

  /** Comes in the middle of a turn: what it has shown so far, after the facts. */
  join(): void {
    const { shown, max, isTree } = this.#of;
    for (const each of shown()) {
      const events = each.list().filter(({ kind }) => !isTree || kind !== "child"); // Those tell themselves.
      if (each.isTrimmed || events.length > max) this.#hasGap = true;
      for (const event of events.slice(-max)) this.#line.push(event);
    }
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
    this.#head = 0;
    if (kept.length > this.#of.max / 2) {
      this.#hasGap = true; // All of them come anew with it.
      this.#line = [MOVED];
    } else this.#line = [MOVED, ...kept];
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
    if (this.#isOver) return undefined;
    const fact = this.#facts[this.#nextFact];
    if (fact !== undefined) {
      if (this.#gap !== undefined && numberOf(fact.cursor) > numberOf(this.#gap.cursor))
        return this.#closeGap(this.#gap);
      this.#nextFact++;
      return fact;
    }
    while (this.#head < this.#line.length) {
      const step = this.#line[this.#head] as Step;
      if (step === MOVED) return undefined;
      this.#advance();
      if (!this.#hasGap && !this.#ended.has(step.turnId)) return step;
    }
    if (this.#gap !== undefined) return this.#closeGap(this.#gap);
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
    try {
      for (;;) {
        const ready = this.#ready();
        if (ready !== undefined) return { value: ready, done: false };
        if (this.#isOver) return DONE;
        if (this.#hasGap && this.#gap === undefined) await this.#openGap();
        else if (this.#line[this.#head] === MOVED) await this.#load();
        else await this.#sleep();
        this.#wake = undefined;
      }
    } catch (error) {
      this.end();
      throw error;
    }
  }

  /** A process that waits for nothing else goes on while somebody waits here. */
  async #sleep(): Promise<void> {
    this.#of.waits(1);
    await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#of.waits(-1);
  }

  async #load(): Promise<void> {
    const { store, session, isTree, from } = this.#of;
    if (isTree && from !== undefined && !this.#isBegun) await this.#requireOurs(from);
    this.#advance(); // What moves while it is read is looked for again.
    const whose = isTree ? { tree: session } : { session };
    const changes = await store.changes(this.#last, { ...whose, max: PAGE });
    if (changes.length === 0 && (await store.load(session)) === undefined)
      throw new RuntimeError("session.deleted", { id: session });
    if (this.#isOver) return;
    if (changes.length === PAGE) this.#line.splice(this.#head, 0, MOVED);
    this.#facts = changes.flatMap((change) => eventsOf(change, isTree ? session : change.sessionId));
    this.#nextFact = this.#isBegun ? 0 : this.#seenOf(changes[0]);
    this.#isBegun = true;
    this.#last = changes.at(-1)?.cursor ?? this.#last;
    for (const change of changes)
      if (change.kind === "committed" && change.by === "turn") this.#ended.add(change.turnId);
  }

  /** How many events of the first fact were seen before. */
  #seenOf(first: Change | undefined): number {
    const { from } = this.#of;
    if (from?.seen === undefined) return 0;
    if (first === undefined || Number(first.cursor) > Number(from.fact)) return 0; // Its session was deleted.
    if (from.seen < eventsOf(first, first.sessionId).length) return from.seen;
    throw new RuntimeError("cursor.unknown", { cursor: `${from.fact}.${from.seen}` });
  }

  async #requireOurs({ session: whose }: Parsed): Promise<void> {
    const { store, session } = this.#of;
    for (let id: SessionId | undefined = whose; id !== session; ) {
      const stored: StoredSession | undefined = id === undefined ? undefined : await store.load(id);
      if (stored === undefined) throw new RuntimeError("cursor.foreign", { session });
      id = stored.parentId;
    }
  }

  /** What is missing of previews is made good by how the session stands; the facts that this has come before it. */
  async #openGap(): Promise<void> {
    const { session } = this.#of;
    const view = await this.#of.view();
    const { cursor = cursorFor(session, asCursor("1")) } = view;
    this.#gap = { fact: true, sessionId: session, cursor, kind: "gap", view };
    this.#line = [MOVED];
    this.#head = 0;
  }

  /** What the running turn shows comes anew. */
  #closeGap(gap: FactEvent): FactEvent {
    this.#gap = undefined;
    this.#line = [MOVED];
    this.#head = 0;
    this.join();
    this.#hasGap = false;
    return gap;
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

/** Their cursors are those of whoever is observed; that of all but the last says how many of them came. */
function eventsOf(change: Change, observed: SessionId): readonly FactEvent[] {
  const events = eventsIn(change, cursorFor(observed, change.cursor));
  return events.map((event, index) =>
    index === events.length - 1
      ? event
      : { ...event, cursor: cursorFor(observed, asCursor(`${change.cursor}.${index + 1}`)) },
  );
}

function eventsIn(change: Change, cursor: Cursor): readonly FactEvent[] {
  const { sessionId } = change;
  const base = { fact: true, sessionId, cursor } as const;
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
