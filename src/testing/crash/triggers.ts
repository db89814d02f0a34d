// Reads triggers into plain values for `picture.ts`: without times and cursors, which differ.
import type { Json } from "../../model/json.ts";
import type { Occurrence, Subscription } from "../../model/trigger.ts";
import type { Store } from "../../stores/store.ts";
import type { WrongJob } from "./jobs.ts";

export interface PictureOfSubscription {
  readonly session: string;
  readonly id: string;
  readonly revision: number;
  readonly on: string;
  readonly isEnabled: boolean;
}

export interface PictureOfOccurrence {
  /** `event:<name>`, or `subscription:<session>/<id>` for a source with a single subscription. */
  readonly source: string;
  readonly payload: Json;
  /** The receiver as `<session>/<subscription>`, and the state of the started job; none if no job was started. */
  readonly deliveries: readonly (readonly [to: string, state: string])[];
}

interface Read extends Pick<PictureOfOccurrence, "source" | "deliveries"> {
  readonly occurrence: Occurrence;
}

export async function remainingTriggers(store: Store): Promise<{
  readonly subscriptions: readonly PictureOfSubscription[];
  readonly occurrences: readonly PictureOfOccurrence[];
  readonly wrong: readonly WrongJob[];
}> {
  const subscriptions = await store.triggers.list({ max: Infinity });
  const names = new Map(subscriptions.map((each) => [`${OWN}${each.incarnation}`, `${OWN}${nameOf(each)}`]));
  const found = [...(await store.triggers.occurrences({ max: Infinity }))].reverse();
  const read = await Promise.all(found.map((each) => readOf(store, each, names)));
  return {
    subscriptions: subscriptions.map(shown),
    occurrences: read.map(({ source, deliveries, occurrence: { payload } }) => ({ source, payload, deliveries })),
    wrong: [...undelivered(read), ...doubled(read)],
  };
}

/** Prefix of a source with a single subscription. */
const OWN = "subscription:";
const GONE = "gone";

const nameOf = ({ sessionId, id }: Pick<Subscription, "sessionId" | "id">): string => `${sessionId}/${id}`;

const shown = ({ sessionId: session, id, revision, on, isEnabled }: Subscription): PictureOfSubscription => ({
  ...{ session, id, revision, isEnabled },
  on: on.kind === "event" ? `event:${on.event}` : on.kind,
});

async function readOf(store: Store, occurrence: Occurrence, names: ReadonlyMap<string, string>): Promise<Read> {
  const deliveries = occurrence.deliveries.map(async ({ sessionId, subscription: id, jobId }) => {
    const job = jobId === undefined ? "none" : ((await store.jobs.load(jobId))?.record.state ?? GONE);
    return [nameOf({ sessionId, id }), job] as const;
  });
  const source = names.get(occurrence.source) ?? occurrence.source;
  return { occurrence, source, deliveries: await Promise.all(deliveries) };
}

/** A started job exists as long as its occurrence. */
const undelivered = (read: readonly Read[]): readonly WrongJob[] =>
  read.flatMap(({ source, deliveries }) =>
    deliveries.flatMap(([to, state]): readonly WrongJob[] =>
      state === GONE ? [{ kind: "lost", problem: `what ${source} started for ${to} is nowhere` }] : [],
    ),
  );

/** A time or a commit is delivered once per subscription. */
function doubled(read: readonly Read[]): readonly WrongJob[] {
  const seen = new Set<string>();
  return read.flatMap(({ source, occurrence: { payload } }): readonly WrongJob[] => {
    const what = `${source} ${JSON.stringify(payload)}`;
    const isDoubled = source.startsWith(OWN) && seen.has(what);
    seen.add(what);
    return isDoubled ? [{ kind: "doubled", problem: `${what} happened twice` }] : [];
  });
}
