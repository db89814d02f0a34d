// Waits for the work of a session before the session is deleted, released or closed.
import { isOnlyWaiting } from "../../turn/state.ts";
import { cancelTurn } from "./cancel.ts";
import type { LiveSession } from "./session.ts";

/** Whether deleting must wait: work runs here, or a handle waits. A turn that was just answered gets a moment to end. */
export async function isBusy(session: LiveSession): Promise<boolean> {
  if (!session.isIdle) await new Promise((resolve) => setImmediate(resolve));
  if (session.running !== undefined && isOnlyWaiting(session.running.state)) await parkNow(session);
  const { isTaken, hasReady } = session.queue;
  return isTaken || hasReady || session.followers.turns.some((turnId) => turnId !== session.parked);
}

/** Parks a turn that only waits at once. Settles when the queue is idle. */
async function parkNow(session: LiveSession): Promise<void> {
  if (!session.core.host.parks) return;
  session.parksAtOnce = true;
  session.running?.run.hurry();
  await session.queue.settled();
  session.parksAtOnce = false;
}

/** session-3: runs `run` when nothing runs or waits, and no input is being accepted. */
export async function whenIdle(session: LiveSession, run: () => void): Promise<void> {
  while (session.entering?.size || session.queue.isAccepting) {
    await Promise.allSettled(session.entering ?? []);
    await session.queue.arrived();
  }
  if (!session.isIdle) await session.queue.settled();
  if (session.entering?.size || session.queue.isAccepting) return whenIdle(session, run);
  run();
}

/** Waits `graceMs` for running work. Then a durable store keeps the turn for a later resume; in memory it is cancelled. */
export async function closeSession(session: LiveSession, graceMs: number): Promise<void> {
  session.running?.run?.hurry(); // A turn that only waits parks at once, or is released if the host cannot park.
  const isKept = session.running !== undefined && isOnlyWaiting(session.running.state) && !session.core.host.parks;
  await session.queue.close(isKept ? 0 : graceMs, async () => {
    const { running } = session;
    if (running?.run === undefined) return false;
    if (session.core.store.isDurable) await running.run.leave();
    else await cancelTurn(session, running.turnId, "The runtime was closed.");
    return true;
  });
}
