// The effect `prepare`: tools, prompt and view of the conversation for the next model call.
// Not its job: catalogs (`toolset/`), rendering (`kernel/prompt.ts`), reuse by later turns (`memo.ts`).
// prepare-1 A resumed turn has the recorded prompt, declarations and view of the conversation. The present code runs
// the tools.
// prepare-2 Volatile parts are in the tail and never in the system prompt, which a provider may cache.
// prepare-3 Blobs are stored before `prepared`, which refers to them.
// prepare-4 A failed set-up restores the turn's tools (`undo`).
import { graphUntil, jobsIn, membershipUntil } from "../../kernel/hook-event.ts";
import type { HookCallContext } from "../../kernel/hook-runner.ts";
import type { TurnContext } from "../../kernel/hook-values.ts";
import type { Owned } from "../../kernel/hooks.ts";
import { mergePrompt, renderPrompt } from "../../kernel/prompt.ts";
import { isToolProvider, type Tool, type ToolProvider } from "../../kernel/tool.ts";
import { secondLook } from "../../kernel/tool-gates.ts";
import { type Awaitable, once } from "../../model/awaitable.ts";
import { describe, RuntimeError } from "../../model/errors.ts";
import type { BlobHash, NodeId } from "../../model/ids.ts";
import { defined, frozen, isObject, ownJson, toJson } from "../../model/json.ts";
import { nearest } from "../../model/known.ts";
import type { Message } from "../../model/message.ts";
import type { PromptPart } from "../../model/prompt.ts";
import type { Scope } from "../../model/scope.ts";
import { OUTPUT_TOOL, TOOLS_STATE } from "../../model/tool.ts";
import type { Usage } from "../../model/usage.ts";
import { type EffectOf, name } from "../../turn/effect.ts";
import type { Answer } from "../../turn/event.ts";
import { type LatestUsage, latestOf } from "../services/reading.ts";
import type { ServiceContext } from "../services/service-context.ts";
import { type Artifact, NO_PARTS, type Put } from "../toolset/artifacts.ts";
import { requestOf } from "./ask.ts";
import { carryOut, NOTHING } from "./directives.ts";
import type { Stages } from "./memo.ts";
import type { LiveTurn } from "./turn.ts";

type PreparedBody = Omit<Extract<Answer, { readonly kind: "prepared" }>, "at" | "effect" | "changes">;

/** The first round sets the turn up. Later rounds apply what may change between two model calls. */
export function prepare(live: LiveTurn, effect: EffectOf<"prepare">, scope: Scope): Awaitable<PreparedBody> {
  if (effect.round > 1 && live.prompt !== undefined) return again(live, effect, scope);
  return remembered(live) ?? setUp(live, effect, scope);
}

/** A turn of a plain session without prompt parts reuses the preparation of the last such turn. */
function remembered(live: LiveTurn): PreparedBody | undefined {
  const { core, session, opened } = live;
  // A protocol with `beforeAsk` must be asked in the first round too.
  if (opened.prompt !== undefined || session.composition.stages.skips?.prepare !== true || !session.isPlain)
    return undefined;
  const known = core.plain.ofConfig(opened.config, live.lease);
  if (known === undefined) return undefined;
  const { artifact, prompt, setting } = known;
  live.setting = setting?.hash;
  live.artifact = artifact;
  live.prompt = prompt;
  return { kind: "prepared", prompt: prompt.hash, catalog: artifact.hash, ...known.stages };
}

