// `runtime.observe()`: the facts of all sessions in one order, for servers and log collectors.
// Not its job: previews (`reader.ts`), and when to look for facts of other processes (`readers.ts`).
// feed-1 No fact is lost or repeated: the feed reads pages from the store and remembers only its position.
import { RuntimeError } from "../../model/errors.ts";
import type { FactEvent, RuntimeFact } from "../../model/event.ts";
import { asCursor, type Cursor } from "../../model/ids.ts";
import { defined } from "../../model/json.ts";
import type { Known } from "../../model/known.ts";
import type { Change, Store } from "../../stores/store.ts";
import { checkedOwner, checkedTag, requireOptions, requireSignal } from "../checks.ts";
import { POLL_MS } from "../poller.ts";
import { DONE } from "./feed.ts";
import { eventsIn } from "./reader.ts";

export interface RuntimeObserveOptions {
  /** Only facts of sessions with this owner. */
  readonly owner?: string | undefined;
  /** Only facts of sessions with this tag. */
  readonly tag?: string | undefined;
  /** The cursor of a fact of this feed, or `latest` for new facts only. Default: all facts from the first. */
  readonly after?: string | undefined;
  /** Ends the stream when it aborts. */
  readonly signal?: AbortSignal | undefined;
}
const KNOWN: Known<RuntimeObserveOptions> = { owner: true, tag: true, after: true, signal: true };

const PAGE = 256;
const LATEST = "latest";

interface Position {
  readonly fact: Cursor | undefined;
  /** The cursor points inside this fact: this many of its events were read. */
  readonly inside?: { readonly fact: Cursor; readonly seen: number };
}

function positionOf(cursor: string): Position {
  const [, fact, seen] = /^([1-9]\d{0,15})(?:\.([1-9]\d{0,8}))?$/.exec(cursor) ?? [];
  if (fact === undefined) {
    if (cursor.includes("@")) throw new RuntimeError("cursor.foreign", {});
    throw new RuntimeError("cursor.unknown", { cursor: cursor.slice(0, 80) });
  }
  if (seen === undefined) return { fact: asCursor(fact) };
  const before = fact === "1" ? undefined : asCursor(String(Number(fact) - 1));
  return { fact: before, inside: { fact: asCursor(fact), seen: Number(seen) } };
}

const latestOf = async (store: Store): Promise<Position> => ({ fact: await store.latest() });

interface FeedOptions {
  readonly store: Store;
  readonly options: RuntimeObserveOptions;
  /** Called when the feed begins (1) or stops (-1) to wait, because a waiting feed keeps the process alive. */
  readonly waits: (change: 1 | -1) => void;
  readonly left: () => void;
}

export class RuntimeFeed implements AsyncIterableIterator<RuntimeFact> {
  readonly #of: FeedOptions;
  readonly #leave = (): void => this.end();
  /** `next` rejects if the position is invalid. */
  #position: Promise<Position>;
  #facts: readonly RuntimeFact[] = [];
  #nextFact = 0;
  #hasMoved = true;
  #isOver = false;
  #wake: (() => void) | undefined;
  #reading: Promise<unknown> = Promise.resolve();

  constructor(of: FeedOptions) {
    this.#of = of;
    const { owner, tag, after, signal } = requireFeedOptions(of.options);
    if (owner !== undefined) checkedOwner(owner);
    if (tag !== undefined) checkedTag(tag);
    const start = after === undefined || after === LATEST ? { fact: undefined } : positionOf(after);
    this.#position = after === LATEST ? latestOf(of.store) : Promise.resolve(start);
    this.#position.catch(() => {});
    if (signal?.aborted === true) this.#isOver = true;
    else signal?.addEventListener("abort", this.#leave, { once: true });
  }

  /** The store may have new facts. */
  moved(): void {
    this.#hasMoved = true;
    this.#wake?.();
  }

  next(): Promise<IteratorResult<RuntimeFact>> {
    const read = this.#reading.then(() => this.#read());
    this.#reading = read.catch(() => {});
    return read;
  }

  async #read(): Promise<IteratorResult<RuntimeFact>> {
    try {
      for (;;) {
        if (this.#isOver) return DONE;
        const fact = this.#facts[this.#nextFact++];
        if (fact !== undefined) return { value: fact, done: false };
        if (this.#hasMoved) await this.#load();
        else await this.#sleep();
      }
    } catch (error) {
      this.end();
      throw error;
    }
  }

  async #load(): Promise<void> {
    const { store, options } = this.#of;
    const { owner, tag } = options;
    const { fact, inside } = await this.#position;
    this.#hasMoved = false; // Before the read, because a fact during the read sets it again.
    const changes = await store.changes(fact, { max: PAGE });
    if (changes.length === PAGE) this.#hasMoved = true;
    const seen = inside === undefined ? 0 : await this.#seenOf(inside, changes[0]);
    const isWanted = (change: Change): boolean =>
      (owner === undefined || change.owner === owner) && (tag === undefined || change.tags?.includes(tag) === true);
    this.#facts = changes.flatMap((change, index) =>
      isWanted(change) ? factsOf(change).slice(index === 0 ? seen : 0) : [],
    );
    this.#nextFact = 0;
    const last = changes.at(-1);
    if (last !== undefined) this.#position = Promise.resolve({ fact: last.cursor });
  }

  /**
   * How many events of the first fact to skip: none if the cursor's fact was deleted, so that the first fact is a later
   * one.
   */
  async #seenOf({ fact, seen }: NonNullable<Position["inside"]>, first: Change | undefined): Promise<number> {
    const unknown = (): RuntimeError => new RuntimeError("cursor.unknown", { cursor: `${fact}.${seen}` });
    if (first?.cursor !== fact) {
      if (Number(fact) > Number((await this.#of.store.latest()) ?? 0)) throw unknown();
      return 0;
    }
    if (seen >= factsOf(first).length) throw unknown();
    return seen;
  }

  /**
   * Waits until there can be new facts. No watch polls a memory store, so this also polls for facts without a
   * notification.
   */
  async #sleep(): Promise<void> {
    const { store, waits } = this.#of;
    const look = store.isDurable ? undefined : setTimeout(() => this.moved(), POLL_MS.facts);
    waits(1);
    await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#wake = undefined;
    clearTimeout(look);
    waits(-1);
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#facts = [];
    this.#of.options.signal?.removeEventListener("abort", this.#leave);
    this.#of.left();
    this.#wake?.();
  }

  async return(): Promise<IteratorResult<RuntimeFact>> {
    this.end();
    return DONE;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

function requireFeedOptions(options: RuntimeObserveOptions): RuntimeObserveOptions {
  requireOptions("runtime.observe", options, KNOWN);
  const { after, signal } = options;
  if (after !== undefined && typeof after !== "string")
    throw new RuntimeError("cursor.unknown", { cursor: typeof after });
  requireSignal(signal);
  return options;
}

/** The events of one fact. A cursor of all but the last one also counts the events so far. */
function factsOf(change: Change): readonly RuntimeFact[] {
  const of = defined({ owner: change.owner, tags: change.tags });
  const events = eventsIn(change, change.cursor) as readonly Exclude<FactEvent, { readonly kind: "gap" }>[];
  return events.map((event, index) => ({
    ...event,
    ...of,
    cursor: index === events.length - 1 ? change.cursor : asCursor(`${change.cursor}.${index + 1}`),
  }));
}
