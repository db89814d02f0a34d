import type { EffectName } from "../../model/ids.ts";
import { asInputId, asTurnId, type InputId, type SessionId } from "../../model/ids.ts";
import type { InputRef, Lease, NewInput, PendingInput, Withdrawal } from "../store.ts";
import { corrupt, seal, unseal } from "./checksum.ts";
import { decodeInput, encodeInput, fromKeyText, keyText } from "./codec.ts";
import type { Connection } from "./connection.ts";
import { limit } from "./facts.ts";
import { leaseLost } from "./faults.ts";
import { amend, requireWhole, sealOfTurn, type TurnColumns, UNCLAIMED, WHOLE_TURN_COLUMNS } from "./turn-row.ts";

/** The states of an input. An index of its own finds those that wait. */
export const WAITING = 0;
export const TAKEN = 1;
export const WITHDRAWN = 2;

/** The inputs that another turn may take. A cancelled one must open its own turn, which is told of the cancel. */
export const FREE = "state = 0 AND cancel IS NULL";

/** The numbers of an open turn and its session. They never change, and are never given to another. */
export interface Run {
  readonly session: number;
  readonly turn: number;
}

interface InputRow extends TurnColumns {
  readonly session_id: SessionId;
}
const INPUT = `SELECT s.id AS session_id, ${WHOLE_TURN_COLUMNS}
  FROM turn t JOIN session s ON s.n = t.session`;
const INPUT_BY_TURN = `${INPUT} WHERE t.n = ?`;
const OLDEST = `${INPUT} WHERE t.session = ? AND t.state = 0 ORDER BY t.n LIMIT 1`;
const LIST = `${INPUT} WHERE t.session = (SELECT n FROM session WHERE id = ?) AND t.state = 0 ORDER BY t.n`;

