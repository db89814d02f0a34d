import type { Durability } from "bowline/stores/sqlite";
import { afterAll, expect, test } from "vitest";
import { cuts, dearest } from "../power/cuts.ts";
import type { Verdict } from "../power/judge.ts";
import { Bench, counted, type Row, table } from "../power/power.ts";

const bench = new Bench();
afterAll(() => bench[Symbol.dispose]());
const { problem } = bench;
if (problem !== undefined) console.log(`power cut: NOT TRIED, ${problem}`);

const seed = Number(process.env.POWER_SEED ?? 1);
const AT_RANDOM = 800;
/** Images on which the process is started again, and how many of each are tried of its second life. */
const AGAIN = 10;
const OF_EACH = 20;

test.skipIf(problem !== undefined)(
  "D1 D2 D6 no power cut, and none after another, breaks what a durability promises",
  async () => {
    const rows: Row[] = [];
    for (const durability of ["process", "power", "power-all"] as const)
      rows.push(await counted(durability, once(durability), again(durability)));
    console.log(table(rows));
    expect(rows.flatMap(({ violations }) => violations)).toEqual([]);
    expect(rows.filter(({ images, opened }) => images < 1_000 || opened < images)).toEqual([]);
  },
  3_600_000,
);

async function* once(durability: Durability): AsyncGenerator<Verdict> {
  const recording = await bench.record(durability);
  yield* bench.tried(recording, durability, dearest(recording));
  yield* bench.tried(recording, durability, cuts(recording, AT_RANDOM, seed));
}

/** The power is cut again while a process goes on after a cut. */
async function* again(durability: Durability): AsyncGenerator<Verdict> {
  let nth = 0;
  for (const { image } of cuts(await bench.record(durability), AGAIN, seed + 1)) {
    const recording = await bench.record(durability, { on: image });
    yield* bench.tried(recording, durability, cuts(recording, OF_EACH, seed + ++nth));
  }
}
