import { RuntimeError } from "../../model/errors.ts";
import type { SessionId } from "../../model/ids.ts";
import type { NewOccurrence, Subscription } from "../../model/trigger.ts";
import { keyText } from "../rows/codec.ts";
import { kindOf, readable, triggerConflict } from "../rows/trigger.ts";
import type { Agenda, MovedTrigger, NewDelivery, OccurAnswer, Store } from "../store.ts";
import type { Blobs } from "./blobs.ts";
import type { Connection } from "./connection.ts";
import { counting } from "./counts.ts";
import type { Value } from "./database.ts";
import { limit } from "./facts.ts";
import type { Jobs } from "./jobs.ts";
import { addOccurrence, findOccurrence, forgetDelivered, forgetOld, forgetOwn } from "./occurrences.ts";
import { countRows } from "./own-rows.ts";
import {
  type FoundRow,
  IS_COMMITS,
  IS_DUE,
  requireSubscription,
  rowOf,
  type SubscriptionRow,
  subscriptionOf,
  withSeal,
} from "./trigger-row.ts";

type Listed = Parameters<Store["triggers"]["list"]>[0];

const FOUND = "SELECT u.*, s.id AS sessionId FROM subscription u CROSS JOIN session s ON s.n = u.session";
const BY_ID = `SELECT u.*, s.id AS sessionId FROM session s CROSS JOIN subscription u ON u.session = s.n
  WHERE s.id = ? AND u.id = ?`;
const DUE = `SELECT u.*, s.id AS sessionId FROM subscription u INDEXED BY subscription_due
  CROSS JOIN session s ON s.n = u.session WHERE ${IS_DUE} AND next <= ? ORDER BY next, u.n LIMIT ?`;
const ADD = "INSERT INTO subscription VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
const KEEP = `UPDATE subscription SET incarnation = ?, revision = ?, is_enabled = ?, kind = ?, event = ?, source = ?,
  next = ?, after = ?, body = ?, seal = ? WHERE n = ?`;
const MOVE = "UPDATE subscription SET next = ?, after = ?, seal = ? WHERE n = ?";

const counts = counting("SELECT count(*) AS count FROM subscription WHERE session = ?");

/** What starts work by itself, and what follows when something happens. */
export class Triggers {
  readonly #db: Connection;
  readonly #jobs: Jobs;
  readonly #blobs: Blobs;

  constructor(db: Connection, jobs: Jobs, blobs: Blobs) {
    this.#db = db;
    this.#jobs = jobs;
    this.#blobs = blobs;
  }

  // ── Subscriptions ─────────────────────────────────────────────────────────────────────────────────────────────────

  put(subscription: Subscription, before: number | undefined, max: number): void {
    const db = this.#db;
    const { sessionId, id } = subscription;
    const session = this.#requireSession(sessionId);
    const known = this.#find(sessionId, id);
    if (known !== undefined) requireSubscription(known);
    if (known?.revision !== before) throw triggerConflict(id, known);
    this.#blobs.keepNamed(() => JSON.stringify(subscription.starts));
    if (known === undefined) {
      if (max !== Infinity && counts(db).of(session) >= max) throw new RuntimeError("trigger.full", { max });
      const { next } = db.row<{ next: number }>("SELECT coalesce(max(n), 0) + 1 AS next FROM subscription")!;
      this.#add(rowOf(next, session, subscription));
    } else this.#keep(rowOf(known.n, session, subscription));
  }

  #add(row: SubscriptionRow): void {
    const { n, session, id, incarnation, revision, is_enabled, kind, event, source, next, after, body } = row;
    const columns = [n, session, id, incarnation, revision, is_enabled, kind, event, source, next, after, body];
    this.#db.run(ADD, ...columns, row.seal);
    counts(this.#db).change(session, 1);
    countRows(this.#db, session, 1);
  }

  #keep(row: SubscriptionRow): void {
    const { n, incarnation, revision, is_enabled, kind, event, source, next, after, body, seal } = row;
    this.#db.run(KEEP, incarnation, revision, is_enabled, kind, event, source, next, after, body, seal, n);
  }

  load(session: SessionId, id: string): Subscription | undefined {
    const row = this.#find(session, id);
    return row && subscriptionOf(row);
  }

  list({ session, event, kinds, after, max }: Listed): readonly Subscription[] {
    const terms: readonly (readonly [string, readonly Value[] | undefined])[] = [
      ["u.session = (SELECT n FROM session WHERE id = ?)", session && [session]],
      [
        "u.is_enabled = 1 AND u.event = ? AND (u.source IS NULL OR u.source = ?)",
        event && [keyText(event.name), event.source === undefined ? null : keyText(event.source)],
      ],
      [
        "u.is_enabled = 1 AND u.kind IN (SELECT value FROM json_each(?))",
        kinds && [JSON.stringify(kinds.map((kind) => kindOf(kind)))],
      ],
      ["(s.id, u.id) > (?, ?)", after && [after.session, keyText(after.id)]],
    ];
    const given = terms.filter((term): term is readonly [string, readonly Value[]] => term[1] !== undefined);
    const which = given.length === 0 ? "" : `WHERE ${given.map(([term]) => term).join(" AND ")}`;
    const values = given.flatMap(([, each]) => each);
    return this.#db
      .rows<FoundRow>(`${FOUND} ${which} ORDER BY s.id, u.id LIMIT ?`, ...values, limit(max))
      .map(subscriptionOf);
  }

