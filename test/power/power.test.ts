import type { Strength } from "bowline/stores/sqlite";
import { afterAll, expect, test, vi } from "vitest";
import { sample } from "../kit/size.ts";
import { cuts, dearest } from "./cuts.ts";
import { Disk } from "./disk.ts";
import { Bench, counted, table } from "./power.ts";
import type { Recording } from "./record.ts";

// A sample; `npm run test:long` tries a thousand images of each strength.
vi.setConfig({ testTimeout: 120_000 });
const STRENGTHS: readonly Strength[] = ["process", "power", "power-all"];
const IMAGES = sample(4, 24);

const bench = new Bench();
afterAll(() => bench[Symbol.dispose]());
const { problem } = bench;
if (problem !== undefined) console.log(`power cut: NOT TRIED, ${problem}`);

const recordings = new Map<Strength, Promise<Recording>>();
const recorded = (strength: Strength): Promise<Recording> => {
  const known = recordings.get(strength) ?? bench.record(strength);
  recordings.set(strength, known);
  return known;
};

test.skipIf(problem !== undefined)("D1 D2 no power cut breaks what a strength promises", async () => {
  await Promise.all(STRENGTHS.map(recorded));
  const rows = [];
  for (const strength of STRENGTHS) {
    const recording = await recorded(strength);
    rows.push(await counted(strength, bench.tried(recording, strength, cuts(recording, IMAGES, 3))));
  }
  console.log(table(rows));
  expect(rows.flatMap(({ violations }) => violations)).toEqual([]);
  expect(rows.map(({ opened }) => opened)).toEqual(STRENGTHS.map(() => IMAGES));
});

test.skipIf(problem !== undefined)(
  "the recording is all that happened: replayed, it gives the same bytes",
  async () => {
    const { steps, left } = await recorded("power");
    const disk = new Disk();
    for (const step of steps) if ("change" in step) disk.apply(step.change);
    expect([...left.keys()]).toEqual(["", "-wal"]);
    for (const [name, bytes] of disk.latest()) expect(Buffer.compare(bytes, left.get(name)!), name).toBe(0);
    expect(disk.latest().size).toBe(left.size);
  },
);

/** What is done wrong, how it is recorded, the strength whose promise it breaks, and what must be seen. */
const MUTANTS: readonly (readonly [what: string, by: () => Promise<Recording>, breaks: Strength, seen: RegExp])[] = [
  ["a store that never syncs", () => bench.record("power", { isDeaf: true }), "process", /is damaged/],
  ["a disk that lies about syncs", async () => withoutSyncs(await recorded("power-all")), "process", /is damaged/],
  ["a store that syncs no acceptance and no commit", () => recorded("process"), "power", /(inputs|commits) are lost/],
  ["a store that syncs no journal", () => recorded("power"), "power-all", /events are lost/],
];

test.skipIf(problem !== undefined).each(MUTANTS)("D6 it is seen: %s", async (_, by, breaks, seen) => {
  const recording = await by();
  for (const images of [dearest(recording), cuts(recording, 100, 5)])
    for await (const { wrong } of bench.tried(recording, breaks, images))
      if (wrong.some((problem) => seen.test(problem))) return;
  expect.fail("It is not seen.");
});

const withoutSyncs = ({ steps, ...rest }: Recording): Recording => ({
  ...rest,
  steps: steps.filter((step) => "mark" in step || !/^sync/.test(step.change.kind)),
});
