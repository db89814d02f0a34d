import type { JobId, SessionId } from "../../model/ids.ts";
import type { Delivery, NewOccurrence, Occurrence } from "../../model/trigger.ts";
import { corrupt } from "../rows/faults.ts";
import type { MovedTrigger, NewDelivery, OccurAnswer, Store } from "../store.ts";
import {
  DELIVERY,
  type DeliveryRow,
  OCCURRENCE,
  type OccurrenceRow,
  SESSION,
  SUBSCRIPTION,
  type SubscriptionRow,
} from "../tables.ts";
import { forgetOver } from "./jobs/ends.ts";
import { spawnAll } from "./jobs/spawn.ts";
import type { Port } from "./port.ts";
import { all, type Rule } from "./rule.ts";
import { isAt, isCurrent, move, sessionIds } from "./triggers.ts";

/**
 * Occurrences, and the deliveries to subscriptions that they caused. A delivery belongs to the session that received it
 * and is removed with it.
 *
 * occurrence-1: The lock of a source is taken before all others, so that a write that waits for a busy source blocks no
 * turn. Only its holder adds to the source or removes old occurrences, so occurrences are numbered in order.
 * occurrence-2: A write that removes deliveries locks their occurrence first. So the second of two simultaneous session
 * deletes sees that no other session received it.
 * occurrence-3: If an earlier attempt at the same write may have been kept, the number of the row shows whether it was.
 */

// ── Reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export function* listOccurrences(
  db: Port,
  { source, to, before, max }: Parameters<Store["triggers"]["occurrences"]>[0],
): Rule<readonly Occurrence[]> {
  const [last, session] = yield* all([
    before === undefined ? undefined : db.get(OCCURRENCE, "id", before),
    to === undefined ? undefined : db.get(SESSION, "id", to.session),
  ]);
  if ((before !== undefined && last === undefined) || (to !== undefined && session === undefined)) return [];
  const newest = { isDescending: true, ...(last === undefined ? {} : { upTo: last.n - 1 }) };
  if (session === undefined) return yield* read(db, yield* newestOf(db, source, { ...newest, max }));

  const delivered = yield* db.scan(DELIVERY, "session", [session.n]);
  const numbers = delivered
    .filter(({ subscription }) => to?.subscription === undefined || subscription === to.subscription)
    .map(({ occurrence }) => occurrence)
    .filter((n) => n <= (newest.upTo ?? Infinity));
  const wanted = new Set(numbers.sort((a, b) => b - a));
  if (source === undefined) return yield* read(db, yield* numbered(db, [...wanted].slice(0, max)));
  const rows = yield* newestOf(db, source, newest);
  return yield* read(db, rows.filter(({ n }) => wanted.has(n)).slice(0, max));
}

const newestOf = (db: Port, source: string | undefined, options: Parameters<Port["scan"]>[3]) =>
  source === undefined ? db.scan(OCCURRENCE, "all", [], options) : db.scan(OCCURRENCE, "source", [source], options);

function* numbered(db: Port, numbers: readonly number[]): Rule<readonly OccurrenceRow[]> {
  const rows = yield* all(numbers.map((n) => db.get(OCCURRENCE, "key", n)));
  return rows.filter((row) => row !== undefined);
}

function* read(db: Port, rows: readonly OccurrenceRow[]): Rule<readonly Occurrence[]> {
  const deliveries = yield* all(rows.map(({ n }) => db.scan(DELIVERY, "occurrence", [n])));
  const ids = yield* sessionIds(db, deliveries.flat());
  return rows.map((row, at) => occurrenceIn(row, deliveries[at]!, ids));
}

function occurrenceIn(
  row: OccurrenceRow,
  deliveries: readonly DeliveryRow[],
  ids: ReadonlyMap<number, SessionId>,
): Occurrence {
  const { id, source, at, payload } = row;
  const item = `The occurrence ${id}`;
  if ((row.deliveries ?? deliveries.length) !== deliveries.length)
    throw corrupt(item, "some of its deliveries are missing");
  const ofDelivery = (delivery: DeliveryRow): Delivery => {
    const sessionId = ids.get(delivery.session);
    if (sessionId === undefined) throw corrupt(item, "the session of a delivery is missing");
    return deliveryIn(delivery, sessionId);
  };
  return { id, source, payload: payload.payload, at, deliveries: deliveries.map(ofDelivery) };
}

