import { RuntimeError } from "../../model/errors.ts";
import { type NodeId, nodeId } from "../../model/ids.ts";
import { addUsage, totalOf, type Usage } from "../../model/usage.ts";
import { encodeUsage, keyText } from "../rows/codec.ts";
import { contentOf } from "../rows/content.ts";
import { committedOf, type Ended, encodeEnded, told } from "../rows/ended.ts";
import { leaseLost } from "../rows/faults.ts";
import { changedStates } from "../rows/states.ts";
import type { ChangeAnswer, CommitAnswer, Committed, EndedTurn, Lease, SessionChange } from "../store.ts";
import type { Blobs } from "./blobs.ts";
import type { Database, Transaction, Value } from "./database.ts";
import { receiptOf, requestOf, TURN_COLUMNS, type TurnRow } from "./endings.ts";
import { APPLIED, addFact, cursorOf, ENDED, NEXT_FACT } from "./facts.ts";
import {
  isOnPath,
  lay,
  numberOf,
  type Place,
  requirePlace,
  SEGMENT_COLUMNS,
  segmentRow,
  type Tip,
  tipOf,
  use,
} from "./graph.ts";
import { payloadOf } from "./hints.ts";
import { addAppend, appendRow, settle, waitingAppends } from "./inputs.ts";
import type { Jobs } from "./jobs.ts";
import { isHeldBy, type Journals, type Run } from "./journal.ts";
import { addOperation, appliedOf, forgetNotes, hasPart, keepParts, operationRow } from "./operations.ts";
import { lockNumber, requireLocked, type SessionRow } from "./session-row.ts";
import { bookSpent, bookStatement, bookValues, headId, headOf, type Memo, type Sessions } from "./sessions.ts";
import { keepStates } from "./states.ts";
import { endWaits, openWaits } from "./waits.ts";

/**
 * What ends a turn, and what changes a session between turns: whole or not at all.
 *
 * 1. Most turns end plainly: on the head they ran on, with nothing but a journal, not cancelled. Such a commit is one
 *    statement. What makes it plain is its condition, read on the session's row as it is under the lock.
 * 2. All others are done step by step under the lock of the session.
 * 3. What is remembered of a session is what was kept: a memo is remembered after its transaction, not in it.
 */

// The parameters: session, turn, generation, revision; head index, usage; the columns of the segment; how it ended; the
// states that changed; the ledger; the hint; the owner.
const SEGMENT_FROM = 7;
const ENDED_AT = SEGMENT_FROM + 12;
const STATES_FROM = ENDED_AT + 1;
const LEDGER_FROM = STATES_FROM + 2;
const HINT_FROM = LEDGER_FROM + 11;
const SEGMENT_TYPES = "bigint bigint bigint bigint bigint integer integer integer boolean boolean text text".split(" ");
const SEGMENT = SEGMENT_TYPES.map((type, index) => `$${SEGMENT_FROM + index}::${type}`).join(", ");
const COMMIT = `WITH s AS (
    UPDATE @session SET revision = revision + 1, turns = turns + 1, head = $2, head_index = $5, usage = $6, turn = NULL,
      owner = NULL, process = NULL, until = 0, length = 0
    WHERE n = $1 AND turn = $2 AND generation = $3 AND owner = $${HINT_FROM + 2} AND revision = $4 AND NOT has_more AND NOT is_cancelled
    RETURNING n, revision, CASE WHEN followed > 0 THEN n END AS shown),
  v AS (DELETE FROM @preview WHERE session = (SELECT shown FROM s)),
  g AS (INSERT INTO @segment (${SEGMENT_COLUMNS}) SELECT ${SEGMENT} FROM s),
  p AS (INSERT INTO @state SELECT s.n, c.plugin, s.revision, c.body
    FROM s, unnest($${STATES_FROM}::text[], $${STATES_FROM + 1}::text[]) AS c(plugin, body)),
  l AS (${bookStatement("s.n", "s,", LEDGER_FROM)}),
  j AS (DELETE FROM @journal WHERE session = (SELECT n FROM s)),
  f AS (${NEXT_FACT} AND EXISTS (SELECT 1 FROM s) RETURNING value),
  t AS (UPDATE @turn t SET done = f.value, ended = $${ENDED_AT}, input = NULL FROM s, f WHERE t.n = $2),
  a AS (INSERT INTO @fact SELECT f.value, s.n, ${ENDED}, $2 FROM s, f)
  SELECT f.value AS done, pg_notify($${HINT_FROM}, $${HINT_FROM + 1}) FROM s, f`;

