import type { InputId, SessionId, TurnId } from "../../model/ids.ts";
import type { TurnOutcome } from "../../model/outcome.ts";
import {
  type Content,
  committedOf,
  decodeEnded,
  type Ended,
  encodeEnded,
  isSameEnd,
  outcomeIn,
} from "../rows/ended.ts";
import { corrupt } from "../rows/faults.ts";
import type { CancelAnswer, CancelRequest, Committed, EndedTurn, FoundTurn, Terminal } from "../store.ts";
import { seal, unseal } from "./checksum.ts";
import type { Connection } from "./connection.ts";
import { entriesOf, requireBones } from "./graph.ts";
import { wake } from "./parked-row.ts";
import { statesAt } from "./states.ts";
import {
  amend,
  INJECTED,
  requireWhole,
  TAKEN,
  TURN_COLUMNS,
  type TurnColumns,
  WAITING,
  WITHDRAWN,
} from "./turn-row.ts";

export interface TurnRow extends TurnColumns {
  readonly id: TurnId;
  readonly sessionId: SessionId;
  readonly input_id: InputId;
}
const TURN = `SELECT s.id AS sessionId, ${TURN_COLUMNS} FROM turn t JOIN session s ON s.n = t.session`;
const TURN_BY_ID = `${TURN} WHERE t.id = ?`;
const TURN_BY_NUMBER = `${TURN} WHERE t.n = ?`;
const OPEN_TURN = `${TURN} WHERE t.n = (SELECT turn FROM session WHERE n = ?)`;

function whole(row: TurnRow | undefined): TurnRow | undefined {
  return row && requireWhole(row);
}
const turnById = (db: Connection, id: TurnId): TurnRow | undefined => whole(db.row(TURN_BY_ID, id));
export const turnByNumber = (db: Connection, n: number): TurnRow | undefined => whole(db.row(TURN_BY_NUMBER, n));

export function cancel(db: Connection, id: TurnId, request: CancelRequest, session?: SessionId): CancelAnswer {
  const row = turnById(db, id);
  if (row === undefined || row.state === WITHDRAWN || row.is_aside === INJECTED) return { kind: "unknown" };
  if (session !== undefined && row.sessionId !== session) return { kind: "unknown" };
  const end = endOf(db, row);
  if (end !== undefined) return { kind: "already-completed", outcome: outcomeOf(db, end, endedOf(end)) };
  // An input that another turn took ends with that turn, or is given back: both must know of the cancel.
  const open = row.state === TAKEN ? whole(db.row(OPEN_TURN, row.session)) : undefined;
  const { n, cancel: before } = open ?? row;
  if (before !== null) return { kind: "already-requested", request: requestOf(n, before) };
  for (const each of new Set([n, row.n])) amend(db, each, { cancel: seal(request, each) });
  wake(db, row.session, n);
  return { kind: "requested", request };
}

export function find(db: Connection, id: TurnId): FoundTurn | undefined {
  const row = db.row<TurnRow & { readonly isOpen: number | null; readonly isParked: number }>(FOUND, id);
  if (row === undefined) return undefined;
  const { sessionId, state, isOpen, isParked, done, ended_by } = requireWhole(row);
  if (state !== TAKEN) return { sessionId, state: state === WAITING ? "waiting" : "withdrawn" };
  if (done !== null || ended_by !== null) return { sessionId, state: "ended" };
  return { sessionId, state: isOpen !== 1 ? "taken" : isParked === 1 ? "parked" : "open" };
}
const FOUND = `SELECT s.id AS sessionId, s.turn = t.n AS isOpen,
    EXISTS (SELECT 1 FROM parked WHERE session = s.n) AS isParked, ${TURN_COLUMNS}
  FROM turn t JOIN session s ON s.n = t.session WHERE t.id = ?`;

export const requestOf = (n: number, cancel: string): CancelRequest => unseal(cancel, n, `The cancel of turn ${n}`);

export function terminal(db: Connection, id: TurnId): Terminal | undefined {
  const turn = turnById(db, id);
  const end = turn && endOf(db, turn);
  if (end === undefined) return undefined;
  const ended = endedOf(end);
  return {
    sessionId: end.sessionId,
    turnId: end.id,
    at: ended.at,
    outcome: outcomeOf(db, end, ended),
    usage: ended.usage,
    committed: committedOf(end, ended),
  };
}

type EndRow = TurnRow & { readonly done: number };

/** The end of a turn: its own, or that of the turn which took its input. */
function endOf(db: Connection, row: TurnRow): EndRow | undefined {
  const by = row.ended_by === null ? row : turnByNumber(db, row.ended_by);
  return by === undefined || by.done === null ? undefined : (by as EndRow);
}

export function endedOf({ n, id, ended }: Pick<TurnRow, "n" | "id" | "ended">): Ended {
  if (ended === null) throw corrupt(`The end of turn ${id}`, "it is missing");
  return decodeEnded(unseal(ended, n, `The end of turn ${id}`));
}

export const sealEnded = (ended: Ended, n: number): string => seal(encodeEnded(ended), n);

function outcomeOf(db: Connection, row: TurnRow, ended: Ended): TurnOutcome {
  const { outcome } = ended;
  return outcome.kind === "told" ? outcomeIn(row, ended, entriesOf(db, requireBones(db, row.n))) : outcome;
}

/** The receipt of an ended turn when the same commit is sent again; `conflict` when it is another. */
export function receiptOf(db: Connection, sent: EndedTurn): Committed | "conflict" | undefined {
  const row = turnById(db, sent.turnId);
  const end = row && endOf(db, row);
  if (end === undefined) return undefined;
  const ended = endedOf(end);
  const kept: Content = {
    outcome: outcomeOf(db, end, ended),
    entries: ended.size === 0 ? [] : entriesOf(db, requireBones(db, end.n)),
    plugins: ended.plugins ?? statesAt(db, end.session, ended.revision),
    usage: ended.usage,
    inputs: ended.inputs ?? [end.input_id],
  };
  return isSameEnd(kept, sent) ? committedOf(end, ended) : "conflict";
}
