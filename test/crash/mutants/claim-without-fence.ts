import { setTimeout as sleep } from "node:timers/promises";
import type { Store } from "bowline";
import { over, overJobs } from "./over.ts";

/** By this clock the time of whoever claimed before is over at the next look. */
const hastened = (now: number): number => now * 1_000;

/** How long a step is under way here: the other worker must come meanwhile, or there is nothing to be seen. */
const STEP_MS = 1_500;

/** A job is taken from whoever holds it. */
export const store = (inner: Store): Store => {
  const slow = overJobs(inner, {
    claim: (owner, now, max, operations) => inner.jobs.claim(owner, hastened(now), max, operations),
    async append(lease, events, now, more) {
      if (events.some(({ event }) => event.kind === "stepped" && event.name.startsWith("once/"))) await sleep(STEP_MS);
      return inner.jobs.append(lease, events, now, more);
    },
  });
  return over(slow, { agenda: (now, max, operations) => inner.agenda(hastened(now), max, operations) });
};
