import { setTimeout as sleep } from "node:timers/promises";
import type { Store } from "bowline";
import { overJobs } from "./over.ts";

/** How long it waits for mail at most, so that there is some to be ignored. */
const MAIL_MS = 500;

/** A job is given up, whatever came for it first. */
export const store = (inner: Store): Store =>
  overJobs(inner, {
    async append(lease, events, now, more) {
      const { parks } = more ?? {};
      if (parks === undefined) return inner.jobs.append(lease, events, now, more);
      const hasMail = async (): Promise<boolean> => ((await inner.jobs.load(lease.jobId))?.seq ?? 0) > parks.seen;
      for (let ms = 0; ms < MAIL_MS && !(await hasMail()); ms += 2) await sleep(2);
      return inner.jobs.append(lease, events, now, { ...more, parks: { ...parks, seen: Infinity } });
    },
  });
