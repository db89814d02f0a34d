// The effects `ask` and `respond`: builds the request, checks the budget, calls the model, runs response hooks. Not its
// job: streaming and retries (`services/model-call.ts`), the consequences of a reply (`turn/step.ts`).
// ask-1 The budget is checked before each attempt of the call, because every attempt costs.
// ask-2 Messages that are sent and never stored (the tail, the call for an answer) come after those that may be cached.
// ask-3 `respond` begins after the reply is recorded, so that a failing hook costs no second model call.
import { type Bound, type HookCallContext, tracedIssue } from "../../kernel/hook-runner.ts";
import type { Chunk, ChunkAnswer, ReplyAnswer } from "../../kernel/hook-values.ts";
import { type Awaitable, isThenable } from "../../model/awaitable.ts";
import { describe, RuntimeError } from "../../model/errors.ts";
import { type EffectName, nodeId } from "../../model/ids.ts";
import { describeThrown, toJson } from "../../model/json.ts";
import type { Message } from "../../model/message.ts";
import type { ModelRequest, Reply } from "../../model/request.ts";
import type { Scope } from "../../model/scope.ts";
import { TEXTS } from "../../model/texts.ts";
import { OUTPUT_TOOL } from "../../model/tool.ts";
import type { Usage } from "../../model/usage.ts";
import type { Provider } from "../../providers/provider.ts";
import type { EffectOf } from "../../turn/effect.ts";
import { itemsOf } from "../../turn/log.ts";
import { isLastRound, type TurnState } from "../../turn/state.ts";
import { type Over, overBudget } from "../services/budget.ts";
import { callModel, HookStop, type ModelAnswer, type ModelCall } from "../services/model-call.ts";
import { requireAttachment } from "../services/reading.ts";
import { type Body, failureOf } from "./answer.ts";
import { projected, ReplyProse } from "./prose.ts";
import type { LiveTurn } from "./turn.ts";

export async function ask(live: LiveTurn, effect: EffectOf<"ask">, scope: Scope): Promise<Body> {
  const { core, opened, hooks } = live;
  let request = requestOf(live);
  if (live.tail !== "")
    request = {
      ...request,
      messages: [...request.messages, tailOf(live)],
      stable: request.stable ?? request.messages.length,
    };
  if (hooks.has.request) request = await hookedRequest(live, request, live.context(scope, effect.name));
  if (request.stable !== undefined) request = { ...request, stable: stableOf(live, request) };
  if (opened.config.budget?.keepsAnswer === true && isLastRound(live.state)) request = forAnswer(live, request);
  const model = request.model ?? opened.config.model;
  const provider = core.models.known(model) ?? (await requireModel(live, model, request.model !== undefined));
  const { limits } = opened;
  const show = shower(live, effect.name);
  const prose = hooks.has.proseProjector ? new ReplyProse(live, show) : undefined;
  const call: { -readonly [K in keyof ModelCall]: ModelCall[K] } = {
    provider,
    request,
    limits,
    world: core.world,
    scope,
    load: (hash) => requireAttachment(core, hash),
    show: prose?.show ?? show,
    retrying: (attempt, failure, waitMs) => {
      const { sessionId, turnId } = live;
      const key = live.key(effect.name, attempt);
      live.show.preview({ fact: false, sessionId, turnId, key, kind: "retrying", class: failure, attempt, waitMs });
    },
    unreported: () => live.unreported(model),
  };
  if (live.telemetry !== undefined) call.observed = live.telemetry.modelCall(provider, model, request);
  if (live.isBudgeted) call.allow = (spent) => overspent(live, model, spent); // ask-1
  if (scope.isResumed === true) call.wasAsked = true;
  if (hooks.has.stream) call.transform = streamTransform(live, effect.name, scope);
  if (hooks.has.streamFinished) {
    const callContext = live.context(scope, effect.name);
    call.finished = async (reason) => {
      for (const issue of await hooks.observe("streamFinished", { reason }, callContext))
        live.trace("hook.issue", tracedIssue(issue));
    };
  }
  const answer = await callModel(call);
  const asked = prose === undefined ? answer : prose.shownIn(answer);
  if (asked.kind === "replied") live.latest = { usage: asked.reply.usage, frame: live.conversation.transcript.frame };
  if (asked.kind === "replied" && request.model === undefined) return asked;
  return bodyOf(asked, model, opened.config.model);
}

