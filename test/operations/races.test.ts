import { definePlugin, defineTool, type Session } from "bowline";
import type { HookName } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { echo, end as finish, overflow, plays, text } from "../kit/models.ts";
import { nodesOf, outline, passed, seen, signalOf, ticks, unheard, within } from "../kit/reading.ts";
import { ANSWERING } from "../kit/stores.ts";
import { open, ping, running, twoOn } from "../kit/worlds.ts";

/** Notes what runs when, and may be told to take long. */
function logbook() {
  const log: string[] = [];
  const began = signalOf();
  const hold = signalOf();
  const plugin = definePlugin({
    id: "a/book",
    state: z.object({ count: z.number().default(0) }),
    setup: ({ command, task, query }) => ({
      beforeTurn: () => void log.push("turn begins"),
      afterTurn: ({ state }) => {
        state.update(({ count }) => ({ count: count + 100 }));
        log.push("turn ends");
      },
      operations: {
        add: command({
          run: async ({ state }) => {
            log.push("command begins");
            await ticks(3);
            state.update(({ count }) => ({ count: count + 1 }));
            log.push("command ends");
            return state.get().count;
          },
        }),
        long: task({
          run: async ({ state }) => {
            log.push("task begins");
            began.resolve();
            state.update(({ count }) => ({ count: count + 1 }));
            await hold.promise;
            log.push("task ends");
            return state.get().count;
          },
        }),
        count: query({ run: ({ state }) => state.get().count }),
      },
    }),
  });
  return { log, began, hold, plugin };
}

/** One thing at a time: every beginning is followed by its own end. */
function expectSerial(log: readonly string[]): void {
  for (let index = 0; index < log.length; index += 2)
    expect(log[index + 1]).toBe(log[index]?.replace("begins", "ends"));
}

/** A model that speaks until it is told to end. */
function speaks() {
  const began = signalOf();
  const hold = signalOf();
  const model = plays(
    async function* () {
      yield text("Long");
      began.resolve();
      await hold.promise;
      yield text(".");
      yield finish;
    },
    async function* () {
      yield text("Next.");
      yield finish;
    },
  );
  return { began, hold, model };
}

// ── Commands and turns ──────────────────────────────────────────────────────────────────────────────────────────────

test.each(ANSWERING)(
  "K13 a command that is called during a turn runs after it, on what the turn left, on a store that answers %s",
  async (_, store) => {
    const { log, plugin } = logbook();
    const { began, hold, model } = speaks();
    await using world = await open(model, { store: store(), plugins: [plugin] });
    const turn = world.session.turn("Go.");
    await began.promise;
    const command = world.session.command(plugin, "add");
    expect(await world.session.query(plugin, "count")).toBe(0);
    await passed(10);
    expect(log).toEqual(["turn begins"]);
    hold.resolve();
    expect((await within(command)).output).toBe(101);
    expect((await turn.result()).outcome.kind).toBe("answered");
    expect(log).toEqual(["turn begins", "turn ends", "command begins", "command ends"]);
  },
);

test.each(ANSWERING)(
  "K13 a turn that is started during a command or a task runs after it, on what it left, on a store that answers %s",
  async (_, store) => {
    const { log, began, hold, plugin } = logbook();
    await using world = await open(echo(), { store: store(), plugins: [plugin] });
    const task = world.session.task(plugin, "long");
    await began.promise;
    const turn = world.session.turn("Go.");
    await passed(10);
    expect(log).toEqual(["task begins"]);
    hold.resolve();
    expect((await within(task)).output).toBe(1);
    expect((await within(turn.result())).outcome).toMatchObject({ kind: "answered", text: "re: Go." });
    expect(await world.session.query(plugin, "count")).toBe(101);
    expect(log).toEqual(["task begins", "task ends", "turn begins", "turn ends"]);
  },
);

