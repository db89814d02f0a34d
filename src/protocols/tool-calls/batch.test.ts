import { createRuntime, definePlugin, defineTool, type SessionEvent } from "bowline";
import { deny } from "bowline/plugin";
import { toolCalls } from "bowline/protocols/tool-calls";
import { calls, says, scripted } from "bowline/providers/scripted";
import { memory } from "bowline/stores/memory";
import { expect, test } from "vitest";
import { z } from "zod";

const add = defineTool({
  name: "add",
  description: "Adds.",
  input: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});

async function play(input: unknown, plugins: Parameters<typeof createRuntime>[0]["plugins"] = []) {
  const model = scripted(calls("batch", input as never), says("Done."));
  await using runtime = await createRuntime({
    store: memory(),
    model,
    tools: [add],
    plugins: [toolCalls({ batch: true }), ...plugins],
  });
  const turn = (await runtime.session()).turn("Go.");
  const events: SessionEvent[] = [];
  for await (const event of turn) events.push(event);
  const { outcome } = await turn.result();
  const result = model.requests[1]?.messages.at(-1)?.parts[0];
  return { outcome, events, result, declared: model.requests[0]?.tools.map(({ name }) => name) };
}
const textsOf = (result: Awaited<ReturnType<typeof play>>["result"]) =>
  result?.kind === "toolResult" ? result.parts.map((part) => (part.kind === "text" ? part.text : part.kind)) : [];
const sums = (...pairs: readonly (readonly [number, number])[]) => ({
  calls: pairs.map(([a, b]) => ({ tool: "add", input: { a, b } })),
});

test("T13 a batch is expanded into ordinary calls: one start and one end each, one result in their order", async () => {
  const { outcome, events, result, declared } = await play(sums([1, 1], [2, 2], [3, 3]));
  expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(declared).toEqual(["add", "batch"]);
  expect(textsOf(result)).toEqual(["[1] add: ok", "2", "[2] add: ok", "4", "[3] add: ok", "6"]);
  const started = events.filter((event) => event.kind === "toolStarted");
  expect(started.map(({ call, key }) => [call.name, call.parentId !== undefined, key.effect])).toEqual([
    ["add", true, "r1.call.0.0"],
    ["add", true, "r1.call.0.1"],
    ["add", true, "r1.call.0.2"],
  ]);
  expect(events.filter((event) => event.kind === "toolEnded")).toHaveLength(3);
});

test("T13 every call of a batch passes the gate, and one that is denied fails alone", async () => {
  const seen: unknown[] = [];
  const guard = definePlugin({
    id: "a/guard",
    setup: () => ({
      beforeToolCall: ({ call }) => {
        seen.push([call.name, (call.input as { a: number }).a]);
        return (call.input as { a: number }).a === 2 ? deny("Not two.") : undefined;
      },
    }),
  });
  const { result } = await play(sums([1, 1], [2, 2]), [guard]);
  expect(seen).toEqual([
    ["add", 1],
    ["add", 2],
  ]);
  expect(textsOf(result)).toEqual(["[1] add: ok", "2", "[2] add: denied", expect.stringContaining("Not two.")]);
});

test("T5 unknown tools and wrong arguments inside a batch have separate results", async () => {
  const { result } = await play({
    calls: [
      { tool: "nope", input: {} },
      { tool: "add", input: { a: "x", b: 1 } },
      { tool: "add", input: { a: 1, b: 1 } },
    ],
  });
  expect(textsOf(result)).toEqual([
    "[1] nope: failed",
    expect.stringContaining("tool.unknown"),
    "[2] add: failed",
    expect.stringContaining("tool.arguments"),
    "[3] add: ok",
    "2",
  ]);
});

test.each([
  ["nothing", {}],
  ["an empty list", { calls: [] }],
  ["more than 25", sums(...Array.from({ length: 26 }, (): [number, number] => [1, 1]))],
  ["a batch in a batch", { calls: [{ tool: "batch", input: { calls: [] } }] }],
  ["no input", { calls: [{ tool: "add" }] }],
  ["a list of text", { calls: ["add"] }],
])("T5 a batch of %s is refused with its path, and the turn continues", async (_, input) => {
  const { outcome, result } = await play(input);
  expect(outcome.kind).toBe("answered");
  expect(textsOf(result).join()).toMatch(/tool\.arguments.*\/calls/s);
});
