// What works with native calls works in code mode: each story is told once and played on both protocols. They look at
// outcomes, effects and events; what the messages of a protocol look like is tested with it.
import {
  ask,
  attach,
  definePlugin,
  deny,
  fail,
  finish,
  type Part,
  type Plugin,
  type Provider,
  question,
  type RuntimeOptions,
  replaceArgs,
  replaceResult,
  retryable,
  shortCircuit,
  switchFrame,
} from "bowline";
import { approvals } from "bowline/plugins/approvals";
import { recited, says, scripted } from "bowline/testing";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { codeOf, eventsOf, only, seen, within } from "../kit/reading.ts";
import { file } from "../kit/stores.ts";
import { answerWait, held, named, open, runningOn } from "../kit/worlds.ts";
import { closeSandbox, endsIn, heard, PROTOCOLS, startsIn } from "./protocols.ts";

afterAll(closeSandbox);

type Options = Partial<Omit<RuntimeOptions, "model" | "models">>;

describe.each(PROTOCOLS)("$name", ({ plugins, acts, insists }) => {
  const opened = (model: Provider, { plugins: more = [], ...options }: Options = {}) =>
    open(model, { ...options, plugins: [...plugins, ...more] });
  const gate = (id: string, parts: object): Plugin => definePlugin({ id, setup: () => parts as never });
  /** A person is asked about every payment. */
  const careful = (waitMs = 60_000) =>
    gate("test/careful", {
      beforeToolCall: ({ call }: { call: { name: string } }) =>
        call.name === "pay" ? ask("It moves money.", { waitMs }) : undefined,
    });

  // ── Calls ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  test("P7 T6 T13 calls of one reply run beside each other, and each has one beginning and one end", async () => {
    const [a, b] = [held("a", "first"), held("b", "second")];
    const model = scripted(acts("a", "b"), says("Done."));
    await using world = await opened(model, { tools: [a.tool, b.tool] });
    const turn = world.session.turn("Go.");
    const events = eventsOf(turn);
    await within(Promise.all([a.began(), b.began()]));
    b.release();
    a.release();
    expect(startsIn(await events)).toEqual(["a", "b"]);
    expect(endsIn(await events)).toEqual(["a ok", "b ok"]);
    expect((await turn.result()).outcome).toMatchObject({ kind: "answered", text: "Done." });
    expect(heard(model.requests[1])).toMatch(/first.*second/s);
  });

  test("P7 T6 as many calls run at once as may, and a serial tool runs alone", async () => {
    let running = 0;
    const most: { [name: string]: number } = {};
    const tool = (name: string, more = {}) =>
      named(
        name,
        async () => {
          most[name] = Math.max(most[name] ?? 0, ++running);
          await new Promise((resolve) => setImmediate(resolve));
          running--;
          return name;
        },
        more,
      );
    const model = scripted(acts("p", "p", "p", "s", "p"), says("Done."));
    await using world = await opened(model, {
      tools: [tool("p"), tool("s", { isSerial: true })],
      limits: { parallelCallsMax: 2 },
    });
    await world.session.turn("Go.").result();
    expect(most).toEqual({ p: 2, s: 1 });
  });

  test("P7 T7 T14 a tool that fails for a while is tried again under one key, and is one call to all who watch", async () => {
    const keys: string[] = [];
    const flaky = named(
      "flaky",
      (_, { idempotencyKey }) => {
        keys.push(idempotencyKey);
        if (keys.length < 3) throw retryable(new Error("Not yet."));
        return "At last.";
      },
      { retry: { policy: "safe", attempts: 3, baseMs: 1, maxMs: 1 } },
    );
    const model = scripted(acts("flaky"), says("Done."));
    await using world = await opened(model, { tools: [flaky] });
    const events = await eventsOf(world.session.turn("Go."));
    expect([keys.length, new Set(keys).size]).toEqual([3, 1]);
    expect([startsIn(events), endsIn(events)]).toEqual([["flaky"], ["flaky ok"]]);
    expect(heard(model.requests[1])).toContain("At last.");
  });

  test("P7 T7 a tool that takes too long is told by its signal, and costs its call and nothing else", async () => {
    let isTold = false;
    const slow = named(
      "slow",
      (_, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            isTold = true;
            resolve("Too late.");
          });
        }),
      { timeoutMs: 20 },
    );
    const model = scripted(acts("slow", "quick"), says("Done."));
    await using world = await opened(model, { tools: [slow, named("quick")] });
    const turn = world.session.turn("Go.");
    expect(endsIn(await within(eventsOf(turn)))).toEqual(["quick ok", "slow failed"]);
    expect(heard(model.requests[1])).toMatch(/tool\.timeout.*quick!/s);
    expect(isTold).toBe(true);
    expect((await turn.result()).outcome.kind).toBe("answered");
  });

  test("P7 T5 wrong arguments do not reach a tool, and the model is told where they are wrong", async () => {
    const add = named("add", () => "ran", { input: z.object({ n: z.number() }) as never });
    const model = scripted(acts(["add", { n: "two" }], ["add", { n: 2 }]), says("Done."));
    await using world = await opened(model, { tools: [add] });
    expect(endsIn(await eventsOf(world.session.turn("Go.")))).toEqual(["add failed", "add ok"]);
    expect(heard(model.requests[1])).toMatch(/tool\.arguments.*\bn\b/);
  });

  test("P7 T5 a tool that is not there is told, and the turn goes on", async () => {
    const model = scripted(insists("nowhere"), acts("here"), says("Done."));
    await using world = await opened(model, { tools: [named("here")] });
    const turn = world.session.turn("Go.");
    expect(endsIn(await eventsOf(turn))).toContain("here ok");
    expect(heard(model.requests[1])).toContain("nowhere");
    expect((await turn.result()).outcome.kind).toBe("answered");
  });

  test("P7 K10 hooks deny, answer, change and replace: the model has what they made of its calls", async () => {
    const ran: unknown[] = [];
    const see = (name: string) =>
      named(name, (input) => {
        ran.push([name, input]);
        return `${name}!`;
      });
    const hooks = gate("test/hooks", {
      beforeToolCall: ({ call: { name } }: { call: { name: string } }) =>
        ({
          denied: deny("Not on a Sunday."),
          known: shortCircuit("It is known."),
          changed: replaceArgs({ of: "the hook" }),
        })[name],
      afterToolCall: ({ call: { name } }: { call: { name: string } }) =>
        name === "secret" ? replaceResult("[removed]") : undefined,
    });
    const names = ["denied", "known", "changed", "secret"];
    const model = scripted(acts(...names), says("Done."));
    await using world = await opened(model, { tools: names.map(see), plugins: [hooks] });
    const events = await eventsOf(world.session.turn("Go."));
    expect(endsIn(events)).toEqual(["changed ok", "denied denied", "known ok", "secret ok"]);
    expect(ran.sort()).toEqual([
      ["changed", { of: "the hook" }],
      ["secret", {}],
    ]);
    expect(heard(model.requests[1])).toMatch(/Not on a Sunday\..*It is known\..*changed!.*\[removed\]/s);
  });

  test("P7 T10 what a tool attaches is shown to the model", async () => {
    const draw = named("draw", () => ["A cat:", attach(new Uint8Array([1, 2, 3]), { mediaType: "image/png" })]);
    const model = scripted(acts("draw"), says("Nice."));
    await using world = await opened(model, { tools: [draw] });
    await world.session.turn("Go.").result();
    const parts = model.requests[1]?.messages.flatMap((message) =>
      message.parts.flatMap((part): readonly Part[] => (part.kind === "toolResult" ? part.parts : [part])),
    );
    expect(parts).toContainEqual(expect.objectContaining({ kind: "attachment", mediaType: "image/png", bytes: 3 }));
  });

  test("P7 T11 a tool finishes the turn with a value", async () => {
    const tool = named("end", () => finish({ answer: 42 }));
    await using world = await opened(scripted(acts("end", "other")), { tools: [tool, named("other")] });
    const { outcome } = await world.session.turn("Go.").result();
    expect(outcome).toEqual({ kind: "finished", by: "tool", value: { answer: 42 } });
  });

  test("P7 T11 a tool fails the turn under its own code", async () => {
    const tool = named("end", () => fail("acme.closed", "We are closed."));
    await using world = await opened(scripted(acts("end")), { tools: [tool] });
    const { outcome } = await world.session.turn("Go.").result();
    expect(outcome).toMatchObject({ kind: "failed", by: "tool", code: "acme.closed" });
  });

  test("P7 T11 S8 a tool goes on in a fresh frame, where the task is all that the model knows", async () => {
    const tool = named("move", () => switchFrame("Count the sheep.", { from: 3 }));
    const model = scripted(acts("move"), says("Four."));
    await using world = await opened(model, { tools: [tool] });
    const { outcome } = await world.session.turn("Go.").result();
    expect(outcome).toMatchObject({ kind: "answered", text: "Four." });
    expect(heard(model.requests[1])).toMatch(/^Count the sheep\.\n\n\{"from":3\}/);
    expect(heard(model.requests[1])).not.toContain("Go.");
    expect((await world.session.read()).frame).toBeDefined();
  });

  // ── Somebody is asked ─────────────────────────────────────────────────────────────────────────────────────────────

  /** A bank that keeps its books. */
  function bank() {
    const paid: unknown[] = [];
    const pay = named(
      "pay",
      (input) => {
        paid.push((input as { eur: number }).eur);
        return `Paid ${(input as { eur: number }).eur}.`;
      },
      { input: z.object({ eur: z.number() }) as never },
    );
    return { paid, pay };
  }

  test.each([
    ["approved", { approved: true }, [5], "pay ok", "Paid 5."],
    ["approved with other arguments", { approved: true, args: { eur: 3 } }, [3], "pay ok", "Paid 3."],
    ["denied", { approved: false, reason: "Too much." }, [], "pay denied", "Too much."],
  ] as const)("P7 T9 a call that somebody is asked about and that is %s", async (_, answer, booked, ended, told) => {
    const { paid, pay } = bank();
    const model = scripted(acts(["pay", { eur: 5 }], "look"), says("Done."));
    await using world = await opened(model, { tools: [pay, named("look")], plugins: [careful()] });
    const turn = world.session.turn("Go.");
    const events = eventsOf(turn);
    const waiting = await seen(turn, "waiting");
    expect(waiting).toMatchObject({ wants: "approval", reason: "It moves money.", call: { input: { eur: 5 } } });
    expect(paid).toEqual([]);
    await answerWait(world.runtime, waiting.wait, answer);
    expect(endsIn(await within(events))).toEqual(["look ok", ended]);
    expect(only(await events, "resolved")).toMatchObject([{ how: "answered" }]);
    expect(paid).toEqual(booked);
    expect(heard(model.requests[1])).toContain(told);
    expect((await turn.result()).outcome).toMatchObject({ kind: "answered", text: "Done." });
  });

  test("P7 T9 a call that nobody answers in time is not made, and the turn goes on", async () => {
    const { paid, pay } = bank();
    const model = scripted(acts(["pay", { eur: 5 }]), says("Done."));
    await using world = await opened(model, { tools: [pay], plugins: [careful(20)] });
    const turn = world.session.turn("Go.");
    const events = await within(eventsOf(turn));
    expect(only(events, "resolved")).toMatchObject([{ how: "timeout" }]);
    expect([paid, endsIn(events)]).toEqual([[], ["pay denied"]]);
    expect((await turn.result()).outcome.kind).toBe("answered");
  });

  test("P7 T9 D4 all processes exit while somebody is asked; another answers, and the next goes on in the middle", async () => {
    const { paid, pay } = bank();
    const looked: string[] = [];
    const look = named("look", (_, { idempotencyKey }) => {
      looked.push(idempotencyKey);
      return "seen";
    });
    const path = file();
    const model = recited(acts(["pay", { eur: 5 }], "look"), says("Done."));
    const app = { model, tools: [pay, look], plugins: [...plugins, careful()], limits: { parkAfterMs: 10 } };
    const one = await runningOn(path, app);
    const turn = (await one.session("s")).turn("Go.", { key: "go" });
    turn.result().catch(() => {});
    await seen(turn, "waiting");
    await one.close();

    const two = await runningOn(path, { model: scripted(), recover: "manual" });
    const [wait] = await two.waits.list();
    expect(wait).toMatchObject({ tool: "pay", arguments: { eur: 5 } });
    expect(await two.waits.resolve(wait!, { approved: true }, { by: "ada" })).toBe("accepted");
    await two.close();

    const three = await runningOn(path, app);
    const { outcome } = await within((await three.session("s")).turn("Go.", { key: "go" }).result(), 5_000);
    expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
    expect([paid, looked.length]).toEqual([[5], 1]);
    expect(await three.waits.list()).toEqual([]);
    await three.close();
  });

  test("P7 T9 a tool asks a person itself, and has the answer as its result", async () => {
    const size = named("size", () => question(z.enum(["S", "M", "L"]), { text: "Which size?" }));
    const model = scripted(acts("size"), says("Done."));
    await using world = await opened(model, { tools: [size] });
    const turn = world.session.turn("Go.");
    const events = eventsOf(turn);
    const { wait, wants } = await seen(turn, "waiting");
    expect(wants).toBe("question");
    const [open] = await world.runtime.waits.list();
    expect(await codeOf(world.runtime.waits.resolve(open!, { value: "XXL" }))).toBe("wait.answer");
    await answerWait(world.runtime, wait, { value: "M" });
    expect(endsIn(await within(events))).toEqual(["size ok"]);
    expect(heard(model.requests[1])).toMatch(/\bM\b/);
  });

  test("P7 T9 a policy remembers an answer: the same call is asked about once", async () => {
    const { paid, pay } = bank();
    const pays = acts(["pay", { eur: 5 }]);
    const model = scripted(pays, pays, says("Done."));
    const policy = approvals({ rules: [{ tool: "pay", verdict: "ask" }] });
    await using world = await opened(model, { tools: [pay], plugins: [policy] });
    const turn = world.session.turn("Go.");
    const events = eventsOf(turn);
    await answerWait(world.runtime, (await seen(turn, "waiting")).wait, { approved: true, remember: true });
    expect(only(await within(events), "waiting")).toHaveLength(1);
    expect(paid).toEqual([5, 5]);
  });
});
