// That what is compared after a restart is needed. The crash kit has the rest: `test/crash/mutants/code-*.ts`.
import { type CellProgress, type CodeContext, type CodePast, hasCode } from "bowline/protocol";
import { quickjs, type Sandbox } from "bowline/sandbox/quickjs";
import { afterAll, describe, expect, test } from "vitest";
import { Executor } from "../../src/plugins/code/executor.ts";
import type { CodeState } from "../../src/plugins/code/state.ts";
import { swapped } from "./swapped.ts";

type Ran = CodePast<CodeState>["segments"][number];
type Segment = Ran["segment"];

const sandbox: Sandbox = quickjs();
afterAll(() => sandbox.close());

const start: CodePast<CodeState>["start"] = {
  get: () => ({ cells: 0, resets: 0 }),
  blobs: { get: async () => undefined, names: () => [] },
};
/** A world with these messages, tools and values of the turn. */
const worldOf = (texts: readonly string[], tools: readonly string[], values?: object): CodeContext<CodeState> =>
  ({
    turnId: "trn",
    signal: new AbortController().signal,
    state: { ...start, update: () => {} },
    catalog: {
      list: () => tools.map((name) => ({ name, description: name })),
      describe: async (name: string) => ({ name, description: name, inputSchema: {} }),
    },
    extension: () => values,
    messages: () => texts.map((text, id) => ({ id, role: "user", parts: [{ kind: "text", text }] })),
    emit: () => {},
  }) as unknown as CodeContext<CodeState>;
const context = worldOf([], ["look", "tell"]);

const executor = (): Executor =>
  new Executor(sandbox, {
    ...{ stepsMax: 1_000, segmentMs: 10_000, graceMs: 2_000 },
    ...{ memoryBytesMax: 2 ** 26, outputBytesMax: 2 ** 20, callsMax: 100 },
  });

const restored = (segments: readonly Ran[], world = context): Promise<void> =>
  executor().restore({ start, isFresh: false, segments }, world);

/** Runs a cell, and answers its calls with their numbers, in their order. */
async function ran(code: string, world = context, more: Partial<Segment["cell"]> = {}): Promise<readonly Ran[]> {
  const runs = executor();
  await runs.restore({ start, isFresh: false, segments: [] }, world);
  const cell = { language: "ts", code, acceptFinish: true, ...more };
  const name = "r1.exec" as Segment["name"];
  const segments: Ran[] = [];
  const run = async (segment: Segment): Promise<CellProgress> => {
    const progress = await runs.execute(segment, world);
    segments.push({ segment, progress });
    for (const { at } of progress.kind === "called" ? (progress.sleeps ?? []) : []) slept.add(at);
    return progress;
  };
  const slept = new Set<string>();
  let progress = await run({ name, cell, time: 1_000 });
  for (let n = 0; progress.kind === "called"; n++)
    progress = await run({
      name,
      cell,
      time: 1_001 + n,
      deliver: slept.has(String(n)) ? { at: String(n) } : { at: String(n), output: { kind: "value", value: n } },
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

describe("what the world gave", () => {
  const world = worldOf(["Go.", "long ".repeat(500)], ["files_read", "files_write", "done"], {
    limit: [1, 2],
    report: "word ".repeat(2_000),
  });
  const another = worldOf(["Others."], ["look"], { report: "word ".repeat(2_000) });
  const CODE = `
    var seen = [history[0].text, (await history[1]).text.length, limit, await files.read({ path: "a" })];
    seen.push((await report).length, (await tools.search("write"))[0].call, await files["nope"]({}));
    finish(seen);`;
  const run = (): Promise<readonly Ran[]> => ran(CODE, world, { finishBy: { tool: "done", field: "value" } });

  test("P8 is on record: from any segment on, another world has the code where it was", async () => {
    const segments = await run();
    expect(segments.map(({ progress }) => progress.kind)).toEqual([...Array(6).fill("called"), "executed"]);
    expect(segments.at(-2)?.progress).toMatchObject({
      calls: [{ at: "5", tool: "done", input: { value: ["Go.", 2_500, [1, 2], 1, 10_000, "files.write", 4] } }],
    });
    for (let upTo = 0; upTo < segments.length; upTo++) {
      const runs = executor();
      await runs.restore({ start, isFresh: false, segments: segments.slice(0, upTo) }, upTo === 0 ? world : another);
      const { segment, progress } = segments[upTo] as Ran;
      expect(await runs.execute(segment, world)).toEqual(progress);
      await runs.release();
    }
    await restored(segments, another);
  });

  test("P8 is what the code was given then: another answer on record does not come to the same", async () => {
    const segments = await run();
    const at = segments.findIndex(({ progress }) => JSON.stringify(progress.given ?? null).includes("long long"));
    const forged = segments.map((each, index) =>
      index === at
        ? { ...each, progress: { ...each.progress, given: { value: { role: "user", text: "long ".repeat(501) } } } }
        : each,
    );
    await expect(restored(forged, world)).rejects.toSatisfy((error) => hasCode(error, "code.diverged"));
    const small = segments.map(({ segment, progress }) => ({ segment, progress: { ...progress, given: undefined } }));
    await expect(restored(small, world)).rejects.toThrow();
  });
});
