import type { EffectName } from "../../model/ids.ts";
import { asInputId, asTurnId, type InputId, type SessionId } from "../../model/ids.ts";
import { decodeInput, encodeInput, fromKeyText, keyText } from "../rows/codec.ts";
import { corrupt, leaseLost } from "../rows/faults.ts";
import type { InputRef, Lease, NewInput, PendingAppend, PendingInput, Withdrawal } from "../store.ts";
import { shownAppend } from "./appends.ts";
import { seal, unseal } from "./checksum.ts";
import type { Connection } from "./connection.ts";
import { counting } from "./counts.ts";
import { limit } from "./facts.ts";
import {
  APPEND,
  amend,
  type Changing,
  type Identity,
  INJECTED,
  requireWhole,
  sealOfTurn,
  TAKEN,
  type TurnColumns,
  UNCLAIMED,
  WAITING,
  WHOLE_TURN_COLUMNS,
  WITHDRAWN,
} from "./turn-row.ts";

/** The places of inputs, as `is_aside` has them. */
const PLACES: readonly NewInput["place"][] = ["turn", "boundary", "injected"];

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
const OLDEST = `${INPUT} WHERE t.session = ? AND t.state = 0 AND t.is_aside < ${INJECTED} ORDER BY t.n LIMIT 1`;
const LIST = `${INPUT} WHERE t.session = (SELECT n FROM session WHERE id = ?) AND t.state = 0
  AND t.is_aside < ${APPEND} ORDER BY t.n`;

const countsOf = counting("SELECT count(*) AS count FROM turn WHERE session = ? AND state = 0");

export const countWaiting = (db: Connection, session: number): number => countsOf(db).of(session);

/** Takes an input that waits for the turn that it opens. */
export function takeOwn(db: Connection, session: number, n: number): void {
  amend(db, n, { state: TAKEN });
  countsOf(db).change(session, -1);
}

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
    is_aside: PLACES.indexOf(place),
    key: key === undefined ? null : keyText(key),
    hash,
    ...UNCLAIMED,
    cancel: null,
    input: seal(encodeInput(wants === undefined ? { message, at } : { message, at, wants }), n),
  };
  addRow(db, row);
}

export function addRow(db: Connection, row: Identity & Changing): void {
  const { n, session, id, input_id, state, is_aside, key, hash, input } = row;
  db.run(ADD, n, session, id, input_id, state, is_aside, key, hash, input, sealOfTurn(row));
  if (state === WAITING) countsOf(db).change(session, 1);
}

