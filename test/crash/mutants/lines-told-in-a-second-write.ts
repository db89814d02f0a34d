import type { Store } from "bowline";
import { moment, overJobs } from "./over.ts";

/** What a command printed is kept, and its session is told of it a moment later. */
export const store = (inner: Store): Store =>
  overJobs(inner, {
    async append(lease, events, now, { wakes = [], ...more } = {}) {
      const isLater = more.says !== undefined && events.length === 0;
      const answer = await inner.jobs.append(lease, events, now, isLater ? more : { ...more, wakes });
      const tell = async (): Promise<void> => {
        await moment();
        for (const input of wakes) await inner.accept(input, { id: "", process: "" }, undefined as never, Infinity);
      };
      if (isLater) void tell();
      return answer;
    },
  });
