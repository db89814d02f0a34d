// An input that is sent later: a job whose only work is to deliver it.
import { hasCode, RuntimeError } from "../../model/errors.ts";
import { hashOf } from "../../model/hash.ts";
import { asJobId, type JobId, type TurnId } from "../../model/ids.ts";
import { textOf } from "../../model/message.ts";
import type { NewInput } from "../../stores/store.ts";
import type { Core } from "../core.ts";

const LABEL = 80;

/**
 * Stores the input until its time. A repeat with the same key and content gets the first result. `applyHooks` runs `input`
 * hooks, which a known key skips.
 */
export async function sendLater(
  core: Core,
  input: NewInput,
  notBefore: number,
  applyHooks?: () => Promise<NewInput>,
): Promise<{ readonly jobId: JobId; readonly turnId: TurnId }> {
  const { id, turnId, sessionId, key, place, hash, at } = input;
  const jobId = asJobId(
    key === undefined ? core.world.id("job") : `job_${hashOf(`${sessionId}/later/${key}`).slice(0, 26)}`,
  );
  const known = await core.store.jobs.load(jobId);
  const before = known?.record.delivers;
  if (before !== undefined && before.hash !== hash) throw new RuntimeError("input.conflict", { key: key ?? "" });
  if (before !== undefined) return { jobId, turnId: before.turnId };
  const { message } = applyHooks === undefined ? input : await applyHooks();
  const delivers = { id, turnId, ...(key === undefined ? {} : { key }), message, place: place as "turn", hash };
  const job = {
    id: jobId,
    sessionId,
    kind: "task",
    label: `Later: ${textOf(message.parts).slice(0, LABEL)}`,
    visibility: "managed",
    recovery: "rerunnable",
    wake: "none",
    onParentEnd: "keep",
    notBefore,
    delivers,
    at,
  } as const;
  try {
    const { jobs } = await core.background.load();
    await jobs.starts.spawn({ job, plugin: "", isNamed: key !== undefined });
    return { jobId, turnId };
  } catch (error) {
    // Another call with this key was first.
    if (hasCode(error, "job.conflict") && key !== undefined) return sendLater(core, input, notBefore);
    throw error;
  }
}
