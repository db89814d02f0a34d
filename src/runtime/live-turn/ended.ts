import { RuntimeError } from "../../model/errors.ts";
import type { Entry } from "../../model/node.ts";
import type { TurnOutcome } from "../../model/outcome.ts";
import { addUsage, type Spent, totalOf, type Usage } from "../../model/usage.ts";
import type { EndedTurn } from "../../stores/store.ts";
import { itemsOf } from "../../turn/log.ts";
import type { Salvaged } from "../../turn/salvage.ts";
import { partsOf } from "../services/graph.ts";
import { authorityOf } from "../services/reading.ts";
import type { LiveTurn } from "./turn.ts";

/** Everything that the commit of a turn stores. */
export function endedTurn(live: LiveTurn): EndedTurn {
  const { phase, log } = live.state;
  if (phase.kind !== "ended") throw new RuntimeError("turn.diverged", { effect: "the end", kind: phase.kind });
  live.transcript().requirePaired();
  return whole(live, itemsOf(log), phase.outcome, live.state.winding?.cancel?.requestId);
}

const isNone = (usage: Usage): boolean => {
  for (const bucket in usage) if (usage[bucket as keyof Usage] !== 0) return false;
  return true;
};

/** The rows that the turn adds to the ledger. Turns of subagents have their own source, so that sums can tell them. */
function ledgerOf({ opened, session }: LiveTurn, { usage, asks, spent }: Omit<Salvaged, "entries">): readonly Spent[] {
  const own = { source: "turn", model: opened.config.model, usage, calls: asks };
  const rows = asks === 0 && isNone(usage) ? spent : [own, ...spent];
  const { subagent } = authorityOf(session.kept.stored); // Not by the parent: a fork of a subagent's session has none.
  if (subagent === undefined) return rows;
  const source = `subagent/${subagent.capability}`;
  return rows.map((row) => (row.source === "turn" ? { ...row, source } : row));
}

/** What is kept for repeats of named appends, and of operations that ran while the turn waited. */
function partsIn(
  turnId: string,
  { placed = [], applied = [] }: Pick<Salvaged, "placed" | "applied">,
): Pick<EndedTurn, "parts"> {
  return { parts: [...partsOf(turnId, placed), ...applied] };
}

/** What the commit stores of a turn with these entries and this outcome. */
export function whole(
  live: LiveTurn,
  entries: readonly Entry[],
  outcome: TurnOutcome,
  cancel: string | undefined,
  state: Omit<Salvaged, "entries"> = live.state,
): EndedTurn {
  const { head } = live.session.kept.stored;
  return {
    turnId: live.turnId,
    at: live.core.world.now(),
    outcome,
    entries,
    plugins: live.states.snapshots(state.changes),
    usage: state.spent.length === 0 ? state.usage : addUsage(state.usage, totalOf(state.spent)),
    spent: ledgerOf(live, state),
    inputs: state.inputs,
    ...(head === undefined ? {} : { base: head }),
    ...(cancel === undefined ? {} : { cancel }),
    ...(state.placed === undefined && state.applied === undefined ? {} : partsIn(live.turnId, state)),
    ...(state.config === undefined ? {} : { config: state.config }),
  };
}
