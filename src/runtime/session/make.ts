import { isDeepStrictEqual } from "node:util";
import { parentOf } from "../../graph/history.ts";
import { answerProblem } from "../../kernel/answers.ts";
import type { CreatedSession, SessionKind } from "../../kernel/created.ts";
import {
  type CatalogOverlay,
  NEW_SESSION,
  type NewSessionRequest,
  type Permissions,
  type PluginOptions,
} from "../../kernel/session-requests.ts";
import type { SessionConfig } from "../../model/config.ts";
import { RuntimeError } from "../../model/errors.ts";
import { asSessionId, type NodeId, nodeId, type SessionId } from "../../model/ids.ts";
import { defined, isObject, type Json, type JsonObject, ownJson, toJson } from "../../model/json.ts";
import { type Known, requireKnown } from "../../model/known.ts";
import type { Draft } from "../../model/message.ts";
import { TOOLS_STATE } from "../../model/tool.ts";
import type { NewSession, PluginSnapshots, StoredSession } from "../../stores/store.ts";
import {
  checkedName,
  checkedOwner,
  checkedTags,
  ID_BYTES_MAX,
  requireConfig,
  requireOptions,
  wrongId,
} from "../checks.ts";
import type { Core } from "../core.ts";
import { whileSwept } from "../services/parts.ts";
import {
  BASE_TOOLS,
  FIRST_INPUT,
  LATEST,
  OVERLAY,
  PERMISSIONS,
  PROTOCOL,
  permissionsOf,
  requireStored,
} from "../services/reading.ts";
import { beginning } from "./begin.ts";
import { givenOptions, withOptions } from "./options.ts";
import { carriedOver, carryOver } from "./protocol.ts";
import type { LiveSession } from "./session.ts";
import type { KnownTranscript } from "./session-snapshot.ts";

/**
 * Creates a session: without a parent, as a child with its parent's permissions, or as a fork that shares history and
 * copies states. `by`: the session of the calling plugin. For an app: the session from which the new one comes.
 */
export async function makeSession(
  core: Core,
  request: AppSessionRequest & { readonly isEmpty?: true },
  by: StoredSession | undefined,
  plugin?: string,
): Promise<CreatedSession> {
  const { store, world } = core;
  requireRight(request);
  const { kind = "fresh", copiesState = false, seed } = request;
  const marks = checkedMarks(request);
  const config = ownJson(request.config ?? {}) as Partial<SessionConfig>;
  const from = kind === "fresh" ? undefined : request.from === undefined ? by : await requireStored(core, request.from);
  if (kind !== "fresh" && from === undefined)
    return wrong("a child and a fork need `from`, the session they come from");
  if (by?.owner !== undefined && from !== undefined) requireOwner(by, marks.owner);
  const permissions = narrowed(
    from === undefined ? {} : permissionsOf(from),
    request.permissions ?? {},
    plugin === undefined,
  );
  const given = givenOptions(core, request.options ?? [], "options");
  const options = from === undefined ? given : withOptions(from.options, given);
  const id = asSessionId(request.id === undefined ? world.id("ses") : checkedName(request.id, ID_BYTES_MAX, wrongId));
  const begin = (): Promise<PluginSnapshots> => beginning(core, id, request, plugin);
  const begun = await begin();
  // An empty fork copies no states. So this copies the protocol options that its origin set for all frames.
  const ofFork = kind === "fork" ? from?.plugins : undefined;
  const overlay = request.overlay ?? ofFork?.[OVERLAY]?.state;
  const baseTools = request.includeBaseTools ?? ofFork?.[BASE_TOOLS]?.state;
  const protocol = request.isEmpty === true && from !== undefined ? carriedOver(from) : undefined;
  const own = (state: Json): PluginSnapshots[string] => ({ version: "1", revision: 1, state });
  const plugins: PluginSnapshots = {
    ...(kind === "child" && copiesState && from !== undefined ? forChild(from.plugins) : {}),
    ...(from?.plugins[FIRST_INPUT] === undefined ? {} : { [FIRST_INPUT]: own(null) }),
    ...(Object.keys(permissions).length === 0 ? {} : { [PERMISSIONS]: own(permissions as unknown as Json) }),
    ...(overlay === undefined ? {} : { [OVERLAY]: own(ownJson(overlay)) }),
    ...(baseTools === undefined ? {} : { [BASE_TOOLS]: own(ownJson(baseTools)) }),
    ...(protocol === undefined ? {} : { [PROTOCOL]: own(protocol) }),
    ...begun,
  };
  const { label: _, ...inherited } = from?.config ?? {};
  const made: NewSession = {
    id,
    config:
      kind === "fork" ? { ...inherited, ...config } : from === undefined ? config : { ...modelOf(from), ...config },
    at: world.now(),
    ...(request.ifExists === "take" ? {} : { isNew: true }),
    // A fork of another session belongs to the calling session.
    ...(by !== undefined && (kind === "child" || (kind === "fork" && request.from !== undefined))
      ? { parentId: by.id }
      : {}),
    ...(Object.keys(plugins).length === 0 ? {} : { plugins }),
    ...(options === undefined ? {} : { options }),
    // A session that a plugin creates belongs to the owner of the plugin's session.
    ...(by?.owner === undefined ? {} : { owner: by.owner }),
    ...marks,
  };
  const isFork = kind === "fork" && request.isEmpty !== true;
  const create = async (): Promise<StoredSession> =>
    isFork && from !== undefined ? store.fork(from.id, made, request.at as NodeId | undefined) : store.create(made);
  let stored = await whileSwept(create, begin);
  if (request.ifExists === "take" && !isMadeAs(stored, made, isFork ? from?.id : undefined))
    throw new RuntimeError("session.exists", { id });
  if (isFork && from !== undefined) await carryOver(core, from, stored);
  if (seed !== undefined && seed.length > 0) stored = await sow(core, stored, seed);
  if (kind === "fork" && from !== undefined)
    await core.sessions.find(from.id)?.notifyLifecycle({ kind: "sessionForked", fork: id });
  const { parentId, head, origin } = stored;
  const madeAs: SessionKind = origin !== undefined ? "fork" : parentId !== undefined ? "child" : "fresh";
  return defined({ id, kind: madeAs, parentId, head });
}

