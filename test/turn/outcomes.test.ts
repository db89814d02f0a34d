import { type } from "arktype";
import {
  createRuntime,
  definePlugin,
  defineTool,
  fail,
  finish,
  jsonSchema,
  type RuntimeOptions,
  type Session,
  switchFrame,
  type TurnOutcome,
} from "bowline";
import { abort, abortTurn } from "bowline/plugin";
import { type ModelPart, ProviderFailure } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import { both, calls, cut, ends, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { aborted, overflow, type Played, plays, text } from "../kit/models.ts";
import { outline, seen, wordsOf } from "../kit/reading.ts";
import { open } from "../kit/worlds.ts";

type Script = readonly (readonly ModelPart[] | ProviderFailure)[];

interface Story {
  readonly session: Session;
  readonly outcome: TurnOutcome;
  readonly model: Pick<Played, "requests">;
}

/**
 * One turn with these replies, whatever becomes of it; then what holds for every ending: the turn is kept, its calls
 * have their results, and the next turn is asked with all of it.
 */
async function tell(
  script: Script,
  options: Partial<Omit<RuntimeOptions, "model">>,
  check: (story: Story) => unknown,
): Promise<void> {
  const model = scripted(...script, says("Next."));
  await using world = await open(model, options);
  const { session } = world;
  const { outcome } = await session.turn("Go.").result();
  const asked = model.requests.length;
  await check({ session, outcome, model });
  expect(await world.reread(), "what is kept is what is shown").toEqual(await session.read());
  expect(asked, "every reply of the script was asked for").toBe(script.length);
  await expectItGoesOn(session, model);
}

async function expectItGoesOn(session: Session, model: Pick<Played, "requests">): Promise<void> {
  const kept = await session.read();
  expect(kept.turns).toBe(1);
  expect(kept.head).toBeDefined();
  expect(wordsOf(kept.messages[0])).toBe("Go.");
  const { outcome } = await session.turn("And now?").result();
  expect(outcome).toMatchObject({ kind: "answered", text: "Next." });
  const asked = model.requests.at(-1)?.messages ?? [];
  expect(asked.slice(0, kept.messages.length)).toEqual(kept.messages);
  expect(wordsOf(asked[kept.messages.length])).toBe("And now?");
  expect((await session.read()).turns).toBe(2);
}

const search = defineTool({
  name: "search",
  description: "Searches.",
  input: z.object({ q: z.string().default("") }),
  execute: ({ q }) => `Found ${q}.`,
});
const broken = defineTool({
  name: "broken",
  description: "Fails.",
  input: { type: "object" },
  execute: () => Promise.reject(new Error("It is broken.")),
});

// ── Answered and finished ───────────────────────────────────────────────────────────────────────────────────────────

test("S1 answered: the words of the last reply, and the message that holds them", () =>
  tell(
    [both(says("Let me see. "), calls("search", { q: "tigers" })), says("Nine ", "kinds.")],
    { tools: [search] },
    ({ outcome, session }) => {
      expect(outcome).toMatchObject({ kind: "answered", text: "Nine kinds.", message: { role: "assistant" } });
      return session.read().then(({ messages }) => {
        expect(outline(messages)).toEqual([
          "user: Go.",
          "assistant: Let me see. ",
          "calls search",
          "search ok: Found tigers.",
          "assistant: Nine kinds.",
        ]);
        expect(outcome.kind === "answered" && outcome.message).toEqual(messages.at(-1));
      });
    },
  ));

test("S1 answered: a model with no more text after its work is done has answered", () =>
  tell(
    [both(says("Saving."), calls("search")), [{ kind: "finish", reason: "stop" }]],
    { tools: [search] },
    ({ outcome }) => expect(outcome.kind).toBe("answered"),
  ));

test("S1 finished by a tool, with the tool's value", () => {
  const submit = defineTool({
    name: "submit",
    description: "Hands in.",
    input: z.object({ total: z.number() }),
    execute: ({ total }) => finish({ total, checked: true }),
  });
  return tell(
    [both(calls("search"), calls("submit", { total: 7 }))],
    { tools: [search, submit] },
    async ({ outcome, session }) => {
      expect(outcome).toEqual({ kind: "finished", by: "tool", value: { total: 7, checked: true } });
      expect(outline((await session.read()).messages)).toContain("search ok: Found .");
    },
  );
});

test("S1 finished by a tool: of several the first in call order counts, not the first to return", () => {
  const second = Promise.withResolvers<void>();
  const slow = defineTool({
    name: "slow",
    description: "Ends the turn late.",
    input: { type: "object" },
    execute: () => second.promise.then(() => finish("slow")),
  });
  const quick = defineTool({
    name: "quick",
    description: "Ends the turn at once.",
    input: { type: "object" },
    execute: () => {
      second.resolve();
      return finish("quick");
    },
  });
  return tell([both(calls("slow"), calls("quick"))], { tools: [slow, quick] }, ({ outcome }) =>
    expect(outcome).toEqual({ kind: "finished", by: "tool", value: "slow" }),
  );
});

const OUTPUTS = {
  zod: z.object({ coat: z.boolean(), degrees: z.number().default(20) }),
  arktype: type({ coat: "boolean", degrees: "number = 20" }),
  jsonSchema: jsonSchema<{ coat: boolean; degrees: number }>({
    type: "object",
    properties: { coat: { type: "boolean" }, degrees: { type: "number" } },
    required: ["coat", "degrees"],
  }),
};

for (const [name, output] of Object.entries(OUTPUTS)) {
  test(`S1 finished by the model, with a value of the caller's ${name} schema`, async () => {
    const model = scripted(calls("submit_output", { coat: true, degrees: 3 }), says("Next."));
    await using world = await open(model);
    const { outcome } = await world.session.turn("Go.", { output }).result();
    expect(outcome).toEqual({ kind: "finished", by: "model", value: { coat: true, degrees: 3 } });
    expect(model.requests[0]?.tools).toMatchObject([
      { name: "submit_output", inputSchema: { type: "object", properties: { coat: { type: "boolean" } } } },
    ]);
    await expectItGoesOn(world.session, model);
    expect(model.requests[1]?.tools, "the schema was of that turn only").toEqual([]);
  });

  test(`S1 a value that does not fit the caller's ${name} schema is repaired once and named`, async () => {
    const model = scripted(
      calls("submit_output", { coat: "yes", degrees: 3 }),
      calls("submit_output", { coat: true, degrees: 4 }),
      says("Next."),
    );
    await using world = await open(model);
    const { outcome } = await world.session.turn("Go.", { output }).result();
    expect(outcome).toEqual({ kind: "finished", by: "model", value: { coat: true, degrees: 4 } });
    expect(outline(model.requests[1]?.messages ?? []).at(-1)).toMatch(/^submit_output failed: .*coat/);
    await expectItGoesOn(world.session, model);
  });
}

test("S1 a typed value is what the schema made of it: defaults are in", async () => {
  await using world = await open(scripted(calls("submit_output", { coat: false })));
  const { outcome } = await world.session.turn("Go.", { output: OUTPUTS.zod }).result();
  expect(outcome).toEqual({ kind: "finished", by: "model", value: { coat: false, degrees: 20 } });
});

test("S1 a typed turn that answers in words is asked to hand in, and can then do so", async () => {
  const model = scripted(says("Yes, a coat."), calls("submit_output", { coat: true }), says("Next."));
  await using world = await open(model);
  const { outcome } = await world.session.turn("Go.", { output: OUTPUTS.zod }).result();
  expect(outcome).toMatchObject({ kind: "finished", by: "model", value: { coat: true } });
  const told = model.requests[1]?.messages.at(-1);
  expect(told).toMatchObject({ role: "user", origin: { kind: "runtime" } });
  expect(wordsOf(told)).toContain("submit_output");
  await expectItGoesOn(world.session, model);
});

test("S1 failed by the provider when two repairs brought no typed value; what was said is kept", async () => {
  const model = scripted(
    both(says("Here."), calls("submit_output", { coat: 1 })),
    says("A coat."),
    both(says("Again."), calls("submit_output", { coat: 2 })),
    says("Next."),
  );
  await using world = await open(model);
  const { outcome } = await world.session.turn("Go.", { output: OUTPUTS.zod }).result();
  expect(outcome).toMatchObject({
    kind: "failed",
    by: "provider",
    code: "output.invalid",
    text: "Here.\n\nA coat.\n\nAgain.",
  });
  expect(outcome.kind === "failed" && outcome.reason).toContain("coat");
  await expectItGoesOn(world.session, model);
});

test("S1 a typed result may be a list: the model is still shown a tool with an object of arguments", async () => {
  const model = scripted(calls("submit_output", {}));
  await using world = await open(model);
  await world.session.turn("Go.", { output: z.array(z.string()) }).result();
  expect(model.requests[0]?.tools[0]?.inputSchema.type).toBe("object");
});

// ── Stopped ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test("S1 stopped by cancel, with the text so far", async () => {
  const model = plays(
    async function* (_request, signal) {
      yield text("Once upon ");
      yield text("a time");
      await aborted(signal);
    },
    async function* () {
      yield* says("Next.");
    },
  );
  await using world = await open(model);
  const turn = world.session.turn("Go.");
  await seen(turn, "text");
  await turn.cancel("Enough.");
  const { outcome, usage } = await turn.result();
  expect(outcome).toMatchObject({ kind: "stopped", by: "cancel", code: "turn.cancelled", text: "Once upon a time" });
  expect(outcome.kind === "stopped" && outcome.reason).toContain("Enough.");
  expect(usage.unknownCalls).toBe(1);
  const { messages } = await world.session.read();
  expect(messages.at(-1)).toMatchObject({ role: "assistant", origin: { kind: "partial" } });
  await expectItGoesOn(world.session, model);
});

