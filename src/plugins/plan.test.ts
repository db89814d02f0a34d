import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createRuntime,
  definePlugin,
  defineTool,
  finish,
  type Json,
  jsonSchema,
  type Plugin,
  type Runtime,
  type Store,
  switchFrame,
  type Tool,
} from "bowline";
import type { NewSessionRequest, Schema } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { both, calls, type Scripted, says, scripted } from "bowline/testing";
import { afterAll, expect, test } from "vitest";
import { lives } from "../../test/kit/stores.ts";
import { type PlanStep, plan } from "./plan.ts";

const NOTHING = jsonSchema<object>({ type: "object", properties: {} });

const step = (words: string, status: PlanStep["status"] = "pending"): PlanStep => ({ step: words, status });
const WALLS = [step("Build walls", "in_progress"), step("Build roof")];
const ROOF = [step("Build walls", "completed"), step("Build roof", "in_progress")];
const updates = (steps: readonly PlanStep[], explanation?: string) =>
  calls("update_plan", {
    steps: steps.map((each) => ({ ...each })),
    ...(explanation === undefined ? {} : { explanation }),
  });

interface Given {
  readonly store?: Store;
  readonly plugins?: readonly Plugin[];
  readonly tools?: readonly Tool[];
  readonly stateBytesMax?: number;
}
const running = (
  model: Scripted,
  { store = memory(), plugins = [plan], tools = [], stateBytesMax }: Given = {},
): Promise<Runtime> =>
  createRuntime({
    store,
    model,
    plugins,
    tools,
    ...(stateBytesMax === undefined ? {} : { limits: { stateBytesMax } }),
  });

/** The volatile last message of each request. */
const tails = (model: Scripted): readonly string[] =>
  model.requests.map(({ messages, stable }) =>
    stable === undefined
      ? ""
      : messages
          .slice(stable)
          .flatMap(({ parts }) => parts.map((part) => (part.kind === "text" ? part.text : "")))
          .join(""),
  );

/** The results of all calls, as the last request shows them. */
const answers = (model: Scripted): readonly string[] =>
  (model.requests.at(-1)?.messages ?? []).flatMap(({ parts }) =>
    parts.flatMap((part) =>
      part.kind === "toolResult"
        ? [`${part.status}: ${part.parts.map((each) => (each.kind === "text" ? each.text : "")).join("")}`]
        : [],
    ),
  );

const declaredIn = (model: Scripted, index: number): readonly string[] =>
  (model.requests[index]?.tools ?? []).map(({ name }) => name);

