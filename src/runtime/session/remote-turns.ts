// Turns of other processes: opens and resumes orphaned ones, waits for running ones, and settles handles with their results.
import { hasCode, RuntimeError } from "../../model/errors.ts";
import { nodeId, type SessionId, type TurnId } from "../../model/ids.ts";
import { describeThrown } from "../../model/json.ts";
import type { Lease, OpenAnswer, Terminal } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import { type OpenedTurn, runTurn } from "../live-turn/run.ts";
import type { LiveTurn } from "../live-turn/turn.ts";
import { POLL_MS } from "../poller.ts";
import type { Followers } from "../readers/followers.ts";
import { notifyWaits } from "../readers/wait-facts.ts";
import type { LiveSession } from "./session.ts";

type NotOpened = Exclude<OpenAnswer, { readonly lease: Lease }>;

/** Asks the store for the turn that must run here. Returns the reason if there is none. */
async function openTurn({ core, id, opening }: LiveSession, forOperation?: true): Promise<OpenedTurn | NotOpened> {
  const sent = core.world.now();
  const answer = await core.store.open(id, core.owner, sent, opening, forOperation);
  if (!("lease" in answer)) return answer;
  const { lease } = answer;
  const until = sent + lease.heldMs;
  return answer.kind === "opened"
    ? { lease, until, journal: [answer.opened], hasWaited: true }
    : {
        ...{ lease, until, journal: answer.journal, isResumed: true, hasWaited: true },
        ...(core.watcher.faulted.delete(lease.turnId) ? { isFault: true } : {}),
      };
}

// ── Remote turns: handles in this process wait for them ─────────────────────────────────────────────────────────────

/**
 * Opens or resumes the next turn. Returns undefined, and waiting inputs stay, if this process runs no turns or the
 * session's options no longer parse.
 */
export async function nextTurn(session: LiveSession): Promise<OpenedTurn | NotOpened | undefined> {
  const { core } = session;
  if (!core.runs) return undefined;
  try {
    return await openTurn(session);
  } catch (error) {
    if (!hasCode(error, "plugin.options")) throw error;
    core.trace("turn.elsewhere", { problem: error.message }, session.asPlace);
    session.gaveUp(error);
    return undefined;
  }
}

/** Asks the store for the next turn. `session-watcher.ts` polls for turns that are parked or that other processes hold. */
export async function look(session: LiveSession): Promise<void> {
  const { core, queue, id } = session;
  queue.mayHaveMore = false;
  const answer = await nextTurn(session);
  if (answer === undefined) return;
  if ("lease" in answer) {
    queue.mayHaveMore = true; // More inputs may wait behind this turn.
    return queue.putTurn(answer);
  }
  if (queue.hasReady) return;
  if (queue.isAccepting) {
    queue.mayHaveMore = true;
    return queue.arrived(); // The lease may belong to this process, if an acceptance has not returned yet.
  }
  if (answer.kind === "busy") core.watcher.await(id);
  session.parked = answer.kind === "parked" ? answer.turnId : undefined;
}

/** The handles of one session, which need not be open here. */
export interface Following {
  readonly core: Core;
  readonly id: SessionId;
  readonly followers: Followers;
}

/** Settles the handles of a turn that has ended, and returns its state. */
export async function settle(of: Following, turnId: TurnId): Promise<"over" | "parked" | "pending"> {
  const { core, id, followers } = of;
  const { store, sessions } = core;
  if (turnId === sessions.find(id)?.now) return "pending"; // `released` settles them, after the `lifecycle` hooks.
  const found = await store.find(turnId);
  const isGone = found === undefined || found.sessionId !== id;
  if (!isGone && found.state === "ended") {
    const terminal = await store.terminal(turnId);
    if (terminal !== undefined) await notifyEnd(of, turnId, terminal);
    return terminal === undefined ? "pending" : "over";
  }
  if (!isGone && found.state === "parked") {
    await notifyWaits(core, id, turnId, followers.of(turnId));
    return "parked";
  }
  if (!isGone && found.state !== "withdrawn") return "pending";
  const why = !isGone ? "input.withdrawn" : (await store.has(id)) ? "turn.unknown" : "session.deleted";
  failHandles(core, id, followers, turnId, new RuntimeError(why, { turnId, id }));
  return "over";
}

