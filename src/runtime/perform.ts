import type { Perform } from "../hosts/host.ts";
import type { Chunk, ChunkAnswer, ReplyAnswer, TurnReport } from "../kernel/hooks.ts";
import type { Bound } from "../kernel/run.ts";
import { after } from "../model/awaitable.ts";
import { describe, passingFault, RuntimeError } from "../model/errors.ts";
import { type EffectName, nodeId } from "../model/ids.ts";
import { type Awaitable, describeThrown, isThenable, toJson } from "../model/json.ts";
import type { Message } from "../model/message.ts";
import type { ModelRequest, Reply } from "../model/request.ts";
import type { Scope } from "../model/scope.ts";
import { OUTPUT_TOOL, type ToolOutput } from "../model/tool.ts";
import type { PendingInput } from "../stores/store.ts";
import { attempt, gate, settle } from "../tools/dispatch.ts";
import type { Effect, EffectKind, EffectOf } from "../turn/effect.ts";
import type { Answer, Failure } from "../turn/event.ts";
import { itemsOf } from "../turn/log.ts";
import { isLastRound } from "../turn/state.ts";
import { ask, HookStop } from "./ask.ts";
import { type Over, overBudget } from "./budget.ts";
import { compaction } from "./compact.ts";
import type { LiveTurn } from "./live.ts";
import { NOTHING, obey, saidBy } from "./obey.ts";
import { prepare } from "./prepare.ts";

/** An answer before it is stamped. */
type Body = Answer extends infer A ? (A extends Answer ? Omit<A, "at" | "effect" | "changes"> : never) : never;

/** Made when it is needed, and then the same for all calls of the effect. */
const once = <T>(make: () => T): (() => T) => {
  let made: T | undefined;
  return () => (made ??= make());
};

type Performers = {
  readonly [K in EffectKind]: (live: LiveTurn, effect: EffectOf<K>, scope: Scope) => Awaitable<Body>;
};

const PERFORMERS: Performers = {
  prepare,
  ask: askModel,
  respond,
  gate: (live, effect, scope) =>
    after(
      gate(
        live,
        effect.calls,
        once(() => live.here(scope, effect.name)),
      ),
      ({ verdicts, abort }) => (abort === undefined ? { kind: "gated", verdicts } : { kind: "gated", verdicts, abort }),
    ),
  call: callTool,
  settle: (live, effect, scope) =>
    after(
      settle(
        live,
        effect.results,
        once(() => live.here(scope, effect.name)),
      ),
      ({ results, messages, abort }) => ({
        kind: "settled",
        results,
        ...(messages.length === 0 ? {} : { messages: messages.map(saidBy) }),
        ...(abort === undefined ? {} : { abort }),
      }),
    ),
  boundary,
  compact,
  exec,
  finalize,
  // A host keeps time and waits itself.
  sleep: () => ({ kind: "slept" }),
  wait: () => ({ kind: "resolved", answer: { kind: "revoked" } }),
};

/** Does effects for a turn. A serial one's changes of plugin state go with its answer, or nowhere if it fails. */
export const performer =
  (live: LiveTurn): Perform =>
  (effect, scope) => {
    let body: Awaitable<Body>;
    try {
      body = bodyOf(live, effect, scope);
    } catch (error) {
      return failed(live, effect, error);
    }
    if (!isThenable(body)) {
      if (live.keeping === undefined) return stamped(live, effect, body);
      body = Promise.resolve(body);
    }
    return body
      .then((found) => whenKept(live, () => stamped(live, effect, found)))
      .then(undefined, (error: unknown) => failed(live, effect, error));
  };

const bodyOf = (live: LiveTurn, effect: Effect, scope: Scope): Awaitable<Body> =>
  (PERFORMERS[effect.kind] as (live: LiveTurn, effect: Effect, scope: Scope) => Awaitable<Body>)(live, effect, scope);

/** Only calls run beside each other, and of those only one that `writes` runs alone and may change state. */
const mayWrite = (effect: Effect): boolean => effect.kind !== "call" || effect.writes === true;

function stamped(live: LiveTurn, effect: Effect, body: Body): Answer {
  const answer = body as { -readonly [K in keyof Answer]: Answer[K] }; // Fresh from its performer, so it is ours to stamp.
  answer.at = live.core.world.now();
  answer.effect = effect.name;
  const changes = mayWrite(effect) ? live.states.take() : undefined;
  if (changes !== undefined) answer.changes = changes;
  const spent = live.takeSpent();
  if (spent !== undefined) {
    answer.spent = spent;
    const booked = live.takeBooked();
    if (booked !== undefined) answer.booked = booked;
  }
  return answer as Answer;
}

