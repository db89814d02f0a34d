import { compactHistory, definePlugin } from "bowline/plugin";
import { calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import type { CompactionSees } from "../../src/kernel/hook-values.ts";
import { echo } from "../kit/models.ts";
import { codeOf, outline, within, wordsOf } from "../kit/reading.ts";
import { lifetimes, open, ping } from "../kit/worlds.ts";

const LONG = "It was a dark and stormy night, and it went on like that for quite a while. ".repeat(4);
const never = new Promise<never>(() => {});

type Compacts = (sees: Omit<CompactionSees, "messages">) => Promise<string | undefined> | string | undefined;

/** A compactor that begins the new frame with this text. */
const compactor = (id: string, compact: Compacts) =>
  definePlugin({
    id,
    setup: () => ({
      compact: async ({ instructions, reason, attempt }) => {
        const text = await compact({ reason, attempt, ...(instructions === undefined ? {} : { instructions }) });
        return text === undefined ? undefined : [{ role: "user" as const, parts: [{ kind: "text" as const, text }] }];
      },
    }),
  })();

/** Asks for a compaction before the turn of this input, or after the work of a round. */
const wants = (id: string, hook: "beforeTurn" | "checkpoint", instructions?: string, on = "Now.") =>
  definePlugin({
    id,
    setup: () =>
      hook === "beforeTurn"
        ? { beforeTurn: ({ input }) => (wordsOf(input) === on ? compactHistory({ instructions }) : undefined) }
        : { checkpoint: ({ at }) => (at === "after-work" ? compactHistory({ instructions }) : undefined) },
  })();

// ── Instructions ────────────────────────────────────────────────────────────────────────────────────────────────────

test("S8 instructions of session.compact reach the compactor, and without them there are none", async () => {
  const seen: object[] = [];
  const plugin = compactor("acme/compacts", (sees) => void seen.push(sees));
  await using world = await open(echo(), { plugins: [plugin] });
  await world.session.turn("Hello.").result();
  await world.session.compact({ instructions: "Keep the names." });
  await world.session.compact({});
  await world.session.compact();
  const asked = { reason: "asked", attempt: 1 };
  expect(seen).toEqual([{ ...asked, instructions: "Keep the names." }, asked, asked]);
});

test.each(["beforeTurn", "checkpoint"] as const)(
  "S8 instructions that plugins give with compactHistory in %s are joined, and reach the compactor",
  async (hook) => {
    const seen: object[] = [];
    const plugins = [
      wants("a/wants", hook, "Keep the names."),
      wants("b/wants", hook),
      wants("c/wants", hook, "Keep the dates."),
      compactor("acme/compacts", (sees) => {
        seen.push(sees);
        return "In short.";
      }),
    ];
    await using world = await open(scripted(says(LONG), calls("ping"), says("Done.")), { plugins, tools: [ping] });
    await world.session.turn("Begin.").result();
    await world.session.turn("Now.").result();
    expect(seen[0]).toEqual({ reason: "room", attempt: 1, instructions: "Keep the names.\n\nKeep the dates." });
  },
);

test("S8 a turn that was killed while it was compacted asks the compactor again, with the same instructions", async () => {
  const processes = lifetimes();
  const begun = Promise.withResolvers<void>();
  const first = await processes.next({
    model: scripted(says(LONG)),
    plugins: [
      wants("a/wants", "beforeTurn", "Keep the names."),
      compactor("acme/compacts", () => {
        begun.resolve();
        return never;
      }),
    ],
  });
  const session = await first.runtime.session("s");
  await session.turn(LONG).result();
  session.turn("Now.");
  await within(begun.promise);
  processes.kill();
  const seen: object[] = [];
  const compacts = compactor("acme/compacts", (sees) => {
    seen.push(sees);
    return "In short.";
  });
  // It asks for nothing: what was recorded counts.
  const second = await processes.next({
    model: scripted(says("Done.")),
    plugins: [wants("a/wants", "beforeTurn", "Other words.", "Never."), compacts],
  });
  const again = await second.runtime.session("s");
  await within(second.runtime.recover());
  expect(seen).toEqual([{ reason: "room", attempt: 1, instructions: "Keep the names." }]);
  expect(outline((await again.read()).messages)).toEqual(["user: In short.", "assistant: Done."]);
  await second.runtime.close();
});

test.each([
  ["options.unknown", { instruction: "Keep the names." }],
  ["options.invalid", { instructions: 7 }],
  ["options.invalid", { instructions: "" }],
  ["options.invalid", { instructions: "x".repeat(4_097) }],
  ["options.invalid", null],
])("S8 wrong options of compact are %s: no compactor is asked and nothing is kept", async (code, options) => {
  const seen: object[] = [];
  const plugin = compactor("acme/compacts", (sees) => {
    seen.push(sees);
    return "x";
  });
  await using world = await open(echo(), { plugins: [plugin] });
  await world.session.turn(LONG).result();
  const before = await world.session.read();
  expect(await codeOf(() => world.session.compact(options as never))).toBe(code);
  expect([seen, await world.session.read()]).toEqual([[], before]);
});

test.each([
  ["hook.answer", { instructions: "x".repeat(4_097) }],
  ["hook.answer", { instructions: 7 }],
  ["hook.answer", { instructions: "" }],
  ["options.unknown", { instruction: "Keep the names." }],
])("S8 a plugin that gives wrong instructions fails its turn with %s", async (code, options) => {
  const plugin = definePlugin({ id: "a/wants", setup: () => ({ beforeTurn: () => compactHistory(options as never) }) });
  await using world = await open(echo(), { plugins: [plugin, compactor("acme/compacts", () => "x")] });
  expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "failed", code });
});

