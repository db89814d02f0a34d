// What code cells cost: a thread, a heap that is read and written, calls, and sessions that are idle.
import { setTimeout as sleep } from "node:timers/promises";
import type { Plugin } from "bowline";
import type { Provider } from "bowline/provider";
import type { CellBounds, Guest, Image, Progress, Sandbox } from "bowline/sandbox/quickjs";
import { median } from "./meters.ts";
import { built, type Side } from "./sides.ts";
import type { Workloads } from "./workloads.ts";

const CALLS = 1_000;
const SESSIONS = 100;
const TIMES = 15;
const KB = 1_024;
const MB = KB * KB;

export function codeWorkloads(): Workloads {
  const own = { isCount: true, isAbsolute: true } as const;
  return {
    "C-first": {
      ...own,
      about: "the first guest of a process: a thread, the engine, an empty heap; the floor is the second one",
      unit: "wall ms",
      goal: () => 400,
      measure: (side) =>
        inSandbox(async (sandbox) => {
          if (side === "floor") await sandbox.open(undefined, BOUNDS);
          return timed(() => sandbox.open(undefined, BOUNDS));
        }),
    },
    "C-restore": {
      ...own,
      about: "to open a guest with a heap of 2 MB; the floor copies as many bytes",
      unit: "wall ms",
      goal: () => 5,
      measure: (side) => restoreMs(side, 2 * MB),
    },
    "C-restore.32": {
      ...own,
      about: "the same with 32 MB",
      unit: "wall ms",
      goal: () => 60,
      measure: (side) => restoreMs(side, 32 * MB),
    },
    "C-image": {
      ...own,
      about: "the image of a small cell, after ten others; the floor copies the heap",
      unit: "wall ms",
      goal: () => 10,
      measure: (side) => (side === "floor" ? copyMs(1.5 * MB) : smallImage(({ ms }) => ms)),
    },
    "C-image.bytes": {
      ...own,
      about: "its size",
      unit: "KB",
      goal: () => 16,
      measure: async (side) => (side === "floor" ? 0 : smallImage(({ bytes }) => bytes / KB)),
    },
    "C-bytes": {
      ...own,
      about: "the image of a cell that keeps 1 MB of random text; the floor is the text",
      unit: "KB",
      goal: (floor) => 3 * floor + 16,
      measure: async (side) => (side === "floor" ? (RANDOM_BYTES * 4) / 3 / KB : (await randomImage()) / KB),
    },
    "C-calls": {
      isCount: true,
      isAdded: true,
      about: `${CALLS} calls of a cell, one after the other; the floor makes as many native calls, one at a time`,
      unit: "wall ms",
      goal: () => 450,
      measure: callsMs,
    },
    "C-idle": {
      ...own,
      about: `${SESSIONS} sessions that have run code and are idle: what the process holds of them`,
      unit: "MB",
      goal: () => 10,
      measure: async (side) => (side === "floor" ? 0 : idleMb()),
    },
  };
}

const BOUNDS: CellBounds = {
  stepsMax: 1e6,
  segmentMs: 60_000,
  graceMs: 1_000,
  memoryBytesMax: 128 * MB,
  outputBytesMax: 16 * MB,
  callsMax: 10_000,
};

async function inSandbox<T>(use: (sandbox: Sandbox) => Promise<T>): Promise<T> {
  const { quickjs } = (await import(new URL("../dist/sandbox/quickjs/index.js", import.meta.url).href)) as {
    quickjs(options: { workers: number }): Sandbox;
  };
  const sandbox = quickjs({ workers: 1 });
  try {
    return await use(sandbox);
  } finally {
    await sandbox.close();
  }
}

let cells = 0;
async function run(guest: Guest, code: string): Promise<Progress> {
  const progress = await guest.start({ code, file: `cell-${++cells}.ts`, seed: "bench", at: 0, acceptFinish: true });
  if (progress.state !== "done") throw new Error(`The cell ended otherwise: ${JSON.stringify(progress)}`);
  return progress;
}

async function timed(act: () => unknown): Promise<number> {
  const before = performance.now();
  await act();
  return performance.now() - before;
}

async function medianMs(act: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let time = 0; time < TIMES; time++) times.push(await timed(act));
  return median(times);
}

function copyMs(bytes: number): Promise<number> {
  const heap = new Uint8Array(bytes).fill(7);
  return medianMs(async () => void heap.slice());
}

const restoreMs = (side: Side, bytes: number): Promise<number> =>
  side === "floor"
    ? copyMs(bytes)
    : inSandbox(async (sandbox) => {
        const image = await imageOf(sandbox, bytes);
        return medianMs(async () => (await sandbox.open(image, BOUNDS)).close());
      });

/** A heap of about this size, of objects and texts as programs keep them. */
async function imageOf(sandbox: Sandbox, bytes: number): Promise<Image> {
  const guest = await sandbox.open(undefined, BOUNDS);
  const rows = Math.round((bytes - 1.4 * MB) / 260);
  await run(
    guest,
    `const rows = Array.from({ length: ${rows} }, (_, n) => ({ id: n, name: "row " + n, score: n * 1.5, tags: [n % 7] }));`,
  );
  const { engine, delta } = await guest.image();
  await guest.close();
  return { engine, deltas: [delta] };
}

