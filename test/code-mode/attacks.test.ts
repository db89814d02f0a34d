// What attackers of code mode found.
import { ask, defer, definePlugin, defineTool, type Plugin, switchFrame } from "bowline/plugin";
import { bindings, code } from "bowline/plugins/code";
import { codeMode } from "bowline/protocols/code";
import { calls, ends, says, scripted } from "bowline/testing";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { textIn } from "../kit/reading.ts";
import { closeSandbox, sharedCode } from "../kit/sandbox.ts";
import { file } from "../kit/stores.ts";
import { held, named, open, runningOn } from "../kit/worlds.ts";
import { heard, writes } from "./protocols.ts";

const plugins: readonly Plugin[] = [codeMode, sharedCode];
afterAll(closeSandbox);

describe("typed results", () => {
  test("P7 T5 count as no call: a cell that made all it may still hands its result in", async () => {
    const model = scripted(
      writes("await Promise.allSettled([1, 2, 3].map(() => tools.ping({}))); finish({ n: 1 });"),
      writes("finish(0)"),
    );
    await using world = await open(model, { plugins, tools: [named("ping")], limits: { callsPerRoundMax: 2 } });
    const { outcome } = await world.session.turn("Go.", { output: z.object({ n: z.number() }) }).result();
    expect(outcome).toMatchObject({ kind: "finished", value: { n: 1 } });
  });

  test("P7 are what later turns see", async () => {
    const model = scripted(writes("finish({ n: 4 })"), says("It was 4."));
    await using world = await open(model, { plugins });
    await world.session.turn("Go.", { output: z.object({ n: z.number() }) }).result();
    await world.session.turn("What was it?").result();
    expect(heard(model.requests[1])).toContain('Finished with {"n":4}');
  });
});

describe("seeds", () => {
  const goto = defineTool({
    name: "goto",
    description: "Goes.",
    input: z.object({}),
    execute: () => switchFrame("Task C."),
  });

  test("P7 a seed stays after a cell that was stopped, and over a compaction", async () => {
    const compactor = definePlugin({
      id: "test/compactor",
      setup: () => ({
        checkpoint: ({ at }) => (at === "after-work" && ++seen === 2 ? [{ kind: "compactHistory" as const }] : []),
        compact: () => [{ role: "user" as const, parts: [{ kind: "text" as const, text: "In short." }] }],
      }),
    });
    let seen = 0;
    const model = scripted(writes("continueAs('B', { a: 1 })"), writes("for (;;);"), writes("finish(seed.a)"));
    await using world = await open(model, { plugins: [codeMode, code({ stepsMax: 30 }), compactor] });
    expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ value: 1 });
  });

  test("P7 the seed of one task is not that of the next, also where no cell ran in that", async () => {
    const model = scripted(
      writes("continueAs('B', { a: 1 })"),
      writes("print(seed.a); await tools.goto({});"),
      says("There."),
      writes("finish(typeof seed)"),
    );
    await using world = await open(model, { plugins, tools: [goto] });
    await world.session.turn("Go.").result();
    expect((await world.session.turn("On.").result()).outcome).toMatchObject({ value: "undefined" });
    expect(heard(model.requests[3])).not.toContain("`seed`");
  });
});

describe("replies", () => {
  test("P7 nothing is run of one that was cut off in the line that seems to end its cell", async () => {
    let paid = 0;
    const cutOff = "<typescript>\nawait tools.pay({}); // as in </typescript>";
    const model = scripted(ends("length", cutOff), says("Sorry."));
    await using world = await open(model, { plugins, tools: [named("pay", () => ++paid)] });
    await world.session.turn("Go.").result();
    expect(paid).toBe(0);
  });

  test("P7 an end tag alone is not an answer", async () => {
    const model = scripted(says("</typescript>"), says("Sorry."));
    await using world = await open(model, { plugins });
    expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ text: "Sorry." });
  });

  test("P7 many parts of one message are shortened together", async () => {
    const model = scripted(says("Well."));
    await using world = await open(model, { plugins: [codeMode({ inputCharsMax: 300 }), code] });
    const parts = [250, 250, 1_000].map((chars) => ({ kind: "text" as const, text: "x".repeat(chars) }));
    await world.session.turn(parts).result();
    expect(textIn(model.requests[0]?.messages[0]?.parts ?? []).match(/x/g)?.length).toBeLessThan(400);
  });
});

