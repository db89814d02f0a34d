// Many jobs through several processes that are killed again and again: what `processes.test.ts` does with a few and
// `test/long/jobs.test.ts` with a thousand.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createRuntime, type Store } from "bowline";
import { sqlite } from "bowline/stores/sqlite";
import { recited } from "bowline/testing";
import { Crew } from "../kit/crew.ts";
import type { SoakLine, SoakOrders } from "./soak-worker.ts";

export interface SoakOptions {
  readonly jobs: number;
  readonly processes: number;
  /** One process is killed after so many milliseconds, and so on, and started again. */
  readonly killEveryMs: number;
  /** No more kills than this. Default: until all jobs are over. */
  readonly killsMax?: number;
  /** How long a step takes at most; half of it on average. */
  readonly stepMs: number;
  readonly execArgv: readonly string[];
  readonly timeoutMs: number;
}

export interface Soaked {
  readonly kills: number;
  /** Jobs that are not there, or not completed. */
  readonly lost: readonly string[];
  /** Steps that began although they were recorded. */
  readonly repeated: readonly string[];
  /** Jobs whose events are not three steps with a value each, built on one another, and one end. */
  readonly wrong: readonly string[];
  /** The figures in a line. */
  readonly line: string;
}

const STEPS = 3;
const SESSIONS = 10;

export async function soak(options: SoakOptions): Promise<Soaked> {
  const { jobs, processes, timeoutMs } = options;
  const folder = mkdtempSync(join(tmpdir(), "bowline-soak-"));
  const database = join(folder, "agent.db");
  const ledger = join(folder, "ledger.jsonl");
  const started = performance.now();
  const orders: SoakOrders = { database, ledger, stepMs: options.stepMs };
  const crew = new Crew(new URL("./soak-worker.ts", import.meta.url), orders, options.execArgv);
  try {
    await using runtime = await createRuntime({ store: sqlite(database), model: recited(), recover: "manual" });
    for (let n = 0; n < jobs; n++) {
      const session = await runtime.session(`s${n % SESSIONS}`);
      const work = { operation: "test/soak.work", isElsewhere: true, input: { n } };
      await session.jobs.spawn({ id: `job ${n}`, label: `Job ${n}`, ...work });
    }
    for (let n = 0; n < processes; n++) crew.hire();
    let kills = 0;
    for (const end = performance.now() + timeoutMs; performance.now() < end; ) {
      await sleep(options.killEveryMs);
      const isOver = (await runtime.jobs.list({ isLive: true, max: 1 })).length === 0;
      if (isOver) break;
      if (kills >= (options.killsMax ?? Infinity)) continue;
      await crew.replace(kills++ % processes);
    }
    await crew.dismiss();
    const seconds = (performance.now() - started) / 1_000;
    const found = await judged(database, jobs, linesOf(ledger));
    const { lost, repeated, wrong, runs } = found;
    const line =
      `jobs soak: ${jobs} jobs, ${jobs * STEPS} steps, ${processes} processes, ${kills} kills, ` +
      `${runs - jobs * STEPS} steps cut short, ${lost.length} lost, ${repeated.length} repeated, ${wrong.length} wrong, ` +
      `${seconds.toFixed(1)} s`;
    return { kills, lost, repeated, wrong, line };
  } finally {
    await crew.dismiss();
    rmSync(folder, { recursive: true, force: true });
  }
}

const linesOf = (ledger: string): readonly SoakLine[] =>
  !existsSync(ledger)
    ? []
    : readFileSync(ledger, "utf8")
        .split("\n")
        .flatMap((text) => (text === "" ? [] : [JSON.parse(text) as SoakLine]));

async function judged(database: string, jobs: number, lines: readonly SoakLine[]) {
  const store = sqlite(database);
  try {
    const lost: string[] = [];
    const wrong: string[] = [];
    for (let n = 0; n < jobs; n++) {
      const id = `job ${n}`;
      const events = (await store.jobs.events(id as never, 0)).map(({ event }) => event);
      const problem = problemIn(events);
      if (!events.some((event) => event.kind === "ended" && event.state === "completed")) lost.push(id);
      else if (problem !== undefined) wrong.push(`${id}: ${problem}`);
    }
    const repeated = lines.flatMap(({ job, step, isRecorded }) => (isRecorded ? [`${job} ${step}`] : []));
    return { lost, wrong, repeated, runs: lines.length };
  } finally {
    await store.close();
  }
}

type JobEvent = Awaited<ReturnType<Store["jobs"]["events"]>>[number]["event"];

/** Every value begins with the one before, and the result is the last: so nothing was built on a value that was lost. */
function problemIn(events: readonly JobEvent[]): string | undefined {
  const ends = events.filter((event) => event.kind === "ended");
  if (ends.length !== 1) return `it ended ${ends.length} times`;
  const steps = events.filter((event) => event.kind === "stepped");
  if (steps.length !== STEPS) return `it has ${steps.length} steps`;
  const values = steps.map(({ value }) => String(value));
  const isBuilt = values.every((value, nth) => nth === 0 || value.startsWith(`${values[nth - 1]} `));
  if (!isBuilt) return `its values are not built on each other: ${values.join(", ")}`;
  return ends[0]?.result === values.at(-1) ? undefined : `its result is not its last value: ${values.join(", ")}`;
}
