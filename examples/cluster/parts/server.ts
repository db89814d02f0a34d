// A PostgreSQL server for this example only, in a temporary folder and on a free port. `stop` removes it.
import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, chownSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

export interface Server {
  readonly url: string;
  stop(): Promise<void>;
}

/** Returns `undefined` if PostgreSQL is not installed. */
export async function startServer(): Promise<Server | undefined> {
  const programs = [process.env.BOWLINE_PG_BIN ?? "", ...globSync("/usr/lib/postgresql/*/bin").sort().reverse()];
  const bin = [...programs, ...(process.env.PATH ?? "").split(delimiter)].find((each) => each !== "" && has(each));
  if (bin === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "bowline-postgres-"));
  const user = process.getuid?.() === 0 ? userOf("postgres") : {}; // PostgreSQL refuses to run as root.
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const run = { cwd: folder, ...user };
  // Independent of LANG.
  const layout = ["-U", "postgres", "-A", "trust", "--encoding=UTF8", "--locale=C", "--no-sync"];
  await promisify(execFile)(join(bin, "initdb"), ["-D", data, ...layout], run);
  const port = await freePort();
  const settings = { port, listen_addresses: "127.0.0.1", unix_socket_directories: folder, max_connections: 100 };
  const given = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const child = spawn(join(bin, "postgres"), ["-D", data, ...given], { ...run, stdio: "ignore" });
  const stop = async (): Promise<void> => {
    child.kill("SIGINT");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    rmSync(folder, { recursive: true, force: true });
  };
  while (!isReady(data)) {
    if (child.exitCode !== null) throw new Error("PostgreSQL did not start.");
    await sleep(20);
  }
  return { url: `postgres://postgres@127.0.0.1:${port}/postgres`, stop };
}

function has(folder: string): boolean {
  try {
    for (const program of ["postgres", "initdb"]) accessSync(join(folder, program));
    return true;
  } catch {
    return false;
  }
}

function isReady(data: string): boolean {
  try {
    return readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[7]?.trim() === "ready";
  } catch {
    return false;
  }
}

function userOf(name: string): { readonly uid?: number; readonly gid?: number } {
  const id = (what: string): number => Number(execFileSync("id", [what, name], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  return port;
}
