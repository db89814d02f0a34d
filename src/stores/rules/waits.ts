import type { JobId, SessionId, TurnId, WaitId } from "../../model/ids.ts";
import { type WaitAbout, type WaitAnswer, waitIdOf } from "../../model/wait.ts";
import { corrupt } from "../rows/faults.ts";
import type { Mail, NewWait, Store, StoredWait } from "../store.ts";
import { SESSION, TURN, WAIT, type WaitRow } from "../tables.ts";
import { cursorOf } from "./cursors.ts";
import { runningOf } from "./jobs/awaits.ts";
import type { Port } from "./port.ts";
import { all, type Rule } from "./rule.ts";
import { pathTo, treeOf } from "./sessions.ts";
import { stateOf } from "./turn-states.ts";

/**
 * Waits of open turns and jobs, and their answers. The session of the turn or job is locked.
 *
 * wait-1: A question is a fact, and so is its answer. An early wait is not a fact yet; a wait for turns and jobs never
 * is one.
 * wait-2: A wait for turns and jobs has no answer. The rows of those turns and jobs show whether they have ended.
 * wait-3: An answer to a turn stays in the row of its wait until the turn reads it. An answer to a job becomes an event
 * of the job in the same write.
 */

export const openWaits = (db: Port, turn: number) => db.scan(WAIT, "turn", [turn]);

/** Adds waits of a turn, or of a job: then the turn is 0. A repeat changes nothing. */
export function* addWaits(
  db: Port,
  of: { readonly session: number; readonly turn: number; readonly job?: JobId },
  waits: readonly NewWait[],
): Rule<void> {
  const { session, turn, job = null } = of;
  for (const wait of waits) {
    const { key, effect, at, until, about, isEarly } = wait;
    const id = waitIdOf(key);
    const before = yield* db.get(WAIT, "id", id);
    const isOther = before !== undefined && (before.turn !== turn || before.job !== job);
    if (isOther || (before !== undefined && (askedAs(before) !== null || isEarly === true))) continue;
    const asked = { effect, at, until, about, isTurns: about.kind === "turns" };
    const blank = { moved: null, asked: null, answered: null, nth: null, answer: null };
    const row =
      before === undefined
        ? yield* db.add(WAIT, { id, key, session, turn, job, ...asked, ...blank })
        : db.update(WAIT, before, asked);
    if (isEarly !== true && about.kind !== "turns") yield* becomeFact(db, row);
  }
}

/**
 * The turn has reached an early wait, which becomes a fact. An answer that came before becomes a fact after the
 * question (wait-1).
 */
function* becomeFact(db: Port, row: WaitRow): Rule<void> {
  const asked = yield* db.fact(row.session, "asked", row.n);
  const answered = row.answer === null ? null : yield* db.fact(row.session, "answered", row.n);
  db.update(WAIT, row, { asked, answered });
}

/** Returns the fact number of the question, in whichever row; null for an early wait. */
export const askedAs = ({ asked, moved }: Pick<WaitRow, "asked" | "moved">): number | null => asked ?? moved;

export const itemOf = ({ id }: WaitRow): string => `The wait ${id}`;

/** Returns the question of a wait that a person or a program answers. */
export function questionIn(row: WaitRow): WaitAbout {
  if (row.about === null || row.about.kind === "turns") throw corrupt(itemOf(row), "nobody was asked");
  return row.about;
}

/** Returns whether a wait is answered, or the turns and jobs that it waits for have ended. */
export function* isAnswered(db: Port, row: WaitRow): Rule<boolean> {
  return row.answer !== null || (yield* isOver(db, row));
}

/** Returns whether the turns and jobs of a wait have ended (wait-2). A job that is idle or missing counts as ended. */
export function* isOver(db: Port, { isTurns, about }: Pick<WaitRow, "isTurns" | "about">): Rule<boolean> {
  if (!isTurns || about?.kind !== "turns") return false;
  const { turns, jobs = [], need } = about;
  const [states, running] = yield* all([all(turns.map(({ turnId }) => hasEnded(db, turnId))), runningOf(db, jobs)]);
  const over = [...states, ...jobs.map((job) => !running.has(job))];
  return need === "all" ? over.every(Boolean) : over.some(Boolean);
}

function* hasEnded(db: Port, id: TurnId): Rule<boolean> {
  const row = yield* db.get(TURN, "id", id);
  const state = row === undefined ? "ended" : stateOf(row, undefined);
  return state === "ended" || state === "withdrawn";
}

const OVER: WaitAnswer = { kind: "value", value: null };

/** Returns the answered waits in the order of their answers, then the waits whose turns and jobs have ended. */
export function* resolvedOf(db: Port, turn: number): Rule<NonNullable<Mail["resolved"]>> {
  const rows = yield* openWaits(db, turn);
  const answered = rows.filter(({ answer }) => answer !== null).sort((a, b) => a.nth! - b.nth!);
  const open = rows.filter(({ answer, isTurns }) => answer === null && isTurns);
  const over = yield* all(open.map((row) => isOver(db, row)));
  return [
    ...answered.map(({ key, answer }) => ({ key: key!, answer: answer! })),
    ...open.filter((_, at) => over[at]).map(({ key }) => ({ key: key!, answer: OVER })),
  ];
}

