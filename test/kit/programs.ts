/** Server programs that tests start: as whom they run, in which folder, on which port, and that none outlives the tests. */
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  accessSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { passed } from "./reading.ts";

const FOLDER = /^bowline-server-(\d+)-/;
const PORTS = { from: 20_000, to: 32_000 };

// ── Who runs them ───────────────────────────────────────────────────────────────────────────────────────────────────

interface User {
  readonly uid: number;
  readonly gid: number;
}

let user: User | "same" | undefined;

/** PostgreSQL and PgBouncer refuse to run as root: then they run as Debian's user for them, or as nobody. */
export function serverUser(): User | undefined {
  user ??= process.getuid?.() === 0 ? (userNamed("postgres") ?? userNamed("nobody") ?? "same") : "same";
  return user === "same" ? undefined : user;
}

function userNamed(name: string): User | undefined {
  const id = (what: string): number => Number(execFileSync("id", [what, name], { encoding: "utf8", stdio: "pipe" }));
  try {
    return { uid: id("-u"), gid: id("-g") };
  } catch {
    return undefined;
  }
}

/** The first of these programs that there is: a path, or a name that is looked for in `PATH`. */
export function programAt(...names: readonly string[]): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const paths = names.flatMap((name) => (name.includes("/") ? [name] : folders.map((folder) => join(folder, name))));
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

// ── Where they run ──────────────────────────────────────────────────────────────────────────────────────────────────

/** An empty folder that belongs to the user who runs the servers. */
export function serverFolder(within = tmpdir()): string {
  removeLeftovers(within);
  const folder = mkdtempSync(join(within, `bowline-server-${process.pid}-`));
  giveToServer(folder);
  return folder;
}

/** Removes the folders of processes that were killed. */
function removeLeftovers(within: string): void {
  for (const name of readdirSync(within)) {
    const pid = FOLDER.exec(name)?.[1];
    if (pid === undefined || isAlive(Number(pid))) continue;
    try {
      rmSync(join(within, name), { recursive: true, force: true });
    } catch {
      // It is another user's, or another process removes it right now.
    }
  }
}

export function giveToServer(path: string): void {
  const user = serverUser();
  if (user !== undefined) chownSync(path, user.uid, user.gid);
}

/**
 * A port of the loopback on which nobody listens. It lies below those that the kernel gives to clients: a server that is
 * down for a while must find its own port free when it comes back.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.from + Math.floor(Math.random() * (PORTS.to - PORTS.from));
    const probe = createServer();
    try {
      probe.listen(port, "127.0.0.1");
      await once(probe, "listening");
      return port;
    } catch {
      // Taken: the next one.
    } finally {
      probe.close();
    }
  }
}

// ── How they begin and end ──────────────────────────────────────────────────────────────────────────────────────────

const running = new Set<() => Promise<void>>();

/** Has `stop` called at the end of the test file, in case its tests do not come to it. */
export function stopAtEnd(stop: () => Promise<void>): { forget(): void } {
  running.add(stop);
  return { forget: () => void running.delete(stop) };
}

export async function stopServers(): Promise<void> {
  await Promise.all([...running].map((stop) => stop()));
}

/** Runs a program to its end, as the user who runs the servers. A failure says what the program said. */
export async function ranAsServer(program: string, args: readonly string[], cwd: string): Promise<void> {
  await promisify(execFile)(program, args, { cwd, ...serverUser(), env: plainEnvironment() });
}

/**
 * Starts a server as the user who runs the servers. Where the kernel can promise it, the server is killed when this
 * process dies, however that happens. Its output goes to a file: a pipe that nobody reads would stop it once it is full.
 */
export function begin(program: string, args: readonly string[], cwd: string, log: string): ChildProcess {
  const setpriv = process.platform === "linux" ? programAt("setpriv") : undefined;
  const command = [...(setpriv === undefined ? [] : [setpriv, "--pdeathsig", "KILL", "--"]), program, ...args];
  const output = openSync(log, "a");
  try {
    const stdio = ["ignore", output, output] as const;
    const child = spawn(command[0]!, command.slice(1), {
      cwd,
      ...serverUser(),
      env: plainEnvironment(),
      stdio: [...stdio],
    });
    child.on("error", () => {}); // Then it never has a pid, and `hasEnded`.
    return child;
  } finally {
    closeSync(output);
  }
}

/** Messages in English, and none of the settings by which clients of PostgreSQL find their server. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(PG|LC_|LANG)/.test(name));
  return { ...Object.fromEntries(kept), LC_ALL: "C" };
}

export const hasEnded = (child: ChildProcess): boolean =>
  child.pid === undefined || child.exitCode !== null || child.signalCode !== null;

/** Sends a signal to a server, unless it has ended, and waits for its end. */
export async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return;
  const end = once(child, "exit");
  child.kill(signal);
  await end;
}

/** Kills a server and the processes it started, all at once: it gets to finish nothing, and to tell nobody. */
export async function killedWhole(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  child.kill("SIGSTOP"); // So that it starts no more of them.
  const children = childrenOf(child.pid!);
  for (const pid of children) kill(pid);
  await ended(child, "SIGKILL");
  while (children.some(isAlive)) await passed(1);
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

function childrenOf(parent: number): readonly number[] {
  const pairs = existsSync("/proc/self/stat")
    ? readdirSync("/proc").map((name) => [Number(name), stateOf(name)?.parent] as const)
    : execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" })
        .split("\n")
        .map((line) => line.trim().split(/\s+/).map(Number) as [number, number?]);
  return pairs.filter(([, ppid]) => ppid === parent).map(([pid]) => pid);
}

/** The state and the parent of a process, as Linux tells them; `undefined` for what is no process. */
function stateOf(pid: string): { readonly state: string; readonly parent: number } | undefined {
  if (!/^\d+$/.test(pid)) return undefined;
  try {
    // The name of the program, in parentheses, may hold anything.
    const [state, parent] = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return { state: state!, parent: Number(parent) };
  } catch {
    return undefined;
  }
}

/** Whether a process runs. One that has ended and that nobody has asked about (a zombie) does not. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
  return stateOf(String(pid))?.state !== "Z";
}