const ADD = `INSERT INTO turn (n, session, id, input_id, state, is_aside, key, hash, input, seal)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export function addInput(db: Connection, n: number, session: number, input: NewInput, state: number): void {
  const { id, turnId, key, place, hash, message, at, wants } = input;
  const row = {
    n,
    session,
    id: turnId,
    input_id: id,
    state,
    is_aside: place === "boundary" ? 1 : 0,
    key: key === undefined ? null : keyText(key),
    hash,
    ...UNCLAIMED,
    cancel: null,
    input: seal(encodeInput(wants === undefined ? { message, at } : { message, at, wants }), n),
  };
  db.run(ADD, n, session, turnId, id, state, row.is_aside, row.key, hash, row.input, sealOfTurn(row));
}

/** The input of a turn that has not ended; afterwards it is not kept. */
export function inputOf(db: Connection, turn: number): PendingInput {
  const row = db.row<InputRow>(INPUT_BY_TURN, turn);
  if (row === undefined) throw corrupt(`The input of turn ${turn}`, "it is missing");
  return shown(row);
}

export const oldestWaiting = (db: Connection, session: number): PendingInput | undefined => {
  const row = db.row<InputRow>(OLDEST, session);
  return row && shown(row);
};

export const waiting = (db: Connection, session: SessionId): readonly PendingInput[] =>
  db.rows<InputRow>(LIST, session).map(shown);

/** Withdraws inputs that wait; for the others it answers what became of them. */
export function withdraw(db: Connection, session: SessionId, which: InputRef): readonly Withdrawal[] {
  return named(db, session, which).map(({ n, id, input_id, state, done, ended_by }) => {
    if (state === WAITING) amend(db, n, { state: WITHDRAWN, input: null });
    const taken = done === null && ended_by === null ? "taken" : "ended";
    return { inputId: asInputId(input_id), turnId: asTurnId(id), answer: state === TAKEN ? taken : "withdrawn" };
  });
}

interface NamedRow {
  readonly n: number;
  readonly id: string;
  readonly input_id: string;
  readonly state: number;
  readonly done: number | null;
  readonly ended_by: number | null;
}
const NAMED = `SELECT n, id, input_id, state, done, ended_by FROM turn
  WHERE session = (SELECT n FROM session WHERE id = ?)`;

/** The rows that are meant, oldest first. */
function named(db: Connection, session: SessionId, which: InputRef): readonly NamedRow[] {
  if ("id" in which) return db.rows(`${NAMED} AND input_id = ?`, session, which.id);
  if ("from" in which)
    return db.rows(
      `${NAMED} AND n >= (SELECT n FROM turn WHERE session = (SELECT n FROM session WHERE id = ?) AND input_id = ?)
         ORDER BY n`,
      session,
      session,
      which.from,
    );
  const key = keyText(which.key);
  const live = db.rows<NamedRow>(`${NAMED} AND key = ? AND state <> 2`, session, key);
  return live.length > 0 ? live : db.rows(`${NAMED} AND key = ? ORDER BY n DESC LIMIT 1`, session, key);
}

/** Whether there is anything to claim at a boundary. Mostly there is not, and then no write lock is needed. */
export function couldClaim(db: Connection, run: Run, lease: Lease, boundary: EffectName, takesTurns: boolean): boolean {
  const least = takesTurns ? ANY : ASIDE;
  const row = db.row<{ held: number | null }>(COULD_CLAIM, run.session, run.turn, lease.generation, least, boundary);
  if (row?.held === null) throw leaseLost(lease);
  return row !== undefined;
}
/** The least `is_aside` that a claim takes: of all inputs, or of those for a boundary. */
const [ANY, ASIDE] = [0, 1];
// The lease counts and there is nothing to claim: this is answered most often, so it is answered without a row.
const COULD_CLAIM = `SELECT s.n AS held FROM meta LEFT JOIN session s ON s.n = ? AND s.turn = ? AND s.generation = ?
  WHERE s.n IS NULL OR EXISTS (SELECT 1 FROM turn WHERE session = s.n AND ${FREE} AND is_aside >= ?)
    OR EXISTS (SELECT 1 FROM turn WHERE claim = s.turn AND boundary = ?)`;
const CLAIMED = `${INPUT} WHERE t.claim = ? AND t.boundary = ? ORDER BY t.n`;

/** Claims inputs for a boundary; asked again, it answers the same ones. */
export function claim(
  db: Connection,
  run: Run,
  boundary: EffectName,
  max: number,
  takesTurns: boolean,
): readonly PendingInput[] {
  const before = db.rows<InputRow>(CLAIMED, run.turn, boundary);
  if (before.length > 0) return before.map(shown);
  const free = db.rows<{ n: number }>(
    `SELECT n FROM turn WHERE session = ? AND ${FREE} AND is_aside >= ? ORDER BY n LIMIT ?`,
    run.session,
    takesTurns ? ANY : ASIDE,
    takesTurns ? withoutWants(db, run.session, max) : limit(max),
  );
  for (const { n } of free) amend(db, n, { state: TAKEN, claim: run.turn, boundary });
  return db.rows<InputRow>(CLAIMED, run.turn, boundary).map(shown);
}

/** How many inputs wait before the first that wants something of the turn it would open. */
function withoutWants(db: Connection, session: number, max: number): number {
  const rows = db.rows<InputRow>(`${INPUT} WHERE t.session = ? AND ${FREE} ORDER BY t.n LIMIT ?`, session, limit(max));
  const end = rows.findIndex((row) => shown(row).wants !== undefined);
  return end < 0 ? rows.length : end;
}

/** Ends the claimed inputs that the turn settled; the others wait again, in their old places. */
export function settle(db: Connection, turn: number, settled: readonly InputId[]): void {
  const ids = new Set<string>(settled);
  for (const row of db.rows<{ n: number; input_id: string }>("SELECT n, input_id FROM turn WHERE claim = ?", turn)) {
    if (ids.has(row.input_id)) amend(db, row.n, { claim: null, boundary: null, ended_by: turn, input: null });
    else amend(db, row.n, { claim: null, boundary: null, state: WAITING });
  }
}

function shown(row: InputRow): PendingInput {
  const { n, session_id, id, input_id, is_aside, key, hash, input } = requireWhole(row);
  const item = `The input ${input_id}`;
  if (input === null) throw corrupt(item, "what was said is missing");
  return {
    id: asInputId(input_id),
    sessionId: session_id,
    turnId: asTurnId(id),
    ...(key === null ? {} : { key: fromKeyText(key) }),
    place: is_aside === 1 ? "boundary" : "turn",
    hash,
    ...decodeInput(unseal(input, n, item)),
    seq: n,
  };
}