function smallImage(figure: (found: { readonly ms: number; readonly bytes: number }) => number): Promise<number> {
  return inSandbox(async (sandbox) => {
    const figures: number[] = [];
    let image: Image | undefined;
    for (let nth = 0; nth < 10 + TIMES; nth++) {
      const guest = await sandbox.open(image, BOUNDS);
      await run(guest, `const total${nth} = [1, 2, 3].map((n) => n * ${nth}); total${nth}.length`);
      const before = performance.now();
      const { engine, keeps, delta } = await guest.image();
      const ms = performance.now() - before;
      image = { engine, deltas: [...(image?.deltas ?? []).slice(0, keeps), delta] };
      if (nth >= 10) figures.push(figure({ ms, bytes: delta.byteLength }));
      await guest.close();
    }
    return median(figures);
  });
}

const RANDOM_BYTES = 750 * KB;
const randomImage = (): Promise<number> =>
  inSandbox(async (sandbox) => {
    const guest = await sandbox.open(undefined, BOUNDS);
    await guest.start({ code: "let kept = await tools.read({});", file: "a.ts", seed: "", at: 0, acceptFinish: false });
    const bytes = Buffer.from(Array.from({ length: RANDOM_BYTES }, () => Math.random() * 256));
    await guest.deliver({ id: 0, at: 1, value: bytes.toString("base64") });
    return (await guest.image()).delta.byteLength;
  });

// ── Through the runtime ─────────────────────────────────────────────────────────────────────────────────────────────

const USAGE = { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0, unknownCalls: 0 };

/** A model that says this first, and then that it is done. */
const saying = (words: string): Provider => ({
  id: "bench",
  modelId: "code",
  async *stream({ messages }) {
    const delta = messages.length === 1 ? words : "done";
    yield [
      { kind: "text", delta },
      { kind: "finish", reason: "stop", usage: USAGE },
    ];
  },
});

const calling: Provider = {
  id: "bench",
  modelId: "calls",
  async *stream({ messages }) {
    if (messages.length > 1)
      return yield [
        { kind: "text", delta: "done" },
        { kind: "finish", reason: "stop", usage: USAGE },
      ];
    const calls = Array.from(
      { length: CALLS },
      (_, n) => ({ kind: "call", callId: `c${n}`, name: "look", input: { n } }) as const,
    );
    yield [...calls, { kind: "finish", reason: "calls", usage: USAGE }];
  },
};

async function codePlugins(): Promise<readonly Plugin[]> {
  const { definePlugin } = await built();
  const { code } = (await import(new URL("../dist/plugins/code/index.js", import.meta.url).href)) as { code: Plugin };
  const cellsOf = definePlugin({
    id: "bench/cells",
    setup: () => ({
      protocolSession: {},
      protocolDriver: {
        preamble: () => ({ tools: [], prompt: [] }),
        driver: {
          id: "bench/cells",
          version: 1,
          request: ({ system, messages, tools }) => ({ system, messages, tools }),
          onReply: (_view, { parts: [part] }) =>
            part?.kind === "text" && part.text !== "done"
              ? { kind: "cell", cell: { language: "ts", code: part.text, acceptFinish: false } }
              : { kind: "answer" },
          onResults: () => ({ kind: "ask" }),
          onExec: (_view, _reply, { parts }) => ({ kind: "ask", add: [{ role: "user", parts }] }),
        },
      },
    }),
  });
  return [cellsOf, code];
}

async function callsMs(side: Side): Promise<number> {
  const { createRuntime, memory, defineTool } = await built();
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: { type: "object" },
    isSerial: true,
    execute: () => 1,
  });
  const model = side === "floor" ? calling : saying(`for (let n = 0; n < ${CALLS}; n++) await tools.look({ n });`);
  const limits = { callsPerRoundMax: CALLS };
  const plugins = side === "floor" ? [] : await codePlugins();
  const runtime = await createRuntime({ store: memory(), model, tools: [look], plugins, limits });
  const turn = async (id: string): Promise<void> => {
    const { outcome } = await (await runtime.session(id)).turn("Go.").result();
    if (outcome.kind !== "answered") throw new Error(`The turn ended otherwise: ${JSON.stringify(outcome)}`);
  };
  await turn("warm-up");
  const times: number[] = [];
  for (let nth = 0; nth < 5; nth++) times.push(await timed(() => turn(`s${nth}`)));
  await runtime.close();
  return median(times);
}

async function idleMb(): Promise<number> {
  const { createRuntime, memory } = await built();
  const model = saying("let n = 1; const count = () => ++n; class Counter { value = n; }");
  const runtime = await createRuntime({ store: memory(), model, plugins: await codePlugins() });
  const turns = async (prefix: string, count: number): Promise<void> => {
    for (let nth = 0; nth < count; nth++) await (await runtime.session(`${prefix}${nth}`)).turn("Go.").result();
  };
  await turns("warm", 50);
  const held = async (): Promise<number> => {
    for (let time = 0; time < 4; time++) globalThis.gc?.();
    await sleep(200);
    return process.memoryUsage().rss;
  };
  const before = await held();
  await turns("s", SESSIONS);
  const mb = ((await held()) - before) / MB;
  await runtime.close();
  return Math.max(0, mb);
}
