import type { JobId, SessionId } from "../../model/ids.ts";
import type { Key, Lock, ScanOptions } from "../rules/port.ts";
import { later, now, type Read } from "../rules/rule.ts";
import {
  APPEND,
  ATTEMPT,
  GONE,
  type Index,
  JOB,
  JOB_OWNER,
  type JobOwnerRow,
  type JobRow,
  NOTE,
  type NoteRow,
  PROFILE,
  type ProfileRow,
  SESSION,
  type SessionRow,
  type Table,
  TURN,
  type TurnRow,
  WAIT,
  WAITING,
  type WaitRow,
} from "../tables.ts";
import type { Fields } from "./columns.ts";
import { type Database, SERVER_TIME, type Transaction, type Value } from "./database.ts";
import { JobChanges } from "./job-changes.ts";
import { layoutOf, type Sent } from "./layouts.ts";
import { lockOf } from "./locks.ts";
import { SessionBook, type SessionExtras } from "./session-book.ts";

const NOW = `SELECT ${SERVER_TIME} AS time`;
const IS_GONE = "SELECT 1 FROM @gone WHERE id = $1";
const COUNT_GONE = "UPDATE @counter SET value = value + 1 WHERE name = 'gone'";
const removingTurns = (remove: string): string => `WITH d AS (${remove} RETURNING session, state),
    c AS (SELECT session, count(*) AS count FROM d WHERE state = ${WAITING} GROUP BY session)
  UPDATE @session s SET waiting = waiting - c.count FROM c WHERE s.n = c.session`;
const removingJobs = (remove: string): string => `WITH d AS (${remove} RETURNING changed)
  DELETE FROM @job_change WHERE n IN (SELECT changed FROM d)`;

/** Prefix of a job's parent that is a turn. */
const OF_TURN = "turn/";

/** A row moved before it was locked. The write is retried from its beginning, like after a conflict. */
export const moved = (): Error => Object.assign(new Error("A row moved before it was locked."), { code: "40001" });

/**
 * Reads and writes tables in one transaction. Statements are sent in the order of the calls, without awaiting answers.
 * Only rows of sessions and jobs are written later (`session-book.ts`, `job-changes.ts`).
 */
export class PostgresTables {
  readonly jobs: JobChanges;
  protected readonly tx: Transaction;
  protected readonly db: Database;
  protected readonly sessions: SessionBook;
  /** The lease ends of owners, as they were read. */
  protected readonly owners = new Map<string, number>();
  readonly #isWrite: boolean;
  /** Sessions that a read has requested. All its answers are of one snapshot. */
  readonly #reading = new Map<SessionId | number, Promise<SessionRow | undefined>>();
  readonly #asked: Promise<number> | undefined;
  #time: number | undefined;

  /** `time` is the server's time at the beginning of a write. */
  constructor(tx: Transaction, db: Database, isWrite: boolean, time: Promise<number> | undefined) {
    this.tx = tx;
    this.db = db;
    this.jobs = new JobChanges(tx);
    this.sessions = new SessionBook(tx, isWrite, (read) => {
      this.#time ??= read;
    });
    this.#isWrite = isWrite;
    this.#asked = time?.then((read) => (this.#time = read));
    this.#asked?.catch(() => {});
  }

  /** Sends the remaining writes. */
  finish(): void {
    this.sessions.flush();
    this.jobs.flush();
  }

