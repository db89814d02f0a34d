import { definePlugin, defineTool, RuntimeError } from "bowline";
import { deny, extension } from "bowline/plugin";
import type { CellProgress, CellSegment, CodeContext, CodeExecutor, CodePast } from "bowline/protocol";
import { amnesiac, says, scripted } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { cells } from "../code/cells.ts";
import { eventsOf, only, outline } from "../kit/reading.ts";
import { onEvent } from "../kit/telemetry.ts";
import { lifetimes, named, open } from "../kit/worlds.ts";

const done = (text: string, finish?: number): CellProgress => ({
  kind: "executed",
  output: { state: "done", parts: [{ kind: "text", text }], ...(finish === undefined ? {} : { finish }) },
});
const stopped: CellProgress = {
  kind: "executed",
  output: { state: "stopped", parts: [{ kind: "text", text: "Enough." }] },
};
const calling = (...tools: readonly string[]): CellProgress => ({
  kind: "called",
  calls: tools.map((tool, index) => ({ at: `${index}`, tool, input: { city: "Oslo" } })),
});

/** A plugin whose executor is this one. */
const executing = (executor: CodeExecutor<undefined>) =>
  definePlugin({ id: "test/executor", setup: () => ({ codeExecutor: executor }) });

const weather = defineTool({
  name: "weather",
  description: "Weather now in a city.",
  input: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, celsius: 4 }),
});

