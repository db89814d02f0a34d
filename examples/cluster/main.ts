// Three workers share 300 sessions in one PostgreSQL database. Every two seconds this program kills one worker and
// starts it again. Other workers resume the turns of a killed worker. At the end every turn has one answer, and no
// recorded call ran again. To run it from a clone: `npm run example:cluster`. Without PostgreSQL it prints what to
// install, and ends.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { postgres } from "bowline/stores/postgres";
import { judged, type Line, linesIn } from "./parts/judge.ts";
import { startServer } from "./parts/server.ts";

const isQuick = process.env.BOWLINE_QUICK === "1"; // In CI.
const size = isQuick
  ? { workers: 2, sessions: 20, turns: 1, killEveryMs: 1_000, endMs: 30_000 }
  : { workers: 3, sessions: 300, turns: 2, killEveryMs: 2_000, endMs: 120_000 };

const server = await startServer();
if (server === undefined) {
  console.log("This example needs PostgreSQL 15 or later: `apt install postgresql`, or set BOWLINE_PG_BIN.");
  process.exit(0);
}

const folder = mkdtempSync(join(tmpdir(), "bowline-cluster-"));
const ledger = join(folder, "ledger.jsonl");
writeFileSync(ledger, "");
const store = postgres(server.url);
const program = fileURLToPath(new URL("./parts/worker.ts", import.meta.url));
const argumentOf = (worker: number) =>
  JSON.stringify({
    url: server.url,
    ledger,
    worker,
    workers: size.workers,
    sessions: size.sessions,
    turns: size.turns,
  });
const startWorker = (worker: number) =>
  spawn(process.execPath, ["--disable-warning=ExperimentalWarning", program, argumentOf(worker)], {
    stdio: ["ignore", "ignore", "inherit"],
  });
const workers = Array.from({ length: size.workers }, (_, worker) => startWorker(worker));

let kills = 0;
async function kill(worker: number): Promise<void> {
  const child = workers[worker]!;
  if (child.exitCode !== null) throw new Error(`Worker ${worker} failed.`);
  child.kill("SIGKILL");
  if (child.signalCode === null) await once(child, "exit");
}

const wanted = size.sessions * size.turns;
const started = performance.now();
const seconds = (): string => `${((performance.now() - started) / 1_000).toFixed(0)} s`;

function show(): { readonly done: number; readonly ready: number } {
  const lines = linesIn(readFileSync(ledger, "utf8"));
  const of = (kind: Line["kind"]): number => lines.filter((line) => line.kind === kind).length;
  const done = new Set(lines.flatMap((line) => (line.kind === "answered" ? [line.turn] : []))).size;
  const accepted = new Set(lines.flatMap((line) => (line.kind === "accepted" ? [line.turn] : []))).size;
  const { repeated } = judged(lines);
  const row = [seconds(), `${done}/${wanted}`, accepted - done, of("took"), kills, 0, repeated.length];
  const line = row.map((cell, at) => String(cell).padStart(COLUMNS[at]!.length)).join("  ");
  if (process.stdout.isTTY) process.stdout.write(`\r${line}`);
  else console.log(line);
  return { done, ready: of("ready") };
}
const COLUMNS = ["   time", "turns done", "running", "takeovers", "kills", "lost", "repeated"];

let exitCode = 1;
try {
  console.log(COLUMNS.join("  "));
  for (let shown = 1; ; shown++) {
    await sleep(500);
    const { done, ready } = show();
    if (done >= wanted || performance.now() - started > size.endMs) break;
    // All workers must be ready, because a kill during the start interrupts no turn.
    if (shown % Math.round(size.killEveryMs / 500) === 0 && ready === size.workers + kills) {
      const worker = kills++ % size.workers;
      await kill(worker);
      workers[worker] = startWorker(worker);
    }
  }
  // Count in the store, because the ledger has only what the workers wrote.
  let [answered, stuck] = [0, 0];
  for (const { id, turns, openTurn } of await store.list()) {
    answered += turns;
    if (openTurn !== undefined || (await store.inputs.list(id)).length > 0) stuck++;
  }
  const { repeated, twice, took, calls } = judged(linesIn(readFileSync(ledger, "utf8")));
  const lost = wanted - answered;
  console.log(
    `\n${answered} turns of ${size.sessions} sessions in ${seconds()}; ${kills} workers killed, ${took} turns taken over; ${calls} calls begun.`,
  );
  console.log(
    `lost ${lost}, stuck ${stuck}, recorded calls repeated ${repeated.length}, payments made twice ${twice.length}`,
  );
  exitCode = lost === 0 && stuck === 0 && repeated.length === 0 && twice.length === 0 ? 0 : 1;
} finally {
  for (let worker = 0; worker < size.workers; worker++) await kill(worker);
  await store.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = exitCode;
