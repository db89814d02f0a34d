import type { Durability } from "bowline/stores/sqlite";
import { afterAll, expect, test, vi } from "vitest";
import { sample } from "../kit/size.ts";
import { cuts, dearest } from "./cuts.ts";
import { Disk } from "./disk.ts";
import { Bench, counted, table } from "./power.ts";
import type { Recording } from "./record.ts";

// A sample; `npm run test:long` tries a thousand images of each durability.
vi.setConfig({ testTimeout: 120_000 });
const DURABILITIES: readonly Durability[] = ["process", "power", "power-all"];
const IMAGES = sample(4, 24);

const bench = new Bench();
afterAll(() => bench[Symbol.dispose]());
const { problem } = bench;
if (problem !== undefined) console.log(`power cut: NOT TRIED, ${problem}`);

const recordings = new Map<Durability, Promise<Recording>>();
const recorded = (durability: Durability): Promise<Recording> => {
  const known = recordings.get(durability) ?? bench.record(durability);
  recordings.set(durability, known);
  return known;
};

test.skipIf(problem !== undefined)("D1 D2 no power cut breaks what a durability promises", async () => {
  await Promise.all(DURABILITIES.map(recorded));
  const rows = [];
  for (const durability of DURABILITIES) {
    const recording = await recorded(durability);
    rows.push(await counted(durability, bench.tried(recording, durability, cuts(recording, IMAGES, 3))));
  }
  console.log(table(rows));
  expect(rows.flatMap(({ violations }) => violations)).toEqual([]);
  expect(rows.map(({ opened }) => opened)).toEqual(DURABILITIES.map(() => IMAGES));
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

/** What is done wrong, how it is recorded, the durability whose promise it breaks, and what must be seen. */
const MUTANTS: readonly (readonly [what: string, by: () => Promise<Recording>, breaks: Durability, seen: RegExp])[] = [
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
