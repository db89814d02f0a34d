import type { SessionId } from "../../model/ids.ts";
import { SESSION, type SessionRow } from "../tables.ts";
import type { Fields, SessionNames } from "./columns.ts";
import { SERVER_TIME, type Transaction, type Value } from "./database.ts";
import { changedRow, layoutOf } from "./layouts.ts";

/**
 * The session rows of one transaction.
 *
 * book-1: A locked row is read once, because no other transaction changes it before the end.
 * book-2: The row has columns besides those of the rules: the number of waiting inputs and appends (`waiting`), whether
 * the open turn has more to end than its journal (`has_more`), whether it was asked to end (`is_cancelled`), and how
 * often the options were set (`optioned`). They let most appends and commits be one statement.
 * book-3: Changes of a locked row are collected and sent in one statement: at the end, or before something reads the
 * table.
 */
export interface SessionExtras {
  /** The number of waiting inputs and appends; undefined if unknown after a removal. */
  readonly waiting: number | undefined;
  readonly hasMore: boolean;
  /** The value as it was read. */
  readonly isCancelled: boolean;
  /** Until when another process follows the session live. */
  readonly followed: number;
  readonly optioned: number;
}

interface Booked extends SessionExtras {
  row: SessionRow;
  waiting: number | undefined;
  hasMore: boolean;
  readonly sets: Map<string, Value>;
  waitingBy: number;
  optionedBy: number;
  /** The new value of `has_more`. */
  more: boolean | undefined;
  /** The new value of `is_cancelled`. "of turn": that of the opened turn. */
  cancelled: boolean | "of turn" | undefined;
}

const BY_ID = "SELECT * FROM @session WHERE id = $1";
const BY_NUMBER = "SELECT * FROM @session WHERE n = $1";
const LOCK_BY_ID = `${BY_ID} FOR UPDATE`;
const LOCK_BY_NUMBER = `${BY_NUMBER} FOR UPDATE`;
const TIMED = `SELECT *, ${SERVER_TIME} AS time`;
const LOOK_BY_ID = BY_ID.replace("SELECT *", TIMED);
const LOOK_BY_NUMBER = BY_NUMBER.replace("SELECT *", TIMED);

/** Only if the turn is its session's open turn. */
const MORE_OF_TURN = `UPDATE @session s SET has_more = true FROM @turn t
  WHERE t.n = $1 AND s.n = t.session AND s.turn = t.n AND NOT s.has_more`;
const MORE_BY_TURN_ID = MORE_OF_TURN.replace("t.n = $1", "t.id = $1");
const CANCEL = "UPDATE @session SET is_cancelled = true WHERE n = $1 AND turn = $2";
const COUNT = "UPDATE @session SET waiting = waiting + $2 WHERE n = $1";
const IS_CANCELLED = "EXISTS (SELECT 1 FROM @turn t WHERE t.n = ? AND t.cancel IS NOT NULL)";
const FORGET_SHOWN = "DELETE FROM @preview WHERE session = $1";
const OPTIONED = "UPDATE @session SET optioned = optioned + 1 WHERE n = $1";

export class SessionBook implements SessionNames {
  readonly #tx: Transaction;
  readonly #isWrite: boolean;
  readonly #onTime: (time: number) => void;
  readonly #layout = layoutOf(SESSION);
  readonly #books = new Map<number, Booked>();

  /** `onTime` receives the server's time if a read returns it. */
  constructor(tx: Transaction, isWrite: boolean, onTime: (time: number) => void) {
    this.#tx = tx;
    this.#isWrite = isWrite;
    this.#onTime = onTime;
  }

  idOf(session: number): string | number {
    return this.#books.get(session)?.row.id ?? session;
  }

  turnOf(session: number): number | undefined {
    return this.#books.get(session)?.row.turn ?? undefined;
  }

  /** Returns the extra columns of a session that was read or locked in this transaction (book-2). */
  extrasOf(session: number): SessionExtras | undefined {
    return this.#books.get(session);
  }

  // ── Reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  known(id: SessionId | number): SessionRow | undefined {
    if (typeof id === "number") return this.#books.get(id)?.row;
    for (const { row } of this.#books.values()) if (row.id === id) return row;
    return undefined;
  }

  /** Reads a session. A write also locks it. */
  async read(id: SessionId | number): Promise<SessionRow | undefined> {
    const isNumber = typeof id === "number";
    const locking = isNumber ? LOCK_BY_NUMBER : LOCK_BY_ID;
    const looking = isNumber ? LOOK_BY_NUMBER : LOOK_BY_ID;
    const stored = await this.#tx.row<Fields>(this.#isWrite ? locking : looking, id);
    if (stored === undefined) return undefined;
    if (!this.#isWrite) this.#onTime(stored.time);
    const known = this.#books.get(stored.n); // A concurrent read of the same row may have finished first.
    return known === undefined ? this.#keep(stored) : known.row;
  }

  #keep(stored: Fields): SessionRow {
    const row = this.#layout.decodeLate(stored, this) as SessionRow;
    const { waiting, has_more: hasMore, is_cancelled: isCancelled, followed, optioned } = stored;
    this.#books.set(row.n, { row, waiting, hasMore, isCancelled, followed, optioned, ...unchanged() });
    return row;
  }

