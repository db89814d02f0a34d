import type { TurnId } from "../../model/ids.ts";
import { describeThrown } from "../../model/json.ts";
import { isWhole } from "./blobs.ts";
import { unseal } from "./checksum.ts";
import { appliedOf } from "./commits.ts";
import type { Connection } from "./connection.ts";
import { endedOf } from "./endings.ts";
import { entriesOf, requireBones } from "./graph.ts";
import { SEQS } from "./journal.ts";
import { type SessionRow, sealOf } from "./sessions.ts";
import { statesAt } from "./states.ts";

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
  const findings: Finding[] = [];
  const look = (item: string, work: () => string | undefined): void => {
    if (findings.length >= max) return;
    try {
      const problem = work();
      if (problem !== undefined) findings.push({ item, problem });
    } catch (error) {
      findings.push({ item, problem: describeThrown(error) });
    }
  };
  const each = <Row extends { readonly n: number }>(item: string, sql: string, see: (row: Row) => void): void =>
    look(item, () => {
      for (let last = -1; findings.length < max; ) {
        const rows = db.rows<Row>(`${sql} LIMIT 200`, last);
        rows.forEach(see);
        last = rows.at(-1)?.n ?? last;
        if (rows.length < 200) break;
      }
      return undefined;
    });

  look("The file", () => {
    const said = db.rows<object>(deep ? "PRAGMA integrity_check(20)" : "PRAGMA quick_check(20)");
    const problems = said.map((row) => String(Object.values(row)[0])).filter((text) => text !== "ok");
    return problems.length === 0 ? undefined : problems.join("; ");
  });

  each<SessionRow>("The sessions", "SELECT * FROM session WHERE n > ? ORDER BY n", (row) => {
    const item = `Session ${row.id}`;
    look(item, () => (row.seal === sealOf(row) ? undefined : "its checksum does not fit"));
    look(item, () => {
      if (row.head === null) return undefined;
      return (row.head_index ?? -1) < requireBones(db, row.head).size ? undefined : "its head is no node";
    });
    look(`The configuration of session ${row.id}`, () => {
      const config = db.row<{ body: string }>("SELECT body FROM config WHERE session = ?", row.n);
      if (config === undefined) return "it is missing";
      unseal(config.body, row.n, "it");
      return undefined;
    });
    look(`The plugin states of session ${row.id}`, () => void statesAt(db, row.n, row.revision));
    look(item, () => {
      if (row.turn === null) return undefined;
      const turn = db.row<{ done: number | null; state: number; session: number; input: string | null }>(
        "SELECT done, state, session, input FROM turn WHERE n = ?",
        row.turn,
      );
      if (turn === undefined) return "its open turn is missing";
      if (turn.done !== null) return "it is held by a turn that has ended";
      if (turn.session !== row.n || turn.state !== 1 || turn.input === null) return "its open turn is not its own";
      return journalProblem(db, row.n, row.turn);
    });
  });

  each<{ n: number }>("The segments", "SELECT n FROM segment WHERE n > ? ORDER BY n", ({ n }) =>
    look(`Segment ${n}`, () => {
      const bones = requireBones(db, n);
      entriesOf(db, bones);
      if (bones.parent === null) return bones.depth === 0 ? undefined : "it has no parent";
      const above = requireBones(db, bones.parent);
      if ((bones.parent_index ?? -1) >= above.size) return "its parent is no node";
      return bones.depth === above.depth + 1 ? undefined : "its depth is wrong";
    }),
  );
  look("The segments", () => {
    const wrong = db.rows<{ n: number }>(
      `SELECT g.n FROM segment g
         LEFT JOIN (SELECT head, count(*) AS heads FROM session WHERE head IS NOT NULL GROUP BY head) s ON s.head = g.n
         LEFT JOIN (SELECT parent, count(*) AS children FROM segment WHERE parent IS NOT NULL GROUP BY parent) c
           ON c.parent = g.n
       WHERE g.users <> coalesce(s.heads, 0) + coalesce(c.children, 0) + g.is_branch LIMIT 20`,
    );
    return wrong.length === 0 ? undefined : `the users of ${wrong.map(({ n }) => n).join(", ")} are miscounted`;
  });

  each<TurnRow>(
    "The turns",
    `SELECT t.n, t.id, t.session, t.state, t.claim, t.ended_by, t.done, t.cancel, t.ended, t.input,
       s.n AS owner, s.turn AS open, g.size FROM turn t LEFT JOIN session s ON s.n = t.session
       LEFT JOIN segment g ON g.n = t.n WHERE t.n > ? ORDER BY t.n`,
    (row) => look(`Turn ${row.id}`, () => turnProblem(row)),
  );
  each<{ n: number; name: string; committed: string }>(
    "The operations",
    "SELECT n, name, committed FROM operation WHERE n > ? ORDER BY n",
    ({ n, name, committed }) => look(`The receipt of ${name}`, () => void appliedOf(n, name, committed)),
  );
  look("The journals", () => {
    const left = db.rows<{ k: number }>(
      `SELECT k FROM journal WHERE NOT EXISTS (
         SELECT 1 FROM session WHERE n = k / ${SEQS} AND turn IS NOT NULL) LIMIT 1`,
    );
    return left.length === 0 ? undefined : "events of no open turn are there";
  });
  each<{ n: number; hash: string; data: Uint8Array }>(
    "The blobs",
    "SELECT n, hash, data FROM blob WHERE n > ? ORDER BY n",
    ({ hash, data }) =>
      look(`The blob ${hash}`, () => (isWhole(hash, data) ? undefined : "its content has another hash")),
  );
  return findings;
}

interface TurnRow {
  readonly n: number;
  readonly id: TurnId;
  readonly state: number;
  readonly claim: number | null;
  readonly ended_by: number | null;
  readonly done: number | null;
  readonly cancel: string | null;
  readonly ended: string | null;
  readonly input: string | null;
  readonly owner: number | null;
  readonly open: number | null;
  readonly size: number | null;
}

function turnProblem(row: TurnRow): string | undefined {
  const { n, state, claim, ended_by, done, cancel, ended, input, owner, open, size } = row;
  if (owner === null) return "its session is missing";
  if (cancel !== null) unseal(cancel, n, "its cancel");
  if (input !== null) unseal(input, n, "its input");
  if ((done === null) !== (ended === null)) return "it has half an end";
  if (ended !== null) {
    const receipt = endedOf(row);
    if (receipt.size !== (size ?? 0)) return "its receipt does not fit its nodes";
    return open === n ? "it has ended and is open" : undefined;
  }
  if (state === 0 && input === null) return "it waits without an input";
  const isHeld = open === n || claim !== null || ended_by !== null;
  return state === 1 && !isHeld ? "it was taken and is neither open nor ended" : undefined;
}

function journalProblem(db: Connection, session: number, turn: number): string | undefined {
  let length = 0;
  for (const { k, size, events } of db.rows<{ k: number; size: number; events: string }>(
    "SELECT k, size, events FROM journal WHERE k >= ? AND k < ? ORDER BY k",
    session * SEQS,
    (session + 1) * SEQS,
  )) {
    if (k !== session * SEQS + length) return `its journal has a gap at ${length}`;
    if (unseal<readonly unknown[]>(events, k + turn, "its journal").length !== size) return "its journal is short";
    length += size;
  }
  return length === 0 ? "its journal is missing" : undefined;
}
