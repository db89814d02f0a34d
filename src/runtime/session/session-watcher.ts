// Polls the store for all sessions of a runtime: which sessions have work, and which turns have ended in other processes.
// Not its job: running what it finds (`session.ts`), settling the handles of ended turns (`remote-turns.ts`).
// watcher-1 One look at a time. While nothing happens a look is one query, for any number of parked turns.
// watcher-2 Facts settle the handles of parked turns. Running turns of other processes and waiting inputs are queried one by
//           one.
// watcher-3 A session that could not be resumed is skipped for a while: another process may have its model or plugin.
// watcher-4 The watcher keeps the process alive only while a handle waits for a turn or a caller waits for jobs.

import type { Cursor, JobId, SessionId, TurnId } from "../../model/ids.ts";
import { describeThrown } from "../../model/json.ts";
import type { Agenda, Change } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import type { TurnShow } from "../live-turn/show.ts";
import type { LiveTurn } from "../live-turn/turn.ts";
import { POLL_MS, Poller } from "../poller.ts";
import { cursorFor } from "../readers/cursor.ts";
import type { Followers } from "../readers/followers.ts";
import { waitFact } from "../readers/wait-facts.ts";
import { settle } from "./remote-turns.ts";
import type { LiveSession } from "./session.ts";

const BACK_OFF_MS = 10_000;
const FAULTED_MAX = 10_000;
const PAGE = 256;
const AT_ONCE = 8;
/** The most sessions that this process resumes at the same time. */
const WORKING_MAX = 100;
/** The most turns that one look queries (watcher-2). */
const PENDING_MAX = 500;

export interface Recovered {
  /** How many sessions were resumed. Each had an orphaned or answered turn, or waiting inputs. */
  readonly sessions: number;
}

/** A session that this process resumed. `done` settles when the work of the session has ended. */
export interface TakenUp {
  readonly session: LiveSession;
  readonly done: Promise<void>;
}

export class SessionWatcher {
  readonly #core: () => Core;
  readonly #takeUp: (id: SessionId) => Promise<TakenUp | undefined>;
  /** The handles that wait for turns which do not run here. */
  readonly followed = new Map<SessionId, Followers>();
  /** watcher-2: the turns that were not parked at the last look. */
  readonly #pending = new Map<TurnId, SessionId>();
  /** Sessions with inputs of this process. It runs them if no other process does, also without recovery. */
  readonly #awaited = new Set<SessionId>();
  /** Turns that this process left because the store failed. Their next run does not count as a crash. */
  readonly faulted = new Set<TurnId>();
  /** watcher-3: until when each session is skipped. */
  readonly #backedOff = new Map<SessionId, number>();
  /** The previews of turns that were parked here and still have readers. */
  readonly #shows = new Map<TurnId, TurnShow>();
  /** Mostly false: a turn that begins then skips the lookup. */
  hasShows = false;
  readonly #working = new Map<SessionId, Promise<void>>();
  /** Settles when the work of the next resumed session has ended. */
  #done = Promise.withResolvers<void>();
  readonly #poller: Poller;
  #looking: Promise<number> | undefined;
  #latest: Cursor | undefined;
  #gone = -1;

