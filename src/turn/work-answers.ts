// What happens to calls when an effect has answered: verdicts of the gate, results, retries, waits and settling.
// `work.ts` decides which effects open next. The rules work-1 to work-4 are there.
import type { WaitKey } from "../model/ids.ts";
import { TEXTS } from "../model/texts.ts";
import { projectOutput, type ToolOutput } from "../model/tool.ts";
import type { WaitAnswer } from "../model/wait.ts";
import { answered, askAbout, asking, awaited, delivered, NO_TRAIL, saidIn } from "./asked.ts";
import { deliverNext, sleepOf } from "./cell.ts";
import type { Decision, PlacedResult } from "./driver.ts";
import { type Effect, type EffectOf, name, type PlacedCall } from "./effect.ts";
import type { Answer, Settlement, Verdict } from "./event.ts";
import { failed, type Move } from "./move.ts";
import { retryDelay } from "./retry.ts";
import type { CallState, TurnState, Work } from "./state.ts";
import { change, indexOf, NEVER_RAN, NOTHING, positionOf, wait } from "./work.ts";

export function onGated(move: Move, given: Work, gated: readonly PlacedCall[], verdicts: readonly Verdict[]): Work {
  const byPlace = new Map(gated.map(({ at }, index) => [at, verdicts[index]] as const));
  const hasTrail = verdicts.some(
    (verdict) => verdict?.kind === "wait" || (verdict?.kind === "pass" && "input" in verdict),
  );
  return {
    ...given,
    ...(hasTrail ? { hasTrail } : NOTHING),
    calls: given.calls.map((state) => {
      if (!byPlace.has(state.at) || state.stage !== "new") return state;
      const verdict = byPlace.get(state.at) ?? { kind: "settled", output: NEVER_RAN };
      if (verdict.kind === "settled") return { ...state, stage: "returned", output: verdict.output };
      const call = verdict.input === undefined ? state.call : { ...state.call, input: verdict.input };
      const more = {
        ...(verdict.policy === undefined ? NOTHING : { policy: verdict.policy }),
        ...(verdict.input === undefined ? NOTHING : { isReplaced: true as const }),
      };
      if (verdict.kind === "pass") return { ...state, call, stage: "queued", ...more };
      const asks = askAbout("approval", call, verdict.reason ?? "", verdict.schema);
      wait(move, given, state, undefined, verdict, asks);
      return { ...state, call, stage: "approval", ...more, ...asking(move.at, state, asks, verdict.plugin) };
    }),
  };
}

/** Ends every call that has not started, because the turn was cancelled or the gate failed. */
export const cancelCalls = (work: Work, reason: string): Work => ({
  ...work,
  calls: work.calls.map((state) =>
    state.stage === "open" || state.stage === "returned" || state.stage === "settled"
      ? state
      : { ...state, stage: "returned", output: state.output ?? { kind: "cancelled", reason } },
  ),
});

/**
 * Ends calls that still run after the grace period. They may have taken effect, so they are unknown (work-4).
 */
export const abandonCalls = (work: Work, reason: string): Work => ({
  ...work,
  calls: work.calls.map((state) =>
    state.stage === "open" ? { ...state, stage: "returned", output: { kind: "unknown", reason } } : state,
  ),
});

export function onReturned(move: Move, work: Work, effect: EffectOf<"call">, output: ToolOutput): Work {
  const state = work.calls[indexOf(work, effect.at)];
  if (state === undefined) return work;
  const wait = move.state.winding === undefined ? retryDelay(state, output) : undefined;
  if (wait === undefined && work.cell === undefined) {
    const calls = move.ownCalls(work.calls);
    const ms = move.at - (state.startedAt ?? move.at);
    calls[indexOf(work, effect.at)] = { ...state, stage: "returned", output, ms };
    return { ...work, calls };
  }
  if (wait === undefined) {
    const next = returned(work, state, output, move.at);
    return isPlainInCell(move, state) ? onSettled(next, [effect], NO_SETTLEMENT) : next;
  }
  move.open({ name: name(`${effect.position}.b${state.attempt}`), kind: "sleep", at: move.at, until: move.at + wait });
  return change(work, effect.at, { stage: "backoff" });
}

/** Returns whether the code can receive this result unchanged: no hook must see it, and no policy applies. */
const isPlainInCell = ({ state: { skips, winding } }: Move, { policy, asked }: CallState): boolean =>
  skips.settle === true && skips.gate === true && winding === undefined && policy === undefined && asked === undefined;
