// What turns cost that wait for somebody: held in memory, at start-up, while nothing happens, and once they are answered.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import type { Runtime, RuntimeOptions, Store, TurnResult } from "bowline";
import { heapBytes, median } from "./meters.ts";
import { modelThatCalls } from "./own.ts";
import { built, builtPlugin } from "./sides.ts";
import type { Workloads } from "./workloads.ts";

const TURNS = 2_000;
const TURNS_LONG = 10_000;
const IDLE_S = 10;
const IDLE_S_LONG = 60;
/** Of so many parked turns some are answered. How many others there are makes no difference. */
const ANSWERED_AMONG = 200;
const WAKES = 20;
/** Fewer, because each takes up to a second. */
const WAKES_OTHER = 5;
const WARM_UPS = 3;
const KB = 1_024;

export function parkedWorkloads(isLong: boolean): Workloads {
  const turns = isLong ? TURNS_LONG : TURNS;
  const seconds = isLong ? IDLE_S_LONG : IDLE_S;
  const own = { isCount: true, isAbsolute: true } as const;
  return {
    "P-held": {
      ...own,
      about: `each of ${turns} parked turns whose results are awaited; the floor is a pending promise in a map`,
      unit: "KB/turn",
      goal: () => 2,
      measure: (side) => (side === "floor" ? heldInMap(turns) : onFile((bank) => heldKb(bank, turns))),
    },
    "P-start": {
      ...own,
      about: `from createRuntime to the end of recover() with ${TURNS_LONG} parked turns; the floor has none`,
      unit: "wall ms",
      goal: () => 500,
      measure: (side) => onFile((bank) => startMs(bank, side === "floor" ? 0 : TURNS_LONG)),
    },
    "P-idle": {
      ...own,
      about: `a runtime with ${turns} parked turns whose results are awaited, for ${seconds} s; nothing is written`,
      unit: "store calls/s",
      goal: () => 1.1,
      measure: async (side) => (side === "floor" ? 0 : onFile((bank) => callsWhileIdle(bank, turns, seconds))),
    },
    "P-wake": {
      ...own,
      about: `from the answer to the end of one of ${ANSWERED_AMONG} parked turns; the floor is a whole turn that need not wait`,
      unit: "wall ms",
      goal: () => 20,
      measure: (side) => onFile((bank) => (side === "floor" ? unaskedMs(bank) : wakeMs(bank, WAKES))),
    },
    "P-wake.other": {
      ...own,
      about: "the same when another runtime on the file answers, just after a look; the floor answers in this one",
      unit: "wall ms",
      goal: () => 1_500,
      measure: (side) => onFile((bank) => wakeMs(bank, WAKES_OTHER, side === "bowline")),
    },
  };
}

async function heldInMap(turns: number): Promise<number> {
  const held = new Map<string, Promise<void>>();
  const before = heapBytes();
  for (let index = 0; index < turns; index++) held.set(`s${index}`, new Promise(() => {}));
  const bytes = (heapBytes() - before) / turns;
  // Uses them again, so that nothing measured was collected before.
  held.clear();
  return bytes / KB;
}

async function heldKb(bank: Bank, turns: number): Promise<number> {
  setFlagsFromString("--no-flush-bytecode"); // Else code that is dropped meanwhile would count as less held.
  const runtime = await bank.open();
  await bank.park(runtime, TURNS / 2);
  const before = heapBytes();
  await bank.park(runtime, turns);
  return (heapBytes() - before) / turns / KB;
}

async function startMs(bank: Bank, turns: number): Promise<number> {
  await bank.park(await bank.open(), turns);
  await bank.close();
  const before = performance.now();
  const runtime = await bank.open();
  const { sessions } = await runtime.recover();
  const ms = performance.now() - before;
  if (sessions > 0) throw new Error(`${sessions} sessions were resumed that nobody had answered.`);
  return ms;
}

async function callsWhileIdle(bank: Bank, turns: number, seconds: number): Promise<number> {
  const { sqlite } = await built();
  const { store, calls } = counted(sqlite(bank.path, { durability: "process" }));
  await bank.park(await bank.open({ store }), turns);
  await sleep(3_000); // The runtime looks once at what was parked since it last looked.
  using reader = new DatabaseSync(bank.path, { readOnly: true });
  // Differs when another connection has written since.
  const version = () => reader.prepare("PRAGMA data_version").get()!.data_version;
  const before = { version: version(), calls: calls() };
  await sleep(seconds * 1_000);
  if (version() !== before.version) throw new Error("Something was written.");
  return (calls() - before.calls) / seconds;
}

