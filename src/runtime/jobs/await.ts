// Waits for jobs of any process.
import { RuntimeError } from "../../model/errors.ts";
import type { JobId } from "../../model/ids.ts";
import { isOver, type JobRecord } from "../../model/job.ts";
import type { Core } from "../core.ts";
import { POLL_MS } from "../poller.ts";

/**
 * Adds what is not stored to a record: whether this process lacks the task of the job, and the state of a subagent,
 * which follows from the turns of its session.
 */
export async function currentRecord({ store, background }: Core, record: JobRecord): Promise<JobRecord> {
  if (isOver(record)) return record;
  const { operation } = record;
  if (operation !== undefined && !background.operations.includes(operation)) return { ...record, isElsewhere: true };
  if (record.kind !== "subagent" || record.childId === undefined) return record;
  const child = await store.load(record.childId);
  if (child === undefined) return { ...record, state: "abandoned" }; // It was deleted.
  const isWorking =
    child.openTurn !== undefined || (await store.inputs.list(child.id)).some(({ place }) => place !== "injected");
  return { ...record, state: isWorking ? "running" : "idle" };
}

/** The records of these jobs, without deleted jobs. */
export async function recordsOf(core: Core, ids: readonly JobId[]): Promise<readonly JobRecord[]> {
  const found = await Promise.all(ids.map((id) => core.store.jobs.load(id)));
  return Promise.all(found.flatMap((each) => (each === undefined ? [] : [currentRecord(core, each.record)])));
}

export const isSettled = (record: JobRecord | undefined): boolean =>
  record === undefined || isOver(record) || record.state === "idle";

/** Waits until jobs have ended or are idle. Reads only changed jobs again. */
export async function awaitJobs(
  core: Core,
  ids: readonly JobId[],
  need: "any" | "all",
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<readonly JobRecord[]> {
  const { world, background } = core;
  const until = world.now() + timeoutMs;
  const records = new Map<JobId, JobRecord | undefined>();
  let changed = new Set(ids);
  let nudged = Promise.withResolvers<void>();
  const watching = background.jobs.feed.watch(ids, (id) => {
    changed.add(id);
    nudged.resolve();
  });
  try {
    for (;;) {
      const look = changed;
      changed = new Set();
      nudged = Promise.withResolvers();
      for (const id of look) records.set(id, (await recordsOf(core, [id]))[0]);
      const all = [...records.values()];
      const isMet = need === "all" ? all.every(isSettled) : all.some(isSettled);
      const left = until - world.now();
      if (isMet || left <= 0) return all.filter((record) => record !== undefined);
      signal?.throwIfAborted();
      if (core.door.isClosed) throw new RuntimeError("runtime.closed", {}); // It no longer notices their ends.
      const children = all.flatMap((each) => (each?.kind === "subagent" && !isSettled(each) ? [each.id] : []));
      const timer = new AbortController();
      const stop = (): void => timer.abort();
      signal?.addEventListener("abort", stop, { once: true });
      const waits = world.sleep(children.length > 0 ? Math.min(left, POLL_MS.subagent) : left, timer.signal);
      if (changed.size === 0) await Promise.race([nudged.promise, waits]);
      signal?.removeEventListener("abort", stop);
      stop();
      for (const id of children) changed.add(id);
    }
  } finally {
    watching.stop();
  }
}
