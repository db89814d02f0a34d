import { isDeepStrictEqual } from "node:util";
import { RuntimeError } from "../../model/errors.ts";
import { asWaitKey, type SessionId, type TurnId } from "../../model/ids.ts";
import type { Opened, TurnEvent, WaitAnswer } from "../../turn/event.ts";
import type { Lease, Mail, NewInput, NewWait } from "../store.ts";
import { corrupt, seal, unseal } from "./checksum.ts";
import { decodeEvents, decodeOpened, type EncodedOpened, encodeEvents, encodeOpened } from "./codec.ts";
import type { Connection } from "./connection.ts";
import { isConstraint, leaseLost } from "./faults.ts";
import { inputOf, type Run } from "./inputs.ts";

/**
 * The journals of open turns, a row for each append. A session has one open turn at a time, so the rows of one lie
 * together under (session, seq), and the last of them also says how long the lease holds: an append is one statement
 * that writes one page.
 */
export const SEQS = 2 ** 22;

const RENEW = `UPDATE session SET until = max(until, ?) WHERE n = ? AND generation = ? AND turn IS NOT NULL
  RETURNING (SELECT cancel FROM turn t WHERE t.n = session.turn) AS cancel,
    EXISTS (SELECT 1 FROM wait w WHERE w.turn = session.turn AND answer IS NOT NULL) AS resolved`;
interface MailRow {
  readonly cancel: string | null;
  readonly resolved: number;
}
// Every lease on a session has its own generation, and no turn is open after its end: this is the fence. Rows are not
// returned but counted, which costs a third less.
const INSERT_NEXT =
  "INSERT INTO journal SELECT ?, ?, ?, ? FROM session WHERE n = ? AND generation = ? AND turn IS NOT NULL";
const INSERT_AFTER = `${INSERT_NEXT}
  AND (SELECT j.k + j.size FROM journal j WHERE j.k < ? ORDER BY j.k DESC LIMIT 1) = ?`;

const KNOWN = 2_000;

/** A turn as it was last seen here, and where its journal ended under which lease. */
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

  /** A lease was given out on a turn whose journal has this length. */
  held({ turnId, sessionId, generation }: Lease, run: Run, length: number): void {
    this.#see(turnId, { turn: run.turn, session: run.session, sessionId, generation, length });
  }

  requireRun(lease: Lease): Seen {
    const run = this.#runs.get(lease.turnId) ?? this.find(lease.turnId);
    if (run === undefined || run.sessionId !== lease.sessionId) throw leaseLost(lease);
    return run;
  }

  /** Inside a transaction: the turn is open, and this lease is the one that counts. */
  requireHeld(lease: Lease): Seen {
    const run = this.requireRun(lease);
    const { session, turn } = run;
    const held = "SELECT 1 FROM session WHERE n = ? AND turn = ? AND generation = ?";
    if (this.#db.row(held, session, turn, lease.generation) === undefined) throw leaseLost(lease);
    return run;
  }

  /** While the turn is open. */
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

  /** The whole append in one statement; false when it cannot be made so, or must not. */
  insert(lease: Lease, seq: number, events: readonly TurnEvent[], until: number): boolean {
    const run = this.requireRun(lease);
    const { session, turn } = run;
    const { generation } = lease;
    const at = session * SEQS + seq;
    if (seq < 1 || seq + events.length >= SEQS) return false;
    // Where the journal ended is where the next append begins, whoever makes it: if this one is not the next, its place
    // is taken. Only who does not know the end must look for it, and to read what one writes to is dear.
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

  /** Inside a transaction. */
  append(lease: Lease, seq: number, events: readonly TurnEvent[], until: number, waits: readonly NewWait[]): void {
    if (events.length === 0 || !this.insert(lease, seq, events, until)) {
      this.#requireRepeat(lease, this.requireHeld(lease), seq, events);
      this.#renewed(lease, until);
    }
    const run = this.requireRun(lease);
    for (const wait of waits)
      this.#db.run(
        "INSERT INTO wait (key, turn, until) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        wait.key,
        run.turn,
        wait.until,
      );
  }

  renew(lease: Lease, now: number): Mail {
    const until = now + this.#db.leaseMs;
    const { turn } = this.requireRun(lease);
    const { cancel, resolved } = this.#renewed(lease, until);
    return {
      until,
      ...(cancel === null ? {} : { cancel: unseal(cancel, turn, `The cancel of turn ${turn}`) }),
      ...(resolved === 0 ? {} : { resolved: this.#resolved(turn) }),
    };
  }

  #renewed(lease: Lease, until: number): MailRow {
    const [row] = this.#db.rows<MailRow>(RENEW, until, this.requireRun(lease).session, lease.generation);
    if (row === undefined) throw leaseLost(lease);
    return row;
  }

  #resolved(turn: number): NonNullable<Mail["resolved"]> {
    return this.#db
      .rows<{ key: string; answer: string }>(
        "SELECT key, answer FROM wait WHERE turn = ? AND answer IS NOT NULL ORDER BY nth",
        turn,
      )
      .map(({ key, answer }) => ({
        key: asWaitKey(key),
        answer: unseal<WaitAnswer>(answer, turn, "The answer to a wait"),
      }));
  }

  /** What is there already must be what is sent: a retry sends what it sent before. */
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

  /** Without the first `after`. */
  read(run: Run, after: number): TurnEvent[] {
    const start = run.session * SEQS;
    const rows = this.#db.rows<{ k: number; size: number; events: string }>(
      "SELECT k, size, events FROM journal WHERE k >= ? AND k < ? ORDER BY k",
      start,
      (run.session + 1) * SEQS,
    );
    const events: TurnEvent[] = [];
    for (const row of rows) {
      const item = `The journal of turn ${run.turn} at ${row.k - start}`;
      if (row.k !== start + events.length) throw corrupt(item, "events before it are missing");
      const found = decodeEvents(unseal(row.events, row.k + run.turn, item));
      if (found.length !== row.size) throw corrupt(item, `it has ${found.length} events, not ${row.size}`);
      events.push(...found);
    }
    if (events.length === 0) throw corrupt(`The journal of turn ${run.turn}`, "it is missing");
    if (after > 0) return events.slice(after);
    events[0] = this.#whole(run, events[0] as Opened | EncodedOpened);
    return events;
  }

  /** The input's own row keeps what was said. */
  #whole({ turn }: Run, opened: Opened | EncodedOpened): Opened {
    if (opened.kind === undefined) return decodeOpened(opened, inputOf(this.#db, turn));
    return "input" in opened ? opened : { ...(opened as Opened), input: inputOf(this.#db, turn).message };
  }

  /** Lets another worker take the turn at once. A lease that does not count changes nothing. */
  release(lease: Lease): void {
    const run = this.find(lease.turnId);
    if (run === undefined) return;
    const held = this.#db.run(
      "UPDATE session SET until = 0 WHERE n = ? AND turn = ? AND generation = ?",
      run.session,
      run.turn,
      lease.generation,
    );
    if (held === 0) return;
    const [start, end] = [run.session * SEQS, (run.session + 1) * SEQS];
    this.#db.run("UPDATE journal SET until = 0 WHERE k >= ? AND k < ? AND until > 0", start, end);
  }
}

export function forgetJournal(db: Connection, session: number): void {
  db.run("DELETE FROM journal WHERE k >= ? AND k < ?", session * SEQS, (session + 1) * SEQS);
}
