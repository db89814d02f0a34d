import { Agenda, Hint, OpenAnswer, PluginSnapshots, Store } from "../store.js";
import { Awaitable } from "../../model/awaitable.js";
import {
  FactKind,
  FactRow,
  JobEventRow,
  JobRow,
  SegmentRow,
  SessionRow,
  SubscriptionRow,
  Table,
  WaitRow,
} from "../tables.js";
import { JobId, SessionId } from "../../model/ids.js";
import { Read, Rule } from "./rule.js";
import { Spent } from "../../model/usage.js";
type Key = string | number | boolean | null;
interface ScanOptions {
  /**
   * Only rows whose first ordering column (`by`, or else the last column of the key) is above `above` and at most
   * `upTo`.
   */
  readonly above?: number | string;
  readonly upTo?: number;
  /**
   * With `upTo`: a second limit. Of the rows whose column equals `upTo`, only those whose next ordering column is at
   * most this value.
   */
  readonly upToNext?: number;
  readonly max?: number;
  readonly isDescending?: boolean;
  /** Also reads `long` columns. */
  readonly isWhole?: boolean;
  /** Collects the errors of damaged rows and skips those rows. Default: the first error is thrown. */
  readonly damage?: unknown[];
}
/**
 * The rows that a write will change, besides the session that it has read. A store with one writer at a time needs no
 * lock. All others take locks in one order: source, sessions by number, subscriptions, occurrences, jobs by number,
 * numbers of job changes, numbers of facts. A rule must follow this order, so it numbers facts last.
 */
type Lock = {
  readonly source: string;
} | {
  readonly sessions: readonly SessionId[];
} | {
  readonly subscriptions: readonly {
    readonly sessionId: SessionId;
    readonly id: string;
  }[];
} |
/** Sorted by number. Two writes that remove deliveries of one occurrence must see each other. */
{
  readonly occurrences: readonly number[];
} | {
  readonly owner: string;
} | {
  readonly jobs: readonly JobId[];
} |
/** Jobs that may end or become idle, with the children that end with them and the jobs that await one of these. */
{
  readonly endings: readonly JobId[];
  readonly others?: readonly JobId[];
} | {
  readonly childrenOf: string;
} | {
  readonly jobsOf: number;
} |
/** The user counts of segments: two deletes must see each other. */
{
  readonly graph: true;
};
/**
 * The methods that rules need from a store. Reads are awaited with `yield*`. Writes are plain calls: a store may send
 * them later, in order, and later reads of the same rule see them. A rule that throws leaves no write behind.
 */
