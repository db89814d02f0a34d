import { RuntimeError } from "../../model/errors.ts";
import { asInputId, asTurnId, type InputId, type SessionId, type TurnId } from "../../model/ids.ts";
import type { Opened } from "../../turn/event.ts";
import { keyText } from "../rows/codec.ts";
import { isProvenDead } from "../rows/process.ts";
import type { Lease, NewInput, OpenAnswer, Opening, Owner, Receipt } from "../store.ts";
import { type Blobs, SWEEPS } from "./blobs.ts";
import type { Connection } from "./connection.ts";
import { LATEST_FACT } from "./facts.ts";
import { isConstraint } from "./faults.ts";
import { addInput, countWaiting, oldestWaiting, type Run, takeOwn, whoWaits } from "./inputs.ts";
import { type Journals, SEQS } from "./journal.ts";
import { OPTIONS, optionsIn, WITH_OPTIONS } from "./options.ts";
import { countRows } from "./own-rows.ts";
import { forgetParked, parkedRow } from "./parked-row.ts";
import { hasMail } from "./parking.ts";
import { idOfTurn, type Sessions, sealOf } from "./sessions.ts";
import { requireWhole, TAKEN, TURN_COLUMNS, type TurnColumns, WAITING } from "./turn-row.ts";

/** How inputs become turns, and who holds them. */
export class Turns {
  readonly #db: Connection;
  readonly #sessions: Sessions;
  readonly #journals: Journals;
  readonly #blobs: Blobs;

  constructor(db: Connection, sessions: Sessions, journals: Journals, blobs: Blobs) {
    this.#db = db;
    this.#sessions = sessions;
    this.#journals = journals;
    this.#blobs = blobs;
  }

