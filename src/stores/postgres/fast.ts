import type { SessionConfig } from "../../model/config.ts";
import { type NodeId, nodeId, type SessionId } from "../../model/ids.ts";
import { addUsage, type Usage } from "../../model/usage.ts";
import type { TurnEvent } from "../../turn/event.ts";
import {
  contentOf,
  decodeUsage,
  type EncodedUsage,
  encodeEntries,
  encodeEvents,
  encodeInput,
  encodeOpened,
  encodeUsage,
  fromKeyText,
  keyText,
} from "../rows/codec.ts";
import { committedOf, type Ended, encodeEnded, storedOutcome, wordsOf } from "../rows/ended.ts";
import { packJournal } from "../rows/kept-journal.ts";
import type { LatestStates } from "../rows/latest-states.ts";
import { isProvenDead } from "../rows/process.ts";
import { changedStates } from "../rows/states.ts";
import { accept } from "../rules/acceptance.ts";
import type { Fast, Port } from "../rules/port.ts";
import type { Rule } from "../rules/rule.ts";
import type {
  Appended,
  Committed,
  EndedTurn,
  JobSpawn,
  Lease,
  Mail,
  NewInput,
  NewWait,
  OpenAnswer,
  Opening,
  Owner,
  PluginSnapshots,
  Receipt,
  SessionOptions,
} from "../store.ts";
import { FACTS, TAKEN } from "../tables.ts";
import type { CallQueue } from "./call-queue.ts";
import { clock, type Database, type Value } from "./database.ts";
import { isDuplicate } from "./faults.ts";
import { payloadOf } from "./hints.ts";
import { bookStatement, bookValues } from "./ledger.ts";
import { NEXT_FACT, statesAt } from "./pages.ts";
import type { Run, Runs } from "./runs.ts";
import { parsed } from "./text.ts";

/**
 * A session as of a revision. The process that committed last usually commits next, and need not read the session
 * again. A statement that relies on a memo contains it as a condition, so an outdated memo writes nothing.
 */
interface Memo {
  readonly row: RememberedRow;
  readonly usage: Usage;
  /** Name and depth of the head's segment. */
  readonly tip: { readonly name: string; readonly depth: number } | undefined;
  readonly config: Partial<SessionConfig>;
  readonly plugins: PluginSnapshots;
  readonly options: SessionOptions | undefined;
}
interface RememberedRow {
  readonly n: number;
  readonly id: SessionId;
  readonly revision: number;
  readonly turns: number;
  readonly head: number | null;
  readonly head_index: number | null;
  readonly usage: string;
  readonly generation: number;
  readonly turn: number | null;
  readonly optioned: number;
}
const MEMOS = 1_000;

/** Runs a rule as the second attempt at a write. */
type Retry = <T>(rule: (db: Port) => Rule<T>) => Promise<T>;

/**
 * The work of every plain turn, one statement for each call: an input of an idle session, appends, renewals without
 * mail, and the end of a turn that only adds nodes. The condition of the statement checks under the row lock that the
 * case is plain. Everything else is declined, and then nothing was written.
 */
export class FastTurns implements Fast {
  readonly #db: Database;
  readonly #runs: Runs;
  readonly #lines: CallQueue;
  readonly #states: LatestStates;
  readonly #retry: Retry;
  readonly #memos: Map<SessionId, Memo>;

  constructor(db: Database, runs: Runs, lines: CallQueue, states: LatestStates, retry: Retry) {
    this.#db = db;
    this.#runs = runs;
    this.#lines = lines;
    this.#states = states;
    this.#retry = retry;
    this.#memos = db.remembers(new Map());
  }

  // ── Sessions that were seen ───────────────────────────────────────────────────────────────────────────────────────

  #remember(memo: Memo): Memo {
    if (this.#memos.size >= MEMOS) this.#memos.clear();
    this.#memos.set(memo.row.id, memo);
    return memo;
  }

