import { isDeepStrictEqual } from "node:util";
import { RuntimeError } from "../../model/errors.ts";
import type { SessionId, TurnId } from "../../model/ids.ts";
import type { Opened, TurnEvent } from "../../turn/event.ts";
import { decodeEvents, decodeOpened, type EncodedOpened, encodeEvents, encodeOpened } from "../rows/codec.ts";
import { corrupt, leaseLost } from "../rows/faults.ts";
import type { Lease, Mail, NewInput, NewWait } from "../store.ts";
import { seal, unseal } from "./checksum.ts";
import type { Connection } from "./connection.ts";
import { isConstraint } from "./faults.ts";
import { inputOf, type Run } from "./inputs.ts";
import { IS_FOLLOWED } from "./live.ts";
import { addWaits, resolvedOf } from "./waits.ts";

/**
 * The journals of open turns, and the leases that fence them. Who may take a turn (`turns.ts`) and what its end keeps
 * (`commits.ts`) is not its job.
 *
 * 1. A session has one open turn at a time: the rows of its journal lie together, under `session * SEQS + seq`.
 * 2. An append is one statement that writes one page. So its row also says how long the lease holds.
 * 3. The fence: every lease on a session has its own generation, and no turn is open after its end.
 * 4. The session knows how long the journal was when its lease was last taken, renewed or released: nothing else would
 *    tell that events at its end are missing. To write it with each append would write a second page (2).
 */
export const SEQS = 2 ** 22;

const RENEW = `UPDATE session SET until = max(until, ?), written = max(written, ?)
  WHERE n = ? AND generation = ? AND turn IS NOT NULL
  RETURNING (SELECT cancel FROM turn t WHERE t.n = session.turn) AS cancel,
    EXISTS (SELECT 1 FROM wait w WHERE w.turn = session.turn AND w.key IS NOT NULL
      AND (w.answer IS NOT NULL OR w.is_turns = 1)) AS could_be_resolved, ${IS_FOLLOWED} AS is_followed`;
interface MailRow {
  readonly cancel: string | null;
  readonly could_be_resolved: number;
  readonly is_followed: number;
}
// The condition is the fence (3). Rows are counted and not returned, which would cost a third more.
const INSERT_NEXT =
  "INSERT INTO journal SELECT ?, ?, ?, ? FROM session WHERE n = ? AND generation = ? AND turn IS NOT NULL";
const INSERT_AFTER = `${INSERT_NEXT}
  AND (SELECT j.k + j.size FROM journal j WHERE j.k < ? ORDER BY j.k DESC LIMIT 1) = ?`;

const KNOWN = 2_000;

/** A turn as this process saw it last: under which lease, and where its journal ended. */
interface Seen extends Run {
  readonly sessionId: SessionId;
  generation?: number;
  length?: number;
}

export class Journals {
  readonly #db: Connection;
  readonly #runs: Map<TurnId, Seen>;

  constructor(db: Connection) {
    this.#db = db;
    this.#runs = db.remembers(new Map());
  }

