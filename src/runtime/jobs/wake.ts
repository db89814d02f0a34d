// What a session is told of its jobs: inputs that are accepted in the same write as the event that they tell of.
import { RuntimeError } from "../../model/errors.ts";
import { hashOf } from "../../model/hash.ts";
import { asInputId, asTurnId } from "../../model/ids.ts";
import type { JobEvent, JobRecord } from "../../model/job.ts";
import { bytesOver } from "../../model/json.ts";
import { TEXTS } from "../../model/texts.ts";
import type { NewInput } from "../../stores/store.ts";
import type { Core } from "../core.ts";

export type WakeInput = NewInput & { readonly key: string };

/** In the ids of jobs that triggers begin, and of turns that these open: a trigger knows by it what one has started. */
export const OF_TRIGGER = "trg_";

/** The origin of such messages. */
const JOBS = "bowline/jobs";

/** `name` is unique in the job, and the same in every run of it. */
export function wakeInput(core: Core, record: JobRecord, name: string, text: string, isNotice: boolean): WakeInput {
  if (typeof text !== "string" || text.trim() === "")
    throw new RuntimeError("input.invalid", { problem: "a wake needs words" });
  const max = core.limits.inputBytesMax;
  const bytes = bytesOver(text, max);
  if (bytes !== undefined) throw new RuntimeError("limit.bytes", { what: "The wake", bytes, max });
  const key = `job:${record.id}:${name}`;
  const hash = `${record.id.startsWith(`job_${OF_TRIGGER}`) ? OF_TRIGGER : ""}${hashOf(key).slice(0, 26)}`;
  const id = asInputId(`inp_${hash}`);
  return {
    id,
    turnId: asTurnId(`trn_${hash}`),
    sessionId: record.sessionId,
    key,
    message: { role: "user", parts: [{ kind: "text", text }], origin: { kind: "plugin", plugin: JOBS, inputId: id } },
    place: isNotice ? "injected" : "turn",
    hash: hashOf(text),
    at: core.world.now(),
  };
}

/** What the end of a job tells its session; nothing of one that was cancelled. */
export function endWake(
  core: Core,
  record: JobRecord,
  { state, result, error }: Extract<JobEvent, { readonly kind: "ended" }>,
): WakeInput | undefined {
  if (record.wake === "none" || state === "cancelled") return undefined;
  const text = TEXTS.jobEnded(record.label, record.id, state, preview(result), error?.message);
  return wakeInput(core, record, "end", text, record.wake === "notify");
}

const PREVIEW = 4_000;

/** Long results are cut: the whole is in the job's record. */
function preview(result: unknown): string | undefined {
  if (result === undefined || result === null) return undefined;
  const text = typeof result === "string" ? result : JSON.stringify(result);
  return text.length <= PREVIEW ? text : `${text.slice(0, PREVIEW)} … (${text.length} characters)`;
}