/** `take` accepts only a session that the same request made. */
const isMadeAs = (stored: StoredSession, made: NewSession, from: SessionId | undefined): boolean =>
  stored.parentId === made.parentId &&
  stored.origin?.sessionId === from &&
  stored.owner === made.owner &&
  isDeepStrictEqual(stored.plugins[PERMISSIONS]?.state, made.plugins?.[PERMISSIONS]?.state);

/** The owner and the tags of a session. Both never change, and children and forks inherit both. */
export interface SessionMarks {
  /**
   * The user or tenant that the session belongs to: at most 256 bytes. An existing session of another owner throws
   * `session.owner`.
   */
  readonly owner?: string | undefined;
  /** At most 16 tags of 64 bytes. Ignored for an existing session. */
  readonly tags?: readonly string[] | undefined;
}
export interface AppSessionRequest extends NewSessionRequest, SessionMarks {}
const APP_SESSION: Known<AppSessionRequest> = { ...NEW_SESSION, owner: true, tags: true };

/** Checks the marks of a new session. */
export function checkedMarks({ owner, tags }: SessionMarks): Pick<NewSession, "owner" | "tags"> {
  return {
    ...(owner === undefined ? {} : { owner: checkedOwner(owner) }),
    ...(tags === undefined ? {} : { tags: checkedTags(tags) }),
  };
}

/** Throws `session.owner` if a session was asked for under another owner. */
export function requireOwner({ id, owner }: StoredSession, wanted: string | undefined): void {
  if (wanted !== undefined && owner !== wanted) throw new RuntimeError("session.owner", { id });
}

/** Creates a session for an app. `from` replaces the session of a calling plugin, because an app has none. */
export async function createForApp(core: Core, request: AppSessionRequest): Promise<CreatedSession> {
  requireOptions("sessions.create", request, APP_SESSION);
  const { from, ...rest } = request;
  if (from !== undefined && (rest.kind ?? "fresh") === "fresh") wrong("a fresh session comes from no other");
  return makeSession(core, rest, from === undefined ? undefined : await requireStored(core, from));
}

export interface ForkOptions {
  /** The last node that the fork shares. Default: the head. */
  readonly at?: string | undefined;
  /**
   * Instead of `at`: the first node that the fork does not share. Before the first node of all, the fork begins empty.
   */
  readonly before?: string | undefined;
  readonly id?: string | undefined;
  /** A name for people to read. */
  readonly label?: string | undefined;
  /** Edits of its catalog. They replace those of its origin. */
  readonly overlay?: readonly CatalogOverlay[] | undefined;
  /** Options of plugins. They replace those that the fork copies. They must be JSON without secrets. */
  readonly plugins?: readonly PluginOptions[] | undefined;
}
export const FORK: Known<ForkOptions> = { at: true, before: true, id: true, label: true, overlay: true, plugins: true };

