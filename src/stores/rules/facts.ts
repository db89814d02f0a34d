import { RuntimeError } from "../../model/errors.ts";
import { type Cursor, type NodeId, nodeId } from "../../model/ids.ts";
import { defined, type JsonObject } from "../../model/json.ts";
import { type Draft, inputIdOf, textOf } from "../../model/message.ts";
import type { Entry } from "../../model/node.ts";
import { outcomeIn } from "../rows/ended.ts";
import { corrupt } from "../rows/faults.ts";
import type { Change, Store } from "../store.ts";
import {
  type FactRow,
  INJECTED,
  type InputContent,
  OPERATION,
  SEGMENT,
  SESSION,
  type SettledInput,
  TURN,
  type TurnRow,
  WAIT,
  type WaitRow,
  WITHDRAWN,
} from "../tables.ts";
import { cursorOf } from "./cursors.ts";
import { entriesIn } from "./graph.ts";
import { appliedOf } from "./operations.ts";
import type { Port } from "./port.ts";
import { all, type Read, type Rule } from "./rule.ts";
import { treeOf } from "./sessions.ts";
import { questionIn, requireTurnId } from "./waits.ts";

/** Returns facts as callers see them, in one order over all sessions. */
export function* changes(
  db: Port,
  after: Cursor | undefined,
  { session, tree, max }: Parameters<Store["changes"]>[1],
): Rule<readonly Change[]> {
  const last = after === undefined ? 0 : yield* requireFact(db, after);
  const root = tree ?? session;
  const of = root === undefined ? undefined : yield* all([tree === undefined ? db.session(root) : undefined]);
  const own = tree === undefined ? of?.filter((row) => row !== undefined) : yield* treeOf(db, tree);
  if (own?.length === 0) return [];
  const facts = yield* db.facts(
    last,
    own?.map(({ n }) => n),
    max,
  );
  const segments: Segments = new Map();
  return yield* all(facts.map((fact) => toChange(db, fact, segments)));
}

function* requireFact(db: Port, cursor: Cursor): Rule<number> {
  const fact = /^[1-9]\d{0,15}$/.test(cursor) ? Number(cursor) : 0;
  if (fact === 0 || fact > (yield* db.latestFact())) throw new RuntimeError("cursor.unknown", { cursor });
  return fact;
}

export function* latest(db: Port): Rule<Cursor | undefined> {
  const fact = yield* db.latestFact();
  return fact === 0 ? undefined : cursorOf(fact);
}

type Shown = Change extends infer One
  ? One extends Change
    ? Omit<One, "cursor" | "sessionId" | "owner" | "tags">
    : never
  : never;

/** The nodes of the commits that this call has read, because a turn has several facts. */
type Segments = Map<number, readonly Entry[]>;

function* toChange(db: Port, fact: FactRow, segments: Segments): Rule<Change> {
  const [session, about] = yield* all([db.get(SESSION, "key", fact.session), SHOWN[fact.kind](db, fact, segments)]);
  if (session === undefined) throw lost(fact);
  const { id: sessionId, ownedBy, tags } = session;
  const marks = { ...(ownedBy === null ? {} : { owner: ownedBy }), ...(tags === null ? {} : { tags }) };
  return { cursor: cursorOf(fact.n), sessionId, ...marks, ...about };
}

const lost = ({ n }: FactRow): RuntimeError => corrupt(`Fact ${n}`, "what it refers to is missing");

function* required<Row>(fact: FactRow, read: Read<Row | undefined>): Rule<Row> {
  const row = yield* read;
  if (row === undefined) throw lost(fact);
  return row;
}

