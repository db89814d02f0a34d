import type { EffectName, WaitId, WaitKey } from "../../model/ids.ts";
import { type WaitAbout, type WaitAnswer, type WaitedTurns, waitIdOf } from "../../model/wait.ts";
import { keyText } from "../rows/codec.ts";
import { corrupt } from "../rows/faults.ts";
import type { NewWait } from "../store.ts";
import { requireFit, seal, sumIn, sumOf, unseal } from "./checksum.ts";
import type { Connection } from "./connection.ts";
import type { KeptId } from "./job-row.ts";

/**
 * A wait's row. One that is a fact stays as long as its session, but nothing of it answers any more: with the end of its
 * turn or job the key goes, and what was answered. All others go with their turn or job. The checksum is over all columns.
 */
export interface WaitRow {
  readonly n: number;
  readonly id: WaitId;
  /** Only while the turn is open, or the job is not over. */
  readonly key: string | null;
  readonly session: number;
  /** 0 where a job waits. */
  readonly turn: number;
  readonly job: KeptId | null;
  /** The fact that it was asked, where the job had another session then: the row that tells of it stayed there. */
  readonly moved: number | null;
  /** These three are missing where a file of before schema 7 had the wait, until it is given again. */
  readonly effect: EffectName | null;
  readonly at: number | null;
  readonly about: string | null;
  readonly until: number;
  /** It is about turns that are waited for: nobody answers it, and it is no fact. */
  readonly is_turns: number;
  /** The facts that it was asked, which it is not while it is early, and answered. */
  readonly asked: number | null;
  readonly answered: number | null;
  /** Its place among the answers of its turn. */
  readonly nth: number | null;
  readonly answer: string | null;
  readonly seal: number;
}
/** Such a row has the checksum that it had before there were jobs. */
const isOfTurn = ({ job, moved }: Pick<WaitRow, "job" | "moved">): boolean => job === null && moved === null;
const columnsOf = (row: Omit<WaitRow, "seal">) => [
  ...[row.n, row.id, row.key, row.session, row.turn, row.effect, row.at, sumIn(row.about), row.until, row.is_turns],
  ...[row.asked, row.answered, row.nth, sumIn(row.answer), ...(isOfTurn(row) ? [] : [row.job, row.moved])],
];

/** Without its key, which is a secret. */
const itemOf = ({ id, turn, job }: WaitRow): string =>
  `The wait ${id} of ${job === null ? `turn ${turn}` : `job ${job}`}`;

export function requireWait<Row extends WaitRow>(row: Row): Row {
  requireFit(row.seal, columnsOf(row), itemOf(row));
  return row;
}

const COLUMNS = "n, id, key, session, turn, effect, at, about, until, is_turns, asked, answered, nth, answer, seal";
const KEEP = `REPLACE INTO wait (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
/** Apart from the other, because files of schema 6 are given their waits before there is such a column. */
const KEEP_OF_JOB = `REPLACE INTO wait (${COLUMNS}, job, moved) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Writes a row, new or changed. `isDamaged`: it shall go on not to fit its checksum. */
export function keepWait(db: Connection, row: Omit<WaitRow, "seal">, isDamaged = false): void {
  const { n, id, key, session, turn, effect, at, about, until, is_turns, asked, answered, nth, answer } = row;
  const columns = [n, id, key, session, turn, effect, at, about, until, is_turns, asked, answered, nth, answer];
  const sum = sumOf(columnsOf(row)) + (isDamaged ? 1 : 0);
  if (row.job === null) db.run(KEEP, ...columns, sum);
  else db.run(KEEP_OF_JOB, ...columns, sum, row.job, row.moved);
}

/** A row for a wait that has none. */
export const newWait = (
  n: number,
  { session, turn, job = null }: Pick<WaitRow, "session" | "turn"> & { readonly job?: KeptId | null },
  wait: NewWait,
): Omit<WaitRow, "seal"> => ({
  n,
  id: waitIdOf(wait.key),
  key: keyText(wait.key),
  session,
  turn,
  job,
  moved: null,
  ...askedOf(wait, turn),
  asked: null,
  answered: null,
  nth: null,
  answer: null,
});

/** What is asked, as columns. */
export const askedOf = ({ effect, at, until, about }: NewWait, turn: number) => ({
  effect,
  at,
  until,
  is_turns: about.kind === "turns" ? 1 : 0,
  about: seal(about, turn),
});

/** What is waited for; undefined where a file of before schema 7 did not say it. */
export function aboutIn(row: WaitRow): WaitAbout | WaitedTurns | undefined {
  requireWait(row);
  return row.about === null ? undefined : unseal(row.about, row.turn, itemOf(row));
}

/** The fact that it was asked, wherever that is told; null while it is early. */
export const askedAs = ({ asked, moved }: Pick<WaitRow, "asked" | "moved">): number | null => asked ?? moved;

/** What somebody was asked. */
export function questionIn(row: WaitRow): WaitAbout {
  const about = aboutIn(row);
  if (about === undefined || about.kind === "turns") throw corrupt(itemOf(row), "nobody was asked");
  return about;
}

/** The answer to a wait, if there is any yet. That of an ended turn has no value. */
export function answerIn(row: WaitRow): WaitAnswer | undefined {
  requireWait(row);
  return row.answer === null ? undefined : unseal(row.answer, row.turn, itemOf(row));
}

/** The waits of before schema 7: their keys answer them, and the turn gives them again when it is resumed. */
export function keepOldWaits(db: Connection): void {
  const rows = db.rows<OldRow>(
    `SELECT wait_before.*, coalesce(t.session, 0) AS session FROM wait_before LEFT JOIN turn t ON t.n = wait_before.turn
       ORDER BY key`,
  );
  for (const [index, { key, turn, session, until, nth, answer, seal: sum }] of rows.entries()) {
    const isDamaged = sum !== null && sum !== sumOf([key, turn, until, nth, sumIn(answer)]);
    const unknown = {
      effect: null,
      at: null,
      about: null,
      is_turns: 0,
      asked: null,
      answered: null,
      job: null,
      moved: null,
    };
    const row = { n: index + 1, id: waitIdOf(key as WaitKey), key, session, turn, until, nth, answer, ...unknown };
    keepWait(db, row, isDamaged);
  }
}
interface OldRow {
  readonly key: string;
  readonly turn: number;
  readonly session: number;
  readonly until: number;
  readonly nth: number | null;
  readonly answer: string | null;
  readonly seal: number | null;
}
