// The cost of many tools: Bowline with a thousand of them against itself with one, and how often a schema is compiled.
import type { Tool } from "bowline";
import { opened } from "./own.ts";
import { built } from "./sides.ts";
import type { Workloads } from "./workloads.ts";

const MANY = 1_000;
const COMPOSE_US = 10_000;
/** Runs before measuring: no measured turn is the first of its process, and all of the `SESSIONS` are open by then. */
const WARM_UPS = 600;
const SESSIONS = 100;
const COMPILED = 10;
const TURNS = 20;

export const TOOL_WORKLOADS: Workloads = {
  "T-catalog": {
    about: `a new runtime of ${MANY} tools and its first turn, at most ${COMPOSE_US / 1_000} ms over one of one tool`,
    unit: "cpu us/runtime",
    goal: (floor) => Math.round((10 * (floor + COMPOSE_US)) / floor) / 10,
    async measure(side, meter) {
      const warm = await opened({ tools: await toolsOf(1) });
      for (let index = 0; index < WARM_UPS; index++) await warm(`s${index}`, "text");
      const tools = await toolsOf(side === "floor" ? 1 : MANY);
      return meter(0, 5, async () => (await opened({ tools }))("s", "text"));
    },
  },
  [`T-turn${MANY}`]: {
    about: `a text reply with ${MANY} tools, not the first; the floor is Bowline with one`,
    unit: "cpu us/turn",
    goal: () => 1.2,
    async measure(side, meter) {
      const turn = await opened({ tools: await toolsOf(side === "floor" ? 1 : MANY) });
      return meter(WARM_UPS, 3_000, (index) => turn(`s${index % SESSIONS}`, "text"));
    },
  },
  [`T-session${MANY}`]: {
    about: `the same in a session that is new, of a runtime that is not`,
    unit: "cpu us/session",
    goal: () => 1.2,
    async measure(side, meter) {
      const turn = await opened({ tools: await toolsOf(side === "floor" ? 1 : MANY) });
      return meter(WARM_UPS, 2_000, (index) => turn(`s${index}`, "text"));
    },
  },
  "T-compile": {
    about: `${TURNS} turns that call ${COMPILED} tools whose schemas are not plain; the floor compiles each schema once`,
    unit: "functions compiled",
    isCount: true,
    goal: () => 1,
    async measure(side) {
      const compiled = countCompiled();
      if (side === "floor") {
        const { Ajv2020 } = await import("ajv/dist/2020.js");
        const ajv = new Ajv2020({ strict: false });
        for (let index = 0; index < COMPILED; index++) ajv.compile(unplain(index))({});
      } else {
        const { defineTool } = await built();
        const tools = Array.from({ length: COMPILED }, (_, index) =>
          defineTool({ name: `tool_${index}`, description: "Echo.", input: unplain(index), execute: () => "echo" }),
        );
        // Each tool is called twice, so that a call meets a schema that another call is still having compiled.
        const calls = [...tools, ...tools].map(({ name }) => name);
        const turn = await opened({ tools, calls });
        for (let index = 0; index < TURNS; index++) await turn(`s${index % 2}`, "calls");
      }
      return compiled();
    },
  },
};

/** Tools like those of real servers: a few fields with some words for each. */
async function toolsOf(count: number): Promise<readonly Tool[]> {
  const { defineTool } = await built();
  return Array.from({ length: count }, (_, index) =>
    defineTool({
      name: `tool_${index}`,
      description: `Looks up what number ${index} stands for, and where it was seen last.`,
      input: {
        type: "object",
        properties: {
          query: { type: "string", description: "What to look for.", minLength: 1 },
          limit: { type: "integer", minimum: 1, maximum: 100, default: 10 },
          order: { type: "string", enum: ["newest", "oldest"] },
          tags: { type: "array", items: { type: "string" }, maxItems: 20 },
        },
        required: ["query"],
        additionalProperties: false,
      },
      execute: () => "found",
    }),
  );
}

const unplain = (index: number) => ({
  type: "object",
  properties: { [`field_${index}`]: { anyOf: [{ type: "string" }, { type: "null" }] } },
});

/** Counts compiled schemas by way of `new Function`, which Ajv makes its checks with. */
function countCompiled(): () => number {
  let count = 0;
  globalThis.Function = new Proxy(Function, {
    construct(target, args) {
      count++;
      return Reflect.construct(target, args);
    },
  });
  return () => count;
}
