// Ends a turn that the loop could not end. Loaded only then.
import { describe, hasCode, RuntimeError } from "../../model/errors.ts";
import { nodeId } from "../../model/ids.ts";
import { describeThrown } from "../../model/json.ts";
import type { Entry } from "../../model/node.ts";
import { hasOpenCalls, pairingProblem } from "../../model/pairing.ts";
import { TEXTS } from "../../model/texts.ts";
import type { EndedTurn } from "../../stores/store.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { itemsOf } from "../../turn/log.ts";
import { codeForgotten, modelText } from "../../turn/move.ts";
import { salvage } from "../../turn/salvage.ts";
import { whole } from "./ended.ts";
import type { LiveTurn } from "./turn.ts";

/** Ends the turn as `failed` with its complete part, because the turn must not block the session. */
export function salvagedTurn(
  live: LiveTurn,
  error: unknown,
  cancel: string | undefined,
  /** The journal, if the present machine cannot follow it. */
  journal: readonly TurnEvent[] | undefined,
): EndedTurn {
  const recorded = journal === undefined ? undefined : salvage(live.opened, journal, whyInterrupted(error));
  const recordedEntries = recorded?.entries ?? wholePart(itemsOf(live.state.log));
  const entries = isCodeForgotten(live, journal)
    ? [...recordedEntries, codeForgottenAt(live, recordedEntries.length)]
    : recordedEntries;
  const code = error instanceof RuntimeError ? error.code : "protocol.failed";
  const reason =
    error instanceof RuntimeError
      ? error.message
      : describe("protocol.failed", { protocol: live.driver.id, problem: describeThrown(error) }).message;
  const outcome = { kind: "failed", by: "runtime", code, reason, text: modelText(entries) } as const;
  return whole(live, entries, outcome, cancel, recorded);
}

/** Whether cells ran whose state is not among the plugin states that the turn changed. */
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

/** The longest first part of the log in which every call has its result. */
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
