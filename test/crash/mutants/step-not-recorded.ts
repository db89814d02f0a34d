import type { Store } from "bowline";
import { overJobs } from "./over.ts";

type Append = Store["jobs"]["append"];
type Keyed = Parameters<Append>[1][number];

/** A step returns before it is recorded: that is written when the job waits, or ends. */
export const store = (inner: Store): Store => {
  const unwritten = new Map<string, readonly Keyed[]>();
  const append: Append = async (lease, events, now, more) => {
    const late = unwritten.get(lease.jobId) ?? [];
    const isStep = events.length > 0 && events.every(({ event }) => event.kind === "stepped");
    if (isStep && more?.waits === undefined) {
      unwritten.set(lease.jobId, [...late, ...events]);
      const answer = await inner.jobs.append(lease, [], now);
      return { ...answer, events: events.map((each) => ({ ...each, seq: answer.seq })) };
    }
    unwritten.delete(lease.jobId);
    const answer = await inner.jobs.append(lease, [...late, ...events], now, more);
    return { ...answer, events: answer.events.slice(late.length) };
  };
  return overJobs(inner, { append });
};
