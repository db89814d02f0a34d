import type { EffectName, JobId, TurnId, WaitId, WaitKey } from "../../model/ids.ts";
import { type WaitAbout, type WaitAnswer, type WaitedTurns, waitIdOf } from "../../model/wait.ts";
import { fromKeyText, keyText } from "../rows/codec.ts";
import { corrupt } from "../rows/faults.ts";
import type { Mail, NewWait, Store } from "../store.ts";
import type { Transaction } from "./database.ts";
import { findTurn } from "./endings.ts";
import { ANSWERED, ASKED, addFact } from "./facts.ts";
import { payloadOf } from "./hints.ts";
import { idOf, isRunning, type KeptId } from "./job-row.ts";
import { wake } from "./parked.ts";
import { lockNumber, type SessionRow } from "./session-row.ts";
import { parsed } from "./text.ts";

/**
 * What open turns and jobs wait for, and how it is answered. All of it under the lock of the session that has the turn or
 * the job.
 *
 * 1. A wait that was asked is a fact, and so is its answer. One that is early is none yet; turns that are waited for are
 *    never one.
 * 2. Turns and jobs that are waited for are answered by nobody: whether they are over is read from their own rows.
 * 3. The answer to a turn is in the row of its wait until the turn looks; a job is told of it by an event in the same write.
 */

/** A wait that is a fact stays as long as its session, but nothing answers it once its turn or job has ended. */
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
  readonly effect: EffectName;
  readonly at: number;
  readonly about: string;
  readonly until: number;
  /** It is about turns that are waited for: nobody answers it, and it is no fact. */
  readonly is_turns: boolean;
  /** The facts that it was asked, which it is not while it is early, and answered. */
  readonly asked: number | null;
  readonly answered: number | null;
  /** Its place among the answers of its turn. */
  readonly nth: number | null;
  readonly answer: string | null;
}

export const OPEN_WAITS = "SELECT * FROM @wait WHERE turn = $1 AND key IS NOT NULL ORDER BY n";
const OPEN_OF_JOB = "SELECT * FROM @wait WHERE job = $1 AND key IS NOT NULL ORDER BY n";
const BY_ID = "SELECT * FROM @wait WHERE id = $1 AND key IS NOT NULL";

export const openWaits = (tx: Transaction, turn: number): Promise<WaitRow[]> => tx.rows(OPEN_WAITS, turn);
export const openWaitsOf = (tx: Transaction, job: KeptId): Promise<WaitRow[]> => tx.rows(OPEN_OF_JOB, job);

const ADD = `INSERT INTO @wait (id, key, session, turn, job, moved, effect, at, about, until, is_turns)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING *`;
const ASK = "UPDATE @wait SET effect = $2, at = $3, about = $4, until = $5, is_turns = $6 WHERE n = $1";
const TOLD = "UPDATE @wait SET asked = $2, answered = $3 WHERE n = $1";

/** Of a turn, or of a job, for which the turn is 0. */
export async function addWaits(
  tx: Transaction,
  of: { readonly session: number; readonly turn: number; readonly job?: KeptId },
  waits: readonly NewWait[],
): Promise<void> {
  const { session, turn, job = null } = of;
  for (const wait of waits) {
    const before = await tx.row<WaitRow>(BY_ID, waitIdOf(wait.key));
    const isOther = before !== undefined && (before.turn !== turn || before.job !== job);
    if (isOther || (before !== undefined && (askedAs(before) !== null || wait.isEarly === true))) continue; // A retry.
    const asked = [wait.effect, wait.at, JSON.stringify(wait.about), wait.until, wait.about.kind === "turns"] as const;
    let row = before;
    if (row === undefined)
      row = (await tx.row<WaitRow>(ADD, waitIdOf(wait.key), keyText(wait.key), session, turn, job, null, ...asked))!;
    else tx.queue(ASK, row.n, ...asked);
    if (wait.isEarly !== true && wait.about.kind !== "turns") await tellAsked(tx, row);
  }
  if (job === null && waits.length > 0) tx.queue("UPDATE @session SET has_more = true WHERE n = $1", session);
}

