import { nodeId } from "../../model/ids.ts";
import { addUsage, NO_USAGE, type Spent } from "../../model/usage.ts";
import { contentOf } from "../rows/codec.ts";
import { committedOf, type Ended, wordsOf } from "../rows/ended.ts";
import type { Fast, Key } from "../rules/port.ts";
import { type Appended, type EndedTurn, LEASE_MS, type Lease, type Mail, type PendingInput } from "../store.ts";
import {
  ATTEMPT,
  GONE,
  JOB,
  type LedgerRow,
  NEXT_TURN,
  NOTE,
  SEGMENT,
  type SegmentRow,
  type SessionRow,
  TAKEN,
  type TurnRow,
  WAIT,
} from "../tables.ts";
import { type MemoryPort, NO_PLUGINS, NOTHING, statesAt } from "./port.ts";
import type { Cell } from "./table.ts";

type Writable<T> = { -readonly [field in keyof T]: T[field] };

const NO_INPUTS: readonly PendingInput[] = [];
const RENEWED: Appended = Object.freeze({ heldMs: LEASE_MS });

/**
 * The work of every plain turn, without a rule: an input of an idle session, appends, boundaries with nothing to claim,
 * and the end of a turn that only adds nodes. Everything else is declined. Each function checks before it changes
 * anything, because nothing undoes its changes. It may change rows in place, because no rule holds one meanwhile.
 */
