import { RuntimeError } from "../../model/errors.ts";
import { Connection } from "./connection.ts";
import { openFile } from "./database.ts";
import { sealJobFloor, sealMeta } from "./facts.ts";
import { keepOldWaits, sealRemovals } from "./migrating.ts";

/** "Bowl", in the file's header. It is checked before anything else in the file is used. */
const APPLICATION_ID = 0x426f776c;

/**
 * One entry per schema version. Each runs once, on the version before it. Never change a released entry: add another.
 *
 * Sessions, turns and segments are numbered (`n`), so that rows which refer to them are small. The number of a turn is
 * that of the fact of its acceptance, and `done` is that of its end. So facts have one order without a table. A segment
 * has the number of the turn or the operation that made it.
 */
const MIGRATIONS: readonly (string | readonly Step[])[] = [
  `
  CREATE TABLE meta (one INTEGER PRIMARY KEY CHECK (one = 1), floor INTEGER NOT NULL) STRICT;
  INSERT INTO meta VALUES (1, 0);

  CREATE TABLE session (
    n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, parent_id TEXT, created_at REAL NOT NULL,
    revision INTEGER NOT NULL, turns INTEGER NOT NULL, head INTEGER, head_index INTEGER, usage TEXT NOT NULL,
    seal INTEGER NOT NULL,
    generation INTEGER NOT NULL, turn INTEGER, owner TEXT, process TEXT, until REAL NOT NULL
  ) STRICT;
  CREATE TABLE gone (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
  CREATE TABLE config (session INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
  CREATE TABLE ledger (
    session INTEGER NOT NULL, source TEXT NOT NULL, model TEXT NOT NULL, nth REAL NOT NULL, calls REAL NOT NULL,
    input REAL NOT NULL, cache_read REAL NOT NULL, cache_write REAL NOT NULL, output REAL NOT NULL,
    reasoning REAL NOT NULL, unknown_calls REAL NOT NULL,
    PRIMARY KEY (session, source, model)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE state (
    session INTEGER NOT NULL, plugin TEXT NOT NULL, since INTEGER NOT NULL, body TEXT,
    PRIMARY KEY (session, plugin, since)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE segment (
    n INTEGER PRIMARY KEY, session INTEGER NOT NULL, revision INTEGER NOT NULL, depth INTEGER NOT NULL,
    parent INTEGER, parent_index INTEGER, size INTEGER NOT NULL, users INTEGER NOT NULL,
    is_named INTEGER NOT NULL, is_branch INTEGER NOT NULL, name TEXT NOT NULL, entries TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX segment_named ON segment (name) WHERE is_named = 1;
  CREATE INDEX segment_left ON segment (session) WHERE is_named = 1;
  CREATE INDEX segment_branch ON segment (session) WHERE is_branch = 1;

  CREATE TABLE turn (
    n INTEGER PRIMARY KEY, session INTEGER NOT NULL, id TEXT NOT NULL UNIQUE, input_id TEXT NOT NULL,
    state INTEGER NOT NULL, is_aside INTEGER NOT NULL, key TEXT, hash TEXT NOT NULL,
    claim INTEGER, boundary TEXT, is_shown INTEGER, ended_by INTEGER, done INTEGER,
    cancel TEXT, ended TEXT, input TEXT
  ) STRICT;
  CREATE INDEX turn_session ON turn (session);
  CREATE UNIQUE INDEX turn_key ON turn (session, key) WHERE key IS NOT NULL;
  CREATE INDEX turn_waiting ON turn (session) WHERE state = 0;
  CREATE INDEX turn_claimed ON turn (claim) WHERE claim IS NOT NULL;
  CREATE INDEX turn_done ON turn (done) WHERE done IS NOT NULL;

  CREATE TABLE operation (
    n INTEGER PRIMARY KEY, session INTEGER NOT NULL, name TEXT NOT NULL, hash TEXT NOT NULL, committed TEXT NOT NULL,
    UNIQUE (session, name)
  ) STRICT;

  CREATE TABLE journal (k INTEGER PRIMARY KEY, size INTEGER NOT NULL, until REAL NOT NULL, events TEXT NOT NULL) STRICT;
  CREATE TABLE wait (
    key TEXT PRIMARY KEY, turn INTEGER NOT NULL, until REAL NOT NULL, nth INTEGER, answer TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX wait_turn ON wait (turn);
  CREATE INDEX wait_due ON wait (until) WHERE answer IS NULL;
  CREATE TABLE note (
    turn INTEGER NOT NULL, effect TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (turn, effect, key)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE attempt (
    turn INTEGER NOT NULL, effect TEXT NOT NULL, PRIMARY KEY (turn, effect)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE blob (n INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, at REAL NOT NULL, data BLOB NOT NULL) STRICT;
  `,
  // Version 2 stores where a fork begins, finds sessions by parent and origin, and lets a withdrawn key be reused.
  `
  ALTER TABLE session ADD COLUMN origin_id TEXT;
  ALTER TABLE session ADD COLUMN origin_at TEXT;
  CREATE INDEX session_parent ON session (parent_id, id) WHERE parent_id IS NOT NULL;
  CREATE INDEX session_origin ON session (origin_id, id) WHERE origin_id IS NOT NULL;
  CREATE INDEX operation_session ON operation (session);
  DROP INDEX turn_key;
  CREATE UNIQUE INDEX turn_key ON turn (session, key) WHERE key IS NOT NULL AND state <> 2;
  `,
  // Version 3 stores estimated tokens separately from reported ones.
  `
  ALTER TABLE ledger ADD COLUMN estimated_input REAL NOT NULL DEFAULT 0;
  ALTER TABLE ledger ADD COLUMN estimated_output REAL NOT NULL DEFAULT 0;
  `,
  // Version 4 numbers sweeps by the fact before them, stores the sweep under which a blob was last put, and finds
  // boundary inputs among many that wait for their own turns.
  `
  CREATE TABLE sweep (n INTEGER PRIMARY KEY, fact INTEGER NOT NULL) STRICT;
  ALTER TABLE blob ADD COLUMN sweep INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX turn_aside ON turn (session) WHERE state = 0 AND cancel IS NULL AND is_aside = 1;
  `,
  // Version 5 puts every column under a checksum and detects missing rows. Old rows keep their checksums, because new
  // ones would rewrite the file.
  [
    `
    ALTER TABLE turn ADD COLUMN seal INTEGER;
    ALTER TABLE ledger ADD COLUMN seal INTEGER;
    ALTER TABLE wait ADD COLUMN seal INTEGER;
    ALTER TABLE attempt ADD COLUMN seal INTEGER;

    -- How many rows of other tables are the session's: turn, operation, ledger, state, wait, note and attempt.
    ALTER TABLE session ADD COLUMN own_rows INTEGER NOT NULL DEFAULT 0;
    UPDATE session SET own_rows = (SELECT count(*) FROM turn WHERE session = session.n)
      + (SELECT count(*) FROM operation WHERE session = session.n)
      + (SELECT count(*) FROM ledger WHERE session = session.n)
      + (SELECT count(*) FROM state WHERE session = session.n)
      + (SELECT count(*) FROM wait WHERE turn = session.turn)
      + (SELECT count(*) FROM note WHERE turn = session.turn)
      + (SELECT count(*) FROM attempt WHERE turn = session.turn);

    -- How long the journal of the open turn was when its lease was last taken, renewed or released.
    ALTER TABLE session ADD COLUMN written INTEGER NOT NULL DEFAULT 0;

    ALTER TABLE gone ADD COLUMN n INTEGER;
    ALTER TABLE gone ADD COLUMN states INTEGER;
    ALTER TABLE gone ADD COLUMN seal INTEGER;
    ALTER TABLE meta ADD COLUMN gone INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE meta ADD COLUMN seal INTEGER NOT NULL DEFAULT 0;
    UPDATE meta SET gone = (SELECT count(*) FROM gone);
    `,
    sealMeta,
    sealRemovals,
  ],
  // Version 6 stores session options, notes and parts of operations, inputs that open no turn (`is_aside` = 2), and
  // waiting appends (`is_aside` = 3).
  `
  CREATE TABLE options (session INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
  CREATE TABLE operation_note (
    session INTEGER NOT NULL, operation TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (session, operation, key)
  ) STRICT, WITHOUT ROWID;
  DROP INDEX turn_aside;
  CREATE INDEX turn_aside ON turn (session) WHERE state = 0 AND cancel IS NULL AND is_aside > 0;
  CREATE INDEX turn_append ON turn (session) WHERE state = 0 AND is_aside = 3;
  `,
  // Version 7 parks turns, and stores what a wait is about. Waits that are facts stay without their keys. What an old
  // wait is about is unknown until its turn writes it again.
  [
    `
    DROP INDEX wait_turn;
    DROP INDEX wait_due;
    ALTER TABLE wait RENAME TO wait_before;
    CREATE TABLE wait (
      n INTEGER PRIMARY KEY, id TEXT NOT NULL, key TEXT, session INTEGER NOT NULL, turn INTEGER NOT NULL, effect TEXT,
      at REAL, about TEXT, until REAL NOT NULL, is_turns INTEGER NOT NULL, asked INTEGER, answered INTEGER, nth INTEGER,
      answer TEXT, seal INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX wait_id ON wait (id);
    CREATE INDEX wait_turn ON wait (turn) WHERE key IS NOT NULL;
    CREATE INDEX wait_turns ON wait (session) WHERE is_turns = 1;
    CREATE INDEX wait_open ON wait (asked) WHERE key IS NOT NULL AND asked IS NOT NULL AND answer IS NULL;
    CREATE INDEX wait_asked ON wait (asked) WHERE asked IS NOT NULL;
    CREATE INDEX wait_answered ON wait (answered) WHERE answered IS NOT NULL;
    CREATE INDEX wait_session_asked ON wait (session, asked);
    CREATE INDEX wait_session_answered ON wait (session, answered) WHERE answered IS NOT NULL;
    CREATE TABLE parked (
      session INTEGER PRIMARY KEY, turn INTEGER NOT NULL, wake REAL NOT NULL, waits TEXT NOT NULL, seal INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX parked_wake ON parked (wake);
    `,
    keepOldWaits,
    "DROP TABLE wait_before;",
  ],
  // Version 8 stores jobs. The events of a job are adjacent, under `job * SEQS + seq`. An unheld job is found by who
  // can run it and when it is due; a held one by its owner. A wait of a job has its id, and turn 0.
  [
    `
    CREATE TABLE job (
      n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, session INTEGER NOT NULL, kind TEXT NOT NULL,
      is_hidden INTEGER NOT NULL, recovery INTEGER NOT NULL, operation TEXT, parent TEXT, state INTEGER NOT NULL,
      owner TEXT, generation INTEGER NOT NULL, is_parked INTEGER NOT NULL, due REAL, awaits TEXT, seq INTEGER NOT NULL,
      changed INTEGER NOT NULL, moves TEXT NOT NULL, seal INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX job_session ON job (session);
    CREATE INDEX job_live ON job (session) WHERE state < 2;
    CREATE INDEX job_parent ON job (parent) WHERE parent IS NOT NULL;
    CREATE INDEX job_due ON job (operation, due) WHERE owner IS NULL AND due IS NOT NULL;
    CREATE INDEX job_held ON job (owner, operation) WHERE owner IS NOT NULL;
    CREATE UNIQUE INDEX job_changed ON job (changed);
    CREATE TABLE job_event (k INTEGER PRIMARY KEY, job INTEGER NOT NULL, key TEXT NOT NULL, event TEXT NOT NULL) STRICT;
    CREATE UNIQUE INDEX job_event_key ON job_event (job, key);
    CREATE TABLE job_owner (
      id TEXT PRIMARY KEY, process TEXT NOT NULL, until REAL NOT NULL, seal INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE job_await (
      awaited TEXT NOT NULL, job INTEGER NOT NULL, PRIMARY KEY (awaited, job)
    ) STRICT, WITHOUT ROWID;

    ALTER TABLE wait ADD COLUMN job TEXT;
    ALTER TABLE wait ADD COLUMN moved INTEGER;
    CREATE INDEX wait_job ON wait (job) WHERE key IS NOT NULL AND job IS NOT NULL;
    CREATE INDEX wait_job_session ON wait (session, asked) WHERE key IS NOT NULL AND job IS NOT NULL;
    CREATE INDEX wait_moved ON wait (moved) WHERE key IS NOT NULL AND moved IS NOT NULL;

    -- The latest change of a job when one was last removed: its number is not given again.
    ALTER TABLE meta ADD COLUMN job_floor INTEGER NOT NULL DEFAULT 0;
    `,
    sealJobFloor,
  ],
  // Version 9 stores subscriptions, occurrences and deliveries, and lines of jobs.
  `
  CREATE TABLE subscription (
    n INTEGER PRIMARY KEY, session INTEGER NOT NULL, id TEXT NOT NULL, incarnation TEXT NOT NULL,
    revision INTEGER NOT NULL, is_enabled INTEGER NOT NULL, kind INTEGER NOT NULL, event TEXT, source TEXT, next REAL,
    after TEXT, body TEXT NOT NULL, seal INTEGER NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX subscription_id ON subscription (session, id);
  CREATE INDEX subscription_event ON subscription (event) WHERE is_enabled = 1 AND event IS NOT NULL;
  CREATE INDEX subscription_kind ON subscription (kind) WHERE is_enabled = 1;
  CREATE INDEX subscription_due ON subscription (next) WHERE is_enabled = 1 AND kind >= 2 AND next IS NOT NULL;

  CREATE TABLE occurrence (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, source TEXT NOT NULL, at REAL NOT NULL, deliveries INTEGER NOT NULL,
    payload TEXT NOT NULL, seal INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX occurrence_source ON occurrence (source);
  CREATE TABLE delivery (
    occurrence INTEGER NOT NULL, nth INTEGER NOT NULL, session INTEGER NOT NULL, subscription TEXT NOT NULL,
    revision INTEGER NOT NULL, job TEXT, turn TEXT, is_lost INTEGER NOT NULL, seal INTEGER NOT NULL,
    PRIMARY KEY (occurrence, nth)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX delivery_session ON delivery (session);

  CREATE TABLE job_line (
    job INTEGER NOT NULL, n INTEGER NOT NULL, line TEXT NOT NULL, PRIMARY KEY (job, n)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE job_said (
    job INTEGER PRIMARY KEY, last INTEGER NOT NULL, lines INTEGER NOT NULL, key TEXT, since INTEGER NOT NULL,
    taken INTEGER NOT NULL, seal INTEGER NOT NULL
  ) STRICT;
  `,
  // Version 10 stores previews of running turns for other processes, and how long these follow a session.
  `
  CREATE TABLE preview (
    session INTEGER NOT NULL, n INTEGER NOT NULL, turn INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (session, n)
  ) STRICT;
  CREATE TABLE follower (session INTEGER PRIMARY KEY, until REAL NOT NULL) STRICT;
  `,
  // Version 11 numbers withdrawals as facts, and lists sessions by owner, tag and activity. Sessions of older files have no
  // activity until their next turn, because a new checksum of each would rewrite the file.
  `
  ALTER TABLE session ADD COLUMN owned_by TEXT;
  ALTER TABLE session ADD COLUMN tags TEXT;
  ALTER TABLE session ADD COLUMN activity REAL NOT NULL DEFAULT 0;
  ALTER TABLE session ADD COLUMN words TEXT;
  CREATE INDEX turn_withdrawn ON turn (session, done) WHERE state = 2;
  CREATE INDEX session_active ON session (activity);
  CREATE INDEX session_owned_active ON session (owned_by, activity) WHERE owned_by IS NOT NULL;
  CREATE TABLE session_tag (
    session INTEGER NOT NULL, tag TEXT NOT NULL, owned_by TEXT, activity REAL NOT NULL, PRIMARY KEY (session, tag)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX session_tag_active ON session_tag (tag, activity, session);
  CREATE INDEX session_tag_owned ON session_tag (owned_by, tag, activity, session) WHERE owned_by IS NOT NULL;
  `,
];
type Step = string | ((db: Connection) => void);

