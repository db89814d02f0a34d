import { createRuntime, definePlugin, type Json, type Receipt, type Session } from "bowline";
import { sqlite } from "bowline/stores/sqlite";
import { calls, says, scripted } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { codeOf, nodesOf, saidIn, within } from "../kit/reading.ts";
import { durable, file, KEPT, STORES } from "../kit/stores.ts";
import { open, running, twoOn } from "../kit/worlds.ts";

/** A report in three steps, of which the last may fail. */
function reporting(did: string[], fails: () => boolean = () => false) {
  return definePlugin({
    id: "acme/report",
    setup: ({ task, command, query }) => ({
      operations: {
        write: task({
          input: z.object({ about: z.string() }),
          run: async ({ input, once, complete, graph, emit, queueTurn }) => {
            const found = await once("search", () => {
              did.push("searched");
              return `found ${input.about}`;
            });
            const summary = await complete.text(`Sum up: ${found}`);
            if (fails()) throw new Error("The printer is out of paper.");
            did.push("printed");
            await graph.append([{ kind: "plugin", type: "report", body: summary }]);
            emit("written", { about: input.about });
            queueTurn("Read the report.");
            return summary;
          },
        }),
        note: command({ input: z.object({ words: z.string() }), run: ({ input }) => input.words }),
        where: query({ run: ({ sessionId }) => sessionId ?? null }),
        odd: command({ run: () => () => {} }),
      },
    }),
  });
}

test.each(KEPT)(
  "K13 a failed task continues under its operation id: its finished and paid work is not done again, %s",
  async (_, make) => {
    const did: string[] = [];
    let isEmpty = true;
    const report = reporting(did, () => isEmpty);
    const store = make();
    const model = scripted(says("Short."), says("Read."));
    await using world = await open(model, { store, plugins: [report] });
    const { session } = world;
    const write = () => session.task(report, "write", { about: "tigers" }, { operationId: "july" });
    expect(await codeOf(write())).toBe("operation.failed");
    expect((await session.read()).usage.output).toBeGreaterThan(0);
    const paid = (await session.read()).usage;
    isEmpty = false;
    const receipt = await write();
    expect(receipt).toMatchObject({ output: "Short.", events: [{ name: "written" }], queued: [expect.anything()] });
    expect(did).toEqual(["searched", "printed"]);
    await session.follow(receipt.queued[0] as string).result();
    expect(model.requests).toHaveLength(2);
    expect(await write()).toEqual(receipt);
    expect(did).toEqual(["searched", "printed"]);
    expect(await saidIn(session)).toEqual(["Read the report."]);
    const ledger = (await session.read()).ledger.find(({ source }) => source === "direct");
    expect(ledger).toMatchObject({ calls: 1, usage: { output: paid.output } });
    expect((await nodesOf(store, session)).filter((node) => node.startsWith("acme/report report"))).toEqual([
      'acme/report report "Short."',
    ]);
  },
);

test("K13 a task that continues has the input that it began with; a wrong input begins nothing", async () => {
  const did: string[] = [];
  let isEmpty = true;
  const report = reporting(did, () => isEmpty);
  await using world = await open(scripted(says("Short."), says("Read.")), { plugins: [report] });
  const write = (about: string) => world.session.task(report, "write", { about }, { operationId: "july" });
  expect(await codeOf(write(7 as never))).toBe("operation.input");
  expect(await codeOf(write("tigers"))).toBe("operation.failed");
  expect(await codeOf(write("lions"))).toBe("append.conflict");
  isEmpty = false;
  expect(await codeOf(write("lions"))).toBe("append.conflict");
  expect((await write("tigers")).output).toBe("Short.");
  expect(did).toEqual(["searched", "printed"]);
});

test("K13 a repeat in another process gets the receipt of the first time; another call under the same id is refused", async () => {
  const path = file();
  const did: string[] = [];
  const report = reporting(did);
  const make = () =>
    createRuntime({ store: sqlite(path), model: scripted(says("Short."), says("Read.")), plugins: [report] });
  const first = await make();
  const one = await first.session("s");
  const receipt = await one.task(report, "write", { about: "tigers" }, { operationId: "july" });
  await one.follow(receipt.queued[0] as string).result();
  await first.close();
  await using second = await make();
  const two = await second.session("s");
  expect(await two.task(report, "write", { about: "tigers" }, { operationId: "july" })).toEqual(receipt);
  expect(did).toEqual(["searched", "printed"]);
  expect(await codeOf(two.task(report, "write", { about: "lions" }, { operationId: "july" }))).toBe("append.conflict");
  expect(await codeOf(two.command(report, "note", { words: "x" }, { operationId: "july" }))).toBe("append.conflict");
  expect((await two.command(report, "note", { words: "x" }, { operationId: "n" })).output).toBe("x");
  expect((await two.command(report, "note", { words: "x" }, { operationId: "n" })).output).toBe("x");
});

