import type { SessionId } from "../../model/ids.ts";
import { APPEND, type FactRow, WITHDRAWN } from "../tables.ts";
import { sumOf } from "./checksum.ts";
import type { Connection } from "./connection.ts";
import { LATEST_FACT, latestFact, limit, requireMeta, sealMeta } from "./facts.ts";
import { LIMIT } from "./layout-rows.ts";

/**
 * Numbers of facts and of job changes. Facts have no table: the row of a turn, an operation or a wait contains the
 * numbers of the facts about it. Numbers are assigned under the write lock and never reused after a removal.
 *
 * One write reads the latest numbers once.
 */
export class Numbers {
  readonly #db: Connection;
  #fact: number | undefined;
  #change: number | undefined;
  /** The latest change when jobs were last removed. */
  #floor: number | undefined;

  constructor(db: Connection) {
    this.#db = db;
  }

  clear(): void {
    this.#fact = undefined;
    this.#change = undefined;
    this.#floor = undefined;
  }

  latestFact(): number {
    return (this.#fact ??= latestFact(this.#db));
  }

  nextFact(): number {
    return (this.#fact = this.latestFact() + 1);
  }

  latestChange(): number {
    return (this.#change ??= this.#db.row<{ latest: number }>(SELECT_CHANGE)!.latest);
  }

  nextChange(): number {
    return (this.#change = this.latestChange() + 1);
  }

  /** Call it before jobs are removed, so that the numbers of their changes are not reused. */
  raiseJobFloor(): void {
    const latest = this.latestChange();
    if (this.#floor === latest) return;
    this.#floor = latest;
    this.#db.run("UPDATE meta SET job_floor = ?", latest);
    sealMeta(this.#db);
  }

  /** Call it before a session is removed, so that its id and its fact numbers are not reused. */
  bury(id: SessionId): void {
    const db = this.#db;
    requireMeta(db);
    db.run(`UPDATE meta SET floor = max(?, ${LATEST_FACT}), gone = gone + 1`, this.latestFact());
    sealMeta(db);
    const n = db.row<{ n: number }>("SELECT n FROM session WHERE id = ?", id)?.n ?? null;
    const states = n === null ? null : db.row<{ count: number }>(STATES, n)!.count;
    db.run("INSERT INTO gone VALUES (?, ?, ?, ?)", id, n, states, n === null ? null : sumOf([id, n, states]));
  }

  gone(): number {
    return requireMeta(this.#db).gone;
  }
}

const SELECT_CHANGE = "SELECT max(coalesce((SELECT max(changed) FROM job), 0), (SELECT job_floor FROM meta)) AS latest";
const STATES = "SELECT count(*) AS count FROM state WHERE session = ?";

// ── Facts in their order ────────────────────────────────────────────────────────────────────────────────────────────

const OF_ALL = `
  SELECT * FROM (SELECT n, session, 'accepted' AS kind, n AS of FROM turn WHERE n > ? AND is_aside < ${APPEND}
    ORDER BY n ${LIMIT})
  UNION ALL SELECT * FROM (SELECT done, session, CASE state WHEN ${WITHDRAWN} THEN 'withdrawn' ELSE 'ended' END, n
    FROM turn WHERE done > ? ORDER BY done ${LIMIT})
  UNION ALL SELECT * FROM (SELECT n, session, 'applied', n FROM operation WHERE n > ? ORDER BY n ${LIMIT})
  UNION ALL SELECT * FROM (SELECT asked, session, 'asked', n FROM wait WHERE asked > ? ORDER BY asked ${LIMIT})
  UNION ALL SELECT * FROM (SELECT answered, session, 'answered', n FROM wait WHERE answered > ?
    ORDER BY answered ${LIMIT})
  ORDER BY 1 ${LIMIT}`;

// A session's turns end in the order of their acceptance. So those that ended after a fact are those after the last
// turn that ended before it, and no index by session and end is needed. The unary + prevents SQLite from using the
// index over all sessions.
const of = (from: string, which: (alias: string) => string, endedBy: "n" | "done"): string => `
  SELECT * FROM (SELECT t.n, t.session, 'accepted' AS kind, t.n AS of FROM ${from} turn t
    WHERE ${which("t")} AND t.n > ? AND t.is_aside < ${APPEND} ORDER BY t.n ${LIMIT})
  UNION ALL SELECT * FROM (SELECT t.done, t.session, 'ended', t.n FROM ${from} turn t
    WHERE ${which("t")} AND t.n > coalesce((SELECT e.n FROM turn e WHERE e.session = t.session AND e.n < ?
      AND +e.done <= ? AND e.state <> ${WITHDRAWN} ORDER BY e.n DESC LIMIT 1), 0) AND +t.done > ?
      AND t.state <> ${WITHDRAWN} ORDER BY t.${endedBy} ${LIMIT})
  UNION ALL SELECT * FROM (SELECT i.done, i.session, 'withdrawn', i.n FROM ${from} turn i
    WHERE ${which("i")} AND i.state = ${WITHDRAWN} AND i.done > ? ORDER BY i.done ${LIMIT})
  UNION ALL SELECT * FROM (SELECT o.n, o.session, 'applied', o.n FROM ${from} operation o
    WHERE ${which("o")} AND o.n > ? ORDER BY o.n ${LIMIT})
  UNION ALL SELECT * FROM (SELECT w.asked, w.session, 'asked', w.n FROM ${from} wait w
    WHERE ${which("w")} AND w.asked > ? ORDER BY w.asked ${LIMIT})
  UNION ALL SELECT * FROM (SELECT w.answered, w.session, 'answered', w.n FROM ${from} wait w
    WHERE ${which("w")} AND w.answered > ? ORDER BY w.answered ${LIMIT})
  ORDER BY 1 ${LIMIT}`;
const OF_ONE = `WITH one(n) AS (VALUES (?)) ${of("one CROSS JOIN", (alias) => `${alias}.session = one.n`, "n")}`;
const OF_MANY = `WITH many(n) AS (SELECT value FROM json_each(?))
  ${of("many CROSS JOIN", (alias) => `${alias}.session = many.n`, "done")}`;

export function factsAfter(
  db: Connection,
  after: number,
  sessions: readonly number[] | undefined,
  most: number,
): readonly FactRow[] {
  const max = limit(most);
  const page = [after, max];
  const rest = [...page, ...page, ...page, max];
  if (sessions === undefined) return db.rows<FactRow>(OF_ALL, ...page, ...page, ...rest);
  const [first] = sessions;
  if (first === undefined) return [];
  const [sql, which] = sessions.length === 1 ? [OF_ONE, first] : [OF_MANY, JSON.stringify(sessions)];
  return db.rows<FactRow>(sql, which, ...page, after, after, ...page, ...page, ...rest);
}
