// The cost of losing nothing: Bowline on a file against a hand-written loop that keeps every step of a turn in a file,
// too. The files are in TMPDIR. If that is not on a disk, a sync costs nothing and W3-power is meaningless.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Store } from "bowline";
import type { Agent, Opening } from "./agent.ts";
import { median, wall } from "./meters.ts";
import * as script from "./script.ts";
import { built, openerOf, type Side } from "./sides.ts";
import { expectAnswer, type Workload, type Workloads } from "./workloads.ts";
import { counted } from "./written.ts";

const KB = 1_024;
const TURNS = 2_000;
const TURNS_LONG = 10_000;
const YOUNG = 10;
const REOPENED = 500;
const SESSIONS = 200;
const SHARE = 0.6;

export function durableWorkloads(isLong: boolean): Workloads {
  const turns = isLong ? TURNS_LONG : TURNS;
  return {
    W3: {
      about: "ten rounds of one call, then text, safe from a kill; so are the floor's, a transaction for each step",
      unit: "cpu us/turn",
      goal: () => 2,
      measure: (side, meter) => onFile(side, (agent) => meter(100, 300, (index) => tenCalls(agent, `s${index}`))),
    },
    "W3.record": recordMs(
      "the first call of a process: from the return of its tool to the record of it",
      ([first]) => first!,
    ),
    "W3.record.later": recordMs("the same of the nine calls after it", ([, ...later]) => median(later)),
    "W3.disk": {
      about: "the same: by what the file grows when its log is folded in",
      unit: "KB/turn",
      isCount: true,
      isAbsolute: true,
      goal: () => 8,
      async measure(side) {
        using file = new File(side);
        const sizeAfter = async (prefix: string, count: number): Promise<number> => {
          const agent = await file.open();
          for (let index = 0; index < count; index++) await tenCalls(agent, `${prefix}${index}`);
          await agent.close();
          return file.bytes();
        };
        const before = await sizeAfter("before", 20);
        return ((await sizeAfter("s", 300)) - before) / 300 / KB;
      },
    },
    "W3-power": {
      about: "the same with durability power, which syncs twice a turn; the floor syncs once a turn",
      unit: "wall us/turn",
      isCount: true,
      goal: () => 2.5,
      measure: (side) =>
        onFile(side, (agent) => wall(50, 150, (index) => tenCalls(agent, `s${index}`)), { durability: "power" }),
    },
    "W3-power-all": {
      about: "the same with durability power-all; the floor syncs every step",
      unit: "wall us/turn",
      isCount: true,
      goal: () => 2,
      measure: (side) =>
        onFile(side, (agent) => wall(20, 50, (index) => tenCalls(agent, `s${index}`)), { durability: "power-all" }),
    },
    W4: {
      about: `${turns} turns of one session, one call each`,
      unit: "cpu us/turn",
      goal: () => 3,
      measure: (side, meter) => onFile(side, (agent) => meter(300, turns - 300, () => oneCall(agent, "s"))),
    },
    "W4.growth": {
      about: `turns from the ${turns}th on; the floor is Bowline from the ${YOUNG}th on, in a process that made as many`,
      unit: "cpu us/turn",
      goal: () => 1.2,
      measure(side, meter) {
        const old = side === "floor" ? turns - YOUNG : Infinity;
        return onFile("bowline", (agent) =>
          meter(turns, 500, (index) => oneCall(agent, index < old ? "old" : "young")),
        );
      },
    },
    "W4.disk": {
      about: `the file of ${turns} turns`,
      unit: "bytes/turn",
      isCount: true,
      goal: () => 1.5,
      async measure(side) {
        using file = new File(side);
        const agent = await file.open();
        for (let turn = 0; turn < turns; turn++) await oneCall(agent, "s");
        await agent.close();
        return file.bytes() / turns;
      },
    },
    "W4.reopen": {
      about: `a new runtime opens a session of ${REOPENED} turns and makes one more`,
      unit: "wall ms",
      isCount: true,
      isAbsolute: true,
      goal: () => 35,
      async measure(side) {
        using file = new File(side);
        const agent = await file.open();
        for (let turn = 0; turn < REOPENED; turn++) await oneCall(agent, "s");
        await agent.close();
        return await wallOfReopening(file);
      },
    },
    "W4.cold": {
      about: "the same as the first thing that a process does, but for imports",
      unit: "wall ms",
      isCount: true,
      isAbsolute: true,
      goal: () => 35,
      async measure(side) {
        using file = new File(side);
        file.fill(REOPENED);
        await openerOf(side);
        return await wallOfReopening(file);
      },
    },
    Bytes: {
      about: "bound to statements that write, in W3; the floor is what was said, called with and answered, as JSON",
      unit: "bytes/turn",
      isCount: true,
      goal: () => 3,
      async measure(side) {
        if (side === "floor") return contentBytes("loop:10");
        using file = new File(side);
        const { database, written } = counted(new DatabaseSync(file.path));
        const { sqlite } = await built();
        const agent = await file.open({ store: sqlite(database, { durability: "process" }) });
        for (let index = 0; index < 20; index++) await tenCalls(agent, `before${index}`);
        const before = written();
        for (let index = 0; index < 100; index++) await tenCalls(agent, `s${index}`);
        const bytes = (written() - before) / 100;
        await agent.close();
        return bytes;
      },
    },
    [`W-${SESSIONS}`]: {
      about: `${SESSIONS} sessions at once; the floor is Bowline with one alone, of whose turns/s are left at least ${SHARE * 100} %`,
      unit: "wall us/turn",
      isCount: true,
      goal: () => Math.round(100 / SHARE) / 100,
      measure: (side) => onFile("bowline", (agent) => wallOfSessions(agent, side === "floor" ? 1 : SESSIONS)),
    },
  };
}