async function setUp(live: LiveTurn, effect: EffectOf<"prepare">, scope: Scope): Promise<PreparedBody> {
  const { core, session, hooks, opened } = live;
  const { toolset } = session;
  const memo = opened.prompt === undefined && session.isPlain ? core.plain : session.memo;
  const callContext = once(() => live.context(scope, effect.name));
  const setting = await keptSetting(live);
  await toolset.refresh();
  toolset.begin();
  const { prompt: context, hasTools, undo } = await transformContext(live, callContext);
  const given = [...layersOf(live), ...context];
  let before: ReturnType<typeof carryOut>;
  let choices: unknown;
  try {
    before = hooks.has.beforeTurn
      ? carryOut(live, effect.name, await hooks.collect("beforeTurn", { input: inputOf(live) }, callContext()))
      : NOTHING;
    if (before.answer !== undefined && before.abort === undefined) {
      live.show.answered(effect.name, before.answer.text);
      return { kind: "prepared", ...session.composition.stages, ...before };
    }
    choices = choicesOf(live);
    live.artifact = await toolset.artifact(given, callContext, live.lease);
  } catch (error) {
    undo();
    throw error;
  }
  const { artifact } = live;
  const { shown } = live.conversation;
  if (hooks.has.beforeToolCall || hooks.has.afterToolCall) reportUnknownTools(live, artifact);
  live.parts = { given, plugins: await collected(live, callContext) };
  const isPlain = live.parts.plugins.length + context.length === 0;
  const known = isVolatile(live) ? undefined : memo.of(artifact, live.parts, live.lease);
  const tail = known === undefined ? await render(live) : "";
  if (known !== undefined) live.prompt = known.prompt;
  const stored = isPlain ? undefined : (known?.stored ?? (await keepJson(live, live.parts)));
  await core.models.require(opened.config.model); // A missing model fails here, before anything is paid for.
  const stages = stagesOf(live, artifact);
  if (!isVolatile(live) && live.prompt !== undefined)
    memo.keep({ config: opened.config, artifact, parts: live.parts, prompt: live.prompt, stored, setting, stages });
  return beforeAsk(
    live,
    effect.round,
    {
      kind: "prepared",
      ...(live.prompt === undefined ? {} : { prompt: live.prompt.hash }),
      catalog: artifact.hash,
      ...(tail === "" ? {} : { tail }),
      ...(shown === undefined ? {} : { shown: (await keepJson(live, shown.messages)).hash }),
      ...(stored === undefined ? {} : { parts: stored.hash }),
      ...(hasTools ? { hasTools } : {}),
      ...stages,
      ...before,
    },
    callContext,
    choices,
  );
}

/**
 * Reports tools that gates name and no source has, because a misspelled name leaves the intended tool without its gate. It
 * is an issue, not an error: tools may be added later, and sessions with other tools share a policy.
 */
function reportUnknownTools(live: LiveTurn, { declarations, catalog }: Artifact): void {
  const { hooks, session } = live;
  const gates = [...hooks.handlers("beforeToolCall"), ...hooks.handlers("afterToolCall")];
  const named = gates.flatMap(({ plugin, tools }) => [...(tools?.keys() ?? [])].map((tool) => ({ plugin, tool })));
  const offered = named.length === 0 ? undefined : session.toolset.offered;
  if (offered === undefined) return;
  const known = new Set([...offered, ...catalog.names, ...declarations.map((each) => each.name), OUTPUT_TOOL]);
  for (const { plugin, tool } of named) {
    if (known.has(tool) || !session.toolset.isFirstReport(`${plugin.id}/${tool}`)) continue;
    const meant = nearest(tool, [...known]);
    const { message, hint } = describe("gate.tool", defined({ tool, nearest: meant }));
    live.observed([{ plugin: plugin.id, code: "gate.tool", message, hint }]);
    if (meant !== undefined && live.core.telemetry === undefined) warn(`${plugin.id}: ${message}`, hint);
  }
}

/**
 * Shows a probable mistake to a developer who reads neither `issues` nor telemetry: without its gate a tool acts freely.
 * Once in a process, because every session repeats it.
 */
function warn(message: string, detail: string): void {
  if (WARNED.has(message)) return;
  WARNED.add(message);
  process.emitWarning(message, { type: "BowlineWarning", code: "gate.tool", detail });
}
const WARNED = new Set<string>();

/** prepare-3. The commit stores the journal, which refers to it. */
async function keptSetting(live: LiveTurn): Promise<Put | undefined> {
  const { core, opened, lease } = live;
  if (core.keepsJournals === undefined) return undefined;
  const setting = await core.artifacts.keepSetting(opened, lease);
  live.setting = setting.hash;
  return setting;
}

