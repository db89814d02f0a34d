import {
  attach,
  definePlugin,
  defineTool,
  fail,
  finish,
  RuntimeError,
  type Store,
  switchFrame,
  type Tool,
  ToolError,
} from "bowline";
import { deny, replaceResult } from "bowline/plugin";
import { toolCalls } from "bowline/protocols/tool-calls";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { eventsOf, only } from "../kit/reading.ts";
import { around, slowly } from "../kit/stores.ts";
import { named, open } from "../kit/worlds.ts";
import { did, opened } from "./obedient.ts";

const BYTES = new Uint8Array([1, 2, 3, 4]);
const image = (name?: string) => attach(BYTES, { mediaType: "image/png", ...(name === undefined ? {} : { name }) });

// ── T10 ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

test("T10 text is shown as it is, other JSON compact", async () => {
  const tools = [named("text", () => '{"not": "parsed"}'), named("json", () => ({ a: [1, "two", null] }))];
  await using world = await opened({ tools });
  expect((await did(world.session, "text", "json")).shown).toEqual([
    'text ok: {"not": "parsed"}',
    'json ok: {"a":[1,"two",null]}',
  ]);
});

/** Notes what is put into the blobs of a store. */
function counted(inner: Store) {
  const puts: string[] = [];
  const store = around(inner, {
    "blobs.put": (act, hash, bytes) => {
      if ((bytes as Uint8Array).byteLength === BYTES.byteLength) puts.push(String(hash));
      return act();
    },
  });
  return { store, puts };
}

test("T10 attachments alone, in a list and in an object are stored by hash and shown as parts beside the text", async () => {
  const { store, puts } = counted(memory());
  const tools = [
    named("alone", () => image("a.png")),
    named("list", () => [image(), "and text"]),
    named("inside", () => ({ pages: [image("b.png")], count: 1 })),
  ];
  await using world = await opened({ tools, store });
  const { events } = await did(world.session, "alone", "list", "inside");
  expect(new Set(puts).size, "one hash").toBe(1);
  const hash = puts[0] as string;
  expect(await world.store.blobs.get(hash as never)).toEqual(BYTES);
  const results = (world.model.requests[1]?.messages ?? []).flatMap(({ parts }) =>
    parts.filter((part) => part.kind === "toolResult"),
  );
  expect(results.map(({ parts }) => parts.map(({ kind }) => kind))).toEqual(Array(3).fill(["text", "attachment"]));
  expect(results[0]?.parts[1]).toEqual({ kind: "attachment", hash, mediaType: "image/png", bytes: 4, name: "a.png" });
  const [alone, list, inside] = only(events, "toolEnded").map(({ output }) => output);
  const reference = { attachment: hash, mediaType: "image/png", bytes: 4 };
  expect(alone).toMatchObject({ kind: "value", value: { ...reference, name: "a.png" } });
  expect(list).toMatchObject({ kind: "value", value: [reference, "and text"] });
  expect(inside).toMatchObject({ kind: "value", value: { pages: [{ ...reference, name: "b.png" }], count: 1 } });
  expect(JSON.stringify((await world.session.read()).messages)).not.toContain("AQID");
});

test("T10 a tool that uses its buffer again does not change what it attached", async () => {
  const buffer = new Uint8Array(BYTES);
  const tool = named("reuse", () => {
    buffer.set(BYTES);
    queueMicrotask(() => buffer.fill(9)); // After it has returned.
    return attach(buffer, { mediaType: "image/png" });
  });
  const store = slowly(memory());
  await using world = await opened({ tools: [tool], store });
  const { outputs } = await did(world.session, "reuse");
  const [output] = outputs;
  const [kept] = (output?.kind === "value" ? output.attachments : undefined) ?? [];
  expect(await store.blobs.get(kept?.hash as never)).toEqual(BYTES);
});

test("T10 attachments count against the size of a result", async () => {
  const tools = [named("big", () => attach(new Uint8Array(2_000), { mediaType: "image/png" })), named("fine")];
  await using world = await opened({ tools, limits: { resultBytesMax: 1_000 } });
  const { shown } = await did(world.session, "big", "fine");
  expect(shown[0]).toMatch(/^big failed: Error \(limit\.bytes\)/);
  expect(shown[1]).toBe("fine ok: fine!");
});

