import { definePlugin, type PromptPart, type RuntimeOptions } from "bowline";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { around } from "../kit/stores.ts";
import { ping, running } from "../kit/worlds.ts";

const gives = (id: string, ...parts: readonly PromptPart[]) =>
  definePlugin({ id, setup: () => ({ prompt: () => parts }) });

/** The system prompt of one turn. */
async function systemOf(
  options: Omit<Partial<RuntimeOptions>, "model" | "models" | "store">,
  config?: object,
): Promise<string> {
  const model = scripted(says("Yes."));
  await using runtime = await running({ ...options, model });
  const session = await runtime.session("s", config === undefined ? {} : { config });
  const { outcome } = await session.turn("Go.").result();
  expect(outcome.kind).toBe("answered");
  return model.requests[0]?.system ?? "(none)";
}

test("K9 parts that are the same by slot, priority and trimmed text are in the prompt once; empty ones are not", async () => {
  const system = await systemOf({
    plugins: [
      gives("a/a", { slot: "guidance", text: "Same." }, { slot: "guidance", text: "  Same.\n" }),
      gives("b/b", { slot: "guidance", text: "Same.", priority: 0 }, { slot: "project", text: "Same." }),
      gives("c/c", { slot: "guidance", text: "Same.", priority: 1 }, { slot: "guidance", text: " \n " }),
      gives("d/d", { slot: "guidance", text: "same." }),
    ],
  });
  // Of guidance: priority 0 once, the other spelling, priority 1; then of project.
  expect(system).toBe("Same.\n\nsame.\n\nSame.\n\nSame.");
});

test("K9 parts are sorted by slot, then by priority, lower first, then as they were given", async () => {
  const system = await systemOf({
    instructions: "intro",
    plugins: [
      gives(
        "a/a",
        { slot: "environment", text: "environment" },
        { slot: "context", text: "context" },
        { slot: "guidance", text: "guidance 5", priority: 5 },
        { slot: "guidance", text: "guidance a" },
      ),
      gives(
        "b/b",
        { slot: "guidance", text: "guidance b" },
        { slot: "guidance", text: "guidance -1", priority: -1 },
        { slot: "project", text: "project" },
        { slot: "execution", text: "execution" },
      ),
    ],
  });
  expect(system.split("\n\n")).toEqual([
    "intro",
    "execution",
    "guidance -1",
    "guidance a",
    "guidance b",
    "guidance 5",
    "project",
    "context",
    "environment",
  ]);
});

test("K9 a part may have a title", async () => {
  const parts: readonly PromptPart[] = [
    { slot: "project", title: "Rules", text: "Test first." },
    { slot: "project", text: "No title." },
  ];
  expect(await systemOf({ plugins: [gives("a/a", ...parts)] })).toBe("## Rules\n\nTest first.\n\nNo title.");
});

const gated = gives(
  "a/gated",
  { slot: "guidance", text: "How to ping.", tools: ["ping"] },
  { slot: "guidance", text: "How to ping or pong.", tools: ["pong", "ping"] },
  { slot: "guidance", text: "How to pong.", tools: ["pong"] },
  { slot: "guidance", text: "Nobody's.", tools: [] },
  { slot: "guidance", text: "Always." },
);

test("K9 a part that belongs to tools is there while one of them is callable", async () => {
  expect(await systemOf({ plugins: [gated], tools: [ping] })).toBe("How to ping.\n\nHow to ping or pong.\n\nAlways.");
  expect(await systemOf({ plugins: [gated] })).toBe("Always.");
  const hides = definePlugin({ id: "b/hides", setup: () => ({ toolCatalog: () => [{ tool: "ping", hide: true }] }) });
  expect(await systemOf({ plugins: [gated, hides], tools: [ping] })).toBe("Always.");
});

test("K9 a part of the runtime's or of the session's config is gated by tools too", async () => {
  const prompt: readonly PromptPart[] = [
    { slot: "guidance", text: "How to ping.", tools: ["ping"] },
    { slot: "guidance", text: "How to pong.", tools: ["pong"] },
  ];
  expect(await systemOf({ prompt, tools: [ping] })).toBe("How to ping.");
  expect(await systemOf({ tools: [ping] }, { prompt })).toBe("How to ping.");
  expect(await systemOf({ prompt })).toBe("");
});

test("K9 a template gives headings and order; a section with nothing in it is left out", async () => {
  const parts: readonly PromptPart[] = [
    { slot: "intro", text: "Intro." },
    { slot: "guidance", text: "Guide.", title: "One guide" },
    { slot: "project", text: "Project." },
    { slot: "environment", text: "Linux." },
  ];
  const template: RuntimeOptions["template"] = [
    { title: "Where you are", slots: ["environment"] },
    { slots: ["intro"] },
    { title: "What to do", slots: ["project", "guidance"] },
    { title: "Empty", slots: ["context"] },
  ];
  expect(await systemOf({ plugins: [gives("a/a", ...parts)], template })).toBe(
    ["## Where you are\n\nLinux.", "Intro.", "## What to do\n\nProject.\n\n### One guide\n\nGuide."].join("\n\n"),
  );
});

