// One task in both protocols. With native tool calls, the model calls one tool after the other. In code mode, it writes
// one cell of TypeScript that does all of it. Each model call is slow and costs tokens. A cell needs fewer model calls,
// and the model gets only what the cell prints.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { createRuntime, defineTool, type Plugin } from "bowline";
import { code } from "bowline/plugins/code";
import { codeMode } from "bowline/protocols/code";
import type { ModelPart, Provider } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import { both, calls, says, scripted } from "bowline/testing";
import { z } from "zod";

const STATIONS = Array.from({ length: 24 }, (_, n) => ({ id: `station-${n}`, city: `City ${n}` }));
const celsius = (id: string): number => (Number(id.slice(8)) * 7) % 31;

const list = defineTool({
  name: "stations_list",
  description: "All weather stations.",
  input: z.object({}),
  output: z.array(z.object({ id: z.string(), city: z.string() })),
  execute: () => STATIONS,
});
const read = defineTool({
  name: "stations_read",
  description: "The last hours of one station, newest first.",
  input: z.object({ id: z.string() }),
  output: z.object({ hours: z.array(z.object({ celsius: z.number(), wind: z.number() })) }),
  execute: ({ id }) => ({
    hours: Array.from({ length: 12 }, (_, n) => ({ celsius: celsius(id) - n / 10, wind: n % 5 })),
  }),
});
const tools = [list, read];

/** A scripted model that calls the tools natively: first the list, then all stations. */
const native = scripted(
  calls("stations_list"),
  both(...STATIONS.map(({ id }) => calls("stations_read", { id }))),
  says("It is warmest in City 22, with 30 degrees."),
);

/** A scripted model that writes a cell. Tools are modules there: `stations_list` is `stations.list`. */
const coded = scripted(
  says(`<typescript>
const readings = await Promise.all(
  (await stations.list()).map(async ({ id, city }) => ({ city, now: (await stations.read({ id })).hours[0] })),
);
const [warmest] = readings.sort((a, b) => b.now.celsius - a.now.celsius);
finish(\`It is warmest in \${warmest.city}, with \${warmest.now.celsius} degrees.\`);
</typescript>`),
);

const MODEL_MS = 300;
const tokens = (value: unknown): number => Math.ceil(JSON.stringify(value).length / 4);

/** Delays each call of a model, and computes its tokens from the length of the request and the reply. */
const metered = (model: Provider): Provider => ({
  ...model,
  async *stream(request, options) {
    await sleep(MODEL_MS);
    const said: ModelPart[] = [];
    for await (const part of model.stream(request, options)) for (const each of [part].flat()) said.push(each);
    const { system, messages, tools: declared } = request;
    const input = tokens({ system, messages: messages.map(({ parts }) => parts), declared });
    const usage = { input, output: tokens(said), cacheRead: 0, cacheWrite: 0, reasoning: 0, unknownCalls: 0 };
    yield* said.map((part): ModelPart => (part.kind === "finish" ? { ...part, usage } : part));
  },
});

async function run(model: ReturnType<typeof scripted>, plugins: readonly Plugin[]) {
  const runtime = await createRuntime({ store: memory(), model: metered(model), tools, plugins });
  const session = await runtime.session();
  const begin = performance.now();
  const { outcome, usage } = await session.turn("Where is it warmest now?").result();
  const ms = Math.round(performance.now() - begin);
  await runtime.close();
  const answer =
    outcome.kind === "answered" ? outcome.text : outcome.kind === "finished" ? outcome.value : outcome.reason;
  return { answer, rounds: model.requests.length, sent: usage.input, said: usage.output, ms };
}

const byCalls = await run(native, []);
const byCode = await run(coded, [codeMode, code]);
assert.equal(byCode.answer, byCalls.answer);
assert.ok(byCode.rounds < byCalls.rounds && byCode.sent < byCalls.sent);

console.log(`"${byCode.answer}"\n`);
console.table(
  { "native tool calls": { ...byCalls, answer: undefined }, "code mode": { ...byCode, answer: undefined } },
  ["rounds", "sent", "said", "ms"],
);
