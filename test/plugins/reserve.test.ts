import { createRuntime, defineTool, fail, type Json } from "bowline";
import { abort, ask, definePlugin, deny, type Plugin, type StateCell, shortCircuit } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { both, calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";

/** Reserves in the gate, and books or gives back when the call is settled: the pattern of docs/plugins.md. */
const spend = definePlugin({
  id: "acme/spend",
  state: z.object({ spent: z.number().default(0), reserved: z.record(z.string(), z.number()).default({}) }),
  setup: ({ query }) => ({
    beforeToolCall: ({ call, state }) => {
      const { euros = 0 } = call.input as { euros?: number };
      state.update((s) => ({ ...s, reserved: { ...s.reserved, [call.id]: euros } }));
    },
    afterToolCall: ({ call, durationMs, state }) => {
      const { [call.id]: euros = 0, ...reserved } = state.get().reserved;
      const isMade = durationMs !== undefined;
      state.update(({ spent }) => ({ spent: spent + (isMade ? euros : 0), reserved }));
    },
    operations: { all: query({ run: ({ state }) => state.get() }) },
  }),
});

const gate = (answer: () => ReturnType<typeof deny | typeof ask | typeof abort | typeof shortCircuit>): Plugin =>
  definePlugin({ id: "acme/gate", setup: () => ({ beforeToolCall: answer }) }) as Plugin;

interface Story {
  readonly gate?: Plugin;
  readonly name?: string;
  readonly input?: Json;
  readonly execute?: () => unknown;
  readonly answer?: { readonly approved: boolean; readonly args?: { readonly euros: number } } | "cancel";
}
const asks = gate(() => ask("Pay?"));

test.each<readonly [string, Story, number]>([
  ["is made", {}, 10],
  ["throws", { execute: () => Promise.reject(new Error("No.")) }, 10],
  ["fails the turn", { execute: () => fail("bank.closed", "Closed.") }, 10],
  ["is denied by another gate", { gate: gate(() => deny("No.")) }, 0],
  ["is answered by another gate", { gate: gate(() => shortCircuit("Paid before.")) }, 0],
  ["is aborted with its turn", { gate: gate(() => abort("acme.stop", "No.")) }, 0],
  ["is refused by a person", { gate: asks, answer: { approved: false } }, 0],
  ["is approved by a person with another amount", { gate: asks, answer: { approved: true, args: { euros: 3 } } }, 6],
  ["is cancelled while a person is asked", { gate: asks, answer: "cancel" }, 0],
  ["does not fit the schema", { input: { euros: "five" } }, 0],
  ["names no tool", { name: "give" }, 0],
])(
  "K10 what a gate reserves for a call that %s is booked or given back when the call is settled",
  async (_, story, spent) => {
    const { name = "pay", input = { euros: 5 }, execute = () => "paid" } = story;
    const pay = defineTool({ name: "pay", description: "Pays.", input: z.object({ euros: z.number() }), execute });
    for (const plugins of story.gate === undefined
      ? [[spend]]
      : [
          [spend, story.gate],
          [story.gate, spend],
        ]) {
      const model = scripted(both(calls(name, input), calls(name, input)), says("Done."));
      await using runtime = await createRuntime({ store: memory(), model, tools: [pay], plugins });
      const session = await runtime.session();
      const turn = session.turn("Pay twice.");
      for await (const event of turn) {
        if (event.kind !== "waiting") continue;
        if (story.answer === "cancel") await turn.cancel();
        else if (story.answer !== undefined) await runtime.waits.resolve(event.wait, story.answer);
      }
      expect(await session.query(spend, "all")).toEqual({ spent, reserved: {} });
    }
  },
);

test("K10 what hooks of a call write stays if they throw, another gate denies or the tool fails, and what the tool writes is dropped", async () => {
  const counter = (mistake?: "beforeToolCall" | "afterToolCall") =>
    definePlugin({
      id: "acme/counter",
      state: z.object({ gates: z.number().default(0), tools: z.number().default(0) }),
      setup: ({ query, tool }) => {
        const counts =
          (hook: typeof mistake) =>
          ({ state }: { readonly state: StateCell<{ gates: number; tools: number }> }) => {
            state.update((s) => ({ ...s, gates: s.gates + 1 }));
            if (hook === mistake) throw new Error("A mistake.");
          };
        return {
          tools: [
            tool({
              name: "broken",
              description: "Fails.",
              input: z.object({}),
              writes: true,
              execute: (_, { state }) => {
                state.update((s) => ({ ...s, tools: s.tools + 1 }));
                throw new Error("No.");
              },
            }),
          ],
          beforeToolCall: counts("beforeToolCall"),
          afterToolCall: counts("afterToolCall"),
          operations: { all: query({ run: ({ state }) => state.get() }) },
        };
      },
    });
  for (const plugins of [
    [counter()],
    [counter(), gate(() => deny("No."))],
    [counter("beforeToolCall")],
    [counter("afterToolCall")],
  ] as const) {
    const model = scripted(calls("broken"), says("It failed."));
    await using runtime = await createRuntime({ store: memory(), model, plugins });
    const session = await runtime.session();
    await session.turn("Go.").result();
    expect((await session.invoke("query", "acme/counter.all")).output).toEqual({ gates: 2, tools: 0 });
  }
});
