// Previews of turns that run in other processes, for the readers and handles of this process.
// Not its job: showing turns of this process to others (`live-turn/publish.ts`), one reader (`reader.ts`).
// live-1 A session is followed while it has readers here, it has an open or waiting turn, and no turn of it runs here. The
//        first read and every sign of activity make this process look at it, so an idle session costs nothing.
// live-2 A new reader gets all previews so far, from a read that began after it joined. Previews of an earlier read may be of
//        a turn that has ended since, and the reader would not get the end of that turn.
// live-3 Previews that this process made itself are not delivered again.
// live-4 Missing parts are a gap for readers (reader-2). A handle continues with what it has, because it gets the end anyway.
// live-5 A parked turn is shown from its journal, once in each park, if its last run showed nothing to other processes. When
//        the turn resumes here, its run continues after these previews (`recalled`).
import type { Preview } from "../../model/event.ts";
import type { SessionId, TurnId } from "../../model/ids.ts";
import { describeThrown } from "../../model/json.ts";
import type { ShownRow, ShownTurn, Store } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import type { TurnHandle } from "../live-turn/handle.ts";
import { POLL_MS, Poller } from "../poller.ts";
import { REAL_CLOCK } from "../world.ts";
import { attemptOf, Keys, Previews, restOf } from "./previews.ts";
import type { SessionReader } from "./reader.ts";
import type { Recalled } from "./recorded.ts";

const LIVELY_MS = 5_000;
/** How long the store keeps a follow without renewal, and how often it is renewed. */
const FOLLOW_MS = 15_000;
const RENEW_MS = 5_000;
/** How many sessions of a tree are searched for open turns when a reader joins late. */
const TREE_MAX = 1_000;
const OWN_MAX = 1_000;

/** The new previews of a read. `isLost`: previews before them are missing. */
interface NewPreviews {
  readonly previews: readonly Preview[];
  readonly isLost: boolean;
}
interface ParkedJournal {
  readonly turnId: TurnId;
  readonly generation: number;
  recall(): Recalled;
}
const NOTHING: NewPreviews = { previews: [], isLost: false };

/** A session with a sign of activity. */
class Followed {
  readonly id: SessionId;
  /** The number of the last part that was read. */
  last: number;
  previews = new Previews();
  #keys = new Keys();
  readonly joined = new Set<SessionReader | TurnHandle>();
  /** Set when there are readers of trees. */
  ancestors: readonly SessionId[] | undefined = undefined;
  /** When it was last active, and when it is read next. */
  livelyAt = performance.now();
  dueAt = 0;
  has: ShownTurn["has"] = "nothing";
  isRenewed = false;
  /** live-5: the previews from the journal of the parked turn. */
  record: Recalled | undefined = undefined;
  /** When the record was last compared with the journal. */
  comparedAt = -Infinity;

  constructor(id: SessionId, last: number) {
    this.id = id;
    this.last = last;
  }

  take({ rows, last, has }: ShownTurn): NewPreviews {
    this.has = has;
    const isRecorded = this.record !== undefined && has === "parked";
    if (last === undefined && !isRecorded) this.forget(); // The turn has ended, or a newer turn has shown nothing yet.
    let news = NOTHING;
    for (const row of rows) {
      const { previews, isLost } = this.#takeRow(row);
      news = isLost ? { previews, isLost } : { previews: [...news.previews, ...previews], isLost: news.isLost };
    }
    if (rows.length > 0) this.livelyAt = performance.now();
    if (rows.length > 0) this.record = undefined;
    return news;
  }

  /** live-5. The record replaces the previews of earlier runs. */
  recalled(record: Recalled): NewPreviews {
    this.forget();
    for (const event of record.previews.list()) this.previews.add(event);
    this.previews.isTrimmed = record.previews.isTrimmed;
    this.record = record;
    return { previews: this.previews.list(), isLost: this.previews.isTrimmed };
  }

  /** Whether its newest part is of this run of the turn. The last part is shown before a turn is parked. */
  isOf(turnId: TurnId, generation: number): boolean {
    const last = this.previews.list().at(-1);
    return last?.turnId === turnId && last.key.generation === generation;
  }

  #takeRow({ n, part, previews: found, isCut }: ShownRow): NewPreviews {
    const isNext = n === this.last + 1;
    this.last = n;
    if (part === "again" && isNext) return NOTHING;
    const previews = this.#keys.own(found);
    if (part === "more" && isNext && isCut !== true) {
      for (const event of previews) this.previews.add(event);
      return { previews, isLost: false };
    }
    const known = this.previews.list();
    const rest = part === "more" ? undefined : restOf(known, previews);
    if (part !== "more") this.previews = new Previews();
    if (part === "more" || isCut === true) this.previews.isTrimmed = true;
    for (const event of previews) this.previews.add(event);
    if (rest !== undefined) return { previews: rest, isLost: isCut === true && known.length === 0 };
    const attempts = new Set(known.map(attemptOf));
    const isKnownInPart = previews.some((event) => attempts.has(attemptOf(event)));
    return { previews, isLost: part === "more" || isKnownInPart || isCut === true };
  }

  forget(): void {
    this.previews = new Previews();
    this.#keys = new Keys();
    this.record = undefined;
  }
}

