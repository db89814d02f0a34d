// The jobs service of a session, for plugins and apps.
// Not its job: running jobs (`job-worker.ts`), storing jobs (`stores/`).
// job-service-1: In an effect a new job is written with the effect's answer, and a rerun gives it the same id. In an
//    operation it is written with the change. Everywhere else it starts at once.
// job-service-2: A job is visible only in its own session, so ids from a model or a plugin are looked up there.
// job-service-3: The service for another session starts a job at once, also in a turn, because a turn's record has
//    nothing of other sessions. A rerun gives the job the same id, so it starts once.
import type {
  AwaitJobsOptions,
  JobCompletion,
  JobOptions,
  JobsFilter,
  TaskJobOptions,
} from "../../kernel/job-options.ts";
import type { JobContext, Jobs } from "../../kernel/services.ts";
import { type Awaitable, unwaited } from "../../model/awaitable.ts";
import { hasCode, RuntimeError } from "../../model/errors.ts";
import { asJobCursor, asJobId, asSessionId, type JobId, type SessionId } from "../../model/ids.ts";
import { isOver, type JobRecord, type NewJob } from "../../model/job.ts";
import { defined, frozen, idText, isObject, type Json, toJson } from "../../model/json.ts";
import type { Known } from "../../model/known.ts";
import { TEXTS } from "../../model/texts.ts";
import type { StoredJob } from "../../stores/store.ts";
import { validatorOf } from "../../tools/validator.ts";
import { name } from "../../turn/effect.ts";
import { requireOptions, requireWords } from "../checks.ts";
import type { Core } from "../core.ts";
import { additionsIn, requireOpen } from "../services/graph.ts";
import { requireStored } from "../services/reading.ts";
import type { ServiceContext } from "../services/service-context.ts";
import { type CallerPlace, isOfOther, placeFor, requireAccess, SessionService } from "../services/session-service.ts";
import { unlessClosed } from "../services/using.ts";
import { awaitJobs, currentRecord, recordsOf } from "./await.ts";
import { cancelJob, closeTree } from "./cancel.ts";
import { requireWork } from "./function.ts";
import type { Spawning } from "./job-starts.ts";
import {
  completionOf,
  ID_MAX,
  invalid,
  JOB,
  KINDS,
  newJob,
  oneOf,
  recordable,
  requireList,
  requireTask,
  requireWorkLater,
  TASK,
  taskName,
  VISIBILITIES,
} from "./options.ts";
import { endWake } from "./wake.ts";

const FILTER: Known<JobsFilter> = { isLive: true, kind: true, visibility: true, after: true, max: true };
const AWAIT: Known<AwaitJobsOptions> = { need: true, timeoutMs: true, signal: true };
const LIST_MAX = 1_000;
const AWAIT_MS = 300_000;

/** Starts a job (job-service-1). Returns true if the job waits until an answer or a change is written. */
export async function beginJob(place: CallerPlace, spawning: Spawning): Promise<boolean> {
  const { core, sessionId } = place;
  const { job } = spawning;
  const carried = carriedAt(place);
  const working = isOfOther(place) ? undefined : place.callContext?.working;
  if (working !== undefined) requireOpen(working, place.plugin);
  if (carried === undefined) {
    await core.background.jobs.starts.spawn(spawning);
    return false;
  }
  if (carried.some((each) => each.job.id === job.id)) throw new RuntimeError("job.conflict", { id: job.id });
  const before = (await core.store.jobs.load(job.id))?.record;
  if (before !== undefined && !isSame(before, job)) throw new RuntimeError("job.conflict", { id: job.id });
  if (before !== undefined) return false; // A rerun: the job exists already.
  const { jobsMax } = core.limits;
  if ((await core.store.jobs.count(sessionId)) + carried.length >= jobsMax)
    throw new RuntimeError("job.full", { max: jobsMax });
  if (working !== undefined) requireOpen(working, place.plugin);
  carried.push(spawning);
  return true;
}

/**
 * The list of jobs that wait for the record of their effect or operation; undefined if jobs start at once
 * (job-service-1, job-service-3).
 */
export function carriedAt(place: CallerPlace): Spawning[] | undefined {
  const { turn, working } = place.callContext ?? {};
  if (isOfOther(place)) return undefined;
  return turn === undefined ? working?.spawns : turn.live.draftOf(turn.effect).spawns;
}

