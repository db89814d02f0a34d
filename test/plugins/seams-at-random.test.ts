import { definePlugin, defineTool, type Plugin, type TelemetryEvent } from "bowline";
import { abort, ask, deny, emitEvent, enqueueMessages, replaceArgs, replaceResult, shortCircuit } from "bowline/plugin";
import { toolCalls } from "bowline/protocols/tool-calls";
import { calls, says, scripted } from "bowline/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { compose } from "../../src/kernel/compose.ts";
import type { Order } from "../../src/kernel/handlers.ts";
import type { HookCallContext, HookRunner, Issue } from "../../src/kernel/hook-runner.ts";
import { installPlugins } from "../../src/kernel/plugin.ts";
import { PluginStates } from "../../src/kernel/states.ts";
import { type Conflict, type Emit, gateCall, inspectResult, type Target } from "../../src/kernel/tool-gates.ts";
import { asCallId, asSessionId } from "../../src/model/ids.ts";
import type { ToolCall } from "../../src/model/tool.ts";
import { makeTool } from "../../src/tools/define.ts";
import type { Changes } from "../../src/turn/event.ts";
import { eventsOf, only, outline } from "../kit/reading.ts";
import { sample } from "../kit/size.ts";
import { onEvent } from "../kit/telemetry.ts";
import { open } from "../kit/worlds.ts";

// Plugins at random: several handlers each, in any order, that answer, throw, answer nonsense or never answer. Whatever
// they do, a seam only ever becomes stricter.

/** `guard` denies whatever is not as the model or the tool made it. */
type Answer = "abort" | "deny" | "ask" | "shortCircuit" | "replace" | "guard" | "emit" | "enqueue";
interface HandlerPlan {
  readonly does: readonly Answer[] | "throws" | "answers nonsense" | "never answers";
  readonly order: Order | undefined;
  readonly isAsync: boolean;
}
interface PluginPlan {
  readonly id: string;
  readonly order: Order | undefined;
  readonly handlers: readonly HandlerPlan[];
}

interface SeamUnderTest {
  readonly hook: "beforeToolCall" | "afterToolCall";
  readonly answers: readonly Answer[];
  /** What this seam does not take. */
  readonly nonsense: readonly unknown[];
  replace(value: string): object;
  run(hooks: HookRunner, here: HookCallContext): Promise<Passed>;
  value(event: never): unknown;
}

/** What the two seams have in common. */
interface Passed {
  readonly value: unknown;
  readonly verdict?: { readonly plugin: string; readonly value: { readonly kind: string } };
  readonly conflicts: readonly Conflict[];
  readonly emits: readonly Emit[];
  readonly issues: readonly Issue[];
  readonly messages: readonly { readonly plugin: string }[];
}

const ORIGINAL = "bread";
const CALL: ToolCall = { id: asCallId("call_take"), name: "take", input: { words: ORIGINAL } };
const TARGET: Target = { tool: undefined, check: () => ({ ok: true, value: undefined }) };
const wordsIn = ({ input }: ToolCall) => (input as { words: unknown }).words;
const NONSENSE = [7, "deny", [[deny("Nested.")]], { kind: "permit" }, { kind: "deny" }, { kind: "abortTurn" }];

const BEFORE: SeamUnderTest = {
  hook: "beforeToolCall",
  answers: ["abort", "deny", "ask", "shortCircuit", "replace", "guard", "emit"],
  nonsense: [...NONSENSE, { kind: "replaceArgs" }, shortCircuit(1n as never), replaceResult("x"), enqueueMessages("x")],
  replace: (words) => replaceArgs({ words }),
  async run(hooks, here) {
    const { call, ...rest } = await gateCall(hooks, CALL, TARGET, here);
    return { ...rest, value: wordsIn(call), messages: [] };
  },
  value: ({ call }: { call: ToolCall }) => wordsIn(call),
};
const AFTER: SeamUnderTest = {
  hook: "afterToolCall",
  answers: ["abort", "deny", "replace", "guard", "emit", "enqueue"],
  nonsense: [...NONSENSE, { kind: "replaceResult" }, replaceResult(1n as never), ask("Sure?"), shortCircuit("x")],
  replace: replaceResult,
  async run(hooks, here) {
    const { output, ...rest } = await inspectResult(hooks, CALL, { kind: "value", value: ORIGINAL }, {}, TARGET, here);
    return { ...rest, value: (output as { value: unknown }).value };
  },
  value: ({ output }: { output: { value: unknown } }) => output.value,
};

