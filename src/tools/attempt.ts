// The second step of a call: runs the tool with its time limit, and makes an output of its result or error. The rules
// dispatch-1 to dispatch-4 are in `dispatch.ts`.
import { within } from "../kernel/deadline.ts";
import type { Tool } from "../kernel/tool.ts";
import { type Awaitable, andThen, isThenable } from "../model/awaitable.ts";
import { describe, hasCode, RuntimeError } from "../model/errors.ts";
import type { EffectName } from "../model/ids.ts";
import { copyOf, defined } from "../model/json.ts";
import type { Scope } from "../model/scope.ts";
import { TEXTS } from "../model/texts.ts";
import { Deferral, OUTPUT_TOOL, type ToolCall, type ToolOutput } from "../model/tool.ts";
import type { EffectOf } from "../turn/effect.ts";
import type { Member } from "./catalog.ts";
import { checked, handedIn, memberFor, unknownTool, wrongArguments } from "./check-call.ts";
import { CallContext } from "./context.ts";
import type { Deferred, Dispatch } from "./dispatch.ts";
import { failure, failureOf, resultOf } from "./result.ts";
import { requireDocument } from "./validator.ts";

/** One attempt at a call. Returns (dispatch-2) a value, a failure, a timeout, or a deferral for a later result. */
export function attempt(dispatch: Dispatch, effect: EffectOf<"call">, scope: Scope): Awaitable<ToolOutput | Deferred> {
  const { call } = effect;
  const found = memberFor(dispatch, call);
  if (dispatch.passed?.has(call) === true && found !== undefined)
    return run(dispatch, found, effect, dispatch.passed.get(call), scope);
  if (dispatch.output !== undefined && call.name === OUTPUT_TOOL) return handedIn(dispatch.output, call);
  if (found === undefined && dispatch.wasDeclared(call.name) && dispatch.availability(call.name) === undefined) {
    // Its gate found the tool, so another process with other tools ran the gate.
    const { message, hint } = describe("tool.missing", { name: call.name });
    dispatch.observed([{ code: "tool.missing", message, hint }]);
  }
  // The tool was removed after the crash, but the call may have run before.
  if (found === undefined && scope.isResumed === true && dispatch.wasDeclared(call.name)) return interrupted(call);
  if (found === undefined) return unknownTool(dispatch, call);
  if (call.malformed !== undefined) return wrongArguments(call, TEXTS.notJson);
  return andThen(checked(found.value, call), (result) =>
    result.ok ? run(dispatch, found, effect, result.value, scope) : wrongArguments(call, result.problem),
  );
}

const interrupted = ({ name }: ToolCall): ToolOutput => ({
  kind: "unknown",
  reason: TEXTS.interrupted(name),
});

function run(
  dispatch: Dispatch,
  { value: tool, plugin, bindings }: Member,
  effect: EffectOf<"call">,
  input: unknown,
  scope: Scope,
): Awaitable<ToolOutput | Deferred> {
  const context = new CallContext(dispatch, effect, plugin, bindings, scope, tool.outputSchema);
  try {
    // A tool may change its arguments; the change must reach neither the conversation nor the next attempt.
    const own = input === effect.call.input ? copyOf(effect.call.input) : input;
    const returned: unknown = tool.run(own, context);
    if (isThenable(returned))
      return inTime(dispatch, tool, effect, Promise.resolve(returned), undefined, context, scope);
    const output = finished(dispatch, tool, returned, effect.position);
    if (isThenable(output)) return inTime(dispatch, tool, effect, undefined, output, context, scope);
    context.close();
    return output;
  } catch (error) {
    context.close();
    if (dispatch.isRepeated(effect, error)) throw error;
    return failureOf(tool.name, error, dispatch.limits.resultBytesMax);
  }
}

function finished(
  dispatch: Dispatch,
  tool: Tool,
  returned: unknown,
  place: EffectName,
): Awaitable<ToolOutput | Deferred> {
  if (returned instanceof Deferral) {
    const answer = defined({ kind: "deferred" as const, deferral: returned, schema: tool.outputSchema });
    const schema = returned.schema ?? tool.outputSchema;
    // Without a valid schema no answer could be accepted.
    if (schema === undefined || returned.on !== undefined) return answer;
    return requireDocument(schema, `what ${tool.name} waits for`).then(() => answer);
  }
  if (tool.checkOutput === undefined)
    return resultOf(tool.name, returned, dispatch.limits.resultBytesMax, dispatch, place);
  const output = resultOf(tool.name, returned, dispatch.limits.resultBytesMax, dispatch, place);
  if (output.kind !== "value" || output.control !== undefined) return output;
  return andThen(tool.checkOutput(returned), (result) =>
    result.ok
      ? resultOf(tool.name, result.value, dispatch.limits.resultBytesMax, dispatch, place)
      : failure("internal", "tool.result", TEXTS.unusable(tool.name, result.problem)),
  );
}

/**
 * Applies the tool's time limit to the promise that is pending: `returned` of the tool, or the check that gives
 * `output`.
 */
function inTime(
  dispatch: Dispatch,
  tool: Tool,
  effect: EffectOf<"call">,
  returned: PromiseLike<unknown> | undefined,
  output: PromiseLike<ToolOutput | Deferred> | undefined,
  context: CallContext,
  scope: Scope,
): Promise<ToolOutput | Deferred> {
  const ms = tool.timeoutMs ?? dispatch.limits.toolMs;
  return new Promise((resolve) => {
    const deadline = within(ms, () => {
      context.abort(new RuntimeError("tool.timeout", { name: tool.name, ms }));
      resolve(failure("timeout", "tool.timeout", TEXTS.timeout(tool.name, ms)));
    });
    context.limit(deadline);
    // After a cancel its grace period counts instead of the tool's limit.
    const unlisten = scope.onAbort(() => deadline.clear());
    const end = (result: Awaitable<ToolOutput | Deferred>): void => {
      deadline.clear();
      unlisten();
      context.close();
      resolve(result);
    };
    const fail = (error: unknown): void => {
      if (scope.isAborted && isAbort(error)) end({ kind: "cancelled", reason: TEXTS.cancelled });
      else if (dispatch.isRepeated(effect, error)) end(Promise.reject(error));
      else end(failureOf(tool.name, error, dispatch.limits.resultBytesMax));
    };
    const take = (value: unknown): void => {
      try {
        const found = finished(dispatch, tool, value, effect.position);
        if (isThenable(found)) found.then(end, fail);
        else end(found);
      } catch (error) {
        fail(error);
      }
    };
    try {
      if (returned !== undefined) returned.then(take, fail);
      else output?.then(end, fail);
    } catch (error) {
      fail(error);
    }
  });
}

/** Whether the tool stopped because of its signal. */
const isAbort = (error: unknown): boolean =>
  (error instanceof Error && error.name === "AbortError") || hasCode(error, "tool.cancelled");
