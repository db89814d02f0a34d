import { attach, definePlugin } from "bowline";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { echo, listener } from "../kit/models.ts";
import { codeOf, only, outline, within } from "../kit/reading.ts";
import { file, STORES } from "../kit/stores.ts";
import { running, runningOn } from "../kit/worlds.ts";
import { busy } from "./busy.ts";
import { watch } from "./watching.ts";

const BYTES = new Uint8Array([1, 2, 3]);
const NOTE = { role: "system", parts: [{ kind: "text", text: "It rains." }] } as const;

test.each(STORES)("S2 on %s what is injected into a running turn is taken at its next boundary", async (_, make) => {
  await using world = await busy(make());
  const { runtime, session, work, turn, turnId } = world;
  const { id } = await runtime.sessions.inject("s", "Be quick.");
  await runtime.sessions.inject("s", NOTE);
  const waiting = await session.inputs.list();
  expect(waiting).toMatchObject([
    { id, at: "injected", text: "Be quick." },
    { at: "injected", text: "It rains." },
  ]);
  expect(waiting.some((input) => "turnId" in input)).toBe(false);
  expect((await session.read()).inputs.map(({ turnId: of, state }) => [of, state])).toEqual([
    [turnId, "running"],
    [undefined, "waiting"],
    [undefined, "waiting"],
  ]);
  work.release();
  await turn.result();
  const { messages, inputs, turns } = await session.read();
  expect([turns, inputs]).toEqual([1, []]);
  expect(outline(messages)).toEqual([
    "user: Work.",
    "calls work",
    "work ok: worked",
    "user: Be quick.",
    "system: It rains.",
    "assistant: re: Be quick.",
  ]);
  expect(messages[3]?.origin).toEqual({ kind: "input", inputId: id });
});

test.each(STORES)(
  "S2 on %s an idle session opens no turn for it, and its next turn begins with it",
  async (_, make) => {
    await using runtime = await running({ store: make(), model: listener() });
    const session = await runtime.session("s");
    await runtime.sessions.inject("s", "Mind the dog.");
    await runtime.sessions.inject("s", NOTE);
    expect(await runtime.recover()).toEqual({ sessions: 0 });
    expect(await session.read()).toMatchObject({ turns: 0, messages: [] });
    expect((await session.turn("Walk.").result()).outcome).toMatchObject({ text: "re: Walk. + Mind the dog." });
    const again = await session.turn("And again.").result();
    expect(again.outcome).toMatchObject({ text: "re: And again." });
    expect(outline((await session.read()).messages)).toEqual([
      "user: Walk.",
      "user: Mind the dog.",
      "system: It rains.",
      "assistant: re: Walk. + Mind the dog.",
      "user: And again.",
      "assistant: re: And again.",
    ]);
  },
);

test("S2 a session of another process takes it, and so does one that nobody has open", async () => {
  const path = file();
  await using one = await busy(sqlite(path, { durability: "process" }));
  await using two = await runningOn(path, { model: echo(), recover: "manual" });
  await two.sessions.inject("s", "From afar.");
  one.work.release();
  expect((await one.turn.result()).outcome).toMatchObject({ text: "re: From afar." });
  await one.session.close();
  await two.sessions.inject("s", "Once more.");
  const again = await one.runtime.session("s");
  expect((await again.turn("Well?").result()).outcome).toMatchObject({ text: "re: Well? + Once more." });
});

test.each(STORES)("S2 on %s the same id injects once, and other content is a conflict", async (_, make) => {
  await using runtime = await running({ store: make() });
  const session = await runtime.session("s");
  const { id } = await runtime.sessions.inject("s", "Once.", { id: "a" });
  expect(await runtime.sessions.inject("s", "Once.", { id: "a" })).toEqual({ id });
  expect(await codeOf(runtime.sessions.inject("s", "Twice.", { id: "a" }))).toBe("input.conflict");
  expect(await codeOf(session.turn("Once.", { key: "a" }).result())).toBe("input.conflict");
  expect(await session.inputs.list()).toMatchObject([{ id, key: "a" }]);
  await session.turn("Go.", { key: "b" }).result();
  expect(await codeOf(runtime.sessions.inject("s", "Go.", { id: "b" }))).toBe("input.conflict");
  expect(await runtime.sessions.inject("s", "Once.", { id: "a" })).toEqual({ id });
  expect(await session.inputs.list()).toEqual([]);
});

test.each(STORES)("S2 on %s what waits can be withdrawn, counts, and bounds what else may wait", async (_, make) => {
  await using runtime = await running({ store: make(), limits: { pendingInputsMax: 2 } });
  const session = await runtime.session("s");
  const { id } = await runtime.sessions.inject("s", "One.");
  await runtime.sessions.inject("s", "Two.", { id: "two" });
  expect(await codeOf(runtime.sessions.inject("s", "Three."))).toBe("input.full");
  expect(await session.inputs.cancel({ id })).toEqual([{ id, kind: "cancelled" }]);
  expect(await session.inputs.cancel({ key: "two" })).toMatchObject([{ kind: "cancelled" }]);
  await runtime.sessions.inject("s", "Four.");
  await runtime.sessions.cancel("s");
  expect(await session.inputs.list()).toEqual([]);
  await session.turn("Go.").result();
  expect(outline((await session.read()).messages)).toEqual(["user: Go.", "assistant: re: Go."]);
});

