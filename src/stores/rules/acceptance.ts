import { RuntimeError } from "../../model/errors.ts";
import type { SessionId } from "../../model/ids.ts";
import type { Opened } from "../../turn/event.ts";
import { encodeOpened } from "../rows/codec.ts";
import { corrupt } from "../rows/faults.ts";
import type { Lease, NewInput, OpenAnswer, Opening, Owner, Receipt } from "../store.ts";
import { JOURNAL, SESSION, type SessionRow, TAKEN, TURN, type TurnRow } from "../tables.ts";
import { moveInLists } from "./directory.ts";
import { acceptWaiting, addInput, keepAttachments, requireRoom, rowBefore, toPendingInput } from "./inputs.ts";
import { journalOf } from "./leases.ts";
import { hasMail } from "./parking.ts";
import type { Port } from "./port.ts";
import { all, type Rule } from "./rule.ts";
import { requireProfile, requireSession, statesOf } from "./sessions.ts";

/** Accepts an input durably. If the session is idle and no input waits, the same write opens its turn. */
export function* accept(
  db: Port,
  input: NewInput,
  owner: Owner,
  opening: Opening | undefined,
  pendingMax: number,
): Rule<Receipt> {
  const { id: inputId, turnId } = input;
  const session = yield* requireSession(db, input.sessionId);
  const [before, waiting] = yield* all([rowBefore(db, session.n, input), db.count(TURN, "waiting", session.n)]);
  if (before !== undefined) return yield* answerRepeated(db, session, before, input, owner);
  const isFirst = session.turn === null && input.place !== "injected" && !(yield* opensNext(db, session, waiting));
  if (!isFirst) requireRoom(waiting, pendingMax);
  if (!isFirst || opening === undefined) {
    yield* acceptWaiting(db, session, input);
    return { kind: "queued", inputId, turnId };
  }
  yield* keepAttachments(db, input);
  const turn = yield* addInput(db, session.n, input, TAKEN);
  const time = yield* db.now(input.at);
  const begun = yield* beginTurn(db, session, turn, input, owner, time, opening, waiting > 0);
  db.hint({ kind: "session", sessionId: session.id, what: "fact" });
  yield* db.fact(session.n, "accepted", turn.n);
  return { kind: "opened", inputId, turnId, ...begun };
}

/** Returns whether an input waits to open a turn. */
function* opensNext(db: Port, { n }: SessionRow, waiting: number): Rule<boolean> {
  return waiting > 0 && (yield* db.scan(TURN, "opens", [n], { max: 1 })).length > 0;
}

/** Answers for an input that was accepted before. Throws `input.conflict` if its content differs. */
function* answerRepeated(db: Port, session: SessionRow, row: TurnRow, input: NewInput, owner: Owner): Rule<Receipt> {
  const { id, key, hash } = input;
  const isByKey = key !== undefined && row.key === key;
  const isSame = row.hash === hash && row.session === session.n && (isByKey || row.inputId === id);
  if (!isSame) throw new RuntimeError("input.conflict", { key: key ?? id });
  const { inputId, id: turnId } = row;
  // The answer of an earlier attempt was lost, but its write was kept: the turn is open and the caller holds its lease.
  const isOwn = db.attempt > 1 && inputId === id && session.turn === row.n && session.owner === owner.id;
  const journal = isOwn ? yield* journalOf(db, session, row) : [];
  if (journal.length !== 1) return { kind: "known", inputId, turnId };
  const lease = yield* leaseOf(db, session, row, owner);
  return { kind: "opened", inputId, turnId, lease, opened: journal[0] as Opened };
}

// ── Opening ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Returns what `open` would answer; undefined when there is a turn to open or to resume. */
export function* peek(db: Port, id: SessionId, now: number, isForOperation: boolean): Rule<OpenAnswer | undefined> {
  const session = yield* requireSession(db, id);
  return yield* peekAt(db, session, now, isForOperation);
}

function* peekAt(db: Port, session: SessionRow, now: number, isForOperation: boolean): Rule<OpenAnswer | undefined> {
  if (session.turn === null) {
    const [next] = yield* db.scan(TURN, "opens", [session.n], { max: 1 });
    return next === undefined ? { kind: "idle" } : undefined;
  }
  if (session.wake !== null) {
    if (isForOperation || (yield* hasMail(db, session, now))) return undefined;
    const { id } = yield* openTurn(db, session.turn);
    return { kind: "parked", turnId: id, wakeAt: session.wake };
  }
  const time = yield* db.now(now);
  const holder = { id: session.owner!, process: session.process! };
  if (session.until <= time || db.isDead(holder.process)) return undefined;
  return { kind: "busy", holder, forMs: session.until - time };
}

