// Code mode as a protocol: what its sessions keep, what it takes from callers, and what it tells of tools.
import { definePlugin, type Plugin, type PromptPart, type Session } from "bowline";
import type { ModelRequest } from "bowline/plugin";
import { toolsSearch } from "bowline/plugins/tools-search";
import { codeMode, type Ending, ending } from "bowline/protocols/code";
import { says, scripted } from "bowline/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { TEXTS } from "../../src/protocols/code/texts.ts";
import { codeOf, within } from "../kit/reading.ts";
import { file } from "../kit/stores.ts";
import { held, named, open, running, runningOn } from "../kit/worlds.ts";
import { closeSandbox, heard, inCode, openSandbox, writes } from "./protocols.ts";

beforeAll(openSandbox, 20_000);
afterAll(closeSandbox);
afterEach(() => void vi.restoreAllMocks());

const [, code] = inCode.plugins as readonly [Plugin, Plugin];
const plugins: readonly Plugin[] = [codeMode, code];

/** Says prose, and where that is no answer writes a cell: how its turns end tells how they may. */
const talker = () => {
  const requests: ModelRequest[] = [];
  return {
    id: "talker",
    modelId: "test",
    requests,
    async *stream(request: ModelRequest) {
      requests.push(request);
      const isRefused = heard({ messages: request.messages.slice(-2) }).includes("Prose does not end");
      yield* isRefused ? writes("finish(4);") : says("Four.");
    },
  };
};
const endOf = async (session: Session, ...extensions: Parameters<Session["extend"]>[0][]): Promise<Ending> =>
  (await session.turn("Go.", { extensions }).result()).outcome.kind === "answered" ? "prose" : "finish";

describe("options", () => {
  test("P1 P7 those of a session hold after a restart and in its forks, and in no other session", async () => {
    const path = file();
    const one = await runningOn(path, { plugins, model: talker() });
    const session = await one.session("s", { plugins: [codeMode.options({ ending: "finish" })] });
    expect(await endOf(session)).toBe("finish");
    await one.close();
    const two = await runningOn(path, { plugins, model: talker() });
    const again = await two.session("s");
    const ends = [
      await endOf(again),
      await endOf(await again.fork({ id: "f" })),
      await endOf(await two.session("other")),
    ];
    expect(ends).toEqual(["finish", "finish", "prose"]);
    await two.close();
  });

  test("P1 P7 those of the runtime count from the next opening on, and what a session was extended with stands over them", async () => {
    const path = file();
    const on = (usual: Ending) => runningOn(path, { plugins: [codeMode({ ending: usual }), code], model: talker() });
    const one = await on("finish");
    expect(await endOf(await one.session("plain"))).toBe("finish");
    const session = await one.session("extended");
    await session.extend(ending.of("finish"));
    await one.close();
    const two = await on("prose");
    expect(await endOf(await two.session("plain"))).toBe("prose");
    const extended = await two.session("extended");
    expect([await endOf(extended), await endOf(await extended.fork())]).toEqual(["finish", "finish"]);
    expect(await endOf(extended, ending.of("prose"))).toBe("prose");
    await two.close();
  });

  test("P1 P7 a turn keeps the options that it began with", async () => {
    const slow = held("slow");
    const model = scripted(writes("await tools.slow({});"), says("Four."), says("Five."), writes("finish(6);"));
    await using world = await open(model, { plugins, tools: [slow.tool] });
    const turn = world.session.turn("Go.");
    await within(slow.began(), 4_000);
    const extended = world.session.extend(ending.of("finish"));
    slow.release();
    expect((await turn.result()).outcome).toMatchObject({ kind: "answered", text: "Four." });
    await extended;
    expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "finished", value: 6 });
  });

  test.each([
    ["another word", "maybe"],
    ["nothing", null],
    ["a list", ["finish"]],
  ])("P1 P7 %s is not a valid ending: a turn and a session refuse it, and nothing is kept", async (_, wrong) => {
    await using world = await open(talker(), { plugins });
    const given = ending.of(wrong as Ending);
    expect(await codeOf(world.session.turn("Go.", { extensions: [given] }).result())).toBe("extension.invalid");
    expect(await codeOf(world.session.extend(given))).toBe("extension.invalid");
    expect(await codeOf(() => codeMode({ ending: wrong as Ending }))).toBe("plugin.options");
    expect(await world.session.read()).toMatchObject({ turns: 0, messages: [] });
    expect(await endOf(world.session)).toBe("prose");
  });

  test("P1 P7 an input that may join a turn cannot say how it ends", async () => {
    await using world = await open(talker(), { plugins });
    const { session, runtime } = world;
    const options = { extensions: [ending.of("finish")] } as object;
    expect(await codeOf(session.send("Go.", options))).toBe("extension.refused");
    expect(await codeOf(runtime.sessions.inject(session.id, "Go.", options))).toBe("options.unknown");
    expect(await session.inputs.list()).toEqual([]);
  });
});

