import type { JobId, SessionId } from "../../model/ids.ts";
import type { Spent } from "../../model/usage.ts";
import { corrupt } from "../rows/faults.ts";
import type { LatestStates } from "../rows/latest-states.ts";
import { isProvenDead } from "../rows/process.ts";
import type { BlobPage, Finding, Key, PageOptions, PathPage, Port, TablePage } from "../rules/port.ts";
import { now, type Read, type Rule } from "../rules/rule.ts";
import type { Agenda, Hint, PluginSnapshots, Store } from "../store.ts";
import {
  FACTS,
  type FactKind,
  type FactRow,
  JOB,
  JOB_EVENT,
  type JobEventRow,
  type JobRow,
  SEGMENT,
  type SegmentRow,
  type SessionRow,
  SUBSCRIPTION,
  type SubscriptionRow,
  type Table,
  WAIT,
  type WaitRow,
} from "../tables.ts";
import type { Blobs } from "./blobs.ts";
import type { Database, Transaction } from "./database.ts";
import { payloadOf } from "./hints.ts";
import { layoutOf, type Sent } from "./layouts.ts";
import { BOOK, bookValues } from "./ledger.ts";
import {
  ADD_FACT,
  COUNTER,
  dueJobs,
  eventsUnder,
  FORGET_OWNERS,
  factsOf,
  leftJobs,
  NAME_SEGMENTS,
  pathOf,
  SESSION_IDS,
  SWEEPS,
  statesAt,
  subscriptionsOf,
  USE,
  waitsOf,
} from "./pages.ts";
import { moved, PostgresTables, reading } from "./port-tables.ts";
import { problemsIn } from "./problems.ts";
import { blobsAfter, blobsAmong, pageOf } from "./table-pages.ts";
import { toDo } from "./to-do.ts";

export interface PortOptions {
  readonly isWrite: boolean;
  readonly attempt: number;
  readonly tried: Map<string, unknown>;
  readonly blobs: Blobs;
  readonly states: LatestStates;
  /** The server's time at the beginning of a write. */
  readonly time?: Promise<number>;
}

/** Implements the port of rules in one PostgreSQL transaction. */
export class PostgresPort extends PostgresTables implements Port {
  readonly leaseMs: number;
  readonly attempt: number;
  readonly tried: Map<string, unknown>;
  readonly #blobs: Blobs;
  readonly #states: LatestStates;
  readonly #moves: (() => void)[] = [];

  constructor(tx: Transaction, db: Database, { isWrite, attempt, tried, blobs, states, time }: PortOptions) {
    super(tx, db, isWrite, time);
    this.leaseMs = db.leaseMs;
    this.attempt = attempt;
    this.tried = tried;
    this.#blobs = blobs;
    this.#states = states;
  }

  isDead(process: string): boolean {
    return isProvenDead(process);
  }

  startOver(): never {
    throw moved();
  }

  hint(hint: Hint): void {
    this.tx.hint(payloadOf(hint));
  }

