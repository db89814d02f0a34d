declare const STATUSES: readonly ["running", "finished", "failed", "stopped"];
type Status = (typeof STATUSES)[number];
/** An agent in the state of its owner, which is the session that started it. */
interface Agent {
  /** The model's name for the agent: the id of its first session. */
  readonly name: string;
  /** The id of its session: the same as `name`, or the id of a fork's copy. */
  readonly session: string;
  readonly capability: string;
  /** The beginning of its task, on one line. */
  readonly task: string;
  readonly status: Status;
  /** The id of the agent's latest turn. */
  readonly turn?: string;
  /** The id of the owner's turn that started the latest turn. */
  readonly by?: string;
  /** The head of the agent's conversation after that turn. */
  readonly head?: string;
}
export { Agent };
