import { RuntimeError } from "../../model/errors.ts";
import { type NodeId, nodeId } from "../../model/ids.ts";
import { totalOf } from "../../model/usage.ts";
import { keyText } from "../rows/codec.ts";
import { contentOf } from "../rows/content.ts";
import { committedOf, type Ended, told } from "../rows/ended.ts";
import { leaseLost } from "../rows/faults.ts";
import type { ChangeAnswer, CommitAnswer, Committed, EndedTurn, Lease, SessionChange } from "../store.ts";
import { appendRow, newAppend, waitingAppends } from "./appends.ts";
import type { Blobs } from "./blobs.ts";
import type { Connection } from "./connection.ts";
import { receiptOf, requestOf, sealEnded, type TurnRow } from "./endings.ts";
import { cursorOf, LATEST_FACT, latestFact } from "./facts.ts";
import { isOnPath, lay, numberOf, type Place, requirePlace, type Tip, tipOf, use } from "./graph.ts";
import { addRow, countWaiting, removeRow, settle } from "./inputs.ts";
import { turnAsParent } from "./job-row.ts";
import type { Jobs } from "./jobs.ts";
import { forgetJournal } from "./journal.ts";
import { forgetShown } from "./live.ts";
import { addOperation, appliedOf, forgetNotes, hasPart, keepParts, operationRow } from "./operations.ts";
import { countRows } from "./own-rows.ts";
import { bookSpent, headId, headOf, type Memo, type SessionRow, type Sessions } from "./sessions.ts";
import { APPEND, sealMoves, UNCLAIMED } from "./turn-row.ts";
import { endWaits, openWaits } from "./waits.ts";

/** A turn and all that its end depends on: read by one statement, since every turn passes here. */
interface EndingRow
  extends Omit<TurnRow, "is_aside" | "key" | "hash" | "claim" | "boundary" | "seal">,
    Pick<SessionRow, "revision" | "generation" | "turn"> {
  readonly latest: number;
  readonly has_claims: number;
  readonly has_appends: number;
  readonly has_more: number;
  readonly has_jobs: number;
}
const ENDING = `SELECT t.n, t.id, t.session, s.id AS sessionId, t.input_id, t.state, t.ended_by, t.done, t.cancel, t.ended,
    substr(t.input, 1, 8) AS input, s.revision, s.generation, s.turn, ${LATEST_FACT} AS latest,
    EXISTS (SELECT 1 FROM turn c WHERE c.claim = t.n) AS has_claims,
    EXISTS (SELECT 1 FROM turn a WHERE a.session = t.session AND a.state = 0 AND a.is_aside = ${APPEND}) AS has_appends,
    EXISTS (SELECT 1 FROM wait WHERE turn = t.n AND key IS NOT NULL) OR EXISTS (SELECT 1 FROM note WHERE turn = t.n)
      OR EXISTS (SELECT 1 FROM attempt WHERE turn = t.n) OR EXISTS (SELECT 1 FROM preview WHERE session = t.session)
      AS has_more,
    EXISTS (SELECT 1 FROM job WHERE parent = '${turnAsParent("")}' || t.id) AS has_jobs
  FROM turn t JOIN session s ON s.n = t.session WHERE t.id = ?`;

type Kept = Pick<Ended, "revision" | "head" | "branch" | "plugins">;

export class Commits {
  readonly #db: Connection;
  readonly #sessions: Sessions;
  readonly #jobs: Jobs;
  readonly #blobs: Blobs;

  constructor(db: Connection, sessions: Sessions, blobs: Blobs, jobs: Jobs) {
    this.#db = db;
    this.#sessions = sessions;
    this.#jobs = jobs;
    this.#blobs = blobs;
  }

