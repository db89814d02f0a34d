import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { CACHE, fixture, isAlive, type Remote, raw, serve } from "../../../test/mcp/servers.ts";
import { createRuntime, hasCode, type Message, type RuntimeOptions, type SessionEvent } from "../../index.ts";
import type { Draft } from "../../plugin.ts";
import { memory } from "../../stores/memory.ts";
import { both, calls, type Scripted, says, scripted } from "../../testing/index.ts";
import { type McpOptions, mcp } from "./index.ts";

vi.setConfig({ testTimeout: 30_000 }); // Tests here start processes, which is slow.

/** For tests that leave their server as it was. */
let shared: Remote;
beforeAll(async () => {
  shared = await serve("http");
}, 30_000);
afterAll(() => shared.kill());

async function open(model: Scripted, options: McpOptions, more: Partial<RuntimeOptions> = {}) {
  const plugins = [mcp({ connectMs: 9_000, ...options })];
  const runtime = await createRuntime({ ...more, store: memory(), model, plugins } as RuntimeOptions);
  const session = await runtime.session();
  return { runtime, session, [Symbol.asyncDispose]: () => runtime.close() };
}

/** The results in a conversation: `mcp__a__echo ok: echo: hi`. */
const results = (messages: readonly (Message | Draft)[]): readonly string[] =>
  messages.flatMap(({ parts }) =>
    parts.flatMap((part) => {
      if (part.kind !== "toolResult") return [];
      const words = part.parts.map((shown) => (shown.kind === "text" ? shown.text : `<${shown.mediaType}>`));
      return [`${part.name} ${part.status}: ${words.join(" ")}`];
    }),
  );
const shownIn = (model: Scripted): readonly string[] => results(model.requests.at(-1)?.messages ?? []);
const offered = (model: Scripted, request = -1): readonly string[] =>
  (model.requests.at(request)?.tools ?? []).map(({ name }) => name);

