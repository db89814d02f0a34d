// The cast of jobs, beside `cast.ts`. A job is called by its name: "work" has the id `job-work`. By default it is a
// task of alice that any process with the operation `TASK` can run.
import assert from "node:assert/strict";
import { asJobId, type JobId, type SessionId } from "../model/ids.ts";
import { foldJob, type JobEnd, type JobEvent, type JobRecord, type NewJob } from "../model/job.ts";
import type { Json } from "../model/json.ts";
import type {
  ClaimedJob,
  JobAppended,
  JobLease,
  JobSent,
  JobsPage,
  JobWrites,
  KeyedEvent,
  Owner,
  ParkedJob,
  Store,
  StoredJob,
} from "../stores/store.ts";
import { alice, ann, NOW, newSession } from "./cast.ts";

export const TASK = "notes.index";

export const jobId = (name: string): JobId => asJobId(`job-${name}`);

export const newJob = (name = "work", other: Partial<NewJob> = {}): NewJob => ({
  id: jobId(name),
  sessionId: alice,
  kind: "task",
  label: `to ${name}`,
  visibility: "managed",
  recovery: "rerunnable",
  wake: "none",
  onParentEnd: "keep",
  at: NOW,
  ...((other.recovery ?? "rerunnable") === "rerunnable" && other.delivers === undefined
    ? { operation: TASK, input: { name } }
    : {}),
  ...other,
});

/** Starts a job, and creates its session if that is missing. */
export async function spawn(
  store: Store,
  name = "work",
  other: Partial<NewJob> = {},
  owner?: Owner,
): Promise<StoredJob> {
  const job = newJob(name, other);
  await store.create(newSession(job.sessionId));
  return store.jobs.spawn(owner === undefined ? { job } : { job, owner }, 100);
}

/** Starts a job that is bound to an owner, and returns the owner's lease. */
export async function bound(
  store: Store,
  name = "work",
  owner: Owner = ann,
  other: Partial<NewJob> = {},
): Promise<JobLease> {
  await spawn(store, name, { recovery: "owner-bound", ...other }, owner);
  return { jobId: jobId(name), generation: 1, owner };
}

export const claimJobs = async (
  store: Store,
  by = ann,
  now = NOW,
  operations: readonly string[] = [TASK],
  max = 100,
): Promise<readonly ClaimedJob[]> => store.jobs.claim(by, now, max, operations);

/** Returns the names of claimed jobs. */
export const claimed = async (...given: Parameters<typeof claimJobs>): Promise<readonly string[]> =>
  (await claimJobs(...given)).map(({ record }) => nameOf(record.id));

/** Claims the one job that can be claimed. */
export async function take(...given: Parameters<typeof claimJobs>): Promise<ClaimedJob> {
  const jobs = await claimJobs(...given);
  assert.deepEqual(jobs.length, 1, `${jobs.length} jobs could be claimed`);
  return jobs[0]!;
}

/** Starts a job and claims it. */
export async function working(store: Store, name = "work", other: Partial<NewJob> = {}, by = ann): Promise<JobLease> {
  await spawn(store, name, other);
  const jobs = await claimJobs(store, by);
  return jobs.find(({ record }) => record.id === jobId(name))?.lease ?? assert.fail(`${name} was not claimed`);
}

export const stepped = (name: string, value: Json = name): KeyedEvent => ({
  key: `step/${name}`,
  event: { kind: "stepped", at: NOW, name, value },
});
export const signal = (key: string, payload: Json = null): KeyedEvent => ({
  key,
  event: { kind: "signalled", at: NOW, name: "go", payload },
});
export const cancelling = (key = "stop"): KeyedEvent => ({
  key,
  event: { kind: "cancelling", at: NOW, reason: "Enough." },
});
export const turned = (state: "running" | "idle", key: string = state): KeyedEvent => ({
  key,
  event: { kind: "transitioned", at: NOW, state },
});
export const over = (state: JobEnd = "completed", key = "end", how: { readonly result?: Json } = {}): KeyedEvent => ({
  key,
  event: { kind: "ended", at: NOW, state, ...how },
});

export const write = async (
  store: Store,
  lease: JobLease,
  events: readonly KeyedEvent[],
  more?: JobWrites,
): Promise<JobAppended> => store.jobs.append(lease, events, NOW, more);

/** Ends a held job. */
export const end = (store: Store, lease: JobLease, state: JobEnd = "completed"): Promise<JobAppended> =>
  write(store, lease, [over(state)]);

/** Tries to park a job whose holder has seen all events, and returns whether it parked. */
export async function parks(store: Store, lease: JobLease, other: Partial<ParkedJob> = {}): Promise<boolean> {
  const seen = (await store.jobs.load(lease.jobId))?.seq ?? 0;
  const { isParked } = await write(store, lease, [], { parks: { seen, ...other } });
  return isParked ?? assert.fail("it is not told whether the job was parked");
}

export const sendTo = async (store: Store, name: string, sent: KeyedEvent, now = NOW): Promise<JobSent["said"]> =>
  (await store.jobs.send(jobId(name), sent, now)).said;

/** Returns a job. Asserts that its record is the fold of its events. */
export async function stored(store: Store, name = "work"): Promise<StoredJob> {
  const job = await store.jobs.load(jobId(name));
  if (job === undefined) return assert.fail(`there is no job ${name}`);
  const events = await store.jobs.events(jobId(name), 0);
  let record: JobRecord | undefined;
  for (const { event } of events) record = foldJob(record, event);
  assert.deepEqual(job.record, record);
  assert.deepEqual(
    events.map(({ seq }) => seq),
    events.map((_, index) => index + 1),
  );
  assert.equal(job.seq, events.length);
  assert.equal(new Set(events.map(({ key }) => key)).size, events.length);
  assert.ok(events.filter(({ event }) => event.kind === "ended").length <= 1, "it has ended twice");
  return job;
}
export const recordOf = async (store: Store, name = "work"): Promise<JobRecord> => (await stored(store, name)).record;
export const stateOf = async (store: Store, name = "work"): Promise<string> => (await recordOf(store, name)).state;

/** Returns the kinds of a job's events. */
export const kindsOf = async (store: Store, name = "work"): Promise<readonly JobEvent["kind"][]> =>
  (await store.jobs.events(jobId(name), 0)).map(({ event }) => event.kind);
export const keysOf = async (store: Store, name = "work"): Promise<readonly string[]> =>
  (await store.jobs.events(jobId(name), 0)).map(({ key }) => key);

export const nameOf = (id: JobId): string => id.slice("job-".length);
export const namesOf = (jobs: readonly StoredJob[]): readonly string[] => jobs.map(({ record }) => nameOf(record.id));
export const listed = async (store: Store, page: Partial<JobsPage> = {}): Promise<readonly string[]> =>
  namesOf(await store.jobs.list({ max: 100, ...page }));
export const liveIn = async (store: Store, ...sessions: readonly SessionId[]): Promise<readonly number[]> =>
  Promise.all(sessions.map(async (id) => store.jobs.count(id)));