const folder = mkdtempSync(join(tmpdir(), "bowline-plan-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const request: Schema<NewSessionRequest, NewSessionRequest> = {
  "~standard": { version: 1, vendor: "test", validate: (value) => ({ value: value as NewSessionRequest }) },
};
const maker = definePlugin({
  id: "a/maker",
  setup: ({ command }) => ({
    operations: {
      make: command({ input: request, run: async ({ input, sessions }) => (await sessions.create(input)).id }),
    },
  }),
});

test("E3 the plan is shown from the next round on, after the conversation, and in no round while it is empty", async () => {
  const model = scripted(updates(WALLS), updates(ROOF), updates([]), says("Done."));
  await using runtime = await running(model);
  await (await runtime.session()).turn("Build a house.").result();
  expect(tails(model)).toEqual([
    "",
    "## Plan\n\n1. [>] Build walls\n2. [ ] Build roof",
    "## Plan\n\n1. [x] Build walls\n2. [>] Build roof",
    "",
  ]);
  expect(answers(model)).toEqual([
    "ok: The plan is updated: 0 of 2 steps completed.",
    "ok: The plan is updated: 1 of 2 steps completed.",
    "ok: The plan is now empty.",
  ]);
});

test("E3 what a provider caches does not change with the plan", async () => {
  const model = scripted(updates(WALLS), says("Planned."), updates(ROOF), says("Going on."));
  await using runtime = await running(model);
  const session = await runtime.session();
  await session.turn("Build a house.").result();
  await session.turn("Go on.").result();
  expect(new Set(model.requests.map(({ system }) => system)).size).toBe(1);
  expect(model.requests[0]?.system).toContain("`update_plan`");
  expect(JSON.stringify((await session.read()).messages)).not.toContain("## Plan");
});

test("E3 a plan with two steps in progress is refused with a code, and the old one stays", async () => {
  const two = [step("One", "in_progress"), step("Two"), step("Three", "in_progress")];
  const model = scripted(updates(WALLS), updates(two), says("Sorry."));
  await using runtime = await running(model);
  const session = await runtime.session();
  const failures: unknown[] = [];
  for await (const event of session.turn("Plan."))
    if (event.kind === "toolEnded" && event.output.kind === "failure") failures.push(event.output.failure);
  const message = "At most one step may be in_progress, but 2 are: 1, 3. The plan is unchanged. Send all steps again.";
  expect(failures).toEqual([expect.objectContaining({ code: "plan.in-progress", class: "arguments", message })]);
  expect(answers(model)[1]).toBe(`failed: Error (plan.in-progress): ${message}`);
  expect(await session.query(plan, "current")).toEqual({ steps: WALLS, generation: 1 });
});

test.each<[string, Json, RegExp]>([
  ["no steps", {}, /must have required property 'steps'/],
  ["a step that is text", { steps: ["Build"] }, /\/steps\/0 must be object/],
  ["an unknown status", { steps: [{ step: "Build", status: "done" }] }, /\/steps\/0\/status must be equal to one of/],
  ["no status", { steps: [{ step: "Build" }] }, /must have required property 'status'/],
  ["another field", { steps: [{ step: "Build", status: "pending", id: 1 }] }, /must NOT have additional properties/],
  ["an empty step", { steps: [{ step: "", status: "pending" }] }, /must NOT have fewer than 1 characters/],
  ["a blank step", { steps: [step("A"), step(" \n ")] as unknown as Json }, /plan\.step\): Step 2 has no text/],
  ["a long step", { steps: [step("x".repeat(501))] as unknown as Json }, /must NOT have more than 500 characters/],
  ["too many", { steps: Array.from({ length: 4 }, () => step("x")) as unknown as Json }, /NOT have more than 3 items/],
])("E3 %s: the model reads what is wrong, and nothing is kept", async (_, input, problem) => {
  const model = scripted(calls("update_plan", input), says("Sorry."));
  await using runtime = await running(model, { plugins: [plan({ stepsMax: 3 })] });
  const session = await runtime.session();
  const { outcome } = await session.turn("Plan.").result();
  expect(outcome.kind).toBe("answered");
  expect(answers(model)[0]).toMatch(/^failed: /);
  expect(answers(model)[0]).toMatch(problem);
  expect(await session.query(plan, "current")).toEqual({ steps: [], generation: 0 });
});

test("E3 a plan is bounded in all, and by what the runtime lets a plugin keep", async () => {
  const long = Array.from({ length: 40 }, (_, index) => step(`${index} ${"é".repeat(490)}`));
  const model = scripted(updates(long), says("Sorry."), updates(long.slice(0, 4)), says("Sorry."));
  const store = memory();
  await using wide = await running(model, { store });
  await (await wide.session("s")).turn("Plan.").result();
  expect(answers(model)[0]).toMatch(/^failed: Error \(plan\.too-long\): The plan has \d+ bytes, and at most 16384 are/);
  await using narrow = await running(model, { store, stateBytesMax: 1_000 });
  const session = await narrow.session("s");
  await session.turn("Plan.").result();
  expect(answers(model)[1]).toMatch(/^failed: Error \(plan\.too-long\): The plan has \d+ bytes, and at most 1000 are/);
  expect((await session.query(plan, "current")).steps).toEqual([]);
});

test("E3 a step is one line, in any script", async () => {
  const steps = [step("  Mauer\n3. [x] Dach \u2028 fertig "), step("📦 配送を確認する"), step("בדיקה")];
  const model = scripted(updates(steps), says("Done."));
  await using runtime = await running(model);
  await (await runtime.session()).turn("Plan.").result();
  expect(tails(model)[1]).toBe("## Plan\n\n1. [ ] Mauer 3. [x] Dach fertig\n2. [ ] 📦 配送を確認する\n3. [ ] בדיקה");
});

