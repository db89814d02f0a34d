import { RuntimeError } from "../../model/errors.ts";
import { describeThrown } from "../../model/json.ts";
import { decodeInput } from "../rows/codec.ts";
import { isWhole } from "../rows/hashes.ts";
import { attachmentsIn, blobsOfEvent, blobsOfState } from "../rows/named-blobs.ts";
import { checkJobs, type Look } from "./check-jobs.ts";
import { checkTriggers } from "./check-triggers.ts";
import { requireFit, unseal } from "./checksum.ts";
import type { Connection } from "./connection.ts";
import type { Value } from "./database.ts";
import { endedOf, requestOf, type TurnRow } from "./endings.ts";
import { requireMeta } from "./facts.ts";
import { entriesOf, requireBones } from "./graph.ts";
import { OVER } from "./job-row.ts";
import { eventsOf, SEQS } from "./journal.ts";
import { type NoteRow, noteIn } from "./notes.ts";
import { appliedOf, type OperationNoteRow, type OperationRow, operationNoteIn } from "./operations.ts";
import { optionsIn } from "./options.ts";
import { OWN_ROWS } from "./own-rows.ts";
import { type ParkedRow, requireParked, waitsOf } from "./parked-row.ts";
import { schemaProblem } from "./schema.ts";
import { ALL_BOOKED, requireSealed, type SessionRow, type SpentRow, spentOf } from "./sessions.ts";
import { type StateRow, stateIn } from "./states.ts";
import { requireWhole, TAKEN, WAITING, WHOLE_TURN_COLUMNS } from "./turn-row.ts";
import { aboutIn, answerIn, askedAs, type WaitRow } from "./wait-row.ts";

/** Damage: where it is, and what is wrong. */
export interface Finding {
  readonly item: string;
  readonly problem: string;
}
export interface CheckOptions {
  /** How many findings to stop at; 100 unless given. */
  readonly max?: number;
  /** Compares every index with its table too, which takes much longer. */
  readonly deep?: boolean;
}

/** Reads the whole file once and repairs nothing: a person must decide what can be trusted. */
export function check(db: Connection, { max = 100, deep = false }: CheckOptions): readonly Finding[] {
  const checkup = new Checkup(db, max);
  checkup.file(deep);
  checkup.deleted();
  checkup.sessions();
  checkup.segments();
  checkup.turns();
  checkup.rest();
  checkup.work();
  checkup.blobs();
  return checkup.findings;
}

/** What the error of a damaged row says, without its advice. */
function damageIn({ details }: RuntimeError): Finding {
  const { item, problem } = details as RuntimeError<"store.corrupt">["details"];
  return { item, problem };
}

const PAGE = 200;
/** Before all numbers: a damaged one may be negative. */
const LOWEST = Number.MIN_SAFE_INTEGER;
const DAY_MS = 86_400_000;

class Checkup {
  readonly findings: Finding[] = [];
  readonly #db: Connection;
  readonly #max: number;
  /** The blobs that rows name, and one row of each. */
  readonly #named = new Map<string, string>();

  constructor(db: Connection, max: number) {
    this.#db = db;
    this.#max = max;
  }

  #look(item: string, work: () => string | undefined | void): void {
    if (this.findings.length >= this.#max) return;
    try {
      const problem = work();
      if (typeof problem === "string") this.findings.push({ item, problem });
    } catch (error) {
      const isDamage = error instanceof RuntimeError && error.code === "store.corrupt";
      this.findings.push(isDamage ? damageIn(error) : { item, problem: describeThrown(error) });
    }
  }

