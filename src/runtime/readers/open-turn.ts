// An open turn, as `session.read()` shows it.
import type { EffectName } from "../../model/ids.ts";
import type { Entry } from "../../model/node.ts";
import type { OpenCall, OpenTurn } from "../../model/view.ts";
import { name } from "../../turn/effect.ts";
import { itemsOf } from "../../turn/log.ts";
import type { CallState, TurnState } from "../../turn/state.ts";

/** The turn in this state. */
export function openTurnIn(state: TurnState): OpenTurn {
  const { phase, turnId, log } = state;
  const work = phase.kind === "working" ? phase.work : undefined;
  const settles = state.skips.settle !== true; // Without settling no hook can change a result.
  const calls = (work?.calls ?? []).map((call) => openCall(name(`${work?.prefix}.call.${call.at}`), call, settles));
  return { id: turnId, messages: messagesIn(itemsOf(log)), calls };
}

export const messagesIn = (entries: readonly Entry[]): OpenTurn["messages"] =>
  entries.flatMap((entry) => (entry.kind === "message" ? [entry.message] : []));

function openCall(effect: EffectName, { call, stage, output }: CallState, settles: boolean): OpenCall {
  const isEnded = stage === "settled" || (stage === "returned" && !settles);
  if (isEnded && output !== undefined) return { effect, call, state: "ended", output };
  return { effect, call, state: stage === "returned" ? "returned" : "running" };
}