  async #memo(id: SessionId): Promise<Memo | undefined> {
    const known = this.#memos.get(id);
    if (known !== undefined) return known;
    return this.#db.read(async (tx) => {
      const row = await tx.row<RememberedRow & Profile>(REMEMBERED, id);
      if (row === undefined) return undefined;
      const { config, options, tip_name: name, tip_depth: depth } = row;
      return this.#remember({
        row,
        usage: decodeUsage(parsed<EncodedUsage>(row.usage, `The usage of session ${id}`)),
        tip: name === null || depth === null ? undefined : { name: fromKeyText(name), depth },
        config: parsed(config, `The configuration of session ${id}`),
        plugins: this.#states.at(row.n, row.revision) ?? (await statesAt(tx, row.n, row.revision)),
        options: options === null ? undefined : parsed(options, `The options of session ${id}`),
      });
    });
  }

  // ── Acceptance ────────────────────────────────────────────────────────────────────────────────────────────────────

  accept(
    input: NewInput,
    owner: Owner,
    opening: Opening | undefined,
    pendingMax: number,
  ): Promise<Receipt | undefined> | undefined {
    const isPlain = input.place !== "injected" && input.message.parts.every(({ kind }) => kind !== "attachment");
    if (opening === undefined || !isPlain) return undefined;
    return this.#lines.run(input.sessionId, () => this.#accept(input, owner, opening, pendingMax));
  }

  async #accept(input: NewInput, owner: Owner, opening: Opening, pendingMax: number): Promise<Receipt | undefined> {
    const { id: inputId, turnId, sessionId } = input;
    const known = await this.#memo(sessionId);
    if (known === undefined || known.row.turn !== null) {
      this.#memos.delete(sessionId);
      return undefined;
    }
    const db = this.#db;
    const { row, config, plugins, options } = known;
    const generation = row.generation + 1;
    const standing = { plugins, ...(options === undefined ? {} : { options }) };
    const opened = { ...opening(input, config, standing), generation };
    const values: readonly Value[] = [
      ...[row.n, row.revision, row.generation, row.optioned, owner.id, owner.process, db.time(input.at), db.leaseMs],
      ...inputColumns(input),
      ...[JSON.stringify([encodeOpened(opened, input)]), db.channel, factHint(sessionId), opened.at],
    ];
    let isLost = false;
    const [found] = await db
      .patiently(db.retryMs, async (client, attempt) => {
        isLost = attempt > 1;
        return db.send<{ turn: number; sweeps: number | null }>(client, ACCEPT, values);
      })
      .catch((error: unknown) => {
        if (isDuplicate((error as Error).cause)) return [];
        throw error;
      });
    if (found === undefined) {
      this.#memos.delete(sessionId);
      // The answer to an earlier attempt was lost. The rule checks whether it was kept.
      return isLost ? this.#retry((port) => accept(port, input, owner, opening, pendingMax)) : undefined;
    }
    this.#remember({ ...known, row: { ...row, generation, turn: found.turn } });
    this.#runs.remember(turnId, { session: row.n, turn: found.turn, sessionId, inputId });
    const lease = { sessionId, turnId, generation, owner, heldMs: db.leaseMs, revision: row.revision };
    const { sweeps } = found;
    return { kind: "opened", inputId, turnId, lease: sweeps === null ? lease : { ...lease, sweeps }, opened };
  }

  async look(id: SessionId, now: number): Promise<OpenAnswer | undefined> {
    const row = await this.#db.row<SessionLookRow>(LOOK, id, this.#db.time(now));
    if (row === undefined || row.wake !== null) return undefined;
    const { turn, waiting, owner, process, forMs } = row;
    if (turn === null) return waiting === 0 ? { kind: "idle" } : undefined;
    if (forMs <= 0 || isProvenDead(process)) return undefined;
    return { kind: "busy", holder: { id: owner, process }, forMs };
  }

  // ── The open turn ─────────────────────────────────────────────────────────────────────────────────────────────────

  append(
    lease: Lease,
    seq: number,
    events: readonly TurnEvent[],
    now: number,
    waits?: readonly NewWait[],
    spawns?: readonly JobSpawn[],
  ): Promise<Appended | undefined> | undefined {
    const hasMore = (waits !== undefined && waits.length > 0) || (spawns !== undefined && spawns.length > 0);
    return hasMore || events.length === 0 || seq < 1 ? undefined : this.#append(lease, seq, events, now);
  }

  async #append(lease: Lease, seq: number, events: readonly TurnEvent[], now: number): Promise<Appended | undefined> {
    const db = this.#db;
    const run = this.#runs.known(lease.turnId) ?? (await this.#runs.find(lease.turnId));
    if (run?.sessionId !== lease.sessionId) return undefined;
    const text = JSON.stringify(encodeEvents(events));
    const values = [...fenceOf(run, lease), db.time(now), db.leaseMs, seq, events.length, text];
    const [row] = await db.heldRows<LeaseRow>(APPEND, ...values);
    return row && this.#appended(row);
  }

  /** An earlier renewal may last longer, but a worker relies on the lease time only. */
  #appended({ held, pending }: LeaseRow): Appended {
    return { heldMs: Math.min(held, this.#db.leaseMs), pending };
  }

  async renew(lease: Lease, now: number): Promise<Mail | undefined> {
    const db = this.#db;
    const run = this.#runs.known(lease.turnId) ?? (await this.#runs.find(lease.turnId));
    if (run?.sessionId !== lease.sessionId) return undefined;
    const [row] = await db.heldRows<RenewedRow>(RENEW, ...fenceOf(run, lease), db.time(now), db.leaseMs);
    if (row === undefined || row.is_cancelled || row.has_more) return undefined;
    return { ...this.#appended(row), ...(row.is_followed ? { isFollowed: true } : {}) };
  }

  // ── Commits ───────────────────────────────────────────────────────────────────────────────────────────────────────

  async commit(lease: Lease, turn: EndedTurn): Promise<Committed | undefined> {
    const run = this.#runs.known(lease.turnId) ?? (await this.#runs.find(lease.turnId));
    const known = this.#memos.get(lease.sessionId);
    const committed =
      run === undefined || known === undefined || !isPlain(known, run, lease, turn)
        ? undefined
        : await this.#commit(known, run, lease, turn);
    if (committed === undefined) this.#memos.delete(lease.sessionId);
    return committed;
  }

  async #commit(known: Memo, run: Run, lease: Lease, turn: EndedTurn): Promise<Committed | undefined> {
    const { row, tip } = known;
    const { entries, turnId, at, outcome, summary, journal } = turn;
    const own = { name: turnId, depth: (tip?.depth ?? -1) + 1 };
    const usage = addUsage(known.usage, turn.usage);
    const revision = row.revision + 1;
    const record = journal && JSON.stringify(packJournal(journal, entries));
    const ended: Ended = {
      at,
      outcome: storedOutcome(outcome, entries),
      usage: turn.usage,
      size: entries.length,
      revision,
      ...(summary === undefined ? {} : { summary }),
      ...(record === undefined ? {} : { journal: record.length }),
    };
    const states = changedStates(known.plugins, turn.plugins);
    const text = JSON.stringify(encodeUsage(usage));
    const [found] = await this.#db.heldRows<{ done: number }>(
      COMMIT,
      ...[row.n, run.turn, lease.generation, row.revision, entries.length - 1, text],
      ...[own.depth, row.head, row.head_index, entries.length, keyText(turnId)],
      JSON.stringify(encodeEntries(entries, turnId)),
      JSON.stringify(encodeEnded(ended)),
      states.map(([plugin]) => keyText(plugin)),
      states.map(([, body]) => body),
      ...bookValues(turn.spent),
      ...[this.#db.channel, factHint(row.id), lease.owner.id, record ?? null, at, keyText(wordsOf(outcome))],
    );
    if (found === undefined) return undefined;
    const moved = { revision, turns: row.turns + 1, head: run.turn, head_index: entries.length - 1, usage: text };
    const after = { ...row, ...moved, turn: null, generation: lease.generation };
    this.#states.moved(row.n, row.revision, revision, turn.plugins);
    this.#remember({ ...known, row: after, usage, tip: own, plugins: turn.plugins });
    return committedOf({ id: turnId, done: found.done }, ended);
  }
}