const SHOWN: { readonly [kind in FactRow["kind"]]: (db: Port, fact: FactRow, segments: Segments) => Rule<Shown> } = {
  *accepted(db, fact, segments) {
    const row = yield* required(fact, db.get(TURN, "key", fact.of));
    return { kind: "accepted", ...inputIn(row), ...(yield* acceptedTextOf(db, row, segments)) };
  },
  *ended(db, fact, segments) {
    const row = yield* required(fact, db.get(TURN, "key", fact.of));
    const { id: turnId } = row;
    const ended = endedOf(row);
    const entries = yield* entriesOf(db, fact.of, segments);
    if (entries.length !== ended.size) throw corrupt(`The segment of ${turnId}`, "it is missing");
    const { at, usage, branch, summary } = ended;
    const turn = { by: "turn", turnId, at, outcome: outcomeIn(row, ended, entries), usage } as const;
    return {
      kind: "committed",
      ...turn,
      ...(summary === undefined ? {} : { model: summary.model, rounds: summary.rounds }),
      ...(branch === undefined ? {} : { branch }),
      ...nodesOf(turnId, entries),
    };
  },
  *applied(db, fact, segments) {
    const [row, entries] = yield* all([
      required(fact, db.get(OPERATION, "key", fact.of)),
      entriesOf(db, fact.of, segments),
    ]);
    const { by, at } = appliedOf(row);
    const time = at === undefined ? {} : { at };
    return { kind: "committed", by, ...time, operation: row.name, ...nodesOf(row.name, entries) };
  },
  *withdrawn(db, fact) {
    return { kind: "withdrawn", ...inputIn(yield* required(fact, db.get(TURN, "key", fact.of))) };
  },
  *asked(db, fact) {
    const row = yield* required(fact, db.get(WAIT, "key", fact.of));
    return { kind: "waiting", ...(yield* waitOf(db, row)), about: questionIn(row), until: row.until };
  },
  *answered(db, fact) {
    const row = yield* required(fact, db.get(WAIT, "key", fact.of));
    const { answer } = row;
    if (answer === null) throw corrupt(`The wait ${row.id}`, "its answer is missing");
    const by = answer.kind === "timeout" ? undefined : answer.by;
    const how = { wants: questionIn(row).kind, how: answer.kind, ...(by === undefined ? {} : { by }) };
    return { kind: "resolved", ...(yield* waitOf(db, row)), ...how };
  },
};

export function endedOf({ id, ended }: TurnRow): NonNullable<TurnRow["ended"]> {
  if (ended === null) throw corrupt(`The end of turn ${id}`, "it is missing");
  return ended;
}

/** Returns the nodes of a commit. Empty if it added none. */
function* entriesOf(db: Port, n: number, segments: Segments): Rule<readonly Entry[]> {
  const known = segments.get(n);
  if (known !== undefined) return known;
  const [segment] = yield* db.scan(SEGMENT, "key", [n], { isWhole: true });
  const entries = segment === undefined ? [] : entriesIn(segment);
  segments.set(n, entries);
  return entries;
}

/** An injected input opens no turn. */
const inputIn = ({ id, inputId, key, aside }: TurnRow) => ({
  ...(aside === INJECTED ? {} : { turnId: id }),
  inputId,
  ...(key === null ? {} : { key }),
});

/**
 * Returns what was said with an input, and when. Both are the same before and after its turn, because readers compare
 * facts. The nodes of the turn that settled the input contain its message.
 */
function* acceptedTextOf(db: Port, row: TurnRow, segments: Segments): Rule<AcceptedText> {
  const { n, inputId, state, done, endedBy, ended } = row;
  if (state === WITHDRAWN) return {};
  const [whole] = done === null ? yield* db.scan(TURN, "key", [n], { isWhole: true }) : [];
  const stored = whole?.input as InputContent | SettledInput | null | undefined;
  if (stored != null && "message" in stored) return acceptedText(stored.at, stored.message, stored.metadata);
  const entries = yield* entriesOf(db, endedBy ?? n, segments);
  const entry = entries.find((each) => each.kind === "message" && inputIdOf(each.message) === inputId);
  const message = entry?.kind === "message" ? entry.message : undefined;
  if (stored != null) return acceptedText(stored.at, message, stored.metadata);
  const { startedAt = entry?.at, acceptedAt = startedAt, metadata } = ended?.summary ?? {};
  return acceptedText(acceptedAt, message, metadata);
}

type AcceptedText = Pick<Extract<Change, { readonly kind: "accepted" }>, "at" | "text" | "metadata">;
const acceptedText = (
  at: number | undefined,
  message: Draft | undefined,
  metadata: JsonObject | undefined,
): AcceptedText => defined({ at, text: message && textOf(message.parts), metadata });

function* waitOf(db: Port, row: WaitRow) {
  const { job, id: wait, effect } = row;
  const turn = job === null ? yield* db.get(TURN, "key", row.turn) : undefined;
  const whose = job === null ? { turnId: requireTurnId(row, turn?.id) } : { jobId: job };
  return { ...whose, wait, effect: effect! };
}

function nodesOf(
  commit: string,
  entries: readonly Entry[],
): { readonly nodes: readonly NodeId[]; readonly frames?: readonly NodeId[] } {
  const nodes = entries.map((_, index) => nodeId(commit, index));
  const frames = nodes.filter((_, index) => entries[index]!.kind === "frame");
  return frames.length === 0 ? { nodes } : { nodes, frames };
}
