import { RuntimeError } from "../model/errors.ts";
import type { EndedTurn } from "../stores/store.ts";
import { itemsOf } from "../turn/log.ts";
import type { LiveTurn } from "./live.ts";

/** What one turn comes to: all that its commit keeps, in one piece. */
export function endedTurn(live: LiveTurn): EndedTurn {
  const { state, session } = live;
  if (state.phase.kind !== "ended")
    throw new RuntimeError("turn.diverged", { effect: "the end", kind: state.phase.kind });
  live.transcript().requirePaired();
  const { head } = session.stored;
  const cancel = state.winding?.cancel;
  return {
    turnId: live.turnId,
    at: live.core.world.now(),
    outcome: state.phase.outcome,
    entries: itemsOf(state.log),
    plugins: live.states.snapshots(state.changes),
    usage: state.usage,
    inputs: state.inputs,
    ...(head === undefined ? {} : { base: head }),
    ...(cancel === undefined ? {} : { cancel: cancel.requestId }),
  };
}