/** Removes a row that waits. */
export function removeRow(db: Connection, { n, session }: Pick<TurnColumns, "n" | "session">): void {
  db.run("DELETE FROM turn WHERE n = ?", n);
  countsOf(db).change(session, -1);
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

/** Which inputs wait: some that open turns, some that were injected. */
export const whoWaits = (db: Connection, session: number): { readonly opens: number; readonly injected: number } =>
  db.row(WHO_WAITS, session, session)!;
const WHO_WAITS = `SELECT
  EXISTS (SELECT 1 FROM turn WHERE session = ? AND state = 0 AND is_aside < ${INJECTED}) AS opens,
  EXISTS (SELECT 1 FROM turn WHERE session = ? AND state = 0 AND is_aside = ${INJECTED}) AS injected`;

export const waiting = (db: Connection, session: SessionId): readonly PendingInput[] =>
  db.rows<InputRow>(LIST, session).map(shown);

const HELD = "SELECT 1 FROM turn WHERE session = (SELECT n FROM session WHERE id = ?) AND key = ? AND state <> 2";

export const holds = (db: Connection, session: SessionId, key: string): boolean =>
  db.row(HELD, session, keyText(key)) !== undefined;

/** Withdraws inputs that wait; for the others it answers what became of them. */
export function withdraw(db: Connection, session: SessionId, which: InputRef): readonly Withdrawal[] {
  countsOf(db).clear();
  return named(db, session, which).map(({ n, id, input_id, state, is_aside, done, ended_by }) => {
    if (state === WAITING) amend(db, n, { state: WITHDRAWN, input: null });
    const taken = done === null && ended_by === null ? "taken" : "ended";
    const turn = is_aside === INJECTED ? {} : { turnId: asTurnId(id) };
    return { inputId: asInputId(input_id), ...turn, answer: state === TAKEN ? taken : "withdrawn" };
  });
}

interface NamedRow {
  readonly n: number;
  readonly id: string;
  readonly input_id: string;
  readonly state: number;
  readonly is_aside: number;
  readonly done: number | null;
  readonly ended_by: number | null;
}
const NAMED = `SELECT n, id, input_id, state, is_aside, done, ended_by FROM turn
  WHERE is_aside < ${APPEND} AND session = (SELECT n FROM session WHERE id = ?)`;

/** The rows that are meant, oldest first. */
function named(db: Connection, session: SessionId, which: InputRef): readonly NamedRow[] {
  if ("id" in which) return db.rows(`${NAMED} AND input_id = ?`, session, which.id);
  if ("from" in which)
    return db.rows(
      `${NAMED} AND n >= (SELECT n FROM turn WHERE session = (SELECT n FROM session WHERE id = ?) AND input_id = ?
           AND is_aside < ${APPEND})
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
  const could = takesTurns ? COULD_TAKE : COULD_CLAIM;
  const row = db.row<{ held: number | null }>(could, run.session, run.turn, lease.generation, boundary);
  if (row?.held === null) throw leaseLost(lease);
  return row !== undefined;
}
/** The inputs that any turn takes at a boundary, by an index of their own: those that are not may be many. */
const ASIDE = `${FREE} AND is_aside > 0`;
const APPENDS = `state = 0 AND is_aside = ${APPEND}`;
// The lease counts and there is nothing to claim: this is answered most often, so it is answered without a row.
const could = (free: string): string => `SELECT s.n AS held
  FROM meta LEFT JOIN session s ON s.n = ? AND s.turn = ? AND s.generation = ?
  WHERE s.n IS NULL OR EXISTS (SELECT 1 FROM turn WHERE session = s.n AND ${free})
    OR EXISTS (SELECT 1 FROM turn WHERE claim = s.turn AND boundary = ?)`;
const COULD_TAKE = could(FREE);
const COULD_CLAIM = could(ASIDE);
const CLAIMED = `${INPUT} WHERE t.claim = ? AND t.boundary = ? ORDER BY t.n`;

/** Claims inputs for a boundary; asked again, it answers the same ones. */
export function claim(
  db: Connection,
  run: Run,
  boundary: EffectName,
  max: number,
  takes: true | "appends" | undefined,
): readonly (PendingInput | PendingAppend)[] {
  const before = db.rows<InputRow>(CLAIMED, run.turn, boundary);
  if (before.length > 0) return before.map(shownAny);
  countsOf(db).clear();
  const free = db.rows<{ n: number }>(
    `SELECT n FROM turn WHERE session = ? AND ${takes === true ? FREE : takes === "appends" ? APPENDS : ASIDE} ORDER BY n LIMIT ?`,
    run.session,
    takes === true ? withoutWants(db, run.session, max) : limit(max),
  );
  for (const { n } of free) amend(db, n, { state: TAKEN, claim: run.turn, boundary });
  return db.rows<InputRow>(CLAIMED, run.turn, boundary).map(shownAny);
}

/** How many inputs wait before the first that wants something of the turn it would open. */
function withoutWants(db: Connection, session: number, max: number): number {
  const rows = db.rows<InputRow>(`${INPUT} WHERE t.session = ? AND ${FREE} ORDER BY t.n LIMIT ?`, session, limit(max));
  const end = rows.findIndex((row) => row.is_aside !== APPEND && shown(row).wants !== undefined);
  return end < 0 ? rows.length : end;
}

/**
 * Ends the claimed inputs that the turn settled; the others wait again, in their old places. Answers whether appends are
 * among those.
 */
export function settle(db: Connection, turn: number, settled: readonly InputId[]): boolean {
  const ids = new Set<string>(settled);
  countsOf(db).clear();
  let hasAppends = false;
  for (const row of db.rows<Pick<TurnColumns, "n" | "input_id" | "is_aside">>(CLAIMS, turn)) {
    if (ids.has(row.input_id)) amend(db, row.n, { claim: null, boundary: null, ended_by: turn, input: null });
    else {
      amend(db, row.n, { claim: null, boundary: null, state: WAITING });
      hasAppends ||= row.is_aside === APPEND;
    }
  }
  return hasAppends;
}
const CLAIMS = "SELECT n, input_id, is_aside FROM turn WHERE claim = ?";

const shownAny = (row: InputRow): PendingInput | PendingAppend =>
  row.is_aside === APPEND ? shownAppend(requireWhole(row)) : shown(row);

function shown(row: InputRow): PendingInput {
  const { n, session_id, id, input_id, is_aside, key, hash, input } = requireWhole(row);
  const item = `The input ${input_id}`;
  if (input === null) throw corrupt(item, "what was said is missing");
  return {
    id: asInputId(input_id),
    sessionId: session_id,
    turnId: asTurnId(id),
    ...(key === null ? {} : { key: fromKeyText(key) }),
    place: PLACES[is_aside]!,
    hash,
    ...decodeInput(unseal(input, n, item)),
    seq: n,
  };
}
