import type { Perform } from "../hosts/host.ts";
import type { Directive } from "../kernel/directive.ts";
import type { ChunkAnswer, Owned, ReplyAnswer, TurnContext, TurnReport } from "../kernel/hooks.ts";
import type { Surroundings } from "../kernel/run.ts";
import { after } from "../model/awaitable.ts";
import type { SessionConfig } from "../model/config.ts";
import { describe, RuntimeError } from "../model/errors.ts";
import type { EffectName } from "../model/ids.ts";
import { type Awaitable, describeThrown, isThenable } from "../model/json.ts";
import type { Draft, Message } from "../model/message.ts";
import type { PromptPart } from "../model/prompt.ts";
import type { ModelRequest, Reply } from "../model/request.ts";
import type { Scope } from "../model/scope.ts";
import type { ToolOutput } from "../model/tool.ts";
import { attempt, gate, settle } from "../tools/dispatch.ts";
import type { Effect, EffectKind, EffectOf } from "../turn/effect.ts";
import type { Abort, Answer, Failure, Policies, Skips } from "../turn/event.ts";
import { itemsOf } from "../turn/log.ts";
import { ask, HookStop } from "./ask.ts";
import type { Artifact, TurnFlags } from "./core.ts";
import type { LiveTurn } from "./live.ts";

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
      body = (PERFORMERS[effect.kind] as (live: LiveTurn, effect: Effect, scope: Scope) => Awaitable<Body>)(
        live,
        effect,
        scope,
      );
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

/** Only calls run beside each other, and of those only one that `writes` runs alone and may change state. */
const mayWrite = (effect: Effect): boolean => effect.kind !== "call" || effect.writes === true;

function stamped(live: LiveTurn, effect: Effect, body: Body): Answer {
  const answer = body as { -readonly [K in keyof Answer]: Answer[K] }; // Fresh from its performer, so it is ours to stamp.
  answer.at = live.core.world.now();
  answer.effect = effect.name;
  const changes = mayWrite(effect) ? live.states.take() : undefined;
  if (changes !== undefined) answer.changes = changes;
  const spent = live.takeSpent();
  if (spent !== undefined) answer.spent = spent;
  return answer as Answer;
}

function failed(live: LiveTurn, effect: Effect, error: unknown): Answer {
  if (mayWrite(effect)) live.states.forget();
  const spent = live.takeSpent();
  const answer = { kind: "failed", at: live.core.world.now(), effect: effect.name, error: failureOf(error) } as const;
  return spent === undefined ? answer : { ...answer, spent };
}

function failureOf(error: unknown): Failure {
  if (!(error instanceof RuntimeError))
    return { class: "runtime", code: "protocol.failed", message: describeThrown(error) };
  const plugin = (error.details as { plugin?: string }).plugin;
  if (plugin !== undefined) return { class: "plugin", code: error.code, message: error.message, plugin };
  return { class: "runtime", code: error.code, message: error.message };
}

// ── Prepare ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The first round sets the turn up; later ones only ask whether the protocol wants another frame. */
function prepare(live: LiveTurn, effect: EffectOf<"prepare">, scope: Scope): Awaitable<Body> {
  if (effect.round === 1 || live.prompt === undefined)
    return after(setUp(live, effect, scope), (body) => beforeAsk(live, effect.round, body));
  return beforeAsk(live, effect.round, { kind: "prepared", ...flags(live) });
}

type Prepared = Extract<Body, { readonly kind: "prepared" }>;

/** Which stages have something to do. The same for every turn of a session with the same tools. */
function flags({ hooks, artifact, session }: LiveTurn): TurnFlags {
  const known = session.flags.get(artifact as Artifact);
  if (known !== undefined) return known;
  const policies = policiesOf(artifact as Artifact);
  const skips: Skips = {
    ...(hooks.slot("protocolSession")?.beforeAsk === undefined ? { prepare: true } : {}),
    ...(hooks.has("beforeToolCall") ? {} : { gate: true }),
    ...(hooks.has("afterToolCall") || hooks.has("projectResult") ? {} : { settle: true }),
    ...(hooks.has("afterTurn") || hooks.has("lifecycle") ? {} : { finalize: true }),
  };
  const found: TurnFlags = {
    skips,
    ...(hooks.has("response") ? { responds: true } : {}),
    ...(hooks.has("compact") ? { compacts: true } : {}),
    ...(policies === undefined ? {} : { policies }),
  };
  session.flags.set(artifact as Artifact, found);
  return found;
}

