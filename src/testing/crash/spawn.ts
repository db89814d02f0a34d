import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Orders } from "./life.ts";

/** The program calls the scenario's own `live`, so that the kit is the copy that the scenario's module imports. */
const PROGRAM = `
const { default: scenario } = await import(process.argv[1]);
await scenario.live(JSON.parse(process.argv[2]));
`;

export interface Life {
  readonly child: ChildProcess;
  /** How the process ended, and its stderr. */
  readonly ended: Promise<Ended>;
}
export interface Ended {
  readonly signal: NodeJS.Signals | null;
  readonly code: number | null;
  readonly isLate: boolean;
  readonly errors: string;
}

export function begin(
  scenario: URL,
  orders: Orders,
  { execArgv, timeoutMs }: { readonly execArgv: readonly string[]; readonly timeoutMs: number },
): Life {
  // Compiled code is cached on disk, because otherwise a process mostly reads sources.
  const cache = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(tmpdir(), "node-compile-cache") };
  const child = spawn(
    process.execPath,
    [...execArgv, "--input-type=module", "-e", PROGRAM, scenario.href, JSON.stringify(orders)],
    { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, ...cache } },
  );
  let errors = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (errors = (errors + text).slice(-4_000)));
  return { child, ended: end(child, timeoutMs, () => errors) };
}

/** Running processes. A test that ends early must not leave any process running or suspended. */
const living = new Set<ChildProcess>();
const killAll = (): void => {
  for (const child of living) child.kill("SIGKILL");
};

async function end(child: ChildProcess, timeoutMs: number, errors: () => string): Promise<Ended> {
  let isLate = false;
  if (living.size === 0) process.once("exit", killAll);
  living.add(child);
  const timer = setTimeout(() => {
    isLate = true;
    child.kill("SIGKILL");
  }, timeoutMs);
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  clearTimeout(timer);
  living.delete(child);
  if (living.size === 0) process.removeListener("exit", killAll);
  return { code, signal, isLate, errors: errors() };
}
