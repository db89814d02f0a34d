// A turn from its lease to its commit.
//
//   store.accept ─► queue ─► runTurn: { start effects ─► next event ─► step } ─► store.commit ─► announce
//
// A turn that does nothing but wait leaves the loop without a commit: it is parked (`park.ts`), and runs again from the
// store when it has mail. Before that, operations may run in it.
//
// What is durable when: the input and `opened` with the acceptance; every later event before an outward effect begins
// that follows from it (`OUTWARD` in turn/effect.ts); the last events with the commit, which makes them obsolete.
//
// Not its job: what effects do (`perform.ts`), in which order answers are handed out (`hosts/`), what follows from them
// (`turn/step.ts`).
import type { TurnRun } from "../../hosts/host.ts";
import { type Awaitable, isThenable } from "../../model/awaitable.ts";
import { hasCode, isForOthers, passingFault, RuntimeError } from "../../model/errors.ts";
import { describeThrown } from "../../model/json.ts";
import { LazyScope } from "../../model/scope.ts";
import { TEXTS } from "../../model/texts.ts";
import type { Lease } from "../../stores/store.ts";
import type { Opened, TurnEvent } from "../../turn/event.ts";
import { isOnlyWaiting, type Step, type TurnState } from "../../turn/state.ts";
import { begin, step } from "../../turn/step.ts";
import { cancel } from "../services/sessions.ts";
import type { Inside } from "../session/inside.ts";
import type { LiveSession } from "../session/session.ts";
import { announce, type CommittedTurn, lose } from "./announce.ts";
import { endedTurn } from "./ended.ts";
import { isLeft, parkTurn, quietMs } from "./park.ts";
import { told } from "./pending.ts";
import { perform } from "./perform.ts";
import { recallPrepared } from "./prepare.ts";
import { LiveTurn } from "./turn.ts";

/** A turn that the store opened for this process: it holds the lease. */
export interface OpenedTurn {
  readonly lease: Lease;
  /** When that lapses, by our own clock from before it was asked for. */
  readonly until: number;
  /** `opened`, then the events that an earlier run recorded. */
  readonly journal: readonly TurnEvent[];
  readonly isResumed?: true;
  /** This process had let it go because the store failed. */
  readonly isFault?: true;
  /** Accepted some time ago: a cancel may be waiting in the store. */
  readonly hasWaited?: true;
  /** Recovery began it and no caller. */
  readonly isRecovery?: true;
  /** It was found in the store and not sent here: a process without its model leaves it to others. */
  readonly isFound?: true;
  /** Why it stays open for another process. An operation may visit it here first; nothing else of it runs here. */
  left?: RuntimeError;
  /** An operation that it was opened for: called when the turn only waits, which is then parked at once. */
  visit?: ((live: LiveTurn) => Promise<void>) | undefined;
  wasVisited?: true;
  /** The cancel of a caller whose signal had aborted already: the turn begins after it. */
  readonly before?: Promise<unknown>;
  /** The code that sent its input, if that runs in a session (S2 in `session.ts`). */
  readonly asker?: Inside | undefined;
}

/**
 * Runs a turn from its lease to its commit and tells its handles, or until it is parked. A resumed turn takes the same
 * path: its host answers from the journal. Throws only faults of the store: the turn is then as recorded, to be resumed
 * here or elsewhere.
 */
