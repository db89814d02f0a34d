// The last step of a call: the after-hooks see its output, and a plugin can choose what the model sees. The rules
// dispatch-1 to dispatch-4 are in `dispatch.ts`.

import type { Took } from "../kernel/handlers.ts";
import type { HookCallContext } from "../kernel/hook-runner.ts";
import type { Owned } from "../kernel/hooks.ts";
import { inspectResult } from "../kernel/tool-gates.ts";
import { type Awaitable, andThen, inOrder, isThenable } from "../model/awaitable.ts";
import { describeThrown, toJson } from "../model/json.ts";
import type { Draft } from "../model/message.ts";
import { projectOutput, type ResultPart, type ToolOutput } from "../model/tool.ts";
import type { ReturnedCall } from "../turn/effect.ts";
import type { Abort, Settlement } from "../turn/event.ts";
import { memberFor, targetOf } from "./check-call.ts";
import type { Dispatch } from "./dispatch.ts";
import { bounded, withheld } from "./result.ts";

/**
 * Runs the after-hooks and the projection. If they change nothing, the settlement is null and the journal gets no
 * record.
 */
export function settle(
  dispatch: Dispatch,
  results: readonly ReturnedCall[],
  callContext: () => HookCallContext,
): Awaitable<{
  readonly results: readonly Settlement[];
  readonly messages: readonly Owned<Draft>[];
  readonly abort?: Abort;
}> {
  if (!dispatch.hooks.has.afterToolCall && !dispatch.hooks.has.projectResult) {
    for (const result of results) dispatch.show.ended(result, result.output);
    return { results: results.map(() => null), messages: [] };
  }
  let abort: Abort | undefined;
  const messages: Owned<Draft>[] = [];
  const one = (result: ReturnedCall): Awaitable<Settlement> => {
    const seen = dispatch.hooks.has.afterToolCall
      ? inspect(dispatch, result, callContext, messages, (found) => (abort ??= found))
      : result.output;
    return andThen(seen, (output) => {
      dispatch.show.ended(result, output);
      return andThen(project(dispatch, result, output, callContext), (parts): Settlement => {
        if (output === result.output && parts === undefined) return null;
        return { ...(output === result.output ? {} : { output }), ...(parts === undefined ? {} : { parts }) };
      });
    });
  };
  return andThen(inOrder(results, one), (settlements) => ({
    results: settlements,
    messages,
    ...(abort === undefined ? {} : { abort }),
  }));
}

function inspect(
  dispatch: Dispatch,
  placed: ReturnedCall,
  callContext: () => HookCallContext,
  messages: Owned<Draft>[],
  stop: (abort: Abort) => void,
): Awaitable<ToolOutput> {
  const { call, output } = placed;
  // Arguments that passed the gate in this process are valid. After a restart they are checked again.
  const target = targetOf(memberFor(dispatch, call)?.value, dispatch.passed?.has(call));
  return andThen(
    inspectResult(dispatch.hooks, call, output, took(placed), target, callContext()),
    (seen): ToolOutput => {
      for (const emit of seen.emits) dispatch.show.emitted(emit, placed);
      for (const conflict of seen.conflicts) dispatch.conflict(conflict);
      dispatch.observed(seen.issues);
      messages.push(...seen.messages);
      const { verdict } = seen;
      if (verdict?.value.kind === "abort") {
        stop({ plugin: verdict.plugin, code: verdict.value.code, message: verdict.value.message });
        return { kind: "cancelled", reason: verdict.value.message };
      }
      return verdict?.value.kind === "deny"
        ? withheld(call.name, verdict.value.reason)
        : seen.output === output
          ? output
          : bounded(call.name, seen.output, dispatch.limits.resultBytesMax);
    },
  );
}

const took = ({ ms, asked }: Partial<ReturnedCall>): Took => ({
  ...(ms === undefined ? {} : { durationMs: ms }),
  ...(asked === undefined ? {} : { asked }),
});

/**
 * The parts of the projector plugin, or undefined if the plain projection is used. If it fails, the model sees its
 * error and not the result, because the projector may exist to hide the result.
 */
function project(
  dispatch: Dispatch,
  { call, ms }: ReturnedCall,
  output: ToolOutput,
  callContext: () => HookCallContext,
): Awaitable<readonly ResultPart[] | undefined> {
  if (!dispatch.hooks.has.projectResult) return undefined;
  const failed = (error: unknown): readonly ResultPart[] => [{ kind: "text", text: `Error: ${describeThrown(error)}` }];
  try {
    const plain = projectOutput(output);
    const own = (parts: readonly ResultPart[] | undefined): typeof parts => {
      if (parts === plain) return undefined;
      const json = toJson(parts); // The parts are journaled, so they must be JSON.
      return "problem" in json ? failed(`${json.path}: ${json.problem}`) : (json.json as unknown as typeof parts);
    };
    const sees = { call, output, parts: plain, ...(ms === undefined ? {} : { durationMs: ms }) };
    const parts = dispatch.hooks.single("projectResult", sees, callContext());
    return isThenable(parts) ? parts.then(own, failed) : own(parts);
  } catch (error) {
    return failed(error);
  }
}
