import { setTimeout as sleep } from "node:timers/promises";
import type { Store } from "bowline";
import { overJobs } from "./over.ts";

/** A job has ended, and its session is told a moment later. */
export const store = (inner: Store): Store =>
  overJobs(inner, {
    async append(lease, events, now, { wakes = [], ...more } = {}) {
      const isEnd = events.some(({ event }) => event.kind === "ended");
      const answer = await inner.jobs.append(lease, events, now, isEnd ? more : { ...more, wakes });
      const tell = async (): Promise<void> => {
        await sleep(2);
        for (const input of wakes) await inner.accept(input, { id: "", process: "" }, undefined as never, Infinity);
      };
      if (isEnd) void tell();
      return answer;
    },
  });
