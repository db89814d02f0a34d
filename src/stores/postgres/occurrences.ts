import { asJobId, type JobId, type SessionId } from "../../model/ids.ts";
import type { Json } from "../../model/json.ts";
import type { Delivery, NewOccurrence, Occurrence } from "../../model/trigger.ts";
import { fromKeyText, keyText } from "../rows/codec.ts";
import { corrupt } from "../rows/faults.ts";
import { isOwn, ownSource, toDelivery } from "../rows/trigger.ts";
import type { Store } from "../store.ts";
import type { Database, Transaction, Value } from "./database.ts";
import { limit } from "./facts.ts";
import { parsed } from "./text.ts";

/**
 * What has happened, and what it started for each subscription. A delivery is of the session that it went to, and goes
 * with that.
 *
 * 1. What comes from one source is numbered in the order in which it came: whoever adds an occurrence holds the lock of its
 *    source to the end of the transaction (`lockSource`), and takes a number after that.
 * 2. Whoever removes a delivery locks its occurrence before. So two sessions that are deleted at once see each other's
 *    deliveries go, and one of them removes what came to nobody else.
 */

/** An occurrence as it is read: its row, and its deliveries in one text, which are of the same moment. */
interface OccurrenceRow {
  readonly n: number;
  readonly id: string;
  readonly source: string;
  readonly at: number;
  readonly payload: string;
  readonly deliveries: string;
}
type DeliveryText = readonly [
  sessionId: SessionId | null,
  subscription: string,
  revision: number,
  job: string | null,
  turn: string | null,
  isLost: boolean,
];

// ── Reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const DELIVERIES = `SELECT json_agg(
    json_build_array(s.id, d.subscription, d.revision, d.job, d.turn, d.is_lost) ORDER BY d.nth)
  FROM @delivery d LEFT JOIN @session s ON s.n = d.session WHERE d.occurrence = o.n`;
const OCCURRENCES = `SELECT o.*, coalesce((${DELIVERIES})::text, '[]') AS deliveries FROM @occurrence o`;

function occurrenceOf({ id, source, at, payload, deliveries }: OccurrenceRow): Occurrence {
  const item = `The occurrence ${id}`;
  const ofDelivery = ([sessionId, subscription, revision, job, turn, isLost]: DeliveryText): Delivery => {
    if (sessionId === null) throw corrupt(item, "the session of a delivery is missing");
    return toDelivery({ sessionId, subscription, revision, job, turn }, isLost);
  };
  return {
    ...{ id: fromKeyText(id), source: fromKeyText(source), payload: parsed<Json>(payload, item), at },
    deliveries: parsed<readonly DeliveryText[]>(deliveries, item).map(ofDelivery),
  };
}

/** What is kept under an id, and the number of its row. */
export interface KeptOccurrence {
  readonly n: number;
  readonly occurrence: Occurrence;
}

export async function findOccurrence(tx: Transaction, id: string): Promise<KeptOccurrence | undefined> {
  const row = await tx.row<OccurrenceRow>(`${OCCURRENCES} WHERE o.id = $1`, keyText(id));
  return row && { n: row.n, occurrence: occurrenceOf(row) };
}

export async function listOccurrences(
  db: Database,
  { source, to, before, max }: Parameters<Store["triggers"]["occurrences"]>[0],
): Promise<readonly Occurrence[]> {
  const values: Value[] = [];
  const given = (value: Value): string => `$${values.push(value)}`;
  const terms: string[] = [];
  // Before one that is not there is nothing: null is no number to be less than.
  if (before !== undefined) terms.push(`o.n < (SELECT n FROM @occurrence WHERE id = ${given(keyText(before))})`);
  if (source !== undefined) terms.push(`o.source = ${given(keyText(source))}`);
  if (to !== undefined) {
    const session = `(SELECT n FROM @session WHERE id = ${given(to.session)})`;
    const which = to.subscription === undefined ? "" : `AND subscription = ${given(keyText(to.subscription))}`;
    terms.push(`o.n IN (SELECT occurrence FROM @delivery WHERE session = ${session} ${which})`);
  }
  const where = terms.length === 0 ? "" : `WHERE ${terms.join(" AND ")}`;
  const sql = `${OCCURRENCES} ${where} ORDER BY o.n DESC LIMIT ${given(limit(max))}`;
  return (await db.rows<OccurrenceRow>(sql, ...values)).map(occurrenceOf);
}

// ── Writing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

// Two stores in one database, each in its schema, do not wait for each other.
const LOCK_SOURCE = "SELECT pg_advisory_xact_lock(hashtextextended($1, 1))";

/** Keeps others from adding to a source until the end of the transaction (1). */
export const lockSource = (tx: Transaction, schema: string, source: string): void =>
  tx.queue(LOCK_SOURCE, `${schema} ${keyText(source)}`);

/** A delivery, and the number of its session. */
export interface Delivered {
  readonly session: number;
  readonly delivery: Delivery;
}

const ADD = `WITH o AS (
    INSERT INTO @occurrence (id, source, at, payload) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING RETURNING n
  ), d AS (
    INSERT INTO @delivery (occurrence, nth, session, subscription, revision, job, turn, is_lost)
      SELECT o.n, e.nth - 1, e.session, e.subscription, e.revision, e.job, e.turn, e.is_lost
        FROM o, unnest($5::bigint[], $6::text[], $7::bigint[], $8::text[], $9::text[], $10::boolean[])
          WITH ORDINALITY AS e (session, subscription, revision, job, turn, is_lost, nth)
  ) SELECT n FROM o`;

/** Keeps what happened, unless something is kept under its id. Waits for others who are about to keep that. */
export async function addOccurrence(
  tx: Transaction,
  { id, source, at, payload }: NewOccurrence,
  delivered: readonly Delivered[],
): Promise<KeptOccurrence | undefined> {
  const text = JSON.stringify(payload);
  const deliveries = delivered.map(({ delivery }) => delivery);
  const added = await tx.row<{ n: number }>(
    ...([ADD, keyText(id), keyText(source), at, text] as const),
    delivered.map(({ session }) => session),
    deliveries.map(({ subscription }) => keyText(subscription)),
    deliveries.map(({ revision }) => revision),
    deliveries.map(({ jobId }) => (jobId === undefined ? null : keyText(jobId))),
    deliveries.map(({ turnId }) => (turnId === undefined ? null : keyText(turnId))),
    deliveries.map(({ lost }) => lost !== undefined),
  );
  if (added === undefined) return undefined;
  const occurrence = { id, source, payload: JSON.parse(text) as Json, at, deliveries: deliveries.map(asKept) };
  return { n: added.n, occurrence };
}

/** A delivery without all that is said of it for this one call. */
const asKept = ({ sessionId, subscription, revision, jobId, turnId, lost }: Delivery): Delivery => ({
  ...{ sessionId, subscription, revision },
  ...(jobId === undefined ? {} : { jobId }),
  ...(turnId === undefined ? {} : { turnId }),
  ...(lost === undefined ? {} : { lost }),
});

// The inner query reads an index alone: what is too old is rare. Its rows are not locked, those that are too old are (2).
const FORGET_OLD = `WITH old AS (
    SELECT n FROM @occurrence WHERE n IN (SELECT n FROM @occurrence WHERE source = $1 ORDER BY n DESC OFFSET $2)
      ORDER BY n FOR UPDATE
  ), o AS (
    DELETE FROM @occurrence o USING old WHERE o.n = old.n
  ), d AS (
    DELETE FROM @delivery d USING old WHERE d.occurrence = old.n RETURNING d.job
  ) SELECT DISTINCT job FROM d WHERE job IS NOT NULL`;

/** Forgets all but the newest of a source, whose lock is held, and answers the jobs that the others have started. */
export async function forgetOld(tx: Transaction, source: string, max: number): Promise<readonly JobId[]> {
  if (max === Infinity) return [];
  const rows = await tx.rows<{ job: string }>(FORGET_OLD, keyText(source), max);
  return rows.map(({ job }) => asJobId(fromKeyText(job)));
}

const LOCK_DELIVERED = `SELECT n, source FROM @occurrence WHERE n IN (
    SELECT n FROM @occurrence WHERE source = ANY ($1::text[])
    UNION ALL SELECT occurrence FROM @delivery WHERE session = $2
  ) ORDER BY n FOR UPDATE`;
const FORGET_EMPTY = `DELETE FROM @occurrence o WHERE n = ANY ($1::bigint[])
  AND NOT EXISTS (SELECT 1 FROM @delivery d WHERE d.occurrence = o.n)`;

/**
 * Forgets what was delivered to a session that is about to be deleted, what its subscriptions of these kept incarnations
 * alone have waited for, and what another of its subscriptions had waited for that was removed before.
 */
export async function forgetDelivered(
  tx: Transaction,
  session: number,
  incarnations: readonly string[],
): Promise<void> {
  const sources = new Set(incarnations.map(ownSource));
  const rows = await tx.rows<Pick<OccurrenceRow, "n" | "source">>(LOCK_DELIVERED, [...sources], session);
  if (rows.length === 0) return;
  const own = rows.filter(({ source }) => sources.has(source)).map(({ n }) => n);
  const others = rows.filter(({ source }) => !sources.has(source) && isOwn(source)).map(({ n }) => n);
  tx.queue("DELETE FROM @delivery WHERE session = $1 OR occurrence = ANY ($2::bigint[])", session, own);
  tx.queue("DELETE FROM @occurrence WHERE n = ANY ($1::bigint[])", own);
  tx.queue(FORGET_EMPTY, others);
}
