import { type Approval, definePlugin, defineTool, finish, type Plugin, type TelemetryEvent } from "bowline";
import { abort, ask, deny, emitEvent, enqueueMessages, replaceArgs, replaceResult, shortCircuit } from "bowline/plugin";
import { both, calls, says, scripted } from "bowline/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { eventsOf, only, outline, seen } from "../kit/reading.ts";
import { onEvent } from "../kit/telemetry.ts";
import { keyTo, type Opened, open } from "../kit/worlds.ts";

/** A tool that notes what it was given. */
function taking() {
  const taken: string[] = [];
  const take = defineTool({
    name: "take",
    description: "Takes words.",
    input: z.object({ words: z.string() }),
    execute: ({ words }) => {
      taken.push(words);
      return `Took ${words}.`;
    },
  });
  return { take, taken };
}

interface Seam {
  readonly call: { readonly input: unknown };
  readonly output?: unknown;
}
type Run = (seam: Seam) => unknown;

/** A guard as a caller without types may write it. */
const before = (id: string, run: Run): Plugin => definePlugin({ id, setup: () => ({ beforeToolCall: run }) as object });
const after = (id: string, run: Run): Plugin => definePlugin({ id, setup: () => ({ afterToolCall: run }) as object });

/** One call of `take` under these plugins: what ran, what the model was shown, how the turn ended. */
async function oneCall(plugins: readonly Plugin[], input: object = { words: "bread" }) {
  const { take, taken } = taking();
  const traces: TelemetryEvent[] = [];
  const model = scripted(calls("take", input as never), says("Done."));
  await using world = await open(model, {
    plugins,
    tools: [take],
    telemetry: onEvent((record) => void traces.push(record)),
  });
  const turn = world.session.turn("Go.");
  const events = await eventsOf(turn);
  const { outcome, issues } = await turn.result();
  const { messages } = await world.session.read();
  const shown = outline(messages).find((line) => line.startsWith("take ")) ?? "";
  const next = world.session.turn("And?");
  const isAlive = await next.result().then(
    () => true,
    () => false,
  );
  expect(isAlive, "the session goes on").toBe(true);
  const tracesOf = (kind: string) => traces.filter(({ name }) => name === kind);
  return { taken, shown, outcome, issues, events, messages, tracesOf, conflicts: tracesOf("hook.conflict") };
}

// ── Before a call ───────────────────────────────────────────────────────────────────────────────────────────────────

test("K10 deny: the call does not run, the model reads the reason, and the turn continues", async () => {
  const { taken, shown, outcome, events } = await oneCall([
    before("a/guard", () => [deny("Not today."), emitEvent("denied")]),
  ]);
  expect(taken).toEqual([]);
  expect(shown).toMatch(/^take denied: .*Not today\./);
  expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(only(events, "plugin")).toMatchObject([{ plugin: "a/guard", name: "denied" }]);
  expect(only(events, "toolEnded")).toMatchObject([{ status: "denied" }]);
});

test("K10 abort: the turn is stopped by the plugin, and other guards cannot undo it", async () => {
  const plugins = [
    before("a/soft", () => shortCircuit("Fine.")),
    before("b/hard", () => abort("b.no", "Never.")),
    before("c/deny", () => deny("No.")),
  ];
  const { taken, outcome } = await oneCall(plugins);
  expect(taken).toEqual([]);
  expect(outcome).toMatchObject({ kind: "stopped", by: "plugin", code: "b.no", reason: "Never." });
});

test("K10 shortCircuit: the value is the result, and the tool does not run", async () => {
  const { taken, shown, events } = await oneCall([before("a/cache", () => shortCircuit({ cached: true }))]);
  expect(taken).toEqual([]);
  expect(shown).toBe('take ok: {"cached":true}');
  expect(only(events, "toolStarted")).toHaveLength(1);
  expect(only(events, "toolEnded")).toMatchObject([
    { status: "ok", output: { kind: "value", value: { cached: true } } },
  ]);
});