  now(given: number): Read<number> {
    const time = this.db.time(given) ?? this.#time;
    return time === undefined ? reading(this.#asked ?? this.#serverTime()) : now(time);
  }

  async #serverTime(): Promise<number> {
    const row = await this.tx.row<{ time: number }>(NOW);
    return (this.#time ??= row!.time);
  }

  lock(what: Lock): void {
    const sent = lockOf(what, this.db.schema);
    if (sent !== undefined && this.#isWrite) this.tx.queue(...sent);
  }

  // ── Sessions ────────────────────────────────────────────────────────────────────────────────────────────────────────

  session(id: SessionId): Read<SessionRow | undefined> {
    return this.#session(id);
  }

  sessionOf(n: number): Read<SessionRow | undefined> {
    return this.#session(n);
  }

  #session(id: SessionId | number): Read<SessionRow | undefined> {
    const known = this.sessions.known(id);
    if (known !== undefined) return now(known);
    if (this.#isWrite) return reading(this.sessions.read(id));
    const asked = this.#reading.get(id) ?? this.sessions.read(id);
    this.#reading.set(id, asked);
    return reading(asked);
  }

  /** Returns the extra columns of a session that `session` has read. */
  extrasOf(session: number): SessionExtras | undefined {
    return this.sessions.extrasOf(session);
  }

  // ── Reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  get<Row extends object>(table: Table<Row>, index: string, ...key: readonly Key[]): Read<Row | undefined> {
    const at = table as Table;
    const isByName = index === "id" || index === "key";
    if (at === SESSION && isByName && !this.#isWrite) return this.#session(key[0] as never) as Read<Row | undefined>;
    const known =
      at === SESSION && isByName
        ? this.sessions.known(key[0] as SessionId | number)
        : at === JOB && isByName
          ? this.jobs.pending(key[0] as JobId | number)
          : undefined;
    if (known !== undefined) return now(known as unknown as Row);
    if (this.#isEmpty(at, index, key)) return now(undefined);
    if (!isByName) this.#beforeReading(at);
    const { sent, decode } = layoutOf(at).get(index, key);
    return reading(
      this.tx.rows<Fields>(...sent).then((rows) => decode(rows.slice(0, 1), this.sessions)[0] as Row | undefined),
    );
  }

  scan<Row extends object>(
    table: Table<Row>,
    index: string,
    key: readonly Key[],
    options: ScanOptions = {},
  ): Read<readonly Row[]> {
    const at = table as Table;
    if (this.#isEmpty(at, index, key)) return now([]);
    this.#beforeReading(at);
    const { sent, decode } = layoutOf(at).scan(index, key, options);
    return this.decoded(sent, (rows) => {
      const found = decode(rows, this.sessions, options.damage);
      if (at === JOB_OWNER) for (const { id, until } of found as readonly JobOwnerRow[]) this.owners.set(id, until);
      return found as readonly Row[];
    });
  }

  protected decoded<Row>(sent: Sent, decode: (rows: readonly Fields[]) => readonly Row[]): Read<readonly Row[]> {
    return reading(this.tx.rows<Fields>(...sent).then(decode));
  }

  count<Row extends object>(table: Table<Row>, index: string, ...key: readonly Key[]): Read<number> {
    const at = table as Table;
    if (this.#isEmpty(at, index, key)) return now(0);
    const waiting = at === TURN && index === "waiting" ? this.extrasOf(key[0] as number)?.waiting : undefined;
    if (waiting !== undefined) return now(waiting);
    this.#beforeReading(at);
    const counted = this.tx.row<{ count: number }>(...layoutOf(at).count(index, key));
    return reading(counted.then((row) => row!.count));
  }

  /** Returns whether the session's row shows that nothing waits, so that no query is needed. */
  #isEmpty(table: Table, index: string, key: readonly Key[]): boolean {
    if (table !== TURN) return false;
    const { on, only }: Index<TurnRow> = table.indexes[index]!;
    return on[0] === "session" && only?.state === WAITING && this.extrasOf(key[0] as number)?.waiting === 0;
  }

  #beforeReading(table: Table): void {
    if (table === SESSION) this.sessions.flush();
    if (table === JOB) this.jobs.flush();
  }

  // ── Writing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  add<Row extends { readonly n: number }>(table: Table<Row>, row: Omit<Row, "n">): Read<Row> {
    return this.#add(table, row) as Read<Row>;
  }

  addOnce<Row extends { readonly n: number }>(
    table: Table<Row>,
    index: string,
    row: Omit<Row, "n">,
  ): Read<Row | undefined> {
    return this.#add(table, row, index) as Read<Row | undefined>;
  }

  #add(table: Table, row: Fields, once?: string): Read<Fields | undefined> {
    // A job is written late. If another write uses its id first, this one is retried and finds that job.
    if (table === JOB) return this.#addJob(row as Omit<JobRow, "n">);
    if (table === SESSION) return this.#addSession(row, once);
    const adding = this.tx.row<{ n: number }>(...layoutOf(table).add(row, once));
    if (once === undefined) this.#wrote(table, row);
    return reading(
      adding.then((added) => {
        if (added === undefined) return undefined;
        if (once !== undefined) this.#wrote(table, row);
        return layoutOf(table).added(row, added.n);
      }),
    );
  }

  /** Checks again whether the session was deleted, because the insert may have waited for that delete. */
  #addSession(row: Fields, once: string | undefined): Read<Fields | undefined> {
    const adding = this.tx.row<{ n: number }>(...layoutOf(SESSION).add(row, once));
    const looking = this.tx.row(IS_GONE, row.id);
    return reading(
      Promise.all([adding, looking]).then(([added, gone]) => {
        if (gone !== undefined) throw moved();
        return added && this.sessions.added({ ...row, n: added.n } as SessionRow);
      }),
    );
  }

