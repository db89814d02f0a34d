import { RuntimeError } from "../../model/errors.ts";
import type { Preview, SessionEvent } from "../../model/event.ts";
import type { Cursor, SessionId } from "../../model/ids.ts";
import { describeThrown } from "../../model/json.ts";
import type { SessionView } from "../../model/view.ts";
import type { Store } from "../../stores/store.ts";
import { requireSignal } from "../checks.ts";
import type { Core } from "../core.ts";
import type { LiveSession } from "../session/session.ts";
import { parsedCursor } from "./cursor.ts";
import type { LiveElsewhere } from "./live.ts";
import type { Previews } from "./previews.ts";
import { SessionReader } from "./reader.ts";

export interface ObserveOptions {
  /** The cursor of a fact or a view: the stream begins with the facts after it. Default: with the first fact. */
  readonly after?: string | undefined;
  /** Observes all descendants too, in one order. Default: false. */
  readonly tree?: boolean | undefined;
  /** Ends the stream when it aborts; turns go on. */
  readonly signal?: AbortSignal | undefined;
}

/** How often to look for facts of other processes, and after how many looks to notice a deletion. */
const LOOK_MS = 250;
const GONE_LOOKS = 4;
/** So long after readers were told of what happened here, a hint is taken to be about that. */
const OWN_MS = 50;
const NOTED_MAX = 1_000;

/** The readers of all sessions in this process: passes them previews, and says when to look for facts. */
export class Readers {
  readonly #store: Store;
  readonly #unreadMax: number;
  readonly #trace: Core["trace"];
  readonly #own = new Map<SessionId, Set<SessionReader>>();
  readonly #trees = new Map<SessionId, Set<SessionReader>>();
  /** When readers were last told of what this process did in a session. */
  readonly #movedAt = new Map<SessionId, number>();
  #count = 0;
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;
  #latest: Cursor | undefined;
  readonly #open: () => Iterable<LiveSession>;
  readonly #live: LiveElsewhere | undefined;

  constructor(
    store: Store,
    unreadMax: number,
    open: () => Iterable<LiveSession>,
    trace: Core["trace"],
    live: LiveElsewhere | undefined,
  ) {
    this.#live = live;
    this.#store = store;
    this.#unreadMax = unreadMax;
    this.#open = open;
    this.#trace = trace;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }
  get hasTrees(): boolean {
    return this.#trees.size > 0;
  }
  /** The readers of a session, and of the trees that it is in. */
  *of(session: Pick<LiveSession, "id" | "ancestors">): Iterable<SessionReader> {
    yield* this.#own.get(session.id) ?? [];
    if (this.#trees.size > 0) yield* this.#above(session);
  }

  /** Whether somebody reads the session, or a tree that it is in. */
  isReading(session: LiveSession): boolean {
    if (this.#own.has(session.id)) return true;
    for (const _ of this.#above(session)) return true;
    return false;
  }

  preview(session: LiveSession, event: Preview): void {
    const own = this.#own.get(session.id);
    if (own !== undefined) for (const reader of own) reader.preview(event);
    if (this.#trees.size === 0 || event.kind === "child") return; // A tree's readers get the child's own event.
    for (const reader of this.#above(session)) reader.preview(event);
  }

  /** A fact is in the store: readers look for it there. */
  moved(session: LiveSession): void {
    if (this.#count === 0) return;
    if (this.#store.hints !== undefined) this.#noteMoved(session.id);
    const own = this.#own.get(session.id);
    if (own !== undefined) for (const reader of own) reader.moved();
    if (this.#trees.size > 0) for (const reader of this.#above(session)) reader.moved();
  }

  #noteMoved(id: SessionId): void {
    if (this.#movedAt.size >= NOTED_MAX) this.#movedAt.clear();
    this.#movedAt.set(id, performance.now());
  }

  /** Whether a hint about the session is news for a reader here: this process may just have told of what it did itself. */
  isConcerned(id: SessionId): boolean {
    if (this.#trees.size === 0 && !this.#own.has(id)) return false;
    return performance.now() - (this.#movedAt.get(id) ?? -Infinity) > OWN_MS;
  }

  /** There may be facts of other processes, of this session or any. */
  hinted(id?: SessionId): void {
    const own = id === undefined ? [...this.#own.values()] : [this.#own.get(id) ?? []];
    for (const readers of [...own, ...this.#trees.values()]) for (const reader of readers) reader.moved();
  }

  /** The session was deleted here: its readers find out when they look. */
  gone(session: SessionId): void {
    for (const readers of [this.#own.get(session), this.#trees.get(session)])
      for (const reader of readers ?? []) reader.moved();
  }

  *#above({ id, ancestors }: Pick<LiveSession, "id" | "ancestors">): Iterable<SessionReader> {
    yield* this.#trees.get(id) ?? [];
    for (const ancestor of ancestors) yield* this.#trees.get(ancestor) ?? [];
  }

  observe(
    session: LiveSession,
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
      shown: (elsewhere) => this.#shownIn(session.id, tree === true, elsewhere),
      heard: (id) => this.#live?.heard(id),
      waits: (change) => {
        this.#waiting += change;
        if (this.#waiting > 0) this.#timer?.ref();
        else this.#timer?.unref();
      },
      left: () => {
        signal?.removeEventListener("abort", leave);
        const readers = where.get(session.id);
        readers?.delete(reader);
        if (readers?.size === 0) where.delete(session.id);
        this.#count--;
        if (this.#count === 0) clearInterval(this.#timer);
      },
    });
    const readers = where.get(session.id) ?? new Set();
    where.set(session.id, readers.add(reader));
    if (this.#count++ === 0 && this.#store.isDurable) this.#look();
    reader.join();
    this.#live?.heard(session.id);
    if (tree === true && from !== undefined) this.#live?.heardTree(session.id);
    if (signal?.aborted === true) reader.end();
    else signal?.addEventListener("abort", leave, { once: true });
    return reader;
    function leave(): void {
      reader.end();
    }
  }

  #shownIn(id: SessionId, isTree: boolean, elsewhere: boolean): readonly Previews[] {
    const isMeant = (each: LiveSession): boolean => each.id === id || (isTree && each.ancestors.includes(id));
    const here = [...this.#open()].flatMap((each) => (isMeant(each) ? each.shown : []));
    return here.concat(elsewhere ? (this.#live?.shown(id, isTree) ?? []) : []);
  }

  #look(): void {
    let looks = 0;
    const look = async (): Promise<void> => {
      try {
        const latest = await this.#store.latest();
        if (latest === this.#latest && ++looks % GONE_LOOKS !== 0) return; // A deletion adds no fact.
        this.#latest = latest;
        for (const readers of [...this.#own.values(), ...this.#trees.values()])
          for (const reader of readers) reader.moved();
      } catch (error) {
        this.#trace("session.observe", { problem: describeThrown(error) }); // The next look tries again.
      }
    };
    this.#timer = setInterval(() => void look(), LOOK_MS);
    this.#timer.unref();
  }

  close(): void {
    for (const readers of [...this.#own.values(), ...this.#trees.values()])
      for (const reader of [...readers]) reader.end();
  }
}
