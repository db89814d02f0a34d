// Job: the one way to run a tool, for every kind of call: `gate`, `attempt` and `settle`, one for each effect.
// Not its job: order, concurrency, retries and waits (`turn/work.ts`), and merging what hooks answer
// (`kernel/tool-gates.ts`).
// dispatch-1: No tool runs except through `attempt`, and its arguments have passed the tool's schema, in the gate or
//    again
//     here (after a restart, or when they were edited).
// dispatch-2: What a tool, schema or projector throws becomes the call's output. Only a fault of the runtime's own
//    store that a
//     service met inside a tool is thrown on: the call runs again when the store works, if its tool may run again.
// dispatch-3: Gating and settling go through the calls in call order, so that a replay sees the same order of hooks.
// dispatch-4: Outputs are JSON and within `resultBytesMax`, since they are journaled.

import { within } from "../kernel/deadline.ts";
import type { HookRunner, Issue, Site } from "../kernel/hook-runner.ts";
import type { Owned, Took } from "../kernel/hooks.ts";
import type { PluginStates } from "../kernel/states.ts";
import type { Tool } from "../kernel/tool.ts";
import { type Conflict, type Emit, gateCall, inspectResult, type Target } from "../kernel/tool-gates.ts";
import { type Awaitable, andThen, inOrder, isThenable } from "../model/awaitable.ts";
import { hasCode, RuntimeError } from "../model/errors.ts";
import { asWaitKey, type EffectName, type SessionId, type TurnId, type WaitKey } from "../model/ids.ts";
import { copyOf, defined, describeThrown, type Json, type JsonObject, toJson } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import type { Attachment, Draft } from "../model/message.ts";
import type { Checked } from "../model/schema.ts";
import type { Scope } from "../model/scope.ts";
import { TEXTS } from "../model/texts.ts";
import {
  type Attachable,
  type Availability,
  BATCH_TOOL,
  type CallPolicy,
  Deferral,
  OUTPUT_TOOL,
  projectOutput,
  type ResultPart,
  type ToolCall,
  type ToolOutput,
} from "../model/tool.ts";
import type { World } from "../model/world.ts";
import type { EffectOf, GatedCall, PlacedCall, ReturnedCall } from "../turn/effect.ts";
import type { Abort, Judged, Settlement } from "../turn/event.ts";
import type { Catalog, Member } from "./catalog.ts";
import { CallContext } from "./context.ts";
import { bounded, denied, failure, failureOf, resultOf, value, withheld } from "./result.ts";
import { requireDocument, type Validate } from "./validator.ts";

/** The turn, as far as its calls need it. */
export interface Dispatch {
  readonly hooks: HookRunner;
  readonly states: PluginStates;
  readonly catalog: Catalog;
  readonly limits: Limits;
  readonly world: World;
  readonly turnId: TurnId;
  readonly sessionId: SessionId;
  /** Checks the typed result that the caller of the turn asked for; undefined when none was. */
  readonly output: Validate | undefined;
  /** Arguments that passed the gate, so that the attempt need not check them again. Empty after a restart. */
  passed?: Map<ToolCall, unknown> | undefined;
  readonly show: CallShow;
  /** Stores an attachment for the answer of the effect at this place. */
  keep(attachable: Attachable, place: EffectName): Attachment;
  /** Makes what a call will wait for answerable, before it does; the key is the same when the attempt is run again. */
  answerable(effect: EffectOf<"call">, deferral: Deferral, schema: JsonObject | undefined): Promise<WaitKey>;
  /** Whether the model saw a tool of this name in this turn. */
  wasDeclared(tool: string): boolean;
  /** dispatch-2: whether the call runs again because of this error. */
  isRepeated(effect: EffectOf<"call">, error: unknown): boolean;
  siteOfCall(scope: Scope, effect: EffectOf<"call">): Site;
  /** Why a tool of this name cannot be called; undefined when there is no such tool. */
  availability(tool: string): Availability | undefined;
  conflict(conflict: Conflict): void;
  /** Reports handlers that failed. The call was denied because of it. */
  observed(issues: readonly Issue[]): void;
}