test.each(ANSWERING)(
  "K13 a turn that is started during a task can be cancelled, and the task continues, on a store that answers %s",
  async (_, store) => {
    const { began, hold, plugin } = logbook();
    await using world = await open(echo(), { store: store(), plugins: [plugin] });
    const task = world.session.task(plugin, "long");
    await began.promise;
    const turn = world.session.turn("Go.");
    expect((await turn.cancel()).kind).toBe("requested");
    hold.resolve();
    expect((await within(task)).output).toBe(1);
    expect((await within(turn.result())).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
  },
);

test.each(ANSWERING)(
  "K13 whenever a command and a turn are called, neither runs beside the other and both are kept, on a store that answers %s",
  async (_, store) => {
    for (const isTurnFirst of [true, false]) {
      for (let wait = 0; wait < 40; wait++) {
        const { log, plugin } = logbook();
        const world = await open(echo(), { store: store(), plugins: [plugin] });
        const { session } = world;
        const acts = [() => session.turn("Go.").result(), () => session.command(plugin, "add")];
        if (!isTurnFirst) acts.reverse();
        const done: Promise<unknown>[] = [];
        for (const act of acts) {
          done.push(act());
          await ticks(wait);
        }
        await within(Promise.all(done), 800);
        const at = `${isTurnFirst ? "a turn" : "a command"} first, ${wait} ticks`;
        expect(await session.query(plugin, "count"), at).toBe(101);
        expect((await session.read()).turns, at).toBe(1);
        expectSerial(log);
        await world[Symbol.asyncDispose]();
      }
    }
  },
);

test.each(ANSWERING)(
  "K13 a storm of turns and commands on two handles: one at a time, none lost, on a store that answers %s",
  async (_, store) => {
    const { log, plugin } = logbook();
    await using world = await open(echo(), { store: store(), plugins: [plugin] });
    const handles = [world.session, await world.runtime.session(world.session.id)];
    const done: Promise<unknown>[] = [];
    for (let n = 0; n < 40; n++) {
      const session = handles[n % 2]!;
      done.push(n % 3 === 0 ? session.turn(`${n}`).result() : session.command(plugin, "add"));
      await ticks(n % 7);
    }
    await within(Promise.all(done), 3_000);
    expect(await world.session.query(plugin, "count")).toBe(14 * 100 + 26);
    expect((await world.session.read()).turns).toBe(14);
    expectSerial(log);
  },
);

test.each(ANSWERING)(
  "K13 a command that waits for a turn runs when the turn is cancelled, on what the turn left, on a store that answers %s",
  async (_, store) => {
    const { plugin } = logbook();
    const { began, model } = speaks();
    await using world = await open(model, { store: store(), plugins: [plugin] });
    const turn = world.session.turn("Go.");
    await began.promise;
    const command = world.session.command(plugin, "add");
    await turn.cancel("Enough.");
    expect((await turn.result()).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
    expect((await within(command)).output).toBe(101);
  },
);

test("K13 commands run in the order in which they were called", async () => {
  const order: number[] = [];
  const plugin = definePlugin({
    id: "a/order",
    setup: ({ command }) => ({
      operations: {
        go: command({
          input: z.object({ n: z.number() }),
          run: async ({ input: { n } }) => {
            await ticks((7 * n) % 5);
            order.push(n);
          },
        }),
      },
    }),
  });
  await using world = await open(echo(), { plugins: [plugin] });
  await Promise.all(Array.from({ length: 10 }, (_, n) => world.session.command(plugin, "go", { n })));
  expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test("K13 a query beside a running command sees what is committed, not what may still fail", async () => {
  const { began, hold, plugin } = logbook();
  await using world = await open(echo(), { plugins: [plugin] });
  const task = world.session.task(plugin, "long");
  await began.promise;
  const before = await world.session.query(plugin, "count");
  hold.resolve();
  await task;
  expect(before).toBe(0);
  expect(await world.session.query(plugin, "count")).toBe(1);
});

// ── From inside ─────────────────────────────────────────────────────────────────────────────────────────────────────

const HANDLED: readonly HookName[] = [
  "context",
  "beforeTurn",
  "prompt",
  "request",
  "stream",
  "streamFinished",
  "response",
  "beforeToolCall",
  "afterToolCall",
  "projectResult",
  "checkpoint",
  "afterTurn",
  "compact",
];

test.each(HANDLED)(
  "K13 a command from inside %s of the same session is refused and does not wait for itself",
  async (hook) => {
    const { plugin } = logbook();
    const codes: unknown[] = [];
    const nested = definePlugin({
      id: "b/nested",
      setup: () =>
        ({
          [hook]: {
            deadlineMs: 1_000,
            run: async () => {
              codes.push(
                await session.command(plugin, "add").then(
                  () => "done",
                  (error) => error.code,
                ),
              );
              return hook === "projectResult" ? [{ kind: "text", text: "x" }] : undefined;
            },
          },
        }) as object,
    });
    const model = scripted(calls("ping"), hook === "compact" ? overflow : says("Done."));
    const runtime = await running({ model, plugins: [plugin, nested], tools: [ping] });
    await using _ = runtime;
    const session = await runtime.session();
    await within(session.turn("Go.").result());
    expect(new Set(codes)).toEqual(new Set(["operation.reentrant"]));
    expect((await within(session.command(plugin, "add"))).output).toBe(101);
  },
);

test.each(["turnFinalized", "turnPersisted"] as const)(
  "K13 a command that an observer of %s awaits is refused, or runs, and does not hold the session",
  async (moment) => {
    const { plugin } = logbook();
    const codes: unknown[] = [];
    const nested = definePlugin({
      id: "b/nested",
      setup: () => ({
        lifecycle: {
          deadlineMs: 5_000,
          run: async ({ event }) => {
            if (event.kind !== moment) return;
            codes.push(
              await session.command(plugin, "add").then(
                () => "done",
                (error) => error.code,
              ),
            );
          },
        },
      }),
    });
    const runtime = await running({ plugins: [plugin, nested] });
    await using _ = runtime;
    const session = await runtime.session();
    await within(session.turn("Go.").result());
    expect(codes).toEqual(["operation.reentrant"]);
  },
);

test("K13 a command called by a tool of the same session's turn is operation.reentrant, and the turn continues", async () => {
  const { plugin } = logbook();
  const model = scripted(calls("nest"), says("Done."));
  const nest = defineTool({
    name: "nest",
    description: "Nests.",
    input: z.object({}),
    execute: async () => (await session.command(plugin, "add")).output,
  });
  const runtime = await running({ model, plugins: [plugin], tools: [nest] });
  await using _ = runtime;
  const session: Session = await runtime.session();
  const { outcome } = await within(session.turn("Go.").result());
  expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(outline((await session.read()).messages)[2]).toMatch(
    /^nest failed: .*a\/book\.add cannot be awaited inside a turn/,
  );
});

test("K13 a query from inside a turn is fine", async () => {
  const { plugin } = logbook();
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({}),
    execute: () => session.query(plugin, "count"),
  });
  const runtime = await running({ model: scripted(calls("look"), says("Done.")), plugins: [plugin], tools: [look] });
  await using _ = runtime;
  const session: Session = await runtime.session();
  await within(session.turn("Go.").result());
  expect(outline((await session.read()).messages)[2]).toBe("look ok: 0");
});

test.each(["command", "append", "configure"] as const)(
  "K13 %s from inside a command of the same session is refused, or done, and does not wait for itself",
  async (what) => {
    const codes: unknown[] = [];
    const plugin = definePlugin({
      id: "b/nested",
      setup: ({ command }) => ({
        operations: {
          inner: command({ run: () => 1 }),
          outer: command({
            run: async ({ graph }) => {
              const act = {
                command: () => session.invoke("command", "b/nested.inner"),
                append: () => graph.append([{ kind: "plugin", type: "note", body: 1 }]),
                configure: () => session.configure({ instructions: "x" }),
              }[what];
              codes.push(
                await act().then(
                  () => "done",
                  (error) => error.code,
                ),
              );
            },
          }),
        },
      }),
    });
    const runtime = await running({ plugins: [plugin] });
    await using _ = runtime;
    const session = await runtime.session();
    await within(session.command(plugin, "outer"));
    expect(codes[0]).toBeOneOf(["done", "operation.reentrant"]);
    expect((await within(session.turn("Go.").result())).outcome.kind).toBe("answered");
  },
);

test("K13 what a command appends to the graph is kept once, with its state, or not at all", async () => {
  const store = memory();
  const plugin = definePlugin({
    id: "b/notes",
    state: z.object({ n: z.number().default(0) }),
    setup: ({ command, query }) => ({
      operations: {
        n: query({ run: ({ state }) => state.get().n }),
        note: command({
          input: z.object({ fails: z.boolean() }),
          run: async ({ input, state, graph }) => {
            state.update(({ n }) => ({ n: n + 1 }));
            const appended = await graph.append([{ kind: "plugin", type: "note", body: { n: state.get().n } }]);
            if (input.fails) throw new Error("Ouch.");
            return appended.kind;
          },
        }),
      },
    }),
  });
  await using world = await open(echo(), { store, plugins: [plugin] });
  await expect(within(world.session.command(plugin, "note", { fails: true }))).rejects.toMatchObject({
    code: "operation.failed",
  });
  expect(await nodesOf(store, world.session)).toEqual([]);
  expect((await within(world.session.command(plugin, "note", { fails: false }))).output).toBe("appended");
  expect(await nodesOf(store, world.session)).toEqual(['b/notes note {"n":1}']);
  expect(await world.session.query(plugin, "n")).toBe(1);
});

test("K13 a command called after the turn is no longer inside it, though a tool of the turn set it going", async () => {
  const { plugin } = logbook();
  const later = signalOf();
  let answer: Promise<unknown> | undefined;
  const starts = defineTool({
    name: "starts",
    description: "Starts something.",
    input: z.object({}),
    execute: () => {
      answer = later.promise.then(() => session.command(plugin, "add"));
      answer.catch(() => {});
      return "Started.";
    },
  });
  const runtime = await running({
    model: scripted(calls("starts"), says("Done.")),
    plugins: [plugin],
    tools: [starts],
  });
  await using _ = runtime;
  const session: Session = await runtime.session();
  await session.turn("Go.").result();
  later.resolve();
  await expect(within(answer!)).resolves.toMatchObject({ output: 101 });
});

test("K13 a command of a session whose turn waits for this one's is refused: two sessions do not wait for each other", async () => {
  const { plugin } = logbook();
  const sessions = new Map<string, Session>();
  const delegate = defineTool({
    name: "delegate",
    description: "Asks the other session.",
    input: z.object({}),
    timeoutMs: 2_500,
    execute: async () => (await sessions.get("child")!.turn("Help.").result()).outcome.kind,
  });
  const report = defineTool({
    name: "report",
    description: "Tells the first session.",
    input: z.object({}),
    timeoutMs: 2_500,
    execute: async () => (await sessions.get("parent")!.command(plugin, "add")).output,
  });
  const model = scripted(calls("delegate"), calls("report"), says("Helped."), says("Done."));
  const runtime = await running({ model, plugins: [plugin], tools: [delegate, report] });
  await using _ = runtime;
  for (const id of ["parent", "child"]) sessions.set(id, await runtime.session(id));
  const { outcome } = await within(sessions.get("parent")!.turn("Go.").result());
  expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(outline((await sessions.get("child")!.read()).messages)[2]).toContain("cannot be awaited inside a turn");
});

// ── Two runtimes ────────────────────────────────────────────────────────────────────────────────────────────────────

test("K13 a command waits for another runtime's turn, and is worked out on what that left", async () => {
  const { plugin } = logbook();
  const { began, hold, model } = speaks();
  await using world = await twoOn(memory(), { model, plugins: [plugin] });
  const [here, there] = [await world.one.session("s"), await world.two.session("s")];
  const turn = there.turn("Go.");
  await began.promise;
  const command = here.command(plugin, "add");
  await passed(20);
  hold.resolve();
  await turn.result();
  expect((await within(command)).output).toBe(101);
  expect((await there.command(plugin, "add")).output).toBe(102);
});

test("K13 turns and commands of two runtimes all count", async () => {
  const store = memory();
  const { plugin } = logbook();
  await using world = await twoOn(store, { plugins: [plugin] });
  const [here, there] = [await world.one.session("s"), await world.two.session("s")];
  for (let n = 0; n < 6; n++) {
    const [a, b] = n % 2 === 0 ? [here, there] : [there, here];
    await within(Promise.all([a.turn(`${n}`).result(), b.command(plugin, "add")]), 2_000);
  }
  expect((await here.command(plugin, "add")).output).toBe(607);
  expect((await here.read()).turns).toBe(6);
  const nodes = await nodesOf(store, here);
  expect(nodes.filter((node) => node.startsWith("user")).length).toBe(6);
});

// ── Closing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test("K13 a runtime that is closing lets a running command end, keeps what it did, and takes no more", async () => {
  const { began, hold, plugin } = logbook();
  const closed: string[] = [];
  const closes = definePlugin({ id: "b/closes", close: () => void closed.push("plugin"), setup: () => ({}) });
  const runtime = await running({ plugins: [plugin, closes] });
  const session = await runtime.session("s");
  const task = session.task(plugin, "long");
  await began.promise;
  const closing = runtime.close().then(() => closed.push("runtime"));
  for (const act of [
    () => session.command(plugin, "add"),
    () => session.task(plugin, "long"),
    () => session.query(plugin, "count"),
    () => session.configure({}),
    () => session.append([{ kind: "plugin", type: "x", body: 1 }]),
    () => session.fork(),
  ])
    await expect(act()).rejects.toMatchObject({ code: "runtime.closed" });
  hold.resolve();
  expect((await within(task)).output).toBe(1);
  await within(closing);
  expect(closed).toEqual(["plugin", "runtime"]);
});

