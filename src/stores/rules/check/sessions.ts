import { corrupt } from "../../rows/faults.ts";
import { blobsOfEvent, blobsOfState } from "../../rows/named-blobs.ts";
import {
  GONE,
  JOURNAL,
  LEDGER,
  PROFILE,
  type ProfileRow,
  SEGMENT,
  SESSION,
  SESSION_TAG,
  type SegmentRow,
  type SessionRow,
  STATE,
  type StateRow,
  TAKEN,
  type Table,
  TURN,
  type TurnRow,
  WAIT,
} from "../../tables.ts";
import { journalOf } from "../leases.ts";
import type { Port } from "../port.ts";
import { all, type Rule } from "../rule.ts";
import { eachPage, guarded, isThere, type Lookup, lookUp, type Report, RowList } from "./report.ts";
import type { Users } from "./segments.ts";

/** The longest plausible lease. It allows for clocks that differ between processes. */
export const DAY_MS = 86_400_000;

/** Checks deleted sessions. */
export function* checkDeleted(db: Port, report: Report): Rule<void> {
  let count = 0;
  const isSound = yield* eachPage(db, report, GONE, function* (rows) {
    count += rows.length;
    const there = yield* lookUp(
      db,
      SESSION,
      rows.map(({ id }) => id),
      { index: "id" },
    );
    for (const { id } of rows) if (there.has(id)) report.add(`The deleted session ${id}`, "it is still there");
  });
  if (!isSound) return;
  const gone = yield* db.gone();
  if (count !== gone) report.add("The deleted sessions", `there are ${count}, not ${gone}`);
}

/** Checks sessions with their open turns. Returns whether all of them could be read. */
export function* checkSessions(db: Port, report: Report, users: Users): Rule<boolean> {
  const time = yield* db.now(Date.now());
  return yield* eachPage(db, report, SESSION, function* (rows) {
    for (const { head } of rows) if (head !== null) users.count(head, -1);
    const [segments, profiles, turns, waits] = yield* all([
      lookUp(
        db,
        SEGMENT,
        rows.map(({ head }) => head),
      ),
      lookUp(
        db,
        PROFILE,
        rows.map(({ n }) => n),
      ),
      lookUp(
        db,
        TURN,
        rows.map(({ turn }) => turn),
        { isWhole: true },
      ),
      lookUp(
        db,
        WAIT,
        rows.flatMap(({ parked }) => parked ?? []),
        { index: "id" },
      ),
    ]);
    for (const row of rows) {
      const item = `Session ${row.id}`;
      report.look(item, () => headProblem(row, segments));
      if (!profiles.has(row.n)) report.add(`The configuration of session ${row.id}`, "it is missing");
      report.look(item, () => leaseProblem(db, row, time) ?? openTurnProblem(row, turns));
      if (!(row.parked ?? []).every((id) => waits.has(id)))
        report.add(item, "its parked turn waits for what is not there");
      yield* guarded(db, report, item, checkTags(db, report, row));
      const turn = turns.row(row.turn);
      // Sequential, because a journal may be long.
      if (turn !== undefined && isOwn(row, turn)) yield* guarded(db, report, item, checkJournal(db, report, row, turn));
    }
  });
}

/** Lists by tag read copies of the session's columns. */
function* checkTags(db: Port, report: Report, { n, id, tags, ownedBy, activity }: SessionRow): Rule<void> {
  if (tags === null) return;
  const copies = yield* db.scan(SESSION_TAG, "session", [n]);
  const isRight = copies.every(
    (copy) => copy.ownedBy === ownedBy && copy.activity === activity && tags.includes(copy.tag),
  );
  if (!isRight || copies.length !== tags.length) report.add(`Session ${id}`, "its tags are not as it has them");
}