export class SessionJobs extends SessionService implements Jobs {
  of(session: string): Jobs {
    return new SessionJobs(placeFor(this.place, session));
  }

  // ── Beginning (job-service-1) ──────────────────────────────────────────────────────────────────────────────────────

  spawn(options: JobOptions | TaskJobOptions, run?: (job: JobContext) => Awaitable<unknown>) {
    return unwaited(async () => {
      if (run !== undefined && isObject(options) && "operation" in options)
        invalid("it has both a function and an `operation`");
      if (run !== undefined || !isObject(options) || !("operation" in options)) {
        requireOptions("jobs.spawn", options, JOB);
        const work = requireWork(run);
        if (!this.core.runs)
          throw new RuntimeError("runtime.passive", { call: "jobs.spawn with a function", hasFunction: true });
        return this.#begin(options, { recovery: "owner-bound" }, { work });
      }
      requireOptions("jobs.spawn", options, TASK);
      return this.#begin(options, this.#task(options as TaskJobOptions), {});
    });
  }

  spawnHidden(label: string, run: (job: JobContext) => Awaitable<unknown>) {
    return this.spawn({ label, visibility: "hidden" }, requireWorkLater(run));
  }

  register(options: JobOptions, cancel?: (reason: string) => Awaitable<unknown>) {
    return unwaited(async () => {
      requireOptions("jobs.register", options, JOB);
      if (cancel !== undefined && typeof cancel !== "function") invalid("`cancel` must be a function");
      const own = cancel === undefined ? {} : { cancel };
      return this.#begin({ ...options, kind: options.kind ?? "external" }, { recovery: "external" }, own);
    });
  }