// ── Ending ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Removes the data of waits that only an open turn or job needs. */
export function endWaits(db: Port, rows: readonly WaitRow[]): void {
  for (const row of rows) {
    const isFact = row.asked !== null || row.answered !== null;
    if (isFact) db.update(WAIT, row, { key: null, answer: row.answer && withoutValue(row.answer) });
    else db.remove(WAIT, row);
  }
}

/** Drops the value of an answer. */
const withoutValue = (answer: WaitAnswer): WaitAnswer =>
  answer.kind === "value" ? { ...answer, value: null } : answer;

/** Moves the open questions of a job that was handed over. The row of the fact stays with the first session. */
export function* moveWaits(db: Port, job: JobId, to: number): Rule<void> {
  for (const row of yield* db.scan(WAIT, "job", [job])) {
    if (row.answer !== null) continue;
    if (row.asked === null) db.update(WAIT, row, { session: to });
    else {
      const { n: _, ...moved } = row;
      db.update(WAIT, row, { key: null });
      yield* db.add(WAIT, { ...moved, session: to, asked: null, moved: askedAs(row) });
    }
  }
}

// ── Listing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

type Page = Parameters<Store["waits"]["list"]>[0];

export function* listWaits(db: Port, page: Page): Rule<readonly StoredWait[]> {
  const rows = yield* db.waits === undefined ? found(db, page) : db.waits(page);
  return yield* all(rows.map((row) => toStoredWait(db, row, questionIn(row))));
}

function* found(db: Port, { session, tree, after, max }: Page): Rule<readonly WaitRow[]> {
  const last = after === undefined ? 0 : latestAsked(yield* db.scan(WAIT, "named", [after]));
  if (last === undefined) return []; // The session of that wait was deleted, or the wait has no question.
  const root = tree ?? session;
  const open = root === undefined ? yield* openOfAll(db, last, max) : yield* openOf(db, root, tree !== undefined);
  return open
    .filter((row) => row.answer === null && (askedAs(row) ?? 0) > last)
    .sort((a, b) => askedAs(a)! - askedAs(b)!)
    .slice(0, max);
}

const latestAsked = (rows: readonly WaitRow[]): number | undefined =>
  rows.reduce<number | undefined>((last, row) => Math.max(last ?? 0, askedAs(row) ?? 0) || undefined, undefined);

function* openOfAll(db: Port, above: number, max: number): Rule<WaitRow[]> {
  const [asked, moved] = yield* all([
    db.scan(WAIT, "open", [], { above, max }),
    db.scan(WAIT, "openMoved", [], { above, max }),
  ]);
  return [...asked, ...moved];
}

/** Returns the waits of open turns and jobs in a session, or in its whole tree. */
function* openOf(db: Port, root: SessionId, isTree: boolean): Rule<WaitRow[]> {
  const own = isTree ? yield* treeOf(db, root) : [yield* db.get(SESSION, "id", root)];
  const rows = yield* all(
    own.flatMap((session) =>
      session === undefined
        ? []
        : [session.turn === null ? undefined : openWaits(db, session.turn), db.scan(WAIT, "jobSession", [session.n])],
    ),
  );
  return rows.flatMap((each) => each ?? []);
}

export function* getWait(db: Port, id: WaitId): Rule<StoredWait | undefined> {
  const row = yield* db.get(WAIT, "id", id);
  const about = row?.about ?? undefined;
  return row === undefined || about === undefined || about.kind === "turns"
    ? undefined
    : yield* toStoredWait(db, row, about);
}

function* toStoredWait(db: Port, row: WaitRow, about: WaitAbout): Rule<StoredWait> {
  const { id, key, job, effect, at, until, answer, answered } = row;
  const [turn, path] = yield* all([job === null ? db.get(TURN, "key", row.turn) : undefined, pathTo(db, row.session)]);
  const asked = askedAs(row);
  return {
    id,
    key: key!,
    sessionId: path.at(-1)!,
    path,
    ...(job === null ? { turnId: requireTurnId(row, turn?.id) } : { jobId: job }),
    effect: effect!,
    at: at!,
    until,
    about,
    ...(asked === null ? {} : { askedAs: cursorOf(asked) }),
    ...(answer === null ? {} : { answer }),
    ...(answered === null ? {} : { answeredAs: cursorOf(answered) }),
  };
}

/** Returns the turn of a wait that must have one. */
export function requireTurnId(row: WaitRow, id: TurnId | undefined): TurnId {
  if (id === undefined) throw corrupt(itemOf(row), "its turn is missing");
  return id;
}