test("S1 stopped by limit: rounds", () =>
  tell(
    [both(says("One."), calls("search")), both(says("Two."), calls("search"))],
    { tools: [search], limits: { roundsMax: 2 } },
    ({ outcome }) =>
      expect(outcome).toMatchObject({ kind: "stopped", by: "limit", code: "limit.rounds", text: "One.\n\nTwo." }),
  ));

test("S1 stopped by limit: rounds in which nothing succeeds, and a success in between starts the count again", () =>
  tell(
    [calls("broken"), calls("search"), calls("broken"), calls("unheard_of")],
    { tools: [search, broken], limits: { noProgressMax: 2 } },
    async ({ outcome, session }) => {
      expect(outcome).toMatchObject({ kind: "stopped", by: "limit", code: "limit.no-progress", text: "" });
      expect(outline((await session.read()).messages).at(-1)).toMatch(/^unheard_of failed: /);
    },
  ));

test("S1 stopped by limit: the conversation outgrew the model and nothing compacts it", () =>
  tell([both(says("So far."), calls("search")), overflow], { tools: [search] }, ({ outcome }) =>
    expect(outcome).toMatchObject({ kind: "stopped", by: "limit", code: "limit.context", text: "So far." }),
  ));

test("S1 with a compactor the turn continues in a fresh frame, and only a second overflow in a row is final", async () => {
  const compactor = definePlugin({
    id: "test/compactor",
    setup: () => ({ compact: () => [{ role: "user", parts: [{ kind: "text", text: "Summary." }] }] }),
  });
  const model = scripted(overflow, says("Done."), overflow, overflow, says("Later."));
  await using world = await open(model, { plugins: [compactor] });
  expect((await world.session.turn("Go through all of it.").result()).outcome).toMatchObject({
    kind: "answered",
    text: "Done.",
  });
  expect(outline(model.requests[1]?.messages ?? [])).toEqual(["user: Summary."]);
  expect((await world.session.turn("More.").result()).outcome).toMatchObject({
    kind: "stopped",
    code: "limit.context",
  });
  expect((await world.session.turn("More.").result()).outcome).toMatchObject({ kind: "answered", text: "Later." });
});

