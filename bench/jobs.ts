// What jobs cost: to begin one, to hold thousands that have nothing to do, and to leave thousands that only wait.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import type { Runtime, RuntimeOptions } from "bowline";
import { heapBytes } from "./meters.ts";
import { modelThatCalls } from "./own.ts";
import { counted } from "./parked.ts";
import { built } from "./sides.ts";
import type { Workloads } from "./workloads.ts";

const STARTS = 2_000;
const WARM_UPS = 500;
const IDLE = 10_000;
const IDLE_S = 10;
const KB = 1_024;

export function jobWorkloads(): Workloads {
  const own = { isCount: true, isAbsolute: true } as const;
  return {
    "J-start": {
      ...own,
      about: `each of ${STARTS} jobs that an app begins with a task; the floor writes one row in a transaction`,
      unit: "wall ms",
      goal: () => 0.3,
      measure: (side) => onFile((desk) => (side === "floor" ? rowMs(desk) : startMs(desk, "process"))),
    },
    "J-start.power": {
      ...own,
      about: "the same, synced to the disk before it is acknowledged; the floor is synced, too",
      unit: "wall ms",
      goal: (floor) => floor + 0.3,
      measure: (side) => onFile((desk) => (side === "floor" ? rowMs(desk, true) : startMs(desk, "power"))),
    },
    "J-idle": {
      ...own,
      about: `each of ${IDLE} jobs of this process that are idle; the floor is a pending promise in a map`,
      unit: "KB/job",
      goal: () => 1,
      measure: (side) => (side === "floor" ? heldInMap() : onFile(idleKb)),
    },
    "J-idle.calls": {
      ...own,
      about: `a runtime with ${IDLE} tasks that only wait, for ${IDLE_S} s; nothing is written`,
      unit: "store calls/s",
      goal: () => 1.1,
      measure: async (side) => (side === "floor" ? 0 : onFile(callsWhileIdle)),
    },
  };
}

async function rowMs(desk: Desk, isSynced = false): Promise<number> {
  const db = new DatabaseSync(desk.path);
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${isSynced ? "FULL" : "NORMAL"};
    CREATE TABLE job (n INTEGER PRIMARY KEY, body TEXT)`);
  const insert = db.prepare("INSERT INTO job (body) VALUES (?)");
  const ms = await each(() => void insert.run(JSON.stringify({ label: "Report", input: { topic: "cats" } })));
  db.close();
  return ms;
}

async function startMs(desk: Desk, durability: "process" | "power"): Promise<number> {
  const { sqlite } = await built();
  const runtime = await desk.open({ store: sqlite(desk.path, { durability }) });
  const { jobs } = await runtime.session("s");
  const notBefore = Date.now() + 3_600_000; // Only what it takes to begin them: none runs meanwhile.
  return each(() => jobs.spawn({ label: "Report", operation: "bench/jobs.wait", input: { topic: "cats" }, notBefore }));
}

/** How long each of many takes. */
async function each(act: () => unknown): Promise<number> {
  for (let index = 0; index < WARM_UPS; index++) await act();
  const before = performance.now();
  for (let index = 0; index < STARTS; index++) await act();
  return (performance.now() - before) / STARTS;
}

async function heldInMap(): Promise<number> {
  const held = new Map<string, Promise<void>>();
  const before = heapBytes();
  for (let index = 0; index < IDLE; index++) held.set(`job_${index}`, new Promise(() => {}));
  const bytes = (heapBytes() - before) / IDLE;
  held.clear(); // Uses them again, so that nothing measured was collected before.
  return bytes / KB;
}

async function idleKb(desk: Desk): Promise<number> {
  setFlagsFromString("--no-flush-bytecode"); // Else code that is dropped meanwhile would count as less held.
  const runtime = await desk.open({ limits: { jobsMax: 2 * IDLE } });
  const { jobs } = await runtime.session("s");
  const rest = async (count: number): Promise<void> => {
    let idle = 0;
    for (let index = 0; index < count; index++)
      await jobs.spawn({ label: "Agent" }, async ({ transition }) => {
        await transition("idle");
        idle++;
        await new Promise(() => {});
      });
    while (idle < count) await sleep(10);
  };
  await rest(1_000);
  const before = heapBytes();
  await rest(IDLE);
  return (heapBytes() - before) / IDLE / KB;
}

async function callsWhileIdle(desk: Desk): Promise<number> {
  const { sqlite } = await built();
  const { store, calls } = counted(sqlite(desk.path, { durability: "process" }));
  const runtime = await desk.open({ store, limits: { parkAfterMs: 1 } });
  const { jobs } = await runtime.session("s");
  for (let index = 0; index < IDLE; index++)
    await jobs.spawn({ label: "Report", operation: "bench/jobs.wait", input: {} });
  while (desk.waiting < IDLE) await sleep(50);
  await sleep(5_000); // All of them are parked, and what was written since is read.
  using reader = new DatabaseSync(desk.path, { readOnly: true });
  // Differs when another connection has written since.
  const version = () => reader.prepare("PRAGMA data_version").get()!.data_version;
  const before = { version: version(), calls: calls() };
  await sleep(IDLE_S * 1_000);
  if (version() !== before.version) throw new Error("Something was written.");
  return (calls() - before.calls) / IDLE_S;
}

async function onFile(measure: (desk: Desk) => Promise<number>): Promise<number> {
  await using desk = new Desk();
  return await measure(desk);
}

/** A file, and the runtimes that have it open. */
class Desk implements AsyncDisposable {
  readonly path: string;
  /** Tasks that have come to their wait. */
  waiting = 0;
  readonly #folder = mkdtempSync(join(tmpdir(), "bowline-bench-"));
  readonly #open: Runtime[] = [];

  constructor() {
    this.path = join(this.#folder, "agent.db");
  }

  async open(more: Partial<Pick<RuntimeOptions, "store" | "limits">> = {}): Promise<Runtime> {
    const { createRuntime, definePlugin, sqlite } = await built();
    const plugin = definePlugin({
      id: "bench/jobs",
      setup: ({ task }) => ({
        operations: {
          wait: task({
            input: { "~standard": { version: 1, vendor: "bench", validate: (value: unknown) => ({ value }) } } as never,
            run: async ({ job }) => {
              this.waiting++;
              await job?.sleep(3_600_000);
            },
          }),
        },
      }),
    });
    const runtime = await createRuntime({
      store: more.store ?? sqlite(this.path, { durability: "process" }),
      model: modelThatCalls(["pay"]),
      plugins: [plugin()],
      ...more,
    });
    this.#open.push(runtime);
    return runtime;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const runtime of this.#open) await runtime.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