function policiesOf({ catalog }: Artifact): Policies | undefined {
  const own = catalog.names.flatMap((tool) => {
    const policy = catalog.find(tool)?.value.policy ?? {};
    return Object.keys(policy).length === 0 ? [] : [[tool, policy] as const];
  });
  return own.length === 0 ? undefined : Object.fromEntries(own);
}

/** With no plugin to ask and everything known from the turn before, there is nothing to wait for. */
function setUp(live: LiveTurn, effect: EffectOf<"prepare">, scope: Scope): Awaitable<Prepared> {
  const { core, session, hooks, opened } = live;
  if (
    hooks.has("context") ||
    hooks.has("beforeTurn") ||
    hooks.has("prompt") ||
    core.models.known(opened.config.model) === undefined
  )
    return setUpWithHooks(live, effect, scope);
  const artifact = core.artifacts.known(session);
  const prompt =
    opened.config.prompt === undefined ? artifact?.prompts.get(opened.config.instructions ?? "") : undefined;
  if (artifact === undefined || prompt === undefined) return setUpWithHooks(live, effect, scope);
  live.artifact = artifact;
  live.prompt = prompt;
  return { kind: "prepared", prompt: prompt.hash, catalog: artifact.hash, ...flags(live) };
}

async function setUpWithHooks(live: LiveTurn, effect: EffectOf<"prepare">, scope: Scope): Promise<Prepared> {
  const { core, session, hooks, opened } = live;
  const here = live.here(scope, effect.name);
  const artifact = await core.artifacts.of(session, here);
  live.artifact = artifact;
  const { instructions } = opened.config;
  const parts: PromptPart[] = [...layersOf(opened.config), ...artifact.prompt];
  const plain = parts.length;
  if (hooks.has("context")) parts.push(...(await transformContext(live, here)));
  const before = hooks.has("beforeTurn")
    ? obey(live, effect.name, await hooks.collect("beforeTurn", { input: inputOf(live) }, here))
    : NOTHING;
  if (hooks.has("prompt")) parts.push(...(await hooks.collect("prompt", {}, here)).map(({ value }) => value));
  live.prompt = await core.artifacts.prompt(parts, artifact.catalog.names);
  if (parts.length === plain && opened.config.prompt === undefined && artifact.prompts.size < 32)
    artifact.prompts.set(instructions ?? "", live.prompt);
  await core.models.require(opened.config.model); // Found before anything is paid for.
  return { kind: "prepared", prompt: live.prompt.hash, catalog: artifact.hash, ...flags(live), ...before };
}

function beforeAsk(live: LiveTurn, round: number, body: Prepared): Awaitable<Body> {
  const asked = live.hooks.slot("protocolSession")?.beforeAsk?.({ sessionId: live.sessionId, round });
  if (asked === undefined) return body;
  return after(asked, (frame) => (frame === undefined || frame === null ? body : { ...body, frame }));
}

/** The runtime's words and the session's, in this order; plugins follow. */
const layersOf = ({ instructions, prompt = [] }: SessionConfig): readonly PromptPart[] =>
  instructions === undefined ? prompt : [{ slot: "intro", text: instructions }, ...prompt];

async function transformContext(live: LiveTurn, here: Surroundings): Promise<readonly PromptPart[]> {
  const start: TurnContext = { messages: live.messages(), prompt: [] };
  const end = await live.hooks.transform(
    "context",
    start,
    here,
    (context) => ({ context }),
    (_, answer) => answer,
  );
  if (end.messages !== start.messages) {
    live.shown = { messages: end.messages, upTo: live.state.log.length };
  }
  return end.prompt;
}

function inputOf(live: LiveTurn): Message {
  const first = live.state.log.items[0];
  if (first?.kind !== "message")
    throw new RuntimeError("store.corrupt", { item: live.turnId, problem: "the turn has no input" });
  return first.message;
}

// ── Directives ──────────────────────────────────────────────────────────────────────────────────────────────────────

const NOTHING: { readonly messages?: readonly Draft[]; readonly abort?: Abort } = {};

