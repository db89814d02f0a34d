import { type Awaitable, andThen } from "../../model/awaitable.ts";
import { type EffectName, nodeId, type SessionId, type TurnId } from "../../model/ids.ts";
import { addUsage } from "../../model/usage.ts";
import type { TurnEvent } from "../../turn/event.ts";
import {
  contentOf,
  encodeEntries,
  encodeEvents,
  encodeInput,
  encodeOpened,
  encodeUsage,
  keyText,
} from "../rows/codec.ts";
import { committedOf, type Ended, encodeEnded, storedOutcome, wordsOf } from "../rows/ended.ts";
import { packJournal } from "../rows/kept-journal.ts";
import type { LatestStates } from "../rows/latest-states.ts";
import { isProvenDead } from "../rows/process.ts";
import { changedStates } from "../rows/states.ts";
import type { Fast } from "../rules/port.ts";
import type {
  Appended,
  Committed,
  EndedTurn,
  JobSpawn,
  Lease,
  Mail,
  NewInput,
  NewSession,
  NewWait,
  OpenAnswer,
  Opening,
  Owner,
  PendingInput,
  Receipt,
  StoredSession,
} from "../store.ts";
import { APPEND, INJECTED, TAKEN } from "../tables.ts";
import { SWEEPS } from "./blobs.ts";
import { seal, sealText, sumIn, sumOf, unseal } from "./checksum.ts";
import type { Connection } from "./connection.ts";
import { LATEST_FACT } from "./facts.ts";
import { isConstraint } from "./faults.ts";
import { SEQS } from "./layout-rows.ts";
import { optionsIn, sealOf } from "./layout-sessions.ts";
import { bookSpent } from "./ledger.ts";
import { IS_FOLLOWED } from "./live.ts";
import { Memos } from "./memos.ts";

/** The lease and the journal end of a turn, as this process saw them last. */
interface CachedTurn {
  readonly session: number;
  readonly turn: number;
  readonly sessionId: SessionId;
  generation?: number;
  length?: number;
}
const SEEN = 2_000;

const NO_INPUTS: readonly PendingInput[] = [];

/**
 * The work of every plain turn, in as few statements as possible: an input of an idle session, appends, boundaries with
 * nothing to claim, and the end of a turn that only adds nodes. Everything else is declined, and then nothing was
 * written.
 *
 * fast-1: An append is one statement that writes one page. So the journal row also contains the end of the lease.
 * fast-2: The condition of a statement is the fence: a lease has a new generation, and a turn that ended is never open
 * again.
 */
export class FastTurns implements Fast {
  readonly #db: Connection;
  readonly #states: LatestStates;
  readonly #memos: Memos;
  readonly #seen: Map<TurnId, CachedTurn>;
  /** The answer to every append. */
  readonly #appended: Appended;

  constructor(db: Connection, states: LatestStates) {
    this.#db = db;
    this.#states = states;
    this.#memos = new Memos(db, states);
    this.#seen = db.remembers(new Map());
    this.#appended = Object.freeze({ heldMs: db.leaseMs });
  }

  create(session: NewSession): Awaitable<StoredSession | undefined> {
    const { id: _id, at: _at, config: _config, ...others } = session;
    for (const _ in others) return undefined; // A session with other fields is left to the rule.
    return this.#db.write(false, () => this.#memos.create(session));
  }

  load(id: SessionId): Awaitable<StoredSession | undefined> {
    return this.#db.readAll(() => this.#memos.load(id));
  }

  has(id: SessionId): Awaitable<boolean> {
    return this.#db.read(() => this.#db.row("SELECT 1 FROM session WHERE id = ?", id) !== undefined);
  }

