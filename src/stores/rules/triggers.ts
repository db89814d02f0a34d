import { isDeepStrictEqual } from "node:util";
import { RuntimeError } from "../../model/errors.ts";
import { asCursor, type SessionId } from "../../model/ids.ts";
import type { Subscription } from "../../model/trigger.ts";
import { bodyOf, COMMITS, kindOf, triggerConflict } from "../rows/trigger.ts";
import type { Agenda, MovedTrigger, Store } from "../store.ts";
import { SESSION, SUBSCRIPTION, type SubscriptionRow } from "../tables.ts";
import type { Port } from "./port.ts";
import { all, type Rule } from "./rule.ts";

/**
 * Subscriptions to schedules and events. `occurrences.ts` has what happens when they fire.
 *
 * subscription-1: A new subscription is made under the lock of its session, so that the maximum per session holds. An
 * existing one is changed, moved and removed under the lock of its row, so that no turn of the session waits for
 * that.
 * subscription-2: If an earlier attempt at a write may have been kept, the row shows whether it was. The write then
 * returns what the first attempt would have returned.
 */

type Columns = Omit<SubscriptionRow, "n" | "session" | "id">;

const columnsOf = (subscription: Subscription): Columns => {
  const { incarnation, revision, isEnabled, on, next, after } = subscription;
  return {
    ...{ incarnation, revision, isEnabled, kind: kindOf(on.kind) },
    event: on.kind === "event" ? on.event : null,
    source: on.kind === "event" ? (on.source ?? null) : null,
    ...{ next: next ?? null, after: after ?? null, body: bodyOf(subscription) },
  };
};

export function subscriptionIn(row: SubscriptionRow, sessionId: SessionId): Subscription {
  const { id, incarnation, revision, isEnabled, next, after } = row;
  const { label, on, starts, createdAt, changedAt } = row.body;
  return {
    ...{ id, sessionId, revision, incarnation, label, on, starts, isEnabled, createdAt, changedAt },
    ...(next === null ? {} : { next }),
    ...(after === null ? {} : { after: asCursor(after) }),
  };
}

// ── Reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export function* loadSubscription(db: Port, session: SessionId, id: string): Rule<Subscription | undefined> {
  const row = yield* find(db, session, id);
  return row && subscriptionIn(row, session);
}

function* find(db: Port, sessionId: SessionId, id: string): Rule<SubscriptionRow | undefined> {
  const session = yield* db.get(SESSION, "id", sessionId);
  return session && (yield* db.get(SUBSCRIPTION, "id", session.n, id));
}

type Page = Parameters<Store["triggers"]["list"]>[0];

export function* listSubscriptions(db: Port, page: Page): Rule<readonly Subscription[]> {
  if (db.subscriptions !== undefined) return yield* read(db, yield* db.subscriptions(page));
  const { after, max } = page;
  const found = yield* read(db, yield* meeting(db, page));
  return found
    .filter((it) => after === undefined || compare(it, { sessionId: after.session, id: after.id }) > 0)
    .sort(compare)
    .slice(0, max);
}

/** Returns the rows that match the filter of a page. */
function* meeting(db: Port, { session, event, kinds }: Page): Rule<readonly SubscriptionRow[]> {
  const own = session === undefined ? undefined : yield* db.get(SESSION, "id", session);
  if (session !== undefined && own === undefined) return [];
  const groups =
    event !== undefined
      ? [yield* db.scan(SUBSCRIPTION, "event", [event.name])]
      : own !== undefined
        ? [yield* db.scan(SUBSCRIPTION, "session", [own.n])]
        : kinds !== undefined
          ? yield* all(kinds.map((kind) => db.scan(SUBSCRIPTION, "kind", [kindOf(kind)])))
          : [yield* db.scan(SUBSCRIPTION, "all", [])];
  const numbers = kinds?.map(kindOf);
  return groups
    .flat()
    .filter((row) => own === undefined || row.session === own.n)
    .filter(({ source }) => event === undefined || source === null || source === event.source)
    .filter(({ isEnabled, kind }) => numbers === undefined || (isEnabled && numbers.includes(kind)));
}

type SubscriptionKey = Pick<Subscription, "sessionId" | "id">;
const compare = (a: SubscriptionKey, b: SubscriptionKey): number =>
  order(a.sessionId, b.sessionId) || order(a.id, b.id);
const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Returns the subscriptions in these rows. Skips a row whose session is missing. */
function* read(db: Port, rows: readonly SubscriptionRow[]): Rule<readonly Subscription[]> {
  const ids = yield* sessionIds(db, rows);
  return rows.flatMap((row) => {
    const sessionId = ids.get(row.session);
    return sessionId === undefined ? [] : [subscriptionIn(row, sessionId)];
  });
}

/** Returns the ids of the sessions of these rows, by number. Skips missing sessions. */
export function* sessionIds(
  db: Port,
  rows: readonly { readonly session: number }[],
): Rule<ReadonlyMap<number, SessionId>> {
  const numbers = [...new Set(rows.map(({ session }) => session))];
  if (numbers.length === 0) return new Map();
  if (db.sessionIds !== undefined) return yield* db.sessionIds(numbers);
  const sessions = yield* all(numbers.map((n) => db.get(SESSION, "key", n)));
  return new Map(sessions.flatMap((session) => (session === undefined ? [] : [[session.n, session.id]])));
}

