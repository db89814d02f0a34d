import { RuntimeError } from "../../model/errors.ts";
import type { SessionId, TurnId } from "../../model/ids.ts";
import type { KeptJournal } from "../rows/codec.ts";
import { unpackJournal } from "../rows/kept-journal.ts";
import type { Store, StoredTurn, TurnJournal } from "../store.ts";
import { INJECTED, SEGMENT, SESSION, type SessionRow, TURN, type TurnRow, WITHDRAWN } from "../tables.ts";
import { endedOf } from "./facts.ts";
import { entriesIn } from "./graph.ts";
import type { Port } from "./port.ts";
import { all, type Rule } from "./rule.ts";
import { stateOf } from "./turn-states.ts";

/** Turns as records. */

/** A page of rows is read in slices, because many rows are inputs without a separate turn. */
const SLICE = 100;

/** Returns whether the row is a turn: not an input that was withdrawn or that another turn took, and not an append. */
const isTurn = (row: TurnRow, session: SessionRow): boolean =>
  row.aside < INJECTED && row.state !== WITHDRAWN && row.endedBy === null && stateOf(row, session) !== "taken";

export function* listTurns(
  db: Port,
  { session: id, before, max, now }: Parameters<Store["turns"]["list"]>[0],
): Rule<readonly StoredTurn[]> {
  const time = now === undefined ? undefined : yield* db.now(now);
  const session = id === undefined ? undefined : yield* db.get(SESSION, "id", id);
  if (before !== undefined && !/^[1-9]\d{0,15}$/.test(before))
    throw new RuntimeError("cursor.unknown", { cursor: before });
  if (id !== undefined && session === undefined) return [];
  const found: StoredTurn[] = [];
  let upTo = before === undefined ? undefined : Number(before) - 1;
  while (found.length < max) {
    const options = { max: Math.min(SLICE, max), isDescending: true, ...(upTo === undefined ? {} : { upTo }) };
    const rows =
      session === undefined
        ? yield* db.scan(TURN, "all", [], options)
        : yield* db.scan(TURN, "session", [session.n], options);
    const turns = yield* all(rows.map((row) => storedTurn(db, row, session, time)));
    found.push(...turns.filter((turn) => turn !== undefined));
    if (rows.length < options.max) break;
    upTo = rows.at(-1)!.n - 1;
  }
  return found.slice(0, max);
}

export function* getTurn(db: Port, id: TurnId, now: number | undefined): Rule<StoredTurn | undefined> {
  const time = now === undefined ? undefined : yield* db.now(now);
  const row = yield* db.get(TURN, "id", id);
  return row && (yield* storedTurn(db, row, undefined, time));
}

/** Without a time, every lease counts as valid. */
function* storedTurn(
  db: Port,
  row: TurnRow,
  known: SessionRow | undefined,
  time: number | undefined,
): Rule<StoredTurn | undefined> {
  const session = known ?? (yield* db.get(SESSION, "key", row.session));
  if (session === undefined || !isTurn(row, session)) return undefined;
  const state = stateOf(row, session) as StoredTurn["state"];
  const owner = session.ownedBy === null ? {} : { owner: session.ownedBy };
  const key = row.key === null ? {} : { key: row.key };
  const turn = { sessionId: session.id as SessionId, ...owner, ...key, turnId: row.id, state, cursor: String(row.n) };
  if (row.done === null) {
    const { until, process } = session;
    const isLost = (time !== undefined && until <= time) || (process !== null && db.isDead(process));
    return state === "open" && isLost ? { ...turn, isOrphan: true } : turn;
  }
  const ended = endedOf(row);
  const { at, usage, summary, journal } = ended;
  const { outcome } = ended;
  const how = outcome.kind === "told" ? { outcome: "answered" as const } : { outcome: outcome.kind };
  const code = "code" in outcome ? { code: outcome.code } : {};
  const journalSize = journal === undefined ? {} : { journalBytes: journal };
  return {
    ...turn,
    end: { at, ...how, ...code, usage, ...(summary === undefined ? {} : { summary }), ...journalSize },
  };
}

function* nodesOf(db: Port, n: number) {
  const [segment] = yield* db.scan(SEGMENT, "key", [n], { isWhole: true });
  return segment === undefined ? [] : entriesIn(segment);
}

export function* keptJournal(db: Port, id: TurnId): Rule<TurnJournal | undefined> {
  const short = yield* db.get(TURN, "id", id);
  if (short?.done == null || short.ended?.journal === undefined) return undefined;
  const [row] = yield* db.scan(TURN, "key", [short.n], { isWhole: true });
  return row && (yield* journalIn(db, row));
}

/** Returns the journal of a whole row of an ended turn. */
export function* journalIn(db: Port, { n, id, input }: TurnRow): Rule<TurnJournal | undefined> {
  const stored = input as KeptJournal | null | undefined;
  if (stored == null) return undefined;
  const events = unpackJournal(stored, yield* nodesOf(db, n), `The journal of turn ${id}`);
  return stored.setting === undefined ? { events } : { setting: stored.setting, events };
}

/** Removes kept journals. Removes damaged ones too, because it does not read the whole row. */
export function* forgetJournals(db: Port, ids: readonly TurnId[]): Rule<number> {
  let removed = 0;
  for (const id of ids) {
    const row = yield* db.get(TURN, "id", id);
    if (row?.done == null || row.ended?.journal === undefined) continue;
    const { journal: _, ...ended } = row.ended;
    db.update(TURN, row, { ended, input: null });
    removed += 1;
  }
  return removed;
}