  /** The numbers of a turn, whether it is open or not. */
  find(turn: TurnId): Seen | undefined {
    const known = this.#runs.get(turn);
    if (known !== undefined) return known;
    const row = this.#db.row<Seen>(
      "SELECT t.n AS turn, t.session, s.id AS sessionId FROM turn t JOIN session s ON s.n = t.session WHERE t.id = ?",
      turn,
    );
    if (row === undefined) return undefined;
    return this.#see(turn, { turn: row.turn, session: row.session, sessionId: row.sessionId });
  }

  #see(turn: TurnId, run: Seen): Seen {
    if (this.#runs.size >= KNOWN) this.#runs.clear();
    this.#runs.set(turn, run);
    return run;
  }

  /** Remembers a lease that was given out, and the length of its turn's journal. */
  held({ turnId, sessionId, generation }: Lease, run: Run, length: number): void {
    this.#see(turnId, { turn: run.turn, session: run.session, sessionId, generation, length });
  }

  requireRun(lease: Lease): Seen {
    const run = this.#runs.get(lease.turnId) ?? this.find(lease.turnId);
    if (run === undefined || run.sessionId !== lease.sessionId) throw leaseLost(lease);
    return run;
  }

  /** The numbers of a turn that is open under this lease. Inside a transaction, so that it stays so. */
  requireHeld(lease: Lease): Seen {
    const run = this.requireRun(lease);
    const { session, turn } = run;
    const held = "SELECT 1 FROM session WHERE n = ? AND turn = ? AND generation = ?";
    if (this.#db.row(held, session, turn, lease.generation) === undefined) throw leaseLost(lease);
    return run;
  }

  /** The numbers of a turn; undefined unless it is open. */
  openRun(turn: TurnId): Run | undefined {
    const run = this.find(turn);
    if (run === undefined) return undefined;
    const isOpen = "SELECT 1 FROM session WHERE n = ? AND turn = ?";
    return this.#db.row(isOpen, run.session, run.turn) === undefined ? undefined : run;
  }

  begin(run: Run, input: NewInput, opened: Opened): void {
    const at = run.session * SEQS;
    this.#db.run("INSERT INTO journal VALUES (?, 1, 0, ?)", at, seal([encodeOpened(opened, input)], at + run.turn));
  }

  /** Appends in one statement (2); false when it cannot, and then `append` finds out why. */
  insert(lease: Lease, seq: number, events: readonly TurnEvent[], until: number): boolean {
    const run = this.requireRun(lease);
    const { session, turn } = run;
    const { generation } = lease;
    const at = session * SEQS + seq;
    if (seq < 1 || seq + events.length >= SEQS) return false;
    // A journal grows at its end only: if another append came in between, this one's place is taken. So an end that is
    // known is not looked up, which would be a read of the table that is written.
    const isKnown = run.generation === generation && run.length === seq;
    const text = seal(encodeEvents(events), at + turn);
    try {
      const count = isKnown
        ? this.#db.run(INSERT_NEXT, at, events.length, until, text, session, generation)
        : this.#db.run(INSERT_AFTER, at, events.length, until, text, session, generation, (session + 1) * SEQS, at);
      if (count === 0) return false;
    } catch (error) {
      if (isConstraint(error)) return false;
      throw error;
    }
    run.generation = generation;
    run.length = seq + events.length;
    return true;
  }

  /** Appends step by step, inside a transaction: with waits, or after `insert` could not. */
  append(lease: Lease, seq: number, events: readonly TurnEvent[], until: number, waits: readonly NewWait[]): void {
    if (events.length === 0 || !this.insert(lease, seq, events, until)) {
      this.#requireRepeat(lease, this.requireHeld(lease), seq, events);
      this.#renewed(lease, until);
    }
    if (waits.length > 0) addWaits(this.#db, this.requireRun(lease), waits);
  }

  renew(lease: Lease, now: number): Mail {
    const { leaseMs: heldMs } = this.#db;
    const { turn } = this.requireRun(lease);
    const { cancel, could_be_resolved: couldBe, is_followed: isFollowed } = this.#renewed(lease, now + heldMs);
    const resolved = couldBe === 0 ? [] : resolvedOf(this.#db, turn);
    return {
      heldMs,
      ...(cancel === null ? {} : { cancel: unseal(cancel, turn, `The cancel of turn ${turn}`) }),
      ...(resolved.length === 0 ? {} : { resolved }),
      ...(isFollowed === 1 ? { isFollowed: true } : {}),
    };
  }

  #renewed(lease: Lease, until: number): MailRow {
    const run = this.requireRun(lease);
    const written = writtenUnder(lease, run);
    const now = until - this.#db.leaseMs;
    const [row] = this.#db.rows<MailRow>(RENEW, until, written, run.session, lease.generation, now);
    if (row === undefined) throw leaseLost(lease);
    return row;
  }

  /** Throws `append.conflict` unless the events are a retry's: those that are there already. */
  #requireRepeat(lease: Lease, run: Run, seq: number, events: readonly TurnEvent[]): void {
    const kept = this.read(run, seq);
    const length = this.#length(run);
    const sent = JSON.parse(JSON.stringify(events)) as readonly TurnEvent[];
    if (seq + sent.length <= length && isDeepStrictEqual(kept.slice(0, sent.length), sent)) return;
    if (sent.length === 0) return;
    const problem = seq > length ? `leaves a gap after ${length}` : "differs from what is there";
    throw new RuntimeError("append.conflict", { operation: `append ${seq} of turn ${lease.turnId}, which ${problem}` });
  }

  #length({ session }: Run): number {
    return (
      this.#db.row<{ length: number }>(
        "SELECT k + size - ? AS length FROM journal WHERE k < ? ORDER BY k DESC LIMIT 1",
        session * SEQS,
        (session + 1) * SEQS,
      )?.length ?? 0
    );
  }

  /** The events of an open turn, without the first `after`. */
  read(run: Run, after: number): TurnEvent[] {
    const events = eventsOf(this.#db, run);
    if (after > 0) return events.slice(after);
    events[0] = this.#whole(run, events[0] as Opened | EncodedOpened);
    return events;
  }

  /** The first event with its input, which is kept in a row of its own. */
  #whole({ turn }: Run, opened: Opened | EncodedOpened): Opened {
    if (opened.kind === undefined) return decodeOpened(opened, inputOf(this.#db, turn));
    return "input" in opened ? opened : { ...(opened as Opened), input: inputOf(this.#db, turn).message };
  }

  /** Lets another worker take the turn at once. A lease that is lost changes nothing. */
  release(lease: Lease): void {
    const run = this.find(lease.turnId);
    if (run === undefined) return;
    const held = this.#db.run(
      "UPDATE session SET until = 0, written = max(written, ?) WHERE n = ? AND turn = ? AND generation = ?",
      writtenUnder(lease, run),
      run.session,
      run.turn,
      lease.generation,
    );
    if (held === 0) return;
    const [start, end] = [run.session * SEQS, (run.session + 1) * SEQS];
    this.#db.run("UPDATE journal SET until = 0 WHERE k >= ? AND k < ? AND until > 0", start, end);
  }
}

/** How much of the journal this process knows to be written; 0 when it does not know. */
const writtenUnder = ({ generation }: Lease, run: Seen): number =>
  run.generation === generation ? (run.length ?? 0) : 0;

interface JournalRow {
  readonly k: number;
  readonly size: number;
  readonly events: string;
  readonly written: number;
}
const ROWS = `SELECT j.k, j.size, j.events, s.written FROM session s JOIN journal j ON j.k >= s.n * ${SEQS}
  AND j.k < (s.n + 1) * ${SEQS} WHERE s.n = ? ORDER BY j.k`;

/** All events of a journal. The first may be without its input, which is kept in a row of its own. */
export function eventsOf(db: Connection, { session, turn }: Run): TurnEvent[] {
  const start = session * SEQS;
  const rows = db.rows<JournalRow>(ROWS, session);
  const events: TurnEvent[] = [];
  for (const row of rows) {
    const item = `The journal of turn ${turn} at ${row.k - start}`;
    if (row.k !== start + events.length) throw corrupt(item, "events before it are missing");
    const found = decodeEvents(unseal(row.events, row.k + turn, item));
    if (found.length !== row.size) throw corrupt(item, `it has ${found.length} events, not ${row.size}`);
    events.push(...found);
  }
  if (events.length < (rows[0]?.written ?? 1))
    throw corrupt(`The journal of turn ${turn}`, "events at its end are missing");
  return events;
}

export function forgetJournal(db: Connection, session: number): void {
  db.run("DELETE FROM journal WHERE k >= ? AND k < ?", session * SEQS, (session + 1) * SEQS);
}
