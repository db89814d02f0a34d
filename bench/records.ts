// What it costs to see what happened: kept journals, OpenTelemetry, lists of sessions and the feed.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { Runtime, Store } from "bowline";
import type { Agent, Opening } from "./agent.ts";
import { median } from "./meters.ts";
import { modelThatCalls } from "./own.ts";
import * as script from "./script.ts";
import { built, builtOtel, openerOf, type Side } from "./sides.ts";
import { coldAndWarm, expectAnswer, inMemory, tenRounds, type Workload, type Workloads } from "./workloads.ts";

const TURNS = 2_000;
const SESSIONS = { floor: 100, bowline: 100_000 };
/** So many sessions have a turn, so that the first page has them. */
const TALKED = 60;
const PAGE = 50;
/** The median of the slices' percentiles, so that a disturbed slice does not count. */
const SLICES = 20;
const LISTS = 100;
/** So that both sides run on optimised code: the large one has created many sessions before. */
const WARM_UPS = 1_500;
const CREATED_AT_ONCE = 64;
const FACTS = 40;
/** The longest pause before a turn. Each is another part of it, in case the observer polls. */
const PAUSE_MS = 500;
const KB = 1_024;

export function recordWorkloads(): Workloads {
  return {
    "R-W3": {
      about: "W3 with journals kept; the floor is Bowline with keepJournals: false",
      unit: "cpu us/turn",
      goal: () => 1.05,
      measure: (side, meter) =>
        onFile(side, (agent) => meter(100, 300, (index) => expectAnswer(agent, `s${index}`, "loop:10", 10))),
    },
    "R-W3.disk": {
      about: "by what a kept journal of W3 makes the file larger",
      unit: "KB/turn",
      isCount: true,
      isAdded: true,
      measure: (side) => kbOf(side, async (agent, index) => expectAnswer(agent, `s${index}`, "loop:10", 10)),
    },
    "R-W4": {
      about: `W4 (${TURNS} turns) with journals kept; the floor is Bowline with keepJournals: false`,
      unit: "cpu us/turn",
      goal: () => 1.05,
      measure: (side, meter) =>
        onFile(side, (agent) => meter(300, TURNS - 300, () => expectAnswer(agent, "s", "loop:1", 1))),
    },
    ...coldAndWarm("R-otel", {
      about: "W2 with bowline/otel, the SDK and a batch exporter in memory; the floor is Bowline without a listener",
      unit: "cpu us/turn",
      goal: () => 1.15,
      measure: (side, meter) =>
        side === "floor" ? inMemory("bowline", (agent) => tenRounds(agent, meter)) : exported(meter),
    }),
    "R-list": listed(onFileStore),
    "R-feed": fed("SQLite", 600, async (measure) => {
      const folder = mkdtempSync(join(tmpdir(), "bowline-bench-"));
      const path = join(folder, "agent.db");
      const { sqlite } = await built();
      try {
        return await measure(sqlite(path), path);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    }),
  };
}

// ── Kept journals ───────────────────────────────────────────────────────────────────────────────────────────────────

async function onFile(side: Side, measure: (agent: Agent, path: string) => Promise<number>): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), "bowline-bench-"));
  try {
    const open = await openerOf("bowline");
    const kept: Partial<Opening> = side === "floor" ? { keepJournals: false } : {};
    const agent = await open({ script, durable: true, dir, ...kept });
    const figure = await measure(agent, join(dir, "bowline.db"));
    await agent.close();
    return figure;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

const kbOf = (side: Side, turn: (agent: Agent, index: number) => Promise<void>): Promise<number> =>
  onFile(side, async (agent, path) => {
    const turns = 1_000;
    for (let index = 0; index < turns; index++) await turn(agent, index);
    await agent.close(); // Folds the log in.
    return statSync(path).size / turns / KB;
  });

// ── OpenTelemetry ───────────────────────────────────────────────────────────────────────────────────────────────────

async function exported(meter: Parameters<Workload["measure"]>[1]): Promise<number> {
  const [{ otel }, { BatchSpanProcessor, InMemorySpanExporter, TracerProvider }, { MeterProvider }] = await Promise.all(
    [builtOtel(), import("@opentelemetry/sdk-trace"), import("@opentelemetry/sdk-metrics")],
  );
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] });
  const telemetry = otel({ tracerProvider, meterProvider: new MeterProvider() });
  let spans = 0;
  const figure = await inMemory(
    "bowline",
    (agent) =>
      meter(50, 150, async (index) => {
        await expectAnswer(agent, `s${index}`, "loop:10", 10);
        spans += exporter.getFinishedSpans().length;
        exporter.reset();
      }),
    { telemetry },
  );
  await tracerProvider.forceFlush();
  if (spans === 0) throw new Error("No span was exported.");
  return figure;
}

// ── Lists ───────────────────────────────────────────────────────────────────────────────────────────────────────────

