import type { WaitKey } from "../../model/ids.ts";
import { waitIdOf } from "../../model/wait.ts";
import { NOTHING } from "../rows/states.ts";
import { sealText, sumIn, sumOf } from "./checksum.ts";
import type { Connection } from "./connection.ts";

/** Migration steps that SQL cannot do. Their output never changes, because files are kept for years. */

interface RemovedState {
  readonly session: number;
  readonly plugin: string;
  readonly since: number;
}

/** Before schema 5 a removed plugin state had no body, so a lost body looked the same. */
export function sealRemovals(db: Connection): void {
  for (const { session, plugin, since } of db.rows<RemovedState>(
    "SELECT session, plugin, since FROM state WHERE body IS NULL",
  ))
    db.run(
      "UPDATE state SET body = ? WHERE session = ? AND plugin = ? AND since = ?",
      sealText(NOTHING, sumOf([session, plugin, since])),
      session,
      plugin,
      since,
    );
}

interface OldWait {
  readonly key: string;
  readonly turn: number;
  readonly session: number;
  readonly until: number;
  readonly nth: number | null;
  readonly answer: string | null;
  readonly seal: number | null;
}
const OLD_WAITS = `SELECT wait_before.*, coalesce(t.session, 0) AS session
  FROM wait_before LEFT JOIN turn t ON t.n = wait_before.turn ORDER BY key`;
const KEEP = `INSERT INTO wait (n, id, key, session, turn, until, is_turns, nth, answer, seal)
  VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?, ?)`;

/** Moves waits from before schema 7. Their keys still answer them, and the turn writes them again when it resumes. */
export function keepOldWaits(db: Connection): void {
  for (const [index, { key, turn, session, until, nth, answer, seal }] of db.rows<OldWait>(OLD_WAITS).entries()) {
    const n = index + 1;
    const id = waitIdOf(key as WaitKey);
    const columns = [n, id, key, session, turn, null, null, null, until, 0, null, null, nth, sumIn(answer)];
    // A damaged row must not get a valid checksum.
    const isDamaged = seal !== null && seal !== sumOf([key, turn, until, nth, sumIn(answer)]);
    db.run(KEEP, n, id, key, session, turn, until, nth, answer, sumOf(columns) + (isDamaged ? 1 : 0));
  }
}
