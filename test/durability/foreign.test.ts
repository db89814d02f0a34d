// Whose fault it is: a fault of the runtime's own store leaves the turn for a later try; one of a store that a plugin, a
// tool or a model uses for itself is an ordinary failure of theirs.
import { definePlugin, defineTool, RuntimeError, type Store, type ToolContext } from "bowline";
import type { HookName } from "bowline/plugin";
import type { Provider } from "bowline/provider";
import { sqlite } from "bowline/stores/sqlite";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { call, end, endInCalls, text } from "../kit/models.ts";
import { within, wordsOf } from "../kit/reading.ts";
import { around, file } from "../kit/stores.ts";
import { deployed, quickWorld } from "../kit/worlds.ts";

const onFile = (): Store => sqlite(file(), { durability: "process" });

/** Asks another store for what it cannot do; its error has a code that would pass if our store had thrown it. */
function otherStore(): () => Promise<never> {
  const other = onFile();
  const lease = { sessionId: "s", turnId: "t", generation: 1, revision: 0 } as unknown as Parameters<Store["renew"]>[0];
  return async () => {
    const renewed = await Promise.resolve(other.renew(lease, 0)).catch((error: unknown) => error);
    expect(renewed).toBeInstanceOf(RuntimeError);
    expect(renewed).toMatchObject({ code: "lease.lost" });
    throw renewed;
  };
}

/** Calls `work`, then answers. */
const model = (): Provider => ({
  id: "works",
  modelId: "test",
  async *stream({ messages }) {
    yield messages.at(-1)?.role === "tool" ? [text("Done."), end] : [call("work"), endInCalls];
  },
});

function worker(execute: () => unknown = () => "worked") {
  const did = { calls: 0 };
  const tool = defineTool({
    name: "work",
    description: "Works.",
    input: z.object({}),
    execute: () => {
      did.calls++;
      return execute();
    },
  });
  return { did, tool };
}

/** Fails each time it is called after the tool has returned, or at once in a turn that gets no further. */
const failing = (hook: HookName, fail: () => Promise<never>) =>
  definePlugin({ id: "a/other", setup: () => ({ [hook]: fail }) as object });

const ENDS: readonly (readonly [HookName, object])[] = [
  ["context", { kind: "failed", by: "plugin", code: "hook.failed" }],
  ["prompt", { kind: "failed", by: "plugin", code: "hook.failed" }],
  ["beforeTurn", { kind: "failed", by: "plugin", code: "hook.failed" }],
  ["request", { kind: "failed", by: "plugin", code: "hook.failed" }],
  ["stream", { kind: "failed", by: "plugin", code: "hook.failed" }],
  ["response", { kind: "failed", by: "plugin", code: "hook.failed" }],
  ["checkpoint", { kind: "failed", by: "plugin", code: "hook.failed" }],
  ["afterTurn", { kind: "failed", by: "plugin", code: "hook.failed" }],
  ["beforeToolCall", { kind: "answered", text: "Done." }],
  ["afterToolCall", { kind: "answered", text: "Done." }],
  ["projectResult", { kind: "answered", text: "Done." }],
  ["lifecycle", { kind: "answered", text: "Done." }],
];

describe("D2 a fault of another store", () => {
  test.each(ENDS)("in `%s` is the plugin's failure, and nothing runs twice", async (hook, ends) => {
    const { did, tool } = worker();
    const plugins = [failing(hook, otherStore())];
    const { runtime } = await deployed(onFile(), quickWorld(), { model: model(), tools: [tool], plugins });
    const result = await within((await runtime.session("s")).turn("Go.").result(), 4_000);
    expect(result.outcome).toMatchObject(ends);
    if (result.outcome.kind === "failed") expect(result.outcome.reason).toContain("a/other");
    expect(did.calls).toBeLessThanOrEqual(1);
    await runtime.close();
  });

  test("in a tool is the call's failure, and the turn continues", async () => {
    const { did, tool } = worker(otherStore());
    const { runtime } = await deployed(onFile(), quickWorld(), { model: model(), tools: [tool] });
    const session = await runtime.session("s");
    expect((await within(session.turn("Go.").result())).outcome).toMatchObject({ kind: "answered", text: "Done." });
    expect(JSON.stringify((await session.read()).messages)).toContain("taken over s ");
    expect(did.calls).toBe(1);
    await runtime.close();
  });

  test("in the choice of a model, or in the model, fails the turn once", async () => {
    const fail = otherStore();
    let asked = 0;
    const broken: Provider = {
      id: "broken",
      modelId: "test",
      // biome-ignore lint/correctness/useYield: it fails before it says anything
      async *stream() {
        asked++;
        await fail();
      },
    };
    const chooses = definePlugin({
      id: "a/chooses",
      setup: () => ({ request: ({ request }) => ({ ...request, model: "other/model" }) }),
    });
    const choosing = { model: model(), models: fail, plugins: [chooses] };
    for (const options of [{ model: broken }, choosing]) {
      const { runtime } = await deployed(onFile(), quickWorld(), options);
      const { outcome } = await within((await runtime.session("s")).turn("Go.").result());
      expect(outcome.kind).toBe("failed");
      expect(outcome).not.toMatchObject({ code: "turn.crash-loop" });
      await runtime.close();
    }
    expect(asked).toBe(1);
  });
});

