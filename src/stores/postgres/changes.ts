import type { RuntimeError } from "../../model/errors.ts";
import { type Cursor, type NodeId, nodeId, type SessionId, type TurnId } from "../../model/ids.ts";
import type { Entry } from "../../model/node.ts";
import { fromKeyText } from "../rows/codec.ts";
import { outcomeIn } from "../rows/ended.ts";
import { corrupt } from "../rows/faults.ts";
import type { Change, Store } from "../store.ts";
import type { Transaction, Value } from "./database.ts";
import { endedOf, INJECTED, type TurnRow } from "./endings.ts";
import { ACCEPTED, ANSWERED, APPLIED, ASKED, cursorOf, ENDED, type FactKind, limit, requireFact } from "./facts.ts";
import { entriesIn, type SegmentRow } from "./graph.ts";
import { idOf } from "./job-row.ts";
import { appliedOf, type OperationRow } from "./operations.ts";
import { TREE } from "./sessions.ts";
import { requireTurn } from "./wait-list.ts";
import { answerIn, questionIn, type WaitRow } from "./waits.ts";

interface Fact {
  readonly n: number;
  readonly kind: FactKind;
  /** The number of the row that tells more. */
  readonly of: number;
  readonly sessionId: SessionId | null;
}

const FACT = `SELECT f.n, f.kind, f.of, s.id AS "sessionId"`;
const OF_ALL = `${FACT} FROM @fact f LEFT JOIN @session s ON s.n = f.session WHERE f.n > $1 ORDER BY f.n LIMIT $2`;
const OF_ONE = `${FACT} FROM @session s JOIN @fact f ON f.session = s.n WHERE s.id = $1 AND f.n > $2 ORDER BY f.n LIMIT $3`;
// No more of each session than of all of them.
const OF_TREE = `${TREE} ${FACT} FROM tree JOIN @session s ON s.id = tree.id CROSS JOIN LATERAL (
    SELECT * FROM @fact each WHERE each.session = s.n AND each.n > $2 ORDER BY each.n LIMIT $3) f
  ORDER BY f.n LIMIT $3`;

/** In two steps, however many there are: the facts, and then the rows that tell of them, all of one kind by one statement. */
export async function changes(
  tx: Transaction,
  after: Cursor | undefined,
  { session, tree, max }: Parameters<Store["changes"]>[1],
): Promise<readonly Change[]> {
  const root = tree ?? session;
  // What is no cursor is refused beside the statement that it is for, which then finds nothing.
  const known = after === undefined ? 0 : requireFact(tx, after);
  const page = [Number(after ?? 0) || 0, limit(max)];
  const facts =
    root === undefined
      ? tx.rows<Fact>(OF_ALL, ...page)
      : tx.rows<Fact>(tree === undefined ? OF_ONE : OF_TREE, root, ...page);
  await Promise.all([known, facts]);
  return told(tx, await facts);
}

async function told(tx: Transaction, facts: readonly Fact[]): Promise<readonly Change[]> {
  const find = async <Row extends { readonly n: number }>(
    sql: string,
    ...kinds: readonly FactKind[]
  ): Promise<ReadonlyMap<number, Row>> => {
    const numbers = facts.flatMap(({ kind, of }) => (kinds.includes(kind) ? of : []));
    const rows = numbers.length === 0 ? [] : await tx.rows<Row>(sql, numbers satisfies Value);
    return new Map(rows.map((row) => [row.n, row]));
  };
  const [accepted, ended, applied, waits] = await Promise.all([
    find<AcceptedRow>(ACCEPTED_ROWS, ACCEPTED),
    find<EndedRow>(ENDED_ROWS, ENDED),
    find<AppliedRow>(APPLIED_ROWS, APPLIED),
    find<AskedRow>(WAIT_ROWS, ASKED, ANSWERED),
  ]);
  return facts.map((fact): Change => {
    const { n, kind, of, sessionId } = fact;
    if (sessionId === null) throw lost(fact);
    const place = { cursor: cursorOf(n), sessionId };
    const row = <Row>(rows: ReadonlyMap<number, Row>): Row => {
      const found = rows.get(of);
      if (found === undefined) throw lost(fact);
      return found;
    };
    if (kind === ACCEPTED) return { ...place, ...acceptedIn(row(accepted)) };
    if (kind === ENDED) return { ...place, ...endedIn(row(ended)) };
    if (kind === APPLIED) return { ...place, ...appliedIn(row(applied)) };
    return { ...place, ...(kind === ASKED ? askedIn(row(waits)) : answeredIn(row(waits))) };
  });
}