  accept(input: NewInput, owner: Owner, opening: Opening | undefined, pendingMax: number): Receipt {
    const { id: inputId, turnId, sessionId } = input;
    const session = this.#db.row<Found>(FOUND, sessionId);
    if (session === undefined) throw new RuntimeError("session.unknown", { id: sessionId });
    const known = input.key === undefined ? undefined : this.#known(session.n, input);
    if (known !== undefined) return { kind: "known", ...known };
    const isFirst = session.turn === null && input.place !== "injected" && !this.#hasNext(session);
    const opens = isFirst && opening !== undefined;
    const turn = session.latest + 1;
    try {
      addInput(this.#db, turn, session.n, input, opens ? TAKEN : WAITING);
    } catch (error) {
      // A retry of the same write. Looking for it first would cost every other input something.
      const again = isConstraint(error) ? this.#known(session.n, input) : undefined;
      if (again === undefined) throw error;
      return { kind: "known", ...again };
    }
    if (!isFirst && countWaiting(this.#db, session.n) > pendingMax)
      throw new RuntimeError("input.full", { max: pendingMax });
    for (const part of input.message.parts) if (part.kind === "attachment") this.#blobs.keep([part.hash]);
    if (!opens) {
      countRows(this.#db, session.n, 1);
      return { kind: "queued", inputId, turnId };
    }
    const opened = this.#opened(opening, session, input);
    const lease = this.#begin(session, turn, input, owner, input.at, opened, 1);
    return { kind: "opened", inputId, turnId, lease, opened };
  }

  /** The turn of an input that came before: under its key, or in the same write. Other content is `input.conflict`. */
  #known(session: number, { id, turnId, key, hash }: NewInput): Pick<Receipt, "inputId" | "turnId"> | undefined {
    const byKey = key === undefined ? undefined : this.#db.row<TurnColumns>(KNOWN_BY_KEY, session, keyText(key));
    const row = byKey ?? this.#db.row<TurnColumns>(KNOWN_BY_ID, turnId);
    if (row === undefined) return undefined;
    requireWhole(row);
    if (row.hash === hash && row.session === session && (row === byKey || row.input_id === id))
      return { inputId: asInputId(row.input_id), turnId: asTurnId(row.id) };
    throw new RuntimeError("input.conflict", { key: key ?? id });
  }

  /** Whether there is a session for an input, and the input that came before under its key or its id, if any did. */
  before({ sessionId, turnId, key }: NewInput): InputId | undefined {
    const { n } = this.#require(sessionId);
    const byKey = key === undefined ? undefined : this.#db.row<TurnColumns>(KNOWN_BY_KEY, n, keyText(key));
    const row = byKey ?? this.#db.row<TurnColumns>(KNOWN_BY_ID, turnId);
    return row && asInputId(requireWhole(row).input_id);
  }

  /** What `open` would answer, read without the write lock; undefined when there is something to take. */
  look(id: SessionId, now: number, forOperation: boolean): OpenAnswer | undefined {
    return this.#lookAt(this.#require(id), now, forOperation);
  }

  #lookAt(session: Held, now: number, forOperation: boolean): OpenAnswer | undefined {
    if (session.turn === null) return this.#hasNext(session) ? undefined : { kind: "idle" };
    if (session.is_parked === 1) return forOperation ? undefined : this.#lookAtParked(session.n, now);
    const holder = { id: session.owner, process: session.process };
    const until = Math.max(session.until, session.renewed);
    if (until <= now || isProvenDead(holder.process)) return undefined;
    return { kind: "busy", holder, forMs: until - now };
  }

  #lookAtParked(session: number, now: number): OpenAnswer | undefined {
    const row = parkedRow(this.#db, session);
    if (row === undefined || hasMail(this.#db, row, now)) return undefined;
    return { kind: "parked", turnId: idOfTurn(this.#db, row.turn), wakeAt: row.wake };
  }

  open(id: SessionId, owner: Owner, now: number, opening: Opening, forOperation: boolean): OpenAnswer {
    const session = this.#require(id);
    const answer = this.#lookAt(session, now, forOperation);
    if (answer !== undefined) return answer;
    if (session.turn !== null) {
      const run: Run = { session: session.n, turn: session.turn };
      const journal = this.#journals.read(run, 0);
      const { turnId } = journal[0] as Opened;
      const parked = forgetParked(this.#db, session.n);
      // Its generation was raised when it was parked.
      const before = { ...session, generation: session.generation - parked };
      const lease = this.#hold(before, run, turnId, owner, now, journal.length, -parked);
      return { kind: "resumed", lease, journal };
    }
    const { seq, ...input } = oldestWaiting(this.#db, session.n)!;
    const opened = this.#opened(opening, session, input);
    takeOwn(this.#db, session.n, seq);
    return { kind: "opened", lease: this.#begin(session, seq, input, owner, now, opened), opened };
  }

  /** Whether an input waits to open a turn. Mostly none waits at all. */
  #hasNext({ n, has_waiting }: Stood): boolean {
    return has_waiting === 1 && whoWaits(this.#db, n).opens === 1;
  }

  #opened(opening: Opening, session: Stood, input: NewInput): Opened {
    const { config, plugins } = this.#sessions.memo(session);
    const hasInjected = session.has_waiting === 1 && whoWaits(this.#db, session.n).injected === 1;
    const standing = {
      plugins,
      ...optionsIn(session.options, session.n),
      ...(hasInjected ? { hasInjected } : {}),
    };
    return { ...opening(input, config, standing), generation: session.generation + 1 };
  }

  #begin(session: Stood, turn: number, input: NewInput, owner: Owner, now: number, opened: Opened, rows = 0): Lease {
    const run = { session: session.n, turn };
    this.#journals.begin(run, input, opened);
    return this.#hold(session, run, input.turnId, owner, now, 1, rows);
  }

  /** `length` is that of the turn's journal; `rows`, how many came to the session with it. */
  #hold(session: Stood, run: Run, turnId: TurnId, owner: Owner, now: number, length: number, rows: number): Lease {
    const { id: sessionId, revision, sweeps } = session;
    const generation = session.generation + 1;
    const { leaseMs: heldMs } = this.#db;
    const { row } = this.#sessions.memo(session);
    const held = { generation, turn: run.turn, owner: owner.id, process: owner.process };
    this.#db.run(
      HOLD,
      generation,
      run.turn,
      owner.id,
      owner.process,
      now + heldMs,
      length,
      sealOf(row, held),
      rows,
      session.n,
    );
    const plain = { sessionId, turnId, generation, owner, heldMs, revision };
    const lease = sweeps === 0 ? plain : { ...plain, sweeps };
    this.#journals.held(lease, run, length);
    return lease;
  }

  #require(id: SessionId): Held {
    const found = this.#db.row<Held>(HELD, id);
    if (found === undefined) throw new RuntimeError("session.unknown", { id });
    return found;
  }
}

// Statements are found by their text: one that is put together anew for each call would be read through each time.
const COMMON = `s.n, s.id, s.revision, s.generation, s.turn, ${OPTIONS}, ${SWEEPS} AS sweeps,
  EXISTS (SELECT 1 FROM turn WHERE session = s.n AND state = 0) AS has_waiting`;
const HOLD = `UPDATE session
  SET generation = ?, turn = ?, owner = ?, process = ?, until = ?, written = ?, seal = ?, own_rows = own_rows + ?
  WHERE n = ?`;
const FOUND = `SELECT ${COMMON}, ${LATEST_FACT} AS latest FROM session s ${WITH_OPTIONS} WHERE s.id = ?`;
const HELD = `SELECT ${COMMON}, s.owner, s.process, s.until,
    EXISTS (SELECT 1 FROM parked WHERE session = s.n) AS is_parked,
    (SELECT until FROM journal WHERE k < (s.n + 1) * ${SEQS} ORDER BY k DESC LIMIT 1) AS renewed
  FROM session s ${WITH_OPTIONS} WHERE s.id = ?`;
const KNOWN = `SELECT ${TURN_COLUMNS} FROM turn t`;
const KNOWN_BY_KEY = `${KNOWN} WHERE session = ? AND key = ? AND state <> 2`; // A withdrawn input has left its key.
const KNOWN_BY_ID = `${KNOWN} WHERE id = ?`;

/** What decides whether a session is held, has inputs or appends that wait, or is idle. */
interface Stood {
  readonly n: number;
  readonly id: SessionId;
  readonly revision: number;
  readonly generation: number;
  readonly turn: number | null;
  readonly has_waiting: number;
  readonly options: string | null;
  readonly sweeps: number;
}
interface Found extends Stood {
  readonly latest: number;
}
interface Held extends Stood {
  readonly owner: string;
  readonly process: string;
  readonly is_parked: number;
  /** The end of the lease, as it was taken or renewed. */
  readonly until: number;
  /** The end of the lease, as the last append renewed it; means nothing where no turn is open. */
  readonly renewed: number;
}

/** A turn that is open, and who has it until when. */
export interface OpenTurn {
  readonly id: SessionId;
  readonly turn: number;
  readonly process: string;
  readonly until: number;
}

/** Every open turn has a journal: its key leads from open session to open session. */
const OPEN = `WITH RECURSIVE open(n) AS (
    SELECT (SELECT k / ${SEQS} FROM journal ORDER BY k LIMIT 1)
    UNION ALL
    SELECT (SELECT k / ${SEQS} FROM journal WHERE k >= (open.n + 1) * ${SEQS} ORDER BY k LIMIT 1) FROM open
      WHERE open.n IS NOT NULL
  )
  SELECT s.id, s.turn, s.process, max(s.until,
    (SELECT until FROM journal WHERE k < (s.n + 1) * ${SEQS} ORDER BY k DESC LIMIT 1)) AS until
  FROM open CROSS JOIN session s ON s.n = open.n`;
const LIVE = `${OPEN} WHERE NOT EXISTS (SELECT 1 FROM parked WHERE session = open.n)`;

export const openTurns = (db: Connection): readonly OpenTurn[] => db.rows(OPEN);

/** The open turns that are not parked. */
export const liveTurns = (db: Connection): readonly OpenTurn[] => db.rows(LIVE);
