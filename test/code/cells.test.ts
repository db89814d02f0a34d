// Code cells through the public door: what they compute, call and keep.
import { attach, defer, definePlugin, type Plugin, type Runtime, type Store } from "bowline";
import { ask, replaceResult } from "bowline/plugin";
import { code } from "bowline/plugins/code";
import { memory } from "bowline/stores/memory";
import { says, scripted } from "bowline/testing";
import { afterAll, describe, expect, test } from "vitest";
import { eventsOf, only, outline, within } from "../kit/reading.ts";
import { closeSandbox, sharedCode } from "../kit/sandbox.ts";
import { durable, file } from "../kit/stores.ts";
import { type HookPhase, onEvent, onHook } from "../kit/telemetry.ts";
import { answerWait, named, open, running, runningOn } from "../kit/worlds.ts";
import { cells } from "./cells.ts";

const plugins: readonly Plugin[] = [cells, sharedCode];
afterAll(closeSandbox);

/** The value that the turn ends with which runs these cells, one after the other. */
async function valueFrom(codes: readonly string[], options: Parameters<typeof open>[1] = {}): Promise<unknown> {
  await using world = await open(scripted(...codes.map((each) => says(each))), { plugins, ...options });
  const { outcome } = await world.session.turn("Go.").result();
  return outcome.kind === "finished" ? outcome.value : outcome;
}

/** What the model is shown of these cells. */
async function shown(codes: readonly string[], options: Parameters<typeof open>[1] = {}): Promise<readonly string[]> {
  await using world = await open(scripted(...codes.map((each) => says(each)), says("say over")), {
    plugins,
    ...options,
  });
  await world.session.turn("Go.").result();
  return outline((await world.session.read()).messages)
    .filter((line) => line.startsWith("user: "))
    .slice(1);
}

const turn = async (runtime: Runtime, id: string, words = "Go."): Promise<unknown> => {
  const { outcome } = await (await runtime.session(id)).turn(words).result();
  return outcome.kind === "finished" ? outcome.value : outcome;
};

