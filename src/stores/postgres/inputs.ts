import { asInputId, asTurnId, type EffectName, type InputId, type SessionId } from "../../model/ids.ts";
import { decodeInput, type EncodedInput, encodeInput, fromKeyText, keyText } from "../rows/codec.ts";
import { corrupt } from "../rows/faults.ts";
import type { InputRef, NewInput, PendingAppend, PendingInput, SessionChange, Withdrawal } from "../store.ts";
import type { Database, Transaction } from "./database.ts";
import { APPEND, INJECTED, TAKEN, TURN_COLUMNS, type TurnRow, WAITING, WITHDRAWN } from "./endings.ts";
import { limit } from "./facts.ts";
import { appendId } from "./operations.ts";
import type { SessionRow } from "./session-row.ts";
import { parsed } from "./text.ts";

/**
 * Inputs and appends that wait for a turn: rows of `turn`, since most inputs open one. All is changed under the lock of
 * the session, which counts those that wait.
 */

/** The places of inputs, as `aside` has them. */
const PLACES: readonly NewInput["place"][] = ["turn", "boundary", "injected"];

/** The inputs that another turn may take. A cancelled one must open its own turn, which is told of the cancel. */
const FREE = "state = 0 AND cancel IS NULL";
const ASIDE = `${FREE} AND aside > 0`;
const APPENDS = `state = 0 AND aside = ${APPEND}`;

interface InputRow extends TurnRow {
  readonly session_id: SessionId;
  readonly input: string | null;
}
const INPUT = `SELECT s.id AS session_id, ${TURN_COLUMNS}, t.input FROM @turn t JOIN @session s ON s.n = t.session`;
const INPUT_BY_TURN = `${INPUT} WHERE t.n = $1`;
const OLDEST = `${INPUT} WHERE t.session = $1 AND t.state = 0 AND t.aside < ${INJECTED} ORDER BY t.n LIMIT 1`;
const LIST = `${INPUT} WHERE s.id = $1 AND t.state = 0 AND t.aside < ${APPEND} ORDER BY t.n`;

/** The columns of a new row after `n` and `session`: what `ADD` and the acceptance in one statement insert. */
export const INPUT_COLUMNS = "id, input_id, state, aside, key, hash, input";

export function inputColumns(input: NewInput, state: number) {
  const { id, turnId, key, place, hash, message, at, wants } = input;
  const said = encodeInput(wants === undefined ? { message, at } : { message, at, wants });
  const kept = key === undefined ? null : keyText(key);
  return [turnId as string, id as string, state, PLACES.indexOf(place), kept, hash, JSON.stringify(said)] as const;
}

const ADD = `INSERT INTO @turn (session, ${INPUT_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING n`;

/** Adds a row for an input; the caller counts it where it waits. */
export const addInput = async (tx: Transaction, session: number, input: NewInput, state: number): Promise<number> =>
  (await tx.row<{ n: number }>(ADD, session, ...inputColumns(input, state)))!.n;

/** How many more inputs and appends wait. */
export function countWaiting(tx: Transaction, session: number, by: number): void {
  if (by !== 0) tx.queue("UPDATE @session SET waiting = waiting + $2 WHERE n = $1", session, by);
}

/** The input of a turn that has not ended; afterwards it is not kept. */
export async function inputOf(tx: Transaction, turn: number): Promise<PendingInput> {
  const row = await tx.row<InputRow>(INPUT_BY_TURN, turn);
  if (row === undefined) throw corrupt(`The input of turn ${turn}`, "it is missing");
  return shown(row);
}

/** The oldest input that opens a turn, and whether it was asked to end before it did. */
export async function oldestWaiting(
  tx: Transaction,
  session: number,
): Promise<{ readonly input: PendingInput; readonly isCancelled: boolean } | undefined> {
  const row = await tx.row<InputRow>(OLDEST, session);
  return row && { input: shown(row), isCancelled: row.cancel !== null };
}

/** Which inputs wait: some that open turns, some that were injected. */
export const whoWaits = async (
  tx: Transaction,
  { n, waiting }: Pick<SessionRow, "n" | "waiting">,
): Promise<{ readonly opens: boolean; readonly injected: boolean }> =>
  waiting === 0 ? NOBODY : (await tx.row<{ opens: boolean; injected: boolean }>(WHO_WAITS, n))!;
