import { AwaitJobsOptions, JobChanges, JobsFilter } from "../../kernel/job-options.js";
import { JobEvent, JobRecord } from "../../model/job.js";
import { Jobs } from "../../kernel/services.js";
import { Json } from "../../model/json.js";
interface AppJobs {
  /** The full service for the jobs of one session. */
  of(session: string): Jobs;
  /** Lists jobs of all sessions, or of one, in the order in which they started. */
  list(filter?: JobsFilter & {
    readonly session?: string | undefined;
  }): Promise<readonly JobRecord[]>;
  /** Throws `job.unknown`. */
  get(id: string): Promise<JobRecord>;
  /** What happened to a job, oldest first. Ids stand for the keys of waits. Throws `job.unknown`. */
  events(id: string): Promise<readonly JobEvent[]>;
  /** As `Jobs.cancel`, for a job of any session. */
  cancel(id: string, reason?: string): Promise<JobRecord>;
  /** As `Jobs.signal`, for a job of any session. */
  signal(id: string, name: string, payload?: Json, options?: {
    readonly key?: string | undefined;
  }): Promise<void>;
  /** As `Jobs.await`, for one job of any session. */
  await(id: string, options?: Omit<AwaitJobsOptions, "need">): Promise<JobRecord>;
  /** Jobs of all sessions that changed after a cursor, each once. */
  changes(after?: string, options?: {
    readonly max?: number | undefined;
  }): Promise<JobChanges>;
}
export { AppJobs };
