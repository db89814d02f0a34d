import type { JobId, SessionId, TurnId, WaitId, WaitKey } from "../../model/ids.ts";
import { type WaitAnswer, waitIdOf } from "../../model/wait.ts";
import { fromKeyText, keyText } from "../rows/codec.ts";
import { corrupt } from "../rows/faults.ts";
import type { Mail, NewWait, Store } from "../store.ts";
import { seal } from "./checksum.ts";
import type { Connection } from "./connection.ts";
import { find } from "./endings.ts";
import { latestFact } from "./facts.ts";
import type { Run } from "./inputs.ts";
import { idOf, isRunning, type KeptId, keptId } from "./job-row.ts";
import { countRows } from "./own-rows.ts";
import { wake } from "./parked-row.ts";
import { aboutIn, answerIn, askedAs, askedOf, keepWait, newWait, requireWait, type WaitRow } from "./wait-row.ts";

/**
 * What open turns and jobs wait for, and how it is answered.
 *
 * 1. A wait that was asked is a fact, and so is its answer. One that is early is none yet; turns that are waited for are
 *    never one.
 * 2. Turns and jobs that are waited for are answered by nobody: whether they are over is read from their own rows.
 * 3. The answer to a turn is in the row of its wait until the turn looks; a job is told of it by an event in the same write.
 */

const OPEN = "SELECT * FROM wait WHERE turn = ? AND key IS NOT NULL ORDER BY n";
const BY_ID = "SELECT * FROM wait WHERE id = ? AND key IS NOT NULL";

const OPEN_OF_JOB = "SELECT * FROM wait WHERE job = ? AND key IS NOT NULL ORDER BY n";

export const openWaits = (db: Connection, turn: number): readonly WaitRow[] => db.rows(OPEN, turn);
export const openWaitsOf = (db: Connection, job: KeptId): readonly WaitRow[] =>
  db.rows<WaitRow>(OPEN_OF_JOB, job).map(requireWait);

/** `of`: the turn, or the job, for which the turn is 0. */
export function addWaits(db: Connection, of: Run & { readonly job?: KeptId }, waits: readonly NewWait[]): void {
  const { session, turn, job = null } = of;
  let rows = 0;
  for (const wait of waits) {
    const before = db.row<WaitRow>(BY_ID, waitIdOf(wait.key));
    const isNew = before === undefined;
    const isOther = !isNew && (before.turn !== turn || before.job !== job);
    if (isOther || (!isNew && (askedAs(before) !== null || wait.isEarly === true))) continue; // A retried append.
    const row = isNew ? newWait(nextNumber(db), of, wait) : { ...requireWait(before), ...askedOf(wait, turn) };
    keepWait(db, wait.isEarly === true || wait.about.kind === "turns" ? row : asFact(db, row));
    if (isNew) rows += 1;
  }
  countRows(db, session, rows);
}

const nextNumber = (db: Connection): number =>
  db.row<{ next: number }>("SELECT coalesce(max(n), 0) + 1 AS next FROM wait")!.next;

/** The turn has come to wait: an answer that came before is told after the question (1). */
function asFact(db: Connection, row: Omit<WaitRow, "seal">): Omit<WaitRow, "seal"> {
  const asked = latestFact(db) + 1;
  return { ...row, asked, answered: row.answer === null ? null : asked + 1 };
}

type Resolved = Awaited<ReturnType<Store["waits"]["resolve"]>>;

const OF_OPEN = `SELECT w.*, s.id AS sessionId FROM wait w LEFT JOIN session s ON s.n = w.session AND s.turn = w.turn
  WHERE w.id = ? AND w.key IS NOT NULL`;

/** Tells a job that one of its waits was answered (3). */
export type TellJob = (job: KeptId, wait: WaitId, answer: WaitAnswer, now: number) => void;

export function resolve(db: Connection, tell: TellJob, key: WaitKey, answer: WaitAnswer, now: number): Resolved {
  const row = db.row<WaitRow & { readonly sessionId: SessionId | null }>(OF_OPEN, waitIdOf(key));
  if (row === undefined || requireWait(row).key !== keyText(key)) return { said: "unknown" };
  if (answerIn(row)?.kind === "revoked") return { said: "unknown" };
  if (row.is_turns === 1 && answer.kind === "value") return { said: "unknown" };
  if (row.job !== null) return resolveOfJob(db, tell, { ...row, job: row.job }, answer, now);
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

function resolveOfJob(
  db: Connection,
  tell: TellJob,
  row: WaitRow & { readonly job: KeptId },
  answer: WaitAnswer,
  now: number,
): Resolved {
  const jobId = idOf({ id: row.job });
  if (row.answer !== null) return { said: "already-resolved", jobId };
  if (answer.kind === "value" && now >= row.until) return { said: "expired", jobId };
  const answered = askedAs(row) === null ? null : latestFact(db) + 1;
  keepWait(db, { ...row, answered, answer: seal(answer, row.turn) });
  tell(row.job, row.id, answer, now);
  return { said: "accepted", jobId };
}

/** Whether a wait was answered, or the turns it is for are over. */
export const isAnswered = (db: Connection, row: WaitRow): boolean => answerIn(row) !== undefined || isOver(db, row);

/** Whether the turns and jobs that are waited for are over (2). A job that is idle, or not there, counts as over. */
export function isOver(db: Connection, row: WaitRow): boolean {
  if (row.is_turns === 0) return false;
  const about = aboutIn(row);
  if (about?.kind !== "turns") return false;
  const hasEnded = ({ turnId }: { readonly turnId: TurnId }): boolean => {
    const state = find(db, turnId)?.state ?? "ended";
    return state === "ended" || state === "withdrawn";
  };
  const isDone = (job: JobId): boolean => !isRunning(db, keptId(job));
  const { turns, jobs = [], need } = about;
  return need === "all" ? turns.every(hasEnded) && jobs.every(isDone) : turns.some(hasEnded) || jobs.some(isDone);
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

/** Forgets of the waits of a turn or a job that is over what only an open one needs. */
export function endWaits(db: Connection, rows: readonly WaitRow[]): void {
  for (const row of rows) {
    const answer = answerIn(row);
    const isFact = row.asked !== null || row.answered !== null;
    if (!isFact) countRows(db, row.session, -db.run("DELETE FROM wait WHERE n = ?", row.n));
    else keepWait(db, { ...row, key: null, answer: answer === undefined ? null : seal(bare(answer), row.turn) });
  }
}

/**
 * A job was handed over: what nobody has answered goes along. The row that tells the fact of the question stays with the
 * session that had the job.
 */
export function moveWaits(db: Connection, job: KeptId, from: number, to: number): void {
  for (const row of openWaitsOf(db, job)) {
    if (row.answer !== null) continue;
    const isTold = row.asked !== null;
    if (isTold) keepWait(db, { ...row, key: null });
    keepWait(db, { ...row, n: isTold ? nextNumber(db) : row.n, session: to, asked: null, moved: askedAs(row) });
    if (!isTold) countRows(db, from, -1);
    countRows(db, to, 1);
  }
}

/** How somebody answered, without what they said. */
function bare(answer: WaitAnswer): WaitAnswer {
  return answer.kind === "value" ? { ...answer, value: null } : answer;
}
