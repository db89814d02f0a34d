// One cell: `node --expose-gc bench/worker.ts <side> <workload> [cpu|calls|promises|kb] [long]` prints its figure. A
// process of its own for each, so that no side runs on code that was optimised for another.
import { HOOK_WORKLOADS } from "./hooks.ts";
import { METERS, type MeterName } from "./meters.ts";
import { type OwnWorkload, openerOf } from "./own.ts";
import * as script from "./script.ts";
import { TOOL_WORKLOADS } from "./tools.ts";
import { WORKLOADS } from "./workloads.ts";

const [side = "", id = "", meter = "cpu", length] = process.argv.slice(2);

const own = HOOK_WORKLOADS[id] ?? TOOL_WORKLOADS[id] ?? (await other());
if (own !== undefined) {
  console.log(await own.measure(side === "floor" ? "floor" : "bowline", METERS[meter as MeterName]));
} else {
  const open = await openerOf(side);
  const agent = await open({ script, durable: false });
  const figure = await WORKLOADS[id]!.measure(agent, METERS[meter as MeterName]);
  await agent.close();
  console.log(figure);
}

/** Loaded only when asked for: in a short workload it shows what else a process has loaded. */
async function other(): Promise<OwnWorkload | undefined> {
  if (WORKLOADS[id] !== undefined) return undefined;
  if (id.startsWith("S-")) return (await import("./sessions.ts")).SESSION_WORKLOADS[id];
  return (await import("./durable.ts")).durableWorkloads(length === "long")[id];
}