test("K9 layers: the runtime's instructions and parts, the session's, the turn's, then the plugins'", async () => {
  const options = {
    instructions: "Runtime.",
    prompt: [{ slot: "intro", text: "Runtime part." }],
    plugins: [gives("a/a", { slot: "intro", text: "Plugin part." })],
  } as const;
  expect(await systemOf(options)).toBe("Runtime.\n\nRuntime part.\n\nPlugin part.");
  expect(await systemOf(options, { instructions: "Session." })).toBe("Session.\n\nRuntime part.\n\nPlugin part.");
  expect(await systemOf(options, { prompt: [{ slot: "intro", text: "Session part." }] })).toBe(
    "Runtime.\n\nRuntime part.\n\nSession part.\n\nPlugin part.",
  );
  const replacing = { prompt: [{ slot: "intro", text: "Session part.", replaces: true }] } as const;
  expect(await systemOf(options, replacing)).toBe("Session part.\n\nPlugin part.");
  const clearing = { prompt: [{ slot: "intro", text: "", replaces: true }] } as const;
  expect(await systemOf(options, clearing)).toBe("Plugin part.");
});

test("K9 a session's parts are its own: two sessions of one runtime do not share them, whichever came first", async () => {
  const model = scripted(...Array.from({ length: 6 }, () => says("Yes.")));
  await using runtime = await running({ model, instructions: "R" });
  const mine = await runtime.session("mine", { config: { prompt: [{ slot: "project", text: "Mine." }] } });
  const plain = await runtime.session("plain");
  for (const session of [plain, mine, plain, mine]) await session.turn("Go.").result();
  await mine.configure({ prompt: undefined });
  await plain.configure({ instructions: "P" });
  for (const session of [plain, mine]) await session.turn("Go.").result();
  expect(model.requests.map(({ system }) => system)).toEqual(["R", "R\n\nMine.", "R", "R\n\nMine.", "P", "R"]);
});

test("K9 equal inputs give the identical prompt: in every round, turn, session and runtime", async () => {
  const store = memory();
  const plugins = [
    gives("a/a", { slot: "guidance", text: "A" }, { slot: "context", text: "C", title: "T" }),
    gives("b/b", { slot: "guidance", text: "B", priority: -3 }),
  ];
  const script = [calls("ping"), says("Yes."), says("Yes."), says("Yes.")];
  const models = [scripted(...script), scripted(...script)];
  for (const model of models) {
    const runtime = await running({ store, model, plugins, tools: [ping], instructions: "Be kind." });
    const session = await runtime.session();
    await session.turn("One.").result();
    await session.turn("Two.").result();
    await (await runtime.session()).turn("Three.").result();
  }
  const systems = models.flatMap(({ requests }) => requests.map(({ system }) => system));
  expect(systems).toHaveLength(8);
  expect(new Set(systems)).toEqual(new Set(["Be kind.\n\nB\n\nA\n\n## T\n\nC"]));
});

test("K9 equal prompts are stored once, for all turns and sessions of a runtime; another text is stored once more, and an old one not again", async () => {
  const puts: string[] = [];
  const store = around(memory(), {
    "blobs.put": (act, _, data) => {
      puts.push(Buffer.from(data as Uint8Array).toString());
      return act();
    },
  });
  let words = "One.";
  const plugin = definePlugin({ id: "a/a", setup: () => ({ prompt: () => ({ slot: "guidance", text: words }) }) });
  await using runtime = await running({ store, plugins: [plugin], instructions: "Be kind." });
  const [session, other] = [await runtime.session(), await runtime.session()];
  const prompts = () => puts.filter((text) => text.startsWith("Be kind."));
  for (const each of [session, session, other]) await each.turn("Go.").result();
  expect(prompts()).toEqual(["Be kind.\n\nOne."]);
  words = "Two.";
  for (const each of [session, other]) await each.turn("Go.").result();
  words = "One.";
  await other.turn("Go.").result();
  expect(prompts()).toEqual(["Be kind.\n\nOne.", "Be kind.\n\nTwo."]);
});

test("K9 a part may follow the state and the session, and is asked for once a turn", async () => {
  let asked = 0;
  const plugin = definePlugin({
    id: "a/a",
    state: z.object({ turns: z.number().default(0) }),
    setup: () => ({
      prompt: ({ state, session }) => {
        asked++;
        return { slot: "context", text: `${state.get().turns} of ${session.read().turns}` };
      },
      afterTurn: ({ state }) => void state.update(({ turns }) => ({ turns: turns + 1 })),
    }),
  });
  const model = scripted(calls("ping"), says("Yes."), says("Yes."));
  await using runtime = await running({ model, plugins: [plugin], tools: [ping] });
  const session = await runtime.session();
  await session.turn("Go.").result();
  await session.turn("Go.").result();
  expect(model.requests.map(({ system }) => system)).toEqual(["0 of 0", "0 of 0", "1 of 1"]);
  expect(asked).toBe(2);
});

test("K9 with nothing to say there is no prompt", async () => {
  expect(await systemOf({})).toBe("");
  expect(await systemOf({ instructions: "  " })).toBe("");
});

test.each([
  ["tools that are not a list", { slot: "guidance", text: "x", tools: "ping" }],
  ["tools that are not names", { slot: "guidance", text: "x", tools: [1] }],
  ["a priority that is not a number", { slot: "guidance", text: "x", priority: "high" }],
])("K9 a part with %s fails the turn by its plugin", async (_, part) => {
  const plugin = definePlugin({ id: "b/sick", setup: () => ({ prompt: () => part as unknown as PromptPart }) });
  await using runtime = await running({ plugins: [plugin], tools: [ping] });
  const { outcome } = await (await runtime.session()).turn("Go.").result();
  expect(outcome).toMatchObject({ kind: "failed", by: "plugin", code: "hook.answer" });
});