test.each(STORES)(
  "S2 on %s all that was injected while it rested is taken at once, before the model is asked",
  async (_, make) => {
    const model = scripted(says("Read."));
    await using runtime = await running({ store: make(), model });
    const session = await runtime.session("s");
    for (let n = 0; n < 200; n++) await runtime.sessions.inject("s", `Note ${n}.`);
    await session.turn("Go.").result();
    expect(model.requests).toHaveLength(1);
    expect((await session.read()).messages).toHaveLength(202);
  },
);

test("S2 attachments are injected as inputs have them", async () => {
  await using runtime = await running();
  const session = await runtime.session("s");
  const picture = attach(BYTES, { mediaType: "image/png", name: "cat" });
  await runtime.sessions.inject("s", { role: "user", parts: ["Look:", picture] });
  await session.turn("Go.").result();
  const [, message] = (await session.read()).messages;
  expect(message?.parts).toMatchObject([
    { kind: "text", text: "Look:" },
    { kind: "attachment", mediaType: "image/png", bytes: 3, name: "cat" },
  ]);
});

test("S2 what is wrong with it is said, and nothing is kept", async () => {
  await using runtime = await running({ limits: { inputBytesMax: 100 } });
  const session = await runtime.session("s");
  const gone = await runtime.session("gone");
  await gone.close();
  await runtime.sessions.delete("gone");
  const cyclic: unknown[] = [];
  cyclic.push(cyclic);
  const inject = runtime.sessions.inject as (...given: readonly unknown[]) => Promise<unknown>;
  for (const [code, ...given] of [
    ["session.unknown", "nobody", "Hello."],
    ["session.unknown", "gone", "Hello."],
    ["session.unknown", 7, "Hello."],
    ["input.invalid", "s", "  "],
    ["input.invalid", "s", undefined],
    ["input.invalid", "s", null],
    ["input.invalid", "s", ["Hello."]],
    ["input.invalid", "s", cyclic],
    ["input.invalid", "s", { role: "user", parts: cyclic }],
    ["input.invalid", "s", { role: "user", parts: "Hello." }],
    ["input.invalid", "s", { role: "user", parts: [] }],
    ["input.invalid", "s", { role: "assistant", parts: ["I said so."] }],
    ["input.invalid", "s", { role: "system", parts: [{ kind: "toolCall", callId: "c", name: "x" }] }],
    ["input.invalid", "s", { role: "system", parts: [{ kind: "attachment", hash: "nothing", mediaType: "a/b" }] }],
    ["options.unknown", "s", { role: "system", parts: ["Hello."], origin: { kind: "runtime" } }],
    ["limit.bytes", "s", "x".repeat(101)],
    ["limit.bytes", "s", { role: "system", parts: ["x".repeat(60), "x".repeat(60)] }],
    ["input.invalid", "s", "Hello.", { id: "" }],
    ["input.invalid", "s", "Hello.", { id: "x".repeat(257) }],
    ["input.invalid", "s", "Hello.", { id: 7 }],
    ["options.unknown", "s", "Hello.", { key: "k" }],
    ["options.invalid", "s", "Hello.", null],
  ] as const)
    expect([given, await codeOf(inject(...given))]).toEqual([given, code]);
  expect(await session.inputs.list()).toEqual([]);
  await runtime.close();
  expect(await codeOf(runtime.sessions.inject("s", "Hello."))).toBe("runtime.closed");
});

test("S2 observers receive it, `input` hooks are not asked, and a deleted session forgets it", async () => {
  const asked: string[] = [];
  const plugin = definePlugin({
    id: "a/asks",
    setup: () => ({ input: ({ input }) => void asked.push(input.parts.map((part) => part.kind).join()) }),
  });
  await using runtime = await running({ plugins: [plugin] });
  const session = await runtime.session("s");
  const watcher = watch(session);
  const { id } = await runtime.sessions.inject("s", "Psst.", { id: "p" });
  const [fact] = only(await watcher.caughtUp(session), "accepted");
  expect(fact).toMatchObject({ inputId: id, key: "p" });
  expect(fact).not.toHaveProperty("turnId");
  expect(asked).toEqual([]);
  await session.close();
  await runtime.sessions.delete("s");
  expect(await codeOf(runtime.sessions.inject("s", "Psst.", { id: "p" }))).toBe("session.unknown");
});

test("S2 a turn that merges inputs takes what was injected before it began, in the order of their coming", async () => {
  await using world = await busy(memory(), {}, { mergesInputs: true });
  const { runtime, session, model, turnId } = world;
  const first = session.turn("A.");
  await first.id;
  await runtime.sessions.inject("s", "B.");
  const last = session.turn("C.");
  await last.id;
  await session.cancel(turnId);
  expect((await within(first.result())).outcome).toMatchObject({ text: "re: A. + B. + C." });
  expect((await within(last.result())).outcome).toMatchObject({ text: "re: A. + B. + C." });
  expect(model.requests.length).toBe(2);
});