  #addJob(row: Omit<JobRow, "n">): Read<JobRow> {
    // Marks the session of an open turn that has jobs to cancel at its end.
    if (row.parent?.startsWith(OF_TURN)) this.sessions.moreOf(row.parent.slice(OF_TURN.length));
    return reading(this.jobs.add(row));
  }

  insert<Row extends object>(table: Table<Row>, row: Row): void {
    const at = table as Table;
    this.tx.queue(...layoutOf(at).insert(row));
    if (at === GONE) this.tx.queue(COUNT_GONE);
    this.#wrote(at, row);
  }

  /** Updates the session's row for a new row of another table. */
  #wrote(table: Table, row: Fields): void {
    if (table === NOTE || table === ATTEMPT) this.sessions.more((row as NoteRow).turn);
    if (table === WAIT && row.job === null) this.sessions.more((row as WaitRow).turn);
    if (table !== TURN) return;
    const { session, state, aside } = row as TurnRow;
    if (state === WAITING) this.sessions.count(session, 1);
    const open = aside === APPEND ? this.sessions.turnOf(session) : undefined;
    if (open !== undefined) this.sessions.more(open);
  }

  update<Row extends object>(table: Table<Row>, row: Row, change: Partial<Row>): Row {
    const at = table as Table;
    if (at === SESSION) return this.sessions.update(row as never, change as never) as unknown as Row;
    if (at === JOB) return this.jobs.update(row as never, change as never) as unknown as Row;
    const sent = layoutOf(at).update(row, change);
    if (sent !== undefined) this.tx.queue(...sent);
    if (at === TURN) this.#turned(row as never, change as never);
    if (at === PROFILE && (change as Partial<ProfileRow>).options !== undefined)
      this.sessions.optioned((row as unknown as ProfileRow).session);
    return { ...row, ...change };
  }

  #turned({ n, session, state }: TurnRow, change: Partial<TurnRow>): void {
    const waits = ((change.state ?? state) === WAITING ? 1 : 0) - (state === WAITING ? 1 : 0);
    this.sessions.count(session, waits);
    if (typeof change.claim === "number") this.sessions.more(change.claim);
    if (change.cancel != null) this.sessions.cancelled(session, n);
  }

  remove<Row extends object>(table: Table<Row>, row: Row): void {
    const at = table as Table;
    if (at === SESSION) return this.sessions.remove(row as never);
    if (at === JOB) return this.jobs.remove(row as never);
    this.tx.queue(...layoutOf(at).remove(row));
    if (at !== TURN) return;
    const { session, state } = row as unknown as TurnRow;
    if (state === WAITING) this.sessions.count(session, -1);
  }

  removeAll(table: Table, index: string, ...key: readonly Key[]): void {
    this.#remove(table, layoutOf(table).removeAll(index, key));
  }

  removeFirst(table: Table, index: string, key: readonly Key[], count: number): void {
    this.#remove(table, layoutOf(table).removeAll(index, key, count));
  }

  #remove(table: Table, [sql, ...values]: readonly [string, ...Value[]]): void {
    this.#beforeReading(table);
    if (table === TURN) this.sessions.uncounted();
    const whole = table === TURN ? removingTurns(sql) : table === JOB ? removingJobs(sql) : sql;
    this.tx.queue(whole, ...values);
  }
}

/** Returns a read that may fail unobserved, because the rule may have failed before it awaits the read. */
export function reading<T>(promise: Promise<T>): Read<T> {
  promise.catch(() => {});
  return later(promise);
}