// ── Plugins that do as planned ──────────────────────────────────────────────────────────────────────────────────────

interface Look {
  readonly handler: string;
  readonly saw: unknown;
}

const nameOf = (plugin: PluginPlan, index: number) => `${plugin.id}#${index}`;

/** Each look at a call is noted in `looks`, counted in the plugin's state, and answered as planned. */
function pluginFor(seam: SeamUnderTest, plan: PluginPlan, looks: Look[], nonsense: unknown): Plugin {
  const handler = ({ does, order, isAsync }: HandlerPlan, index: number) => {
    const name = nameOf(plan, index);
    const answered = (saw: unknown): unknown => {
      if (does === "throws") throw new Error("Ouch.");
      if (does === "answers nonsense") return nonsense;
      if (does === "never answers") return new Promise(() => {});
      const list = does.map((answer) => directiveFor(seam, answer, name, saw));
      return list.length === 1 ? list[0] : list;
    };
    const run = (event: never): unknown => {
      const saw = seam.value(event);
      looks.push({ handler: name, saw });
      (event as Counting).state.update(({ looks: before }) => ({ looks: before + 1 }));
      return isAsync ? Promise.resolve().then(() => answered(saw)) : answered(saw);
    };
    return { run, ...(order === undefined ? {} : { order }), ...(does === "never answers" ? { deadlineMs: 1 } : {}) };
  };
  return definePlugin({
    id: plan.id,
    ...(plan.order === undefined ? {} : { order: plan.order }),
    state: z.object({ looks: z.number().default(0) }),
    setup: () => ({ [seam.hook]: plan.handlers.map(handler) }) as object,
  });
}
interface Counting {
  readonly state: { update(change: (state: { readonly looks: number }) => { readonly looks: number }): void };
}

function directiveFor(seam: SeamUnderTest, answer: Answer, name: string, saw: unknown): object | undefined {
  switch (answer) {
    case "abort":
      return abort("p.abort", `${name} aborts.`);
    case "deny":
      return deny(`${name} denies.`);
    case "ask":
      return ask(`${name} asks.`, { waitMs: 1 });
    case "shortCircuit":
      return shortCircuit(`${name} answers.`);
    case "replace":
      return seam.replace(name);
    case "guard":
      return saw === ORIGINAL ? undefined : deny(`${name} guards.`);
    case "emit":
      return emitEvent("look", name);
    case "enqueue":
      return enqueueMessages(`${name} notes.`);
  }
}

interface Ran extends Passed {
  readonly looks: readonly Look[];
  /** Handlers, in the order of their first look. */
  readonly inOrder: readonly string[];
  readonly states: { readonly [plugin: string]: { readonly looks: number } };
}

/** The plugins at the seam itself. */
async function passing(seam: SeamUnderTest, plans: readonly PluginPlan[], nonsense: unknown = 7): Promise<Ran> {
  const looks: Look[] = [];
  const { signal } = new AbortController();
  const installed = await installPlugins(
    plans.map((plan) => pluginFor(seam, plan, looks, nonsense)),
    signal,
  );
  const [protocol] = await installPlugins([toolCalls()], signal);
  const id = asSessionId("s");
  const { hooks } = compose(installed, protocol, new Map(), { id, isRoot: true }, makeTool, undefined, () => {});
  const states = new PluginStates(installed, {}, 1_000, { put: unasked, get: unasked });
  const here = {
    sessionId: id,
    signal,
    states,
    read: unasked,
    once: unasked,
    extension: unasked,
    onceHere: unasked,
    service: () => ({}) as never,
  };
  const passed = await seam.run(hooks, here);
  const inOrder = [...new Set(looks.map(({ handler }) => handler))];
  return { ...passed, looks, inOrder, states: mapValues(states.take() ?? {}) };
}
const mapValues = (changes: Changes): Ran["states"] =>
  Object.fromEntries(Object.entries(changes).map(([plugin, { state }]) => [plugin, state as { looks: number }]));
const unasked = (): never => {
  throw new Error("No handler here asks for services.");
};

// ── What to expect of a plan ────────────────────────────────────────────────────────────────────────────────────────

