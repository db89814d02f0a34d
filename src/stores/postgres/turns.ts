import { RuntimeError } from "../../model/errors.ts";
import { asInputId, asTurnId, type InputId, type SessionId, type TurnId } from "../../model/ids.ts";
import type { Opened } from "../../turn/event.ts";
import { keyText } from "../rows/codec.ts";
import { isProvenDead } from "../rows/process.ts";
import type { Lease, NewInput, OpenAnswer, Opening, Owner, Receipt } from "../store.ts";
import type { Blobs } from "./blobs.ts";
import { clock, type Database, type Transaction } from "./database.ts";
import { TAKEN, TURN_COLUMNS, type TurnRow, WAITING, WITHDRAWN } from "./endings.ts";
import { ACCEPTED, addFact, NEXT_FACT } from "./facts.ts";
import { isDuplicate } from "./faults.ts";
import { payloadOf } from "./hints.ts";
import { addInput, countWaiting, INPUT_COLUMNS, inputColumns, oldestWaiting, whoWaits } from "./inputs.ts";
import { firstEvents, type Journals } from "./journal.ts";
import { hasMail } from "./parking.ts";
import { requireLocked, type SessionRow } from "./session-row.ts";
import type { Memo, Sessions } from "./sessions.ts";

const SWEEPS = "(SELECT max(n) FROM @sweep) AS sweeps";

// An input of an idle session that nobody has touched since: all in one statement. What it was worked out on is its
// condition. A key that is known is refused by an index. The parameters: session, revision, generation, options; owner,
// process, now, lease; what is said of the input; the first event; the hint.
const ACCEPT = `WITH s AS (
    UPDATE @session SET generation = generation + 1, turn = pg_catalog.nextval('@number'::regclass), owner = $5, process = $6,
      until = ${clock(7)} + $8, length = 1, has_more = false, is_cancelled = false
    WHERE n = $1 AND revision = $2 AND generation = $3 AND optioned = $4 AND turn IS NULL AND waiting = 0
    RETURNING n, turn),
  t AS (INSERT INTO @turn (n, session, ${INPUT_COLUMNS}) SELECT turn, n, $9, $10, $11, $12, $13, $14, $15 FROM s),
  j AS (INSERT INTO @journal SELECT n, 0, 1, $16 FROM s),
  f AS (${NEXT_FACT} AND EXISTS (SELECT 1 FROM s) RETURNING value),
  a AS (INSERT INTO @fact SELECT f.value, s.n, ${ACCEPTED}, s.turn FROM s, f)
  SELECT turn, ${SWEEPS}, pg_notify($17, $18) FROM s`;

const TAKE = `UPDATE @session SET generation = $2, turn = $3, owner = $4, process = $5, until = ${clock(6)} + $7, length = $8,
    is_cancelled = $9, has_more = has_more AND $10, waiting = waiting - $11, wake = NULL, parked = NULL
  WHERE n = $1 RETURNING ${SWEEPS}`;
const KNOWN = `SELECT ${TURN_COLUMNS} FROM @turn t`;
const KNOWN_BY_KEY = `${KNOWN} WHERE session = $1 AND key = $2 AND state <> ${WITHDRAWN}`; // A withdrawn input has left its key.
const KNOWN_BY_ID = `${KNOWN} WHERE id = $1`;
const LOOK = `SELECT s.*, until - ${clock(2)} AS "forMs" FROM @session s WHERE id = $1`;
const IDS = `SELECT id AS "turnId", input_id AS "inputId" FROM @turn WHERE n = $1`;
const HELD_FOR = `SELECT until - ${clock(2)} AS "forMs" FROM @session WHERE n = $1`;

/** How inputs become turns, and who holds them. */
export class Turns {
  readonly #db: Database;
  readonly #sessions: Sessions;
  readonly #journals: Journals;
  readonly #blobs: Blobs;

  constructor(db: Database, sessions: Sessions, journals: Journals, blobs: Blobs) {
    this.#db = db;
    this.#sessions = sessions;
    this.#journals = journals;
    this.#blobs = blobs;
  }