/** Where the store is at fault nothing is recorded: the effect is done again, here or elsewhere. */
function failed(live: LiveTurn, effect: Effect, error: unknown): Answer {
  const fault = passingFault(error);
  if (fault !== undefined) throw fault;
  if (mayWrite(effect)) live.states.forget();
  const spent = live.takeSpent();
  const answer = { kind: "failed", at: live.core.world.now(), effect: effect.name, error: failureOf(error) } as const;
  if (spent === undefined) return answer;
  const booked = live.takeBooked();
  return { ...answer, spent, ...(booked === undefined ? {} : { booked }) };
}

function failureOf(error: unknown): Failure {
  if (!(error instanceof RuntimeError))
    return { class: "runtime", code: "protocol.failed", message: describeThrown(error) };
  const plugin = (error.details as { plugin?: string }).plugin;
  if (plugin !== undefined) return { class: "plugin", code: error.code, message: error.message, plugin };
  return { class: "runtime", code: error.code, message: error.message };
}

// ── Ask and respond ─────────────────────────────────────────────────────────────────────────────────────────────────

async function askModel(live: LiveTurn, effect: EffectOf<"ask">, scope: Scope): Promise<Body> {
  const { core, opened, state, hooks } = live;
  live.transcript().requirePaired();
  const { settings } = opened.config;
  let request: ModelRequest = live.driver.request({
    round: state.round,
    memo: state.memo,
    log: itemsOf(state.log),
    limits: state.limits,
    system: live.prompt?.system ?? "",
    messages: live.messages(),
    tools: live.artifact?.declarations ?? [],
    ...(state.output === undefined ? {} : { output: state.output }),
    ...(settings === undefined ? {} : { settings }),
  });
  if (!Array.isArray((request as Partial<ModelRequest> | undefined)?.messages))
    throw new RuntimeError("protocol.failed", { protocol: live.driver.id, problem: "it made no request" });
  const here = live.here(scope, effect.name);
  if (live.tail !== "")
    request = { ...request, messages: [...request.messages, tailOf(live)], stable: request.messages.length };
  if (hooks.has("request")) {
    const theirs: ModelRequest = { ...request, messages: [...request.messages] }; // To change; the conversation is not.
    request = await hooks.transform(
      "request",
      theirs,
      here,
      (now) => ({ request: now }),
      (_, answer) => answer,
    );
  }
  if (request.stable !== undefined) request = { ...request, stable: stableOf(live, request) };
  if (opened.config.budget?.keepsAnswer === true && isLastRound(state)) request = forAnswer(live, request);
  const { sessionId, turnId } = live;
  const model = request.model ?? opened.config.model;
  const provider = core.models.known(model) ?? (await core.models.require(model, request.model !== undefined));
  const other = model === opened.config.model ? NOTHING : { model };
  const over = await overspent(live, model);
  if (over !== undefined) {
    const { class: kind, code, message } = over;
    return { kind: "failed", error: { class: kind, code, message } };
  }
  let key = live.key(effect.name, 1);
  const asked = await ask({
    provider,
    request,
    limits: opened.limits,
    world: core.world,
    scope,
    load: async (hash) => (await core.store.blobs.get(hash)) ?? missing(hash),
    show: (number, kind, delta) => {
      if (key.attempt !== number) key = live.key(effect.name, number);
      live.tell(
        kind === "retracted"
          ? { fact: false, sessionId, turnId, key, kind }
          : { fact: false, sessionId, turnId, key, kind, delta },
      );
    },
    ...(hooks.has("stream") ? { transform: streamTransform(live, effect.name, scope) } : {}),
    ...(hooks.has("streamFinished")
      ? {
          finished: async (reason) => {
            for (const { plugin = "", code, message } of await hooks.observe("streamFinished", { reason }, here))
              live.trace("hook.issue", { plugin, code, message });
          },
        }
      : {}),
  });
  if (asked.kind === "replied") return model === opened.config.model ? asked : { ...asked, ...other };
  const { failure, partial, ...rest } = asked;
  if (failure instanceof HookStop) return { ...rest, ...other, error: failureOf(failure.cause), partial };
  const code = failure.class === "cancelled" ? "turn.cancelled" : "provider.failed";
  const message =
    failure.class === "cancelled"
      ? failure.message
      : describe("provider.failed", { route: model, class: failure.class, problem: failure.message }).message;
  return { ...rest, ...other, error: { class: failure.class, code, message }, partial };
}

