// Kills processes that watch a command, and looks what is left of it: what `kills.test.ts` does with some and
// `test/long/monitors.test.ts` with all.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createRuntime, type JobRecord, type Runtime } from "bowline";
import { sqlite } from "bowline/stores/sqlite";
import { listener } from "../kit/models.ts";
import { eventually, saidIn } from "../kit/reading.ts";
import { processesOf, runsOf, WORD } from "./processes.ts";
import type { WatcherOrders, Write, WriteMoment } from "./watcher.ts";

/** All end by themselves within half a minute: a test that fails leaves nothing behind for ever. */
const LASTS = "n=0; while [ $n -lt 300 ]; do sleep 0.1; n=$((n + 1)); done";
/** The second line comes when the session was told of the first. */
const LINES = 'echo one; until [ -e "$TOLD" ]; do sleep 0.01; done; echo two';

/** Each prints two lines, and lasts if it is to. */
export const COMMANDS = {
  plain: { begins: LINES, lasts: LASTS },
  "one that ignores TERM": { begins: `trap '' TERM; ${LINES}`, lasts: LASTS },
  // Its shell ends when nobody reads any more what it prints.
  "one whose children outlive it": {
    begins: `sleep 30 & sleep 30 & ${LINES}`,
    lasts: "while echo more; do sleep 0.05; done",
  },
} as const;

export interface Case {
  readonly command: keyof typeof COMMANDS;
  readonly restarts: boolean;
  readonly dies?: WriteMoment;
  readonly leaves?: WatcherOrders["leaves"];
}

/** What was watched by a process that is gone. */
interface Left extends AsyncDisposable {
  /** Processes of the command, and whose runs of it there are. */
  count(): number;
  runs(): readonly string[];
  /** Goes on in this process. */
  open(recover: "auto" | "manual"): Promise<Runtime>;
}

/** When a process counts as stuck. */
const WATCHER_MS = 10_000;

/** Whether its command ends by itself before the process does. */
const isEnding = ({ dies, leaves }: Case): boolean => dies?.endsWith(" end") === true && leaves === undefined;