const STRICTNESS = ["nothing", "shortCircuit", "ask", "deny", "abort"];
const strictness = ({ verdict }: Passed): number => STRICTNESS.indexOf(verdict?.value.kind ?? "nothing");
const DENY = STRICTNESS.indexOf("deny");

const handlersOf = (plans: readonly PluginPlan[]) =>
  plans.flatMap((plan) => plan.handlers.map((handler, index) => ({ ...handler, plan, name: nameOf(plan, index) })));
const times = ({ does }: HandlerPlan, answer: Answer): number =>
  Array.isArray(does) ? does.filter((each) => each === answer).length : 0;
const fails = ({ does }: HandlerPlan): boolean => !Array.isArray(does);
/** The strictest that a handler says by itself. */
const strictestOf = (handler: HandlerPlan): number =>
  fails(handler) ? DENY : Math.max(0, ...(handler.does as readonly Answer[]).map((each) => STRICTNESS.indexOf(each)));
const rules = (handler: HandlerPlan): boolean => strictestOf(handler) > 0;

const ORDERS = ["early", "normal", "late"];
const placeOf = ({ order, plan }: { order: Order | undefined; plan: PluginPlan }): number =>
  ORDERS.indexOf(order ?? plan.order ?? "normal");

// ── Plans at random ─────────────────────────────────────────────────────────────────────────────────────────────────

const order = fc.constantFrom<Order | undefined>(undefined, "early", "normal", "late");
const handlerPlan = (does: fc.Arbitrary<HandlerPlan["does"]>): fc.Arbitrary<HandlerPlan> =>
  fc.record({ does, order, isAsync: fc.boolean() });
const pluginPlans = (does: fc.Arbitrary<HandlerPlan["does"]>): fc.Arbitrary<readonly PluginPlan[]> =>
  fc
    .array(fc.record({ order, handlers: fc.array(handlerPlan(does), { minLength: 1, maxLength: 2 }) }), {
      minLength: 2,
      maxLength: 6,
    })
    .map((plans) => plans.map((plan, index) => ({ id: `p/${index}`, ...plan })));

const answersOf = (answers: readonly Answer[], maxLength = 3) => fc.array(fc.constantFrom(...answers), { maxLength });
/** Each time only some kinds of answers: with all of them at once, a denial is nearly always among them. */
const anyPlans = (seam: SeamUnderTest): fc.Arbitrary<readonly PluginPlan[]> =>
  fc.tuple(fc.subarray([...seam.answers], { minLength: 1 }), fc.boolean()).chain(([answers, isSound]) => {
    const some = answersOf(answers);
    const broken = fc.constantFrom<HandlerPlan["does"]>("throws", "answers nonsense");
    return pluginPlans(isSound ? some : fc.oneof({ weight: 6, arbitrary: some }, { weight: 1, arbitrary: broken }));
  });
const failing = fc.constantFrom<HandlerPlan["does"]>("throws", "answers nonsense", "never answers");
const RUNS = { numRuns: sample(50, 150) };

