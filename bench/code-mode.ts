// What code mode costs against native calls, both in Bowline: a turn of prose, and ten calls in one reply.
import type { Plugin } from "bowline";
import type { Provider } from "bowline/provider";
import type { CellBounds, Sandbox } from "bowline/sandbox/quickjs";
import { median } from "./meters.ts";
import { opened } from "./own.ts";
import { built, type Side } from "./sides.ts";
import type { Workloads } from "./workloads.ts";

const CALLS = 10;
const SESSIONS = 2_000;
const TIMES = 60;

export const CODE_MODE_WORKLOADS: Workloads = {
  "M-prose": {
    about: "a text reply in code mode; the floor is the same in Bowline's native protocol",
    unit: "cpu us/turn",
    goal: () => 1.2,
    async measure(side, meter) {
      const turn = await opened({ plugins: await pluginsOf(side), tools: [await echo()] });
      return meter(2_000, 6_000, (index) => turn(`s${index % SESSIONS}`, "text"));
    },
  },
  "M-ten": {
    isCount: true,
    about: `${CALLS} calls in one cell, without what the sandbox alone needs for it; the floor makes them natively, in one reply`,
    unit: "wall ms",
    goal: () => 1.5,
    measure: async (side) =>
      side === "floor" ? turnMs("floor") : Math.max(0, (await turnMs("bowline")) - (await sandboxMs())),
  },
  "M-declare": {
    isCount: true,
    isAbsolute: true,
    about:
      "what a first turn with a thousand more tools takes, in which they are declared; the floor declares them natively",
    unit: "wall ms",
    measure: declareMs,
  },
  "M-sandbox": {
    isCount: true,
    isAbsolute: true,
    about: `what the sandbox alone needs for a cell with ${CALLS} calls: a restored heap, deliveries, an image`,
    unit: "wall ms",
    measure: async (side) => (side === "floor" ? 0 : sandboxMs()),
  },
};

const load = (file: string) => import(new URL(`../dist/${file}/index.js`, import.meta.url).href);

async function pluginsOf(side: Side): Promise<readonly Plugin[]> {
  if (side === "floor") return [];
  const { codeMode } = (await load("protocols/code")) as { codeMode: Plugin };
  const { code } = (await load("plugins/code")) as { code: Plugin };
  return [codeMode, code];
}

async function echo() {
  const { defineTool } = await built();
  return defineTool({ name: "echo", description: "Echo.", input: { type: "object" }, execute: () => "echo" });
}

const CODE = `await Promise.all(Array.from({ length: ${CALLS} }, (_, n) => tools.echo({ n })));`;
const USAGE = { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0, unknownCalls: 0 };

/** A model that acts once in its way, and then answers. */
const acting = (side: Side): Provider => ({
  id: "bench",
  modelId: "own",
  async *stream({ messages }) {
    if (messages.some(({ role }) => role === "assistant"))
      return yield [
        { kind: "text", delta: "done" },
        { kind: "finish", reason: "stop", usage: USAGE },
      ];
    if (side === "bowline")
      return yield [
        { kind: "text", delta: `<typescript>\n${CODE}\n</typescript>` },
        { kind: "finish", reason: "stop", usage: USAGE },
      ];
    const calls = Array.from(
      { length: CALLS },
      (_, n) => ({ kind: "call", callId: `c${n}`, name: "echo", input: { n } }) as const,
    );
    yield [...calls, { kind: "finish", reason: "calls", usage: USAGE }];
  },
});

async function turnMs(side: Side): Promise<number> {
  const { createRuntime, memory } = await built();
  const runtime = await createRuntime({
    store: memory(),
    model: acting(side),
    tools: [await echo()],
    plugins: await pluginsOf(side),
  });
  const figure = await medianMs(async (nth) => {
    const { outcome } = await (await runtime.session(`s${nth}`)).turn("Go.").result();
    if (outcome.kind !== "answered") throw new Error(`The turn ended otherwise: ${JSON.stringify(outcome)}`);
  });
  await runtime.close();
  return figure;
}

const TOOLS = 1_000;

async function declareMs(side: Side): Promise<number> {
  const { createRuntime, memory, defineTool } = await built();
  const tools = Array.from({ length: TOOLS }, (_, n) =>
    defineTool({
      name: `area${n % 20}_op${n}`,
      description: `Does the work number ${n}.`,
      input: { type: "object", properties: { id: { type: "string" }, max: { type: "integer" } }, required: ["id"] },
      execute: () => n,
    }),
  );
  const plugins = await pluginsOf(side);
  return medianMs(async () => {
    const runtime = await createRuntime({ store: memory(), model: acting("floor"), tools: [...tools], plugins });
    const before = performance.now();
    await (await runtime.session()).turn("Go.").result();
    const ms = performance.now() - before;
    await runtime.close();
    return ms;
  }, 10);
}

const BOUNDS: CellBounds = {
  stepsMax: 1e6,
  segmentMs: 60_000,
  graceMs: 1_000,
  memoryBytesMax: 128 * 1_048_576,
  outputBytesMax: 1_048_576,
  callsMax: 1_000,
};

async function sandboxMs(): Promise<number> {
  const { quickjs } = (await load("sandbox/quickjs")) as { quickjs(): Sandbox };
  const sandbox = quickjs();
  const figure = await medianMs(async (nth) => {
    const guest = await sandbox.open(undefined, BOUNDS);
    await guest.start({ code: CODE, file: `cell-${nth}.ts`, seed: "bench", at: 0, acceptFinish: true });
    for (let id = 0; id < CALLS; id++) await guest.deliver({ id, at: id, value: "echo" });
    await guest.image();
    await guest.close();
  });
  await sandbox.close();
  return figure;
}

/** The median of the second half; of what `act` measures itself, if it does. */
async function medianMs(act: (nth: number) => Promise<number | void>, turns = TIMES): Promise<number> {
  const times: number[] = [];
  for (let nth = 0; nth < 2 * turns; nth++) {
    const before = performance.now();
    const own = await act(nth);
    if (nth >= turns) times.push(own ?? performance.now() - before);
  }
  return median(times);
}
