/** Ids that the compiler does not let you swap. The casts are in this file and nowhere else. */
declare const kind: unique symbol;
type Id<Kind extends string> = string & {
  readonly [kind]: Kind;
};
/** The id of a session: up to 256 bytes without control characters. The id of a deleted session cannot be used again. */
type SessionId = Id<"session">;
/** The id of a turn, made when its input is accepted. */
type TurnId = Id<"turn">;
type InputId = Id<"input">;
/** A commit and an index in it. Stores keep nodes a segment per commit, so the id says where to look. */
type NodeId = Id<"node">;
/** The provider's name for a call. Providers repeat these: identify a call by its position, never by this. */
type CallId = Id<"call">;
/** A position in the turn, such as `r2.call.0`. Unique in the turn, and the same in every run of it. */
type EffectName = Id<"effect">;
/** `sha256` of the content, in base64url. */
type BlobHash = Id<"blob">;
/** 128 random bits that address a durable wait. Whoever knows the key may answer: treat it as a secret. */
type WaitKey = Id<"wait">;
/** The public name of a wait, in events and lists. It answers nothing: only the key does. */
type WaitId = Id<"wait-id">;
/** The id of a background job. */
type JobId = Id<"job">;
/** A place in the order of all that happened to jobs: pass it to `jobs.changes` to go on after it. */
type JobCursor = Id<"job-cursor">;
/** A place in the order of all facts of a store: pass it to `observe` or `follow` to go on after it. */
type Cursor = Id<"cursor">;
export { BlobHash, CallId, Cursor, EffectName, InputId, JobCursor, JobId, NodeId, SessionId, TurnId, WaitId, WaitKey };
