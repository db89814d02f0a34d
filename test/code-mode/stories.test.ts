// What works with native calls works in code mode: each story is told once and played on both protocols. They look at
// outcomes, effects and events; what the messages of a protocol look like is tested with it.
import {
  attach,
  definePlugin,
  fail,
  finish,
  type Plugin,
  question,
  type RuntimeOptions,
  retryable,
  switchFrame,
} from "bowline";
import { abort, ask, deny, type Part, replaceArgs, replaceResult, shortCircuit } from "bowline/plugin";
import { approvals } from "bowline/plugins/approvals";
import { type ModelPart, type Provider, ProviderFailure } from "bowline/provider";
import { recited, says, scripted } from "bowline/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { codeOf, eventsOf, eventually, only, seen, shown, within } from "../kit/reading.ts";
import { file } from "../kit/stores.ts";
import { answerWait, held, named, open, runningOn, runningQuickly } from "../kit/worlds.ts";
import { closeSandbox, endsIn, heard, openSandbox, PROTOCOLS, startsIn } from "./protocols.ts";

beforeAll(openSandbox, 20_000);
afterAll(closeSandbox);

type Options = Partial<Omit<RuntimeOptions, "model" | "models">>;

describe.each(PROTOCOLS)("$name", ({ plugins, acts, saysAndActs, insists, submits }) => {
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

  test("P7 T7 a tool that takes too long gets an abort signal, and costs its call and nothing else", async () => {
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

  test("P7 T5 wrong arguments do not reach a tool, and the model reads where they are wrong", async () => {
    const add = named("add", () => "ran", { input: z.object({ n: z.number() }) as never });
    const model = scripted(acts(["add", { n: "two" }], ["add", { n: 2 }]), says("Done."));
    await using world = await opened(model, { tools: [add] });
    expect(endsIn(await eventsOf(world.session.turn("Go.")))).toEqual(["add failed", "add ok"]);
    expect(heard(model.requests[1])).toMatch(/tool\.arguments.*\bn\b/);
  });

  test("P7 T5 a missing tool is reported, and the turn continues", async () => {
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

  test("P7 K10 a hook that stops the turn settles all its calls, before them and after", async () => {
    const tools = [named("a"), named("b")];
    const stops = ({ call }: { call: { name: string } }) => (call.name === "a" ? abort("acme.no", "No.") : undefined);
    const ended: unknown[] = [];
    for (const hook of ["beforeToolCall", "afterToolCall"]) {
      await using world = await opened(scripted(acts("a", "b")), {
        tools,
        plugins: [gate("test/no", { [hook]: stops })],
      });
      const turn = world.session.turn("Go.");
      ended.push(endsIn(await eventsOf(turn)));
      expect((await turn.result()).outcome).toMatchObject({ kind: "stopped", by: "plugin", code: "acme.no" });
    }
    expect(ended).toEqual([
      ["a cancelled", "b cancelled"],
      ["a cancelled", "b ok"],
    ]);
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

  test("P7 T11 S8 a tool continues in a fresh frame, where the model sees the task alone", async () => {
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

  test("P7 T9 a call that nobody answers in time is not made, and the turn continues", async () => {
    const { paid, pay } = bank();
    const model = scripted(acts(["pay", { eur: 5 }]), says("Done."));
    await using world = await opened(model, { tools: [pay], plugins: [careful(20)] });
    const turn = world.session.turn("Go.");
    const events = await within(eventsOf(turn));
    expect(only(events, "resolved")).toMatchObject([{ how: "timeout" }]);
    expect([paid, endsIn(events)]).toEqual([[], ["pay denied"]]);
    expect((await turn.result()).outcome.kind).toBe("answered");
  });

  test("P7 T9 what was denied is not forgotten when something else goes well", async () => {
    const { pay } = bank();
    const no = gate("test/no", {
      beforeToolCall: ({ call }: { call: { name: string } }) => (call.name === "pay" ? deny("Too much.") : undefined),
    });
    const model = scripted(insists(["pay", { eur: 5 }]), acts("look"), says("Done."));
    await using world = await opened(model, { tools: [pay, named("look")], plugins: [no] });
    await world.session.turn("Go.").result();
    expect(heard(model.requests[2])).toMatch(/Too much\..*look!/s);
  });

  test("P7 T9 D4 all processes exit while a person is asked; another process answers, and the next one resumes in the middle", async () => {
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
    // Who approved it is kept with the conversation.
    expect(JSON.stringify((await three.sessions.get("s")).messages)).toContain('"by":"ada"');
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

  // ── What a turn may do ────────────────────────────────────────────────────────────────────────────────────────────

  /** Works and works: each round says which one it is. */
  const rounds = (count = 9) => Array.from({ length: count }, (_, n) => saysAndActs(`Round ${n + 1}.`, "work"));
  const work = () => {
    const does = { times: 0 };
    return { does, tool: named("work", () => `worked ${++does.times}`) };
  };

  test.each([
    ["rounds", { limits: { roundsMax: 3 } }, "limit.rounds"],
    ["tokens", { budget: { turn: { tokens: 40 } } }, "limit.tokens"],
  ] as const)("P7 S14 a turn ends when it has used its %s, with what was said and done", async (_, options, code) => {
    const { does, tool } = work();
    await using world = await opened(scripted(...rounds()), { tools: [tool], ...options });
    const { outcome, usage } = await world.session.turn("Go.").result();
    expect(outcome).toMatchObject({ kind: "stopped", by: "limit", code, text: "Round 1.\n\nRound 2.\n\nRound 3." });
    expect(does.times).toBe(3);
    expect(usage).toMatchObject({ input: 30, output: 15 });
    expect((await world.session.read()).ledger).toMatchObject([{ source: "turn", calls: 3 }]);
  });

  test("P7 S14 the last round is kept for an answer", async () => {
    const { tool } = work();
    const model = scripted(...rounds(2), says("This is what I have."));
    await using world = await opened(model, { tools: [tool], limits: { roundsMax: 3 }, budget: { keepsAnswer: true } });
    const { outcome } = await world.session.turn("Go.").result();
    expect(outcome).toMatchObject({ kind: "answered", text: "This is what I have." });
    expect(heard(model.requests[2])).toContain("last round");
  });

  test("P7 S14 a model that works in the last round all the same is not obeyed, and told so in the next turn", async () => {
    const { does, tool } = work();
    const limited = { limits: { roundsMax: 2 }, budget: { keepsAnswer: true } };
    const model = scripted(...rounds(2), says("I see."));
    await using world = await opened(model, { tools: [tool], ...limited });
    const { outcome } = await world.session.turn("Go.").result();
    expect(outcome).toMatchObject({ kind: "stopped", code: "limit.rounds", text: "Round 1.\n\nRound 2." });
    expect(does.times).toBe(1);
    await world.session.turn("And?").result();
    expect(heard(model.requests[2])).toMatch(/Round 2\..*(before this call was made|not run|cancelled).*And\?/s);
  });

  test("P7 S14 T5 with a typed result the last round is for handing it in", async () => {
    const { tool } = work();
    const model = scripted(...rounds(1), submits({ kinds: 9 }));
    await using world = await opened(model, { tools: [tool], limits: { roundsMax: 2 }, budget: { keepsAnswer: true } });
    const { outcome } = await world.session.turn("Go.", { output: z.object({ kinds: z.number() }) }).result();
    expect(outcome).toEqual({ kind: "finished", by: "model", value: { kinds: 9 } });
  });

  test("P7 S14 rounds in which nothing succeeds have a limit", async () => {
    const failing = named("work", () => {
      throw new Error("No.");
    });
    const model = scripted(...Array.from({ length: 9 }, () => insists("work")));
    await using world = await opened(model, { tools: [failing], limits: { noProgressMax: 2 } });
    const { outcome } = await world.session.turn("Go.").result();
    expect(outcome).toMatchObject({ kind: "stopped", by: "limit", code: "limit.no-progress" });
    expect(model.requests).toHaveLength(2);
  });

  test("P7 S14 calls beyond those that one reply may make are refused, and the others are made", async () => {
    const { does, tool } = work();
    const model = scripted(acts(...Array.from({ length: 5 }, () => "work")), says("Done."));
    await using world = await opened(model, { tools: [tool], limits: { callsPerRoundMax: 3 } });
    const events = await eventsOf(world.session.turn("Go."));
    expect(does.times).toBe(3);
    expect(endsIn(events)).toEqual(["work failed", "work failed", "work ok", "work ok", "work ok"]);
    expect(heard(model.requests[1])).toContain("tool.too-many");
  });

  test("P7 S14 S10 what a tool asks a model for counts in the turn's budget, and is booked under its own name", async () => {
    const thinks = gate("test/thinks", {
      tools: [named("think", (_, { complete }) => complete.text("Well?", { label: "thinking" }))],
    });
    const model = scripted(acts("think"), says("Hm."), says("Never."));
    await using world = await opened(model, { plugins: [thinks], budget: { turn: { tokens: 25 } } });
    const { outcome } = await world.session.turn("Go.").result();
    expect(outcome).toMatchObject({ kind: "stopped", code: "limit.tokens" });
    const { ledger } = await world.session.read();
    expect(ledger.map(({ source, calls }) => [source, calls])).toEqual([
      ["turn", 1],
      ["thinking", 1],
    ]);
  });

  // ── Typed results ─────────────────────────────────────────────────────────────────────────────────────────────────

  const SUM = z.object({ sum: z.number() });

  test("P7 T5 a typed result that does not fit is reported, and corrected", async () => {
    const model = scripted(submits({ sum: "four" }), submits({ sum: 4 }));
    await using world = await opened(model);
    const { outcome } = await world.session.turn("Go.", { output: SUM }).result();
    expect(outcome).toEqual({ kind: "finished", by: "model", value: { sum: 4 } });
    expect(heard(model.requests[1])).toMatch(/sum/);
  });

  test("P7 T5 a model that never hands in what fits fails its turn", async () => {
    const model = scripted(...Array.from({ length: 9 }, () => submits({ sum: "four" })));
    await using world = await opened(model);
    const { outcome } = await world.session.turn("Go.", { output: SUM }).result();
    expect(outcome).toMatchObject({ kind: "failed", by: "provider", code: "output.invalid" });
    expect(model.requests).toHaveLength(3);
  });

  test("P7 T5 S4 a typed turn is steered like any other", async () => {
    const slow = held("slow");
    const model = scripted(acts("slow"), submits({ sum: 2 }));
    await using world = await opened(model, { tools: [slow.tool] });
    const turn = world.session.turn("Go.", { output: SUM });
    await within(slow.began());
    await world.session.send("Twice.");
    slow.release();
    expect((await within(turn.result())).outcome).toMatchObject({ kind: "finished", value: { sum: 2 } });
    expect(heard(model.requests[1])).toContain("Twice.");
  });

  // ── Steering and stopping ─────────────────────────────────────────────────────────────────────────────────────────

  /** A session whose turn is held in a tool. */
  async function busy(model: Provider, options: Options = {}) {
    const slow = held("slow", "It is done.");
    const { tools = [] } = options;
    const world = await opened(model, { ...options, tools: [slow.tool, ...tools] });
    const turn = world.session.turn("Go.");
    const events = eventsOf(turn);
    await within(slow.began());
    const close = async () => {
      slow.release();
      await world[Symbol.asyncDispose]();
    };
    return { ...world, slow, turn, events, [Symbol.asyncDispose]: close };
  }

  test("P7 S4 S2 what is sent or injected while calls run is heard with their results, in the same turn", async () => {
    const model = scripted(acts("slow"), says("Done."));
    await using world = await busy(model);
    await world.session.send("Be quick.");
    await world.runtime.sessions.inject(world.session.id, "It rains.");
    world.slow.release();
    expect((await within(world.turn.result())).outcome).toMatchObject({ kind: "answered", text: "Done." });
    expect(heard(model.requests[1])).toMatch(/It is done\..*Be quick\..*It rains\./s);
    expect(await world.session.read()).toMatchObject({ turns: 1, inputs: [] });
  });

  test("P7 S4 an input that comes with the answer keeps the turn going", async () => {
    let send = async (): Promise<unknown> => undefined;
    const late = gate("test/late", { response: () => send() });
    const model = scripted(says("Four."), says("Five."));
    await using world = await opened(model, { plugins: [late] });
    send = async () => {
      send = async () => undefined;
      await world.session.send("Are you sure?");
    };
    expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "answered", text: "Five." });
    expect((await world.session.read()).turns).toBe(1);
  });

  test("P7 S3 a cancel settles every open call: one that leaves, one that does not, one that waits and one that never began", async () => {
    const { paid, pay } = bank();
    const deaf = named("deaf", () => new Promise(() => {}));
    const never = named("never", () => "ran", { isSerial: true });
    const model = scripted(saysAndActs("I look.", "slow", "deaf", ["pay", { eur: 5 }], "never"), says("Next."));
    const options = { tools: [deaf, pay, never], plugins: [careful()], limits: { cancelGraceMs: 50 } };
    await using world = await busy(model, options);
    await eventually(async () => (await world.runtime.waits.list())[0]);
    expect(await world.turn.cancel("Enough.")).toMatchObject({ kind: "requested" });
    const { outcome } = await within(world.turn.result());
    expect(outcome).toMatchObject({ kind: "stopped", by: "cancel", code: "turn.cancelled", text: "I look." });
    expect(endsIn(await world.events)).toEqual(["deaf unknown", "never cancelled", "pay cancelled", "slow ok"]);
    expect([paid, await world.runtime.waits.list()]).toEqual([[], []]);
    expect((await within(world.session.turn("More.").result())).outcome).toMatchObject({ text: "Next." });
    expect(heard(model.requests[1])).toMatch(/unknown/i);
  });

  test("P7 S3 D4 a parked turn is cancelled while it waits, and the session continues", async () => {
    const { paid, pay } = bank();
    const model = recited(acts(["pay", { eur: 5 }]), says("Next."));
    const app = { model, tools: [pay], plugins: [...plugins, careful()], limits: { parkAfterMs: 10 } };
    const path = file();
    const one = await runningOn(path, app);
    const turn = (await one.session("s")).turn("Go.", { key: "go" });
    turn.result().catch(() => {});
    await seen(turn, "waiting");
    await one.close();
    const two = await runningOn(path, app);
    const session = await two.session("s");
    await session.cancel(await turn.id, { reason: "Enough." });
    expect((await within(session.turn("Go.", { key: "go" }).result(), 5_000)).outcome).toMatchObject({
      kind: "stopped",
      by: "cancel",
    });
    expect([paid, await two.waits.list()]).toEqual([[], []]);
    expect((await within(session.turn("More.").result())).outcome).toMatchObject({ text: "Next." });
    await two.close();
  });

  test("P7 S3 a reader that joins while a call runs sees the rest, and the same end", async () => {
    await using world = await busy(scripted(acts("slow"), says("Done.")));
    const followed = eventsOf(world.session.follow(await world.turn.id));
    world.slow.release();
    const [all, rest] = await within(Promise.all([world.events, followed]));
    expect(endsIn(rest)).toEqual(["slow ok"]);
    expect(shown(rest)).toBe("Done.");
    expect(only(rest, "committed")).toEqual(only(all, "committed"));
  });

  // ── Models that fail ──────────────────────────────────────────────────────────────────────────────────────────────

  test("P7 M5 a reply that breaks off in the middle of acting is asked for again, and nothing is done twice", async () => {
    const { does, tool } = work();
    const broken = (acts("work") as ModelPart[]).slice(0, -1);
    const lost = new ProviderFailure({ class: "overloaded", message: "Too much.", retryAfterMs: 1 });
    const model = scripted(broken, lost, acts("work"), says("Done."));
    const runtime = await runningQuickly({ model, tools: [tool], plugins });
    const turn = (await runtime.session()).turn("Go.");
    expect(endsIn(await within(eventsOf(turn)))).toEqual(["work ok"]);
    expect((await turn.result()).outcome).toMatchObject({ kind: "answered", text: "Done." });
    expect(does.times).toBe(1);
    await runtime.close();
  });
});
