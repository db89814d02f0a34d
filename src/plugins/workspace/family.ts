import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const MARK = "BOWLINE_COMMAND";
const POLL_MS = 10;
const KILLED_MS = 2_000;

/**
 * Everything that a command started: its process group, and on Linux also whoever left the group but stayed in its
 * session, or kept the mark in its environment.
 */
export class Family {
  /** For the environment of the command. */
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

  /** Asks what is left to end, then makes it end. Answers when nothing of it runs. */
  async end(graceMs: number): Promise<void> {
    if (this.#isGone()) return;
    this.signal("SIGTERM");
    if (await this.#gone(graceMs)) return;
    // Once is not enough: one that forked while it was looked for would be missed.
    for (const until = performance.now() + KILLED_MS; performance.now() < until; ) {
      this.signal("SIGKILL");
      if (await this.#gone(5 * POLL_MS)) return;
    }
  }

  /** Those that run belong to nobody who could tell when they end, so they are asked again and again. */
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
    return false; // Nobody there any more, or somebody whom we may not touch.
  }
}

interface Running {
  readonly pid: number;
  readonly group: number;
  readonly session: number;
  /** When it began, in ticks since the system did. */
  readonly since: number;
}

function running(): readonly Running[] {
  return readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? (lookAt(Number(name)) ?? []) : []));
}

/** Nothing if it is gone, or dead and not yet buried. */
function lookAt(pid: number): Running | undefined {
  const stat = read(`/proc/${pid}/stat`);
  // After the name of the program, which may hold anything: state, parent, group, session, … and the 20th is the start.
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
