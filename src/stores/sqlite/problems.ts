import { Report } from "../rules/check/report.ts";
import type { Finding } from "../rules/port.ts";
import { requireFit } from "./checksum.ts";
import type { Connection } from "./connection.ts";
import { damageIn } from "./layout-pages.ts";
import { LIMIT, SEQS } from "./layout-rows.ts";
import { schemaProblem } from "./schema.ts";

/** Finds damage that is specific to a file. The rules check references between rows (`rules/check/`). */
export function problemsIn(db: Connection, isDeep: boolean, max: number): readonly Finding[] {
  const report = new Report(max);
  const look = (item: string, work: () => string | undefined): void => {
    if (report.isFull) return;
    try {
      const problem = work();
      if (problem !== undefined) report.add(item, problem);
    } catch (error) {
      report.thrown(item, error, { damageIn: (found) => damageIn(found, db.path) });
    }
  };
  look("The file", () => fileProblem(db, isDeep));
  look("The schema", () => schemaProblem(db));
  look("The table gone", () => checkDeleted(db, look));
  look("The numbers of sessions", () => numbersProblem(db));
  look("The table session", () => checkCounts(db, report));
  for (const table of ["config", "options", "parked"]) look(`The table ${table}`, () => ownerProblem(db, table));
  look("The table parked", () => checkParked(db, report));
  look("The journals", () => (db.row(LEFT) === undefined ? undefined : "events of no open turn are there"));
  return report.findings;
}

const PAGE = 200;
/** Below all numbers, because a damaged one may be negative. */
const LOWEST = Number.MIN_SAFE_INTEGER;

type Check = (item: string, work: () => string | undefined) => void;

function fileProblem(db: Connection, isDeep: boolean): string | undefined {
  const said = db.rows<object>(isDeep ? "PRAGMA integrity_check(20)" : "PRAGMA quick_check(20)");
  const problems = said.map((row) => String(Object.values(row)[0])).filter((text) => text !== "ok");
  return problems.length === 0 ? undefined : problems.join("; ");
}

// ── Deleted sessions ────────────────────────────────────────────────────────────────────────────────────────────────

const DELETED = `SELECT g.*, (SELECT count(*) FROM state WHERE session = g.n) AS left,
    (SELECT count(*) FROM segment WHERE session = g.n AND is_named = 1) AS segments
  FROM gone g WHERE id > ? OR (? = '' AND id = '') ORDER BY id ${LIMIT}`;
interface DeletedRow {
  readonly id: string;
  readonly n: number;
  readonly states: number;
  readonly seal: number | null;
  readonly left: number;
  readonly segments: number;
}

function checkDeleted(db: Connection, look: Check): undefined {
  for (let [page, last] = [[] as DeletedRow[], ""]; page !== undefined; ) {
    page = db.rows<DeletedRow>(DELETED, last, last, PAGE);
    for (const { id, n, states, seal, left, segments } of page)
      look(`The deleted session ${id}`, () => {
        requireFit(seal, [id, n, states], `The deleted session ${id}`);
        if (seal === null) return undefined;
        return left === (segments === 0 ? 0 : states) ? undefined : "plugin states of it are missing";
      });
    const end = page.at(-1)?.id ?? "";
    if (page.length < PAGE || end <= last) return undefined;
    last = end;
  }
}

const NUMBERS = `SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'session') AS seq, max(
  coalesce((SELECT max(n) FROM session), 0), coalesce((SELECT max(n) FROM gone), 0),
  coalesce((SELECT max(session) FROM state), 0)) AS last`;

function numbersProblem(db: Connection): string | undefined {
  const { seq, last } = db.row<{ seq: number | null; last: number }>(NUMBERS)!;
  return (seq ?? 0) >= last ? undefined : "one that was used would be used again";
}

// ── Sessions ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Tables whose rows a session counts. */
const COUNTED = [
  ...["turn", "operation", "ledger", "state", "options", "operation_note", "wait", "parked", "job", "subscription"],
  "delivery",
];
const counts = [
  ...COUNTED.map((table) => `(SELECT count(*) FROM ${table} WHERE session = s.n)`),
  ...["note", "attempt"].map((table) => `(SELECT count(*) FROM ${table} WHERE turn = s.turn)`),
];
const OWN_ROWS = `SELECT s.n, s.id, s.own_rows, ${counts.join(" + ")} AS found FROM session s
  WHERE s.n > ? ORDER BY s.n ${LIMIT}`;
interface CountedRow {
  readonly n: number;
  readonly id: string;
  readonly own_rows: number;
  readonly found: number;
}

/** A missing row leaves no other trace than the count. */
function checkCounts(db: Connection, report: Report): undefined {
  for (let last = LOWEST; !report.isFull; ) {
    const page = db.rows<CountedRow>(OWN_ROWS, last, PAGE);
    for (const { id, own_rows, found } of page)
      if (found !== own_rows) report.add(`Session ${id}`, `it has ${found} rows of its own, not ${own_rows}`);
    const end = page.at(-1)?.n ?? last;
    if (page.length < PAGE || end <= last) return undefined;
    last = end;
  }
}

function ownerProblem(db: Connection, table: string): string | undefined {
  const sql = `SELECT session AS n FROM ${table} WHERE session NOT IN (SELECT n FROM session) LIMIT 20`;
  const rows = db.rows<{ n: number }>(sql);
  return rows.length === 0 ? undefined : `the sessions ${rows.map(({ n }) => n).join(", ")} are missing`;
}

const PARKED = `SELECT p.turn FROM parked p LEFT JOIN session s ON s.n = p.session
  WHERE s.turn IS NULL OR s.turn <> p.turn LIMIT 20`;

function checkParked(db: Connection, report: Report): undefined {
  for (const { turn } of db.rows<{ turn: number }>(PARKED))
    report.add(`The parking of turn ${turn}`, "it is not of its session's open turn");
}

/** Journal rows without an open turn need not be readable, because their checksums contain that turn. */
const LEFT = `SELECT 1 FROM journal
  WHERE NOT EXISTS (SELECT 1 FROM session WHERE n = k / ${SEQS} AND turn IS NOT NULL) LIMIT 1`;