const part = (words: string, more: Partial<PromptPart> = {}): PromptPart => ({
  slot: "guidance",
  text: words,
  ...more,
});

describe("the preamble", () => {
  test("P3 P7 is made once for all sessions with the same tools, even if the rest of their prompts differs", async () => {
    const made = vi.spyOn(TEXTS, "how");
    const model = talker();
    await using runtime = await running({ model, plugins, tools: [named("look")] });
    for (const id of ["a", "b", "c"]) {
      const session = await runtime.session(id, { config: { instructions: `You are ${id}.` } });
      for (let turn = 0; turn < 2; turn++) await session.turn("Go.").result();
    }
    expect(made).toHaveBeenCalledTimes(1);
    const said = model.requests.map(({ system }) => system.replace(/^You are .\.\n\n/, ""));
    expect(new Set(said).size).toBe(1);
    expect(said[0]).toMatch(/You act by writing TypeScript.*declare const tools.*look\(/s);
  });

  test("P3 P7 changes with the tools: in a later turn, and in the next round of the same", async () => {
    const finds = writes('await tools.tools_search({ query: "invoice" });');
    const model = scripted(says("One."), says("Two."), finds, says("Three."));
    const tools = [named("invoice"), named("see")];
    await using world = await open(model, { plugins: [...plugins, toolsSearch], tools });
    const { session } = world;
    await session.turn("Go.").result();
    await session.tools.set("invoice", "off");
    await session.turn("Go.").result();
    await session.tools.set("invoice", "searchable");
    await session.turn("Go.").result();
    expect(model.requests.map(({ system }) => /\binvoice\b/.test(system))).toEqual([true, false, false, true]);
    expect(model.requests.every(({ system, tools }) => system.includes("see") && tools.length === 0)).toBe(true);
  });

  test("P3 P7 has a different text in a session whose turns end only with finish", async () => {
    const model = talker();
    await using runtime = await running({ model, plugins });
    await (await runtime.session("a")).turn("Go.").result();
    await (await runtime.session("b", { plugins: [codeMode.options({ ending: "finish" })] })).turn("Go.").result();
    const [prose, finish] = [model.requests[0]?.system, model.requests[1]?.system];
    expect(prose).toContain("an answer in prose, which ends your work");
    expect(finish).not.toContain("an answer in prose, which ends your work");
  });

  test("P3 K9 P7 is combined with the layers and the parts of prompt hooks; volatile parts come after the conversation", async () => {
    const hooks = definePlugin({
      id: "test/hooks",
      setup: () => ({ prompt: () => [part("Of a hook."), part("It is noon.", { isVolatile: true })] }),
    });
    const model = talker();
    await using runtime = await running({
      model,
      plugins: [...plugins, hooks],
      instructions: "Be kind.",
      prompt: [part("Of the runtime.")],
    });
    const session = await runtime.session("s", { config: { prompt: [part("Of the session.")] } });
    await session.turn("Go.", { prompt: [part("Of the turn.")] }).result();
    const { system = "", messages = [], stable = 0 } = model.requests[0] ?? {};
    expect(system).toMatch(/^Be kind\./);
    for (const words of ["Of the runtime.", "Of the session.", "Of the turn.", "Of a hook.", "by writing TypeScript"])
      expect(system).toContain(words);
    expect(heard({ messages: messages.slice(0, stable) })).toBe("Go.");
    expect(heard({ messages: messages.slice(stable) })).toMatch(/Round 1 of 50\..*It is noon\./s);
  });
});
