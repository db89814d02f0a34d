import { hasCode, isForOthers, passingFault } from "../../model/errors.ts";
import { type NodeId, nodeId } from "../../model/ids.ts";
import { describeThrown } from "../../model/json.ts";
import type { Committed, EndedTurn, Lease } from "../../stores/store.ts";
import { committedFact } from "../readers/followers.ts";
import type { LiveSession } from "../session/session.ts";
import { reportOf } from "./perform.ts";
import type { LiveTurn } from "./turn.ts";

export interface CommittedTurn {
  readonly turn: EndedTurn;
  readonly committed: Committed;
  /** The entries are not those of the live state. */
  readonly isSalvaged?: true;
}

/**
 * Tells of a commit, in this order: readers of the session look into the store; the session here grows by the turn;
 * `lifecycle` hooks hear `turnPersisted`; the parent's turn shows it; handles have their result; so have the handles of
 * other inputs that the turn took.
 */
export function announce(live: LiveTurn, done: CommittedTurn): Promise<void> | undefined {
  const { session, core, hooks } = live;
  const { turn, committed, isSalvaged } = done;
  session.running = undefined;
  if (live.show.publisher !== undefined) live.show.unpublish();
  core.readers.moved(session);
  core.spenders.delete(live); // From now on the ledger has its spending.
  if (committed.branch === undefined)
    session.kept.takeTurn(turn, committed, live.states, isSalvaged === true ? undefined : live.transcript());
  if (hooks.has.lifecycle || turn.inputs.length > 1) return tellLater(live, done);
  tell(live, done);
}

async function tellLater(live: LiveTurn, done: CommittedTurn): Promise<void> {
  const { session, hooks } = live;
  const { turn, committed } = done;
  if (hooks.has.lifecycle) {
    const report = reportOf(live, turn.outcome);
    const event = { kind: "turnPersisted", report, revision: committed.revision } as const;
    live.observed(await hooks.observe("lifecycle", { event }, session.siteAbout(live.opened.extensions)));
  }
  tell(live, done);
  if (turn.inputs.length > 1) await session.settleElsewhere(); // A handle may wait for an input that the turn took.
}

function tell({ session, turnId, issues }: LiveTurn, { turn, committed }: CommittedTurn): void {
  const { outcome, usage, entries } = turn;
  const nodes: NodeId[] = [];
  for (const entry of entries) nodes.push(entry.kind === "message" ? entry.message.id : nodeId(turnId, nodes.length));
  const result = { turnId, outcome, usage, issues };
  const [parent] = session.ancestors;
  if (parent !== undefined) session.tellParent(committedFact(session.id, result, committed, nodes));
  session.followers.done(session.id, committed, result, nodes);
  const { watch, background } = session.core;
  if (background.loaded?.triggers.hasCommits === true) watch.attend(0);
  if (watch.followed.size > 0) watch.forget(session);
  if (parent !== undefined) watch.childEnded(parent);
}

/** A turn ended here without a commit. Faults of the store are rethrown: the queue tries again, then gives up. */
export async function lose(session: LiveSession, lease: Lease, error: unknown): Promise<void> {
  const { turnId } = lease;
  const run = session.running?.run;
  session.running?.show.unpublish();
  session.running = undefined;
  session.kept.isStale = true; // Nothing that the turn changed here was stored.
  try {
    // The lease is given back, so that another process may resume the turn at once.
    if (run === undefined) await session.core.store.release(lease);
    else await run.leave();
  } catch (problem) {
    session.core.trace("turn.leave", { problem: describeThrown(problem) }, session.asPlace);
  }
  session.core.live?.heard(session.id); // Whoever reads it here is shown what another process does with it.
  // Whoever waits for the turn here is told when it ends elsewhere.
  if (session.followers.of(turnId).length > 0) session.core.watch.follow(session.id, session.followers, turnId);
  if (hasCode(error, "lease.lost")) {
    session.queue.mayHaveMore = true; // Another process has the turn: handles here get its result.
    return;
  }
  const fault = passingFault(error, session.core.store);
  // `store.failed` may be the turn's own doing, and then it must not be tried for ever.
  if (fault !== undefined && fault.code !== "store.failed") session.core.watch.failed(turnId);
  if (fault !== undefined) throw error;
  session.fail(turnId, error);
  if (isForOthers(error)) session.gaveUp(error);
}