test("E2, T1, T13: tools of two servers appear, are called in one turn, and each call begins and ends once", async () => {
  const model = scripted(
    both(calls("mcp__a__echo", { text: "hi" }), calls("mcp__b__echo", { text: "ho" }), calls("mcp__a__image")),
    says("Done."),
  );
  await using opened = await open(model, { servers: { a: fixture("stdio"), b: { url: shared.url } } });
  const events: SessionEvent[] = [];
  const turn = opened.session.turn("Go.");
  for await (const event of turn) events.push(event);
  expect((await turn.result()).outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(offered(model)).toEqual(expect.arrayContaining(["mcp__a__echo", "mcp__b__echo", "mcp__a__odd_name__"]));
  expect(shownIn(model)).toEqual([
    "mcp__a__echo ok: echo: hi",
    "mcp__b__echo ok: echo: ho",
    expect.stringMatching(/^mcp__a__image ok: .* <image\/png>$/),
  ]);
  for (const kind of ["toolStarted", "toolEnded"] as const)
    expect(events.filter((event) => event.kind === kind)).toHaveLength(3);
});

test("E2: arguments that do not fit the server's schema are refused before it is asked", async () => {
  const model = scripted(calls("mcp__a__echo", { text: 1 }), says("Done."));
  await using opened = await open(model, { servers: { a: { url: shared.url } } });
  await opened.session.turn("Go.").result();
  expect(shownIn(model)).toEqual([expect.stringMatching(/^mcp__a__echo failed: .*tool\.arguments.*string/)]);
});

test("E2: what a server calls an error, the model reads", async () => {
  const model = scripted(both(calls("mcp__a__refuses"), calls("mcp__a__structured")), says("Done."));
  await using opened = await open(model, { servers: { a: { url: shared.url } } });
  await opened.session.turn("Go.").result();
  expect(shownIn(model)).toEqual([
    "mcp__a__refuses failed: Error (tool.failed): mcp__a__refuses failed: There is no such city.",
    'mcp__a__structured ok: {"n":1,"list":[true]}',
  ]);
});

test("E2, T1: a list that changed counts from the next turn on", async () => {
  const model = scripted(calls("mcp__a__grow"), says("It grew."), calls("mcp__a__grown"), says("Done."));
  await using opened = await open(model, { servers: { a: fixture("stdio") } });
  const { session } = opened;
  await session.turn("Grow.").result();
  expect(offered(model, 0)).not.toContain("mcp__a__grown");
  await expect.poll(async () => (await session.query(mcp, "status"))[0]!.tools).toBe(offered(model, 0).length + 1);
  await session.turn("And now?").result();
  expect(offered(model)).toContain("mcp__a__grown");
  expect(shownIn(model).at(-1)).toBe("mcp__a__grown ok: grown");
});

test("E2: a server killed during a call fails the call and not the turn, and is back for the next", async () => {
  const model = scripted(calls("mcp__a__die"), calls("mcp__a__echo", { text: "alive" }, "again"), says("Done."));
  await using opened = await open(model, { servers: { a: fixture("stdio") } });
  expect((await opened.session.turn("Go.").result()).outcome.kind).toBe("answered");
  expect(shownIn(model)).toEqual([
    expect.stringMatching(/^mcp__a__die failed: .*ended with code 3.*It is not known whether/),
    "mcp__a__echo ok: echo: alive",
  ]);
});

/** A server whose `hang_safely` hangs the first time it is called, and says so by making a file. */
async function hangingOnce() {
  const folder = await mkdtemp(join(tmpdir(), "bowline-mcp-"));
  const flag = join(folder, "flag");
  return {
    options: { ...fixture("stdio", "hang-once"), env: { ...CACHE, FLAG: flag } },
    hangs: () => expect.poll(() => existsSync(flag), { timeout: 10_000 }).toBe(true),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

test("E2: a call that may be repeated is, when the connection is lost", async () => {
  await using server = await hangingOnce();
  const model = scripted(calls("mcp__a__hang_safely"), says("Done."));
  await using opened = await open(model, { servers: { a: server.options } });
  const turn = opened.session.turn("Go.");
  await server.hangs();
  process.kill((await opened.session.query(mcp, "status"))[0]!.pid!, "SIGKILL");
  await turn.result();
  expect(shownIn(model)).toEqual(["mcp__a__hang_safely ok: second time"]);
});

test("E2: progress keeps a call alive beyond its idle time; silence does not", async () => {
  const model = scripted(
    both(calls("mcp__a__steps", { count: 5, everyMs: 200 }), calls("mcp__a__hang")),
    calls("mcp__a__cancelled", {}, "after"),
    says("Done."),
  );
  await using opened = await open(model, { servers: { a: fixture("stdio") }, idleMs: 800 });
  await opened.session.turn("Go.").result();
  expect(shownIn(model)).toEqual([
    "mcp__a__steps ok: 5 steps",
    expect.stringMatching(/^mcp__a__hang failed: Error \(tool\.timeout\): .*within 800 ms/),
    "mcp__a__cancelled ok: 1",
  ]);
});

test("E2: a cancelled turn cancels the call at its server", async () => {
  await using server = await hangingOnce();
  const model = scripted(calls("mcp__a__hang_safely"), calls("mcp__a__cancelled"), says("Done."));
  await using opened = await open(model, { servers: { a: server.options } });
  const { session } = opened;
  const turn = session.turn("Go.");
  await server.hangs();
  await turn.cancel("Enough.");
  expect((await turn.result()).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
  await session.turn("Was it?").result();
  expect(shownIn(model).at(-1)).toBe("mcp__a__cancelled ok: 1");
});

test("E2: servers that cannot be had hold up nothing beyond connectMs, and others are there meanwhile", async () => {
  const model = scripted(calls("mcp__good__echo", { text: "x" }), says("Done."), says("Again."));
  const servers = {
    mute: { ...raw("mute"), connectMs: 500 },
    gone: { command: "no-such-command" },
    good: { url: shared.url },
  };
  await using opened = await open(model, { servers });
  const { session, runtime } = opened;
  const atFirst = await session.query(mcp, "status");
  expect(atFirst.map(({ state }) => state)).not.toContain("ready"); // Opening did not wait for them.
  await session.turn("Go.").result();
  expect(shownIn(model)).toEqual(["mcp__good__echo ok: echo: x"]);
  await session.turn("Again.").result();
  expect(await session.query(mcp, "status")).toMatchObject([
    { server: "mute", state: "connecting", tools: 0 },
    { server: "gone", state: expect.stringMatching(/down|connecting/), tools: 0, problem: { code: "mcp.start" } },
    { server: "good", state: "ready" },
  ]);
  // A process may take longer to start than `connectMs`, so its first line can come later.
  const printed = async () => (await session.query(mcp, "status"))[0]!.stderr;
  await expect.poll(printed, { timeout: 20_000 }).toContain("started mute");
  await runtime.close();
});

test("E2: a server can be taken away and given back while the runtime lives", async () => {
  const model = scripted(says("One."), says("Two."), says("Three."));
  await using opened = await open(model, { servers: { a: { url: shared.url } } });
  const { session } = opened;
  await session.turn("One.").result();
  await session.command(mcp, "detach", { server: "a" });
  await session.turn("Two.").result();
  await session.command(mcp, "attach", { server: "a" });
  await session.turn("Three.").result();
  expect(model.requests.map(({ tools }) => (tools ?? []).length > 0)).toEqual([true, false, true]);
  await expect(session.command(mcp, "detach", { server: "b" })).rejects.toThrow("There is no server b; there are a.");
});

test("E2: a session may be opened with fewer servers, which need only be named", async () => {
  const model = scripted(says("Done."), says("Done."));
  const servers = { a: { url: shared.url }, b: { url: shared.url } };
  await using opened = await open(model, { servers });
  for (const [id, chosen] of Object.entries({ small: { b: servers.b }, named: ["b"] })) {
    const session = await opened.runtime.session(id, { plugins: [mcp.options({ servers: chosen })] });
    await session.turn("Go.").result();
    expect(new Set(offered(model).map((name) => name.split("__")[1]))).toEqual(new Set(["b"]));
  }
});

test("E2: closing the runtime leaves no process, whatever its servers were at", async () => {
  const model = scripted(calls("mcp__a__spawn"), says("Done."));
  const { runtime, session } = await open(model, {
    servers: { a: fixture("stdio"), mute: { ...raw("mute"), connectMs: 100 }, stubborn: raw("stubborn") },
  });
  await session.turn("Go.").result();
  const grandchild = Number(/ok: (\d+)/.exec(shownIn(model)[0]!)?.[1]);
  const status = await session.query(mcp, "status");
  const pids = status.flatMap(({ pid }) => pid ?? []);
  expect(pids).toHaveLength(3);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const closed = runtime.close();
    await vi.advanceTimersByTimeAsync(4_500); // A plugin that takes longer than 5 s to close is given up.
    await closed;
  } finally {
    vi.useRealTimers();
  }
  await expect.poll(() => [...pids, grandchild].filter(isAlive)).toEqual([]);
});

test.each([
  [{ servers: { a__b: { command: "x" } } }, "servers.a__b must be named with 1 to 32 of"],
  [{ servers: { a: {} } }, "servers.a needs either a command or a url"],
  [{ servers: { a: { command: "x", url: "http://x" } } }, "servers.a needs either a command or a url"],
  [{ servers: { a: { url: "ftp://x" } } }, "servers.a.url must be an http or https URL"],
  [{ servers: { a: { url: "http://x", args: [] } } }, "servers.a.args is for a server with a command"],
  [{ servers: { a: { command: "x", args: [1] } } }, "servers.a.args must be a list of texts"],
  [{ servers: { a: { command: "x", idleMs: 0 } } }, "servers.a.idleMs must be a number above 0"],
  [{ servers: { a: { command: "x", comand: "y" } } }, "there is no field servers.a.comand; there are"],
  [{ servers: {}, availability: "maybe" }, "availability must be one of"],
  [{}, "servers must be an object"],
])("E2: wrong options are refused with their path: %j", (options, problem) => {
  const thrown = (() => {
    try {
      return mcp(options as McpOptions);
    } catch (error) {
      return error;
    }
  })();
  expect(hasCode(thrown, "plugin.options") && thrown.details.problem).toContain(problem);
});
