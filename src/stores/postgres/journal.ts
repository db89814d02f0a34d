import { isDeepStrictEqual } from "node:util";
import { RuntimeError } from "../../model/errors.ts";
import type { InputId, SessionId, TurnId } from "../../model/ids.ts";
import type { Opened, TurnEvent } from "../../turn/event.ts";
import { decodeEvents, decodeOpened, type EncodedOpened, encodeEvents, encodeOpened } from "../rows/codec.ts";
import { corrupt, leaseLost } from "../rows/faults.ts";
import type { Appended, JobSpawn, Lease, Mail, NewInput, NewWait } from "../store.ts";
import { clock, type Database, type Transaction } from "./database.ts";
import { requestOf, type TurnRow } from "./endings.ts";
import { inputOf } from "./inputs.ts";
import type { Jobs } from "./jobs.ts";
import { lockNumber, type SessionRow } from "./session-row.ts";
import { parsed } from "./text.ts";
import { addWaits, resolvedOf } from "./waits.ts";

/**
 * The journals of open turns, and the leases that fence them. Who may take a turn (`turns.ts`) and what its end keeps
 * (`commits.ts`) is not its job.
 *
 * 1. The fence: a write under a lease updates the session's row where it has the lease's turn and generation. The update
 *    waits for the row, sees it as it then is, and holds it to the end of the write.
 * 2. An append is one statement: the session knows how long the journal is, so that a gap and a repeat are found there.
 */

/** The numbers of an open turn and its session. They never change, and are never given to another. */
export interface Run {
  readonly session: number;
  readonly turn: number;
  readonly sessionId: SessionId;
  readonly inputId: InputId;
}

/**
 * The condition of the fence: the parameters 1 to 4 are session, turn, generation and owner. Numbers alone would do if no
 * server ever lost what it had acknowledged; one that did gives out the same numbers again, but to another worker.
 */
const HELD = "n = $1 AND turn = $2 AND generation = $3 AND owner = $4";
const APPEND = `WITH s AS (
    UPDATE @session SET until = greatest(until, ${clock(5)} + $6), length = length + $8 WHERE ${HELD} AND length = $7
    RETURNING n, until, waiting > 0 OR has_more AS pending)
  INSERT INTO @journal SELECT n, $7, $8, $9 FROM s
  RETURNING (SELECT until - ${clock(5)} FROM s) AS held, (SELECT pending FROM s) AS pending`;
interface HeldRow {
  readonly held: number;
  readonly pending: boolean;
}
const RENEW = `UPDATE @session SET until = greatest(until, ${clock(5)} + $6) WHERE ${HELD}
  RETURNING until - ${clock(5)} AS held, waiting > 0 OR has_more AS pending, has_more, is_cancelled,
    followed > ${clock(5)} AS is_followed`;
const RELEASE = `UPDATE @session SET until = 0 WHERE ${HELD}`;
const FIND = `SELECT t.n AS turn, t.session, s.id AS "sessionId", t.input_id AS "inputId"
  FROM @turn t JOIN @session s ON s.n = t.session WHERE t.id = $1`;
const WRITTEN = `UPDATE @session SET until = greatest(until, ${clock(2)} + $3), length = length + $4 WHERE n = $1
  RETURNING until - ${clock(2)} AS held, waiting > 0 OR has_more AS pending`;

const RUNS = 5_000;

export class Journals {
  readonly #db: Database;
  readonly #jobs: Jobs;
  readonly #runs: Map<TurnId, Run>;

  constructor(db: Database, jobs: Jobs) {
    this.#db = db;
    this.#runs = db.remembers(new Map());
    this.#jobs = jobs;
  }

