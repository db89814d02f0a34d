// The monitors of a session, as plugins and apps use them. A monitor is a job. This file shows and starts it. Not its
// job: running commands (`run.ts`), jobs (`../jobs/`).
import { isDeepStrictEqual } from "node:util";
import {
  type CheckedMonitor,
  checkedMonitor,
  type MonitorDeclaration,
  type MonitorSnapshot,
  type MonitorSpec,
  type MonitorState,
  type MonitorStatus,
  type Monitors,
  type MonitorUpdate,
  WATCH,
} from "../../kernel/monitor.ts";
import { hasCode, RuntimeError } from "../../model/errors.ts";
import { hashOf } from "../../model/hash.ts";
import { asJobId, type JobId } from "../../model/ids.ts";
import { isOver, type JobRecord, type NewJob } from "../../model/job.ts";
import { defined, frozen, idText, isObject, type Json, ownJson } from "../../model/json.ts";
import type { JobLine } from "../../stores/store.ts";
import { requireWords } from "../checks.ts";
import { cancelJob } from "../jobs/cancel.ts";
import type { Spawning } from "../jobs/job-starts.ts";
import { beginJob, carriedAt } from "../jobs/service.ts";
import { freshId, isOfOther, placeFor, SessionService } from "../services/session-service.ts";

/** How many monitors of one session run at the same time, and how many ended ones are shown. */
const LIVE_MAX = 64;
const OVER_MAX = 100;
/** Models read and repeat a generated name. */
const NAME_LENGTH = 12;

export class SessionMonitors extends SessionService implements Monitors {
  of(session: string): SessionMonitors {
    return new SessionMonitors(placeFor(this.place, session));
  }

