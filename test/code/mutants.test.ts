// That what is compared after a restart is needed. The crash kit has the rest: `test/crash/mutants/code-*.ts`.
import { type CellProgress, type CodeContext, type CodePast, hasCode } from "bowline";
import { quickjs, type Sandbox } from "bowline/sandbox/quickjs";
import { afterAll, expect, test } from "vitest";
import { Executor } from "../../src/plugins/code/executor.ts";
import type { Kept } from "../../src/plugins/code/kept.ts";
import { swapped } from "./swapped.ts";

type Ran = CodePast<Kept>["segments"][number];
type Segment = Ran["segment"];

const sandbox: Sandbox = quickjs();
afterAll(() => sandbox.close());

const start: CodePast<Kept>["start"] = {
  get: () => ({ cells: 0, resets: 0 }),
  blobs: { get: async () => undefined, names: () => [] },
};
const context = {
  turnId: "trn",
  signal: new AbortController().signal,
  state: { ...start, update: () => {} },
  catalog: { list: () => ["look", "tell"].map((name) => ({ name, description: "" })) },
  extension: () => undefined,
  messages: () => [],
  emit: () => {},
} as unknown as CodeContext<Kept>;

const executor = (): Executor =>
  new Executor(sandbox, {
    ...{ stepsMax: 1_000, segmentMs: 10_000, graceMs: 2_000 },
    ...{ memoryBytesMax: 2 ** 26, outputBytesMax: 2 ** 20, callsMax: 100 },
  });

const restored = (segments: readonly Ran[]): Promise<void> =>
  executor().restore({ start, isFresh: false, segments }, context);

/** Runs a cell, and answers its calls with their numbers, in their order. */
async function ran(code: string): Promise<readonly Ran[]> {
  const runs = executor();
  await runs.restore({ start, isFresh: false, segments: [] }, context);
  const cell = { language: "ts", code, acceptFinish: true };
  const name = "r1.exec" as Segment["name"];
  const segments: Ran[] = [];
  const run = async (segment: Segment): Promise<CellProgress> => {
    const progress = await runs.execute(segment, context);
    segments.push({ segment, progress });
    return progress;
  };
  let progress = await run({ name, cell, time: 1_000 });
  for (let n = 0; progress.kind === "called"; n++)
    progress = await run({
      name,
      cell,
      time: 1_001 + n,
      deliver: { at: String(n), output: { kind: "value", value: n } },
    });
  await runs.release();
  return segments;
}

const unchecked = ({ segment, progress }: Ran): Ran =>
  progress.kind === "executed" ? { segment, progress: { ...progress, heap: undefined } } : { segment, progress };

test.each([
  ["that draws for each", `Math.random();`],
  ["that notes their order", ""],
])("P8 answers in another order show in the heap alone, for code %s", async (_, draws) => {
  const segments = await ran(`
    const seen = [];
    await Promise.all([1, 2, 3, 4].map(async (n) => { await tools.look({ n }); ${draws} seen.push(n); }));
    finish(seen.length);`);
  expect(segments.map(({ progress }) => progress.kind)).toEqual([...Array(4).fill("called"), "executed"]);

  await restored(segments); // As it was.
  await restored(swapped(segments).map(unchecked)); // Calls, steps and what the cell came to are the same.
  await expect(restored(swapped(segments))).rejects.toSatisfy((error) => hasCode(error, "code.diverged"));
});

test("P8 answers in another order show in the calls, where those depend on them", async () => {
  const segments = await ran(`
    let last = 0;
    await Promise.all([1, 2].map(async (n) => { await tools.look({ n }); last = last * 10 + n; await tools.tell({ last }); }));`);
  await expect(restored(swapped(segments).map(unchecked))).rejects.toSatisfy((error) =>
    hasCode(error, "code.diverged"),
  );
});
