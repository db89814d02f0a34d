import { RuntimeError } from "../../model/errors.ts";
import type { BlobHash, SessionId } from "../../model/ids.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { isWhole } from "../rows/hashes.ts";
import { OneWriter } from "../rules/one-writer.ts";
import type { BlobPage, Key, ScanOptions, TablePage } from "../rules/port.ts";
import { now, type Read } from "../rules/rule.ts";
import type { PluginSnapshots } from "../store.ts";
import {
  APPEND,
  FACTS,
  type FactKind,
  type FactRow,
  JOB,
  JOURNAL,
  type JobRow,
  type JournalRow,
  LEDGER,
  type LedgerRow,
  OPERATION,
  PROFILE,
  SESSION,
  type SessionRow,
  STATE,
  type StateRow,
  type Table,
  TURN,
  type TurnRow,
  WAIT,
} from "../tables.ts";
import { MemoryTable } from "./table.ts";

/** Plugin states of a session from a revision on. */
interface States {
  readonly since: number;
  readonly plugins: PluginSnapshots;
}

/** Data of a session that is not in rows: lists that every turn appends to and that are only found by their session. */
interface Lists {
  /** The events of the open turn. */
  journal: TurnEvent[] | undefined;
  /** Numbers of the session's facts, ascending. */
  facts: number[];
  states: readonly States[];
  ledger: readonly LedgerRow[];
}
/**
 * A fact as one number: the number of the row that it is about, and its kind. Every turn adds two facts, and an object
 * for each would take memory.
 */
type PackedFact = number;
const KINDS = FACTS.length;
const packed = (kind: FactKind, of: number): PackedFact => of * KINDS + FACTS.indexOf(kind);

export const NOTHING = Object.freeze([]) as never as never[];
const noLists = (): Lists => ({ journal: undefined, facts: NOTHING, states: NOTHING, ledger: NOTHING });

/**
 * Tables as maps. Rows are replaced and never changed, except in `fast.ts`. Values are kept by reference.
 *
 * memory-1: A rule that throws has all its writes undone.
 * memory-2: Journals, states and facts are lists, because every turn appends to them and they are only found by their
 * session.
 */