describe.each(STORES)("on %s", (_, make) => {
  /** A task that pays, whose session another process moves meanwhile. */
  async function moved(fails: boolean) {
    const store = durable(make());
    let paid = 0;
    const asks = definePlugin({
      id: "acme/asks",
      setup: ({ task }) => ({
        operations: {
          ask: task({
            run: async ({ complete, emit }) => {
              await complete.text("Why?");
              if (++paid === 1) await other.append([{ kind: "message", role: "user", text: "By the way." }]);
              if (fails) throw new Error("No.");
              emit("asked", null);
            },
          }),
        },
      }),
    });
    const one = await running({ store, plugins: [asks], recover: "manual" });
    const two = await running({ store, plugins: [asks], recover: "manual" });
    const other = await two.session("s");
    const session = await one.session("s");
    const ask = (operationId?: string) => session.task(asks, "ask", undefined, { operationId });
    const booked = async () => (await session.read()).ledger.find(({ source }) => source === "direct")?.calls;
    const dispose = async () => void (await Promise.all([one.close(), two.close()]));
    return { ask, booked, [Symbol.asyncDispose]: dispose };
  }

  test("K13 S13 what a task paid for in an attempt that another process overtook is booked", async () => {
    await using world = await moved(false);
    await world.ask();
    expect(await world.booked()).toBe(2);
  });

  test("K13 S13 what a task with an operation id paid for is booked once, though another process overtook it", async () => {
    await using world = await moved(false);
    await world.ask("once");
    await world.ask("once");
    expect(await world.booked()).toBe(1);
  });

  test.each([undefined, "why"])(
    "K13 S13 what a failed task paid for is booked though another process overtook it, operation id %s",
    async (operationId) => {
      await using world = await moved(true);
      expect(await codeOf(world.ask(operationId))).toBe("operation.failed");
      expect(await world.booked()).toBe(1);
      expect(await codeOf(world.ask(operationId))).toBe("operation.failed");
      expect(await world.booked()).toBe(operationId === undefined ? 2 : 1);
    },
  );
});

test("K13 bad operation ids, and outputs that could not be kept, are refused typed, and nothing is kept", async () => {
  const report = reporting([]);
  await using world = await open(scripted(says("Short.")), { plugins: [report] });
  const { session } = world;
  for (const operationId of ["", 7, "x".repeat(257)])
    expect(await codeOf(session.command(report, "note", { words: "x" }, { operationId } as never))).toBe(
      "options.invalid",
    );
  expect(await codeOf(session.command(report, "odd", undefined, { operationId: "odd" }))).toBe("operation.failed");
  expect((await session.read()).head).toBeUndefined();
});

test.each(KEPT)(
  "K13 what a task recorded is not used by another call under the same operation id, %s",
  async (_, make) => {
    const did: string[] = [];
    let isEmpty = true;
    const report = reporting(did, () => isEmpty);
    await using world = await open(scripted(says("Short."), says("Read.")), { store: make(), plugins: [report] });
    const write = (about: unknown) =>
      world.session.task(report, "write", { about } as { about: string }, { operationId: "july" });
    expect(await codeOf(write(7))).toBe("operation.input");
    expect(await codeOf(write("tigers"))).toBe("operation.failed");
    isEmpty = false;
    expect(await codeOf(write("lions"))).toBe("append.conflict");
    expect((await write("tigers")).output).toBe("Short.");
    expect(did).toEqual(["searched", "printed"]);
  },
);

