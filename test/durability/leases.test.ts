import {
  createRuntime as create,
  definePlugin,
  type Runtime,
  RuntimeError,
  type RuntimeOptions,
  type Store,
} from "bowline";
import { ask } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { calls, says } from "bowline/testing";
import { expect, test } from "vitest";
import { LEASE_MS } from "../../src/stores/store.ts";
import { echo } from "../kit/models.ts";
import { outline, passed, seen, signalOf, within } from "../kit/reading.ts";
import { durable, file, over } from "../kit/stores.ts";
import { answerWait, deployed, HOUR, quickWorld } from "../kit/worlds.ts";
import { load } from "./recorded.ts";
import { journalOf, scenarioOf, upTo } from "./resume.ts";
import { counter, type Did, inTurn, model, nothing, tool } from "./witness.ts";

/** Connections to one file, each of a process of its own. */
const connections = (): (() => Store) => {
  const path = file();
  return () => sqlite(path, { durability: "process" });
};

/** In the real world, with its own clock; it does nothing by itself. */
const createRuntime = (store: Store, options: object): Promise<Runtime> =>
  create({ recover: "manual", ...options, store } as unknown as RuntimeOptions);

/** Calls `search`, which waits for `gate` when there is one, then answers. */
const searching = (did: Did, gate?: Promise<unknown>, began?: () => void): Parameters<typeof deployed>[2] => ({
  model: model(did, ({ messages }) =>
    messages.at(-1)?.role === "tool" ? says("Found.") : calls("search", {}, `call_${messages.length}`),
  ),
  tools: [
    tool(did, "search", async () => {
      began?.();
      await gate;
      return "Nine.";
    }),
  ],
});

// ── Beside each other ───────────────────────────────────────────────────────────────────────────────────────────────

test("D2 I3 two runtimes on one file: the second one's turn is accepted and waits, and both handles get their results", async () => {
  const open = connections();
  const [gate, began] = [signalOf(), signalOf()];
  const [here, there] = [nothing(), nothing()];
  const one = await createRuntime(open(), searching(here, gate.promise, began.resolve));
  const two = await createRuntime(open(), searching(there));
  const first = (await one.session("s")).turn("One.");
  await began.promise;
  const second = (await two.session("s")).turn("Two.");
  await second.id;
  await passed(300);
  expect(there.calls).toEqual([]);
  gate.resolve();
  const results = await within(Promise.all([first.result(), second.result()]), 4_000);
  expect(results.map(({ outcome }) => outcome.kind)).toEqual(["answered", "answered"]);
  const { messages, turns } = await (await two.session("s")).read();
  expect(turns).toBe(2);
  expect(outline(messages).filter((line) => line.startsWith("user"))).toEqual(["user: One.", "user: Two."]);
  expect(here.calls.length + there.calls.length).toBe(2);
  await Promise.all([one.close(), two.close()]);
});

test("D2 I2 the same key sent through two runtimes is one turn, and both handles are given its result", async () => {
  const open = connections();
  const did = nothing();
  const one = await createRuntime(open(), searching(did));
  const two = await createRuntime(open(), searching(did));
  const [a, b] = [await one.session("s"), await two.session("s")];
  const [first, second] = await within(
    Promise.all([a.turn("Go.", { key: "k" }).result(), b.turn("Go.", { key: "k" }).result()]),
    4_000,
  );
  expect(second).toEqual(first);
  expect(did.calls).toHaveLength(1);
  expect((await a.read()).turns).toBe(1);
  await Promise.all([one.close(), two.close()]);
});

test("D2 I10 a cancel sent through another runtime arrives within a second, also while nothing finishes", async () => {
  const open = connections();
  const began = signalOf();
  const one = await createRuntime(open(), {
    ...searching(nothing(), new Promise(() => {}), began.resolve),
    limits: { cancelGraceMs: 50 },
  });
  const two = await createRuntime(open(), searching(nothing()));
  const turn = (await one.session("s")).turn("Go.");
  await began.promise;
  const id = await turn.id;
  const started = performance.now();
  expect(await (await two.session("s")).cancel(id, { reason: "Enough." })).toMatchObject({ kind: "requested" });
  const { outcome } = await within(turn.result(), 2_000);
  expect(outcome).toMatchObject({ kind: "stopped", by: "cancel" });
  expect(performance.now() - started).toBeLessThan(1_200);
  expect(await (await two.session("s")).cancel(id)).toMatchObject({ kind: "already-completed" });
  await Promise.all([one.close(), two.close()]);
});

