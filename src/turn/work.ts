// The calls of one round or code cell, from the model's request to a settled result: which effects open next, for gates,
// attempts and settling. `work-answers.ts` has what their answers change.
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
import type { WaitAbout, WaitedTurns } from "../model/wait.ts";
import { NO_TRAIL } from "./asked.ts";
import { nextSegment, waitFor } from "./cell.ts";
import { type EffectOf, name, type PlacedCall } from "./effect.ts";
import type { Answer } from "./event.ts";
import type { Move } from "./move.ts";
import { type CallState, type CellWork, isLastRound, type Work } from "./state.ts";

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

export const positionOf = (work: Work, at: string): EffectName => name(`${work.prefix}.call.${at}`);

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

export const NEVER_RAN: ToolOutput = { kind: "cancelled", reason: TEXTS.notMade };

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
export function wait(
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
export function indexOf({ calls }: Work, at: string): number {
  const own = Number(at);
  return calls[own]?.at === at ? own : calls.findIndex((call) => call.at === at);
}

export const change = (work: Work, at: string, patch: Partial<CallState>): Work => {
  const index = indexOf(work, at);
  const call = work.calls[index];
  return call === undefined ? work : { ...work, calls: work.calls.with(index, { ...call, ...patch }) };
};

export const NOTHING = {};
