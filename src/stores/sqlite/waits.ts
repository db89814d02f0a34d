import type { SessionId, TurnId, WaitKey } from "../../model/ids.ts";
import { type WaitAnswer, waitIdOf } from "../../model/wait.ts";
import type { Mail, NewWait, Store } from "../store.ts";
import { corrupt, seal } from "./checksum.ts";
import { fromKeyText, keyText } from "./codec.ts";
import type { Connection } from "./connection.ts";
import { find } from "./endings.ts";
import { latestFact } from "./facts.ts";
import type { Run } from "./inputs.ts";
import { countRows } from "./own-rows.ts";
import { wake } from "./parked-row.ts";
import { aboutIn, answerIn, askedOf, keepWait, newWait, requireWait, type WaitRow } from "./wait-row.ts";

/**
 * What open turns wait for, and how it is answered.
 *
 * 1. A wait that was asked is a fact, and so is its answer. One that is early is none yet; turns that are waited for are
 *    never one.
 * 2. Turns that are waited for are answered by nobody: whether they are over is read from their own rows.
 */

const OPEN = "SELECT * FROM wait WHERE turn = ? AND key IS NOT NULL ORDER BY n";
const BY_ID = "SELECT * FROM wait WHERE id = ? AND key IS NOT NULL";

export const openWaits = (db: Connection, turn: number): readonly WaitRow[] => db.rows(OPEN, turn);

export function addWaits(db: Connection, { session, turn }: Run, waits: readonly NewWait[]): void {
  let rows = 0;
  for (const wait of waits) {
    const before = db.row<WaitRow>(BY_ID, waitIdOf(wait.key));
    const isNew = before === undefined;
    if (!isNew && (before.turn !== turn || before.asked !== null || wait.isEarly === true)) continue; // A retried append.
    const { next } = db.row<{ next: number }>("SELECT coalesce(max(n), 0) + 1 AS next FROM wait")!;
    const row = isNew ? newWait(next, session, turn, wait) : { ...requireWait(before), ...askedOf(wait, turn) };
    keepWait(db, wait.isEarly === true || wait.about.kind === "turns" ? row : asFact(db, row));
    if (isNew) rows += 1;
  }
  countRows(db, session, rows);
}

/** The turn has come to wait: an answer that came before is told after the question (1). */
function asFact(db: Connection, row: Omit<WaitRow, "seal">): Omit<WaitRow, "seal"> {
  const asked = latestFact(db) + 1;
  return { ...row, asked, answered: row.answer === null ? null : asked + 1 };
}

type Resolved = Awaited<ReturnType<Store["waits"]["resolve"]>>;

const OF_OPEN = `SELECT w.*, s.id AS sessionId FROM wait w LEFT JOIN session s ON s.n = w.session AND s.turn = w.turn
  WHERE w.id = ? AND w.key IS NOT NULL`;

export function resolve(db: Connection, key: WaitKey, answer: WaitAnswer, now: number): Resolved {
  const row = db.row<WaitRow & { readonly sessionId: SessionId | null }>(OF_OPEN, waitIdOf(key));
  if (row === undefined || requireWait(row).key !== keyText(key)) return { said: "unknown" };
  if (answerIn(row)?.kind === "revoked") return { said: "unknown" };
  if (row.is_turns === 1 && answer.kind === "value") return { said: "unknown" };
  const { sessionId } = row;
  if (sessionId === null) throw corrupt(`The wait ${row.id}`, "its turn is not open");
  if (isAnswered(db, row)) return { said: "already-resolved", sessionId };
  if (answer.kind === "value" && now >= row.until) return { said: "expired", sessionId };
  const next = "SELECT coalesce(max(nth), 0) + 1 AS nth FROM wait WHERE turn = ? AND key IS NOT NULL";
  const { nth } = db.row<{ nth: number }>(next, row.turn)!;
  const answered = row.asked === null ? null : latestFact(db) + 1;
  keepWait(db, { ...row, nth, answered, answer: seal(answer, row.turn) });
  wake(db, row.session, row.turn, row.id);
  return { said: "accepted", sessionId };
}

/** Whether a wait was answered, or the turns it is for are over. */
export const isAnswered = (db: Connection, row: WaitRow): boolean => answerIn(row) !== undefined || isOver(db, row);

/** Whether the turns that are waited for are over (2). */
export function isOver(db: Connection, row: WaitRow): boolean {
  if (row.is_turns === 0) return false;
  const about = aboutIn(row);
  if (about?.kind !== "turns") return false;
  const hasEnded = ({ turnId }: { readonly turnId: TurnId }): boolean => {
    const state = find(db, turnId)?.state ?? "ended";
    return state === "ended" || state === "withdrawn";
  };
  return about.need === "all" ? about.turns.every(hasEnded) : about.turns.some(hasEnded);
}

/** What was answered, in that order, and then the turns that are over. */
export function resolvedOf(db: Connection, turn: number): NonNullable<Mail["resolved"]> {
  const rows = openWaits(db, turn);
  const answered = rows.filter((row) => answerIn(row) !== undefined).sort((a, b) => a.nth! - b.nth!);
  const over = rows.filter((row) => row.answer === null && isOver(db, row));
  return [
    ...answered.map((row) => ({ key: keyOf(row), answer: answerIn(row)! })),
    ...over.map((row) => ({ key: keyOf(row), answer: OVER })),
  ];
}
const OVER: WaitAnswer = { kind: "value", value: null };
export const keyOf = (row: WaitRow): WaitKey => fromKeyText(row.key!) as WaitKey;

/** Forgets of a turn that is over what only an open one needs, and answers how many rows the session has less. */
export function endWaits(db: Connection, turn: number): number {
  const rows = openWaits(db, turn);
  for (const row of rows) {
    const answer = answerIn(row);
    if (row.asked === null) db.run("DELETE FROM wait WHERE n = ?", row.n);
    else keepWait(db, { ...row, key: null, answer: answer === undefined ? null : seal(bare(answer), turn) });
  }
  return rows.filter(({ asked }) => asked === null).length;
}

/** How somebody answered, without what they said. */
function bare(answer: WaitAnswer): WaitAnswer {
  return answer.kind === "value" ? { ...answer, value: null } : answer;
}
