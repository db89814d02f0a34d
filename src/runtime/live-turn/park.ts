// Parks a turn that only waits or sleeps: when it parks, and which of its data stays here.
// park-1 A turn parks only if the store has no mail for it. The store decides in the write that releases the lease.
// park-2 Its previews stay here while it has readers or iterating handles, so that the next run continues them.
// park-3 A parent's turn stays while a turn that it waits for runs here, because it shows the child's previews. It
//        parks if an operation, a delete or the end of the runtime needs it to leave.
import { type TurnState, wakesAt } from "../../turn/state.ts";
import type { OpenedTurn } from "./run.ts";
import type { LiveTurn } from "./turn.ts";

/** How long the turn stays after it only waits. `Infinity` if it must not park. */
export function quietMs(live: LiveTurn, opened: OpenedTurn): number {
  if (live.session.queue.hasOperations) return 0; // An operation came after `operateIn` looked for one.
  if (!mayPark(live, opened)) return Infinity;
  return isUnwanted(live, opened) ? 0 : live.core.limits.parkAfterMs;
}

/** Whether the turn must leave at once. */
const isUnwanted = ({ session }: LiveTurn, { isRecovery, wasVisited }: OpenedTurn): boolean =>
  isRecovery === true || wasVisited === true || session.queue.door !== "open" || session.parksAtOnce;

/** Whether the turn can park now. The host can also return because of an operation. */
export const isLeft = (live: LiveTurn, opened: OpenedTurn): boolean =>
  opened.visit === undefined && !live.session.queue.hasOperations && mayPark(live, opened);

/** A pause between two attempts is too short to park. If the clock was set back, only this process has its length. */
const SLEEP_MS = 30_000;

/** A turn that wakes within this time does not park, even if it must leave. */
const SOON_MS = 1_000;

function mayPark(live: LiveTurn, opened: OpenedTurn): boolean {
  const { core, state } = live;
  const { parkAfterMs } = core.limits;
  const isToGo = isUnwanted(live, opened);
  const soonMs = isToGo ? Math.min(parkAfterMs, SOON_MS) : parkAfterMs;
  if (!core.host.parks || wakesAt(state) - core.world.now() <= soonMs) return false;
  if (state.open.some((effect) => effect.kind === "sleep" && effect.until - effect.at <= SLEEP_MS)) return false;
  return isToGo || !waitedTurns(state).some(({ sessionId, turnId }) => core.sessions.find(sessionId)?.now === turnId); // park-3
}

const waitedTurns = ({ open }: TurnState) =>
  open.flatMap((effect) => (effect.kind === "wait" && effect.about.kind === "turns" ? effect.about.turns : []));

/** Parks the turn. Returns false if mail came first. The mail is folded if the turn continues here. */
export async function parkTurn(live: LiveTurn, goesOn = true): Promise<boolean> {
  const { run, state, turnId, session } = live;
  await live.show.publisher?.finish();
  live.show.publisher = undefined; // If mail came first, the next mail starts a new publisher.
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
  live.telemetry?.parked();
  session.released({ kind: "parked", live });
  return true;
}