test.each<readonly [string, () => unknown]>([
  ["throws", () => Promise.reject(new Error("No idea."))],
  ["has nothing", () => []],
  ["answers an invalid message", () => ["Summary."]],
])("S1 a compactor that %s does not compact, and the limit stands", (_, compact) => {
  const plugin = definePlugin({ id: "test/compactor", setup: () => ({ compact }) as object });
  return tell(
    [both(says("So far."), calls("search")), overflow],
    { tools: [search], plugins: [plugin] },
    ({ outcome }) =>
      expect(outcome).toMatchObject({ kind: "stopped", by: "limit", code: "limit.context", text: "So far." }),
  );
});

test("S1 stopped by limit: frames, when every task hands over to the next", async () => {
  const hand = defineTool({
    name: "hand",
    description: "Hands over.",
    input: z.object({ task: z.string() }),
    execute: ({ task }) => switchFrame(task, { notes: "So far." }),
  });
  const tasks = ["one", "two", "three"].map((task) => calls("hand", { task }));
  const model = scripted(...tasks, says("Next."));
  await using world = await open(model, { tools: [hand], limits: { framesMax: 2 } });
  const { outcome } = await world.session.turn("Go.").result();
  expect(outcome).toMatchObject({ kind: "stopped", by: "limit", code: "limit.frames" });
  expect(outline(model.requests[2]?.messages ?? [])).toEqual([expect.stringMatching(/^user: two\n.*So far\./s)]);
  expect(await world.reread()).toEqual(await world.session.read());
  expect((await world.session.turn("More.").result()).outcome).toMatchObject({ kind: "answered", text: "Next." });
});