/** `parent`: the parent of the node `before`, or null when that is the first one. */
export function forkRequest(options: ForkOptions, parent: NodeId | null | undefined): NewSessionRequest {
  if (parent !== undefined && options.at !== undefined)
    throw new RuntimeError("options.invalid", { option: "before", problem: "it cannot be combined with `at`" });
  const { at = parent ?? undefined, id, label, overlay, plugins } = options;
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

/** Forks a session that is open here. The fork shares the conversation in memory if it can, and then need not read it. */
export async function forkOf(
  { core, id, snapshot }: LiveSession,
  options: ForkOptions,
): Promise<{ readonly id: SessionId; readonly known: KnownTranscript | undefined }> {
  const { stored, transcript } = await snapshot.asStored();
  const request = forkRequest(options, await parentOf(core.store, id, options.before));
  const made = await makeSession(core, request, stored);
  const head = (request.at ?? stored.head) as NodeId | undefined;
  const shared = request.at === undefined || head === undefined ? transcript : transcript.until(head);
  return { id: made.id, known: head === undefined || shared === undefined ? undefined : { head, transcript: shared } };
}

/** A child runs on its parent's model unless its config names another. */
const modelOf = ({ config: { model } }: StoredSession): Partial<SessionConfig> =>
  model === undefined ? {} : { model };

/** Appends the seed once, also when the creation is repeated. Returns the session with the seed. */
async function sow(core: Core, stored: StoredSession, seed: readonly Draft[]): Promise<StoredSession> {
  const { id, createdAt: at, head } = stored; // The same content in every process that appends it.
  if (head !== undefined) return stored;
  const operation = `/seed/${id}`;
  const entries = seed.map(({ role, parts }, index) => ({
    at,
    kind: "message" as const,
    message: { id: nodeId(operation, index), role, parts, origin: { kind: "runtime" as const } },
  }));
  await core.store.apply({ sessionId: id, operation, at, entries, by: "append" });
  return requireStored(core, id);
}

/** A child begins without its parent's grants, protocol options and latest usage. */
function forChild({ [PROTOCOL]: _, [LATEST]: __, ...plugins }: PluginSnapshots): PluginSnapshots {
  const tools = plugins[TOOLS_STATE];
  if (tools === undefined) return plugins;
  return { ...plugins, [TOOLS_STATE]: { ...tools, state: { ...(tools.state as JsonObject), grants: {} } } };
}

/**
 * A child or a fork gets no tool that its origin lacks. If a plugin lists further tools, they are dropped, because a
 * plugin uses one list for all sessions. If an app lists further tools, this throws, because an app lists the tools of
 * one session.
 */
function narrowed(mine: Permissions, given: Permissions, isApp: boolean): Permissions {
  const wider = isApp ? given.toolAccess?.find((tool) => mine.toolAccess?.includes(tool) === false) : undefined;
  if (wider !== undefined)
    wrong(`its permissions include the tool ${wider}, which the session it comes from cannot use`);
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

const PERMISSION_NAMES: Known<Permissions> = { hiddenTools: true, toolAccess: true, subagent: true };

const wrong = (problem: string): never => {
  throw new RuntimeError("input.invalid", { problem });
};

const isSubagent = (given: unknown): boolean =>
  isObject(given) &&
  typeof given.capability === "string" &&
  [given.depth, given.depthMax].every((depth) => Number.isSafeInteger(depth) && Number(depth) >= 0);

function requireRight(request: NewSessionRequest): void {
  const {
    kind = "fresh",
    from,
    at,
    permissions,
    config,
    overlay,
    ifExists,
    seed,
    includeBaseTools,
    copiesState,
  } = request;
  const isNames = (names: unknown): boolean =>
    names === undefined || (Array.isArray(names) && names.every((name) => typeof name === "string"));
  if (!["fresh", "child", "fork"].includes(kind)) wrong("`kind` must be fresh, child or fork");
  if (kind !== "fork" && at !== undefined) wrong("only a fork begins `at` a node");
  if (kind !== "fork" && from !== undefined)
    wrong("a plugin's child belongs to the session that asks: leave `from` out");
  if (at !== undefined && typeof at !== "string") throw new RuntimeError("fork.unknown", { node: typeof at });
  for (const [option, value] of Object.entries({ includeBaseTools, copiesState }))
    if (value !== undefined && typeof value !== "boolean") wrong(`\`${option}\` must be true or false`);
  if (ifExists !== undefined && ifExists !== "refuse" && ifExists !== "take")
    wrong("`ifExists` must be refuse or take");
  if (config !== undefined) requireConfig(config);
  if (seed !== undefined) {
    if (kind === "fork") wrong("a fork begins with the conversation of its origin: leave `seed` out");
    const problem = answerProblem("compact", seed, "createSession");
    if (problem !== undefined) wrong(problem);
    const json = toJson(seed);
    if ("problem" in json) wrong(`\`seed\` must be JSON: ${json.path}: ${json.problem}`);
  }
  if (overlay !== undefined && !Array.isArray(overlay)) wrong("`overlay` must be a list of edits");
  for (const edit of overlay ?? []) {
    const problem = answerProblem("toolCatalog", edit, "createSession");
    if (problem !== undefined) wrong(`\`overlay\`: ${problem}`);
  }
  if (
    permissions !== undefined &&
    (!isObject(permissions) || !isNames(permissions.hiddenTools) || !isNames(permissions.toolAccess))
  )
    wrong("`permissions` must list tools by name");
  if (permissions !== undefined) requireKnown("permissions", permissions, PERMISSION_NAMES);
  const subagent: unknown = permissions?.subagent;
  if (subagent !== undefined && !isSubagent(subagent))
    wrong("`permissions.subagent` must have a text `capability`, and `depth` and `depthMax` as whole numbers");
}