describe("what code keeps", () => {
  const MAKES = [
    "let n = 0; const count = () => ++n;",
    "class Stack<T> { #items: T[] = []; push(item: T) { this.#items.push(item); return this.#items.length; } }",
    "const stack = new Stack<number>(); stack.push(1);",
    "function* naturals() { let i = 0; while (true) yield i++; }",
    "const numbers = naturals(); numbers.next();",
    "let settle: (value: number) => void; const later = new Promise<number>((resolve) => { settle = resolve; });",
    "const heard: number[] = []; later.then((value) => heard.push(value));",
  ];
  const USES =
    "settle(count()); await later; finish([count(), stack.push(2), numbers.next().value, heard, stack instanceof Stack])";

  test("P8 variables, closures, classes, generators and pending promises are there in the next cell", async () => {
    expect(await valueFrom([...MAKES, USES])).toEqual([2, 2, 1, [1], true]);
  });

  test("P8 S2 they exist in another process, and each fork continues from the point where it was made", async () => {
    const path = file();
    const first = await runningOn(path, { model: scripted(says(`${MAKES.join("\n")}\nfinish(0)`)), plugins });
    await turn(first, "s");
    await first.close();
    const model = scripted(says(USES), says("finish(count())"), says("finish(count())"), says("finish(count())"));
    const second = await runningOn(path, { model, plugins });
    expect(await turn(second, "s")).toEqual([2, 2, 1, [1], true]);
    const fork = await (await second.session("s")).fork();
    expect(await turn(second, "s")).toBe(3);
    expect(await turn(second, fork.id)).toBe(3);
    expect(await turn(second, "s")).toBe(4);
    await second.close();
  });

  test("P8 every kind of name may be declared again, in a later cell", async () => {
    const declared = [
      "let a = 1",
      "const b = 1",
      "var c = 1",
      "function d() { return 1 }",
      "class E { v = 1 }",
      "const { f } = { f: 1 }",
    ];
    const again = declared.map((each) => each.replaceAll("1", "2"));
    expect(await valueFrom([declared.join(";\n"), again.join(";\n"), "finish([a, b, c, d(), new E().v, f])"])).toEqual([
      2, 2, 2, 2, 2, 2,
    ]);
  });

  test("P5 it is stored once with the commit, and not at all by a turn without cells", async () => {
    const store = memory();
    const model = scripted(says("let n = 1;"), says("n++; finish(n)"), says("say Hi."), says("finish(n)"));
    await using world = await open(model, { store, plugins });
    await world.session.turn("Go.").result();
    const kept = await keptIn(store, world.session.id);
    expect(kept).toMatchObject({ state: { cells: 2, image: { deltas: 1 } } });
    await world.session.turn("Talk.").result();
    expect(await keptIn(store, world.session.id)).toEqual(kept);
    expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ value: 2 });
  });

  test("S2 a session can be deleted as soon as a turn with cells has ended", async () => {
    await using world = await open(scripted(says("finish(1)")), { plugins });
    await world.session.turn("Go.").result();
    await world.runtime.sessions.delete(world.session.id);
  });

  test("P8 many turns keep a short chain of changes, and what they made", async () => {
    const store = memory();
    const turns = 20;
    const codes = Array.from(
      { length: turns },
      (_, nth) => `globalThis.sum = (globalThis.sum ?? 0) + ${nth}; finish(sum)`,
    );
    await using world = await open(scripted(...codes.map((each) => says(each))), { store, plugins });
    let last: unknown;
    for (let nth = 0; nth < turns; nth++) last = (await world.session.turn("Go.").result()).outcome;
    expect(last).toMatchObject({ value: (turns * (turns - 1)) / 2 });
    const { blobs, state } = await keptIn(store, world.session.id);
    expect(Object.keys(blobs ?? {}).length).toBeLessThanOrEqual(16);
    expect(state).toMatchObject({ cells: turns, image: { deltas: Object.keys(blobs ?? {}).length } });
  });

  test("P8 another task begins with nothing, and a compaction keeps what there is", async () => {
    expect(await valueFrom(["let n = 1;", "task Count.", "finish(typeof n)"])).toBe("undefined");
    // A turn that ends with the new task leaves nothing behind, either.
    const model = scripted(
      says("let n = 1; finish(n)"),
      says("task Count."),
      says("say Done."),
      says("finish(typeof n)"),
    );
    await using world = await open(model, { plugins });
    for (const words of ["Go.", "On."]) await world.session.turn(words).result();
    expect((await world.session.turn("Now?").result()).outcome).toMatchObject({ value: "undefined" });

    const compactor = definePlugin({
      id: "test/compactor",
      setup: () => ({ compact: () => ({ seed: [{ role: "user", parts: [{ kind: "text", text: "So far: 1." }] }] }) }),
    });
    const compacted = scripted(says("let n = 1; finish(n)"), says("finish(n)"));
    await using other = await open(compacted, { plugins: [...plugins, compactor] });
    await other.session.turn("Go.").result();
    await other.session.compact();
    expect((await other.session.turn("On.").result()).outcome).toMatchObject({ value: 1 });
  });

  test("P8 it is forgotten when that is asked for; in a turn that waits, from its commit on", async () => {
    const careful = definePlugin({ id: "test/careful", setup: () => ({ beforeToolCall: () => ask("May it?") }) });
    const model = scripted(
      says("let n = 1; finish(n)"),
      says("finish(typeof n)"),
      says("let m = 5;"),
      says("await tools.look({}); finish(m)"),
      says("finish(typeof m)"),
    );
    await using world = await open(model, {
      tools: [named("look")],
      plugins: [...plugins, careful],
      store: durable(memory()),
    });
    const { session, runtime } = world;
    await session.turn("Go.").result();
    await session.command(code, "reset");
    expect((await session.turn("Now?").result()).outcome).toMatchObject({ value: "undefined" });

    const waiting = session.turn("Wait.");
    let asked = "";
    for await (const event of waiting)
      if (event.kind === "waiting") {
        asked = event.wait;
        await session.command(code, "reset");
        await answerWait(runtime, asked, { approved: true });
      }
    expect((await waiting.result()).outcome).toMatchObject({ value: 5 });
    expect((await session.turn("Now?").result()).outcome).toMatchObject({ value: "undefined" });
  });

  test("P8 S13 a heap of another engine is refused by name, the session continues, and forgetting it helps", async () => {
    const store = memory();
    const model = scripted(
      says("let n = 1; finish(n)"),
      says("finish(n)"),
      says("finish(n)"),
      says("finish(typeof n)"),
    );
    await using world = await open(model, { store, plugins });
    const { session } = world;
    await session.turn("Go.").result();
    const kept = await keptIn(store, session.id);
    const image = { ...(kept.state as { image: object }).image, engine: "0123456789abcdef" };
    await store.apply({
      sessionId: session.id,
      operation: "op-1",
      at: Date.now(),
      by: "configure",
      plugins: {
        "bowline/code": { ...kept, revision: kept.revision + 1, state: { ...(kept.state as object), image } },
      },
    });
    const other = await running({ model, store, plugins });
    const { outcome } = await (await other.session(session.id)).turn("Now?").result();
    expect(outcome).toMatchObject({ kind: "failed", by: "runtime", code: "code.engine" });
    expect((outcome as { reason: string }).reason).toContain("0123456789ab");
    await (await other.session(session.id)).command(code, "reset");
    // The first of its cells finds no `n`, is told so, and the second one looks.
    expect(await turn(other, session.id)).toBe("undefined");
  });
});

