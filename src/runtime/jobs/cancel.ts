// Cancels a job by its kind. For a subagent it closes the tree of its sessions. For a monitor without a process it ends
// the command. Registered work gets its callback. All other jobs get an event, which the process of the job reads.
import { RuntimeError } from "../../model/errors.ts";
import type { JobId, SessionId } from "../../model/ids.ts";
import { isOver } from "../../model/job.ts";
import type { JobSent, KeyedEvent, StoredJob } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import { POLL_MS } from "../poller.ts";
import { cancel } from "../services/sessions.ts";

/** How long to wait for the end of a job after its grace period. */
const END_MS = 2_000;

/** The sessions that are being closed, because a session can by mistake be below itself. */
type Closing = Set<SessionId>;

/** Requests the cancel of a job. Does not throw for a job that has ended or does not exist. */
export async function requestCancel(
  core: Core,
  id: JobId,
  reason: string,
  closing: Closing = new Set(),
): Promise<JobSent> {
  const { store, world, background } = core;
  const before = await store.jobs.load(id);
  if (before === undefined) return { said: "unknown" };
  if (isOver(before.record)) return { said: "over", job: before };
  const { kind, childId } = before.record;
  if (kind === "subagent" && childId !== undefined) await closeTree(core, childId, reason, closing);
  if (kind === "monitor") await background.monitors.endOrphan(before.record);
  const sent: KeyedEvent = { key: "cancel", event: { at: world.now(), kind: "cancelling", reason } };
  const answer = await store.jobs.send(id, sent, world.now());
  await background.jobs.cancelRequested(id, reason);
  return answer;
}

/** Closes from the top down, because a stopped agent cannot start new agents below it. */
export async function closeTree(
  core: Core,
  id: SessionId,
  reason: string,
  closing: Closing = new Set(),
): Promise<void> {
  if (closing.has(id) || !(await core.store.has(id))) return;
  closing.add(id);
  await cancel(core, id, undefined, reason);
  await stopJobs(core, id, reason, closing);
  for (const child of await core.store.list({ parent: id })) await closeTree(core, child.id, reason, closing);
}

/** Cancels the jobs of a closed agent, because a job that wakes its session would open a turn there. */
async function stopJobs(core: Core, session: SessionId, reason: string, closing: Closing): Promise<void> {
  for (const { record } of await core.store.jobs.list({ session, isLive: true, max: Infinity }))
    await requestCancel(core, record.id, reason, closing);
}

/** Cancels a job and waits a short time for its end. */
export async function cancelJob(core: Core, id: JobId, reason: string): Promise<StoredJob> {
  const { store, limits, world, background } = core;
  const end = world.now() + limits.cancelGraceMs + END_MS;
  let nap = new AbortController();
  const watching = background.jobs.feed.watch([id], () => nap.abort());
  try {
    let { job } = await requestCancel(core, id, reason);
    if (job === undefined) throw new RuntimeError("job.unknown", { id });
    while (!isOver(job.record) && world.now() < end) {
      await world.sleep(POLL_MS.cancelledJob, nap.signal);
      nap = new AbortController();
      job = (await store.jobs.load(id)) ?? job;
    }
    return job;
  } finally {
    watching.stop();
  }
}
