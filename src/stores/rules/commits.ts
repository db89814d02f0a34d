import { RuntimeError } from "../../model/errors.ts";
import { type InputId, nodeId } from "../../model/ids.ts";
import { addUsage } from "../../model/usage.ts";
import type { KeptJournal } from "../rows/codec.ts";
import { committedOf, type Ended, storedOutcome, wordsOf } from "../rows/ended.ts";
import { leaseLost } from "../rows/faults.ts";
import { packJournal } from "../rows/kept-journal.ts";
import type { CommitAnswer, Committed, EndedTurn, Lease } from "../store.ts";
import {
  ATTEMPT,
  JOURNAL,
  NOTE,
  PROFILE,
  SESSION,
  type SegmentRow,
  type SessionRow,
  TURN,
  type TurnRow,
} from "../tables.ts";
import { applyChange } from "./changes.ts";
import { moveInLists } from "./directory.ts";
import { receiptOf } from "./endings.ts";
import { addUser, appendSegment, headId, headOf, requirePosition, tipOf } from "./graph.ts";
import { changeIn, settle, waitingAppends } from "./inputs.ts";
import { turnEnded } from "./jobs/ends.ts";
import { spawnAll } from "./jobs/spawn.ts";
import { isHeldBy } from "./leases.ts";
import { forgetNotes, hasPart, keepParts } from "./operations.ts";
import type { Port } from "./port.ts";
import { all, type Rule } from "./rule.ts";
import { addToLedger, keepStates, requireProfile, statesOf } from "./sessions.ts";
import { endWaits, openWaits } from "./waits.ts";

/** Ends a turn: whole or not at all. */
export function* commit(db: Port, lease: Lease, ended: EndedTurn): Rule<CommitAnswer> {
  const [session, turn] = yield* all([db.session(lease.sessionId), db.get(TURN, "id", ended.turnId)]);
  if (session === undefined || turn === undefined) throw leaseLost(lease);
  if (turn.done !== null || turn.endedBy !== null) {
    const receipt = yield* receiptOf(db, turn, ended);
    // Another worker took the turn over and ended it.
    if (receipt === "conflict" && session.generation !== lease.generation) throw leaseLost(lease);
    if (receipt === "conflict") throw new RuntimeError("store.conflict", { turnId: ended.turnId });
    if (receipt !== undefined) return receipt;
  }
  if (!isHeldBy(session, turn, lease) || lease.turnId !== ended.turnId) throw leaseLost(lease);
  const { cancel } = turn;
  if (cancel !== null && cancel.requestId !== ended.cancel) return { kind: "reopen", cancel };
  return yield* end(db, session, turn, ended);
}

type NewHead = Pick<Ended, "revision" | "head" | "branch" | "plugins">;

function* end(db: Port, session: SessionRow, turn: TurnRow, ended: EndedTurn): Rule<Committed> {
  const { n } = session;
  const { at, inputs, parts = [], spawns = [] } = ended;
  const [tip, waits] = yield* all([tipOf(db, session), openWaits(db, turn.n), settle(db, turn.n, inputs)]);
  db.removeAll(JOURNAL, "session", n);
  endWaits(db, waits);
  for (const table of [NOTE, ATTEMPT]) db.removeAll(table, "turn", turn.n);
  yield* keepParts(db, n, parts);
  yield* forgetNotes(
    db,
    n,
    parts.map(({ operation }) => operation),
  );
  yield* spawnAll(db, spawns, at);
  yield* turnEnded(db, turn.id, at);
  const isOnHead = headId(session, tip) === ended.base;
  const move = isOnHead ? yield* readForAdvance(db, session, ended) : yield* readForBranch(db, ended);
  const appends = yield* waitingAppends(db, n);
  // Facts are numbered last: their counter is the last lock, and every other writer waits for it.
  const done = yield* db.fact(n, "ended", turn.n);
  const next = yield* move(db, session, tip, turn, done);
  const journal = journalOf(ended);
  const stored = storedEndOf(ended, next.newHead, turn.inputId, journal);
  db.update(TURN, turn, { done, ended: stored, input: journal ?? null });
  yield* applyAppends(db, next.session, appends);
  db.hint({ kind: "session", sessionId: session.id, what: "fact" });
  return committedOf({ id: turn.id, done }, stored);
}