/** prepare-3 */
const keepJson = ({ core, lease }: LiveTurn, value: unknown): Promise<Put> =>
  core.artifacts.keep(JSON.stringify(value), lease);

/** prepare-1: reads the recorded preparation of an earlier run. */
export async function recallPrepared(live: LiveTurn, scope: Scope): Promise<void> {
  const { core, session, past: recorded } = live;
  if (recorded === undefined) return;
  live.tail = recorded.tail ?? "";
  await keptSetting(live);
  const text = async (hash: BlobHash): Promise<string> => {
    const data = await core.store.blobs.get(hash);
    if (data === undefined) throw new RuntimeError("store.corrupt", { item: `blob ${hash}`, problem: "it is missing" });
    return new TextDecoder().decode(data);
  };
  const callContext = once(() => live.context(scope, name("resume")));
  await session.toolset.refresh();
  session.toolset.begin();
  if (recorded.hasTools) await recallTools(live, callContext());
  live.parts =
    recorded.parts === undefined
      ? { given: layersOf(live), plugins: [] }
      : (JSON.parse(await text(recorded.parts)) as typeof live.parts);
  const artifact = await session.toolset.artifact(live.parts.given, callContext, live.lease);
  if (!recorded.hasOtherTools) live.basis = artifact; // Otherwise the next round must detect the change.
  const isSame = recorded.catalog === undefined || recorded.catalog === artifact.hash;
  live.artifact = isSame
    ? artifact
    : { ...artifact, declarations: JSON.parse(await text(recorded.catalog as BlobHash)) };
  if (recorded.prompt !== undefined)
    live.prompt = { system: await text(recorded.prompt), hash: recorded.prompt, sweeps: live.lease.sweeps ?? 0 };
  if (recorded.shown !== undefined)
    live.conversation.shown = { messages: JSON.parse(await text(recorded.shown)), upTo: recorded.shownUpTo ?? 1 };
}

/** Tools are live objects, so `context` hooks run again to get them. The rest of their answer is ignored. */
async function recallTools(live: LiveTurn, callContext: HookCallContext): Promise<void> {
  const { end, tools } = await contextFrom(live, secondLook(callContext), {
    messages: live.conversation.messages,
    prompt: [],
  });
  await live.session.toolset.overlay(tools, end.includeBaseTools ?? true);
}

/** In later rounds: applies changed tools and volatile prompt parts. */
async function again(live: LiveTurn, effect: EffectOf<"prepare">, scope: Scope): Promise<PreparedBody> {
  const callContext = once(() => live.context(scope, effect.name));
  if (live.parts === NO_PARTS) live.parts = { given: layersOf(live), plugins: [] }; // `remembered` sets no parts.
  const choices = choicesOf(live);
  const artifact = await live.session.toolset.artifact(live.parts.given, callContext, live.lease);
  // Compares with the present artifact, not the recorded one (prepare-1).
  const isChanged = artifact !== (live.basis ?? live.artifact);
  if (isChanged) {
    live.artifact = artifact;
    live.basis = artifact;
  }
  // After the first cell the prompt describes the variables of the code.
  if (isVolatile(live) || (live.state.code !== undefined && live.hooks.has.prompt)) {
    const given = (await collected(live, callContext)).filter((part) => !isStable(part));
    const plugins = [...live.parts.plugins.filter(isStable), ...given];
    live.parts = { ...live.parts, plugins, ...(given.length > 0 || isVolatile(live) ? { isVolatile: true } : {}) };
  }
  const tail = isChanged ? await render(live) : renderTail(live);
  return beforeAsk(
    live,
    effect.round,
    {
      kind: "prepared",
      ...(isChanged ? { catalog: artifact.hash } : {}),
      ...(isChanged && live.prompt !== undefined ? { prompt: live.prompt.hash } : {}),
      ...(tail === "" ? {} : { tail }),
      ...stagesOf(live, live.artifact as Artifact),
    },
    callContext,
    choices,
  );
}

const collected = async ({ hooks }: LiveTurn, callContext: () => HookCallContext): Promise<readonly PromptPart[]> =>
  hooks.has.prompt ? (await hooks.collect("prompt", {}, callContext())).map(({ value }) => value) : [];

