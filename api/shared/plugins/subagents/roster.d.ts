declare const STATUSES: readonly ["running", "finished", "failed", "stopped"];
type Status = (typeof STATUSES)[number];
/** What a session remembers of an agent. */
interface Agent {
  /** What the model calls it: the id of its session, unless that is a copy. */
  readonly name: string;
  /** The session that it is. */
  readonly session: string;
  readonly capability: string;
  /** Its beginning. */
  readonly task: string;
  readonly status: Status;
  /** The latest that was asked of it. */
  readonly turn?: string;
  /** The turn of ours that asked. */
  readonly by?: string;
  /** Where its conversation stood after that. */
  readonly head?: string;
}
export { Agent };
