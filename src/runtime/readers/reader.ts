// One reader of a session or of a tree: facts and previews in one order.
// Not its job: the list of readers, and when to look for facts of other processes (`readers.ts`); one turn's events (`feed.ts`).
// reader-1 Facts are never lost: a page of facts is read from the store when its place in the line comes.
// reader-2 Previews may be lost, because the line is bounded. When it overflows, a `gap` with a view replaces all of them.
// reader-3 A preview is skipped after the fact that ends its turn was read.
// reader-4 A `gap` comes after the facts that its view contains and before all others. The previews of running turns follow.
// reader-5 The previews of a running turn come before the facts of its waits.
// reader-6 The missing rest of an answer from another process comes before the end of its turn.
import { RuntimeError } from "../../model/errors.ts";
import type { FactEvent, Preview, SessionEvent } from "../../model/event.ts";
import { asCursor, type Cursor, type SessionId, type TurnId } from "../../model/ids.ts";
import { defined } from "../../model/json.ts";
import type { SessionView } from "../../model/view.ts";
import type { Change, Store, StoredSession } from "../../stores/store.ts";
import { cursorFor, type ReadCursor } from "./cursor.ts";
import { DONE } from "./feed.ts";
import { joined, LastText, type Previews } from "./previews.ts";
import { waitFact } from "./wait-facts.ts";

const PAGE = 256;
const ENDED_MAX = 1_024;

const numberOf = (cursor: Cursor): number => Number.parseInt(cursor, 10);

interface ReaderOptions {
  readonly store: Store;
  readonly max: number;
  readonly session: SessionId;
  readonly isTree: boolean;
  readonly from: ReadCursor | undefined;
  readonly view: () => Promise<SessionView>;
  /** The previews so far of turns that run here. `includesRemote`: also of turns in other processes, after a gap. */
  readonly shown: (includesRemote: boolean) => readonly Previews[];
  /** Called with a session of which facts were read. */
  readonly changed: (session: SessionId) => void;
  /** Called when this reader begins (1) or stops (-1) to wait, because a waiting reader keeps the process alive. */
  readonly waits: (change: 1 | -1) => void;
  readonly left: () => void;
}

/** In the line: the store may have new facts. */
const MOVED = Symbol("moved");
type Step = Preview | typeof MOVED;

export class SessionReader implements AsyncIterableIterator<SessionEvent> {
  readonly #of: ReaderOptions;
  #line: Step[] = [MOVED];
  #head = 0;
  #facts: readonly FactEvent[] = [];
  #nextFact = 0;
  #last: Cursor | undefined;
  readonly #ended = new Set<TurnId>();
  /** reader-5: how many previews in the line are older than the reader. */
  #joined = 0;
  /** reader-6: the latest text that was delivered of each turn of another process. */
  readonly #remoteTexts = new Map<TurnId, LastText>();
  /** reader-2: previews are skipped until the gap is delivered. */
  #hasGap = false;
  #gap: FactEvent | undefined;
  /** The first page of facts was read. Only that page can begin inside a fact. */
  #isBegun = false;
  #isOver = false;
  #wake: (() => void) | undefined;
  #reading: Promise<unknown> = Promise.resolve();
  #isReading = false;

  constructor(of: ReaderOptions) {
    this.#of = of;
    const { from } = of;
    if (from?.seen === undefined) this.#last = from?.fact;
    // The reader has only a part of the fact, so the fact is read again.
    else if (from.fact !== "1") this.#last = asCursor(String(Number(from.fact) - 1));
  }

  /** Queues the previews of running turns, so that a reader that joins in the middle of a turn gets its beginning. */
  join(isAfterGap = false): void {
    const { shown, max, isTree } = this.#of;
    for (const each of shown(isAfterGap)) {
      // A reader of a tree gets the child's own events.
      const events = each.list().filter(({ kind }) => !isTree || kind !== "child");
      if (each.isTrimmed || events.length > max) this.#hasGap = true;
      for (const event of events.slice(-max)) this.#line.push(event);
      this.#joined += Math.min(events.length, max);
    }
  }

