// How a job is cancelled, by what it is: a subagent closes its tree, a command that nobody watches any more is ended,
// registered work is told through its callback, and all others hear it from their holder, in whatever process.
import { RuntimeError } from "../../model/errors.ts";
import type { JobId, SessionId } from "../../model/ids.ts";
import { isOver } from "../../model/job.ts";
import type { JobSent, KeyedEvent, StoredJob } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import { cancel } from "../services/sessions.ts";

/** How long to wait for the end of a job, besides its grace, and how often it is looked at meanwhile. */
const END_MS = 2_000;
const LOOK_MS = 500;

/** Agents whose trees are being closed: one may be, by mistake, below itself. */
type Closing = Set<SessionId>;

/** Asks a job to end. Never throws for a job that is over or not there. */
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
  if (kind === "monitor") await background.monitors.endLeft(before.record);
  const sent: KeyedEvent = { key: "cancel", event: { at: world.now(), kind: "cancelling", reason } };
  const answer = await store.jobs.send(id, sent, world.now());
  await background.jobs.wasCancelled(id, reason);
  return answer;
}

/** From the top down: an agent that is stopped first cannot start new ones below it. */
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

/** The jobs of an agent end with it: one that wakes its session would open a turn of an agent that is closed. */
async function stopJobs(core: Core, session: SessionId, reason: string, closing: Closing): Promise<void> {
  for (const { record } of await core.store.jobs.list({ session, isLive: true, max: Infinity }))
    await requestCancel(core, record.id, reason, closing);
}

/** Cancels a job and waits for its end, for a moment. */
export async function cancelJob(core: Core, id: JobId, reason: string): Promise<StoredJob> {
  const { store, limits, world, background } = core;
  const end = world.now() + limits.cancelGraceMs + END_MS;
  let nap = new AbortController();
  const watching = background.jobs.feed.watch([id], () => nap.abort());
  try {
    let { job } = await requestCancel(core, id, reason);
    if (job === undefined) throw new RuntimeError("job.unknown", { id });
    while (!isOver(job.record) && world.now() < end) {
      await world.sleep(LOOK_MS, nap.signal);
      nap = new AbortController();
      job = (await store.jobs.load(id)) ?? job;
    }
    return job;
  } finally {
    watching.stop();
  }
}