async function wakeMs(bank: Bank, times: number, isElsewhere = false): Promise<number> {
  const runtime = await bank.open();
  await bank.park(runtime, ANSWERED_AMONG);
  const { waits } = isElsewhere ? await bank.open({ recover: "manual" }) : runtime;
  return medianMs(times, async (index) => {
    const [wait] = await waits.list({ session: `s${index}` });
    const before = performance.now();
    await waits.resolve(wait!.key, { approved: true });
    bank.requirePaid(await bank.results[index]!, index + 1);
    return performance.now() - before;
  });
}

async function unaskedMs(bank: Bank): Promise<number> {
  const runtime = await bank.open({ plugins: [] });
  return medianMs(WAKES, async (index) => {
    const session = await runtime.session(`s${index}`);
    const before = performance.now();
    bank.requirePaid(await session.turn("calls").result(), index + 1);
    return performance.now() - before;
  });
}

async function medianMs(times: number, act: (index: number) => Promise<number>): Promise<number> {
  const found: number[] = [];
  for (let index = 0; index < WARM_UPS + times; index++) found.push(await act(index));
  return median(found.slice(WARM_UPS));
}

export function counted(store: Store): { readonly store: Store; calls(): number } {
  let calls = 0;
  const inside = <T extends object>(of: T): T =>
    new Proxy(of, {
      get(target, name) {
        const found: unknown = Reflect.get(target, name);
        if (typeof found === "object" && found !== null) return inside(found);
        if (typeof found !== "function") return found;
        return (...given: unknown[]) => {
          calls++;
          return found.apply(target, given);
        };
      },
    });
  return { store: inside(store), calls: () => calls };
}

async function onFile(measure: (bank: Bank) => Promise<number>): Promise<number> {
  await using bank = new Bank();
  return await measure(bank);
}

/** A file, or another store, on which every payment waits for an approval, and the runtimes that have it open. */
export class Bank implements AsyncDisposable {
  /** Of the turns in the sessions `s0`, `s1`, … */
  readonly results: Promise<TurnResult>[] = [];
  readonly path: string;
  readonly #folder = mkdtempSync(join(tmpdir(), "bowline-bench-"));
  #open: Runtime[] = [];
  #parked = 0;
  #paid = 0;

  constructor() {
    this.path = join(this.#folder, "agent.db");
  }

  async open(more: Partial<Pick<RuntimeOptions, "store" | "plugins" | "recover">> = {}): Promise<Runtime> {
    const [{ createRuntime, definePlugin, defineTool, sqlite }, { ask }] = await Promise.all([built(), builtPlugin()]);
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input: { type: "object" },
      execute: () => `Payment ${++this.#paid}.`,
    });
    const careful = definePlugin({
      id: "bench/careful",
      setup: () => ({ beforeToolCall: () => ask("It moves money.") }),
    });
    const runtime = await createRuntime({
      store: more.store ?? sqlite(this.path, { durability: "process" }),
      model: modelThatCalls(["pay"]),
      tools: [pay],
      plugins: [careful],
      limits: { parkAfterMs: 1 },
      telemetry: { event: (_, { name }) => void (name === "turn.parked" && this.#parked++) },
      ...more,
    });
    this.#open.push(runtime);
    return runtime;
  }

  /** Begins so many turns more, and settles when all of them are parked. */
  async park(runtime: Runtime, turns: number): Promise<void> {
    for (let index = 0; index < turns; index++) {
      const session = await runtime.session(`s${this.results.length}`);
      const turn = session.turn("calls");
      this.results.push(turn.result());
      await turn.id;
      await session.close();
    }
    while (this.#parked < this.results.length) await sleep(10);
  }

  /** The turn ended well, after so many payments in all. */
  requirePaid({ outcome }: TurnResult, times: number): void {
    if (outcome.kind !== "answered") throw new Error(`The turn ended otherwise: ${JSON.stringify(outcome)}`);
    if (this.#paid !== times) throw new Error(`It was paid ${this.#paid} times, not ${times}.`);
  }

  async close(): Promise<void> {
    const ends = Promise.allSettled(this.results); // Those that still wait are told that their runtime was closed.
    for (const runtime of this.#open.splice(0)) await runtime.close();
    await ends;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