  // ── Facts ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  fact(session: number, kind: FactKind, of: number): Read<number> {
    this.jobs.flush(); // Job changes are numbered before facts: that is the order of locks.
    const adding = this.tx.row<{ n: number }>(ADD_FACT, session, FACTS.indexOf(kind), of);
    return reading(adding.then((row) => row!.n));
  }

  facts(after: number, sessions: readonly number[] | undefined, max: number): Read<readonly FactRow[]> {
    return this.decoded(
      factsOf(after, sessions, max),
      (rows) => rows.map((row) => ({ ...row, kind: FACTS[row.kind]! })) as unknown as readonly FactRow[],
    );
  }

  latestFact(): Read<number> {
    return this.#value(COUNTER, "fact");
  }

  latestChange(): Read<number> {
    this.jobs.flush();
    return this.#value(COUNTER, "job");
  }

  gone(): Read<number> {
    return this.#value(COUNTER, "gone");
  }

  latestAnswer(turn: number): Read<number> {
    return this.#value(LATEST_ANSWER, turn);
  }

  *isFollowed(session: number, given: number): Rule<boolean> {
    const time = yield* this.now(given);
    return (this.extrasOf(session)?.followed ?? 0) > time;
  }

  sweeps(): Read<number> {
    return this.#value(SWEEPS);
  }

  #value(...sent: Sent): Read<number> {
    const counted = (row: { readonly value: number } | undefined): number => {
      if (row === undefined) throw corrupt(`The counter ${sent[1]}`, "it is missing");
      return row.value;
    };
    return reading(this.tx.row<{ value: number }>(...sent).then(counted));
  }

  // ── Blobs ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  keepBlobs(names: readonly string[]): Read<void> {
    return names.length === 0 ? now(undefined) : reading(this.#blobs.keep(this.tx, names));
  }

  keepNamed(text: () => string): Read<void> {
    return reading(this.#blobs.keepNamed(this.tx, text));
  }

  // ── Sessions ────────────────────────────────────────────────────────────────────────────────────────────────────────

  states(session: number, revision: number): Read<PluginSnapshots> {
    const known = this.#states.at(session, revision);
    if (known !== undefined) return now(known);
    return reading(statesAt(this.tx, session, revision).then((found) => this.#states.set(session, revision, found)));
  }

  moved(session: number, from: number, to: number, plugins: PluginSnapshots | undefined): void {
    this.#moves.push(() => this.#states.moved(session, from, to, plugins));
  }

  /** The write was kept: caches may now store its sessions. */
  committed(): void {
    for (const move of this.#moves) move();
  }

  /** The server numbers new ledger rows. */
  book(session: number, spent: readonly Spent[]): void {
    if (spent.length > 0) this.tx.queue(BOOK, session, ...bookValues(spent));
  }

  sessionIds(numbers: readonly number[]): Read<ReadonlyMap<number, SessionId>> {
    const found = this.tx.rows<Pick<SessionRow, "n" | "id">>(SESSION_IDS, numbers);
    return reading(found.then((rows) => new Map(rows.map(({ n, id }) => [n, id]))));
  }

  agenda(given: number, max: number, operations: readonly string[] | undefined): Read<Agenda> {
    return reading(toDo(this.tx, this.db.time(given), given, max, operations));
  }

  // ── The graph ───────────────────────────────────────────────────────────────────────────────────────────────────────

  path(from: number, page: PathPage): Read<readonly SegmentRow[]> {
    return this.#rows(SEGMENT, pathOf(from, page), page.isWhole);
  }

  use(segment: number, by: number): void {
    this.tx.queue(USE, segment, by);
  }

  nameSegments(session: number): void {
    this.tx.queue(NAME_SEGMENTS, session);
  }

  // ── Waits and subscriptions ─────────────────────────────────────────────────────────────────────────────────────────

  waits(page: Parameters<Store["waits"]["list"]>[0]): Read<readonly WaitRow[]> {
    return this.#rows(WAIT, waitsOf(page));
  }

  subscriptions(page: Parameters<Store["triggers"]["list"]>[0]): Read<readonly SubscriptionRow[]> {
    return this.#rows(SUBSCRIPTION, subscriptionsOf(page));
  }

  // ── Jobs ────────────────────────────────────────────────────────────────────────────────────────────────────────────

  jobEvents(id: JobId, keys: readonly string[]): Read<readonly JobEventRow[]> {
    if (this.jobs.pending(id) !== undefined) this.jobs.flush();
    return this.#rows(JOB_EVENT, eventsUnder(id, keys));
  }

  *claimable(tasks: readonly string[], due: number, gone: readonly string[], max: number): Rule<readonly JobRow[]> {
    this.jobs.flush();
    const until = gone.map((id) => this.owners.get(id) ?? null);
    const found = this.#rows(JOB, dueJobs(tasks, due, max));
    const left = gone.length === 0 ? now([]) : this.#rows(JOB, leftJobs(gone, until, tasks, max));
    return [...(yield* found), ...(yield* left)];
  }

  forgetOwners(time: number): void {
    this.jobs.flush();
    this.tx.queue(FORGET_OWNERS, time);
  }

  // ── Checking ────────────────────────────────────────────────────────────────────────────────────────────────────────

  page<Row extends object>(
    table: Table<Row>,
    after: readonly Key[] | undefined,
    max: number,
    options: PageOptions,
  ): Read<TablePage<Row>> {
    return reading(pageOf(this.tx, this.sessions, table, after, max, options));
  }

  /** Indexes are not compared with their tables. Only a server extension can do that. */
  problems(_isDeep: boolean, max: number): Read<readonly Finding[]> {
    return reading(problemsIn(this.tx, max));
  }

  blobPage(after: Key | undefined, max: number): Read<BlobPage> {
    return reading(blobsAfter(this.tx, after, max));
  }

  hasBlobs(hashes: readonly string[]): Read<ReadonlySet<string>> {
    return reading(blobsAmong(this.tx, hashes));
  }

  #rows<Row extends object>(table: Table<Row>, sent: Sent, isWhole = false): Read<readonly Row[]> {
    const layout = layoutOf(table as Table);
    return this.decoded(sent, (rows) => rows.map((row) => layout.decode(row, this.sessions, isWhole) as Row));
  }
}

const LATEST_ANSWER = "SELECT coalesce(max(nth), 0) AS value FROM @wait WHERE turn = $1 AND key IS NOT NULL";
