/**
 * Whether inputs or appends may wait for a boundary of the turn. Unless `isNone` is true, the turn asks the store at each
 * boundary. It stays false with stores that never report pending inputs.
 *
 * 1. The turn asks at the next boundary for what this process accepts.
 * 2. The next append or mail reports what another process accepts. An earlier boundary leaves it to a later one or to the
 *    next turn.
 */
export interface Pending {
  /** The store reported that nothing waits, and this process has accepted nothing since. */
  isNone: boolean;
  /** When this process last accepted something. */
  acceptedAt: number;
}

/** The store answered a call of the time `sent`. An answer may miss what was accepted here at that time or later. */
export function updatePending(pending: Pending, is: boolean, sent: number): void {
  pending.isNone = !is && sent > pending.acceptedAt;
}

/** This process accepted something (1). */
export function markAccepted(pending: Pending, now: number): void {
  pending.isNone = false;
  pending.acceptedAt = now;
}
