import { attach, definePlugin, defineTool, fail, finish, type JsonSchema, switchFrame, type Tool } from "bowline";
import { both, calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { call, end, plays, text } from "../kit/models.ts";
import { outline, unheard, within } from "../kit/reading.ts";
import { named, open } from "../kit/worlds.ts";
import { did, opened } from "./obedient.ts";

// ── Order ───────────────────────────────────────────────────────────────────────────────────────────────────────────

test("T5 a call is gated, then validated with its final arguments, tried, inspected and shown, in this order", async () => {
  const steps: string[] = [];
  const schema = z.object({ n: z.number() }).refine(() => steps.push("validated"));
  const tool = defineTool({
    name: "add",
    description: "Adds.",
    input: schema,
    execute: ({ n }) => {
      steps.push(`ran with ${n}`);
      return n + 1;
    },
  });
  const watcher = definePlugin({
    id: "acme/watcher",
    setup: () => ({
      beforeToolCall: () => {
        steps.push("gated");
        return [{ kind: "replaceArgs", args: { n: 41 } }];
      },
      afterToolCall: ({ output }) => void steps.push(`inspected ${output.kind}`),
      projectResult: ({ output }) => {
        steps.push("shown");
        return [{ kind: "text", text: `The result is ${output.kind === "value" ? output.value : "none"}.` }];
      },
    }),
  });
  await using world = await opened({ tools: [tool], plugins: [watcher] });
  const { shown } = await did(world.session, ["add", { n: "wrong, but replaced" }]);
  expect([...new Set(steps)]).toEqual(["gated", "validated", "ran with 41", "inspected value", "shown"]);
  expect(shown).toEqual(["add ok: The result is 42."]);
});

test("T5 the result of an unknown tool has the names of the existing tools, and its gate is not asked", async () => {
  let gates = 0;
  const guard = definePlugin({ id: "acme/guard", setup: () => ({ beforeToolCall: () => void gates++ }) });
  await using world = await opened({ tools: [named("a"), named("b")], plugins: [guard] });
  const { shown, outputs, outcome } = await did(world.session, "nowhere", "a");
  expect(shown).toEqual([
    "nowhere failed: Error (tool.unknown): There is no tool nowhere. Call one of these instead: a, b.",
    "a ok: a!",
  ]);
  expect(outputs[0]).toMatchObject({ failure: { class: "unavailable" } });
  expect(gates).toBe(1);
  expect(outcome.kind).toBe("answered");
});

// ── Arguments ───────────────────────────────────────────────────────────────────────────────────────────────────────

const NESTED: JsonSchema = {
  type: "object",
  properties: { list: { type: "array", items: { type: "object", properties: { n: { type: "number" } } } } },
  required: ["list"],
};
const SCHEMAS: readonly (readonly [string, Tool])[] = [
  [
    "zod",
    defineTool({
      name: "sum",
      description: "Sums.",
      input: z.object({ list: z.array(z.object({ n: z.number() })) }),
      execute: () => "ran",
    }),
  ],
  ["JSON Schema", defineTool({ name: "sum", description: "Sums.", input: NESTED, execute: () => "ran" })],
];
for (const [kind, tool] of SCHEMAS) {
  test(`T5 wrong arguments are reported with the path of the error (${kind}), and the tool does not run`, async () => {
    await using world = await opened({ tools: [tool] });
    const { shown, outputs } = await did(
      world.session,
      ["sum", { list: [{ n: 1 }, { n: "two" }] }],
      ["sum", {}],
      ["sum", { list: [{ n: 1 }] }],
    );
    expect(shown[0]).toMatch(/^sum failed: Error \(tool\.arguments\).*list[./]1[./]n/);
    expect(shown[1]).toMatch(/^sum failed: Error \(tool\.arguments\).*list/);
    expect(shown[2]).toBe("sum ok: ran");
    expect(outputs[0]).toMatchObject({ failure: { class: "arguments", code: "tool.arguments" } });
  });
}

test("T5 arguments that are not JSON, or no object, are a result", async () => {
  const model = plays(
    async function* () {
      yield call("ping", '{"n": ', "a");
      yield call("ping", "null", "b");
      yield call("ping", "[1]", "c");
      yield call("ping", "", "d");
      yield { ...end, reason: "calls" } as typeof end;
    },
    async function* () {
      yield text("Done.");
      yield end;
    },
  );
  const tool = defineTool({ name: "ping", description: "Pings.", input: z.object({}), execute: () => "ran" });
  await using world = await open(model, { tools: [tool] });
  await world.session.turn("Go.").result();
  const results = outline((await world.session.read()).messages).filter((line) => /^ping (ok|failed)/.test(line));
  expect(results[0]).toMatch(/^ping failed: Error \(tool\.arguments\).*not valid JSON/);
  expect(results[1]).toMatch(/^ping failed: Error \(tool\.arguments\)/);
  expect(results[2]).toMatch(/^ping failed: Error \(tool\.arguments\)/);
  expect(results).toHaveLength(4);
});

const deep = (levels: number): object => {
  let value: object = {};
  for (let level = 0; level < levels; level++) value = { in: value };
  return value;
};
/** As a model writes them. */
const wide = (keys: number): string =>
  `{${Array.from({ length: keys }, (_, index) => `"k${index}":${index}`).join(",")}}`;
const HUGE: readonly (readonly [string, () => unknown])[] = [
  ["a million keys", () => wide(1_000_000)],
  ["a hundred thousand keys", () => wide(100_000)],
  ["a hundred thousand levels", () => deep(100_000)],
  ["two thousand levels", () => deep(2_000)],
];
for (const [what, input] of HUGE) {
  test(`T5 arguments of ${what} cost their call at most, and the session continues`, async () => {
    const model = scripted(calls("ping", input() as never), says("Done."), says("Still here."));
    await using world = await open(model, { tools: [named("ping", () => "ran")] });
    const { outcome } = await within(world.session.turn("Go.").result(), 8_000);
    expect(["answered", "failed"]).toContain(outcome.kind);
    if (outcome.kind === "failed") expect(outcome.code).toMatch(/^(limit|provider|tool)\./);
    expect((await world.session.turn("And now?").result()).outcome.kind).not.toBe("stopped");
    expect((await world.reread()).turns).toBe(2);
  }, 15_000);
}

// ── Schemas ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const raw = (input: JsonSchema): Tool =>
  defineTool({ name: "ping", description: "Pings.", input, execute: () => "ran" });

test("T5 a schema that points elsewhere, is none, or is not of an object is refused when the tool is made", () => {
  expect(() => raw({ type: "object", properties: { a: { $ref: "https://example.com/a.json" } } })).toThrow(/outside/);
  expect(() => raw({ $ref: "other.json#/a" })).toThrow(/outside/);
  expect(() => raw({ type: "object", $defs: { a: { $dynamicRef: "https://example.com/#m" } } })).toThrow(/outside/);
  expect(() => raw({ type: "array" })).toThrow(/must be an object/);
  expect(() => raw("text" as never)).toThrow(/neither a Standard Schema nor a JSON Schema/);
  expect(() => raw(undefined as never)).toThrow(/neither/);
  const cyclic: { [key: string]: unknown } = { type: "object" };
  cyclic.properties = { self: cyclic };
  expect(() => raw(cyclic)).toThrow(/contains itself|deep/);
});

test("T5 a schema that is not JSON Schema makes every call of its tool fail with that reason", async () => {
  await using world = await opened({ tools: [raw({ type: "object", properties: { a: { type: "nonsense" } } })] });
  const { shown, outcome } = await did(world.session, "ping", "ping");
  for (const line of shown) expect(line).toMatch(/^ping failed: Error \(tool\.arguments\).*schema/i);
  expect(outcome.kind).toBe("answered");
});

test("T5 a recursive schema is followed as deep as the arguments go", async () => {
  const tree = raw({
    type: "object",
    properties: { value: { type: "number" }, children: { type: "array", items: { $ref: "#" } } },
    required: ["value"],
  });
  await using world = await opened({ tools: [tree] });
  const { shown } = await did(
    world.session,
    ["ping", { value: 1, children: [{ value: 2, children: [{ value: 3 }] }] }],
    ["ping", { value: 1, children: [{ value: 2, children: [{ value: "three" }] }] }],
  );
  expect(shown[0]).toBe("ping ok: ran");
  expect(shown[1]).toContain("/children/0/children/0/value");
});

test("T5 schemas that name their draft, as most generators write them, are used as they are", async () => {
  for (const draft of ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"]) {
    const tool = raw({ $schema: draft, type: "object", properties: { n: { type: "number" } } });
    await using world = await opened({ tools: [tool] });
    const { shown } = await did(world.session, ["ping", { n: 1 }], ["ping", { n: "one" }]);
    expect(shown[0], draft).toBe("ping ok: ran");
    expect(shown[1], draft).toContain("/n");
  }
});

test("T5 a schema that would be checked asynchronously is refused, and lets nothing wrong through where it is inside", async () => {
  expect(() => raw({ $async: true, type: "object" })).toThrow(/asynchronous/);
  const n = { $async: true, type: "number" };
  const insides: readonly JsonSchema[] = [
    { type: "object", properties: { n }, required: ["n"] },
    { type: "object", properties: { n: { $ref: "#/$defs/n" } }, $defs: { n } },
    { type: "object", allOf: [{ $async: true, properties: { n: { type: "number" } } }] },
  ];
  const lost = await unheard(async () => {
    for (const inside of insides) {
      let tool: Tool;
      try {
        tool = raw(inside);
      } catch {
        continue; // To refuse it is right too.
      }
      await using world = await opened({ tools: [tool] });
      const { shown } = await did(world.session, ["ping", { n: "wrong" }]);
      expect(shown[0], JSON.stringify(inside)).toMatch(/^ping failed: Error \(tool\.arguments\)/);
    }
  });
  expect(lost).toEqual([]);
});

const CHECKS: readonly (readonly [string, () => unknown])[] = [
  ["throws", () => JSON.parse("{")],
  ["rejects", () => Promise.reject(new Error("No."))],
  ["answers nothing", () => undefined],
  ["answers nothing later", async () => undefined],
  ["answers rubbish", () => ({ issues: "many" })],
];
const checkedBy = (validate: () => unknown) => ({
  "~standard": {
    version: 1 as const,
    vendor: "test",
    validate: validate as never,
    jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
  },
});
for (const [what, validate] of CHECKS) {
  test(`T5 a schema whose check ${what} costs the call and not the turn, before a call and after`, async () => {
    const before = defineTool({ name: "a", description: "A.", input: checkedBy(validate), execute: () => "ran" });
    const output = checkedBy(validate);
    const after = defineTool({ name: "b", description: "B.", input: z.object({}), output, execute: () => "ran" });
    const later = defineTool({ name: "c", description: "C.", input: z.object({}), output, execute: async () => "ran" });
    await using world = await opened({ tools: [before, after, later, named("d")] });
    const { shown, outcome } = await did(world.session, "a", "b", "c", "d");
    expect(outcome.kind, JSON.stringify(outcome)).toBe("answered");
    expect(shown.map((line) => line.split(" ").slice(0, 2).join(" "))).toEqual([
      "a failed:",
      "b failed:",
      "c failed:",
      "d ok:",
    ]);
  });
}

test("T5 an output that does not fit its schema is a result with the path", async () => {
  const tool = defineTool({
    name: "weigh",
    description: "Weighs.",
    input: z.object({}),
    output: z.object({ grams: z.number() }),
    execute: () => ({ grams: "many" }) as never,
  });
  await using world = await opened({ tools: [tool] });
  const { shown, outputs } = await did(world.session, "weigh");
  expect(shown[0]).toMatch(/^weigh failed: Error \(tool\.result\).*grams/);
  expect(outputs[0]).toMatchObject({ failure: { class: "internal" } });
});

test("T5 an output is what its schema makes of it", async () => {
  const tool = defineTool({
    name: "weigh",
    description: "Weighs.",
    input: z.object({}),
    output: z.object({ grams: z.number() }),
    execute: () => ({ grams: 3, secret: "left out" }),
  });
  await using world = await opened({ tools: [tool] });
  expect((await did(world.session, "weigh")).shown).toEqual(['weigh ok: {"grams":3}']);
});

test("T5 checking an output that never ends is under the tool's time", async () => {
  const tool = defineTool({
    name: "weigh",
    description: "Weighs.",
    input: z.object({}),
    output: checkedBy(() => new Promise(() => {})),
    timeoutMs: 30,
    execute: async () => "ran",
  });
  const quick = defineTool({
    name: "quick",
    description: "Weighs.",
    input: z.object({}),
    timeoutMs: 30,
    execute: () => "ran",
    output: checkedBy(() => new Promise(() => {})),
  });
  await using world = await opened({ tools: [tool, quick], limits: { cancelGraceMs: 20 } });
  for (const name of ["weigh", "quick"]) {
    const turn = world.session.turn(JSON.stringify([[name, {}]]));
    const ended = await within(turn.result(), 800).catch(async () => {
      await turn.cancel("Too long.");
      return turn.result();
    });
    expect(ended.outcome.kind, name).toBe("answered");
  }
});

// ── What tools throw ────────────────────────────────────────────────────────────────────────────────────────────────

const trap = (): object =>
  new Proxy(
    {},
    {
      get: () => JSON.parse("{"),
      getPrototypeOf: () => JSON.parse("{"),
      ownKeys: () => JSON.parse("{"),
      has: () => JSON.parse("{"),
    },
  );
class Odd extends Error {
  override get message(): string {
    throw new Error("Do not look.");
  }
}
const THROWN: readonly (readonly [string, () => unknown, RegExp])[] = [
  ["an Error", () => new Error("It broke."), /It broke\./],
  ["an Error without words", () => new RangeError(), /RangeError/],
  ["a string", () => "Just words.", /Just words\./],
  ["null", () => null, /null was thrown/],
  ["undefined", () => undefined, /undefined was thrown/],
  ["a symbol", () => Symbol("odd"), /thrown/],
  ["a BigInt", () => 5n, /thrown/],
  [
    "an object with a getter that throws",
    () => ({
      get message() {
        return JSON.parse("{");
      },
    }),
    /thrown/,
  ],
  ["an Error that cannot be read", () => new Odd(), /thrown/],
  ["what cannot be looked at", trap, /./],
  [
    "a cycle",
    () => {
      const it: { self?: unknown } = {};
      it.self = it;
      return it;
    },
    /thrown/,
  ],
  ["a hundred megabytes of words", () => new Error("x".repeat(100_000_000)), /x{100}/],
];
for (const [what, make, words] of THROWN) {
  test(`T5 a tool that throws ${what}, at once or later, costs its call`, async () => {
    const tools = [
      named("now", () => {
        throw make();
      }),
      named("later", async () => {
        await undefined;
        throw make();
      }),
      named("fine"),
    ];
    await using world = await opened({ tools });
    const { shown, outcome } = await did(world.session, "now", "later", "fine");
    expect(outcome.kind, JSON.stringify(outcome).slice(0, 300)).toBe("answered");
    for (const line of shown.slice(0, 2)) {
      expect(line).toMatch(/^(now|later) failed: Error \(tool\.failed\)/);
      expect(line).toMatch(words);
      expect(line.length).toBeLessThan(10_000);
    }
    expect(shown[2]).toBe("fine ok: fine!");
  });
}

// ── What tools return ───────────────────────────────────────────────────────────────────────────────────────────────

class Point {
  readonly x = 1;
}
const cycle = (): unknown => {
  const it: { self?: unknown } = {};
  it.self = it;
  return it;
};
const RETURNED: readonly (readonly [string, () => unknown, string])[] = [
  ["text", () => "Words.", "ok: Words."],
  ["nothing", () => undefined, "ok: null"],
  ["null", () => null, "ok: null"],
  ["an empty text", () => "", "ok: "],
  ["a number", () => 4.5, "ok: 4.5"],
  ["an object with a field left out", () => ({ a: 1, b: undefined }), 'ok: {"a":1}'],
  ["a Date", () => new Date(0), "ok: 1970-01-01T00:00:00.000Z"],
  ["a cycle", cycle, "failed: tool.result"],
  ["a BigInt", () => 5n, "failed: tool.result"],
  ["a BigInt inside", () => ({ a: [5n] }), "failed: tool.result"],
  ["a function", () => () => 1, "failed: tool.result"],
  ["a symbol", () => Symbol("odd"), "failed: tool.result"],
  ["a Map", () => new Map([[1, 2]]), "failed: tool.result"],
  ["a class instance", () => new Point(), "failed: tool.result"],
  ["NaN", () => Number.NaN, "failed: tool.result"],
  ["bytes that are not attached", () => new Uint8Array(3), "failed: tool.result"],
  [
    "a getter that throws",
    () => ({
      get a() {
        return JSON.parse("{");
      },
    }),
    "failed: tool.",
  ],
  [
    "a then that throws when read",
    // biome-ignore lint/suspicious/noThenProperty: a thenable is what the test is about
    () => Object.defineProperty({}, "then", { get: () => JSON.parse("{"), enumerable: true }),
    "failed: tool.",
  ],
  ["what cannot be looked at", trap, "failed: tool."],
  ["a toJSON that throws", () => ({ toJSON: () => JSON.parse("{") }), "failed: tool.result"],
  ["a hundred thousand levels", () => deep(100_000), "failed: tool.result"],
  [
    "an attachment deeper than they are looked for",
    () => ({ a: { b: { c: { d: { e: attach(new Uint8Array(1), { mediaType: "a/b" }) } } } } }),
    "failed: tool.result",
  ],
];
for (const [what, make, wanted] of RETURNED) {
  test(`T5 a tool that returns ${what}, at once or later: ${wanted.split(":")[0]}`, async () => {
    const tools = [named("now", () => make() as never), named("later", async () => make() as never), named("fine")];
    await using world = await opened({ tools });
    const { shown, outcome } = await did(world.session, "now", "later", "fine");
    expect(outcome.kind, JSON.stringify(outcome).slice(0, 300)).toBe("answered");
    const [status, words = ""] = wanted.split(/: (.*)/s);
    for (const line of shown.slice(0, 2)) {
      if (status === "ok") expect(line).toMatch(/^(now|later) ok: /);
      else expect(line).toMatch(new RegExp(`^(now|later) failed: Error \\(${words.replace(".", "\\.")}`));
      if (status === "ok") expect(line.slice(line.indexOf(": ") + 2)).toBe(words);
    }
    expect(shown[2]).toBe("fine ok: fine!");
  });
}

test("T5 a result of a hundred megabytes is refused by size, and the session stays small", async () => {
  const tools = [named("big", () => "x".repeat(100_000_000)), named("wide", () => ({ all: "x".repeat(9_000_000) }))];
  await using world = await opened({ tools });
  const { shown } = await did(world.session, "big", "wide");
  expect(shown[0]).toMatch(/^big failed: Error \(limit\.bytes\).*100000000 bytes/);
  expect(shown[1]).toMatch(/^wide failed: Error \(limit\.bytes\)/);
  expect(JSON.stringify(await world.session.read()).length).toBeLessThan(100_000);
});

type Settle = (value: unknown) => void;
// biome-ignore lint/suspicious/noThenProperty: a thenable is what the tests are about
const thenable = (then: (ok: Settle, no: Settle) => void): object => Object.fromEntries([["then", then]]);
const THENABLES: readonly (readonly [string, (ok: Settle, no: Settle) => void, RegExp])[] = [
  ["throws", () => JSON.parse("{"), /failed: Error \(tool\.failed\)/],
  ["answers twice", (ok) => [ok("one"), ok("two")], /ok: one/],
  ["answers, then fails", (ok, no) => [ok("one"), no(new Error("two"))], /ok: one/],
  ["answers, then throws", (ok) => [ok("one"), JSON.parse("{")], /ok: one/],
  [
    "fails, then answers",
    (ok, no) => [no(new Error("one")), ok("two")],
    /failed: Error \(tool\.failed\): odd failed: one/,
  ],
  ["answers with a promise that fails", (ok) => ok(Promise.reject(new Error("deep"))), /failed: Error \(tool\./],
];
for (const [what, then, wanted] of THENABLES) {
  test(`T5 a tool whose thenable ${what} has one result, and nothing is left unheard`, async () => {
    const lost = await unheard(async () => {
      await using world = await opened({ tools: [named("odd", () => thenable(then)), named("fine")] });
      const { shown, outcome } = await did(world.session, "odd", "fine");
      expect(outcome.kind).toBe("answered");
      expect(shown[0]).toMatch(wanted);
      expect(shown[1]).toBe("fine ok: fine!");
    });
    expect(lost).toEqual([]);
  });
}

const CONTROLS: readonly (readonly [string, () => unknown])[] = [
  ["finish with what is not JSON", () => finish(5n as never)],
  ["finish with nothing", () => finish(undefined as never)],
  ["fail without words", () => fail(undefined as never, undefined as never)],
  ["switchFrame without a task", () => switchFrame(undefined as never)],
  ["switchFrame with a seed that is not JSON", () => switchFrame("Go on.", (() => 1) as never)],
];
for (const [what, make] of CONTROLS) {
  test(`T5 ${what} ends in a typed outcome, kept whole`, async () => {
    await using world = await opened({ tools: [named("ends", () => make() as never)] });
    const { outcome } = await within(did(world.session, "ends"));
    if (outcome.kind === "failed" || outcome.kind === "stopped")
      expect([typeof outcome.code, typeof outcome.reason, outcome.code !== ""]).toEqual(["string", "string", true]);
    if (outcome.kind === "finished") expect(outcome.value).toBeNull();
    expect((await did(world.session)).outcome.kind).toBe("answered");
    expect(JSON.stringify((await world.session.read()).messages)).not.toContain('"undefined"');
  });
}

test("T5 more calls in one reply than are allowed: the first run, the others fail with the limit", async () => {
  let runs = 0;
  await using world = await opened({ tools: [named("ping", () => ++runs)], limits: { callsPerRoundMax: 3 } });
  const { shown } = await did(world.session, ...Array.from({ length: 5 }, () => "ping"));
  expect(runs).toBe(3);
  expect(shown.slice(3).every((line) => line.includes("tool.too-many"))).toBe(true);
  expect(shown).toHaveLength(5);
});

test("T5 what a tool does to its arguments reaches neither history, nor hooks, nor its next attempt", async () => {
  const seen: unknown[] = [];
  const tool = defineTool({
    name: "sort",
    description: "Sorts.",
    input: z.object({ list: z.array(z.number()) }),
    retry: { policy: "idempotent", attempts: 2, baseMs: 1 },
    execute: (args) => {
      seen.push(structuredClone(args));
      args.list.push(987_654_321);
      throw new Error("Again.");
    },
  });
  const hooked: unknown[] = [];
  const watcher = definePlugin({
    id: "acme/watcher",
    setup: () => ({ afterToolCall: ({ call: { input } }) => void hooked.push(structuredClone(input)) }),
  });
  await using world = await opened({ tools: [tool], plugins: [watcher] });
  await did(world.session, ["sort", { list: [1] }]);
  expect(seen).toEqual([{ list: [1] }, { list: [1] }]);
  expect(hooked).toEqual([{ list: [1] }]);
  expect(JSON.stringify((await world.session.read()).messages)).not.toContain("987654321"); // No id has that in it.
});

test("T5 two calls of one reply with the same provider id have a result each", async () => {
  const model = scripted(
    [call("a", {}, "same"), call("b", {}, "same"), { ...end, reason: "calls" } as typeof end],
    says("Done."),
  );
  await using world = await open(model, { tools: [named("a"), named("b")] });
  expect((await world.session.turn("Go.").result()).outcome.kind).toBe("answered");
  const results = outline((await world.session.read()).messages).filter((line) => / ok: /.test(line));
  expect(results).toEqual(["a ok: a!", "b ok: b!"]);
});

test("T5 text beside calls is kept, and calls of unknown, wrong and right kinds are all paired", async () => {
  const model = scripted(
    both(says("Let me see."), calls("nowhere"), calls("add", { n: "x" }), calls("add", { n: 1 })),
    says("Done."),
  );
  const tool = defineTool({
    name: "add",
    description: "Adds.",
    input: z.object({ n: z.number() }),
    execute: ({ n }) => n + 1,
  });
  await using world = await open(model, { tools: [tool] });
  await world.session.turn("Go.").result();
  const lines = outline((await world.session.read()).messages);
  expect(lines[1]).toBe("assistant: Let me see.");
  expect(lines.filter((line) => /^(nowhere|add) (ok|failed)/.test(line)).map((line) => line.split(":")[0])).toEqual([
    "nowhere failed",
    "add failed",
    "add ok",
  ]);
});
