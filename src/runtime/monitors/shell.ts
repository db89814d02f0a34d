// A shell command that waits for a start signal. Its shell has its own process group and reads a pipe: it runs the
// command after `go`, and exits when the pipe ends. So a process that dies before the group is recorded leaves no
// command behind.
import { type ChildProcess, spawn } from "node:child_process";
import { statSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { RuntimeError } from "../../model/errors.ts";
import { describeThrown } from "../../model/json.ts";
import { processName } from "../world.ts";
import { endGroup, type Group, MARK, started } from "./group.ts";
import { type Channel, LineReader } from "./lines.ts";

/** `$1` is the command. */
const GATE = 'read -r go <&3 || exit 0; exec 3<&-; exec /bin/sh -c "$1"';
/** How long to wait for the last output after the command has ended. */
const DRAIN_MS = 500;

export interface Exit {
  readonly code?: number;
  readonly signal?: string;
}

export class Shell {
  readonly group: Group;
  /** Settles when the command has ended. */
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;

  private constructor(child: ChildProcess, mark: string, onLine: (channel: Channel, line: string) => void) {
    this.#child = child;
    this.group = { leader: processName(child.pid), mark };
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => resolve(code === null ? { signal: signal ?? "unknown" } : { code }));
    });
    const ends = (["out", "err"] as const).map((channel) => {
      const stream = (channel === "out" ? child.stdout : child.stderr) as Readable;
      const reader = new LineReader((line) => onLine(channel, line));
      stream.on("data", (chunk: Buffer) => reader.take(chunk));
      return new Promise<void>((resolve) => {
        const done = (): void => {
          reader.end();
          resolve();
        };
        stream.once("end", done);
        stream.once("error", done);
        stream.once("close", done);
      });
    });
    this.#closed = Promise.all(ends);
    this.#gate.on("error", () => {}); // The pipe breaks when the shell exits, and `exited` reports that.
    child.unref(); // A runtime does not keep its process alive, so its commands must not either.
    for (const stream of child.stdio) (stream as unknown as { unref?(): void } | null)?.unref?.();
    started(child.pid as number);
  }

  get #gate(): Writable {
    return this.#child.stdio[3] as Writable;
  }

  /** Starts the shell. The command waits for `go`. Throws `monitor.failed` if the shell cannot start. */
  static open(
    {
      command,
      cwd,
      env,
    }: { readonly command: string; readonly cwd?: string | undefined; readonly env?: NodeJS.ProcessEnv | undefined },
    mark: string,
    onLine: (channel: Channel, line: string) => void,
  ): Promise<Shell> {
    return new Promise((resolve, reject) => {
      const failed = (error: unknown): void =>
        reject(new RuntimeError("monitor.failed", { problem: problemOf(error, cwd) }));
      try {
        const child = spawn("/bin/sh", ["-c", GATE, "sh", command], {
          cwd,
          env: { ...process.env, ...env, [MARK]: mark },
          detached: true,
          stdio: ["ignore", "pipe", "pipe", "pipe"],
        });
        child.once("error", failed);
        child.once("spawn", () => resolve(new Shell(child, mark, onLine)));
      } catch (error) {
        failed(error); // Too long for a command line, for example.
      }
    });
  }

  /** Starts the command. */
  go(): void {
    this.#gate.end("go\n");
  }

  /** Ends the command and all processes that it started. Settles when the output has been read. */
  async end(): Promise<void> {
    await endGroup(this.group, true);
    await Promise.race([this.#closed, new Promise((resolve) => setTimeout(resolve, DRAIN_MS))]);
    for (const stream of this.#child.stdio) stream?.destroy();
  }
}

function problemOf(error: unknown, cwd: string | undefined): string {
  const isDirectory = cwd === undefined || statSync(cwd, { throwIfNoEntry: false })?.isDirectory() === true;
  return isDirectory ? `it cannot be started: ${describeThrown(error)}` : `there is no directory ${cwd}`;
}