export function fastWays(port: MemoryPort): Fast {
  const { sessions, turns, profiles } = port;
  const sessionIds = sessions.index("id") as ReadonlyMap<Key, Cell<SessionRow>>;
  const [turnIds, waiting, claims, appends] = ["id", "waiting", "claim", "append"].map((name) => turns.index(name)) as [
    ReadonlyMap<Key, unknown>,
    ReadonlyMap<Key, unknown>,
    ReadonlyMap<Key, unknown>,
    ReadonlyMap<Key, unknown>,
  ];
  const segments = port.table(SEGMENT);
  const [waits, notes, attempts, jobs] = [port.table(WAIT), port.table(NOTE), port.table(ATTEMPT), port.table(JOB)];
  const gone = port.table(GONE);

  /** Returns the session of a lease, or undefined if the lease is lost. */
  function leasedSession({ sessionId, turnId, generation, owner }: Lease): Writable<SessionRow> | undefined {
    if (port.isClosed) port.requireOpen();
    const session = sessionIds.get(sessionId)?.row;
    if (session === undefined || session.turn === null || session.generation !== generation) return undefined;
    return session.owner === owner.id && turns.cells.get(session.turn)!.row.id === turnId ? session : undefined;
  }

  return {
    create(session) {
      if (port.isClosed) port.requireOpen();
      const { id, at: createdAt, config, ...others } = session;
      for (const _ in others) return undefined; // A session with other fields is left to the rule.
      if (gone.cells.size > 0 || sessionIds.has(id)) return undefined;
      port.number += 1;
      const n = port.number;
      sessions.put(n, {
        n,
        id,
        revision: 0,
        turns: 0,
        head: null,
        headIndex: null,
        usage: NO_USAGE,
        generation: 0,
        turn: null,
        owner: null,
        process: null,
        until: 0,
        written: 0,
        wake: null,
        parked: null,
        ownedBy: null,
        tags: null,
        activity: createdAt,
        words: null,
      });
      port.lists.set(n, { journal: undefined, facts: NOTHING, states: NOTHING, ledger: NOTHING });
      profiles.put(n, { session: n, parentId: null, originId: null, originAt: null, createdAt, config, options: null });
      return { id, createdAt, config, revision: 0, plugins: {}, usage: NO_USAGE, ledger: [], turns: 0 };
    },

    accept(input, owner, opening) {
      if (port.isClosed) port.requireOpen();
      const { id: inputId, turnId: id, key = null, place, hash, message, at, wants, metadata } = input;
      const cell = sessionIds.get(input.sessionId);
      if (cell === undefined || cell.row.turn !== null || opening === undefined || place !== "turn") return undefined;
      if (cell.row.tags !== null) return undefined;
      const session: Writable<SessionRow> = cell.row;
      if (turnIds.has(id) || waiting.has(session.n)) return undefined;
      if (key !== null && turns.cell("inputKey", [session.n, key]) !== undefined) return undefined;
      for (const { kind } of message.parts) if (kind === "attachment") return undefined;
      const { config, options } = profiles.cells.get(session.n)!.row;
      const lists = port.lists.get(session.n)!;
      const plugins = lists.states.length === 0 ? NO_PLUGINS : statesAt(lists, session.revision);
      const generation = session.generation + 1;
      const opened = { ...opening(input, config, options === null ? { plugins } : { plugins, options }), generation };
      port.number += 1;
      const turn: TurnRow = {
        n: port.number,
        session: session.n,
        id,
        inputId,
        state: TAKEN,
        aside: NEXT_TURN,
        key,
        hash,
        claim: null,
        boundary: null,
        endedBy: null,
        done: null,
        cancel: null,
        ended: null,
        input: wants === undefined && metadata === undefined ? { message, at } : contentOf(input),
      };
      turns.put(turn.n, turn);
      port.addFact(lists, "accepted", turn.n);
      lists.journal = [opened];
      sessions.relist(cell, false);
      session.generation = generation;
      session.turn = turn.n;
      session.owner = owner.id;
      session.process = owner.process;
      session.until = at + LEASE_MS;
      session.written = 1;
      session.activity = Math.max(session.activity, opened.at);
      sessions.relist(cell, true);
      const { id: sessionId, revision } = session;
      return {
        kind: "opened",
        inputId,
        turnId: id,
        lease: { sessionId, turnId: id, generation, owner, heldMs: LEASE_MS, revision },
        opened,
      };
    },

    append(lease, seq, events, now, newWaits, spawns) {
      if ((newWaits !== undefined && newWaits.length > 0) || (spawns !== undefined && spawns.length > 0))
        return undefined;
      const session = leasedSession(lease);
      const journal = session && port.lists.get(session.n)!.journal;
      if (session === undefined || journal?.length !== seq) return undefined;
      for (const event of events) journal.push(event);
      session.until = Math.max(session.until, now + LEASE_MS); // A late renewal does not shorten a later one.
      session.written = journal.length;
      return RENEWED;
    },

    renew(lease, now): Mail | undefined {
      const session = leasedSession(lease);
      if (session === undefined || (waits.cells.size > 0 && waits.count("turn", [session.turn]) > 0)) return undefined;
      session.until = Math.max(session.until, now + LEASE_MS);
      const { cancel } = turns.cells.get(session.turn!)!.row;
      return cancel === null ? RENEWED : { heldMs: LEASE_MS, cancel };
    },

    claim(lease) {
      const session = leasedSession(lease);
      if (session === undefined || waiting.has(session.n)) return undefined;
      return claims.has(session.turn) ? undefined : NO_INPUTS;
    },

    commit(lease, ended) {
      const session = leasedSession(lease);
      if (session === undefined || lease.turnId !== ended.turnId) return undefined;
      const turn: Writable<TurnRow> = turns.cells.get(session.turn!)!.row;
      const tip = session.head === null ? undefined : segments.cells.get(session.head)!.row;
      const head = tip === undefined ? undefined : nodeId(tip.name, session.headIndex!);
      if (head !== ended.base || session.tags !== null || !isPlain(session, turn, ended)) return undefined;
      const { at, outcome, usage, entries, plugins, spent, summary, journal } = ended;
      const { n, revision: before } = session;
      const revision = before + 1;
      const segment: SegmentRow = {
        n: turn.n,
        session: n,
        revision: before,
        depth: tip === undefined ? 0 : tip.depth + 1,
        parent: session.head,
        parentIndex: session.headIndex,
        size: entries.length,
        users: 1,
        isNamed: false,
        isBranch: false,
        name: turn.id,
        entries: entries.slice(), // The turn's log may continue to grow in the given list.
      };
      segments.put(segment.n, segment);
      const lists = port.lists.get(n)!;
      const isStateless = lists.states.length === 0 && Object.keys(plugins).length === 0;
      if (!isStateless && lists.states.at(-1)?.plugins !== plugins)
        lists.states = [...lists.states, { since: revision, plugins }];
      const done = port.addFact(lists, "ended", turn.n);
      for (let nth = 0; nth < spent.length; nth += 1)
        lists.ledger = booked(lists.ledger, n, spent[nth]!, done + nth / spent.length);
      const stored: Ended = { at, outcome, usage, size: entries.length, revision };
      turn.done = done; // No index contains these columns.
      turn.ended =
        summary === undefined ? stored : { ...stored, summary, ...(journal === undefined ? {} : { journal: 0 }) };
      turn.input = journal ?? null;
      lists.journal = undefined;
      const cell = sessions.cells.get(n)!;
      sessions.relist(cell, false);
      session.revision = revision;
      session.turns += 1;
      session.head = segment.n;
      session.headIndex = entries.length - 1;
      session.usage = addUsage(session.usage, usage);
      session.turn = null;
      session.owner = null;
      session.process = null;
      session.until = 0;
      session.written = 0;
      session.activity = Math.max(session.activity, at);
      session.words = wordsOf(outcome);
      sessions.relist(cell, true);
      return committedOf({ id: turn.id, done }, stored);
    },
  };

  /** Returns whether the turn only adds nodes. */
  function isPlain({ n }: SessionRow, turn: TurnRow, ended: EndedTurn): boolean {
    const { entries, inputs } = ended;
    if (ended.parts !== undefined || ended.spawns !== undefined || ended.config !== undefined) return false;
    if (turn.cancel !== null || entries.length === 0 || inputs.length !== 1 || inputs[0] !== turn.inputId) return false;
    if (waits.cells.size > 0 && waits.count("turn", [turn.n]) > 0) return false;
    if (notes.cells.size > 0 && notes.count("turn", [turn.n]) > 0) return false;
    if (attempts.cells.size > 0 && attempts.count("turn", [turn.n]) > 0) return false;
    if (jobs.cells.size > 0 && jobs.count("parent", [`turn/${turn.id}`]) > 0) return false;
    return !claims.has(turn.n) && !appends.has(n);
  }
}

/** Returns the ledger of a session with new spending added. */
function booked(
  ledger: readonly LedgerRow[],
  session: number,
  { source, model, usage, calls }: Spent,
  nth: number,
): readonly LedgerRow[] {
  let had: LedgerRow | undefined;
  for (let at = 0; at < ledger.length && had === undefined; at += 1)
    if (ledger[at]!.source === source && ledger[at]!.model === model) had = ledger[at];
  const sum = had === undefined ? usage : addUsage(had, usage);
  const { input, cacheRead, cacheWrite, output, reasoning, unknownCalls } = sum;
  const row: LedgerRow = {
    session,
    source,
    model,
    nth: had === undefined ? nth : had.nth,
    calls: had === undefined ? calls : had.calls + calls,
    input,
    cacheRead,
    cacheWrite,
    output,
    reasoning,
    unknownCalls,
    estimatedInput: sum.estimatedInput ?? 0,
    estimatedOutput: sum.estimatedOutput ?? 0,
  };
  return had === undefined ? [...ledger, row] : ledger.map((each) => (each === had ? row : each));
}
