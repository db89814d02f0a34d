import { definePlugin, defineTool, type Session } from "bowline";
import { memory } from "bowline/stores/memory";
import { expect, test } from "vitest";
import { z } from "zod";
import { call, end as finish, text } from "../kit/models.ts";
import { nodesOf, outline, passed, ticks, unheard, within } from "../kit/reading.ts";
import { ANSWERING, slowly } from "../kit/stores.ts";
import { running } from "../kit/worlds.ts";

/** Numbers that look random and are the same in every run. */
function dice(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) | 0;
    return (state >>> 0) % below;
  };
}

/** Counts what is done, refuses to overlap, and keeps what it must not lose. */
function witness() {
  let inside: string | undefined;
  const overlaps: string[] = [];
  const enter = (name: string) => {
    if (inside !== undefined) overlaps.push(`${name} in ${inside}`);
    inside = name;
  };
  const leave = () => {
    inside = undefined;
  };
  const plugin = definePlugin({
    id: "a/witness",
    state: z.object({ turns: z.number().default(0), commands: z.number().default(0) }),
    setup: ({ command, task, query }) => ({
      beforeTurn: async () => enter("turn"),
      afterTurn: async ({ state }) => {
        state.update((now) => ({ ...now, turns: now.turns + 1 }));
        leave();
      },
      operations: {
        add: command({
          input: z.object({ ticks: z.number(), fails: z.boolean() }),
          run: async ({ input, state, emit }) => {
            enter("command");
            state.update((now) => ({ ...now, commands: now.commands + 1 }));
            emit("added");
            await ticks(input.ticks);
            leave();
            if (input.fails) throw new Error("Told to.");
          },
        }),
        ask: task({
          run: async ({ complete, state }) => {
            enter("task");
            await complete.text("Aside?", { label: "task" });
            state.update((now) => ({ ...now, commands: now.commands + 1 }));
            leave();
          },
        }),
        now: query({ run: ({ state }) => state.get() }),
      },
    }),
  });
  return { plugin, overlaps };
}

const nap = defineTool({
  name: "nap",
  description: "Naps.",
  input: z.object({ ticks: z.number() }),
  execute: async (input) => {
    await ticks(input.ticks);
    return "Rested.";
  },
});

/** Speaks after some ticks; asked by a user for a nap it takes one first. */
const sleepy = (roll: (below: number) => number) => ({
  id: "sleepy",
  modelId: "test",
  async *stream({ messages }: { readonly messages: Parameters<typeof outline>[0] }) {
    await ticks(roll(12));
    const last = outline(messages).at(-1) ?? "";
    if (last.startsWith("user: nap")) yield call("nap", { ticks: roll(20) });
    else yield text("Words.");
    yield finish;
  },
});

const SEEDS = 40;

test.each(ANSWERING)(
  "K13 whatever is asked of a session at whatever instant: one thing at a time, all of it ends, none is lost, on a store that answers %s",
  async (_, makeStore) => {
    const failures = await unheard(async () => {
      for (let seed = 1; seed <= SEEDS; seed++) {
        const roll = dice(seed);
        const { plugin, overlaps } = witness();
        const store = makeStore();
        const runtime = await running({ store, model: sleepy(roll), plugins: [plugin], tools: [nap] });
        const handles: readonly Session[] = [await runtime.session("s"), await runtime.session("s")];
        const did = { turns: 0, commands: 0, events: 0, notes: 0, completions: 0, tasks: 0 };
        const done: Promise<unknown>[] = [];
        const log: string[] = [];
        for (let n = 0; n < 14; n++) {
          const session = handles[roll(2)]!;
          const kind = roll(8);
          log.push(String(kind));
          let act: Promise<unknown>;
          if (kind <= 1) {
            did.turns++;
            act = session.turn(roll(2) === 0 ? "nap" : "Go.").result();
          } else if (kind <= 3) {
            const fails = roll(4) === 0;
            if (!fails) {
              did.commands++;
              did.events++;
            }
            act = session.command(plugin, "add", { ticks: roll(15), fails }).catch((error) => {
              if (!fails || error.code !== "operation.failed") throw error;
            });
          } else if (kind === 4) {
            did.notes++;
            act = session.append([{ kind: "plugin", type: "note", body: n }]);
          } else if (kind === 5) act = session.configure({ instructions: `${n}` });
          else if (kind === 6) {
            did.completions++;
            act = session.complete.text("Aside?", { label: "app" });
          } else {
            did.tasks++;
            did.commands++;
            act = session.task(plugin, "ask");
          }
          done.push(act);
          // Sometimes at once, sometimes a little later, sometimes the very moment the last thing is done.
          if (roll(3) === 0) await within(act, 2_000).catch(() => {});
          else await ticks(roll(25));
        }
        const about = `seed ${seed}: ${log.join("")}`;
        await within(Promise.all(done), 2_000).catch((error) => {
          throw new Error(`${about}: ${error}`);
        });
        let view = await handles[0]!.read();
        const calls = (source: string) => view.ledger.find((row) => row.source === source)?.calls ?? 0;
        // What was paid beside something else is booked when that is done.
        for (let wait = 0; wait < 50 && calls("app") < did.completions; wait++) {
          await passed(2);
          view = await handles[0]!.read();
        }
        expect(overlaps, about).toEqual([]);
        expect(await handles[0]!.query(plugin, "now"), about).toEqual({ turns: did.turns, commands: did.commands });
        expect(view.turns, about).toBe(did.turns);
        const nodes = await nodesOf(store, handles[0]!);
        expect(nodes.filter((node) => node.startsWith("a/witness event")).length, about).toBe(did.events);
        expect(nodes.filter((node) => node.startsWith("app note")).length, about).toBe(did.notes);
        expect([calls("app"), calls("task")], about).toEqual([did.completions, did.tasks]);
        await within(runtime.close(), 2_000);
      }
    });
    expect(failures).toEqual([]);
  },
  30_000,
);

test.each(ANSWERING)(
  "K13 a turn that is started the moment another ends goes before or after the command that waits, and neither hangs, on a store that answers %s",
  async (_, makeStore) => {
    const { plugin } = witness();
    const runtime = await running({ store: makeStore(), model: sleepy(() => 5), plugins: [plugin], tools: [nap] });
    await using __ = runtime;
    const session = await runtime.session("s");
    const first = session.turn("One.");
    await first.id;
    const command = session.command(plugin, "add", { ticks: 3, fails: false });
    await first.result();
    const second = session.turn("Two.").result();
    await within(Promise.all([command, second]));
    expect(await session.query(plugin, "now")).toEqual({ turns: 2, commands: 1 });
  },
);

test("K13 a turn that follows another does not wait for a clock, on a store that answers later", async () => {
  const { plugin } = witness();
  const stalls: number[] = [];
  for (let wait = 0; wait < 60; wait++) {
    const runtime = await running({ store: slowly(memory()), model: sleepy(() => 0), plugins: [plugin] });
    const session = await runtime.session("s");
    const command = session.command(plugin, "add", { ticks: 5, fails: false });
    await ticks(wait);
    await session.turn("One.").result();
    await ticks(wait);
    const began = performance.now();
    await session.turn("Two.").result();
    if (performance.now() - began > 150) stalls.push(wait);
    await command;
    await runtime.close();
  }
  expect(stalls).toEqual([]);
}, 20_000);