export async function runTurn(session: LiveSession, opened: OpenedTurn): Promise<void> {
  let live: LiveTurn | undefined;
  session.now = opened.lease.turnId;
  try {
    const { lease, before, isResumed } = opened;
    if (before !== undefined) await before;
    if ((opened.isFound ?? isResumed) === true && !(await mayRun(session, opened))) return;
    const recorded = opened.journal[0] as Opened;
    const { options } = recorded;
    if (isResumed === true || !session.kept.isAt(lease, options)) await session.kept.goTo(lease, isResumed === true);
    const unusable = options === session.options ? undefined : useOptions(session, options, isResumed);
    live = new LiveTurn(session, opened, recorded);
    const run = open(live, opened);
    live.run = isThenable(run) ? await run : run;
    if (opened.hasWaited === true || before !== undefined) await live.run.poke(); // A cancel may have come meanwhile.
    let done: CommittedTurn | undefined;
    try {
      const begun = begin(live.opened);
      live.state = begun.state;
      let isPast = live.isResumed;
      let leastMs = 0;
      if (isPast) followJournal(live, unusable);
      advance(live, begun);
      while (done === undefined) {
        while (live.state.phase.kind !== "ended") {
          const first = live.state.open[0]?.kind; // Asked before the whole list: most turns never wait.
          const isResting = !isPast && (first === "wait" || first === "sleep") && isOnlyWaiting(live.state);
          if (isResting && (await operated(live, opened))) continue;
          if (isResting && opened.left !== undefined) {
            // An answer that came must not be taken in: its tool would run here, and the next model call would fail the turn.
            if (isLeft(live, opened) && (await parkTurn(live, false))) return;
            if (!(await isCancelled(session, opened))) throw opened.left;
            delete opened.left;
          }
          // The one place to wait; what is there already is taken at once.
          const next = isResting ? live.run.next(Math.max(leastMs, quietMs(live, opened))) : live.run.next();
          const event = isThenable(next) ? await next : next;
          if (event === undefined) {
            if (isLeft(live, opened) && (await parkTurn(live))) return;
            leastMs = REFUSED_MS;
            continue;
          }
          leastMs = 0;
          const isNow = event.kind === "resumed" && event.generation === live.lease.generation;
          if (isNow) await recallWhole(live);
          if (isNow) isPast = false;
          if (isPast) foldable(live, event);
          else {
            live.folded++;
            if ("changes" in event && event.changes !== undefined) live.states.apply(event.changes);
          }
          const before = live.state;
          if (event.kind === "resolved" && !isPast) await live.show.answeredBy(event);
          const { phase } = before;
          if (phase.kind === "working" && phase.work.cell !== undefined && "effect" in event)
            (await live.code()).took(before, event);
          advance(live, step(live.driver, before, event));
          if (isPast) live.show.retellRun(before, event);
        }
        if (live.state.stops !== undefined) await stopOthers(live, live.state.stops);
        const turn = endedTurn(live);
        const answer = live.run.commit(turn);
        const committed = isThenable(answer) ? await answer : answer;
        if (!("reopen" in committed)) done = { turn, committed };
        else for (const event of committed.reopen) live.fold(event); // A cancel came before the commit.
      }
    } catch (error) {
      done = await salvage(live, error);
    }
    const telling = announce(live, done);
    if (telling !== undefined) await telling;
  } catch (error) {
    if (isForOthers(error)) opened.left = error;
    await lose(session, opened.lease, error);
  } finally {
    if (live?.ranCode !== undefined) session.releasing = live.ranCode.release(); // The next turn with code waits for it.
    session.ended(live);
  }
}

/** Opens the turn in its host; from here on it is the session's running turn. */
function open(live: LiveTurn, { lease, until, journal, isResumed, isFault }: OpenedTurn): Awaitable<TurnRun> {
  const { core, session } = live;
  session.running = live;
  session.parked = undefined;
  if (live.isBudgeted) core.spenders.add(live);
  const how = isFault === true ? ({ isResumed: true, isFault } as const) : ({ isResumed: true } as const);
  const turn = isResumed === true ? { lease, until, journal, ...how } : { lease, until, journal };
  // A plain object: a host that wraps another may spread it.
  return core.host.open(turn, (effect, scope) => perform(live, effect, scope), {
    store: core.store,
    world: core.world,
    waiting: (key) => live.show.asked(key),
    spawned: (jobs) => core.background.jobs.begin(jobs),
    pending: (is, sent) => told(live.pending, is, sent),
    followed: (is) => live.show.followed(is),
    trace: (name, about) => live.trace(name, about),
  });
}

function advance(live: LiveTurn, { state, effects, dropped }: Step): void {
  live.state = state;
  live.run.start(effects, dropped);
}

/** Runs an operation in a turn that only waits; false when there is none. */
async function operated(live: LiveTurn, opened: OpenedTurn): Promise<boolean> {
  const { visit } = opened;
  if (visit === undefined) return live.session.operateIn(live);
  opened.visit = undefined;
  opened.wasVisited = true;
  await visit(live);
  return true;
}

/** I10: a cancel reaches the turns and jobs that calls of this one were waiting for, before the turn is committed. */
async function stopOthers({ core, state }: LiveTurn, stops: NonNullable<TurnState["stops"]>): Promise<void> {
  const reason = state.winding?.ending.reason;
  for (const { turns, jobs = [] } of stops) {
    for (const { sessionId, turnId } of turns) await cancel(core, sessionId, turnId, reason);
    for (const id of jobs) await (await core.background.load()).jobs.stop(id, reason ?? TEXTS.turnStopped);
  }
}

// ── Turns that an earlier run left ──────────────────────────────────────────────────────────────────────────────────

/** Uses the turn's own options. A resumed turn's may be of no use any more: it is ended with what is returned. */
function useOptions(session: LiveSession, options: Opened["options"], isResumed?: true): RuntimeError | undefined {
  try {
    session.use(options);
    return undefined;
  } catch (error) {
    if (isResumed === true && error instanceof RuntimeError) return error;
    throw error;
  }
}

const DAY_MS = 86_400_000;
/** How long to wait before a turn is to be parked again, where mail kept it that it has not been given: it must not spin. */
const REFUSED_MS = 100;