function* openTurn(db: Port, n: number): Rule<TurnRow> {
  const turn = yield* db.get(TURN, "key", n);
  if (turn === undefined) throw corrupt(`Turn ${n}`, "it is missing");
  return turn;
}

/** The generation that an earlier attempt gave to its lease. The answer of that attempt may have been lost. */
const GENERATION = "generation";

/** Gives the caller the lease of a session that no process holds, and resumes or opens its turn. */
export function* open(
  db: Port,
  id: SessionId,
  owner: Owner,
  now: number,
  opening: Opening,
  isForOperation: boolean,
): Rule<OpenAnswer> {
  const session = yield* requireSession(db, id);
  const isOwn = session.owner === owner.id && session.generation === db.tried.get(GENERATION);
  const answer = isOwn && session.wake === null ? undefined : yield* peekAt(db, session, now, isForOperation);
  if (answer !== undefined) return answer;
  const time = yield* db.now(now);
  if (session.turn === null) return yield* openNext(db, session, owner, time, opening);
  const turn = yield* openTurn(db, session.turn);
  const journal = yield* journalOf(db, session, turn);
  // Parking has already raised the generation of a parked turn.
  const generation = isOwn || session.wake !== null ? session.generation : session.generation + 1;
  const leased = takeLease(db, session, turn, generation, owner, time, journal.length);
  return { kind: "resumed", lease: yield* leaseOf(db, leased, turn, owner), journal };
}

/** Opens a turn for the oldest waiting input. */
function* openNext(db: Port, session: SessionRow, owner: Owner, time: number, opening: Opening): Rule<OpenAnswer> {
  const [next] = yield* db.scan(TURN, "opens", [session.n], { max: 1, isWhole: true });
  const { seq: _, ...input } = toPendingInput(next!, session.id);
  const turn = db.update(TURN, next!, { state: TAKEN });
  return { kind: "opened", ...(yield* beginTurn(db, session, turn, input, owner, time, opening, true)) };
}

function* beginTurn(
  db: Port,
  session: SessionRow,
  turn: TurnRow,
  input: NewInput,
  owner: Owner,
  time: number,
  opening: Opening,
  mayHaveInjected: boolean,
): Rule<{ readonly lease: Lease; readonly opened: Opened }> {
  const [profile, plugins, injected] = yield* all([
    requireProfile(db, session),
    statesOf(db, session.n, session.revision),
    mayHaveInjected ? db.scan(TURN, "injected", [session.n], { max: 1 }) : undefined,
  ]);
  const standing = {
    plugins,
    ...(profile.options === null ? {} : { options: profile.options }),
    ...(injected === undefined || injected.length === 0 ? {} : { hasInjected: true as const }),
  };
  const generation = session.generation + 1;
  const opened = { ...opening(input, profile.config, standing), generation };
  const first = encodeOpened(opened, input) as Opened;
  db.insert(JOURNAL, { session: session.n, seq: 0, size: 1, events: [first] });
  const moved = moveInLists(db, session, opened.at);
  const leased = takeLease(db, session, turn, generation, owner, time, 1, moved);
  return { lease: yield* leaseOf(db, leased, turn, owner), opened };
}

function takeLease(
  db: Port,
  session: SessionRow,
  turn: TurnRow,
  generation: number,
  owner: Owner,
  time: number,
  written: number,
  moved: Partial<SessionRow> = {},
): SessionRow {
  db.tried.set(GENERATION, generation);
  const lease = { generation, turn: turn.n, owner: owner.id, process: owner.process, until: time + db.leaseMs };
  return db.update(SESSION, session, { ...lease, written, wake: null, parked: null, ...moved });
}

function* leaseOf(db: Port, session: SessionRow, turn: TurnRow, owner: Owner): Rule<Lease> {
  const { id: sessionId, generation, revision } = session;
  const sweeps = db.sweeps === undefined ? 0 : yield* db.sweeps();
  const lease = { sessionId, turnId: turn.id, generation, owner, heldMs: db.leaseMs, revision };
  return sweeps === 0 ? lease : { ...lease, sweeps };
}
