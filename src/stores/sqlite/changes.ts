import type { RuntimeError } from "../../model/errors.ts";
import { type Cursor, type NodeId, nodeId, type SessionId, type TurnId } from "../../model/ids.ts";
import type { Entry } from "../../model/node.ts";
import { fromKeyText } from "../rows/codec.ts";
import { outcomeIn } from "../rows/ended.ts";
import { corrupt } from "../rows/faults.ts";
import type { Change, Store } from "../store.ts";
import type { Connection } from "./connection.ts";
import { endedOf, type TurnRow, turnByNumber } from "./endings.ts";
import { cursorOf, limit, requireFact } from "./facts.ts";
import { entriesOf, requireBones } from "./graph.ts";
import { idOf } from "./job-row.ts";
import { appliedOf, type OperationRow } from "./operations.ts";
import { TREE } from "./sessions.ts";
import { APPEND, INJECTED } from "./turn-row.ts";
import { requireTurn as requireTurnOf } from "./wait-list.ts";
import { answerIn, questionIn, type WaitRow } from "./wait-row.ts";

/** A fact, and the number of the row that tells of it. */
interface Fact {
  readonly fact: number;
  readonly kind: "accepted" | "ended" | "applied" | "asked" | "answered";
  readonly n: number;
}

const OF_ALL = `
  SELECT * FROM (SELECT n AS fact, 'accepted' AS kind, n FROM turn WHERE n > ? AND is_aside < ${APPEND} ORDER BY n LIMIT ?)
  UNION ALL SELECT * FROM (SELECT done, 'ended', n FROM turn WHERE done > ? ORDER BY done LIMIT ?)
  UNION ALL SELECT * FROM (SELECT n, 'applied', n FROM operation WHERE n > ? ORDER BY n LIMIT ?)
  UNION ALL SELECT * FROM (SELECT asked, 'asked', n FROM wait WHERE asked > ? ORDER BY asked LIMIT ?)
  UNION ALL SELECT * FROM (SELECT answered, 'answered', n FROM wait WHERE answered > ? ORDER BY answered LIMIT ?)
  ORDER BY fact LIMIT ?`;

// A session's turns end in the order in which they were accepted, so those that ended after a fact are the ones after
// the last that ended before it: no index by session and end is kept. The unary + keeps SQLite from the index over all.
const of = (which: string, endedBy: "n" | "done"): string => `
  SELECT * FROM (SELECT t.n AS fact, 'accepted' AS kind, t.n FROM session s CROSS JOIN turn t ON t.session = s.n
    WHERE s.id ${which} AND t.n > ? AND t.is_aside < ${APPEND} ORDER BY t.n LIMIT ?)
  UNION ALL SELECT * FROM (SELECT t.done, 'ended', t.n FROM session s CROSS JOIN turn t ON t.session = s.n
    WHERE s.id ${which} AND t.n > coalesce((SELECT e.n FROM turn e WHERE e.session = s.n AND e.n < ? AND +e.done <= ?
      ORDER BY e.n DESC LIMIT 1), 0) AND +t.done > ? ORDER BY t.${endedBy} LIMIT ?)
  UNION ALL SELECT * FROM (SELECT o.n, 'applied', o.n FROM session s CROSS JOIN operation o ON o.session = s.n
    WHERE s.id ${which} AND o.n > ? ORDER BY o.n LIMIT ?)
  UNION ALL SELECT * FROM (SELECT w.asked, 'asked', w.n FROM session s CROSS JOIN wait w ON w.session = s.n
    WHERE s.id ${which} AND w.asked > ? ORDER BY w.asked LIMIT ?)
  UNION ALL SELECT * FROM (SELECT w.answered, 'answered', w.n FROM session s CROSS JOIN wait w ON w.session = s.n
    WHERE s.id ${which} AND w.answered > ? ORDER BY w.answered LIMIT ?)
  ORDER BY fact LIMIT ?`;
const OF_ONE = `WITH one(id) AS (VALUES (?)) ${of("= (SELECT id FROM one)", "n")}`;
const OF_TREE = `${TREE} ${of("IN (SELECT id FROM tree)", "done")}`;

