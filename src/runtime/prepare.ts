import type { Owned, TurnContext } from "../kernel/hooks.ts";
import { mergePrompt, renderPrompt } from "../kernel/prompt.ts";
import type { Surroundings } from "../kernel/run.ts";
import { secondLook } from "../kernel/seams.ts";
import type { Tool, ToolProvider } from "../kernel/tool.ts";
import { after } from "../model/awaitable.ts";
import { RuntimeError } from "../model/errors.ts";
import type { BlobHash } from "../model/ids.ts";
import type { Awaitable } from "../model/json.ts";
import type { Message } from "../model/message.ts";
import type { PromptPart } from "../model/prompt.ts";
import type { Scope } from "../model/scope.ts";
import { TOOLS_STATE } from "../model/tool.ts";
import { type EffectOf, name } from "../turn/effect.ts";
import type { Answer, Policies, Skips } from "../turn/event.ts";
import { type Artifact, NO_PARTS, type TurnFlags } from "./artifacts.ts";
import type { LiveTurn } from "./live.ts";
import { NOTHING, obey } from "./obey.ts";

type Prepared = Omit<Extract<Answer, { readonly kind: "prepared" }>, "at" | "effect" | "changes">;

/** The first round sets the turn up; later ones take in what may change between two model calls. */
export function prepare(live: LiveTurn, effect: EffectOf<"prepare">, scope: Scope): Awaitable<Prepared> {
  const prepared =
    effect.round === 1 || live.prompt === undefined ? setUp(live, effect, scope) : again(live, effect, scope);
  return after(prepared, (body) => beforeAsk(live, effect.round, body));
}

/** With no plugin to ask and everything known from the turn before, there is nothing to wait for. */
function setUp(live: LiveTurn, effect: EffectOf<"prepare">, scope: Scope): Awaitable<Prepared> {
  const { core, session, hooks, opened } = live;
  const { config, prompt: ofTurn } = opened;
  if (
    hooks.has("context") ||
    hooks.has("beforeTurn") ||
    hooks.has("prompt") ||
    config.prompt !== undefined ||
    ofTurn !== undefined ||
    core.models.known(config.model) === undefined ||
    session.toolset.refresh() !== undefined
  )
    return setUpWithHooks(live, effect, scope);
  session.toolset.begin();
  const artifact = session.toolset.known();
  const prompt = artifact?.prompts.get(config.instructions ?? "");
  if (artifact === undefined || prompt === undefined || !core.artifacts.isFresh(prompt))
    return setUpWithHooks(live, effect, scope);
  live.artifact = artifact;
  live.prompt = prompt;
  return { kind: "prepared", prompt: prompt.hash, catalog: artifact.hash, ...flags(live) };
}

async function setUpWithHooks(live: LiveTurn, effect: EffectOf<"prepare">, scope: Scope): Promise<Prepared> {
  const { core, session, hooks, opened } = live;
  const here = live.here(scope, effect.name);
  await session.toolset.refresh();
  session.toolset.begin();
  const { prompt: context, hasTools, undo } = await transformContext(live, here);
  let before: ReturnType<typeof obey>;
  try {
    before = hooks.has("beforeTurn")
      ? obey(live, effect.name, await hooks.collect("beforeTurn", { input: inputOf(live) }, here))
      : NOTHING;
    live.artifact = await session.toolset.artifact(here);
  } catch (error) {
    undo();
    throw error;
  }
  const { artifact, shown } = live;
  live.parts = { given: [...layersOf(live), ...context], plugins: await collected(live, here) };
  const tail = await render(live);
  const isPlain = live.parts.plugins.length + context.length === 0;
  const isShared = isPlain && opened.config.prompt === undefined && opened.prompt === undefined && !isVolatile(live);
  if (isShared && live.prompt !== undefined && artifact.prompts.size < 32)
    artifact.prompts.set(opened.config.instructions ?? "", live.prompt);
  await core.models.require(opened.config.model); // Found before anything is paid for.
  return {
    kind: "prepared",
    ...(live.prompt === undefined ? {} : { prompt: live.prompt.hash }),
    catalog: artifact.hash,
    ...(tail === "" ? {} : { tail }),
    ...(shown === undefined ? {} : { shown: await keepJson(live, shown.messages) }),
    ...(isPlain ? {} : { parts: await keepJson(live, live.parts) }),
    ...(hasTools ? { hasTools } : {}),
    ...flags(live),
    ...before,
  };
}

