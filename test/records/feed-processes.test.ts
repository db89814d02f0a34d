// Four processes write and are killed, two read and are killed: every fact is told once, in one order.
import { existsSync, readFileSync } from "node:fs";
import { createRuntime, type Runtime } from "bowline";
import { postgres } from "bowline/stores/postgres";
import { sqlite } from "bowline/stores/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { builtArgv } from "../kit/built.ts";
import { Crew } from "../kit/crew.ts";
import { echo } from "../kit/models.ts";
import { eventually } from "../kit/reading.ts";
import { describePostgres, freshSchema } from "../kit/shared-postgres.ts";
import { sample } from "../kit/size.ts";
import { file } from "../kit/stores.ts";
import type { FeedOrders } from "./feed-worker.ts";

const execArgv = await builtArgv();
const PROGRAM = new URL("./feed-worker.ts", import.meta.url);
const KILLS = sample(10, 60);
const MARK = "mark";

const linesOf = (log: string): readonly string[] =>
  existsSync(log) ? readFileSync(log, "utf8").split("\n").slice(0, -1) : [];
const upTo = (most: number): number => Math.floor(Math.random() * most);

/** Kills and replaces processes, a random one whenever the writers have got a random bit further. */
async function trial(where: Pick<FeedOrders, "path" | "url" | "schema">, open: () => Promise<Runtime>): Promise<void> {
  const crew = (orders: Omit<FeedOrders, "path" | "url" | "schema">): Crew => {
    const made = new Crew(PROGRAM, { ...where, ...orders }, execArgv);
    onTestFinished(() => made.dismiss());
    return made;
  };
  await (await open()).close(); // The tables are there before the processes are.
  const ledger = file();
  const writers = crew({ role: "writer", log: ledger });
  const logs = [file(), file()] as const;
  const readers = [crew({ role: "reader", log: logs[0] }), crew({ role: "reader", log: logs[1], owner: "ann" })];
  for (let count = 0; count < 4; count++) writers.hire();
  for (const reader of readers) reader.hire();
  const read = [0, 0];
  for (let kills = 0; kills < KILLS; kills++) {
    const enough = linesOf(ledger).length + 5 + upTo(25);
    await eventually(() => linesOf(ledger).length >= enough);
    const which = upTo(3);
    if (which === 2) await writers.replace(upTo(4));
    else {
      // Not before it has read on from where the one before it was killed.
      await eventually(() => linesOf(logs[which]!).length > read[which]!);
      await readers[which]!.replace(0);
      read[which] = linesOf(logs[which]!).length;
    }
  }
  await writers.dismiss();

  const runtime = await open();
  await runtime.recover();
  await eventually(async () => (await runtime.turns.list({ max: 1_000 })).every(({ state }) => state === "ended"));
  await runtime.sessions.create({ id: MARK, owner: "ann" });
  await runtime.sessions.inject(MARK, "The end.");
  const truth: string[] = [];
  const ofAnn: string[] = [];
  for await (const fact of runtime.observe()) {
    const line = `${fact.cursor} ${fact.kind} ${fact.sessionId} ${"turnId" in fact ? fact.turnId : "none"}`;
    truth.push(line);
    if (fact.owner === "ann") ofAnn.push(line);
    if (fact.sessionId === MARK) break;
  }
  for (const [nth, expected] of [truth, ofAnn].entries()) {
    await eventually(() => linesOf(logs[nth]!).at(-1)?.includes(` ${MARK} `));
    expect(linesOf(logs[nth]!)).toEqual(expected);
  }

  // What a writer was told is true, and is told once.
  const counts = new Map<string, number>();
  for (const line of truth) {
    const [, kind, , turn] = line.split(" ");
    const fact = `${kind === "committed" ? "ended" : kind} ${turn}`;
    counts.set(fact, (counts.get(fact) ?? 0) + 1);
  }
  const told = linesOf(ledger);
  expect(told.filter((line) => counts.get(line) !== 1)).toEqual([]);
  expect(told.filter((line) => line.startsWith("withdrawn")).length).toBeGreaterThan(0);
  const ended = told.filter((line) => line.startsWith("accepted")).map((line) => line.replace("accepted", "ended"));
  expect(ended.filter((line) => counts.get(line) !== 1 && !isTaken(line, truth))).toEqual([]);
}

/** Whether a turn of another input took this one at a boundary: then it has no end of its own. */
const isTaken = (line: string, truth: readonly string[]): boolean =>
  truth.some((fact) => fact.includes(` accepted ours ${line.split(" ")[1]}`));

test("S11 four processes write on a file and are killed, and readers resume: no fact is missed, and none comes twice", async () => {
  const path = file();
  await trial({ path }, async () => {
    const runtime = await createRuntime({
      store: sqlite(path, { durability: "process" }),
      model: echo(),
      recover: "manual",
      models: () => echo(),
    });
    onTestFinished(() => runtime.close());
    return runtime;
  });
}, 60_000);

describePostgres("on Postgres", () => {
  test("S11 four processes write in a database and are killed, and readers resume: no fact is missed, and none comes twice", async () => {
    const { url, schema } = await freshSchema();
    await trial({ url, schema }, async () => {
      const runtime = await createRuntime({
        store: postgres(url, { schema, leaseMs: 1_000 }),
        model: echo(),
        recover: "manual",
        models: () => echo(),
      });
      onTestFinished(() => runtime.close());
      return runtime;
    });
  }, 60_000);
});