  commit(lease: Lease, turn: EndedTurn): CommitAnswer {
    const db = this.#db;
    const row = db.row<EndingRow>(ENDING, turn.turnId);
    if (row === undefined) throw leaseLost(lease);
    if (row.done !== null || row.ended_by !== null) {
      const receipt = receiptOf(db, turn);
      // Another worker took the turn over and ended it.
      if (receipt === "conflict" && row.generation !== lease.generation) throw leaseLost(lease);
      if (receipt === "conflict") throw new RuntimeError("store.conflict", { turnId: turn.turnId });
      if (receipt !== undefined) return receipt;
    }
    const isHeld = row.turn === row.n && row.generation === lease.generation && row.sessionId === lease.sessionId;
    if (!isHeld || lease.turnId !== turn.turnId) throw leaseLost(lease);
    const cancel = row.cancel === null ? undefined : requestOf(row.n, row.cancel);
    if (cancel !== undefined && cancel.requestId !== turn.cancel) return { kind: "reopen", cancel };

    const memo = this.#sessions.memo({ n: row.session, revision: row.revision, id: row.sessionId });
    const done = row.latest + 1;
    const head = headId(memo.row, memo.tip);
    const kept = head === turn.base ? this.#advance(memo, row, turn, head) : this.#branch(memo, row, turn, head);
    const { at, outcome, usage, inputs, entries } = turn;
    const isOwnInput = inputs.length === 1 && inputs[0] === row.input_id;
    const ended: Ended = {
      at,
      outcome: told(outcome, entries),
      usage,
      size: entries.length,
      ...(isOwnInput ? {} : { inputs }),
      ...kept,
    };
    const text = sealEnded(ended, row.n);
    const open = { ...UNCLAIMED, state: row.state, cancel: row.cancel, input: row.input };
    const moves = sealMoves(open, { ...open, done, ended: text, input: null });
    db.run("UPDATE turn SET done = ?, ended = ?, input = NULL, seal = seal + ? WHERE n = ?", done, text, moves, row.n);
    const givesAppendsBack = row.has_claims === 1 && settle(db, row.n, inputs);
    forgetJournal(db, row.session);
    if (row.has_more === 1) {
      forgetShown(db, row.session);
      endWaits(db, openWaits(db, row.n));
      for (const table of ["note", "attempt"])
        countRows(db, row.session, -db.run(`DELETE FROM ${table} WHERE turn = ?`, row.n));
    }
    if (turn.parts !== undefined) {
      countRows(db, row.session, keepParts(db, row.session, turn.parts));
      for (const { operation } of turn.parts) countRows(db, row.session, forgetNotes(db, row.session, operation));
    }
    if (row.has_appends === 1 || givesAppendsBack)
      for (const { change, ...append } of waitingAppends(db, row.session)) {
        removeRow(db, append);
        countRows(db, row.session, -1);
        if (!hasPart(db, row.session, change.operation))
          this.#keep(this.#sessions.require(row.sessionId), change, append.hash);
      }
    const { spawns = [] } = turn;
    this.#jobs.spawnAll(spawns, at);
    if (row.has_jobs === 1 || spawns.length > 0) this.#jobs.turnEnded(row.id, at);
    return committedOf({ id: row.id, done }, ended);
  }