  remember(turn: TurnId, run: Run): void {
    if (this.#runs.size >= RUNS) this.#runs.clear();
    this.#runs.set(turn, run);
  }

  /**
   * The numbers of a turn, whether it is open or not. Inside a transaction they are read over its own connection: with one
   * more for each, transactions that have all connections would wait for each other.
   */
  async find(on: Pick<Database, "row">, turn: TurnId): Promise<Run | undefined> {
    const known = this.#runs.get(turn);
    if (known !== undefined) return known;
    const run = await on.row<Run>(FIND, turn);
    if (run !== undefined) this.remember(turn, run);
    return run;
  }

  async requireRun(on: Pick<Database, "row">, lease: Lease): Promise<Run> {
    const run = this.#runs.get(lease.turnId) ?? (await this.find(on, lease.turnId));
    if (run === undefined || run.sessionId !== lease.sessionId) throw leaseLost(lease);
    return run;
  }

  /** The session of a turn that is open under this lease, locked. */
  async requireHeld(tx: Transaction, lease: Lease): Promise<SessionRow & { readonly turn: number }> {
    const run = await this.requireRun(tx, lease);
    const session = await lockNumber(tx, run.session);
    if (session?.turn !== run.turn || !isHeldBy(session, lease)) throw leaseLost(lease);
    return { ...session, turn: run.turn };
  }

  async append(
    lease: Lease,
    seq: number,
    events: readonly TurnEvent[],
    now: number,
    waits: readonly NewWait[],
    spawns: readonly JobSpawn[],
  ): Promise<Appended> {
    const db = this.#db;
    if (waits.length === 0 && spawns.length === 0 && events.length > 0 && seq > 0) {
      const { session, turn } = await this.requireRun(db, lease);
      const text = JSON.stringify(encodeEvents(events));
      const { generation, owner } = lease;
      const values = [session, turn, generation, owner.id, db.time(now), db.leaseMs, seq, events.length, text];
      const [row] = await db.heldRows<HeldRow>(APPEND, ...values);
      if (row !== undefined) return this.#held(row);
    }
    return db.write((tx) => this.#appendInSteps(tx, lease, seq, events, now, waits, spawns), db.heldMs);
  }

  /** Appends step by step: with waits or jobs, a repeat, or to find out why it could not be done in one. */
  async #appendInSteps(
    tx: Transaction,
    lease: Lease,
    seq: number,
    events: readonly TurnEvent[],
    now: number,
    waits: readonly NewWait[],
    spawns: readonly JobSpawn[],
  ): Promise<Appended> {
    const db = this.#db;
    const session = await this.requireHeld(tx, lease);
    const isNew = events.length > 0 && seq === session.length && seq > 0;
    if (isNew)
      tx.queue(
        "INSERT INTO @journal VALUES ($1, $2, $3, $4)",
        session.n,
        seq,
        events.length,
        JSON.stringify(encodeEvents(events)),
      );
    else await this.#requireRepeat(tx, session, lease, seq, events);
    await this.#jobs.spawnAll(tx, spawns, now);
    const added = isNew ? events.length : 0;
    const held = tx.row<HeldRow>(WRITTEN, session.n, db.time(now), db.leaseMs, added);
    await Promise.all([held, addWaits(tx, { session: session.n, turn: session.turn }, waits)]);
    return this.#held((await held)!);
  }

  /** An earlier renewal may hold for longer; whoever renews counts on the time of a lease and no more. */
  #held({ held, pending }: HeldRow): Appended {
    return { heldMs: Math.min(held, this.#db.leaseMs), pending };
  }

  /** Throws `append.conflict` unless the events are a retry's: those that are there already. */
  async #requireRepeat(
    tx: Transaction,
    session: SessionRow & { readonly turn: number },
    lease: Lease,
    seq: number,
    events: readonly TurnEvent[],
  ): Promise<void> {
    if (events.length === 0) return;
    const { length } = session;
    const kept = await this.read(tx, session, seq);
    const sent = JSON.parse(JSON.stringify(events)) as readonly TurnEvent[];
    if (seq + sent.length <= length && isDeepStrictEqual(kept.slice(0, sent.length), sent)) return;
    const problem = seq > length ? `leaves a gap after ${length}` : "differs from what is there";
    throw new RuntimeError("append.conflict", { operation: `append ${seq} of turn ${lease.turnId}, which ${problem}` });
  }

  async renew(lease: Lease, now: number): Promise<Mail> {
    const db = this.#db;
    const { session, turn } = await this.requireRun(db, lease);
    const [row] = await db.heldRows<RenewedRow>(
      RENEW,
      ...[session, turn, lease.generation, lease.owner.id, db.time(now), db.leaseMs],
    );
    if (row === undefined) throw leaseLost(lease);
    const mail = { ...this.#held(row), ...(row.is_followed ? { isFollowed: true as const } : {}) };
    return row.is_cancelled || row.has_more ? { ...mail, ...(await db.read((tx) => this.mail(tx, turn))) } : mail;
  }

  /** What came for a turn, but for inputs. */
  async mail(tx: Transaction, turn: number): Promise<Pick<Mail, "cancel" | "resolved">> {
    const cancelled = "SELECT id, cancel FROM @turn WHERE n = $1 AND cancel IS NOT NULL";
    const [row, resolved] = await Promise.all([
      tx.row<Pick<TurnRow, "id" | "cancel">>(cancelled, turn),
      resolvedOf(tx, turn),
    ]);
    return {
      ...(row === undefined ? {} : { cancel: requestOf(row) }),
      ...(resolved.length === 0 ? {} : { resolved }),
    };
  }

  /** Lets another worker take the turn at once. A lease that is lost changes nothing. */
  async release(lease: Lease): Promise<void> {
    const run = await this.find(this.#db, lease.turnId);
    if (run !== undefined) await this.#db.rows(RELEASE, run.session, run.turn, lease.generation, lease.owner.id);
  }

  /** The events of the open turn of a session, without the first `after`. */
  async read(
    tx: Transaction,
    { n, turn, length }: Pick<SessionRow, "n" | "length"> & { readonly turn: number },
    after: number,
  ): Promise<TurnEvent[]> {
    const item = `The journal of turn ${turn}`;
    const rows = await tx.rows<{ seq: number; size: number; events: string }>(
      "SELECT seq, size, events FROM @journal WHERE session = $1 ORDER BY seq",
      n,
    );
    const events: TurnEvent[] = [];
    for (const row of rows) {
      if (row.seq !== events.length) throw corrupt(`${item} at ${row.seq}`, "events before it are missing");
      events.push(...decodeEvents(parsed(row.events, `${item} at ${row.seq}`)));
    }
    if (events.length !== length) throw corrupt(item, `it has ${events.length} events, not ${length}`);
    if (after > 0) return events.slice(after);
    const opened = events[0] as Opened | EncodedOpened;
    events[0] = opened.kind === undefined ? decodeOpened(opened, await inputOf(tx, turn)) : opened;
    return events;
  }

  /** The events of a turn if it is open. */
  async of(tx: Transaction, turn: TurnId, after: number): Promise<readonly TurnEvent[]> {
    const run = await this.find(tx, turn);
    if (run === undefined) return [];
    const open = "SELECT n, turn, length FROM @session WHERE n = $1 AND turn = $2";
    const session = await tx.row<{ n: number; turn: number; length: number }>(open, run.session, run.turn);
    return session === undefined ? [] : this.read(tx, session, after);
  }
}

interface RenewedRow extends HeldRow {
  readonly has_more: boolean;
  readonly is_cancelled: boolean;
  readonly is_followed: boolean;
}

/** Whether a locked session is under this lease. */
export const isHeldBy = (session: SessionRow, { generation, owner }: Lease): boolean =>
  session.generation === generation && session.owner === owner.id;

/** The first event of a journal, as it is kept. */
export const firstEvents = (opened: Opened, input: NewInput): string => JSON.stringify([encodeOpened(opened, input)]);
