import type { SessionId, TurnId, WaitId, WaitKey } from "../../model/ids.ts";
import { type WaitAbout, type WaitAnswer, waitIdOf } from "../../model/wait.ts";
import type { Mail, NewWait, Store, StoredWait } from "../store.ts";
import { fromKeyText, keyText } from "./codec.ts";
import type { Connection } from "./connection.ts";
import { find } from "./endings.ts";
import { cursorOf, latestFact, limit } from "./facts.ts";
import type { Run } from "./inputs.ts";
import { countRows } from "./own-rows.ts";
import { wake } from "./parked-row.ts";
import { TREE } from "./sessions.ts";
import {
  aboutIn,
  answerIn,
  askedOf,
  keepWait,
  newWait,
  questionIn,
  requireWait,
  sealAnswer,
  type WaitRow,
} from "./wait-row.ts";

/**
 * What open turns wait for, and what is told of it.
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

export function resolve(db: Connection, key: WaitKey, answer: WaitAnswer, now: number): Resolved {
  const row = db.row<WaitRow>(BY_ID, waitIdOf(key));
  if (row === undefined || requireWait(row).key !== keyText(key)) return { said: "unknown" };
  if (answerIn(row)?.kind === "revoked") return { said: "unknown" };
  if (row.is_turns === 1 && answer.kind === "value") return { said: "unknown" };
  const { sessionId } = db.row<{ sessionId: SessionId }>(
    "SELECT id AS sessionId FROM session WHERE n = ?",
    row.session,
  )!;
  if (isAnswered(db, row)) return { said: "already-resolved", sessionId };
  if (answer.kind === "value" && now >= row.until) return { said: "expired", sessionId };
  const next = "SELECT coalesce(max(nth), 0) + 1 AS nth FROM wait WHERE turn = ? AND key IS NOT NULL";
  const { nth } = db.row<{ nth: number }>(next, row.turn)!;
  const answered = row.asked === null ? null : latestFact(db) + 1;
  keepWait(db, { ...row, nth, answered, answer: sealAnswer(answer, row.turn) });
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
const keyOf = (row: WaitRow): WaitKey => fromKeyText(row.key!) as WaitKey;

interface ListedRow extends WaitRow {
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
}
const LISTED = "SELECT w.*, s.id AS sessionId, t.id AS turnId";
const UNANSWERED = "w.key IS NOT NULL AND w.asked > ? AND w.answer IS NULL ORDER BY w.asked LIMIT ?";
const OF_ALL = `${LISTED} FROM wait w INDEXED BY wait_open CROSS JOIN session s ON s.n = w.session
  CROSS JOIN turn t ON t.n = w.turn WHERE ${UNANSWERED}`;
const of = (which: string): string => `${LISTED} FROM session s CROSS JOIN wait w ON w.turn = s.turn
  CROSS JOIN turn t ON t.n = w.turn WHERE s.id ${which} AND ${UNANSWERED}`;
const OF_ONE = of("= ?");
const OF_TREE = `${TREE} ${of("IN (SELECT id FROM tree)")}`;
const BY_NAME = `${LISTED} FROM wait w CROSS JOIN session s ON s.n = w.session CROSS JOIN turn t ON t.n = w.turn
  WHERE w.id = ? AND w.key IS NOT NULL`;
const ASKED = "SELECT max(asked) AS asked FROM wait WHERE id = ?";

export function list(db: Connection, page: Parameters<Store["waits"]["list"]>[0]): readonly StoredWait[] {
  const { session, tree, after, max } = page;
  const last = after === undefined ? 0 : db.row<{ asked: number | null }>(ASKED, after)!.asked;
  if (last === null) return []; // Its session was deleted, or nobody was asked.
  const root = tree ?? session;
  const rows =
    root === undefined
      ? db.rows<ListedRow>(OF_ALL, last, limit(max))
      : db.rows<ListedRow>(tree === undefined ? OF_ONE : OF_TREE, root, last, limit(max));
  return rows.map((row) => shown(db, row, questionIn(row)));
}

export function get(db: Connection, id: WaitId): StoredWait | undefined {
  const row = db.row<ListedRow>(BY_NAME, id);
  const about = row && aboutIn(row);
  return row === undefined || about === undefined || about.kind === "turns" ? undefined : shown(db, row, about);
}

function shown(db: Connection, row: ListedRow, about: WaitAbout): StoredWait {
  const { id, sessionId, turnId, effect, at, until, asked, answered } = row;
  const answer = answerIn(row);
  return {
    id,
    key: keyOf(row),
    sessionId,
    path: pathTo(db, sessionId),
    turnId,
    effect: effect!,
    at: at!,
    until,
    about,
    ...(asked === null ? {} : { askedAs: cursorOf(asked) }),
    ...(answer === undefined ? {} : { answer }),
    ...(answered === null ? {} : { answeredAs: cursorOf(answered) }),
  };
}

function pathTo(db: Connection, session: SessionId): readonly SessionId[] {
  const path = new Set<SessionId>();
  for (let id: SessionId | null = session; id !== null && !path.has(id); ) {
    path.add(id);
    const parent: { id: SessionId | null } | undefined = db.row("SELECT parent_id AS id FROM session WHERE id = ?", id);
    id = parent?.id ?? null;
  }
  return [...path].reverse();
}

/** Forgets of a turn that is over what only an open one needs, and answers how many rows the session has less. */
export function endWaits(db: Connection, turn: number): number {
  const rows = openWaits(db, turn);
  for (const row of rows) {
    const answer = answerIn(row);
    if (row.asked === null) db.run("DELETE FROM wait WHERE n = ?", row.n);
    else keepWait(db, { ...row, key: null, answer: answer === undefined ? null : sealAnswer(bare(answer), turn) });
  }
  return rows.filter(({ asked }) => asked === null).length;
}

/** How somebody answered, without what they said. */
function bare(answer: WaitAnswer): WaitAnswer {
  return answer.kind === "value" ? { ...answer, value: null } : answer;
}
