import type { JobId, SessionId } from "../../model/ids.ts";
import type { Json } from "../../model/json.ts";
import type { Delivery, NewOccurrence, Occurrence } from "../../model/trigger.ts";
import { fromKeyText, keyText } from "../rows/codec.ts";
import { corrupt } from "../rows/faults.ts";
import { isOwn, ownSource, toDelivery } from "../rows/trigger.ts";
import type { Store } from "../store.ts";
import { requireFit, seal, sumIn, sumOf, unseal } from "./checksum.ts";
import type { Connection } from "./connection.ts";
import { limit } from "./facts.ts";
import { idOf, type KeptId, keptId } from "./job-row.ts";
import { countRows } from "./own-rows.ts";

/**
 * What has happened, numbered in the order in which it came, and what it started for each subscription. A delivery is a
 * row of the session that it went to, and goes with that.
 */
export interface OccurrenceRow {
  readonly n: number;
  readonly id: string;
  readonly source: string;
  readonly at: number;
  /** How many there are: one that is missing leaves no other trace. */
  readonly deliveries: number;
  readonly payload: string;
  readonly seal: number;
}
export interface DeliveryRow {
  readonly occurrence: number;
  readonly nth: number;
  readonly session: number;
  readonly subscription: string;
  readonly revision: number;
  readonly job: KeptId | null;
  readonly turn: string | null;
  readonly is_lost: number;
  readonly seal: number;
}

const itemOf = ({ id }: Pick<OccurrenceRow, "id">): string => `The occurrence ${id}`;

const columnsOf = ({ n, id, source, at, deliveries, payload }: Omit<OccurrenceRow, "seal">): readonly Json[] => [
  ...[n, id, source, at, deliveries, sumIn(payload)],
];
const columnsOfDelivery = (row: Omit<DeliveryRow, "seal">): readonly Json[] => {
  const { occurrence, nth, session, subscription, revision, job, turn, is_lost } = row;
  return [occurrence, nth, session, subscription, revision, job, turn, is_lost];
};

export function payloadIn(row: OccurrenceRow): Json {
  requireFit(row.seal, columnsOf(row), itemOf(row));
  return unseal<{ readonly payload: Json }>(row.payload, row.n, itemOf(row)).payload;
}

export function requireDelivery<Row extends DeliveryRow>(row: Row): Row {
  requireFit(row.seal, columnsOfDelivery(row), `A delivery of occurrence ${row.occurrence}`);
  return row;
}

// ── Reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const DELIVERIES = `SELECT d.*, s.id AS sessionId FROM delivery d LEFT JOIN session s ON s.n = d.session
  WHERE d.occurrence = ? ORDER BY d.nth`;
interface FoundDelivery extends DeliveryRow {
  readonly sessionId: SessionId | null;
}

export function deliveriesOf(db: Connection, row: OccurrenceRow): readonly Delivery[] {
  const found = db.rows<FoundDelivery>(DELIVERIES, row.n).map(requireDelivery);
  if (found.length !== row.deliveries) throw corrupt(itemOf(row), "some of its deliveries are missing");
  return found.map(({ sessionId, ...delivery }): Delivery => {
    if (sessionId === null) throw corrupt(itemOf(row), "the session of a delivery is missing");
    return toDelivery({ ...delivery, sessionId }, delivery.is_lost === 1);
  });
}

const occurrenceOf = (db: Connection, row: OccurrenceRow): Occurrence => ({
  ...{ id: fromKeyText(row.id), source: fromKeyText(row.source), payload: payloadIn(row), at: row.at },
  deliveries: deliveriesOf(db, row),
});

export function findOccurrence(db: Connection, id: string): Occurrence | undefined {
  const row = db.row<OccurrenceRow>("SELECT * FROM occurrence WHERE id = ?", keyText(id));
  return row && occurrenceOf(db, row);
}

const BEFORE = "SELECT * FROM occurrence WHERE n < ?";
const NEWEST = "ORDER BY n DESC LIMIT ?";

export function listOccurrences(
  db: Connection,
  { source, to, before, max }: Parameters<Store["triggers"]["occurrences"]>[0],
): readonly Occurrence[] {
  const first = before === undefined ? Number.MAX_SAFE_INTEGER : numberOf(db, before);
  if (first === undefined) return [];
  const of = source === undefined ? [] : [keyText(source)];
  const from =
    to === undefined ? [] : [to.session, ...(to.subscription === undefined ? [] : [keyText(to.subscription)])];
  const sql = [BEFORE, source === undefined ? "" : "AND source = ?", to === undefined ? "" : deliveredTo(to), NEWEST];
  return db.rows<OccurrenceRow>(sql.join(" "), first, ...of, ...from, limit(max)).map((row) => occurrenceOf(db, row));
}

const deliveredTo = ({ subscription }: { readonly subscription?: string }): string =>
  `AND n IN (SELECT occurrence FROM delivery WHERE session = (SELECT n FROM session WHERE id = ?)
    ${subscription === undefined ? "" : "AND subscription = ?"})`;

const numberOf = (db: Connection, id: string): number | undefined =>
  db.row<{ n: number }>("SELECT n FROM occurrence WHERE id = ?", keyText(id))?.n;

// ── Writing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A delivery, and the number of its session. */
export interface Delivered {
  readonly session: number;
  readonly delivery: Delivery;
}

export function addOccurrence(db: Connection, given: NewOccurrence, delivered: readonly Delivered[]): void {
  const { next } = db.row<{ next: number }>("SELECT coalesce(max(n), 0) + 1 AS next FROM occurrence")!;
  const row = {
    n: next,
    id: keyText(given.id),
    source: keyText(given.source),
    at: given.at,
    deliveries: delivered.length,
    payload: seal({ payload: given.payload }, next),
  };
  const { n, id, source, at, deliveries, payload } = row;
  db.run("INSERT INTO occurrence VALUES (?, ?, ?, ?, ?, ?, ?)", n, id, source, at, deliveries, payload, sealOf(row));
  for (const [nth, each] of delivered.entries()) addDelivery(db, n, nth, each);
}

const sealOf = (row: Omit<OccurrenceRow, "seal">): number => sumOf(columnsOf(row));

function addDelivery(db: Connection, occurrence: number, nth: number, { session, delivery }: Delivered): void {
  const { subscription, revision, jobId, turnId, lost } = delivery;
  const row = {
    ...{ occurrence, nth, session, subscription: keyText(subscription), revision },
    job: jobId === undefined ? null : keptId(jobId),
    turn: turnId === undefined ? null : keyText(turnId),
    is_lost: lost === undefined ? 0 : 1,
  };
  const { job, turn, is_lost } = row;
  const columns = [occurrence, nth, session, row.subscription, revision, job, turn, is_lost];
  db.run("INSERT INTO delivery VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", ...columns, sumOf(columnsOfDelivery(row)));
  countRows(db, session, 1);
}

// By an index alone: what is too old is rare.
const OLD = "SELECT n FROM occurrence WHERE source = ? ORDER BY n DESC LIMIT -1 OFFSET ?";

/** Forgets all but the newest of a source, and answers the jobs that the others have started. */
export function forgetOld(db: Connection, source: string, max: number): readonly JobId[] {
  if (max === Infinity) return [];
  return db.rows<{ n: number }>(OLD, keyText(source), max).flatMap(({ n }) => {
    const jobs = db.rows<Pick<DeliveryRow, "job">>("SELECT job FROM delivery WHERE occurrence = ?", n);
    forget(db, n);
    return jobs.flatMap(({ job }) => (job === null ? [] : [idOf({ id: job })]));
  });
}

function forget(db: Connection, n: number): void {
  for (const { session } of db.rows<DeliveryRow>("SELECT session FROM delivery WHERE occurrence = ?", n))
    countRows(db, session, -1);
  db.run("DELETE FROM delivery WHERE occurrence = ?", n);
  db.run("DELETE FROM occurrence WHERE n = ?", n);
}

/** Forgets what only the subscription of this kept incarnation waited for. */
export function forgetOwn(db: Connection, incarnation: string): void {
  const source = ownSource(incarnation);
  for (const { n } of db.rows<{ n: number }>("SELECT n FROM occurrence WHERE source = ?", source)) forget(db, n);
}

const DELIVERED = "SELECT DISTINCT o.* FROM delivery d JOIN occurrence o ON o.n = d.occurrence WHERE d.session = ?";

/** Forgets what was delivered to a session that is about to be deleted, and what came to nobody else. */
export function forgetDelivered(db: Connection, session: number): void {
  for (const row of db.rows<OccurrenceRow>(DELIVERED, session)) {
    const gone = db.run("DELETE FROM delivery WHERE occurrence = ? AND session = ?", row.n, session);
    const left = { ...row, deliveries: row.deliveries - gone };
    // It was of a subscription that was removed before.
    if (left.deliveries === 0 && isOwn(row.source)) forget(db, row.n);
    else {
      payloadIn(row); // A seal that did not fit must not fit now.
      db.run("UPDATE occurrence SET deliveries = ?, seal = ? WHERE n = ?", left.deliveries, sealOf(left), row.n);
    }
  }
}
