/**
 * `waited`: the turn was parked, or released while it only waited, and was resumed for an answer or a time. `fault`: a
 * process released it because the store failed. `crash`: a process died or closed in the middle of its work.
 */
type WhyResumed = "waited" | "fault" | "crash";
export { WhyResumed };
