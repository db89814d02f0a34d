// Makes the job that an occurrence starts for one subscription. Both make its id, so a repeat finds the same job.
import { hashOf } from "../../model/hash.ts";
import { asInputId, asJobId, asTurnId, type TurnId } from "../../model/ids.ts";
import type { NewJob } from "../../model/job.ts";
import type { Json } from "../../model/json.ts";
import { TEXTS } from "../../model/texts.ts";
import type { NewOccurrence, Subscription } from "../../model/trigger.ts";
import type { NewDelivery } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import { OF_TRIGGER } from "../jobs/wake.ts";

/** The origin of the messages that triggers send. */
const TRIGGERS = "bowline/triggers";

/** The id contains the time, because a key can be used again after its occurrence was removed from the store. */
const idIn = ({ id, at }: NewOccurrence, { incarnation }: Subscription): string =>
  `${OF_TRIGGER}${hashOf(`delivery/${id}/${at}/${incarnation}`).slice(0, 26)}`;

/** An occurrence of one subscription only. The same name always gives the same id. */
export function ownOccurrence({ incarnation }: Subscription, name: string, payload: Json, at: number): NewOccurrence {
  const source = `subscription:${incarnation}`;
  return { id: `occ_${hashOf(`${source}/${name}`).slice(0, 26)}`, source, payload, at };
}

export async function deliveryOf(
  core: Core,
  occurrence: NewOccurrence,
  subscription: Subscription,
): Promise<NewDelivery> {
  const { store, limits } = core;
  const { sessionId, id, revision, incarnation } = subscription;
  const about = { sessionId, subscription: id, revision, incarnation };
  const isFull = (await store.jobs.count(sessionId)) >= limits.jobsMax;
  // The other half of the inputs is for people, so that a fast schedule cannot fill the queue of its session.
  const waiting = subscription.starts.kind === "turn" ? (await store.inputs.list(sessionId)).length : 0;
  if (isFull || waiting >= limits.pendingInputsMax / 2) {
    core.trace("trigger.lost", { subscription: id, occurrence: occurrence.id }, { sessionId });
    return { ...about, lost: "full" };
  }
  const job = jobOf(core, occurrence, subscription);
  const { delivers } = job;
  return { ...about, jobId: job.id, job, ...(delivers === undefined ? {} : { turnId: delivers.turnId }) };
}

function jobOf({ world }: Core, occurrence: NewOccurrence, subscription: Subscription): NewJob {
  const { starts, sessionId, label } = subscription;
  const hash = idIn(occurrence, subscription);
  const job = {
    id: asJobId(`job_${hash}`),
    sessionId,
    kind: "task",
    label,
    visibility: "managed",
    recovery: "rerunnable",
    onParentEnd: "keep",
    about: { trigger: subscription.id, occurrence: occurrence.id },
    at: world.now(),
  } as const;
  if (starts.kind === "job") {
    const { operation, input = occurrence.payload, wake } = starts;
    return { ...job, wake, operation, input };
  }
  const text = TEXTS.triggered(starts.text, label, whatOf(occurrence, subscription));
  const inputId = asInputId(`inp_${hash}`);
  return {
    ...job,
    wake: "none",
    delivers: {
      id: inputId,
      turnId: asTurnId(`trn_${hash}`),
      key: `trigger:${hash}`,
      message: {
        role: "user",
        parts: [{ kind: "text", text }],
        origin: { kind: "plugin", plugin: TRIGGERS, inputId },
      },
      place: "turn",
      hash: hashOf(text),
    },
  };
}

/** Describes the occurrence to the model. */
function whatOf({ at, payload }: NewOccurrence, { on }: Subscription): string {
  if (on.kind === "cron" || on.kind === "interval") return `due at ${new Date(at).toISOString()}`;
  if (on.kind === "commits") return `the turn ${(payload as { readonly turnId: string }).turnId} was committed`;
  return `${on.event} ${JSON.stringify(payload satisfies Json)}`;
}

/**
 * Whether a subscription that opens turns must ignore this turn: a trigger opened the turn, so an endless loop would
 * follow.
 */
export const isPassedBy = ({ starts }: Subscription, turnId: TurnId): boolean =>
  (starts.kind === "turn" || starts.wake === "wake") && turnId.startsWith(`trn_${OF_TRIGGER}`);
