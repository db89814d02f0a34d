import { RuntimeError } from "../../model/errors.ts";
import type { SessionId } from "../../model/ids.ts";
import type { Key, ScanOptions } from "../rules/port.ts";
import { now, type Read } from "../rules/rule.ts";
import {
  GONE,
  type GoneRow,
  JOB,
  JOB_AWAIT,
  JOURNAL,
  type JournalRow,
  OPERATION,
  PROFILE,
  type ProfileRow,
  SESSION,
  type SessionRow,
  type Table,
  TURN,
} from "../tables.ts";
import type { Connection } from "./connection.ts";
import { RowCounts, Tallies } from "./layout-counts.ts";
import { Numbers } from "./layout-facts.ts";
import type { Reader } from "./layout-reads.ts";
import { readRow, type StoredRow, writeRow } from "./layout-rows.ts";
import { SessionRows } from "./layout-sessions.ts";
import type { Statement } from "./layout-statements.ts";
import { journalCells, type StoredTable, storedTableOf } from "./layouts.ts";
import { PortChecks } from "./port-checks.ts";

/**
 * Reads and writes the rows of the tables in an SQLite file (`layouts.ts`), and caches them while a rule runs.
 *
 * port-1: Reads and writes run immediately. Only row counts wait for `finish`.
 * port-2: Checksums are computed and verified only here.
 * port-3: A change needs the stored row, so the port caches it for every row that it returned.
 */
export abstract class PortRows extends PortChecks {
  readonly tried = new Map<string, unknown>();
  protected readonly db: Connection;
  protected readonly numbers: Numbers;
  readonly #ownRows: RowCounts;
  readonly #tallies: Tallies;
  readonly #sessions: SessionRows;
  /** Stored rows by the rows that were returned (port-3). */
  readonly #storedRows = new WeakMap<object, StoredRow>();
  /** The awaited jobs of the jobs that this write has read, as stored. */
  readonly #awaited = new Map<number, string[]>();
  /** Journal rows whose turns are not open yet. */
  #journals: JournalRow[] = [];

  constructor(db: Connection) {
    super(db);
    this.db = db;
    this.numbers = new Numbers(db);
    this.#ownRows = new RowCounts(db);
    this.#tallies = new Tallies(db);
    this.#sessions = new SessionRows(db, this.#ownRows);
  }

  // ── One rule ──────────────────────────────────────────────────────────────────────────────────────────────────────

  begin(): void {
    this.#forget();
  }

  /** Writes what was deferred to the end of the rule (port-1). */
  finish(): void {
    this.#writeJournals();
    this.#ownRows.write();
    this.#forget();
  }

  /** The transaction failed, so every cache is wrong. */
  clear(): void {
    this.#forget();
  }

  #forget(): void {
    this.tried.clear();
    this.numbers.clear();
    this.#ownRows.clear();
    this.#sessions.clear();
    this.#awaited.clear();
    if (this.#journals.length > 0) this.#journals = [];
  }

  protected forgetRead(): void {
    this.#sessions.clear();
    this.#awaited.clear();
  }

  // ── Reading ───────────────────────────────────────────────────────────────────────────────────────────────────────

  session(id: SessionId): Read<SessionRow | undefined> {
    return now(this.find(SESSION, "id", id));
  }

  sessionOf(n: number): Read<SessionRow | undefined> {
    return now(this.find(SESSION, "key", n));
  }

  get<Row extends object>(table: Table<Row>, index: string, ...key: readonly Key[]): Read<Row | undefined> {
    return now(this.find(table, index, ...key));
  }

  find<Row extends object>(table: Table<Row>, index: string, ...key: readonly Key[]): Row | undefined {
    const place = storedTableOf(table);
    const { sql, values } = place.statements.select(index, FIRST);
    const stored = this.db.row<StoredRow>(sql, ...values(key, FIRST));
    return stored && this.read<Row>(place, stored, false);
  }

  scan<Row extends object>(
    table: Table<Row>,
    index: string,
    key: readonly Key[],
    options: ScanOptions = {},
  ): Read<readonly Row[]> {
    const place = storedTableOf(table);
    const { sql, values } = place.statements.select(index, options);
    const { isWhole = false, damage } = options;
    const rows: Row[] = [];
    for (const stored of this.db.rows<StoredRow>(sql, ...values(key, options))) {
      if (damage === undefined) rows.push(this.read(place, stored, isWhole));
      else
        try {
          rows.push(this.read(place, stored, isWhole));
        } catch (error) {
          if (!(error instanceof RuntimeError && error.code === "store.corrupt")) throw error;
          damage.push(error);
        }
    }
    return now(rows);
  }

  count<Row extends object>(table: Table<Row>, index: string, ...key: readonly Key[]): Read<number> {
    const known = this.#tallies.of(table, index, key[0] as number);
    if (known !== undefined) return now(known);
    const { sql, values } = storedTableOf(table).statements.count(index);
    return now(this.db.row<{ count: number }>(sql, ...values(key, {}))!.count);
  }

