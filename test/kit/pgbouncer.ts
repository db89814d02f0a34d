/** PgBouncer in front of a server: many clients share few connections, and none keeps one from one transaction to the next. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { queryOnce } from "./postgres.ts";
import { begin, ended, freePort, hasEnded, programAt, serverFolder, stopAtEnd } from "./programs.ts";
import { passed } from "./reading.ts";

const START_MS = 10_000;
const PORTS_TRIED_MAX = 10;

export const PGBOUNCER_ABSENT = "There is no PgBouncer: install the package pgbouncer.";

export const findPgbouncer = (): string | undefined => programAt("pgbouncer", "/usr/sbin/pgbouncer");

export interface PgbouncerOptions {
  /** How long a client keeps a connection; default `"transaction"`. */
  readonly mode?: "session" | "transaction" | "statement";
  /** How many connections to the server there are for each database and user; default 20. */
  readonly connections?: number;
  /** More settings of PgBouncer, such as `{ query_wait_timeout: 2 }`. */
  readonly settings?: { readonly [name: string]: string | number };
}

export interface Pgbouncer extends AsyncDisposable {
  /** The same user and database as in the URL of the server, by way of PgBouncer. It asks nobody for a password. */
  readonly url: string;
  /** Its console: `SHOW POOLS`, `PAUSE`, `KILL`. It understands simple queries only. */
  readonly consoleUrl: string;
  readonly port: number;
  readonly pid: number;
  log(): string;
  stop(): Promise<void>;
}

/** Starts PgBouncer in front of the server that has this URL. One that a test forgets is stopped at the end of its file. */
export async function startPgbouncer(serverUrl: string, options: PgbouncerOptions = {}): Promise<Pgbouncer> {
  const program = findPgbouncer();
  if (program === undefined) throw new Error(PGBOUNCER_ABSENT);
  const folder = serverFolder();
  for (let tried = 1; ; tried++) {
    const port = await freePort();
    try {
      return await startOn(program, folder, port, new URL(serverUrl), options);
    } catch (error) {
      if (tried < PORTS_TRIED_MAX && /in use/.test(String(error))) continue;
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }
}

async function startOn(
  program: string,
  folder: string,
  port: number,
  server: URL,
  { mode = "transaction", connections = 20, settings = {} }: PgbouncerOptions,
): Promise<Pgbouncer> {
  const file = (name: string): string => join(folder, name);
  const all = {
    listen_addr: "127.0.0.1",
    listen_port: port,
    unix_socket_dir: "",
    auth_type: "trust",
    auth_file: file("users"),
    admin_users: server.username,
    pool_mode: mode,
    default_pool_size: connections,
    max_client_conn: 500,
    server_login_retry: 1, // Seconds. Unless told it tries a server that was down only every 15 seconds.
    ...settings,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`);
  const target = `* = host=${server.hostname} port=${server.port}`;
  writeFileSync(file("pgbouncer.ini"), ["[databases]", target, "[pgbouncer]", ...lines, ""].join("\n"), {
    mode: 0o644,
  });
  writeFileSync(file("users"), `"${server.username}" "${decodeURIComponent(server.password)}"\n`, { mode: 0o644 });

  const child = begin(program, [file("pgbouncer.ini")], folder, file("log"));
  const at = new URL(server);
  at.port = String(port);
  at.password = "";
  const itsConsole = new URL(at);
  itsConsole.pathname = "pgbouncer";
  const log = (): string => readFileSync(file("log"), "utf8");
  const stop = async (): Promise<void> => {
    atEnd.forget();
    await ended(child, "SIGTERM"); // At once: it does not wait for its clients.
    rmSync(folder, { recursive: true, force: true });
  };
  const atEnd = stopAtEnd(stop);

  for (const late = Date.now() + START_MS; ; await passed(3)) {
    const isUp = await queryOnce(itsConsole.href, "SHOW VERSION").then(
      () => true,
      () => false,
    );
    if (isUp && !hasEnded(child)) break;
    if (!hasEnded(child) && Date.now() < late) continue;
    const said = log();
    await ended(child, "SIGKILL");
    atEnd.forget();
    throw new Error(`PgBouncer did not start.\n${said}`);
  }
  const answer = { url: at.href, consoleUrl: itsConsole.href, port, pid: child.pid!, log, stop };
  return { ...answer, [Symbol.asyncDispose]: stop };
}