test("D2 H7 an input sent through another runtime in the middle of a turn is taken at its boundary", async () => {
  const open = connections();
  const [gate, began] = [signalOf(), signalOf()];
  const one = await createRuntime(open(), searching(nothing(), gate.promise, began.resolve));
  const two = await createRuntime(open(), searching(nothing()));
  const turn = (await one.session("s")).turn("One.");
  await began.promise;
  const other = await two.session("s");
  await other.send("And another thing.");
  gate.resolve();
  await within(turn.result(), 3_000);
  const { messages, turns } = await other.read();
  expect(turns).toBe(1);
  expect(outline(messages)).toEqual([
    "user: One.",
    "calls search",
    "search ok: Nine.",
    "user: And another thing.",
    "calls search",
    "search ok: Nine.",
    "assistant: Found.",
  ]);
  await Promise.all([one.close(), two.close()]);
});

// ── After each other ────────────────────────────────────────────────────────────────────────────────────────────────

test.each([
  ["memory", memory],
  ["sqlite", () => sqlite(":memory:", { durability: "process" })],
] as const)(
  "D2 H8 on %s a lease that lapsed under a live worker is taken over: the loser's late writes change nothing, both handles are given one result",
  async (_, make) => {
    const store = durable(make());
    const [gate, began] = [signalOf(), signalOf()];
    const [slow, quick] = [nothing(), nothing()];
    const one = await deployed(store, quickWorld({ name: "one" }), searching(slow, gate.promise, began.resolve));
    const first = (await one.runtime.session("s")).turn("Go.", { key: "k" });
    await began.promise;
    const id = await first.id;
    const late = quickWorld({ now: quickWorld().now() + HOUR, name: "two" });
    const two = await deployed(store, late, searching(quick));
    const second = (await two.runtime.session("s")).turn("Go.", { key: "k" });
    const result = await within(second.result(), 3_000);
    expect(result.outcome).toMatchObject({ kind: "answered", text: "Found." });
    expect(quick.calls).toEqual(slow.calls); // In flight: it may run twice, under the same key.
    expect(quick.asks).toHaveLength(1); // On record: it does not.
    gate.resolve(); // The first one comes back late.
    expect(await within(first.result(), 3_000)).toMatchObject({ turnId: id, outcome: result.outcome });
    expect(slow.asks).toHaveLength(1);
    const stored = (await store.load("s" as never))!;
    expect(stored.turns).toBe(1);
    const [segment] = await store.view("s" as never);
    expect(segment?.entries).toHaveLength(4);
    // And neither of the two is confused about what the session is now.
    for (const { runtime } of [one, two])
      expect((await within((await runtime.session("s")).turn("More.").result(), 3_000)).outcome.kind).toBe("answered");
    expect((await store.load("s" as never))!.turns).toBe(3);
  },
);

test("D2 H3 rule 8: a worker that is held up while it reads a turn back, for longer than its lease holds, starts nothing that another has done", async () => {
  const recorded = journalOf("ten-tools");
  const store = durable(memory());
  await load(store, recorded, { cut: upTo(recorded, "replied", "r3.ask") });
  const held = signalOf();
  let isHeld = false;
  const slow = over(store, {
    blobs: {
      ...store.blobs,
      get: async (hash) => {
        isHeld = true;
        const data = await store.blobs.get(hash);
        await held.promise;
        return data;
      },
    },
  });
  const scenario = scenarioOf("ten-tools");
  const now = recorded.events.at(-1)!.at;
  const [late, quick] = [nothing(), nothing()];
  const world = quickWorld({ now, name: "one" });
  // Its catalog is another one today, so that what was declared is read back.
  const options = {
    ...scenario.options(late, undefined),
    tools: [...scenario.options(late, undefined).tools!, tool(late, "newer")],
  };
  const one = await deployed(slow, world, options);
  void (await one.runtime.session(recorded.input.sessionId))
    .turn("How many kinds of tigers?", { key: "k" })
    .result()
    .catch(() => {});
  while (!isHeld) await passed(1);
  const two = await deployed(store, quickWorld({ now: now + HOUR, name: "two" }), scenario.options(quick, undefined));
  await within(two.runtime.recover());
  expect((await store.terminal(recorded.input.turnId))?.outcome.kind).toBe("answered");
  world.pass(HOUR); // The stopped process goes on, and its clock has jumped.
  held.resolve();
  await passed(20);
  expect(late).toEqual(nothing());
});

