import { RuntimeError } from "../../model/errors.ts";
import type { Preview, RuntimeFact, SessionEvent } from "../../model/event.ts";
import type { Cursor, SessionId } from "../../model/ids.ts";
import { describeThrown } from "../../model/json.ts";
import type { Known } from "../../model/known.ts";
import type { SessionView } from "../../model/view.ts";
import type { Store } from "../../stores/store.ts";
import { requireSignal } from "../checks.ts";
import type { Core } from "../core.ts";
import { POLL_MS, Poller } from "../poller.ts";
import type { LiveSession } from "../session/session.ts";
import { REAL_CLOCK } from "../world.ts";
import { parsedCursor } from "./cursor.ts";
import type { RemotePreviews } from "./live.ts";
import type { Previews } from "./previews.ts";
import { SessionReader } from "./reader.ts";
import { RuntimeFeed, type RuntimeObserveOptions } from "./runtime-feed.ts";

export interface ObserveOptions {
  /** The cursor of a fact or a view: the stream begins with the facts after it. Default: with the first fact. */
  readonly after?: string | undefined;
  /** Observes all descendants too, in one order. Default: false. */
  readonly tree?: boolean | undefined;
  /** Ends the stream when it aborts. Turns continue. */
  readonly signal?: AbortSignal | undefined;
}

export const OBSERVE: Known<ObserveOptions> = { after: true, tree: true, signal: true };

/** A deletion is detected after this many looks. */
const GONE_LOOKS = 4;
/** A hint within this time after a fact of this process counts as a hint about that fact. */
const OWN_MS = 50;
const NOTED_MAX = 1_000;