/** Without its model, a turn from another process is left to others, and a turn that was sent here fails. */
async function requireModel(
  { core, turnId, isResumed }: LiveTurn,
  model: string,
  isChosen: boolean,
): Promise<Provider> {
  try {
    return await core.models.require(model, isChosen);
  } catch (error) {
    if (isChosen || !isResumed) throw error;
    throw new RuntimeError("turn.model", { turnId, model, problem: describeThrown(error) });
  }
}

export function requestOf(live: LiveTurn): ModelRequest {
  const { opened, state, driver } = live;
  const { settings } = opened.config;
  live.conversation.transcript.requirePaired();
  const request = driver.request({
    round: state.round,
    memo: state.memo,
    log: itemsOf(state.log),
    limits: state.limits,
    system: live.prompt?.system ?? "",
    messages: live.conversation.messages,
    tools: live.artifact?.declarations ?? [],
    ...(state.output === undefined ? {} : { output: state.output }),
    ...(state.unwraps === undefined ? {} : { unwraps: state.unwraps }),
    ...(state.options === undefined ? {} : { options: state.options }),
    ...(state.extensions === undefined ? {} : { extensions: state.extensions }),
    ...(settings === undefined ? {} : { settings }),
  });
  if (!Array.isArray((request as Partial<ModelRequest> | undefined)?.messages))
    throw new RuntimeError("protocol.failed", { protocol: driver.id, problem: "it made no request" });
  return request;
}

/** Gives hooks a copy of the messages, because a change in place must not reach the conversation. */
function hookedRequest(live: LiveTurn, request: ModelRequest, callContext: HookCallContext): Awaitable<ModelRequest> {
  const theirs: ModelRequest = { ...request, messages: [...request.messages] };
  return live.hooks.transform(
    "request",
    theirs,
    callContext,
    (now) => ({ request: now }),
    (_, answer) => answer,
  );
}

function shower(live: LiveTurn, effect: EffectName): ModelCall["show"] {
  const { sessionId, turnId, show } = live;
  let key = live.key(effect, 1);
  return (attempt, kind, delta) => {
    if (key.attempt !== attempt) key = live.key(effect, attempt);
    show.preview(
      kind === "retracted"
        ? { fact: false, sessionId, turnId, key, kind }
        : { fact: false, sessionId, turnId, key, kind, delta },
    );
    return undefined;
  };
}

/** The answer to `ask`. It contains a model other than the session's, which has a separate row in the ledger. */
function bodyOf(asked: ModelAnswer, model: string, usual: string): Body {
  if (asked.kind === "replied") return model === usual ? asked : { ...asked, model };
  const other = model === usual ? {} : { model };
  if (asked.kind === "refused") {
    const { over, kind: _, partial, ...rest } = asked;
    const { class: kind, code, message } = over;
    const error = { class: kind, code, message };
    return rest.attempts === undefined
      ? { kind: "failed", error }
      : { kind: "failed", ...rest, ...other, error, partial };
  }
  const { failure, partial, ...rest } = asked;
  if (failure instanceof HookStop) return { ...rest, ...other, error: failureOf(failure.cause), partial };
  const isCancelled = failure.class === "cancelled";
  const { message, hint } = describe("provider.failed", {
    route: model,
    class: failure.class,
    problem: failure.message,
  });
  const error = {
    class: failure.class,
    code: isCancelled ? "turn.cancelled" : "provider.failed",
    message: isCancelled ? failure.message : `${message} ${hint}`, // An outcome has no field for a hint.
  };
  return { ...rest, ...other, error, partial };
}

/**
 * ask-2: in the last round the model must answer. Tools stay in the request, so that the provider's cache still
 * matches.
 */
const forAnswer = ({ state, turnId }: LiveTurn, request: ModelRequest): ModelRequest => ({
  ...request,
  messages: [
    ...request.messages,
    {
      id: nodeId(`${turnId}/answer`, 0),
      role: "user",
      parts: [{ kind: "text", text: textFor(state, request) }],
      origin: { kind: "runtime" },
    },
  ],
  stable: request.stable ?? request.messages.length,
  ...(request.tools.length === 0
    ? {}
    : { toolChoice: state.output === undefined ? "none" : ({ name: OUTPUT_TOOL } as const) }),
});

