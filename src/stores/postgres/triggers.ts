import { RuntimeError } from "../../model/errors.ts";
import type { SessionId } from "../../model/ids.ts";
import type { NewOccurrence, Subscription } from "../../model/trigger.ts";
import { keyText } from "../rows/codec.ts";
import { kindOf, readable, triggerConflict } from "../rows/trigger.ts";
import type { Agenda, MovedTrigger, NewDelivery, OccurAnswer, Store } from "../store.ts";
import type { Blobs } from "./blobs.ts";
import type { Database, Transaction, Value } from "./database.ts";
import { limit } from "./facts.ts";
import type { Jobs } from "./jobs.ts";
import { addOccurrence, findOccurrence, forgetDelivered, forgetOld, lockSource } from "./occurrences.ts";
import { lockSession } from "./session-row.ts";
import { columnsOf, type FoundRow, IS_COMMITS, IS_DUE, type SubscriptionRow, subscriptionOf } from "./trigger-row.ts";

type Listed = Parameters<Store["triggers"]["list"]>[0];

/**
 * What one transaction does. It may be run again although it was kept, if nobody could be told that it was: what it found
 * or wrote the first time tells then what to answer.
 */
type Work<T> = (tx: Transaction, attempt: number) => Promise<T>;

const FOUND = `SELECT u.*, s.id AS "sessionId" FROM @subscription u JOIN @session s ON s.n = u.session`;
const BY_ID = `${FOUND} WHERE s.id = $1 AND u.id = $2`;
const DUE = `${FOUND} WHERE ${IS_DUE} AND next <= $1 ORDER BY next, u.n LIMIT $2`;
const COUNT = "SELECT count(*) FROM @subscription WHERE session = (SELECT n FROM @session WHERE id = $1)";
const ADD = `INSERT INTO @subscription
  (session, id, incarnation, revision, is_enabled, kind, event, source, next, after, body)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`;
const KEEP = `UPDATE @subscription SET incarnation = $2, revision = $3, is_enabled = $4, kind = $5, event = $6,
  source = $7, next = $8, after = $9, body = $10 WHERE n = $1`;
const MOVE = `UPDATE @subscription SET next = $7, after = $8
  WHERE session = (SELECT n FROM @session WHERE id = $1) AND id = $2 AND incarnation = $3 AND revision = $4
    AND next IS NOT DISTINCT FROM $5::float8 AND after IS NOT DISTINCT FROM $6::text RETURNING n`;
const LOCK_SESSIONS = "SELECT n, id FROM @session WHERE id = ANY ($1::text[]) ORDER BY n FOR UPDATE";
const LOCK = `SELECT u.*, s.id AS "sessionId" FROM unnest($1::text[], $2::text[]) AS e (session, id)
  JOIN @session s ON s.id = e.session JOIN @subscription u ON u.session = s.n AND u.id = e.id
  ORDER BY u.n FOR UPDATE OF u`;
const LOCK_JOBS = "SELECT 1 FROM @job WHERE id = ANY ($1::text[]) ORDER BY n FOR UPDATE";

/**
 * What starts work by itself, and what follows when something happens.
 *
 * 1. A new subscription is made under the lock of its session, so that they can be counted. All that is decided about one
 *    that is there is decided under the lock of its own row, or by the statement that writes it.
 * 2. Locks are taken in the order source, sessions, subscriptions, occurrences, jobs. The source comes first: whoever waits
 *    for one that many events come from keeps no turn of any session waiting.
 */
export class Triggers {
  readonly #db: Database;
  readonly #jobs: Jobs;
  readonly #blobs: Blobs;

  constructor(db: Database, jobs: Jobs, blobs: Blobs) {
    this.#db = db;
    this.#jobs = jobs;
    this.#blobs = blobs;
  }

  // ── Subscriptions ─────────────────────────────────────────────────────────────────────────────────────────────────

  put(subscription: Subscription, before: number | undefined, max: number): Work<void> {
    const { sessionId, id } = subscription;
    const columns = columnsOf(subscription);
    return async (tx, attempt) => {
      const [session, known, counted] = await Promise.all([
        lockSession(tx, sessionId),
        tx.row<FoundRow>(`${BY_ID} FOR UPDATE OF u`, sessionId, columns.id),
        before === undefined && max !== Infinity ? tx.row<{ count: number }>(COUNT, sessionId) : undefined,
      ]);
      if (session === undefined) throw new RuntimeError("session.unknown", { id: sessionId });
      if (known?.revision !== before) {
        if (attempt > 1 && known !== undefined && isAsWritten(known, columns)) return;
        throw triggerConflict(id, known);
      }
      await this.#blobs.keepNamed(tx, () => JSON.stringify(subscription.starts));
      const { incarnation, revision, is_enabled, kind, event, source, next, after, body } = columns;
      const changed = [incarnation, revision, is_enabled, kind, event, source, next, after, body];
      if (known !== undefined) return tx.queue(KEEP, known.n, ...changed);
      if (counted !== undefined && counted.count >= max) throw new RuntimeError("trigger.full", { max });
      tx.queue(ADD, session.n, columns.id, ...changed);
    };
  }