  due(now: number, max: number): readonly Subscription[] {
    return readable(this.#db.rows<FoundRow>(DUE, now, limit(max)), subscriptionOf);
  }

  /** One that is damaged can be removed too, where no revision is asked for. */
  remove(session: SessionId, id: string, revision?: number): boolean {
    const row = this.#find(session, id);
    if (row === undefined) return false;
    if (revision !== undefined && requireSubscription(row).revision !== revision) throw triggerConflict(id, row);
    this.#db.run("DELETE FROM subscription WHERE n = ?", row.n);
    counts(this.#db).change(row.session, -1);
    countRows(this.#db, row.session, -1);
    return true;
  }

  move(moved: MovedTrigger): boolean {
    const row = this.#standing(moved);
    if (row === undefined) return false;
    const { next = null, after = null } = moved.to;
    this.#db.run(MOVE, next, after, withSeal({ ...row, next, after }).seal, row.n);
    return true;
  }

  /** The subscription that is to be moved, unless it was changed or stands elsewhere. */
  #standing({ sessionId, id, incarnation, revision, from }: MovedTrigger): FoundRow | undefined {
    const row = this.#at(sessionId, id, incarnation, revision);
    return row?.next === (from.next ?? null) && row.after === (from.after ?? null) ? row : undefined;
  }

  /** The subscription, if it is still this one at this revision. */
  #at(session: SessionId, id: string, incarnation: string, revision: number): FoundRow | undefined {
    const row = this.#find(session, id);
    if (row === undefined || requireSubscription(row).incarnation !== keyText(incarnation)) return undefined;
    return row.revision === revision ? row : undefined;
  }

  #find(session: SessionId, id: string): FoundRow | undefined {
    return this.#db.row<FoundRow>(BY_ID, session, keyText(id));
  }

  #requireSession(id: SessionId): number {
    const row = this.#db.row<{ n: number }>("SELECT n FROM session WHERE id = ?", id);
    if (row === undefined) throw new RuntimeError("session.unknown", { id });
    return row.n;
  }

  // ── What happens ──────────────────────────────────────────────────────────────────────────────────────────────────

  occur(given: NewOccurrence, deliveries: readonly NewDelivery[], max: number, moved?: MovedTrigger): OccurAnswer {
    const db = this.#db;
    const known = findOccurrence(db, given.id);
    if (known !== undefined) {
      if (moved !== undefined) this.move(moved);
      return { kind: "known", occurrence: known };
    }
    if (moved !== undefined && this.#standing(moved) === undefined) return { kind: "stale" };
    const rows = deliveries.map((delivery) => this.#current(delivery));
    const found = rows.filter((row) => row !== undefined);
    if (found.length < rows.length) return { kind: "stale" };

    this.#blobs.keepNamed(() => JSON.stringify(given.payload));
    addOccurrence(
      db,
      given,
      deliveries.map((delivery, index) => ({ delivery, session: found[index]!.session })),
    );
    const spawns = deliveries.flatMap(({ job }) => (job === undefined ? [] : [{ job }]));
    this.#jobs.spawnAll(spawns, given.at);
    if (moved !== undefined) this.move(moved);
    const occurrence = findOccurrence(db, given.id)!;
    this.#jobs.forgetOver(forgetOld(db, given.source, max));
    return { kind: "occurred", occurrence };
  }

  /** The subscription that something is delivered to, if it is still that one. */
  #current({ sessionId, subscription, incarnation, revision }: NewDelivery): FoundRow | undefined {
    const row = this.#at(sessionId, subscription, incarnation, revision);
    return row?.is_enabled === 1 ? row : undefined;
  }

  /** A session is about to be deleted, and with it its subscriptions, and what was delivered to it. */
  forgetOf(id: SessionId): void {
    const db = this.#db;
    const session = db.row<{ n: number }>("SELECT n FROM session WHERE id = ?", id);
    if (session === undefined) return;
    const own = "SELECT incarnation FROM subscription WHERE session = ?";
    for (const { incarnation } of db.rows<Pick<SubscriptionRow, "incarnation">>(own, session.n))
      forgetOwn(db, incarnation);
    forgetDelivered(db, session.n);
    db.run("DELETE FROM subscription WHERE session = ?", session.n);
    counts(db).clear();
  }
}

const TO_DO = `SELECT
  (SELECT min(next) FROM subscription INDEXED BY subscription_due WHERE ${IS_DUE}) AS first,
  (SELECT min(next) FROM subscription INDEXED BY subscription_due WHERE ${IS_DUE} AND next > ?) AS next,
  EXISTS (SELECT 1 FROM subscription INDEXED BY subscription_kind WHERE ${IS_COMMITS}) AS commits`;

/** What there is to do for schedules, and whether somebody waits for commits. */
export function triggersToDo(db: Connection, now: number): Pick<Agenda, "hasSchedules" | "hasCommits" | "next"> {
  const row = db.row<{ first: number | null; next: number | null; commits: number }>(TO_DO, now)!;
  return {
    ...(row.first !== null && row.first <= now ? { hasSchedules: true } : {}),
    ...(row.commits === 1 ? { hasCommits: true } : {}),
    ...(row.next === null ? {} : { next: row.next }),
  };
}