test("K10 replaceArgs: the tool is given the new arguments, later guards see them, and history keeps what the model asked", async () => {
  const heard: unknown[] = [];
  const plugins = [
    before("a/tidy", () => replaceArgs({ words: "cake" })),
    before("b/later", ({ call }) => void heard.push(call.input)),
  ];
  const { taken, shown, messages } = await oneCall(plugins);
  expect(taken).toEqual(["cake"]);
  expect(heard).toEqual([{ words: "cake" }]);
  expect(shown).toBe("take ok: Took cake.");
  const asked = messages.flatMap(({ parts }) => parts).find((part) => part.kind === "toolCall");
  expect(asked).toMatchObject({ input: { words: "bread" } });
});

test("K10 replaced arguments are validated like the model's own", async () => {
  const { taken, shown } = await oneCall([before("a/sloppy", () => replaceArgs({ words: 42 }))]);
  expect(taken).toEqual([]);
  expect(shown).toMatch(/^take failed: .*tool\.arguments.*words/);
});

test("K10 arguments that a guard puts right need not have been right before", async () => {
  const { taken } = await oneCall([before("a/tidy", () => replaceArgs({ words: "cake" }))], { words: 42 });
  expect(taken).toEqual(["cake"]);
});

test("K12 replaced arguments are looked at once more by earlier guards, which may still deny", async () => {
  const heard: string[] = [];
  const guard = before("a/guard", ({ call }) => {
    const { words } = call.input as { words: string };
    heard.push(words);
    return words === "poison" ? deny("Not that.") : undefined;
  });
  const { taken, shown } = await oneCall([guard, before("b/swap", () => replaceArgs({ words: "poison" }))]);
  expect(heard).toEqual(["bread", "poison"]);
  expect(taken).toEqual([]);
  expect(shown).toMatch(/^take denied: .*Not that\./);
});

test("K12 two guards that replace each other's arguments close the gate", async () => {
  const stubborn = (id: string, words: string) => before(id, () => replaceArgs({ words }));
  const plugins = [stubborn("a/cake", "cake"), stubborn("b/pie", "pie")];
  const { taken, shown, issues, tracesOf } = await oneCall(plugins);
  expect(taken).toEqual([]);
  expect(shown).toMatch(/^take denied: .*replace each other/);
  const issue = {
    plugin: "a/cake",
    code: "hook.contested",
    message: expect.stringContaining("a/cake and b/pie replace each other's arguments of the call of take"),
  };
  expect(issues).toEqual([issue]);
  expect(tracesOf("hook.issue")).toMatchObject([{ about: issue }]);
});

test("K12 the second look counts nothing twice", async () => {
  const counter = definePlugin({
    id: "a/counter",
    state: z.object({ seen: z.number().default(0) }),
    setup: () => ({
      beforeToolCall: ({ state }) => {
        state.update(({ seen }) => ({ seen: seen + 1 }));
        return emitEvent("counted", state.get().seen);
      },
    }),
  });
  const { events, taken } = await oneCall([counter, before("b/swap", () => replaceArgs({ words: "cake" }))]);
  expect(taken).toEqual(["cake"]);
  expect(only(events, "plugin").map(({ payload }) => payload)).toEqual([1]);
});

const VERDICTS = {
  abort: { make: () => abort("x.abort", "Stop."), result: /^take cancelled/ },
  deny: { make: () => deny("Denied."), result: /^take denied: .*Denied\./ },
  ask: { make: () => ask("Sure?", { waitMs: 1 }), result: /^take denied: .*nobody approved/ },
  shortCircuit: { make: () => shortCircuit("Cut."), result: /^take ok: Cut\.$/ },
  nothing: { make: () => undefined, result: /^take ok: Took bread\.$/ },
} as const;
const STRICTEST = ["abort", "deny", "ask", "shortCircuit", "nothing"] as const;

test("K12 whatever the order of the guards, the strictest verdict stands, and conflicts name winner and loser", async () => {
  const verdicts = fc.array(fc.constantFrom(...STRICTEST), { minLength: 1, maxLength: 4 });
  const strict = fc.asyncProperty(verdicts, async (kinds) => {
    const plugins = kinds.map((kind, index) => before(`p/${index}`, VERDICTS[kind].make));
    const { shown, taken, outcome, conflicts } = await oneCall(plugins);
    const winner = STRICTEST.find((kind) => kinds.includes(kind)) ?? "nothing";
    expect(shown).toMatch(VERDICTS[winner].result);
    expect(taken).toEqual(winner === "nothing" ? ["bread"] : []);
    expect(outcome.kind).toBe(winner === "abort" ? "stopped" : "answered");
    const opinions = kinds.filter((kind) => kind !== "nothing").length;
    expect(conflicts).toHaveLength(Math.max(0, opinions - 1));
    if (opinions > 1)
      expect(conflicts.at(-1)?.about).toMatchObject({ hook: "beforeToolCall", winner: `p/${kinds.indexOf(winner)}` });
  });
  await fc.assert(strict, { numRuns: 40 });
});

