import type { SessionId } from "../../model/ids.ts";
import { LatestStates } from "../rows/latest-states.ts";
import { isProvenDead } from "../rows/process.ts";
import type { PathPage, Port } from "../rules/port.ts";
import { now, type Read } from "../rules/rule.ts";
import type { Agenda, PluginSnapshots, Store } from "../store.ts";
import type { FactKind, FactRow, SegmentRow, SubscriptionRow, WaitRow } from "../tables.ts";
import { type Blobs, SWEEPS } from "./blobs.ts";
import type { Connection } from "./connection.ts";
import { Agendas } from "./layout-agenda.ts";
import { factsAfter } from "./layout-facts.ts";
import { listSubscriptions, listWaits, pathFrom, statesAt } from "./layout-reads.ts";
import { PortRows } from "./port-rows.ts";

/**
 * The port of an SQLite file. A rule runs between `begin` and `finish`, inside one transaction of the connection, which
 * clears the caches of the port if the transaction fails. `port-rows.ts` reads and writes the rows.
 */
export class SqlitePort extends PortRows implements Port {
  readonly leaseMs: number;
  readonly attempt = 1;
  readonly #blobs: Blobs;
  readonly #states: LatestStates;
  readonly #agendas: Agendas;

  constructor(db: Connection, blobs: Blobs, states = new LatestStates()) {
    super(db);
    this.leaseMs = db.leaseMs;
    this.#blobs = blobs;
    this.#states = states;
    this.#agendas = new Agendas(db, this, this.numbers);
    db.remembers(this);
  }

  /** The transaction failed, so every cache is wrong. */
  override clear(): void {
    super.clear();
    this.#agendas.clear();
  }

  now(given: number): Read<number> {
    return now(given);
  }

  isDead(process: string): boolean {
    return isProvenDead(process);
  }

  /** No locks: there is one write transaction at a time. */
  lock(): void {}

  /** No hints: other processes poll the file. */
  hint(): void {}

  // ── Facts ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The number of a turn or an operation is also that of its first fact. */
  fact(_session: number, kind: FactKind, of: number): Read<number> {
    return now(kind === "accepted" || kind === "applied" ? of : this.numbers.nextFact());
  }

  facts(after: number, sessions: readonly number[] | undefined, max: number): Read<readonly FactRow[]> {
    return now(factsAfter(this.db, after, sessions, max));
  }

  latestFact(): Read<number> {
    return now(this.numbers.latestFact());
  }

  latestChange(): Read<number> {
    return now(this.numbers.latestChange());
  }

  gone(): Read<number> {
    return now(this.numbers.gone());
  }

  // ── Blobs ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  keepBlobs(names: readonly string[]): Read<void> {
    return now(this.#blobs.keep(names));
  }

  keepNamed(text: () => string): Read<void> {
    return now(this.#blobs.keepNamed(text));
  }

  latestAnswer(turn: number): Read<number> {
    return now(this.db.row<{ nth: number }>(LATEST_ANSWER, turn)!.nth);
  }

  isFollowed(session: number, at: number): Read<boolean> {
    return now(this.db.row(FOLLOWED, session, at) !== undefined);
  }

  sweeps(): Read<number> {
    return now(this.db.row<{ sweeps: number }>(COUNT_SWEEPS)!.sweeps);
  }

  // ── In one statement ──────────────────────────────────────────────────────────────────────────────────────────────

  path(from: number, page: PathPage): Read<readonly SegmentRow[]> {
    return now(pathFrom(this.db, this.read, from, page));
  }

  states(session: number, revision: number): Read<PluginSnapshots> {
    const known = this.#states.at(session, revision);
    return now(known ?? this.#states.set(session, revision, statesAt(this.db, session, revision)));
  }

  moved(session: number, from: number, to: number, plugins: PluginSnapshots | undefined): void {
    this.#states.moved(session, from, to, plugins);
  }

  nameSegments(session: number): void {
    this.db.run("UPDATE segment SET is_named = 1 WHERE n IN (SELECT n FROM turn WHERE session = ?)", session);
  }

  use(segment: number, by: number): void {
    this.db.run("UPDATE segment SET users = users + ? WHERE n = ?", by, segment);
  }

  /** Without verifying checksums, because the id of a damaged session is needed too. */
  sessionIds(numbers: readonly number[]): Read<ReadonlyMap<number, SessionId>> {
    const rows = this.db.rows<{ n: number; id: SessionId }>(SESSION_IDS, JSON.stringify(numbers));
    return now(new Map(rows.map(({ n, id }) => [n, id])));
  }

  forgetOwners(time: number): void {
    this.db.run(FORGET_OWNERS, time);
  }

  waits(page: Parameters<Store["waits"]["list"]>[0]): Read<readonly WaitRow[]> {
    return now(listWaits(this.db, this.read, page));
  }

  subscriptions(page: Parameters<Store["triggers"]["list"]>[0]): Read<readonly SubscriptionRow[]> {
    return now(listSubscriptions(this.db, this.read, page));
  }

  agenda(time: number, max: number, operations: readonly string[] | undefined): Read<Agenda> {
    return now(this.#agendas.at(time, max, operations));
  }
}

const SESSION_IDS = "SELECT n, id FROM session WHERE n IN (SELECT value FROM json_each(?))";
const FORGET_OWNERS = `DELETE FROM job_owner WHERE until <= ?
  AND NOT EXISTS (SELECT 1 FROM job WHERE owner = job_owner.id)`;
const COUNT_SWEEPS = `SELECT ${SWEEPS} AS sweeps`;
/** Returns the jobs that a job awaits, as stored. */
const FOLLOWED = "SELECT 1 FROM follower WHERE session = ? AND until > ?";
const LATEST_ANSWER = "SELECT coalesce(max(nth), 0) AS nth FROM wait WHERE turn = ? AND key IS NOT NULL";
