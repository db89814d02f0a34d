// Inputs that jobs send to their session. The write of the event also accepts the input.
import { RuntimeError } from "../../model/errors.ts";
import { hashOf } from "../../model/hash.ts";
import { asInputId, asTurnId } from "../../model/ids.ts";
import type { JobEvent, JobRecord } from "../../model/job.ts";
import { bytesOver } from "../../model/json.ts";
import { TEXTS } from "../../model/texts.ts";
import type { NewInput } from "../../stores/store.ts";
import type { Core } from "../core.ts";

export type WakeInput = NewInput & { readonly key: string };

/** Part of the ids of jobs that triggers start, and of their turns, so that a trigger can recognise them. */
export const OF_TRIGGER = "trg_";

/** The origin of such messages. */
const JOBS = "bowline/jobs";

/** `name` is unique in the job, and the same in every run of it. */
export function wakeInput(core: Core, record: JobRecord, name: string, text: string, isNotice: boolean): WakeInput {
  if (typeof text !== "string" || text.trim() === "")
    throw new RuntimeError("input.invalid", { problem: "the text of a wake is empty" });
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

/** The input at the end of a job; undefined for a cancelled job. */
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

/** Cuts a long result. The job's record has all of it. */
function preview(result: unknown): string | undefined {
  if (result === undefined || result === null) return undefined;
  const text = typeof result === "string" ? result : JSON.stringify(result);
  return text.length <= PREVIEW ? text : `${text.slice(0, PREVIEW)} … (${text.length} characters)`;
}
