import { parentOf } from "../../graph/history.ts";
import { answerProblem } from "../../kernel/answers.ts";
import type { Authority, CatalogOverlay, NewSessionRequest, PluginOptions } from "../../kernel/services.ts";
import type { SessionConfig } from "../../model/config.ts";
import { RuntimeError } from "../../model/errors.ts";
import { asSessionId, type NodeId, nodeId, type SessionId } from "../../model/ids.ts";
import { defined, isObject, type Json, type JsonObject, ownJson } from "../../model/json.ts";
import { type Known, requireKnown } from "../../model/known.ts";
import type { Draft } from "../../model/message.ts";
import { TOOLS_STATE } from "../../model/tool.ts";
import type { NewSession, PluginSnapshots, StoredSession } from "../../stores/store.ts";
import { checkedId, requireConfig } from "../checks.ts";
import type { Core } from "../core.ts";
import { AUTHORITY, authorityOf, FIRST_INPUT, OVERLAY, PROTOCOL, requireStored } from "../services/reading.ts";
import type { KnownTranscript } from "./kept.ts";
import { givenOptions, withOptions } from "./options.ts";
import { carriedOver, carryOver } from "./protocol.ts";
import type { LiveSession } from "./session.ts";

/** Creates a session: on its own, as a child with its authority, or as a fork that shares history and copies states. */
export async function makeSession(
  core: Core,
  request: NewSessionRequest & { readonly isEmpty?: true },
  by: StoredSession,
): Promise<SessionId> {
  const { store, world } = core;
  requireRight(request);
  const { kind = "fresh", firstInput, copiesState = false, seed } = request;
  const config = ownJson(request.config ?? {}) as Partial<SessionConfig>;
  const from = request.from === undefined || kind !== "fork" ? by : await requireStored(core, request.from);
  const authority = narrowed(kind === "fresh" ? {} : authorityOf(from), request.authority ?? {});
  const given = givenOptions(core, request.options ?? [], "options");
  const options = kind === "fresh" ? given : withOptions(from.options, given);
  const id = asSessionId(request.id === undefined ? world.id("ses") : checkedId(request.id));
  const { label: _, ...inherited } = from.config;
  // A fork that begins empty copies no states, so the store would not keep what its origin has for all frames.
  const overlay = request.overlay ?? (kind === "fork" ? from.plugins[OVERLAY]?.state : undefined);
  const protocol = request.isEmpty === true ? carriedOver(from) : undefined;
  const own = (state: Json): PluginSnapshots[string] => ({ version: "1", revision: 1, state });
  const plugins: PluginSnapshots = {
    ...(kind === "child" && copiesState ? forChild(from.plugins) : {}),
    ...(from.plugins[FIRST_INPUT] === undefined || kind === "fresh" ? {} : { [FIRST_INPUT]: own(null) }),
    ...(Object.keys(authority).length === 0 ? {} : { [AUTHORITY]: own(authority as unknown as Json) }),
    ...(overlay === undefined ? {} : { [OVERLAY]: own(ownJson(overlay)) }),
    ...(protocol === undefined ? {} : { [PROTOCOL]: own(protocol) }),
    ...(firstInput === undefined ? {} : { [FIRST_INPUT]: own(firstInput) }),
  };
  const made: NewSession = {
    id,
    config: kind === "fork" ? { ...inherited, ...config } : kind === "child" ? { ...modelOf(from), ...config } : config,
    at: world.now(),
    ...(request.ifExists === "take" ? {} : { isNew: true }),
    // A fork of another session belongs to the one that asks for it.
    ...(kind === "child" || (kind === "fork" && request.from !== undefined) ? { parentId: by.id } : {}),
    ...(Object.keys(plugins).length === 0 ? {} : { plugins }),
    ...(options === undefined ? {} : { options }),
  };
  if (kind === "fork" && request.isEmpty !== true)
    await carryOver(core, from, await store.fork(from.id, made, request.at as NodeId | undefined));
  else await store.create(made);
  if (seed !== undefined && seed.length > 0) await sow(core, id, seed);
  if (kind === "fork") await core.sessions.find(from.id)?.tell({ kind: "sessionForked", fork: id });
  return id;
}

export interface ForkOptions {
  /** The last node that the fork has. Default: the head. */
  readonly at?: string | undefined;
  /** Instead of `at`: the first node that the fork does not have. Before the very first one, it begins empty. */
  readonly before?: string | undefined;
  readonly id?: string | undefined;
  /** A name for people to read. */
  readonly label?: string | undefined;
  /** Edits of its catalog, in place of those of its origin. */
  readonly overlay?: readonly CatalogOverlay[] | undefined;
  /** Options of plugins, in place of those that the fork takes over. JSON, and no secrets. */
  readonly plugins?: readonly PluginOptions[] | undefined;
}
export const FORK: Known<ForkOptions> = { at: true, before: true, id: true, label: true, overlay: true, plugins: true };

