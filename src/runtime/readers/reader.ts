import { RuntimeError } from "../../model/errors.ts";
import type { FactEvent, Preview, SessionEvent } from "../../model/event.ts";
import { asCursor, type Cursor, type SessionId, type TurnId } from "../../model/ids.ts";
import type { SessionView } from "../../model/view.ts";
import type { Change, Store, StoredSession } from "../../stores/store.ts";
import { cursorFor, type ReadCursor } from "./cursor.ts";
import { DONE } from "./feed.ts";
import { joined, type Previews } from "./previews.ts";

const PAGE = 256;

const numberOf = (cursor: Cursor): number => Number.parseInt(cursor, 10);

interface ReaderOptions {
  readonly store: Store;
  readonly max: number;
  readonly session: SessionId;
  readonly isTree: boolean;
  readonly from: ReadCursor | undefined;
  readonly view: () => Promise<SessionView>;
  /** What turns that run right now have shown. */
  readonly shown: () => readonly Previews[];
  /** Told when this reader begins or ceases to wait: a waiting one keeps the process alive. */
  readonly waits: (change: 1 | -1) => void;
  readonly left: () => void;
}

const MOVED = Symbol("moved");
type Step = Preview | typeof MOVED;

/**
 * One who observes a session, or a tree. Facts are read from the store when their turn comes, so none is lost and none is held
 * here; previews wait in line, within a bound, and are passed over once the fact of their turn is out.
 */
export class SessionReader implements AsyncIterableIterator<SessionEvent> {
  readonly #of: ReaderOptions;
  #line: Step[] = [MOVED];
  #head = 0;
  #facts: readonly FactEvent[] = [];
  #nextFact = 0;
  #last: Cursor | undefined;
  readonly #ended = new Set<TurnId>();
  /** Previews were lost: no others are given until a view stands for them. */
  #hasGap = false;
  #gap: FactEvent | undefined;
  /** The first page of facts was read: only that one may begin inside a fact. */
  #isBegun = false;
  #isOver = false;
  #wake: (() => void) | undefined;
  #reading: Promise<unknown> = Promise.resolve();
  #isReading = false;

  constructor(of: ReaderOptions) {
    this.#of = of;
    const { from } = of;
    if (from?.seen === undefined) this.#last = from?.fact;
    else if (from.fact !== "1") this.#last = asCursor(String(Number(from.fact) - 1)); // The fact was seen in part: it is read again.
  }

  /** Puts what running turns have shown so far after the facts: a reader who comes in the middle of a turn sees its beginning. */
  join(): void {
    const { shown, max, isTree } = this.#of;
    for (const each of shown()) {
      const events = each.list().filter(({ kind }) => !isTree || kind !== "child"); // In a tree each child tells of itself.
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

  /** Joins deltas; when that is not enough, all previews are lost and a view of what is kept comes in their place. */
  #shrink(): void {
    const waiting = this.#line.slice(this.#head).filter((step) => step !== MOVED);
    const kept = joined(waiting);
    this.#head = 0;
    if (kept.length > this.#of.max / 2) {
      this.#hasGap = true; // What the turn has shown comes anew after the view.
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

  /** The next event that is here already. */
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

  async #requireOurs({ session: whose }: ReadCursor): Promise<void> {
    const { store, session } = this.#of;
    for (let id: SessionId | undefined = whose; id !== session; ) {
      const stored: StoredSession | undefined = id === undefined ? undefined : await store.load(id);
      if (stored === undefined) throw new RuntimeError("cursor.foreign", { session });
      id = stored.parentId;
    }
  }

  /** Takes the view that stands for lost previews; it is given after the facts that it contains. */
  async #openGap(): Promise<void> {
    const { session } = this.#of;
    const view = await this.#of.view();
    const { cursor = cursorFor(session, asCursor("1")) } = view;
    this.#gap = { fact: true, sessionId: session, cursor, kind: "gap", view };
    this.#line = [MOVED];
    this.#head = 0;
  }

  /** Gives the view; what the running turn has shown comes anew after it. */
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

/** The events of one fact. Their cursors name the session that is observed; all but the last say how many have come. */
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
