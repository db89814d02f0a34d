// Reads the jobs of a store into plain values for `picture.ts`: their results, without data that differs from run to
// run.
import { isOver, type JobEvent, type JobRecord } from "../../model/job.ts";
import { isObject, type Json, type JsonObject } from "../../model/json.ts";
import type { Store, StoredJobEvent } from "../../stores/store.ts";

/** A job as it is compared: without times and the number of its processes. */
export interface PictureOfJob {
  readonly session: string;
  readonly label: string;
  readonly kind: string;
  readonly visibility: string;
  readonly recovery: string;
  readonly state: string;
  readonly input?: Json;
  readonly result?: Json;
  readonly error?: string;
  /** The recorded steps, sorted by name. */
  readonly steps: readonly { readonly name: string; readonly value: Json }[];
  /** Events from outside, in order: signals, answers, sessions that it was handed over to. */
  readonly sent: readonly string[];
  /** How often it woke its session. */
  readonly wakes: number;
}

export interface WrongJob {
  readonly kind: "lost" | "doubled" | "stuck";
  readonly problem: string;
}

interface Read {
  readonly record: JobRecord;
  readonly events: readonly JobEvent[];
}

async function jobsIn(store: Store): Promise<readonly Read[]> {
  const found = await store.jobs.list({ max: Infinity });
  return Promise.all(
    found.map(async ({ record }) => ({ record, events: (await store.jobs.events(record.id, 0)).map(eventIn) })),
  );
}
const eventIn = ({ event }: StoredJobEvent): JobEvent => event;

/** Returns the recorded steps of all jobs, each as `job name`, and the ended jobs. */
export async function recordedJobs(
  store: Store,
): Promise<{ readonly steps: ReadonlySet<string>; readonly over: ReadonlySet<string> }> {
  const jobs = await jobsIn(store);
  const steps = jobs.flatMap(({ record, events }) =>
    events.flatMap((event) => (event.kind === "stepped" ? [`${record.id} ${event.name}`] : [])),
  );
  return { steps: new Set(steps), over: new Set(jobs.flatMap(({ record }) => (isOver(record) ? [record.id] : []))) };
}

/** `inputs` counts the messages of each input in the graph; `sessions` are the existing ones. */
export async function remainingJobs(
  store: Store,
  inputs: ReadonlyMap<string, number>,
  sessions: ReadonlySet<string>,
): Promise<{ readonly jobs: readonly PictureOfJob[]; readonly wrong: readonly WrongJob[] }> {
  const jobs = await jobsIn(store);
  return {
    jobs: jobs.map(pictured),
    wrong: jobs.flatMap((job) => [...unfinished(job), ...doubled(job), ...missingInputs(job, inputs, sessions)]),
  };
}

/** The scenario has ended and no process of it lives, so no job may be unfinished. External ones may. */
function unfinished({ record }: Read): readonly WrongJob[] {
  if (isOver(record) || record.recovery === "external") return [];
  return [{ kind: "stuck", problem: `the job ${record.label} is ${record.state}, and its scenario has ended` }];
}

function doubled({ record, events }: Read): readonly WrongJob[] {
  const wrong: WrongJob[] = [];
  const seen = new Set<string>();
  for (const event of events) {
    const once = event.kind === "ended" ? "end" : event.kind === "stepped" ? `step ${event.name}` : undefined;
    if (once === undefined) continue;
    if (seen.has(once)) wrong.push({ kind: "doubled", problem: `the job ${record.label} has its ${once} twice` });
    seen.add(once);
  }
  return wrong;
}

/** Finds inputs of jobs that are not in their session, because every accepted input must be there. */
function missingInputs(
  { record, events }: Read,
  inputs: ReadonlyMap<string, number>,
  sessions: ReadonlySet<string>,
): readonly WrongJob[] {
  if (!sessions.has(record.sessionId)) return [];
  return events.flatMap((event): readonly WrongJob[] => {
    if (event.kind !== "woke" || event.lost !== undefined || inputs.has(event.inputId)) return [];
    return [{ kind: "lost", problem: `the job ${record.label} told ${event.inputId}, which is nowhere` }];
  });
}

function pictured({ record, events }: Read): PictureOfJob {
  const { sessionId: session, label, kind, visibility, recovery, state, input, result, error, wakes } = record;
  const steps = events.flatMap((event) =>
    event.kind === "stepped" ? [{ name: event.name, value: steady(event.name, event.value) }] : [],
  );
  return {
    session,
    label,
    kind,
    visibility,
    recovery,
    state,
    ...(input === undefined ? {} : { input }),
    ...(result === undefined ? {} : { result }),
    ...(error === undefined ? {} : { error: error.code }),
    steps: steps.sort((a, b) => (a.name < b.name ? -1 : 1)),
    sent: events.flatMap(sentIn),
    wakes,
  };
}

function sentIn(event: JobEvent): readonly string[] {
  if (event.kind === "signalled") return [`${event.name} ${JSON.stringify(event.payload)}`];
  if (event.kind === "resolved") return [`answered ${event.answer.kind}`];
  if (event.kind === "transferred") return [`to ${event.to}`];
  return event.kind === "cancelling" ? [`cancel: ${event.reason}`] : [];
}

/** Steps of the runtime that contain times and secrets. */
const OWN_TIME = /^sleep\/|\/key\/\d+$|^await\/\d+\/until$/;
const OWN_STEP = /^(call|await)\//;
const UNSTEADY: ReadonlySet<string> = new Set(["at", "until", "key", "createdAt", "startedAt", "endedAt", "starts"]);

function steady(name: string, value: Json): Json {
  if (OWN_TIME.test(name)) return null;
  return OWN_STEP.test(name) ? without(value) : value;
}

function without(value: Json): Json {
  if (Array.isArray(value)) return value.map(without);
  if (!isObject(value)) return value;
  const kept = Object.entries(value as JsonObject).filter(([key]) => !UNSTEADY.has(key));
  return Object.fromEntries(kept.map(([key, each]) => [key, without(each)]));
}
