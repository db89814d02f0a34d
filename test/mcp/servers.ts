import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { ToolContext } from "bowline";

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const QUIET = "--disable-warning=ExperimentalWarning";

/** A server inherits little of the environment. Without the compile cache most of its start is spent on reading its sources. */
export const CACHE = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? "" };

/** The fixture over stdio: `…fixture("stdio", "many")`. */
export const fixture = (...args: readonly string[]) => ({
  command: process.execPath,
  args: [QUIET, file("./server.ts"), ...args],
  env: CACHE,
});
/** A server by hand that lists this. */
export const raw = (how: string, list: readonly unknown[] = []) => ({
  command: process.execPath,
  args: [QUIET, file("./raw.ts"), how],
  env: { LIST: JSON.stringify(list) },
});

export interface Remote extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly child: ChildProcess;
  kill(): Promise<void>;
}

/** The fixture as a server of its own, on a port that the system chose. */
export async function serve(how: "http" | "stateless", port = 0): Promise<Remote> {
  const child = spawn(process.execPath, [QUIET, file("./server.ts"), how], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, PORT: String(port) },
  });
  const died = once(child, "exit").then(([code]) => Promise.reject(new Error(`The server ended with ${code}.`)));
  died.catch(() => {}); // In the end it does.
  const [line] = (await Promise.race([once(createInterface({ input: child.stdout }), "line"), died])) as [string];
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  };
  return { url: `http://127.0.0.1:${line}/mcp`, port: Number(line), child, kill, [Symbol.asyncDispose]: kill };
}

/** What a tool is given, as far as tools of MCP servers look at it. */
export function toolContext(given: Partial<Pick<ToolContext, "signal" | "progress">> = {}): ToolContext {
  const context = { idempotencyKey: "key-1", signal: new AbortController().signal, progress: () => {}, ...given };
  return context as ToolContext;
}

/** A dead process that nobody has waited for yet is dead. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/.test(existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, "utf8") : "");
  } catch {
    return false;
  }
}

/** A promise and the call that keeps it. */
export function signalled<T = void>(): { readonly happened: Promise<T>; readonly tell: (value: T) => void } {
  const { promise, resolve } = Promise.withResolvers<T>();
  return { happened: promise, tell: resolve };
}