const deliveryIn = (row: DeliveryRow, sessionId: SessionId): Delivery => ({
  ...{ sessionId, subscription: row.subscription, revision: row.revision },
  ...(row.job === null ? {} : { jobId: row.job }),
  ...(row.turn === null ? {} : { turnId: row.turn }),
  ...(row.isLost ? { lost: "full" } : {}),
});

// ── What happens ────────────────────────────────────────────────────────────────────────────────────────────────────

export function* occur(
  db: Port,
  given: NewOccurrence,
  deliveries: readonly NewDelivery[],
  max: number,
  moved?: MovedTrigger,
): Rule<OccurAnswer> {
  const { id, source } = given;
  db.lock({ source });
  const [found, before, count = 0] = yield* all([
    locked(db, deliveries, moved),
    db.get(OCCURRENCE, "id", id),
    max === Infinity ? undefined : db.count(OCCURRENCE, "source", source),
  ]);
  const mover = moved && found(moved.sessionId, moved.id);
  const delivered = deliveries.flatMap((delivery): readonly Delivered[] => {
    const to = found(delivery.sessionId, delivery.subscription);
    return isCurrent(to, delivery) && to.isEnabled ? [{ ...delivery, to }] : [];
  });
  const isStale = delivered.length < deliveries.length || (moved !== undefined && !isAt(mover, moved, moved.from));

  // Only `source` is locked: an occurrence of another source may appear or disappear under this id at any time.
  for (let known = before; ; known = yield* db.get(OCCURRENCE, "id", id)) {
    if (known !== undefined) {
      // Without the lock, a session could be deleted between the read of its delivery and the read of its id
      // (occurrence-2).
      db.lock({ occurrences: [known.n] });
      const [occurrence] = yield* read(db, [known]);
      if (moved !== undefined) move(db, mover, moved);
      return { kind: isOurs(db, known) ? "occurred" : "known", occurrence: occurrence! };
    }
    if (isStale) return { kind: "stale" };
    const occurrence = yield* keep(db, given, delivered, count + 1 - max);
    if (occurrence === undefined) continue;
    if (moved !== undefined) move(db, mover, moved);
    return { kind: "occurred", occurrence };
  }
}

type Find = (session: SessionId, id: string) => SubscriptionRow | undefined;

/** Locks the sessions and the subscriptions that an occurrence concerns, and returns a lookup of the subscriptions. */
function* locked(db: Port, deliveries: readonly NewDelivery[], moved: MovedTrigger | undefined): Rule<Find> {
  const named = deliveries.map(({ sessionId, subscription }) => ({ sessionId, id: subscription }));
  const places = moved === undefined ? named : [...named, moved];
  if (places.length === 0) return () => undefined;
  const own = [...new Set(places.map(({ sessionId }) => sessionId))];
  const ofJobs = deliveries.flatMap(({ job }) => job?.sessionId ?? []);
  db.lock({ sessions: [...new Set([...own, ...ofJobs])] });
  db.lock({ subscriptions: places });
  const sessions = new Map((yield* all(own.map((id) => db.session(id)))).map((row, at) => [own[at]!, row]));
  // Each row is read once: the moved subscription usually receives a delivery too.
  const byKey = new Map(places.map((place) => [keyOf(place.sessionId, place.id), place]));
  const rows = yield* all(
    [...byKey.values()].map(({ sessionId, id }) => {
      const session = sessions.get(sessionId);
      return session && db.get(SUBSCRIPTION, "id", session.n, id);
    }),
  );
  const found = new Map([...byKey.keys()].map((key, at) => [key, rows[at]]));
  return (session, id) => found.get(keyOf(session, id));
}

const keyOf = (session: SessionId, id: string): string => JSON.stringify([session, id]);

/** A delivery with its subscription. */
interface Delivered extends NewDelivery {
  readonly to: SubscriptionRow;
}

/**
 * Stores an occurrence, starts its jobs, and removes the oldest occurrences above the maximum. Returns undefined and
 * writes nothing if another write used its id first.
 */
function* keep(
  db: Port,
  given: NewOccurrence,
  delivered: readonly Delivered[],
  excess: number,
): Rule<Occurrence | undefined> {
  yield* db.keepNamed(() => JSON.stringify(given.payload));
  const [added, old] = yield* all([add(db, given, delivered.length), oldest(db, given.source, excess)]);
  if (added === undefined) return undefined;
  const rows = delivered.map((delivery, nth) => rowOf(added.n, nth, delivery));
  for (const row of rows) db.insert(DELIVERY, row);

  const outdated = yield* forget(db, old);
  // Existing jobs are locked before new jobs are numbered: that is the order of locks.
  if (outdated.length > 0) db.lock({ endings: outdated });
  const spawns = delivered.flatMap(({ job }) => (job === undefined ? [] : [{ job }]));
  if (spawns.length > 0) yield* spawnAll(db, spawns, given.at);
  if (outdated.length > 0) yield* forgetOver(db, outdated);
  return occurrenceIn(added, rows, new Map(delivered.map(({ sessionId, to }) => [to.session, sessionId])));
}