const NO_SETTLEMENT: readonly Settlement[] = [null];

function returned(work: Work, state: CallState, output: ToolOutput, now: number): Work {
  const patch = { stage: "returned", output, ...tookUntil(state, now) } as const;
  const { cell } = work;
  if (cell === undefined) return change(work, state.at, { ...state, ...patch });
  const returnedAs = cell.returns + 1;
  return change({ ...work, cell: { ...cell, returns: returnedAs } }, state.at, { ...state, ...patch, returnedAs });
}

const tookUntil = ({ startedAt }: CallState, now: number): { readonly ms?: number } =>
  startedAt === undefined ? NOTHING : { ms: Math.max(0, now - startedAt) };

/** Returns whether the retry policy makes a call with this result again. */
export function isTriedAgain({ phase, winding }: TurnState, { at }: PlacedCall, output: ToolOutput): boolean {
  const call =
    phase.kind === "working" && winding === undefined ? phase.work.calls[indexOf(phase.work, at)] : undefined;
  return call !== undefined && retryDelay(call, output) !== undefined;
}

/** Wakes a call: its backoff has passed, an answer arrived, or the turns that it waits for have ended. */
export function onWoken(move: Move, work: Work, effect: Effect, answer: WaitAnswer = REVOKED): Work {
  const { at: now } = move;
  const sleep = sleepOf(work, effect);
  if (sleep !== undefined) return deliverNext(work, { at: sleep });
  const found = work.calls.find((call) => isAsleep(call) && isOf(effect, positionOf(work, call.at)));
  if (found === undefined) return work;
  if (found.stage === "backoff") return change(work, found.at, { stage: "queued", attempt: found.attempt + 1 });
  if (effect.kind === "wait" && effect.about.kind === "turns") return callAgain(work, found);
  const state = { ...found, ...answered(now, found, answer) };
  if (answer.kind !== "value") {
    const reason = answer.kind === "revoked" ? TEXTS.revoked : TEXTS.unanswered;
    const output = state.stage === "approval" ? (state.output ?? denied(state, reason)) : missing(state, answer);
    return returned(work, state, output, now);
  }
  if (state.stage === "deferred") return returned(work, state, delivered(answer.value), now);
  const { approved, reason, args } = saidIn(answer.value);
  if (approved !== true) {
    const why = typeof reason === "string" ? reason : TEXTS.notApproved;
    return returned(work, state, state.output ?? denied(state, why), now);
  }
  if (args === undefined) return change(work, state.at, { ...state, stage: "queued" });
  const edited = { ...state, call: { ...state.call, input: args }, isReplaced: true as const };
  // In a turn of an earlier version no gate sees edited arguments. They are checked when the call is made.
  if (move.state.version < 3) return change(work, state.at, { ...edited, stage: "queued" });
  return change(work, state.at, { ...edited, stage: "new", isApproved: true });
}
const REVOKED: WaitAnswer = { kind: "revoked" };

/** Returns the output of a call that never got its result. */
function missing({ asked = NO_TRAIL }: CallState, { kind }: WaitAnswer): ToolOutput {
  if (asked.at(-1)?.kind !== "question") return { kind: "unknown", reason: TEXTS.pending };
  return { kind: "unknown", reason: kind === "revoked" ? TEXTS.withdrawn : TEXTS.noAnswer };
}

/** Makes the call again, so that it reads the results of the turns. */
function callAgain(work: Work, { at, attempt, goesOn = 0, ...state }: CallState): Work {
  const { output: _, ...call } = state;
  const index = indexOf(work, at);
  const next: CallState = { ...call, at, stage: "queued", attempt: attempt + 1, goesOn: goesOn + 1 };
  return { ...work, calls: work.calls.with(index, next) };
}

/** `r1.call.0.w`, `.w1`, `.w.1` and `.b1` belong to `r1.call.0`; `r1.call.0.3.w` belongs to a call inside it. */
const isOf = (effect: Effect, position: string): boolean =>
  effect.name.startsWith(position) && /^\.[wb]\d*(\.\d+)?$/.test(effect.name.slice(position.length));
const isAsleep = (call: CallState): boolean =>
  call.stage === "backoff" || call.stage === "approval" || call.stage === "deferred";

const denied = ({ call }: CallState, reason: string): ToolOutput => ({
  kind: "failure",
  failure: { class: "denied", code: "tool.denied", message: TEXTS.denied(call.name, reason) },
});

