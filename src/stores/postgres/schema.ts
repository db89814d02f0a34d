import { RuntimeError } from "../../model/errors.ts";
import type { Client, Database } from "./database.ts";
import { isTaken } from "./faults.ts";

/** Identifies the schema. It is checked before anything else in the schema is used. */
const APP = "bowline";
/** The oldest server version that passes the store laws. */
const SERVER_MIN = 150_000;

/**
 * One entry per schema version. Each runs once, on the version before it. Never change a released entry: add another.
 *
 * - Rows refer to each other by number (`n`), from one sequence. A segment has the number of the turn or the operation
 *   that made it.
 * - Content is text, which the client writes and reads as JSON. `jsonb` would refuse NUL and reorder keys.
 * - Texts are compared by bytes ("C"), so that pages have the same order on every server.
 * - `session` is the row that every write of a session locks first and that every append writes. So it is narrow, half
 * of
 *   each page is free for its next versions, and no index contains what an append changes. Rarely used columns are in
 *   `profile`.
 * - `counter` numbers facts and changes of jobs. A transaction that takes a number locks the row until it ends. So
 *   numbers become visible in order, and a reader that continues after a number misses no earlier one.
 */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE @counter (name text PRIMARY KEY, value bigint NOT NULL) WITH (fillfactor = 10);
  INSERT INTO @counter VALUES ('fact', 0), ('job', 0), ('gone', 0);
  CREATE SEQUENCE @number;

  CREATE TABLE @session (
    n bigint PRIMARY KEY DEFAULT nextval('@number'), id text COLLATE "C" NOT NULL UNIQUE,
    revision bigint NOT NULL DEFAULT 0, turns bigint NOT NULL DEFAULT 0, head bigint, head_index integer, usage text NOT NULL,
    -- The lease, and how many events the journal of the open turn has.
    generation bigint NOT NULL DEFAULT 0, turn bigint, owner text, process text, until float8 NOT NULL DEFAULT 0,
    length integer NOT NULL DEFAULT 0,
    -- How many inputs and appends wait. Whether the open turn has more to end than its journal: claims, appends, waits,
    -- notes, attempts, jobs; whether it was asked to end; and whether somebody elsewhere follows it live.
    waiting integer NOT NULL DEFAULT 0, has_more boolean NOT NULL DEFAULT false, is_cancelled boolean NOT NULL DEFAULT false,
    followed float8 NOT NULL DEFAULT 0,
    -- How often its options were set: no revision moves with them.
    optioned integer NOT NULL DEFAULT 0,
    -- Of a parked turn: when it has mail by itself (0: now), and the ids of the waits whose answers wake it.
    wake float8, parked text
  ) WITH (fillfactor = 50);
  CREATE INDEX session_busy ON @session (n) WHERE wake IS NULL AND (turn IS NOT NULL OR waiting > 0);
  CREATE INDEX session_wake ON @session (wake) WHERE wake IS NOT NULL;
  CREATE TABLE @profile (
    session bigint PRIMARY KEY, parent_id text COLLATE "C", origin_id text COLLATE "C", origin_at text,
    created_at float8 NOT NULL, config text NOT NULL, options text
  );
  CREATE INDEX profile_parent ON @profile (parent_id) WHERE parent_id IS NOT NULL;
  CREATE INDEX profile_origin ON @profile (origin_id) WHERE origin_id IS NOT NULL;
  CREATE TABLE @gone (id text COLLATE "C" PRIMARY KEY);
  CREATE TABLE @ledger (
    session bigint NOT NULL, source text COLLATE "C" NOT NULL, model text COLLATE "C" NOT NULL,
    nth bigint NOT NULL DEFAULT nextval('@number'), calls float8 NOT NULL, input float8 NOT NULL,
    cache_read float8 NOT NULL, cache_write float8 NOT NULL, output float8 NOT NULL, reasoning float8 NOT NULL,
    unknown_calls float8 NOT NULL, estimated_input float8 NOT NULL, estimated_output float8 NOT NULL,
    PRIMARY KEY (session, source, model)
  ) WITH (fillfactor = 50);
  -- A row for each change of a plugin's state: what did not change is not written again. 'null': it keeps none any more.
  CREATE TABLE @state (
    session bigint NOT NULL, plugin text COLLATE "C" NOT NULL, since bigint NOT NULL, body text NOT NULL,
    PRIMARY KEY (session, plugin, since)
  );

  CREATE TABLE @segment (
    n bigint PRIMARY KEY, session bigint NOT NULL, revision bigint NOT NULL, depth bigint NOT NULL,
    parent bigint, parent_index integer, size integer NOT NULL, users integer NOT NULL,
    is_named boolean NOT NULL, is_branch boolean NOT NULL, name text COLLATE "C" NOT NULL, entries text NOT NULL
  );
  CREATE UNIQUE INDEX segment_named ON @segment (name) WHERE is_named;
  CREATE INDEX segment_left ON @segment (session) WHERE is_named;
  CREATE INDEX segment_branch ON @segment (session) WHERE is_branch;

  -- state: 0 waits, 1 taken, 2 withdrawn. aside: 0 opens a turn, 1 for a boundary, 2 injected, 3 an append.
  CREATE TABLE @turn (
    n bigint PRIMARY KEY DEFAULT nextval('@number'), session bigint NOT NULL, id text COLLATE "C" NOT NULL UNIQUE,
    input_id text COLLATE "C" NOT NULL, state smallint NOT NULL, aside smallint NOT NULL, key text COLLATE "C",
    hash text NOT NULL, claim bigint, boundary text, ended_by bigint, done bigint, cancel text, ended text, input text
  ) WITH (fillfactor = 80);
  CREATE INDEX turn_session ON @turn (session, n);
  CREATE UNIQUE INDEX turn_key ON @turn (session, key) WHERE key IS NOT NULL AND state <> 2;
  CREATE INDEX turn_waiting ON @turn (session, n) WHERE state = 0;
  CREATE INDEX turn_claimed ON @turn (claim) WHERE claim IS NOT NULL;

  -- The order of all facts. kind: 0 accepted, 1 ended (of: the turn), 2 applied (the operation), 3 asked, 4 answered (the wait),
  -- 5 withdrawn (the turn).
  CREATE TABLE @fact (n bigint PRIMARY KEY, session bigint NOT NULL, kind smallint NOT NULL, of bigint NOT NULL);
  CREATE INDEX fact_session ON @fact (session, n);

  CREATE TABLE @operation (
    n bigint PRIMARY KEY, session bigint NOT NULL, name text COLLATE "C" NOT NULL, hash text NOT NULL,
    committed text NOT NULL, UNIQUE (session, name)
  );
  CREATE TABLE @operation_note (
    session bigint NOT NULL, operation text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, value text NOT NULL,
    PRIMARY KEY (session, operation, key)
  );

  CREATE TABLE @journal (
    session bigint NOT NULL, seq integer NOT NULL, size integer NOT NULL, events text NOT NULL, PRIMARY KEY (session, seq)
  );
  CREATE TABLE @note (
    turn bigint NOT NULL, effect text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, value text NOT NULL,
    PRIMARY KEY (turn, effect, key)
  );
  CREATE TABLE @attempt (turn bigint NOT NULL, effect text COLLATE "C" NOT NULL, PRIMARY KEY (turn, effect));

  -- key: only while its turn is open, or its job is not over. turn: 0 where a job waits. asked, answered: the facts; moved:
  -- the fact that it was asked, where the job had another session then. nth: its place among the answers of its turn.
  CREATE TABLE @wait (
    n bigint PRIMARY KEY DEFAULT nextval('@number'), id text COLLATE "C" NOT NULL, key text COLLATE "C",
    session bigint NOT NULL, turn bigint NOT NULL, job text COLLATE "C", moved bigint, effect text NOT NULL,
    at float8 NOT NULL, about text NOT NULL, until float8 NOT NULL, is_turns boolean NOT NULL, asked bigint,
    answered bigint, nth integer, answer text
  );
  CREATE INDEX wait_id ON @wait (id);
  CREATE UNIQUE INDEX wait_key ON @wait (id) WHERE key IS NOT NULL;
  CREATE INDEX wait_turn ON @wait (turn) WHERE key IS NOT NULL;
  CREATE INDEX wait_job ON @wait (job) WHERE key IS NOT NULL AND job IS NOT NULL;
  CREATE INDEX wait_turns ON @wait (session) WHERE is_turns AND key IS NOT NULL;
  CREATE INDEX wait_open ON @wait (coalesce(asked, moved)) WHERE key IS NOT NULL AND answer IS NULL;
  CREATE INDEX wait_session ON @wait (session);

  CREATE TABLE @blob (hash text COLLATE "C" PRIMARY KEY, at float8 NOT NULL, sweep bigint NOT NULL, data bytea NOT NULL);
  ALTER TABLE @blob ALTER COLUMN data SET STORAGE EXTERNAL;
  -- number: of the sequence, so that a turn tells by its own whether it was opened before.
  CREATE TABLE @sweep (n bigint PRIMARY KEY, number bigint NOT NULL);

  -- state: 0 running, 1 idle, 2 over. recovery: 0 rerunnable, 1 bound to its owner, 2 external. operation: the task that a
  -- process must have to run it; '': any process can; null: nobody. awaits: whether it needs any or all of
  -- those in job_await. moves: what changes of its record. A step changes nothing that is in an index.
  CREATE TABLE @job (
    n bigint PRIMARY KEY DEFAULT nextval('@number'), id text COLLATE "C" NOT NULL UNIQUE, session bigint NOT NULL,
    kind text NOT NULL, is_hidden boolean NOT NULL, recovery smallint NOT NULL, operation text COLLATE "C",
    parent text COLLATE "C", state smallint NOT NULL, owner text COLLATE "C", generation bigint NOT NULL,
    is_parked boolean NOT NULL, due float8, awaits text, seq integer NOT NULL, changed bigint NOT NULL, moves text NOT NULL
  ) WITH (fillfactor = 70);
  CREATE INDEX job_session ON @job (session, n);
  CREATE INDEX job_live ON @job (session) WHERE state < 2;
  CREATE INDEX job_parent ON @job (parent) WHERE parent IS NOT NULL;
  CREATE INDEX job_due ON @job (operation, due, n) WHERE owner IS NULL AND due IS NOT NULL;
  CREATE INDEX job_held ON @job (owner, operation) WHERE owner IS NOT NULL;
  -- The latest change of each job, in the order of all changes: n is the job's changed.
  CREATE TABLE @job_change (n bigint PRIMARY KEY, job bigint NOT NULL);
  CREATE TABLE @job_event (
    job bigint NOT NULL, seq integer NOT NULL, key text COLLATE "C" NOT NULL, event text NOT NULL, PRIMARY KEY (job, seq)
  );
  CREATE UNIQUE INDEX job_event_key ON @job_event (job, key);
  CREATE TABLE @job_owner (id text COLLATE "C" PRIMARY KEY, process text NOT NULL, until float8 NOT NULL) WITH (fillfactor = 50);
  CREATE TABLE @job_await (awaited text COLLATE "C" NOT NULL, job bigint NOT NULL, PRIMARY KEY (awaited, job));
  CREATE INDEX job_await_job ON @job_await (job);
  CREATE TABLE @job_line (job bigint NOT NULL, n bigint NOT NULL, line text NOT NULL, PRIMARY KEY (job, n));
  CREATE TABLE @job_said (
    job bigint PRIMARY KEY, last bigint NOT NULL, lines integer NOT NULL, key text COLLATE "C", since bigint NOT NULL,
    taken bigint NOT NULL
  ) WITH (fillfactor = 70);

  -- kind: 0 event, 1 commits, 2 cron, 3 interval: schedules come last, so that one comparison tells them.
  CREATE TABLE @subscription (
    n bigint PRIMARY KEY DEFAULT nextval('@number'), session bigint NOT NULL, id text COLLATE "C" NOT NULL,
    incarnation text COLLATE "C" NOT NULL, revision bigint NOT NULL, is_enabled boolean NOT NULL, kind smallint NOT NULL,
    event text COLLATE "C", source text COLLATE "C", next float8, after text, body text NOT NULL, UNIQUE (session, id)
  );
  CREATE INDEX subscription_event ON @subscription (event) WHERE is_enabled AND event IS NOT NULL;
  CREATE INDEX subscription_kind ON @subscription (kind) WHERE is_enabled;
  CREATE INDEX subscription_due ON @subscription (next, n) WHERE is_enabled AND kind >= 2 AND next IS NOT NULL;
  CREATE TABLE @occurrence (
    n bigint PRIMARY KEY DEFAULT nextval('@number'), id text COLLATE "C" NOT NULL UNIQUE,
    source text COLLATE "C" NOT NULL, at float8 NOT NULL, payload text NOT NULL
  );
  CREATE INDEX occurrence_source ON @occurrence (source, n);
  CREATE TABLE @delivery (
    occurrence bigint NOT NULL, nth integer NOT NULL, session bigint NOT NULL, subscription text COLLATE "C" NOT NULL,
    revision bigint NOT NULL, job text COLLATE "C", turn text COLLATE "C", is_lost boolean NOT NULL,
    PRIMARY KEY (occurrence, nth)
  );
  CREATE INDEX delivery_session ON @delivery (session);

  -- Named anew after each crash of the server, which empties it.
  CREATE UNLOGGED TABLE @era (is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only), id text NOT NULL);
  INSERT INTO @era (id) VALUES (gen_random_uuid()::text);

  -- What runs now, for those who follow it from another process. Lost in a crash of the server, and no loss.
  CREATE UNLOGGED TABLE @preview (session bigint NOT NULL, n bigint NOT NULL, body text NOT NULL, PRIMARY KEY (session, n));
  `,
  // Version 2 lists sessions by owner, tag and activity.
  `
  ALTER TABLE @session ADD COLUMN owned_by text COLLATE "C", ADD COLUMN tags text,
    ADD COLUMN activity float8 NOT NULL DEFAULT 0, ADD COLUMN words text;
  CREATE INDEX session_active ON @session (activity, n);
  CREATE INDEX session_owned_active ON @session (owned_by, activity, n) WHERE owned_by IS NOT NULL;
  CREATE TABLE @session_tag (
    session bigint NOT NULL, tag text COLLATE "C" NOT NULL, owned_by text COLLATE "C", activity float8 NOT NULL,
    PRIMARY KEY (session, tag)
  ) WITH (fillfactor = 70);
  CREATE INDEX session_tag_active ON @session_tag (tag, activity, session);
  CREATE INDEX session_tag_owned ON @session_tag (owned_by, tag, activity, session) WHERE owned_by IS NOT NULL;
  `,
];

/** The schema version that this program creates. */
export const VERSION = MIGRATIONS.length;

/** Maximum time for one migration step. On large tables a step takes longer than a few seconds. */
const MIGRATION_MS = 10 * 60_000;

/**
 * Creates the schema or migrates it to the current version, in one transaction under a lock of the schema's name.
 * Refuses, and leaves unchanged, a schema of another program or of a later version.
 */
export async function setUp(db: Database): Promise<void> {
  await db.patiently(db.retryMs, (client) => migrate(db, client), false);
}

type Run = <Row>(text: string, ...values: string[]) => Promise<Row[]>;

async function migrate(db: Database, client: Client): Promise<void> {
  const runFor = (query_timeout: number): Run => {
    return async <Row>(text: string, ...values: string[]): Promise<Row[]> => {
      const { rows } = await client.query({ text, query_timeout, ...(values.length === 0 ? {} : { values }) });
      return rows as Row[];
    };
  };
  const run = runFor(db.statementTimeoutMs);
  const runLong = runFor(Math.max(db.statementTimeoutMs, MIGRATION_MS));
  const quoted = `"${db.schema}"`;
  const within = (text: string): string => text.replaceAll("'@", `'${quoted}.`).replaceAll("@", `${quoted}.`);

  const [server] = await run<{ version: string; encoding: string }>(
    "SELECT current_setting('server_version_num') AS version, current_setting('server_encoding') AS encoding",
  );
  const found = Number(server!.version);
  if (found < SERVER_MIN) throw new RuntimeError("store.old", { store: db.name, found, needed: SERVER_MIN });
  // Checked early, because a turn would be paid for and its answer could not be stored.
  if ((server!.encoding ?? "UTF8") !== "UTF8")
    throw new RuntimeError("store.refused", {
      store: db.name,
      problem: `its encoding is ${server!.encoding}, not UTF8`,
    });
  if ((await versionOf(db, run)) === MIGRATIONS.length) return;
  try {
    await run(db.begin);
    await run("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", `bowline ${db.schema}`);
    const before = await versionOf(db, run); // Another process may have created it meanwhile.
    if (before === undefined) await begin(db, run);
    for (let version = before ?? 0; version < MIGRATIONS.length; version++) await runLong(within(MIGRATIONS[version]!));
    await run(within(`UPDATE @meta SET version = ${MIGRATIONS.length}`));
    await run("COMMIT");
  } catch (error) {
    await run("ROLLBACK").catch(() => {});
    // Another program's view, sequence or type has the name of one of these tables.
    throw isTaken(error) ? foreign(db) : error;
  }
}