export async function left(of: Case, execArgv: readonly string[]): Promise<Left> {
  const { dies, leaves, restarts } = of;
  const folder = mkdtempSync(join(tmpdir(), "bowline-watch-"));
  const database = join(folder, "agent.db");
  const word = randomUUID();
  const { begins, lasts } = COMMANDS[of.command];
  const orders: WatcherOrders = {
    ...{
      database,
      restarts,
      env: { [WORD]: word, TOLD: join(folder, "told") },
      command: `${begins}; ${isEnding(of) ? "exit 0" : lasts}`,
    },
    ...(dies === undefined ? {} : { dies }),
    ...(leaves === undefined ? {} : { leaves }),
  };
  const program = fileURLToPath(new URL("./watcher.ts", import.meta.url));
  const given = [...execArgv, "--disable-warning=ExperimentalWarning", program, JSON.stringify(orders)];
  const child = spawn(process.execPath, given, { stdio: ["ignore", "ignore", "inherit"] });
  const timer = setTimeout(() => child.kill("SIGTERM"), WATCHER_MS);
  const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
  clearTimeout(timer);
  const by = dies === undefined ? (leaves === "SIGTERM" ? leaves : null) : "SIGKILL";
  const isAsOrdered = signal === by && (by !== null || code === 0);
  if (!isAsOrdered) throw new Error(`The watcher was to end ${dies ?? leaves}, and ended with ${signal ?? code}.`);
  const opened: Runtime[] = [];
  return {
    count: () => processesOf(word).length,
    runs: () => runsOf(word),
    async open(recover) {
      const store = sqlite(database, { durability: "process" });
      const runtime = await createRuntime({ store, model: listener(), recover });
      opened.push(runtime);
      return runtime;
    },
    async [Symbol.asyncDispose]() {
      for (const runtime of opened) await runtime.close();
      for (const { pid } of processesOf(word)) process.kill(pid, "SIGKILL"); // Of a test that fails.
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** What another process does then. */
const WAYS = {
  recover: async (runtime) => void (await runtime.recover()),
  cancel: async (runtime) => {
    for (const { id } of await runtime.jobs.list({ isLive: true })) await runtime.jobs.cancel(id, "No need.");
  },
  delete: (runtime) => runtime.sessions.delete("desk"),
} as const satisfies Record<string, (runtime: Runtime) => Promise<void>>;
export type Way = keyof typeof WAYS;
export const ways = Object.keys(WAYS) as Way[];

/** Every command at every place. */
export const cases: readonly Case[] = (Object.keys(COMMANDS) as Case["command"][]).flatMap((command) =>
  [false, true].flatMap((restarts) => {
    const of = { command, restarts };
    const lasting = (["group", "wake", "line"] as const).flatMap((write) => around(of, write));
    const stopped = (["stop", "end"] as const).flatMap((write) => around({ ...of, leaves: "stop" }, write));
    return [...lasting, ...stopped, ...around(of, "end")];
  }),
);
function around(of: Case, write: Write): readonly Case[] {
  return (["before", "after"] as const).map((side) => ({ ...of, dies: `${side} ${write}` }));
}

export interface Judged {
  /** Of the job; none when its session was deleted. */
  readonly state?: string;
  /** How many runs of the command the process has left. */
  readonly before: number;
  /** How many runs of the command there are when that is so, and processes when the runtime is closed. */
  readonly runs: number;
  readonly left: number;
  /** How often the session was told that it is over. */
  readonly told: number;
}

export async function judged(of: Case, way: Way, execArgv: readonly string[]): Promise<Judged> {
  await using gone = await left(of, execArgv);
  const before = gone.runs().length;
  const runtime = await gone.open(way === "recover" ? "auto" : "manual");
  await WAYS[way](runtime);
  const job = way === "delete" ? undefined : await settled(runtime, gone, isEnding(of));
  const runs = gone.runs().length;
  const isTold = job !== undefined && ["abandoned", "completed", "failed"].includes(job.state);
  const told = await eventually(async () => {
    const ends = way === "delete" ? [] : (await toldIn(runtime)).filter((text) => text.includes("is over."));
    return ends.length > 0 || !isTold || way !== "recover" ? ends.length : undefined;
  }, SETTLED_MS);
  await runtime.close();
  const count = await eventually(() => (gone.count() === 0 ? 0 : undefined), GATE_MS).catch(() => gone.count());
  return { ...(job === undefined ? {} : { state: job.state }), before, runs, left: count, told };
}

const SETTLED_MS = 10_000;
/** A shell that waits ends by itself when its process does: that takes a moment. */
const GATE_MS = 1_000;

/** The job when it is over, or its latest run is there. */
function settled(runtime: Runtime, { runs }: Left, isEnding: boolean): Promise<JobRecord> {
  return eventually(async () => {
    const [job] = await runtime.jobs.list();
    if (job === undefined) throw new Error("There is no job.");
    const isRunning = !isEnding && runs().some((run) => run.startsWith(`${job.id}/${job.starts}/`));
    return job.endedAt !== undefined || isRunning ? job : undefined;
  }, SETTLED_MS);
}

const toldIn = async (runtime: Runtime): Promise<readonly string[]> => saidIn(await runtime.session("desk"));

export const titleOf = ({ command, restarts, dies, leaves }: Case, way: Way): string =>
  [
    `${command}${restarts ? ", to be restarted" : ""}`,
    ...(leaves === undefined ? [] : [leaves]),
    `killed ${dies}`,
    `then ${way}`,
  ].join(", ");

/** What must come of it. */
export function expected(of: Case, way: Way): Judged {
  const { dies, restarts, leaves } = of;
  const hasBegun = dies?.endsWith(" group") === false;
  const none = { before: hasBegun && !dies.endsWith(" end") ? 1 : 0, runs: 0, left: 0, told: 0 };
  if (way === "delete") return none;
  if (dies === "after end" && leaves === undefined)
    return { ...none, state: "completed", told: way === "recover" ? 1 : 0 }; // Who recovers nothing opens no turn.
  if (way === "cancel" || dies === "after stop" || (dies?.endsWith(" end") && leaves === "stop"))
    return { ...none, state: "cancelled" };
  if (restarts && isEnding(of)) return { ...none, state: "completed", told: 1 };
  if (restarts || dies === "before group") return { ...none, state: "running", runs: 1 };
  return { ...none, state: "abandoned", told: 1 };
}