export function changes(
  db: Connection,
  after: Cursor | undefined,
  { session, tree, max: most }: Parameters<Store["changes"]>[1],
): readonly Change[] {
  const last = after === undefined ? 0 : requireFact(db, after);
  const max = limit(most);
  const root = tree ?? session;
  const page = [last, max];
  const rest = [...page, ...page, ...page, max];
  const facts =
    root === undefined
      ? db.rows<Fact>(OF_ALL, ...page, ...page, ...rest)
      : db.rows<Fact>(tree === undefined ? OF_ONE : OF_TREE, root, ...page, last, last, ...page, ...rest);
  return facts.map(({ fact, kind, n }) => ({ cursor: cursorOf(fact), ...TOLD[kind](db, n) }));
}

type Told = Change extends infer One ? (One extends Change ? Omit<One, "cursor"> : never) : never;

const TOLD: { readonly [kind in Fact["kind"]]: (db: Connection, n: number) => Told } = {
  accepted(db, n) {
    const { id, sessionId, input_id, key, is_aside } = requireTurn(db, n);
    const input = { ...(is_aside === INJECTED ? {} : { turnId: id }), inputId: input_id };
    return { sessionId, kind: "accepted", ...input, ...(key === null ? {} : { key: fromKeyText(key) }) };
  },
  ended(db, n) {
    const row = requireTurn(db, n);
    const { id: turnId, sessionId } = row;
    const ended = endedOf(row);
    const entries = ended.size === 0 ? [] : entriesOf(db, requireBones(db, n));
    const { usage, branch } = ended;
    const turn = { by: "turn", turnId, outcome: outcomeIn(row, ended, entries), usage } as const;
    const beside = branch === undefined ? {} : { branch };
    return { sessionId, kind: "committed", ...turn, ...beside, ...nodesOf(turnId, entries) };
  },
  applied(db, n) {
    const row = db.row<OperationRow & { readonly sessionId: SessionId; readonly segment: number | null }>(
      `SELECT o.*, s.id AS sessionId, g.n AS segment FROM operation o JOIN session s ON s.n = o.session
         LEFT JOIN segment g ON g.n = o.n WHERE o.n = ?`,
      n,
    );
    if (row === undefined) throw lost(n);
    const { sessionId, segment } = row;
    const { by } = appliedOf(row);
    const operation = fromKeyText(row.name);
    const entries = segment === null ? [] : entriesOf(db, requireBones(db, segment));
    return { sessionId, kind: "committed", by, operation, ...nodesOf(operation, entries) };
  },
  asked(db, n) {
    const row = requireAsked(db, n);
    const { until } = row;
    return { kind: "waiting", ...waitOf(row), about: questionIn(row), until };
  },
  answered(db, n) {
    const row = requireAsked(db, n);
    const answer = answerIn(row);
    if (answer === undefined) throw corrupt(`The wait ${row.id}`, "its answer is missing");
    const by = answer.kind === "timeout" ? undefined : answer.by;
    const how = { wants: questionIn(row).kind, how: answer.kind, ...(by === undefined ? {} : { by }) };
    return { kind: "resolved", ...waitOf(row), ...how };
  },
};

interface AskedRow extends WaitRow {
  readonly sessionId: SessionId;
  readonly turnId: TurnId | null;
}
function waitOf(row: AskedRow) {
  const { sessionId, turnId, job, id: wait, effect } = row;
  const whose = job === null ? { turnId: requireTurnOf(row, turnId) } : { jobId: idOf({ id: job }) };
  return { sessionId, ...whose, wait, effect: effect! };
}

function requireAsked(db: Connection, n: number): AskedRow {
  const row = db.row<AskedRow>(
    `SELECT w.*, s.id AS sessionId, t.id AS turnId FROM wait w JOIN session s ON s.n = w.session
       LEFT JOIN turn t ON t.n = w.turn WHERE w.n = ?`,
    n,
  );
  if (row === undefined) throw lost(n);
  return row;
}

function requireTurn(db: Connection, n: number): TurnRow {
  const row = turnByNumber(db, n);
  if (row === undefined) throw lost(n);
  return row;
}

const lost = (n: number): RuntimeError => corrupt(`Fact ${n}`, "its session is missing");

function nodesOf(
  commit: string,
  entries: readonly Entry[],
): { readonly nodes: readonly NodeId[]; readonly frames?: readonly NodeId[] } {
  const nodes = entries.map((_, index) => nodeId(commit, index));
  const frames = nodes.filter((_, index) => entries[index]!.kind === "frame");
  return frames.length === 0 ? { nodes } : { nodes, frames };
}