  /** Workers look repeatedly at a session that is idle or that another one holds. */
  look(id: SessionId, now: number): Awaitable<OpenAnswer | undefined> {
    return this.#db.read((): OpenAnswer | undefined => {
      const row = this.#db.row<LeaseRow>(LOOK, id);
      if (row === undefined || row.is_parked === 1) return undefined;
      if (row.turn === null) return row.has_next === 1 ? undefined : { kind: "idle" };
      const until = Math.max(row.until, row.renewed);
      if (until <= now || isProvenDead(row.process)) return undefined;
      return { kind: "busy", holder: { id: row.owner, process: row.process }, forMs: until - now };
    });
  }

  // ── Turns that were seen ─────────────────────────────────────────────────────────────────────────────

  /** Returns the numbers of a turn, open or not; undefined if it is not of the lease's session. */
  #find({ turnId, sessionId }: Lease): CachedTurn | undefined {
    const known = this.#seen.get(turnId) ?? this.#db.row<CachedTurn>(TURN_BY_ID, turnId);
    return known?.sessionId === sessionId ? this.#see(turnId, known) : undefined;
  }

  #see(turn: TurnId, seen: CachedTurn): CachedTurn {
    if (this.#seen.get(turn) === seen) return seen;
    if (this.#seen.size >= SEEN) this.#seen.clear();
    const { session, turn: n, sessionId, generation, length } = seen;
    const own: CachedTurn =
      generation === undefined ? { session, turn: n, sessionId } : { ...seen, length: length ?? 0 };
    this.#seen.set(turn, own);
    return own;
  }

  // ── Acceptance ────────────────────────────────────────────────────────────────────────────────────────────────────

  accept(input: NewInput, owner: Owner, opening: Opening | undefined): Awaitable<Receipt | undefined> {
    if (opening === undefined || input.place === "injected") return undefined;
    if (input.message.parts.some(({ kind }) => kind === "attachment")) return undefined;
    return this.#db.write(true, () => this.#accept(input, owner, opening));
  }

  #accept(input: NewInput, owner: Owner, opening: Opening): Receipt | undefined {
    const db = this.#db;
    const { id: inputId, turnId, sessionId, key, place, hash } = input;
    const session = db.row<IdleRow>(IDLE, sessionId);
    if (session === undefined || session.turn !== null || session.has_waiting === 1) return undefined;
    const { n, revision, sweeps } = session;
    const keyCell = key === undefined ? null : keyText(key);
    if (keyCell !== null && db.row(KEY, n, keyCell) !== undefined) return undefined;
    const memo = this.#memos.at(n, revision);
    const standing = { plugins: memo.plugins, ...optionsIn(session.options, n) };
    const generation = session.generation + 1;
    const opened = { ...opening(input, memo.config, standing), generation };

    const turn = session.latest + 1;
    const aside = place === "turn" ? 0 : 1;
    const said = seal(encodeInput(contentOf(input)), turn);
    const identity = [turn, n, turnId, inputId, aside, keyCell, hash];
    const sum = sumOf(identity) + sumOf([TAKEN, null, null, null, null, null, null, sumIn(said)]);
    try {
      db.run(ADD_INPUT, turn, n, turnId, inputId, TAKEN, aside, keyCell, hash, said, sum);
    } catch (error) {
      if (isConstraint(error)) return undefined; // A retry of the same write.
      throw error;
    }
    const k = n * SEQS;
    db.run("INSERT INTO journal VALUES (?, 1, 0, ?)", k, seal([encodeOpened(opened, input)], k + turn));
    const activity = Math.max(session.activity, opened.at);
    const leaseColumns = { generation, turn, owner: owner.id, process: owner.process, activity };
    const { leaseMs: heldMs } = db;
    const seals = sealOf({ ...memo.row, ...leaseColumns });
    db.run(HOLD, generation, turn, owner.id, owner.process, activity, input.at + heldMs, seals, n);
    if (memo.row.tags !== null) db.run(MOVE_TAGS, activity, n);
    const plain = { sessionId, turnId, generation, owner, heldMs, revision };
    this.#seen.delete(turnId);
    this.#see(turnId, { session: n, turn, sessionId, generation, length: 1 });
    return { kind: "opened", inputId, turnId, lease: sweeps === 0 ? plain : { ...plain, sweeps }, opened };
  }

  // ── The open turn ─────────────────────────────────────────────────────────────────────────────────────────────────

  append(
    lease: Lease,
    seq: number,
    events: readonly TurnEvent[],
    now: number,
    waits?: readonly NewWait[],
    spawns?: readonly JobSpawn[],
  ): Awaitable<Appended | undefined> {
    const hasMore = (waits !== undefined && waits.length > 0) || (spawns !== undefined && spawns.length > 0);
    if (hasMore || events.length === 0 || seq < 1 || seq + events.length >= SEQS) return undefined;
    return this.#db.writeOne(false, () => this.#append(lease, seq, events, now), this.#db.heldMs);
  }

  #append(lease: Lease, seq: number, events: readonly TurnEvent[], now: number): Appended | undefined {
    const run = this.#find(lease);
    if (run === undefined) return undefined;
    const { session, turn } = run;
    const { generation, owner } = lease;
    const at = session * SEQS + seq;
    // A journal only grows at its end: if another append came in between, the position is already used and the insert
    // fails. So a known end is not looked up. A look-up would read the table that is written.
    const isKnown = run.generation === generation && run.length === seq;
    const text = seal(encodeEvents(events), at + turn);
    const until = now + this.#db.leaseMs;
    const values = [at, events.length, until, text, session, generation, turn, owner.id] as const;
    try {
      const count = isKnown
        ? this.#db.run(INSERT_NEXT, ...values)
        : this.#db.run(INSERT_AFTER, ...values, (session + 1) * SEQS, at);
      if (count === 0) return undefined;
    } catch (error) {
      if (isConstraint(error)) return undefined;
      throw error;
    }
    run.generation = generation;
    run.length = seq + events.length;
    return this.#appended;
  }

  renew(lease: Lease, now: number): Awaitable<Mail | undefined> {
    return this.#db.writeOne(false, () => this.#renew(lease, now), this.#db.heldMs);
  }

  #renew(lease: Lease, now: number): Mail | undefined {
    const run = this.#find(lease);
    if (run === undefined) return undefined;
    const { leaseMs: heldMs } = this.#db;
    const { generation, owner } = lease;
    // The session's row contains the length of the journal at the last renewal. Only this shows that events at its end
    // are missing.
    const written = run.generation === generation ? (run.length ?? 0) : 0;
    const values = [now + heldMs, written, run.session, generation, run.turn, owner.id, now] as const;
    const [row] = this.#db.rows<MailRow>(RENEW, ...values);
    if (row === undefined || row.could_be_resolved === 1) return undefined;
    const { cancel, is_followed: isFollowed } = row;
    return {
      heldMs,
      ...(cancel === null ? {} : { cancel: unseal(cancel, run.turn, `The cancel of turn ${run.turn}`) }),
      ...(isFollowed === 1 ? { isFollowed: true } : {}),
    };
  }

  /** Usually there is nothing to claim at a boundary, and then no write lock is needed. */
  claim(
    lease: Lease,
    boundary: EffectName,
    _max: number,
    takes?: true | "appends",
  ): Awaitable<readonly PendingInput[] | undefined> {
    const could = takes === true ? COULD_TAKE : COULD_CLAIM;
    const isNothing = this.#db.read(() => {
      const run = this.#find(lease);
      const values = run && ([run.session, run.turn, lease.generation, lease.owner.id, boundary] as const);
      return values !== undefined && this.#db.row(could, ...values) === undefined;
    });
    return andThen(isNothing, (is) => (is ? NO_INPUTS : undefined));
  }

  // ── Commits ───────────────────────────────────────────────────────────────────────────────────────────────────────

  commit(lease: Lease, turn: EndedTurn): Awaitable<Committed | undefined> {
    const { turnId, config, parts, spawns } = turn;
    const isOrdinary = config === undefined && parts === undefined && spawns === undefined;
    if (!isOrdinary || lease.turnId !== turnId) return undefined;
    return this.#db.write(true, () => this.#commit(lease, turn), this.#db.heldMs);
  }

  #commit(lease: Lease, turn: EndedTurn): Committed | undefined {
    const db = this.#db;
    const row = db.row<EndingRow>(ENDING, turn.turnId);
    if (row === undefined || row.done !== null || row.ended_by !== null || row.cancel !== null) return undefined;
    const { n, id, session: of, latest } = row;
    const isHeld = row.open === n && row.generation === lease.generation && row.owner === lease.owner.id;
    const { at, outcome, usage, inputs, entries, base, plugins, spent, summary, journal } = turn;
    const isOfOwnInput = inputs.length === 1 && inputs[0] === row.input_id;
    if (!isHeld || row.sessionId !== lease.sessionId || row.has_more === 1) return undefined;
    const memo = this.#memos.at(of, row.revision);
    const { row: session, tip } = memo;
    const head = tip === undefined ? undefined : nodeId(tip.name, session.head_index!);
    if (head !== base) return undefined;

    const done = latest + 1;
    const revision = session.revision + 1;
    const isEmpty = entries.length === 0;
    const own = { name: id, depth: (tip?.depth ?? -1) + 1 };
    if (!isEmpty) {
      const parent = [session.head, session.head_index] as const;
      const bones = [n, of, session.revision, own.depth, ...parent, entries.length, 0, keyText(id)] as const;
      db.run(LAY, ...bones, seal(encodeEntries(entries, id), sumOf(bones)));
    }
    const rows = bookSpent(db, of, spent, done, session.revision === 0);
    const states = changedStates(memo.plugins, plugins);
    for (const [name, json] of states) {
      const plugin = keyText(name);
      const body = sealText(json, sumOf([of, plugin, revision]));
      db.run("INSERT INTO state VALUES (?, ?, ?, ?)", of, plugin, revision, body);
    }
    const used = addUsage(memo.usage, usage);
    const text = JSON.stringify(encodeUsage(used));
    const place = isEmpty ? {} : { head: n, head_index: entries.length - 1 };
    const moved = { ...session, revision, turns: session.turns + 1, ...place, usage: text };
    const listed = { activity: Math.max(row.activity, at), words: keyText(wordsOf(outcome)) };
    const after = { ...moved, ...listed, generation: row.generation, turn: null, owner: null, process: null };
    const { turns, head: segment, head_index: index, activity, words } = after;
    db.run(KEEP, revision, turns, segment, index, text, activity, words, sealOf(after), rows + states.length, of);
    if (after.tags !== null) db.run(MOVE_TAGS, activity, of);
    const newHead = isEmpty ? { revision, head: head ?? null } : { revision };
    const settled = isOfOwnInput ? {} : { inputs };
    const record = journal === undefined ? null : seal(packJournal(journal, entries), n);
    const ended: Ended = {
      at,
      outcome: storedOutcome(outcome, entries),
      usage,
      size: entries.length,
      ...settled,
      ...newHead,
      ...(summary === undefined ? {} : { summary }),
      ...(record === null ? {} : { journal: record.length }),
    };
    const end = seal(encodeEnded(ended), n);
    const open = [row.state, null, null, null];
    const before = sumOf([...open, null, null, null, sumIn(row.input)]);
    db.run(END, done, end, record, sumOf([...open, done, null, sumIn(end), null]) - before, n);
    db.run("DELETE FROM journal WHERE k >= ? AND k < ?", of * SEQS, (of + 1) * SEQS);
    this.#states.moved(of, session.revision, revision, plugins);
    this.#memos.remember({ ...memo, row: after, usage: used, tip: isEmpty ? tip : own, plugins });
    return committedOf({ id, done }, ended);
  }
}