  async load(session: SessionId, id: string): Promise<Subscription | undefined> {
    const row = await this.#db.row<FoundRow>(BY_ID, session, keyText(id));
    return row && subscriptionOf(row);
  }

  async list({ session, event, kinds, after, max }: Listed): Promise<readonly Subscription[]> {
    const values: Value[] = [];
    const given = (value: Value): string => `$${values.push(value)}`;
    const terms: string[] = [];
    if (session !== undefined) terms.push(`u.session = (SELECT n FROM @session WHERE id = ${given(session)})`);
    if (event !== undefined) {
      const source = event.source === undefined ? "" : `OR u.source = ${given(keyText(event.source))}`;
      terms.push(`u.is_enabled AND u.event = ${given(keyText(event.name))} AND (u.source IS NULL ${source})`);
    }
    if (kinds !== undefined) terms.push(`u.is_enabled AND u.kind = ANY (${given(kinds.map(kindOf))}::smallint[])`);
    if (after !== undefined) terms.push(`(s.id, u.id) > (${given(after.session)}, ${given(keyText(after.id))})`);
    const where = terms.length === 0 ? "" : `WHERE ${terms.join(" AND ")}`;
    const sql = `${FOUND} ${where} ORDER BY s.id, u.id LIMIT ${given(limit(max))}`;
    return (await this.#db.rows<FoundRow>(sql, ...values)).map(subscriptionOf);
  }

  async due(now: number, max: number): Promise<readonly Subscription[]> {
    return readable(await this.#db.rows<FoundRow>(DUE, now, limit(max)), subscriptionOf);
  }

  remove(session: SessionId, id: string, revision?: number): Work<boolean> {
    let wasThere = false;
    return async (tx) => {
      const row = await tx.row<FoundRow>(`${BY_ID} FOR UPDATE OF u`, session, keyText(id));
      if (row === undefined) return wasThere;
      if (revision !== undefined && row.revision !== revision) {
        if (wasThere) return true; // It was removed, and another one was made.
        throw triggerConflict(id, row);
      }
      tx.queue("DELETE FROM @subscription WHERE n = $1", row.n);
      wasThere = true;
      return true;
    };
  }

  move(moved: MovedTrigger): Work<boolean> {
    return async (tx, attempt) => {
      if ((await tx.row(MOVE, ...moveOf(moved))) !== undefined) return true;
      if (attempt === 1) return false;
      return isAt(await tx.row<FoundRow>(BY_ID, moved.sessionId, keyText(moved.id)), moved, moved.to);
    };
  }

  // ── What happens ──────────────────────────────────────────────────────────────────────────────────────────────────

  occur(
    given: NewOccurrence,
    deliveries: readonly NewDelivery[],
    max: number,
    moved?: MovedTrigger,
  ): Work<OccurAnswer> {
    /** What is found under this number was kept by an earlier run, though nobody was told. */
    let ours: number | undefined;
    return async (tx) => {
      lockSource(tx, this.#db.schema, given.source);
      const [there, before] = await Promise.all([lockAll(tx, deliveries, moved), findOccurrence(tx, given.id)]);
      // Of another source it may come and go while this one holds no lock of that: so it is looked for until it is there.
      for (let known = before; ; known = await findOccurrence(tx, given.id)) {
        if (known !== undefined) {
          if (moved !== undefined) tx.queue(MOVE, ...moveOf(moved));
          return { kind: known.n === ours ? "occurred" : "known", occurrence: known.occurrence };
        }
        if (moved !== undefined && !isAt(there(moved.sessionId, moved.id), moved, moved.from)) return { kind: "stale" };
        const delivered = deliveries.flatMap((delivery) => {
          const row = there(delivery.sessionId, delivery.subscription);
          return isCurrent(row, delivery) && row.is_enabled ? [{ delivery, session: row.session }] : [];
        });
        if (delivered.length < deliveries.length) return { kind: "stale" };

        await this.#blobs.keepNamed(tx, () => JSON.stringify(given.payload));
        const added = await addOccurrence(tx, given, delivered);
        if (added === undefined) continue;
        ours = added.n;
        if (moved !== undefined) tx.queue(MOVE, ...moveOf(moved));
        await this.#begin(tx, deliveries, given, max);
        return { kind: "occurred", occurrence: added.occurrence };
      }
    };
  }

  /** Begins the jobs of what happened, and forgets what is too old, with its jobs that are over. */
  async #begin(tx: Transaction, deliveries: readonly NewDelivery[], { source, at }: NewOccurrence, max: number) {
    const old = await forgetOld(tx, source, max);
    // Before a job is begun, which takes the counter of jobs: that comes after all jobs in the order of locks.
    if (old.length > 0) tx.queue(LOCK_JOBS, old.map(keyText));
    const spawns = deliveries.flatMap(({ job }) => (job === undefined ? [] : [{ job }]));
    if (spawns.length > 0) await this.#jobs.spawnAll(tx, spawns, at);
    if (old.length > 0) await this.#jobs.forgetOver(tx, old);
  }

  /**
   * A session, which is locked, is about to be deleted, and with it its subscriptions, and what was delivered to it. Its
   * jobs are forgotten after that (2).
   */
  async forgetOf(tx: Transaction, session: number): Promise<void> {
    const own = "SELECT incarnation FROM @subscription WHERE session = $1";
    const rows = await tx.rows<Pick<SubscriptionRow, "incarnation">>(own, session);
    const incarnations = rows.map(({ incarnation }) => incarnation);
    await forgetDelivered(tx, session, incarnations);
    tx.queue("DELETE FROM @subscription WHERE session = $1", session);
  }
}

// ── Rows ────────────────────────────────────────────────────────────────────────────────────────────────────────────

type Find = (session: SessionId, id: string) => FoundRow | undefined;

/** Locks the sessions and the subscriptions of what happens, in one round trip, and answers how to find the latter. */
async function lockAll(tx: Transaction, deliveries: readonly NewDelivery[], moved?: MovedTrigger): Promise<Find> {
  const named = deliveries.map(({ sessionId, subscription }) => ({ sessionId, id: subscription }));
  const all = moved === undefined ? named : [...named, moved];
  const sessions = all.map(({ sessionId }) => sessionId);
  const ofJobs = deliveries.flatMap(({ job }) => job?.sessionId ?? []);
  tx.queue(LOCK_SESSIONS, [...new Set([...sessions, ...ofJobs])]);
  const ids = all.map(({ id }) => keyText(id));
  const found = await tx.rows<FoundRow>(LOCK, sessions, ids);
  const placeOf = (session: SessionId, kept: string): string => JSON.stringify([session, kept]);
  const rows = new Map(found.map((row) => [placeOf(row.sessionId, row.id), row]));
  return (session, id) => rows.get(placeOf(session, keyText(id)));
}

/** Whether a row is of what was written, wherever it was moved since. */
const isAsWritten = (row: SubscriptionRow, written: ReturnType<typeof columnsOf>): boolean =>
  (["incarnation", "revision", "is_enabled", "body"] as const).every((column) => row[column] === written[column]);

/** Whether a row is still of this subscription at this revision. */
const isCurrent = (
  row: FoundRow | undefined,
  { incarnation, revision }: Pick<Subscription, "incarnation" | "revision">,
): row is FoundRow => row?.incarnation === keyText(incarnation) && row.revision === revision;

/** Whether it also stands there. */
const isAt = (row: FoundRow | undefined, moved: MovedTrigger, { next, after }: MovedTrigger["to"]): boolean =>
  isCurrent(row, moved) && row.next === (next ?? null) && row.after === (after ?? null);

const moveOf = ({ sessionId, id, incarnation, revision, from, to }: MovedTrigger): readonly Value[] => [
  ...[sessionId, keyText(id), keyText(incarnation), revision],
  ...[from.next ?? null, from.after ?? null, to.next ?? null, to.after ?? null],
];

const TO_DO = `SELECT
  (SELECT min(next) FROM @subscription WHERE ${IS_DUE}) AS first,
  (SELECT min(next) FROM @subscription WHERE ${IS_DUE} AND next > $1) AS next,
  EXISTS (SELECT 1 FROM @subscription WHERE ${IS_COMMITS}) AS commits`;

/** What there is to do for schedules, and whether somebody waits for commits. */
export async function triggersToDo(
  db: Database | Transaction,
  now: number,
): Promise<Pick<Agenda, "hasSchedules" | "hasCommits" | "next">> {
  const row = (await db.row<{ first: number | null; next: number | null; commits: boolean }>(TO_DO, now))!;
  return {
    ...(row.first !== null && row.first <= now ? { hasSchedules: true } : {}),
    ...(row.commits ? { hasCommits: true } : {}),
    ...(row.next === null ? {} : { next: row.next }),
  };
}