async function keptIn(store: Store, session: string) {
  const kept = (await store.load(session as never))?.plugins["bowline/code"];
  if (kept === undefined) throw new Error("Nothing is kept.");
  return kept;
}

// ── Calls ───────────────────────────────────────────────────────────────────────────────────────────────────────────

describe("calls from code", () => {
  const look = named("look", ({ n }) => n as number);

  test("P9 Promise.all, allSettled, race and any, pools and sleep do what they do elsewhere", async () => {
    const late = named("late", async ({ n, ms }) => {
      await new Promise((resolve) => setTimeout(resolve, ms as number));
      if ((n as number) < 0) throw new Error("No.");
      return n as number;
    });
    const cell = `
const all = await Promise.all([1, 2, 3].map((n) => tools.late({ n, ms: 9 - n })));
const settled = (await Promise.allSettled([tools.late({ n: -1, ms: 1 }), tools.late({ n: 4, ms: 1 })])).map((each) => each.status);
const race = await Promise.race([tools.late({ n: 5, ms: 100 }), tools.late({ n: 6, ms: 1 }), sleep(5_000)]);
const any = await Promise.any([tools.late({ n: -1, ms: 1 }), tools.late({ n: 7, ms: 5 })]);
const before = Date.now(); await sleep(40); const slept = Date.now() - before >= 40;
async function pool(todo: number[], size: number) {
  let open = 0, most = 0;
  const out: number[] = [];
  const worker = async () => {
    for (let n = todo.shift(); n !== undefined; n = todo.shift()) {
      most = Math.max(most, ++open);
      out.push(await tools.late({ n, ms: 1 }));
      open--;
    }
  };
  await Promise.all(Array.from({ length: size }, worker));
  return [most, out.sort((a, b) => a - b)];
}
finish([all, settled, race, any, slept, await pool([1, 2, 3, 4, 5, 6], 2)])`;
    const value = await valueFrom([cell], { tools: [late] });
    expect(value).toEqual([[1, 2, 3], ["rejected", "fulfilled"], 6, 7, true, [2, [1, 2, 3, 4, 5, 6]]]);
  });

  test("P9 T6 they run side by side, up to the limit", async () => {
    let running = 0;
    let most = 0;
    const busy = named("busy", async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running--;
      return 1;
    });
    const cell = "finish((await Promise.all(Array.from({ length: 12 }, () => tools.busy({})))).length)";
    expect(await valueFrom([cell], { tools: [busy], limits: { parallelCallsMax: 5 } })).toBe(12);
    expect(most).toBe(5);
  });

  test("P9 hooks see each call, and the code is given what they made of its result", async () => {
    const seen: string[] = [];
    const spy = definePlugin({
      id: "test/spy",
      setup: () => ({
        beforeToolCall: ({ call }) => void seen.push(`before ${call.name}`),
        afterToolCall: ({ call, output }) => {
          seen.push(`after ${call.name}`);
          return output.kind === "value" ? replaceResult((output.value as number) * 10) : undefined;
        },
      }),
    });
    const value = await valueFrom(["finish(await Promise.all([1, 2].map((n) => tools.look({ n }))))"], {
      tools: [look],
      plugins: [...plugins, spy],
    });
    expect(value).toEqual([10, 20]);
    expect(seen.toSorted()).toEqual(["after look", "after look", "before look", "before look"]);
  });

  test("P9 T13 one start and one end is shown of each, under the name of its effect; prints are shown at once", async () => {
    const model = scripted(
      says("print('one'); await tools.look({ n: 1 }); print('two'); finish(await tools.look({ n: 2 }))"),
    );
    await using world = await open(model, { tools: [look], plugins });
    const events = await eventsOf(world.session.turn("Go."));
    for (const kind of ["toolStarted", "toolEnded"] as const)
      expect(only(events, kind).map(({ key }) => key?.effect)).toEqual(["r1.exec.call.0", "r1.exec.call.1"]);
    const order = events.flatMap((event) =>
      event.kind === "plugin" && event.name === "printed"
        ? [(event.payload as { text: string }).text.trim()]
        : event.kind === "toolStarted"
          ? ["call"]
          : [],
    );
    expect(order).toEqual(["one", "call", "two", "call"]);
  });

  test("P9 T7 a timeout, a failure, wrong arguments and an unknown tool are errors with codes, at the line of the call", async () => {
    const hangs = named("hangs", () => new Promise(() => {}), { timeoutMs: 20 });
    const fails = named("fails", () => {
      throw new Error("No luck.");
    });
    const cell = `
const codes = [];
for (const name of ["hangs", "fails", "gone"]) {
  try { await tools[name]({}); } catch (error) { codes.push([error.name, error.code, error instanceof Error]); }
}
finish(codes)`;
    expect(await valueFrom([cell], { tools: [hangs, fails] })).toEqual([
      ["ToolError", "tool.timeout", true],
      ["ToolError", "tool.failed", true],
      ["ToolError", "tool.unknown", true],
    ]);
    const [words] = await shown(
      ["const a = 1;\nconst b = async () => {\n  return await tools.fails({});\n};\nawait b();"],
      {
        tools: [fails],
      },
    );
    expect(words).toContain("fails failed: No luck. (line 3, column 22)");
    expect(words).not.toMatch(/prelude|worker|file:/);
  });

  test("P9 T7 T14 a retry is not seen by the code, and has the same idempotency key", async () => {
    const keys: string[] = [];
    const flaky = named(
      "flaky",
      (_, { idempotencyKey }) => {
        keys.push(idempotencyKey);
        if (keys.length < 3) throw new Error("Not yet.");
        return "ok";
      },
      { retry: { policy: "idempotent", attempts: 3, baseMs: 1 } },
    );
    expect(await valueFrom(["finish(await tools.flaky({}))"], { tools: [flaky] })).toBe("ok");
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
  });

  test("P9 calls beyond the limit of a round are refused, and the code may catch that", async () => {
    const cell =
      "const all = await Promise.allSettled(Array.from({ length: 4 }, (_, n) => tools.look({ n }))); finish(all.map((each) => each.reason?.code ?? each.value))";
    expect(await valueFrom([cell], { tools: [look], limits: { callsPerRoundMax: 2 } })).toEqual([
      0,
      1,
      "tool.too-many",
      "tool.too-many",
    ]);
  });

  test("P9 T9 a cell that needs an approval parks the turn in the middle of a line; another process resumes there", async () => {
    const path = file();
    const careful = definePlugin({
      id: "test/careful",
      setup: () => ({ beforeToolCall: ({ call }) => (call.name === "pay" ? ask("It moves money.") : undefined) }),
    });
    let paid = 0;
    const options = {
      tools: [look, named("pay", () => ++paid)],
      plugins: [...plugins, careful],
      limits: { parkAfterMs: 1 },
    };
    const cell =
      "let n = 40; const [a, b] = await Promise.all([tools.look({ n: 1 }), tools.pay({ sum: n })]); finish(n + a + b)";
    const isParked = Promise.withResolvers<void>();
    const trace = ({ name }: { readonly name: string }): void => {
      if (name === "turn.parked") isParked.resolve();
    };
    const first = await runningOn(path, { ...options, telemetry: onEvent(trace), model: scripted(says(cell)) });
    const session = await first.session("s");
    const asked = session.turn("Pay.", { key: "k" });
    for await (const event of asked) if (event.kind === "waiting") break;
    await within(isParked.promise, 5_000);
    await first.close();

    const second = await runningOn(path, { ...options, model: scripted(says("finish(n)")) });
    const [wait] = await second.waits.list();
    expect(wait).toMatchObject({ tool: "pay", arguments: { sum: 40 }, reason: "It moves money." });
    await second.waits.resolve(wait!.key, { approved: true });
    const { outcome } = await (await second.session("s")).turn("Pay.", { key: "k" }).result();
    expect(outcome).toMatchObject({ kind: "finished", value: 42 });
    expect(paid).toBe(1);
    expect(await turn(second, "s", "And now?")).toBe(40);
    await second.close();
  });

  test("P9 S4 an observer in another process sees each cell begin and end once", async () => {
    const path = file();
    const options = { tools: [look, named("later", () => defer())], plugins, limits: { parkAfterMs: 1 } };
    const model = scripted(says("await tools.look({ n: 1 }); finish(await tools.later({}))"));
    const first = await runningOn(path, { ...options, model });
    for await (const event of (await first.session("s")).turn("Go.", { key: "k" })) if (event.kind === "waiting") break;
    await first.close();

    const second = await runningOn(path, { ...options, model: scripted() });
    const [wait] = await second.waits.list();
    await second.waits.resolve(wait!.key, { value: 7 });
    const events = await eventsOf((await second.session("s")).turn("Go.", { key: "k" }));
    expect(only(events, "toolStarted").map(({ call }) => call.name)).toEqual(["look", "later"]);
    expect(only(events, "toolEnded").map(({ name }) => name)).toEqual(["look", "later"]);
    await second.close();
  });

  test("P9 one that nobody awaits is made all the same, also before a finish, and what comes after that is refused", async () => {
    const made: unknown[] = [];
    const save = named("save", ({ n }) => void made.push(n));
    const cell = "[1, 2].forEach((n) => tools.save({ n })); finish('saved'); tools.save({ n: 3 }).catch(() => {});";
    expect(await valueFrom([cell], { tools: [save] })).toBe("saved");
    expect(made).toEqual([1, 2]);
    expect(await valueFrom(["tools.save({ n: 4 });", "finish('on')"], { tools: [save] })).toBe("on");
    expect(made).toEqual([1, 2, 4]);
  });

  test("P9 T9 a denied one throws in the code", async () => {
    const careful = definePlugin({ id: "test/careful", setup: () => ({ beforeToolCall: () => ask("May it?") }) });
    const model = scripted(says("try { await tools.look({}) } catch (error) { finish([error.code, error.message]) }"));
    await using world = await open(model, { tools: [look], plugins: [...plugins, careful] });
    const going = world.session.turn("Go.");
    for await (const event of going)
      if (event.kind === "waiting")
        await answerWait(world.runtime, event.wait, { approved: false, reason: "Too dear." });
    expect((await going.result()).outcome).toMatchObject({
      value: ["tool.denied", expect.stringContaining("Too dear.")],
    });
  });

  test("P9 T10 attachments in their results are shown with what the cell printed", async () => {
    const draw = named("draw", () => attach(new Uint8Array([1, 2, 3]), { mediaType: "image/png" }));
    await using world = await open(scripted(says("await tools.draw({}); print('drawn')"), says("say Seen.")), {
      tools: [draw],
      plugins,
    });
    await world.session.turn("Go.").result();
    const parts = (await world.session.read()).messages.at(-2)?.parts;
    expect(parts).toMatchObject([
      { kind: "text", text: "drawn" },
      { kind: "attachment", mediaType: "image/png", bytes: 3 },
    ]);
  });

  test("P9 T11 a tool that finishes the turn finishes it when the cell has ended", async () => {
    const { finish } = await import("bowline");
    const done = named("done", () => finish(9));
    expect(await valueFrom(["await tools.done({}); let n = 1;"], { tools: [done] })).toBe(9);
  });
});

