import type { JobId } from "../../model/ids.ts";
import { keyText } from "../rows/codec.ts";
import { corrupt } from "../rows/faults.ts";
import type { JobLine, JobLines, Saying } from "../store.ts";
import { requireFit, seal, sumOf, unseal } from "./checksum.ts";
import type { Connection } from "./connection.ts";
import { jobRow } from "./job-row.ts";

/**
 * What jobs say: their lines, and for each job that has said something, or was asked for it, how many lines are left and
 * who took the latest. Most jobs have neither.
 */
export interface LineRow {
  readonly job: number;
  readonly n: number;
  readonly line: string;
}
export interface SaidRow {
  readonly job: number;
  /** The number of the last line, also when that was dropped. */
  readonly last: number;
  /** How many lines are left. */
  readonly lines: number;
  /** The latest call that took lines: its key, and between which numbers those lay. */
  readonly key: string | null;
  readonly since: number;
  readonly taken: number;
  readonly seal: number;
}

const columnsOf = ({ job, last, lines, key, since, taken }: Omit<SaidRow, "seal">) => [
  ...[job, last, lines, key, since, taken],
];
const itemOf = (job: number): string => `What job ${job} has said`;

export function requireSaid(row: SaidRow): SaidRow {
  requireFit(row.seal, columnsOf(row), itemOf(row.job));
  return row;
}

export const lineIn = ({ job, n, line }: LineRow): JobLine => ({
  n,
  ...unseal<Omit<JobLine, "n">>(line, sumOf([job, n]), `Line ${n} of job ${job}`),
});

function saidBy(db: Connection, job: number): SaidRow | undefined {
  const row = db.row<SaidRow>("SELECT * FROM job_said WHERE job = ?", job);
  return row && requireSaid(row);
}
const nothingOf = (job: number): Omit<SaidRow, "seal"> => ({ job, last: 0, lines: 0, key: null, since: 0, taken: 0 });

function keepSaid(db: Connection, row: Omit<SaidRow, "seal">): void {
  const { job, last, lines, key, since, taken } = row;
  const columns = [job, last, lines, key, since, taken];
  db.run("REPLACE INTO job_said VALUES (?, ?, ?, ?, ?, ?, ?)", ...columns, sumOf(columnsOf(row)));
}

const DROP = "DELETE FROM job_line WHERE job = ? AND n IN (SELECT n FROM job_line WHERE job = ? ORDER BY n LIMIT ?)";

export function say(db: Connection, job: number, { lines, max }: Saying): void {
  const before = saidBy(db, job) ?? nothingOf(job);
  let last = before.last;
  const fresh = lines.filter(({ n }) => {
    const isFresh = n > last;
    if (isFresh) last = n;
    return isFresh;
  });
  const added = fresh.slice(Math.max(0, fresh.length - max));
  for (const { n, ...line } of added)
    db.run("INSERT INTO job_line VALUES (?, ?, ?)", job, n, seal(line, sumOf([job, n])));
  const all = before.lines + added.length;
  if (all > max) db.run(DROP, job, job, all - max);
  if (fresh.length > 0 || all > max) keepSaid(db, { ...before, last, lines: Math.min(all, max) });
}

const BETWEEN = "SELECT * FROM job_line WHERE job = ? AND n > ? AND n <= ? ORDER BY n";

/** The lines that are left, oldest first. */
function linesOf(db: Connection, { job, lines }: SaidRow): readonly JobLine[] {
  const found = db.rows<LineRow>(BETWEEN, job, 0, Number.MAX_SAFE_INTEGER).map(lineIn);
  if (found.length !== lines) throw corrupt(itemOf(job), "some lines are missing");
  return found;
}

export function linesOfJob(db: Connection, id: JobId): JobLines {
  const row = jobRow(db, id);
  const said = row && saidBy(db, row.n);
  return said === undefined ? { lines: [], taken: 0 } : { lines: linesOf(db, said), taken: said.taken };
}

export function takeLines(db: Connection, id: JobId, key: string): readonly JobLine[] {
  const row = jobRow(db, id);
  if (row === undefined) return [];
  const before = saidBy(db, row.n) ?? nothingOf(row.n);
  const isAgain = before.key === keyText(key);
  const [since, end] = isAgain ? [before.since, before.taken] : [before.taken, before.last];
  const lines = db.rows<LineRow>(BETWEEN, row.n, since, end).map(lineIn);
  const taken = lines.at(-1)?.n ?? before.taken;
  if (!isAgain) keepSaid(db, { ...before, key: keyText(key), since, taken });
  return lines;
}

export function forgetLines(db: Connection, job: number): void {
  db.run("DELETE FROM job_line WHERE job = ?", job);
  db.run("DELETE FROM job_said WHERE job = ?", job);
}