  #advance(memo: Memo, row: EndingRow, turn: EndedTurn, head: NodeId | undefined): Kept {
    const db = this.#db;
    const { row: session, tip } = memo;
    const { entries, plugins, usage, spent, config } = turn;
    const own: Tip = { name: row.id, depth: (tip?.depth ?? -1) + 1 };
    const of = { n: row.n, ...own, isNamed: false, isBranch: false };
    const place = entries.length === 0 ? headOf(session) : lay(db, of, session, headOf(session), entries);
    // Under the fact of this commit: a change just before it has `latest`.
    const rows = bookSpent(db, session, spent, row.latest + 1);
    const next = { place, tip: entries.length === 0 ? tip : own, turns: session.turns + 1, usage, rows };
    const changed = config === undefined ? { plugins } : { plugins, config };
    const revision = this.#sessions.keep(memo, row.generation, next, changed);
    return entries.length > 0 ? { revision } : { revision, head: head ?? null };
  }

  /** The head moved during the turn: its paid work is kept beside the path, and the session goes on without it. */
  #branch({ row: session }: Memo, row: EndingRow, turn: EndedTurn, head: NodeId | undefined): Kept {
    const db = this.#db;
    const { entries, base, plugins } = turn;
    const kept = { revision: session.revision, head: head ?? null, plugins };
    const at = base === undefined ? undefined : requirePlace(db, base);
    this.#sessions.endLease(session, row.generation);
    if (entries.length === 0) return base === undefined ? kept : { ...kept, branch: base };
    const depth = at === undefined ? 0 : tipOf(db, at.segment).depth + 1;
    lay(db, { n: row.n, name: row.id, depth, isNamed: false, isBranch: true }, session, at, entries);
    if (at !== undefined) use(db, at);
    return { ...kept, branch: nodeId(row.id, entries.length - 1) };
  }

  apply(change: SessionChange): ChangeAnswer {
    const db = this.#db;
    const session = this.#sessions.require(change.sessionId);
    const { operation, base, requires, queueMax, entries, plugins, receipt, parts, spawns } = change;
    const content = contentOf(change);
    const conflict = () => new RuntimeError("append.conflict", { operation });
    const before = operationRow(db, session.n, operation);
    if (before !== undefined) {
      const { committed } = appliedOf(before);
      if (before.hash !== content) throw conflict();
      return committed;
    }
    const queued = appendRow(db, operation);
    if (queued !== undefined) {
      if (queued.hash !== content || queued.session !== session.n) throw conflict();
      return { kind: "queued" };
    }
    if (session.turn !== null && queueMax === undefined) return { kind: "busy" };
    const { revision: now } = session;
    if (change.by === "append" && hasPart(db, session.n, operation)) return { kind: "stale", revision: now };
    if (base !== undefined && base !== now) return { kind: "stale", revision: now };
    if (requires !== undefined && !isOnPath(db, headOf(session), requires)) return { kind: "stale", revision: now };
    this.#blobs.keepNamed(() => JSON.stringify([entries, plugins, receipt, parts, spawns]));
    if (session.turn === null) return this.#keep(session, change, content);

    // The commit that applies it must not fail for its name.
    if (numberOf(db, operation) !== undefined) throw conflict();
    addRow(db, newAppend(latestFact(db) + 1, session.n, change, content));
    countRows(db, session.n, 1);
    if (countWaiting(db, session.n) > queueMax!) throw new RuntimeError("input.full", { max: queueMax! });
    return { kind: "queued" };
  }

  /** Makes a change between turns. */
  #keep(session: SessionRow, change: SessionChange, content: string): Committed {
    const db = this.#db;
    const n = latestFact(db) + 1;
    const memo = this.#sessions.memo(session);
    const { place, tip } = this.#extended(memo, n, change);
    const { operation, plugins, config, spent = [], by, receipt, parts = [] } = change;
    const noted = forgetNotes(db, session.n, operation) + keepParts(db, session.n, parts);
    const rows = 1 + bookSpent(db, session, spent, n) + noted;
    const revision = this.#sessions.keep(
      memo,
      session.generation,
      { place, tip, turns: session.turns, usage: totalOf(spent), rows },
      {
        ...(plugins === undefined ? {} : { plugins: { ...memo.plugins, ...plugins } }),
        ...(config === undefined ? {} : { config }),
      },
    );
    const committed: Committed = {
      kind: "committed",
      revision,
      ...(place === undefined || tip === undefined ? {} : { head: nodeId(tip.name, place.index) }),
      cursor: cursorOf(n),
    };
    const row = { n, session: session.n, name: keyText(operation), hash: content };
    addOperation(db, row, committed, { by, receipt });
    if (change.spawns !== undefined) this.#jobs.spawnAll(change.spawns, change.at);
    return committed;
  }

  #extended(
    { row, tip }: Memo,
    n: number,
    { operation, entries = [] }: SessionChange,
  ): { readonly place: Place | undefined; readonly tip: Tip | undefined } {
    const db = this.#db;
    const head = headOf(row);
    if (entries.length === 0) return { place: head, tip };
    // Nodes are named by their operation: the same name in another session would give two nodes one id.
    if (numberOf(db, operation) !== undefined) throw new RuntimeError("append.conflict", { operation });
    const own: Tip = { name: operation, depth: (tip?.depth ?? -1) + 1 };
    return { place: lay(db, { n, ...own, isNamed: true, isBranch: false }, row, head, entries), tip: own };
  }
}
