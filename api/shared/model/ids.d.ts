/** Ids that cannot be swapped. The casts live in this file and nowhere else. */
declare const kind: unique symbol;
type Id<Kind extends string> = string & {
  readonly [kind]: Kind;
};
type SessionId = Id<"session">;
type TurnId = Id<"turn">;
type InputId = Id<"input">;
/** (commit, index): nodes are kept a segment per commit, so the id says where to look. */
type NodeId = Id<"node">;
/** The provider's name for a call. It is data and may repeat; a call's identity is its position. */
type CallId = Id<"call">;
/** A position in the turn, such as `r2.call.0`; unique in the turn. */
type EffectName = Id<"effect">;
/** `sha256` of the content, in base64url. */
type BlobHash = Id<"blob">;
/** 128 random bits that address a durable wait: whoever knows the key may answer. */
type WaitKey = Id<"wait">;
type Cursor = Id<"cursor">;
export { BlobHash, CallId, Cursor, EffectName, InputId, NodeId, SessionId, TurnId, WaitKey };
