// Measures one cell: `node --expose-gc bench/worker.ts <side> <workload> [cpu|calls|promises|kb] [long]` prints its
// figure. Each cell has its own process, so that no side runs on code that was optimised for another.
import { HOOK_WORKLOADS } from "./hooks.ts";
import { METERS, type MeterName } from "./meters.ts";
import type { Side } from "./sides.ts";
import { TOOL_WORKLOADS } from "./tools.ts";
import { WORKLOADS, type Workload } from "./workloads.ts";

const [side = "", id = "", meter = "cpu", length] = process.argv.slice(2);

const workload = WORKLOADS[id] ?? HOOK_WORKLOADS[id] ?? TOOL_WORKLOADS[id] ?? (await other());
console.log(await workload!.measure(side as Side, METERS[meter as MeterName]));

/** Loaded only when asked for: in a short workload the cost of loading other modules would show. */
async function other(): Promise<Workload | undefined> {
  if (id.startsWith("S-")) return (await import("./sessions.ts")).SESSION_WORKLOADS[id];
  if (id.startsWith("M-")) return (await import("./code-mode.ts")).CODE_MODE_WORKLOADS[id];
  if (id.startsWith("C-")) return (await import("./code.ts")).codeWorkloads()[id];
  if (id.startsWith("J-")) return (await import("./jobs.ts")).jobWorkloads()[id];
  if (id.startsWith("PG-")) return (await import("./postgres.ts")).postgresWorkloads(length === "long")[id];
  if (id.startsWith("R-")) return (await import("./records.ts")).recordWorkloads()[id];
  if (id.startsWith("H-")) return (await import("./http.ts")).httpWorkloads()[id];
  if (id.startsWith("P-")) return (await import("./parked.ts")).parkedWorkloads(length === "long")[id];
  return (await import("./durable.ts")).durableWorkloads(length === "long")[id];
}
