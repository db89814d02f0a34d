import type { InputId, SessionId, TurnId } from "../../model/ids.ts";
import type { TurnOutcome } from "../../model/outcome.ts";
import { committedOf, decodeEnded, type EncodedEnded, type Ended, isSameEnd, outcomeIn } from "../rows/ended.ts";
import { corrupt } from "../rows/faults.ts";
import type { CancelAnswer, CancelRequest, Committed, EndedTurn, FoundTurn, Terminal } from "../store.ts";
import type { Database, Transaction } from "./database.ts";
import { entriesOf } from "./graph.ts";
import { payloadOf } from "./hints.ts";
import { wake } from "./parked.ts";
import { lockNumber } from "./session-row.ts";
import { statesAt } from "./states.ts";
import { parsed } from "./text.ts";

/** What became of turns, and the request that ends one. */

/** The states of an input. */
export const WAITING = 0;
export const TAKEN = 1;
export const WITHDRAWN = 2;
/** What a row is (`aside`), besides 0 and 1: inputs that open turns, and of these 1 those for a boundary. */
export const INJECTED = 2;
export const APPEND = 3;

export interface TurnRow {
  readonly n: number;
  readonly session: number;
  readonly id: TurnId;
  readonly input_id: InputId;
  readonly state: number;
  readonly aside: number;
  readonly key: string | null;
  readonly hash: string;
  /** The open turn that has taken the input, and at which boundary. */
  readonly claim: number | null;
  readonly boundary: string | null;
  /** The turn that settled the input. */
  readonly ended_by: number | null;
  /** The fact that it ended. */
  readonly done: number | null;
  readonly cancel: string | null;
  readonly ended: string | null;
}
/** Without what was said, which may be long. */
export const TURN_COLUMNS = `t.n, t.session, t.id, t.input_id, t.state, t.aside, t.key, t.hash, t.claim, t.boundary,
  t.ended_by, t.done, t.cancel, t.ended`;
export interface FoundRow extends TurnRow {
  readonly sessionId: SessionId;
}
const FOUND = `SELECT s.id AS "sessionId", ${TURN_COLUMNS} FROM @turn t JOIN @session s ON s.n = t.session`;
const BY_ID = `${FOUND} WHERE t.id = $1`;
const BY_NUMBER = `${FOUND} WHERE t.n = $1`;

const turnById = (tx: Transaction, id: TurnId): Promise<FoundRow | undefined> => tx.row(BY_ID, id);

export async function cancel(
  tx: Transaction,
  id: TurnId,
  request: CancelRequest,
  session?: SessionId,
): Promise<CancelAnswer> {
  const before = await turnById(tx, id);
  const locked = before && (await lockNumber(tx, before.session));
  // What is decided on is read under the lock: a commit may have come first.
  const row = locked && (await turnById(tx, id));
  if (row === undefined || locked === undefined) return { kind: "unknown" };
  if (row.state === WITHDRAWN || row.aside === INJECTED) return { kind: "unknown" };
  if (session !== undefined && row.sessionId !== session) return { kind: "unknown" };
  const end = await endOf(tx, row);
  if (end !== undefined) return { kind: "already-completed", outcome: await outcomeOf(tx, end, endedOf(end)) };
  // An input that another turn took ends with that turn, or is given back: both must know of the cancel.
  const isOpen = row.state === TAKEN && locked.turn !== null;
  const open = isOpen ? await tx.row<FoundRow>(BY_NUMBER, locked.turn) : undefined;
  const asked = open ?? row;
  if (asked.cancel !== null) return { kind: "already-requested", request: requestOf(asked) };
  tx.queue("UPDATE @turn SET cancel = $2 WHERE n = ANY ($1::bigint[])", [asked.n, row.n], JSON.stringify(request));
  if (locked.turn === asked.n) tx.queue("UPDATE @session SET is_cancelled = true WHERE n = $1", locked.n);
  wake(tx, locked, asked.n);
  tx.hint(payloadOf({ kind: "session", sessionId: row.sessionId, what: "cancel" }));
  return { kind: "requested", request };
}

export const requestOf = ({ id, cancel }: Pick<TurnRow, "id" | "cancel">): CancelRequest =>
  parsed(cancel!, `The cancel of turn ${id}`);

const STATE = `SELECT s.id AS "sessionId", s.turn = t.n AS "isOpen", s.wake IS NOT NULL AS "isParked", t.state, t.done, t.ended_by
  FROM @turn t JOIN @session s ON s.n = t.session WHERE t.id = $1`;

export async function findTurn(tx: Transaction | Database, id: TurnId): Promise<FoundTurn | undefined> {
  const row = await tx.row<
    Pick<FoundRow, "sessionId" | "state" | "done" | "ended_by"> & { isOpen: boolean | null; isParked: boolean }
  >(STATE, id);
  if (row === undefined) return undefined;
  const { sessionId, state, isOpen, isParked, done, ended_by } = row;
  if (state !== TAKEN) return { sessionId, state: state === WAITING ? "waiting" : "withdrawn" };
  if (done !== null || ended_by !== null) return { sessionId, state: "ended" };
  return { sessionId, state: isOpen !== true ? "taken" : isParked ? "parked" : "open" };
}

export async function terminal(tx: Transaction, id: TurnId): Promise<Terminal | undefined> {
  const turn = await turnById(tx, id);
  const end = turn && (await endOf(tx, turn));
  if (end === undefined) return undefined;
  const ended = endedOf(end);
  return {
    sessionId: end.sessionId,
    turnId: end.id,
    at: ended.at,
    outcome: await outcomeOf(tx, end, ended),
    usage: ended.usage,
    committed: committedOf(end, ended),
  };
}

type EndRow = FoundRow & { readonly done: number };

/** The end of a turn: its own, or that of the turn which took its input. */
async function endOf(tx: Transaction, row: FoundRow): Promise<EndRow | undefined> {
  const by = row.ended_by === null ? row : await tx.row<FoundRow>(BY_NUMBER, row.ended_by);
  return by === undefined || by.done === null ? undefined : (by as EndRow);
}

export function endedOf({ id, ended }: Pick<TurnRow, "id" | "ended">): Ended {
  const item = `The end of turn ${id}`;
  if (ended === null) throw corrupt(item, "it is missing");
  return decodeEnded(parsed<EncodedEnded>(ended, item));
}

async function outcomeOf(tx: Transaction, row: FoundRow, ended: Ended): Promise<TurnOutcome> {
  if (ended.outcome.kind !== "told") return ended.outcome;
  return outcomeIn(row, ended, await entriesOf(tx, row.n));
}

/** The receipt of an ended turn when the same commit is sent again; `conflict` when it is another. */
export async function receiptOf(tx: Transaction, sent: EndedTurn): Promise<Committed | "conflict" | undefined> {
  const row = await turnById(tx, sent.turnId);
  const end = row && (await endOf(tx, row));
  if (end === undefined) return undefined;
  const ended = endedOf(end);
  const kept = {
    outcome: await outcomeOf(tx, end, ended),
    entries: ended.size === 0 ? [] : await entriesOf(tx, end.n),
    plugins: ended.plugins ?? (await statesAt(tx, end.session, ended.revision)),
    usage: ended.usage,
    inputs: ended.inputs ?? [end.input_id],
  };
  return isSameEnd(kept, sent) ? committedOf(end, ended) : "conflict";
}
