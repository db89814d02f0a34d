// What sessions cost besides their turns: observing, lying idle, forking and opening.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Runtime } from "bowline";
import type { ModelPart, Provider } from "bowline/provider";
import { heapBytes, median } from "./meters.ts";
import { DELTA, TEXT } from "./script.ts";
import { built, type Side } from "./sides.ts";
import type { Workloads } from "./workloads.ts";

const OBSERVERS = 10;
const DELTAS = 2_000;
const IDLE = 2_000;
/** The size of a large session. A text turn adds two nodes. */
const NODES = 10_000;
const YOUNG = 10;
const KB = 1_024;

export const SESSION_WORKLOADS: Workloads = {
  "S-observe": {
    about: `what each of ${OBSERVERS} observers adds to a delta of a reply; the floor hands a delta to a queue that is read`,
    unit: "cpu us/event",
    isAbsolute: true,
    goal: () => 1,
    async measure(side, meter) {
      if (side === "floor") return (await meter(3, 15, () => handOut(DELTAS))) / DELTAS / OBSERVERS;
      const alone = await meter(3, 15, await watchedBy(0));
      return ((await meter(3, 15, await watchedBy(OBSERVERS))) - alone) / DELTAS / OBSERVERS;
    },
  },
  "S-idle": {
    about: "a session after one text turn, its handle closed, in memory; the floor is a list of two messages in a map",
    unit: "KB/session",
    isCount: true,
    isAbsolute: true,
    goal: () => 4,
    async measure(side) {
      const add = side === "floor" ? listed() : await talked();
      for (let index = 0; index < IDLE; index++) await add(`before${index}`);
      const before = heapBytes();
      for (let index = 0; index < IDLE; index++) await add(`s${index}`);
      const bytes = (heapBytes() - before) / IDLE;
      // Uses the runtime again, so that nothing measured was collected before.
      await add("after");
      return bytes / KB;
    },
  },
  "S-fork": {
    about: `a fork of a session of ${NODES} nodes, at its head; the floor is of one of ${YOUNG}`,
    unit: "wall ms",
    isCount: true,
    isAbsolute: true,
    goal: () => 5,
    measure: (side) =>
      onFile(
        side,
        forkMs(() => undefined),
      ),
  },
  "S-fork.inside": {
    about: "the same in the middle of its history",
    unit: "wall ms",
    isCount: true,
    isAbsolute: true,
    goal: () => 5,
    measure: (side) =>
      onFile(
        side,
        forkMs((history) => history[history.length >> 1]),
      ),
  },
  "S-open": {
    about: `opening a session of ${NODES} nodes in one frame; the floor is one of ${YOUNG}`,
    unit: "wall ms",
    isCount: true,
    isAbsolute: true,
    goal: () => 60,
    measure: (side) => onFile(side, openMs),
  },
  "S-open.frame": {
    about: `the same when the last ${YOUNG} are a frame; the floor is a session that has no others`,
    unit: "wall us",
    isCount: true,
    goal: () => 2,
    measure: (side) =>
      onFile(side, async (runtime) => {
        const session = await runtime.session("s");
        if (side === "bowline") await session.compact();
        await session.close();
        for (let turn = 1; turn < YOUNG / 2; turn++) await talk(runtime);
        return (await openMs(runtime, 50)) * 1_000;
      }),
  },
};

const USAGE = { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0, unknownCalls: 0 };
const FINISH: ModelPart = { kind: "finish", reason: "stop", usage: USAGE };

/** Replies with one text, or with `DELTAS` deltas when it is sent "stream". */
const model: Provider = {
  id: "bench",
  modelId: "sessions",
  async *stream({ messages }) {
    const said = messages.at(-1)?.parts[0];
    if (said?.kind === "text" && said.text === "stream")
      for (let delta = 0; delta < DELTAS; delta++) yield { kind: "text", delta: DELTA };
    else yield { kind: "text", delta: TEXT };
    yield FINISH;
  },
};

