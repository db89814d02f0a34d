// The calls of one round or code cell, from the model's request to a settled result: gate, attempts, waits, settling.
// Opens effects through `Move` and returns the changed `Work`. `step.ts` decides what the turn does with the results, and
// `tools/dispatch.ts` runs tools.
// work-1: A reply's calls are gated together and settled together. A cell's calls are gated as they come, settled one by
// one in order of return, and delivered one by one in the order in which they were settled.
// work-2: At most `parallelCallsMax` calls are open or wait for turns of other sessions. Calls that are serial or write
// plugin state run alone.
// work-3: Never two open effects that may write plugin state: a gate, a settling, a segment of a cell, a call that
// `writes`.
// work-4: Every call ends with an output. One that may have run without a known result is `unknown`, never `cancelled`.
import type { EffectName, WaitKey } from "../model/ids.ts";
import { TEXTS } from "../model/texts.ts";
import { OUTPUT_TOOL, projectOutput, type ToolOutput } from "../model/tool.ts";
import type { WaitAbout, WaitAnswer, WaitedTurns } from "../model/wait.ts";
import { answered, askAbout, asking, awaited, delivered, NO_TRAIL, saidIn } from "./asked.ts";
import { deliverNext, nextSegment, sleepOf, waitFor } from "./cell.ts";
import type { Decision, PlacedResult } from "./driver.ts";
import { type Effect, type EffectOf, name, type PlacedCall } from "./effect.ts";
import type { Answer, Settlement, Verdict } from "./event.ts";
import { failed, type Move } from "./move.ts";
import { retryDelay } from "./retry.ts";
import { type CallState, type CellWork, isLastRound, type TurnState, type Work } from "./state.ts";

/**
 * Plans calls of a reply, or of a cell that has already made `from` calls. Calls beyond the limit, and calls other than
 * `only`, get their result at once.
 */
export function planCalls(move: Move, calls: readonly PlacedCall[], from: number, only?: string): readonly CallState[] {
  const { limits, skips, policies } = move.state;
  const max = limits.callsPerRoundMax;
  const plan = (placed: PlacedCall, index: number): CallState => {
    if (from + index >= max && placed.call.name !== OUTPUT_TOOL) return refused(placed, max);
    if (only !== undefined && placed.call.name !== only)
      return { ...placed, stage: "returned", attempt: 1, output: NO_ROUND };
    if (skips.gate !== true) return fresh(placed);
    const policy = Object.hasOwn(policies, placed.call.name) ? policies[placed.call.name] : undefined;
    const { at, call } = placed;
    return policy === undefined
      ? { at, call, stage: "queued", attempt: 1 }
      : { at, call, stage: "queued", attempt: 1, policy };
  };
  return calls.map(plan);
}

/**
 * Adds the calls and sleeps that the code waits for. Returns undefined if their positions are wrong. Calls of a
 * cancelled turn end as cancelled (`go`).
 */
export function onCalled(
  move: Move,
  work: Work,
  event: Extract<Answer, { readonly kind: "called" }>,
): Work | undefined {
  const next = waitFor(move, work, event);
  const { calls } = event;
  if (next === undefined || calls.length === 0) return next;
  const only = move.state.keepsAnswer === true && isLastRound(move.state) ? OUTPUT_TOOL : undefined;
  return { ...next, calls: [...work.calls, ...planCalls(move, calls, work.calls.length, only)] };
}

const NO_ROUND: ToolOutput = { kind: "cancelled", reason: TEXTS.lastRound };
const fresh = (placed: PlacedCall): CallState => ({ ...placed, stage: "new", attempt: 1 });
const refused = (placed: PlacedCall, max: number): CallState => ({
  ...placed,
  stage: "returned",
  attempt: 1,
  output: {
    kind: "failure",
    failure: { class: "limit", code: "tool.too-many", message: TEXTS.tooManyCalls(max) },
  },
});

const positionOf = (work: Work, at: string): EffectName => name(`${work.prefix}.call.${at}`);

