import { isDeepStrictEqual } from "node:util";
import { RuntimeError } from "../../model/errors.ts";
import type { TurnId } from "../../model/ids.ts";
import type { Opened, TurnEvent } from "../../turn/event.ts";
import { decodeOpened, type EncodedOpened } from "../rows/codec.ts";
import { corrupt, leaseLost } from "../rows/faults.ts";
import type { Appended, JobSpawn, Lease, Mail, NewWait } from "../store.ts";
import { JOURNAL, SESSION, type SessionRow, TURN, type TurnRow } from "../tables.ts";
import { inputOf } from "./inputs.ts";
import { spawnAll } from "./jobs/spawn.ts";
import type { Port } from "./port.ts";
import { all, type Rule } from "./rule.ts";
import { addWaits, resolvedOf } from "./waits.ts";

/**
 * The journals of open turns, and the leases that fence them.
 *
 * The fence: a write under a lease locks the session and compares its turn, generation and owner with the lease. Every
 * lease has a new generation, and a turn that ended is never open again.
 */

export interface TurnWithSession {
  readonly session: SessionRow;
  readonly turn: TurnRow;
}

/** Locks and returns the session and the turn of a lease. The lease may be lost. */
export function* requireLocked(db: Port, lease: Lease): Rule<TurnWithSession> {
  const [session, turn] = yield* all([db.session(lease.sessionId), db.get(TURN, "id", lease.turnId)]);
  if (session === undefined || turn?.session !== session.n) throw leaseLost(lease);
  return { session, turn };
}

export const isHeldBy = (session: SessionRow, turn: TurnRow, { generation, owner }: Lease): boolean =>
  session.turn === turn.n && session.generation === generation && session.owner === owner.id;

/** As `requireLocked`, but throws `lease.lost` if the lease is lost. */
export function* requireHeld(db: Port, lease: Lease): Rule<TurnWithSession> {
  const locked = yield* requireLocked(db, lease);
  if (!isHeldBy(locked.session, locked.turn, lease)) throw leaseLost(lease);
  return locked;
}

/** Returns a turn and its session if the turn is open. */
export function* openTurn(db: Port, id: TurnId): Rule<TurnWithSession | undefined> {
  const turn = yield* db.get(TURN, "id", id);
  const session = turn && (yield* db.sessionOf(turn.session));
  return session === undefined || session.turn !== turn!.n ? undefined : { session, turn: turn! };
}

// ── Journals ────────────────────────────────────────────────────────────────────────────────────────────────────────

export function* append(
  db: Port,
  lease: Lease,
  seq: number,
  events: readonly TurnEvent[],
  now: number,
  waits: readonly NewWait[] = [],
  spawns: readonly JobSpawn[] = [],
): Rule<Appended> {
  const { session, turn } = yield* requireHeld(db, lease);
  const [time, length, waiting, claims] = yield* all([
    db.now(now),
    lengthOf(db, session),
    db.count(TURN, "waiting", session.n),
    db.scan(TURN, "claim", [turn.n], { max: 1 }),
  ]);
  const isNew = events.length > 0 && seq === length && seq > 0;
  if (isNew) db.insert(JOURNAL, { session: session.n, seq, size: events.length, events });
  else yield* requireRepeat(db, session, turn, seq, length, events);
  yield* spawnAll(db, spawns, now);
  const until = Math.max(session.until, time + db.leaseMs); // A late renewal does not shorten a later one.
  db.update(SESSION, session, isNew ? { until, written: seq + events.length } : { until });
  yield* addWaits(db, { session: session.n, turn: turn.n }, waits);
  return { heldMs: db.leaseMs, pending: waiting > 0 || claims.length > 0 };
}

function* lengthOf(db: Port, { n }: SessionRow): Rule<number> {
  const [last] = yield* db.scan(JOURNAL, "session", [n], { isDescending: true, max: 1 });
  return last === undefined ? 0 : last.seq + last.size;
}

/** Throws `append.conflict` unless the journal already contains these events: then the call is a retry. */
function* requireRepeat(
  db: Port,
  session: SessionRow,
  turn: TurnRow,
  seq: number,
  length: number,
  events: readonly TurnEvent[],
): Rule<void> {
  if (events.length === 0) return;
  const stored = (yield* journalOf(db, session, turn)).slice(seq, seq + events.length);
  const sent = JSON.parse(JSON.stringify(events)) as readonly TurnEvent[];
  if (stored.length === sent.length && isDeepStrictEqual(JSON.parse(JSON.stringify(stored)), sent)) return;
  const problem = seq > length ? `leaves a gap after ${length}` : "differs from the recorded events";
  throw new RuntimeError("append.conflict", { operation: `append ${seq} of turn ${turn.id} (${problem})` });
}

/** Returns the events of a session's open turn. */
export function* journalOf(db: Port, session: SessionRow, turn: TurnRow): Rule<TurnEvent[]> {
  const item = `The journal of turn ${turn.n}`;
  const events: TurnEvent[] = [];
  for (const row of yield* db.scan(JOURNAL, "session", [session.n])) {
    if (row.seq !== events.length) throw corrupt(`${item} at ${row.seq}`, "events before it are missing");
    if (row.events.length !== row.size)
      throw corrupt(`${item} at ${row.seq}`, `it has ${row.events.length} events, not ${row.size}`);
    for (const event of row.events) events.push(event);
  }
  if (events.length < Math.max(session.written, 1)) throw corrupt(item, "events at its end are missing");
  const opened = events[0] as Opened | EncodedOpened;
  // The row of the input contains the message, so the first event is stored without it.
  if (opened.kind === undefined) events[0] = decodeOpened(opened, yield* inputOf(db, session, turn.n));
  else if (!("input" in opened)) {
    const { message } = yield* inputOf(db, session, turn.n);
    events[0] = { ...(opened as Opened), input: message };
  }
  return events;
}

/** Returns the events of a turn after number `after`; empty if the turn is not open. */
export function* readJournal(db: Port, id: TurnId, after: number): Rule<readonly TurnEvent[]> {
  const open = yield* openTurn(db, id);
  return open === undefined ? [] : (yield* journalOf(db, open.session, open.turn)).slice(Math.max(after, 0));
}

// ── Leases ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Prolongs the lease and returns the turn's mail. */
export function* renew(db: Port, lease: Lease, now: number): Rule<Mail> {
  const { session, turn } = yield* requireHeld(db, lease);
  const [time, resolved, isFollowed] = yield* all([
    db.now(now),
    resolvedOf(db, turn.n),
    db.isFollowed?.(session.n, now),
  ]);
  db.update(SESSION, session, { until: Math.max(session.until, time + db.leaseMs) });
  return {
    heldMs: db.leaseMs,
    ...(turn.cancel === null ? {} : { cancel: turn.cancel }),
    ...(resolved.length === 0 ? {} : { resolved }),
    ...(isFollowed === true ? { isFollowed } : {}),
  };
}

/** Lets another worker resume the turn at once. Does nothing if the lease is lost. */
export function* release(db: Port, lease: Lease): Rule<void> {
  const [session, turn] = yield* all([db.session(lease.sessionId), db.get(TURN, "id", lease.turnId)]);
  if (session !== undefined && turn !== undefined && isHeldBy(session, turn, lease))
    db.update(SESSION, session, { until: 0 });
}
