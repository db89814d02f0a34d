import type { WaitKey } from "../../model/ids.ts";
import type { WaitAnswer } from "../../turn/event.ts";
import type { NewWait } from "../store.ts";
import { requireFit, sumIn, sumOf, unseal } from "./checksum.ts";
import type { Connection } from "./connection.ts";

/** A wait's row: what is waited for, and the answer. Its checksum is over all columns. */
export interface WaitRow {
  readonly key: WaitKey;
  readonly turn: number;
  readonly until: number;
  /** Its place among the answers of its turn. */
  readonly nth: number | null;
  readonly answer: string | null;
  readonly seal: number | null;
}
const columnsOf = ({ key, turn, until, nth, answer }: Omit<WaitRow, "seal">) => [key, turn, until, nth, sumIn(answer)];

export const sealOfWait = (row: Omit<WaitRow, "seal">): number => sumOf(columnsOf(row));

/** Answers how many rows there are more: none, when the wait is there already. */
export function addWait(db: Connection, turn: number, { key, until }: NewWait): number {
  const sum = sealOfWait({ key, turn, until, nth: null, answer: null });
  const add = "INSERT INTO wait (key, turn, until, seal) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING";
  return db.run(add, key, turn, until, sum);
}

/** Without its key, which is a secret. */
const itemOf = ({ turn }: WaitRow): string => `A wait of turn ${turn}`;

export const requireWait = (row: WaitRow): void => requireFit(row.seal, columnsOf(row), itemOf(row));

/** The answer to a wait, if there is any yet. */
export function answerIn(row: WaitRow): WaitAnswer | undefined {
  requireWait(row);
  return row.answer === null ? undefined : unseal(row.answer, row.turn, itemOf(row));
}