// ── Several compactors ──────────────────────────────────────────────────────────────────────────────────────────────

/** Three compactors: the first gives nothing, the second `large`, the third `last`. */
const several = (asked: string[], last: (attempt: number) => string | undefined, large = LONG.repeat(4)) =>
  [() => undefined, () => large, last].map((compact, index) =>
    compactor(`acme/${index}`, ({ attempt }) => {
      asked.push(`${index}.${attempt}`);
      return compact(attempt);
    }),
  );

test("K8 a compaction that is not smaller is left to the next compactor, before the same ones are asked again", async () => {
  const asked: string[] = [];
  const plugins = several(asked, (attempt) => (attempt === 2 ? "In short." : LONG.repeat(3)));
  await using world = await open(echo(), { plugins });
  await world.session.turn(LONG).result();
  expect((await world.session.compact()).kind).toBe("compacted");
  expect(asked).toEqual(["0.1", "1.1", "2.1", "0.2", "1.2", "2.2"]);
  expect(outline((await world.session.read()).messages)).toEqual(["user: In short."]);
});

test("K8 the next compactor is asked in the same round, and those after the one that made it smaller are not", async () => {
  const asked: string[] = [];
  const plugins = [...several(asked, () => "In short."), compactor("acme/3", () => void asked.push("3"))];
  await using world = await open(scripted(says(LONG), says("Done.")), {
    plugins: [...plugins, wants("acme/wants", "beforeTurn")],
  });
  await world.session.turn(LONG).result();
  const { outcome } = await world.session.turn("Now.").result();
  expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(asked).toEqual(["0.1", "1.1", "2.1"]);
  expect(outline((await world.session.read()).messages)).toEqual(["user: In short.", "assistant: Done."]);
});

test("K8 if no compactor makes it smaller nothing happens, the turn continues, and its result has the issue", async () => {
  const asked: string[] = [];
  await using world = await open(scripted(says(LONG), says("Done.")), {
    plugins: [...several(asked, () => undefined), wants("acme/wants", "beforeTurn")],
  });
  await world.session.turn(LONG).result();
  const before = await world.session.read();
  expect(await world.session.compact()).toEqual({ kind: "nothing" });
  expect((await world.session.read()).messages).toEqual(before.messages);
  asked.length = 0;
  const { outcome, issues } = await world.session.turn("Now.").result();
  expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(asked).toHaveLength(9);
  expect(issues).toMatchObject([{ plugin: "acme/1", code: "compact.useless", hint: expect.any(String) }]);
});
