import type { JobId, Store } from "bowline";
import { overJobs } from "./over.ts";

/** A job with a function that another process began is not known: whoever begins it again runs it again. */
export const store = (inner: Store): Store => {
  const known = new Set<string>();
  const forgotten = new Set<JobId>();
  return overJobs(inner, {
    async load(id) {
      const found = await inner.jobs.load(id);
      const isBound = found?.record.recovery === "owner-bound" && found.record.state === "running";
      const isForgotten = isBound && !known.has(id);
      known.add(id); // It is asked for before it is begun.
      if (isForgotten) forgotten.add(id);
      return isForgotten ? undefined : found;
    },
    async renew(owner, now, after) {
      const renewed = await inner.jobs.renew(owner, now, after);
      return { ...renewed, changed: [...renewed.changed, ...[...forgotten].map((jobId) => ({ jobId, seq: 0 }))] };
    },
  });
};