  /** Looks at all rows of a table, in pages; `sql` takes the key of the last row before. */
  #each<Row>(
    table: string,
    sql: string,
    start: readonly Value[],
    keyOf: (row: Row) => readonly Value[],
    see: (row: Row) => void,
  ): void {
    this.#look(`The table ${table}`, () => {
      // Counted, because the pages of a damaged table may lead back to each other.
      const { count } = this.#db.row<{ count: number }>(`SELECT count(*) AS count FROM ${table}`)!;
      for (let [left, last] = [count, start]; left > 0 && this.findings.length < this.#max; left -= PAGE) {
        const rows = this.#db.rows<Row>(`${sql} LIMIT ${PAGE}`, ...last);
        rows.forEach(see);
        if (rows.length < PAGE) return;
        last = keyOf(rows.at(-1)!);
      }
    });
  }

  #rows(item: string, sql: string, tell: (rows: string) => string): void {
    this.#look(item, () => {
      const rows = this.#db.rows<{ n: number | string }>(`${sql} LIMIT 20`);
      return rows.length === 0 ? undefined : tell(rows.map(({ n }) => n).join(", "));
    });
  }

  #name(item: string, blobs: readonly string[]): void {
    for (const hash of blobs) this.#named.set(hash, item);
  }

  file(deep: boolean): void {
    this.#look("The file", () => {
      const said = this.#db.rows<object>(deep ? "PRAGMA integrity_check(20)" : "PRAGMA quick_check(20)");
      const problems = said.map((row) => String(Object.values(row)[0])).filter((text) => text !== "ok");
      return problems.length === 0 ? undefined : problems.join("; ");
    });
    this.#look("The schema", () => schemaProblem(this.#db));
  }

  /** What is left of deleted sessions. */
  deleted(): void {
    this.#look("The deleted sessions", () => {
      const { gone } = requireMeta(this.#db);
      const { count } = this.#db.row<{ count: number }>("SELECT count(*) AS count FROM gone")!;
      return count === gone ? undefined : `there are ${count}, not ${gone}`;
    });
    this.#each<{ id: string; n: number; states: number; seal: number | null; left: number; segments: number }>(
      "gone",
      `SELECT g.*, (SELECT count(*) FROM state WHERE session = g.n) AS left,
         (SELECT count(*) FROM segment WHERE session = g.n AND is_named = 1) AS segments
       FROM gone g WHERE id > ? OR id = '' ORDER BY id`,
      [""],
      ({ id }) => [id],
      ({ id, n, states, seal, left, segments }) =>
        this.#look(`The deleted session ${id}`, () => {
          requireFit(seal, [id, n, states], `The deleted session ${id}`);
          if (seal === null) return undefined;
          return left === (segments === 0 ? 0 : states) ? undefined : "plugin states of it are missing";
        }),
    );
    this.#look("The numbers of sessions", () => {
      const row = this.#db.row<{ seq: number | null; last: number }>(
        `SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'session') AS seq, max(
           coalesce((SELECT max(n) FROM session), 0), coalesce((SELECT max(n) FROM gone), 0),
           coalesce((SELECT max(session) FROM state), 0)) AS last`,
      )!;
      return (row.seq ?? 0) >= row.last ? undefined : "one that was used would be used again";
    });
  }

  sessions(): void {
    const db = this.#db;
    this.#each<SessionRow & { until: number; own_rows: number; found: number }>(
      "session",
      `SELECT s.*, ${OWN_ROWS} AS found FROM session s WHERE s.n > ? ORDER BY s.n`,
      [LOWEST],
      ({ n }) => [n],
      (row) => {
        const item = `Session ${row.id}`;
        this.#look(item, () => requireSealed(row));
        this.#look(item, () => {
          if (row.head === null) return undefined;
          return (row.head_index ?? -1) < requireBones(db, row.head).size ? undefined : "its head is no node";
        });
        const its = `The configuration of session ${row.id}`;
        this.#look(its, () => {
          const config = db.row<{ body: string }>("SELECT body FROM config WHERE session = ?", row.n);
          if (config === undefined) return "it is missing";
          unseal(config.body, row.n, its);
          return undefined;
        });
        this.#look(item, () =>
          row.found === row.own_rows ? undefined : `it has ${row.found} rows of its own, not ${row.own_rows}`,
        );
        this.#look(item, () => this.#openTurnProblem(row));
      },
    );
    const missing = (sessions: string): string => `the sessions ${sessions} are missing`;
    for (const table of ["config", "options", "operation_note", "wait", "parked", "job", "subscription", "delivery"])
      this.#rows(
        `The table ${table}`,
        `SELECT session AS n FROM ${table} WHERE session NOT IN (SELECT n FROM session)`,
        missing,
      );
  }

  #openTurnProblem({ n, turn, until }: SessionRow & { readonly until: number }): string | undefined {
    if (turn === null) return undefined;
    const row = this.#db.row<Pick<TurnRow, "done" | "state" | "session" | "input">>(
      "SELECT done, state, session, input FROM turn WHERE n = ?",
      turn,
    );
    if (row === undefined) return "its open turn is missing";
    if (row.done !== null) return "it is held by a turn that has ended";
    if (row.session !== n || row.state !== TAKEN || row.input === null) return "its open turn is not its own";
    const item = `The journal of turn ${turn}`;
    for (const event of eventsOf(this.#db, { session: n, turn })) this.#name(item, blobsOfEvent(event));
    const renewed = "SELECT max(until) AS until FROM journal WHERE k >= ? AND k < ?";
    const lease = this.#db.row<{ until: number }>(renewed, n * SEQS, (n + 1) * SEQS)!;
    return Math.max(until, lease.until) > Date.now() + this.#db.leaseMs + DAY_MS
      ? "its lease ends too late"
      : undefined;
  }

  segments(): void {
    const db = this.#db;
    this.#each<{ n: number }>(
      "segment",
      "SELECT n FROM segment WHERE n > ? ORDER BY n",
      [LOWEST],
      ({ n }) => [n],
      ({ n }) =>
        this.#look(`Segment ${n}`, () => {
          const bones = requireBones(db, n);
          this.#name(`Segment ${n}`, attachmentsIn(entriesOf(db, bones)));
          if (bones.parent === null) return bones.depth === 0 ? undefined : "it has no parent";
          const above = requireBones(db, bones.parent);
          if ((bones.parent_index ?? -1) >= above.size) return "its parent is no node";
          return bones.depth === above.depth + 1 ? undefined : "its depth is wrong";
        }),
    );
    const miscounted = `SELECT g.n FROM segment g
       LEFT JOIN (SELECT head, count(*) AS heads FROM session WHERE head IS NOT NULL GROUP BY head) s ON s.head = g.n
       LEFT JOIN (SELECT parent, count(*) AS children FROM segment WHERE parent IS NOT NULL GROUP BY parent) c
         ON c.parent = g.n
       WHERE g.users <> coalesce(s.heads, 0) + coalesce(c.children, 0) + g.is_branch`;
    this.#rows("The segments", miscounted, (segments) => `the users of ${segments} are miscounted`);
    // The segment of a turn is found by the turn. All others are found by name, also those of deleted sessions.
    const misnamed = `SELECT g.n FROM segment g LEFT JOIN turn t ON t.n = g.n LEFT JOIN operation o ON o.n = g.n
       WHERE g.is_named <> (t.n IS NULL) OR g.name <> coalesce(t.id, o.name, g.name)
         OR (t.n IS NULL AND o.n IS NULL AND g.session IN (SELECT n FROM session))`;
    this.#rows("The segments", misnamed, (segments) => `${segments} cannot be found by what made them`);
  }

  turns(): void {
    this.#each<TurnRow & { readonly open: number | null; readonly owner: number | null; readonly size: number | null }>(
      "turn",
      `SELECT ${WHOLE_TURN_COLUMNS}, s.n AS owner, s.turn AS open, g.size FROM turn t
         LEFT JOIN session s ON s.n = t.session LEFT JOIN segment g ON g.n = t.n WHERE t.n > ? ORDER BY t.n`,
      [LOWEST],
      ({ n }) => [n],
      (row) => {
        const item = `Turn ${row.id}`;
        this.#look(item, () => void requireWhole(row));
        this.#look(item, () => {
          const { n, state, claim, ended_by, done, cancel, ended, input, owner, open, size } = row;
          if (owner === null) return "its session is missing";
          if (cancel !== null) requestOf(n, cancel);
          if (input !== null)
            this.#name(item, attachmentsIn(decodeInput(unseal(input, n, `The input of turn ${row.id}`))));
          if ((done === null) !== (ended === null)) return "it has half an end";
          if (ended !== null) {
            const receipt = endedOf(row);
            this.#name(item, attachmentsIn(receipt.outcome));
            if (receipt.size !== (size ?? 0)) return "its receipt does not fit its nodes";
            return open === n ? "it has ended and is open" : undefined;
          }
          if (state === WAITING && input === null) return "it waits without an input";
          const isHeld = open === n || claim !== null || ended_by !== null;
          return state === TAKEN && !isHeld ? "it was taken and is neither open nor ended" : undefined;
        });
      },
    );
  }

  /** The rows that sessions and turns have in tables of their own. */
  rest(): void {
    this.#each<OperationRow>(
      "operation",
      "SELECT * FROM operation WHERE n > ? ORDER BY n",
      [LOWEST],
      ({ n }) => [n],
      (row) => this.#look(`The receipt of ${row.name}`, () => void appliedOf(row)),
    );
    this.#each<OperationNoteRow>(
      "operation_note",
      `SELECT * FROM operation_note WHERE (session, operation, key) > (?, ?, ?) ORDER BY session, operation, key`,
      [LOWEST, "", ""],
      ({ session, operation, key }) => [session, operation, key],
      (row) => {
        const item = `A note of operation ${row.operation}`;
        this.#look(item, () => this.#name(item, attachmentsIn(operationNoteIn(row))));
      },
    );
    this.#each<{ session: number; body: string }>(
      "options",
      "SELECT session, body FROM options WHERE session > ? ORDER BY session",
      [LOWEST],
      ({ session }) => [session],
      ({ session, body }) => this.#look(`The options of session ${session}`, () => void optionsIn(body, session)),
    );
    this.#each<StateRow>(
      "state",
      "SELECT * FROM state WHERE (session, plugin, since) > (?, ?, ?) ORDER BY session, plugin, since",
      [LOWEST, "", LOWEST],
      ({ session, plugin, since }) => [session, plugin, since],
      (row) => {
        const item = `The state of plugin ${row.plugin} in session ${row.session}`;
        this.#look(item, () => {
          const state = stateIn(row);
          if (state !== null) this.#name(item, blobsOfState(state));
        });
      },
    );
    this.#each<SpentRow>(
      "ledger",
      ALL_BOOKED,
      [LOWEST, "", ""],
      ({ session, source, model }) => [session, source, model],
      (row) => this.#look(`The ledger of session ${row.session}`, () => void spentOf(row)),
    );
    const isOpen = "turn IN (SELECT turn FROM session WHERE turn IS NOT NULL)";
    for (const table of ["note", "attempt", "parked"])
      this.#rows(
        `The table ${table}`,
        `SELECT turn AS n FROM ${table} WHERE NOT ${isOpen}`,
        (turns) => `${turns}: not open`,
      );
    this.#waits();
    for (const row of this.#all<ParkedRow>("parked"))
      this.#look(`The parking of turn ${row.turn}`, () => {
        const isOwn = "SELECT 1 FROM session WHERE n = ? AND turn = ?";
        const its = this.#db.row(isOwn, requireParked(row).session, row.turn);
        return its === undefined ? "it is not of its session's open turn" : void waitsOf(row);
      });
    for (const row of this.#all<NoteRow>("note"))
      this.#look(`The note ${row.key}`, () => this.#name("A note", attachmentsIn(noteIn(row))));
    for (const { turn, effect, seal } of this.#all<{ turn: number; effect: string; seal: number | null }>("attempt"))
      this.#look(`The attempt ${effect}`, () => requireFit(seal, [turn, effect], `The attempt ${effect}`));
    const left = `SELECT k AS n FROM journal
      WHERE NOT EXISTS (SELECT 1 FROM session WHERE n = k / ${SEQS} AND turn IS NOT NULL)`;
    this.#rows("The journals", left, () => "events of no open turn are there");
  }

  #waits(): void {
    this.#each<WaitRow & { readonly isOpen: number | null }>(
      "wait",
      // Of a job that is not over there may be questions without keys: from before it was handed over or begun anew.
      `SELECT w.*, CASE WHEN w.job IS NULL THEN s.turn = w.turn ELSE w.key IS NOT NULL AND j.state < ${OVER} END AS isOpen
         FROM wait w LEFT JOIN session s ON s.n = w.session LEFT JOIN job j ON j.id = w.job WHERE w.n > ? ORDER BY w.n`,
      [LOWEST],
      ({ n }) => [n],
      (row) => {
        const item = `The wait ${row.id}`;
        this.#look(item, () => {
          const [about, answer] = [aboutIn(row), answerIn(row)];
          this.#name(item, attachmentsIn([about, answer]));
          if ((row.key !== null) !== (row.isOpen === 1)) return "its key does not tell whether it is still open";
          if (row.key === null && row.asked === null && row.answered === null)
            return "it is no fact, and of nothing that is open";
          return (askedAs(row) !== null && answer !== undefined) === (row.answered !== null)
            ? undefined
            : "it has half an answer";
        });
      },
    );
  }

  /** Jobs, and what starts them. */
  work(): void {
    const look: Look = {
      at: (item, work) => this.#look(item, work),
      each: (table, sql, start, keyOf, see) => this.#each(table, sql, start, keyOf, see),
      none: (item, sql, tell) => this.#rows(item, sql, tell),
      name: (item, blobs) => this.#name(item, blobs),
    };
    checkJobs(this.#db, look);
    checkTriggers(this.#db, look);
  }

  /** All rows of a table that only open turns have rows in. */
  #all<Row>(table: string): readonly Row[] {
    let rows: readonly Row[] = [];
    this.#look(`The table ${table}`, () => {
      rows = this.#db.rows<Row>(`SELECT * FROM ${table}`);
    });
    return rows;
  }

  blobs(): void {
    this.#each<{ n: number; hash: string; data: Uint8Array }>(
      "blob",
      "SELECT n, hash, data FROM blob WHERE n > ? ORDER BY n",
      [LOWEST],
      ({ n }) => [n],
      ({ hash, data }) =>
        this.#look(`The blob ${hash}`, () => (isWhole(hash, data) ? undefined : "its content has another hash")),
    );
    for (const [hash, item] of this.#named)
      this.#look(item, () =>
        this.#db.row("SELECT 1 FROM blob WHERE hash = ?", hash) === undefined
          ? `the blob ${hash} is missing`
          : undefined,
      );
  }
}
