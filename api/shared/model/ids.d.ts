/** Ids with separate types, so that the compiler detects a swap. Only this file has the casts. */
declare const kind: unique symbol;
type Id<Kind extends string> = string & {
  readonly [kind]: Kind;
};
/** The id of a session: up to 256 bytes without control characters. The id of a deleted session cannot be used again. */
type SessionId = Id<"session">;
/** The id of a turn, made when its input is accepted. */
type TurnId = Id<"turn">;
type InputId = Id<"input">;
/**
 * The id of a node: a commit and an index in it. Stores keep one segment of nodes per commit, so the id shows where the
 * node is.
 */
type NodeId = Id<"node">;
/** The provider's name for a call. Providers repeat these: identify a call by its position, never by this id. */
type CallId = Id<"call">;
/** A position in the turn, such as `r2.call.0`. Unique in the turn, and the same in every run of it. */
type EffectName = Id<"effect">;
/** `sha256` of the content, in base64url. */
type BlobHash = Id<"blob">;
/** 128 random bits that address a durable wait. It is a secret: with the key, anyone can answer. */
type WaitKey = Id<"wait">;
/** The public name of a wait, in events and lists. It cannot answer the wait: only the key can. */
type WaitId = Id<"wait-id">;
/** The id of a background job. */
type JobId = Id<"job">;
/** A position in the order of all changes of jobs. Pass it to `jobs.changes` to continue after it. */
type JobCursor = Id<"job-cursor">;
/** A position in the order of all facts of a store. Pass it to `observe` or `follow` to continue after it. */
type Cursor = Id<"cursor">;
export { BlobHash, CallId, Cursor, EffectName, InputId, JobCursor, JobId, NodeId, SessionId, TurnId, WaitId, WaitKey };