const KEEP = `UPDATE @session SET revision = $2, turns = $3, head = $4, head_index = $5, usage = $6 WHERE n = $1`;
const END_LEASE = `UPDATE @session SET turn = NULL, owner = NULL, process = NULL, until = 0, length = 0, has_more = false,
  is_cancelled = false, waiting = waiting + $2 WHERE n = $1`;

type Kept = Pick<Ended, "revision" | "head" | "branch" | "plugins">;

export class Commits {
  readonly #db: Database;
  readonly #sessions: Sessions;
  readonly #journals: Journals;
  readonly #jobs: Jobs;
  readonly #blobs: Blobs;

  constructor(db: Database, sessions: Sessions, journals: Journals, jobs: Jobs, blobs: Blobs) {
    this.#db = db;
    this.#sessions = sessions;
    this.#journals = journals;
    this.#jobs = jobs;
    this.#blobs = blobs;
  }

  async commit(lease: Lease, turn: EndedTurn): Promise<CommitAnswer> {
    const run = await this.#journals.find(this.#db, lease.turnId);
    const known = this.#sessions.known(lease.sessionId);
    if (run !== undefined && known !== undefined && isPlain(known, run, lease, turn)) {
      const committed = await this.#commitAtOnce(known, run, lease, turn);
      if (committed !== undefined) return committed;
    }
    const db = this.#db;
    const { answer, memo } = await db.write((tx) => this.#commit(tx, lease, turn), db.heldMs);
    if (memo !== undefined) this.#sessions.remember(memo);
    else this.#sessions.forget(lease.sessionId);
    return answer;
  }

  /** Commits in one statement (1); undefined when that cannot be done, and nothing was written. */
  async #commitAtOnce(known: Memo, run: Run, lease: Lease, turn: EndedTurn): Promise<Committed | undefined> {
    const { row, tip } = known;
    const { entries, turnId } = turn;
    const own: Tip = { name: turnId, depth: (tip?.depth ?? -1) + 1 };
    const usage = addUsage(known.usage, turn.usage);
    const revision = row.revision + 1;
    const ended = endedAs(turn, { revision }, run.inputId);
    const states = changedStates(known.plugins, turn.plugins);
    const session = { n: row.n, revision: row.revision };
    const segment = { n: run.turn, ...own, isNamed: false, isBranch: false };
    const text = JSON.stringify(encodeUsage(usage));
    const values: Value[] = [
      ...[row.n, run.turn, lease.generation, row.revision, entries.length - 1, text],
      ...segmentRow(segment, session, headOf(row), entries),
      JSON.stringify(encodeEnded(ended)),
      states.map(([plugin]) => keyText(plugin)),
      states.map(([, body]) => body),
      ...bookValues(turn.spent),
      this.#db.channel,
      payloadOf({ kind: "session", sessionId: row.id, what: "fact" }),
      lease.owner.id,
    ];
    const [found] = await this.#db.heldRows<{ done: number }>(COMMIT, ...values);
    if (found === undefined) return undefined;
    const head = { head: run.turn, head_index: entries.length - 1 };
    const after = {
      ...row,
      ...head,
      revision,
      turns: row.turns + 1,
      usage: text,
      turn: null,
      generation: lease.generation,
    };
    this.#sessions.remember({ ...known, row: after, usage, tip: own, plugins: turn.plugins });
    return committedOf({ id: turnId, done: found.done }, ended);
  }

