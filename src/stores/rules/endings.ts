import type { SessionId, TurnId } from "../../model/ids.ts";
import type { Entry } from "../../model/node.ts";
import type { TurnOutcome } from "../../model/outcome.ts";
import { committedOf, isSameEnd, outcomeIn } from "../rows/ended.ts";
import { corrupt } from "../rows/faults.ts";
import type { CancelAnswer, CancelRequest, Committed, EndedTurn, FoundTurn, Terminal } from "../store.ts";
import { INJECTED, SEGMENT, SESSION, type SessionRow, TAKEN, TURN, type TurnRow, WITHDRAWN } from "../tables.ts";
import { endedOf } from "./facts.ts";
import { entriesIn } from "./graph.ts";
import { wakeTurn } from "./parked.ts";
import type { Port } from "./port.ts";
import { all, type Rule } from "./rule.ts";
import { statesOf } from "./sessions.ts";
import { stateOf } from "./turn-states.ts";

/** Records a request to cancel a turn. The first request wins. */
export function* cancel(
  db: Port,
  id: TurnId,
  request: CancelRequest,
  sessionId: SessionId | undefined,
): Rule<CancelAnswer> {
  const found = yield* lockedTurn(db, id);
  if (found === undefined) return { kind: "unknown" };
  const { session, row } = found;
  if (row.state === WITHDRAWN || row.aside === INJECTED) return { kind: "unknown" };
  if (sessionId !== undefined && session.id !== sessionId) return { kind: "unknown" };
  const end = yield* endOf(db, row);
  if (end !== undefined) return { kind: "already-completed", outcome: yield* outcomeOf(db, end) };
  // An input that another turn took ends with that turn or is given back. Both need the cancel.
  const isTaken = row.state === TAKEN && session.turn !== null && session.turn !== row.n;
  const open = isTaken ? yield* db.get(TURN, "key", session.turn) : undefined;
  const asked = open ?? row;
  if (asked.cancel !== null) return { kind: "already-requested", request: asked.cancel };
  for (const each of open === undefined ? [row] : [open, row]) db.update(TURN, each, { cancel: request });
  wakeTurn(db, session, asked.n);
  db.hint({ kind: "session", sessionId: session.id, what: "cancel" });
  return { kind: "requested", request };
}

/** Reads a turn again under the lock of its session, because a commit may have come first. */
function* lockedTurn(db: Port, id: TurnId): Rule<{ readonly session: SessionRow; readonly row: TurnRow } | undefined> {
  const before = yield* db.get(TURN, "id", id);
  const session = before && (yield* db.sessionOf(before.session));
  const row = session && (yield* db.get(TURN, "id", id));
  return session === undefined || row === undefined ? undefined : { session, row };
}

export function* findTurn(db: Port, id: TurnId): Rule<FoundTurn | undefined> {
  const row = yield* db.get(TURN, "id", id);
  const session = row && (yield* db.get(SESSION, "key", row.session));
  return session && { sessionId: session.id, state: stateOf(row!, session) };
}

export function* terminal(db: Port, id: TurnId): Rule<Terminal | undefined> {
  const row = yield* db.get(TURN, "id", id);
  const end = row && (yield* endOf(db, row));
  if (end === undefined) return undefined;
  const [session, outcome] = yield* all([db.get(SESSION, "key", end.session), outcomeOf(db, end)]);
  if (session === undefined) throw corrupt(`The session of turn ${id}`, "it is missing");
  const ended = endedOf(end);
  return {
    sessionId: session.id,
    turnId: end.id,
    at: ended.at,
    outcome,
    usage: ended.usage,
    committed: committedOf(end, ended),
    ...(ended.summary === undefined ? {} : { summary: ended.summary }),
  };
}

type EndRow = TurnRow & { readonly done: number };

/** Returns the end of a turn: its own, or that of the turn that took its input. */
function* endOf(db: Port, row: TurnRow): Rule<EndRow | undefined> {
  const by = row.endedBy === null ? row : yield* db.get(TURN, "key", row.endedBy);
  return by === undefined || by.done === null || by.state === WITHDRAWN ? undefined : (by as EndRow);
}

function* outcomeOf(db: Port, row: EndRow): Rule<TurnOutcome> {
  const ended = endedOf(row);
  return ended.outcome.kind === "told" ? outcomeIn(row, ended, yield* requireEntries(db, row)) : ended.outcome;
}

function* requireEntries(db: Port, { n }: TurnRow): Rule<readonly Entry[]> {
  const [segment] = yield* db.scan(SEGMENT, "key", [n], { isWhole: true });
  if (segment === undefined) throw corrupt(`Segment ${n}`, "it is missing");
  return entriesIn(segment);
}

/** Returns the receipt if the same commit is sent again, and `conflict` if another one is sent. */
export function* receiptOf(db: Port, row: TurnRow, sent: EndedTurn): Rule<Committed | "conflict" | undefined> {
  const end = yield* endOf(db, row);
  if (end === undefined) return undefined;
  const ended = endedOf(end);
  const stored = {
    outcome: yield* outcomeOf(db, end),
    entries: ended.size === 0 ? [] : yield* requireEntries(db, end),
    plugins: ended.plugins ?? (yield* statesOf(db, end.session, ended.revision)),
    usage: ended.usage,
    inputs: ended.inputs ?? [end.inputId],
  };
  // Compares JSON, because a store may keep values by reference.
  return isSameEnd(JSON.parse(JSON.stringify(stored)), sent) ? committedOf(end, ended) : "conflict";
}