const ANSWER_NOW = "No tool can be called any more: answer with what you have.";
const HAND_IN_NOW = `Hand in the result with ${OUTPUT_TOOL}, with what you have; no other tool can be called any more.`;

/** Work is over: what there is to say is said now. Tools stay in the request, so that a cached beginning still fits. */
const forAnswer = ({ state, turnId }: LiveTurn, request: ModelRequest): ModelRequest => ({
  ...request,
  messages: [
    ...request.messages,
    {
      id: nodeId(`${turnId}/answer`, 0),
      role: "user",
      parts: [
        {
          kind: "text",
          text: `This is the last round of the turn. ${state.output === undefined ? ANSWER_NOW : HAND_IN_NOW}`,
        },
      ],
      origin: { kind: "runtime" },
    },
  ],
  stable: request.stable ?? request.messages.length,
  toolChoice: state.output === undefined ? "none" : { name: OUTPUT_TOOL },
});

/** Looked at before the call, with what is not committed yet. */
function overspent(live: LiveTurn, model?: string): Awaitable<Over | undefined> {
  const { core, session, opened } = live;
  if (opened.config.budget === undefined && session.ancestors.length === 0) return undefined;
  return overBudget(core, session, opened.config.budget, model, live);
}

/** A hook may have taken messages out, or put some after the tail. */
function stableOf(live: LiveTurn, { messages, stable = 0 }: ModelRequest): number {
  const tail = tailOf(live).id;
  const at = messages.findIndex(({ id }) => id === tail);
  return at < 0 ? Math.min(stable, messages.length) : at;
}

/** What changes from round to round is said last and never kept. */
const tailOf = ({ tail, turnId }: LiveTurn): Message => ({
  id: nodeId(`${turnId}/tail`, 0),
  role: "user",
  parts: [{ kind: "text", text: tail }],
  origin: { kind: "runtime" },
});

const missing = (hash: string): never => {
  throw new RuntimeError("store.corrupt", { item: `the attachment ${hash}`, problem: "its bytes are not there" });
};

/** Handlers of `stream` are called in line; only a promise is waited for. */
function streamTransform(live: LiveTurn, effect: EffectName, scope: Scope): (chunk: Chunk) => Awaitable<ChunkAnswer> {
  const { hooks } = live;
  const here = live.here(scope, effect);
  const stop = (error: unknown): never => {
    throw new HookStop("A stream hook failed.", { cause: error });
  };
  const merge = (now: ChunkAnswer, answer: ChunkAnswer, plugin: string): ChunkAnswer => {
    for (const { name, payload } of answer.events ?? []) live.emit(effect, plugin, name, payload ?? null);
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
      return now === "" ? undefined : { chunk: { kind, delta: now } }; // What another one held back is a delta like any.
    };
    try {
      const answer = hooks.transform("stream", start, here, sees, merge);
      return isThenable(answer) ? answer.then((found) => found, stop) : answer;
    } catch (error) {
      return stop(error);
    }
  };
}

const RESPOND_TRIES = 3;

/** The paid reply is recorded already, so a hook that fails is simply tried again. */
async function respond(live: LiveTurn, effect: EffectOf<"respond">, scope: Scope): Promise<Body> {
  const merge = (now: Reply, answer: ReplyAnswer, plugin: string): Reply => {
    for (const { name, payload } of answer.events ?? []) live.emit(effect.name, plugin, name, payload ?? null);
    const own = toJson(answer.parts); // They are kept, sent and acted on: what is no JSON would be three different things.
    if ("problem" in own)
      throw new RuntimeError("hook.answer", { plugin, hook: "response", problem: `${own.path}: ${own.problem}` });
    return { ...now, parts: own.json as unknown as Reply["parts"] };
  };
  for (let number = 1; ; number++) {
    try {
      const reply = await live.hooks.transform(
        "response",
        effect.reply,
        live.here(scope, effect.name),
        (now) => ({ reply: now }),
        merge,
      );
      return reply.parts === effect.reply.parts ? { kind: "responded" } : { kind: "responded", parts: reply.parts };
    } catch (error) {
      if (number === RESPOND_TRIES || scope.isAborted) throw error;
      live.trace("hook.retried", { hook: "response", problem: describeThrown(error) });
    }
  }
}

