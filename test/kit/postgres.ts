/** A PostgreSQL server of a test's own, to be killed, restarted and starved. `shared-postgres.ts` has one for all tests. */
import { type ChildProcess, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync, renameSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import {
  begin,
  ended,
  freePort,
  giveToServer,
  hasEnded,
  killedWhole,
  programAt,
  ranAsServer,
  serverFolder,
  stopAtEnd,
} from "./programs.ts";
import { passed } from "./reading.ts";

const MAJOR_MIN = 15;
const START_MS = 60_000; // After a kill it has a log to read first.
const PORTS_TRIED_MAX = 10;
const MEMORY_MIN = 2 ** 30;

// ── The programs ────────────────────────────────────────────────────────────────────────────────────────────────────

interface Programs {
  readonly postgres: string;
  readonly initdb: string;
  readonly version: string;
}

let programs: Programs | undefined;

/** The newest server programs there are, in `BOWLINE_PG_BIN`, where Debian has them, or in `PATH`. */
export function findPostgres(): Programs | undefined {
  programs ??= newest(foldersOfPrograms());
  return programs;
}

function foldersOfPrograms(): readonly string[] {
  const told = process.env.BOWLINE_PG_BIN;
  if (told !== undefined && told !== "") return [told];
  const inPath = programAt("postgres")?.replace(/\/[^/]*$/, "");
  return [...globSync("/usr/lib/postgresql/*/bin"), ...(inPath === undefined ? [] : [inPath])];
}

function newest(folders: readonly string[]): Programs | undefined {
  const found = folders.flatMap((folder) => {
    const [postgres, initdb] = [programAt(join(folder, "postgres")), programAt(join(folder, "initdb"))];
    if (postgres === undefined || initdb === undefined) return [];
    const said = execFileSync(postgres, ["--version"], { encoding: "utf8" });
    const version = /(\d+)(?:[.\w]*)/.exec(said)?.[0] ?? "0";
    return Number.parseInt(version, 10) >= MAJOR_MIN ? [{ postgres, initdb, version }] : [];
  });
  return found.sort((a, b) => Number.parseFloat(b.version) - Number.parseFloat(a.version))[0];
}

// ── The template ────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Text sorts as English does, not by its bytes, as in most databases out there: a query that relies on the order of
 * bytes must say so. Small log files, so that a server fits on a small disk and is copied quickly.
 */
const LAYOUT = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--wal-segsize=1", "--no-sync"];
const ENGLISH = ["--locale=C", "--locale-provider=icu", "--icu-locale=en-US"];

/**
 * A new data folder, kept as one file: making one takes most of a second, unpacking it none. One file cannot be there in
 * part, whoever else makes or removes it at the same time.
 */
async function templateOf({ initdb, version }: Programs): Promise<string> {
  const layout = createHash("sha256")
    .update([...LAYOUT, ...ENGLISH].join())
    .digest("hex")
    .slice(0, 8);
  const me = process.getuid?.() ?? 0;
  const template = join(tmpdir(), `bowline-postgres-${version}-${layout}-${me}.tar`);
  // A file that another user has put there is not run.
  if (statSync(template, { throwIfNoEntry: false })?.uid === me) return template;

  const folder = serverFolder(inMemory());
  try {
    const data = join(folder, "data");
    await ranAsServer(initdb, [...LAYOUT, ...ENGLISH, "-D", data], folder).catch(async (error: Error) => {
      if (!/ICU/.test(error.message)) throw error; // Some are built without it.
      rmSync(data, { recursive: true, force: true });
      await ranAsServer(initdb, [...LAYOUT, "--locale=C", "-D", data], folder);
    });
    const packed = join(folder, "template.tar");
    await ranAsServer("tar", ["-cf", packed, "data"], folder);
    writeFileSync(`${template}.${process.pid}`, readFileSync(packed), { mode: 0o644 });
    renameSync(`${template}.${process.pid}`, template);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return template;
}

// ── The server ──────────────────────────────────────────────────────────────────────────────────────────────────────

export interface PostgresOptions {
  /** Settings of the server, such as `{ idle_in_transaction_session_timeout: "1s" }`. */
  readonly settings?: { readonly [name: string]: string | number };
  /**
   * Whether a commit waits for the disk, as it does outside of tests. Without it a server is quicker, and survives kills
   * just the same, but no loss of power: its data is in memory, where there is room. Default `false`.
   */
  readonly fsync?: boolean;
  /** Where the data is kept, for example on a small disk; log and socket are elsewhere. */
  readonly dataIn?: string;
  /** The password of `postgres`. With one, everybody who comes over TCP needs one. */
  readonly password?: string;
}

export interface Postgres extends AsyncDisposable {
  /** The database `postgres` over TCP, as the superuser. */
  readonly url: string;
  /** The same through the Unix socket, on which nobody is asked for a password. */
  readonly socketUrl: string;
  readonly port: number;
  /** Holds the socket and the log; the data, too, unless it was put elsewhere. */
  readonly folder: string;
  /** Of the postmaster; `undefined` while it is down. */
  readonly pid: number | undefined;
  /** What the server has logged. */
  log(): string;
  /** Runs one statement as the superuser. */
  query(sql: string, database?: string): Promise<readonly Record<string, unknown>[]>;
  /** Answers the URL of a new database. */
  createDatabase(name: string): Promise<string>;
  /** A user without any rights; answers its URL to the database `postgres`. */
  createUser(name: string, password?: string): Promise<string>;
  /** The same URL for another user, password or database. */
  urlOf(of: { readonly user?: string; readonly password?: string; readonly database?: string }): string;
  /** `kill -9` of the server and all its processes. What was committed is there after `start`. */
  kill(): Promise<void>;
  /** Ends the server as an operator would: by default connections are cut, and what they had open is rolled back. */
  shutDown(how?: "fast" | "immediate"): Promise<void>;
  /** Starts a server that is down, with the same data on the same port. */
  start(): Promise<void>;
  /** Shuts it down, unless it is, and starts it. */
  restart(): Promise<void>;
  /** Ends it and deletes everything. */
  stop(): Promise<void>;
}

/** A folder in memory if it has room, as it does not in every container. On some disks to copy the data takes a second. */
function inMemory(): string {
  const memory = "/dev/shm";
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize < MEMORY_MIN ? tmpdir() : memory;
}

/** Starts a server. One that a test forgets is stopped at the end of its file. */
export async function startPostgres(options: PostgresOptions = {}): Promise<Postgres> {
  const found = findPostgres();
  if (found === undefined) throw new Error(POSTGRES_ABSENT);
  const template = await templateOf(found);
  const folder = serverFolder(options.fsync === true ? tmpdir() : inMemory());
  const dataIn = options.dataIn ?? folder;
  giveToServer(dataIn);
  const server = new Server(found, folder, join(dataIn, "data"), options);
  try {
    await ranAsServer("tar", ["-xf", template], dataIn);
    await server.begin();
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}

export const POSTGRES_ABSENT = `There is no PostgreSQL server: install PostgreSQL ${MAJOR_MIN} or later, or set BOWLINE_PG_BIN to its bin folder.`;

class Server implements Postgres {
  readonly folder: string;
  port = 0;
  readonly #programs: Programs;
  readonly #data: string;
  readonly #options: PostgresOptions;
  readonly #atEnd: { forget(): void };
  #child: ChildProcess | undefined;

  constructor(programs: Programs, folder: string, data: string, options: PostgresOptions) {
    this.#programs = programs;
    this.folder = folder;
    this.#data = data;
    this.#options = options;
    this.#atEnd = stopAtEnd(() => this.stop());
  }

  get url(): string {
    return this.urlOf({});
  }

  get socketUrl(): string {
    return this.#socketUrl("postgres");
  }

  get pid(): number | undefined {
    return this.#child === undefined || hasEnded(this.#child) ? undefined : this.#child.pid;
  }

  urlOf({ user = "postgres", password, database = "postgres" }: Parameters<Postgres["urlOf"]>[0]): string {
    const secret = password ?? (user === "postgres" ? this.#options.password : undefined);
    const who = secret === undefined ? user : `${user}:${encodeURIComponent(secret)}`;
    return `postgres://${who}@127.0.0.1:${this.port}/${database}`;
  }

  #socketUrl(database: string): string {
    return `postgres://postgres@${encodeURIComponent(this.folder)}:${this.port}/${database}`;
  }

  log(): string {
    return readFileSync(join(this.folder, "log"), "utf8");
  }

  async query(sql: string, database = "postgres"): Promise<readonly Record<string, unknown>[]> {
    return queryOnce(this.#socketUrl(database), sql);
  }

  async createDatabase(name: string): Promise<string> {
    await this.query(`CREATE DATABASE ${pg.escapeIdentifier(name)}`);
    return this.urlOf({ database: name });
  }

  async createUser(name: string, password?: string): Promise<string> {
    const secret = password === undefined ? "" : ` PASSWORD ${pg.escapeLiteral(password)}`;
    await this.query(`CREATE ROLE ${pg.escapeIdentifier(name)} LOGIN${secret}`);
    return this.urlOf(password === undefined ? { user: name } : { user: name, password });
  }

  /** The first start, on a port that nobody has. */
  async begin(): Promise<void> {
    for (let tried = 1; ; tried++) {
      this.port = await freePort();
      try {
        await this.start();
        break;
      } catch (error) {
        if (tried === PORTS_TRIED_MAX || !/could not bind/.test(String(error))) throw error;
      }
    }
    const { password } = this.#options;
    if (password === undefined) return;
    await this.query(`ALTER ROLE postgres PASSWORD ${pg.escapeLiteral(password)}`);
    const rules = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n";
    writeFileSync(join(this.#data, "pg_hba.conf"), rules);
    await this.query("SELECT pg_reload_conf()");
    // The server reads it in its own time; a connection that comes before would be let in.
    for (const late = Date.now() + START_MS; Date.now() < late; await passed(5)) {
      const isRead = await queryOnce(this.urlOf({ password: `${password}?` }), "SELECT 1").then(
        () => false,
        () => true,
      );
      if (isRead) return;
    }
    throw new Error("The server does not ask for passwords.");
  }

  async start(): Promise<void> {
    if (this.pid !== undefined) throw new Error("The server runs.");
    const log = join(this.folder, "log");
    const logged = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
    const settings = Object.entries(this.#settings()).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const child = begin(this.#programs.postgres, ["-D", this.#data, ...settings], this.folder, log);
    this.#child = child;
    for (const late = Date.now() + START_MS; ; await passed(3)) {
      if (this.#isReady(child.pid)) return;
      if (!hasEnded(child) && Date.now() < late) continue;
      await ended(child, "SIGKILL");
      throw new Error(`PostgreSQL did not start.\n${this.log().slice(logged)}`);
    }
  }

  /** Its own file says so first; one that was killed leaves its file behind. */
  #isReady(pid: number | undefined): boolean {
    try {
      const lines = readFileSync(join(this.#data, "postmaster.pid"), "utf8").split("\n");
      return Number(lines[0]) === pid && lines[7]?.trim() === "ready";
    } catch {
      return false;
    }
  }

  #settings(): NonNullable<PostgresOptions["settings"]> {
    const sync = this.#options.fsync === true ? "on" : "off";
    return {
      port: this.port,
      listen_addresses: "127.0.0.1",
      unix_socket_directories: this.folder,
      dynamic_shared_memory_type: "mmap", // In the data folder: one that is killed leaves nothing elsewhere.
      fsync: sync,
      full_page_writes: sync,
      shared_buffers: "16MB",
      max_connections: 100,
      max_wal_size: "64MB",
      ...this.#options.settings,
    };
  }

  async kill(): Promise<void> {
    if (this.#child !== undefined) await killedWhole(this.#child);
  }

  async shutDown(how: "fast" | "immediate" = "fast"): Promise<void> {
    if (this.#child !== undefined) await ended(this.#child, how === "fast" ? "SIGINT" : "SIGQUIT");
  }

  async restart(): Promise<void> {
    await this.shutDown();
    await this.start();
  }

  async stop(): Promise<void> {
    this.#atEnd.forget();
    await this.shutDown("immediate");
    for (const folder of [this.#data, this.folder]) await rm(folder, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/** Runs one statement on a connection of its own. */
export async function queryOnce(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client(url);
  client.on("error", () => {}); // A server that is killed meanwhile also fails the statement.
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