/** The parameters of the fence. */
const fenceOf = ({ session, turn }: Run, { generation, owner }: Lease) =>
  [session, turn, generation, owner.id] as const;

const factHint = (sessionId: SessionId): string => payloadOf({ kind: "session", sessionId, what: "fact" });

/** Returns whether one statement can end the turn: it only adds nodes, to the head that it started on. */
function isPlain({ row, tip }: Memo, run: Run, lease: Lease, turn: EndedTurn): boolean {
  const { entries, base, config, parts = [], spawns = [], inputs, cancel } = turn;
  const isOwn = lease.turnId === turn.turnId && lease.sessionId === row.id && row.turn === run.turn;
  const isOrdinary = config === undefined && parts.length === 0 && spawns.length === 0 && cancel === undefined;
  const isOfOwnInput = inputs.length === 1 && inputs[0] === run.inputId;
  const head: NodeId | undefined = tip === undefined ? undefined : nodeId(tip.name, row.head_index!);
  return isOwn && isOrdinary && isOfOwnInput && entries.length > 0 && head === base;
}

// ── Statements ──────────────────────────────────────────────────────────────────────────────────────────────────────

interface Profile {
  readonly config: string;
  readonly options: string | null;
  readonly tip_name: string | null;
  readonly tip_depth: number | null;
}
const REMEMBERED = `SELECT s.n, s.id, s.revision, s.turns, s.head, s.head_index, s.usage, s.generation, s.turn, s.optioned,
    p.config, p.options, g.name AS tip_name, g.depth AS tip_depth
  FROM @session s JOIN @profile p ON p.session = s.n LEFT JOIN @segment g ON g.n = s.head WHERE s.id = $1`;

