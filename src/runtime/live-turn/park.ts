// A turn that does nothing but wait, for a person or for the world: when it is given up, and what is left of it here.
// K1 It is given up only when the store has no mail for it; the store decides, in the write that releases the lease.
// K2 What was shown of it stays here as long as somebody looks on, so that the turn goes on where it stopped.
// K3 A parent stays while a turn that it waits for runs here: it shows what its child does. Unless somebody waits for it to
//    go: an operation that was let in, a delete, the end of the runtime.
import { type TurnState, wakesAt } from "../../turn/state.ts";
import type { OpenedTurn } from "./run.ts";
import type { LiveTurn } from "./turn.ts";

/** How long it may stay once it only waits; `Infinity` where it must not be given up. */
export function quietMs(live: LiveTurn, opened: OpenedTurn): number {
  if (live.session.queue.hasOperations) return 0; // One came while the last look for them was under way.
  if (!mayPark(live, opened)) return Infinity;
  return isUnwanted(live, opened) ? 0 : live.core.limits.parkAfterMs;
}

/** Whether nobody here wants it to stay for a while. */
const isUnwanted = ({ session }: LiveTurn, { isRecovery, wasVisited }: OpenedTurn): boolean =>
  isRecovery === true || wasVisited === true || session.queue.door !== "open" || session.isResting;

/** Whether it can be given up now. An operation may have come instead of quiet. */
export const isLeft = (live: LiveTurn, opened: OpenedTurn): boolean =>
  opened.visit === undefined && !live.session.queue.hasOperations && mayPark(live, opened);

/** A pause between two attempts is not worth it; and where the clock was set back, only this process knows its length. */
const SLEEP_MS = 30_000;

/** What wakes as soon as this is not given up, however long a turn may stay here. */
const SOON_MS = 1_000;

function mayPark(live: LiveTurn, opened: OpenedTurn): boolean {
  const { core, state } = live;
  const { parkAfterMs } = core.limits;
  const isToGo = isUnwanted(live, opened);
  const soonMs = isToGo ? Math.min(parkAfterMs, SOON_MS) : parkAfterMs;
  if (!core.host.parks || wakesAt(state) - core.world.now() <= soonMs) return false;
  if (state.open.some((effect) => effect.kind === "sleep" && effect.until - effect.at <= SLEEP_MS)) return false;
  return isToGo || !waitedTurns(state).some(({ sessionId, turnId }) => core.sessions.find(sessionId)?.now === turnId); // K3
}

const waitedTurns = ({ open }: TurnState) =>
  open.flatMap((effect) => (effect.kind === "wait" && effect.about.kind === "turns" ? effect.about.turns : []));

/** Parks the turn; false when something came first, which is folded where the turn goes on here. */
export async function parkTurn(live: LiveTurn, goesOn = true): Promise<boolean> {
  const { run, state, turnId, session, core } = live;
  await live.show.publisher?.finish();
  live.show.publisher = undefined; // Where something came first, the next mail begins another.
  const cancel = state.winding?.cancel?.requestId;
  const answer = await run.park({
    turnId,
    wakeAt: wakesAt(state),
    waits: state.open.flatMap((effect) => (effect.kind === "wait" ? [effect.key] : [])),
    ...(cancel === undefined ? {} : { cancel }),
  });
  if ("reopen" in answer) {
    if (goesOn) for (const event of answer.reopen) live.fold(event);
    return false;
  }
  session.running = undefined;
  live.show.unpublish();
  session.parked = turnId;
  session.kept.shed();
  core.watch.parked(live);
  live.trace("turn.parked", { wakeAt: wakesAt(state) });
  return true;
}