function headProblem({ head, headIndex }: SessionRow, segments: Lookup<SegmentRow>): string | undefined {
  if (head === null) return headIndex === null ? undefined : "its head is not a node";
  if (!segments.has(head)) throw corrupt(`Segment ${head}`, "it is missing");
  const size = segments.row(head)?.size ?? Infinity;
  return headIndex !== null && headIndex >= 0 && headIndex < size ? undefined : "its head is not a node";
}

function leaseProblem({ leaseMs }: Port, row: SessionRow, time: number): string | undefined {
  if (row.turn === null) return row.wake === null ? undefined : "a turn is parked that is not open";
  if ((row.wake === null) !== (row.parked === null)) return "its turn is parked by half";
  return row.until > time + leaseMs + DAY_MS ? "its lease ends too late" : undefined;
}

const isOwn = ({ n }: SessionRow, { done, session, state, input }: TurnRow): boolean =>
  done === null && session === n && state === TAKEN && input != null;

function openTurnProblem(row: SessionRow, turns: Lookup<TurnRow>): string | undefined {
  if (row.turn === null) return undefined;
  if (!turns.has(row.turn)) return "its open turn is missing";
  const turn = turns.row(row.turn);
  if (turn === undefined) return undefined;
  if (turn.done !== null) return "it is held by a turn that has ended";
  return isOwn(row, turn) ? undefined : "its open turn is not its own";
}

function* checkJournal(db: Port, report: Report, session: SessionRow, turn: TurnRow): Rule<void> {
  for (const event of yield* journalOf(db, session, turn))
    report.name(`The journal of turn ${turn.n}`, blobsOfEvent(event));
}

// ── What sessions have ──────────────────────────────────────────────────────────────────────────────────────────────

/** Finds rows whose session is missing. */
export class MissingSessions {
  readonly #listed = new RowList();

  /** Checks one page of a table. */
  *look(db: Port, rows: readonly { readonly session: number }[]): Rule<Lookup<SessionRow>> {
    const sessions = yield* lookUp(
      db,
      SESSION,
      rows.map(({ session }) => session),
    );
    for (const { session } of rows) if (!sessions.has(session)) this.#listed.add(session);
    return sessions;
  }

  report(report: Report, table: Table): void {
    this.#listed.report(report, `The table ${table.name}`, (sessions) => `the sessions ${sessions} are missing`);
  }
}

/** Checks profiles, plugin states, ledgers and journals. */
export function* checkProfiles(db: Port, report: Report): Rule<void> {
  for (const table of [PROFILE, LEDGER, SESSION_TAG] as readonly Table<Pick<ProfileRow, "session">>[]) {
    const missing = new MissingSessions();
    yield* eachPage(db, report, table, function* (rows) {
      yield* missing.look(db, rows);
    });
    missing.report(report, table);
  }
  yield* checkStates(db, report);
  yield* eachPage(db, report, JOURNAL, function* (rows) {
    const sessions = yield* new MissingSessions().look(db, rows);
    const isOpen = (session: number): boolean => {
      const row = sessions.row(session);
      return row === undefined ? sessions.has(session) : row.turn !== null;
    };
    if (!rows.every(({ session }) => isOpen(session))) report.add("The journals", "events of no open turn are there");
  });
}

function* checkStates(db: Port, report: Report): Rule<void> {
  const left = new RowList();
  yield* eachPage(db, report, STATE, function* (rows) {
    for (const row of rows) if (row.body !== null) report.name(itemOf(row), blobsOfState(row.body));
    const sessions = yield* new MissingSessions().look(db, rows);
    // A fork can still ask for the states of a deleted session, so they stay as long as one of its segments.
    const gone = [...new Set(rows.map(({ session }) => session))].filter((session) => !sessions.has(session));
    const isUsed = yield* all(gone.map((session) => isThere(db, SEGMENT, "left", session)));
    for (const [at, session] of gone.entries()) if (!isUsed[at]) left.add(session);
  });
  left.report(report, "The table state", (sessions) => `the sessions ${sessions} are missing`);
}

const itemOf = ({ plugin, session }: StateRow): string => `The state of plugin ${plugin} in session ${session}`;
