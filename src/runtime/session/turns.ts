// A turn has the session until it is committed, parked or lost.
// Not its job: running the turn (`live-turn/run.ts`), which turn is next (`queue.ts`, `remote-turns.ts`).
import { hasCode, isForOthers, passingFault, RuntimeError } from "../../model/errors.ts";
import { type NodeId, nodeId } from "../../model/ids.ts";
import { describeThrown } from "../../model/json.ts";
import type { Opened } from "../../turn/event.ts";
import { isOnlyWaiting, wakesAt } from "../../turn/state.ts";
import { reportOf } from "../live-turn/perform.ts";
import type { CommittedTurn, Release } from "../live-turn/release.ts";
import { isCancelled, type OpenedTurn } from "../live-turn/run.ts";
import type { LiveTurn } from "../live-turn/turn.ts";
import { committedFact } from "../readers/followers.ts";
import type { LiveSession } from "./session.ts";

/** Why this process leaves a turn to others. */
export interface MissingModel {
  readonly error: RuntimeError;
  /** An operation may run inside the turn before this process leaves it. */
  readonly mayVisit: boolean;
}

/**
 * Returns why a turn that this process found in the store cannot run here. Without the turn's model this process leaves it
 * to others, because failing the turn would end their work. Two cases need no model: a cancel ends the turn, and an
 * operation may run inside a turn that only waits.
 */
export async function missingModel(session: LiveSession, opened: OpenedTurn): Promise<MissingModel | undefined> {
  const { core } = session;
  const { lease, journal } = opened;
  const { turnId, config } = journal[0] as Opened;
  if (core.models.known(config.model) !== undefined) return undefined;
  let error: RuntimeError;
  try {
    await core.models.require(config.model);
    return undefined;
  } catch (problem) {
    error = new RuntimeError("turn.model", { turnId, model: config.model, problem: describeThrown(problem) });
  }
  session.queue.mayHaveMore = false; // Before `isCancelled`: a cancel that comes later makes the queue look again.
  if (await isCancelled(session, opened)) return undefined;
  if (opened.visit !== undefined) {
    const { stateIn } = await import("../readers/recorded.ts");
    const state = stateIn(core, session.snapshot.stored, journal);
    if (state !== undefined && isOnlyWaiting(state)) return { error, mayVisit: true };
  }
  core.trace("turn.elsewhere", { problem: error.message }, { sessionId: session.id, turnId });
  core.watcher.backOff(session.id);
  await core.store.release(lease);
  session.failAll(error);
  return { error, mayVisit: false };
}

/**
 * The turn releases the session. After a commit, in this order: readers read the new facts; the snapshot applies the
 * turn; `lifecycle` hooks get `turnPersisted`; the parent's turn shows the commit; handles get their result; then the
 * handles of other inputs that the turn took.
 */
export function released(session: LiveSession, how: Release): Promise<void> | undefined {
  const { core, running: live } = session;
  session.running = undefined;
  if (live !== undefined) core.spenders.delete(live); // From now on the ledger has its spending.
  if (how.kind === "parked") return parked(session, how.live);
  if (how.kind === "lost") return lost(session, live, how);
  const { turn, committed, isSalvaged } = how;
  const { show, states, conversation, hooks } = how.live;
  if (show.publisher !== undefined) show.unpublish();
  core.readers.moved(session);
  if (committed.branch === undefined)
    session.snapshot.takeTurn(turn, committed, states, isSalvaged === true ? undefined : conversation.transcript);
  if (hooks.has.lifecycle || turn.inputs.length > 1) return notifyAfterHooks(session, how);
  notifyCommitted(session, how);
  return undefined;
}

async function notifyAfterHooks(session: LiveSession, done: CommittedTurn): Promise<void> {
  const { live, turn, committed } = done;
  if (live.hooks.has.lifecycle) {
    const report = reportOf(live, turn.outcome);
    const event = { kind: "turnPersisted", report, revision: committed.revision } as const;
    live.observed(await live.hooks.observe("lifecycle", { event }, session.contextAbout(live.opened.extensions)));
  }
  notifyCommitted(session, done);
  if (turn.inputs.length > 1) await session.settleRemote(); // A handle may wait for an input that the turn took.
}

function notifyCommitted(session: LiveSession, { live, turn, committed }: CommittedTurn): void {
  const { at, outcome, usage, entries, summary } = turn;
  const { turnId, issues, ranCode } = live;
  const nodes: NodeId[] = [];
  for (const entry of entries) nodes.push(entry.kind === "message" ? entry.message.id : nodeId(turnId, nodes.length));
  const result = { turnId, outcome, usage, issues };
  const end = { at, cursor: committed.cursor, branch: committed.branch, nodes, summary };
  const [parent] = session.ancestors;
  if (parent !== undefined) session.notifyParent(committedFact(session.id, result, end));
  session.followers.done(session.id, result, end);
  const { watcher, background } = session.core;
  if (background.loaded?.triggers.hasCommits === true) watcher.attend(0);
  if (watcher.followed.size > 0) watcher.forget(session);
  if (parent !== undefined) watcher.childEnded(parent);
  if (ranCode !== undefined) session.releasing = ranCode.release();
}

function parked(session: LiveSession, live: LiveTurn): undefined {
  const { turnId, state } = live;
  live.show.unpublish();
  session.parked = turnId;
  session.snapshot.shed();
  session.core.watcher.parked(live);
  live.trace("turn.parked", { wakeAt: wakesAt(state) });
  if (live.ranCode !== undefined) session.releasing = live.ranCode.release();
}

/** Faults of the store are rethrown: the queue retries, then releases the turn. */
async function lost(
  session: LiveSession,
  live: LiveTurn | undefined,
  { lease, error }: Extract<Release, { readonly kind: "lost" }>,
): Promise<void> {
  const { core, queue } = session;
  const { turnId } = lease;
  live?.show.unpublish();
  session.snapshot.isStale = true; // Nothing that the turn changed here was stored.
  try {
    // Releases the lease, so that another process can resume the turn at once.
    if (live?.run === undefined) await core.store.release(lease);
    else await live.run.leave();
  } catch (problem) {
    core.trace("turn.leave", { problem: describeThrown(problem) }, session.asPlace);
  }
  if (live?.ranCode !== undefined) session.releasing = live.ranCode.release();
  core.live?.check(session.id); // Readers here get the previews of the process that resumes the turn.
  // Handles here get the result when another process ends the turn.
  if (session.followers.of(turnId).length > 0) core.watcher.follow(session.id, session.followers, turnId);
  if (hasCode(error, "lease.lost")) {
    queue.mayHaveMore = true; // Another process has the turn: handles here get its result.
    return;
  }
  const fault = passingFault(error, core.store);
  // The turn itself may cause `store.failed`. Then its runs must count as crashes, so that they stop.
  if (fault !== undefined && fault.code !== "store.failed") core.watcher.failed(turnId);
  if (fault !== undefined) throw error;
  session.fail(turnId, error);
  if (isForOthers(error)) session.gaveUp(error);
}