describe.each([BEFORE, AFTER])("$hook", (seam) => {
  const plans = anyPlans(seam);

  test("K12 more plugins or another order never make the verdict weaker", async () => {
    const sets = plans.chain((all) =>
      fc.record({
        all: fc.constant(all),
        fewer: fc.subarray([...all]),
        shuffled: fc.shuffledSubarray([...all], { minLength: all.length }),
      }),
    );
    const monotone = fc.asyncProperty(sets, async ({ all, fewer, shuffled }) => {
      const verdict = strictness(await passing(seam, all));
      expect(verdict).toBeGreaterThanOrEqual(strictness(await passing(seam, fewer)));
      expect(verdict).toBeGreaterThanOrEqual(Math.max(...handlersOf(all).map(strictestOf)));
      expect(strictness(await passing(seam, shuffled))).toBe(verdict);
    });
    await fc.assert(monotone, RUNS);
  });

  test("K12 handlers run in their order, and again once for each replacement after them", async () => {
    const bounded = fc.asyncProperty(plans, async (all) => {
      const { looks, inOrder } = await passing(seam, all);
      const placed = handlersOf(all).sort((a, b) => placeOf(a) - placeOf(b));
      expect(inOrder).toEqual(placed.map(({ name }) => name));
      for (const [place, { name }] of placed.entries()) {
        const replacements = placed.slice(place + 1).reduce((sum, later) => sum + times(later, "replace"), 0);
        expect(looks.filter(({ handler }) => handler === name)).toHaveLength(1 + replacements);
      }
    });
    await fc.assert(bounded, RUNS);
  });

  test("K12 the last replacement passes, and every handler but the one that made it has seen it", async () => {
    const seenByAll = fc.asyncProperty(plans, async (all) => {
      const { value, looks, inOrder } = await passing(seam, all);
      const replacers = handlersOf(all).filter((handler) => times(handler, "replace") > 0);
      expect(value).toBe(inOrder.findLast((name) => replacers.some((each) => each.name === name)) ?? ORIGINAL);
      for (const name of inOrder.filter((each) => each !== value))
        expect(looks.filter(({ handler }) => handler === name).at(-1)).toEqual({ handler: name, saw: value });
    });
    await fc.assert(seenByAll, RUNS);
  });

  test("K12 nothing is put in behind a guard's back, wherever the guard is", async () => {
    const swap = handlerPlan(fc.constant(["replace"])).map((handler) => ({ order: undefined, handlers: [handler] }));
    const guarded = fc
      .tuple(pluginPlans(answersOf(["guard", "emit"], 2)), swap)
      .filter(([guards]) => handlersOf(guards).some((handler) => times(handler, "guard") > 0))
      .chain(([guards, one]) => {
        const all = [...guards, { id: "p/swap", ...one }];
        return fc.shuffledSubarray(all, { minLength: all.length });
      });
    const denied = fc.asyncProperty(guarded, async (all) => {
      const { verdict } = await passing(seam, all);
      expect(verdict?.value).toMatchObject({ kind: "deny", reason: expect.stringMatching(/guards/) });
    });
    await fc.assert(denied, RUNS);
  });

  test("K12 two that replace close the gate, in any order", async () => {
    const stubborn = pluginPlans(answersOf(["replace", "emit"], 2)).filter(
      (all) => handlersOf(all).filter((handler) => times(handler, "replace") > 0).length > 1,
    );
    const closed = fc.asyncProperty(stubborn, async (all) => {
      const { verdict } = await passing(seam, all);
      expect(verdict?.value).toMatchObject({ kind: "deny", reason: expect.stringMatching(/replace each other/) });
    });
    await fc.assert(closed, RUNS);
  });

  test("K12 a conflict names who won and who lost; nobody is in conflict with himself", async () => {
    const named = fc.asyncProperty(plans, async (all) => {
      const { conflicts, verdict } = await passing(seam, all);
      const ids = all.map(({ id }) => id);
      for (const { hook, winner, loser } of conflicts) {
        expect({ hook, known: ids.includes(winner) && ids.includes(loser) }).toEqual({ hook: seam.hook, known: true });
        expect(winner).not.toBe(loser);
      }
      if (conflicts.length > 0) expect(conflicts.at(-1)?.winner).toBe(verdict?.plugin);
      const overruled = all.filter(({ id, handlers }) => id !== verdict?.plugin && handlers.some(rules));
      expect(conflicts.map(({ loser }) => loser)).toEqual(expect.arrayContaining(overruled.map(({ id }) => id)));
    });
    await fc.assert(named, RUNS);
  });

  test("K12 a second look leaves no trace: every handler's events, messages and changes of state count once", async () => {
    const once = fc.asyncProperty(plans, async (all) => {
      const { emits, messages, states, inOrder } = await passing(seam, all);
      const byName = new Map(handlersOf(all).map((handler) => [handler.name, handler]));
      const planned = (answer: Answer) => inOrder.map((name) => times(byName.get(name) as HandlerPlan, answer));
      const told = inOrder.map((name) => emits.filter(({ value }) => "payload" in value && value.payload === name));
      expect(told.map(({ length }) => length)).toEqual(planned("emit"));
      expect(messages).toHaveLength(planned("enqueue").reduce((sum, count) => sum + count, 0));
      expect(states).toEqual(Object.fromEntries(all.map(({ id, handlers }) => [id, { looks: handlers.length }])));
    });
    await fc.assert(once, RUNS);
  });

  test("K12 a handler that throws, answers nonsense or misses its deadline denies in its plugin's name", async () => {
    const mild = seam.answers.filter((answer) => STRICTNESS.indexOf(answer) < DENY && answer !== "guard");
    const broken = pluginPlans(fc.oneof({ weight: 3, arbitrary: answersOf(mild, 1) }, failing)).filter(
      (all) => handlersOf(all).some(fails) && handlersOf(all).filter((each) => times(each, "replace") > 0).length < 2,
    );
    const denies = fc.asyncProperty(broken, fc.constantFrom(...seam.nonsense), async (all, nonsense) => {
      const { verdict, issues } = await passing(seam, all, nonsense);
      const guilty = all.filter(({ handlers }) => handlers.some(fails)).map(({ id }) => id);
      expect(guilty).toContain(verdict?.plugin);
      expect([...new Set(issues.map(({ plugin }) => plugin))].sort()).toEqual(guilty.sort());
      expect(verdict?.value).toMatchObject({ kind: "deny", reason: expect.stringContaining(verdict?.plugin ?? "?") });
    });
    await fc.assert(denies, RUNS);
  });

  test("K12 what the seam rules is what happens to a call of a turn", async () => {
    const carriedOut = fc.asyncProperty(plans, async (all) => {
      const { verdict, value, emits, conflicts } = await passing(seam, all);
      const turn = await turnWith(all.map((plan) => pluginFor(seam, plan, [], 7)));
      const kind = verdict?.value.kind ?? "nothing";
      if (seam === BEFORE) expect(turn.taken).toEqual(kind === "nothing" ? [value] : []);
      else expect(turn.taken).toEqual([ORIGINAL]);
      const { reason = "", value: instead = value } = { ...(verdict?.value as { reason?: string; value?: string }) };
      if (kind === "abort") expect(turn.outcome).toMatchObject({ kind: "stopped", by: "plugin", code: "p.abort" });
      else expect(turn.outcome.kind).toBe("answered");
      if (kind === "nothing" || kind === "shortCircuit") expect(turn.shown).toBe(`take ok: ${instead}`);
      if (kind === "ask") expect(turn.shown).toMatch(/^take denied: .*nobody approved/);
      if (kind === "deny")
        expect(turn.shown).toContain(
          `take denied: Error (tool.denied): take ${seam === BEFORE ? "was not allowed" : "ran, but its result is withheld"}: ${reason}`,
        );
      expect(turn.told).toEqual(emits.map(({ plugin }) => plugin));
      expect(turn.conflicts).toEqual(conflicts);
    });
    await fc.assert(carriedOut, { numRuns: sample(15, 40) });
  });
});