export function failHandles(core: Core, id: SessionId, followers: Followers, turnId: TurnId, error: unknown): void {
  core.trace("turn.lost", { problem: describeThrown(error) }, { sessionId: id, turnId });
  followers.failed(turnId, error);
}

/** Gives the handles the result of their turn. If another turn took the input, that is the result of the other turn. */
async function notifyEnd(
  { core, id, followers }: Following,
  turnId: TurnId,
  { turnId: by, at, outcome, usage, committed, summary }: Terminal,
): Promise<void> {
  const { cursor, branch } = committed;
  const from = branch ?? committed.head;
  const [last] = from === undefined ? [] : await core.store.view(id, { from, max: 1 });
  const nodes = last?.commit === by ? last.entries.map((_, index) => nodeId(by, index)) : [];
  const result = { turnId, outcome, usage, issues: [] };
  for (const handle of followers.of(turnId)) handle.endedRemotely(result);
  followers.done(id, result, { at, cursor, branch, nodes, summary });
}

/**
 * An operation met an open turn. If the turn only waits, `visit` runs inside it. If another process runs the turn, the
 * operation waits. An orphaned turn runs here. Returns false if the work must run again.
 */
export async function visitTurn(
  session: LiveSession,
  name: string,
  visit: (live: LiveTurn) => Promise<void>,
  onBusy?: () => void,
): Promise<boolean> {
  const { core, queue } = session;
  if (queue.door === "closed") throw new RuntimeError("runtime.closed", {});
  if (!core.runs) return passTurn(session, name, onBusy);
  const found = await openTurn(session, true);
  if (!("lease" in found)) {
    if (found.kind === "busy") await awaitHolder(session, onBusy);
    return false;
  }
  await session.snapshot.refresh(true);
  const opened: OpenedTurn = { ...found, isFound: true, visit };
  session.now = opened.lease.turnId;
  await runTurn(session, opened);
  // Another try would find the same turn.
  if (opened.left !== undefined && opened.wasVisited !== true) throw opened.left;
  if (opened.left !== undefined) queue.lookAgain(); // A cancel that came during the visit must end the turn here.
  return opened.wasVisited === true;
}

/** Pauses for the process that runs the open turn. Closing ends the pause at once: a grace would not end that turn. */
async function awaitHolder({ queue }: LiveSession, onBusy?: () => void): Promise<void> {
  onBusy?.();
  await queue.pause(POLL_MS.session);
  if (queue.door !== "open") throw new RuntimeError("runtime.closed", {});
}

/** How long an operation waits for an orphaned turn before it throws. Workers look for such turns every second. */
const ORPHANED_MS = 5_000;

/**
 * If this process runs no turns, an operation waits for the process that runs the open turn. It is refused if the turn is
 * parked, because the operation would have to resume the turn here. It is also refused if no process resumes an orphaned
 * turn.
 */
async function passTurn(session: LiveSession, name: string, onBusy?: () => void): Promise<false> {
  const { core, snapshot, id } = session;
  const { openTurn: turnId } = snapshot.stored;
  if (turnId === undefined) return false;
  for (let heldAt = core.world.now(); ; ) {
    const state = (await core.store.find(turnId))?.state;
    if (state === "parked") throw new RuntimeError("runtime.passive", { call: name, turnId, isOrphaned: false });
    if (state !== "open") return false;
    const now = core.world.now();
    const { sessions } = await core.store.agenda(now, Infinity);
    if (!sessions.includes(id)) heldAt = now;
    else if (now - heldAt >= ORPHANED_MS)
      throw new RuntimeError("runtime.passive", { call: name, turnId, isOrphaned: true });
    await awaitHolder(session, onBusy);
  }
}