interface SessionLookRow {
  readonly turn: number | null;
  readonly waiting: number;
  readonly owner: string;
  readonly process: string;
  readonly wake: number | null;
  /** How long the lease is still valid; negative after it has expired. */
  readonly forMs: number;
}
const LOOK = `SELECT turn, waiting, owner, process, wake, until - ${clock(2)} AS "forMs" FROM @session WHERE id = $1`;

const INPUT_COLUMNS = "id, input_id, state, aside, key, hash, input";
function inputColumns(input: NewInput): readonly Value[] {
  const { id, turnId, key, place, hash } = input;
  const said = encodeInput(contentOf(input));
  const keyCell = key === undefined ? null : keyText(key);
  return [turnId, id, TAKEN, place === "turn" ? 0 : 1, keyCell, hash, JSON.stringify(said)];
}
// An input of an idle session. The memo that it was built from is its condition. A unique index refuses a known key.
// Parameters: session, revision, generation, options; owner, process, now, lease; the columns of the input; the first
// event; the hint; the activity.
const ACCEPT = `WITH s AS (
    UPDATE @session SET generation = generation + 1, turn = pg_catalog.nextval('@number'::regclass), owner = $5, process = $6,
      until = ${clock(7)} + $8, length = 1, has_more = false, is_cancelled = false, activity = greatest(activity, $19)
    WHERE n = $1 AND revision = $2 AND generation = $3 AND optioned = $4 AND turn IS NULL AND waiting = 0
    RETURNING n, turn, activity),
  m AS (UPDATE @session_tag l SET activity = s.activity FROM s WHERE l.session = s.n),
  t AS (INSERT INTO @turn (n, session, ${INPUT_COLUMNS}) SELECT turn, n, $9, $10, $11, $12, $13, $14, $15 FROM s),
  j AS (INSERT INTO @journal SELECT n, 0, 1, $16 FROM s),
  f AS (${NEXT_FACT} AND EXISTS (SELECT 1 FROM s) RETURNING value),
  a AS (INSERT INTO @fact SELECT f.value, s.n, ${FACTS.indexOf("accepted")}, s.turn FROM s, f)
  SELECT turn, (SELECT max(n) FROM @sweep) AS sweeps, pg_notify($17, $18) FROM s`;