  preview(event: Preview): void {
    if (this.#line.length - this.#head >= this.#of.max) this.#shrink();
    this.#line.push(event);
    this.#wake?.();
  }

  /** A turn of another process has new previews. `isLost`: earlier ones are missing (reader-2). */
  showRemote(events: readonly Preview[], isLost: boolean): void {
    if (isLost) return this.#lost();
    for (const event of events) {
      if (this.#of.isTree && event.kind === "child") continue;
      if (!this.#remoteTexts.has(event.turnId)) this.#remoteTexts.set(event.turnId, new LastText());
      this.preview(event);
    }
  }

  /** The reader joined in the middle of a turn of another process. */
  joinRemote(previews: Previews): void {
    this.showRemote(previews.list(), previews.isTrimmed);
  }

  #lost(): void {
    this.#hasGap = true; // The previews of the turn come after the gap (reader-4).
    this.#wake?.();
  }

  moved(): void {
    if (this.#line[this.#line.length - 1] !== MOVED) this.#line.push(MOVED);
    this.#wake?.();
  }

  /** reader-2: joins deltas first, and drops previews only if that is not enough. */
  #shrink(): void {
    const waiting = this.#line.slice(this.#head).filter((step) => step !== MOVED);
    const remaining = joined(waiting);
    this.#head = 0;
    if (remaining.length > this.#of.max / 2) {
      this.#hasGap = true; // reader-4
      this.#line = [MOVED];
    } else this.#line = [MOVED, ...remaining];
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

  /** The next event that needs no read of the store. */
  #ready(): SessionEvent | undefined {
    if (this.#isOver) return undefined;
    const fact = this.#facts[this.#nextFact];
    if (fact !== undefined) {
      if (this.#gap !== undefined && numberOf(fact.cursor) > numberOf(this.#gap.cursor))
        return this.#closeGap(this.#gap);
      if (fact.kind === "waiting" && fact.turnId !== undefined && !this.#hasGap) {
        const shown = this.#shownBefore(fact.turnId);
        if (shown !== undefined) return shown;
      }
      const rest = this.#restBefore(fact);
      if (rest !== undefined) return rest;
      this.#nextFact++;
      return fact;
    }
    while (this.#head < this.#line.length) {
      const step = this.#line[this.#head] as Step;
      if (step === MOVED) return undefined;
      this.#advance();
      if (this.#hasGap || this.#ended.has(step.turnId)) continue; // reader-2, reader-3
      this.#remoteTexts.get(step.turnId)?.add(step);
      return step;
    }
    if (this.#gap !== undefined) return this.#closeGap(this.#gap);
    return undefined;
  }

  /** reader-6 */
  #restBefore(fact: FactEvent): Preview | undefined {
    if (fact.kind !== "committed" || fact.by !== "turn") return undefined;
    const shown = this.#remoteTexts.get(fact.turnId);
    this.#remoteTexts.delete(fact.turnId);
    return this.#hasGap ? undefined : shown?.missingFrom(fact.sessionId, fact.turnId, fact.outcome);
  }

  /** reader-5: a reader that joins late gets the start of a call before the fact that the call waits. */
  #shownBefore(turnId: TurnId): Preview | undefined {
    const step = this.#line[this.#head];
    if (this.#joined === 0 || step === undefined || step === MOVED || step.turnId !== turnId) return undefined;
    this.#advance();
    return step;
  }

  #advance(): void {
    if (this.#joined > 0 && this.#line[this.#head] !== MOVED) this.#joined--;
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

  async #sleep(): Promise<void> {
    this.#of.waits(1);
    await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#of.waits(-1);
  }

  async #load(): Promise<void> {
    const { store, session, isTree, from } = this.#of;
    if (isTree && from !== undefined && !this.#isBegun) await this.#requireOurs(from);
    this.#advance(); // Before the read, because a fact during the read adds MOVED again.
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
    for (const id of changedIn(changes)) this.#of.changed(id);
    // Previews of other processes may arrive after the end of their turn, so the latest ends are remembered.
    for (const turnId of this.#ended) {
      if (this.#ended.size <= Math.max(ENDED_MAX, PAGE)) break;
      this.#ended.delete(turnId);
    }
  }

  /** How many events of the first fact to skip: the cursor may point inside it. */
  #seenOf(first: Change | undefined): number {
    const { from } = this.#of;
    if (from?.seen === undefined) return 0;
    // The fact was deleted with its session.
    if (first === undefined || Number(first.cursor) > Number(from.fact)) return 0;
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

  /** reader-4: takes the view, then reads the facts that it contains. */
  async #openGap(): Promise<void> {
    const { session } = this.#of;
    const view = await this.#of.view();
    const { cursor = cursorFor(session, asCursor("1")) } = view;
    this.#gap = { fact: true, sessionId: session, cursor, kind: "gap", view };
    this.#line = [MOVED];
    this.#head = 0;
  }

  /** reader-4: sets the view, and queues the previews of running turns. */
  #closeGap(gap: FactEvent): FactEvent {
    this.#gap = undefined;
    this.#line = [MOVED];
    this.#head = 0;
    this.#joined = 0;
    this.join(true);
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

/** The sessions of these facts in which a turn can be open now. */
function changedIn(changes: readonly Change[]): ReadonlySet<SessionId> {
  const open = new Set<SessionId>();
  for (const change of changes) {
    const isEnd = change.kind === "committed" && change.by === "turn";
    if (isEnd && changes.length === PAGE) open.delete(change.sessionId);
    else open.add(change.sessionId);
  }
  return open;
}

/** The events of one fact. Their cursors contain the observed session. All but the last also count the events so far. */
function eventsOf(change: Change, observed: SessionId): readonly FactEvent[] {
  const events = eventsIn(change, cursorFor(observed, change.cursor));
  return events.map((event, index) =>
    index === events.length - 1
      ? event
      : { ...event, cursor: cursorFor(observed, asCursor(`${change.cursor}.${index + 1}`)) },
  );
}

/** The events of one fact, all with the same cursor. */
export function eventsIn(change: Change, cursor: Cursor): readonly FactEvent[] {
  const { sessionId } = change;
  const base = { fact: true, sessionId, cursor } as const;
  if (change.kind === "accepted") {
    const { turnId, inputId, key, at, text, metadata } = change;
    return [defined({ ...base, kind: "accepted" as const, turnId, inputId, key, at, text, metadata })];
  }
  if (change.kind === "withdrawn") {
    const { turnId, inputId, key } = change;
    return [defined({ ...base, kind: "withdrawn" as const, turnId, inputId, key })];
  }
  if (change.kind === "waiting" || change.kind === "resolved") return [waitFact(change, base)];
  const { nodes, frames = [] } = change;
  const opened = frames.map((frame): FactEvent => ({ ...base, kind: "frame", frame }));
  const { at } = change;
  if (change.by !== "turn")
    return [defined({ ...base, kind: "committed" as const, by: change.by, at, nodes }), ...opened];
  const { turnId, outcome, usage, model, rounds, branch } = change;
  const turn = { ...base, kind: "committed", by: "turn", turnId, nodes, at: change.at, outcome, usage } as const;
  return [defined({ ...turn, model, rounds, branch }), ...opened];
}