/** `parent`: the parent of the node `before`, or null when that is the first one. */
export function forkRequest(options: ForkOptions, parent: NodeId | null | undefined): NewSessionRequest {
  if (parent !== undefined && options.at !== undefined)
    throw new RuntimeError("options.invalid", { option: "before", problem: "it stands in the place of at" });
  const { at = parent ?? undefined, id, label, overlay, plugins } = options;
  if (at !== undefined && typeof at !== "string") throw new RuntimeError("fork.unknown", { node: typeof at });
  requireConfig({ label }, "fork");
  const config = label === undefined ? undefined : { label };
  return defined({
    kind: "fork" as const,
    id,
    at,
    config,
    overlay,
    options: plugins,
    ...(parent === null ? { isEmpty: true } : {}),
  });
}

/** Forks a session that is open here; the fork takes its conversation over where it can, and need not read it. */
export async function forkOf(
  { core, id, kept }: LiveSession,
  options: ForkOptions,
): Promise<{ readonly id: SessionId; readonly known: KnownTranscript | undefined }> {
  const { stored, transcript } = await kept.asStored();
  const request = forkRequest(options, await parentOf(core.store, id, options.before));
  const made = await makeSession(core, request, stored);
  const head = (request.at ?? stored.head) as NodeId | undefined;
  const shared = request.at === undefined || head === undefined ? transcript : transcript.until(head);
  return { id: made, known: head === undefined || shared === undefined ? undefined : { head, transcript: shared } };
}

/** A child runs on its parent's model unless its config names another. */
const modelOf = ({ config: { model } }: StoredSession): Partial<SessionConfig> =>
  model === undefined ? {} : { model };

/** Appends the seed once, however often the creation is repeated. */
async function sow({ store }: Core, id: SessionId, seed: readonly Draft[]): Promise<void> {
  const stored = await store.load(id);
  if (stored === undefined || stored.head !== undefined) return;
  const operation = `/seed/${id}`;
  const at = stored.createdAt; // The same content, whichever process appends it.
  const entries = seed.map(({ role, parts }, index) => ({
    at,
    kind: "message" as const,
    message: { id: nodeId(operation, index), role, parts, origin: { kind: "runtime" as const } },
  }));
  await store.apply({ sessionId: id, operation, at, entries, by: "append" });
}

/** Grants, and what its protocol keeps, are a session's own: a child begins without them. */
function forChild({ [PROTOCOL]: _, ...plugins }: PluginSnapshots): PluginSnapshots {
  const tools = plugins[TOOLS_STATE];
  if (tools === undefined) return plugins;
  return { ...plugins, [TOOLS_STATE]: { ...tools, state: { ...(tools.state as JsonObject), grants: {} } } };
}

/** Authority only narrows: a child or a fork has no tool that the session it comes from lacks. */
function narrowed(mine: Authority, given: Authority): Authority {
  const hidden = [...new Set([...(mine.hiddenTools ?? []), ...(given.hiddenTools ?? [])])];
  const access =
    mine.toolAccess === undefined
      ? given.toolAccess
      : (given.toolAccess ?? mine.toolAccess).filter((tool) => mine.toolAccess?.includes(tool));
  const subagent = given.subagent ?? mine.subagent;
  return {
    ...(hidden.length === 0 ? {} : { hiddenTools: hidden }),
    ...(access === undefined ? {} : { toolAccess: access }),
    ...(subagent === undefined ? {} : { subagent }),
  };
}

const AUTHORITY_NAMES: Known<Authority> = { hiddenTools: true, toolAccess: true, subagent: true };

function requireRight({ kind, authority, firstInput, config, overlay, ifExists, seed }: NewSessionRequest): void {
  const wrong = (problem: string): never => {
    throw new RuntimeError("input.invalid", { problem });
  };
  const isNames = (names: unknown): boolean =>
    names === undefined || (Array.isArray(names) && names.every((name) => typeof name === "string"));
  if (kind !== undefined && !["fresh", "child", "fork"].includes(kind))
    wrong("a session is made fresh, as a child or as a fork");
  if (ifExists !== undefined && ifExists !== "refuse" && ifExists !== "take") wrong("ifExists is refuse or take");
  if (config !== undefined) requireConfig(config);
  if (seed !== undefined) {
    const problem = answerProblem("compact", seed, "createSession");
    if (problem !== undefined) wrong(problem);
  }
  if (overlay !== undefined && !Array.isArray(overlay)) wrong("its overlay is no list of edits");
  for (const edit of overlay ?? []) {
    const problem = answerProblem("toolCatalog", edit, "createSession");
    if (problem !== undefined) wrong(`its overlay: ${problem}`);
  }
  if (firstInput !== undefined && typeof firstInput !== "string") wrong("its first input is no text");
  if (
    authority !== undefined &&
    (!isObject(authority) || !isNames(authority.hiddenTools) || !isNames(authority.toolAccess))
  )
    wrong("its authority must list tools by name");
  if (authority !== undefined) requireKnown("authority", authority, AUTHORITY_NAMES);
}
