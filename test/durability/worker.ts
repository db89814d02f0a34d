// A worker process: its runtime runs what others send, until a signal ends it. It prints where it is.
import { appendFileSync } from "node:fs";
import { createRuntime, defineTool } from "bowline";
import { sqlite } from "bowline/stores/sqlite";
import { calls, recited, says } from "bowline/testing";

export interface WorkerOrders {
  readonly database: string;
  /** Each call of the model and of a tool adds its name to this file when it begins. */
  readonly ledger: string;
  /** What the tool `pack` does: it returns, or waits until its signal aborts, or never returns. */
  readonly pack: "returns" | "waits" | "hangs";
  readonly graceMs: number;
}

const { database, ledger, pack, graceMs } = JSON.parse(process.argv[2] ?? "") as WorkerOrders;
const begins = (what: string): void => appendFileSync(ledger, `${what}\n`);
const tool = (name: string, execute: (signal: AbortSignal) => unknown) =>
  defineTool({
    name,
    description: `Does ${name}.`,
    input: { type: "object" },
    execute: (_, { signal }) => {
      begins(name);
      return execute(signal);
    },
  });

const model = recited(calls("look", {}), calls("pack", {}), says("Packed."));
const runtime = await createRuntime({
  store: sqlite(database, { durability: "process" }),
  model: {
    ...model,
    stream(request, options) {
      begins(`reply ${request.messages.filter(({ role }) => role === "assistant").length + 1}`);
      return model.stream(request, options);
    },
  },
  tools: [
    tool("look", () => "A suitcase."),
    tool("pack", async (signal) => {
      console.log("packing");
      if (pack === "waits") await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      if (pack === "hangs") await new Promise(() => {});
      return "Packed.";
    }),
  ],
});
const closed = runtime.run({ graceMs });
console.log("ready");
await closed;
console.log("closed");
