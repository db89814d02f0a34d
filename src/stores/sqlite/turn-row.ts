import { corrupt } from "../rows/faults.ts";
import { sumIn, sumOf } from "./checksum.ts";
import type { Connection } from "./connection.ts";

/** The states of an input. An index of its own finds those that wait. */
export const WAITING = 0;
export const TAKEN = 1;
export const WITHDRAWN = 2;

/** What a row is, besides 0 and 1: inputs that open turns, and of these 1 those for a boundary (`is_aside`). */
export const INJECTED = 2;
export const APPEND = 3;

/**
 * A turn's row, whose columns change one after the other as its input waits, is taken and ends. Its checksum is over all
 * of them: a key, a state or a number that flipped would be read as true.
 */
export interface TurnColumns {
  readonly n: number;
  readonly session: number;
  readonly id: string;
  readonly input_id: string;
  readonly state: number;
  readonly is_aside: number;
  readonly key: string | null;
  readonly hash: string;
  /** The open turn that has taken the input, and at which boundary. */
  readonly claim: number | null;
  readonly boundary: string | null;
  /** The turn that settled the input. */
  readonly ended_by: number | null;
  readonly done: number | null;
  readonly cancel: string | null;
  readonly ended: string | null;
  /** Sealed; only its checksum where nobody asks what was said. */
  readonly input: string | null;
  readonly seal: number | null;
}
/** The columns of `turn t` for the checksum, without what was said, which may be long. */
const COLUMNS = `t.n, t.session, t.id, t.input_id, t.state, t.is_aside, t.key, t.hash, t.claim, t.boundary, t.ended_by,
  t.done, t.cancel, t.ended, t.seal`;
export const TURN_COLUMNS = `${COLUMNS}, substr(t.input, 1, 8) AS input`;
export const WHOLE_TURN_COLUMNS = `${COLUMNS}, t.input`;
const BY_NUMBER = `SELECT ${TURN_COLUMNS} FROM turn t WHERE t.n = ?`;

export type Identity = Pick<TurnColumns, "n" | "session" | "id" | "input_id" | "is_aside" | "key" | "hash">;
export type Changing = Pick<
  TurnColumns,
  "state" | "claim" | "boundary" | "ended_by" | "done" | "cancel" | "ended" | "input"
>;

const sumOfIdentity = ({ n, session, id, input_id, is_aside, key, hash }: Identity): number =>
  sumOf([n, session, id, input_id, is_aside, key, hash]);
const sumOfChanging = ({ state, claim, boundary, ended_by, done, cancel, ended, input }: Changing): number =>
  sumOf([state, claim, boundary, ended_by, done, sumIn(cancel), sumIn(ended), sumIn(input)]);

/** An input that no other turn took, and that has not ended. */
export const UNCLAIMED = { claim: null, boundary: null, ended_by: null, done: null, ended: null };

/** The sum of two checksums, of what stays and of what changes: a change need not read what stays. */
export const sealOfTurn = (row: Identity & Changing): number => sumOfIdentity(row) + sumOfChanging(row);

/** By how much a change moves the seal. Of a row that does not fit its seal, the new one does not either. */
export const sealMoves = (from: Changing, to: Changing): number => sumOfChanging(to) - sumOfChanging(from);

/** Throws unless the seal fits. Rows that were written before schema 5 have none. */
export function requireWhole<Row extends TurnColumns>(row: Row): Row {
  if (row.seal !== null && row.seal !== sealOfTurn(row)) throw corrupt(`Turn ${row.id}`, "its checksum does not fit");
  return row;
}

/** Changes columns of a turn, and its seal with them. */
export function amend(db: Connection, n: number, change: Partial<Changing>): void {
  const row = db.row<TurnColumns>(BY_NUMBER, n);
  if (row === undefined) throw corrupt(`Turn ${n}`, "it is missing");
  const columns = Object.keys(change).map((column) => `${column} = ?`);
  const moves = sealMoves(requireWhole(row), { ...row, ...change });
  db.run(`UPDATE turn SET ${columns.join(", ")}, seal = seal + ? WHERE n = ?`, ...Object.values(change), moves, n);
}
