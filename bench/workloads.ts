import assert from "node:assert/strict";
import type { Agent, Opening } from "./agent.ts";
import type { Meter } from "./meters.ts";
import * as script from "./script.ts";
import { openerOf, type Side } from "./sides.ts";

export interface Workload {
  readonly about: string;
  readonly unit: string;
  /** It has its own way of measuring, so no other meter can be applied. */
  readonly isCount?: true;
  /** The goal is a number of units, whatever the floor needs. */
  readonly isAbsolute?: true;
  /** Reports, and has its goal for, what Bowline adds to the floor. */
  readonly isAdded?: true;
  /** Most of it runs on optimised code. */
  readonly isWarm?: true;
  /** The least number of rounds, for workloads in which a single round says little. */
  readonly roundsMin?: number;
  /** The largest number of rounds, for workloads that take long; `--rounds` may ask for more. */
  readonly roundsMax?: number;
  /** The goal: at most this many times the floor. */
  goal?(floor: number): number;
  measure(side: Side, meter: Meter): Promise<number>;
}

export interface Workloads {
  readonly [id: string]: Workload;
}

const DELTAS = 5_000;
const CALLS = 50;
const SESSIONS = 1_000;
const WARMER = 10;

/**
 * Makes two workloads of one: in a fresh process, and in one that runs ten times as much before and while it is
 * measured.
 */
export function coldAndWarm(id: string, cold: Workload): Workloads {
  const warm: Workload = {
    ...cold,
    about: `${cold.about}; warm`,
    isWarm: true,
    measure: (side, meter) => cold.measure(side, (warmUps, runs, run) => meter(WARMER * warmUps, WARMER * runs, run)),
  };
  return { [id]: cold, [`${id}.warm`]: warm };
}

export const WORKLOADS: Workloads = {
  ...coldAndWarm("W1", {
    about: "a text reply",
    unit: "cpu us/turn",
    goal: () => 5,
    measure: (side, meter) =>
      inMemory(side, (agent) => meter(300, 1_000, (index) => expectAnswer(agent, `s${index}`, "text", 0))),
  }),
  ...coldAndWarm("W2", {
    about: "ten rounds of one call, then text",
    unit: "cpu us/turn",
    goal: () => 4,
    measure: (side, meter) => inMemory(side, (agent) => tenRounds(agent, meter)),
  }),
  "W2.zod": {
    about: "the same with a zod schema; the floor is Bowline with a JSON Schema",
    unit: "cpu us/turn",
    goal: () => 1.15,
    async measure(side, meter) {
      const { z } = await import("zod");
      const options = side === "floor" ? {} : { input: z.object({ n: z.number() }) };
      return inMemory("bowline", (agent) => tenRounds(agent, meter), options);
    },
  },
  ...coldAndWarm("W5", {
    about: `a reply of ${DELTAS} deltas`,
    unit: "cpu us/delta",
    goal: () => 3,
    measure: (side, meter) =>
      inMemory(side, async (agent) => (await meter(3, 10, (index) => expectDeltas(agent, `s${index}`))) / DELTAS),
  }),
  ...coldAndWarm("W6", {
    about: `${CALLS} calls in one reply, then text`,
    unit: "cpu us/call",
    goal: () => 4,
    measure: (side, meter) =>
      inMemory(side, async (agent) => {
        const turn = (index: number) => expectAnswer(agent, `s${index}`, `par:${CALLS}`, CALLS);
        return (await meter(30, 100, turn)) / CALLS;
      }),
  }),
  W7: {
    about: `${SESSIONS} sessions at once, a text reply each`,
    unit: "wall us/session",
    isCount: true,
    goal: () => 7,
    measure: (side) => inMemory(side, wallOfManySessions),
  },
};

export async function inMemory(
  side: Side,
  measure: (agent: Agent) => Promise<number>,
  options: Partial<Opening> = {},
): Promise<number> {
  const open = await openerOf(side);
  const agent = await open({ script, durable: false, ...options });
  const figure = await measure(agent);
  await agent.close();
  return figure;
}

export const tenRounds = (agent: Agent, meter: Meter): Promise<number> =>
  meter(50, 150, (index) => expectAnswer(agent, `s${index}`, "loop:10", 10));

export async function expectAnswer(agent: Agent, sessionId: string, input: string, tools: number): Promise<void> {
  const before = script.stats.tools;
  const text = await agent.turn(sessionId, input);
  // Without `assert`, which would be a good part of the floor's cost.
  if (text !== script.TEXT) throw new Error(`The answer was ${JSON.stringify(text)}.`);
  const called = script.stats.tools - before;
  if (called !== tools) throw new Error(`${called} calls were made, not ${tools}.`);
}

async function expectDeltas(agent: Agent, sessionId: string): Promise<void> {
  let deltas = 0;
  let characters = 0;
  await agent.stream(sessionId, `stream:${DELTAS}`, (delta) => {
    deltas++;
    characters += delta.length;
  });
  assert.equal(deltas, DELTAS);
  assert.equal(characters, DELTAS * script.DELTA.length);
}

/** Microseconds per session. */
async function wallOfManySessions(agent: Agent): Promise<number> {
  const turns = (prefix: string, count: number) =>
    Promise.all(Array.from({ length: count }, (_, index) => agent.turn(`${prefix}${index}`, "text")));
  await turns("warm", 50);
  globalThis.gc?.();
  const before = performance.now();
  const texts = await turns("s", SESSIONS);
  const ms = performance.now() - before;
  assert.ok(texts.every((text) => text === script.TEXT));
  await expectAnswer(agent, "s7", "text", 0);
  assert.ok(script.stats.promptMessages >= 3, "The second turn was shown the first one.");
  return (ms * 1_000) / SESSIONS;
}