const isStable = (part: PromptPart): boolean => part.isVolatile !== true;
/** Whether a part is volatile. After the first volatile part, `prompt` hooks run in every round of the turn. */
const isVolatile = ({ parts: { given, plugins, isVolatile: wasVolatile } }: LiveTurn): boolean =>
  wasVolatile === true || !given.every(isStable) || !plugins.every(isStable);

/** prepare-2 */
async function render(live: LiveTurn): Promise<string> {
  const { catalog } = live.artifact as Artifact;
  live.prompt = await live.core.artifacts.prompt(partsOf(live).filter(isStable), catalog.names, live.lease);
  return renderTail(live);
}

function renderTail(live: LiveTurn): string {
  const { catalog } = live.artifact as Artifact;
  const volatile = partsOf(live).filter((part) => !isStable(part));
  live.tail = volatile.length === 0 ? "" : renderPrompt(mergePrompt(volatile, catalog.names));
  return live.tail;
}

const partsOf = ({ artifact, parts: { given, plugins } }: LiveTurn): readonly PromptPart[] => [
  ...given,
  ...(artifact?.prompt ?? []),
  ...plugins,
];

/** The parts of the runtime, the session and the turn, in this order. Parts of the protocol and of plugins follow. */
function layersOf({ core, opened: { config, prompt: ofTurn = [] } }: LiveTurn): readonly PromptPart[] {
  const { instructions, prompt = [] } = config;
  const intro: readonly PromptPart[] = instructions === undefined ? [] : [{ slot: "intro", text: instructions }];
  return [...intro, ...core.prompt, ...prompt, ...ofTurn];
}

const choicesOf = ({ states }: LiveTurn): unknown => states.peek(TOOLS_STATE);

/**
 * A `prompt` hook or `beforeAsk` changed the tools after the catalog was made. The next model call must have the change,
 * because a resumed turn expects all recorded changes in the recorded catalog.
 */
async function retooled(
  live: LiveTurn,
  choices: unknown,
  body: PreparedBody,
  callContext: () => ServiceContext,
): Promise<PreparedBody> {
  if (choicesOf(live) === choices) return body;
  const artifact = await live.session.toolset.artifact(live.parts.given, callContext, live.lease);
  live.artifact = artifact;
  live.basis = artifact;
  const { tail: _, ...rest } = body;
  const tail = await render(live);
  return {
    ...rest,
    ...(live.prompt === undefined ? {} : { prompt: live.prompt.hash }),
    catalog: artifact.hash,
    ...(tail === "" ? {} : { tail }),
    ...stagesOf(live, artifact),
  };
}

/** Lets the protocol change the tools, or switch frames, before a model call. */
async function beforeAsk(
  live: LiveTurn,
  round: number,
  body: PreparedBody,
  callContext: () => ServiceContext,
  choices: unknown,
): Promise<PreparedBody> {
  const { hooks, session } = live;
  const protocol = hooks.slot("protocolSession");
  const ask = protocol?.beforeAsk;
  if (ask === undefined) return retooled(live, choices, body, callContext);
  const here = callContext();
  const plugin = hooks.ownerOf("protocolSession");
  // Before the first model call of the turn, this is the usage that the previous turn stored.
  const latest = round === 1 ? latestOf(session.snapshot.stored) : live.latest;
  const frame = await hooks.callSlot(
    "protocolSession",
    (scope) => {
      const services = here.service("session", plugin);
      return ask.call(protocol, {
        sessionId: live.sessionId,
        isRoot: session.ancestors.length === 0,
        turnId: live.turnId,
        round,
        request: frozen(requestOf(live)),
        state: services.read(),
        ...usageIn(live.conversation.transcript.frame, latest),
        session: services,
        membership: membershipUntil(scope, here, plugin, "beforeAsk"),
        graph: graphUntil(scope, here, plugin, "beforeAsk"),
        jobs: jobsIn(scope, here, plugin, "beforeAsk"),
        triggers: here.service("triggers", plugin),
        complete: here.service("complete", plugin),
        signal: scope.signal,
      });
    },
    here,
  );
  const prepared = await retooled(live, choices, body, callContext);
  if (frame === undefined || frame === null) return prepared;
  const problem = frameProblem(frame);
  if (problem !== undefined) throw new RuntimeError("hook.answer", { plugin, hook: "protocolSession", problem });
  return { ...prepared, frame: ownJson(frame) as NonNullable<PreparedBody["frame"]> };
}

