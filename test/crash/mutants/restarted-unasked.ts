import type { Store } from "bowline";
import { overJobs } from "./over.ts";

/** Whoever goes on with a monitor starts its command again. */
export const store = (inner: Store): Store =>
  overJobs(inner, {
    async claim(...given) {
      const claimed = await inner.jobs.claim(...given);
      return claimed.map(({ record, ...each }) => ({
        ...each,
        record: { ...record, input: { ...(record.input as object), restarts: true } },
      }));
    },
  });
