// A turn from its lease to its commit.
//
//   store.accept ─► queue ─► runTurn: { start effects ─► next event ─► step } ─► store.commit ─► announce
//
// A turn that only waits leaves the loop without a commit: it parks (`park.ts`), and resumes from the store when it has
// mail. Before it parks, operations may run inside it.
//
// What is durable when: the input and `opened` with the acceptance; every later event before an outward effect begins
// that follows from it (`OUTWARD` in turn/effect.ts). The commit contains the result of the last events, which it deletes.
//
// Not its job: performing effects (`perform.ts`), the order of answers (`hosts/`), what follows from them (`turn/step.ts`).
import type { Perform, TurnRun } from "../../hosts/host.ts";
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
import type { EnclosingWork } from "../session/reentrancy.ts";
import type { LiveSession } from "../session/session.ts";
import { endedTurn } from "./ended.ts";
import { isLeft, parkTurn, quietMs } from "./park.ts";
import { updatePending } from "./pending.ts";
import { perform } from "./perform.ts";
import { recallPrepared } from "./prepare.ts";
import type { CommittedTurn } from "./release.ts";
import { LiveTurn } from "./turn.ts";

/** A turn that the store opened for this process: it holds the lease. */
export interface OpenedTurn {
  readonly lease: Lease;
  /** When the lease expires, by the clock of this process and counted from before the call that got the lease. */
  readonly until: number;
  /** `opened`, then the events that an earlier run recorded. */
  readonly journal: readonly TurnEvent[];
  readonly isResumed?: true;
  /** This process had released the turn because the store failed. */
  readonly isFault?: true;
  /** The input waited in the store: a cancel may wait there too. */
  readonly hasWaited?: true;
  /** Recovery opened the turn, not a caller. */
  readonly isRecovery?: true;
  /** This process found the turn in the store. Without the turn's model it leaves the turn to other processes. */
  readonly isFound?: true;
  /**
   * Why the turn stays open for another process. Before that an operation may run inside it, but the turn itself does
   * not run.
   */
  left?: RuntimeError | undefined;
  /** The operation that the turn was opened for. It runs when the turn only waits, and then the turn parks at once. */
  visit?: ((live: LiveTurn) => Promise<void>) | undefined;
  wasVisited?: true;
  /** The cancel of a caller whose signal had already aborted. The turn begins after this cancel is stored. */
  readonly before?: Promise<unknown>;
  /** The code that sent the input, if that code runs in a session (session-2). */
  readonly asker?: EnclosingWork | undefined;
}

/**
 * Runs a turn from its lease until it is committed, parked or lost. A resumed turn takes the same path, with a host that
 * answers from the journal. Throws only faults of the store. The turn then stays as recorded, and this or another process
 * resumes it.
 */
export async function runTurn(session: LiveSession, opened: OpenedTurn): Promise<void> {
  try {
    const { lease, before, isResumed } = opened;
    if (before !== undefined) await before;
    if ((opened.isFound ?? isResumed) === true) {
      const missing = await session.missingModel(opened);
      opened.left = missing?.error;
      if (missing?.mayVisit === false) return;
    }
    const recorded = opened.journal[0] as Opened;
    const { options } = recorded;
    if (isResumed === true || !session.snapshot.isAt(lease, options))
      await session.snapshot.goTo(lease, isResumed === true);
    const unusable = options === session.options ? undefined : useOptions(session, options, isResumed);
    const live = new LiveTurn(session, opened, recorded);
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
      advance(live, begun, isPast ? undefined : live.telemetry);
      while (done === undefined) {
        while (live.state.phase.kind !== "ended") {
          // Checks only the first effect before the whole list, because most turns never wait.
          const first = live.state.open[0]?.kind;
          const isResting = !isPast && (first === "wait" || first === "sleep") && isOnlyWaiting(live.state);
          if (isResting && (await operated(live, opened))) continue;
          if (isResting && opened.left !== undefined) {
            // This process lacks the model: an answer would run its tool here, and then the model call would fail the turn.
            if (isLeft(live, opened) && (await parkTurn(live, false))) return;
            if (!(await isCancelled(session, opened))) throw opened.left;
            opened.left = undefined;
          }
          // The only place that waits. An event that is already there is taken without a promise.
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
          live.events?.push(event);
          const { phase } = before;
          if (phase.kind === "working" && phase.work.cell !== undefined && "effect" in event)
            (await live.code()).took(before, event);
          advance(live, step(live.driver, before, event), isPast ? undefined : live.telemetry, event);
          if (isPast) live.show.previewEarlier(before, event);
        }
        if (live.state.stops !== undefined) await stopOthers(live, live.state.stops);
        const turn = endedTurn(live);
        const answer = live.telemetry === undefined ? live.run.commit(turn) : live.telemetry.commit(live.run, turn);
        const committed = isThenable(answer) ? await answer : answer;
        if (!("reopen" in committed)) done = { kind: "committed", live, turn, committed };
        else for (const event of committed.reopen) live.fold(event); // A cancel came before the commit.
      }
    } catch (error) {
      done = await salvage(live, error);
    }
    live.telemetry?.committed(done.turn);
    const notified = session.released(done);
    if (notified !== undefined) await notified;
  } catch (error) {
    if (isForOthers(error)) opened.left = error;
    session.running?.telemetry?.lost(error);
    await session.released({ kind: "lost", lease: opened.lease, error });
  } finally {
    session.ended();
  }
}