/** The readers of all sessions in this process. Delivers previews to them and makes them look for facts. */
export class Readers {
  readonly #store: Store;
  readonly #unreadMax: number;
  readonly #trace: Core["trace"];
  readonly #own = new Map<SessionId, Set<SessionReader>>();
  readonly #trees = new Map<SessionId, Set<SessionReader>>();
  /** When this process last stored a fact in a session. */
  readonly #movedAt = new Map<SessionId, number>();
  /** How many readers there are. A field, because each preview of each turn reads it. */
  count = 0;
  readonly #feeds = new Set<RuntimeFeed>();
  #waiting = 0;
  readonly #poller = new Poller(
    () => REAL_CLOCK,
    () => this.#look(),
  );
  #looks = 0;
  #latest: Cursor | undefined;
  readonly #open: () => Iterable<LiveSession>;
  readonly #live: RemotePreviews | undefined;

  constructor(
    store: Store,
    unreadMax: number,
    open: () => Iterable<LiveSession>,
    trace: Core["trace"],
    live: RemotePreviews | undefined,
  ) {
    this.#live = live;
    this.#store = store;
    this.#unreadMax = unreadMax;
    this.#open = open;
    this.#trace = trace;
  }

  get hasTrees(): boolean {
    return this.#trees.size > 0;
  }
  /** The readers of a session, and of the trees that it is in. */
  *of(session: Pick<LiveSession, "id" | "ancestors">): Iterable<SessionReader> {
    yield* this.#own.get(session.id) ?? [];
    if (this.#trees.size > 0) yield* this.#above(session);
  }

  /** Whether the session, or a tree that it is in, has a reader. */
  isReading(session: LiveSession): boolean {
    if (this.#own.has(session.id)) return true;
    for (const _ of this.#above(session)) return true;
    return false;
  }

  preview(session: LiveSession, event: Preview): void {
    const own = this.#own.get(session.id);
    if (own !== undefined) for (const reader of own) reader.preview(event);
    if (this.#trees.size === 0 || event.kind === "child") return; // Readers of a tree get the child's own event.
    for (const reader of this.#above(session)) reader.preview(event);
  }

  /** A fact is in the store: readers look for it there. */
  moved(session: LiveSession): void {
    if (this.count === 0) return;
    if (this.#store.hints !== undefined) this.#noteMoved(session.id);
    const own = this.#own.get(session.id);
    if (own !== undefined) for (const reader of own) reader.moved();
    if (this.#trees.size > 0) for (const reader of this.#above(session)) reader.moved();
    for (const feed of this.#feeds) feed.moved();
  }

  #noteMoved(id: SessionId): void {
    if (this.#movedAt.size >= NOTED_MAX) this.#movedAt.clear();
    this.#movedAt.set(id, performance.now());
  }

  /** Whether a hint about the session concerns a reader here. It may be about a fact that this process just stored itself. */
  isConcerned(id: SessionId): boolean {
    if (this.#trees.size === 0 && this.#feeds.size === 0 && !this.#own.has(id)) return false;
    return performance.now() - (this.#movedAt.get(id) ?? -Infinity) > OWN_MS;
  }

  /** There may be facts of other processes, of this session or any. */
  hinted(id?: SessionId): void {
    const own = id === undefined ? [...this.#own.values()] : [this.#own.get(id) ?? []];
    for (const readers of [...own, ...this.#trees.values(), this.#feeds]) for (const reader of readers) reader.moved();
  }

  /** This process deleted the session: its readers look, and then throw `session.deleted`. */
  gone(session: SessionId): void {
    for (const readers of [this.#own.get(session), this.#trees.get(session)])
      for (const reader of readers ?? []) reader.moved();
  }

  *#above({ id, ancestors }: Pick<LiveSession, "id" | "ancestors">): Iterable<SessionReader> {
    yield* this.#trees.get(id) ?? [];
    for (const ancestor of ancestors) yield* this.#trees.get(ancestor) ?? [];
  }

  observe(
    session: Pick<LiveSession, "id">,
    view: () => Promise<SessionView>,
    { after, tree, signal }: ObserveOptions,
  ): AsyncIterableIterator<SessionEvent> {
    const from = after === undefined ? undefined : parsedCursor(after);
    if (from !== undefined && from.session !== session.id && tree !== true)
      throw new RuntimeError("cursor.foreign", { session: session.id });
    requireSignal(signal);
    const where = tree === true ? this.#trees : this.#own;
    const reader: SessionReader = new SessionReader({
      store: this.#store,
      max: this.#unreadMax,
      session: session.id,
      isTree: tree === true,
      from,
      view,
      shown: (includesRemote) => this.#shownIn(session.id, tree === true, includesRemote),
      changed: (id) => this.#live?.check(id),
      waits: (change) => this.#waits(change),
      left: () => {
        signal?.removeEventListener("abort", leave);
        const readers = where.get(session.id);
        readers?.delete(reader);
        if (readers?.size === 0) where.delete(session.id);
        this.#left();
      },
    });
    const readers = where.get(session.id) ?? new Set();
    where.set(session.id, readers.add(reader));
    this.#joined();
    reader.join();
    this.#live?.check(session.id);
    if (tree === true && from !== undefined) this.#live?.checkTree(session.id);
    if (signal?.aborted === true) reader.end();
    else signal?.addEventListener("abort", leave, { once: true });
    return reader;
    function leave(): void {
      reader.end();
    }
  }

  /** The facts of all sessions, in one order. */
  feed(options: RuntimeObserveOptions): AsyncIterableIterator<RuntimeFact> {
    const feed: RuntimeFeed = new RuntimeFeed({
      store: this.#store,
      options,
      waits: (change) => this.#waits(change),
      left: () => {
        this.#feeds.delete(feed);
        this.#left();
      },
    });
    if (options.signal?.aborted === true) return feed; // The signal has already aborted.
    this.#feeds.add(feed);
    this.#joined();
    return feed;
  }

  #joined(): void {
    if (this.count++ === 0 && this.#store.isDurable) this.#poller.soonest(POLL_MS.facts);
  }

  #left(): void {
    this.count--;
    if (this.count > 0) return;
    this.#poller.pause();
    this.#poller.hold(false);
  }

  #waits(change: 1 | -1): void {
    this.#waiting += change;
    this.#poller.hold(this.#waiting > 0 && this.count > 0);
  }

  #shownIn(id: SessionId, isTree: boolean, includesRemote: boolean): readonly Previews[] {
    const isMeant = (each: LiveSession): boolean => each.id === id || (isTree && each.ancestors.includes(id));
    const here = [...this.#open()].flatMap((each) => (isMeant(each) ? each.shown : []));
    return here.concat(includesRemote ? (this.#live?.shown(id, isTree) ?? []) : []);
  }

  async #look(): Promise<void> {
    try {
      const latest = await this.#store.latest();
      if (latest !== this.#latest || ++this.#looks % GONE_LOOKS === 0) {
        this.#latest = latest; // A deletion adds no fact.
        this.hinted();
      }
    } catch (error) {
      this.#trace("session.observe", { problem: describeThrown(error) }); // The next look tries again.
    }
    if (this.count > 0) this.#poller.soonest(POLL_MS.facts);
  }

  close(): void {
    for (const readers of [...this.#own.values(), ...this.#trees.values(), this.#feeds])
      for (const reader of [...readers]) reader.end();
  }
}