/** A plugin that does this in the first turn only. */
const once = <T>(run: () => T): (() => T | undefined) => {
  let isDone = false;
  return () => {
    if (isDone) return undefined;
    isDone = true;
    return run();
  };
};

test("S1 stopped by a plugin before the turn: no model call", () => {
  const stop = once(() => abortTurn("acme.budget", "No money left."));
  const plugin = definePlugin({ id: "acme/budget", setup: () => ({ beforeTurn: stop }) });
  return tell([], { plugins: [plugin] }, ({ outcome }) =>
    expect(outcome).toEqual({
      kind: "stopped",
      by: "plugin",
      code: "acme.budget",
      reason: "No money left.",
      text: "",
    }),
  );
});

test.each([
  ["after-work", [both(says("Looking."), calls("search"))], "Looking."],
  ["before-completion", [both(says("Looking."), calls("search")), says("Done.")], "Looking.\n\nDone."],
] as const)("S1 stopped by a plugin at the checkpoint %s; what was said and done stays", (place, script, said) => {
  const stop = once(() => abortTurn("acme.stop", "That will do."));
  const plugin = definePlugin({
    id: "acme/stop",
    setup: () => ({ checkpoint: ({ at }) => (at === place ? stop() : undefined) }),
  });
  return tell([...script], { plugins: [plugin], tools: [search] }, async ({ outcome, session }) => {
    expect(outcome).toMatchObject({ kind: "stopped", by: "plugin", code: "acme.stop", text: said });
    expect(outline((await session.read()).messages)).toContain("search ok: Found .");
  });
});

test("S1 stopped by a plugin at the gate of a call: neither that call nor the ones after it run", () => {
  let runs = 0;
  const count = defineTool({ name: "count", description: "Counts.", input: { type: "object" }, execute: () => ++runs });
  const plugin = definePlugin({
    id: "acme/guard",
    setup: () => ({
      beforeToolCall: ({ call }) => (call.name === "search" ? abort("acme.danger", "Not this.") : undefined),
    }),
  });
  return tell(
    [both(says("Hm."), calls("count"), calls("search"), calls("count"))],
    { plugins: [plugin], tools: [search, count] },
    async ({ outcome, session }) => {
      expect(outcome).toMatchObject({ kind: "stopped", by: "plugin", code: "acme.danger", text: "Hm." });
      expect(runs).toBe(0);
      const results = outline((await session.read()).messages).slice(-3);
      expect(results.map((line) => line.split(":")[0])).toEqual([
        "count cancelled",
        "search cancelled",
        "count cancelled",
      ]);
    },
  );
});

test("S1 stopped by a plugin that saw a result: the round is settled first", () => {
  const plugin = definePlugin({
    id: "acme/guard",
    setup: () => ({ afterToolCall: () => abort("acme.leak", "It told a secret.") }),
  });
  return tell(
    [both(says("Hm."), calls("search", { q: "s3cret" }))],
    { plugins: [plugin], tools: [search] },
    async ({ outcome, session }) => {
      expect(outcome).toMatchObject({ kind: "stopped", by: "plugin", code: "acme.leak", text: "Hm." });
      const result = outline((await session.read()).messages).at(-1);
      expect(result).toMatch(/^search cancelled: /);
      expect(result).not.toContain("s3cret");
    },
  );
});

test.each([
  ["length", "reply.truncated"],
  ["refused", "reply.refused"],
] as const)("S1 stopped as incomplete when the reply ends with %s", (reason, code) =>
  tell([ends(reason, "I would ", "say")], {}, ({ outcome }) =>
    expect(outcome).toMatchObject({ kind: "stopped", by: "incomplete", code, text: "I would say" }),
  ),
);

test("S1 calls of a refused reply are not made, and still have their results", () => {
  const reply: readonly ModelPart[] = [...calls("search").slice(0, -1), ...ends("refused", "No.")];
  return tell([reply], { tools: [search] }, async ({ outcome, session }) => {
    expect(outcome).toMatchObject({ kind: "stopped", by: "incomplete", code: "reply.refused", text: "No." });
    expect(outline((await session.read()).messages).at(-1)).toMatch(/^search cancelled: /);
  });
});

test.each(["input", "unsupported"] as const)(
  "S1 stopped by input when the provider refuses the request as %s",
  (failure) =>
    tell(
      [both(says("Hm."), calls("search")), new ProviderFailure({ class: failure, message: "No images." })],
      { tools: [search] },
      ({ outcome }) => {
        expect(outcome).toMatchObject({ kind: "stopped", by: "input", code: "provider.failed", text: "Hm." });
        expect(outcome.kind === "stopped" && outcome.reason).toContain("No images.");
      },
    ),
);