const FREE = { turn: null, owner: null, process: null, until: 0, written: 0 };

/** Applies what was read before the fact was numbered. */
type Move = (
  db: Port,
  session: SessionRow,
  tip: SegmentRow | undefined,
  turn: TurnRow,
  done: number,
) => Rule<{ readonly newHead: NewHead; readonly session: SessionRow }>;

/** Appends the turn's nodes to the path and moves the head. */
function* readForAdvance(db: Port, before: SessionRow, ended: EndedTurn): Rule<Move> {
  const { at, outcome, entries, plugins, usage, spent, config } = ended;
  const [states, profile] = yield* all([
    statesOf(db, before.n, before.revision),
    config === undefined ? undefined : requireProfile(db, before),
  ]);
  return function* (db, session, tip, turn, done) {
    const of = { n: turn.n, name: turn.id, depth: (tip?.depth ?? -1) + 1, isNamed: false, isBranch: false };
    const isEmpty = entries.length === 0;
    const place = isEmpty ? headOf(session) : appendSegment(db, of, session, headOf(session), entries);
    const revision = session.revision + 1;
    keepStates(db, session.n, revision, states, plugins);
    db.moved?.(session.n, session.revision, revision, plugins);
    yield* addToLedger(db, session.n, spent, done);
    if (profile !== undefined) db.update(PROFILE, profile, { config: config! });
    const moved = db.update(SESSION, session, {
      ...{ revision, turns: session.turns + 1, head: place?.segment ?? null, headIndex: place?.index ?? null },
      ...{ usage: addUsage(session.usage, usage), ...FREE, words: wordsOf(outcome) },
      ...moveInLists(db, session, at),
    });
    return { newHead: isEmpty ? { revision, head: headId(session, tip) ?? null } : { revision }, session: moved };
  };
}

/** The head moved during the turn. The turn's nodes, which were paid for, become a branch; the head stays. */
function* readForBranch(db: Port, { entries, base, plugins, at: time }: EndedTurn): Rule<Move> {
  const at = base === undefined ? undefined : yield* requirePosition(db, base);
  return function* (db, session, tip, turn) {
    const newHead = { revision: session.revision, head: headId(session, tip) ?? null, plugins };
    const freed = db.update(SESSION, session, { ...FREE, ...moveInLists(db, session, time) });
    if (entries.length === 0)
      return { newHead: base === undefined ? newHead : { ...newHead, branch: base }, session: freed };
    const depth = at === undefined ? 0 : at.depth + 1;
    appendSegment(db, { n: turn.n, name: turn.id, depth, isNamed: false, isBranch: true }, session, at, entries);
    if (at !== undefined) yield* addUser(db, at.segment);
    return { newHead: { ...newHead, branch: nodeId(turn.id, entries.length - 1) }, session: freed };
  };
}

/** Returns the journal as the row of the turn keeps it. */
const journalOf = ({ journal, entries }: EndedTurn): KeptJournal | undefined =>
  journal && packJournal(journal, entries);

function storedEndOf(ended: EndedTurn, newHead: NewHead, own: InputId, journal: KeptJournal | undefined): Ended {
  const { at, outcome, usage, inputs, entries, summary } = ended;
  const isOwnInput = inputs.length === 1 && inputs[0] === own;
  return {
    at,
    outcome: storedOutcome(outcome, entries),
    usage,
    size: entries.length,
    ...(isOwnInput ? {} : { inputs }),
    ...newHead,
    ...(summary === undefined ? {} : { summary }),
    ...(journal === undefined ? {} : { journal: JSON.stringify(journal).length }),
  };
}

/** Applies the appends that waited for the turn and that it did not settle, in order. */
function* applyAppends(db: Port, session: SessionRow, appends: readonly TurnRow[]): Rule<void> {
  let now = session;
  for (const append of appends) {
    const change = changeIn(append);
    db.remove(TURN, append);
    if (!(yield* hasPart(db, session.n, change.operation)))
      now = (yield* applyChange(db, now, change, append.hash)).session;
  }
}
