import { compaction } from "../../kernel/compact.ts";
import type { TurnReport } from "../../kernel/hook-values.ts";
import { messageFrom } from "../../kernel/owned.ts";
import { type Awaitable, andThen, isThenable, once } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import { asJobId, asSessionId, asTurnId, type EffectName } from "../../model/ids.ts";
import { defined, frozen } from "../../model/json.ts";
import type { Scope } from "../../model/scope.ts";
import { TEXTS } from "../../model/texts.ts";
import type { ToolOutput } from "../../model/tool.ts";
import type { PendingAppend, PendingInput } from "../../stores/store.ts";
import { attempt } from "../../tools/attempt.ts";
import { DEFERS_MAX, type Deferred } from "../../tools/dispatch.ts";
import { gate } from "../../tools/gate.ts";
import { failure } from "../../tools/result.ts";
import { settle } from "../../tools/settle.ts";
import { verdictAt } from "../../turn/asked.ts";
import type { Effect, EffectKind, EffectOf } from "../../turn/effect.ts";
import type { Answer } from "../../turn/event.ts";
import { itemsOf } from "../../turn/log.ts";
import { isLastRound } from "../../turn/state.ts";
import { isTriedAgain } from "../../turn/work-answers.ts";
import { isEndedByItself } from "../readers/preview-writer.ts";
import { additionsIn } from "../services/graph.ts";
import { type Body, type BodyAt, failed, stamped } from "./answer.ts";
import { ask, overspent, respond } from "./ask.ts";
import { carryOut } from "./directives.ts";
import { prepare } from "./prepare.ts";
import { type LiveTurn, newWait } from "./turn.ts";

type Performers = {
  readonly [K in EffectKind]: (live: LiveTurn, effect: EffectOf<K>, scope: Scope) => Awaitable<Body | BodyAt>;
};

const PERFORMERS: Performers = {
  prepare,
  ask,
  respond,
  gate: gateCalls,
  call: callTool,
  settle: settleCalls,
  boundary,
  compact,
  exec,
  finalize,
  // Hosts perform these effects themselves, because they have the clock and the store.
  sleep: () => ({ kind: "slept" }),
  wait: () => ({ kind: "resolved", answer: { kind: "revoked" } }),
};

/**
 * Performs one effect. State changes of a serial effect are recorded with its answer, or dropped if it fails. An answer
 * without a promise joins the write of the event that released the effect.
 */
export function perform(live: LiveTurn, effect: Effect, scope: Scope): Awaitable<Answer> {
  let body: Awaitable<Body | BodyAt>;
  try {
    body = (PERFORMERS[effect.kind] as Performers[EffectKind])(live, effect as never, scope);
  } catch (error) {
    return failed(live, effect, error);
  }
  if (isThenable(body))
    return body.then(
      (found) => (live.drafts === undefined ? stamped(live, effect, found) : answered(live, effect, found)),
      (error) => failed(live, effect, error),
    );
  return live.drafts === undefined ? stamped(live, effect, body) : answered(live, effect, body);
}

/** Takes the draft at once, so that later requests of the effect's code are refused. */
function answered(live: LiveTurn, effect: Effect, body: Body | BodyAt): Awaitable<Answer> {
  const draft = live.takeDraft(effect);
  const stored = draft?.stored; // draft-1
  if (stored === undefined) return stamped(live, effect, body, draft);
  return stored.then(
    () => stamped(live, effect, body, draft),
    (error) => failed(live, effect, error),
  );
}

// ── Calls ───────────────────────────────────────────────────────────────────────────────────────────────────────────

function gateCalls(live: LiveTurn, { calls, name }: EffectOf<"gate">, scope: Scope): Awaitable<BodyAt> {
  const callContext = once(() => live.context(scope, name));
  return andThen(gate(live, calls, callContext), ({ judged, abort }) => (at): Body => {
    const verdicts = judged.map((each) => verdictAt(each, at));
    return abort === undefined ? { kind: "gated", verdicts } : { kind: "gated", verdicts, abort };
  });
}

function settleCalls(live: LiveTurn, { results: given, name }: EffectOf<"settle">, scope: Scope): Awaitable<Body> {
  const callContext = once(() => live.context(scope, name));
  return andThen(settle(live, given, callContext), ({ results, messages, abort }) => ({
    kind: "settled",
    results,
    ...(messages.length === 0 ? {} : { messages: messages.map(messageFrom) }),
    ...(abort === undefined ? {} : { abort }),
  }));
}