test("K13 a closed handle refuses operations, and what it had begun is kept", async () => {
  const { began, hold, plugin } = logbook();
  await using runtime = await running({ plugins: [plugin] });
  const session = await runtime.session("s");
  const task = session.task(plugin, "long");
  await began.promise;
  await session.close();
  await expect(session.command(plugin, "add")).rejects.toMatchObject({ code: "session.closed" });
  await expect(session.query(plugin, "count")).rejects.toMatchObject({ code: "session.closed" });
  expect(() => session.operations()).toThrow(expect.objectContaining({ code: "session.closed" }));
  hold.resolve();
  expect((await within(task)).output).toBe(1);
  expect(await (await runtime.session("s")).query(plugin, "count")).toBe(1);
});

test("K13 a session that is closed and opened again while a task runs is the same session: its turn waits", async () => {
  const { log, began, hold, plugin } = logbook();
  await using runtime = await running({ plugins: [plugin] });
  const session = await runtime.session("s");
  const task = session.task(plugin, "long");
  await began.promise;
  await session.close();
  const again = await runtime.session("s");
  const turn = again.turn("Go.").result();
  await passed(20);
  hold.resolve();
  await within(Promise.all([task, turn]));
  expect(log).toEqual(["task begins", "task ends", "turn begins", "turn ends"]);
  expect(await again.query(plugin, "count")).toBe(101);
});

