import { OVER } from "../rows/job.ts";
import { Report, RowList } from "../rules/check/report.ts";
import type { Finding } from "../rules/port.ts";
import { APPEND, FACTS, type FactKind, WAITING, WITHDRAWN } from "../tables.ts";
import type { Transaction } from "./database.ts";
import { VERSION } from "./schema.ts";

/**
 * Finds damage that is specific to the PostgreSQL schema: in columns and tables that the rules do not use. The rules
 * check references between rows (`rules/check/`). Tables are read in pages, because a statement may take only a few
 * seconds.
 */
export async function problemsIn(tx: Transaction, max: number): Promise<readonly Finding[]> {
  const report = new Report(max);
  await checkSchema(tx, report);
  await checkCounters(tx, report);
  await checkSessions(tx, report);
  await checkFacts(tx, report);
  await checkFactsOfRows(tx, report);
  await checkJobChanges(tx, report);
  return report.findings;
}

const PAGE = 1_000;

/** Reads all result rows of a statement. `$1` is the number of the last row before, `$2` the page size. */
async function each<Row extends { readonly n: number }>(
  tx: Transaction,
  report: Report,
  sql: string,
  see: (row: Row) => void,
): Promise<void> {
  for (let last = Number.MIN_SAFE_INTEGER; !report.isFull; ) {
    const page = await tx.rows<Row>(sql, last, PAGE);
    page.forEach(see);
    if (page.length < PAGE) return;
    last = page.at(-1)!.n;
  }
}
const page = (table: string): string => `(SELECT * FROM @${table} WHERE n > $1 ORDER BY n LIMIT $2)`;

// ── The schema ──────────────────────────────────────────────────────────────────────────────────────────────────────

const INVALID = `SELECT c.relname AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = '@meta'::regclass) AND NOT i.indisvalid LIMIT 20`;

async function checkSchema(tx: Transaction, report: Report): Promise<void> {
  const [meta, invalid] = await Promise.all([
    tx.rows<{ version: number }>("SELECT version FROM @meta"),
    tx.rows<{ name: string }>(INVALID),
  ]);
  const [row] = meta;
  if (meta.length !== 1 || row?.version !== VERSION)
    report.add(
      "The schema",
      `its version is ${meta.map(({ version }) => version).join(", ") || "missing"}, not ${VERSION}`,
    );
  for (const { name } of invalid) report.add("The schema", `the index ${name} is not valid`);
}

// ── Numbers that were given out ─────────────────────────────────────────────────────────────────────────────────────

const NUMBERED = ["session", "turn", "operation", "wait", "job", "subscription", "occurrence", "segment"];
const COUNTERS = `SELECT (SELECT value FROM @counter WHERE name = 'fact') AS fact,
  (SELECT value FROM @counter WHERE name = 'job') AS job, (SELECT value FROM @counter WHERE name = 'gone') AS gone,
  (SELECT max(n) FROM @fact) AS "lastFact", (SELECT max(n) FROM @job_change) AS "lastChange",
  (SELECT last_value FROM @number) AS number,
  greatest(${NUMBERED.map((table) => `(SELECT max(n) FROM @${table})`).join(", ")}) AS "lastNumber"`;
interface Counters {
  readonly fact: number | null;
  readonly job: number | null;
  readonly gone: number | null;
  readonly lastFact: number | null;
  readonly lastChange: number | null;
  readonly number: number;
  readonly lastNumber: number | null;
}

async function checkCounters(tx: Transaction, report: Report): Promise<void> {
  const found = (await tx.row<Counters>(COUNTERS))!;
  for (const name of ["fact", "job", "gone"] as const)
    if (found[name] === null) report.add(`The counter ${name}`, "it is missing");
  const again = "a number that was used would be used again";
  if ((found.lastFact ?? 0) > (found.fact ?? Infinity)) report.add("The order of facts", again);
  if ((found.lastChange ?? 0) > (found.job ?? Infinity)) report.add("The order of jobs", again);
  if ((found.lastNumber ?? 0) > found.number) report.add("The numbers of rows", again);
}

// ── Sessions ────────────────────────────────────────────────────────────────────────────────────────────────────────

const OF_TURN = `EXISTS (SELECT 1 FROM @note WHERE turn = s.turn) OR EXISTS (SELECT 1 FROM @attempt WHERE turn = s.turn)
  OR EXISTS (SELECT 1 FROM @wait WHERE turn = s.turn AND key IS NOT NULL)
  OR EXISTS (SELECT 1 FROM @turn WHERE claim = s.turn)
  OR EXISTS (SELECT 1 FROM @turn WHERE session = s.n AND state = ${WAITING} AND aside = ${APPEND})
  OR EXISTS (SELECT 1 FROM @job WHERE parent = 'turn/' || t.id AND state < ${OVER})`;
const SESSIONS = `SELECT s.n, s.id, s.turn, s.waiting, s.length, s.has_more, s.is_cancelled,
    (SELECT count(*) FROM @turn WHERE session = s.n AND state = ${WAITING}) AS "foundWaiting",
    coalesce((SELECT seq + size FROM @journal WHERE session = s.n ORDER BY seq DESC LIMIT 1), 0) AS "foundLength",
    t.cancel IS NOT NULL AS "wasCancelled", s.turn IS NOT NULL AND (${OF_TURN}) AS "hasMore"
  FROM ${page("session")} s LEFT JOIN @turn t ON t.n = s.turn ORDER BY s.n`;
