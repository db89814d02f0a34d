import { Transcript } from "../../graph/transcript.ts";
import type { Authority, CatalogOverlay, SessionReading } from "../../kernel/services.ts";
import { RuntimeError } from "../../model/errors.ts";
import { asSessionId, type BlobHash, type SessionId } from "../../model/ids.ts";
import { defined, type Json } from "../../model/json.ts";
import type { Message } from "../../model/message.ts";
import type { PluginSnapshots, StoredSession } from "../../stores/store.ts";
import { type Core, effectiveConfig } from "../core.ts";

/** Ids of what a session was created with: stored like plugin states, so that forks and restores carry it. */
export const AUTHORITY = "bowline/authority";
export const OVERLAY = "bowline/overlay";
export const FIRST_INPUT = "bowline/first-input";
export const PROTOCOL = "bowline/protocol";

/** What a session keeps for its protocol. */
export interface OfProtocol {
  /** The options that a turn begins with. */
  readonly options?: Json;
  /** What was last set for all frames, and how often that was done: a fork at an older node has it too. */
  readonly all?: { readonly nth: number; readonly value: Json };
}
export const ofProtocol = (plugins: PluginSnapshots): OfProtocol | undefined =>
  plugins[PROTOCOL]?.state as OfProtocol | undefined;

export const authorityOf = (stored: StoredSession): Authority => (stored.plugins[AUTHORITY]?.state ?? {}) as Authority;

/** The same for plugins, which see no authority where there are no restrictions. */
export function restrictionsOf(stored: StoredSession): { readonly authority?: Authority } {
  const authority = authorityOf(stored);
  return Object.keys(authority).length === 0 ? {} : { authority };
}

/** The edits to its catalog that a session was created with. */
export const overlayOf = (stored: StoredSession): readonly CatalogOverlay[] =>
  (stored.plugins[OVERLAY]?.state ?? []) as unknown as readonly CatalogOverlay[];

/** Throws `session.unknown`, also for ids that are no text. */
export async function requireStored({ store }: Core, id: string): Promise<StoredSession> {
  const stored = typeof id === "string" ? await store.load(asSessionId(id)) : undefined;
  if (stored === undefined) throw new RuntimeError("session.unknown", { id: typeof id === "string" ? id : typeof id });
  return stored;
}

/** Reads any session as last committed, open here or not. */
export async function snapshot(core: Core, given: string): Promise<SessionReading> {
  const stored = await requireStored(core, given);
  const segments = stored.head === undefined ? [] : await core.store.view(stored.id, { toFrame: true });
  return readingOf(core, stored, Transcript.from(segments).messages);
}

/** The bytes of an attachment that a message names. Throws `store.corrupt`: the model must not be shown empty ones. */
export async function requireAttachment({ store }: Core, hash: BlobHash): Promise<Uint8Array> {
  const data = await store.blobs.get(hash);
  if (data !== undefined) return data;
  throw new RuntimeError("store.corrupt", { item: `the attachment ${hash}`, problem: "its bytes are not there" });
}

const CHILDREN_MAX = 1_000;

export async function children(core: Core, parent: SessionId): Promise<readonly SessionReading[]> {
  const found = await core.store.list({ parent, max: CHILDREN_MAX });
  return found.map((stored) => readingOf(core, stored, []));
}

export function readingOf(core: Core, stored: StoredSession, messages: readonly Message[]): SessionReading {
  const { id, parentId, head, usage, turns, openTurn } = stored;
  const config = effectiveConfig(core, stored.config);
  return defined({ id, messages, config, usage, turns, parentId, head, openTurn, ...restrictionsOf(stored) });
}
