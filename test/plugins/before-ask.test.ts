// What hooks between a turn's opening and its model call may do: inject, and change the tools.
import { definePlugin } from "bowline";
import type { Protocol } from "bowline/protocol";
import type { Provider } from "bowline/provider";
import { calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { aborted } from "../kit/models.ts";
import { outline, within } from "../kit/reading.ts";
import { lifetimes, named, open, ping } from "../kit/worlds.ts";
import { toolsIn } from "../tools/obedient.ts";
import { toolLoop } from "../turn/drivers.ts";

type BeforeAsk = NonNullable<Protocol["protocolSession"]["beforeAsk"]>;

const never = new Promise<never>(() => {});

/** A model that says when it is asked, and does not answer. */
const silent = (asked: () => void): Provider => ({
  ...scripted(),
  async *stream(_, { signal }) {
    asked();
    await aborted(signal);
    yield* [];
  },
});

// ── Injecting ───────────────────────────────────────────────────────────────────────────────────────────────────────

const injects = (after: () => Promise<unknown> = async () => {}) =>
  definePlugin({
    id: "acme/injects",
    setup: () => ({
      prompt: async ({ sessions, sessionId }) => {
        await sessions.inject(sessionId, "Mind the gap.");
        await after();
        return undefined;
      },
    }),
  })();

const INJECTED = ["user: Go.", "calls ping", "ping ok: Pong.", "user: Mind the gap.", "assistant: Done."];

test("K18 a message that a prompt hook injects is taken at the next boundary, and the model reads it there", async () => {
  const model = scripted(calls("ping"), says("Done."));
  await using world = await open(model, { plugins: [injects()], tools: [ping] });
  await world.session.turn("Go.").result();
  const { messages } = await world.session.read();
  expect(outline(messages)).toEqual(INJECTED);
  expect(messages[3]?.origin).toMatchObject({ kind: "plugin", plugin: "acme/injects" });
  expect(model.requests.map((request) => outline(request.messages).includes("user: Mind the gap."))).toEqual([
    false,
    true,
  ]);
});

test.each(["before its prompt is recorded", "while its model is asked"] as const)(
  "K18 a turn that was killed %s takes what its prompt hook injected once",
  async (when) => {
    const processes = lifetimes();
    const begun = Promise.withResolvers<void>();
    const isEarly = when === "before its prompt is recorded";
    const stops = async () => {
      begun.resolve();
      await never;
    };
    const first = await processes.next({
      model: silent(begun.resolve),
      plugins: [injects(isEarly ? stops : undefined)],
      tools: [ping],
    });
    (await first.runtime.session("s")).turn("Go.");
    await within(begun.promise);
    processes.kill();
    const model = scripted(calls("ping"), says("Done."));
    const second = await processes.next({ model, plugins: [injects()], tools: [ping] });
    const session = await second.runtime.session("s");
    await within(second.runtime.recover());
    expect(outline((await session.read()).messages)).toEqual(INJECTED);
    expect(await session.inputs.list()).toEqual([]);
    await second.runtime.close();
  },
);

// ── Changing the tools ──────────────────────────────────────────────────────────────────────────────────────────────

const asks = (beforeAsk: BeforeAsk) =>
  definePlugin({
    id: "acme/asks",
    setup: () => ({
      protocolSession: { beforeAsk },
      protocolDriver: { driver: toolLoop, preamble: ({ tools }) => ({ tools, prompt: [] }) },
    }),
  })();
const TOOLS = [named("plain"), named("extra", undefined, { availability: "off" })];
/** Opens a tool before the first call, and closes another before the second. */
const opens: BeforeAsk = ({ round, membership }) => {
  if (round === 1) membership.set("extra", "callable");
  if (round === 2) membership.set("plain", "off");
};

test("P2 tools that beforeAsk opens and closes are so in that same call, and in later turns", async () => {
  const model = scripted(calls("extra"), calls("plain"), says("Done."), says("Again."));
  const seen: (readonly string[])[] = [];
  await using world = await open(model, {
    plugins: [
      asks((event) => {
        seen.push(toolsIn(event.request));
        return event.turnId === undefined ? undefined : opens(event);
      }),
    ],
    tools: TOOLS,
  });
  await world.session.turn("Go.").result();
  expect(model.requests.map(toolsIn)).toEqual([["plain", "extra"], ["extra"], ["extra"]]);
  expect(seen, "the request that it is shown has the tools of before").toEqual([
    ["plain"],
    ["plain", "extra"],
    ["extra"],
  ]);
  const results = outline((await world.session.read()).messages).filter((line) => / (ok|failed): /.test(line));
  expect(results[0]).toBe("extra ok: extra!");
  expect(results[1]).toContain("plain failed: Error (tool.unavailable)");
  expect((await world.session.tools.list()).map(({ name }) => name)).toEqual(["extra"]);
});

test.each([1, 2])(
  "P2 a turn that is killed in round %i resumes with the tools that beforeAsk has opened",
  async (round) => {
    const processes = lifetimes();
    const begun = Promise.withResolvers<void>();
    const said = scripted(calls("plain"));
    let asked = 0;
    const stuck: Provider = {
      ...said,
      stream: (request, options) => (++asked === round ? silent(begun.resolve) : said).stream(request, options),
    };
    const ran: number[] = [];
    const plugin = asks(({ round: now, membership }) => {
      ran.push(now);
      if (now === round) membership.set("extra", "callable");
    });
    const first = await processes.next({ model: stuck, plugins: [plugin], tools: TOOLS });
    (await first.runtime.session("s")).turn("Go.");
    await within(begun.promise);
    processes.kill();
    const before = [...ran];
    const model = scripted(calls("extra"), says("Done."));
    const second = await processes.next({ model, plugins: [plugin], tools: TOOLS });
    const session = await second.runtime.session("s");
    await within(second.runtime.recover());
    expect(model.requests.map(toolsIn)).toEqual([
      ["plain", "extra"],
      ["plain", "extra"],
    ]);
    expect(outline((await session.read()).messages)).toContain("extra ok: extra!");
    expect(ran.slice(before.length), "it is not asked again about a recorded round").toEqual([round + 1]);
    await second.runtime.close();
  },
);

test("P2 beforeAsk may change the tools and switch the frame at once: the fresh frame has the tools", async () => {
  const model = scripted(calls("extra"), says("Done."));
  const switches: BeforeAsk = ({ round, membership }) => {
    if (round > 1) return undefined;
    membership.set("extra", "callable");
    return { task: "Start over." };
  };
  await using world = await open(model, { plugins: [asks(switches)], tools: TOOLS });
  await world.session.turn("Go.").result();
  expect(model.requests.map(toolsIn)).toEqual([
    ["plain", "extra"],
    ["plain", "extra"],
  ]);
});

test("P2 what beforeAsk changes when it fails, or after its time, is not kept", async () => {
  let late: Parameters<BeforeAsk>[0]["membership"] | undefined;
  const model = scripted(says("Done."));
  let isBroken = true;
  const plugin = asks(({ membership }) => {
    if (isBroken) {
      membership.set("extra", "callable");
      throw new Error("No.");
    }
    late = membership;
    return undefined;
  });
  await using world = await open(model, { plugins: [plugin], tools: TOOLS });
  const { outcome } = await world.session.turn("Go.").result();
  expect(outcome).toMatchObject({ kind: "failed", code: "hook.failed" });
  isBroken = false;
  await world.session.turn("Again.").result();
  expect(model.requests.map(toolsIn)).toEqual([["plain"]]);
  expect(() => late!.set("extra", "callable")).toThrow(expect.objectContaining({ code: "state.parallel" }));
});

test("K18 tools that a prompt hook changes are so in that same call, also after a crash", async () => {
  const processes = lifetimes();
  const begun = Promise.withResolvers<void>();
  const plugin = definePlugin({
    id: "acme/prompts",
    setup: () => ({
      prompt: async ({ sessions, sessionId }) => {
        await sessions.tools(sessionId).set("extra", "callable");
        return { slot: "environment" as const, text: "It is late." };
      },
    }),
  })();
  const first = await processes.next({ model: silent(begun.resolve), plugins: [plugin], tools: TOOLS });
  (await first.runtime.session("s")).turn("Go.");
  await within(begun.promise);
  processes.kill();
  const model = scripted(calls("extra"), says("Done."));
  const second = await processes.next({ model, plugins: [plugin], tools: TOOLS });
  await second.runtime.session("s");
  await within(second.runtime.recover());
  expect(model.requests.map(toolsIn)).toEqual([
    ["plain", "extra"],
    ["plain", "extra"],
  ]);
  await second.runtime.close();
});

test("P2 a job that beforeAsk begins belongs to the turn: begun once, also after a crash, and not where beforeAsk fails", async () => {
  const processes = lifetimes();
  const begun = Promise.withResolvers<void>();
  let isBroken = true;
  const works = asks(async ({ jobs, round }) => {
    await jobs.register({ label: `round ${round}` });
    if (isBroken) throw new Error("No.");
  });
  const first = await processes.next({ model: silent(begun.resolve), plugins: [works], tools: TOOLS });
  const before = await first.runtime.session("s");
  await before.turn("Go.").result();
  expect(await before.jobs.list()).toEqual([]);
  isBroken = false;
  const turnId = await before.turn("Go.").id;
  await within(begun.promise);
  processes.kill();
  const model = scripted(calls("plain"), says("Done."));
  const second = await processes.next({ model, plugins: [works], tools: TOOLS });
  const session = await second.runtime.session("s");
  await within(second.runtime.recover());
  const jobs = await session.jobs.list();
  expect(jobs.map(({ label }) => label)).toEqual(["round 1", "round 2"]);
  expect(jobs.map(({ parent }) => parent)).toEqual([{ turnId }, { turnId }]);
  await second.runtime.close();
});

test("P2 a tool that beforeAsk closed and a later hook opens again is declared again", async () => {
  const plugin = asks(({ round, membership }) => {
    if (round === 2) membership.set("plain", "off");
  });
  const gate = definePlugin({
    id: "acme/gate",
    setup: () => ({
      beforeToolCall: ({ call, membership }) => {
        if (call.name === "plain") membership.set("extra", "callable");
        else membership.set("plain", null);
      },
    }),
  })();
  const model = scripted(calls("plain"), calls("extra"), says("Done."));
  await using world = await open(model, { plugins: [plugin, gate], tools: TOOLS });
  await world.session.turn("Go.").result();
  expect(model.requests.map(toolsIn)).toEqual([["plain"], ["extra"], ["plain", "extra"]]);
});