const NOBODY = { opens: false, injected: false };
const WHO_WAITS = `SELECT
  EXISTS (SELECT 1 FROM @turn WHERE session = $1 AND state = 0 AND aside < ${INJECTED}) AS opens,
  EXISTS (SELECT 1 FROM @turn WHERE session = $1 AND state = 0 AND aside = ${INJECTED}) AS injected`;

export const listWaiting = async (db: Database, session: SessionId): Promise<readonly PendingInput[]> =>
  (await db.rows<InputRow>(LIST, session)).map(shown);

const HELD = `SELECT 1 FROM @turn t JOIN @session s ON s.n = t.session
  WHERE s.id = $1 AND t.key = $2 AND t.state <> ${WITHDRAWN}`;

export const holdsKey = async (db: Database, session: SessionId, key: string): Promise<boolean> =>
  (await db.row(HELD, session, keyText(key))) !== undefined;

// ── Withdrawing ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** Withdraws inputs that wait; for the others it answers what became of them. */
export async function withdraw(tx: Transaction, session: number, which: InputRef): Promise<readonly Withdrawal[]> {
  const rows = await named(tx, session, which);
  const waiting = rows.filter(({ state }) => state === WAITING).map(({ n }) => n);
  if (waiting.length > 0) {
    tx.queue(`UPDATE @turn SET state = ${WITHDRAWN}, input = NULL WHERE n = ANY ($1::bigint[])`, waiting);
    countWaiting(tx, session, -waiting.length);
  }
  return rows.map(({ id, input_id, state, aside, done, ended_by }) => {
    const taken = done === null && ended_by === null ? "taken" : "ended";
    const turn = aside === INJECTED ? {} : { turnId: asTurnId(id) };
    return { inputId: asInputId(input_id), ...turn, answer: state === TAKEN ? taken : "withdrawn" };
  });
}

const NAMED = `SELECT ${TURN_COLUMNS} FROM @turn t WHERE t.aside < ${APPEND} AND t.session = $1`;

/** The rows that are meant, oldest first. */
async function named(tx: Transaction, session: number, which: InputRef): Promise<readonly TurnRow[]> {
  if ("id" in which) return tx.rows(`${NAMED} AND t.input_id = $2`, session, which.id);
  if ("from" in which)
    return tx.rows(
      `${NAMED} AND t.n >= (SELECT f.n FROM @turn f WHERE f.session = $1 AND f.input_id = $2 AND f.aside < ${APPEND})
       ORDER BY t.n`,
      session,
      which.from,
    );
  const key = keyText(which.key);
  const live = await tx.rows<TurnRow>(`${NAMED} AND t.key = $2 AND t.state <> ${WITHDRAWN}`, session, key);
  return live.length > 0 ? live : tx.rows(`${NAMED} AND t.key = $2 ORDER BY t.n DESC LIMIT 1`, session, key);
}

// ── Claiming and settling ───────────────────────────────────────────────────────────────────────────────────────────

const CLAIMED = `${INPUT} WHERE t.claim = $1 AND t.boundary = $2 ORDER BY t.n`;
const TAKE = `UPDATE @turn SET state = ${TAKEN}, claim = $2, boundary = $3 WHERE n = ANY ($1::bigint[])`;

/** Claims inputs for a boundary; asked again, it answers the same ones. Under the lock of the session. */
export async function claim(
  tx: Transaction,
  run: { readonly session: number; readonly turn: number },
  boundary: EffectName,
  max: number,
  takes: true | "appends" | undefined,
): Promise<readonly (PendingInput | PendingAppend)[]> {
  const before = await tx.rows<InputRow>(CLAIMED, run.turn, boundary);
  if (before.length > 0) return before.map(shownAny);
  const which = takes === true ? FREE : takes === "appends" ? APPENDS : ASIDE;
  const free = await tx.rows<InputRow>(
    `${INPUT} WHERE t.session = $1 AND t.n IN (SELECT n FROM @turn WHERE session = $1 AND ${which}) ORDER BY t.n LIMIT $2`,
    run.session,
    limit(max),
  );
  const taken = takes === true ? withoutWants(free) : free;
  if (taken.length === 0) return [];
  const numbers = taken.map(({ n }) => n);
  tx.queue(TAKE, numbers, run.turn, boundary);
  tx.queue("UPDATE @session SET waiting = waiting - $2, has_more = true WHERE n = $1", run.session, numbers.length);
  return taken.map(shownAny);
}