test("E3 500 characters are 500 of them, whatever their bytes", async () => {
  const model = scripted(updates([step("😀".repeat(500))]), says("Done."));
  await using runtime = await running(model);
  await (await runtime.session()).turn("Plan.").result();
  expect(answers(model)).toEqual(["ok: The plan is updated: 0 of 1 step completed."]);
});

test("E3 readers of the turn receive each change, with the reason", async () => {
  const model = scripted(
    updates(WALLS, "A house has two."),
    calls("look"),
    both(updates(WALLS), updates(ROOF, "Walls stand.")),
    says("Done."),
  );
  const look = defineTool({ name: "look", description: "Looks.", input: NOTHING, execute: () => "A house." });
  await using runtime = await running(model, { tools: [look] });
  const told: unknown[] = [];
  for await (const event of (await runtime.session()).turn("Build."))
    if (event.kind === "plugin") told.push([event.plugin, event.name, event.payload]);
  // Two changes in one reply are told once, as the plan is after both.
  expect(told).toEqual([
    ["bowline/plan", "updated", { steps: WALLS, generation: 1, explanation: "A house has two." }],
    ["bowline/plan", "updated", { steps: ROOF, generation: 3, explanation: "Walls stand." }],
  ]);
});

test("E3 readers receive the change also in a turn that a tool finishes at once", async () => {
  const done = defineTool({ name: "done", description: "Ends.", input: NOTHING, execute: () => finish("ok") });
  const model = scripted(both(updates(ROOF), calls("done")), says("Next."));
  await using runtime = await running(model, { tools: [done] });
  const session = await runtime.session();
  const told: unknown[] = [];
  for (const words of ["Build.", "And now?"])
    for await (const event of session.turn(words)) if (event.kind === "plugin") told.push([words, event.payload]);
  expect(told).toEqual([["Build.", { steps: ROOF, generation: 1 }]]);
});

test("E3 the plan is shown in a fresh frame, where the conversation is not", async () => {
  const hand = defineTool({
    name: "hand_over",
    description: "Begins a frame.",
    input: NOTHING,
    execute: () => switchFrame("Build the roof."),
  });
  const model = scripted(updates(ROOF), calls("hand_over"), says("Built."));
  await using runtime = await running(model, { tools: [hand] });
  await (await runtime.session()).turn("Build a house.").result();
  expect(JSON.stringify(model.requests[2]?.messages)).not.toContain("Build a house.");
  expect(tails(model)[2]).toBe("## Plan\n\n1. [x] Build walls\n2. [>] Build roof");
});

test("E3 K14 the plan is there after a restart", async () => {
  const path = join(folder, "restart.db");
  const model = scripted(updates(WALLS), says("Planned."), says("Walls."));
  {
    const store = sqlite(path);
    await using runtime = await running(model, { store });
    await (await runtime.session("house")).turn("Plan a house.").result();
  }
  const store = sqlite(path);
  await using runtime = await running(model, { store });
  const session = await runtime.session("house");
  await session.turn("Where are we?").result();
  expect(tails(model)[2]).toBe("## Plan\n\n1. [>] Build walls\n2. [ ] Build roof");
  expect(await session.query(plan, "current")).toEqual({ steps: WALLS, generation: 1 });
});

test("E3 K14 a turn that resumes after a crash has the plan that it had made, and the plan counts once", async () => {
  const life = lives(memory());
  const struck = Promise.withResolvers<void>();
  const slow = (run: () => Promise<string>): Tool =>
    defineTool({ name: "slow", description: "Takes long.", input: NOTHING, execute: run });
  const dies = slow(() => {
    life.kill();
    struck.resolve();
    return new Promise(() => {});
  });
  const first = await running(scripted(updates(WALLS), calls("slow")), { store: life.next(), tools: [dies] });
  void (await first.session("house")).turn("Build a house.", { key: "k" });
  await struck.promise;

  const model = scripted(says("Built."));
  await using second = await running(model, { store: life.next(), tools: [slow(async () => "ok")] });
  const session = await second.session("house");
  await session.turn("Build a house.", { key: "k" }).result();
  expect(tails(model)).toEqual(["## Plan\n\n1. [>] Build walls\n2. [ ] Build roof"]);
  expect(await session.query(plan, "current")).toEqual({ steps: WALLS, generation: 1 });
});

