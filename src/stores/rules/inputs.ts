import { RuntimeError } from "../../model/errors.ts";
import { asInputId, asTurnId, type InputId, type SessionId } from "../../model/ids.ts";
import { contentOf, keyText } from "../rows/codec.ts";
import { corrupt } from "../rows/faults.ts";
import type { InputRef, NewInput, PendingAppend, PendingInput, SessionChange, Withdrawal } from "../store.ts";
import {
  APPEND,
  INJECTED,
  type InputContent,
  type SessionRow,
  type SettledInput,
  TAKEN,
  TURN,
  type TurnRow,
  WAITING,
  WITHDRAWN,
} from "../tables.ts";
import type { Port } from "./port.ts";
import { all, type Rule } from "./rule.ts";

/**
 * Inputs and appends that wait for a turn. Both are rows of `turn`, because most inputs open one. Every change locks
 * the session.
 */

/** The values of `aside` for inputs. */
const PLACES: readonly NewInput["place"][] = ["turn", "boundary", "injected"];

const UNCLAIMED = { claim: null, boundary: null, endedBy: null, done: null, cancel: null, ended: null };

export const addInput = (db: Port, session: number, input: NewInput, state: number) => {
  const { id: inputId, turnId: id, key = null, place, hash } = input;
  const said = { state, aside: PLACES.indexOf(place), key, hash, ...UNCLAIMED, input: contentOf(input) };
  const row = { session, id, inputId, ...said };
  return db.add(TURN, row);
};

/** Protects the attachments of an input from the sweep. Throws `store.swept` if the bytes of one are gone. */
export const keepAttachments = (db: Port, { message }: NewInput) =>
  db.keepBlobs(message.parts.flatMap((part) => (part.kind === "attachment" ? [part.hash as string] : [])));

/** Accepts an input that does not open a turn now. */
export function* acceptWaiting(db: Port, session: SessionRow, input: NewInput): Rule<void> {
  yield* keepAttachments(db, input);
  const turn = yield* addInput(db, session.n, input, WAITING);
  db.hint({ kind: "session", sessionId: session.id, what: "input" });
  yield* db.fact(session.n, "accepted", turn.n);
}

/** Returns the row of an earlier input with the same key or turn id. */
export function* rowBefore(db: Port, session: number, { turnId, key }: NewInput): Rule<TurnRow | undefined> {
  const [byKey, byId] = yield* all([
    key === undefined ? undefined : db.get(TURN, "inputKey", session, key),
    db.get(TURN, "id", turnId),
  ]);
  return byKey ?? byId;
}

export function* inputBefore(db: Port, session: number, input: NewInput): Rule<InputId | undefined> {
  return (yield* rowBefore(db, session, input))?.inputId;
}

// ── Reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Returns the input of a turn that has not ended. */
export function* inputOf(db: Port, session: SessionRow, turn: number): Rule<PendingInput> {
  const [row] = yield* db.scan(TURN, "key", [turn], { isWhole: true });
  if (row === undefined) throw corrupt(`The input of turn ${turn}`, "it is missing");
  return toPendingInput(row, session.id);
}

export function toPendingInput(row: TurnRow, sessionId: SessionId): PendingInput {
  const { n, id, inputId, aside, key, hash, input } = row;
  if (input === null || input === undefined) throw corrupt(`The input ${inputId}`, "what was said is missing");
  return {
    id: inputId,
    sessionId,
    turnId: id,
    ...(key === null ? {} : { key }),
    place: PLACES[aside]!,
    hash,
    ...(input as InputContent),
    seq: n,
  };
}

export function* listInputs(db: Port, id: SessionId): Rule<readonly PendingInput[]> {
  const session = yield* db.session(id);
  if (session === undefined) return [];
  const rows = yield* db.scan(TURN, "waiting", [session.n], { isWhole: true });
  return rows.filter(({ aside }) => aside < APPEND).map((row) => toPendingInput(row, id));
}

/** Returns whether an input was accepted under this key and not withdrawn. */
export function* holdsKey(db: Port, id: SessionId, key: string): Rule<boolean> {
  const session = yield* db.session(id);
  return session !== undefined && (yield* db.get(TURN, "inputKey", session.n, key)) !== undefined;
}