  /** Registers a session that this transaction has added. */
  added(row: SessionRow): SessionRow {
    const extras = { waiting: 0, hasMore: false, isCancelled: false, followed: 0, optioned: 0 };
    this.#books.set(row.n, { row, ...extras, ...unchanged() });
    return row;
  }

  // ── Writing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  update(row: SessionRow, change: Partial<SessionRow>): SessionRow {
    const after = changedRow(row, change);
    const book = this.#books.get(row.n);
    if (book === undefined) {
      const sent = this.#layout.update(row, change);
      if (sent !== undefined) this.#tx.queue(...sent);
      return after;
    }
    for (const { name, sql, encode } of this.#layout.changed(row, change))
      book.sets.set(sql, encode(change[name as keyof SessionRow], after));
    book.row = after;
    if (change.turn === undefined || change.turn === row.turn) return after;
    book.more = book.hasMore = false;
    book.cancelled = change.turn === null ? false : "of turn";
    // The previews of a turn are removed at its end.
    if (change.turn === null && book.followed > 0) this.#tx.queue(FORGET_SHOWN, row.n);
    return after;
  }

  remove({ n }: SessionRow): void {
    this.#books.delete(n);
    this.#tx.queue("DELETE FROM @session WHERE n = $1", n);
    this.#tx.queue("DELETE FROM @profile WHERE session = $1", n);
    this.#tx.queue("DELETE FROM @fact WHERE session = $1", n);
    this.#tx.queue(FORGET_SHOWN, n);
  }

  /** Changes the number of waiting inputs and appends. */
  count(session: number, by: number): void {
    if (by === 0) return;
    const book = this.#books.get(session);
    if (book === undefined) return this.#tx.queue(COUNT, session, by);
    book.waitingBy += by;
    if (book.waiting !== undefined) book.waiting += by;
  }

  /** Sends the collected counts, because the next statement of the caller changes `waiting` itself. */
  uncounted(): void {
    this.flush();
    for (const book of this.#books.values()) book.waiting = undefined;
  }

  /** Marks an open turn that has more to end than its journal. */
  more(turn: number): void {
    for (const book of this.#books.values())
      if (book.row.turn === turn) {
        if (!book.hasMore) book.more = book.hasMore = true;
        return;
      }
    this.flush();
    this.#tx.queue(MORE_OF_TURN, turn);
  }

  /** As `more`, for a turn whose number is unknown. */
  moreOf(turn: string): void {
    this.flush();
    this.#tx.queue(MORE_BY_TURN_ID, turn);
  }

  /** Marks a turn that was asked to end. */
  cancelled(session: number, turn: number): void {
    const book = this.#books.get(session);
    if (book === undefined) return this.#tx.queue(CANCEL, session, turn);
    if (book.row.turn === turn) book.cancelled = true;
  }

  optioned(session: number): void {
    const book = this.#books.get(session);
    if (book === undefined) this.#tx.queue(OPTIONED, session);
    else book.optionedBy += 1;
  }

  /** Sends the changes (book-3). */
  flush(): void {
    for (const book of this.#books.values()) this.#send(book);
  }

  #send(book: Booked): void {
    const { row, sets, waitingBy, optionedBy, more, cancelled } = book;
    const values: Value[] = [row.n];
    const terms: string[] = [];
    const set = (column: string, value: Value, sql = "?"): void => {
      terms.push(`${column} = ${sql.replace("?", `$${values.push(value)}`)}`);
    };
    // Sorted, so that the server prepares few different texts.
    for (const column of [...sets.keys()].sort()) set(column, sets.get(column)!);
    if (waitingBy !== 0) set("waiting", waitingBy, "waiting + ?");
    if (optionedBy !== 0) set("optioned", optionedBy, "optioned + ?");
    if (more !== undefined) set("has_more", more);
    if (cancelled === "of turn") set("is_cancelled", row.turn, IS_CANCELLED);
    else if (cancelled !== undefined) set("is_cancelled", cancelled);
    if (terms.length === 0) return;
    this.#tx.queue(`UPDATE @session SET ${terms.join(", ")} WHERE n = $1`, ...values);
    sets.clear();
    Object.assign(book, { waitingBy: 0, optionedBy: 0, more: undefined, cancelled: undefined });
  }
}

const unchanged = () => ({
  sets: new Map<string, Value>(),
  waitingBy: 0,
  optionedBy: 0,
  more: undefined,
  cancelled: undefined,
});