test("K13 a session that is deleted during a command: the command fails typed, and nothing hangs", async () => {
  const { began, hold, plugin } = logbook();
  await using runtime = await running({ plugins: [plugin] });
  const session = await runtime.session("s");
  const failures = await unheard(async () => {
    const task = session.task(plugin, "long");
    await began.promise;
    const deleted = await runtime.sessions.delete("s").then(
      () => "deleted",
      (error) => error.code,
    );
    hold.resolve();
    const ended = await within(
      task.then(
        () => "kept",
        (error) => error.code,
      ),
    );
    expect([deleted, ended]).toBeOneOf([
      ["deleted", "session.unknown"],
      ["session.busy", "kept"],
    ]);
  });
  expect(failures).toEqual([]);
});

test("K13 a session that is deleted while a turn waits to run: the turn gets an error, or the deletion is refused", async () => {
  const reached = signalOf();
  const hold = signalOf();
  const slow = definePlugin({
    id: "a/slow",
    setup: () => ({
      lifecycle: async ({ event }) => {
        if (event.kind !== "turnPersisted") return;
        reached.resolve();
        await hold.promise;
      },
    }),
  });
  await using runtime = await running({ plugins: [slow] });
  const session = await runtime.session("s");
  const failures = await unheard(async () => {
    const first = session.turn("One.").result();
    const second = session.turn("Two.").result();
    const outcomes = [first, second].map((turn) =>
      turn.then(
        ({ outcome }) => outcome.kind,
        (error) => error.code,
      ),
    );
    await reached.promise;
    const deleted = await runtime.sessions.delete("s").then(
      () => "deleted",
      (error) => error.code,
    );
    hold.resolve();
    const ends = await within(Promise.all(outcomes));
    expect([deleted, ...ends]).toBeOneOf([
      ["session.busy", "answered", "answered"],
      ["deleted", "answered", "session.unknown"],
      ["deleted", "answered", "session.deleted"],
    ]);
  });
  expect(failures).toEqual([]);
});

test.each(ANSWERING)(
  "K13 a turn's events are not held back by a command that waits, on a store that answers %s",
  async (_, store) => {
    const { plugin } = logbook();
    const { hold, model } = speaks();
    await using world = await open(model, { store: store(), plugins: [plugin] });
    const turn = world.session.turn("Go.");
    const command = world.session.command(plugin, "add");
    expect(await within(seen(turn, "text"))).toMatchObject({ delta: "Long" });
    hold.resolve();
    await within(command);
  },
);