// Constant texts: statements are cached by their text, and a text that is built per call would be compared each time.

const TURN_BY_ID =
  "SELECT t.n AS turn, t.session, s.id AS sessionId FROM turn t JOIN session s ON s.n = t.session WHERE t.id = ?";

interface LeaseRow {
  readonly turn: number | null;
  readonly owner: string;
  readonly process: string;
  /** The end of the lease as it was taken or renewed, and as the last append renewed it. */
  readonly until: number;
  readonly renewed: number;
  readonly is_parked: number;
  readonly has_next: number;
}
const LOOK = `SELECT s.turn, s.owner, s.process, s.until,
    (SELECT until FROM journal WHERE k < (s.n + 1) * ${SEQS} ORDER BY k DESC LIMIT 1) AS renewed,
    EXISTS (SELECT 1 FROM parked WHERE session = s.n) AS is_parked,
    s.turn IS NULL AND EXISTS (SELECT 1 FROM turn WHERE session = s.n AND state = 0 AND is_aside < ${INJECTED}) AS has_next
  FROM session s WHERE s.id = ?`;

interface IdleRow {
  readonly n: number;
  readonly revision: number;
  /** It moves without a revision: when a turn opens, and when one becomes a branch. */
  readonly activity: number;
  readonly generation: number;
  readonly turn: number | null;
  readonly options: string | null;
  readonly sweeps: number;
  readonly has_waiting: number;
  readonly latest: number;
}
const IDLE = `SELECT s.n, s.revision, s.activity, s.generation, s.turn, o.body AS options, ${SWEEPS} AS sweeps,
    EXISTS (SELECT 1 FROM turn WHERE session = s.n AND state = 0) AS has_waiting, ${LATEST_FACT} AS latest
  FROM session s LEFT JOIN options o ON o.session = s.n WHERE s.id = ?`;