  async accept(input: NewInput, owner: Owner, opening: Opening | undefined, pendingMax: number): Promise<Receipt> {
    const known = this.#sessions.known(input.sessionId);
    const isPlain = input.place !== "injected" && input.message.parts.every(({ kind }) => kind !== "attachment");
    if (known?.row.turn === null && opening !== undefined && isPlain) {
      const receipt = await this.#acceptAtOnce(known, input, owner, opening);
      if (receipt !== undefined) return receipt;
    }
    return this.#db.write((tx, attempt) => this.#accept(tx, input, owner, opening, pendingMax, attempt));
  }

  /** Accepts in one statement; undefined when that cannot be done, and nothing was written. */
  async #acceptAtOnce(known: Memo, input: NewInput, owner: Owner, opening: Opening): Promise<Receipt | undefined> {
    const { id: inputId, turnId, sessionId } = input;
    const { row, config, plugins, options } = known;
    const generation = row.generation + 1;
    const standing = { plugins, ...(options === undefined ? {} : { options }) };
    const opened = { ...opening(input, config, standing), generation };
    const db = this.#db;
    const hint = payloadOf({ kind: "session", sessionId, what: "fact" });
    let isLost = false;
    const [found] = await db
      .patiently(db.patienceMs, async (client, attempt) => {
        isLost = attempt > 1;
        return db.send<{ turn: number; sweeps: number | null }>(client, ACCEPT, [
          ...[
            row.n,
            row.revision,
            row.generation,
            row.optioned,
            owner.id,
            owner.process,
            db.time(input.at),
            db.leaseMs,
          ],
          ...inputColumns(input, TAKEN),
          ...[firstEvents(opened, input), db.channel, hint],
        ]);
      })
      .catch((error: unknown) => {
        if (isDuplicate((error as Error).cause)) return [];
        throw error;
      });
    if (found === undefined)
      return isLost ? db.write((tx) => this.#accept(tx, input, owner, opening, Infinity, 2)) : undefined;
    this.#sessions.remember({ ...known, row: { ...row, generation, turn: found.turn } });
    const lease = this.#lease(row, { turnId, inputId, turn: found.turn }, generation, owner, found.sweeps);
    return { kind: "opened", inputId, turnId, lease, opened };
  }

