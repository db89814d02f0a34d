// Ends of jobs that this process does not run: jobs of a dead process, and jobs that only deliver an input.
import type { JobError } from "../../model/job.ts";
import { TEXTS } from "../../model/texts.ts";
import type { ClaimedJob } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import { endWake } from "./wake.ts";

/** Ends a job whose process has died and that no other process can resume. */
export const abandon = (core: Core, job: ClaimedJob): Promise<void> =>
  endOf(core, job, "abandoned", { code: "job.abandoned", message: TEXTS.jobAbandoned });

/** Ends a job under its lease, and sends the message of its end to its session. */
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
  if (wake !== undefined) core.background.jobs.inputAdded(record.sessionId);
  core.background.jobs.jobChanged(record.id, true);
}

/** Delivers a due input: the write that ends its job also accepts the input. */
export async function deliver(core: Core, { lease, record }: ClaimedJob): Promise<void> {
  const at = core.world.now();
  const { sessionId, delivers } = record;
  if (delivers === undefined) return;
  const input = { ...delivers, key: delivers.key ?? `job:${record.id}`, sessionId, at };
  const ended = { at, kind: "ended", state: "completed" } as const;
  await core.store.jobs.append(lease, [{ key: "end", event: ended }], at, { wakes: [input] });
  core.background.jobs.inputAdded(sessionId);
  core.background.jobs.jobChanged(record.id, true);
}