/** Previews of calls for readers of the turn. */
export interface CallShow {
  started(call: PlacedCall): void;
  /** The call's own work has ended, in an attempt or at the gate. */
  returned(call: PlacedCall, output: ToolOutput): void;
  /** Its result is settled. */
  ended(call: PlacedCall, output: ToolOutput): void;
  progressed(call: PlacedCall, attempt: number, value: Json): void;
  printed(call: PlacedCall, attempt: number, chunk: string): void;
  emitted(emit: Emit, call: PlacedCall): void;
}

/** A call whose result comes later. */
export interface Deferred {
  readonly kind: "deferred";
  readonly deferral: Deferral;
  /** What the result must fit, unless the tool said otherwise. */
  readonly schema?: JsonObject;
}

/** Bounds how often a call can wait. A call that waits again and again for ended work would never end. */
export const DEFERS_MAX = 100;

/** When a wait expires that has no `until`. */
export const WEEK_MS = 7 * 24 * 3_600_000;

// ── Gate ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Gates all calls of a round: decides what may run, with which arguments, and what is answered here. After an abort the
 * remaining calls are not gated.
 */
export function gate(
  dispatch: Dispatch,
  calls: readonly GatedCall[],
  site: () => Site,
): Awaitable<{ readonly judged: readonly Judged[]; readonly abort?: Abort }> {
  let abort: Abort | undefined;
  const stop = (found: Abort): void => {
    abort ??= found;
  };
  const one = (placed: GatedCall): Awaitable<Judged> =>
    andThen(gateOne(dispatch, placed, site, stop), (judged) => {
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
  site: () => Site,
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
  return andThen(gateCall(dispatch.hooks, call, target, site()), (gated): Awaitable<Judged> => {
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

/** Calls inside a batch exist only where the batch tool itself can be called. */
const memberFor = ({ catalog }: Dispatch, { name, parentId }: ToolCall): Member | undefined =>
  parentId !== undefined && catalog.find(BATCH_TOOL) === undefined ? undefined : catalog.find(name);

const settled = (output: ToolOutput): Judged => ({ kind: "settled", output });

function unknownTool(dispatch: Dispatch, call: ToolCall): ToolOutput {
  const name = call.parentId !== undefined && dispatch.catalog.find(BATCH_TOOL) === undefined ? BATCH_TOOL : call.name;
  const known = dispatch.availability(name);
  return known === undefined
    ? failure("unavailable", "tool.unknown", TEXTS.unknownTool(name, dispatch.catalog.names))
    : failure("unavailable", "tool.unavailable", TEXTS.unavailableTool(name, known));
}

/**
 * Takes the typed result of the turn, which arrives as a call: checks it and ends the turn with it. The result is
 * stored, so it must be JSON.
 */
function handedIn(check: Validate, call: ToolCall): Awaitable<ToolOutput> {
  if (call.malformed !== undefined) return wrongArguments(call, TEXTS.notJson);
  return andThen(check(call.input), (result) => {
    if (!result.ok) return wrongArguments(call, result.problem);
    const found = toJson(result.value);
    if ("problem" in found) return wrongArguments(call, `${found.path}: ${found.problem}`);
    return { kind: "value", value: null, control: { kind: "finish", by: "model", value: found.json } };
  });
}

/** Checks each input once: handlers for some tools and the end of the gate ask about the same one. */
function targetOf(tool: Tool | undefined, isKnownToFit = false): Target {
  let last: ToolCall | undefined;
  let result: Awaitable<Checked> = FITS;
  return {
    tool,
    check(call, other) {
      if (other !== undefined) return checked(other, call);
      if (tool === undefined || isKnownToFit || call === last) return result;
      last = call;
      result = checked(tool, call);
      return result;
    },
  };
}
const FITS: Checked = { ok: true, value: undefined };

function checked(tool: Tool, call: ToolCall): Awaitable<Checked> {
  try {
    const result = tool.check(call.input);
    return isThenable(result) ? checkedInTime(result) : result;
  } catch (error) {
    return broken(error);
  }
}

/** Bounds an asynchronous schema: nothing else would end a turn that waits for it. */
function checkedInTime(result: PromiseLike<Checked>): Promise<Checked> {
  return new Promise((resolve) => {
    const deadline = within(CHECK_MS, () => resolve({ ok: false, problem: TEXTS.uncheckable(CHECK_MS) }));
    const end = (found: Checked): void => {
      deadline.clear();
      resolve(found);
    };
    result.then(end, (error: unknown) => end(broken(error)));
  });
}
const CHECK_MS = 30_000;
const broken = (error: unknown): Checked => ({ ok: false, problem: describeThrown(error) });

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

const wrongArguments = ({ name }: ToolCall, problem: string): ToolOutput =>
  failure("arguments", "tool.arguments", TEXTS.wrongArguments(name, problem));

// ── Attempt ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** One bare try at a call. Answers (dispatch-2) with a value, a failure, a timeout, or that its result comes later. */
export function attempt(dispatch: Dispatch, effect: EffectOf<"call">, scope: Scope): Awaitable<ToolOutput | Deferred> {
  const { call } = effect;
  const found = memberFor(dispatch, call);
  if (dispatch.passed?.has(call) === true && found !== undefined)
    return run(dispatch, found, effect, dispatch.passed.get(call), scope);
  if (dispatch.output !== undefined && call.name === OUTPUT_TOOL) return handedIn(dispatch.output, call);
  // The tool is gone since the crash, but the call may have run while it was there.
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
    // An answer that cannot be checked could never be given.
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
 * Applies the tool's time limit to the one that has to be waited for: `returned` by the tool, or the check that leads
 * to `output`.
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
    // A cancel has its own grace, so the tool's own limit no longer counts.
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

/** Whether the tool stopped because it heeded its signal. */
const isAbort = (error: unknown): boolean =>
  (error instanceof Error && error.name === "AbortError") || hasCode(error, "tool.cancelled");

// ── Settle ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Runs the after-hooks and the projection. Where they change nothing the settlement is null, and nothing is journaled.
 */
export function settle(
  dispatch: Dispatch,
  results: readonly ReturnedCall[],
  site: () => Site,
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
      ? inspect(dispatch, result, site, messages, (found) => (abort ??= found))
      : result.output;
    return andThen(seen, (output) => {
      dispatch.show.ended(result, output);
      return andThen(project(dispatch, result, output, site), (parts): Settlement => {
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
  site: () => Site,
  messages: Owned<Draft>[],
  stop: (abort: Abort) => void,
): Awaitable<ToolOutput> {
  const { call, output } = placed;
  // What passed the gate in this process fits; after a restart it is checked again.
  const target = targetOf(memberFor(dispatch, call)?.value, dispatch.passed?.has(call));
  return andThen(inspectResult(dispatch.hooks, call, output, took(placed), target, site()), (seen): ToolOutput => {
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
  });
}

const took = ({ ms, asked }: Partial<ReturnedCall>): Took => ({
  ...(ms === undefined ? {} : { durationMs: ms }),
  ...(asked === undefined ? {} : { asked }),
});

/**
 * The parts that the projector plugin made, or undefined where the plain projection stands. If it fails, the model is
 * shown its error and not the result, which it may have been meant to hide.
 */
function project(
  dispatch: Dispatch,
  { call, ms }: ReturnedCall,
  output: ToolOutput,
  site: () => Site,
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
    const parts = dispatch.hooks.single("projectResult", sees, site());
    return isThenable(parts) ? parts.then(own, failed) : own(parts);
  } catch (error) {
    return failed(error);
  }
}