const tenCalls = (agent: Agent, sessionId: string) => expectAnswer(agent, sessionId, "loop:10", 10);
const oneCall = (agent: Agent, sessionId: string) => expectAnswer(agent, sessionId, "loop:1", 1);

/**
 * Measures recording in a turn of ten calls, the first that a process makes. For the floor, a result counts as recorded
 * when the model is asked again.
 */
function recordMs(about: string, chosen: (calls: readonly number[]) => number): Workload {
  return {
    about,
    unit: "wall ms",
    isCount: true,
    isAbsolute: true,
    roundsMin: 10,
    async measure(side) {
      using file = new File(side);
      const calls: number[] = [];
      let returnedAt: number | undefined;
      const recorded = (): void => {
        if (returnedAt !== undefined) calls.push(performance.now() - returnedAt);
        returnedAt = undefined;
      };
      const runTool = (n: number): string => {
        const result = script.runTool(n);
        returnedAt = performance.now();
        return result;
      };
      const next: typeof script.next = (...args) => {
        recorded();
        return script.next(...args);
      };
      const agent =
        side === "floor"
          ? await file.open({ script: { ...script, runTool, next } })
          : await file.open({ script: { ...script, runTool }, store: await storeThatTells(file.path, recorded) });
      await tenCalls(agent, "s");
      await agent.close();
      if (calls.length !== 10) throw new Error(`${calls.length} of 10 results were recorded.`);
      return chosen(calls);
    },
  };
}

async function storeThatTells(path: string, recorded: () => void): Promise<Store> {
  const { sqlite } = await built();
  const store = sqlite(path, { durability: "process" });
  const append = store.append.bind(store);
  store.append = (lease, seq, events, ...rest) => {
    // Nobody else has the file open, so the append is synchronous.
    const until = append(lease, seq, events, ...rest);
    if (events.some(({ kind }) => kind === "returned")) recorded();
    return until;
  };
  return store;
}

async function wallOfReopening(file: File): Promise<number> {
  const before = performance.now();
  const agent = await file.open();
  await oneCall(agent, "s");
  const ms = performance.now() - before;
  if (script.stats.promptMessages < 4 * REOPENED) throw new Error("It began anew.");
  await agent.close();
  return ms;
}

/** Runs the same number of turns in all, however many sessions they are spread over. */
async function wallOfSessions(agent: Agent, sessions: number): Promise<number> {
  const turnsOf = async (each: number): Promise<void> => {
    const session = async (_: unknown, index: number): Promise<void> => {
      for (let turn = 0; turn < each; turn++) {
        const text = await agent.turn(`s${index}`, "loop:1");
        if (text !== script.TEXT) throw new Error(`The answer was ${JSON.stringify(text)}.`);
      }
    };
    await Promise.all(Array.from({ length: sessions }, session));
  };
  await turnsOf((5 * SESSIONS) / sessions);
  const before = performance.now();
  await turnsOf((10 * SESSIONS) / sessions);
  return ((performance.now() - before) * 1_000) / (10 * SESSIONS);
}

function contentBytes(input: string): number {
  const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
  let bytes = bytesOf(input);
  for (let results = 0; ; results++) {
    const saying = script.next(input, results, 0);
    if ("text" in saying) return bytes + bytesOf(saying.text);
    if (!("calls" in saying)) throw new Error("Nothing is streamed here.");
    for (const { n } of saying.calls) bytes += bytesOf({ n }) + bytesOf(script.runTool(n));
  }
}

async function onFile(
  side: Side,
  measure: (agent: Agent) => Promise<number>,
  options: Partial<Opening> = {},
): Promise<number> {
  using file = new File(side);
  const agent = await file.open(options);
  const figure = await measure(agent);
  await agent.close();
  return figure;
}

/** The folder in which one side keeps its sessions while it is measured. */
class File implements Disposable {
  readonly path: string;
  readonly #side: Side;
  readonly #dir = mkdtempSync(join(tmpdir(), "bowline-bench-"));

  constructor(side: Side) {
    this.#side = side;
    this.path = join(this.#dir, `${side}.db`);
  }

  async open(options: Partial<Opening> = {}): Promise<Agent> {
    const open = await openerOf(this.#side);
    return open({ script, durable: true, dir: this.#dir, ...options });
  }

  /** Fills the file from another process, so that the measured one has nothing in memory. */
  fill(turns: number): void {
    const args = [join(import.meta.dirname, "fill.ts"), this.#side, this.#dir, String(turns)];
    const { status, stderr } = spawnSync(process.execPath, [...process.execArgv, ...args], { encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
  }

  /** The size of the file. Call it when nobody has the file open. */
  bytes(): number {
    if (statSync(`${this.path}-wal`, { throwIfNoEntry: false }) !== undefined)
      throw new Error("Its log is still there.");
    return statSync(this.path).size;
  }

  [Symbol.dispose](): void {
    rmSync(this.#dir, { recursive: true, force: true });
  }
}
