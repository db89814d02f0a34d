// Runs one command.
//
// shell-1: When a call returns, no process of its command runs: remaining ones are killed (`family.ts`).
// shell-2: The memory for output is limited (`capture.ts`).
// shell-3: A command that was cancelled or exceeded its time returns a result with its output so far.
// shell-4: Output is shown while the command runs, in whole characters, with stdout and stderr in the order of arrival.
import { type ChildProcess, spawn } from "node:child_process";
import { StringDecoder } from "node:string_decoder";
import { Capture } from "./capture.ts";
import { Family } from "./family.ts";
import { Refusal } from "./refusal.ts";
import { withFolder } from "./resolve.ts";
import { TEXTS } from "./texts.ts";

/** How long the pipes are still read after the command has ended, if a process outside its family keeps them open. */
const DRAIN_MS = 250;
const INHERITED = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "TZ"];

export interface ShellInput {
  readonly command: string;
  readonly cwd?: string;
  readonly timeoutMs?: number;
}
export interface ShellSettings {
  readonly timeoutMs: number;
  readonly timeoutMsMax: number;
  readonly graceMs: number;
  readonly env: Readonly<Record<string, string>>;
  readonly allow?: readonly RegExp[];
}
interface ShellOptions {
  readonly root: string;
  readonly bytesMax: number;
  readonly shell: ShellSettings;
}

export interface ShellResult {
  /** Null when a signal ended the command. */
  readonly exitCode: number | null;
  /** The signal that ended the command. */
  readonly signal?: string;
  /** Why the command was stopped: its time limit has passed, or the call was cancelled. */
  readonly stopped?: string;
  readonly stdout: string;
  readonly stderr: string;
}

/** The commands that run now: closing the runtime, or the exit of this process, ends them. */
export class Commands {
  readonly #running = new Map<Family, Promise<unknown>>();
  readonly #onExit = (): void => {
    for (const family of this.#running.keys()) family.signal("SIGKILL");
  };

  /** `ended` must never reject. */
  add(family: Family, ended: Promise<unknown>): void {
    if (this.#running.size === 0) process.on("exit", this.#onExit);
    this.#running.set(family, ended);
    void ended.then(() => {
      this.#running.delete(family);
      if (this.#running.size === 0) process.off("exit", this.#onExit);
    });
  }

  async close(): Promise<void> {
    for (const family of this.#running.keys()) family.signal("SIGKILL");
    await Promise.all(this.#running.values());
  }
}

/** The part of a tool's context that a command uses. */
export interface Watching {
  readonly signal: AbortSignal;
  output(chunk: string): void;
}

/**
 * Runs a command with `/bin/sh -c`. A failing command gives a result, not an error. When this returns, no process of
 * the command runs.
 */
export function shell(
  { command, cwd = ".", timeoutMs }: ShellInput,
  { root, bytesMax, shell: settings }: ShellOptions,
  commands: Commands,
  { signal, output }: Watching,
): Promise<ShellResult> {
  if (command.includes("\0")) throw new Refusal("workspace.command", TEXTS.nulInCommand);
  if (settings.allow?.some((pattern) => isWholly(pattern, command)) === false)
    throw new Refusal("workspace.command", TEXTS.notAllowed(settings.allow.join(" ")));
  const ms = Math.min(timeoutMs ?? settings.timeoutMs, settings.timeoutMsMax);
  return withFolder(root, cwd, ({ path }) => run(command, path, ms, bytesMax, settings, commands, signal, output));
}

/** A pattern must match the whole command: `git status` must not let `git status; rm -r .` through. */
function isWholly({ source, flags }: RegExp, command: string): boolean {
  return new RegExp(`^(?:${source})$`, flags.replace(/[gmy]/g, "")).test(command);
}

async function run(
  command: string,
  cwd: string,
  ms: number,
  bytesMax: number,
  { graceMs, env }: ShellSettings,
  commands: Commands,
  signal: AbortSignal,
  output: Watching["output"],
): Promise<ShellResult> {
  signal.throwIfAborted();
  const family = new Family();
  const child = begin(command, cwd, { ...inherited(), ...env, PWD: cwd, ...family.mark });
  family.lead(child.pid);
  const ending = ended(child);
  const decoders: StringDecoder[] = [];
  const [stdout, stderr] = [child.stdout, child.stderr].map((stream) => {
    const capture = new Capture(Math.floor(bytesMax / 2));
    const decoder = new StringDecoder("utf8"); // One character can be split over two chunks.
    decoders.push(decoder);
    stream?.on("data", (chunk: Buffer) => {
      capture.add(chunk);
      output(decoder.write(chunk));
    });
    return capture;
  }) as [Capture, Capture];

  let stopped: string | undefined;
  let killing: NodeJS.Timeout | undefined;
  const stop = (why: string): void => {
    if (stopped !== undefined) return;
    stopped = why;
    family.signal("SIGTERM");
    killing = setTimeout(() => family.signal("SIGKILL"), graceMs);
  };
  const onAbort = (): void => stop(TEXTS.cancelled);
  const timer = setTimeout(() => stop(TEXTS.late(ms)), ms);
  signal.addEventListener("abort", onAbort, { once: true });

  const over = ending
    .finally(() => clearTimeout(timer))
    .finally(() => family.end(graceMs))
    .finally(() => {
      clearTimeout(killing);
      signal.removeEventListener("abort", onAbort);
    })
    .finally(() => drained(child));
  commands.add(
    family,
    over.catch(() => {}),
  );
  const { exitCode, by } = await over;
  for (const decoder of decoders) output(decoder.end());
  return {
    exitCode,
    ...(by === null ? {} : { signal: by }),
    ...(stopped === undefined ? {} : { stopped }),
    stdout: stdout.text(),
    stderr: stderr.text(),
  };
}

function begin(command: string, cwd: string, env: Record<string, string>): ChildProcess {
  try {
    // `detached` gives the command a separate session and process group, by which `Family` ends it.
    return spawn("/bin/sh", ["-c", command], { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    throw unrunnable(error);
  }
}

const unrunnable = (cause: unknown): Refusal =>
  new Refusal("workspace.command", TEXTS.notRun(cause instanceof Error ? cause.message : String(cause)), { cause });

function inherited(): Record<string, string> {
  const found = INHERITED.map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(found.filter((pair): pair is readonly [string, string] => pair[1] !== undefined));
}

/** Waits for `exit` and not for `close`, because a child of the shell can keep the pipes open. */
function ended(child: ChildProcess): Promise<{ readonly exitCode: number | null; readonly by: string | null }> {
  return new Promise((resolve, reject) => {
    child.once("error", (error) => reject(unrunnable(error)));
    child.once("exit", (exitCode, by) => resolve({ exitCode, by }));
  });
}

/** Reads the output from before the end, but does not wait for a process that only keeps the pipe open. */
function drained(child: ChildProcess): Promise<void> {
  const streams = [child.stdout, child.stderr].filter((stream) => stream !== null);
  if (streams.every((stream) => stream.closed)) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      for (const stream of streams) stream.destroy();
      resolve();
    };
    const timer = setTimeout(end, DRAIN_MS);
    child.once("close", end);
  });
}