/** Those before the first that wants something of the turn it would open. */
function withoutWants(rows: readonly InputRow[]): readonly InputRow[] {
  const end = rows.findIndex((row) => row.aside !== APPEND && shown(row).wants !== undefined);
  return end < 0 ? rows : rows.slice(0, end);
}

/**
 * Ends the claimed inputs that the turn settled; the others wait again, in their old places. Answers how many wait.
 */
export async function settle(tx: Transaction, turn: number, settled: readonly InputId[]): Promise<number> {
  const ids = new Set<string>(settled);
  const claims = await tx.rows<Pick<TurnRow, "n" | "input_id">>("SELECT n, input_id FROM @turn WHERE claim = $1", turn);
  const [ended, back] = [claims.filter((row) => ids.has(row.input_id)), claims.filter((row) => !ids.has(row.input_id))];
  if (ended.length > 0)
    tx.queue(
      "UPDATE @turn SET claim = NULL, boundary = NULL, ended_by = $2, input = NULL WHERE n = ANY ($1::bigint[])",
      ended.map(({ n }) => n),
      turn,
    );
  if (back.length > 0)
    tx.queue(
      `UPDATE @turn SET claim = NULL, boundary = NULL, state = ${WAITING} WHERE n = ANY ($1::bigint[])`,
      back.map(({ n }) => n),
    );
  return back.length;
}

const shownAny = (row: InputRow): PendingInput | PendingAppend =>
  row.aside === APPEND ? shownAppend(row) : shown(row);

function shown(row: InputRow): PendingInput {
  const { n, session_id, id, input_id, aside, key, hash, input } = row;
  const item = `The input ${input_id}`;
  if (input === null) throw corrupt(item, "what was said is missing");
  return {
    id: asInputId(input_id),
    sessionId: session_id,
    turnId: asTurnId(id),
    ...(key === null ? {} : { key: fromKeyText(key) }),
    place: PLACES[aside]!,
    hash,
    ...decodeInput(parsed<EncodedInput>(input, item)),
    seq: n,
  };
}

// ── Appends that wait ───────────────────────────────────────────────────────────────────────────────────────────────

const APPEND_BY_ID = `SELECT ${TURN_COLUMNS} FROM @turn t WHERE t.id = $1`;

/** The append of an operation, in whichever session, that waits or was settled. */
export const appendRow = (tx: Transaction, operation: string): Promise<TurnRow | undefined> =>
  tx.row(APPEND_BY_ID, appendId(operation));

export function addAppend(tx: Transaction, session: number, change: SessionChange, hash: string): void {
  const { operation } = change;
  tx.queue(
    `INSERT INTO @turn (session, ${INPUT_COLUMNS}) VALUES ($1, $2, $3, ${WAITING}, ${APPEND}, NULL, $4, $5)`,
    session,
    appendId(operation),
    `append/${keyText(operation)}`,
    hash,
    JSON.stringify(change),
  );
  tx.queue("UPDATE @session SET waiting = waiting + 1, has_more = true WHERE n = $1", session);
}

function changeIn({ input_id, input }: InputRow): SessionChange {
  const item = `The append ${input_id}`;
  if (input === null) throw corrupt(item, "its nodes are missing");
  return parsed(input, item);
}

function shownAppend(row: InputRow): PendingAppend {
  const { operation, entries = [], spent } = changeIn(row);
  return { id: asInputId(row.input_id), operation, entries, ...(spent === undefined ? {} : { spent }), seq: row.n };
}

const WAITING_APPENDS = `${INPUT} WHERE t.session = $1 AND t.state = ${WAITING} AND t.aside = ${APPEND} ORDER BY t.n`;

/** The appends that wait, in their order. */
export const waitingAppends = async (
  tx: Transaction,
  session: number,
): Promise<readonly (TurnRow & { readonly change: SessionChange })[]> =>
  (await tx.rows<InputRow>(WAITING_APPENDS, session)).map((row) => ({ ...row, change: changeIn(row) }));