/** The usage of the latest model call, if that call was in this frame. */
const usageIn = (frame: NodeId | undefined, latest: LatestUsage | undefined): { readonly latestUsage?: Usage } =>
  latest === undefined || latest.frame !== frame ? {} : { latestUsage: latest.usage };

function frameProblem(frame: unknown): string | undefined {
  if (!isObject(frame) || typeof frame.task !== "string") return "beforeAsk answers { task, seed?, name? } or nothing";
  if (frame.name !== undefined && typeof frame.name !== "string") return "the name of a frame is text";
  const json = toJson(frame.seed ?? null);
  return "problem" in json ? `the seed of a frame is not JSON: ${json.problem}` : undefined;
}

async function transformContext(
  live: LiveTurn,
  callContext: () => HookCallContext,
): Promise<{ readonly prompt: readonly PromptPart[]; readonly hasTools: boolean; undo(): void }> {
  const { toolset } = live.session;
  if (!live.hooks.has.context) return { prompt: [], hasTools: false, undo: await toolset.overlay([], true) };
  const start: TurnContext = { messages: live.conversation.messages, prompt: [] };
  const { end, tools } = await contextFrom(live, callContext(), start);
  if (end.messages !== start.messages)
    live.conversation.shown = { messages: end.messages, upTo: live.state.log.length };
  const { includeBaseTools = true } = end;
  return {
    prompt: end.prompt,
    hasTools: tools.length > 0 || !includeBaseTools,
    undo: await toolset.overlay(tools, includeBaseTools),
  };
}

/** Each tool belongs to the plugin that added it, and gets that plugin's state. Throws `tool.duplicate`. */
async function contextFrom(
  live: LiveTurn,
  callContext: HookCallContext,
  start: TurnContext,
): Promise<{ readonly end: TurnContext; readonly tools: readonly Owned<Tool | ToolProvider>[] }> {
  const owners = new Map<Tool | ToolProvider, string>();
  const { stored, transcript } = live.session.snapshot;
  const usage = usageIn(transcript.frame, latestOf(stored));
  const end = await live.hooks.transform(
    "context",
    start,
    callContext,
    (context) => ({ context, ...usage }),
    (_, answer, owner) => {
      for (const tool of answer.tools ?? []) if (!owners.has(tool)) owners.set(tool, owner);
      return answer;
    },
  );
  const tools = (end.tools ?? []).map((value) => ({ plugin: owners.get(value) ?? "", value }));
  requireDistinct(tools);
  return { end, tools };
}

/** A turn's tool may replace a tool of the session, but not another tool of this turn. */
function requireDistinct(tools: readonly Owned<Tool | ToolProvider>[]): void {
  const givers = new Map<string, string>();
  for (const { plugin, value } of tools) {
    if (isToolProvider(value)) continue; // A provider's list is not loaded yet, see `Toolset.overlay`.
    const before = givers.get(value.name);
    if (before !== undefined) throw new RuntimeError("tool.duplicate", { name: value.name, sources: [before, plugin] });
    givers.set(value.name, plugin);
  }
}

function inputOf(live: LiveTurn): Message {
  const first = live.state.log.items[0];
  if (first?.kind !== "message")
    throw new RuntimeError("store.corrupt", { item: live.turnId, problem: "the turn has no input" });
  return first.message;
}

/** The data about plugins and tools that `step` needs. With a volatile prompt no round may skip `prepare`. */
function stagesOf(live: LiveTurn, { policies }: Artifact): Stages {
  const { stages } = live.session.composition;
  if (stages.skips?.prepare === undefined || !isVolatile(live))
    return policies === undefined ? stages : { ...stages, policies };
  const { prepare: _, ...skips } = stages.skips;
  return { ...stages, skips, ...(policies === undefined ? {} : { policies }) };
}