type Told = Change extends infer One ? (One extends Change ? Omit<One, "cursor" | "sessionId"> : never) : never;

const lost = ({ n }: Fact): RuntimeError => corrupt(`Fact ${n}`, "what it tells of is missing");

type AcceptedRow = Pick<TurnRow, "n" | "id" | "input_id" | "key" | "aside">;
const ACCEPTED_ROWS = "SELECT n, id, input_id, key, aside FROM @turn WHERE n = ANY ($1::bigint[])";

function acceptedIn({ id, input_id, key, aside }: AcceptedRow): Told {
  const input = { ...(aside === INJECTED ? {} : { turnId: id }), inputId: input_id };
  return { kind: "accepted", ...input, ...(key === null ? {} : { key: fromKeyText(key) }) };
}

/** The nodes that came with it, where there are any. */
type Nodes = { readonly [column in "size" | "name" | "entries"]: SegmentRow[column] | null };
const NODES = "g.size, g.name AS name, g.entries";
const entriesBy = ({ n, size, name, entries }: Nodes & { readonly n: number }): readonly Entry[] =>
  size === null || name === null || entries === null ? [] : entriesIn({ n, size, name, entries });

type EndedRow = Pick<TurnRow, "n" | "id" | "ended"> & Nodes;
const ENDED_ROWS = `SELECT t.n, t.id, t.ended, ${NODES} FROM @turn t LEFT JOIN @segment g ON g.n = t.n
  WHERE t.n = ANY ($1::bigint[])`;

function endedIn(row: EndedRow): Told {
  const { id: turnId } = row;
  const ended = endedOf(row);
  const entries = entriesBy(row);
  if (entries.length !== ended.size) throw corrupt(`The segment of ${turnId}`, "it is missing");
  const { usage, branch } = ended;
  const turn = { by: "turn", turnId, outcome: outcomeIn(row, ended, entries), usage } as const;
  const beside = branch === undefined ? {} : { branch };
  return { kind: "committed", ...turn, ...beside, ...nodesOf(turnId, entries) };
}

type AppliedRow = Pick<OperationRow, "n" | "committed"> & Nodes & { readonly operation: string };
const APPLIED_ROWS = `SELECT o.n, o.name AS operation, o.committed, ${NODES} FROM @operation o
  LEFT JOIN @segment g ON g.n = o.n WHERE o.n = ANY ($1::bigint[])`;

function appliedIn(row: AppliedRow): Told {
  const { by } = appliedOf({ name: row.operation, committed: row.committed });
  const operation = fromKeyText(row.operation);
  return { kind: "committed", by, operation, ...nodesOf(operation, entriesBy(row)) };
}

interface AskedRow extends WaitRow {
  readonly turnId: TurnId | null;
}
const WAIT_ROWS = `SELECT w.*, t.id AS "turnId" FROM @wait w LEFT JOIN @turn t ON t.n = w.turn
  WHERE w.n = ANY ($1::bigint[])`;

function waitOf(row: AskedRow) {
  const { turnId, job, id: wait, effect } = row;
  return { ...(job === null ? { turnId: requireTurn(row, turnId) } : { jobId: idOf({ id: job }) }), wait, effect };
}

const askedIn = (row: AskedRow): Told => ({
  kind: "waiting",
  ...waitOf(row),
  about: questionIn(row),
  until: row.until,
});

function answeredIn(row: AskedRow): Told {
  const answer = answerIn(row);
  if (answer === undefined) throw corrupt(`The wait ${row.id}`, "its answer is missing");
  const by = answer.kind === "timeout" ? undefined : answer.by;
  const how = { wants: questionIn(row).kind, how: answer.kind, ...(by === undefined ? {} : { by }) };
  return { kind: "resolved", ...waitOf(row), ...how };
}

function nodesOf(
  commit: string,
  entries: readonly Entry[],
): { readonly nodes: readonly NodeId[]; readonly frames?: readonly NodeId[] } {
  const nodes = entries.map((_, index) => nodeId(commit, index));
  const frames = nodes.filter((_, index) => entries[index]!.kind === "frame");
  return frames.length === 0 ? { nodes } : { nodes, frames };
}
