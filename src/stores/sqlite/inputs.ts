import type { EffectName } from "../../model/ids.ts";
import { asInputId, asTurnId, type InputId, type SessionId } from "../../model/ids.ts";
import type { NewInput, PendingInput, WithdrawAnswer } from "../store.ts";
import type { Connection } from "./connection.ts";
import { corrupt, fromKeyText, keyText, pack, unpack } from "./pack.ts";

/** Where an input is. Waiting ones are found by an index of their own. */
export const WAITING = 0;
export const TAKEN = 1;
export const WITHDRAWN = 2;

/** The numbers of an open turn and its session. They never change, and are never given to another. */
export interface Run {
  readonly session: number;
  readonly turn: number;
}

interface InputRow {
  readonly n: number;
  readonly session_id: SessionId;
  readonly id: string;
  readonly input_id: string;
  readonly is_aside: number;
  readonly key: string | null;
  readonly hash: string;
  readonly input: string | null;
}
const INPUT = `SELECT t.n, s.id AS session_id, t.id, t.input_id, t.is_aside, t.key, t.hash, t.input
  FROM turn t JOIN session s ON s.n = t.session`;

export function addInput(db: Connection, n: number, session: number, input: NewInput, state: number): void {
  const { id, turnId, sessionId: _, key, place, hash, ...rest } = input;
  db.run(
    `INSERT INTO turn (n, session, id, input_id, state, is_aside, key, hash, input) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    n,
    session,
    turnId,
    id,
    state,
    place === "boundary" ? 1 : 0,
    key === undefined ? null : keyText(key),
    hash,
    pack(rest, n),
  );
}

/** Of an input whose turn has not ended. */
export function inputOf(db: Connection, turn: number): PendingInput {
  const row = db.row<InputRow>(`${INPUT} WHERE t.n = ?`, turn);
  if (row === undefined) throw corrupt(`The input of turn ${turn}`, "it is missing");
  return shown(row);
}

export const oldestWaiting = (db: Connection, session: number): PendingInput | undefined => {
  const row = db.row<InputRow>(`${INPUT} WHERE t.session = ? AND t.state = 0 ORDER BY t.n LIMIT 1`, session);
  return row && shown(row);
};

export const waiting = (db: Connection, session: SessionId): readonly PendingInput[] =>
  db
    .rows<InputRow>(
      `${INPUT} WHERE t.session = (SELECT n FROM session WHERE id = ?) AND t.state = 0 ORDER BY t.n`,
      session,
    )
    .map(shown);

export function withdraw(db: Connection, session: SessionId, input: InputId): WithdrawAnswer {
  const row = db.row<{ n: number; state: number }>(
    "SELECT n, state FROM turn WHERE session = (SELECT n FROM session WHERE id = ?) AND input_id = ?",
    session,
    input,
  );
  if (row === undefined) return "unknown";
  if (row.state === TAKEN) return "taken";
  db.run("UPDATE turn SET state = 2, input = NULL WHERE n = ?", row.n);
  return "withdrawn";
}

/** Whether a boundary would be given anything; undefined when the lease does not count. Most often it would not. */
export const couldClaim = (db: Connection, run: Run, generation: number, boundary: EffectName): boolean | undefined => {
  const row = db.row<{ could: number }>(COULD_CLAIM, boundary, run.session, run.turn, generation);
  return row && row.could === 1;
};
const COULD_CLAIM = `SELECT EXISTS (SELECT 1 FROM turn WHERE session = s.n AND state = 0 AND is_aside = 1)
    OR EXISTS (SELECT 1 FROM turn WHERE claim = s.turn AND boundary = ?) AS could
  FROM session s WHERE s.n = ? AND s.turn = ? AND s.generation = ?`;

/** The same boundary is given what it was given before. */
export function claim(db: Connection, run: Run, boundary: EffectName, max: number): readonly PendingInput[] {
  const claimed = `${INPUT} WHERE t.claim = ? AND t.boundary = ? ORDER BY t.n`;
  const before = db.rows<InputRow>(claimed, run.turn, boundary);
  if (before.length > 0) return before.map(shown);
  db.run(
    `UPDATE turn SET state = 1, claim = ?, boundary = ?, is_shown = 0 WHERE n IN (
       SELECT n FROM turn WHERE session = ? AND state = 0 AND is_aside = 1 ORDER BY n LIMIT ?)`,
    run.turn,
    boundary,
    run.session,
    max,
  );
  return db.rows<InputRow>(claimed, run.turn, boundary).map(shown);
}

/** Of what was claimed, these inputs end with the turn; the others wait again, where they waited before. */
export function settle(db: Connection, turn: number, settled: readonly InputId[]): void {
  const ids = new Set<string>(settled);
  for (const row of db.rows<{ n: number; input_id: string }>("SELECT n, input_id FROM turn WHERE claim = ?", turn)) {
    if (ids.has(row.input_id))
      db.run("UPDATE turn SET claim = NULL, boundary = NULL, ended_by = ?, input = NULL WHERE n = ?", turn, row.n);
    else db.run("UPDATE turn SET claim = NULL, boundary = NULL, state = 0 WHERE n = ?", row.n);
  }
}

function shown({ n, session_id, id, input_id, is_aside, key, hash, input }: InputRow): PendingInput {
  const item = `The input ${input_id}`;
  if (input === null) throw corrupt(item, "what was said is missing");
  return {
    id: asInputId(input_id),
    sessionId: session_id,
    turnId: asTurnId(id),
    ...(key === null ? {} : { key: fromKeyText(key) }),
    place: is_aside === 1 ? "boundary" : "turn",
    hash,
    ...unpack<Pick<NewInput, "message" | "at">>(input, n, item),
    seq: n,
  };
}
