import assert from "node:assert/strict";
import type { Agent } from "./agent.ts";
import type { Meter } from "./meters.ts";
import { DELTA, stats, TEXT } from "./script.ts";

export interface Workload {
  readonly about: string;
  /** What one of is measured. */
  readonly per: "turn" | "delta" | "call" | "session";
  /** At most so many times the floor. */
  readonly goal: number;
  readonly isWall?: true;
  measure(agent: Agent, meter: Meter): Promise<number>;
}

const DELTAS = 5_000;
const CALLS = 50;
const SESSIONS = 1_000;

export const WORKLOADS: { readonly [id: string]: Workload } = {
  W1: {
    about: "a text reply",
    per: "turn",
    goal: 5,
    measure: (agent, meter) => meter(300, 1_000, (index) => expectAnswer(agent, `s${index}`, "text", 0)),
  },
  W2: {
    about: "ten rounds of one call, then text",
    per: "turn",
    goal: 4,
    measure: (agent, meter) => meter(50, 150, (index) => expectAnswer(agent, `s${index}`, "loop:10", 10)),
  },
  W5: {
    about: `a reply of ${DELTAS} deltas`,
    per: "delta",
    goal: 3,
    async measure(agent, meter) {
      const perTurn = await meter(3, 10, (index) => expectDeltas(agent, `s${index}`, DELTAS));
      return perTurn / DELTAS;
    },
  },
  W6: {
    about: `${CALLS} calls in one reply, then text`,
    per: "call",
    goal: 4,
    async measure(agent, meter) {
      const perTurn = await meter(30, 100, (index) => expectAnswer(agent, `s${index}`, `par:${CALLS}`, CALLS));
      return perTurn / CALLS;
    },
  },
  W7: {
    about: `${SESSIONS} sessions at once, a text reply each`,
    per: "session",
    goal: 7,
    isWall: true,
    measure: (agent) => wallOfManySessions(agent),
  },
};

export async function expectAnswer(agent: Agent, sessionId: string, input: string, tools: number): Promise<void> {
  const before = stats.tools;
  const text = await agent.turn(sessionId, input);
  // Not with `assert`: it would be a good part of the floor.
  if (text !== TEXT) throw new Error(`The answer was ${JSON.stringify(text)}.`);
  if (stats.tools - before !== tools) throw new Error(`${stats.tools - before} calls were made, not ${tools}.`);
}

async function expectDeltas(agent: Agent, sessionId: string, expected: number): Promise<void> {
  let deltas = 0;
  let characters = 0;
  await agent.stream(sessionId, `stream:${expected}`, (delta) => {
    deltas++;
    characters += delta.length;
  });
  assert.equal(deltas, expected);
  assert.equal(characters, expected * DELTA.length);
}

/** Microseconds for each session. */
async function wallOfManySessions(agent: Agent): Promise<number> {
  const turns = (prefix: string, count: number) =>
    Promise.all(Array.from({ length: count }, (_, index) => agent.turn(`${prefix}${index}`, "text")));
  await turns("warm", 50);
  globalThis.gc?.();
  const before = performance.now();
  const texts = await turns("s", SESSIONS);
  const ms = performance.now() - before;
  assert.ok(texts.every((text) => text === TEXT));
  await expectAnswer(agent, "s7", "text", 0);
  assert.ok(stats.promptMessages >= 3, "The second turn was shown the first one.");
  return (ms * 1_000) / SESSIONS;
}
