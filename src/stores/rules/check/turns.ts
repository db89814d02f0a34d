import { attachmentsIn, blobsOfEvent, isHash } from "../../rows/named-blobs.ts";
import {
  ATTEMPT,
  NOTE,
  type NoteRow,
  OPERATION,
  OPERATION_NOTE,
  SEGMENT,
  SESSION,
  type SegmentRow,
  type SessionRow,
  TAKEN,
  type Table,
  TURN,
  type TurnRow,
  WAITING,
  WITHDRAWN,
} from "../../tables.ts";
import type { Port } from "../port.ts";
import { all, type Rule } from "../rule.ts";
import { journalIn } from "../turns.ts";
import { eachPage, guarded, type Lookup, lookUp, type Report, RowList } from "./report.ts";
import { MissingSessions } from "./sessions.ts";

/** Checks inputs and turns. Returns the highest fact number of a turn. */
export function* checkTurns(db: Port, report: Report): Rule<number> {
  let highest = 0;
  const see = function* (rows: readonly TurnRow[]): Rule<void> {
    const others = rows.flatMap(({ claim, endedBy }) => [claim, endedBy]);
    const [sessions, segments, turns] = yield* all([
      lookUp(
        db,
        SESSION,
        rows.map(({ session }) => session),
      ),
      lookUp(
        db,
        SEGMENT,
        rows.map(({ n, ended }) => (ended === null ? null : n)),
      ),
      lookUp(db, TURN, others),
    ]);
    for (const row of rows) {
      const item = `Turn ${row.id}`;
      highest = Math.max(highest, row.done ?? 0);
      report.look(item, () => {
        report.name(item, attachmentsIn([row.input, row.ended?.outcome]));
        return undefined;
      });
      report.look(item, () => turnProblem(row, sessions, segments) ?? takerProblem(row, sessions, turns));
      if (row.ended?.journal !== undefined) yield* guarded(db, report, item, checkJournal(db, report, row));
    }
  };
  yield* eachPage(db, report, TURN, see, { isWhole: true });
  return highest;
}

/** Checks that a kept journal can be read. Nothing but people depends on it. */
function* checkJournal(db: Port, report: Report, row: TurnRow): Rule<void> {
  const item = `The journal of turn ${row.id}`;
  const journal = yield* journalIn(db, row);
  if (journal === undefined) return report.add(item, "it is missing");
  const { setting, events } = journal;
  report.name(item, [setting, ...events.flatMap(blobsOfEvent)].filter(isHash));
}

function turnProblem(row: TurnRow, sessions: Lookup<SessionRow>, segments: Lookup<SegmentRow>): string | undefined {
  const { n, session, state, claim, endedBy, done, ended, input } = row;
  if (!sessions.has(session)) return "its session is missing";
  const isOpen = sessions.row(session)?.turn === n;
  if (state !== WITHDRAWN && (done === null) !== (ended === null)) return "it has half an end";
  if (ended !== null) {
    const size = segments.has(n) ? segments.row(n)?.size : 0;
    if (size !== undefined && ended.size !== size) return "its receipt does not fit its nodes";
    return isOpen ? "it has ended and is open" : undefined;
  }
  if (state === WAITING && input == null) return "it waits without an input";
  const isHeld = isOpen || claim !== null || endedBy !== null || sessions.row(session) === undefined;
  return state === TAKEN && !isHeld ? "it was taken, but is neither open nor ended" : undefined;
}

/** Returns a problem if the turn that took an input is not open, or the turn that settled it is missing. */
function takerProblem(
  { session, claim, boundary, endedBy }: TurnRow,
  sessions: Lookup<SessionRow>,
  turns: Lookup<TurnRow>,
): string | undefined {
  const open = sessions.row(session);
  if (claim !== null && open !== undefined && open.turn !== claim) return "a turn has taken it that is not open";
  if ((claim === null) !== (boundary === null)) return "it was taken by half";
  return endedBy === null || turns.has(endedBy) ? undefined : "the turn that settled it is missing";
}

// ── Notes ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Checks the rows that only open turns have: notes and attempts. */
export function* checkNotes(db: Port, report: Report): Rule<void> {
  for (const table of [NOTE, ATTEMPT] as readonly Table<Pick<NoteRow, "turn"> & Partial<NoteRow>>[]) {
    const listed = new RowList();
    yield* eachPage(db, report, table, function* (rows) {
      for (const { value } of rows) report.name("A note", attachmentsIn(value));
      const numbers = rows.map(({ turn }) => turn);
      const turns = yield* lookUp(db, TURN, numbers);
      const sessions = yield* lookUp(
        db,
        SESSION,
        numbers.map((n) => turns.row(n)?.session ?? null),
      );
      for (const n of numbers) if (!isOpenTurn(n, turns, sessions)) listed.add(n);
    });
    listed.report(report, `The table ${table.name}`, (numbers) => `${numbers}: not open`);
  }
}

/** Returns whether a turn is open. A turn with damaged rows counts as open. */
function isOpenTurn(n: number, turns: Lookup<TurnRow>, sessions: Lookup<SessionRow>): boolean {
  const turn = turns.row(n);
  if (turn === undefined) return turns.has(n);
  const session = sessions.row(turn.session);
  return session === undefined ? sessions.has(turn.session) : session.turn === n;
}

/** Checks operations and the notes of unfinished ones. */
export function* checkOperations(db: Port, report: Report): Rule<void> {
  const missing = new MissingSessions();
  yield* eachPage(db, report, OPERATION, function* (rows) {
    yield* missing.look(db, rows);
  });
  missing.report(report, OPERATION);
  const unowned = new MissingSessions();
  yield* eachPage(db, report, OPERATION_NOTE, function* (rows) {
    for (const { operation, value } of rows) report.name(`A note of operation ${operation}`, attachmentsIn(value));
    yield* unowned.look(db, rows);
  });
  unowned.report(report, OPERATION_NOTE);
}
