// Compares the built Bowline with the hand-written floor and reports medians; `npm run bench -- --help` says how to ask.
// The sides alternate (floor, Bowline, floor, …), each in a fresh process, so that other load on the machine meets both.
// A workload that is named in --workloads is measured warm, too.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { codeWorkloads } from "./code.ts";
import { CODE_MODE_WORKLOADS } from "./code-mode.ts";
import { durableWorkloads } from "./durable.ts";
import { HOOK_WORKLOADS } from "./hooks.ts";
import { httpWorkloads } from "./http.ts";
import { firstTurnMs, importMs, install, processMs } from "./install.ts";
import { jobWorkloads } from "./jobs.ts";
import { METERS, median } from "./meters.ts";
import { parkedWorkloads } from "./parked.ts";
import { PATHS, pathOf, type WalkedTurn } from "./path.ts";
import { postgresWorkloads } from "./postgres.ts";
import { postgresSizes } from "./postgres-size.ts";
import { recordWorkloads } from "./records.ts";
import { addedTo, asJson, asTable, compared, type Row } from "./report.ts";
import { findPostgres, POSTGRES_ABSENT } from "./server.ts";
import { SESSION_WORKLOADS } from "./sessions.ts";
import type { Side } from "./sides.ts";
import { TOOL_WORKLOADS } from "./tools.ts";
import { WORKLOADS, type Workload, type Workloads } from "./workloads.ts";

const IMPORT_MS_MAX = 40;
const HELP_MS_MAX = 120;
const MEGABYTES_MAX = 10;
const PACKAGES_MAX = 10;
const SIZES = "PG-size";
const NEEDS_SERVER = "PG-";

const { values: options } = parseArgs({
  options: {
    workloads: { type: "string" },
    cold: { type: "boolean", default: false },
    warm: { type: "boolean", default: false },
    rounds: { type: "string" },
    quick: { type: "boolean", default: false },
    long: { type: "boolean", default: false },
    count: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const isCounting = options.count !== undefined;
const meter = options.count ?? "cpu";
const measurable: Workloads = {
  ...WORKLOADS,
  ...durableWorkloads(options.long),
  ...HOOK_WORKLOADS,
  ...TOOL_WORKLOADS,
  ...SESSION_WORKLOADS,
  ...parkedWorkloads(options.long),
  ...postgresWorkloads(options.long),
  ...jobWorkloads(),
  ...recordWorkloads(),
  ...httpWorkloads(),
  ...codeWorkloads(),
  ...CODE_MODE_WORKLOADS,
};
const known = isCounting
  ? Object.keys(measurable).filter((id) => measurable[id]?.isCount !== true && measurable[id]?.isWarm !== true)
  : [...Object.keys(measurable), ...Object.keys(PATHS), SIZES, "W8"];
const asked = options.workloads?.toLowerCase().split(",") ?? known.map((id) => id.toLowerCase());
const unknown = asked.filter((name) => !known.some((id) => id.toLowerCase() === name));
const chosen = known.filter((id) => {
  if (!asked.includes(id.toLowerCase()) && !asked.some((name) => id.toLowerCase() === `${name}.warm`)) return false;
  const isWarm = measurable[id]?.isWarm === true;
  return (!options.warm || isWarm) && (!options.cold || !isWarm);
});
const rounds = Number(options.rounds ?? (isCounting ? 1 : options.quick ? 2 : 7));
if (unknown.length > 0 || !Object.hasOwn(METERS, meter) || !(rounds >= 1)) {
  console.error(`Known here are the workloads ${known}, the counts calls, promises and kb, and 1 round or more.`);
  process.exit(2);
}

const rows: Row[] = [];
const hasServer = findPostgres() !== undefined;
const leftOut = hasServer ? [] : chosen.filter((id) => id.startsWith(NEEDS_SERVER));
if (leftOut.length > 0) console.error(`Left out are ${leftOut.join(", ")}. ${POSTGRES_ABSENT}`);
for (const id of chosen) {
  if (leftOut.includes(id)) continue;
  console.error(`${id} …`);
  try {
    const found = await measured(id);
    rows.push(...found);
    if (options.json) for (const row of found) console.log(asJson(row));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
if (!options.json) console.log(asTable(rows));

async function measured(id: string): Promise<Row[]> {
  if (measurable[id] !== undefined) return [measure(id, measurable[id])];
  if (id === SIZES) return postgresSizes(options.long);
  return PATHS[id] === undefined ? measureInstallation() : walk(id, PATHS[id]);
}

function measure(id: string, workload: Workload): Row {
  const floor: number[] = [];
  const bowline: number[] = [];
  const isFixed = options.rounds !== undefined || options.quick || isCounting;
  const { roundsMin = 0, roundsMax = Infinity } = workload;
  const times = isFixed ? rounds : Math.min(Math.max(rounds, roundsMin), roundsMax);
  for (let round = 0; round < times; round++) {
    floor.push(cell("floor", id));
    bowline.push(cell("bowline", id));
  }
  const { about, unit, isAbsolute, isAdded } = workload;
  if (isCounting) return { workload: id, about, unit: `${meter}/${unit.split("/")[1]}`, ...compared(floor, bowline) };
  const goal = workload.goal?.(median(floor));
  const row = { workload: id, about, unit, ...(goal === undefined ? {} : { goal }) };
  if (isAdded) return { ...row, floor: median(floor), bowline: addedTo(floor, bowline), ratio: null };
  if (isAbsolute) return { ...row, floor: median(floor), bowline: median(bowline), ratio: null };
  return { ...row, ...compared(floor, bowline) };
}

async function walk(id: string, turn: WalkedTurn): Promise<Row[]> {
  const path = await pathOf("dist", turn);
  const calls = path.reduce((sum, passed) => sum + passed.calls, 0);
  const row = { about: turn.about, floor: null, ratio: null };
  return [
    { workload: id, unit: "functions/turn", ...row, bowline: path.length },
    { workload: `${id}.calls`, unit: "calls/turn", ...row, bowline: calls },
  ];
}

function cell(side: Side, id: string): number {
  const worker = join(import.meta.dirname, "worker.ts");
  const args = ["--expose-gc", "--disable-warning=ExperimentalWarning", worker, side, id, meter];
  if (options.long) args.push("long");
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 300_000 });
  if (status !== 0) throw new Error(`${id} of ${side} failed:\n${stderr}`);
  return Number(stdout);
}

function measureInstallation(): Row[] {
  using installation = install();
  const { megabytes, packages, folder } = installation;
  const floor: number[] = [];
  const bowline: number[] = [];
  const turn: number[] = [];
  const node: number[] = [];
  const help: number[] = [];
  for (let round = 0; round < rounds; round++) {
    floor.push(importMs("node:sqlite", folder));
    bowline.push(importMs("bowline", folder));
    turn.push(firstTurnMs(folder));
    node.push(processMs(["--eval", "0"], folder));
    help.push(processMs(["node_modules/bowline/dist/cli/main.js", "--help"], folder));
  }
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
    { workload: "W8.turn", about: "import and first turn, in memory", unit: "ms", ...alone, bowline: median(turn) },
    {
      workload: "W8.help",
      about: "`bowline --help`, whole process; the floor is an empty one",
      unit: "ms",
      floor: median(node),
      bowline: median(help),
      ratio: null,
      goal: HELP_MS_MAX,
    },
    { workload: "W8.size", about: "installed", unit: "MB", ...alone, bowline: megabytes, goal: MEGABYTES_MAX },
    { workload: "W8.packages", about: "installed", unit: "packages", ...alone, bowline: packages, goal: PACKAGES_MAX },
  ];
}