  /** The task of the job. */
  #task({
    operation,
    isElsewhere = false,
    input,
    notBefore,
  }: TaskJobOptions): Partial<NewJob> & Pick<NewJob, "recovery"> {
    const { plugin } = this.place;
    const wire = taskName(operation, plugin, (problem) => invalid(`\`operation\` ${problem}`));
    if (typeof isElsewhere !== "boolean") invalid("`isElsewhere` must be true or false");
    requireTask(this.core, this.session, wire, isElsewhere, input);
    const json = input === undefined ? undefined : recordable(this.core, "its input", input);
    const time = notBefore instanceof Date ? notBefore.getTime() : notBefore;
    if (time !== undefined && !Number.isFinite(time)) invalid("`notBefore` must be a date, or a time in milliseconds");
    return { recovery: "rerunnable", operation: wire, ...defined({ input: json, notBefore: time }) };
  }

  async #begin(
    options: JobOptions,
    more: Partial<NewJob> & Pick<NewJob, "recovery">,
    run: Pick<Spawning, "work" | "cancel">,
  ): Promise<{ readonly id: JobId }> {
    const { plugin, callContext } = this.place;
    const job: NewJob = { ...newJob(options, this.place), ...more }; // First: the order of calls decides the id.
    const isOther = isOfOther(this.place);
    if (isOther) await requireAccess(this.place);
    const isNamed = options.id !== undefined || isOther || callContext?.job?.steps !== undefined;
    await beginJob(this.place, { job, plugin, isNamed, ...run });
    return { id: job.id };
  }

  // ── Looking (job-service-2) ────────────────────────────────────────────────────────────────────────────────────────

  list(filter: JobsFilter = {}): Promise<readonly JobRecord[]> {
    return this.call(async () => {
      const page = pageOf(filter);
      await this.requireStored();
      const found = await this.core.store.jobs.list({ ...page, session: this.session });
      return frozen(await Promise.all(found.map(({ record }) => currentRecord(this.core, record))));
    });
  }

  get(id: string): Promise<JobRecord> {
    return this.call(async () => frozen(await currentRecord(this.core, (await this.#require(id)).record)));
  }

  async #require(id: string): Promise<StoredJob> {
    const found = typeof id === "string" ? await this.core.store.jobs.load(asJobId(id)) : undefined;
    if (found === undefined) {
      if (this.#carried.some(({ job }) => job.id === id)) throw new RuntimeError("job.unstarted", { id });
      throw new RuntimeError("job.unknown", { id: idText(id) });
    }
    const { sessionId, parent } = found.record;
    // A job can also access the jobs that it started, even after one of them moved to another session.
    const isChild = parent !== undefined && "jobId" in parent && parent.jobId === this.place.callContext?.job?.id;
    if (sessionId !== this.session && !isChild) throw new RuntimeError("job.foreign", { id, session: this.session });
    return found;
  }

  /** Jobs that start with the answer of the current effect or operation. */
  get #carried(): readonly Spawning[] {
    const { turn, working } = this.place.callContext ?? {};
    if (isOfOther(this.place)) return [];
    return turn?.live.drafts?.get(turn.effect)?.spawns ?? working?.spawns ?? [];
  }

  validate(handles: readonly string[]): Promise<void> {
    return this.call(async () => {
      for (const id of requireList(handles)) {
        const { record } = await this.#require(id);
        if (isOver(record)) throw new RuntimeError("job.over", { id, state: record.state });
      }
    });
  }

  changes(after?: string, options: { readonly max?: number | undefined } = {}) {
    return this.call(async () => {
      requireOptions("jobs.changes", options, { max: true });
      const { max = LIST_MAX } = options;
      await this.requireStored();
      return changesOf(this.core, after, { session: this.session, max });
    });
  }

  // ── Waiting ─────────────────────────────────────────────────────────────────────────────────────────────────────

  await(ids: readonly string[], options: AwaitJobsOptions = {}): Promise<readonly JobRecord[]> {
    return this.call(async () => {
      requireOptions("jobs.await", options, AWAIT);
      const known = await Promise.all(requireList(ids).map((id) => this.#require(id)));
      return frozen(
        await this.#await(
          known.map(({ record }) => record.id),
          options,
        ),
      );
    });
  }

  async #await(ids: readonly JobId[], options: AwaitJobsOptions): Promise<readonly JobRecord[]> {
    const { need = "all", timeoutMs = AWAIT_MS, signal = this.place.callContext?.signal } = options;
    if (need !== "any" && need !== "all")
      throw new RuntimeError("options.invalid", { option: "need", problem: "it must be any or all" });
    if (!(typeof timeoutMs === "number" && timeoutMs >= 0))
      throw new RuntimeError("options.invalid", { option: "timeoutMs", problem: "it must be a number of 0 or more" });
    if (ids.length === 0) return [];
    const { core, callContext } = this.place;
    if (callContext?.job !== undefined && ids.includes(callContext.job.id)) invalid("a job cannot wait for itself");
    const run = callContext?.job === undefined ? undefined : core.background.jobs.find(callContext.job.id);
    const inTask = run?.awaitJobs?.(ids, need, timeoutMs, () => recordsOf(core, ids));
    if (inTask !== undefined) return inTask;
    const awaited = (): Promise<readonly JobRecord[]> => awaitJobs(core, ids, need, timeoutMs, signal);
    // If the runtime closes, an error would be recorded as the failure of the tool or hook, although another process
    // resumes the turn.
    return callContext?.turn === undefined ? awaited() : unlessClosed(core, awaited);
  }

  awaitHidden(options: Pick<AwaitJobsOptions, "timeoutMs" | "signal"> = {}): Promise<readonly JobRecord[]> {
    return this.call(async () => {
      requireOptions("jobs.awaitHidden", options, { timeoutMs: true, signal: true });
      const { core, callContext } = this.place;
      for (const { job } of this.#carried)
        if (job.visibility === "hidden") throw new RuntimeError("job.unstarted", { id: job.id });
      const page = { session: this.session, visibility: "hidden", isLive: true, max: Infinity } as const;
      const hidden = await core.store.jobs.list(page);
      const all = hidden.map(({ record }) => record.id);
      const self = all.indexOf(callContext?.job?.id as JobId);
      const ids = self === -1 ? all : all.slice(0, self); // Two hidden jobs must not wait for each other.
      const records = ids.length === 0 ? [] : await this.#await(ids, options);
      if (callContext?.turn !== undefined && !isOfOther(this.place)) await takeAppended(callContext);
      return frozen(records);
    });
  }

  // ── Ending ──────────────────────────────────────────────────────────────────────────────────────────────────────

  cancel(id: string, reason = "It was cancelled."): Promise<JobRecord> {
    return this.call(async () => {
      requireWords("reason", reason);
      const { record } = await this.#require(id);
      return frozen(isOver(record) ? record : (await cancelJob(this.core, record.id, reason)).record);
    });
  }

  cancelAll(filter: Pick<JobsFilter, "kind" | "visibility"> = {}, reason?: string): Promise<readonly JobRecord[]> {
    return this.call(async () => {
      requireOptions("jobs.cancelAll", filter, { kind: true, visibility: true });
      return this.#cancelThese(await this.list({ ...filter, isLive: true, max: Infinity }), reason);
    });
  }

  cancelUnreferenced(keep: readonly string[]): Promise<readonly JobRecord[]> {
    return this.call(async () => {
      const referenced = new Set(requireList(keep));
      const live = await this.list({ isLive: true, visibility: "managed", max: Infinity });
      return this.#cancelThese(live.filter(({ id }) => !referenced.has(id)));
    });
  }

  async #cancelThese(jobs: readonly JobRecord[], reason?: string): Promise<readonly JobRecord[]> {
    const cancelled: JobRecord[] = [];
    for (const { id } of jobs) {
      if (id === this.place.callContext?.job?.id) continue; // A job cannot cancel itself in this way.
      try {
        cancelled.push(await this.cancel(id, reason));
      } catch (error) {
        if (hasCode(error, "job.unknown")) continue; // It was removed meanwhile.
        throw Object.assign(error as object, { cancelled });
      }
    }
    return cancelled;
  }

  unregister(id: string): Promise<void> {
    return this.call(async () => {
      if (typeof id === "string" && (await this.core.store.jobs.load(asJobId(id))) === undefined) return; // Repeated.
      const { record } = await this.#require(id);
      await this.core.store.jobs.remove(record.id);
      this.core.background.jobs.jobChanged(record.id, true);
    });
  }

  complete(id: string, how: JobCompletion): Promise<void> {
    return this.call(async () => {
      const { record } = await this.#require(id);
      const { state, result, error } = completionOf(how);
      const core = this.core;
      const at = core.world.now();
      const json = result === undefined ? undefined : recordable(this.core, "its result", result);
      const event = { at, kind: "ended", state, ...defined({ result: json, error }) } as const;
      const wake = endWake(core, record, event);
      const more = wake === undefined ? {} : { wakes: [wake], wakesMax: core.limits.jobWakesMax + 1 };
      const { said } = await core.store.jobs.send(record.id, { key: "end", event }, at, more);
      if (said === "bound") throw new RuntimeError("job.bound", { id });
      if (said === "accepted" && wake !== undefined) core.background.jobs.inputAdded(record.sessionId);
      core.background.jobs.jobChanged(record.id, true);
      if (said === "accepted" && record.kind === "subagent" && record.childId !== undefined)
        await closeTree(core, record.childId, TEXTS.agentClosed);
    });
  }

  transition(id: string, state: "running" | "idle"): Promise<void> {
    return this.call(async () => {
      const { record } = await this.#require(id);
      oneOf("state", state, ["running", "idle"]);
      const { store, world, background } = this.core;
      if (record.state === state || isOver(record)) return;
      const runningJob = background.jobs.find(record.id);
      if (runningJob !== undefined) return runningJob.transition(state);
      const at = world.now();
      const event = { at, kind: "transitioned", state } as const;
      const { said } = await store.jobs.send(record.id, { key: world.id("tra"), event }, at);
      if (said === "bound") throw new RuntimeError("job.bound", { id });
      if (state === "idle") background.jobs.jobSettled(record.id);
      else background.jobs.jobChanged(record.id);
    });
  }

  // ── Handing over, signals ───────────────────────────────────────────────────────────────────────────────────────

  transfer(from: string, to: string, handles: readonly string[]): Promise<void> {
    return this.call(async () => {
      const core = this.core;
      const ids = requireList(handles).map(asJobId);
      for (const [what, id] of Object.entries({ from, to }))
        if (typeof id !== "string")
          throw new RuntimeError("options.invalid", { option: what, problem: "it must be an id" });
      if (from !== this.session && to !== this.session)
        throw new RuntimeError("job.foreign", { id: ids[0] ?? "", session: this.session });
      for (const session of [from, to]) await requireAccess(placeFor(this.place, session));
      await requireStored(core, from);
      for (const id of ids) await core.background.monitors.requireFree(id, asSessionId(to));
      const moved = await core.store.jobs.transfer(asSessionId(from), asSessionId(to), ids, core.world.now());
      for (const { record } of moved) {
        await core.background.jobs.find(record.id)?.look();
        core.background.jobs.jobChanged(record.id);
      }
    });
  }

  signal(id: string, signal: string, payload: Json = null, options: { readonly key?: string | undefined } = {}) {
    return this.call(async () => {
      requireOptions("jobs.signal", options, { key: true });
      await sendSignal(this.core, await this.#require(id), signal, payload, options.key);
    });
  }
}

const isSame = (record: JobRecord, job: NewJob): boolean =>
  record.label === job.label &&
  record.kind === job.kind &&
  record.recovery === job.recovery &&
  record.operation === job.operation &&
  JSON.stringify(record.input) === JSON.stringify(job.input);

export async function sendSignal(
  core: Core,
  { record }: StoredJob,
  signal: string,
  payload: Json,
  key: string | undefined,
): Promise<void> {
  const { store, world, background } = core;
  const { id } = record;
  const wrong = (problem: string): never => {
    throw new RuntimeError("job.signal", { id, signal: idText(signal), problem });
  };
  if (isOver(record)) throw new RuntimeError("job.over", { id, state: record.state });
  const schema = Object.hasOwn(record.signals ?? {}, signal) ? record.signals?.[signal] : undefined;
  if (schema === undefined) return wrong(`the job declares ${Object.keys(record.signals ?? {}).join(", ") || "none"}`);
  const found = toJson(payload);
  if ("problem" in found) return wrong(`its payload is not JSON: ${found.path}: ${found.problem}`);
  recordable(core, `the signal ${signal}`, found.json);
  const fits = await validatorOf(schema, `the signal ${signal}`)(found.json);
  if (!fits.ok) return wrong(`its payload does not fit: ${fits.problem}`);
  if (key !== undefined) requireWords("key", key, ID_MAX);
  const at = world.now();
  const event = { at, kind: "signalled", name: signal, payload: found.json } as const;
  const { said, job } = await store.jobs.send(id, { key: `signal/${key ?? world.id("sig")}`, event }, at);
  if (said === "over") throw new RuntimeError("job.over", { id, state: job?.record.state ?? "over" });
  if (said === "unknown") throw new RuntimeError("job.unknown", { id });
  const runningJob = background.jobs.find(id);
  if (runningJob === undefined) background.jobs.kick();
  else await runningJob.look();
}

function requireMax(max: unknown): number {
  if (typeof max === "number" && (max === Infinity || (Number.isSafeInteger(max) && max >= 1))) return max;
  throw new RuntimeError("options.invalid", { option: "max", problem: "it must be a whole number above 0" });
}

/** The filter in the form of the store. */
export function pageOf(filter: JobsFilter) {
  requireOptions("jobs.list", filter, FILTER);
  const { isLive, kind, visibility, after, max = LIST_MAX } = filter;
  if (kind !== undefined) oneOf("kind", kind, KINDS);
  if (visibility !== undefined) oneOf("visibility", visibility, VISIBILITIES);
  if (after !== undefined && typeof after !== "string") invalid("`after` must be the id of a job");
  return {
    ...defined({
      isLive: isLive === true ? (true as const) : undefined,
      kind,
      visibility,
      after: after === undefined ? undefined : asJobId(after),
    }),
    max: requireMax(max),
  };
}

export async function changesOf(
  { store }: Core,
  after: string | undefined,
  page: { readonly session?: SessionId; readonly max: number },
) {
  requireMax(page.max);
  const found = await store.jobs.changes(after === undefined ? undefined : asJobCursor(after), page);
  const cursor = found.at(-1)?.cursor ?? (after === undefined ? undefined : asJobCursor(after));
  return frozen({ jobs: found.map(({ record }) => record), ...(cursor === undefined ? {} : { cursor }) });
}

/** Adds what other jobs appended to the open turn to the effect that waited for them. A rerun gets the same. */
async function takeAppended({ turn }: ServiceContext): Promise<void> {
  if (turn === undefined) return;
  const { live, effect } = turn;
  const { store, limits } = live.core;
  const draft = live.draftOf(effect);
  const claim = name(`${effect}/hidden/${draft.nextClaim()}`);
  const found = await store.inputs.claim(live.lease, claim, limits.pendingInputsMax, "appends");
  for (const each of found) {
    if (!("entries" in each) || draft.taken.includes(each.id)) continue;
    draft.taken.push(each.id);
    draft.spent.push(...(each.spent ?? []));
    const isPlaced = live.state.placed?.some((placed) => placed.name === each.operation) ?? false;
    if (!isPlaced && each.entries.length > 0) live.conversation.append(draft, { nodes: additionsIn(each.entries) });
  }
}
