/** Several processes that run turns on one database while they, or the server, are killed: and what is to be found then. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { postgres } from "bowline/stores/postgres";
import pg from "pg";
import { remainsOf } from "../../src/testing/crash/picture.ts";
import type { ClusterLine, ClusterOrders } from "./worker.ts";

export interface ClusterOptions {
  /** The database as the workers reach it, and as the judge does. */
  readonly url: string;
  readonly judgeUrl?: string;
  readonly workers: number;
  readonly sessions: number;
  /** How many turns each worker sends to each session. */
  readonly turns: number;
  readonly leaseMs: number;
  readonly retryMs?: number;
  readonly statementTimeoutMs?: number;
  readonly isBlind?: boolean;
  readonly execArgv: readonly string[];
  readonly timeoutMs: number;
  /** What is done to the cluster while it works, again and again; after the last time it works in peace. */
  disturb?(cluster: Cluster, nth: number): Promise<"again" | "enough">;
}

/** What must not be, each with what it was found in. */
interface Faults {
  readonly "double commits": readonly string[];
  readonly "same head twice": readonly string[];
  readonly gaps: readonly string[];
  readonly lost: readonly string[];
  readonly "recorded calls repeated": readonly string[];
  readonly "fail tools run twice": readonly string[];
  readonly "cancels answered wrongly": readonly string[];
  readonly "told wrongly": readonly string[];
  readonly stuck: readonly string[];
  readonly other: readonly string[];
}
export interface Report {
  readonly counts: { readonly [what: string]: number };
  readonly faults: Faults;
  /** How the turns ended, and what was tried again. */
  readonly details: string;
}

const PROGRAM = fileURLToPath(new URL("./worker.ts", import.meta.url));

export class Cluster {
  readonly #options: ClusterOptions;
  readonly #folder = mkdtempSync(join(tmpdir(), "bowline-cluster-"));
  readonly #workers: ChildProcess[] = [];
  readonly #counts = { kills: 0, stops: 0, disturbances: 0 };
  #isOver = false;

  constructor(options: ClusterOptions) {
    this.#options = options;
  }

  #hire(worker: number): void {
    const { url, sessions, turns, leaseMs, isBlind = false } = this.#options;
    const { retryMs = 10_000, statementTimeoutMs = 5_000 } = this.#options;
    const folder = this.#folder;
    const orders: ClusterOrders = {
      url,
      folder,
      worker,
      sessions,
      turns,
      leaseMs,
      retryMs,
      statementTimeoutMs,
      isBlind,
    };
    const given = [...this.#options.execArgv, "--disable-warning=ExperimentalWarning", PROGRAM, JSON.stringify(orders)];
    const child = spawn(process.execPath, given, { stdio: ["ignore", "ignore", "inherit"] });
    this.#workers[worker] = child;
    child.on("exit", (code) => {
      // One that was not killed has failed: the others would finish its work, and hide it.
      if (code !== null) this.#failed ??= new Error(`Worker ${worker} ended with ${code}.`);
    });
  }
  #failed: Error | undefined;

