import { ToolSchema } from "../../model/schema.js";
/** A task that the model may start. */
interface TaskOffer {
  /** What the task does and returns. The model reads it to choose a task. */
  readonly description?: string | undefined;
  /**
   * The schema of the model's input, an object. The model sees the schema. Its input must fit this schema and the
   * task's own one. Default: the model sees no schema, because a plugin cannot read the schemas of another plugin.
   */
  readonly input?: ToolSchema | undefined;
  /** The signals of such a job, each with the schema of its payload. The model sees them. Default: none. */
  readonly signals?: {
    readonly [name: string]: ToolSchema;
  } | undefined;
  /** Allows a task whose plugin is installed only in another process, as in `jobs.spawn`. Default: false. */
  readonly isElsewhere?: boolean | undefined;
}
interface JobsOptions {
  /** The longest wait of `jobs_wait`, in milliseconds. Default 7 days, because a job can wait for a person. */
  readonly timeoutMs?: number | undefined;
  /**
   * The tasks that the model can start, by full name, such as `acme/reports.write`. With tasks the model has the tools
   * `jobs_start` and `jobs_signal`. Default: none.
   */
  readonly tasks?: readonly string[] | {
    readonly [name: string]: TaskOffer;
  } | undefined;
  /**
   * The default for how the end of a job reaches the model. `notify` waits until the model next acts, `wake` opens a
   * turn, `none` leaves it to `jobs_wait`. Default `notify`.
   */
  readonly wake?: "none" | "notify" | "wake" | undefined;
}
export { JobsOptions, TaskOffer };