/**
 * The condition of the fence. Parameters 1 to 4 are session, turn, generation and owner. The owner is needed because a
 * server that lost acknowledged commits gives the same numbers to another worker.
 */
const HELD = "n = $1 AND turn = $2 AND generation = $3 AND owner = $4";
const APPEND = `WITH s AS (
    UPDATE @session SET until = greatest(until, ${clock(5)} + $6), length = length + $8 WHERE ${HELD} AND length = $7
    RETURNING n, until, waiting > 0 OR has_more AS pending)
  INSERT INTO @journal SELECT n, $7, $8, $9 FROM s
  RETURNING (SELECT until - ${clock(5)} FROM s) AS held, (SELECT pending FROM s) AS pending`;
interface LeaseRow {
  readonly held: number;
  /** Whether mail waits for a boundary of the turn. */
  readonly pending: boolean;
}
const RENEW = `UPDATE @session SET until = greatest(until, ${clock(5)} + $6) WHERE ${HELD}
  RETURNING until - ${clock(5)} AS held, waiting > 0 OR has_more AS pending, has_more, is_cancelled,
    followed > ${clock(5)} AS is_followed`;
interface RenewedRow extends LeaseRow {
  readonly has_more: boolean;
  readonly is_cancelled: boolean;
  readonly is_followed: boolean;
}

// Parameters: session, turn, generation, revision; head index, usage; depth, parent, parent index, size, name and
// entries of the segment; the end; changed states; the ledger; the hint; the owner; the journal; activity and words.
const LEDGER_FROM = 16;
const HINT_FROM = LEDGER_FROM + 11;
const COMMIT = `WITH s AS (
    UPDATE @session SET revision = revision + 1, turns = turns + 1, head = $2, head_index = $5, usage = $6, turn = NULL,
      owner = NULL, process = NULL, until = 0, length = 0, activity = greatest(activity, $${HINT_FROM + 4}),
      words = $${HINT_FROM + 5}
    WHERE n = $1 AND turn = $2 AND generation = $3 AND owner = $${HINT_FROM + 2} AND revision = $4 AND NOT has_more AND NOT is_cancelled
    RETURNING n, revision, activity, CASE WHEN followed > 0 THEN n END AS shown),
  m AS (UPDATE @session_tag w SET activity = s.activity FROM s WHERE w.session = s.n),
  v AS (DELETE FROM @preview WHERE session = (SELECT shown FROM s)),
  g AS (INSERT INTO @segment (n, session, revision, depth, parent, parent_index, size, users, is_named, is_branch, name, entries)
    SELECT $2, n, $4, $7::bigint, $8::bigint, $9::integer, $10::integer, 1, false, false, $11, $12 FROM s),
  p AS (INSERT INTO @state SELECT s.n, c.plugin, s.revision, c.body
    FROM s, unnest($14::text[], $15::text[]) AS c(plugin, body)),
  l AS (${bookStatement("s.n", "s,", LEDGER_FROM)}),
  j AS (DELETE FROM @journal WHERE session = (SELECT n FROM s)),
  f AS (${NEXT_FACT} AND EXISTS (SELECT 1 FROM s) RETURNING value),
  t AS (UPDATE @turn t SET done = f.value, ended = $13, input = $${HINT_FROM + 3} FROM s, f WHERE t.n = $2),
  a AS (INSERT INTO @fact SELECT f.value, s.n, ${FACTS.indexOf("ended")}, $2 FROM s, f)
  SELECT f.value AS done, pg_notify($${HINT_FROM}, $${HINT_FROM + 1}) FROM s, f`;