/** Skips damaged schedules, because they must not block others. Throws the damage if there are no others. */
export function* dueSubscriptions(db: Port, now: number, max: number): Rule<readonly Subscription[]> {
  const damage: unknown[] = [];
  const found = yield* read(db, yield* db.scan(SUBSCRIPTION, "due", [], { upTo: now, max, damage }));
  if (found.length === 0 && damage.length > 0) throw damage[0];
  return found;
}

/** Returns whether schedules are due, when the next one will be, and whether a subscription waits for commits. */
export function* triggersToDo(db: Port, now: number): Rule<Pick<Agenda, "hasSchedules" | "hasCommits" | "next">> {
  const damage = { due: [], commits: [] };
  const [due, commits, next] = yield* all([
    db.scan(SUBSCRIPTION, "due", [], { upTo: now, max: 1, damage: damage.due }),
    db.scan(SUBSCRIPTION, "kind", [COMMITS], { max: 1, damage: damage.commits }),
    firstAfter(db, now),
  ]);
  return {
    ...(due.length + damage.due.length > 0 ? { hasSchedules: true } : {}),
    ...(commits.length + damage.commits.length > 0 ? { hasCommits: true } : {}),
    ...(next === undefined ? {} : { next }),
  };
}

/** Returns the next time at which a schedule is due. A damaged schedule must not hide the later ones. */
function* firstAfter(db: Port, now: number): Rule<number | undefined> {
  const damage: unknown[] = [];
  const first = yield* db.scan(SUBSCRIPTION, "due", [], { above: now, max: 1, damage });
  const rows = damage.length === 0 ? first : yield* db.scan(SUBSCRIPTION, "due", [], { above: now, damage });
  return rows[0]?.next ?? undefined;
}

// ── Writing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export function* putSubscription(
  db: Port,
  subscription: Subscription,
  before: number | undefined,
  max: number,
): Rule<void> {
  const { sessionId, id } = subscription;
  const session = yield* db.session(sessionId);
  if (session === undefined) throw new RuntimeError("session.unknown", { id: sessionId });
  db.lock({ subscriptions: [{ sessionId, id }] });
  const [known, count = 0] = yield* all([
    db.get(SUBSCRIPTION, "id", session.n, id),
    before === undefined && max !== Infinity ? db.count(SUBSCRIPTION, "session", session.n) : undefined,
  ]);
  const columns = columnsOf(subscription);
  if (known?.revision !== before) {
    if (db.attempt > 1 && known !== undefined && isAsWritten(known, columns)) return; // subscription-2
    throw triggerConflict(id, known);
  }
  yield* db.keepNamed(() => JSON.stringify(subscription.starts));
  if (known !== undefined) db.update(SUBSCRIPTION, known, columns);
  else if (count >= max) throw new RuntimeError("trigger.full", { max });
  else yield* db.add(SUBSCRIPTION, { session: session.n, id, ...columns });
}

/** Returns whether a row is what was written. It may have moved since. */
function isAsWritten(row: SubscriptionRow, { incarnation, revision, isEnabled, body }: Columns): boolean {
  if (row.incarnation !== incarnation || row.revision !== revision || row.isEnabled !== isEnabled) return false;
  return isDeepStrictEqual(row.body, JSON.parse(JSON.stringify(body)));
}

const REMOVED = "subscription.removed";

/** Also removes a damaged subscription if no revision is given. The revision of a damaged one is unknown. */
export function* removeSubscription(db: Port, sessionId: SessionId, id: string, revision?: number): Rule<boolean> {
  const wasRemoved = db.attempt > 1 && db.tried.has(REMOVED); // Removed by an earlier attempt (subscription-2).
  db.lock({ subscriptions: [{ sessionId, id }] });
  const session = yield* db.get(SESSION, "id", sessionId);
  if (session === undefined) return wasRemoved;
  const damage: unknown[] = [];
  const [row] = yield* db.scan(SUBSCRIPTION, "id", [session.n, id], { damage });
  if (row === undefined && damage.length === 0) return wasRemoved;
  if (revision !== undefined && row?.revision !== revision) {
    if (wasRemoved) return true; // Another subscription was made under the same id since.
    throw row === undefined ? damage[0] : triggerConflict(id, row);
  }
  db.removeAll(SUBSCRIPTION, "id", session.n, id);
  db.tried.set(REMOVED, true);
  return true;
}

export function* moveSubscription(db: Port, moved: MovedTrigger): Rule<boolean> {
  db.lock({ subscriptions: [moved] });
  const row = yield* find(db, moved.sessionId, moved.id);
  return move(db, row, moved) || (db.attempt > 1 && isAt(row, moved, moved.to)); // subscription-2
}

/** Moves a locked subscription. Returns false if it was changed or is not at the expected position. */
export function move(db: Port, row: SubscriptionRow | undefined, moved: MovedTrigger): boolean {
  if (!isAt(row, moved, moved.from)) return false;
  const { next = null, after = null } = moved.to;
  db.update(SUBSCRIPTION, row, { next, after });
  return true;
}

/** Returns whether a row still has this revision of the subscription. */
export const isCurrent = (
  row: SubscriptionRow | undefined,
  { incarnation, revision }: Pick<Subscription, "incarnation" | "revision">,
): row is SubscriptionRow => row?.incarnation === incarnation && row.revision === revision;

/** Returns whether a row is current and at this position. */
export const isAt = (
  row: SubscriptionRow | undefined,
  moved: MovedTrigger,
  { next = null, after = null }: { readonly next?: number | null; readonly after?: string | null },
): row is SubscriptionRow => isCurrent(row, moved) && row.next === next && row.after === after;