/** Releases what may run now: parallel calls first, up to the limit; then serial ones, alone (work-2, work-3). */
export function pump(move: Move, work: Work): Work {
  if (work.cell !== undefined) return release(move, pumpCell(move, work, work.cell), 0);
  const { calls } = work;
  let isNew = false;
  let isDone = true;
  let queued = -1;
  for (let index = 0; index < calls.length; index++) {
    const stage = calls[index]?.stage;
    if (stage === "returned") continue;
    isDone = false;
    if (stage === "new") isNew = true;
    else if (stage === "queued" && queued < 0) queued = index;
  }
  // A call that was approved with other arguments is gated again when no other effect writes plugin state (work-3).
  const gated = isNew && isSerialFree(move) ? gate(move, work) : work;
  if (!isDone) return queued < 0 ? gated : release(move, gated, queued);
  if (work.gates > 1 && !isSerialFree(move)) return work; // The turn was cancelled while a call was gated again.
  if (isPlain(move, work)) return { ...work, calls: work.calls.map(plainlySettled) };
  return settle(move, work, work.calls, `${work.prefix}.settle`);
}

/**
 * Returns whether the results can be used unchanged: every call was made, no policy applies, and no hook must see them.
 */
function isPlain({ state: { skips, winding, limits } }: Move, { calls, hasTrail }: Work): boolean {
  if (skips.settle !== true || skips.gate !== true || winding !== undefined || hasTrail === true) return false;
  return calls.length <= limits.callsPerRoundMax && calls.every((call) => call.policy === undefined);
}
function plainlySettled({ at, call, attempt, output = NEVER_RAN, asked, ms }: CallState): CallState {
  const took = ms === undefined ? NOTHING : { ms };
  const settled = { at, call, stage: "settled", attempt, output, parts: projectOutput(output), ...took } as const;
  return asked === undefined ? settled : { ...settled, asked };
}

export const isSettledAtOnce = ({ cell, calls }: Work): boolean => cell === undefined && calls[0]?.stage === "settled";

/**
 * Settles a cell's calls before it gates new ones, and runs its code when both are done, one at a time (work-1,
 * work-3).
 */
function pumpCell(move: Move, work: Work, cell: CellWork): Work {
  if (!isSerialFree(move)) return work;
  let ready: CallState | undefined;
  let isNew = false;
  for (const call of work.calls) {
    if (call.stage === "new") isNew = true;
    if (call.stage !== "returned") continue;
    if (ready === undefined || (call.returnedAs ?? 0) < (ready.returnedAs ?? 0)) ready = call;
  }
  if (ready !== undefined) return settle(move, work, [ready], `${work.prefix}.settle.${ready.at}`);
  if (isNew) return gate(move, work);
  return nextSegment(move, work, cell);
}

const isSerialFree = (move: Move): boolean =>
  !move.state.open.some(
    (effect) =>
      effect.kind === "gate" ||
      effect.kind === "settle" ||
      effect.kind === "exec" ||
      (effect.kind === "call" && effect.writes === true),
  );

function gate(move: Move, work: Work): Work {
  const calls = work.calls
    .filter((call) => call.stage === "new")
    .map(({ at, call, isApproved }) => (isApproved === true ? { at, call, isApproved } : { at, call }));
  const isFirst = work.cell === undefined && work.gates === 0;
  const gateName = isFirst ? `${work.prefix}.gate` : `${work.prefix}.gate.${work.gates}`;
  move.open({ name: name(gateName), kind: "gate", calls });
  return { ...work, gates: work.gates + 1 };
}

function settle(move: Move, work: Work, calls: readonly CallState[], settleName: string): Work {
  const results = calls.map(({ at, call, output = NEVER_RAN, ms, asked }) => ({
    at,
    call,
    output,
    ...(ms === undefined ? NOTHING : { ms }),
    ...(asked === undefined ? NOTHING : { asked }),
  }));
  move.open({ name: name(settleName), kind: "settle", results });
  return work;
}