/** Opens the turn in its host. From then on it is the session's running turn. */
function open(live: LiveTurn, { lease, until, journal, isResumed, isFault }: OpenedTurn): Awaitable<TurnRun> {
  const { core, session } = live;
  session.runs(live);
  if (live.isBudgeted) core.spenders.add(live);
  const how = isFault === true ? ({ isResumed: true, isFault } as const) : ({ isResumed: true } as const);
  const turn = isResumed === true ? { lease, until, journal, ...how } : { lease, until, journal };
  // A plain object: a host that wraps another may spread it.
  const performer: Perform = perform.bind(undefined, live);
  return core.host.open(turn, live.telemetry?.performing(performer) ?? performer, {
    store: core.store,
    world: core.world,
    waiting: (key) => live.show.asked(key),
    spawned: (jobs) => core.background.jobs.starts.begin(jobs),
    pending: (is, sent) => updatePending(live.pending, is, sent),
    followed: (is) => live.show.followed(is),
    trace: (name, about) => live.trace(name, about),
  });
}

function advance(
  live: LiveTurn,
  { state, effects, dropped }: Step,
  telemetry?: LiveTurn["telemetry"],
  event?: TurnEvent,
): void {
  if (telemetry !== undefined) telemetry.moving(state, event); // Before new effects begin: they belong to the new round.
  live.state = state;
  live.run.start(effects, dropped);
}

/** Runs an operation inside a turn that only waits. Returns false when there is none. */
async function operated(live: LiveTurn, opened: OpenedTurn): Promise<boolean> {
  const { visit } = opened;
  if (visit === undefined) return live.session.operateIn(live);
  opened.visit = undefined;
  opened.wasVisited = true;
  await visit(live);
  return true;
}

/** I10: before the commit, cancels the turns and jobs for which calls of this turn were waiting. */
async function stopOthers({ core, state }: LiveTurn, stops: NonNullable<TurnState["stops"]>): Promise<void> {
  const reason = state.winding?.ending.reason;
  for (const { turns, jobs = [] } of stops) {
    for (const { sessionId, turnId } of turns) await cancel(core, sessionId, turnId, reason);
    for (const id of jobs) await (await core.background.load()).jobs.stop(id, reason ?? TEXTS.turnStopped);
  }
}

// ── Resumed turns ───────────────────────────────────────────────────────────────────────────────────────────────────

/** Uses the turn's own options. If those of a resumed turn no longer parse, returns the error that ends the turn. */
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
/**
 * The pause before the next try to park, if unread mail prevented the last try. Without the pause the loop would use
 * all CPU time.
 */
const REFUSED_MS = 100;

/** Throws if the present host, protocol or options cannot follow the journal. */
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

/** Applies an event of an earlier run. Throws if the present plugins cannot use the recorded states. */
function foldable(live: LiveTurn, event: TurnEvent): void {
  try {
    live.learn(event);
    if (event.kind === "replied") live.latest = { usage: event.reply.usage, frame: live.conversation.transcript.frame };
  } catch (error) {
    live.isUnfoldable = true;
    throw error;
  }
}

/**
 * After the earlier events are folded: throws if the turn is too old, and reads back what it was prepared with. This runs
 * after `resumed` is recorded and before an effect begins, because nothing may wait between the host's check of its lease
 * and the start of a call.
 */
async function recallWhole(live: LiveTurn): Promise<void> {
  try {
    // The age of a waiting turn counts from the end of its wait, because an answer may come until then.
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

/** Commits the complete part of a turn that the loop could not end. Rethrows errors after which the turn can be resumed. */
async function salvage(live: LiveTurn, error: unknown): Promise<CommittedTurn> {
  const { store } = live.core;
  if (passingFault(error, store) !== undefined || hasCode(error, "runtime.closed") || isForOthers(error)) throw error;
  // If a recorded event answers nothing, another version of the machine recorded it.
  if (hasCode(error, "turn.diverged") && live.isResumed) live.isUnfoldable = true;
  live.trace("turn.salvaged", { problem: describeThrown(error) });
  const journal = live.isUnfoldable ? await wholeJournal(live) : undefined;
  const { salvagedTurn } = await import("./salvaged.ts");
  let cancel = live.state.winding?.cancel?.requestId;
  for (;;) {
    const turn = salvagedTurn(live, error, cancel, journal);
    const done = await (live.telemetry?.commit(live.run, turn) ?? live.run.commit(turn));
    if (!("reopen" in done)) return { kind: "committed", live, turn, committed: done, isSalvaged: true };
    for (const event of done.reopen) if (event.kind === "cancelled") cancel = event.requestId;
  }
}

/** The whole journal. The live turn also applies the events that were not folded, so that it commits all plugin states. */
async function wholeJournal(live: LiveTurn): Promise<readonly TurnEvent[]> {
  const journal = await live.core.store.journal(live.turnId, 0);
  for (const event of journal.slice(live.folded)) {
    try {
      live.learn(event);
    } catch {
      // A plugin that cannot use the recorded state keeps its earlier state.
    }
  }
  if (live.events !== undefined) live.events = [...journal];
  return journal;
}

/** Whether a cancel waits for the turn. */
export const isCancelled = async ({ core }: LiveSession, { lease }: OpenedTurn): Promise<boolean> =>
  (await core.store.renew(lease, core.world.now())).cancel !== undefined;
