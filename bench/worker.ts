// One cell: `node --expose-gc bench/worker.ts <side> <workload> [cpu|calls|promises|kb]` prints its figure. A process
// of its own for each, so that no side runs on code that was optimised for another.
import type { Open } from "./agent.ts";
import { HOOK_WORKLOADS } from "./hooks.ts";
import { METERS, type MeterName } from "./meters.ts";
import * as script from "./script.ts";
import { TOOL_WORKLOADS } from "./tools.ts";
import { WORKLOADS } from "./workloads.ts";

const [side = "", id = "", meter = "cpu"] = process.argv.slice(2);

const open: Open = async (opening) => {
  if (side === "floor") return (await import("./floor.ts")).open(opening);
  // Not by a literal path: it has no types and reads what the build made.
  const adapter: { readonly open: Open } = await import(new URL("adapter.mjs", import.meta.url).href);
  if (side === "bowline") return adapter.open(opening);
  const { z } = await import("zod");
  return adapter.open({ ...opening, input: z.object({ n: z.number() }) });
};

const own = HOOK_WORKLOADS[id] ?? TOOL_WORKLOADS[id];
if (own !== undefined) {
  console.log(await own.measure(side === "floor" ? "floor" : "bowline", METERS[meter as MeterName]));
} else {
  const agent = await open({ script, durable: false });
  const figure = await WORKLOADS[id]!.measure(agent, METERS[meter as MeterName]);
  await agent.close();
  console.log(figure);
}