  get #declared(): ReadonlyMap<string, MonitorDeclaration> {
    const { monitors } = this.core.background.compositionOf(this.session);
    return new Map([...monitors].map(([id, { value }]) => [id, value]));
  }

  // ── Reading ─────────────────────────────────────────────────────────────────────────────────────────────────────

  snapshot(): Promise<MonitorSnapshot> {
    return this.call(async () => {
      await this.#startArmed();
      return this.#look();
    });
  }

  /** The present monitors. Starts none. */
  look(): Promise<MonitorSnapshot> {
    return this.call(() => this.#look());
  }
  async #look(): Promise<MonitorSnapshot> {
    await this.requireStored();
    const runs = await this.#runs();
    const found = new Map([...this.#declared].map(([id, spec]) => [id, idleOf(id, spec)]));
    for (const [id, record] of runs) found.set(id, await this.#statusOf(record));
    for (const { job } of this.#notStarted()) if (!runs.has(nameOf(job))) found.set(nameOf(job), startingOf(job));
    const monitors = [...found.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    const active = monitors.filter(({ state }) => state === "running").length;
    return frozen({ revision: hashOf(JSON.stringify(monitors)), active, monitors });
  }

  takeUpdates(): Promise<readonly MonitorUpdate[]> {
    return this.call(async () => {
      await this.#startArmed();
      const { store, world } = this.core;
      const { callContext, plugin } = this.place;
      const ofRerun = callContext?.nextKey(plugin, "background");
      const key = ofRerun ?? world.id("tak");
      const updates: MonitorUpdate[] = [];
      for (const [monitor, { id }] of await this.#runs()) {
        const { lines, taken } = await store.jobs.lines(id);
        const isNew = (lines.at(-1)?.n ?? 0) > taken;
        if (!isNew && (ofRerun === undefined || lines.length === 0)) continue;
        for (const line of await store.jobs.take(id, key)) updates.push({ monitor, ...line });
      }
      return frozen(updates.sort((a, b) => a.at - b.at));
    });
  }

  /** The live run of each monitor, or its latest run, by name. */
  async #runs(): Promise<Map<string, JobRecord>> {
    const stored = await this.core.store.jobs.list({ session: this.session, kind: "monitor", max: Infinity });
    const runs = new Map<string, JobRecord>();
    for (const { record } of stored) {
      if (record.operation !== WATCH) continue;
      // A monitor that was transferred to the session can be older than the session's own monitor.
      const before = runs.get(nameOf(record));
      if (before === undefined || isOver(before)) runs.set(nameOf(record), record);
    }
    return runs;
  }
  /** Monitors that start with an answer of any call of this turn, or with this operation. */
  #notStarted(): readonly Spawning[] {
    const { callContext, core } = this.place;
    const { live } = callContext?.turn ?? {};
    const carried = live === undefined ? [callContext?.working] : [...(live.drafts?.values() ?? [])];
    const all = [...carried.flatMap((each) => each?.spawns ?? []), ...core.background.jobs.starts.unbegun.values()];
    return all.filter(({ job }) => job.operation === WATCH && job.sessionId === this.session);
  }

  async #statusOf(record: JobRecord): Promise<MonitorStatus> {
    const { lines } = await this.core.store.jobs.lines(record.id);
    return statusOf(record, lines);
  }

  // ── Starting ────────────────────────────────────────────────────────────────────────────────────────────────────

  start(spec: MonitorSpec | string): Promise<MonitorStatus> {
    // Before the first await, because the order of calls determines the key.
    const key = isOfOther(this.place) ? this.place.callContext?.nextKey(this.place.plugin, "background") : undefined;
    return this.call(async () => {
      await this.requireStored();
      return frozen(await this.#start(await this.#specOf(spec), key));
    });
  }

  async #specOf(spec: MonitorSpec | string): Promise<CheckedMonitor> {
    if (typeof spec !== "string") return this.#undeclared(checkedMonitor(spec));
    const declared = this.#declared.get(spec);
    if (declared !== undefined) return fromDeclared(spec, declared);
    const before = (await this.#runs()).get(spec);
    if (before === undefined) throw new RuntimeError("monitor.unknown", { id: spec, session: this.session });
    return specOf(before);
  }

  /** Refuses the names of declared monitors. */
  #undeclared(spec: CheckedMonitor): CheckedMonitor {
    const declared = this.#declared.get(spec.id ?? "");
    if (declared !== undefined && !isDeepStrictEqual(fromDeclared(spec.id as string, declared), spec))
      throw new RuntimeError("monitor.conflict", { id: spec.id as string });
    return spec;
  }

  /** Reading starts monitors only in a process that runs turns. */
  async #startArmed(): Promise<void> {
    if (!this.core.runs) return;
    const armed = [...this.#declared].filter(([, { isArmed }]) => isArmed !== false);
    if (armed.length === 0) return;
    const runs = await this.#runs();
    for (const [id, spec] of armed) if (!runs.has(id)) await this.#start(fromDeclared(id, spec));
  }

  /** `key` is the same in a rerun of a turn or an operation, which starts a monitor of another session at once. */
  async #start(spec: CheckedMonitor, key?: string): Promise<MonitorStatus> {
    if (process.platform === "win32")
      throw new RuntimeError("monitor.invalid", { problem: "there is no /bin/sh on this system" });
    const { core, plugin, callContext } = this.place;
    const id = spec.id ?? freshId(this.place, "mon", "monitor", NAME_LENGTH);
    const input = ownJson({ ...spec, id });
    const runs = await this.#runs();
    const before = runs.get(id);
    const unbegun = this.#notStarted().find(({ job }) => specOf(job).id === id)?.job;
    if (before?.cancel !== undefined && !isOver(before)) {
      await cancelJob(core, before.id, before.cancel.reason); // The monitor is about to end.
      return this.#start({ ...spec, id }, key);
    }
    const running = unbegun ?? (before !== undefined && !isOver(before) ? before : undefined);
    if (running !== undefined) {
      if (!isDeepStrictEqual(running.input, input)) throw new RuntimeError("monitor.conflict", { id });
      return unbegun !== undefined || before === undefined ? startingOf(unbegun ?? running) : this.#statusOf(before);
    }
    const live = [...runs.values()].filter((record) => !isOver(record)).length + this.#notStarted().length;
    if (live >= LIVE_MAX) throw new RuntimeError("monitor.full", { max: LIVE_MAX });
    const fresh = await this.#job(id, spec, input, before?.id ?? "");
    const job = key === undefined ? fresh : { ...fresh, id: await this.#recordedId(key, fresh.id) };
    const isRepeatable = key !== undefined || callContext?.job?.steps !== undefined;
    const known = isRepeatable ? await core.store.jobs.load(job.id) : undefined;
    if (known !== undefined) return this.#statusOf(known.record); // A rerun of the call that started the monitor.
    const spawning: Spawning = { job, plugin, isNamed: true };
    if (await this.#begin(spawning)) return startingOf(this.#requireSameStart(spawning).job);
    await this.#forgetOld();
    const stored = await core.store.jobs.load(job.id);
    return stored === undefined ? startingOf(job) : this.#statusOf(stored.record);
  }

  /** Records the id of the run, because the run can have ended at a rerun, and the monitor must not start again. */
  async #recordedId(key: string, id: JobId): Promise<JobId> {
    const { callContext, plugin } = this.place;
    return asJobId((await callContext?.onceHere<string>(plugin, `monitor/${key}`, () => id)) ?? id);
  }

  async #begin(spawning: Spawning): Promise<boolean> {
    try {
      return await beginJob(this.place, spawning);
    } catch (error) {
      // Another call was first, with another command.
      throw hasCode(error, "job.conflict") ? new RuntimeError("monitor.conflict", { id: nameOf(spawning.job) }) : error;
    }
  }

  /** Two calls of one reply can start the monitor at the same time with different commands. */
  #requireSameStart(own: Spawning): Spawning {
    const other = this.#notStarted().find((each) => each !== own && each.job.id === own.job.id);
    if (other === undefined || isDeepStrictEqual(other.job.input, own.job.input)) return own;
    const carried = carriedAt(this.place);
    carried?.splice(carried.indexOf(own), 1);
    throw new RuntimeError("monitor.conflict", { id: nameOf(own.job) });
  }

  /**
   * The job's id comes from the previous run, so that two parallel starts have the same id. In a task it comes from the
   * step, except for another session.
   */
  async #job(id: string, spec: CheckedMonitor, input: Json, before: string): Promise<NewJob> {
    const { label, wake } = spec;
    const { core, callContext, plugin } = this.place;
    const turnId = callContext?.turn?.live.turnId;
    const parent = turnId === undefined ? callContext?.job && { jobId: callContext.job.id } : { turnId };
    const isStep = callContext?.job?.steps !== undefined && !isOfOther(this.place);
    const step = isStep ? callContext.nextKey(plugin, "background") : undefined;
    const jobId = asJobId(`job_${hashOf(`monitor/${step ?? `${this.session}/${id}/${before}`}`).slice(0, 26)}`);
    const known = (await core.store.jobs.load(jobId))?.record;
    // The monitor was transferred to another session, so its name is free here.
    if (step === undefined && known !== undefined && known.sessionId !== this.session)
      return this.#job(id, spec, input, jobId);
    return {
      id: jobId,
      sessionId: this.session,
      kind: "monitor",
      label,
      visibility: "managed",
      recovery: "rerunnable",
      wake,
      onParentEnd: "keep",
      operation: WATCH,
      input,
      about: { monitor: id },
      at: core.world.now(),
      ...defined({ parent }),
    };
  }

  /** Returns the latest run of each monitor. Of the ended ones it returns only the newest and removes the others. */
  async #forgetOld(): Promise<void> {
    const { store } = this.core;
    const latest = new Set([...(await this.#runs()).values()].map(({ id }) => id));
    const over = (await store.jobs.list({ session: this.session, kind: "monitor", max: Infinity }))
      .map(({ record }) => record)
      .filter((record) => record.operation === WATCH && isOver(record));
    const shown = new Set(over.filter(({ id }) => latest.has(id)).slice(-OVER_MAX));
    for (const record of over) if (!shown.has(record)) await store.jobs.remove(record.id);
  }

  // ── Stopping ────────────────────────────────────────────────────────────────────────────────────────────────────

  stop(id: string, reason = "It was stopped."): Promise<MonitorStatus> {
    return this.call(async () => {
      requireWords("reason", reason);
      const unbegun = this.#notStarted().find(({ job }) => specOf(job).id === id);
      if (unbegun !== undefined) throw new RuntimeError("job.unstarted", { id: unbegun.job.id });
      const record = typeof id === "string" ? (await this.#runs()).get(id) : undefined;
      if (record === undefined) {
        const declared = this.#declared.get(id);
        if (declared !== undefined) return frozen(idleOf(id, declared));
        throw new RuntimeError("monitor.unknown", { id: idText(id), session: this.session });
      }
      if (isOver(record)) return frozen(await this.#statusOf(record));
      return frozen(await this.#statusOf((await cancelJob(this.core, record.id, reason)).record));
    });
  }
}

export const nameOf = (job: Pick<NewJob, "id" | "input">): string => specOf(job).id ?? job.id;
const specOf = ({ input }: Pick<NewJob, "input">): CheckedMonitor => input as unknown as CheckedMonitor;

const fromDeclared = (id: string, { isArmed: _, ...spec }: MonitorDeclaration): CheckedMonitor =>
  checkedMonitor({ ...spec, id });

const STATES: { readonly [S in JobRecord["state"]]: MonitorState } = {
  running: "running",
  idle: "running",
  completed: "exited",
  failed: "failed",
  cancelled: "stopped",
  abandoned: "abandoned",
};

function statusOf(record: JobRecord, lines: readonly JobLine[]): MonitorStatus {
  const { command, label, wake, isPersistent } = specOf(record);
  const { exitCode } = (isObject(record.result) ? record.result : {}) as { readonly exitCode?: number };
  const printed = lines.filter(({ channel }) => channel !== "note");
  return {
    id: nameOf(record),
    jobId: record.id,
    label,
    command,
    wake,
    isPersistent,
    state: STATES[record.state],
    lines: printed.at(-1)?.n ?? 0,
    starts: record.starts,
    ...defined({
      lastLine: printed.at(-1)?.text,
      exitCode,
      error: record.error,
      startedAt: record.startedAt,
      endedAt: record.endedAt,
    }),
  };
}

const idleOf = (id: string, given: MonitorDeclaration): MonitorStatus => {
  const { label, command, wake, isPersistent } = fromDeclared(id, given);
  return { id, label, command, wake, isPersistent, state: "idle", lines: 0, starts: 0 };
};

const startingOf = (job: Pick<NewJob, "id" | "input">): MonitorStatus => {
  const { id = job.id, label, command, wake, isPersistent } = specOf(job);
  return { id, jobId: job.id, label, command, wake, isPersistent, state: "starting", lines: 0, starts: 0 };
};
