// Bowline against itself: the same turns without what a workload is about.
import type { ModelPart, Plugin, Provider, Tool } from "bowline";
import type { Open } from "./agent.ts";
import type { Meter } from "./meters.ts";
import { TEXT } from "./script.ts";

export type Side = "floor" | "bowline";

export interface OwnWorkload {
  readonly about: string;
  readonly unit: string;
  /** It counts something of its own, so no other count makes sense of it. */
  readonly isCount?: true;
  /** The goal is so many units, whatever the floor needs. */
  readonly isAbsolute?: true;
  /** At most so many times the floor. */
  goal(floor: number): number;
  measure(side: Side, meter: Meter): Promise<number>;
}

/** How a side is opened by those workloads that drive both alike. */
export async function openerOf(side: string): Promise<Open> {
  if (side === "floor") return (await import("./floor.ts")).open;
  // Not by a literal path: it has no types and reads what the build made.
  const adapter: { readonly open: Open } = await import(new URL("adapter.mjs", import.meta.url).href);
  if (side !== "bowline-zod") return adapter.open;
  const { z } = await import("zod");
  return (opening) => adapter.open({ ...opening, input: z.object({ n: z.number() }) });
}

/** Not by a literal path: it may not have been built yet when this is checked. */
export const built = (): Promise<typeof import("bowline")> => import(new URL("../dist/index.js", import.meta.url).href);

export interface Setting {
  readonly plugins?: readonly Plugin[];
  readonly tools: readonly Tool[];
  /** In a reply to "calls". */
  readonly calls?: readonly string[];
}

export async function opened({
  plugins = [],
  tools,
  calls = [],
}: Setting): Promise<(sessionId: string, input: "text" | "calls") => Promise<void>> {
  const { createRuntime } = await built();
  const { memory }: typeof import("bowline/stores/memory") = await import(
    new URL("../dist/stores/memory.js", import.meta.url).href
  );
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

/** Calls these when it is asked to, and then answers. */
const modelThatCalls = (names: readonly string[]): Provider => ({
  id: "bench",
  modelId: "own",
  async *stream({ messages }) {
    const last = messages.at(-1)?.parts[0];
    if (last?.kind !== "text" || last.text !== "calls") return yield REPLY;
    const calls = names.map((name, index) => ({ kind: "call" as const, callId: `call_${index}`, name, input: {} }));
    yield [...calls, { kind: "finish", reason: "calls", usage: USAGE }];
  },
});
