// Schedules of every second, served by several processes that are killed again and again: what `processes.test.ts` does
// for some seconds and `test/long/triggers.test.ts` for a minute.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createRuntime, type Runtime, type SessionId, type Store } from "bowline";
import { sqlite } from "bowline/stores/sqlite";
import { recited } from "bowline/testing";
import { Crew } from "../kit/crew.ts";
import { eventually, nodesOf } from "../kit/reading.ts";
import type { SoakLine, SoakOrders } from "./soak-worker.ts";

export interface SoakOptions {
  readonly schedules: number;
  readonly processes: number;
  readonly lastsMs: number;
  /** One process is killed after so many milliseconds on average, and so on, and another one started in its place. */
  readonly killEveryMs: number;
  readonly execArgv: readonly string[];
}

export interface Soaked {
  readonly kills: number;
  /** Times that did not occur, or whose job is not completed. */
  readonly lost: readonly string[];
  /** Times that occurred twice, and jobs that did again what was recorded. */
  readonly repeated: readonly string[];
  /** The figures in a line. */
  readonly line: string;
}

const SECOND = 1_000;
const INTERVAL = { everyMs: SECOND, missed: "all" } as const;
const CRON = { cron: "* * * * * *", missed: "all" } as const;

export async function soak(options: SoakOptions): Promise<Soaked> {
  const { schedules, processes, lastsMs, killEveryMs, execArgv } = options;
  const names = Array.from({ length: schedules }, (_, nth) => `bell ${nth}`);
  const folder = mkdtempSync(join(tmpdir(), "bowline-schedules-"));
  const orders: SoakOrders = { database: join(folder, "agent.db"), ledger: join(folder, "ledger.jsonl") };
  const crew = new Crew(new URL("./soak-worker.ts", import.meta.url), orders, execArgv);
  try {
    const store = sqlite(orders.database);
    await using runtime = await createRuntime({ store, model: recited(), recover: "manual" });
    for (const [nth, name] of names.entries()) {
      const { triggers } = await runtime.session(name);
      const on = nth % 2 === 0 ? INTERVAL : CRON;
      await triggers.subscribe({ id: "bell", on, operation: "test/bells.ring", isElsewhere: true });
    }
    for (let n = 0; n < processes; n++) crew.hire();
    let kills = 0;
    for (const end = performance.now() + lastsMs; performance.now() < end; kills++) {
      await sleep(killEveryMs * (0.5 + Math.random()));
      await crew.replace(kills % processes);
    }
    const until = Date.now();
    await served(runtime, names, until);
    await crew.dismiss();
    const found = await Promise.all(names.map((name) => judged(runtime, store, name, until)));
    const lines = linesOf(orders.ledger);
    const again = lines.flatMap(({ job, isRecorded }) => (isRecorded ? [`job ${job}`] : []));
    const lost = found.flatMap((each) => each.lost);
    const repeated = [...found.flatMap((each) => each.repeated), ...again];
    const times = found.reduce((sum, each) => sum + each.times, 0);
    const line =
      `schedules soak: ${schedules} schedules of every second, ${times} times, ${processes} processes, ${kills} kills, ` +
      `${lines.length - times} jobs cut short, ${lost.length} lost, ${repeated.length} repeated, ` +
      `${(lastsMs / 1_000).toFixed(0)} s`;
    return { kills, lost, repeated, line };
  } finally {
    await crew.dismiss();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Settles when all times up to this one are served, and what they started is over. */
async function served(runtime: Runtime, names: readonly string[], until: number): Promise<void> {
  const isServed = async (name: string): Promise<boolean> =>
    ((await runtime.triggers.of(name).get("bell")).next ?? Infinity) > until;
  for (const name of names) {
    await eventually(async () => ((await isServed(name)) ? true : undefined), SERVED_MS);
    await runtime.triggers.of(name).update("bell", { isEnabled: false });
  }
  const isLive = async (): Promise<boolean> => (await runtime.jobs.list({ isLive: true, max: 1 })).length > 0;
  await eventually(async () => ((await isLive()) ? undefined : true), SERVED_MS);
}
const SERVED_MS = 30_000;

interface Found {
  readonly times: number;
  readonly lost: readonly string[];
  readonly repeated: readonly string[];
}

/** Every second must have occurred, from the first after the subscription on, and have rung once. */
async function judged(runtime: Runtime, store: Store, name: string, until: number): Promise<Found> {
  const [triggers, jobs] = [runtime.triggers.of(name), runtime.jobs.of(name)];
  const { on, createdAt } = await triggers.get("bell");
  const from = on.kind === "interval" ? on.from : Math.floor(createdAt / SECOND) * SECOND;
  const occurrences = await triggers.occurrences({ subscription: "bell", max: Infinity });
  const occurred = occurrences.map(({ at }) => at);
  const last = Math.max(until - SECOND, ...occurred);
  const expected = Array.from({ length: Math.floor((last - from) / SECOND) }, (_, nth) => from + (nth + 1) * SECOND);
  const ended = await Promise.all(
    occurrences.flatMap(({ deliveries }) => deliveries.map(({ jobId }) => jobs.get(String(jobId)))),
  );
  const completed = ended.flatMap(({ state, result }) => (state === "completed" ? [Number(result)] : []));
  const rung = (await nodesOf(store, { id: name as SessionId })).map((node) => Number(node.split(" ").at(-1)));
  const lacking = (what: string, from: readonly number[]): readonly string[] =>
    expected.filter((at) => !from.includes(at)).map((at) => `${name} ${at} ${what}`);
  const twice = (what: string, from: readonly number[]): readonly string[] =>
    from.filter((at, nth) => from.indexOf(at) !== nth).map((at) => `${name} ${at} ${what}`);
  const strange = occurred.filter((at) => !expected.includes(at)).map((at) => `${name} ${at} is no time of it`);
  return {
    times: occurrences.length,
    lost: [
      ...lacking("did not occur", occurred),
      ...lacking("is not completed", completed),
      ...lacking("did not ring", rung),
    ],
    repeated: [...twice("occurred", occurred), ...twice("completed", completed), ...twice("rang", rung), ...strange],
  };
}

const linesOf = (ledger: string): readonly SoakLine[] =>
  !existsSync(ledger)
    ? []
    : readFileSync(ledger, "utf8")
        .split("\n")
        .flatMap((text) => (text === "" ? [] : [JSON.parse(text) as SoakLine]));
