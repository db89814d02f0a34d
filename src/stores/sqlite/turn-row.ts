import type { Json } from "../../model/json.ts";
import { checksumOf, corrupt, requireFit, sumIn } from "./checksum.ts";
import type { Connection } from "./connection.ts";

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

const sealed = (row: Omit<TurnColumns, "seal">): readonly Json[] => [
  row.n,
  row.session,
  row.id,
  row.input_id,
  row.state,
  row.is_aside,
  row.key,
  row.hash,
  row.claim,
  row.boundary,
  row.ended_by,
  row.done,
  sumIn(row.cancel),
  sumIn(row.ended),
  sumIn(row.input),
];

export const sealOfTurn = (row: Omit<TurnColumns, "seal">): number => checksumOf(sealed(row));

export function requireWhole<Row extends TurnColumns>(row: Row): Row {
  requireFit(row.seal, sealed(row), `Turn ${row.id}`);
  return row;
}

type Changing = Pick<TurnColumns, "state" | "claim" | "boundary" | "ended_by" | "cancel" | "input">;

/** Changes columns of a turn, and its checksum with them. */
export function amend(db: Connection, n: number, change: Partial<Changing>): void {
  const row = db.row<TurnColumns>(BY_NUMBER, n);
  if (row === undefined) throw corrupt(`Turn ${n}`, "it is missing");
  const columns = Object.keys(change).map((column) => `${column} = ?`);
  const seal = sealOfTurn({ ...requireWhole(row), ...change });
  db.run(`UPDATE turn SET ${columns.join(", ")}, seal = ? WHERE n = ?`, ...Object.values(change), seal, n);
}
