import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, vi } from "vitest";
import { builtPackage } from "../kit/built.ts";

vi.setConfig({ testTimeout: 30_000 }); // Several processes start at once, maybe on a busy machine.
const running = new Set<ChildProcess>();
const folders: string[] = [];
afterAll(async () => {
  const ended = [...running].map((child) => new Promise((resolve) => child.on("close", resolve)));
  for (const child of running) child.kill("SIGKILL");
  await Promise.all(ended);
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** An empty one: nothing that is tested keeps its conversations in the project. */
export function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "bowline-cli-"));
  folders.push(made);
  return made;
}

const MAIN = ["--disable-warning=ExperimentalWarning", join(await builtPackage(), "dist/cli/main.js")];

export interface Program {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** What a person sees of it: without colours and moves of the cursor. */
  seen(): string;
  /** Resolves when what was seen so far matches. */
  until(pattern: RegExp): Promise<void>;
  send(keys: string): void;
  /** The exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>;
}

export interface Start {
  /** A new one unless given. */
  readonly cwd?: string;
  readonly env?: { readonly [name: string]: string };
  /** All of stdin; without it stdin stays open. */
  readonly input?: string;
  /** In a pseudo-terminal. */
  readonly terminal?: boolean;
}

/** How long to look for something: what was seen instead tells more than a test that timed out. */
const UNTIL_MS = 20_000;
const TERMINAL = "script"; // Of util-linux: it runs a command in a pseudo-terminal.
export const hasTerminal = spawnSync(TERMINAL, ["--version"]).status === 0;

/** The real program in a process of its own, with no model or key of the machine it runs on. */
export function start(
  args: readonly string[],
  { cwd = folder(), env = {}, input, terminal = false }: Start = {},
): Program {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^BOWLINE_|_API_KEY$|_AUTH_TOKEN$|^NO_COLOR$/.test(name),
  );
  const words = [...MAIN, ...args];
  const [file, parts] = terminal
    ? [TERMINAL, ["-qec", [process.execPath, ...words].map((word) => `'${word}'`).join(" "), "/dev/null"]]
    : [process.execPath, words];
  const child = spawn(file as string, parts as string[], {
    cwd,
    env: { ...Object.fromEntries(kept), TERM: "xterm", ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  running.add(child);
  const written = { stdout: "", stderr: "" };
  const checks = new Set<() => void>();
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (words: string) => {
      written[name] += words;
      for (const check of checks) check();
    });
  }
  child.stdin?.on("error", () => {}); // It may leave before it has read all.
  if (input !== undefined) child.stdin?.end(input);
  const ended = new Promise<number | string>((resolve) => {
    child.on("close", (code, signal) => {
      running.delete(child);
      resolve(code ?? signal ?? "nothing");
    });
  });
  const seen = (): string => plain(written.stdout + written.stderr);
  return {
    child,
    seen,
    stdout: () => written.stdout,
    stderr: () => written.stderr,
    ended,
    send: (keys) => void child.stdin?.write(keys),
    until: (pattern) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          if (!pattern.test(seen())) return;
          checks.delete(check);
          resolve();
        };
        checks.add(check);
        check();
        ended.then(() => reject(new Error(`It ended without ${pattern}:\n${seen()}`)));
        setTimeout(() => reject(new Error(`It has not shown ${pattern}:\n${seen()}`)), UNTIL_MS).unref();
      }),
  };
}

const plain = (words: string): string => stripVTControlCharacters(words).replaceAll("\r", "");

/** Runs it to its end. */
export async function bowline(args: readonly string[], how: Start = {}) {
  const program = start(args, { input: "", ...how });
  const code = await program.ended;
  return { code, stdout: program.stdout(), stderr: program.stderr() };
}