/** Refuses a journal that today's host, protocol or options cannot follow. */
function followJournal(live: LiveTurn, unusable: RuntimeError | undefined): void {
  const { protocol, host } = live.opened;
  if (host !== live.core.host.kind)
    throw new RuntimeError("turn.host", { expected: host, actual: live.core.host.kind });
  try {
    if (unusable !== undefined) throw unusable;
    const { id, version } = live.driver;
    if (protocol.id !== id || protocol.version !== version)
      throw new RuntimeError("turn.diverged", { effect: "the protocol", kind: `${protocol.id}@${protocol.version}` });
  } catch (error) {
    live.isUnfoldable = true;
    throw error;
  }
}

/** Takes in an event of an earlier run. Throws when the plugins of today cannot have what theirs have kept. */
function foldable(live: LiveTurn, event: TurnEvent): void {
  try {
    live.learn(event);
  } catch (error) {
    live.isUnfoldable = true;
    throw error;
  }
}

/**
 * The past is folded: refuses a turn that is too old, and reads back what it was prepared with, after `resumed` is recorded and before an effect begins: between the
 * host's look at its lease and the start of a call nothing may wait.
 */
async function recallWhole(live: LiveTurn): Promise<void> {
  try {
    // A turn that waits is as old as the end of its wait: somebody may answer until then.
    const untils = live.state.open.map((effect) =>
      effect.kind === "wait" || effect.kind === "sleep" ? effect.until : 0,
    );
    const age = live.core.world.now() - Math.max(live.lastAt, ...untils);
    if (age > live.limits.turnAgeMs) throw new RuntimeError("turn.expired", { days: Math.floor(age / DAY_MS) });
    await recallPrepared(live, new LazyScope());
  } catch (error) {
    live.isUnfoldable = true;
    throw error;
  }
}

/** Commits what is whole of a turn that the loop could not end. Rethrows errors after which the turn may be resumed. */
async function salvage(live: LiveTurn, error: unknown): Promise<CommittedTurn> {
  const { store } = live.core;
  if (passingFault(error, store) !== undefined || hasCode(error, "runtime.closed") || isForOthers(error)) throw error;
  // A recorded event that answers nothing means that today's machine is not the one that recorded it.
  if (hasCode(error, "turn.diverged") && live.isResumed) live.isUnfoldable = true;
  live.trace("turn.salvaged", { problem: describeThrown(error) });
  const journal = live.isUnfoldable ? await wholeJournal(live) : undefined;
  const { salvagedTurn } = await import("./salvaged.ts");
  let cancel = live.state.winding?.cancel?.requestId;
  for (;;) {
    const turn = salvagedTurn(live, error, cancel, journal);
    const done = await live.run.commit(turn);
    if (!("reopen" in done)) return { turn, committed: done, isSalvaged: true };
    for (const event of done.reopen) if (event.kind === "cancelled") cancel = event.requestId;
  }
}

/** All that earlier runs recorded, of which the live turn takes in what was not folded: states are kept whole. */
async function wholeJournal(live: LiveTurn): Promise<readonly TurnEvent[]> {
  const journal = await live.core.store.journal(live.turnId, 0);
  for (const event of journal.slice(live.folded)) {
    try {
      live.learn(event);
    } catch {
      // The state of a plugin that cannot have it any more is kept as it was.
    }
  }
  return journal;
}

/**
 * Whether a turn that was found in the store may run here. Without its model it is left to other processes, because to
 * fail it would end their work, with two exceptions that need no model: a cancel ends it, and an operation may visit a
 * turn that only waits.
 */
async function mayRun(session: LiveSession, opened: OpenedTurn): Promise<boolean> {
  const { core } = session;
  const { lease, journal } = opened;
  const { turnId, config } = journal[0] as Opened;
  if (core.models.known(config.model) !== undefined) return true;
  let missing: RuntimeError;
  try {
    await core.models.require(config.model);
    return true;
  } catch (error) {
    missing = new RuntimeError("turn.model", { turnId, model: config.model, problem: describeThrown(error) });
  }
  session.queue.mayHaveMore = false; // Before the look for a cancel: one that comes later makes the queue look again.
  if (await isCancelled(session, opened)) return true;
  if (opened.visit !== undefined) {
    const { stateIn } = await import("../readers/recorded.ts");
    const state = stateIn(core, session.kept.stored, journal);
    if (state !== undefined && isOnlyWaiting(state)) {
      opened.left = missing;
      return true;
    }
  }
  core.trace("turn.elsewhere", { problem: missing.message }, { sessionId: session.id, turnId });
  core.watch.leave(session.id);
  await core.store.release(lease);
  opened.left = missing;
  session.failAll(missing);
  return false;
}

const isCancelled = async ({ core }: LiveSession, { lease }: OpenedTurn): Promise<boolean> =>
  (await core.store.renew(lease, core.world.now())).cancel !== undefined;