// ── Withdrawing ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** Withdraws waiting inputs. Returns for each other input why it was not withdrawn. */
export function* withdraw(db: Port, id: SessionId, which: InputRef): Rule<readonly Withdrawal[]> {
  const session = yield* db.session(id);
  if (session === undefined) return [];
  const rows = yield* rowsNamedBy(db, session.n, which);
  for (const row of rows)
    if (row.state === WAITING) {
      const fact = yield* db.fact(session.n, "withdrawn", row.n);
      db.update(TURN, row, { state: WITHDRAWN, input: null, done: fact });
    }
  if (rows.some(({ state }) => state === WAITING)) db.hint({ kind: "session", sessionId: id, what: "fact" });
  return rows.map((row) => {
    const { state, aside, done, endedBy } = row;
    const taken = done === null && endedBy === null ? "taken" : "ended";
    const turn = aside === INJECTED ? {} : { turnId: row.id };
    return { inputId: row.inputId, ...turn, answer: state === TAKEN ? taken : "withdrawn" };
  });
}

/** Returns the rows that a reference names, oldest first. */
function* rowsNamedBy(db: Port, session: number, which: InputRef): Rule<readonly TurnRow[]> {
  if ("key" in which) {
    const [live, gone] = yield* all([
      db.get(TURN, "inputKey", session, which.key),
      db.scan(TURN, "withdrawn", [session, which.key], { isDescending: true, max: 1 }),
    ]);
    return live === undefined ? gone : [live];
  }
  const isInput = ({ aside }: TurnRow): boolean => aside < APPEND;
  const found = (yield* db.scan(TURN, "input", [session, "id" in which ? which.id : which.from])).filter(isInput);
  const [first] = found;
  if ("id" in which || first === undefined) return found;
  return (yield* db.scan(TURN, "session", [session], { above: first.n - 1 })).filter(isInput);
}

// ── Settling ───────────────────────────────────────────────────────────────────────────────────────────

/** Ends the claimed inputs that the turn settled. The others wait again at their old places in the queue. */
export function* settle(db: Port, turn: number, settled: readonly InputId[]): Rule<void> {
  const ids = new Set<string>(settled);
  for (const row of yield* db.scan(TURN, "claim", [turn], { isWhole: true })) {
    const unclaimed = { claim: null, boundary: null };
    if (ids.has(row.inputId)) db.update(TURN, row, { ...unclaimed, endedBy: turn, input: settledOf(row) });
    else db.update(TURN, row, { ...unclaimed, state: WAITING });
  }
}

/** The nodes of the turn contain the message. An append is a separate fact when it is applied. */
function settledOf({ aside, input }: TurnRow): SettledInput | null {
  if (aside === APPEND || input === null || input === undefined) return null;
  const { at, metadata } = input as InputContent;
  return metadata === undefined ? { at } : { at, metadata };
}

// ── Appends that wait ───────────────────────────────────────────────────────────────────────────────────────────────

/** The row id of an append. No turn id can equal it. */
const appendId = (operation: string): string => `\u0001append/${keyText(operation)}`;

/** Returns the row of an append by its operation, in any session, waiting or settled. */
export const appendRow = (db: Port, operation: string) => db.get(TURN, "id", appendId(operation));

export function* addAppend(db: Port, session: number, change: SessionChange, hash: string): Rule<void> {
  const { operation } = change;
  const inputId = asInputId(`append/${keyText(operation)}`);
  const id = asTurnId(appendId(operation));
  const row = { session, id, inputId, state: WAITING, aside: APPEND, key: null, hash, ...UNCLAIMED, input: change };
  yield* db.add(TURN, row);
}

export function changeIn({ inputId, input }: TurnRow): SessionChange {
  if (input === null || input === undefined) throw corrupt(`The append ${inputId}`, "its nodes are missing");
  return input as SessionChange;
}

export function toPendingAppend(row: TurnRow): PendingAppend {
  const { operation, entries = [], spent } = changeIn(row);
  return { id: row.inputId, operation, entries, ...(spent === undefined ? {} : { spent }), seq: row.n };
}

/** Returns the waiting appends in order. */
export const waitingAppends = (db: Port, session: number) => db.scan(TURN, "append", [session], { isWhole: true });

export const requireRoom = (waiting: number, max: number): void => {
  if (waiting + 1 > max) throw new RuntimeError("input.full", { max });
};
