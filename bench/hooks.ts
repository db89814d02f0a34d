// What plugins cost: Bowline against itself without them, and a handler against a plain call of the same function.
import type { ModelPart, Plugin, Provider } from "bowline";
import type { Meter } from "./meters.ts";
import { TEXT } from "./script.ts";

type Side = "floor" | "bowline";

export interface HookWorkload {
  readonly about: string;
  readonly unit: string;
  /** At most so many times the floor. */
  goal(floor: number): number;
  measure(side: Side, meter: Meter): Promise<number>;
}

const IDLE = 20;
/** Open by the end of the warm-up, so that it is turns that are measured. */
const SESSIONS = 100;
const CALLS = 10;
const HANDLERS = 200;
const OVER_US = 2;

export const HOOK_WORKLOADS: { readonly [id: string]: HookWorkload } = {
  "K-idle": {
    about: `a text reply with ${IDLE} plugins that use no hook; the floor is Bowline without plugins`,
    unit: "cpu us/turn",
    goal: () => 1.2,
    async measure(side, meter) {
      const { definePlugin } = await built();
      const plugins = Array.from({ length: side === "floor" ? 0 : IDLE }, (_, index) =>
        definePlugin({ id: `bench/idle-${index}`, setup: () => ({}) }),
      );
      const turn = await opened(plugins);
      return meter(10 * SESSIONS, 3_000, (index) => turn(`s${index % SESSIONS}`, "text"));
    },
  },
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
        const turn = await opened([definePlugin({ id: "bench/looks", setup })]);
        figure = await meter(SESSIONS, 300, (index) => turn(`s${index % SESSIONS}`, "calls"));
      }
      if (characters === 0 || characters % (perTurn * 4) !== 0) throw new Error("Not every handler was called.");
      return figure / perTurn;
    },
  },
};

/** Not by a literal path: it may not have been built yet when this is checked. */
const built = (): Promise<typeof import("bowline")> => import(new URL("../dist/index.js", import.meta.url).href);

async function opened(plugins: readonly Plugin[]): Promise<(sessionId: string, input: string) => Promise<void>> {
  const { createRuntime, defineTool } = await built();
  const { memory }: typeof import("bowline/stores/memory") = await import(
    new URL("../dist/stores/memory.js", import.meta.url).href
  );
  const echo = defineTool({ name: "echo", description: "Echo.", input: { type: "object" }, execute: () => "echo" });
  const runtime = await createRuntime({ store: memory(), model, tools: [echo], plugins });
  return async (sessionId, input) => {
    const session = await runtime.session(sessionId);
    const { outcome } = await session.turn(input).result();
    if (outcome.kind !== "answered") throw new Error(`The turn ended otherwise: ${JSON.stringify(outcome)}`);
  };
}

const USAGE = { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0, unknownCalls: 0 };
const REPLY: readonly ModelPart[] = [
  { kind: "text", delta: TEXT },
  { kind: "finish", reason: "stop", usage: USAGE },
];

/** Calls `echo` when it is asked to, and then answers. */
const model: Provider = {
  id: "bench",
  modelId: "hooks",
  async *stream({ messages }) {
    const last = messages.at(-1)?.parts[0];
    if (last?.kind !== "text" || last.text !== "calls") return yield REPLY;
    const calls = Array.from({ length: CALLS }, (_, index) => ({
      kind: "call" as const,
      callId: `call_${index}`,
      name: "echo",
      input: {},
    }));
    yield [...calls, { kind: "finish", reason: "calls", usage: USAGE }];
  },
};
