import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Runtime } from "bowline";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { builtArgv } from "../kit/built.ts";
import { codeOf, within } from "../kit/reading.ts";
import { file, over } from "../kit/stores.ts";
import { running } from "../kit/worlds.ts";
import type { WorkerOrders } from "./worker.ts";

const execArgv = await builtArgv();
const program = fileURLToPath(new URL("./worker.ts", import.meta.url));
const LINES = ["ready", "packing", "closed"] as const;
const MS = 30_000;

/** Starts a worker process. `printed` settles when it has printed the line. */
function start(orders: WorkerOrders) {
  const given = [...execArgv, "--disable-warning=ExperimentalWarning", program, JSON.stringify(orders)];
  const child = spawn(process.execPath, given, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = new Map(LINES.map((line) => [line as string, Promise.withResolvers<void>()]));
  createInterface({ input: child.stdout }).on("line", (line) => lines.get(line)?.resolve());
  return {
    child,
    printed: (line: (typeof LINES)[number]) => within(lines.get(line)!.promise, MS),
    ended: within(once(child, "close"), MS),
  };
}

/** A process that only sends: what it sends runs in a worker. */
async function sender(database: string): Promise<Runtime> {
  const runtime = await running({ store: sqlite(database), recover: "never" });
  onTestFinished(() => runtime.close());
  return runtime;
}

test("D2 a worker process that gets SIGTERM in the middle of a turn closes, and another worker ends the turn without a repeated call", async () => {
  const [database, ledger] = [file(), file()];
  const session = await (await sender(database)).session("trip");
  const first = start({ database, ledger, pack: "waits", graceMs: 0 });
  await first.printed("ready"); // From here only `run` keeps the process alive.
  const turn = session.turn("Pack.");
  await first.printed("packing");
  // Both signals at once, as `npm` and a process manager send them: the second one does not end the process early.
  for (const name of ["SIGSTOP", "SIGTERM", "SIGINT", "SIGCONT"] as const) first.child.kill(name);
  expect(await first.ended).toEqual([0, null]);
  await first.printed("closed");
  expect((await session.read()).openTurn).toMatchObject({ id: await turn.id });

  const second = start({ database, ledger, pack: "returns", graceMs: 0 });
  expect(await within(turn.text(), MS)).toBe("Packed.");
  const calls = readFileSync(ledger, "utf8").trim().split("\n");
  // Only the call that was in flight is made again.
  expect(calls).toEqual(["reply 1", "look", "reply 2", "pack", "pack", "reply 3"]);
  second.child.kill("SIGINT");
  expect(await second.ended).toEqual([0, null]);
}, 90_000);

test("D2 a later signal ends a worker process whose tool never returns at once", async () => {
  const [database, ledger] = [file(), file()];
  const session = await (await sender(database)).session("trip");
  const { child, printed, ended } = start({ database, ledger, pack: "hangs", graceMs: 600_000 });
  await printed("ready");
  await session.send("Pack.");
  await printed("packing");
  const again = setInterval(() => child.kill("SIGTERM"), 50);
  onTestFinished(() => clearInterval(again));
  expect(await ended).toEqual([null, "SIGTERM"]);
}, 90_000);

const listeners = (): number => process.listenerCount("SIGTERM") + process.listenerCount("SIGINT");

test.each<readonly [string, (runtime: Runtime, controller: AbortController) => unknown]>([
  ["its `signal` aborts", (_, controller) => controller.abort()],
  ["`close()` is called", (runtime) => runtime.close()],
])("S2 `run` closes the runtime and removes its handlers when %s", async (_, stop) => {
  const before = listeners();
  const runtime = await running();
  const controller = new AbortController();
  const runs = [runtime.run({ signal: controller.signal }), runtime.run()]; // Two calls end together.
  expect(listeners()).toBe(before + 4);
  await stop(runtime, controller);
  await within(Promise.all(runs));
  expect(listeners()).toBe(before);
  expect(await codeOf(runtime.session("trip"))).toBe("runtime.closed");
});

test("S2 `run` with a signal that is aborted already closes the runtime", async () => {
  const runtime = await running();
  await within(runtime.run({ signal: AbortSignal.abort() }));
  expect(await codeOf(runtime.run())).toBe("runtime.closed");
});

test("S2 `run` throws the error of a store that cannot be closed, and removes its handlers", async () => {
  const before = listeners();
  const store = over(memory(), { close: () => Promise.reject(new Error("The disk is gone.")) });
  const runtime = await running({ store });
  await expect(within(runtime.run({ signal: AbortSignal.abort() }))).rejects.toThrow("The disk is gone.");
  expect(listeners()).toBe(before);
});

test("S13 `run` refuses wrong options and a runtime that runs nothing, and leaves the runtime open", async () => {
  await using runtime = await running();
  const before = listeners();
  for (const [options, code] of [
    [{ signal: "SIGTERM" }, "options.invalid"],
    [{ signal: null }, "options.invalid"],
    [{ graceMs: -1 }, "options.invalid"],
    [{ signals: [] }, "options.unknown"],
    ["SIGTERM", "options.invalid"],
  ] as const)
    expect(await codeOf(runtime.run(options as never))).toBe(code);
  expect(listeners()).toBe(before);
  await runtime.session("trip");
  expect(await codeOf((await sender(file())).run())).toBe("runtime.passive");
});