test("K13 T13 a value that is made once and asks for itself is refused, in a task and in a tool; nothing waits", async () => {
  const again = definePlugin({
    id: "acme/again",
    setup: ({ task, tool }) => ({
      operations: {
        go: task({ run: ({ once }) => once("a", () => once("b", () => once("a", () => 1))) }),
        fine: task({ run: ({ once }) => once("a", async () => [await once("b", () => 1), await once("b", () => 2)]) }),
      },
      tools: [
        tool({
          name: "again",
          description: "Asks for itself.",
          input: z.object({}),
          execute: (_, { once }) => once("a", () => once("a", () => 1)),
        }),
      ],
    }),
  });
  await using world = await open(scripted(calls("again"), says("Done.")), { plugins: [again] });
  const { session } = world;
  expect(await within(codeOf(session.task(again, "go", undefined, { operationId: "go" })))).toBe("hook.answer");
  expect((await session.task(again, "fine", undefined, { operationId: "fine" })).output).toEqual([1, 1]);
  expect((await within(session.turn("Go.").result())).outcome).toMatchObject({ kind: "answered", text: "Done." });
});

test("K13 an input that is not JSON is refused under an operation id before anything is done", async () => {
  let runs = 0;
  const lax = definePlugin({
    id: "acme/lax",
    setup: ({ command }) => ({ operations: { go: command({ input: z.any(), run: () => ++runs }) } }),
  });
  await using world = await open(scripted(), { plugins: [lax] });
  const circle: { self?: unknown } = {};
  circle.self = circle;
  for (const input of [circle, 1n, new Map([[1, 2]]), () => {}, Number.NaN])
    expect(await codeOf(world.session.command(lax, "go", input, { operationId: "go" }))).toBe("operation.input");
  expect(runs).toBe(0);
  expect((await world.session.command(lax, "go", new Map())).output).toBe(1);
});

test.each(KEPT)("K13 an operation runs on the session that its caller names, %s", async (_, make) => {
  const report = reporting([]);
  const counts = definePlugin({
    id: "acme/counts",
    state: z.object({ count: z.number().default(0) }),
    setup: ({ command, query }) => ({
      operations: {
        add: command({ run: ({ state }) => state.update(({ count }) => ({ count: count + 1 })) }),
        now: query({ run: ({ state }) => state.get().count }),
        alone: command({ session: "forbidden", run: () => "alone" }),
      },
    }),
  });
  const store = make();
  await using world = await open(scripted(), { store, plugins: [report, counts] });
  const { session: here, runtime } = world;
  const there = await runtime.session("there");
  await there.close();
  const on = { session: "there" };
  expect(await here.query(report, "where", undefined, on)).toBe("there");
  await here.command(counts, "add", undefined, on);
  await here.invoke("command", "acme/counts.add", undefined, on);
  expect((await here.invoke("query", "acme/counts.now", undefined, on)).output).toBe(2 as Json);
  expect(await here.query(counts, "now")).toBe(0);
  expect(await here.query(counts, "now", undefined, { session: here.id })).toBe(0);
  for (const session of ["nobody", ""])
    expect(await codeOf(here.command(counts, "add", undefined, { session }))).toBe("session.unknown");
  expect(await codeOf(here.command(counts, "alone", undefined, on))).toBe("operation.unexpected-session");
  await runtime.sessions.delete("there");
  expect(await codeOf(here.command(counts, "add", undefined, on))).toBe("session.unknown");
});

test.each(STORES)(
  "K13 S6 two processes that run the same call at once give one receipt, and its turn runs once, on %s",
  async (_, make) => {
    let begun = 0;
    const both = Promise.withResolvers<void>();
    const counts = definePlugin({
      id: "acme/counts",
      state: z.object({ count: z.number().default(0), by: z.string().default("") }),
      setup: ({ task }) => ({
        operations: {
          count: task({
            run: async ({ state, queueTurn, emit, graph }) => {
              const nth = ++begun;
              if (nth === 2) both.resolve();
              await both.promise;
              await graph.append([{ kind: "plugin", type: "count", body: nth }]);
              state.update(({ count }) => ({ count: count + 1, by: `process ${nth}` })); // Each has another content.
              emit("counted", nth);
              queueTurn("Go on.");
              return nth;
            },
          }),
        },
      }),
    });
    const store = make();
    await using world = await twoOn(store, { plugins: [counts] });
    const sessions = [await world.one.session("s"), await world.two.session("s")];
    const call = (session: Session) => session.task(counts, "count", undefined, { operationId: "once" });
    const [first, second] = (await Promise.all(sessions.map(call))) as [Receipt, Receipt];
    expect(second).toEqual(first);
    await (sessions[0] as Session).follow(first.queued[0] as string).result();
    expect(await saidIn(sessions[0] as Session)).toEqual(["Go on."]);
    expect(
      (await nodesOf(store, sessions[0] as Session)).filter((node) => node.startsWith("acme/counts count")),
    ).toHaveLength(1);
  },
);