interface Port {
  readonly leaseMs: number;
  /** Starts at 1. In a later attempt, an earlier one may have been kept although its answer was lost. */
  readonly attempt: number;
  /** Data that one attempt at a write leaves for the next. */
  readonly tried: Map<string, unknown>;
  /** Returns the clock that leases are measured by: the caller's, or the store's own. */
  now(given: number): Read<number>;
  /** Returns whether a process is known to be dead. */
  isDead(process: string): boolean;
  /** Returns the session. A write also locks it, so later reads stay true until the rule ends. */
  session(id: SessionId): Read<SessionRow | undefined>;
  sessionOf(n: number): Read<SessionRow | undefined>;
  lock(what: Lock): void;
  /** Restarts the write, because a row moved before it was locked. A store with one writer at a time never needs it. */
  startOver?(): never;
  get<Row extends object, Name extends string>(table: Table<Row, Name>, index: NoInfer<Name> | "key", ...key: readonly Key[]): Read<Row | undefined>;
  scan<Row extends object, Name extends string>(table: Table<Row, Name>, index: NoInfer<Name> | "key", key: readonly Key[], options?: ScanOptions): Read<readonly Row[]>;
  count<Row extends object, Name extends string>(table: Table<Row, Name>, index: NoInfer<Name> | "key", ...key: readonly Key[]): Read<number>;
  /** Adds a row under the next number. A turn and an operation never share a number, though their tables differ. */
  add<Row extends {
    readonly n: number;
  }>(table: Table<Row>, row: Omit<Row, "n">): Read<Row>;
  insert<Row extends object>(table: Table<Row>, row: Row): void;
  /** Changes a row. `row` must be the latest version that this rule has read, added or changed. */
  update<Row extends object>(table: Table<Row>, row: Row, change: Partial<Row>): Row;
  remove<Row extends object>(table: Table<Row>, row: Row): void;
  /** Removes all rows under a key, including damaged ones. */
  removeAll<Any extends Table>(table: Any, index: keyof Any["indexes"] & string, ...key: readonly Key[]): void;
  /**
   * Returns the next fact number. `of` is the row that the fact is about. The facts of a session are removed with its
   * row.
   */
  fact(session: number, kind: FactKind, of: number): Read<number>;
  /** Returns facts after a number, in order: of all sessions, or of the given ones. */
  facts(after: number, sessions: readonly number[] | undefined, max: number): Read<readonly FactRow[]>;
  latestFact(): Read<number>;
  /**
   * Returns the number of the latest job change. The store numbers a change (`changed`) when a rule adds a job or
   * changes its `seq`.
   */
  latestChange(): Read<number>;
  /** Returns how many sessions were ever deleted. `GONE` has one row for each. */
  gone(): Read<number>;
  /** Notifies other processes after the write is kept. */
  hint(hint: Hint): void;
  /** Protects the blobs that this write names from the sweep. Throws `store.swept` if one is gone. */
  keepBlobs(names: readonly string[]): Read<void>;
  /** Protects recently stored blobs of this process that the text names. */
  keepNamed(text: () => string): Read<void>;
  /** Returns segments from this one up its path, newest first. With a depth, none below it. */
  path?(from: number, page: PathPage): Read<readonly SegmentRow[]>;
  /** Returns the plugin states as of a revision. */
  states?(session: number, revision: number): Read<PluginSnapshots>;
  /**
   * Called when a session moves to a revision, with its new plugin states; undefined: the states did not change. A
   * store that returns the same objects later saves a read, and the runtime detects by identity that nothing changed.
   */
  moved?(session: number, from: number, to: number, plugins: PluginSnapshots | undefined): void;
  /** Stores plugin states from a revision on. `forgetStates` removes those of a deleted session. */
  keepStates?(session: number, since: number, plugins: PluginSnapshots): void;
  forgetStates?(session: number): void;
  /** Adds to the ledger. `fact` orders new rows. */
  book?(session: number, spent: readonly Spent[], fact: number): void;
  /** Returns the highest `nth` of a turn's open waits; 0 if none is answered. */
  latestAnswer?(turn: number): Read<number>;
  /** Returns whether another process follows the previews of a session's open turn. */
  isFollowed?(session: number, now: number): Read<boolean>;
  /** Returns how many blob sweeps were ever started. Without this method no sweep removes a blob. */
  sweeps?(): Read<number>;
  /** Makes all segments of this session's turns findable by name. */
  nameSegments?(session: number): void;
  use?(segment: number, by: number): void;
  /** Returns session ids by number, including sessions whose other columns are damaged. Skips unknown numbers. */
  sessionIds?(numbers: readonly number[]): Read<ReadonlyMap<number, SessionId>>;
  /**
   * Adds a row and returns it; undefined if a unique index already has these values. A store with one writer at a time
   * does not need it, because no row can appear between a read and `add`.
   */
  addOnce?<Row extends {
    readonly n: number;
  }, Name extends string>(table: Table<Row, Name>, index: NoInfer<Name>, row: Omit<Row, "n">): Read<Row | undefined>;
  waits?(page: Parameters<Store["waits"]["list"]>[0]): Read<readonly WaitRow[]>;
  subscriptions?(page: Parameters<Store["triggers"]["list"]>[0]): Read<readonly SubscriptionRow[]>;
  agenda?(now: number, max: number, operations: readonly string[] | undefined): Read<Agenda>;
  /** Returns the events of a job under these keys, found by the job's id. So they can be read together with the job. */
  jobEvents?(id: JobId, keys: readonly string[]): Read<readonly JobEventRow[]>;
  /**
   * Locks jobs that can be claimed, in any order: up to `max` due jobs for each task, and up to `max` jobs of gone
   * owners. Skips jobs and owners that another write has locked.
   */
  claimable?(tasks: readonly string[], now: number, gone: readonly string[], max: number): Read<readonly JobRow[]>;
  /** Removes job owners that hold no job and whose lease has expired. Skips those that another write has locked. */
  forgetOwners?(time: number): void;
  /** Removes the first rows under a key, including damaged ones. */
  removeFirst?<Any extends Table>(table: Any, index: keyof Any["indexes"] & string, key: readonly Key[], count: number): void;
  /**
   * Returns the rows of a table in key order, after the last row of the previous page. A small store may return all.
   */
  page<Row extends object>(table: Table<Row>, after: readonly Key[] | undefined, max: number, options: PageOptions): Read<TablePage<Row>>;
  /** Returns damage that only this store can detect. Deep: also slow checks. */
  problems?(isDeep: boolean, max: number): Read<readonly Finding[]>;
  /** Returns the blobs in any fixed order, after the last one of the previous page. */
  blobPage?(after: Key | undefined, max: number): Read<BlobPage>;
  /** Returns which of these blobs exist. */
  hasBlobs?(hashes: readonly string[]): Read<ReadonlySet<string>>;
  /** Returns the error as `store.corrupt` if it means that the store is damaged, and unchanged otherwise. */
  damageIn?(error: unknown): unknown;
}
/** One piece of damage. */
interface Finding {
  readonly item: string;
  readonly problem: string;
}
interface PageOptions {
  /** Collects the errors of damaged rows. A damaged row is returned only if all its columns can be read. */
  readonly damage: unknown[];
  /** Also reads `long` columns. */
  readonly isWhole?: boolean;
}
interface TablePage<Row> {
  readonly rows: readonly Row[];
  /** The start of the next page. Pass it back unchanged. Undefined on the last page. */
  readonly last: readonly Key[] | undefined;
}
interface BlobPage {
  /** `isWhole`: the content matches the hash. */
  readonly blobs: readonly {
    readonly hash: string;
    readonly isWhole: boolean;
  }[];
  readonly last: Key | undefined;
}
interface PathPage {
  readonly max: number;
  /** The lowest depth that is read. */
  readonly depth?: number;
  readonly isWhole?: boolean;
  /** Locks the segments, because their user counts are about to change. */
  readonly isLocked?: boolean;
}
/** An answer that contains numbers of job changes. Some stores assign these only when the write is kept. */
type Numbered<T> = (changed: (job: JobRow) => number) => T;
interface WriteOptions {
  /** The caller announces the write to others, so it must survive a power cut. */
  readonly isAcknowledged?: boolean;
  /** The writer holds a lease. The write is retried as long as the lease may be valid. */
  readonly isHeld?: boolean;
  /** Writes of one process with the same `line` run in the order of their calls. */
  readonly line?: string;
  /** An earlier attempt was sent in another way and may have been kept although its answer was lost. */
  readonly isRetry?: boolean;
}
/** Runs rules: each as a read of one moment, or as a write that is kept whole or not at all. */
interface Engine {
  readonly kind: string;
  readonly isDurable: boolean;
  read<T>(rule: (db: Port) => Rule<T>): Awaitable<T>;
  write<T>(rule: (db: Port) => Rule<T>, options?: WriteOptions): Awaitable<T>;
  /** For a store that numbers job changes after the rule has run. */
  writeJobs?<T>(rule: (db: Port) => Rule<Numbered<T>>, options?: WriteOptions): Awaitable<T>;
  readonly blobs: Store["blobs"];
  readonly live?: NonNullable<Store["live"]>;
  close(): Awaitable<void>;
  /**
   * Faster versions of what every turn does. One that returns undefined has declined and written nothing; then the rule
   * runs.
   */
  readonly fast?: Fast;
}
type Maybe<Method extends (...given: never) => unknown> = (...given: Parameters<Method>) => Awaitable<Awaited<ReturnType<Method>> | undefined>;
interface Fast {
  readonly create?: Maybe<Store["create"]>;
  readonly load?: Maybe<Store["load"]>;
  /** Returns whether a session exists, damaged or not. */
  readonly has?: Maybe<Store["has"]>;
  readonly accept?: Maybe<Store["accept"]>;
  /** Answers if a session has no turn to open or to resume. */
  readonly look?: (session: SessionId, now: number) => Awaitable<OpenAnswer | undefined>;
  readonly append?: Maybe<Store["append"]>;
  readonly renew?: Maybe<Store["renew"]>;
  readonly claim?: Maybe<Store["inputs"]["claim"]>;
  readonly commit?: Maybe<Store["commit"]>;
}
export {
  BlobPage,
  Engine,
  Fast,
  Finding,
  Key,
  Lock,
  Numbered,
  PageOptions,
  PathPage,
  Port,
  ScanOptions,
  TablePage,
  WriteOptions,
};