/** Carries out what hooks asked for; what concerns the turn's log goes into the event. The last abort counts. */
function obey(live: LiveTurn, effect: EffectName, directives: readonly Owned<Directive>[]): typeof NOTHING {
  const messages: Draft[] = [];
  let abort: Abort | undefined;
  for (const { plugin, value } of directives) {
    if (value.kind === "emitEvent") live.emit(effect, plugin, value.name, value.payload);
    else if (value.kind === "emitTrace") live.trace(`${plugin}.${value.name}`, { payload: value.payload });
    else if (value.kind === "enqueueMessages")
      messages.push(...value.messages.map((message) => saidBy({ plugin, value: message })));
    else if (value.kind === "createSession") live.makeSession(plugin, value.request);
    else if (value.kind === "abortTurn") abort = { plugin, code: value.code, message: value.message };
  }
  return { ...(messages.length === 0 ? {} : { messages }), ...(abort === undefined ? {} : { abort }) };
}

const saidBy = ({ plugin, value: { role, parts } }: Owned<Draft>): Draft => ({
  role,
  parts,
  origin: { kind: "plugin", plugin },
});

// ── Ask and respond ─────────────────────────────────────────────────────────────────────────────────────────────────

async function askModel(live: LiveTurn, effect: EffectOf<"ask">, scope: Scope): Promise<Body> {
  const { core, opened, state, hooks } = live;
  live.transcript().requirePaired();
  const provider = core.models.known(opened.config.model) ?? (await core.models.require(opened.config.model));
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
  const { sessionId, turnId } = live;
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
  if (asked.kind === "replied") return asked;
  const { failure, partial, ...rest } = asked;
  if (failure instanceof HookStop) return { ...rest, error: failureOf(failure.cause), partial };
  const code = failure.class === "cancelled" ? "turn.cancelled" : "provider.failed";
  const message =
    failure.class === "cancelled"
      ? failure.message
      : describe("provider.failed", { route: opened.config.model, class: failure.class, problem: failure.message })
          .message;
  return { ...rest, error: { class: failure.class, code, message }, partial };
}

const missing = (hash: string): never => {
  throw new RuntimeError("store.corrupt", { item: `the attachment ${hash}`, problem: "its bytes are not there" });
};

/** Handlers of `stream` are called in line; only a promise is waited for. */
function streamTransform(
  live: LiveTurn,
  effect: EffectName,
  scope: Scope,
): (kind: "text" | "reasoning", delta: string) => Awaitable<ChunkAnswer> {
  const { hooks } = live;
  const here = live.here(scope, effect);
  const stop = (error: unknown): never => {
    throw new HookStop("A stream hook failed.", { cause: error });
  };
  return (kind, delta) => {
    const merge = (now: ChunkAnswer, answer: ChunkAnswer, plugin: string): ChunkAnswer => {
      for (const { name, payload } of answer.events ?? []) live.emit(effect, plugin, name, payload ?? null);
      const reasoning = (now.reasoning ?? "") + (answer.reasoning ?? "");
      return {
        delta: answer.delta ?? now.delta ?? delta,
        ...(reasoning === "" ? {} : { reasoning }),
        ...(now.abort === true || answer.abort === true ? { abort: true } : {}),
      };
    };
    try {
      const answer = hooks.transform(
        "stream",
        { delta } as ChunkAnswer,
        here,
        (now) => ({ chunk: { kind, delta: now.delta ?? delta } }),
        merge,
      );
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
    return { ...now, parts: answer.parts };
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
  return after(attempt(live, effect, scope), (output) => {
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

function boundary(live: LiveTurn, effect: EffectOf<"boundary">, scope: Scope): Awaitable<Body> {
  return after(live.core.store.inputs.claim(live.lease, effect.name, CLAIM_MAX), (claimed) => {
    const inputs = claimed.map(({ id: inputId, message }) => ({ inputId, message }));
    const body = { kind: "bounded", ...(inputs.length === 0 ? {} : { inputs }) } as const;
    if (!live.hooks.has("checkpoint")) return body;
    return after(live.hooks.collect("checkpoint", { at: effect.at }, live.here(scope, effect.name)), (directives) => ({
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
  const found = await live.hooks
    .first("compact", { messages: live.messages() }, live.here(scope, effect.name))
    .catch(failed);
  return found === undefined
    ? { kind: "compacted" }
    : { kind: "compacted", seed: found.value.map((value) => saidBy({ plugin: found.plugin, value })) };
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