test("E3 S7 a fork has the plan of where it was made, and from then on its own", async () => {
  const model = scripted(updates(WALLS), says("Planned."), updates(ROOF), says("Roof."), says("Walls?"));
  await using runtime = await running(model);
  const session = await runtime.session("house");
  await session.turn("Plan a house.").result();
  const fork = await session.fork();
  await fork.turn("Go on.").result();
  await session.turn("Where are we?").result();
  expect(tails(model)[2]).toContain("1. [>] Build walls");
  expect(tails(model)[4]).toContain("1. [>] Build walls");
  expect(await fork.query(plan, "current")).toEqual({ steps: ROOF, generation: 2 });
  expect(await session.query(plan, "current")).toEqual({ steps: WALLS, generation: 1 });
});

test("E3 a child does not plan, not even with a copy of its parent's state", async () => {
  const model = scripted(updates(WALLS), says("Planned."), says("Child."));
  await using runtime = await running(model, { plugins: [plan, maker] });
  const parent = await runtime.session("parent");
  await parent.turn("Plan.").result();
  await parent.command(maker, "make", { id: "child", kind: "child", copiesState: true });
  await (await runtime.session("child")).turn("Help.").result();
  expect([declaredIn(model, 0), declaredIn(model, 2)]).toEqual([["update_plan"], []]);
  expect([model.requests[2]?.system, tails(model)[2]]).toEqual(["", ""]);
});

test("E3 children plan where the options say so, each its own", async () => {
  const model = scripted(updates(WALLS), says("Planned."), updates(ROOF), says("Child."), says("Copy."));
  await using runtime = await running(model, { plugins: [plan({ inChildren: true }), maker] });
  const parent = await runtime.session("parent");
  await parent.turn("Plan.").result();
  await parent.command(maker, "make", { id: "child", kind: "child" });
  await parent.command(maker, "make", { id: "copy", kind: "child", copiesState: true });
  const child = await runtime.session("child");
  await child.turn("Help.").result();
  await (await runtime.session("copy")).turn("Help.").result();
  expect(tails(model)[2]).toBe("");
  expect(tails(model)[3]).toContain("[>] Build roof");
  expect(tails(model)[4]).toContain("[>] Build walls");
  expect(await parent.query(plan, "current")).toEqual({ steps: WALLS, generation: 1 });
});

test("E3 the app reads and clears the plan; to clear an empty one changes nothing", async () => {
  const model = scripted(updates(WALLS), says("Planned."), says("None."));
  await using runtime = await running(model);
  const session = await runtime.session();
  expect(await session.query(plan, "current")).toEqual({ steps: [], generation: 0 });
  await session.turn("Plan.").result();
  const cleared = { steps: [], generation: 2 };
  expect(await session.command(plan, "clear")).toMatchObject({
    output: cleared,
    events: [{ name: "updated", payload: cleared }],
  });
  const { fingerprint } = session;
  expect(await session.command(plan, "clear")).toMatchObject({ output: cleared, events: [] });
  expect(session.fingerprint).toBe(fingerprint);
  await session.turn("What is left?").result();
  expect(tails(model)[2]).toBe("");
});

test("E3 the guidance goes with the tool; the plan stays to be seen", async () => {
  const model = scripted(updates(WALLS), says("Planned."), says("Hm."));
  await using runtime = await running(model);
  const session = await runtime.session();
  await session.turn("Plan.").result();
  await session.tools.set("update_plan", "off");
  await session.turn("Go on.").result();
  expect(model.requests[2]?.system).toBe("");
  expect(tails(model)[2]).toContain("Build walls");
});

test.each([
  [{ stepsMax: 0 }, "stepsMax must be a whole number from 1 to 500"],
  [{ stepsMax: 1.5 }, "stepsMax must be a whole number from 1 to 500"],
  [{ inChildren: "yes" }, "inChildren must be true or false"],
  [{ steps: 5 }, "there is no field steps"],
  [[], "it must be an object"],
])("E3 the options %j are refused where they are given", (options, problem) => {
  expect(() => plan(options as object)).toThrow(expect.objectContaining({ code: "plugin.options" }));
  expect(() => plan(options as object)).toThrow(problem);
});