/** A protocol that declares no tools has its own way to end a turn. */
function textFor({ output }: TurnState, { tools }: ModelRequest): string {
  if (tools.length === 0) return TEXTS.finishNow;
  return output === undefined ? TEXTS.answerNow : TEXTS.submitNow;
}

/** ask-1: includes spending that is not committed yet. */
export const overspent = (live: LiveTurn, model?: string, failed?: Usage): Promise<Over | undefined> =>
  overBudget(live.core, live.session, live.opened.config.budget, model, live, failed);

/** ask-2: counted again, because a hook may have removed messages or added some after the tail. */
function stableOf(live: LiveTurn, { messages, stable = 0 }: ModelRequest): number {
  const tail = tailOf(live).id;
  const at = messages.findIndex(({ id }) => id === tail);
  return Math.min(stable, at < 0 ? messages.length : at);
}

/** ask-2: the volatile parts of the prompt, as a message. */
const tailOf = ({ tail, turnId }: LiveTurn): Message => ({
  id: nodeId(`${turnId}/tail`, 0),
  role: "user",
  parts: [{ kind: "text", text: tail }],
  origin: { kind: "runtime" },
});

/** Runs `stream` hooks on each delta; waits only when a hook answers with a promise. */
function streamTransform(live: LiveTurn, effect: EffectName, scope: Scope): (chunk: Chunk) => Awaitable<ChunkAnswer> {
  const { hooks } = live;
  const callContext = live.context(scope, effect);
  const stop = (error: unknown): never => {
    throw new HookStop("A stream hook failed.", { cause: error });
  };
  const merge = (now: ChunkAnswer, answer: ChunkAnswer, plugin: string): ChunkAnswer => {
    for (const { name, payload } of answer.events ?? []) live.show.emit(effect, plugin, name, payload ?? null);
    const reasoning = (now.reasoning ?? "") + (answer.reasoning ?? "");
    return {
      delta: answer.delta ?? now.delta ?? "",
      ...(reasoning === "" ? {} : { reasoning }),
      ...(now.abort === true || answer.abort === true ? { abort: true } : {}),
    };
  };
  return ({ kind, delta, isEnd }) => {
    const start: ChunkAnswer = { delta };
    const sees = ({ delta: now = "" }: ChunkAnswer, bound: Bound): { chunk: Chunk } | undefined => {
      if (isEnd !== true) return { chunk: { kind, delta: now } };
      if (bound.atEnd === true) return { chunk: { kind, delta: now, isEnd } };
      return now === "" ? undefined : { chunk: { kind, delta: now } }; // Released by an earlier hook at its end.
    };
    try {
      const answer = hooks.transform("stream", start, callContext, sees, merge);
      return isThenable(answer) ? answer.then((found) => found, stop) : answer;
    } catch (error) {
      return stop(error);
    }
  };
}

const RESPOND_TRIES = 3;

/** ask-3: runs response hooks. A failing hook is retried. */
export async function respond(live: LiveTurn, effect: EffectOf<"respond">, scope: Scope): Promise<Body> {
  const merge = (now: Reply, answer: ReplyAnswer, plugin: string): Reply => {
    for (const { name, payload } of answer.events ?? []) live.show.emit(effect.name, plugin, name, payload ?? null);
    // As JSON, because a stored, a sent and a used copy of another value would differ.
    const own = toJson(answer.parts);
    if ("problem" in own)
      throw new RuntimeError("hook.answer", { plugin, hook: "response", problem: `${own.path}: ${own.problem}` });
    return { ...now, parts: own.json as unknown as Reply["parts"] };
  };
  for (let number = 1; ; number++) {
    try {
      const reply = await live.hooks.transform(
        "response",
        effect.reply,
        live.context(scope, effect.name),
        (now) => ({ reply: now }),
        merge,
      );
      if (reply.parts === effect.reply.parts) return { kind: "responded" };
      return { kind: "responded", parts: projected(live, reply.parts) };
    } catch (error) {
      if (number === RESPOND_TRIES || scope.isAborted) throw error;
      live.trace("hook.retried", { hook: "response", problem: describeThrown(error) });
    }
  }
}
