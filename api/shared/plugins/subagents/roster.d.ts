declare const STATUSES: readonly ["running", "finished", "failed", "stopped"];
type Status = (typeof STATUSES)[number];
/** An agent as its owner, the session that started it, remembers it. */
interface Agent {
  /** The model's name for the agent: the id of the session that it was started as. */
  readonly name: string;
  /** The id of its session: the same as `name`, or of the copy that a fork continues. */
  readonly session: string;
  readonly capability: string;
  /** The beginning of its task, on one line. */
  readonly task: string;
  readonly status: Status;
  /** The id of the agent's latest turn. */
  readonly turn?: string;
  /** The id of the owner's turn that asked for it. */
  readonly by?: string;
  /** The head of the agent's conversation after that turn. */
  readonly head?: string;
}
export { Agent };
