// What turns show that run in other processes, for the readers and handles that are here.
// Not its job: what turns of this process show to others (`live-turn/publish.ts`); one reader (`reader.ts`).
// E1 A session is followed while somebody here reads it, it has a turn that is open or waits, and no turn of it runs here.
//    It is looked at when something was heard of it: an idle one costs nothing.
// E2 Whoever joins is given what was shown so far, by a read that began after he joined: what was read before may be of a
//    turn that has ended since, and of whose end he will not be told.
// E3 What this process has shown itself is not given again.
// E4 Parts that are missing are a gap for readers (F2). A handle goes on with what there is: it is told the end in any case.
// E5 A parked turn is shown as it is recorded, once in each park, where its last run has shown nothing to other processes.
//    When it goes on here, it goes on after that (`recalled`).
import type { Preview } from "../../model/event.ts";
import type { SessionId, TurnId } from "../../model/ids.ts";
import { describeThrown } from "../../model/json.ts";
import type { ShownRow, ShownTurn, Store } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import type { TurnHandle } from "../live-turn/handle.ts";
import { attemptOf, Keys, Previews, restOf } from "./previews.ts";
import type { SessionReader } from "./reader.ts";
import type { Recalled } from "./recorded.ts";

/** How often to look: while something comes, where hints tell of it, later, and while the turn is parked. */
const LOOK_MS = 200;
const HINTED_MS = 1_000;
const QUIET_MS = 1_000;
const PARKED_MS = 5_000;
const LIVELY_MS = 5_000;
/** How long others are told that somebody follows, and how often. */
const FOLLOW_MS = 15_000;
const RENEW_MS = 5_000;
/** Sessions of a tree that are looked at when somebody joins in its middle. */
const TREE_MAX = 1_000;
const OWN_MAX = 1_000;

/** What was read: what is new, and whether something before it was lost. */
interface Told {
  readonly previews: readonly Preview[];
  readonly isLost: boolean;
}
interface ParkedJournal {
  readonly turnId: TurnId;
  readonly generation: number;
  recall(): Recalled;
}
const NOTHING: Told = { previews: [], isLost: false };

/** A session of which something was heard. */
class Followed {
  readonly id: SessionId;
  /** The parts up to here are read. */
  last: number;
  said = new Previews();
  #keys = new Keys();
  readonly joined = new Set<SessionReader | TurnHandle>();
  /** Known once readers of trees are there. */
  ancestors: readonly SessionId[] | undefined = undefined;
  /** When something was last heard of it or came, and when it is looked at next. */
  livelyAt = performance.now();
  dueAt = 0;
  has: ShownTurn["has"] = "nothing";
  isRenewed = false;
  /** E5: what was made of the journal of the turn, which is parked. */
  record: Recalled | undefined = undefined;
  /** When it was last compared with the journal. */
  comparedAt = -Infinity;

  constructor(id: SessionId, last: number) {
    this.id = id;
    this.last = last;
  }

  take({ rows, last, has }: ShownTurn): Told {
    this.has = has;
    const isRecorded = this.record !== undefined && has === "parked";
    if (last === undefined && !isRecorded) this.forget(); // Its turn is over, or another one, which has shown nothing.
    let told = NOTHING;
    for (const row of rows) {
      const { previews, isLost } = this.#takeRow(row);
      told = isLost ? { previews, isLost } : { previews: [...told.previews, ...previews], isLost: told.isLost };
    }
    if (rows.length > 0) this.livelyAt = performance.now();
    if (rows.length > 0) this.record = undefined;
    return told;
  }

  /** E5. It takes the place of what was shown of earlier runs. */
  recalled(record: Recalled): Told {
    this.forget();
    for (const event of record.said.list()) this.said.add(event);
    this.said.isTrimmed = record.said.isTrimmed;
    this.record = record;
    return { previews: this.said.list(), isLost: this.said.isTrimmed };
  }

  /** Whether its newest part is of this run of the turn. The last part is shown before a turn is parked. */
  isOf(turnId: TurnId, generation: number): boolean {
    const last = this.said.list().at(-1);
    return last?.turnId === turnId && last.key.generation === generation;
  }