describe("an executor", () => {
  test("P5 a cell is run by the executor in its slot: given language, code and acceptFinish, it shows and finishes", async () => {
    const given: unknown[] = [];
    const executor = executing({
      execute: ({ name, cell, time }, { sessionId, turnId, signal, now }) => {
        given.push([sessionId, typeof turnId, signal.aborted, name, cell, now() - time < 5_000]);
        return done(`Ran ${cell.code}.`, cell.acceptFinish ? 4 : undefined);
      },
    });
    const model = scripted(says("2 + 2"), says("finish(4)"));
    await using world = await open(model, { plugins: [cells, executor] });
    const { outcome } = await world.session.turn("Go.").result();
    expect(outcome).toEqual({ kind: "finished", by: "model", value: 4 });
    expect(outline(model.requests[1]?.messages ?? []).at(-1)).toBe("user: Ran 2 + 2.");
    expect(given).toEqual([
      [world.session.id, "string", false, "r1.exec", { language: "ts", code: "2 + 2", acceptFinish: false }, true],
      [world.session.id, "string", false, "r2.exec", { language: "ts", code: "finish(4)", acceptFinish: true }, true],
    ]);
  });

  test("P5 P9 calls tools by answering, and receives each result in a separate segment", async () => {
    const segments: CellSegment[] = [];
    const executor = executing({
      execute: (segment) => {
        segments.push(segment);
        return segments.length === 1 ? calling("weather", "missing") : segments.length === 2 ? calling() : done("4", 4);
      },
    });
    await using world = await open(scripted(says("finish")), { tools: [weather], plugins: [cells, executor] });
    const turn = world.session.turn("Go.");
    const events = await eventsOf(turn);
    expect((await turn.result()).outcome).toEqual({ kind: "finished", by: "model", value: 4 });
    const given = segments.slice(1).map(({ name, deliver }) => [name, deliver?.at, deliver?.output?.kind]);
    expect(given.toSorted()).toEqual([
      ["r1.exec", "0", "value"],
      ["r1.exec", "1", "failure"],
    ]);
    // T13: one start and one end for each, under the name of its effect.
    for (const kind of ["toolStarted", "toolEnded"] as const)
      expect(only(events, kind).map(({ key }) => key?.effect)).toEqual(
        expect.arrayContaining(["r1.exec.call.0", "r1.exec.call.1"]),
      );
    expect(only(events, "toolStarted")).toHaveLength(2);
    expect(only(events, "toolEnded")).toHaveLength(2);
  });

  test("P9 its calls pass the gates, and a denied one is a result", async () => {
    const outputs: unknown[] = [];
    const executor = executing({
      execute: ({ deliver }) => {
        if (deliver === undefined) return calling("weather");
        outputs.push(deliver.output);
        return done("no", 0);
      },
    });
    const guard = definePlugin({ id: "test/guard", setup: () => ({ beforeToolCall: () => deny("Not today.") }) });
    await using world = await open(scripted(says("finish")), { tools: [weather], plugins: [cells, executor, guard] });
    await world.session.turn("Go.").result();
    expect(outputs).toMatchObject([{ kind: "failure", failure: { class: "denied", code: "tool.denied" } }]);
  });

  test("P5 J1 begins jobs: they start with the output of the cell, and not when it broke down", async () => {
    const begun: string[] = [];
    const executor = executing({
      execute: async ({ cell: { code, acceptFinish } }, { jobs }) => {
        await jobs.spawn({ label: code }, () => void begun.push(code));
        if (code === "break") throw new Error("It exited.");
        return done("", acceptFinish ? 4 : undefined);
      },
    });
    await using world = await open(scripted(says("2 + 2"), says("finish(4)"), says("break")), {
      plugins: [cells, executor],
    });
    await world.session.turn("Go.").result();
    await world.session.turn("Again.").result();
    const records = await world.session.jobs.list();
    expect(records.map(({ label }) => label)).toEqual(["2 + 2", "finish(4)"]);
    await world.session.jobs.await(records.map(({ id }) => id));
    expect(begun).toEqual(["2 + 2", "finish(4)"]);
  });

  test("P5 K18 is given the catalog, state, sessions, graph, jobs, completions, once, triggers, events, history, extension, attachments, clock and frame", async () => {
    const seen: { readonly [name: string]: unknown }[] = [];
    const effort = extension("test/effort", z.object({ calls: z.number() }));
    const executor = definePlugin({
      id: "test/executor",
      state: z.object({ runs: z.number().default(0) }),
      setup: () => ({
        extensions: [effort],
        codeExecutor: {
          execute: async (_, context) => {
            context.state.update(({ runs }) => ({ runs: runs + 1 }));
            context.emit("printed", { text: "hello" });
            seen.push({
              tools: context.catalog.list().map(({ name }) => name),
              described: (await context.catalog.describe("weather"))?.name,
              callable: Object.keys(context.catalog).sort(),
              said: outline(context.messages()),
              usage: context.session.read().turns,
              children: await context.sessions.children(),
              jobs: await context.jobs.list(),
              triggers: context.triggers.declared(),
              extension: context.extension(effort),
              once: await context.once("answer", () => 42),
              words: await context.complete.text("Say hi."),
              frame: context.frame,
              now: typeof context.now(),
              kept: context.keep({ data: new Uint8Array([1]), mediaType: "a/b" } as never).bytes,
              appended: (await context.graph.append([{ kind: "plugin", type: "note", body: 1 }])).kind,
            });
            return done("4", 4);
          },
        },
      }),
    });
    await using world = await open(scripted(says("finish"), says("hi")), {
      tools: [weather],
      plugins: [cells, executor],
    });
    const turn = world.session.turn("Go.", { extensions: [effort.of({ calls: 3 })] });
    const events = await eventsOf(turn);
    expect(seen).toEqual([
      {
        tools: ["weather"],
        described: "weather",
        callable: ["describe", "list"],
        said: ["user: Go.", "assistant: finish"],
        usage: 0,
        children: [],
        jobs: [],
        triggers: [],
        extension: { calls: 3 },
        once: 42,
        words: "hi",
        frame: undefined,
        now: "number",
        kept: 1,
        appended: "queued",
      },
    ]);
    expect(only(events, "plugin")).toMatchObject([
      { name: "printed", payload: { text: "hello" }, plugin: "test/executor" },
    ]);
  });

  test("P5 without one a cell ends the turn as code.unavailable, and what was said stays", async () => {
    await using world = await open(scripted(says("2 + 2")), { plugins: [cells] });
    const { outcome } = await world.session.turn("Go.").result();
    expect(outcome).toMatchObject({ kind: "failed", by: "runtime", code: "code.unavailable", text: "2 + 2" });
    expect(outline((await world.session.read()).messages)).toEqual(["user: Go.", "assistant: 2 + 2"]);
  });

  test("P5 that breaks down ends the turn as code.stopped, with what went wrong", async () => {
    for (const execute of [() => Promise.reject(new Error("It exited.")), () => thrown(new Error("It exited."))]) {
      await using world = await open(scripted(says("2 + 2"), says("Hi.")), {
        plugins: [cells, executing({ execute })],
      });
      const { outcome } = await world.session.turn("Go.").result();
      expect(outcome).toMatchObject({ kind: "failed", by: "runtime", code: "code.stopped", text: "2 + 2" });
      expect((outcome as { reason: string }).reason).toContain("It exited.");
    }
  });

  test.each([
    ["nothing", undefined],
    ["invalid progress", { kind: "ran" }],
    ["calls that are not a list", { kind: "called", calls: 7 }],
    ["a call without a position", { kind: "called", calls: [{ tool: "weather", input: {} }] }],
    ["two calls at one position", { kind: "called", calls: [call("0"), call("0")] }],
    ["a sleep for ever", { kind: "called", calls: [], sleeps: [{ at: "0", ms: Infinity }] }],
    ["a call whose input is not JSON", { kind: "called", calls: [{ at: "0", tool: "weather", input: () => 1 }] }],
    ["an end without an output", { kind: "executed" }],
    ["an unknown end", { kind: "executed", output: { state: "fine", parts: [] } }],
    ["parts that cannot be shown", { kind: "executed", output: { state: "done", parts: [{ kind: "text", text: 5 }] } }],
  ])("P5 that answers %s ends the turn as code.stopped", async (_, answer) => {
    const executor = executing({ execute: () => answer as CellProgress });
    await using world = await open(scripted(says("2 + 2")), { tools: [weather], plugins: [cells, executor] });
    const { outcome } = await world.session.turn("Go.").result();
    expect(outcome).toMatchObject({ kind: "failed", by: "runtime", code: "code.stopped" });
  });

  test("P5 that never lets go of what it held does not hold up the session", async () => {
    const traces: string[] = [];
    const executor = executing({ execute: () => done("4", 4), release: () => new Promise(() => {}) });
    await using world = await open(scripted(says("finish"), says("finish")), {
      plugins: [cells, executor],
      telemetry: onEvent(({ name }) => void traces.push(name)),
    });
    for (const words of ["Go.", "Again."])
      expect((await world.session.turn(words).result()).outcome).toMatchObject({ value: 4 });
    expect(traces).toContain("code.release");
  });

  test("P5 that throws a specific error code ends the turn with that code", async () => {
    const executor = executing({
      execute: () => done("4"),
      restore: () => thrown(new RuntimeError("code.engine", { expected: "a", actual: "b" })),
    });
    await using world = await open(scripted(says("2 + 2")), { plugins: [cells, executor] });
    expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "failed", code: "code.engine" });
  });
});

