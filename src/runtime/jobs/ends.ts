// Jobs that end without being run here: one whose process is gone, and one that only delivers an input.
import type { JobError } from "../../model/job.ts";
import { TEXTS } from "../../model/texts.ts";
import type { ClaimedJob } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import { endWake } from "./wake.ts";

/** The process that did the work is gone, and nobody else can go on with it. */
export const abandon = (core: Core, job: ClaimedJob): Promise<void> =>
  endOf(core, job, "abandoned", { code: "job.abandoned", message: TEXTS.jobAbandoned });

/** Ends a job for whoever holds its lease, and tells its session. */
export async function endOf(
  core: Core,
  { lease, record }: Pick<ClaimedJob, "lease" | "record">,
  state: "abandoned" | "failed",
  error: JobError,
): Promise<void> {
  const at = core.world.now();
  const ended = { at, kind: "ended", state, error } as const;
  const wake = endWake(core, record, ended);
  const more = wake === undefined ? {} : { wakes: [wake], wakesMax: core.limits.jobWakesMax + 1 };
  await core.store.jobs.append(lease, [{ key: "end", event: ended }], at, more);
  if (wake !== undefined) core.background.jobs.woke(record.sessionId);
  core.background.jobs.moved(record.id, true);
}

/** The time of an input has come: it is accepted in the write that ends its job. */
export async function deliver(core: Core, { lease, record }: ClaimedJob): Promise<void> {
  const at = core.world.now();
  const { sessionId, delivers } = record;
  if (delivers === undefined) return;
  const input = { ...delivers, key: delivers.key ?? `job:${record.id}`, sessionId, at };
  const ended = { at, kind: "ended", state: "completed" } as const;
  await core.store.jobs.append(lease, [{ key: "end", event: ended }], at, { wakes: [input] });
  core.background.jobs.woke(sessionId);
  core.background.jobs.moved(record.id, true);
}
