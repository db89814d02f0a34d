import type { JobId } from "../../model/ids.ts";
import { keyText } from "../rows/codec.ts";
import { corrupt } from "../rows/faults.ts";
import type { JobLine, JobLines, Saying } from "../store.ts";
import type { Database, Transaction } from "./database.ts";
import { type KeptId, keptId, lockJob } from "./job-row.ts";
import { parsed } from "./text.ts";

/**
 * What jobs say: their lines, and for each job that has said something, or was asked for it, how many lines are left and
 * who took the latest. Most jobs have neither. All is written under the lock of the job.
 */
export interface SaidRow {
  /** The number of the last line, also when that was dropped. */
  readonly last: number;
  /** How many lines are left. */
  readonly lines: number;
  /** The latest call that took lines: its key, and between which numbers those lay. */
  readonly key: string | null;
  readonly since: number;
  readonly taken: number;
}
const NOTHING: SaidRow = { last: 0, lines: 0, key: null, since: 0, taken: 0 };

interface LineRow {
  readonly job: number;
  readonly n: number;
  readonly line: string;
}
const lineIn = ({ job, n, line }: LineRow): JobLine => ({
  n,
  ...parsed<Omit<JobLine, "n">>(line, `Line ${n} of job ${job}`),
});

const SAID = "SELECT s.* FROM @job_said s JOIN @job j ON j.n = s.job WHERE j.id = $1";

export const saidBy = async (tx: Transaction, id: KeptId): Promise<SaidRow> =>
  (await tx.row<SaidRow>(SAID, id)) ?? NOTHING;

const KEEP = `INSERT INTO @job_said VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (job) DO UPDATE SET
  last = excluded.last, lines = excluded.lines, key = excluded.key, since = excluded.since, taken = excluded.taken`;

function keepSaid(tx: Transaction, job: number, { last, lines, key, since, taken }: SaidRow): void {
  tx.queue(KEEP, job, last, lines, key, since, taken);
}

const ADD = "INSERT INTO @job_line SELECT $1::bigint, * FROM unnest($2::bigint[], $3::text[])";
const DROP =
  "DELETE FROM @job_line WHERE job = $1 AND n IN (SELECT n FROM @job_line WHERE job = $1 ORDER BY n LIMIT $2)";

export function say(tx: Transaction, job: number, before: SaidRow, { lines, max }: Saying): void {
  let last = before.last;
  const fresh = lines.filter(({ n }) => {
    const isFresh = n > last;
    if (isFresh) last = n;
    return isFresh;
  });
  const added = fresh.slice(Math.max(0, fresh.length - max));
  const texts = added.map(({ n: _, ...line }) => JSON.stringify(line));
  if (added.length > 0)
    tx.queue(
      ADD,
      job,
      added.map(({ n }) => n),
      texts,
    );
  const all = before.lines + added.length;
  if (all > max) tx.queue(DROP, job, all - max);
  if (fresh.length > 0 || all > max) keepSaid(tx, job, { ...before, last, lines: Math.min(all, max) });
}

const LEFT = `SELECT s.job, s.taken, s.lines AS left, l.n, l.line FROM @job j JOIN @job_said s ON s.job = j.n
  LEFT JOIN @job_line l ON l.job = j.n WHERE j.id = $1 ORDER BY l.n`;
interface LeftRow extends Pick<SaidRow, "taken"> {
  readonly job: number;
  readonly left: number;
  readonly n: number | null;
  readonly line: string;
}

/** What is left, oldest first. */
export async function linesOfJob(db: Database, id: JobId): Promise<JobLines> {
  const rows = await db.rows<LeftRow>(LEFT, keptId(id));
  const [said] = rows;
  if (said === undefined) return { lines: [], taken: 0 };
  const lines = rows.flatMap(({ job, n, line }) => (n === null ? [] : lineIn({ job, n, line })));
  if (lines.length !== said.left) throw corrupt(`What job ${said.job} has said`, "some lines are missing");
  return { lines, taken: said.taken };
}

// From where the latest call began: it may be asked again.
const SINCE = `SELECT l.* FROM @job j JOIN @job_line l ON l.job = j.n
  WHERE j.id = $1 AND l.n > coalesce((SELECT since FROM @job_said WHERE job = j.n), 0) ORDER BY l.n`;

export const takeLines = (db: Database, id: JobId, key: string): Promise<readonly JobLine[]> =>
  db.write(async (tx) => {
    const kept = keptId(id);
    const [row, before, rows] = await Promise.all([lockJob(tx, kept), saidBy(tx, kept), tx.rows<LineRow>(SINCE, kept)]);
    if (row === undefined) return [];
    const isAgain = before.key === keyText(key);
    const [since, end] = isAgain ? [before.since, before.taken] : [before.taken, before.last];
    const lines = rows.filter(({ n }) => n > since && n <= end).map(lineIn);
    const taken = lines.at(-1)?.n ?? before.taken;
    if (!isAgain) keepSaid(tx, row.n, { ...before, key: keyText(key), since, taken });
    return lines;
  });