describe("values", () => {
  test("P7 P1 an extension that is not the protocol's is refused for a session", async () => {
    await using world = await open(scripted(), { plugins });
    await expect(world.session.extend(bindings.of({ a: 1 }))).rejects.toThrow(/does not take the extension/);
  });

  test("P8 a value that is not JSON, or is nested too deeply for code, cannot be bound", async () => {
    await using world = await open(scripted(), { plugins });
    const deep = Array.from({ length: 1_100 }).reduce<unknown>((inner) => [inner], 1);
    for (const value of [Number.NaN, new Date(0), deep])
      await expect(world.session.command(code, "bind", { values: { value } })).rejects.toThrow(/not JSON/);
  });

  test("P9 what is bound while a cell waits does not change what its code means", async () => {
    const careful = definePlugin({
      id: "test/careful",
      setup: () => ({ beforeToolCall: ({ call }) => (call.name === "pay" ? ask("May it?") : undefined) }),
    });
    const tools = [named("pay"), named("files_read"), named("files_write")];
    const model = scripted(writes("await tools.pay({}); finish(await files.read({}))"));
    await using world = await open(model, { plugins: [...plugins, careful], tools, limits: { parkAfterMs: 1 } });
    const turn = world.session.turn("Go.");
    for await (const event of turn) if (event.kind === "waiting") break;
    await world.session.command(code, "bind", { values: { files: 3 } });
    const [wait] = await world.runtime.waits.list();
    await world.runtime.waits.resolve(wait!.key, { approved: true });
    expect((await turn.result()).outcome).toMatchObject({ value: "files_read!" });
  });

  test("P7 a variable is not a module, though the model does not see all variables", async () => {
    const many = Array.from({ length: 80 }, (_, n) => `let v${n} = ${n};`).join(" ");
    const mail = ["send", "get"].map((name) => named(`mail_${name}`, undefined, { availability: "searchable" }));
    const model = scripted(
      writes(`const mail = ['a']; ${many}`),
      writes("await tools.search('mail')"),
      writes("mail.push('b'); finish(mail)"),
    );
    await using world = await open(model, { plugins, tools: mail });
    expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ value: ["a", "b"] });
  });
});

test("S5 D4 a turn that began with merged inputs has each input once when another process resumes it", async () => {
  const copies = definePlugin({
    id: "test/copies",
    setup: () => ({
      context: ({ context }) => ({ ...context, messages: context.messages.map((message) => ({ ...message })) }),
    }),
  });
  const path = file();
  const slow = held("slow");
  const options = { plugins: [copies], tools: [slow.tool, named("later", () => defer())] };
  const first = await runningOn(path, { ...options, model: scripted(calls("slow"), says("Worked."), calls("later")) });
  const session = await first.session("s", { config: { mergesInputs: true } });
  const turn = session.turn("Go.");
  await slow.began();
  await session.send("AAA", { key: "a", at: "next-turn" });
  await session.send("BBB", { key: "b", at: "next-turn" });
  slow.release();
  await turn.result();
  for await (const event of session.turn("AAA", { key: "a" })) if (event.kind === "waiting") break;
  await first.close();

  const model = scripted(says("Done."));
  const other = await runningOn(path, { ...options, model });
  const [wait] = await other.waits.list();
  await other.waits.resolve(wait!.key, { value: 1 });
  await (await other.session("s")).turn("AAA", { key: "a" }).result();
  const said = model.requests[0]?.messages.map(({ parts }) => textIn(parts)) ?? [];
  expect(said.filter((words) => /AAA|BBB/.test(words))).toEqual(["AAA", "BBB"]);
  await other.close();
});