  #takeRow({ n, part, previews: found, isCut }: ShownRow): Told {
    const isNext = n === this.last + 1;
    this.last = n;
    if (part === "again" && isNext) return NOTHING;
    const previews = this.#keys.own(found);
    if (part === "more" && isNext && isCut !== true) {
      for (const event of previews) this.said.add(event);
      return { previews, isLost: false };
    }
    const known = this.said.list();
    const rest = part === "more" ? undefined : restOf(known, previews);
    if (part !== "more") this.said = new Previews();
    if (part === "more" || isCut === true) this.said.isTrimmed = true;
    for (const event of previews) this.said.add(event);
    if (rest !== undefined) return { previews: rest, isLost: isCut === true && known.length === 0 };
    const attempts = new Set(known.map(attemptOf));
    const isKnownInPart = previews.some((event) => attempts.has(attemptOf(event)));
    return { previews, isLost: part === "more" || isKnownInPart || isCut === true };
  }

  forget(): void {
    this.said = new Previews();
    this.#keys = new Keys();
    this.record = undefined;
  }
}

export class LiveElsewhere {
  readonly #core: () => Core;
  readonly #live: NonNullable<Store["live"]>;
  readonly #lookMs: number;
  readonly #followed = new Map<SessionId, Followed>();
  /** E3: the parts that were shown here. */
  readonly #own = new Map<SessionId, number>();
  #renewedAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Infinity;
  #isLooking = false;
  #isClosed = false;

  constructor(core: () => Core, live: NonNullable<Store["live"]>, hasHints: boolean) {
    this.#core = core;
    this.#live = live;
    this.#lookMs = hasHints ? HINTED_MS : LOOK_MS;
  }

  // ── What is heard ───────────────────────────────────────────────────────────────────────────────────────────────

