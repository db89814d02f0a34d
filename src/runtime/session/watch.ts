// One look at the store for all sessions of a runtime: what is to be done there, and which turns have ended elsewhere.
// Not its job: running what it finds (`session.ts`), what an ended turn's handles are told (`elsewhere.ts`).
// A1 One look at a time, and one query in it while nothing happens, however many turns are waited for.
// A2 Handles of parked turns are settled by facts. Only turns that others run, and inputs that wait, are asked for one by
//    one: that an input was withdrawn is no fact.
// A3 A session that could not be taken up is left alone for a while: its model or a plugin may be somewhere else.
// A4 It keeps the process alive only while a handle waits for a turn.

import type { Cursor, JobId, SessionId, TurnId } from "../../model/ids.ts";
import { describeThrown } from "../../model/json.ts";
import type { Agenda, Change } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import type { TurnShow } from "../live-turn/show.ts";
import type { LiveTurn } from "../live-turn/turn.ts";
import { cursorFor } from "../readers/cursor.ts";
import type { Followers } from "../readers/followers.ts";
import { waitFact } from "../readers/wait-facts.ts";
import { settle } from "./elsewhere.ts";
import type { LiveSession } from "./session.ts";

/** How often to look: while somebody here waits for turns that others run or that have not begun, and else. */
const BUSY_MS = 250;
const LOOK_MS = 1_000;
/** How long after a look hints bring about another. */
const HINTED_MS = 100;
const LEFT_MS = 10_000;
const FAULTED_MAX = 10_000;
const HOLD_MS = 2_147_483_647;
const PAGE = 256;
const AT_ONCE = 8;
/** Sessions that were taken up and work at the same time. */
const WORKING_MAX = 100;
/** Turns that are asked for in one look. */
const PENDING_MAX = 500;

export interface Recovered {
  /** How many sessions were resumed: they had a turn to go on with, or waiting inputs, and no process had them. */
  readonly sessions: number;
}

/** A session that was taken up here, and the end of its work. */
export interface TakenUp {
  readonly session: LiveSession;
  readonly done: Promise<void>;
}

export class Watch {
  readonly #core: () => Core;
  readonly #takeUp: (id: SessionId) => Promise<TakenUp | undefined>;
  /** Handles of turns that are not here. */
  readonly followed = new Map<SessionId, Followers>();
  /** A2: turns that were not parked when they were last seen. */
  readonly #pending = new Map<TurnId, SessionId>();
  /** Sessions whose inputs came through here: they are run here when nobody else has them, also without recovery. */
  readonly #awaited = new Set<SessionId>();
  /** Turns that were let go here because the store failed: to go on with them is no sign of a crash. */
  readonly faulted = new Set<TurnId>();
  /** A3: until when. */
  readonly #left = new Map<SessionId, number>();
  /** What was shown here of parked turns that somebody looks on. */
  readonly #shows = new Map<TurnId, TurnShow>();
  /** Mostly there are none, and a turn that begins need not ask. */
  hasShows = false;
  readonly #working = new Map<SessionId, Promise<void>>();
  /** Settles when the next session that was taken up is done. */
  #done = Promise.withResolvers<void>();
  #nap: AbortController | undefined;
  #dueAt = Infinity;
  #hold: NodeJS.Timeout | undefined;
  #looking: Promise<number> | undefined;
  #latest: Cursor | undefined;
  #gone = -1;
  #isClosed = false;

  constructor(core: () => Core, takeUp: (id: SessionId) => Promise<TakenUp | undefined>) {
    this.#core = core;
    this.#takeUp = takeUp;
  }

  // ── Who waits for what ──────────────────────────────────────────────────────────────────────────────────────────