// ── Approvals ───────────────────────────────────────────────────────────────────────────────────────────────────────

const approval = (waitMs?: number) =>
  definePlugin({
    id: "a/approval",
    setup: () => ({
      beforeToolCall: ({ call }) =>
        call.name === "take" ? ask("It costs money.", waitMs === undefined ? {} : { waitMs }) : undefined,
    }),
  });

/** A turn that waits for somebody to approve `take`. */
async function waiting(waitMs?: number) {
  const { take, taken } = taking();
  const free = Promise.withResolvers<void>();
  const other = defineTool({
    name: "other",
    description: "Is free.",
    input: z.object({}),
    execute: () => free.resolve(),
  });
  const model = scripted(both(calls("take", { words: "bread" }), calls("other")), says("Done."));
  const world = await open(model, { plugins: [approval(waitMs)], tools: [take, other] });
  const turn = world.session.turn("Go.");
  const { wait, reason, callId } = await seen(turn, "waiting");
  expect({ reason, callId }).toEqual({ reason: "It costs money.", callId: "call_take_0" });
  await free.promise; // The other call of the round goes on.
  expect(taken).toEqual([]);
  const shown = async () =>
    outline((await world.session.read()).messages).find((line) => line.startsWith("take ")) ?? "";
  const key = await keyTo(world.runtime, wait);
  return { ...(world as Opened), model, turn, key, taken, shown };
}

test("K10 ask: an approved call runs", async () => {
  await using world = await waiting();
  expect(await world.runtime.waits.resolve(world.key, { approved: true })).toBe("accepted");
  expect((await world.turn.result()).outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(world.taken).toEqual(["bread"]);
  expect(await world.shown()).toBe("take ok: Took bread.");
});

test.each<readonly [string, unknown, RegExp]>([
  ["something else", { approved: "yes" }, /approved must be true or false/],
  ["a word", "yes", /it must be an object/],
  ["null", null, /it must be an object/],
  ["a list", [true], /it must be an object/],
  ["an empty object", {}, /approved must be true or false/],
  ["a reason that is not a text", { approved: false, reason: 7 }, /reason must be text/],
  ["a field that is mistyped", { approved: true, arg: { words: "rye" } }, /there is no field arg/],
  ["no JSON", { approved: true, args: () => 1 }, /a function is not JSON/],
])("K10 ask: an answer that is %s is refused, and the call still waits for one", async (_, answer, problem) => {
  await using world = await waiting();
  const refused = await world.runtime.waits.resolve(world.key, answer as never).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: "wait.answer", hint: expect.stringContaining("{ approved: true }") });
  expect((refused as Error).message).toMatch(problem);
  expect(await world.runtime.waits.resolve(world.key, { approved: true })).toBe("accepted");
  await world.turn.result();
  expect(world.taken).toEqual(["bread"]);
});

test.each<readonly [string, Approval, RegExp]>([
  ["no, with a reason", { approved: false, reason: "Too dear." }, /Too dear\./],
  ["no", { approved: false }, /not approved/],
])("K10 ask: a call is refused when the answer is %s", async (_, answer, reason) => {
  await using world = await waiting();
  await world.runtime.waits.resolve(world.key, answer);
  expect((await world.turn.result()).outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(world.taken).toEqual([]);
  expect(await world.shown()).toMatch(/^take denied: /);
  expect(await world.shown()).toMatch(reason);
});

test("K10 T9 ask: the person who approves can edit the arguments, which must fit the tool", async () => {
  await using world = await waiting();
  const wrong = { approved: true, args: { words: 42 } };
  const refused = await world.runtime.waits.resolve(world.key, wrong).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: "wait.answer", details: { wants: "approval" } });
  expect((refused as Error).message).toContain("args does not fit");
  await world.runtime.waits.resolve(world.key, { approved: true, args: { words: "half a bread" } });
  await world.turn.result();
  expect(world.taken).toEqual(["half a bread"]);
});

