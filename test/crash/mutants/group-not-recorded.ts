import type { Store } from "bowline";
import { overJobs } from "./over.ts";

type Append = Store["jobs"]["append"];
type Keyed = Parameters<Append>[1][number];

/** A command begins before its group is recorded: that is written with what comes next. */
export const store = (inner: Store): Store => {
  const unwritten = new Map<string, readonly Keyed[]>();
  const append: Append = async (lease, events, now, more) => {
    const late = unwritten.get(lease.jobId) ?? [];
    unwritten.delete(lease.jobId);
    const isGroup = events.some(({ event }) => event.kind === "stepped" && event.name.startsWith("begun/"));
    const answer = await inner.jobs.append(lease, isGroup ? [] : [...late, ...events], now, more);
    if (!isGroup) return { ...answer, events: answer.events.slice(late.length) };
    unwritten.set(lease.jobId, events);
    return { ...answer, events: events.map((each) => ({ ...each, seq: answer.seq })) };
  };
  return overJobs(inner, { append });
};
