import { ToolSchema } from "../../model/schema.js";
/** A task that the model may start. */
interface TaskOffer {
  /** What the task does and what comes of it. The model reads it to choose. */
  readonly description?: string | undefined;
  /**
   * What the model may pass, an object; it is shown this, and held to it besides what the task itself checks. Default: the
   * model is told nothing, for a plugin cannot read the schemas of another.
   */
  readonly input?: ToolSchema | undefined;
  /** The signals that such a job takes, each with the schema of its payload; the model is shown them. Default: none. */
  readonly signals?: {
    readonly [name: string]: ToolSchema;
  } | undefined;
  /** Allows a task whose plugin only another process has, as in `jobs.spawn`. Default: false. */
  readonly isElsewhere?: boolean | undefined;
}
interface JobsOptions {
  /** How long `jobs_wait` waits at most, in milliseconds. Default 7 days: a job may wait for a person. */
  readonly timeoutMs?: number | undefined;
  /**
   * The tasks that the model may start, by their whole names, such as `acme/reports.write`: it then has `jobs_start` and
   * `jobs_signal`. Default: none, and neither tool.
   */
  readonly tasks?: readonly string[] | {
    readonly [name: string]: TaskOffer;
  } | undefined;
  /**
   * How the model hears of the end of a job that it starts, where it does not say: `notify` waits until it next acts, `wake`
   * opens a turn, `none` leaves it to `jobs_wait`. Default `notify`.
   */
  readonly wake?: "none" | "notify" | "wake" | undefined;
}
export { JobsOptions, TaskOffer };