/**
 * Migrates the file to the current schema. Refuses, and leaves unchanged, a file of another program or of a later
 * version.
 */
export function setUp(db: Connection, autoVacuum: boolean): void {
  db.exec("BEGIN"); // One snapshot, because another process may be creating the file now.
  try {
    requireOurs(db);
  } finally {
    db.exec("ROLLBACK");
  }
  // Only an empty file can be switched to returning pages in slices. On another one the statement would write.
  if (autoVacuum && db.row<{ page_count: number }>("PRAGMA page_count")!.page_count === 0)
    db.exec("PRAGMA auto_vacuum = INCREMENTAL");
  const { journal_mode: mode } = db.row<{ journal_mode: string }>("PRAGMA journal_mode = WAL")!;
  if (mode !== "wal" && mode !== "memory")
    throw new RuntimeError("store.path", { path: db.path, problem: "its file system cannot keep a write-ahead log" });
  db.exec("PRAGMA foreign_keys = OFF; PRAGMA cache_size = -8192; PRAGMA journal_size_limit = 16777216");
  if (versionOf(db) === MIGRATIONS.length) return;
  db.exec("BEGIN IMMEDIATE");
  try {
    // Another process may have migrated the file meanwhile.
    for (let version = requireOurs(db); version < MIGRATIONS.length; version++) migrate(db, version);
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${MIGRATIONS.length}; COMMIT`);
  } catch (error) {
    try {
      db.exec("ROLLBACK");
    } catch {
      // SQLite already rolled back. The first error has the reason.
    }
    throw error;
  }
}

/** Returns what is wrong with the table definitions. A flipped bit in their text may change their meaning. */
export function schemaProblem(db: Connection): string | undefined {
  const fresh = new Connection(openFile(":memory:"), ":memory:", "process", 0, 0);
  try {
    fresh.setUp(() => setUp(fresh, false));
    const [found, right] = [db, fresh].map(
      (each) => new Map(each.rows<TextRow>(TEXTS).map((row) => [row.name, row.sql])),
    );
    for (const [name, sql] of right!) if (found!.get(name) !== sql) return `${name} is not as it was made`;
    for (const name of found!.keys()) if (!right!.has(name)) return `${name} is not of this program`;
    return undefined;
  } finally {
    fresh.close();
  }
}
interface TextRow {
  readonly name: string;
  readonly sql: string | null;
}
const TEXTS = "SELECT type || ' ' || name || ' of ' || tbl_name AS name, sql FROM sqlite_schema";

function migrate(db: Connection, version: number): void {
  for (const step of [MIGRATIONS[version]!].flat()) {
    if (typeof step === "string") db.exec(step);
    else step(db);
  }
}

function requireOurs(db: Connection): number {
  const { application_id: application } = db.row<{ application_id: number }>("PRAGMA application_id")!;
  const found = versionOf(db);
  if (application !== APPLICATION_ID) {
    const { count } = db.row<{ count: number }>("SELECT count(*) AS count FROM sqlite_schema")!;
    if (count > 0 || application !== 0 || found !== 0) throw new RuntimeError("store.foreign", { path: db.path });
  }
  if (found > MIGRATIONS.length)
    throw new RuntimeError("store.newer", { path: db.path, found, known: MIGRATIONS.length });
  return found;
}

const versionOf = (db: Connection): number => db.row<{ user_version: number }>("PRAGMA user_version")!.user_version;