// ── The rest ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Without a gate and a settling a call tells of itself when it begins and when it is over. */
function callTool(live: LiveTurn, effect: EffectOf<"call">, scope: Scope): Awaitable<Body> {
  const { skips, policies } = live.state;
  if (skips.gate === true) live.started(effect);
  if (scope.isAborted)
    return returned(live, effect, {
      kind: scope.isResumed === true ? "unknown" : "cancelled",
      reason: "The turn was stopped.",
    });
  return after(attempt(live, effect, scope), (output) => {
    live.returned(effect);
    if (skips.settle === true && skips.gate === true && !Object.hasOwn(policies, effect.call.name))
      live.ended(effect, output);
    return returned(live, effect, output);
  });
}

/** What a failing tool changed is not kept. */
function returned(live: LiveTurn, effect: EffectOf<"call">, output: ToolOutput): Awaitable<Body> {
  if (effect.writes === true && output.kind !== "value") live.states.forget();
  return whenKept(live, () => ({ kind: "returned", output }));
}

/** Attachments are durable before the result that names them, and sessions made before the turn goes on. */
function whenKept<T>(live: LiveTurn, then: () => T): Awaitable<T> {
  const { keeping } = live;
  if (keeping === undefined) return then();
  live.keeping = undefined;
  return Promise.all(keeping).then(then);
}

const CLAIM_MAX = 64;

/** What comes when no round is left to hear it, or no money, waits for the next turn. */
function claimed(live: LiveTurn, { name, at }: EffectOf<"boundary">): Awaitable<readonly PendingInput[]> {
  const { inputs } = live.core.store;
  if (at === "opening") return inputs.claim(live.lease, name, CLAIM_MAX, true);
  if (isLastRound(live.state)) return [];
  return after(overspent(live), (over) => (over === undefined ? inputs.claim(live.lease, name, CLAIM_MAX) : []));
}

function boundary(live: LiveTurn, effect: EffectOf<"boundary">, scope: Scope): Awaitable<Body> {
  return after(claimed(live, effect), (found) => {
    const inputs = found.map(({ id: inputId, message }) => ({ inputId, message }));
    const body = { kind: "bounded", ...(inputs.length === 0 ? {} : { inputs }) } as const;
    const { at } = effect;
    if (at === "opening" || !live.hooks.has("checkpoint")) return body;
    return after(live.hooks.collect("checkpoint", { at }, live.here(scope, effect.name)), (directives) => ({
      ...body,
      ...obey(live, effect.name, directives),
    }));
  });
}

async function compact(live: LiveTurn, effect: EffectOf<"compact">, scope: Scope): Promise<Body> {
  const failed = (error: unknown): never => {
    if (error instanceof RuntimeError)
      live.observed([
        {
          plugin: String((error.details as { plugin?: string }).plugin ?? ""),
          code: error.code,
          message: error.message,
        },
      ]);
    throw error;
  };
  const { phase } = live.state;
  const reason = phase.kind === "compacting" && phase.then !== undefined ? "room" : "overflow";
  const here = live.here(scope, effect.name);
  const seed = await compaction(live.hooks, live.messages(), reason, here).catch(failed);
  return seed === undefined ? { kind: "compacted" } : { kind: "compacted", seed };
}

async function exec(live: LiveTurn, effect: EffectOf<"exec">, scope: Scope): Promise<Body> {
  const executor = live.hooks.slot("codeExecutor");
  if (executor === undefined) throw new RuntimeError("code.unavailable", {});
  return {
    kind: "executed",
    output: await executor.execute(effect.cell, { sessionId: live.sessionId, signal: scope.signal }),
  };
}

function finalize(live: LiveTurn, effect: EffectOf<"finalize">, scope: Scope): Awaitable<Body> {
  if (!live.hooks.has("afterTurn") && !live.hooks.has("lifecycle")) return { kind: "finalized" };
  return finalizeWithHooks(live, effect, scope);
}

async function finalizeWithHooks(live: LiveTurn, effect: EffectOf<"finalize">, scope: Scope): Promise<Body> {
  const here = live.here(scope, effect.name);
  const report = reportOf(live, effect.outcome);
  const { messages } = obey(live, effect.name, await live.hooks.collect("afterTurn", { report }, here));
  live.observed(await live.hooks.observe("lifecycle", { event: { kind: "turnFinalized", report } }, here));
  return { kind: "finalized", ...(messages === undefined ? {} : { messages }) };
}

export function reportOf(live: LiveTurn, outcome: TurnReport["outcome"]): TurnReport {
  const { state } = live;
  const messages = itemsOf(state.log).flatMap((entry) => (entry.kind === "message" ? [entry.message] : []));
  return { outcome, usage: state.usage, rounds: state.round, messages };
}
