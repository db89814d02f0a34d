import { HISTORY, type HistoryPage, historyOf, type Node, withTop } from "../../graph/history.ts";
import type { Segments } from "../../graph/segment.ts";
import { Transcript } from "../../graph/transcript.ts";
import type { SavedStates } from "../../kernel/created.ts";
import type { CatalogOverlay, Permissions, SessionReading } from "../../kernel/session-requests.ts";
import { RuntimeError } from "../../model/errors.ts";
import { asSessionId, type BlobHash, type NodeId, nodeId, type SessionId } from "../../model/ids.ts";
import { defined, type Json } from "../../model/json.ts";
import type { Message } from "../../model/message.ts";
import { TOOLS_STATE } from "../../model/tool.ts";
import type { Usage } from "../../model/usage.ts";
import type { ModelMismatch } from "../../model/view.ts";
import type { PluginSnapshots, StoredSession } from "../../stores/store.ts";
import { requireOptions } from "../checks.ts";
import { type Core, effectiveConfig } from "../core.ts";
import type { ServiceContext } from "./service-context.ts";

/**
 * Ids of the data with which a session was created. It is stored like plugin states, so that forks and restores copy
 * it.
 */
export const PERMISSIONS = "bowline/authority"; // The key of older versions: their files have it.
export const OVERLAY = "bowline/overlay";
export const FIRST_INPUT = "bowline/first-input";
export const PROTOCOL = "bowline/protocol";
export const BASE_TOOLS = "bowline/base-tools";
/** The usage of the latest model call. Stored only if a hook reads it. */
export const LATEST = "bowline/latest-usage";
const OWN = new Set([PERMISSIONS, OVERLAY, FIRST_INPUT, PROTOCOL, BASE_TOOLS, LATEST, TOOLS_STATE]);

/** Whether a state belongs to the runtime and not to a plugin. */
export const isOwnState = (id: string): boolean => OWN.has(id);

/** The states of plugins as a value, without the states of the runtime. */
export const savedStates = ({ plugins }: StoredSession): SavedStates =>
  Object.fromEntries(Object.entries(plugins).filter(([id]) => !isOwnState(id)));

/** The data that a session stores for its protocol. */
export interface OfProtocol {
  /** The options at the beginning of a turn. */
  readonly options?: Json;
  /**
   * The last options that were set for all frames, and how often they were set. A fork at an older node gets them too.
   */
  readonly all?: { readonly nth: number; readonly value: Json };
}
export const ofProtocol = (plugins: PluginSnapshots): OfProtocol | undefined =>
  plugins[PROTOCOL]?.state as OfProtocol | undefined;

export const permissionsOf = (stored: StoredSession): Permissions =>
  (stored.plugins[PERMISSIONS]?.state ?? {}) as Permissions;

/** The same for plugins, which get no `permissions` if there are no restrictions. */
export function restrictionsOf(stored: StoredSession): { readonly permissions?: Permissions } {
  const permissions = permissionsOf(stored);
  return Object.keys(permissions).length === 0 ? {} : { permissions };
}

/** The edits to its catalog that a session was created with. */
export const overlayOf = (stored: StoredSession): readonly CatalogOverlay[] =>
  (stored.plugins[OVERLAY]?.state ?? []) as unknown as readonly CatalogOverlay[];

export interface LatestUsage {
  readonly usage: Usage;
  /** The active frame at that call. */
  readonly frame?: NodeId | undefined;
}
export const latestOf = ({ plugins }: StoredSession): LatestUsage | undefined =>
  plugins[LATEST]?.state as LatestUsage | undefined;

/** The ledger has the models of earlier turns: once a turn has used the present default, nothing is reported. */
export function modelMismatch(core: Core, { config, ledger }: StoredSession): ModelMismatch | undefined {
  if (config.model !== undefined) return undefined;
  const actual = core.config.model;
  const used = ledger.filter(({ source }) => source === "turn" || source.startsWith("subagent/"));
  const last = used.at(-1);
  if (last === undefined || used.some(({ model }) => model === actual)) return undefined;
  return { expected: last.model, actual };
}

/** Throws `session.unknown`, also for ids that are not strings. */
export async function requireStored({ store }: Core, id: string): Promise<StoredSession> {
  const stored = typeof id === "string" ? await store.load(asSessionId(id)) : undefined;
  if (stored === undefined) throw new RuntimeError("session.unknown", { id: typeof id === "string" ? id : typeof id });
  return stored;
}

/** A session and its ancestors, up to the root. A deleted session ends the list. */
export async function lineOf({ store }: Core, session: SessionId): Promise<readonly SessionId[]> {
  const line: SessionId[] = [];
  let at: SessionId | undefined = session;
  for (; at !== undefined && !line.includes(at); at = (await store.load(at))?.parentId) line.push(at);
  return line;
}

/** Reads the committed data of any session. It need not be open here. */
export async function snapshot(core: Core, given: string): Promise<SessionReading> {
  const stored = await requireStored(core, given);
  const segments = stored.head === undefined ? [] : await core.store.view(stored.id, { toFrame: true });
  return readingOf(core, stored, Transcript.from(segments).messages);
}

/** A page of a session's history. The session need not be open here. */
export async function historyIn(segments: Segments, id: SessionId, page: HistoryPage): Promise<readonly Node[]> {
  requireOptions("session.history", page, HISTORY);
  return historyOf(segments, id, page);
}

/** The same for a plugin. A page of the plugin's session includes what the turn or the operation has added so far. */
export async function historyFor(
  { core, session, added }: ServiceContext,
  page: HistoryPage,
  id: string,
): Promise<readonly Node[]> {
  const { store } = core;
  const { id: given } = session;
  if (id !== given) return historyIn(store, (await requireStored(core, id)).id, page);
  // A plugin can still use the service of a turn that is committed.
  const isOpen =
    added !== undefined && added.entries.length > 0 && !(await store.holds(given, nodeId(added.commit, 0)));
  return historyIn(isOpen ? withTop(store, added) : store, given, page);
}

/**
 * The bytes of an attachment in a message. Throws `store.corrupt` if they are missing, because the model must not get
 * an empty attachment.
 */
export async function requireAttachment({ store }: Core, hash: BlobHash): Promise<Uint8Array> {
  const data = await store.blobs.get(hash);
  if (data !== undefined) return data;
  throw new RuntimeError("store.corrupt", { item: `the attachment ${hash}`, problem: "its bytes are missing" });
}

const CHILDREN_MAX = 1_000;

export async function children(core: Core, parent: SessionId): Promise<readonly SessionReading[]> {
  const found = await core.store.list({ parent, max: CHILDREN_MAX });
  const stored = await Promise.all(found.map(({ id }) => core.store.load(id)));
  return stored.flatMap((session) => (session === undefined ? [] : [readingOf(core, session, [])]));
}

export function readingOf(core: Core, stored: StoredSession, messages: readonly Message[]): SessionReading {
  const { id, parentId, head, usage, ledger, turns, openTurn } = stored;
  const config = effectiveConfig(core, stored.config);
  const protocolOptions = ofProtocol(stored.plugins)?.options;
  const about = { modelMismatch: modelMismatch(core, stored), ...restrictionsOf(stored) };
  return defined({ id, messages, config, usage, ledger, turns, parentId, head, openTurn, protocolOptions, ...about });
}