export function listed(on: (measure: (store: Store) => Promise<number>) => Promise<number>): Workload {
  return {
    about: `the 95th percentile of a page of ${PAGE} sessions by activity of ${SESSIONS.bowline}; the floor has ${SESSIONS.floor}`,
    unit: "wall ms",
    isCount: true,
    goal: () => 2,
    measure: (side) => on((store) => pageMs(store, SESSIONS[side])),
  };
}

async function onFileStore(measure: (store: Store) => Promise<number>): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "bowline-bench-"));
  const { sqlite } = await built();
  try {
    return await measure(sqlite(join(folder, "agent.db"), { durability: "process" }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function pageMs(store: Store, count: number): Promise<number> {
  const { createRuntime } = await built();
  const runtime = await createRuntime({ store, model: modelThatCalls([]), recover: "manual" });
  const ids = Array.from({ length: count }, (_, index) => `s${index}`);
  const tags = ["bench"];
  for (let from = 0; from < count; from += CREATED_AT_ONCE)
    await Promise.all(
      ids
        .slice(from, from + CREATED_AT_ONCE)
        .map((id, index) =>
          store.create({ id, config: {}, at: from + index, owner: `owner${index % 2}`, tags } as never),
        ),
    );
  for (let turn = 0; turn < TALKED; turn++) {
    const session = await runtime.session(ids[Math.floor((turn / TALKED) * count)]!);
    await session.turn("text").result();
    await session.close();
  }
  const listMs = async (): Promise<number> => {
    const before = performance.now();
    const page = await runtime.sessions.list({ order: "activity", max: PAGE });
    const ms = performance.now() - before;
    if (page.length !== PAGE || page.some(({ turns }) => turns !== 1)) throw new Error("It is not the right page.");
    return ms;
  };
  for (let time = 0; time < WARM_UPS; time++) await listMs();
  const found: number[] = [];
  for (let slice = 0; slice < SLICES; slice++) {
    const times: number[] = [];
    for (let time = 0; time < LISTS; time++) times.push(await listMs());
    found.push(times.sort((a, b) => a - b)[Math.floor(0.95 * LISTS)]!);
  }
  await runtime.close();
  return median(found);
}

// ── The feed ────────────────────────────────────────────────────────────────────────────────────────────────────────

export function fed(
  name: string,
  goal: number,
  on: (measure: (store: Store, place: string) => Promise<number>) => Promise<number>,
): Workload {
  return {
    about: `from the time of a commit to its fact in runtime.observe() of another process, on ${name}; the floor observes in this one`,
    unit: "wall ms",
    isCount: true,
    isAbsolute: true,
    goal: () => goal,
    measure: (side) => on((store, place) => feedMs(store, side === "floor" ? undefined : place)),
  };
}

/** The median over facts. The observer begins before the first turn. */
async function feedMs(store: Store, place: string | undefined): Promise<number> {
  const { createRuntime } = await built();
  const runtime = await createRuntime({ store, model: modelThatCalls([]) });
  await (await runtime.session("s0")).turn("text").result(); // Creates the tables.
  await using observer = place === undefined ? observerHere(runtime) : await observerElsewhere(place);
  for (let fact = 0; fact < FACTS; fact++) {
    await sleep((PAUSE_MS * ((fact * 7) % FACTS)) / FACTS);
    await (await runtime.session(`s${fact}`)).turn("text").result();
  }
  const late = await observer.after(FACTS);
  await observer[Symbol.asyncDispose]();
  await runtime.close();
  return median(late);
}

interface Observer extends AsyncDisposable {
  /** How late each fact was, once there are so many. */
  after(count: number): Promise<readonly number[]>;
}

function observerHere(runtime: Runtime): Observer {
  const late: number[] = [];
  const leaving = new AbortController();
  const reading = (async () => {
    for await (const fact of runtime.observe({ after: "latest", signal: leaving.signal }))
      if (fact.kind === "committed") late.push(now() - fact.at!);
  })();
  return {
    after: (count) => until(late, count),
    async [Symbol.asyncDispose]() {
      leaving.abort();
      await reading;
    },
  };
}

async function observerElsewhere(place: string): Promise<Observer> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "observer.ts"), place], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  const late: number[] = [];
  const ready = new Promise<void>((resolve, reject) => {
    exited.then(() => reject(new Error("The observer has ended.")));
    createInterface(child.stdout).on("line", (line) => (line === "ready" ? resolve() : late.push(Number(line))));
  });
  await ready;
  return {
    after: (count) => until(late, count),
    async [Symbol.asyncDispose]() {
      child.kill();
      await exited;
    },
  };
}

async function until(late: readonly number[], count: number): Promise<readonly number[]> {
  for (let waits = 0; late.length < count; waits++) {
    if (waits > 1_000) throw new Error(`Of ${count} facts ${late.length} came.`);
    await sleep(10);
  }
  if (late.length > count) throw new Error(`Of ${count} facts ${late.length} came.`);
  return late;
}

/** With fractions of a millisecond. */
const now = (): number => performance.timeOrigin + performance.now();
