import { definePlugin, type Store } from "bowline";
import { memory } from "bowline/stores/memory";
import { says } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { passed, signalOf, within } from "../kit/reading.ts";
import { durable, over } from "../kit/stores.ts";
import { deployed, HOUR, quickWorld } from "../kit/worlds.ts";
import { load } from "./recorded.ts";
import { journalOf, scenarioOf, upTo } from "./resume.ts";
import { model, nothing } from "./witness.ts";

test.each(["read", "fork"] as const)(
  "D2 K13 a command under way is not lost when another runtime moves the session and somebody here looks at it: %s",
  async (look) => {
    const [gate, began] = [signalOf(), signalOf()];
    const adder = definePlugin({
      id: "acme/adder",
      state: z.object({ adds: z.number().default(0) }),
      setup: ({ command }) => ({
        operations: {
          add: command({
            run: async ({ state }) => {
              state.update(({ adds }) => ({ adds: adds + 1 }));
              began.resolve();
              await gate.promise;
              return state.get().adds;
            },
          }),
        },
      }),
    });
    const store = durable(memory());
    const options = { model: model(nothing(), () => says("Yes.")), plugins: [adder] };
    const one = await deployed(store, quickWorld({ name: "one" }), options);
    const two = await deployed(store, quickWorld({ name: "two" }), options);
    const here = await one.runtime.session("s");
    const adding = here.command(adder, "add");
    await began.promise;
    await within((await two.runtime.session("s")).turn("Go.").result());
    await (look === "read" ? here.read() : here.fork());
    gate.resolve();
    await within(adding);
    const stored = await store.load(here.id);
    expect(stored?.plugins["acme/adder"]?.state).toEqual({ adds: 1 });
  },
);

/** What is seen of a session is held back until it is let go, in any order. */
function holding(store: Store): { readonly store: Store; isHolding: boolean; readonly held: (() => void)[] } {
  const holder = {
    isHolding: false,
    held: [] as (() => void)[],
    store: over(store, {
      view: (...given) => {
        const answer = store.view(...given);
        if (!holder.isHolding) return answer;
        return new Promise<Awaited<typeof answer>>((resolve) => holder.held.push(() => resolve(answer)));
      },
    }),
  };
  return holder;
}

test("D2 S5 a look at a session that was slow does not put back what a turn that begins has just read", async () => {
  const adder = definePlugin({
    id: "acme/adder",
    state: z.object({ adds: z.number().default(0), turns: z.number().default(0) }),
    setup: ({ command }) => ({
      afterTurn: ({ state }) => state.update((now) => ({ ...now, turns: now.turns + 1 })),
      operations: { add: command({ run: ({ state }) => state.update((now) => ({ ...now, adds: now.adds + 1 })) }) },
    }),
  });
  const store = durable(memory());
  const slow = holding(store);
  const options = { model: model(nothing(), () => says("Yes.")), plugins: [adder] };
  const one = await deployed(slow.store, quickWorld({ name: "one" }), options);
  const two = await deployed(store, quickWorld({ name: "two" }), options);
  const here = await one.runtime.session("s");
  await here.turn("First.").result();
  const there = await two.runtime.session("s");
  await there.command(adder, "add");
  slow.isHolding = true;
  const looking = here.read(); // Has loaded the session with one command, and waits for its nodes.
  await passed(2);
  await there.command(adder, "add");
  const turn = here.turn("Second."); // Loads it with two.
  await passed(2);
  slow.isHolding = false;
  expect(slow.held).toHaveLength(2);
  for (const letGo of slow.held.reverse()) letGo();
  await within(Promise.all([looking, turn.result()]));
  expect((await store.load(here.id))?.plugins["acme/adder"]?.state).toEqual({ adds: 2, turns: 2 });
  await within(here.turn("Third.").result());
  expect((await store.load(here.id))?.plugins["acme/adder"]?.state).toEqual({ adds: 2, turns: 3 });
});

test("D2 S5 what a turn that was taken over had changed is not carried into the next one", async () => {
  const recorded = journalOf("boundary-input");
  const store = durable(memory());
  await load(store, recorded, { cut: upTo(recorded, "returned") }); // Its counter stands at { before: 1 }.
  const held = signalOf();
  let holds = 0;
  const slow = over(store, {
    load: async (id) => {
      if (holds++ === 0) await held.promise;
      return store.load(id);
    },
  });
  const options = scenarioOf("boundary-input").options(nothing(), undefined);
  const now = recorded.events.at(-1)!.at;
  const one = await deployed(slow, quickWorld({ now, name: "one" }), options);
  const here = await one.runtime.session(recorded.input.sessionId); // Takes the turn up, and is held up.
  while (holds === 0) await passed(1);
  const two = await deployed(store, quickWorld({ now: now + HOUR, name: "two" }), options);
  await within(two.runtime.recover());
  const before = (await store.load(here.id))!;
  expect(before.plugins["acme/counter"]?.state).toEqual({ before: 1, after: 1, ends: 1 });
  held.resolve();
  const { outcome } = await within(here.turn("More.").result());
  expect(outcome.kind).toBe("answered");
  expect((await store.load(here.id))!.plugins["acme/counter"]?.state).toEqual({ before: 1, after: 1, ends: 2 });
});
