// The cast of triggers, beside `cast.ts` and `job-cast.ts`. A subscription is called by its id, and by default waits
// for `EVENT` in alice. An occurrence has a name: "mail" is `occurrence-mail`, and the job that it starts for a
// subscription "watch" is "mail-watch".
import assert from "node:assert/strict";
import type { SessionId } from "../model/ids.ts";
import type { NewJob } from "../model/job.ts";
import type { NewOccurrence, Occurrence, Subscription, TriggerSource } from "../model/trigger.ts";
import type { MovedTrigger, NewDelivery, OccurAnswer, Store } from "../stores/store.ts";
import { alice, NOW, newSession } from "./cast.ts";
import { jobId, newJob } from "./job-cast.ts";

export const EVENT = "mail.arrived";
export const MAIL = `event:${EVENT}`;
export const INTERVAL: TriggerSource = { kind: "interval", everyMs: 10, from: NOW, missed: "once" };

export const subscription = (id = "watch", other: Partial<Subscription> = {}): Subscription => ({
  id,
  sessionId: alice,
  revision: 1,
  incarnation: `${other.sessionId ?? alice}/${id}`,
  label: `to ${id}`,
  on: { kind: "event", event: EVENT },
  starts: { kind: "turn", text: `Do ${id}.` },
  isEnabled: true,
  createdAt: NOW,
  changedAt: NOW,
  ...other,
});

/** Subscribes in a session, which is created if it is missing. */
export async function subscribe(
  store: Store,
  id = "watch",
  other: Partial<Subscription> = {},
  max = 100,
): Promise<Subscription> {
  const made = subscription(id, other);
  await store.create(newSession(made.sessionId));
  await store.triggers.put(made, undefined, max);
  return made;
}
/** Creates a schedule with this next time. */
export const scheduled = (
  store: Store,
  id = "watch",
  next = NOW + 10,
  other: Partial<Subscription> = {},
): Promise<Subscription> => subscribe(store, id, { on: INTERVAL, next, ...other });

/** Changes a subscription and returns the new one. */
export async function change(store: Store, before: Subscription, other: Partial<Subscription>): Promise<Subscription> {
  const after = { ...before, revision: before.revision + 1, changedAt: NOW + 1, ...other };
  await store.triggers.put(after, before.revision, 100);
  return after;
}

export const found = async (store: Store, id = "watch", session: SessionId = alice): Promise<Subscription> =>
  (await store.triggers.load(session, id)) ?? assert.fail(`there is no subscription ${id}`);

type Listed = Parameters<Store["triggers"]["list"]>[0];
export const listed = async (store: Store, page: Partial<Listed> = {}): Promise<readonly string[]> =>
  (await store.triggers.list({ max: 100, ...page })).map(({ id }) => id);
export const due = async (store: Store, now: number, max = 100): Promise<readonly string[]> =>
  (await store.triggers.due(now, max)).map(({ id }) => id);

export const moved = (from: Subscription, to: MovedTrigger["to"]): MovedTrigger => ({
  sessionId: from.sessionId,
  id: from.id,
  incarnation: from.incarnation,
  revision: from.revision,
  from: {
    ...(from.next === undefined ? {} : { next: from.next }),
    ...(from.after === undefined ? {} : { after: from.after }),
  },
  to,
});

export const occurrence = (name = "mail", other: Partial<NewOccurrence> = {}): NewOccurrence => ({
  id: `occurrence-${name}`,
  source: MAIL,
  payload: { name },
  at: NOW,
  ...other,
});
/** Returns the source that only this subscription uses. */
export const sourceOf = ({ incarnation }: Subscription): string => `subscription:${incarnation}`;

export const delivery = (name: string, to: Subscription, other: Partial<NewJob> = {}): NewDelivery => {
  const job = newJob(`${name}-${to.id}`, { sessionId: to.sessionId, ...other });
  const { sessionId, id, revision, incarnation } = to;
  return { sessionId, subscription: id, revision, incarnation, jobId: job.id, job };
};

export interface Occurring extends Partial<NewOccurrence> {
  readonly max?: number;
  readonly moved?: MovedTrigger;
}

/** Stores an occurrence and delivers it to these subscriptions. */
export async function occur(
  store: Store,
  name = "mail",
  to: readonly Subscription[] = [],
  { max = 100, moved, ...other }: Occurring = {},
): Promise<OccurAnswer> {
  const deliveries = to.map((each) => delivery(name, each));
  return store.triggers.occur(occurrence(name, other), deliveries, max, moved);
}
/** Returns the kind of the answer. */
export const occurs = async (...given: Parameters<typeof occur>): Promise<OccurAnswer["kind"]> =>
  (await occur(...given)).kind;

type Happened = Parameters<Store["triggers"]["occurrences"]>[0];
export const occurrences = async (store: Store, page: Partial<Happened> = {}): Promise<readonly Occurrence[]> =>
  store.triggers.occurrences({ max: 100, ...page });
/** Returns the names of occurrences, newest first. */
export const happened = async (store: Store, page: Partial<Happened> = {}): Promise<readonly string[]> =>
  (await occurrences(store, page)).map(({ id }) => id.slice("occurrence-".length));

/** Returns the names of those of these jobs that exist. */
export async function jobsAmong(store: Store, ...names: readonly string[]): Promise<readonly string[]> {
  const jobs = await Promise.all(names.map((name) => store.jobs.load(jobId(name))));
  return names.filter((_, index) => jobs[index] !== undefined);
}