async function keepJson({ core }: LiveTurn, value: unknown): Promise<BlobHash> {
  return core.blobs.put(utf8.encode(JSON.stringify(value)));
}
const utf8 = new TextEncoder();

/**
 * A turn that another run left goes on with what it recorded: the same prompt, the same tools as the model was told of
 * them, the same view of the conversation. What runs the tools is today's.
 */
export async function recallPrepared(live: LiveTurn, scope: Scope): Promise<void> {
  const { core, session } = live;
  const recorded: { -readonly [K in "prompt" | "catalog" | "shown" | "parts"]?: BlobHash } = {};
  let hasTools = false;
  let isSinceChanged = false;
  for (const event of live.journal) {
    if ("changes" in event && event.changes !== undefined && Object.hasOwn(event.changes, TOOLS_STATE))
      isSinceChanged = true;
    if (event.kind !== "prepared") continue;
    isSinceChanged = false;
    if (event.prompt !== undefined) recorded.prompt = event.prompt;
    if (event.catalog !== undefined) recorded.catalog = event.catalog;
    if (event.shown !== undefined) recorded.shown = event.shown;
    if (event.parts !== undefined) recorded.parts = event.parts;
    hasTools ||= event.hasTools === true;
    live.tail = event.tail ?? "";
  }
  const text = async (hash: BlobHash): Promise<string> => {
    const data = await core.store.blobs.get(hash);
    if (data === undefined)
      throw new RuntimeError("store.corrupt", { item: `blob ${hash}`, problem: "it is not there" });
    return new TextDecoder().decode(data);
  };
  const here = live.here(scope, name("resume"));
  await session.toolset.refresh();
  session.toolset.begin();
  if (hasTools) await recallTools(live, here);
  const artifact = await session.toolset.artifact(here);
  if (!isSinceChanged) live.basis = artifact; // Else the next round is to be told of the change.
  const isSame = recorded.catalog === undefined || recorded.catalog === artifact.hash;
  live.artifact = isSame
    ? artifact
    : { ...artifact, declarations: JSON.parse(await text(recorded.catalog as BlobHash)) };
  if (recorded.prompt !== undefined)
    live.prompt = { system: await text(recorded.prompt), hash: recorded.prompt, putAt: core.world.now() };
  live.parts =
    recorded.parts === undefined
      ? { given: layersOf(live), plugins: [] }
      : (JSON.parse(await text(recorded.parts)) as typeof live.parts);
  if (recorded.shown !== undefined) live.shown = { messages: JSON.parse(await text(recorded.shown)), upTo: 1 };
}

/** Tools are live objects: they are asked for again, and nothing else of the answer counts. */
async function recallTools(live: LiveTurn, here: Surroundings): Promise<void> {
  const { end, tools } = await contextFrom(live, secondLook(here), { messages: live.messages(), prompt: [] });
  await live.session.toolset.overlay(tools, end.includeBaseTools ?? true);
}

/** Tools that were made callable, and what plugins say anew for every round. */
async function again(live: LiveTurn, effect: EffectOf<"prepare">, scope: Scope): Promise<Prepared> {
  const here = live.here(scope, effect.name);
  const artifact = await live.session.toolset.artifact(here);
  const isChanged = artifact !== (live.basis ?? live.artifact); // Not what was recorded: a turn keeps its tools.
  if (isChanged) {
    live.artifact = artifact;
    live.basis = artifact;
  }
  if (live.parts === NO_PARTS) live.parts = { given: layersOf(live), plugins: [] }; // No plugin had a part in it.
  if (isVolatile(live)) {
    const given = (await collected(live, here)).filter((part) => !isStable(part));
    live.parts = { ...live.parts, plugins: [...live.parts.plugins.filter(isStable), ...given], isVolatile: true };
  }
  const tail = isChanged ? await render(live) : renderTail(live);
  return {
    kind: "prepared",
    ...(isChanged ? { catalog: artifact.hash } : {}),
    ...(isChanged && live.prompt !== undefined ? { prompt: live.prompt.hash } : {}),
    ...(tail === "" ? {} : { tail }),
    ...flags(live),
  };
}

const collected = async ({ hooks }: LiveTurn, here: Surroundings): Promise<readonly PromptPart[]> =>
  hooks.has("prompt") ? (await hooks.collect("prompt", {}, here)).map(({ value }) => value) : [];

const isStable = (part: PromptPart): boolean => part.isVolatile !== true;
/** Once something volatile was said in a turn it is asked for again in each of its rounds. */
const isVolatile = ({ parts: { given, plugins, isVolatile: wasVolatile } }: LiveTurn): boolean =>
  wasVolatile === true || !given.every(isStable) || !plugins.every(isStable);