  protected readonly read: Reader = <Row extends object>(
    place: StoredTable,
    stored: StoredRow,
    isWhole: boolean,
  ): Row => {
    const row = readRow(place.layout, stored, isWhole) as Row;
    const { table } = place.layout;
    if (table === SESSION) this.#sessions.hold(stored);
    else this.#storedRows.set(row, stored);
    if (table === JOB) this.#awaited.set(stored.n as number, awaitedIn(stored));
    return row;
  };

  // ── Writing ───────────────────────────────────────────────────────────────────────────────────────────────────────

  add<Row extends { readonly n: number }>(table: Table<Row>, row: Omit<Row, "n">): Read<Row> {
    if ((table as Table) === SESSION) return now(this.#sessions.add(row as never) as unknown as Row);
    const place = storedTableOf(table);
    const n = this.#nextNumber(place);
    const news = (table as Table) === JOB ? { changed: this.numbers.nextChange() } : {};
    const added = { n, ...row, ...news } as unknown as Row;
    this.#storedRows.set(added, this.#insert(place, added));
    return now(added);
  }

  #nextNumber({ layout, statements }: StoredTable): number {
    const isFact = layout.table === TURN || layout.table === OPERATION;
    return isFact ? this.numbers.nextFact() : this.db.row<{ next: number }>(statements.next)!.next;
  }

  insert<Row extends object>(table: Table<Row>, row: Row): void {
    switch (table as Table) {
      case PROFILE:
        return this.#sessions.addProfile(row as unknown as ProfileRow);
      case JOURNAL:
        return this.#record(row as unknown as JournalRow);
      case GONE:
        return this.numbers.bury((row as unknown as GoneRow).id);
      default:
        this.#insert(storedTableOf(table), row);
    }
  }