  #lease(
    { n, id: sessionId, revision }: SessionRow,
    { turnId, inputId, turn }: { readonly turnId: TurnId; readonly inputId: InputId; readonly turn: number },
    generation: number,
    owner: Owner,
    sweeps: number | null,
  ): Lease {
    this.#journals.remember(turnId, { session: n, turn, sessionId, inputId });
    const lease = { sessionId, turnId, generation, owner, heldMs: this.#db.leaseMs, revision };
    return sweeps === null ? lease : { ...lease, sweeps };
  }

  async #accept(
    tx: Transaction,
    input: NewInput,
    owner: Owner,
    opening: Opening | undefined,
    pendingMax: number,
    attempt: number,
  ): Promise<Receipt> {
    const { id: inputId, turnId, sessionId } = input;
    const session = await requireLocked(tx, sessionId);
    const before = await this.#before(tx, session.n, input);
    if (before !== undefined) return this.#again(tx, session, before, input, owner, attempt);
    const who = await whoWaits(tx, session);
    const isFirst = session.turn === null && input.place !== "injected" && !who.opens;
    if (!isFirst && session.waiting + 1 > pendingMax) throw new RuntimeError("input.full", { max: pendingMax });
    await this.#keepAttachments(tx, input);
    const opens = isFirst && opening !== undefined;
    const turn = await addInput(tx, session.n, input, opens ? TAKEN : WAITING);
    if (!opens) {
      countWaiting(tx, session.n, 1);
      tx.hint(payloadOf({ kind: "session", sessionId, what: "input" }));
      await addFact(tx, session.n, ACCEPTED, turn);
      return { kind: "queued", inputId, turnId };
    }
    const { lease, opened } = await this.#begin(
      tx,
      session,
      turn,
      input,
      owner,
      input.at,
      opening,
      who.injected,
      false,
    );
    tx.hint(payloadOf({ kind: "session", sessionId, what: "fact" }));
    await addFact(tx, session.n, ACCEPTED, turn);
    return { kind: "opened", inputId, turnId, lease, opened };
  }

  async #keepAttachments(tx: Transaction, { message }: NewInput): Promise<void> {
    const hashes = message.parts.flatMap((part) => (part.kind === "attachment" ? [part.hash as string] : []));
    if (hashes.length > 0) await this.#blobs.keep(tx, hashes);
  }

  /** Accepts an input that opens no turn here: the wake of a job, under the lock of its session. */
  async acceptWaiting(tx: Transaction, session: SessionRow, input: NewInput): Promise<void> {
    await this.#keepAttachments(tx, input);
    const turn = await addInput(tx, session.n, input, WAITING);
    countWaiting(tx, session.n, 1);
    tx.hint(payloadOf({ kind: "session", sessionId: session.id, what: "input" }));
    await addFact(tx, session.n, ACCEPTED, turn);
  }

  /** The row of an input that came before: under its key, or under its id. */
  async #before(tx: Transaction, session: number, { turnId, key }: NewInput): Promise<TurnRow | undefined> {
    const [byKey, byId] = await Promise.all([
      key === undefined ? undefined : tx.row<TurnRow>(KNOWN_BY_KEY, session, keyText(key)),
      tx.row<TurnRow>(KNOWN_BY_ID, turnId),
    ]);
    return byKey ?? byId;
  }

  async inputBefore(tx: Transaction, session: number, input: NewInput): Promise<InputId | undefined> {
    const row = await this.#before(tx, session, input);
    return row && asInputId(row.input_id);
  }

  /** Answers for an input that came before. Other content is `input.conflict`. */
  async #again(
    tx: Transaction,
    session: SessionRow,
    row: TurnRow,
    { id, key, hash }: NewInput,
    owner: Owner,
    attempt: number,
  ): Promise<Receipt> {
    const isByKey = key !== undefined && row.key === keyText(key);
    const isSame = row.hash === hash && row.session === session.n && (isByKey || row.input_id === id);
    if (!isSame) throw new RuntimeError("input.conflict", { key: key ?? id });
    const known = { inputId: asInputId(row.input_id), turnId: asTurnId(row.id) };
    // The answer of the first attempt was lost with its connection: the turn is open, and its lease is the caller's.
    const isOwn = attempt > 1 && row.input_id === id && session.turn === row.n && session.owner === owner.id;
    if (!isOwn || session.length !== 1) return { kind: "known", ...known };
    const journal = await this.#journals.read(tx, { ...session, turn: row.n }, 0);
    const lease = this.#lease(session, { ...known, turn: row.n }, session.generation, owner, await this.#sweeps(tx));
    return { kind: "opened", ...known, lease, opened: journal[0] as Opened };
  }

  async #sweeps(tx: Transaction): Promise<number | null> {
    return (await tx.row<{ sweeps: number | null }>(`SELECT ${SWEEPS}`))!.sweeps;
  }

  // ── Opening ───────────────────────────────────────────────────────────────────────────────────────────────────────

  async open(id: SessionId, owner: Owner, now: number, opening: Opening, isForOperation: boolean): Promise<OpenAnswer> {
    const db = this.#db;
    // A worker asks for a session that another holds again and again: it only reads until there is something to take.
    const session = await db.row<LookedRow>(LOOK, id, db.time(now));
    if (session === undefined) throw new RuntimeError("session.unknown", { id });
    const isQuiet = session.turn === null && session.waiting === 0;
    const busy = this.#busy(session);
    if (isQuiet || busy !== undefined) return busy ?? { kind: "idle" };
    const tried = { generation: -1 };
    return db.write((tx) => this.#open(tx, id, owner, now, opening, isForOperation, tried));
  }

  #busy({ turn, wake, owner, process, forMs }: LookedRow): OpenAnswer | undefined {
    if (turn === null || wake !== null || forMs <= 0 || isProvenDead(process!)) return undefined;
    return { kind: "busy", holder: { id: owner!, process: process! }, forMs };
  }

  /** `tried`: the generation that an attempt before gave to its lease, whose answer may have been lost. */
  async #open(
    tx: Transaction,
    id: SessionId,
    owner: Owner,
    now: number,
    opening: Opening,
    isForOperation: boolean,
    tried: { generation: number },
  ): Promise<OpenAnswer> {
    const db = this.#db;
    const locked = await requireLocked(tx, id);
    const { forMs } = (await tx.row<{ forMs: number }>(HELD_FOR, locked.n, db.time(now)))!;
    const session: LookedRow = { ...locked, forMs };
    const isOwn = session.owner === owner.id && session.generation === tried.generation;
    const busy = isOwn ? undefined : this.#busy(session);
    if (busy !== undefined) return busy;
    if (session.turn === null) {
      const who = await whoWaits(tx, session);
      const next = who.opens ? await oldestWaiting(tx, session.n) : undefined;
      if (next === undefined) return { kind: "idle" };
      const { seq, ...input } = next.input;
      tried.generation = session.generation + 1;
      tx.queue("UPDATE @turn SET state = $2 WHERE n = $1", seq, TAKEN);
      const begun = await this.#begin(tx, session, seq, input, owner, now, opening, who.injected, next.isCancelled, 1);
      return { kind: "opened", ...begun };
    }
    const { turn } = session;
    const { turnId, inputId } = (await tx.row<{ turnId: TurnId; inputId: InputId }>(IDS, turn))!;
    if (session.wake !== null && !isForOperation && !(await hasMail(tx, session, now)))
      return { kind: "parked", turnId, wakeAt: session.wake };
    const journal = await this.#journals.read(tx, { ...session, turn }, 0);
    // The generation of a parked turn was raised when it was parked.
    tried.generation = isOwn || session.wake !== null ? session.generation : session.generation + 1;
    const { length, is_cancelled: isCancelled } = session;
    const held = {
      turn,
      turnId,
      inputId,
      generation: tried.generation,
      length,
      isCancelled,
      keepsMore: true,
      waiting: 0,
    };
    return { kind: "resumed", lease: await this.#take(tx, session, held, owner, now), journal };
  }

  async #begin(
    tx: Transaction,
    session: SessionRow,
    turn: number,
    input: NewInput,
    owner: Owner,
    now: number,
    opening: Opening,
    hasInjected: boolean,
    isCancelled: boolean,
    waiting = 0,
  ): Promise<{ readonly lease: Lease; readonly opened: Opened }> {
    const { config, plugins, options } = await this.#sessions.memo(tx, session);
    const generation = session.generation + 1;
    const standing = {
      plugins,
      ...(options === undefined ? {} : { options }),
      ...(hasInjected ? { hasInjected: true as const } : {}),
    };
    const opened = { ...opening(input, config, standing), generation };
    tx.queue("INSERT INTO @journal VALUES ($1, 0, 1, $2)", session.n, firstEvents(opened, input));
    const { id: inputId, turnId } = input;
    const held = { turn, turnId, inputId, generation, length: 1, isCancelled, keepsMore: false, waiting };
    return { lease: await this.#take(tx, session, held, owner, now), opened };
  }

  async #take(tx: Transaction, session: SessionRow, held: Taken, owner: Owner, now: number): Promise<Lease> {
    const db = this.#db;
    const { turn, generation, length, isCancelled, keepsMore, waiting } = held;
    const taken = await tx.row<{ sweeps: number | null }>(
      TAKE,
      ...[session.n, generation, turn, owner.id, owner.process, db.time(now), db.leaseMs, length],
      ...[isCancelled, keepsMore, waiting],
    );
    const known = this.#sessions.known(session.id);
    if (known !== undefined) this.#sessions.remember({ ...known, row: { ...known.row, generation, turn } });
    return this.#lease(session, held, generation, owner, taken!.sweeps);
  }
}

interface LookedRow extends SessionRow {
  /** How long its lease still holds; below 0 when it has lapsed. */
  readonly forMs: number;
}

interface Taken {
  readonly turn: number;
  readonly turnId: TurnId;
  readonly inputId: InputId;
  readonly generation: number;
  /** Of the journal. */
  readonly length: number;
  readonly isCancelled: boolean;
  /** The turn was open before, and may have more to end than its journal. */
  readonly keepsMore: boolean;
  /** How many inputs wait no more. */
  readonly waiting: number;
}
