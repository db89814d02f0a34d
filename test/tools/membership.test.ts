import { definePlugin, defineTool, type Session, type Tool } from "bowline";
import { type ModelRequest, replaceArgs, type Services, shortCircuit } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { both, calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { aborted, plays } from "../kit/models.ts";
import { outline, signalOf } from "../kit/reading.ts";
import { lives } from "../kit/stores.ts";
import { running } from "../kit/worlds.ts";

const made = (name: string, more: Partial<Tool> = {}): Tool => ({
  ...defineTool({
    name,
    description: `Does ${name}.`,
    input: z.object({}),
    execute: (_, { bindings }) => `${name} ${JSON.stringify(bindings)}`,
  }),
  ...more,
});
const ping = made("ping");
const found = made("found", { availability: "searchable" });
const tools = [ping, found];

type Membership = Services["membership"];
type Change = (membership: Membership) => void;
const opens: Change = (membership) => membership.set("found", "callable");

const told = ({ requests }: { readonly requests: readonly ModelRequest[] }): readonly (readonly string[])[] =>
  requests.map(({ tools: declared }) => declared.map(({ name }) => name));
const results = async (session: Session): Promise<readonly string[]> =>
  outline((await session.read()).messages).filter((line) => / (ok|failed|denied): /.test(line));

/** Changes the session's tools in one place, the first time it gets there. */
function changes(
  place: "beforeTurn" | "beforeToolCall" | "afterToolCall" | "tool" | "plain tool" | "none",
  change: Change,
) {
  let isDone = false;
  const once = ({ membership }: { readonly membership: Membership }): undefined => {
    if (isDone) return;
    isDone = true;
    change(membership);
  };
  return definePlugin({
    id: "a/changes",
    setup: ({ tool, command, task }) => ({
      ...(place === "beforeTurn" ? { beforeTurn: once } : {}),
      ...(place === "beforeToolCall" ? { beforeToolCall: once } : {}),
      ...(place === "afterToolCall" ? { afterToolCall: once } : {}),
      tools: [
        tool({
          name: "change",
          description: "Changes the tools.",
          input: z.object({}),
          writes: true,
          execute: (_, context) => {
            if (place === "tool") once(context);
            return "ok";
          },
        }),
        tool({
          name: "plain",
          description: "Tries to.",
          input: z.object({}),
          execute: (_, context) => {
            if (place === "plain tool") once(context);
            return "ok";
          },
        }),
      ],
      operations: {
        change: command({ run: ({ membership }) => change(membership) }),
        later: task({ run: ({ membership }) => change(membership) }),
      },
    }),
  });
}

// ── When it counts ──────────────────────────────────────────────────────────────────────────────────────────────────

test("a tool that beforeTurn opens is there in the first round, and in later turns", async () => {
  const model = scripted(calls("found"), says("1"), says("2"));
  await using runtime = await running({ model, tools, plugins: [changes("beforeTurn", opens)] });
  const session = await runtime.session();
  await session.turn("1").result();
  await session.turn("2").result();
  expect(told(model).map((names) => names.includes("found"))).toEqual([true, true, true]);
  expect(await results(session)).toEqual(["found ok: found {}"]);
});

test.each(["beforeToolCall", "afterToolCall", "tool"] as const)(
  "a tool that is opened in %s is there from the next round on, and no sooner",
  async (place) => {
    const model = scripted(both(calls("change"), calls("found")), calls("found"), says("1"), says("2"));
    await using runtime = await running({ model, tools, plugins: [changes(place, opens)] });
    const session = await runtime.session();
    await session.turn("1").result();
    await session.turn("2").result();
    expect(told(model).map((names) => names.includes("found"))).toEqual([false, true, true, true]);
    const [, early, then] = await results(session);
    expect(early).toContain("found failed: Error (tool.un"); // Unavailable, or unknown.
    expect(then).toBe("found ok: found {}");
  },
);

test.each(["command", "task"] as const)("a tool that a %s opens is there in the next turn", async (kind) => {
  const model = scripted(says("1"), calls("found"), says("2"));
  const plugin = changes("none", opens);
  await using runtime = await running({ model, tools, plugins: [plugin] });
  const session = await runtime.session();
  await session.turn("1").result();
  if (kind === "command") await session.command(plugin, "change");
  else await session.task(plugin, "later");
  await session.turn("2").result();
  expect(told(model).map((names) => names.includes("found"))).toEqual([false, true, true]);
  expect(await results(session)).toEqual(["found ok: found {}"]);
});

test("a tool that is switched off in a turn cannot be called in the next round, and the model reads the reason", async () => {
  const off: Change = (membership) => membership.set(["ping", "plain"], "off");
  const model = scripted(both(calls("change"), calls("ping")), calls("ping"), says("1"));
  await using runtime = await running({ model, tools, plugins: [changes("tool", off)] });
  const session = await runtime.session();
  await session.turn("1").result();
  expect(told(model)).toEqual([["ping", "change", "plain"], ["change"], ["change"]]);
  const [, now, then] = await results(session);
  expect(now).toBe("ping ok: ping {}");
  expect(then).toContain("ping failed: Error (tool.unavailable)");
});

test("a tool that is documented is described in the prompt, from the next round on", async () => {
  const documents: Change = (membership) => membership.set("ping", "documented");
  const model = scripted(calls("change"), says("1"));
  await using runtime = await running({ model, tools, plugins: [changes("tool", documents)] });
  await (await runtime.session()).turn("1").result();
  expect(model.requests.map(({ system }) => system.includes("Does ping."))).toEqual([false, true]);
});

test.each(["before", "after"])(
  "a call of a tool that can only be found returns that fact, %s anything was chosen in the session",
  async (when) => {
    const model = scripted(calls("found"), says("1"));
    await using runtime = await running({ model, tools });
    const session = await runtime.session();
    if (when === "after") await session.tools.set("ping", "callable");
    await session.turn("1").result();
    expect((await results(session))[0]).toContain("found failed: Error (tool.unavailable)");
  },
);

test("a turn that has no change prepares once: setting the same tools to their current state makes no new catalog", async () => {
  const model = scripted(calls("change"), says("1"));
  const same: Change = (membership) => membership.set("ping", "callable");
  await using runtime = await running({ model, tools, plugins: [changes("tool", same)] });
  await (await runtime.session()).turn("1").result();
  expect(told(model)[1]).toEqual(told(model)[0]);
  expect(model.requests[1]?.system).toBe(model.requests[0]?.system);
});

// ── Grants ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const grants: Change = (membership) =>
  membership.grant("secret", { source: "app", tool: "found", bindings: { room: 7 } });

test.each(["beforeTurn", "tool", "afterToolCall"] as const)(
  "a grant in %s lets the model call a tool under another name, with its bindings, though nothing shows it",
  async (place) => {
    const model = scripted(calls("change"), calls("secret"), calls("found"), says("1"), calls("secret"), says("2"));
    await using runtime = await running({ model, tools, plugins: [changes(place, grants)] });
    const session = await runtime.session();
    await session.turn("1").result();
    await session.turn("2").result();
    expect(told(model).flat()).not.toContain("secret");
    const [, first, plain, second] = await results(session);
    expect([first, second]).toEqual(Array(2).fill('secret ok: found {"room":7}'));
    expect(plain).toContain("found failed");
  },
);

test("a grant reaches a tool that is for the runtime only, and one that is taken back reaches nothing", async () => {
  const inner = made("inner", { audience: "runtime", bindings: { of: "tool" } });
  const plugin = definePlugin({
    id: "a/grants",
    setup: ({ command }) => ({
      operations: {
        grant: command({
          run: ({ membership }) =>
            membership.grant("mine", { source: "app", tool: "inner", bindings: { by: "grant" } }),
        }),
        revoke: command({ run: ({ membership }) => membership.revoke("mine") }),
      },
    }),
  });
  const model = scripted(calls("mine"), says("1"), calls("mine"), says("2"), calls("mine"), says("3"));
  await using runtime = await running({ model, tools: [inner], plugins: [plugin] });
  const session = await runtime.session();
  await session.turn("1").result();
  await session.command(plugin, "grant");
  await session.turn("2").result();
  await session.command(plugin, "revoke");
  await session.turn("3").result();
  const [before, during, after] = await results(session);
  expect(during).toBe('mine ok: inner {"of":"tool","by":"grant"}');
  for (const line of [before, after]) expect(line).toContain("mine failed: Error (tool.unknown)");
});

test.each<readonly [string, Change, string]>([
  ["a tool that is not there", (membership) => membership.set("nobody", "callable"), "nobody"],
  ["one of several that is not there", (membership) => membership.set(["ping", "nobody"], "off"), "nobody"],
  ["an availability that there is none", (membership) => membership.set("ping", "loud" as "off"), "availability"],
  [
    "a grant of a source that is not there",
    (membership) => membership.grant("x", { source: "b/none", tool: "ping" }),
    "b/none",
  ],
  [
    "a grant of a tool that is not there",
    (membership) => membership.grant("x", { source: "app", tool: "no" }),
    "app/no",
  ],
  ["a grant with a bad name", (membership) => membership.grant("a b", { source: "app", tool: "ping" }), "name"],
  ["a grant that is nothing", (membership) => membership.grant("x", undefined as never), "grant"],
])("%s is refused where it is asked for, and nothing changes", async (_, change, words) => {
  const model = scripted(says("1"));
  const plugin = changes("none", change);
  await using runtime = await running({ model, tools, plugins: [plugin] });
  const session = await runtime.session();
  await expect(session.command(plugin, "change")).rejects.toThrow(words);
  await session.turn("1").result();
  expect(told(model)[0]).toEqual(["ping", "change", "plain"]);
});

test("what beforeTurn cannot change fails the turn by the plugin that tried, by name", async () => {
  const plugin = changes("beforeTurn", (membership) => membership.set("nobody", "callable"));
  await using runtime = await running({ model: scripted(says("2")), tools, plugins: [plugin] });
  const session = await runtime.session();
  const { outcome } = await session.turn("1").result();
  expect(outcome).toMatchObject({ kind: "failed", by: "plugin", reason: expect.stringContaining("a/changes") });
  expect((await session.turn("2").result()).outcome.kind).toBe("answered");
});

// ── Where it may not ────────────────────────────────────────────────────────────────────────────────────────────────

test.each<readonly [string, Change]>([
  ["set", opens],
  ["grant", grants],
  ["revoke", (membership) => membership.revoke("secret")],
])(
  "a tool that does not declare that it writes is refused membership.%s, and the model reads it",
  async (_, change) => {
    const model = scripted(calls("plain"), says("1"));
    await using runtime = await running({ model, tools, plugins: [changes("plain tool", change)] });
    const session = await runtime.session();
    await session.turn("1").result();
    expect(await results(session)).toEqual([expect.stringContaining("plain failed: Error (state.parallel)")]);
    expect(told(model)[1]).toEqual(told(model)[0]);
  },
);

test("places that read are given no membership at all", async () => {
  const seen: { [place: string]: boolean } = {};
  const look = (place: string) => (event: object) => {
    seen[place] = "membership" in event;
    return undefined;
  };
  const plugin = definePlugin({
    id: "a/looks",
    setup: ({ query }) => ({
      context: look("context"),
      prompt: look("prompt"),
      toolCatalog: look("toolCatalog"),
      request: look("request"),
      stream: look("stream"),
      response: look("response"),
      checkpoint: look("checkpoint"),
      afterTurn: look("afterTurn"),
      lifecycle: look("lifecycle"),
      operations: { q: query({ run: look("query") }) },
    }),
  });
  await using runtime = await running({ plugins: [plugin] });
  const session = await runtime.session();
  await session.turn("1").result();
  await session.query(plugin, "q");
  expect(Object.keys(seen)).toHaveLength(10);
  expect(Object.values(seen)).toEqual(Array(10).fill(false));
});

test("an operation that is called without a session changes no session's tools", async () => {
  const plugin = definePlugin({
    id: "a/without",
    setup: ({ command }) => ({
      operations: { change: command({ session: "optional", run: ({ membership }) => opens(membership) }) },
    }),
  });
  const model = scripted(says("1"));
  await using runtime = await running({ model, tools, plugins: [plugin] });
  const session = await runtime.session();
  const refused = await session.command(plugin, "change", undefined, { session: null }).then(
    () => undefined,
    (error: unknown) => error,
  );
  await session.turn("1").result();
  expect(told(model)).toEqual([["ping"]]);
  expect(refused).toMatchObject({ code: "operation.missing-session" });
});

test("a handler that missed its deadline can change nothing any more, though its effect runs on", async () => {
  const { promise: tried, resolve: done } = Promise.withResolvers<unknown>();
  const slow = definePlugin({
    id: "a/slow",
    setup: () => ({
      beforeToolCall: {
        deadlineMs: 5,
        run: ({ membership, signal }) =>
          new Promise<undefined>(() =>
            signal.addEventListener("abort", () => {
              try {
                done(opens(membership));
              } catch (error) {
                done(error);
              }
            }),
          ),
      },
    }),
  });
  const waits = definePlugin({
    id: "b/waits",
    setup: () => ({ beforeToolCall: () => tried.then(() => shortCircuit("ok")) }),
  });
  const model = scripted(calls("ping"), says("1"));
  await using runtime = await running({ model, tools, plugins: [slow, waits] });
  await (await runtime.session()).turn("1").result();
  expect(told(model)).toEqual([["ping"], ["ping"]]);
  expect(await tried).toMatchObject({ code: "state.parallel" });
});

test("a service that is kept for later is closed with its effect", async () => {
  let kept: Membership | undefined;
  const plugin = definePlugin({
    id: "a/keeps",
    setup: () => ({
      beforeTurn: ({ membership }) => {
        kept ??= membership;
      },
    }),
  });
  const model = scripted(says("1"), says("2"));
  await using runtime = await running({ model, tools, plugins: [plugin] });
  const session = await runtime.session();
  await session.turn("1").result();
  expect(() => opens(kept as Membership)).toThrow(expect.objectContaining({ code: "state.parallel" }));
  await session.turn("2").result();
  expect(told(model)).toEqual([["ping"], ["ping"]]);
});

// ── Beside other calls ──────────────────────────────────────────────────────────────────────────────────────────────

const sets = definePlugin({
  id: "a/sets",
  state: z.object({ n: z.number().default(0) }),
  setup: ({ tool, query }) => ({
    tools: [
      tool({
        name: "set",
        description: "Sets one.",
        input: z.object({ name: z.string(), to: z.enum(["callable", "off"]), fails: z.boolean().default(false) }),
        writes: true,
        execute: async ({ name, to, fails }, { membership, state }) => {
          membership.set(name, to);
          state.update(({ n }) => ({ n: n + 1 }));
          await undefined;
          if (fails) throw new Error("Ouch.");
          return "ok";
        },
      }),
    ],
    operations: { n: query({ run: ({ state }) => state.get().n }) },
  }),
});

test("calls of one reply that each change the tools are all counted, beside others that run meanwhile", async () => {
  const many = ["a", "b", "c"].map((name) => made(name, { availability: "searchable" }));
  const set = (name: string) => calls("set", { name, to: "callable" });
  const model = scripted(both(set("a"), calls("ping"), set("b"), calls("ping"), set("c")), says("1"));
  await using runtime = await running({ model, tools: [ping, ...many], plugins: [sets] });
  const session = await runtime.session();
  await session.turn("1").result();
  expect(told(model)[1]).toEqual(["ping", "a", "b", "c", "set"]);
  expect(await session.query(sets, "n")).toBe(3);
});

test("of two changes of one tool the later call counts; what a failing call changed does not", async () => {
  const model = scripted(
    both(
      calls("set", { name: "found", to: "callable" }),
      calls("set", { name: "ping", to: "off" }),
      calls("set", { name: "ping", to: "callable" }),
      calls("set", { name: "found", to: "off", fails: true }),
    ),
    says("1"),
  );
  await using runtime = await running({ model, tools, plugins: [sets] });
  const session = await runtime.session();
  await session.turn("1").result();
  expect(told(model)[1]).toEqual(["ping", "found", "set"]);
  expect(await session.query(sets, "n")).toBe(3);
});

test("a second look at a call changes nothing: what counts is what was said the first time", async () => {
  let looks = 0;
  const looksTwice = definePlugin({
    id: "a/looks",
    setup: () => ({
      beforeToolCall: ({ membership }) => membership.set(++looks === 1 ? "found" : "other", "callable"),
    }),
  });
  const replaces = definePlugin({ id: "b/replaces", setup: () => ({ beforeToolCall: () => replaceArgs({}) }) });
  const other = made("other", { availability: "searchable" });
  const model = scripted(calls("ping"), says("1"));
  await using runtime = await running({ model, tools: [...tools, other], plugins: [looksTwice, replaces] });
  await (await runtime.session()).turn("1").result();
  expect(looks).toBe(2);
  expect(told(model)[1]).toEqual(["ping", "found"]);
});

test("what a turn changed before it failed is kept, as any state is; what the failing effect changed is not", async () => {
  let round = 0;
  const fails = definePlugin({
    id: "b/fails",
    setup: () => ({
      checkpoint: () => {
        if (++round === 1) throw new Error("Ouch.");
      },
    }),
  });
  const model = scripted(calls("set", { name: "found", to: "callable" }), says("2"));
  await using runtime = await running({ model, tools, plugins: [sets, fails] });
  const session = await runtime.session();
  expect((await session.turn("1").result()).outcome.kind).toBe("failed");
  await session.turn("2").result();
  expect(told(model)[1]).toEqual(["ping", "found", "set"]);
});

// ── What is kept ────────────────────────────────────────────────────────────────────────────────────────────────────

test("changes are the session's: after a restart and in a fork they stand, in other sessions they do not", async () => {
  const store = memory();
  const plugin = changes("none", (membership) => {
    opens(membership);
    grants(membership);
  });
  const first = await running({ store, tools, plugins: [plugin] });
  await (await first.session("s")).command(plugin, "change");
  const model = scripted(calls("secret"), says("1"), says("2"), says("3"));
  await using second = await running({ store, model, tools, plugins: [plugin] });
  const session = await second.session("s");
  const fork = await session.fork();
  await session.configure({ model: "scripted/test" });
  await fork.configure({ model: "scripted/test" });
  await session.turn("1").result();
  await fork.turn("2").result();
  await (await second.session("other")).turn("3").result();
  expect(told(model).map((names) => names.includes("found"))).toEqual([true, true, true, false]);
  expect(await results(session)).toEqual(['secret ok: found {"room":7}']);
});

test("a turn that another process resumes has the tools it had come to, and calls them", async () => {
  const { next, kill } = lives(memory());
  const began = signalOf();
  const model = plays(
    async function* () {
      yield* calls("set", { name: "found", to: "callable" });
    },
    // biome-ignore lint/correctness/useYield: it never says anything
    async function* (_, signal) {
      began.resolve();
      await aborted(signal);
    },
  );
  const first = await running({ store: next(), model, tools, plugins: [sets] });
  (await first.session("s"))
    .turn("Go.", { key: "k" })
    .result()
    .catch(() => {});
  await began.promise;
  kill();
  const again = scripted(calls("found"), says("Done."));
  const second = await running({ store: next(), model: { ...again, id: "played" }, tools, plugins: [sets] });
  const session = await second.session("s");
  await session.turn("Go.", { key: "k" }).result();
  expect(told(again)).toEqual(Array(2).fill(["ping", "found", "set"]));
  expect(await results(session)).toEqual(["set ok: ok", "found ok: found {}"]);
});

test("a tool may come and go several times in one turn: each round has those of the round before, as changed", async () => {
  const model = scripted(
    calls("set", { name: "found", to: "callable" }),
    calls("found"),
    calls("set", { name: "found", to: "off" }),
    calls("found"),
    says("1"),
  );
  await using runtime = await running({ model, tools, plugins: [sets] });
  const session = await runtime.session();
  await session.turn("1").result();
  expect(told(model).map((names) => names.includes("found"))).toEqual([false, true, true, false, false]);
});

const MEGABYTE = 1_048_576;

test("choices have a separate limit: too many are refused, typed, and the earlier choices stay", async () => {
  const plugin = definePlugin({
    id: "a/many",
    setup: ({ command }) => ({
      operations: {
        grant: command({
          input: z.object({ name: z.string(), bytes: z.number() }),
          run: ({ input: { name, bytes }, membership }) =>
            membership.grant(name, { source: "app", tool: "ping", bindings: { of: "x".repeat(bytes) } }),
        }),
      },
    }),
  });
  const model = scripted(both(calls("small"), calls("big")), says("1"));
  await using runtime = await running({ model, tools, plugins: [plugin], limits: { stateBytesMax: 1_000 } });
  const session = await runtime.session();
  await session.command(plugin, "grant", { name: "small", bytes: 10_000 });
  await expect(session.command(plugin, "grant", { name: "big", bytes: MEGABYTE })).rejects.toMatchObject({
    code: "state.too-large",
  });
  await session.turn("1").result();
  const [small, big] = await results(session);
  expect(small).toContain("small ok");
  expect(big).toContain("tool.unknown");
});

test("a thousand tools of long names can be chosen, whatever a plugin's state may hold", async () => {
  const many = Array.from({ length: 1_000 }, (_, n) =>
    made(`tool_${n}_${"x".repeat(40)}`, { availability: "searchable" }),
  );
  const plugin = changes("beforeTurn", (membership) =>
    membership.set(
      many.map(({ name }) => name),
      "callable",
    ),
  );
  const model = scripted(says("1"));
  await using runtime = await running({ model, tools: many, plugins: [plugin], limits: { stateBytesMax: 1_000 } });
  expect((await (await runtime.session()).turn("1").result()).outcome.kind).toBe("answered");
  expect(told(model)[0]).toHaveLength(1_002);
});

test("a turn that runs into that limit names the plugin that asked", async () => {
  const big: Change = (membership) =>
    membership.grant("big", { source: "app", tool: "ping", bindings: { of: "x".repeat(MEGABYTE) } });
  const plugin = changes("beforeTurn", big);
  await using runtime = await running({ model: scripted(), tools, plugins: [plugin] });
  const { outcome } = await (await runtime.session()).turn("1").result();
  expect(outcome).toMatchObject({ kind: "failed", by: "plugin" });
  expect(outcome).toMatchObject({ reason: expect.stringContaining("a/changes") });
});

// ── Permissions ─────────────────────────────────────────────────────────────────────────────────────────────────────

test.each<readonly [string, object]>([
  ["tools hidden from it", { hiddenTools: ["found"] }],
  ["other tools only", { toolAccess: ["ping", "change"] }],
])("a child with %s gets them neither by a choice nor by a grant", async (_, permissions) => {
  const plugin = changes("beforeTurn", (membership) => {
    for (const change of [opens, grants])
      try {
        change(membership);
      } catch (error) {
        expect(error).toMatchObject({ code: "tool.unknown" }); // To be refused is as good.
      }
  });
  const makes = definePlugin({
    id: "b/makes",
    setup: ({ command }) => ({
      operations: { child: command({ run: ({ sessions }) => sessions.create({ kind: "child", permissions }) }) },
    }),
  });
  const model = scripted(both(calls("found"), calls("secret")), says("1"));
  await using runtime = await running({ model, tools, plugins: [plugin, makes] });
  const { output } = await (await runtime.session()).command(makes, "child");
  const child = await runtime.session(output.id);
  await child.turn("1").result();
  expect(told(model).flat()).not.toContain("found");
  expect((await results(child)).map((line) => line.includes("failed"))).toEqual([true, true]);
});