  async #commit(
    tx: Transaction,
    lease: Lease,
    turn: EndedTurn,
  ): Promise<{ readonly answer: CommitAnswer; readonly memo?: Memo }> {
    const run = await this.#journals.find(tx, turn.turnId);
    const session = run && (await lockNumber(tx, run.session));
    const row = session && (await tx.row<TurnRow>(`SELECT ${TURN_COLUMNS} FROM @turn t WHERE t.n = $1`, run.turn));
    if (row === undefined || session === undefined) throw leaseLost(lease);
    if (row.done !== null || row.ended_by !== null) {
      const receipt = await receiptOf(tx, turn);
      // Another worker took the turn over and ended it.
      if (receipt === "conflict" && session.generation !== lease.generation) throw leaseLost(lease);
      if (receipt === "conflict") throw new RuntimeError("store.conflict", { turnId: turn.turnId });
      if (receipt !== undefined) return { answer: receipt };
    }
    const isHeld = session.turn === row.n && isHeldBy(session, lease) && session.id === lease.sessionId;
    if (!isHeld || lease.turnId !== turn.turnId) throw leaseLost(lease);
    const cancel = row.cancel === null ? undefined : requestOf(row);
    if (cancel !== undefined && cancel.requestId !== turn.cancel) return { answer: { kind: "reopen", cancel } };
    return this.#end(tx, session, row, turn);
  }

  async #end(
    tx: Transaction,
    session: SessionRow,
    row: TurnRow,
    turn: EndedTurn,
  ): Promise<{ readonly answer: Committed; readonly memo: Memo }> {
    const before = await this.#sessions.memo(tx, session);
    const head = headId(session, before.tip);
    const isOnHead = head === turn.base;
    const next = isOnHead
      ? this.#advance(tx, before, row, turn, head)
      : await this.#branch(tx, before, row, turn, head);
    const ended = endedAs(turn, next.kept, row.input_id);
    const back = await settle(tx, row.n, turn.inputs);
    tx.queue(END_LEASE, session.n, back);
    tx.queue("DELETE FROM @journal WHERE session = $1", session.n);
    if (session.followed > 0) tx.queue("DELETE FROM @preview WHERE session = $1", session.n);
    endWaits(tx, await openWaits(tx, row.n));
    for (const table of ["note", "attempt"]) tx.queue(`DELETE FROM @${table} WHERE turn = $1`, row.n);
    const { spawns = [], parts = [], at } = turn;
    keepParts(tx, session.n, parts);
    forgetNotes(tx, session.n, ...parts.map(({ operation }) => operation));
    await this.#jobs.spawnAll(tx, spawns, at);
    await this.#jobs.turnEnded(tx, row.id, at);
    // Facts come last, for the sake of the order of locks: first this end, then the appends that waited for it.
    const done = await addFact(tx, session.n, ENDED, row.n);
    tx.queue(
      "UPDATE @turn SET done = $2, ended = $3, input = NULL WHERE n = $1",
      row.n,
      done,
      JSON.stringify(encodeEnded(ended)),
    );
    let memo = next.memo;
    for (const { change, ...append } of await waitingAppends(tx, session.n)) {
      tx.queue("DELETE FROM @turn WHERE n = $1", append.n);
      tx.queue("UPDATE @session SET waiting = waiting - 1 WHERE n = $1", session.n);
      if (!(await hasPart(tx, session.n, change.operation)))
        ({ memo } = await this.#keep(tx, memo, change, append.hash));
    }
    tx.hint(payloadOf({ kind: "session", sessionId: session.id, what: "fact" }));
    return { answer: committedOf({ id: row.id, done }, ended), memo };
  }

  #advance(
    tx: Transaction,
    before: Memo,
    row: TurnRow,
    turn: EndedTurn,
    head: NodeId | undefined,
  ): { readonly kept: Kept; readonly memo: Memo } {
    const { row: session, tip } = before;
    const { entries, plugins, usage, spent, config } = turn;
    const own: Tip = { name: row.id, depth: (tip?.depth ?? -1) + 1 };
    const of = { n: row.n, ...own, isNamed: false, isBranch: false };
    const isEmpty = entries.length === 0;
    const place = isEmpty ? headOf(session) : lay(tx, of, session, headOf(session), entries);
    bookSpent(tx, session.n, spent);
    const next = { place, tip: isEmpty ? tip : own, turns: session.turns + 1, usage };
    const memo = this.#moved(tx, before, next, config === undefined ? { plugins } : { plugins, config });
    const { revision } = memo.row;
    return { kept: isEmpty ? { revision, head: head ?? null } : { revision }, memo };
  }

  /** The head moved during the turn: its paid work is kept beside the path, and the session goes on without it. */
  async #branch(
    tx: Transaction,
    before: Memo,
    row: TurnRow,
    { entries, base, plugins }: EndedTurn,
    head: NodeId | undefined,
  ): Promise<{ readonly kept: Kept; readonly memo: Memo }> {
    const { row: session } = before;
    const memo = { ...before, row: { ...session, turn: null } };
    const kept = { revision: session.revision, head: head ?? null, plugins };
    const at = base === undefined ? undefined : await requirePlace(tx, base);
    if (entries.length === 0) return { kept: base === undefined ? kept : { ...kept, branch: base }, memo };
    const depth = at === undefined ? 0 : (await tipOf(tx, at.segment)).depth + 1;
    lay(tx, { n: row.n, name: row.id, depth, isNamed: false, isBranch: true }, session, at, entries);
    if (at !== undefined) use(tx, at);
    return { kept: { ...kept, branch: nodeId(row.id, entries.length - 1) }, memo };
  }

  /** Writes what a commit or a change made of a session, and answers the session as it is then. */
  #moved(
    tx: Transaction,
    before: Memo,
    next: {
      readonly place: Place | undefined;
      readonly tip: Tip | undefined;
      readonly turns: number;
      /** To be added to the session's. */
      readonly usage: Usage;
    },
    change: Partial<Pick<Memo, "config" | "plugins">>,
  ): Memo {
    const { row } = before;
    const revision = row.revision + 1;
    if (change.plugins !== undefined) keepStates(tx, row.n, revision, changedStates(before.plugins, change.plugins));
    if (change.config !== undefined)
      tx.queue("UPDATE @profile SET config = $2 WHERE session = $1", row.n, JSON.stringify(change.config));
    const usage = addUsage(before.usage, next.usage);
    const text = JSON.stringify(encodeUsage(usage));
    const [head, head_index] = [next.place?.segment ?? null, next.place?.index ?? null];
    tx.queue(KEEP, row.n, revision, next.turns, head, head_index, text);
    const after = { ...row, revision, turns: next.turns, head, head_index, usage: text, turn: null };
    return { ...before, ...change, row: after, usage, tip: next.tip };
  }

  // ── Between turns ─────────────────────────────────────────────────────────────────────────────────────────────────

  async apply(change: SessionChange): Promise<ChangeAnswer> {
    const { answer, memo } = await this.#db.write((tx) => this.#apply(tx, change));
    if (memo !== undefined) this.#sessions.remember(memo);
    return answer;
  }

  async #apply(
    tx: Transaction,
    change: SessionChange,
  ): Promise<{ readonly answer: ChangeAnswer; readonly memo?: Memo }> {
    const session = await requireLocked(tx, change.sessionId);
    const { operation, base, requires, queueMax, entries, plugins, receipt, parts, spawns } = change;
    const content = contentOf(change);
    const conflict = () => new RuntimeError("append.conflict", { operation });
    const [before, queued] = await Promise.all([operationRow(tx, session.n, operation), appendRow(tx, operation)]);
    if (before !== undefined) {
      if (before.hash !== content) throw conflict();
      return { answer: appliedOf(before).committed };
    }
    if (queued !== undefined) {
      if (queued.hash !== content || queued.session !== session.n) throw conflict();
      return { answer: { kind: "queued" } };
    }
    if (session.turn !== null && queueMax === undefined) return { answer: { kind: "busy" } };
    const stale = { answer: { kind: "stale", revision: session.revision } } as const;
    if (change.by === "append" && (await hasPart(tx, session.n, operation))) return stale;
    if (base !== undefined && base !== session.revision) return stale;
    if (requires !== undefined && !(await isOnPath(tx, headOf(session), requires))) return stale;
    await this.#blobs.keepNamed(tx, () => JSON.stringify([entries, plugins, receipt, parts, spawns]));
    if (session.turn === null) {
      const { committed, memo } = await this.#keep(tx, await this.#sessions.memo(tx, session), change, content);
      tx.hint(payloadOf({ kind: "session", sessionId: session.id, what: "fact" }));
      return { answer: committed, memo };
    }
    // The commit that applies it must not fail for its name.
    if ((await numberOf(tx, operation)) !== undefined) throw conflict();
    if (session.waiting + 1 > queueMax!) throw new RuntimeError("input.full", { max: queueMax! });
    addAppend(tx, session.n, change, content);
    tx.hint(payloadOf({ kind: "session", sessionId: session.id, what: "input" }));
    return { answer: { kind: "queued" } };
  }

  /** Makes a change between turns. */
  async #keep(
    tx: Transaction,
    before: Memo,
    change: SessionChange,
    content: string,
  ): Promise<{ readonly committed: Committed; readonly memo: Memo }> {
    const { row: session } = before;
    const { operation, plugins, config, spent = [], by, receipt, parts = [], spawns = [] } = change;
    const { n } = (await tx.row<{ n: number }>("SELECT pg_catalog.nextval('@number'::regclass) AS n"))!;
    const { place, tip } = await this.#extended(tx, before, n, change);
    forgetNotes(tx, session.n, operation);
    keepParts(tx, session.n, parts);
    bookSpent(tx, session.n, spent);
    const memo = this.#moved(
      tx,
      before,
      { place, tip, turns: session.turns, usage: totalOf(spent) },
      {
        ...(plugins === undefined ? {} : { plugins: { ...before.plugins, ...plugins } }),
        ...(config === undefined ? {} : { config }),
      },
    );
    await this.#jobs.spawnAll(tx, spawns, change.at);
    const fact = await addFact(tx, session.n, APPLIED, n);
    const committed: Committed = {
      kind: "committed",
      revision: memo.row.revision,
      ...(place === undefined || tip === undefined ? {} : { head: nodeId(tip.name, place.index) }),
      cursor: cursorOf(fact),
    };
    addOperation(tx, { n, session: session.n, name: keyText(operation), hash: content }, committed, { by, receipt });
    return { committed, memo };
  }

  async #extended(
    tx: Transaction,
    { row, tip }: Memo,
    n: number,
    { operation, entries = [] }: SessionChange,
  ): Promise<{ readonly place: Place | undefined; readonly tip: Tip | undefined }> {
    if (entries.length === 0) return { place: headOf(row), tip };
    // Nodes are named by their operation: the same name in another session would give two nodes one id.
    if ((await numberOf(tx, operation)) !== undefined) throw new RuntimeError("append.conflict", { operation });
    const own: Tip = { name: operation, depth: (tip?.depth ?? -1) + 1 };
    return { place: lay(tx, { n, ...own, isNamed: true, isBranch: false }, row, headOf(row), entries), tip: own };
  }
}

/** Whether a turn may end by one statement: it adds nodes to the head it ran on, and nothing out of the ordinary. */
function isPlain({ row, tip }: Memo, run: Run, lease: Lease, turn: EndedTurn): boolean {
  const { entries, base, config, parts = [], spawns = [], inputs, cancel } = turn;
  const isOwn = lease.turnId === turn.turnId && row.turn === run.turn;
  const isOrdinary = config === undefined && parts.length === 0 && spawns.length === 0 && cancel === undefined;
  const isOfOwnInput = inputs.length === 1 && inputs[0] === run.inputId;
  return isOwn && isOrdinary && isOfOwnInput && entries.length > 0 && headId(row, tip) === base;
}

function endedAs(turn: EndedTurn, kept: Kept, own: TurnRow["input_id"] | undefined): Ended {
  const { at, outcome, usage, inputs, entries } = turn;
  const isOwnInput = inputs.length === 1 && inputs[0] === own;
  return {
    at,
    outcome: told(outcome, entries),
    usage,
    size: entries.length,
    ...(isOwnInput ? {} : { inputs }),
    ...kept,
  };
}