test("T10 a thrown attachment is a failure like any other", async () => {
  const tool = named("odd", () => {
    throw image();
  });
  await using world = await opened({ tools: [tool] });
  const { shown, outcome } = await did(world.session, "odd");
  expect(shown[0]).toMatch(/^odd failed: Error \(tool\./);
  expect(outcome.kind).toBe("answered");
});

test("T10 one projector decides what is shown of every result; it sees what would have been, and the record keeps the value", async () => {
  const brief = definePlugin({
    id: "acme/brief",
    setup: () => ({
      projectResult: ({ call, output, parts }) => [
        { kind: "text", text: `${call.name} ${output.kind}, else ${parts.length} part(s)` },
      ],
    }),
  });
  await using world = await opened({ tools: [named("a"), named("b", () => image())], plugins: [brief] });
  const { shown, outputs } = await did(world.session, "a", "b", "nowhere");
  expect(shown).toEqual([
    "a ok: a value, else 1 part(s)",
    "b ok: b value, else 2 part(s)",
    "nowhere failed: nowhere failure, else 1 part(s)",
  ]);
  expect(outputs[0]).toEqual({ kind: "value", value: "a!" });
});

test("T10 a projector that throws, or answers with something else, shows its error; the status stays", async () => {
  for (const projectResult of [() => JSON.parse("{"), async () => "words" as never]) {
    const odd = definePlugin({ id: "acme/odd", setup: () => ({ projectResult }) });
    await using world = await opened({ tools: [named("a")], plugins: [odd] });
    const { shown, outcome } = await did(world.session, "a");
    expect(shown[0]).toMatch(/^a ok: Error: /);
    expect(outcome.kind).toBe("answered");
  }
});

test("T10 two projectors are a build error that names both", async () => {
  const projector = (id: string) => definePlugin({ id, setup: () => ({ projectResult: ({ parts }) => parts }) });
  await expect(opened({ plugins: [projector("acme/a"), projector("acme/b")] })).rejects.toThrow(
    /projectResult.*acme\/a and acme\/b/,
  );
});

test("T10 a projector sees what after-hooks made of a result", async () => {
  const plugins = [
    definePlugin({ id: "acme/redact", setup: () => ({ afterToolCall: () => [replaceResult("***")] }) }),
    definePlugin({
      id: "acme/show",
      setup: () => ({ projectResult: ({ parts }) => [{ kind: "text", text: `<${JSON.stringify(parts)}>` }] }),
    }),
  ];
  await using world = await opened({ tools: [named("a", () => "secret")], plugins });
  const { shown } = await did(world.session, "a");
  expect(shown[0]).toContain("***");
  expect(JSON.stringify((await world.session.read()).messages)).not.toContain("secret");
});

// ── T11 ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

const WAYS: readonly (readonly [string, (control: () => unknown) => Tool])[] = [
  ["returned", (control) => named("ends", () => control() as never)],
  ["returned later", (control) => named("ends", async () => control() as never)],
  [
    "thrown",
    (control) =>
      named("ends", () => {
        throw control();
      }),
  ],
  ["rejected", (control) => named("ends", () => Promise.reject(control()))],
];
for (const [way, make] of WAYS) {
  test(`T11 finish, ${way}: the turn ends with the tool's value, every call paired`, async () => {
    await using world = await opened({ tools: [make(() => finish({ answer: 42 })), named("fine")] });
    const { outcome, shown } = await did(world.session, "fine", "ends");
    expect(outcome).toMatchObject({ kind: "finished", by: "tool", value: { answer: 42 } });
    expect(shown).toHaveLength(2);
    expect(world.model.requests).toHaveLength(1);
  });

  test(`T11 fail, ${way}: the turn ends as failed by the tool, with its code and words`, async () => {
    await using world = await opened({ tools: [make(() => fail("acme.over", "It is over.")), named("fine")] });
    const { outcome, shown } = await did(world.session, "ends", "fine");
    expect(outcome).toMatchObject({ kind: "failed", by: "tool", code: "acme.over", reason: "ends: It is over." });
    expect(shown.map((line) => line.split(":")[0])).toEqual(["ends failed", "fine ok"]);
    expect((await did(world.session)).outcome.kind).toBe("answered");
  });

  test(`T11 switchFrame, ${way}: the turn continues with the task in a fresh window`, async () => {
    await using world = await opened({ tools: [make(() => switchFrame("Go on with this."))] });
    const { outcome } = await did(world.session, "ends");
    expect(outcome.kind).toBe("answered");
    expect(world.model.requests).toHaveLength(2);
    const words = JSON.stringify(world.model.requests[1]?.messages);
    expect(words).toContain("Go on with this.");
    expect(words).not.toContain("toolCall");
  });
}

test("T11 of several decisions the first in call order counts, not the first to come, natively and in a batch", async () => {
  const late = Promise.withResolvers<void>();
  const tools = [
    named("slow", async () => {
      await late.promise;
      return finish("slow");
    }),
    named("quick", () => {
      late.resolve();
      return fail("acme.quick", "Quick.");
    }),
  ];
  await using world = await opened({ tools, plugins: [toolCalls({ batch: true })] });
  expect((await did(world.session, "slow", "quick")).outcome).toMatchObject({ kind: "finished", value: "slow" });
  const batch = (...names: readonly string[]) => ({ calls: names.map((tool) => ({ tool, input: {} })) });
  expect((await did(world.session, ["batch", batch("slow", "quick")])).outcome).toMatchObject({
    kind: "finished",
    value: "slow",
  });
  expect((await did(world.session, ["batch", batch("quick", "slow")])).outcome).toMatchObject({
    kind: "failed",
    code: "acme.quick",
  });
});

test("T11 a decision of a call that a gate denied, or whose result was withheld, does not count", async () => {
  const tools = [named("ends", () => finish("leaked"))];
  for (const setup of [
    (): object => ({ beforeToolCall: () => [deny("No.")] }),
    (): object => ({ afterToolCall: () => [deny("No.")] }),
  ]) {
    await using world = await opened({ tools, plugins: [definePlugin({ id: "acme/no", setup })] });
    expect((await did(world.session, "ends")).outcome.kind).toBe("answered");
  }
});

test("T11 finish with a value that is too large, or not JSON, is a result, and the turn continues", async () => {
  const tools = [named("large", () => finish("x".repeat(2_000))), named("odd", () => finish((() => 1) as never))];
  await using world = await opened({ tools, limits: { resultBytesMax: 1_000 } });
  const { shown, outcome } = await did(world.session, "large", "odd");
  expect(outcome.kind).toBe("answered");
  expect(shown[0]).toMatch(/^large failed: Error \(limit\.bytes\)/);
  expect(shown[1]).toMatch(/^odd failed: Error \(tool\.result\)/);
});

test("T11 a thrown decision that is too large is refused like a returned one", async () => {
  const tool = named("large", () => {
    throw finish("x".repeat(2_000));
  });
  await using world = await opened({ tools: [tool], limits: { resultBytesMax: 1_000 } });
  const { shown, outcome } = await did(world.session, "large");
  expect(outcome.kind).toBe("answered");
  expect(shown[0]).toMatch(/^large failed: Error \(limit\.bytes\)/);
});

test("T10 D8 failures are bounded as results are, whatever a tool quotes in them", async () => {
  const huge = "x".repeat(20_000_000);
  const throwing: { readonly [name: string]: () => unknown } = {
    plain: () => new Error(huge),
    typed: () => new ToolError(huge, huge),
    ours: () => new RuntimeError("input.invalid", { problem: huge }),
    path: () => undefined,
    decided: () => fail(huge, huge),
  };
  for (const [name, made] of Object.entries(throwing)) {
    const tool = defineTool({
      name,
      description: name,
      input: { type: "object" },
      execute: () => {
        if (name === "path") return { [huge]: () => {} } as never;
        throw made();
      },
    });
    await using world = await open(scripted(calls(name), says("Done.")), { tools: [tool] });
    const turn = world.session.turn("Go.");
    const [ended] = only(await eventsOf(turn), "toolEnded");
    expect(ended?.output.kind, name).toBe("failure");
    expect(JSON.stringify(await turn.result()).length, name).toBeLessThan(50_000);
    expect(JSON.stringify(ended).length, name).toBeLessThan(50_000);
    expect(JSON.stringify((await world.session.read()).messages).length, name).toBeLessThan(50_000);
  }
});

test("T10 an attachment that is refused for its size is not stored first", async () => {
  const store = memory();
  let puts = 0;
  const put = store.blobs.put.bind(store.blobs);
  Object.assign(store.blobs, {
    put: (...given: Parameters<typeof put>) => {
      puts += given[1].byteLength > 1_000 ? 1 : 0;
      return put(...given);
    },
  });
  const tool = defineTool({
    name: "big",
    description: "Big.",
    input: { type: "object" },
    execute: () =>
      [
        attach(new Uint8Array(2_000), { mediaType: "a/b" }),
        attach(new Uint8Array(2_000_000), { mediaType: "a/b" }),
      ] as never,
  });
  await using world = await open(scripted(calls("big"), says("Done.")), {
    store,
    tools: [tool],
    limits: { resultBytesMax: 1_000_000 },
  });
  const [ended] = only(await eventsOf(world.session.turn("Go.")), "toolEnded");
  expect(ended?.output).toMatchObject({ kind: "failure", failure: { code: "limit.bytes" } });
  expect(puts).toBe(0);
});