test("D2 a fault of the runtime's own store that a hook meets leaves the turn for a moment; the finished call stands", async () => {
  let failures = 0;
  let isAsked = false;
  const fail = (act: () => unknown): unknown => {
    if (!isAsked || failures > 0) return act();
    failures++;
    throw new RuntimeError("store.locked", { path: "x", ms: 1 });
  };
  const reads = definePlugin({
    id: "a/reads",
    setup: () => ({
      checkpoint: async ({ session, sessionId }) => {
        isAsked = true;
        await session.snapshot(sessionId);
      },
    }),
  });
  const { did, tool } = worker();
  const { runtime } = await deployed(around(onFile(), { load: fail }), quickWorld(), {
    model: model(),
    tools: [tool],
    plugins: [reads],
  });
  const { outcome } = await within((await runtime.session("s")).turn("Go.").result(), 4_000);
  expect(failures).toBe(1);
  expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(did.calls).toBe(1);
  await runtime.close();
});

// ── Services in tools ───────────────────────────────────────────────────────────────────────────────────────────────

type Use = (context: ToolContext) => Promise<unknown>;
/** A method of the store, and a tool's call that needs it. */
const USES: readonly (readonly [method: string, use: Use])[] = [
  ["jobs.list", ({ jobs }) => jobs.list()],
  ["triggers.list", ({ triggers }) => triggers.list()],
  ["triggers.load", ({ triggers }) => triggers.get("nightly")],
  ["triggers.occurrences", ({ triggers }) => triggers.occurrences()],
];

/** A turn whose tool meets one fault of the runtime's store in `method`. */
async function metInTool(method: string, use: Use, onInterrupt: "rerun" | "fail") {
  let isArmed = false;
  let failures = 0;
  const store = around(onFile(), {
    [method]: (act) => {
      if (!isArmed || failures > 0) return act();
      failures++;
      throw new RuntimeError("store.locked", { path: "x", ms: 1 });
    },
  });
  const tool = defineTool({
    name: "work",
    description: "Works.",
    input: z.object({}),
    onInterrupt,
    execute: async (_, context) => {
      await use(context);
      return "worked";
    },
  });
  const { runtime } = await deployed(store, quickWorld(), { model: model(), tools: [tool] });
  const session = await runtime.session("s");
  await session.triggers.subscribe({ id: "nightly", on: { cron: "0 0 * * *" }, send: "Report." });
  isArmed = true;
  const { outcome } = await within(session.turn("Go.").result(), 4_000);
  const [result] = (await session.read()).messages.flatMap(({ parts }) =>
    parts.filter((part) => part.kind === "toolResult"),
  );
  await runtime.close();
  expect(failures).toBe(1);
  expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
  return result;
}

test.each(USES)(
  "D2 a fault of `%s` in a tool is not recorded as the tool's failure: the call runs again",
  async (method, use) => {
    expect(await metInTool(method, use, "rerun")).toMatchObject({ status: "ok" });
  },
);

test("D2 a tool that must not run again fails with the store's fault, and its result is not unknown", async () => {
  const result = await metInTool("triggers.list", ({ triggers }) => triggers.list(), "fail");
  expect(result).toMatchObject({ status: "failed", parts: [{ text: expect.stringContaining("store.locked") }] });
});

test("D2 J7 a call that runs again makes the same event and input, though the code of triggers was loaded meanwhile", async () => {
  let isFaulty = true;
  const store = around(onFile(), {
    "jobs.list": (act) => {
      if (!isFaulty) return act();
      isFaulty = false;
      throw new RuntimeError("store.locked", { path: "x", ms: 1 });
    },
  });
  let runs = 0;
  const tool = defineTool({
    name: "work",
    description: "Works.",
    input: z.object({}),
    execute: async (_, { triggers, sessions, jobs }) => {
      runs++;
      // Side by side: the first use of triggers waits until their code is loaded.
      await Promise.all([triggers.emit("acme.ping", runs), sessions.send("other", "Hello.")]);
      await jobs.list();
      return "worked";
    },
  });
  const events = definePlugin({ id: "acme/events", setup: () => ({ triggers: [{ name: "acme.ping" }] }) });
  const worksOnGo: Provider = {
    ...model(),
    async *stream(request, options) {
      if (request.messages.some((message) => wordsOf(message) === "Go.")) yield* model().stream(request, options);
      else yield [text("Hm."), end];
    },
  };
  const { runtime } = await deployed(store, quickWorld(), { model: worksOnGo, tools: [tool], plugins: [events] });
  const other = await runtime.session("other");
  const session = await runtime.session("s");
  await within(session.turn("Go.").result());
  expect(runs).toBe(2);
  expect(await runtime.triggers.occurrences()).toHaveLength(1);
  await within(other.turn("Last.").result()); // What was sent has had its turn before this one.
  expect((await other.read()).turns).toBe(2);
  await runtime.close();
});
