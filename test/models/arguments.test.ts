import { defineTool, type Json } from "bowline";
import type { ModelPart, Provider } from "bowline/provider";
import { expect, test } from "vitest";
import { aiSdk } from "../../src/providers/ai-sdk.ts";
import { end, text } from "../kit/models.ts";
import { signalOf, within } from "../kit/reading.ts";
import { lifetimes } from "../kit/worlds.ts";
import { fake, finish } from "../wire/fake.ts";

/** What JSON does not keep, as a provider's object may have it. */
const ODD = {
  nan: Number.NaN,
  many: Infinity,
  none: -0,
  at: new Date(0),
  gone: undefined,
  list: [undefined, -0, Number.NEGATIVE_INFINITY, { deep: new Date(1) }],
  plain: { text: "é", n: 1.5, yes: true, nothing: null },
};
const KEPT = {
  nan: null,
  many: null,
  none: 0,
  at: "1970-01-01T00:00:00.000Z",
  list: [null, 0, null, { deep: "1970-01-01T00:00:00.001Z" }],
  plain: { text: "é", n: 1.5, yes: true, nothing: null },
};

const calling = (input: unknown): Provider => ({
  id: "odd",
  modelId: "test",
  async *stream({ messages }) {
    yield messages.length === 1 ? ({ kind: "call", callId: "c1", name: "take", input } as ModelPart) : text("Done.");
    yield end;
  },
});

/** An AI SDK model whose tool calls have an object instead of text. */
const packaged = (input: unknown): Provider => {
  const { model } = fake("v4", [
    { type: "tool-call", toolCallId: "c1", toolName: "take", input },
    finish("v4", "tool-calls"),
  ]);
  return aiSdk(model);
};

test.each([
  ["an object of a provider", calling(ODD), KEPT],
  ["an object of an AI SDK model", packaged(ODD), KEPT],
  [
    "text with numbers that JSON reads and does not write",
    calling('{"many":1e999,"none":-0,"n":1}'),
    { many: null, none: 0, n: 1 },
  ],
  ["a field called toJSON", calling('{"toJSON":"x"}'), { toJSON: "x" }],
] as const)("D2 P4 a tool gets the same arguments live and after a crash: %s", async (_, model, kept) => {
  const given: Json[] = [];
  const began = signalOf();
  const take = defineTool({
    name: "take",
    description: "Takes anything.",
    input: { type: "object" },
    execute: (input) => {
      given.push(input as Json);
      began.resolve();
      return given.length === 1 ? new Promise(() => {}) : "taken";
    },
  });
  const lives = lifetimes();
  const first = await lives.next({ tools: [take], model });
  (await first.runtime.session("s")).turn("Go.", { key: "k" });
  await within(began.promise);
  lives.kill();
  const { id, modelId } = model; // The turn is resumed by a process that has its model.
  const second = await lives.next({ tools: [take], model: { ...calling({}), id, modelId } });
  await within((await second.runtime.session("s")).turn("Go.", { key: "k" }).result());
  expect(given).toHaveLength(2);
  // Strictly: -0 is not 0, and a field that is undefined is a field.
  expect(given[0]).toStrictEqual(kept);
  expect(given[1]).toStrictEqual(kept);
  await second.runtime.close();
});

test.each([
  ["a number too large", 10n],
  [
    "a circle",
    (() => {
      const circle: { self?: unknown } = {};
      circle.self = circle;
      return circle;
    })(),
  ],
])("P4 arguments that cannot be kept are a result, and the tool does not run: %s", async (_, input) => {
  const ran: unknown[] = [];
  const take = defineTool({
    name: "take",
    description: "Takes anything.",
    input: { type: "object" },
    execute: (given) => void ran.push(given),
  });
  const lives = lifetimes();
  const { runtime } = await lives.next({ tools: [take], model: calling(input) });
  const session = await runtime.session("s");
  expect((await session.turn("Go.").result()).outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(ran).toEqual([]);
  expect(JSON.stringify((await session.read()).messages)).toContain("tool.arguments");
  await runtime.close();
});