test("K10 ask: the first answer counts, and a key that nobody gave out is unknown", async () => {
  await using world = await waiting();
  await expect(world.runtime.waits.resolve("guess", { approved: true })).rejects.toMatchObject({
    code: "wait.unknown",
  });
  const answers = await Promise.all([
    world.runtime.waits.resolve(world.key, { approved: false, reason: "First." }),
    world.runtime.waits.resolve(world.key, { approved: true }),
  ]);
  expect(answers).toEqual(["accepted", "already-resolved"]);
  await world.turn.result();
  expect(world.taken).toEqual([]);
  expect(await world.shown()).toContain("First.");
  await expect(world.runtime.waits.resolve(world.key, { approved: true })).rejects.toMatchObject({
    code: "wait.unknown",
  });
});

test("K10 ask: a call that nobody answers in time is denied", async () => {
  await using world = await waiting(500);
  expect((await world.turn.result()).outcome.kind).toBe("answered");
  expect(world.taken).toEqual([]);
  expect(await world.shown()).toMatch(/^take denied: .*nobody approved/);
});

test("K10 ask: a cancel ends the wait, and the key with it", async () => {
  await using world = await waiting();
  await world.turn.cancel();
  expect((await world.turn.result()).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
  expect(await world.shown()).toMatch(/^take cancelled: /);
  await expect(world.runtime.waits.resolve(world.key, { approved: true })).rejects.toMatchObject({
    code: "wait.unknown",
  });
});

test("K10 ask: nobody is asked about arguments that are wrong", async () => {
  const { events, shown } = await oneCall([before("a/approval", () => ask("Sure?"))], { words: 42 });
  expect(only(events, "waiting")).toEqual([]);
  expect(shown).toMatch(/^take failed: .*tool\.arguments/);
});

// ── After a call ────────────────────────────────────────────────────────────────────────────────────────────────────

test("K10 replaceResult: the model is shown the new value, and later hooks see it", async () => {
  const heard: unknown[] = [];
  const plugins = [
    after("a/redact", () => replaceResult("Took [hidden].")),
    after("b/later", ({ output }) => void heard.push(output)),
  ];
  const { taken, shown, events } = await oneCall(plugins);
  expect(taken).toEqual(["bread"]);
  expect(shown).toBe("take ok: Took [hidden].");
  expect(heard).toEqual([{ kind: "value", value: "Took [hidden]." }]);
  expect(only(events, "toolEnded")).toMatchObject([{ output: { kind: "value", value: "Took [hidden]." } }]);
});

test("K10 deny after a call: it ran, its result is not shown", async () => {
  const { taken, shown } = await oneCall([after("a/guard", () => deny("Secret."))]);
  expect(taken).toEqual(["bread"]);
  expect(shown).toMatch(/^take denied: .*take ran, but its result is withheld: Secret\./); // Or it might be made up for.
});

test("K10 messages put in after a call come after the results, once, also when a result is looked at again", async () => {
  const plugins = [
    after("a/notes", () => enqueueMessages("Note this.")),
    after("b/redact", () => replaceResult("Hidden.")),
  ];
  const { messages } = await oneCall(plugins);
  expect(outline(messages).slice(0, 4)).toEqual(["user: Go.", "calls take", "take ok: Hidden.", "user: Note this."]);
  expect(outline(messages).filter((line) => line.includes("Note this."))).toHaveLength(1);
});

test("K12 a replaced result is looked at once more by earlier hooks, and two that replace each other's close the gate", async () => {
  const heard: unknown[] = [];
  const inspector = after("a/inspector", ({ output }) => {
    heard.push((output as { value: unknown }).value);
    return (output as { value: unknown }).value === "leak" ? deny("Leaks.") : undefined;
  });
  const leaking = await oneCall([inspector, after("b/leak", () => replaceResult("leak"))]);
  expect(heard).toEqual(["Took bread.", "leak"]);
  expect(leaking.shown).toMatch(/^take denied: .*Leaks\./);
  const fight = await oneCall([after("a/one", () => replaceResult("one")), after("b/two", () => replaceResult("two"))]);
  expect(fight.shown).toMatch(/^take denied: .*replace each other/);
  const issue = {
    plugin: "a/one",
    code: "hook.contested",
    message: expect.stringContaining("a/one and b/two replace each other's result of the call of take"),
  };
  expect(fight.issues).toEqual([issue]);
  expect(fight.tracesOf("hook.issue")).toMatchObject([{ about: issue }]);
});

test("K10 a replaced result does not change what the tool decided about the turn", async () => {
  const submit = defineTool({
    name: "submit",
    description: "Ends.",
    input: z.object({}),
    execute: () => finish({ secret: 1 }),
  });
  await using world = await open(scripted(calls("submit")), {
    plugins: [after("a/redact", () => replaceResult("[hidden]"))],
    tools: [submit],
  });
  expect((await world.session.turn("Go.").result()).outcome).toEqual({
    kind: "finished",
    by: "tool",
    value: { secret: 1 },
  });
  expect(outline((await world.session.read()).messages).at(-1)).toBe("submit ok: [hidden]");
});

test("K10 hooks after a call also see what failed, was denied, or never was a tool", async () => {
  const seenOutputs: unknown[] = [];
  const model = scripted(
    both(calls("nope"), calls("take", { words: 1 }), calls("take", { words: "no" })),
    says("Done."),
  );
  const { take } = taking();
  const plugins = [
    before("a/guard", ({ call }) => ((call.input as { words?: unknown }).words === "no" ? deny("No.") : undefined)),
    after("b/sees", ({ output }) => void seenOutputs.push((output as { failure?: { class: string } }).failure?.class)),
  ];
  await using world = await open(model, { plugins, tools: [take] });
  await world.session.turn("Go.").result();
  expect(seenOutputs).toEqual(["unavailable", "arguments", "denied"]);
});

// ── Answers that cannot be used ─────────────────────────────────────────────────────────────────────────────────────

const cycle: { self?: unknown } = {};
cycle.self = cycle;

test.each<readonly [string, unknown]>([
  ["a value that is not JSON", { kind: "shortCircuit", value: 1n }],
  ["a value that contains itself", { kind: "shortCircuit", value: cycle }],
  ["no value", { kind: "shortCircuit" }],
  ["arguments that are not JSON", { kind: "replaceArgs", args: { words: () => "bread" } }],
  ["no arguments", { kind: "replaceArgs" }],
  ["a wait that is not a time", { kind: "ask", reason: "Sure?", waitMs: "long" }],
  ["a denial without a reason", { kind: "deny" }],
  ["an abort without a code", { kind: "abort" }],
])("K10 a guard that answers %s denies the call in its own name, and breaks nothing", async (_, answer) => {
  const { taken, shown } = await oneCall([before("a/wrong", () => answer)]);
  expect(taken).toEqual([]);
  expect(shown).toMatch(/^take denied: .*a\/wrong/);
});

test.each<readonly [string, unknown]>([
  ["a value that is not JSON", { kind: "replaceResult", value: 1n }],
  ["a value that contains itself", { kind: "replaceResult", value: cycle }],
  ["no value", { kind: "replaceResult" }],
  [
    "words of the model",
    { kind: "enqueueMessages", messages: [{ role: "assistant", parts: [{ kind: "text", text: "I said so." }] }] },
  ],
])(
  "K10 a hook after a call that answers %s withholds the result in its own name, and breaks nothing",
  async (_, answer) => {
    const { taken, shown } = await oneCall([after("a/wrong", () => answer)]);
    expect(taken).toEqual(["bread"]);
    expect(shown).toMatch(/^take denied: .*a\/wrong/);
  },
);

test.each<readonly [string, unknown]>([
  ["text", "Took bread."],
  ["nothing", undefined],
  ["parts that are none", ["Took bread."]],
  ["a part of another kind", [{ kind: "toolCall", callId: "c", name: "take", input: {} }]],
])("K10 a projector that answers %s shows its error, and breaks nothing", async (_, answer) => {
  const plugin = definePlugin({ id: "a/wrong", setup: () => ({ projectResult: () => answer }) as object });
  const { shown, outcome } = await oneCall([plugin]);
  expect(outcome.kind).toBe("answered");
  expect(shown).toMatch(/^take ok: (Error: .*a\/wrong|Took bread\.)/);
});
