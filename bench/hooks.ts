// The cost of plugins: Bowline with them against Bowline without, and a handler against a plain call of the same
// function.
import type { Plugin } from "bowline";
import { opened } from "./own.ts";
import { built, type Side } from "./sides.ts";
import { coldAndWarm, inMemory, tenRounds, type Workloads } from "./workloads.ts";

const PLUGINS = 20;
/** All of them are open by the end of the warm-up, so that only turns are measured. */
const SESSIONS = 100;
const CALLS = 10;
const HANDLERS = 200;
const OVER_US = 2;

export const HOOK_WORKLOADS: Workloads = {
  "K-idle": {
    about: `a text reply with ${PLUGINS} plugins that use no hook; the floor is Bowline without plugins`,
    unit: "cpu us/turn",
    goal: () => 1.2,
    async measure(side, meter) {
      const { definePlugin } = await built();
      const turn = await echoing(pluginsOf(side, (id) => definePlugin({ id, setup: () => ({}) })));
      return meter(10 * SESSIONS, 3_000, (index) => turn(`s${index % SESSIONS}`, "text"));
    },
  },
  "K-prompt": {
    about: `what ${PLUGINS} plugins add to a warm text reply that each give a constant part of the prompt`,
    unit: "cpu us added/turn",
    isAdded: true,
    async measure(side, meter) {
      const { definePlugin } = await built();
      const prompt = () => ({ slot: "guidance" as const, text: "Answer in the user's language." });
      const turn = await echoing(pluginsOf(side, (id) => definePlugin({ id, setup: () => ({ prompt }) })));
      return meter(30 * SESSIONS, 100 * SESSIONS, (index) => turn(`s${index % (10 * SESSIONS)}`, "text"));
    },
  },
  ...coldAndWarm("K-gates", {
    about: `W2 with ${PLUGINS} plugins whose beforeToolCall lets every call pass; the floor is Bowline without plugins`,
    unit: "cpu us/turn",
    async measure(side, meter) {
      const { definePlugin } = await built();
      const beforeToolCall = () => undefined;
      const plugins = pluginsOf(side, (id) => definePlugin({ id, setup: () => ({ beforeToolCall }) }));
      return inMemory("bowline", (agent) => tenRounds(agent, meter), { plugins });
    },
  }),
  "K-call": {
    about: `a beforeToolCall handler, turn included, at most ${OVER_US} us over calling the function`,
    unit: "us/call",
    goal: (floor) => Math.round((floor + OVER_US) / floor),
    async measure(side, meter) {
      const perTurn = CALLS * HANDLERS;
      let characters = 0;
      const look = ({ call }: { readonly call: { readonly name: string } }): void => {
        characters += call.name.length;
      };
      let figure: number;
      if (side === "floor") {
        const events = Array.from({ length: perTurn }, () => ({ call: { name: "echo" } }));
        figure = await meter(SESSIONS, 300, async () => events.forEach(look));
      } else {
        const { definePlugin } = await built();
        const setup = () => ({ beforeToolCall: Array.from({ length: HANDLERS }, () => look) });
        const turn = await echoing([definePlugin({ id: "bench/looks", setup })]);
        figure = await meter(SESSIONS, 300, (index) => turn(`s${index % SESSIONS}`, "calls"));
      }
      if (characters === 0 || characters % (perTurn * 4) !== 0) throw new Error("Not every handler was called.");
      return figure / perTurn;
    },
  },
};

/** Makes the plugins; the floor has none. */
function pluginsOf(side: Side, make: (id: string) => Plugin): readonly Plugin[] {
  return Array.from({ length: side === "floor" ? 0 : PLUGINS }, (_, index) => make(`bench/plugin-${index}`));
}

async function echoing(plugins: readonly Plugin[]): ReturnType<typeof opened> {
  const { defineTool } = await built();
  const echo = defineTool({ name: "echo", description: "Echo.", input: { type: "object" }, execute: () => "echo" });
  return opened({ plugins, tools: [echo], calls: Array.from({ length: CALLS }, () => "echo") });
}