  /** Somebody here reads the session, or something happened in it: its turn may run elsewhere. */
  heard(id: SessionId): void {
    if (this.#isClosed) return;
    const known = this.#followed.get(id);
    if (known === undefined) this.#followed.set(id, new Followed(id, this.#own.get(id) ?? 0));
    else {
      known.livelyAt = performance.now();
      known.comparedAt = -Infinity;
      known.dueAt = Math.min(known.dueAt, known.livelyAt + this.#lookMs);
    }
    this.#soon(0);
  }

  /** Somebody joins a tree in its middle, and will not be told of the turns that are open there. */
  heardTree(root: SessionId): void {
    const walk = async (): Promise<void> => {
      const { store } = this.#core();
      let left = TREE_MAX;
      for (const above = [root]; above.length > 0 && left > 0; ) {
        const found = await store.list({ parent: above.shift() as SessionId, max: left });
        left -= found.length;
        for (const { id, openTurn } of found) {
          above.push(id);
          if (openTurn !== undefined) this.heard(id);
        }
      }
    };
    walk().catch((error: unknown) => this.#trace(error));
  }

  isFollowing(id: SessionId): boolean {
    return this.#followed.has(id);
  }

  /** Something new is shown; undefined: anywhere. */
  hinted(id?: SessionId): void {
    const found = id === undefined ? [...this.#followed.values()] : [this.#followed.get(id)];
    for (const followed of found) {
      if (followed === undefined) continue;
      followed.dueAt = 0;
      this.#soon(0);
    }
  }

  /** E3 */
  published(id: SessionId, n: number): void {
    if (!this.#own.delete(id) && this.#own.size >= OWN_MAX)
      this.#own.delete(this.#own.keys().next().value as SessionId);
    this.#own.set(id, n);
    const followed = this.#followed.get(id);
    if (followed !== undefined) followed.last = n;
  }

  /** E5: what all who look on here were shown of a parked turn that now goes on here. */
  recalled(id: SessionId, turnId: TurnId): Recalled | undefined {
    const followed = this.#followed.get(id);
    if (followed?.record?.turnId !== turnId) return undefined;
    const { said, record, joined } = followed;
    for (const listener of this.#listeners(followed)) if (!joined.has(listener)) return undefined;
    followed.forget(); // The run shows it from now on.
    joined.clear();
    return { ...record, said };
  }

  /** What turns elsewhere have shown in a session, or in its tree. */
  shown(id: SessionId, isTree: boolean): readonly Previews[] {
    return [...this.#followed.values()].flatMap((each) =>
      each.id === id || (isTree && each.ancestors?.includes(id) === true) ? [each.said] : [],
    );
  }

  // ── Looking ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #soon(ms: number): void {
    const at = performance.now() + ms;
    if (this.#isClosed || this.#isLooking || at >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => {
      this.#timerAt = Infinity;
      void this.#look();
    }, ms).unref();
  }

  /** Never throws: what fails is traced, and done again later. */
  async #look(): Promise<void> {
    this.#isLooking = true;
    const now = performance.now();
    const due: Followed[] = [];
    for (const followed of this.#followed.values()) {
      if (!this.#isWanted(followed)) this.#followed.delete(followed.id);
      else if (this.#isHere(followed.id)) {
        followed.forget();
        followed.joined.clear();
        followed.dueAt = now + LOOK_MS;
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
    if (followed.ancestors === undefined && readers.hasTrees) return true; // It is not known whether it is in one.
    for (const _ of this.#listeners(followed)) return true;
    return false;
  }

  *#listeners({ id, ancestors = [] }: Followed): Iterable<SessionReader | TurnHandle> {
    const { readers, watch } = this.#core();
    yield* readers.of({ id, ancestors });
    const followers = watch.followed.get(id);
    for (const turnId of followers?.turns ?? [])
      for (const handle of followers?.of(turnId) ?? []) if (handle.feed.isRead) yield handle;
  }

  async #read(followed: Followed): Promise<void> {
    const { id, joined } = followed;
    if (followed.ancestors === undefined && this.#core().readers.hasTrees) followed.ancestors = await this.#above(id);
    const listeners = [...this.#listeners(followed)]; // E2
    followed.dueAt = Infinity; // A hint that comes during the read brings about another one.
    const found = await this.#live.read(id, followed.last);
    const isParked = found.has === "parked" && !this.#isHere(id);
    const journal = isParked ? await this.#journal(followed, listeners) : undefined;
    if (this.#isClosed) return;
    if (this.#isHere(id)) {
      followed.dueAt = performance.now() + LOOK_MS;
      return;
    }
    const told = this.#told(followed, followed.take(found), journal);
    for (const listener of listeners) {
      if (joined.has(listener)) listener.toldElsewhere(told.previews, told.isLost);
      else listener.joinElsewhere(followed.said);
      joined.add(listener);
    }
    if (found.has === "nothing") this.#followed.delete(id);
    else followed.dueAt = Math.min(followed.dueAt, performance.now() + this.#pauseMs(followed));
  }

  /** E5: the journal of the parked turn, where it has more than was shown here. */
  async #journal(
    followed: Followed,
    listeners: readonly (SessionReader | TurnHandle)[],
  ): Promise<ParkedJournal | undefined> {
    const now = performance.now();
    const isJoined = listeners.every((listener) => followed.joined.has(listener));
    if (isJoined && now - followed.comparedAt < PARKED_MS) return undefined;
    followed.comparedAt = now;
    const { store, watch } = this.#core();
    const stored = await store.load(followed.id);
    const turnId = stored?.openTurn;
    if (followed.record !== undefined && followed.record.turnId !== turnId) followed.forget();
    if (stored === undefined || turnId === undefined) return undefined;
    const known = watch.showOf(turnId)?.shown ?? followed.record;
    const events = await store.journal(turnId, known?.events ?? 0);
    if (events.length === 0) return undefined;
    if ((await store.find(turnId))?.state !== "parked") return undefined; // What is recorded now is of a run that shows it.
    const whole = known === undefined ? events : await store.journal(turnId, 0);
    const { generationIn, recall } = await import("./recorded.ts");
    return { turnId, generation: generationIn(whole), recall: () => recall(this.#core(), stored, whole) };
  }

  #told(followed: Followed, taken: Told, journal: ParkedJournal | undefined): Told {
    const core = this.#core();
    const isShown = journal === undefined || followed.isOf(journal.turnId, journal.generation);
    const told = isShown ? taken : followed.recalled(journal.recall());
    const last = told.previews.at(-1);
    const show = last && core.watch.showOf(last.turnId);
    if (last === undefined || show === undefined) return told;
    if (last.key.generation > show.shown.generation) {
      core.watch.takeShow(last.turnId); // The turn went on elsewhere: what is kept here does not continue it.
      return told;
    }
    followed.forget(); // E3
    return NOTHING;
  }

  #pauseMs({ has, livelyAt }: Followed): number {
    if (performance.now() - livelyAt < LIVELY_MS) return this.#lookMs;
    return has === "parked" ? PARKED_MS : QUIET_MS;
  }

  async #above(id: SessionId): Promise<readonly SessionId[]> {
    const { store } = this.#core();
    const found: SessionId[] = [];
    for (let at = (await store.load(id))?.parentId; at !== undefined; at = (await store.load(at))?.parentId)
      found.push(at);
    return found;
  }

  /** E1: tells those who run the turns. */
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
    followed.dueAt = performance.now() + QUIET_MS;
    this.#trace(error);
  }

  #trace(error: unknown): void {
    if (!this.#isClosed) this.#core().trace("session.live", { problem: describeThrown(error) });
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#followed.clear();
  }
}