  /** Kills a worker, and starts it again. */
  async kill(worker = this.#any()): Promise<void> {
    await killed(this.#workers[worker]!);
    this.#counts.kills++;
    if (!this.#isOver) this.#hire(worker);
  }

  /** Stops a worker for longer than its leases hold: others take over what it has, and it does not know. */
  async stop(ms = this.#options.leaseMs * 1.6, worker = this.#any()): Promise<void> {
    const child = this.#workers[worker]!;
    child.kill("SIGSTOP");
    await sleep(ms);
    child.kill("SIGCONT");
    this.#counts.stops++;
  }

  #any(): number {
    return Math.floor(Math.random() * this.#options.workers);
  }

  get lines(): readonly ClusterLine[] {
    const file = join(this.#folder, "ledger.jsonl");
    if (!existsSync(file)) return [];
    const texts = readFileSync(file, "utf8").split("\n");
    return texts.flatMap((text) => (text === "" ? [] : [JSON.parse(text) as ClusterLine]));
  }

  #count(kind: ClusterLine["kind"]): number {
    const file = join(this.#folder, "ledger.jsonl");
    return existsSync(file) ? readFileSync(file, "utf8").split(`"kind":"${kind}"`).length - 1 : 0;
  }

  /** How many turns have ended, as their senders know. */
  get ended(): number {
    return this.#count("ended");
  }

  async run(): Promise<Report> {
    const { workers, timeoutMs, disturb } = this.#options;
    const started = performance.now();
    try {
      for (let worker = 0; worker < workers; worker++) this.#hire(worker);
      const isLate = (): boolean => performance.now() - started > timeoutMs;
      const isDone = (): boolean =>
        new Set(this.lines.flatMap((line) => (line.kind === "done" ? [line.worker] : []))).size === workers;
      while (this.#count("ready") < workers && !isLate() && this.#failed === undefined) await sleep(20);
      const disturbing = (async () => {
        while (!this.#isOver && disturb !== undefined) {
          if ((await disturb(this, this.#counts.disturbances)) === "enough") return;
          this.#counts.disturbances++;
        }
      })();
      while (!isDone() && !isLate() && this.#failed === undefined) await sleep(100);
      this.#isOver = true;
      await disturbing;
      const ms = performance.now() - started;
      await this.#dismiss();
      if (this.#failed !== undefined) throw this.#failed;
      return await this.#judged(ms);
    } finally {
      this.#isOver = true;
      await this.#dismiss();
      rmSync(this.#folder, { recursive: true, force: true });
    }
  }

  async #dismiss(): Promise<void> {
    await Promise.all(this.#workers.splice(0).map(killed));
  }

  // ── Judging ───────────────────────────────────────────────────────────────────────────────────────────────────────

  async #judged(ms: number): Promise<Report> {
    const { workers, sessions, turns, url, judgeUrl = url } = this.#options;
    const { lines } = this;
    const wanted = workers * sessions * turns;
    const client = new pg.Client(judgeUrl);
    await client.connect();
    const store = postgres(judgeUrl, { clock: "caller" });
    try {
      const rows = async <Row extends object>(sql: string): Promise<readonly Row[]> =>
        (await client.query<Row>(sql)).rows;
      const told = (found: readonly object[]): readonly string[] => found.map((row) => JSON.stringify(row));
      const remains = await remainsOf(store);
      const outcomes = new Map<string, string>();
      const kept = await rows<{ id: string; key: string; done: string | null }>(
        "SELECT id, key, done FROM bowline.turn",
      );
      for (const { id } of kept) {
        const terminal = await store.terminal(id as never);
        if (terminal !== undefined) outcomes.set(id, wordsOf(terminal.outcome));
      }
      const keys = new Set(kept.map(({ key }) => key));
      const missing = lines.flatMap((line) =>
        line.kind === "accepted" && !outcomes.has(line.turn) ? [line.turn] : [],
      );
      const faults: Faults = {
        "double commits": told(
          await rows("SELECT of, count(*) FROM bowline.fact WHERE kind = 1 GROUP BY of HAVING count(*) > 1"),
        ),
        "same head twice": told(
          await rows(
            "SELECT session, parent, count(*) FROM bowline.segment GROUP BY session, parent HAVING count(*) > 1",
          ),
        ),
        gaps: [
          ...told(
            await rows(`SELECT s.id, s.revision, s.turns, count(g.n), max(g.depth) FROM bowline.session s
              JOIN bowline.segment g ON g.session = s.n GROUP BY s.n
              HAVING s.revision <> s.turns OR s.turns <> count(g.n) OR max(g.depth) <> s.turns - 1 OR bool_or(g.is_branch)`),
          ),
          ...remains.wrong.flatMap(({ kind, problem }) => (kind === "unpaired" ? [problem] : [])),
        ],
        lost: [
          ...missing,
          ...(keys.size === wanted ? [] : [`${keys.size} turns were accepted, not ${wanted}`]),
          ...[...remains.inputs].flatMap(([input, times]) => (times === 1 ? [] : [`${input} is there ${times} times`])),
          ...(remains.inputs.size === wanted ? [] : [`${remains.inputs.size} inputs are in the graph, not ${wanted}`]),
        ],
        ...effectFaults(lines),
        "cancels answered wrongly": lines.flatMap((line) => cancelFault(line, outcomes)),
        "told wrongly": lines.flatMap((line) =>
          line.kind === "ended" && line.outcome !== outcomes.get(line.turn) ? [`${line.turn} ${line.outcome}`] : [],
        ),
        stuck: [
          ...remains.wrong.flatMap(({ kind, problem }) => (kind === "stuck" ? [problem] : [])),
          ...told(await rows("SELECT id, turn, waiting FROM bowline.session WHERE turn IS NOT NULL OR waiting > 0")),
          ...told(await rows("SELECT session, seq FROM bowline.journal LIMIT 3")),
        ],
        other: remains.wrong.flatMap(({ kind, problem }) =>
          kind === "stuck" || kind === "unpaired" ? [] : [`${kind}: ${problem}`],
        ),
      };
      const of = (kind: ClusterLine["kind"]): number => lines.filter((line) => line.kind === kind).length;
      const counts = {
        turns: outcomes.size,
        ...this.#counts,
        takeovers: of("took"),
        cancels: of("cancelled"),
        calls: of("began"),
        "calls run again":
          of("began") -
          new Set(lines.flatMap((line) => (line.kind === "began" ? [`${line.turn} ${line.effect}`] : []))).size,
        seconds: Math.round(ms / 1_000),
      };
      const ends = tally([...outcomes.values()]);
      const cancels = tally(
        lines.flatMap((line) => (line.kind === "cancelled" ? [`${line.said}/${outcomes.get(line.turn)}`] : [])),
      );
      const failures = tally(lines.flatMap((line) => (line.kind === "failed" ? [`${line.what} ${line.code}`] : [])));
      return { counts, faults, details: `ends: ${ends}\ncancels: ${cancels}\ntried again: ${failures || "nothing"}` };
    } finally {
      await store.close();
      await client.end();
    }
  }
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

const wordsOf = (outcome: object): string => {
  const { kind, by, code } = outcome as { readonly kind: string; readonly by?: string; readonly code?: string };
  return [kind, by, code].filter((word) => word !== undefined).join(" ");
};

/** The lines are in the order in which they were written: what is recorded above must not begin below. */
function effectFaults(lines: readonly ClusterLine[]): Pick<Faults, "recorded calls repeated" | "fail tools run twice"> {
  const recorded = new Set<string>();
  const once = new Set<string>();
  const repeated: string[] = [];
  const twice: string[] = [];
  for (const line of lines) {
    if (line.kind === "recorded" || line.kind === "took")
      for (const effect of line.effects) recorded.add(`${line.turn} ${effect}`);
    if (line.kind !== "began") continue;
    const which = `${line.turn} ${line.effect}`;
    if (recorded.has(which)) repeated.push(`${which} by worker ${line.worker}`);
    if (line.once === true && once.has(which)) twice.push(`${which} by worker ${line.worker}`);
    if (line.once === true) once.add(which);
  }
  return { "recorded calls repeated": repeated, "fail tools run twice": twice };
}

const CANCELLED = "stopped cancel";

function cancelFault(line: ClusterLine, outcomes: ReadonlyMap<string, string>): readonly string[] {
  if (line.kind !== "cancelled") return [];
  const end = outcomes.get(line.turn) ?? "nothing";
  const isStopped = end.startsWith(CANCELLED);
  const isRight =
    line.said === "requested" || line.said === "already-requested"
      ? isStopped
      : line.said === "already-completed" && line.outcome === end;
  return isRight ? [] : [`${line.turn}: ${line.said} ${line.outcome ?? ""}, and it ended as ${end}`];
}

const tally = (words: readonly string[]): string =>
  Object.entries(Object.groupBy(words, (word) => word))
    .map(([word, all]) => `${word} ${all?.length}`)
    .sort()
    .join(", ");

/** All that is wrong, in one list. */
export const faultsIn = ({ faults }: Report): readonly string[] =>
  Object.entries(faults).flatMap(([what, found]) => found.map((each: string) => `${what}: ${each}`));

export const table = (name: string, { counts, faults, details }: Report): string =>
  [
    `${name}: ${Object.entries(counts)
      .map(([what, count]) => `${count} ${what}`)
      .join(", ")}`,
    ...Object.entries(faults).map(([what, found]) => `  ${what.padEnd(26)} ${String(found.length).padStart(5)}`),
    ...Object.entries(faults).flatMap(([what, found]) => found.slice(0, 5).map((each: string) => `  ${what}: ${each}`)),
    details.replace(/^/gm, "  "),
  ].join("\n");