export class MemoryPort extends OneWriter {
  readonly sessions = new MemoryTable(SESSION, "id");
  readonly turns = new MemoryTable(TURN, "id");
  readonly profiles = new MemoryTable(PROFILE);
  readonly blobs = new Map<BlobHash, Uint8Array>();
  readonly lists = new Map<number, Lists>();
  /** A fact's number is its position, counted from 1. Deleted sessions leave holes. */
  readonly allFacts: (PackedFact | undefined)[] = [];
  readonly #tables = new Map<string, MemoryTable<object>>([
    [SESSION.name, this.sessions as never],
    [TURN.name, this.turns as never],
    [PROFILE.name, this.profiles as never],
  ]);
  #change = 0;
  #gone = 0;
  /** The latest row number. */
  number = 0;
  isClosed = false;
  /** Undoes the writes of the running rule (memory-1). */
  #undo: (() => void)[] = [];

  /** All workers on this store are in one process and die together. */
  override isDead(): boolean {
    return false;
  }

  override session(id: SessionId): Read<SessionRow | undefined> {
    return now(this.sessions.find("id", [id]));
  }

  override sessionOf(n: number): Read<SessionRow | undefined> {
    return now(this.sessions.cells.get(n)?.row);
  }

  // ── Tables ────────────────────────────────────────────────────────────────────────────────────────────────────────

  table<Row extends object>(table: Table<Row>): MemoryTable<Row> {
    const known = this.#tables.get(table.name) as MemoryTable<Row> | undefined;
    if (known !== undefined) return known;
    const made = new MemoryTable(table);
    this.#tables.set(table.name, made as never);
    return made;
  }

  override get<Row extends object>(table: Table<Row>, index: string, ...key: readonly Key[]): Read<Row | undefined> {
    if ((table as Table) === LEDGER) return now(this.#ledgerOf(key).find(isUnder(key)) as Row | undefined);
    return now(this.table(table).find(index, key));
  }

  scan<Row extends object>(
    table: Table<Row>,
    index: string,
    key: readonly Key[],
    options?: ScanOptions,
  ): Read<readonly Row[]> {
    if ((table as Table) === JOURNAL) return now(this.#journal(key[0] as number) as readonly never[]);
    if ((table as Table) === LEDGER) return now(this.#ledgerOf(key) as readonly never[]);
    return now(this.table(table).scan(index, key, options));
  }

  override count<Row extends object>(table: Table<Row>, index: string, ...key: readonly Key[]): Read<number> {
    return now(this.table(table).count(index, key));
  }

  add<Row extends { readonly n: number }>(table: Table<Row>, row: Omit<Row, "n">): Read<Row> {
    this.number += 1;
    const added = { n: this.number, ...row } as Row;
    const numbered = (table as Table) === JOB ? ({ ...added, changed: this.#nextChange() } as Row) : added;
    this.#put(this.table(table), numbered.n, numbered);
    if ((table as Table) === SESSION) this.lists.set(numbered.n, noLists());
    if ((table as Table) === TURN && (row as unknown as TurnRow).aside === APPEND) this.#skipFact();
    return now(numbered);
  }

  insert<Row extends object>(table: Table<Row>, row: Row): void {
    if ((table as Table) === JOURNAL) {
      const { session, events } = row as unknown as JournalRow;
      return this.#setList(session, "journal", [...(this.listsOf(session).journal ?? []), ...events]);
    }
    if ((table as Table) === LEDGER) {
      const { session } = row as unknown as LedgerRow;
      return this.#setList(session, "ledger", [...this.listsOf(session).ledger, row as unknown as LedgerRow]);
    }
    const rows = this.table(table);
    this.#put(rows, rows.keyOf(row), row);
    if (table.name === "gone") this.#count(1);
  }

  update<Row extends object>(table: Table<Row>, row: Row, change: Partial<Row>): Row {
    if ((table as Table) === LEDGER) return this.#updateLedger(row as never, change as never) as unknown as Row;
    const rows = this.table(table);
    const isNews = (table as Table) === JOB && (change as Partial<JobRow>).seq !== undefined;
    const changed = { ...row, ...change, ...(isNews ? { changed: this.#nextChange() } : {}) };
    this.#put(rows, rows.keyOf(row), changed);
    return changed;
  }

  remove<Row extends object>(table: Table<Row>, row: Row): void {
    const rows = this.table(table);
    this.#put(rows, rows.keyOf(row), undefined);
    if ((table as Table) === SESSION) this.#forget((row as unknown as SessionRow).n);
  }

  removeAll(table: Table, index: string, ...key: readonly Key[]): void {
    if (table === JOURNAL) return this.#setList(key[0] as number, "journal", undefined);
    if (table === LEDGER) return this.#setList(key[0] as number, "ledger", NOTHING);
    const rows = this.table(table);
    for (const row of rows.scan(index, key)) this.#put(rows, rows.keyOf(row), undefined);
  }

  #put<Row extends object>(rows: MemoryTable<Row>, key: Key, row: Row | undefined): void {
    const before = rows.put(key, row);
    this.#undo.push(() => rows.put(key, before));
  }

  #nextChange(): number {
    this.#change += 1;
    this.#undo.push(() => {
      this.#change -= 1;
    });
    return this.#change;
  }

  #count(by: number): void {
    this.#gone += by;
    this.#undo.push(() => {
      this.#gone -= by;
    });
  }

  // ── Lists of a session ────────────────────────────────────────────────────────────────────────────────────────────

  listsOf(session: number): Lists {
    const known = this.lists.get(session);
    if (known !== undefined) return known;
    const made = noLists();
    this.lists.set(session, made);
    return made;
  }

  #setList<Name extends keyof Lists>(session: number, name: Name, list: Lists[Name]): void {
    const lists = this.listsOf(session);
    const before = lists[name];
    lists[name] = list;
    this.#undo.push(() => {
      lists[name] = before;
    });
  }

  #journal(session: number): readonly JournalRow[] {
    const events = this.lists.get(session)?.journal;
    return events === undefined ? [] : [{ session, seq: 0, size: events.length, events }];
  }

  #ledgerOf([session]: readonly Key[]): readonly LedgerRow[] {
    return this.lists.get(session as number)?.ledger ?? NOTHING;
  }

  #updateLedger(row: LedgerRow, change: Partial<LedgerRow>): LedgerRow {
    const changed = { ...row, ...change };
    const ledger = this.#ledgerOf([row.session]).map((each) => (each === row ? changed : each));
    this.#setList(row.session, "ledger", ledger);
    return changed;
  }

  states(session: number, revision: number): Read<PluginSnapshots> {
    return now(statesAt(this.listsOf(session), revision));
  }

  keepStates(session: number, since: number, plugins: PluginSnapshots): void {
    this.#setList(session, "states", [...this.listsOf(session).states, { since, plugins }]);
  }

  forgetStates(session: number): void {
    this.#setList(session, "states", NOTHING);
  }

  // ── Facts ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  fact(session: number, kind: FactKind, of: number): Read<number> {
    const lists = this.listsOf(session);
    const { facts } = lists;
    const { length } = facts;
    const n = this.addFact(lists, kind, of);
    this.#undo.push(() => {
      this.allFacts.length = n - 1;
      if (facts.length > length) facts.length = length;
      lists.facts = facts;
    });
    return now(n);
  }

  addFact(lists: Lists, kind: FactKind, of: number): number {
    const n = this.allFacts.push(packed(kind, of));
    // An array that is pushed to reserves room for 16 more, which most sessions never use. Short ones are copied
    // instead.
    if (lists.facts.length < 8) lists.facts = lists.facts.concat(n);
    else lists.facts.push(n);
    return n;
  }

  /** Skips a fact number: an append that waits is not a fact but has a position in the order of facts. */
  #skipFact(): void {
    const { length } = this.allFacts;
    this.allFacts.push(undefined);
    this.#undo.push(() => {
      this.allFacts.length = length;
    });
  }

  facts(after: number, sessions: readonly number[] | undefined, max: number): Read<readonly FactRow[]> {
    if (sessions === undefined) {
      const found: FactRow[] = [];
      for (let n = after + 1; n <= this.allFacts.length && found.length < max; n += 1) {
        if (this.allFacts[n - 1] !== undefined) found.push(this.#factAt(n));
      }
      return now(found);
    }
    const numbers = sessions.flatMap((session) => pageOf(this.lists.get(session)?.facts ?? NOTHING, after, max));
    if (sessions.length > 1) numbers.sort((a, b) => a - b);
    return now(numbers.slice(0, max).map((n) => this.#factAt(n)));
  }

  #factAt(n: number): FactRow {
    const fact = this.allFacts[n - 1]!;
    const kind = FACTS[fact % KINDS]!;
    const of = Math.floor(fact / KINDS);
    const table = kind === "applied" ? OPERATION : kind === "asked" || kind === "answered" ? WAIT : TURN;
    const { session } = this.table(table as Table).cells.get(of)!.row as { readonly session: number };
    return { n, session, kind, of };
  }

  latestFact(): Read<number> {
    return now(this.allFacts.length);
  }

  latestChange(): Read<number> {
    return now(this.#change);
  }

  override gone(): Read<number> {
    return now(this.#gone);
  }

  #forget(session: number): void {
    const { facts } = this.listsOf(session);
    const rows = facts.map((n) => this.allFacts[n - 1]);
    for (const n of facts) this.allFacts[n - 1] = undefined;
    this.#setList(session, "facts", NOTHING);
    this.#undo.push(() => {
      for (const [at, n] of facts.entries()) this.allFacts[n - 1] = rows[at];
    });
  }

  // ── Blobs ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  keepBlobs(names: readonly string[]): Read<void> {
    for (const hash of names) if (!this.blobs.has(hash as BlobHash)) throw new RuntimeError("store.swept", { hash });
    return now(undefined);
  }

  // ── Checking ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Sorts the whole table for each page. That is slow but harmless, because this store offers no check to callers. */
  override page<Row extends object>(
    table: Table<Row>,
    after: readonly Key[] | undefined,
    max: number,
  ): Read<TablePage<Row>> {
    const { key } = table;
    const all = this.#allRows(table as Table) as readonly Row[];
    const rows = all.filter((row) => after === undefined || isAfter(row, key, after)).slice(0, max);
    const last = rows.length < max ? undefined : key.map((column) => rows.at(-1)![column] as Key);
    return now({ rows, last });
  }

  #allRows(table: Table): readonly object[] {
    const sessions = [...this.lists].sort(([a], [b]) => a - b);
    if (table === JOURNAL) return sessions.flatMap(([session]) => this.#journal(session));
    if (table === STATE) return sessions.flatMap(([session, { states }]) => stateRows(session, states));
    if (table === LEDGER) return sessions.flatMap(([, { ledger }]) => [...ledger].sort(bySource));
    return this.table(table).scan("key", []);
  }

  blobPage(after: Key | undefined, max: number): Read<BlobPage> {
    const hashes = [...this.blobs.keys()].sort().filter((hash) => after === undefined || hash > after!);
    const blobs = hashes.slice(0, max).map((hash) => ({ hash, isWhole: isWhole(hash, this.blobs.get(hash)!) }));
    return now({ blobs, last: blobs.length < max ? undefined : blobs.at(-1)!.hash });
  }

  hasBlobs(hashes: readonly string[]): Read<ReadonlySet<string>> {
    return now(new Set(hashes.filter((hash) => this.blobs.has(hash as BlobHash))));
  }

  // ── Rules ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  requireOpen(): void {
    if (this.isClosed) throw new RuntimeError("runtime.closed", {});
  }

  keep(): void {
    if (this.#undo.length > 0) this.#undo = [];
  }

  undo(): void {
    for (const undo of this.#undo.reverse()) undo();
    this.#undo = [];
  }
}

const isUnder =
  ([, source, model]: readonly Key[]) =>
  (row: LedgerRow): boolean =>
    row.source === source && row.model === model;

export const statesAt = ({ states }: Lists, revision: number): PluginSnapshots =>
  states.findLast(({ since }) => since <= revision)?.plugins ?? NO_PLUGINS;

/** Shared by the many sessions without plugin states. */
export const NO_PLUGINS: PluginSnapshots = {};

/** Returns the states of a session as rows in key order. */
function stateRows(session: number, states: readonly States[]): readonly StateRow[] {
  const rows = states.flatMap(({ since, plugins }) =>
    Object.entries(plugins).map(([plugin, body]) => ({ session, plugin, since, body })),
  );
  return rows.sort((a, b) => compare(a.plugin, b.plugin) || a.since - b.since);
}

const bySource = (a: LedgerRow, b: LedgerRow): number => compare(a.source, b.source) || compare(a.model, b.model);
const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

/** Returns whether a row comes after a key. */
function isAfter<Row extends object>(row: Row, key: Table<Row>["key"], after: readonly Key[]): boolean {
  for (const [at, column] of key.entries()) {
    const [value, other] = [row[column] as Key, after[at]!];
    if (value !== other) return value! > other!;
  }
  return false;
}

/** Returns the numbers above `last`, ascending. */
function pageOf(facts: readonly number[], last: number, max: number): readonly number[] {
  let low = 0;
  let high = facts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (facts[middle]! <= last) low = middle + 1;
    else high = middle;
  }
  return facts.slice(low, low + max);
}
