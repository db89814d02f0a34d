// `jobs_wait`: defers its call until the jobs have ended, so that the turn can be parked and resumed in any process.
//
// jobs-wait-1: The first attempt records what the call waits for, and since when. Later attempts wait for the same.
// jobs-wait-2: Every attempt reads the jobs again. It returns when enough of them have ended or are idle, or the time
//    has passed. Otherwise it defers again, because the event that ended the wait can be only a part of its condition.
// jobs-wait-3: The record of an agent's job does not show whether the agent works, so the call waits for its open turn.
import { type Deferral, defer, hasCode, type JobRecord, type Json, type ToolContext, ToolError } from "../../plugin.ts";
import type { WaitInput } from "./inputs.ts";
import type { Settings } from "./options.ts";
import { isOver, labelOf, outcomeOf } from "./shown.ts";
import { TEXTS } from "./texts.ts";

type Context = Pick<ToolContext, "jobs" | "session" | "once" | "signal" | "attempt">;

/** How soon an agent is checked again that has received a message and has not started on it. The time grows. */
const SOON_MS = 250;
const SOON_MS_MAX = 60_000;
/** The maximum length of all results together. A single result gets a part of it. */
const CHARS_MAX = 32_000;
const EACH_CHARS_MAX = 8_000;

export async function waitFor(
  { ids: given, need = "all", timeoutMs }: WaitInput,
  settings: Settings,
  context: Context,
): Promise<Json | Deferral> {
  const ids = [...new Set(given)];
  const since = await context.once("since", async () => {
    for (const id of ids) await requireShown(context.jobs, id);
    return Date.now();
  });
  const until = since + Math.min(timeoutMs ?? settings.timeoutMs, settings.timeoutMs);
  const found = await Promise.all(ids.map(async (id) => [id, await asItIs(id, context)] as const));
  const open = found.flatMap(([, job]) => (job === undefined || isSettled(job) ? [] : [job]));
  const isMet = open.length === 0 || (need === "any" && open.length < ids.length);
  if (isMet || Date.now() >= until) return answerOf(found);
  return aside(open, need, until, context);
}

/** Throws an error for the model if it cannot see this job: unknown, of another session, or hidden. */
export async function requireShown(jobs: ToolContext["jobs"], id: string): Promise<JobRecord> {
  const job = await lookedAt(jobs, id);
  if (job?.visibility === "managed") return job;
  throw unknownJob(id);
}
export const unknownJob = (id: string): ToolError =>
  new ToolError("job.unknown", TEXTS.unknownJob(JSON.stringify(id)), { class: "arguments" });

/** Undefined for a job that this session does not have, or no longer has. */
async function lookedAt(jobs: ToolContext["jobs"], id: string): Promise<JobRecord | undefined> {
  try {
    return await jobs.get(id);
  } catch (error) {
    if (hasCode(error, "job.unknown") || hasCode(error, "job.foreign")) return undefined;
    throw error;
  }
}

/** The same for an agent whose session was deleted. */
async function asItIs(id: string, { jobs, session }: Context): Promise<JobRecord | undefined> {
  const job = await lookedAt(jobs, id);
  if (job === undefined || !isAgent(job) || isSettled(job)) return job;
  return (await snapshotOf(job, session)) === undefined ? undefined : job;
}

async function snapshotOf({ childId }: JobRecord, session: Context["session"]) {
  try {
    return await session.snapshot(childId ?? "");
  } catch (error) {
    if (hasCode(error, "session.unknown")) return undefined;
    throw error;
  }
}

const isSettled = (job: JobRecord): boolean => isOver(job) || job.state === "idle";

/** Defers the call until one of these has ended, or all of them. */
async function aside(
  open: readonly JobRecord[],
  need: "all" | "any",
  until: number,
  { session, signal, attempt }: Context,
): Promise<Deferral> {
  const jobs = open.filter((job) => !isAgent(job)).map(({ id }) => id);
  const agents = open.filter(isAgent);
  const children = await Promise.all(agents.map((agent) => snapshotOf(agent, session)));
  const working = children.flatMap((child) =>
    child?.openTurn === undefined ? [] : [{ session: child.id, turn: child.openTurn }],
  );
  if (working.length === agents.length) return defer({ jobs, turns: working, need, until });
  // An agent received a message and has not started on it: there is no turn to wait for yet.
  const soon = Math.min(until, Date.now() + Math.min(SOON_MS * 2 ** (attempt - 1), SOON_MS_MAX));
  if (jobs.length + working.length > 0) return defer({ jobs, turns: working, need, until: soon });
  await sleep(SOON_MS, signal);
  return defer({ jobs: agents.map(({ id }) => id), need, until: soon });
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => resolve(clearTimeout(timer)), { once: true });
  });
}

const isAgent = ({ kind, childId }: JobRecord): boolean => kind === "subagent" && childId !== undefined;

function answerOf(found: readonly (readonly [id: string, job: JobRecord | undefined])[]): Json {
  const completed: { [id: string]: Json } = {};
  const pending: { [id: string]: Json } = {};
  const chars = Math.min(EACH_CHARS_MAX, Math.floor(CHARS_MAX / found.length));
  for (const [id, job] of found) {
    if (job === undefined) completed[id] = { state: "gone" };
    else (isSettled(job) ? completed : pending)[id] = { label: labelOf(job), ...outcomeOf(job, chars) };
  }
  return { completed, pending };
}