// ── Bounds ──────────────────────────────────────────────────────────────────────────────────────────────────────────

describe("bounds", () => {
  test.each([
    ["steps", "for (;;) {}", { stepsMax: 50 }, "it computed for too long"],
    ["time", "for (;;) {}", { segmentMs: 50 }, "it computed for too long without waiting"],
    [
      "memory",
      "const all = []; for (;;) all.push(new Array(1_000).fill(1))",
      { memoryBytesMax: 4_194_304 },
      "too much memory",
    ],
    ["output", "for (;;) print('x'.repeat(1_000))", { outputBytesMax: 10_000 }, "printed or handed over too much"],
    ["calls", "for (;;) tools.look({}).catch(() => {})", { callsMax: 10 }, "too many calls"],
  ])(
    "P8 %s: code that cannot catch it is stopped, undone and told, and the next cell runs",
    async (_, bad, bounds, words) => {
      const caught = `n = 2; try { ${bad} } catch { n = 3 } finally { n = 4 }`;
      const model = scripted(says("let n = 1;"), says(caught), says("finish(n)"));
      await using world = await open(model, { tools: [named("look")], plugins: [cells, code(bounds)] });
      expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ value: 1 });
      const said = outline((await world.session.read()).messages).join("\n");
      expect(said).toContain(words);
      expect(said).toContain("All that this cell changed is undone");
    },
  );

  test("P8 native code that never ends stops its thread too; the code of other sessions there continues unharmed", async () => {
    const isHeld = Promise.withResolvers<void>();
    const hold = named("hold", () => isHeld.promise.then(() => 1));
    const model = (codes: readonly string[]) => scripted(...codes.map((each) => says(each)));
    const bounds = { workers: 1, segmentMs: 100, graceMs: 100 };
    await using world = await open(model(["let n = 41;", "n += await tools.hold({}); finish(n)"]), {
      tools: [hold],
      plugins: [cells, code(bounds)],
      models: () => model(["let n = 7;", '"a".repeat(1e6).indexOf("a".repeat(5e5) + "b")', "finish(n)"]),
    });
    const harmed = await world.runtime.session("native");
    await harmed.configure({ model: "native/test" });
    const innocent = world.session.turn("Go.");
    for await (const event of innocent) if (event.kind === "toolStarted") break;
    expect((await harmed.turn("Go.").result()).outcome).toMatchObject({ value: 7 });
    isHeld.resolve();
    expect((await within(innocent.result(), 5_000)).outcome).toMatchObject({ value: 42 });
  });

  test("P8 memory that cannot be had and a stack that overflows are errors that code can catch", async () => {
    const cell = `
const names = [];
try { (function f() { f(); })(); } catch (error) { names.push(error.name); }
try { "x".repeat(2 ** 29).repeat(2 ** 9); } catch (error) { names.push(error.name); }
finish(names)`;
    expect(await valueFrom([cell])).toEqual([expect.stringMatching("Error"), expect.stringMatching("Error")]);
  });

  test("P8 a cancel ends code that computes, and its thread is free at once", async () => {
    const ENDLESS = "await tools.ping({}); for (;;) {}";
    const isComputing = Promise.withResolvers<void>();
    let called = 0;
    const probe = ({ kind, hook }: HookPhase): void => {
      // Restored, begun, and given the result of its call.
      if (kind === "begin" && hook === "codeExecutor" && ++called === 3) isComputing.resolve();
    };
    await using world = await open(scripted(says(ENDLESS), says("finish(typeof n)")), {
      telemetry: onHook(probe),
      tools: [named("ping")],
      plugins: [cells, code({ workers: 1, stepsMax: 1_000_000, segmentMs: 100_000 })],
    });
    const going = world.session.turn("Go.");
    await isComputing.promise;
    await going.cancel("Enough.");
    expect((await within(going.result(), 5_000)).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
    expect((await within(world.session.turn("And?").result(), 5_000)).outcome).toMatchObject({ value: "undefined" });
  }, 20_000);
});

