// Jobs for apps: the jobs of all sessions, and the service of one session.
import type { AwaitJobsOptions, JobChanges, JobsFilter } from "../../kernel/job-options.ts";
import type { Jobs } from "../../kernel/services.ts";
import { RuntimeError } from "../../model/errors.ts";
import { asJobId } from "../../model/ids.ts";
import type { JobEvent, JobRecord } from "../../model/job.ts";
import { frozen, idText, type Json } from "../../model/json.ts";
import { APP } from "../../tools/catalog.ts";
import type { Core } from "../core.ts";
import { placeFor } from "../services/session-service.ts";
import { currentRecord } from "./await.ts";
import { withoutKeys } from "./recorded-events.ts";
import { changesOf, pageOf } from "./service.ts";

export interface AppJobs {
  /** The full service for the jobs of one session. */
  of(session: string): Jobs;
  /** Lists jobs of all sessions, or of one, in the order in which they started. */
  list(filter?: JobsFilter & { readonly session?: string | undefined }): Promise<readonly JobRecord[]>;
  /** Throws `job.unknown`. */
  get(id: string): Promise<JobRecord>;
  /** What happened to a job, oldest first. Ids stand for the keys of waits. Throws `job.unknown`. */
  events(id: string): Promise<readonly JobEvent[]>;
  /** As `Jobs.cancel`, for a job of any session. */
  cancel(id: string, reason?: string): Promise<JobRecord>;
  /** As `Jobs.signal`, for a job of any session. */
  signal(id: string, name: string, payload?: Json, options?: { readonly key?: string | undefined }): Promise<void>;
  /** As `Jobs.await`, for one job of any session. */
  await(id: string, options?: Omit<AwaitJobsOptions, "need">): Promise<JobRecord>;
  /** Jobs of all sessions that changed after a cursor, each once. */
  changes(after?: string, options?: { readonly max?: number | undefined }): Promise<JobChanges>;
}

const LIST_MAX = 1_000;

export function appJobs(open: () => Core): AppJobs {
  const of = (session: string): Jobs => open().background.jobs.at(placeFor({ core: open(), plugin: APP }, session));
  const ofJob = async (id: string): Promise<Jobs> => {
    const found = typeof id === "string" ? await open().store.jobs.load(asJobId(id)) : undefined;
    if (found === undefined) throw new RuntimeError("job.unknown", { id: idText(id) });
    return of(found.record.sessionId);
  };
  return {
    of,
    list: async (given = {}) => {
      const { session, ...filter } = given ?? {};
      if (session !== undefined) return of(session).list(filter);
      const core = open();
      const found = await core.store.jobs.list(pageOf(filter));
      return Promise.all(found.map(({ record }) => currentRecord(core, record)));
    },
    get: async (id) => (await ofJob(id)).get(id),
    events: async (id) => {
      const { store } = open();
      const events = typeof id === "string" ? await store.jobs.events(asJobId(id), 0) : [];
      if (events.length === 0) throw new RuntimeError("job.unknown", { id: idText(id) });
      return frozen(withoutKeys(events.map(({ event }) => event)));
    },
    cancel: async (id, reason) => (await ofJob(id)).cancel(id, reason),
    signal: async (id, name, payload, options) => (await ofJob(id)).signal(id, name, payload, options),
    await: async (id, options) => (await (await ofJob(id)).await([id], options))[0] as JobRecord,
    changes: async (after, { max = LIST_MAX } = {}) => changesOf(open(), after, { max }),
  };
}
