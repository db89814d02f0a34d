import type { Store } from "bowline";
import { moment, overTriggers } from "./over.ts";

/** Something has happened, and the jobs that it starts are begun a moment later. */
export const store = (inner: Store): Store =>
  overTriggers(inner, {
    async occur(occurrence, deliveries, ...more) {
      const answer = await inner.triggers.occur(
        occurrence,
        deliveries.map(({ job: _, ...delivery }) => delivery),
        ...more,
      );
      const begin = async (): Promise<void> => {
        await moment();
        for (const { job } of deliveries) if (job !== undefined) await inner.jobs.spawn({ job }, Infinity);
      };
      if (answer.kind === "occurred") void begin();
      return answer;
    },
  });