// ── Bad code ────────────────────────────────────────────────────────────────────────────────────────────────────────

describe("code that is wrong", () => {
  test("P8 is refused before anything of it runs, with the place and what to do", async () => {
    const [syntax, names, imports, language] = await shown([
      "let n = 1;\nn = = 2;",
      "const print = 1;",
      'import fs from "node:fs";',
      "finish",
    ]);
    expect(syntax).toMatch(/The code was not run:\nline 2, column 5: /);
    expect(names).toMatch(/line 1, column 7: .*print/);
    expect(imports).toMatch(/line 1, column 1: .*import/);
    expect(language).toBeDefined();
    expect(await valueFrom(["let n = 1;", "n = 2; enum A { B }", "finish(n)"])).toBe(1);
  });

  test("P8 that is nested without end is refused, and costs neither the turn nor what was made before", async () => {
    const brackets = "[".repeat(20_000) + "]".repeat(20_000);
    const signs = `${"!".repeat(20_000)}0`; // Not found by counting brackets: it costs its thread.
    expect(await valueFrom(["let a = 1;", brackets, signs, "finish(a)"])).toBe(1);
    const [first, second] = await shown([brackets, signs]);
    for (const words of [first, second]) expect(words).toContain("nested too deeply");
  });

  test("P8 that throws keeps its earlier changes, and reports the line", async () => {
    const [words] = await shown(["let n = 1;\nn = 2;\nnull.x;", "say over"]);
    expect(words).toMatch(/TypeError: .* \(line 3, column \d+\)/);
    expect(await valueFrom(["let n = 1; n = 2; throw new Error('No.')", "finish(n)"])).toBe(2);
    expect(await shown(["throw { code: 7 }", "throw 'text'", "throw undefined"])).toEqual([
      expect.stringContaining("code: 7"),
      expect.stringContaining("text"),
      expect.stringContaining("undefined"),
    ]);
  });

  test("P8 that waits for an impossible event has stalled; unhandled rejections are reported", async () => {
    const [stalled, unheard] = await shown(["await new Promise(() => {})", "Promise.reject(new Error('Lost.')); 1"]);
    expect(stalled).toContain("waits for a promise that nothing will ever settle");
    expect(unheard).toContain("Unhandled rejection: Error: Lost.");
  });

  test("P8 sees no clock, no chance and no world but its own", async () => {
    const cell =
      "finish([Date.now(), Math.random(), Object.keys(globalThis).length, typeof process, typeof require, typeof fetch])";
    const [first, second] = (await Promise.all([valueFrom([cell]), valueFrom([cell])])) as [unknown[], unknown[]];
    expect(first[0]).toBeLessThanOrEqual(Date.now());
    expect(first[1]).not.toBe(second[1]); // Seeded by the turn.
    expect(first.slice(3)).toEqual(["undefined", "undefined", "undefined"]);
  });
});
