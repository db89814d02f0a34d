/**
 * What a turn knows of inputs and appends that wait for one of its boundaries. While it knows nothing, the store is asked
 * at each one, and so it is with stores that never say.
 *
 * 1. What this process accepts for the session is looked for at the next boundary.
 * 2. What another process accepts is known here with the next append or mail. A boundary before that leaves it to a later
 *    one, or to the next turn.
 */
export interface Pending {
  /** The store has said that nothing waits, and nothing was accepted here since. */
  isNone: boolean;
  /** When something was last accepted here. */
  cameAt: number;
}

/** The store answered a call that was sent at that time. If it was no later than what came here, it may not know of that. */
export function told(pending: Pending, is: boolean, sent: number): void {
  pending.isNone = !is && sent > pending.cameAt;
}

/** Something was accepted here (1). */
export function came(pending: Pending, now: number): void {
  pending.isNone = false;
  pending.cameAt = now;
}