test("D2 a turn accepted here and left here is finished by another runtime, and its handle here is given the result", async () => {
  const store = durable(memory());
  const began = signalOf();
  const one = await deployed(
    store,
    quickWorld({ name: "one" }),
    searching(nothing(), new Promise(() => {}), began.resolve),
  );
  const first = (await one.runtime.session("s")).turn("Go.");
  await began.promise;
  const two = await deployed(store, quickWorld({ now: quickWorld().now() + HOUR, name: "two" }), searching(nothing()));
  await within(two.runtime.recover());
  expect((await within(first.result(), 3_000)).outcome).toMatchObject({ kind: "answered" });
});

test("D2 H1 closing a runtime in the middle of a turn leaves it to another: nothing is lost, nothing on record is done again", async () => {
  const store = durable(memory());
  const world = quickWorld({ name: "one" });
  const one = nothing();
  const third = signalOf();
  const options = (did: Did, gate?: Promise<never>) => ({
    model: model(did, inTurn(calls("a"), calls("b"), calls("c"), says("Done."))),
    plugins: [counter],
    tools: [
      tool(did, "a"),
      tool(did, "b"),
      tool(did, "c", () => {
        third.resolve();
        return gate ?? "c!";
      }),
    ],
  });
  const first = await deployed(store, world, options(one, new Promise<never>(() => {})));
  const turn = (await first.runtime.session("s")).turn("Go.");
  await third.promise;
  const id = await turn.id;
  const result = expect(turn.result()).rejects.toMatchObject({ code: "runtime.closed" });
  await within(first.runtime.close(), 3_000);
  await result;
  expect((await store.agenda(world.now(), 10)).sessions).toEqual(["s"]); // At once: no lease is in the way.
  const two = nothing();
  const next = await deployed(store, quickWorld({ now: world.now(), name: "two" }), options(two));
  expect(await within(next.runtime.recover())).toEqual({ sessions: 1 });
  expect((await store.terminal(id))?.outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(two.calls.map((call) => call.split("#")[0])).toEqual(["c"]);
  expect(two.asks).toHaveLength(1);
  const session = await next.runtime.session("s");
  expect(await session.query(counter, "counts")).toEqual({ before: 3, after: 3, ends: 1 });
});

// ── Recovery ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A store in which some sessions have a turn that was left, and some have inputs that wait. */
async function leftBehind(): Promise<Store> {
  const store = durable(memory());
  const world = quickWorld({ name: "gone" });
  const began: string[] = [];
  const gone = await deployed(store, world, {
    model: {
      id: "stateless",
      modelId: "test",
      async *stream({ messages }) {
        began.push(outline(messages).at(-1) ?? "");
        await new Promise(() => {});
        yield { kind: "text", delta: "Never." } as const;
      },
    },
  });
  for (const id of ["a", "b", "c"]) {
    const session = await gone.runtime.session(id);
    void session
      .turn(`Left in ${id}.`)
      .result()
      .catch(() => {});
    await session.send(`Waits in ${id}.`, { at: "next-turn" });
  }
  while (began.length < 3) await passed(1);
  await within(gone.runtime.close(), 3_000);
  return store;
}

const repeats = (did: Did): Parameters<typeof deployed>[2] => ({
  model: model(did, ({ messages }) => says(`re: ${outline(messages).at(-1)}`)),
});

const turnsOf = async (store: Store): Promise<readonly number[]> => (await store.list()).map(({ turns }) => turns);

test("D2 recover() resumes orphaned turns and runs waiting inputs in every session, and resolves when that is done", async () => {
  const store = await leftBehind();
  const did = nothing();
  const { runtime } = await deployed(store, quickWorld({ now: quickWorld().now() + HOUR, name: "now" }), repeats(did));
  expect(await within(runtime.recover(), 3_000)).toEqual({ sessions: 3 });
  expect(await turnsOf(store)).toEqual([2, 2, 2]);
  expect(await within(runtime.recover(), 3_000)).toEqual({ sessions: 0 });
  expect(did.asks).toHaveLength(6);
});

test("D2 recover() answers when that is done also for a session that is open here", async () => {
  const store = await leftBehind();
  const did = nothing();
  const first = await deployed(store, quickWorld({ name: "early" }), repeats(did));
  for (const id of ["a", "b", "c"]) await first.runtime.session(id); // Taken up by being opened, if nobody holds them.
  await within(first.runtime.recover(), 3_000);
  expect(await turnsOf(store)).toEqual([2, 2, 2]);
});

test("D2 recover() answers when what it took up is done: of a session that was opened while another still had it", async () => {
  const store = durable(memory());
  const [gate, began] = [signalOf(), signalOf()];
  const one = await deployed(store, quickWorld({ name: "one" }), searching(nothing(), gate.promise, began.resolve));
  const turn = (await one.runtime.session("s")).turn("Go.");
  await began.promise;
  const world = quickWorld({ name: "two" });
  const two = await deployed(store, world, searching(nothing()));
  await two.runtime.session("s"); // Busy: it is left to the one who has it.
  void turn.result().catch(() => {});
  await within(one.runtime.close(), 3_000);
  await within(two.runtime.recover(), 3_000);
  expect((await store.terminal(await turn.id))?.outcome.kind).toBe("answered");
});

test("D2 `recover: manual` does nothing by itself; automatic recovery begins with the runtime", async () => {
  const store = await leftBehind();
  const later = () => quickWorld({ now: quickWorld().now() + HOUR, name: "now" });
  const idle = nothing();
  await deployed(store, later(), { ...repeats(idle), recover: "manual" });
  await passed(50);
  expect(idle).toEqual(nothing());
  const eager = nothing();
  await deployed(store, later(), { ...repeats(eager), recover: "auto" });
  for (let tries = 0; tries < 100 && eager.asks.length < 6; tries++) await passed(5);
  await passed(10);
  expect(await turnsOf(store)).toEqual([2, 2, 2]);
});

test("D2 two runtimes that recover at the same time share the work: every turn ends once", async () => {
  const store = await leftBehind();
  const did = nothing();
  const both: Runtime[] = [];
  for (const name of ["x", "y"])
    both.push((await deployed(store, quickWorld({ now: quickWorld().now() + HOUR, name }), repeats(did))).runtime);
  await within(Promise.all(both.map((runtime) => runtime.recover())), 4_000);
  for (let tries = 0; tries < 100 && (await turnsOf(store)).some((turns) => turns < 2); tries++) await passed(5);
  expect(await turnsOf(store)).toEqual([2, 2, 2]);
  expect(did.asks).toHaveLength(6);
});

// ── A store that fails for a moment ─────────────────────────────────────────────────────────────────────────────────

const locked = () => new RuntimeError("store.locked", { path: "x", ms: 1 });

test.each(["append", "commit", "open"] as const)(
  "D2 a store that cannot %s for a moment costs a moment: the turn continues here, without waiting for the end of its lease",
  async (what) => {
    const inner = durable(memory());
    let failures = 0;
    const store = over(inner, {
      [what]: (...given: never[]) => {
        if (failures++ === 0) throw locked();
        return (inner[what] as (...all: never[]) => unknown)(...given);
      },
    });
    const world = quickWorld({ name: "now" });
    const did = nothing();
    const { runtime } = await deployed(store, world, searching(did));
    const started = world.now();
    const session = await runtime.session("s").catch(() => runtime.session("s"));
    const { outcome } = await within(session.turn("Go.").result(), 3_000);
    expect(outcome).toMatchObject({ kind: "answered" });
    expect(failures).toBeGreaterThan(0);
    expect(new Set(did.calls).size).toBe(did.calls.length);
    expect(world.now() - started).toBeLessThan(LEASE_MS / 2);
  },
);

test.each<readonly [string, (store: Store, fail: () => void) => Partial<Store>]>([
  [
    "claim inputs at a boundary",
    ({ inputs }, fail) => ({
      inputs: {
        ...inputs,
        claim: (...given) => {
          fail();
          return inputs.claim(...given);
        },
      },
    }),
  ],
  [
    "keep the blob of a prompt",
    ({ blobs }, fail) => ({
      blobs: {
        ...blobs,
        put: (...given) => {
          fail();
          return blobs.put(...given);
        },
      },
    }),
  ],
  [
    "read the notes",
    (store, fail) => ({
      note: (...given) => {
        fail();
        return store.note(...given);
      },
    }),
  ],
])("D2 a store that cannot %s for a moment does not fail the turn", async (_, faulty) => {
  const inner = durable(memory());
  let failures = 0;
  const fail = (): void => {
    if (failures++ === 0) throw locked();
  };
  const notes = definePlugin({
    id: "acme/notes",
    setup: () => ({ checkpoint: async ({ once }) => void (await once("x", () => 1)) }),
  });
  const { runtime } = await deployed(over(inner, faulty(inner, fail)), quickWorld({ name: "now" }), {
    ...searching(nothing()),
    plugins: [notes],
  });
  const { outcome } = await within((await runtime.session("s")).turn("Go.").result(), 3_000);
  expect(failures).toBeGreaterThan(0);
  expect(outcome).toMatchObject({ kind: "answered" });
});

test.each(["append", "commit", "accept", "note", "apply"] as const)(
  "D2 I1 I2 an answer of %s that is lost on its way: what was written counts once",
  async (what) => {
    const inner = durable(memory());
    let isLost = false;
    const store = over(inner, {
      [what]: async (...given: never[]) => {
        const answer = await (inner[what] as (...all: never[]) => unknown)(...given);
        if (!isLost) {
          isLost = true;
          throw new RuntimeError("store.failed", { path: "x", problem: "the connection is gone" } as never);
        }
        return answer;
      },
    });
    const world = quickWorld({ name: "now" });
    const did = nothing();
    const { runtime } = await deployed(store, world, {
      ...searching(did),
      plugins: [counter],
    });
    const session = await runtime.session("s");
    const go = () => within(session.turn("Go.", { key: "k" }).result(), 4_000);
    const { outcome } = await go().catch(() => {
      world.pass(LEASE_MS); // What was accepted is held by nobody who knows of it.
      return go();
    });
    expect(outcome).toMatchObject({ kind: "answered" });
    if (what === "apply") {
      const add = () => session.command(counter, "add");
      await add().catch(() => {});
      expect((await session.query(counter, "counts")).ends).toBeOneOf([1, 101]);
    }
    const { turns, messages } = await session.read();
    expect(turns).toBe(1);
    expect(outline(messages)).toEqual(["user: Go.", "calls search", "search ok: Nine.", "assistant: Found."]);
    expect(await session.query(counter, "counts")).toMatchObject({ before: 1, after: 1 });
  },
);

test.each([
  ["that has a name is done once, whether it was written or not", { operationId: "add" }, [100, 100]],
  [
    "without a name is done at most once: whoever asked for it is told when it may have been",
    {},
    ["store.failed", "store.failed"],
  ],
] as const)("D2 D4 a command in a waiting turn %s", async (_title, options, answers) => {
  const came: unknown[] = [];
  for (const isWritten of [true, false]) {
    const inner = durable(memory());
    let isBroken = false;
    const store = over(inner, {
      append: async (...given) => {
        const breaks = !isBroken && given[2].some(({ kind }) => kind === "applied");
        isBroken ||= breaks;
        const answer = breaks && !isWritten ? { heldMs: 0 } : await inner.append(...given);
        if (breaks) throw new RuntimeError("store.failed", { path: "x", problem: "the connection is gone" } as never);
        return answer;
      },
    });
    const asks = definePlugin({ id: "acme/asks", setup: () => ({ beforeToolCall: () => ask("May I?") }) });
    const did = nothing();
    const { runtime } = await deployed(store, quickWorld({ name: "now" }), {
      ...searching(did),
      plugins: [counter, asks],
    });
    const session = await runtime.session("s");
    const turn = session.turn("Go.");
    const { wait } = await within(seen(turn, "waiting"));
    const done = session.command(counter, "add", undefined, options);
    came.push(
      await within(
        done.then(
          ({ output }) => output,
          (error: RuntimeError) => error.code,
        ),
        4_000,
      ),
    );
    await answerWait(runtime, wait, { approved: true });
    await within(turn.result(), 4_000);
    const { ends } = await session.query(counter, "counts");
    expect(ends).toBe("operationId" in options || isWritten ? 101 : 1);
    expect(did.calls).toHaveLength(1);
    await runtime.close();
  }
  expect(came).toEqual(answers);
});

test("D2 a runtime of the same process that nobody closed does not keep its session for ever", async () => {
  const store = durable(memory());
  const began = signalOf();
  await deployed(store, quickWorld({ name: "one" }), searching(nothing(), new Promise(() => {}), began.resolve)).then(
    async ({ runtime }) => void (await runtime.session("s")).turn("Go."),
  );
  await began.promise;
  const world = quickWorld({ name: "two" });
  const two = await deployed(store, world, { model: { ...echo(), id: "stateless" } });
  const session = await two.runtime.session("s");
  const turn = session.turn("Me.");
  await turn.id;
  world.pass(LEASE_MS); // By this clock the lease lapses meanwhile; the first one still renews it now and then.
  expect((await within(turn.result(), 4_000)).outcome.kind).toBe("answered");
});