  /** Handles wait for turns that are not here; `turnId` is new among them. */
  follow(id: SessionId, followers: Followers, turnId: TurnId): void {
    if (this.#isClosed) return;
    this.followed.set(id, followers);
    this.#pending.set(turnId, id);
    this.#core().live?.heard(id);
    this.#soonest(BUSY_MS);
  }

  /** A turn ended here, and its handles were told: perhaps no other is waited for. */
  forget({ id, followers }: LiveSession): void {
    if (!followers.isEmpty || !this.followed.delete(id)) return;
    this.#holdProcess();
  }

  /** An input that came through here waits for its turn, in a session that others have. */
  await(id: SessionId): void {
    if (this.#isClosed) return;
    this.#awaited.add(id);
    this.#soonest(BUSY_MS);
  }

  /** A3 */
  leave(id: SessionId): void {
    this.#left.set(id, this.#core().world.now() + LEFT_MS);
  }

  /** A turn was let go because the store failed. */
  failed(turnId: TurnId): void {
    if (this.faulted.size >= FAULTED_MAX) this.faulted.clear();
    this.faulted.add(turnId);
  }

  /** A turn was parked here. */
  parked(live: LiveTurn): void {
    const { session, turnId, show, handles, folded, core } = live;
    for (const handle of handles) handle.rest();
    if (!session.followers.isEmpty) this.followed.set(session.id, session.followers);
    if (handles.some(({ feed }) => feed.isRead) || core.readers.isReading(session)) {
      show.rest(folded);
      this.#shows.set(turnId, show);
      this.hasShows = true;
    }
    this.#soonest(LOOK_MS);
  }

  /** What was shown of a turn that was parked here, for whoever goes on with it. */
  takeShow(turnId: TurnId): TurnShow | undefined {
    const show = this.#shows.get(turnId);
    this.#shows.delete(turnId);
    this.hasShows = this.#shows.size > 0;
    return show;
  }
  showOf(turnId: TurnId): TurnShow | undefined {
    return this.#shows.get(turnId);
  }
  shows(): Iterable<TurnShow> {
    return this.#shows.values();
  }

  // ── Waking ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** There is mail for a turn of the session, which may be parked. */
  wake(id: SessionId): void {
    const core = this.#core();
    const open = core.sessions.find(id);
    if (open?.running !== undefined) return open.poke();
    if (core.door.isClosed || !(core.recovers || open !== undefined || this.followed.has(id))) return;
    if (core.store.isDurable) this.#begin(id).catch((error: unknown) => this.#trace(error, id));
  }

  /** A turn has ended that one of the session above may wait for. */
  childEnded(parent: SessionId): void {
    const open = this.#core().sessions.find(parent);
    if (open?.running !== undefined) open.poke();
    else if (this.#core().store.isDurable) this.#soonest(0);
  }

  // ── Jobs ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Jobs here want to be looked after, so much later or sooner. */
  attend(ms = LOOK_MS): void {
    this.#soonest(Math.min(ms, LOOK_MS));
  }
  /** Perhaps nobody awaits jobs any more. */
  attended(): void {
    this.#holdProcess();
  }

  /** A job has ended for which a turn may wait. */
  jobEnded(id: JobId): void {
    const { sessions, store } = this.#core();
    for (const session of sessions) if (awaits(session, id)) session.poke();
    if (store.isDurable) this.#soonest(0);
  }

  /** A session was told something: its turn takes it in, or one is opened for it. */
  inputCame(id: SessionId): void {
    const core = this.#core();
    const open = core.sessions.find(id);
    if (open !== undefined) {
      open.inputCame();
      core.readers.moved(open);
      open.queue.lookAgain();
    } else if (core.recovers && !core.door.isClosed) this.#begin(id).catch((error: unknown) => this.#trace(error, id));
  }

  // ── Hints ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Whether a handle here waits for a turn of the session, or an input that came through here waits in it. */
  isWaitedFor(id: SessionId): boolean {
    return this.followed.has(id) || this.#awaited.has(id);
  }

  /** Whether this process would take up sessions that nobody has, or look after jobs. */
  hasUse(of: "sessions" | "jobs"): boolean {
    const { recovers, store, background } = this.#core();
    return (recovers && store.isDurable) || (of === "jobs" && background.isBusy);
  }

  /** Others did something: looks now, or once more after the look that is under way; but not all the time. */
  hinted(ms = 0): void {
    if (this.#looking !== undefined) this.#looksAgain = true;
    else this.#soonest(Math.max(ms, this.#lookedAt + HINTED_MS - performance.now(), 0));
  }
  #looksAgain = false;
  #lookedAt = -Infinity;

  async #begin(id: SessionId): Promise<boolean> {
    const taken = await this.#takeUp(id);
    if (taken === undefined) return false;
    const done = taken.done
      .catch(() => {})
      .then(() => {
        if (this.#working.get(id) === done) this.#working.delete(id);
        const { resolve } = this.#done;
        this.#done = Promise.withResolvers();
        resolve();
      });
    this.#working.set(id, done);
    return true;
  }

  // ── Looking ─────────────────────────────────────────────────────────────────────────────────────────────────────

  start(): void {
    this.#soonest(0);
  }

  /** Takes up all that is to be done, and settles when it is done or waits for others. */
  async recover(): Promise<Recovered> {
    const seen = new Set<SessionId>();
    for (let sessions = 0; ; ) {
      await this.#looking;
      const found = await this.#look(seen);
      sessions += found;
      await Promise.all(this.#working.values());
      await (await this.#core().background.load()).jobs.recover();
      await this.#core().sessions.takenUp();
      if (found === 0 || this.#isClosed) return { sessions };
    }
  }

  /** A1: a second caller joins the look that is under way. */
  #look(seen?: Set<SessionId>): Promise<number> {
    if (this.#looking === undefined) this.#lookedAt = performance.now();
    this.#looking ??= this.#lookOnce(seen).finally(() => {
      this.#looking = undefined;
      if (!this.#looksAgain) return;
      this.#looksAgain = false;
      this.hinted();
    });
    return this.#looking;
  }

  async #lookOnce(seen?: Set<SessionId>): Promise<number> {
    const { world } = this.#core();
    let begun = 0;
    for (const tried = seen ?? new Set<SessionId>(); !this.#isClosed; ) {
      const now = world.now();
      const max = PAGE + tried.size + this.#left.size; // What cannot be taken up must not hide the rest.
      const agenda = await this.#agenda(now, max);
      await this.#settle(agenda);
      const hasMore = await this.#core().background.look(agenda, this.#servesAll || seen !== undefined);
      for (const [id, until] of this.#left) if (until <= now) this.#left.delete(id);
      for (const id of [...this.#awaited]) if (!(await this.#isAwaited(id))) this.#awaited.delete(id);
      const found: SessionId[] = [];
      for (const id of new Set([...agenda.sessions, ...this.#awaited]))
        if (!tried.has(id) && (await this.#isOurs(id, seen !== undefined))) found.push(id);
      const isFull = agenda.sessions.length >= max;
      const hasFound = found.length > 0;
      begun += await this.#takeUpAll(found, tried);
      if (hasFound && (isFull || seen !== undefined)) continue; // There may be more.
      this.#sleep(agenda, now, hasMore);
      break;
    }
    return begun;
  }

  /** The tasks of this process are asked for only where there are jobs at all. */
  async #agenda(now: number, max: number): Promise<Agenda> {
    const { store, background } = this.#core();
    if (this.#hasJobs) return store.agenda(now, max, background.operations);
    const agenda = await store.agenda(now, max);
    if (agenda.jobs === undefined) return agenda;
    this.#hasJobs = true;
    return store.agenda(now, max, background.operations);
  }
  #hasJobs = false;

  /** `isAsked`: by `recover()`, which takes up everything. */
  async #isOurs(id: SessionId, isAsked: boolean): Promise<boolean> {
    const { recovers, runs, store } = this.#core();
    if (!runs) return false;
    if (isAsked) return store.isDurable;
    return !this.#left.has(id) && (this.#awaited.has(id) || (recovers ? store.isDurable : this.#isMissed(id)));
  }

  /** Whether a handle waits here for a parked turn of the session, or of one above it: both go on without recovery. */
  async #isMissed(id: SessionId): Promise<boolean> {
    if (this.followed.size === 0) return false;
    const { store } = this.#core();
    for (let at: SessionId | undefined = id; at !== undefined; at = (await store.load(at))?.parentId)
      if (this.followed.get(at)?.turns.some((turnId) => !this.#pending.has(turnId)) === true) return true;
    return false;
  }

  /** Whether something of ours still waits there: others may have run it. */
  async #isAwaited(id: SessionId): Promise<boolean> {
    for (const session of this.#pending.values()) if (session === id) return true;
    return (await this.#core().store.inputs.list(id)).length > 0;
  }

  async #takeUpAll(found: SessionId[], tried: Set<SessionId>): Promise<number> {
    let begun = 0;
    const worker = async (): Promise<void> => {
      for (let id = found.shift(); id !== undefined; id = found.shift()) {
        while (this.#working.size >= WORKING_MAX && !this.#isClosed) await this.#done.promise;
        if (this.#isClosed) return;
        tried.add(id);
        try {
          if (!(await this.#begin(id))) continue; // Another process was quicker: it stays awaited.
          this.#awaited.delete(id);
          begun++;
        } catch (error) {
          this.leave(id);
          this.#trace(error, id);
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, found.length) }, worker));
    return begun;
  }

  // ── Handles ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async #settle({ latest, gone }: Agenda): Promise<void> {
    const isNew = this.#latest === undefined || gone !== this.#gone;
    const before = this.#latest;
    this.#gone = gone;
    if (this.followed.size === 0 && this.#shows.size === 0) {
      this.#latest = undefined; // What comes now is nobody's: the next handle is looked for by itself.
      return;
    }
    this.#latest = latest;
    if (isNew) for (const id of [...this.followed.keys()]) await this.#settleAll(id);
    if (isNew) for (const { sessionId } of [...this.#shows.values()]) await this.#forgetShows(sessionId);
    else if (latest !== before) await this.#settleMoved(before);
    let asked = 0;
    for (const [turnId, id] of [...this.#pending]) if (asked++ < PENDING_MAX) await this.#settleOne(turnId, id);
  }

  /** A2: looks at the sessions of which there are facts since. */
  async #settleMoved(after: Cursor | undefined): Promise<void> {
    const { store } = this.#core();
    for (let cursor = after; ; ) {
      const changes = await store.changes(cursor, { max: PAGE });
      const moved = new Set<SessionId>();
      for (const change of changes) {
        if (change.kind === "waiting" || change.kind === "resolved") this.#tell(change);
        if (change.kind !== "committed" || change.by !== "turn") continue;
        this.takeShow(change.turnId);
        if (this.followed.has(change.sessionId)) moved.add(change.sessionId);
      }
      for (const id of moved) await this.#settleAll(id);
      cursor = changes.at(-1)?.cursor ?? cursor;
      if (changes.length < PAGE) {
        this.#latest = cursor;
        return;
      }
    }
  }

  /** What turns wait for that run elsewhere; those that run here tell it themselves. */
  #tell(change: Extract<Change, { readonly kind: "waiting" | "resolved" }>): void {
    const { sessionId, turnId, cursor } = change;
    const handles = turnId === undefined ? [] : (this.followed.get(sessionId)?.of(turnId) ?? []);
    if (handles.length === 0 || this.#core().sessions.find(sessionId)?.running !== undefined) return;
    const fact = waitFact(change, { fact: true, sessionId, cursor: cursorFor(sessionId, cursor) } as const);
    for (const handle of handles) if (handle.feed.isRead) handle.tell(fact);
  }

  /** Of a session that was deleted. */
  async #forgetShows(id: SessionId): Promise<void> {
    if (await this.#core().store.has(id)) return;
    for (const [turnId, show] of this.#shows) if (show.sessionId === id) this.takeShow(turnId);
  }

  async #settleAll(id: SessionId): Promise<void> {
    for (const turnId of this.followed.get(id)?.turns ?? []) await this.#settleOne(turnId, id);
  }

  async #settleOne(turnId: TurnId, id: SessionId): Promise<void> {
    const followers = this.followed.get(id);
    if (followers === undefined || !followers.turns.includes(turnId)) {
      this.#pending.delete(turnId);
      return;
    }
    const state = await settle({ core: this.#core(), id, followers }, turnId);
    if (state !== "pending") this.#pending.delete(turnId);
    if (followers.isEmpty) this.followed.delete(id);
  }

  // ── Time ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A process that is told to recover nothing serves its own sessions alone; in memory all are its own. */
  get #servesAll(): boolean {
    const { recovers, store } = this.#core();
    return recovers || !store.isDurable;
  }

  #sleep({ next, hasCommits, hasSchedules }: Agenda, now: number, hasMore: boolean): void {
    if (hasMore) return this.#soonest(0);
    const { recovers, store } = this.#core();
    const isWanted = this.#isBusy || this.followed.size > 0 || this.#core().background.isBusy;
    const hasTimes = (next ?? hasCommits ?? hasSchedules) !== undefined && this.#servesAll;
    if (!isWanted && !hasTimes && !(recovers && store.isDurable)) return this.#holdProcess();
    const own = next === undefined ? LOOK_MS : Math.max(1, next - now);
    this.#soonest(Math.min(this.#isBusy ? BUSY_MS : LOOK_MS, own));
  }

  get #isBusy(): boolean {
    return this.#pending.size > 0 || this.#awaited.size > 0;
  }

  /** Looks in so many milliseconds, if not before. */
  #soonest(ms: number): void {
    if (this.#isClosed) return;
    this.#holdProcess();
    const { world } = this.#core();
    const dueAt = world.now() + ms;
    if (this.#nap !== undefined && dueAt >= this.#dueAt) return;
    this.#nap?.abort();
    const nap = new AbortController();
    this.#nap = nap;
    this.#dueAt = dueAt;
    const due = (): void => {
      if (nap.signal.aborted) return;
      this.#nap = undefined;
      this.#look().catch((error: unknown) => {
        this.#trace(error);
        this.#soonest(LOOK_MS);
      });
    };
    // Not unreferenced: an idle process would come to it with the next event only. It holds the process for one round.
    if (ms === 0) setImmediate(due);
    else void (this.#isBusy ? world.sleep(ms, nap.signal) : world.rest(ms, nap.signal)).then(due);
  }

  /** A4 */
  #holdProcess(): void {
    if (this.followed.size > 0 || this.#core().background.isAwaited) this.#hold ??= setInterval(() => {}, HOLD_MS);
    else {
      clearInterval(this.#hold);
      this.#hold = undefined;
    }
  }

  #trace(error: unknown, sessionId?: SessionId): void {
    const { trace, door } = this.#core();
    if (!door.isClosed) trace("session.recover", { problem: describeThrown(error) }, sessionId && { sessionId });
  }

  /** Nothing is looked for any more; answers the handles that are left. */
  close(): readonly (readonly [SessionId, Followers])[] {
    this.#isClosed = true;
    this.#nap?.abort();
    clearInterval(this.#hold);
    this.#done.resolve();
    return [...this.followed];
  }
}

/** Whether a call of its running turn waits for the job. */
const awaits = ({ running }: LiveSession, id: JobId): boolean =>
  running?.state?.open.some(
    (effect) => effect.kind === "wait" && effect.about.kind === "turns" && effect.about.jobs?.includes(id) === true,
  ) ?? false;
