import { describe, hasCode, RuntimeError } from "../../model/errors.ts";
import { nodeId } from "../../model/ids.ts";
import { describeThrown } from "../../model/json.ts";
import type { Entry } from "../../model/node.ts";
import type { TurnOutcome } from "../../model/outcome.ts";
import { hasOpenCalls, pairingProblem } from "../../model/pairing.ts";
import { TEXTS } from "../../model/texts.ts";
import { addUsage, type Spent, totalOf, type Usage } from "../../model/usage.ts";
import type { EndedTurn } from "../../stores/store.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { itemsOf } from "../../turn/log.ts";
import { codeForgotten, said } from "../../turn/move.ts";
import { type Salvaged, salvage } from "../../turn/salvage.ts";
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

/** Ends a turn that cannot go on as `failed`, with what is whole of it: the session must not be stuck behind it. */
export function salvagedTurn(
  live: LiveTurn,
  error: unknown,
  cancel: string | undefined,
  /** Where today's machine cannot follow it. */
  journal: readonly TurnEvent[] | undefined,
): EndedTurn {
  const recorded = journal === undefined ? undefined : salvage(live.opened, journal, whyInterrupted(error));
  const kept = recorded?.entries ?? wholePart(itemsOf(live.state.log));
  const entries = isCodeForgotten(live, journal) ? [...kept, codeForgottenAt(live, kept.length)] : kept;
  const code = error instanceof RuntimeError ? error.code : "protocol.failed";
  const reason =
    error instanceof RuntimeError
      ? error.message
      : describe("protocol.failed", { protocol: live.driver.id, problem: describeThrown(error) }).message;
  const outcome = { kind: "failed", by: "runtime", code, reason, text: said(entries) } as const;
  return whole(live, entries, outcome, cancel, recorded);
}

/** Whether cells ran, and what they kept is not among the states that the turn has changed. */
function isCodeForgotten({ state }: LiveTurn, journal: readonly TurnEvent[] | undefined): boolean {
  if (journal === undefined) return state.code !== undefined && state.phase.kind !== "ended";
  const hasRun = journal.some(({ kind }) => kind === "called" || kind === "executed");
  return hasRun && !journal.some(({ kind }) => kind === "finalized");
}

const codeForgottenAt = ({ turnId, core }: LiveTurn, index: number): Entry => ({
  at: core.world.now(),
  kind: "message",
  message: { id: nodeId(turnId, index), ...codeForgotten },
});

const whyInterrupted = (error: unknown): string => (hasCode(error, "turn.expired") ? TEXTS.expired : TEXTS.upgraded);

/** The longest beginning in which every call has its result. */
function wholePart(entries: readonly Entry[]): readonly Entry[] {
  let whole = 0;
  let before: Extract<Entry, { kind: "message" }>["message"] | undefined;
  for (const [index, entry] of entries.entries()) {
    if (entry.kind === "message") {
      if (pairingProblem(before, entry.message) !== undefined) break;
      before = entry.message;
    } else if (entry.kind === "frame") before = undefined;
    if (!hasOpenCalls(before)) whole = index + 1;
  }
  return entries.slice(0, whole);
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

function whole(
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
