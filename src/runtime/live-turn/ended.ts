import { RuntimeError } from "../../model/errors.ts";
import { ownJson } from "../../model/json.ts";
import type { Entry } from "../../model/node.ts";
import type { TurnOutcome } from "../../model/outcome.ts";
import { addUsage, type Spent, totalOf, type Usage } from "../../model/usage.ts";
import type { EndedTurn, PluginSnapshots } from "../../stores/store.ts";
import { itemsOf } from "../../turn/log.ts";
import type { Salvaged } from "../../turn/salvage.ts";
import { partsOf } from "../services/graph.ts";
import { LATEST, type LatestUsage, permissionsOf } from "../services/reading.ts";
import { recordOf } from "./record.ts";
import type { LiveTurn } from "./turn.ts";

/** Everything that the commit of a turn stores. */
export function endedTurn(live: LiveTurn): EndedTurn {
  const { phase, log } = live.state;
  if (phase.kind !== "ended") throw new RuntimeError("turn.diverged", { effect: "the end", kind: phase.kind });
  live.conversation.transcript.requirePaired();
  return whole(live, itemsOf(log), phase.outcome, live.state.winding?.cancel?.requestId);
}

const isNone = (usage: Usage): boolean => {
  for (const bucket in usage) if (usage[bucket as keyof Usage] !== 0) return false;
  return true;
};

/** The rows that the turn adds to the ledger. Turns of subagents have a separate source, so that sums can separate them. */
function ledgerOf({ opened, session }: LiveTurn, { usage, asks, spent }: Omit<Salvaged, "entries">): readonly Spent[] {
  const own = { source: "turn", model: opened.config.model, usage, calls: asks };
  const rows = asks === 0 && isNone(usage) ? spent : [own, ...spent];
  // Tests the permission and not the parent, because a fork of a subagent's session has no parent.
  const { subagent } = permissionsOf(session.snapshot.stored);
  if (subagent === undefined) return rows;
  const source = `subagent/${subagent.capability}`;
  return rows.map((row) => (row.source === "turn" ? { ...row, source } : row));
}

/** The records for repeats of named appends, and of operations that ran while the turn waited. */
function partsIn(
  turnId: string,
  { placed = [], applied = [] }: Pick<Salvaged, "placed" | "applied">,
): Pick<EndedTurn, "parts"> {
  return { parts: [...partsOf(turnId, placed), ...applied] };
}

const withLatest = (latest: LatestUsage, plugins: PluginSnapshots): PluginSnapshots => ({
  ...plugins,
  [LATEST]: { version: "1", revision: (plugins[LATEST]?.revision ?? 0) + 1, state: ownJson(latest) },
});

/** The data of a turn with these entries and this outcome, for the commit. */
export function whole(
  live: LiveTurn,
  entries: readonly Entry[],
  outcome: TurnOutcome,
  cancel: string | undefined,
  state: Omit<Salvaged, "entries"> = live.state,
): EndedTurn {
  const { latest, session } = live;
  const { snapshot, composition } = session;
  const { head } = snapshot.stored;
  const plugins = live.states.snapshots(state.changes);
  // Stored even if only a removed plugin read it, because it would be out of date for a later plugin.
  const spent = ledgerOf(live, state);
  const keepsUsage = composition.readsUsage || plugins[LATEST] !== undefined;
  return {
    turnId: live.turnId,
    at: live.core.world.now(),
    outcome,
    entries,
    plugins: keepsUsage && latest !== undefined && state.asks > 0 ? withLatest(latest, plugins) : plugins,
    usage: state.spent.length === 0 ? state.usage : addUsage(state.usage, totalOf(state.spent)),
    spent,
    inputs: state.inputs,
    ...(head === undefined ? {} : { base: head }),
    ...(cancel === undefined ? {} : { cancel }),
    ...(state.placed === undefined && state.applied === undefined ? {} : partsIn(live.turnId, state)),
    ...(state.config === undefined ? {} : { config: state.config }),
    ...recordOf(live, spent),
  };
}
