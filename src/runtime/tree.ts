import type { SessionId } from "../model/ids.ts";
import type { Spent } from "../model/usage.ts";

/** A session in its tree. */
export interface TreeSession {
  readonly id: SessionId;
  /** Its parent first, the root of its tree last. */
  readonly ancestors: readonly SessionId[];
}

/** A turn that spends: until it is committed, what it has spent is known here alone. */
export interface Spender {
  readonly session: TreeSession;
  spentSoFar(): readonly Spent[];
}