const ADDED = "occurrence.added";

/** Adds an occurrence. Returns undefined if another write used its id first. */
function* add(
  db: Port,
  { id, source, at, payload }: NewOccurrence,
  deliveries: number,
): Rule<OccurrenceRow | undefined> {
  const row = { id, source, at, deliveries, payload: { payload } };
  const added = yield* db.addOnce === undefined ? db.add(OCCURRENCE, row) : db.addOnce(OCCURRENCE, "id", row);
  if (added !== undefined) db.tried.set(ADDED, added.n);
  return added;
}

/** Returns whether an earlier attempt at this write added the row (occurrence-3). */
const isOurs = (db: Port, { n }: OccurrenceRow): boolean => db.attempt > 1 && db.tried.get(ADDED) === n;

const rowOf = (occurrence: number, nth: number, delivered: Delivered): DeliveryRow => {
  const { to, subscription, revision, jobId, turnId, lost } = delivered;
  return {
    ...{ occurrence, nth, session: to.session, subscription, revision },
    ...{ job: jobId ?? null, turn: turnId ?? null, isLost: lost !== undefined },
  };
};

// ── Forgetting ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** Returns the oldest occurrences of a source. Damaged ones are skipped, so that new ones can still be added. */
function* oldest(db: Port, source: string, max: number): Rule<readonly OccurrenceRow[]> {
  return max > 0 ? yield* db.scan(OCCURRENCE, "source", [source], { max, damage: [] }) : [];
}

/** Removes outdated occurrences, and returns the jobs that they started. */
function* forget(db: Port, rows: readonly OccurrenceRow[]): Rule<readonly JobId[]> {
  if (rows.length === 0) return [];
  db.lock({ occurrences: rows.map(({ n }) => n) }); // occurrence-2
  const deliveries = yield* all(rows.map(({ n }) => db.scan(DELIVERY, "occurrence", [n], { damage: [] })));
  for (const row of rows) drop(db, row);
  return [...new Set(deliveries.flat().flatMap(({ job }) => job ?? []))];
}

function drop(db: Port, row: OccurrenceRow): void {
  db.removeAll(DELIVERY, "occurrence", row.n);
  db.remove(OCCURRENCE, row);
}

/** Prefix of a source that serves a single subscription. */
const OWN = "subscription:";

/**
 * Removes the trigger data of a session: its subscriptions, its deliveries, and the sources that only its subscriptions
 * used, also removed ones. The session is locked and is about to be deleted.
 */
export function* forgetTriggersOf(db: Port, session: number): Rule<void> {
  const damage: unknown[] = []; // Damaged rows do not prevent the deletion of a session.
  const [subscriptions, delivered] = yield* all([
    db.scan(SUBSCRIPTION, "session", [session], { damage }),
    db.scan(DELIVERY, "session", [session], { damage }),
  ]);
  const sources = [...new Set(subscriptions.map(({ incarnation }) => OWN + incarnation))];
  const own = (yield* all(sources.map((source) => db.scan(OCCURRENCE, "source", [source], { damage })))).flat();
  const owned = new Set(own.map(({ n }) => n));
  const deliveries = Map.groupBy(delivered, ({ occurrence }) => occurrence);
  const others = [...deliveries.keys()].filter((n) => !owned.has(n));
  if (owned.size + others.length > 0) db.lock({ occurrences: [...owned, ...others] }); // occurrence-2

  const left = yield* all(others.map((n) => all([db.get(OCCURRENCE, "key", n), db.count(DELIVERY, "occurrence", n)])));
  db.removeAll(DELIVERY, "session", session);
  db.removeAll(SUBSCRIPTION, "session", session);
  for (const row of own) drop(db, row);
  for (const [row, count] of left) {
    if (row === undefined) continue;
    const gone = deliveries.get(row.n)!.length;
    if (gone === count && row.source.startsWith(OWN)) db.remove(OCCURRENCE, row);
    else if (typeof row.deliveries === "number") db.update(OCCURRENCE, row, { deliveries: row.deliveries - gone });
  }
}