interface SessionColumns {
  readonly n: number;
  readonly id: string;
  readonly turn: number | null;
  readonly waiting: number;
  readonly foundWaiting: number;
  readonly length: number;
  readonly foundLength: number;
  readonly has_more: boolean;
  readonly hasMore: boolean;
  readonly is_cancelled: boolean;
  readonly wasCancelled: boolean;
}

const checkSessions = (tx: Transaction, report: Report): Promise<void> =>
  each<SessionColumns>(tx, report, SESSIONS, (row) => {
    const { id, turn, waiting, foundWaiting, length, foundLength } = row;
    const add = (problem: string): void => report.add(`Session ${id}`, problem);
    if (waiting !== foundWaiting) add(`${foundWaiting} inputs and appends wait, not ${waiting}`);
    if (turn !== null && length !== foundLength)
      add(`the journal of its open turn has ${foundLength} events, not ${length}`);
    if (row.hasMore && !row.has_more) add("it does not tell that its open turn has more than its journal");
    if (row.is_cancelled !== row.wasCancelled) add("it does not tell whether its open turn was asked to end");
  });

// ── Facts ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Finds the row that a fact is about. The row also contains the number of the fact if it has a column for it. */
const ABOUT: { readonly [kind in FactKind]: string } = {
  accepted: "@turn a WHERE a.n = f.of",
  ended: `@turn a WHERE a.n = f.of AND a.done = f.n AND a.state < ${WITHDRAWN}`,
  applied: "@operation a WHERE a.n = f.of",
  asked: "@wait a WHERE a.n = f.of AND a.asked = f.n",
  answered: "@wait a WHERE a.n = f.of AND a.answered = f.n",
  withdrawn: `@turn a WHERE a.n = f.of AND a.done = f.n AND a.state = ${WITHDRAWN}`,
};
const isThere = (kind: FactKind, at: number): string =>
  `WHEN ${at} THEN EXISTS (SELECT 1 FROM ${ABOUT[kind]} AND a.session = f.session)`;
const FACT_ROWS = `SELECT f.n, CASE f.kind ${FACTS.map(isThere).join(" ")} ELSE false END AS "isThere"
  FROM ${page("fact")} f ORDER BY f.n`;

async function checkFacts(tx: Transaction, report: Report): Promise<void> {
  const listed = new RowList();
  await each<{ readonly n: number; readonly isThere: boolean }>(tx, report, FACT_ROWS, (row) => {
    if (!row.isThere) listed.add(row.n);
  });
  listed.report(report, "The facts", (facts) => `what ${facts} tell of is missing`);
}

const hasFact = (row: string, column: string, ...kinds: readonly FactKind[]): string =>
  `(${row}.${column} IS NULL OR EXISTS (SELECT 1 FROM @fact f WHERE f.n = ${row}.${column}
    AND f.kind IN (${kinds.map((kind) => FACTS.indexOf(kind)).join(", ")}) AND f.of = ${row}.n))`;
const TURNS = `SELECT t.n, 'Turn ' || t.id AS item, ${hasFact("t", "done", "ended", "withdrawn")} AS "isTold"
  FROM ${page("turn")} t ORDER BY t.n`;
const WAITS = `SELECT w.n, 'The wait ' || w.id AS item,
    ${hasFact("w", "asked", "asked")} AND ${hasFact("w", "answered", "answered")} AS "isTold"
  FROM ${page("wait")} w ORDER BY w.n`;

async function checkFactsOfRows(tx: Transaction, report: Report): Promise<void> {
  for (const sql of [TURNS, WAITS])
    await each<{ readonly n: number; readonly item: string; readonly isTold: boolean }>(tx, report, sql, (row) => {
      if (!row.isTold) report.add(row.item, "a fact of it is missing");
    });
}

// ── Jobs ────────────────────────────────────────────────────────────────────────────────────────────────────────────

const CHANGES = `SELECT c.n, EXISTS (SELECT 1 FROM @job j WHERE j.n = c.job AND j.changed = c.n) AS "isTrue"
  FROM ${page("job_change")} c ORDER BY c.n`;
const JOBS = `SELECT j.n, j.id, EXISTS (SELECT 1 FROM @job_change c WHERE c.n = j.changed AND c.job = j.n) AS "isListed"
  FROM ${page("job")} j ORDER BY j.n`;

async function checkJobChanges(tx: Transaction, report: Report): Promise<void> {
  const listed = new RowList();
  await each<{ readonly n: number; readonly isTrue: boolean }>(tx, report, CHANGES, (row) => {
    if (!row.isTrue) listed.add(row.n);
  });
  listed.report(report, "The order of jobs", (changes) => `${changes} are not the latest changes of any job`);
  await each<{ readonly n: number; readonly id: string; readonly isListed: boolean }>(tx, report, JOBS, (row) => {
    if (!row.isListed) report.add(`Job ${row.id}`, "its latest change is not in the order of all changes");
  });
}