/** If `gate` and `settle` are skipped, the call itself shows its start and its end. */
function callTool(live: LiveTurn, effect: EffectOf<"call">, scope: Scope): Awaitable<Body | BodyAt> {
  // A resumed call passed its gate in another process, whose previews are lost.
  if (live.state.skips.gate === true || scope.isResumed === true) live.show.started(effect);
  if (scope.isAborted)
    return returned(live, effect, {
      kind: scope.isResumed === true ? "unknown" : "cancelled",
      reason: TEXTS.turnStopped,
    });
  const output = attempt(live, effect, scope);
  return isThenable(output) ? output.then((found) => called(live, effect, found)) : called(live, effect, output);
}

function called(live: LiveTurn, effect: EffectOf<"call">, found: ToolOutput | Deferred): Body | BodyAt {
  const problem = found.kind === "deferred" ? deferralProblem(live, effect, found) : undefined;
  if (found.kind === "deferred" && problem === undefined) return deferred(live, effect, found);
  const output =
    found.kind === "deferred"
      ? failure("internal", "tool.result", TEXTS.unusable(effect.call.name, problem ?? ""))
      : found;
  if (isEndedByItself(live.state, effect.call)) live.show.ended(effect, output);
  else if (isTriedAgain(live.state, effect, output)) live.show.failed(effect);
  else live.show.returned(effect, output);
  return returned(live, effect, output);
}

function deferralProblem(live: LiveTurn, { attempt }: EffectOf<"call">, found: Deferred): string | undefined {
  if (isForItself(live, found)) return "it would wait for a turn that cannot end before this one";
  return found.deferral.on !== undefined && attempt >= DEFERS_MAX ? TEXTS.waitsOn(DEFERS_MAX) : undefined;
}

/** Whether the call waits for a turn that cannot end before this one, of this session or of an ancestor. */
const isForItself = ({ session: { id, ancestors } }: LiveTurn, { deferral: { on } }: Deferred): boolean =>
  on?.turns?.some(({ session }) => session === id || ancestors.some((above) => above === session)) ?? false;

/** The tool deferred its result: the call becomes a wait. The wait may have a key already (`answerable`). */
function deferred(live: LiveTurn, effect: EffectOf<"call">, { deferral, schema: ofTool }: Deferred): BodyAt {
  live.show.failed(effect); // The attempt has ended: shows the rest of its output.
  const { question, on, schema = ofTool } = deferral;
  const known = live.drafts?.get(effect.position)?.deferral;
  const wait = (at: number) => (known?.deferral === deferral ? known.wait : undefined) ?? newWait(live, deferral, at);
  if (on === undefined) return (at) => ({ kind: "deferred", ...wait(at), ...defined({ question, schema }) });
  const { turns: ofTurns = [], jobs: ofJobs = [], need = "all", cancels, ifStopped: error } = on;
  const turns = ofTurns.map(({ session, turn }) => ({ sessionId: asSessionId(session), turnId: asTurnId(turn) }));
  const jobs = ofJobs.length === 0 ? {} : { jobs: ofJobs.map(asJobId) };
  const ifStopped = error && failure(error.class, error.code, error.message).failure;
  const waited = { kind: "turns", turns, ...jobs, need, ...(cancels === true ? { cancels } : {}) } as const;
  return (at) => ({ kind: "deferred", ...wait(at), on: waited, ...defined({ ifStopped }) });
}

/** Drops the state changes and appends of a failed tool. */
function returned(live: LiveTurn, effect: EffectOf<"call">, output: ToolOutput): Body {
  if (output.kind !== "value") {
    if (effect.writes === true) live.states.forget();
    live.drafts?.get(effect.position)?.withdraw();
  }
  return { kind: "returned", output };
}

async function exec(live: LiveTurn, effect: EffectOf<"exec">, scope: Scope): Promise<Body> {
  return (await live.code()).run(effect, scope);
}

// ── Between rounds, and at the end ──────────────────────────────────────────────────────────────────────────────────

const CLAIM_MAX = 64;

function boundary(live: LiveTurn, effect: EffectOf<"boundary">, scope: Scope): Awaitable<Body> {
  const { at, name } = effect;
  if (at === "after-work" && live.session.hasNewTools) return boundaryWithTools(live, effect, scope);
  if (live.hooks.has.checkpoint || live.isBudgeted) return boundaryWithHooks(live, effect, scope);
  // At its opening a turn may take inputs that the store does not report as pending.
  if (at !== "opening" && (live.pending.isNone || isLastRound(live.state))) return { kind: "bounded" };
  const takesTurns = at === "opening" && live.opened.merges === true ? true : undefined;
  const max = at === "opening" && takesTurns === undefined ? live.limits.pendingInputsMax : CLAIM_MAX;
  const found = live.core.store.inputs.claim(live.lease, name, max, takesTurns);
  if (isThenable(found)) return found.then((taken) => bounded(live, name, taken));
  return found.length === 0 ? { kind: "bounded" } : bounded(live, name, found);
}

