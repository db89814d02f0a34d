/** Ids with separate types, so that the compiler detects a swap. Only this file has the casts. */
declare const kind: unique symbol;
type Id<Kind extends string> = string & { readonly [kind]: Kind };

/** The id of a session: up to 256 bytes without control characters. The id of a deleted session cannot be used again. */
export type SessionId = Id<"session">;
/** The id of a turn, made when its input is accepted. */
export type TurnId = Id<"turn">;
export type InputId = Id<"input">;
/**
 * The id of a node: a commit and an index in it. Stores keep one segment of nodes per commit, so the id shows where the
 * node is.
 */
export type NodeId = Id<"node">;
/** The provider's name for a call. Providers repeat these: identify a call by its position, never by this id. */
export type CallId = Id<"call">;
/** A position in the turn, such as `r2.call.0`. Unique in the turn, and the same in every run of it. */
export type EffectName = Id<"effect">;
/** `sha256` of the content, in base64url. */
export type BlobHash = Id<"blob">;
/** 128 random bits that address a durable wait. It is a secret: with the key, anyone can answer. */
export type WaitKey = Id<"wait">;
/** The public name of a wait, in events and lists. It cannot answer the wait: only the key can. */
export type WaitId = Id<"wait-id">;
/** The id of a background job. */
export type JobId = Id<"job">;
/** A position in the order of all changes of jobs. Pass it to `jobs.changes` to continue after it. */
export type JobCursor = Id<"job-cursor">;
/** A position in the order of all facts of a store. Pass it to `observe` or `follow` to continue after it. */
export type Cursor = Id<"cursor">;

export const asSessionId = (text: string): SessionId => text as SessionId;
export const asTurnId = (text: string): TurnId => text as TurnId;
export const asInputId = (text: string): InputId => text as InputId;
export const asCallId = (text: string): CallId => text as CallId;
export const asEffectName = (text: string): EffectName => text as EffectName;
export const asBlobHash = (text: string): BlobHash => text as BlobHash;
export const asWaitKey = (text: string): WaitKey => text as WaitKey;
export const asWaitId = (text: string): WaitId => text as WaitId;
export const asJobId = (text: string): JobId => text as JobId;
export const asJobCursor = (text: string): JobCursor => text as JobCursor;
export const asCursor = (text: string): Cursor => text as Cursor;

export const nodeId = (commit: string, index: number): NodeId => `${commit}.${index}` as NodeId;

/** The commit and index in a node id; undefined if the text is not a node id. */
export function nodeAddress(id: string): { readonly commit: string; readonly index: number } | undefined {
  const dot = id.lastIndexOf(".");
  const index = Number(id.slice(dot + 1));
  return dot > 0 && Number.isSafeInteger(index) && index >= 0 ? { commit: id.slice(0, dot), index } : undefined;
}
