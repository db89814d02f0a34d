import { type ChildProcess, spawn } from "node:child_process";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import type { ServerAddress } from "./options.ts";
import { Disconnected, problem } from "./problem.ts";

const INHERITED = ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];
const TAIL_BYTES = 8_192;
const GRACE_MS = 1_000;
/** How long the pipes of an exited child are still read, because its own children can keep them open for ever. */
const DRAIN_MS = 200;

/**
 * Exchanges messages with a server over its stdin and stdout. It ends the server's process with all child processes,
 * which the package's own transport does not do.
 */
export class ChildTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport["onmessage"]>;
  /** The package detects a process by this field and `pid`. */
  readonly stderr = null;
  readonly #place: Extract<ServerAddress, { kind: "process" }>;
  readonly #parse: (line: string) => JSONRPCMessage;
  readonly #lineBytesMax: number;
  readonly #ended: Promise<void>;
  readonly #end: () => void;
  #child: ChildProcess | undefined;
  #isOver = false;
  #closing: Promise<void> | undefined;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #tail = "";
  #why: Disconnected | undefined;

  constructor(
    place: Extract<ServerAddress, { kind: "process" }>,
    parse: (line: string) => JSONRPCMessage,
    lineBytesMax: number,
  ) {
    this.#place = place;
    this.#parse = parse;
    this.#lineBytesMax = lineBytesMax;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ended = promise;
    this.#end = resolve;
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** The end of what the server wrote to stderr, and of lines on stdout that were not messages. */
  get tail(): string {
    return this.#tail;
  }

  /** Why the process ended; undefined while it runs. */
  get why(): Disconnected | undefined {
    return this.#why;
  }

  start(): Promise<void> {
    const { command, args = [], env, cwd } = this.#place;
    return new Promise((resolve, reject) => {
      const child = spawn(command, args, {
        env: { ...inheritedEnv(), ...env },
        stdio: "pipe",
        detached: true, // Makes a process group, so that the server can be ended with its children.
        ...(cwd === undefined ? {} : { cwd }),
      });
      this.#child = child;
      child.once("spawn", () => {
        groups.add(child.pid as number);
        resolve();
      });
      child.once("error", (error) => {
        reject(error);
        if (child.pid === undefined) this.#over();
      });
      child.once("exit", (code, signal) => {
        this.#why ??= new Disconnected(problem("mcp.exited", exitWords(code, signal, this.#tail)));
        setTimeout(() => this.#over(), DRAIN_MS).unref();
      });
      child.once("close", () => this.#over());
      child.stdout.on("data", (chunk: Buffer) => this.#read(chunk));
      child.stderr.on("data", (chunk: Buffer) => this.#keep(chunk.toString()));
      // The exit of the process has more information than the error of a pipe, which would be thrown without a listener.
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", () => {});
    });
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (this.#isOver || !stdin?.writable)
      return Promise.reject(new Disconnected(this.#why?.problem ?? gone().problem, { isUnsent: true }));
    return new Promise((resolve, reject) => {
      stdin.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(this.#why ?? gone(error)) : resolve()));
    });
  }

  /** Ends the process: first by closing its stdin, as MCP requires, then with SIGTERM, then with SIGKILL. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const child = this.#child;
    if (child === undefined || this.#isOver) return this.#over();
    child.stdin?.end();
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      if (await this.#endsWithin(GRACE_MS)) return;
      killGroup(child.pid, signal);
    }
    await this.#endsWithin(GRACE_MS);
    this.#over();
  }

  async #endsWithin(ms: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    await Promise.race([this.#ended, late]);
    clearTimeout(timer);
    return this.#isOver;
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const child = this.#child;
    if (child?.pid !== undefined) {
      killGroup(child.pid, "SIGKILL"); // Processes that the server left running.
      groups.delete(child.pid);
    }
    for (const stream of [child?.stdin, child?.stdout, child?.stderr]) stream?.destroy();
    this.#pending = [];
    this.#end();
    this.onclose?.();
  }

  #read(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      const line = Buffer.concat([...this.#pending, chunk.subarray(from, at)]).toString();
      from = at + 1;
      this.#pending = [];
      this.#pendingBytes = 0;
      this.#receive(line);
    }
    if (from === chunk.length) return;
    this.#pending.push(chunk.subarray(from));
    this.#pendingBytes += chunk.length - from;
    if (this.#pendingBytes <= this.#lineBytesMax || this.#why !== undefined) return;
    this.#why = new Disconnected(
      problem("mcp.protocol", `The server sent a message of more than ${this.#lineBytesMax} bytes.`),
    );
    killGroup(this.#child?.pid, "SIGKILL");
    this.#over();
  }

  #receive(line: string): void {
    if (line.trim() === "") return;
    let message: JSONRPCMessage;
    try {
      message = this.#parse(line);
    } catch {
      this.#keep(`${line}\n`); // A log line: many servers log to stdout, though they should not.
      return;
    }
    this.onmessage?.(message);
  }

  #keep(text: string): void {
    this.#tail = (this.#tail + text).slice(-TAIL_BYTES);
  }
}

const gone = (cause?: unknown): Disconnected =>
  new Disconnected(problem("mcp.exited", "The server's process is gone."), { cause });

function exitWords(code: number | null, signal: NodeJS.Signals | null, tail: string): string {
  const how = signal === null ? `with code ${code}` : `by ${signal}`;
  const last = tail.trimEnd().split("\n").at(-1)?.trim() ?? "";
  return `The server's process ended ${how}${last === "" ? "." : `: ${last.slice(0, 500)}`}`;
}

function inheritedEnv(): { [name: string]: string } {
  return Object.fromEntries(
    INHERITED.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group has no process any more.
  }
}

/** Process groups of running servers. They end with this process, even if it exits without closing its runtime. */
const groups = new (class {
  readonly #pids = new Set<number>();
  readonly #killAll = (): void => {
    for (const pid of this.#pids) killGroup(pid, "SIGTERM");
  };
  add(pid: number): void {
    if (this.#pids.size === 0) process.once("exit", this.#killAll);
    this.#pids.add(pid);
  }
  delete(pid: number): void {
    this.#pids.delete(pid);
    if (this.#pids.size === 0) process.off("exit", this.#killAll);
  }
})();