export function onDeferred(
  move: Move,
  work: Work,
  { at, attempt }: EffectOf<"call">,
  event: Extract<Answer, { readonly kind: "deferred" }>,
): Work {
  const state = work.calls[indexOf(work, at)];
  if (state === undefined) return work;
  const asks = event.on ?? awaited(state.call, event.question, event.schema);
  wait(move, work, state, attempt, event, asks);
  return change({ ...work, hasTrail: true }, at, {
    stage: "deferred",
    output:
      event.ifStopped === undefined
        ? { kind: "unknown", reason: TEXTS.pending }
        : { kind: "failure", failure: event.ifStopped },
    ...(asks.kind === "turns" ? NOTHING : asking(move.at, state, asks)),
  });
}

/** Handles a call that was running at a crash and must not be repeated automatically: ends it, or asks about it. */
export function onInterrupted(
  move: Move,
  work: Work,
  effect: EffectOf<"call">,
  asked: { readonly key: WaitKey; readonly until: number } | undefined,
): Work {
  const state = work.calls[indexOf(work, effect.at)];
  if (state === undefined) return work;
  const output: ToolOutput = { kind: "unknown", reason: TEXTS.interrupted(effect.call.name) };
  if (asked === undefined) return returned(work, state, output, move.at);
  const asks = askAbout("interrupted", state.call, output.reason);
  wait(move, work, state, effect.attempt, asked, asks);
  // If approved, it runs as another attempt. If not, it stays unknown.
  const next = { stage: "approval", attempt: effect.attempt + 1, output } as const;
  return change({ ...work, hasTrail: true }, effect.at, { ...next, ...asking(move.at, state, asks) });
}

export function onSettled(work: Work, settled: readonly PlacedCall[], settlements: readonly Settlement[]): Work {
  const calls = work.calls.slice();
  let next: Work = { ...work, calls };
  for (const [place, { at }] of settled.entries()) {
    const index = indexOf(work, at);
    const call = calls[index];
    if (call === undefined) continue;
    const settlement = settlements[place];
    const output = settlement?.output ?? call.output ?? NEVER_RAN;
    calls[index] = { ...call, stage: "settled", output, parts: settlement?.parts ?? projectOutput(output) };
    next = deliverNext(next, { at, output });
  }
  return next;
}

/** Replaces results that the after-hooks never saw, because a hook may have had to redact them. */
export const withhold = (work: Work, reason: string): Work => ({
  ...work,
  calls: work.calls.map((call) => {
    if (call.stage === "settled" || isUntried(call)) return call;
    const output: ToolOutput = { kind: "unknown", reason };
    return { ...call, stage: "settled", output, parts: projectOutput(output) };
  }),
});

/** Returns whether the call never started, so that nothing about it is unknown. */
const isUntried = ({ stage, attempt, output }: CallState): boolean =>
  output === undefined
    ? attempt === 1 && (stage === "new" || stage === "queued" || stage === "approval")
    : output.kind === "cancelled";

export const resultsOf = (work: Work): readonly PlacedResult[] =>
  work.calls.map(({ at, call, output, parts }) => {
    const sure = output ?? NEVER_RAN;
    return { at, call, output: sure, parts: parts ?? projectOutput(sure) };
  });

/** A tool's decision about the turn has priority over the protocol's. The first in call order wins. */
export function withControl(results: readonly PlacedResult[], decision: Decision, isProgress: boolean): Decision {
  for (const { output, call } of results) {
    const control = output.kind === "value" || output.kind === "failure" ? output.control : undefined;
    if (control === undefined) continue;
    const keep = memoAndAdd(decision);
    if (control.kind === "fail")
      return { ...keep, kind: "end", ending: failed("tool", control.code, `${call.name}: ${control.message}`) };
    if (control.kind === "switchFrame")
      return {
        ...keep,
        kind: "switchFrame",
        task: control.task,
        ...(control.seed === undefined ? {} : { seed: control.seed }),
      };
    return { ...keep, kind: "finish", value: control.value, by: control.by };
  }
  return decision.kind === "ask" && !isProgress ? { ...memoAndAdd(decision), kind: "retry" } : decision;
}

const memoAndAdd = ({ memo, add }: Decision): Pick<Decision, "memo" | "add"> => ({
  ...(memo === undefined ? {} : { memo }),
  ...(add === undefined ? {} : { add }),
});