async function openWith(store: "memory" | { readonly path: string }): Promise<Runtime> {
  const { createRuntime, definePlugin, memory, sqlite } = await built();
  const kept = store === "memory" ? memory() : sqlite(store.path, { durability: "process" });
  const compactor = definePlugin({
    id: "bench/compactor",
    setup: () => ({ compact: () => [{ role: "user", parts: [{ kind: "text", text: TEXT }] }] }),
  });
  return createRuntime({ store: kept, model, plugins: store === "memory" ? [] : [compactor] });
}

async function watchedBy(observers: number): Promise<() => Promise<void>> {
  const runtime = await openWith("memory");
  let turns = 0;
  return async () => {
    const session = await runtime.session(`s${turns++}`);
    const watching = Array.from({ length: observers }, async () => {
      let seen = 0;
      for await (const event of session.observe()) {
        if (event.kind === "text") seen++;
        else if (event.kind === "committed") break;
      }
      if (seen !== DELTAS) throw new Error(`Of ${DELTAS} deltas ${seen} were seen.`);
    });
    await session.turn("stream").result();
    await Promise.all(watching);
    await session.close();
  };
}

/**
 * The floor: hands deltas out as a hand-written loop would, with a queue per reader and a promise for a reader that
 * waits.
 */
async function handOut(deltas: number): Promise<void> {
  const queues = Array.from({ length: OBSERVERS }, () => ({ waiting: [] as string[], wake: () => {} }));
  const reading = queues.map(async (queue) => {
    for (let seen = 0; seen < deltas; ) {
      if (queue.waiting.length === 0) await new Promise<void>((resolve) => (queue.wake = resolve));
      for (const delta of queue.waiting.splice(0)) seen += delta.length === DELTA.length ? 1 : deltas;
    }
  });
  for (let delta = 0; delta < deltas; delta++) {
    for (const queue of queues) {
      queue.waiting.push(DELTA);
      queue.wake();
    }
    await undefined;
  }
  await Promise.all(reading);
}

function listed(): (id: string) => Promise<void> {
  const sessions = new Map<string, { readonly role: string; readonly content: string }[]>();
  return async (id) => {
    sessions.set(id, [
      { role: "user", content: `${id}: text` },
      { role: "assistant", content: `${id}: ${TEXT}` },
    ]);
  };
}

async function talked(): Promise<(id: string) => Promise<void>> {
  const runtime = await openWith("memory");
  return (id) => talk(runtime, id);
}

async function talk(runtime: Runtime, id = "s"): Promise<void> {
  const session = await runtime.session(id);
  const { outcome } = await session.turn("text").result();
  if (outcome.kind !== "answered") throw new Error(`The turn ended otherwise: ${JSON.stringify(outcome)}`);
  await session.close();
}

/** Measures on a session `s` with many nodes; for the floor, with few. */
async function onFile(side: Side, measure: (runtime: Runtime) => Promise<number>): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "bowline-bench-"));
  const runtime = await openWith({ path: join(folder, "agent.db") });
  try {
    const session = await runtime.session("s");
    const turns = (side === "floor" ? YOUNG : NODES) / 2;
    for (let turn = 0; turn < turns; turn++) await session.turn("text").result();
    await session.close();
    return await measure(runtime);
  } finally {
    await runtime.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const forkMs =
  (place: (history: readonly string[]) => string | undefined) =>
  async (runtime: Runtime): Promise<number> => {
    const session = await runtime.session("s");
    const at = place((await session.history({ max: NODES })).map(({ id }) => id));
    return medianMs(20, async () => (await session.fork(at === undefined ? {} : { at })).close());
  };

const openMs = (runtime: Runtime, times = 10): Promise<number> =>
  medianMs(times, async () => (await runtime.session("s")).close());

async function medianMs(times: number, act: () => Promise<void>): Promise<number> {
  for (let time = 0; time < 3; time++) await act();
  const found: number[] = [];
  for (let time = 0; time < times; time++) {
    const before = performance.now();
    await act();
    found.push(performance.now() - before);
  }
  return median(found);
}