type Bounded = Extract<Body, { readonly kind: "bounded" }>;
function bounded(live: LiveTurn, name: EffectName, found: readonly (PendingInput | PendingAppend)[]): Bounded {
  if (found.length === 0) return { kind: "bounded" };
  const { placed } = live.state;
  const inputs = found.map((each) => {
    if (!("entries" in each)) return { inputId: each.id, message: each.message };
    if (each.spent !== undefined) live.draftOf(name).spent.push(...each.spent);
    // The turn itself has placed it under this name.
    const isPlaced = placed?.some((own) => own.name === each.operation) ?? false;
    return { inputId: each.id, nodes: isPlaced ? [] : additionsIn(each.entries) };
  });
  return { kind: "bounded", inputs };
}

/** Tools were added to the session, so the next round is prepared again. */
async function boundaryWithTools(live: LiveTurn, effect: EffectOf<"boundary">, scope: Scope): Promise<Body> {
  live.session.noteNewTools(false);
  return { ...(await boundaryWithHooks(live, effect, scope)), hasNewTools: true };
}

async function boundaryWithHooks(live: LiveTurn, { at, name }: EffectOf<"boundary">, scope: Scope): Promise<Bounded> {
  const { inputs } = live.core.store;
  // Only a turn that merges inputs takes inputs that would otherwise open turns.
  if (at === "opening") {
    const { merges } = live.opened;
    const max = merges === true ? CLAIM_MAX : live.limits.pendingInputsMax;
    return bounded(live, name, await inputs.claim(live.lease, name, max, merges));
  }
  // If there is no round or budget left, waiting inputs stay for the next turn.
  const isLast = isLastRound(live.state) || (live.isBudgeted && (await overspent(live)) !== undefined);
  const isNothing = isLast || live.pending.isNone;
  const body = bounded(live, name, isNothing ? [] : await inputs.claim(live.lease, name, CLAIM_MAX));
  if (!live.hooks.has.checkpoint) return body;
  return {
    ...body,
    ...carryOut(live, name, await live.hooks.collect("checkpoint", { at }, live.context(scope, name))),
  };
}

async function compact(live: LiveTurn, effect: EffectOf<"compact">, scope: Scope): Promise<Body> {
  const { phase } = live.state;
  const reason = phase.kind === "compacting" && phase.then !== undefined ? "room" : "overflow";
  try {
    const { instructions } = effect;
    const asked = {
      messages: live.conversation.messages,
      reason,
      ...(instructions === undefined ? {} : { instructions }),
    } as const;
    const seed = await compaction(live.hooks, asked, live.context(scope, effect.name), (issue) =>
      live.observed([issue]),
    );
    return seed === undefined ? { kind: "compacted" } : { kind: "compacted", seed };
  } catch (error) {
    if (error instanceof RuntimeError) {
      const plugin = String((error.details as { plugin?: string }).plugin ?? "");
      live.observed([{ plugin, code: error.code, message: error.message }]);
    }
    throw error;
  }
}

function finalize(live: LiveTurn, effect: EffectOf<"finalize">, scope: Scope): Awaitable<Body> {
  const { has } = live.hooks;
  const isPlain = !has.afterTurn && !has.lifecycle && live.state.code === undefined;
  return isPlain ? { kind: "finalized" } : finalizeWithHooks(live, effect, scope);
}

async function finalizeWithHooks(live: LiveTurn, effect: EffectOf<"finalize">, scope: Scope): Promise<Body> {
  const { hooks } = live;
  const callContext = live.context(scope, effect.name);
  const report = reportOf(live, effect.outcome);
  const { messages } = carryOut(live, effect.name, await hooks.collect("afterTurn", { report }, callContext));
  live.observed(await hooks.observe("lifecycle", { event: { kind: "turnFinalized", report } }, callContext));
  const isKept = live.state.code === undefined || (await (await live.code()).keep(effect.name));
  return {
    kind: "finalized",
    ...(messages === undefined ? {} : { messages }),
    ...(isKept ? {} : { forgets: true as const }),
  };
}

/** Frozen here, since freezing it later would read its getters. */
export function reportOf({ state }: LiveTurn, outcome: TurnReport["outcome"]): TurnReport {
  const { log, usage, round: rounds } = state;
  let messages: TurnReport["messages"] | undefined;
  let calls: TurnReport["calls"] | undefined;
  return Object.freeze({
    outcome: frozen(outcome),
    usage: frozen(usage),
    rounds,
    get messages() {
      messages ??= frozen(itemsOf(log).flatMap((entry) => (entry.kind === "message" ? [entry.message] : [])));
      return messages;
    },
    get calls() {
      calls ??= frozen(state.calls === undefined ? [] : [...itemsOf(state.calls)]);
      return calls;
    },
  });
}