/** The system prompt from what stays, and the tail from what does not: a cached prefix never holds the latter. */
async function render(live: LiveTurn): Promise<string> {
  const { catalog } = live.artifact as Artifact;
  live.prompt = await live.core.artifacts.prompt(partsOf(live).filter(isStable), catalog.names);
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

/** The runtime's words, the session's and the turn's, in this order; the protocol's and the plugins' follow. */
function layersOf({ core, opened: { config, prompt: ofTurn = [] } }: LiveTurn): readonly PromptPart[] {
  const { instructions, prompt = [] } = config;
  const intro: readonly PromptPart[] = instructions === undefined ? [] : [{ slot: "intro", text: instructions }];
  return [...intro, ...core.prompt, ...prompt, ...ofTurn];
}

function beforeAsk(live: LiveTurn, round: number, body: Prepared): Awaitable<Prepared> {
  const asked = live.hooks.slot("protocolSession")?.beforeAsk?.({ sessionId: live.sessionId, round });
  if (asked === undefined) return body;
  return after(asked, (frame) => (frame === undefined || frame === null ? body : { ...body, frame }));
}

async function transformContext(
  live: LiveTurn,
  here: Surroundings,
): Promise<{ readonly prompt: readonly PromptPart[]; readonly hasTools: boolean; undo(): void }> {
  const { toolset } = live.session;
  if (!live.hooks.has("context")) return { prompt: [], hasTools: false, undo: await toolset.overlay([], true) };
  const start: TurnContext = { messages: live.messages(), prompt: [] };
  const { end, tools } = await contextFrom(live, here, start);
  if (end.messages !== start.messages) live.shown = { messages: end.messages, upTo: live.state.log.length };
  const { includeBaseTools = true } = end;
  return {
    prompt: end.prompt,
    hasTools: tools.length > 0 || !includeBaseTools,
    undo: await toolset.overlay(tools, includeBaseTools),
  };
}

/** Each tool belongs to the plugin that added it: it is given that plugin's state. */
async function contextFrom(
  live: LiveTurn,
  here: Surroundings,
  start: TurnContext,
): Promise<{ readonly end: TurnContext; readonly tools: readonly Owned<Tool | ToolProvider>[] }> {
  const owners = new Map<Tool | ToolProvider, string>();
  const end = await live.hooks.transform(
    "context",
    start,
    here,
    (context) => ({ context }),
    (_, answer, owner) => {
      for (const tool of answer.tools ?? []) if (!owners.has(tool)) owners.set(tool, owner);
      return answer;
    },
  );
  return { end, tools: (end.tools ?? []).map((value) => ({ plugin: owners.get(value) ?? "", value })) };
}

function inputOf(live: LiveTurn): Message {
  const first = live.state.log.items[0];
  if (first?.kind !== "message")
    throw new RuntimeError("store.corrupt", { item: live.turnId, problem: "the turn has no input" });
  return first.message;
}

/** Which stages have something to do. The same for every turn of a session with the same tools. */
function flags(live: LiveTurn): TurnFlags {
  const { artifact, session } = live;
  let found = session.flags.get(artifact as Artifact);
  if (found === undefined) {
    found = flagsOf(live);
    session.flags.set(artifact as Artifact, found);
  }
  if (found.skips?.prepare === undefined || !isVolatile(live)) return found;
  const { prepare: _, ...skips } = found.skips;
  return { ...found, skips };
}

function flagsOf({ hooks, artifact }: LiveTurn): TurnFlags {
  const policies = policiesOf(artifact as Artifact);
  const skips: Skips = {
    ...(hooks.slot("protocolSession")?.beforeAsk === undefined ? { prepare: true } : {}),
    ...(hooks.has("beforeToolCall") ? {} : { gate: true }),
    ...(hooks.has("afterToolCall") || hooks.has("projectResult") ? {} : { settle: true }),
    ...(hooks.has("afterTurn") || hooks.has("lifecycle") ? {} : { finalize: true }),
  };
  return {
    skips,
    ...(hooks.has("response") ? { responds: true } : {}),
    ...(hooks.has("compact") ? { compacts: true } : {}),
    ...(policies === undefined ? {} : { policies }),
  };
}

function policiesOf({ catalog }: Artifact): Policies | undefined {
  const own = catalog.callable.flatMap(([name, { value }]) =>
    Object.keys(value.policy).length === 0 ? [] : [[name, value.policy] as const],
  );
  return own.length === 0 ? undefined : Object.fromEntries(own);
}