/** The turn has come to wait: an answer that came before is told after the question (1). */
async function tellAsked(tx: Transaction, { n, session, answer }: WaitRow): Promise<void> {
  const asked = await addFact(tx, session, ASKED, n);
  tx.queue(TOLD, n, asked, answer === null ? null : await addFact(tx, session, ANSWERED, n));
}

/** The fact that it was asked, wherever that is told; null while it is early. */
export const askedAs = ({ asked, moved }: Pick<WaitRow, "asked" | "moved">): number | null => asked ?? moved;

const itemOf = ({ id }: WaitRow): string => `The wait ${id}`;

export const aboutIn = (row: WaitRow): WaitAbout | WaitedTurns => parsed(row.about, itemOf(row));

/** What somebody was asked. */
export function questionIn(row: WaitRow): WaitAbout {
  const about = aboutIn(row);
  if (about.kind === "turns") throw corrupt(itemOf(row), "nobody was asked");
  return about;
}

/** The answer to a wait, if there is any yet. That of an ended turn has no value. */
export const answerIn = (row: WaitRow): WaitAnswer | undefined =>
  row.answer === null ? undefined : parsed(row.answer, itemOf(row));

export const keyOf = (row: WaitRow): WaitKey => fromKeyText(row.key!) as WaitKey;

// ── Answering ───────────────────────────────────────────────────────────────────────────────────────────────────────

type Resolved = Awaited<ReturnType<Store["waits"]["resolve"]>>;

/** Tells a job that one of its waits was answered (3). */
export type TellJob = (tx: Transaction, job: KeptId, wait: WaitId, answer: WaitAnswer, now: number) => Promise<void>;

const ANSWER = "UPDATE @wait SET answer = $2, answered = $3, nth = $4 WHERE n = $1";

export async function resolve(
  tx: Transaction,
  tell: TellJob,
  key: WaitKey,
  answer: WaitAnswer,
  now: number,
): Promise<Resolved> {
  const found = await locked(tx, waitIdOf(key));
  if (found === undefined || found.row.key !== keyText(key)) return { said: "unknown" };
  const { row, session } = found;
  if (answerIn(row)?.kind === "revoked" || (row.is_turns && answer.kind === "value")) return { said: "unknown" };
  const isLate = answer.kind === "value" && now >= row.until;
  const told = row.job === null ? { sessionId: session.id } : { jobId: idOf({ id: row.job }) };
  if (row.job === null && session.turn !== row.turn) throw corrupt(itemOf(row), "its turn is not open");
  if (row.job === null ? await isAnswered(tx, row) : row.answer !== null) return { said: "already-resolved", ...told };
  if (isLate) return { said: "expired", ...told };
  const nth = row.job === null ? await nextAnswer(tx, row.turn) : null;
  if (row.job !== null) await tell(tx, row.job, row.id, answer, now);
  const answered = askedAs(row) === null ? null : await addFact(tx, row.session, ANSWERED, row.n);
  tx.queue(ANSWER, row.n, JSON.stringify(answer), answered, nth);
  if (row.job === null) wake(tx, session, row.turn, row.id);
  tx.hint(payloadOf({ kind: "session", sessionId: session.id, what: "resolved" }));
  return { said: "accepted", ...told };
}

/** A wait and the session that has it, which is locked. A job may be handed over before the lock is there. */
async function locked(
  tx: Transaction,
  id: WaitId,
): Promise<{ readonly row: WaitRow; readonly session: SessionRow } | undefined> {
  for (;;) {
    const before = await tx.row<WaitRow>(BY_ID, id);
    const session = before && (await lockNumber(tx, before.session));
    const row = session && (await tx.row<WaitRow>(BY_ID, id));
    if (row === undefined || session === undefined) return undefined;
    if (row.session === session.n) return { row, session };
  }
}