async function begin(db: Database, run: Run): Promise<void> {
  const quoted = `"${db.schema}"`;
  const [there] = await run("SELECT 1 FROM pg_namespace WHERE nspname = $1", db.schema);
  // Created only if it is missing, because a user with a prepared schema may lack the right to create one.
  if (there === undefined) await run(`CREATE SCHEMA ${quoted}`);
  await run(`CREATE TABLE ${quoted}.meta (app text NOT NULL, version integer NOT NULL)`);
  await run(`INSERT INTO ${quoted}.meta VALUES ('${APP}', 0)`);
}

const foreign = (db: Database): RuntimeError => new RuntimeError("store.foreign", { path: db.name });

// From the system catalog, because `information_schema` omits objects without access rights.
const COLUMNS = `SELECT a.attname AS name, a.atttypid::regtype::text AS type FROM pg_attribute a
  JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace s ON s.oid = c.relnamespace
  WHERE s.nspname = $1 AND c.relname = 'meta' AND a.attnum > 0 AND NOT a.attisdropped`;

/** Returns the version of the existing schema; undefined if there is none or it is empty. */
async function versionOf(db: Database, run: Run): Promise<number | undefined> {
  const tables = await run<{ name: string }>(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = $1",
    db.schema,
  );
  if (tables.length === 0) return undefined;
  if (!tables.some(({ name }) => name === "meta")) throw foreign(db);
  const columns = new Map((await run<Column>(COLUMNS, db.schema)).map(({ name, type }) => [name, type]));
  if (columns.get("app") !== "text" || columns.get("version") !== "integer") throw foreign(db);
  const [meta] = await run<{ app: string; version: number }>(`SELECT app, version FROM "${db.schema}".meta`);
  if (meta?.app !== APP) throw foreign(db);
  if (meta.version > MIGRATIONS.length)
    throw new RuntimeError("store.newer", { path: db.name, found: meta.version, known: MIGRATIONS.length });
  return meta.version;
}

interface Column {
  readonly name: string;
  readonly type: string;
}
