// npm run bench -- [--workloads W1,K-idle] [--rounds 7] [--quick] [--long] [--count calls|promises|kb] [--json]
// Bowline as it is built against the hand-written floor, in turns (floor, Bowline, floor, Bowline, …), a fresh process
// for each, so that whatever else the machine does meets both. Reports medians.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { durableWorkloads } from "./durable.ts";
import { HOOK_WORKLOADS } from "./hooks.ts";
import { importMs, install } from "./install.ts";
import { METERS, median } from "./meters.ts";
import type { OwnWorkload } from "./own.ts";
import { asJson, asTable, compared, type Row } from "./report.ts";
import { SESSION_WORKLOADS } from "./sessions.ts";
import { TOOL_WORKLOADS } from "./tools.ts";
import { WORKLOADS, type Workload } from "./workloads.ts";

const IMPORT_MS_MAX = 50;
const MEGABYTES_MAX = 10;
const PACKAGES_MAX = 10;
/** From this difference on the choice of schema library is worth a word. */
const NOTABLE = 0.15;

const { values: options } = parseArgs({
  options: {
    workloads: { type: "string" },
    rounds: { type: "string" },
    quick: { type: "boolean", default: false },
    long: { type: "boolean", default: false },
    count: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const isCounting = options.count !== undefined;
const meter = options.count ?? "cpu";
const OWN: { readonly [id: string]: OwnWorkload } = {
  ...durableWorkloads(options.long),
  ...HOOK_WORKLOADS,
  ...TOOL_WORKLOADS,
  ...SESSION_WORKLOADS,
};
const all = [...Object.keys(WORKLOADS), ...Object.keys(OWN), "W8"];
const isCountable = (id: string) => id !== "W8" && WORKLOADS[id]?.isWall !== true && OWN[id]?.isCount !== true;
const known = isCounting ? all.filter(isCountable) : all;
const named = (asked: string) => known.find((id) => id.toLowerCase() === asked.toLowerCase()) ?? asked;
const chosen = options.workloads?.split(",").map(named) ?? known;
const rounds = Number(options.rounds ?? (isCounting ? 1 : options.quick ? 2 : 7));
if (!chosen.every((id) => known.includes(id)) || !Object.hasOwn(METERS, meter) || !(rounds >= 1)) {
  console.error(`Known here are the workloads ${known}, the counts calls, promises and kb, and 1 round or more.`);
  process.exit(2);
}

const rows: Row[] = [];
for (const id of chosen) {
  console.error(`${id} …`);
  try {
    const found = measured(id);
    rows.push(...found);
    if (options.json) for (const row of found) console.log(asJson(row));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
if (!options.json) console.log(asTable(rows));

function measured(id: string): Row[] {
  if (WORKLOADS[id] !== undefined) return [measure(id, WORKLOADS[id])];
  return OWN[id] === undefined ? measureInstallation() : [measureOwn(id, OWN[id])];
}

function measure(id: string, workload: Workload): Row {
  const floor: number[] = [];
  const bowline: number[] = [];
  const withZod: number[] = [];
  for (let round = 0; round < rounds; round++) {
    floor.push(cell("floor", id));
    bowline.push(cell("bowline", id));
    if (id === "W2" && !isCounting) withZod.push(cell("bowline-zod", id));
  }
  if (withZod.length > 0) noteZod(id, median(withZod) / median(bowline) - 1);
  const { about, per, isWall, goal } = workload;
  const unit = isCounting ? `${meter}/${per}` : `${isWall ? "wall" : "cpu"} us/${per}`;
  return { workload: id, about, unit, ...compared(floor, bowline), ...(isCounting ? {} : { goal }) };
}

function measureOwn(id: string, { about, unit, goal, isAbsolute }: OwnWorkload): Row {
  const floor: number[] = [];
  const bowline: number[] = [];
  for (let round = 0; round < rounds; round++) {
    floor.push(cell("floor", id));
    bowline.push(cell("bowline", id));
  }
  const found = { workload: id, about, ...compared(floor, bowline) };
  if (isCounting) return { ...found, unit: `${meter}/${unit.split("/")[1]}` };
  const row = { ...found, unit, goal: goal(median(floor)) };
  if (!isAbsolute) return row;
  const { spread: _, ...alone } = row;
  return { ...alone, ratio: null };
}

function noteZod(id: string, change: number): void {
  if (Math.abs(change) < NOTABLE) return;
  const percent = `${change > 0 ? "+" : ""}${(change * 100).toFixed(0)} %`;
  console.error(`${id} with a zod schema instead of a JSON Schema: ${percent}`);
}

function cell(side: string, id: string): number {
  const worker = join(import.meta.dirname, "worker.ts");
  const args = ["--expose-gc", "--disable-warning=ExperimentalWarning", worker, side, id, meter];
  if (options.long) args.push("long");
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 300_000 });
  if (status !== 0) throw new Error(`${id} of ${side} failed:\n${stderr}`);
  return Number(stdout);
}

function measureInstallation(): Row[] {
  using installation = install();
  const floor: number[] = [];
  const bowline: number[] = [];
  for (let round = 0; round < rounds; round++) {
    floor.push(importMs("node:sqlite", installation.folder));
    bowline.push(importMs("bowline", installation.folder));
  }
  const { megabytes, packages } = installation;
  const alone = { floor: 0, ratio: null };
  return [
    {
      workload: "W8",
      about: "import of the main entry; the floor is node:sqlite",
      unit: "ms",
      floor: median(floor),
      bowline: median(bowline),
      ratio: null,
      goal: IMPORT_MS_MAX,
    },
    { workload: "W8.size", about: "installed", unit: "MB", ...alone, bowline: megabytes, goal: MEGABYTES_MAX },
    { workload: "W8.packages", about: "installed", unit: "packages", ...alone, bowline: packages, goal: PACKAGES_MAX },
  ];
}
