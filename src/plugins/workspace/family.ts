import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const MARK = "BOWLINE_COMMAND";
const POLL_MS = 10;
const KILLED_MS = 2_000;

/**
 * All processes that a command started: its process group. On Linux also processes that left the group, but are in its
 * session or have the mark in their environment.
 */
export class Family {
  /** A variable for the command's environment, which its children inherit. */
  readonly mark: Readonly<Record<string, string>>;
  readonly #mark: string;
  #leader: number | undefined;
  #since = 0;

  constructor() {
    const id = randomUUID();
    this.mark = { [MARK]: id };
    this.#mark = `${MARK}=${id}`;
  }

  lead(pid: number | undefined): void {
    this.#leader = pid;
    if (pid !== undefined && process.platform === "linux") this.#since = lookAt(pid)?.since ?? 0;
  }

  signal(name: "SIGTERM" | "SIGKILL"): void {
    if (this.#leader === undefined) return;
    send(-this.#leader, name);
    for (const pid of this.#strays()) send(pid, name);
  }

  /** Ends all running processes: with SIGTERM, then with SIGKILL. Returns when none runs. */
  async end(graceMs: number): Promise<void> {
    if (this.#isGone()) return;
    this.signal("SIGTERM");
    if (await this.#gone(graceMs)) return;
    // Sends SIGKILL repeatedly, because one pass misses a process that forks during the search.
    for (const until = performance.now() + KILLED_MS; performance.now() < until; ) {
      this.signal("SIGKILL");
      if (await this.#gone(5 * POLL_MS)) return;
    }
  }

  /** Polls, because only direct children report their end. */
  async #gone(ms: number): Promise<boolean> {
    for (const until = performance.now() + ms; performance.now() < until; ) {
      await sleep(POLL_MS);
      if (this.#isGone()) return true;
    }
    return this.#isGone();
  }

  #isGone(): boolean {
    if (this.#leader === undefined) return true;
    return process.platform === "linux" ? this.#members().length === 0 : !send(-this.#leader, 0);
  }

  #strays(): readonly number[] {
    return this.#members()
      .filter(({ group }) => group !== this.#leader)
      .map(({ pid }) => pid);
  }

  #members(): readonly Running[] {
    if (process.platform !== "linux") return [];
    return running().filter(
      ({ pid, group, session, since }) =>
        group === this.#leader ||
        session === this.#leader ||
        (since >= this.#since && read(`/proc/${pid}/environ`).includes(this.#mark)),
    );
  }
}

function send(pid: number, signal: "SIGTERM" | "SIGKILL" | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false; // The process has ended, or belongs to another user.
  }
}

interface Running {
  readonly pid: number;
  readonly group: number;
  readonly session: number;
  /** When the process began, in clock ticks since the system started. */
  readonly since: number;
}

function running(): readonly Running[] {
  return readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? (lookAt(Number(name)) ?? []) : []));
}

/** Undefined if the process has ended or is a zombie. */
function lookAt(pid: number): Running | undefined {
  const stat = read(`/proc/${pid}/stat`);
  // The program's name, in brackets, may contain anything; after its last bracket follow state, parent, group, session,
  // … and the start as the 20th field.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields.length < 20 || fields[0] === "Z" || fields[0] === "X") return undefined;
  return { pid, group: Number(fields[2]), session: Number(fields[3]), since: Number(fields[19]) };
}

function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