  constructor(core: () => Core, takeUp: (id: SessionId) => Promise<TakenUp | undefined>) {
    this.#core = core;
    this.#poller = new Poller(
      () => core().world,
      () =>
        this.#look().catch((error: unknown) => {
          this.#trace(error);
          this.#soonest(POLL_MS.agenda);
        }),
    );
    this.#takeUp = takeUp;
  }

  // ── Who waits for what ──────────────────────────────────────────────────────────────────────────────────────────

  /** Handles wait for turns that do not run here. `turnId` is the new one. */
  follow(id: SessionId, followers: Followers, turnId: TurnId): void {
    if (this.#poller.isClosed) return;
    this.followed.set(id, followers);
    this.#pending.set(turnId, id);
    this.#core().live?.check(id);
    this.#soonest(POLL_MS.awaitedTurn);
  }

  /** A turn ended here and its handles are settled. Perhaps no other handle waits. */
  forget({ id, followers }: LiveSession): void {
    if (!followers.isEmpty || !this.followed.delete(id)) return;
    this.#holdProcess();
  }

  /** An input of this process waits in a session that another process has. */
  await(id: SessionId): void {
    if (this.#poller.isClosed) return;
    this.#awaited.add(id);
    this.#soonest(POLL_MS.awaitedTurn);
  }

  /** watcher-3 */
  backOff(id: SessionId): void {
    this.#backedOff.set(id, this.#core().world.now() + BACK_OFF_MS);
  }

  /** This process left a turn because the store failed. */
  failed(turnId: TurnId): void {
    if (this.faulted.size >= FAULTED_MAX) this.faulted.clear();
    this.faulted.add(turnId);
  }

  /** A turn parked here. Its previews stay for readers and for handles that iterate. */
  parked(live: LiveTurn): void {
    const { session, turnId, show, handles, folded, core } = live;
    for (const handle of handles) handle.park();
    if (!session.followers.isEmpty) this.followed.set(session.id, session.followers);
    if (handles.some(({ feed }) => feed.isRead) || core.readers.isReading(session)) {
      show.park(folded);
      this.#shows.set(turnId, show);
      this.hasShows = true;
    }
    this.#soonest(POLL_MS.agenda);
  }

  /** Removes and returns the previews of a parked turn, for the run that resumes it here. */
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

  /** Mail has arrived for a turn of the session, which may be parked. */
  wake(id: SessionId): void {
    const core = this.#core();
    const open = core.sessions.find(id);
    if (open?.running !== undefined) return open.poke();
    if (core.door.isClosed || !(core.recovers || open !== undefined || this.followed.has(id))) return;
    if (core.store.isDurable) this.#begin(id).catch((error: unknown) => this.#trace(error, id));
  }

  /** A turn has ended, and a turn of the parent session may wait for it. */
  childEnded(parent: SessionId): void {
    const open = this.#core().sessions.find(parent);
    if (open?.running !== undefined) open.poke();
    else if (this.#core().store.isDurable) this.#soonest(0);
  }

  // ── Jobs ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Makes the next look, which serves jobs too, come within this time. */
  attend(ms: number = POLL_MS.agenda): void {
    this.#soonest(Math.min(ms, POLL_MS.agenda));
  }
  /** A caller stopped waiting for jobs: the process may be free to end. */
  attended(): void {
    this.#holdProcess();
  }

  /** A job has ended, and a turn may wait for it. */
  jobEnded(id: JobId): void {
    const { sessions, store } = this.#core();
    for (const session of sessions) if (awaits(session, id)) session.poke();
    if (store.isDurable) this.#soonest(0);
  }

  /** The store accepted an input for the session: the running turn takes it, or a new turn opens. */
  inputAccepted(id: SessionId): void {
    const core = this.#core();
    const open = core.sessions.find(id);
    if (open !== undefined) {
      open.inputAccepted();
      core.readers.moved(open);
      open.queue.lookAgain();
    } else if (core.recovers && !core.door.isClosed) this.#begin(id).catch((error: unknown) => this.#trace(error, id));
  }

  // ── Hints ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Whether a handle here waits for a turn of the session, or an input of this process waits in it. */
  isWaitedFor(id: SessionId): boolean {
    return this.followed.has(id) || this.#awaited.has(id);
  }

  /** Whether this process resumes orphaned sessions, or runs jobs. */
  hasUse(of: "sessions" | "jobs"): boolean {
    const { recovers, store, background } = this.#core();
    return (recovers && store.isDurable) || (of === "jobs" && background.isBusy);
  }

  /** Another process did something: looks soon, or once more after the current look. Looks are `POLL_MS.hinted` apart. */
  hinted(ms = 0): void {
    if (this.#looking !== undefined) this.#looksAgain = true;
    else this.#soonest(Math.max(ms, this.#lookedAt + POLL_MS.hinted - performance.now(), 0));
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

  /** Resumes all work in the store. Settles when the work is done or waits for others. */
  async recover(): Promise<Recovered> {
    const seen = new Set<SessionId>();
    for (let sessions = 0; ; ) {
      await this.#looking;
      const found = await this.#look(seen);
      sessions += found;
      await Promise.all(this.#working.values());
      await (await this.#core().background.load()).jobs.recover();
      await this.#core().sessions.takenUp();
      if (found === 0 || this.#poller.isClosed) return { sessions };
    }
  }

  /** watcher-1: a second caller joins the current look. */
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
    for (const tried = seen ?? new Set<SessionId>(); !this.#poller.isClosed; ) {
      const now = world.now();
      const max = PAGE + tried.size + this.#backedOff.size; // Sessions that cannot be resumed must not hide others.
      const agenda = await this.#agenda(now, max);
      await this.#settle(agenda);
      const hasMore = await this.#core().background.look(agenda, this.#servesAll || seen !== undefined);
      for (const [id, until] of this.#backedOff) if (until <= now) this.#backedOff.delete(id);
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

  /** Asks for this process's tasks only if the store has jobs at all. */
  async #agenda(now: number, max: number): Promise<Agenda> {
    const { store, background } = this.#core();
    if (this.#hasJobs) return store.agenda(now, max, background.operations);
    const agenda = await store.agenda(now, max);
    if (agenda.jobs === undefined) return agenda;
    this.#hasJobs = true;
    return store.agenda(now, max, background.operations);
  }
  #hasJobs = false;

  /** `isAsked`: the caller is `recover()`, which resumes everything. */
  async #isOurs(id: SessionId, isAsked: boolean): Promise<boolean> {
    const { recovers, runs, store } = this.#core();
    if (!runs) return false;
    if (isAsked) return store.isDurable;
    return !this.#backedOff.has(id) && (this.#awaited.has(id) || (recovers ? store.isDurable : this.#isMissed(id)));
  }

  /** Whether a handle here waits for a parked turn of the session or of an ancestor. Such turns resume without recovery. */
  async #isMissed(id: SessionId): Promise<boolean> {
    if (this.followed.size === 0) return false;
    const { store } = this.#core();
    for (let at: SessionId | undefined = id; at !== undefined; at = (await store.load(at))?.parentId)
      if (this.followed.get(at)?.turns.some((turnId) => !this.#pending.has(turnId)) === true) return true;
    return false;
  }

  /** Whether an input of this process still waits there. Another process may have run it. */
  async #isAwaited(id: SessionId): Promise<boolean> {
    for (const session of this.#pending.values()) if (session === id) return true;
    return (await this.#core().store.inputs.list(id)).length > 0;
  }

  async #takeUpAll(found: SessionId[], tried: Set<SessionId>): Promise<number> {
    let begun = 0;
    const worker = async (): Promise<void> => {
      for (let id = found.shift(); id !== undefined; id = found.shift()) {
        while (this.#working.size >= WORKING_MAX && !this.#poller.isClosed) await this.#done.promise;
        if (this.#poller.isClosed) return;
        tried.add(id);
        try {
          if (!(await this.#begin(id))) continue; // Another process was first: the session stays awaited.
          this.#awaited.delete(id);
          begun++;
        } catch (error) {
          this.backOff(id);
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
      this.#latest = undefined; // No handle waits. The next handle is settled on its own by `follow`.
      return;
    }
    this.#latest = latest;
    if (isNew) for (const id of [...this.followed.keys()]) await this.#settleAll(id);
    if (isNew) for (const { sessionId } of [...this.#shows.values()]) await this.#forgetShows(sessionId);
    else if (latest !== before) await this.#settleMoved(before);
    let asked = 0;
    for (const [turnId, id] of [...this.#pending]) if (asked++ < PENDING_MAX) await this.#settleOne(turnId, id);
  }

  /** watcher-2: settles the handles of sessions that have new facts. */
  async #settleMoved(after: Cursor | undefined): Promise<void> {
    const { store } = this.#core();
    for (let cursor = after; ; ) {
      const changes = await store.changes(cursor, { max: PAGE });
      const moved = new Set<SessionId>();
      for (const change of changes) {
        if (change.kind === "waiting" || change.kind === "resolved") this.#notifyWait(change);
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

  /** Notifies handles of the waits of turns in other processes. Turns that run here notify their handles themselves. */
  #notifyWait(change: Extract<Change, { readonly kind: "waiting" | "resolved" }>): void {
    const { sessionId, turnId, cursor } = change;
    const handles = turnId === undefined ? [] : (this.followed.get(sessionId)?.of(turnId) ?? []);
    if (handles.length === 0 || this.#core().sessions.find(sessionId)?.running !== undefined) return;
    const fact = waitFact(change, { fact: true, sessionId, cursor: cursorFor(sessionId, cursor) } as const);
    for (const handle of handles) if (handle.feed.isRead) handle.notify(fact);
  }

  /** Drops the previews of a deleted session. */
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

  /** Without recovery a process serves only its own sessions. With a memory store all sessions are its own. */
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
    const own = next === undefined ? POLL_MS.agenda : Math.max(1, next - now);
    this.#soonest(Math.min(this.#isBusy ? POLL_MS.awaitedTurn : POLL_MS.agenda, own));
  }

  get #isBusy(): boolean {
    return this.#pending.size > 0 || this.#awaited.size > 0;
  }

  /** Looks within this time. */
  #soonest(ms: number): void {
    this.#holdProcess();
    this.#poller.soonest(ms, this.#isBusy);
  }

  /** watcher-4 */
  #holdProcess(): void {
    this.#poller.hold(this.followed.size > 0 || this.#core().background.isAwaited);
  }

  #trace(error: unknown, sessionId?: SessionId): void {
    const { trace, door } = this.#core();
    if (!door.isClosed) trace("session.recover", { problem: describeThrown(error) }, sessionId && { sessionId });
  }

  /** Stops polling. Returns the handles that still wait. */
  close(): readonly (readonly [SessionId, Followers])[] {
    this.#poller.close();
    this.#done.resolve();
    return [...this.followed];
  }
}

/** Whether a call of its running turn waits for the job. */
const awaits = ({ running }: LiveSession, id: JobId): boolean =>
  running?.state?.open.some(
    (effect) => effect.kind === "wait" && effect.about.kind === "turns" && effect.about.jobs?.includes(id) === true,
  ) ?? false;