export class RemotePreviews {
  readonly #core: () => Core;
  readonly #live: NonNullable<Store["live"]>;
  readonly #lookMs: number;
  readonly #followed = new Map<SessionId, Followed>();
  /** live-3: the last part that this process published in each session. */
  readonly #own = new Map<SessionId, number>();
  #renewedAt = -Infinity;
  readonly #poller = new Poller(
    () => REAL_CLOCK,
    () => this.#look(),
  );
  #isLooking = false;

  constructor(core: () => Core, live: NonNullable<Store["live"]>, hasHints: boolean) {
    this.#core = core;
    this.#live = live;
    this.#lookMs = hasHints ? POLL_MS.hintedPreviews : POLL_MS.previews;
  }

  // ── Signs of activity ───────────────────────────────────────────────────────────────────────────────────────────

  /** The session has a reader here, or something happened in it: its turn may run in another process. */
  check(id: SessionId): void {
    if (this.#poller.isClosed) return;
    const known = this.#followed.get(id);
    if (known === undefined) this.#followed.set(id, new Followed(id, this.#own.get(id) ?? 0));
    else {
      known.livelyAt = performance.now();
      known.comparedAt = -Infinity;
      known.dueAt = Math.min(known.dueAt, known.livelyAt + this.#lookMs);
    }
    this.#soon(0);
  }

  /** A reader joins a tree in the middle: checks the sessions with open turns, because their facts came before. */
  checkTree(root: SessionId): void {
    const walk = async (): Promise<void> => {
      const { store } = this.#core();
      let left = TREE_MAX;
      for (const above = [root]; above.length > 0 && left > 0; ) {
        const found = await store.list({ parent: above.shift() as SessionId, max: left });
        left -= found.length;
        for (const { id, openTurn } of found) {
          above.push(id);
          if (openTurn !== undefined) this.check(id);
        }
      }
    };
    walk().catch((error: unknown) => this.#trace(error));
  }

  isFollowing(id: SessionId): boolean {
    return this.#followed.has(id);
  }

  /** A hint: a session has new previews. Without an id, any session may have some. */
  hinted(id?: SessionId): void {
    const found = id === undefined ? [...this.#followed.values()] : [this.#followed.get(id)];
    for (const followed of found) {
      if (followed === undefined) continue;
      followed.dueAt = 0;
      this.#soon(0);
    }
  }

  /** live-3 */
  published(id: SessionId, n: number): void {
    if (!this.#own.delete(id) && this.#own.size >= OWN_MAX)
      this.#own.delete(this.#own.keys().next().value as SessionId);
    this.#own.set(id, n);
    const followed = this.#followed.get(id);
    if (followed !== undefined) followed.last = n;
  }

  /** live-5: the previews of a parked turn that resumes here. Undefined unless all readers and handles here have them. */
  recalled(id: SessionId, turnId: TurnId): Recalled | undefined {
    const followed = this.#followed.get(id);
    if (followed?.record?.turnId !== turnId) return undefined;
    const { previews, record, joined } = followed;
    for (const listener of this.#listeners(followed)) if (!joined.has(listener)) return undefined;
    followed.forget(); // From now on the run shows the turn.
    joined.clear();
    return { ...record, previews };
  }

  /** The previews of turns in other processes, for a session or its tree. */
  shown(id: SessionId, isTree: boolean): readonly Previews[] {
    return [...this.#followed.values()].flatMap((each) =>
      each.id === id || (isTree && each.ancestors?.includes(id) === true) ? [each.previews] : [],
    );
  }

  // ── Looking ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #soon(ms: number): void {
    if (!this.#isLooking) this.#poller.soonest(ms); // A look asks for the next one at its end.
  }

  /** Never throws: a failure is traced and tried again later. */
  async #look(): Promise<void> {
    this.#isLooking = true;
    const now = performance.now();
    const due: Followed[] = [];
    for (const followed of this.#followed.values()) {
      if (!this.#isWanted(followed)) this.#followed.delete(followed.id);
      else if (this.#isHere(followed.id)) {
        followed.forget();
        followed.joined.clear();
        followed.dueAt = now + POLL_MS.previews;
      } else if (followed.dueAt <= now) due.push(followed);
    }
    await Promise.all(
      due.map((followed) => this.#read(followed).catch((error: unknown) => this.#failed(followed, error))),
    );
    await this.#renew().catch((error: unknown) => this.#trace(error));
    this.#isLooking = false;
    let next = Infinity;
    for (const { dueAt } of this.#followed.values()) next = Math.min(next, dueAt);
    if (next !== Infinity) this.#soon(Math.max(1, Math.ceil(next - performance.now())));
  }

  #isHere(id: SessionId): boolean {
    const open = this.#core().sessions.find(id);
    return open !== undefined && (open.running !== undefined || open.current !== undefined);
  }

  #isWanted(followed: Followed): boolean {
    const { readers } = this.#core();
    // The session can be in a tree that has readers.
    if (followed.ancestors === undefined && readers.hasTrees) return true;
    for (const _ of this.#listeners(followed)) return true;
    return false;
  }

  *#listeners({ id, ancestors = [] }: Followed): Iterable<SessionReader | TurnHandle> {
    const { readers, watcher } = this.#core();
    yield* readers.of({ id, ancestors });
    const followers = watcher.followed.get(id);
    for (const turnId of followers?.turns ?? [])
      for (const handle of followers?.of(turnId) ?? []) if (handle.feed.isRead) yield handle;
  }

  async #read(followed: Followed): Promise<void> {
    const { id, joined } = followed;
    if (followed.ancestors === undefined && this.#core().readers.hasTrees) followed.ancestors = await this.#above(id);
    const listeners = [...this.#listeners(followed)]; // live-2
    followed.dueAt = Infinity; // A hint during the read causes another read.
    const found = await this.#live.read(id, followed.last);
    const isParked = found.has === "parked" && !this.#isHere(id);
    const journal = isParked ? await this.#journal(followed, listeners) : undefined;
    if (this.#poller.isClosed) return;
    if (this.#isHere(id)) {
      followed.dueAt = performance.now() + POLL_MS.previews;
      return;
    }
    const news = this.#newIn(followed, followed.take(found), journal);
    for (const listener of listeners) {
      if (joined.has(listener)) listener.showRemote(news.previews, news.isLost);
      else listener.joinRemote(followed.previews);
      joined.add(listener);
    }
    if (found.has === "nothing") this.#followed.delete(id);
    else followed.dueAt = Math.min(followed.dueAt, performance.now() + this.#pauseMs(followed));
  }

  /** live-5: the journal of the parked turn, if it has more events than were shown here. */
  async #journal(
    followed: Followed,
    listeners: readonly (SessionReader | TurnHandle)[],
  ): Promise<ParkedJournal | undefined> {
    const now = performance.now();
    const isJoined = listeners.every((listener) => followed.joined.has(listener));
    if (isJoined && now - followed.comparedAt < POLL_MS.parkedPreviews) return undefined;
    followed.comparedAt = now;
    const { store, watcher } = this.#core();
    const stored = await store.load(followed.id);
    const turnId = stored?.openTurn;
    if (followed.record !== undefined && followed.record.turnId !== turnId) followed.forget();
    if (stored === undefined || turnId === undefined) return undefined;
    const known = watcher.showOf(turnId)?.shown ?? followed.record;
    const events = await store.journal(turnId, known?.events ?? 0);
    if (events.length === 0) return undefined;
    if ((await store.find(turnId))?.state !== "parked") return undefined; // A new run shows its events itself.
    const whole = known === undefined ? events : await store.journal(turnId, 0);
    const { generationIn, recall } = await import("./recorded.ts");
    return { turnId, generation: generationIn(whole), recall: () => recall(this.#core(), stored, whole) };
  }

  #newIn(followed: Followed, taken: NewPreviews, journal: ParkedJournal | undefined): NewPreviews {
    const core = this.#core();
    const isShown = journal === undefined || followed.isOf(journal.turnId, journal.generation);
    const news = isShown ? taken : followed.recalled(journal.recall());
    const last = news.previews.at(-1);
    const show = last && core.watcher.showOf(last.turnId);
    if (last === undefined || show === undefined) return news;
    if (last.key.generation > show.shown.generation) {
      core.watcher.takeShow(last.turnId); // Another process resumed the turn, so the show here is out of date.
      return news;
    }
    followed.forget(); // live-3
    return NOTHING;
  }

  #pauseMs({ has, livelyAt }: Followed): number {
    if (performance.now() - livelyAt < LIVELY_MS) return this.#lookMs;
    return has === "parked" ? POLL_MS.parkedPreviews : POLL_MS.quietPreviews;
  }

  async #above(id: SessionId): Promise<readonly SessionId[]> {
    const { store } = this.#core();
    const found: SessionId[] = [];
    for (let at = (await store.load(id))?.parentId; at !== undefined; at = (await store.load(at))?.parentId)
      found.push(at);
    return found;
  }

  /** live-1: stores which sessions this process follows, for the processes that run their turns. */
  async #renew(): Promise<void> {
    const now = performance.now();
    const wanted = [...this.#followed.values()].filter(({ id, has }) => has !== "nothing" && !this.#isHere(id));
    const isDue = wanted.length > 0 && now - this.#renewedAt >= RENEW_MS;
    if (!isDue && wanted.every(({ isRenewed }) => isRenewed)) return;
    await this.#live.follow(
      wanted.map(({ id }) => id),
      this.#core().world.now(),
      FOLLOW_MS,
    );
    this.#renewedAt = now;
    for (const followed of wanted) followed.isRenewed = true;
  }

  #failed(followed: Followed, error: unknown): void {
    followed.dueAt = performance.now() + POLL_MS.quietPreviews;
    this.#trace(error);
  }

  #trace(error: unknown): void {
    if (!this.#poller.isClosed) this.#core().trace("session.live", { problem: describeThrown(error) });
  }

  close(): void {
    this.#poller.close();
    this.#followed.clear();
  }
}