function call(at: string) {
  return { at, tool: "weather", input: {} };
}
function thrown(error: Error): never {
  throw error;
}

// ── What code keeps ─────────────────────────────────────────────────────────────────────────────────────────────────

const KEPT = z.object({ sum: z.number().default(0) });
type AdderState = z.infer<typeof KEPT>;

/** Adds up the numbers that cells consist of: what code keeps is the sum. `call` waits for a tool first. */
class Adder implements CodeExecutor<AdderState> {
  readonly told: string[] = [];
  sum: number | undefined;
  lose = 0;

  restore({ start, isFresh, segments }: CodePast<AdderState>): void {
    this.told.push(`restore ${isFresh ? "fresh" : start.get().sum} ${segments.length}`);
    this.sum = isFresh ? 0 : start.get().sum;
    for (const { segment } of segments) this.#add(segment);
  }
  execute(segment: CellSegment, _context: CodeContext<AdderState>): CellProgress {
    if (this.lose > 0) {
      this.lose--;
      throw new RuntimeError("code.lost", {});
    }
    const { code } = segment.cell;
    this.told.push(`execute ${segment.deliver === undefined ? code : `deliver ${segment.deliver.at}`}`);
    if (code.startsWith("stop")) {
      this.sum = Number.NaN;
      return stopped;
    }
    if (code.startsWith("call") && segment.deliver === undefined) return calling("weather");
    this.#add(segment);
    return done(`${this.sum}`, segment.cell.acceptFinish ? this.sum : undefined);
  }
  #add({ cell: { code }, deliver }: CellSegment): void {
    if (this.sum === undefined) throw new Error("It was not restored.");
    if (!code.startsWith("call") || deliver !== undefined) this.sum += Number(/\d+/.exec(code)?.[0] ?? 0);
  }
  dirty(): boolean {
    return this.sum !== 0;
  }
  snapshot({ segments }: CodePast<AdderState>, { state }: CodeContext<AdderState>): void {
    this.told.push(`snapshot ${segments.length}`);
    state.update(() => ({ sum: this.sum ?? -1 }));
  }
  release(): void {
    this.told.push("release");
    this.sum = undefined;
  }
}

const adding = (adder: Adder) =>
  definePlugin({
    id: "test/adder",
    state: KEPT,
    setup: ({ query }) => ({
      codeExecutor: adder,
      operations: { sum: query({ output: z.number(), run: ({ state }) => state.get().sum }) },
    }),
  });

