// Bowline against itself: the same turns with and without what a workload is about.
import type { Plugin, Tool } from "bowline";
import type { ModelPart, Provider } from "bowline/provider";
import { TEXT } from "./script.ts";
import { built } from "./sides.ts";

export interface Setting {
  readonly plugins?: readonly Plugin[];
  readonly tools: readonly Tool[];
  /** The tools that the model calls when it is sent "calls". */
  readonly calls?: readonly string[];
}

export async function opened({
  plugins = [],
  tools,
  calls = [],
}: Setting): Promise<(sessionId: string, input: "text" | "calls") => Promise<void>> {
  const { createRuntime, memory } = await built();
  const runtime = await createRuntime({ store: memory(), model: modelThatCalls(calls), tools, plugins });
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

/** A model that calls these tools when it is asked to, and then answers. */
export const modelThatCalls = (names: readonly string[]): Provider => ({
  id: "bench",
  modelId: "own",
  async *stream({ messages }) {
    const last = messages.at(-1)?.parts[0];
    if (last?.kind !== "text" || last.text !== "calls") return yield REPLY;
    const calls = names.map((name, index) => ({ kind: "call" as const, callId: `call_${index}`, name, input: {} }));
    yield [...calls, { kind: "finish", reason: "calls", usage: USAGE }];
  },
});