// ── Failed ──────────────────────────────────────────────────────────────────────────────────────────────────────────

test("S1 failed by the provider: credentials", () =>
  tell([new ProviderFailure({ class: "auth", message: "Wrong key." })], {}, ({ outcome }) =>
    expect(outcome).toEqual({
      kind: "failed",
      by: "provider",
      code: "provider.failed",
      reason: "scripted/test failed (auth): Wrong key. Check the API key and its permissions.",
      text: "",
    }),
  ));

test("S1 failed by the provider: a reply with nothing in it", () =>
  tell([[{ kind: "finish", reason: "stop" }]], {}, ({ outcome }) =>
    expect(outcome).toMatchObject({ kind: "failed", by: "provider", code: "provider.empty", text: "" }),
  ));

test("S1 failed by the provider: a reply of blanks is nothing too", () =>
  tell([says(" ", "\n")], {}, ({ outcome }) =>
    expect(outcome).toMatchObject({ kind: "failed", by: "provider", code: "provider.empty" }),
  ));

test("S1 failed by the provider: the stream broke off for good, and what was said is kept", () =>
  tell([cut("Half ", "a word")], { limits: { modelAttemptsMax: 1 } }, async ({ outcome, session }) => {
    expect(outcome).toMatchObject({ kind: "failed", by: "provider", code: "provider.failed", text: "Half a word" });
    expect((await session.read()).messages.at(-1)).toMatchObject({ role: "assistant", origin: { kind: "partial" } });
  }));

test.each([
  ["returned", () => fail("acme.closed", "The shop is closed.")],
  ["thrown", () => Promise.reject(fail("acme.closed", "The shop is closed."))],
] as const)("S1 failed by a tool: `fail` %s ends the turn with the tool's code", (_, execute) => {
  const buy = defineTool({ name: "buy", description: "Buys.", input: { type: "object" }, execute });
  return tell([both(says("Buying."), calls("buy"))], { tools: [buy] }, async ({ outcome, session }) => {
    expect(outcome).toMatchObject({ kind: "failed", by: "tool", code: "acme.closed", text: "Buying." });
    expect(outcome.kind === "failed" && outcome.reason).toContain("The shop is closed.");
    expect(outline((await session.read()).messages).at(-1)).toMatch(/^buy failed: .*The shop is closed/);
  });
});

test.each([
  ["context", []],
  ["beforeTurn", []],
  ["prompt", []],
  ["request", []],
  ["response", [says("Said.")]],
  ["checkpoint", [says("Said.")]],
  ["afterTurn", [says("Said.")]],
] as const)("S1 failed by a plugin that throws in %s; what was said before is kept", (hook, script) => {
  let isSick = true;
  const run = () => {
    if (isSick) throw new Error("Ouch.");
  };
  const plugin = definePlugin({ id: "acme/sick", setup: () => ({ [hook]: run }) as object });
  return tell([...script], { plugins: [plugin] }, async ({ outcome, session }) => {
    isSick = false;
    expect(outcome).toMatchObject({
      kind: "failed",
      by: "plugin",
      code: "hook.failed",
      reason: `Plugin acme/sick failed in ${hook}: Ouch.`,
      text: script.length === 0 ? "" : "Said.",
    });
    expect((await session.read()).messages).toHaveLength(script.length + 1);
  });
});

test("S1 failed by the runtime: the session's model can no longer be found", async () => {
  const model = scripted(says("Next."));
  let isThere = false;
  await using runtime = await createRuntime({ store: memory(), model, models: () => (isThere ? model : undefined) });
  const session = await runtime.session("s", { config: { model: "acme/m" } });
  const { outcome } = await session.turn("Go.").result();
  expect(outcome).toMatchObject({ kind: "failed", by: "runtime", code: "provider.unconfigured", text: "" });
  isThere = true;
  await expectItGoesOn(session, model);
});

test("S1 failed by the runtime: the tools of two plugins have one name", async () => {
  const plugin = definePlugin({ id: "acme/search", setup: () => ({ tools: [search] }) });
  await using world = await open(scripted(says("Never.")), { tools: [search], plugins: [plugin] });
  const { outcome } = await world.session.turn("Go.").result();
  expect(outcome).toMatchObject({ kind: "failed", by: "runtime", code: "tool.duplicate" });
  expect(outcome.kind === "failed" && outcome.reason).toMatch(/app and by acme\/search/);
  expect((await world.session.read()).turns).toBe(1);
});
