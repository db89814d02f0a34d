// What an occurrence starts for one subscription: a job of its own, under an id that is made of both. A repeat finds it.
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

/** With its time: a key that is used again when its occurrence is not kept any more is something else. */
const idIn = ({ id, at }: NewOccurrence, { incarnation }: Subscription): string =>
  `${OF_TRIGGER}${hashOf(`delivery/${id}/${at}/${incarnation}`).slice(0, 26)}`;

export async function deliveryOf(
  core: Core,
  occurrence: NewOccurrence,
  subscription: Subscription,
): Promise<NewDelivery> {
  const { store, limits } = core;
  const { sessionId, id, revision, incarnation } = subscription;
  const about = { sessionId, subscription: id, revision, incarnation };
  const isFull = (await store.jobs.count(sessionId)) >= limits.jobsMax;
  // The other half is for people: a schedule that is quicker than the turns it opens must not lock them out.
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

/** What happened, for the model. */
function whatOf({ at, payload }: NewOccurrence, { on }: Subscription): string {
  if (on.kind === "cron" || on.kind === "interval") return `due at ${new Date(at).toISOString()}`;
  if (on.kind === "commits") return `the turn ${(payload as { readonly turnId: string }).turnId} was committed`;
  return `${on.event} ${JSON.stringify(payload satisfies Json)}`;
}

/**
 * Whether a subscription that opens turns is not told of this one: what a trigger started would start it again, and so on
 * for ever.
 */
export const isPassedBy = ({ starts }: Subscription, turnId: TurnId): boolean =>
  (starts.kind === "turn" || starts.wake === "wake") && turnId.startsWith(`trn_${OF_TRIGGER}`);