test("K12 in a second look nobody can answer for the tool: only what is stricter counts there", async () => {
  const cache = definePlugin({
    id: "p/cache",
    setup: () => ({
      beforeToolCall: ({ call }) => (wordsIn(call) === ORIGINAL ? undefined : shortCircuit("Cached.")),
    }),
  });
  const swap = definePlugin({ id: "p/swap", setup: () => ({ beforeToolCall: () => replaceArgs({ words: "cake" }) }) });
  expect(await turnWith([cache, swap])).toMatchObject({ taken: ["cake"], shown: "take ok: cake" });
  expect(await turnWith([swap, cache])).toMatchObject({ taken: [], shown: "take ok: Cached." });
});

/** One turn in which the model calls `take` once. */
async function turnWith(plugins: readonly Plugin[]) {
  const taken: string[] = [];
  const traces: TelemetryEvent[] = [];
  const take = defineTool({
    name: "take",
    description: "Gives back what it is given.",
    input: z.object({ words: z.string() }),
    execute: ({ words }) => {
      taken.push(words);
      return words;
    },
  });
  const model = scripted(calls("take", { words: ORIGINAL }), says("Done."));
  await using world = await open(model, {
    plugins,
    tools: [take],
    telemetry: onEvent((record) => void traces.push(record)),
  });
  const turn = world.session.turn("Go.");
  const told = only(await eventsOf(turn), "plugin").map(({ plugin }) => plugin);
  const { outcome } = await turn.result();
  const { messages } = await world.session.read();
  const shown = outline(messages).find((line) => line.startsWith("take ")) ?? "";
  const conflicts = traces.filter(({ name }) => name === "hook.conflict").map(({ about }) => about);
  return { taken, told, outcome, shown, conflicts };
}