const NEVER_RAN: ToolOutput = { kind: "cancelled", reason: TEXTS.notMade };

/** Opens as many queued calls as may run now. No call before index `from` is queued. */
function release(move: Move, work: Work, from: number): Work {
  if (move.state.winding !== undefined) return work;
  let running = 0;
  for (const effect of move.state.open) {
    if (effect.kind === "wait" && effect.about.kind === "turns") running++; // Its work continues in those turns.
    if (effect.kind !== "call") continue;
    const call = work.calls[indexOf(work, effect.at)];
    if (call !== undefined && isAlone(call)) return work;
    running++;
  }
  let calls = work.calls;
  let alone: number | undefined;
  const max = move.state.limits.parallelCallsMax;
  for (let index = from; index < calls.length && running < max; index++) {
    const call = calls[index] as CallState;
    if (call.stage !== "queued") continue;
    if (isAlone(call)) alone ??= index;
    else {
      calls = start(move, work, calls, index);
      running++;
    }
  }
  if (alone !== undefined && running === 0 && (calls[alone]?.policy?.writes !== true || isSerialFree(move)))
    calls = start(move, work, calls, alone);
  return calls === work.calls ? work : { ...work, calls };
}

function start(move: Move, work: Work, calls: readonly CallState[], index: number): readonly CallState[] {
  const own = move.ownCalls(calls);
  const call = own[index] as CallState;
  own[index] = { ...call, stage: "open", startedAt: call.startedAt ?? move.at };
  move.open(attempt(work, call));
  return own;
}

const isAlone = (call: CallState): boolean => call.policy?.isSerial === true || call.policy?.writes === true;

function attempt(work: Work, state: CallState): EffectOf<"call"> {
  const position = positionOf(work, state.at);
  const effect: EffectOf<"call"> = {
    name: state.attempt === 1 ? position : name(`${position}.a${state.attempt}`),
    kind: "call",
    at: state.at,
    call: state.call,
    attempt: state.attempt,
    position,
  };
  if (state.policy === undefined) return effect;
  const { onInterrupt, writes } = state.policy;
  return {
    ...effect,
    ...(onInterrupt === undefined ? {} : { onInterrupt }),
    ...(writes === undefined ? {} : { writes }),
  };
}

/** Opens a wait of a call. The gate's is `.w`, and `.w.1` when it asks again; that of the second attempt is `.w2`. */
function wait(
  move: Move,
  work: Work,
  { at, asked = NO_TRAIL }: CallState,
  attempt: number | undefined,
  { key, until }: { readonly key: WaitKey; readonly until: number },
  about: WaitAbout | WaitedTurns,
): void {
  const approvals = attempt === undefined ? asked.filter(({ kind }) => kind === "approval").length : 0;
  const waitName = name(`${positionOf(work, at)}.w${attempt ?? ""}${approvals === 0 ? "" : `.${approvals}`}`);
  move.open({ name: waitName, kind: "wait", key, at: move.at, until, about });
}
/** Returns the index of a call. Its position equals its index, except in a batch or a cell. */
function indexOf({ calls }: Work, at: string): number {
  const own = Number(at);
  return calls[own]?.at === at ? own : calls.findIndex((call) => call.at === at);
}

const change = (work: Work, at: string, patch: Partial<CallState>): Work => {
  const index = indexOf(work, at);
  const call = work.calls[index];
  return call === undefined ? work : { ...work, calls: work.calls.with(index, { ...call, ...patch }) };
};

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
const NOTHING = {};

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

/** Returns the output of a call whose result was never given. */
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
    const keep = kept(decision);
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
  return decision.kind === "ask" && !isProgress ? { ...kept(decision), kind: "retry" } : decision;
}

const kept = ({ memo, add }: Decision): Pick<Decision, "memo" | "add"> => ({
  ...(memo === undefined ? {} : { memo }),
  ...(add === undefined ? {} : { add }),
});