describe("what code keeps", () => {
  test("P5 is restored at the first cell of each turn, kept once with its commit if it is dirty, and then let go", async () => {
    const adder = new Adder();
    const plugin = adding(adder);
    await using world = await open(scripted(says("1"), says("finish 2"), says("finish 3"), says("Hi.")), {
      plugins: [cells, plugin],
    });
    expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ value: 3 });
    expect((await world.session.turn("On.").result()).outcome).toMatchObject({ value: 6 });
    await expect
      .poll(() => adder.told)
      .toEqual([
        ...["restore 0 0", "execute 1", "execute finish 2", "snapshot 2", "release"],
        ...["restore 3 0", "execute finish 3", "snapshot 1", "release"],
      ]);
    expect(await world.session.query(plugin, "sum")).toBe(6);
  });

  test("P5 is not kept where it is not dirty", async () => {
    const adder = new Adder();
    await using world = await open(scripted(says("finish 0")), { plugins: [cells, adding(adder)] });
    await world.session.turn("Go.").result();
    await expect.poll(() => adder.told).toEqual(["restore 0 0", "execute finish 0", "release"]);
  });

  test("P5 of a cell that was stopped is undone: the next one begins where it had begun", async () => {
    const adder = new Adder();
    await using world = await open(scripted(says("1"), says("stop"), says("finish 2")), {
      plugins: [cells, adding(adder)],
    });
    expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ value: 3 });
    await expect
      .poll(() => adder.told)
      .toEqual([
        ...["restore 0 0", "execute 1", "execute stop"],
        ...["restore 0 1", "execute finish 2", "snapshot 2", "release"],
      ]);
  });

  test("P8 is rebuilt from the turn's beginning and its segments when it is lost, and the turn stops when it is lost many times", async () => {
    const adder = new Adder();
    const plugins = [cells, adding(adder)];
    await using world = await open(scripted(says("1"), says("finish 2"), says("finish 3")), { plugins });
    const turn = world.session.turn("Go.");
    for await (const event of turn) if (event.kind === "text" && event.delta.includes("finish")) adder.lose = 2;
    expect((await turn.result()).outcome).toMatchObject({ value: 3 });
    expect(adder.told.slice(0, 5)).toEqual([
      ...["restore 0 0", "execute 1", "restore 0 1", "restore 0 1", "execute finish 2"],
    ]);
    adder.lose = 1_000;
    expect((await world.session.turn("On.").result()).outcome).toMatchObject({ kind: "failed", code: "code.stopped" });
  });

  test("P5 is kept by a turn that is cancelled while it ends", async () => {
    const adder = new Adder();
    const plugin = adding(adder);
    const isEnding = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const slow = definePlugin({
      id: "test/slow",
      setup: () => ({
        afterTurn: async () => {
          isEnding.resolve();
          await goOn.promise;
        },
      }),
    });
    await using world = await open(scripted(says("1"), says("finish 2")), { plugins: [cells, plugin, slow] });
    const signals: boolean[] = [];
    const snapshot = adder.snapshot.bind(adder);
    adder.snapshot = (past, context) => {
      signals.push(context.signal.aborted);
      snapshot(past, context);
    };
    const turn = world.session.turn("Go.");
    await isEnding.promise;
    await turn.cancel("Enough.");
    goOn.resolve();
    expect((await turn.result()).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
    expect(signals).toEqual([false]);
    expect(await world.session.query(plugin, "sum")).toBe(3);
  });

  test("P5 D2 is reported as lost if a turn resumes without the plugin that ran its code", async () => {
    const processes = lifetimes();
    const isCalled = Promise.withResolvers<void>();
    const hangs = named("weather", () => {
      isCalled.resolve();
      return new Promise(() => {});
    });
    const model = scripted(says("1"), says("call 2"), says("finish 3"));
    const { runtime: first } = await processes.next({ tools: [hangs], model, plugins: [cells, adding(new Adder())] });
    void (await first.session("s")).turn("Go.", { key: "k" }).result();
    await isCalled.promise;
    processes.kill();
    const { runtime } = await processes.next({ tools: [weather], model, plugins: [cells] });
    const session = await runtime.session("s");
    expect((await session.turn("Go.", { key: "k" }).result()).outcome).toMatchObject({ code: "code.unavailable" });
    expect(outline((await session.read()).messages).at(-1)).toContain("before what its code keeps could be saved");
    await runtime.close();
  });

  test("P5 D2 a turn that is resumed elsewhere continues from its recorded segments, on a host without a memory too", async () => {
    const processes = lifetimes();
    const adders = [new Adder(), new Adder()] as const;
    const isCalled = Promise.withResolvers<void>();
    const hangs = named("weather", () => {
      isCalled.resolve();
      return new Promise(() => {});
    });
    const model = scripted(says("1"), says("call 2"), says("finish 3"));
    const host = amnesiac();
    const { runtime: first } = await processes.next({
      host,
      tools: [hangs],
      model,
      plugins: [cells, adding(adders[0])],
    });
    void (await first.session("s")).turn("Go.", { key: "k" }).result();
    await isCalled.promise;
    processes.kill();
    const { runtime } = await processes.next({ host, tools: [weather], model, plugins: [cells, adding(adders[1])] });
    const { outcome } = await (await runtime.session("s")).turn("Go.", { key: "k" }).result();
    expect(outcome).toMatchObject({ kind: "finished", value: 6 });
    await runtime.close();
    await expect
      .poll(() => adders[1].told)
      .toEqual([...["restore 0 2", "execute deliver 0", "execute finish 3", "snapshot 4", "release"]]);
  });
});