  #insert({ layout, statements }: StoredTable, row: object): StoredRow {
    const stored = writeRow(layout, row as { readonly [column: string]: unknown });
    this.db.run(statements.insert, ...statements.inserted(stored));
    const { table } = layout;
    this.#countRow(layout, stored, 1);
    this.#tallies.change(table, undefined, stored);
    if (table === JOB_AWAIT) this.#awaited.get(stored.job as number)?.push(stored.awaited as string);
    return stored;
  }

  update<Row extends object>(table: Table<Row>, row: Row, change: Partial<Row>): Row {
    if ((table as Table) === SESSION) return this.#updateSession(row as never, change as never) as unknown as Row;
    if ((table as Table) === PROFILE)
      return this.#sessions.updateProfile(row as never, change as never) as unknown as Row;
    const { layout, statements } = storedTableOf(table);
    const before = this.#storedRows.get(row);
    if (before === undefined) throw new Error(`A row of ${table.name} was changed that the store did not give out.`);
    const after = { ...before };
    let changed = { ...row, ...change };
    let mask = 0;
    for (const name in change) {
      const value = change[name];
      if (value === row[name] || value === undefined) continue;
      const at = layout.places.get(name)!;
      const { storedAs, write } = layout.columns[at]!;
      const cell = write(value, after);
      if (cell === before[storedAs]) continue;
      after[storedAs] = cell;
      mask |= 1 << at;
    }
    if ((mask & layout.fixed) !== 0) throw new Error(`A row of ${table.name} was given another key.`);
    if ((table as Table) === JOB && before.seq !== after.seq) {
      after.changed = this.numbers.nextChange();
      mask |= 1 << layout.places.get("changed")!;
      changed = { ...changed, changed: after.changed };
    }
    if (mask !== 0) {
      if (layout.sum !== undefined) after.seal = layout.sum(after);
      this.db.run(statements.update(mask), ...statements.updated(mask, after));
      if (layout.countedBy === "session" && before.session !== after.session) {
        this.#countRow(layout, before, -1);
        this.#countRow(layout, after, 1);
      }
      this.#tallies.change(table, before, after);
    }
    this.#storedRows.set(changed, after);
    return changed;
  }

  #updateSession(row: SessionRow, change: Partial<SessionRow>): SessionRow {
    const changed = this.#sessions.update(row, change);
    if (this.#journals.length > 0 && changed.turn !== null) this.#writeJournals();
    return changed;
  }

  remove<Row extends object>(table: Table<Row>, row: Row): void {
    if ((table as Table) === SESSION) return this.#sessions.remove((row as unknown as SessionRow).n);
    if ((table as Table) === PROFILE) return this.#sessions.removeProfile((row as unknown as ProfileRow).session);
    const stored = this.#storedRows.get(row);
    if (stored === undefined) throw new Error(`A row of ${table.name} was removed that the store did not give out.`);
    this.#remove(storedTableOf(table), stored);
  }

  #remove({ layout, statements }: StoredTable, stored: StoredRow): void {
    if (layout.table === JOB) this.numbers.raiseJobFloor();
    const gone = this.db.run(statements.remove, ...statements.keyOf(stored));
    this.#countRow(layout, stored, -gone);
    this.#tallies.change(layout.table, stored, undefined);
  }

  removeFirst(table: Table, index: string, key: readonly Key[], count: number): void {
    const place = storedTableOf(table);
    const options = { max: count };
    const { sql, values } = place.statements.select(index, options);
    for (const stored of this.db.rows<StoredRow>(sql, ...values(key, options))) this.#remove(place, stored);
  }

  removeAll(table: Table, index: string, ...key: readonly Key[]): void {
    switch (table) {
      case SESSION:
        for (const n of this.#numbersOf(SESSION, index, key)) this.#sessions.remove(n);
        return;
      case PROFILE:
        for (const n of this.#numbersOf(PROFILE, index, key)) this.#sessions.removeProfile(n);
        return;
      case JOURNAL:
        return this.#forgetJournals(index, key);
      case JOB_AWAIT:
        if (index === "job" && this.#forgetAwaits(key[0] as number)) return;
        break;
      case JOB:
        this.numbers.raiseJobFloor();
        break;
    }
    this.#removeCounted(storedTableOf(table), index, key);
    this.#tallies.forget(table);
  }

  #removeCounted({ layout, statements }: StoredTable, index: string, key: readonly Key[]): void {
    const { sql, values } = statements.removeAll(index);
    const { table, countedBy } = layout;
    const at = countedBy === undefined ? -1 : table.indexes[index]!.on.indexOf(countedBy);
    if (countedBy !== undefined && at < 0)
      for (const { owner, count } of this.#ownersOf(statements.owners(index, countedBy), key))
        this.#countRow(layout, { [countedBy]: owner }, -count);
    const gone = this.db.run(sql, ...values(key, {}));
    if (countedBy !== undefined && at >= 0) this.#countRow(layout, { [countedBy]: key[at] as number }, -gone);
  }

  #ownersOf({ sql, values }: Statement, key: readonly Key[]): readonly { owner: number; count: number }[] {
    return this.db.rows(sql, ...values(key, {}));
  }

  /**
   * Returns the numbers of sessions under a key without verifying checksums, because damaged rows can be removed too.
   */
  #numbersOf(table: Table, index: string, key: readonly Key[]): readonly number[] {
    const { sql, values } = storedTableOf(table).statements.select(index);
    return this.db.rows<{ n: number }>(sql, ...values(key, {})).map(({ n }) => n);
  }

  /** Updates a session's row count. */
  #countRow({ countedBy }: StoredTable["layout"], stored: StoredRow, by: number): void {
    if (countedBy === undefined || by === 0) return;
    const session = countedBy === "session" ? (stored.session as number) : this.#sessionOfTurn(stored.turn as number);
    if (session !== undefined) this.#ownRows.change(session, by);
  }

  #sessionOfTurn(turn: number): number | undefined {
    return this.db.row<{ session: number }>("SELECT session FROM turn WHERE n = ?", turn)?.session;
  }

  /**
   * `job_await` is only found by the awaited job. Returns false for a job that was not read, because its awaited jobs
   * are then unknown.
   */
  #forgetAwaits(job: number): boolean {
    const awaited = this.#awaited.get(job);
    if (awaited === undefined) return false;
    for (const id of awaited) this.db.run("DELETE FROM job_await WHERE awaited = ? AND job = ?", id, job);
    this.#awaited.set(job, []);
    return true;
  }

  // ── Journals ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * The checksum of a journal row contains the open turn. A row that is written before its session has one is deferred.
   */
  #record(row: JournalRow): void {
    const turn = this.#sessions.turnOf(row.session);
    if (turn === null) this.#journals.push(row);
    else this.db.run(RECORD, ...journalCells(row, turn));
  }

  #writeJournals(): void {
    if (this.#journals.length === 0) return;
    const rows = this.#journals;
    this.#journals = [];
    for (const row of rows) this.db.run(RECORD, ...journalCells(row, this.#sessions.turnOf(row.session)));
  }

  #forgetJournals(index: string, key: readonly Key[]): void {
    this.#writeJournals();
    const { sql, values } = storedTableOf(JOURNAL).statements.removeAll(index);
    this.db.run(sql, ...values(key, {}));
    // The previews of a turn are removed with its journal.
    if (index === "session") this.db.run("DELETE FROM preview WHERE session = ?", key[0] as number);
  }
}

const FIRST: ScanOptions = { max: 1 };
const RECORD = "INSERT INTO journal (k, size, until, events) VALUES (?, ?, 0, ?)";
const awaitedIn = ({ awaits }: StoredRow): string[] =>
  awaits === null ? [] : [...(JSON.parse(awaits as string) as { readonly jobs: readonly string[] }).jobs];