const NEXT_ANSWER = "SELECT coalesce(max(nth), 0) + 1 AS nth FROM @wait WHERE turn = $1 AND key IS NOT NULL";
const nextAnswer = async (tx: Transaction, turn: number): Promise<number> =>
  (await tx.row<{ nth: number }>(NEXT_ANSWER, turn))!.nth;

/** Whether a wait was answered, or the turns it is for are over. */
export const isAnswered = async (tx: Transaction, row: WaitRow): Promise<boolean> =>
  row.answer !== null || (await isOver(tx, row));

/** Whether the turns and jobs that are waited for are over (2). A job that is idle, or not there, counts as over. */
export async function isOver(tx: Transaction, row: WaitRow): Promise<boolean> {
  if (!row.is_turns) return false;
  const about = aboutIn(row);
  if (about.kind !== "turns") return false;
  const hasEnded = async ({ turnId }: { readonly turnId: TurnId }): Promise<boolean> => {
    const state = (await findTurn(tx, turnId))?.state ?? "ended";
    return state === "ended" || state === "withdrawn";
  };
  const isDone = async (job: JobId): Promise<boolean> => !(await isRunning(tx, job));
  const { turns, jobs = [], need } = about;
  const over = await Promise.all([...turns.map(hasEnded), ...jobs.map(isDone)]);
  return need === "all" ? over.every(Boolean) : over.some(Boolean);
}

/** What was answered, in that order, and then the turns that are over. */
export async function resolvedOf(tx: Transaction, turn: number): Promise<NonNullable<Mail["resolved"]>> {
  const rows = await openWaits(tx, turn);
  const answered = rows.filter((row) => row.answer !== null).sort((a, b) => a.nth! - b.nth!);
  const open = rows.filter((row) => row.answer === null && row.is_turns);
  const over = await Promise.all(open.map((row) => isOver(tx, row)));
  return [
    ...answered.map((row) => ({ key: keyOf(row), answer: answerIn(row)! })),
    ...open.filter((_, index) => over[index]).map((row) => ({ key: keyOf(row), answer: OVER })),
  ];
}
const OVER: WaitAnswer = { kind: "value", value: null };

// ── Ending ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Forgets of the waits of a turn or a job that is over what only an open one needs. */
export function endWaits(tx: Transaction, rows: readonly WaitRow[]): void {
  for (const row of rows) {
    const answer = answerIn(row);
    const isFact = row.asked !== null || row.answered !== null;
    if (!isFact) tx.queue("DELETE FROM @wait WHERE n = $1", row.n);
    else
      tx.queue(
        "UPDATE @wait SET key = NULL, answer = $2 WHERE n = $1",
        row.n,
        answer === undefined ? null : JSON.stringify(bare(answer)),
      );
  }
}

const MOVE = `INSERT INTO @wait (id, key, session, turn, job, moved, effect, at, about, until, is_turns)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`;

/**
 * A job was handed over: what nobody has answered goes along. The row that tells the fact of the question stays with the
 * session that had the job.
 */
export async function moveWaits(tx: Transaction, job: KeptId, to: number): Promise<void> {
  for (const row of await openWaitsOf(tx, job)) {
    if (row.answer !== null) continue;
    if (row.asked === null) {
      tx.queue("UPDATE @wait SET session = $2 WHERE n = $1", row.n, to);
      continue;
    }
    const { id, key, turn, effect, at, about, until, is_turns } = row;
    tx.queue("UPDATE @wait SET key = NULL WHERE n = $1", row.n);
    tx.queue(MOVE, id, key, to, turn, job, askedAs(row), effect, at, about, until, is_turns);
  }
}

/** How somebody answered, without what they said. */
function bare(answer: WaitAnswer): WaitAnswer {
  return answer.kind === "value" ? { ...answer, value: null } : answer;
}