const KEY = "SELECT 1 FROM turn WHERE session = ? AND key = ? AND state <> 2";
const ADD_INPUT = `INSERT INTO turn (n, session, id, input_id, state, is_aside, key, hash, input, seal)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const HOLD = `UPDATE session SET generation = ?, turn = ?, owner = ?, process = ?, activity = ?, until = ?, written = 1, seal = ?,
  own_rows = own_rows + 1 WHERE n = ?`;

const FENCE = "generation = ? AND turn = ? AND owner = ?";
const INSERT_NEXT = `INSERT INTO journal SELECT ?, ?, ?, ? FROM session WHERE n = ? AND ${FENCE}`;
const INSERT_AFTER = `${INSERT_NEXT}
  AND (SELECT j.k + j.size FROM journal j WHERE j.k < ? ORDER BY j.k DESC LIMIT 1) = ?`;

interface MailRow {
  readonly cancel: string | null;
  readonly could_be_resolved: number;
  readonly is_followed: number;
}
const RENEW = `UPDATE session SET until = max(until, ?), written = max(written, ?) WHERE n = ? AND ${FENCE}
  RETURNING (SELECT cancel FROM turn t WHERE t.n = session.turn) AS cancel,
    EXISTS (SELECT 1 FROM wait w WHERE w.turn = session.turn AND w.key IS NOT NULL
      AND (w.answer IS NOT NULL OR w.is_turns = 1)) AS could_be_resolved, ${IS_FOLLOWED} AS is_followed`;

// The most common answer is that the lease is valid and there is nothing to claim. So that answer has no row.
const could = (free: string): string => `SELECT 1 FROM meta LEFT JOIN session s ON s.n = ? AND s.turn = ?
    AND s.generation = ? AND s.owner = ?
  WHERE s.n IS NULL OR EXISTS (SELECT 1 FROM turn WHERE session = s.n AND state = 0 AND cancel IS NULL ${free})
    OR EXISTS (SELECT 1 FROM turn WHERE claim = s.turn AND boundary = ?)`;
const COULD_TAKE = could("");
const COULD_CLAIM = could("AND is_aside > 0");

/** A turn and everything that its end depends on, read by one statement because every turn passes here. */
interface EndingRow {
  readonly n: number;
  readonly id: TurnId;
  readonly session: number;
  readonly sessionId: SessionId;
  readonly input_id: string;
  readonly state: number;
  readonly ended_by: number | null;
  readonly done: number | null;
  readonly cancel: string | null;
  /** Only the checksum. */
  readonly input: string | null;
  readonly revision: number;
  readonly activity: number;
  readonly generation: number;
  readonly open: number | null;
  readonly owner: string | null;
  readonly latest: number;
  readonly has_more: number;
}
const ENDING = `SELECT t.n, t.id, t.session, s.id AS sessionId, t.input_id, t.state, t.ended_by, t.done, t.cancel,
    substr(t.input, 1, 8) AS input, s.revision, s.activity, s.generation, s.turn AS open, s.owner, ${LATEST_FACT} AS latest,
    EXISTS (SELECT 1 FROM turn c WHERE c.claim = t.n)
      OR EXISTS (SELECT 1 FROM turn a WHERE a.session = t.session AND a.state = 0 AND a.is_aside = ${APPEND})
      OR EXISTS (SELECT 1 FROM wait WHERE turn = t.n AND key IS NOT NULL) OR EXISTS (SELECT 1 FROM note WHERE turn = t.n)
      OR EXISTS (SELECT 1 FROM attempt WHERE turn = t.n) OR EXISTS (SELECT 1 FROM preview WHERE session = t.session)
      OR EXISTS (SELECT 1 FROM job WHERE parent = 'turn/' || t.id) AS has_more
  FROM turn t JOIN session s ON s.n = t.session WHERE t.id = ?`;
const LAY = `INSERT INTO segment (n, session, revision, depth, parent, parent_index, size, is_branch, name, users, is_named,
    entries)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0, ?)`;
const KEEP = `UPDATE session SET revision = ?, turns = ?, head = ?, head_index = ?, usage = ?, activity = ?, words = ?, seal = ?,
  own_rows = own_rows + ?, turn = NULL, owner = NULL, process = NULL, until = 0 WHERE n = ?`;
const MOVE_TAGS = "UPDATE session_tag SET activity = ? WHERE session = ?";
const END = "UPDATE turn SET done = ?, ended = ?, input = ?, seal = seal + ? WHERE n = ?";
