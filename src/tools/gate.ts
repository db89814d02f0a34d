// The first step of a call: hooks decide whether it may run, with which arguments, and the answer of a call that does
// not run. The rules dispatch-1 to dispatch-4 are in `dispatch.ts`.
import type { HookCallContext } from "../kernel/hook-runner.ts";
import type { Tool } from "../kernel/tool.ts";
import { gateCall } from "../kernel/tool-gates.ts";
import { type Awaitable, andThen, inOrder } from "../model/awaitable.ts";
import { asWaitKey } from "../model/ids.ts";
import type { Checked } from "../model/schema.ts";
import { TEXTS } from "../model/texts.ts";
import { type CallPolicy, OUTPUT_TOOL, type ToolCall, type ToolOutput } from "../model/tool.ts";
import type { GatedCall } from "../turn/effect.ts";
import type { Abort, Judged } from "../turn/event.ts";
import { checked, handedIn, memberFor, targetOf, unknownTool, wrongArguments } from "./check-call.ts";
import { type Dispatch, WEEK_MS } from "./dispatch.ts";
import { bounded, denied, value } from "./result.ts";

/**
 * Gates all calls of a round: decides which calls may run, with which arguments, and answers the others. After an abort
 * the remaining calls are not gated.
 */
export function gate(
  dispatch: Dispatch,
  calls: readonly GatedCall[],
  callContext: () => HookCallContext,
): Awaitable<{ readonly judged: readonly Judged[]; readonly abort?: Abort }> {
  let abort: Abort | undefined;
  const stop = (found: Abort): void => {
    abort ??= found;
  };
  const one = (placed: GatedCall): Awaitable<Judged> =>
    andThen(gateOne(dispatch, placed, callContext, stop), (judged) => {
      if (judged.kind === "settled") dispatch.show.returned(placed, judged.output);
      return judged;
    });
  return andThen(
    inOrder(calls, (placed) => (abort === undefined ? one(placed) : NOT_REACHED)),
    (judged) => ({ judged, ...(abort === undefined ? {} : { abort }) }),
  );
}
const NOT_REACHED: Judged = { kind: "settled", output: { kind: "cancelled", reason: TEXTS.turnStopped } };

function gateOne(
  dispatch: Dispatch,
  placed: GatedCall,
  callContext: () => HookCallContext,
  stop: (abort: Abort) => void,
): Awaitable<Judged> {
  const { call } = placed;
  dispatch.show.started(placed);
  if (dispatch.output !== undefined && call.name === OUTPUT_TOOL)
    return andThen(handedIn(dispatch.output, call), settled);
  const found = memberFor(dispatch, call);
  if (found === undefined) return settled(unknownTool(dispatch, call));
  if (call.malformed !== undefined) return settled(wrongArguments(call, TEXTS.notJson));
  if (!dispatch.hooks.has.beforeToolCall)
    return andThen(checked(found.value, call), (result) => passOrRefuse(dispatch, found.value, call, call, result));
  const target = targetOf(found.value);
  return andThen(gateCall(dispatch.hooks, call, target, callContext()), (gated): Awaitable<Judged> => {
    for (const emit of gated.emits) dispatch.show.emitted(emit, placed);
    for (const conflict of gated.conflicts) dispatch.conflict(conflict);
    dispatch.observed(gated.issues);
    const { verdict } = gated;
    if (verdict?.value.kind === "abort") {
      stop({ plugin: verdict.plugin, code: verdict.value.code, message: verdict.value.message });
      return settled({ kind: "cancelled", reason: verdict.value.message });
    }
    if (verdict?.value.kind === "deny") return settled(denied(call.name, verdict.value.reason));
    if (verdict?.value.kind === "shortCircuit")
      return settled(bounded(call.name, value(verdict.value.value), dispatch.limits.resultBytesMax));
    const asks = verdict?.value.kind === "ask" ? verdict.value : undefined;
    // A person approved exactly these arguments. If a plugin replaces them, the question is asked again.
    const isApproved = placed.isApproved === true && gated.call === call;
    return andThen(target.check(gated.call), (result): Judged => {
      const passed = passOrRefuse(dispatch, found.value, gated.call, call, result);
      if (asks === undefined || isApproved || passed.kind !== "pass") return passed;
      const { reason, waitMs = WEEK_MS } = asks;
      return {
        ...passed,
        kind: "wait",
        key: asWaitKey(dispatch.world.secret()),
        waitMs,
        reason,
        ...(verdict === undefined ? {} : { plugin: verdict.plugin }),
        schema: found.value.inputSchema,
      };
    });
  });
}

const settled = (output: ToolOutput): Judged => ({ kind: "settled", output });

function passOrRefuse(
  dispatch: Dispatch,
  tool: Tool,
  call: ToolCall,
  asked: ToolCall,
  result: Checked,
): Exclude<Judged, { kind: "wait" }> {
  if (!result.ok) return { kind: "settled", output: wrongArguments(call, result.problem) };
  (dispatch.passed ??= new Map()).set(call, result.value);
  return {
    kind: "pass",
    ...(call === asked ? {} : { input: call.input }),
    ...(isPlain(tool.policy) ? {} : { policy: tool.policy }),
  };
}
const isPlain = (policy: CallPolicy): boolean => {
  for (const _ in policy) return false;
  return true;
};
