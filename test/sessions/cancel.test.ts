import { definePlugin, defineTool, type Session, type TurnResult } from "bowline";
import { ask } from "bowline/plugin";
import { sqlite } from "bowline/stores/sqlite";
import { both, calls, says, scripted } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { aborted, end, listener, plays, text } from "../kit/models.ts";
import {
  eventsOf,
  only,
  outline,
  saidIn,
  seen,
  shown,
  signalOf,
  ticks,
  unheard,
  within,
  wordsOf,
} from "../kit/reading.ts";
import { sample } from "../kit/size.ts";
import { around, file, STORES, slowly } from "../kit/stores.ts";
import { held, keyTo, lifetimes, running, runningOn, twoOn, work } from "../kit/worlds.ts";
import { busy } from "./busy.ts";
import { elsewhere } from "./elsewhere.ts";

const textOf = ({ outcome }: TurnResult): string => ("text" in outcome ? outcome.text : outcome.kind);
const STOPPED = { kind: "stopped", by: "cancel", code: "turn.cancelled" } as const;

describe.each(STORES)("on %s", (_, make) => {
  // ── A turn by its address ─────────────────────────────────────────────────────────────────────────────────────────

  test("S3 a turn's result is awaited by its id: before, while and after it runs, and it is the same", async () => {
    await using world = await busy(make());
    const { session, turn, turnId, work } = world;
    const { turnId: next } = await session.send("Next.", { at: "next-turn" });
    const before = session.follow(next);
    const during = session.follow(turnId);
    expect([await before.id, await during.id]).toEqual([next, turnId]);
    work.release();
    const result = await within(turn.result());
    expect(textOf(result)).toBe("Done.");
    expect(await within(during.result())).toEqual(result);
    const early = await within(before.result());
    expect(textOf(early)).toBe("re: Next.");
    const [late, later] = [session.follow(next), session.follow(turnId)];
    expect(await within(late.result())).toEqual(early);
    expect(await within(later.result())).toEqual(result);
    expect((await session.read()).turns).toBe(2);
  });

  test("S3 a follower of a turn sees its output from the beginning, and one fact at the end", async () => {
    const go = signalOf();
    const model = plays(async function* () {
      yield text("One ");
      yield text("two ");
      await go.promise;
      yield text("three.");
      yield end;
    });
    await using runtime = await running({ store: make(), model });
    const session = await runtime.session();
    const turn = session.turn("Count.");
    const all = eventsOf(turn);
    await seen(turn, "text");
    const followed = eventsOf(session.follow(await turn.id));
    go.resolve();
    const [whole, part] = await within(Promise.all([all, followed]));
    expect(shown(part)).toBe("One two three.");
    expect(shown(whole)).toBe("One two three.");
    expect(only(part, "committed")).toEqual(only(whole, "committed"));
  });

  test("S3 a follower of an ended turn receives the same fact as the earlier followers", async () => {
    await using runtime = await running({ store: make(), model: listener() });
    const session = await runtime.session();
    const turn = session.turn("Hi.");
    const [fact] = only(await eventsOf(turn), "committed");
    const events = await within(eventsOf(session.follow(await turn.id)));
    expect(events).toEqual([fact]);
  });

  test("S3 leaving what one follows does not cancel it, and cancelling it by the handle does", async () => {
    await using world = await busy(make());
    const followed = world.session.follow(world.turnId);
    for await (const event of followed) if (event.kind === "toolStarted") break;
    expect(await followed.cancel("Enough.")).toMatchObject({ kind: "requested", request: { reason: "Enough." } });
    const { outcome } = await within(world.turn.result());
    expect(outcome).toMatchObject({ ...STOPPED, reason: expect.stringContaining("Enough.") });
    expect((await followed.result()).outcome).toEqual(outcome);
    expect(await followed.cancel()).toEqual({ kind: "already-completed", outcome });
  });

  test.each([
    ["a made-up id", "trn_never"],
    ["an empty one", ""],
    ["a long one", "x".repeat(100_000)],
    ["one with a null in it", "nul\0l"],
    ["half a character", "\ud800"],
  ])("S3 following an unknown turn throws at once, idle or not: %s", async (_what, id) => {
    await using world = await busy(make());
    const idle = await world.runtime.session("idle");
    for (const session of [idle, world.session]) {
      await expect(within(session.follow(id).result(), 500)).rejects.toMatchObject({ code: "turn.unknown" });
      await expect(within(eventsOf(session.follow(id)), 500)).rejects.toMatchObject({ code: "turn.unknown" });
      expect(await session.cancel(id)).toEqual({ kind: "unknown" });
    }
    world.work.release();
    expect(textOf(await within(world.turn.result()))).toBe("Done.");
  });

  test.each([
    ["nothing", undefined],
    ["null", null],
    ["a number", 7],
    ["an object", {}],
    ["a list", ["trn_1"]],
    ["a symbol", Symbol("trn")],
  ])("S3 %s is not a turn: a typed error or unknown, never anything else", async (_what, id) => {
    await using world = await busy(make());
    const outcomes = await within(
      Promise.all([
        (async () => world.session.follow(id as never).result())().catch((error: unknown) => error),
        (async () => world.session.cancel(id as never))().catch((error: unknown) => error),
      ]),
      500,
    );
    const CODES = ["turn.unknown", "input.invalid", "options.invalid"];
    for (const outcome of outcomes) {
      const { code, kind: answer } = outcome as { code?: string; kind?: string };
      expect([...CODES, "unknown"]).toContain(code ?? answer);
    }
    world.work.release();
    expect(textOf(await within(world.turn.result()))).toBe("Done.");
  });

  test("S3 a turn of another session is nobody here, whether it waits, runs or has ended", async () => {
    await using world = await busy(make());
    const other = await world.runtime.session("other");
    const { turnId: waiting } = await world.session.send("Next.", { at: "next-turn" });
    const ended = await other.turn("Hi.").id;
    await other.follow(ended).result();
    for (const id of [waiting, world.turnId]) {
      await expect(within(other.follow(id).result())).rejects.toMatchObject({ code: "turn.unknown" });
      expect(await other.cancel(id)).toEqual({ kind: "unknown" });
    }
    await expect(within(world.session.follow(ended).result())).rejects.toMatchObject({ code: "turn.unknown" });
    expect(await world.session.cancel(ended)).toEqual({ kind: "unknown" });
    world.work.release();
    expect(textOf(await within(world.session.follow(waiting).result()))).toBe("re: Next.");
  });

  test("S3 a turn of another session that ends while one here runs is still nobody here", async () => {
    await using world = await busy(make());
    const other = await world.runtime.session("other");
    const { turnId } = await other.send("Work, too.");
    const wrong = world.session
      .follow(turnId)
      .result()
      .catch((error: unknown) => error);
    await within(world.work.began(2));
    world.work.release();
    await within(other.follow(turnId).result());
    expect(await within(wrong)).toMatchObject({ code: "turn.unknown" });
  });

  test("S3 many who follow the same turn are all given its end", async () => {
    await using world = await busy(make());
    const followers = Array.from({ length: 100 }, () => world.session.follow(world.turnId).result());
    const second = await world.runtime.session("s");
    followers.push(second.follow(world.turnId).result());
    await second.close();
    world.work.release();
    const ends = await within(Promise.all(followers));
    expect(new Set(ends.map(textOf))).toEqual(new Set(["Done."]));
  });

  test("S3 one who comes between the commit and its observers changes nothing for the others", async () => {
    const [persisted, go] = [signalOf(), signalOf()];
    const slow = definePlugin({
      id: "a/slow",
      setup: () => ({
        lifecycle: async ({ event }) => {
          if (event.kind !== "turnPersisted") return;
          persisted.resolve();
          await go.promise;
          throw new Error("No matter.");
        },
      }),
    });
    await using runtime = await running({ store: make(), model: listener(), plugins: [slow] });
    const session = await runtime.session();
    const turn = session.turn("Hi.");
    let isDone = false;
    const result = turn.result().then((found) => {
      isDone = true;
      return found;
    });
    await within(persisted.promise);
    const followed = session.follow(await turn.id);
    const now = session.current();
    expect(now).toBeDefined();
    await new Promise((resolve) => setImmediate(resolve));
    const wasDone = isDone;
    go.resolve();
    expect(wasDone).toBe(false); // It settles when the observers are done.
    expect((await within(result)).issues).toMatchObject([{ plugin: "a/slow" }]);
    expect((await within(followed.result())).outcome).toEqual((await result).outcome);
  });

  test("S3 the turn under way is known, and nobody is when none is", async () => {
    await using world = await busy(make());
    const { session, turnId, work } = world;
    expect(await session.current()?.id).toBe(turnId);
    const { turnId: next } = await session.send("Next.", { at: "next-turn" });
    expect(await session.current()?.id).toBe(turnId);
    const current = session.current();
    work.release();
    expect(textOf(await within(current!.result()))).toBe("Done.");
    await within(session.follow(next).result());
    await within(settled(session));
    expect(session.current()).toBeUndefined();
    expect((await world.runtime.session("fresh")).current()).toBeUndefined();
  });

  test("S3 a follower that nobody awaits causes no unhandled rejection", async () => {
    const found = await unheard(async () => {
      await using world = await busy(make());
      world.session.follow("trn_never");
      const { turnId } = await world.session.send("Next.", { at: "next-turn", key: "k" });
      world.session.follow(turnId);
      world.session.turn("Queued.", { key: "q" });
      await world.session.inputs.cancel({ key: "k" });
      await world.session.inputs.cancel({ key: "q" });
      await world.session.cancel(world.turnId);
      await world.turn.result();
      world.session.follow(world.turnId);
    });
    expect(found).toEqual([]);
  });

  test("S3 a session that is deleted has no turns to follow", async () => {
    await using runtime = await running({ store: make(), model: listener() });
    const session = await runtime.session("gone");
    const turn = session.turn("Hi.");
    await turn.result();
    await runtime.sessions.delete("gone");
    await expect(within(session.follow(await turn.id).result())).rejects.toMatchObject({
      code: expect.stringMatching(/^(session\.|turn\.unknown)/),
    });
  });

  // ── Cancel ────────────────────────────────────────────────────────────────────────────────────────────────────────

  test("S3 every open call is settled in the commit of a cancelled turn: running, queued, waiting for a person, retried", async () => {
    const began = signalOf();
    const waits = signalOf();
    const tool = (name: string, execute: (signal: AbortSignal) => Promise<string>, more = {}) =>
      defineTool({
        name,
        description: name,
        input: { type: "object" },
        ...more,
        execute: (_: unknown, { signal }: { signal: AbortSignal }) => execute(signal),
      });
    const polite = tool("polite", async (signal) => {
      began.resolve();
      await aborted(signal);
      return "Half of it.";
    });
    const rude = tool("rude", () => new Promise(() => {}));
    const pay = tool("pay", async () => "Paid.");
    const patient = tool("patient", async () => "Never.", { isSerial: true });
    const careful = definePlugin({
      id: "a/careful",
      setup: () => ({ beforeToolCall: ({ call }) => (call.name === "pay" ? ask("Money.") : undefined) }),
    });
    const model = scripted(
      both(says("Let me see."), calls("polite"), calls("rude"), calls("pay"), calls("patient")),
      says("Next."),
    );
    await using runtime = await running({
      store: make(),
      model,
      tools: [polite, rude, pay, patient],
      plugins: [careful],
      limits: { cancelGraceMs: 300 },
    });
    const session = await runtime.session();
    const turn = session.turn("Go.");
    void seen(turn, "waiting").then(() => waits.resolve());
    await within(Promise.all([began.promise, waits.promise]));
    expect(await turn.cancel("Enough.")).toMatchObject({ kind: "requested" });
    expect((await within(turn.result())).outcome).toMatchObject({ ...STOPPED, text: "Let me see." });
    const lines = outline((await session.read()).messages);
    expect(lines.slice(0, 6)).toEqual([
      "user: Go.",
      "assistant: Let me see.",
      ...["polite", "rude", "pay", "patient"].map((name) => `calls ${name}`),
    ]);
    expect(lines.slice(6).map((line) => line.split(":")[0])).toEqual([
      "polite ok",
      "rude unknown",
      "pay cancelled",
      "patient cancelled",
    ]);
    expect(textOf(await within(session.turn("More.").result()))).toBe("Next.");
  });

  test("S3 what was said before a cancel is kept, marked as partial, and shown to the next turn", async () => {
    const model = plays(
      async function* (_, signal) {
        yield text("Once upon ");
        yield text("a time");
        await aborted(signal);
      },
      async function* () {
        yield text("Next.");
        yield end;
      },
    );
    await using runtime = await running({ store: make(), model });
    const session = await runtime.session();
    const turn = session.turn("Tell.");
    let said = "";
    for await (const event of turn) {
      if (event.kind === "text") said += event.delta;
      if (said === "Once upon a time") break;
    }
    await turn.cancel();
    expect((await within(turn.result())).outcome).toMatchObject({ ...STOPPED, text: "Once upon a time" });
    expect((await session.read()).messages.at(-1)).toMatchObject({ role: "assistant", origin: { kind: "partial" } });
    await session.turn("Go on.").result();
    expect(model.requests[1]?.messages.map(wordsOf)).toEqual(["Tell.", "Once upon a time", "Go on."]);
    const { usage } = await session.read();
    expect(usage.unknownCalls).toBe(1);
  });

  test("S3 a cancel that races the end: what is answered is what happens, at every instant", async () => {
    const kinds = new Set<string>();
    for (let instant = 0; instant < 60; instant += sample(3, 1)) {
      await using runtime = await running({
        store: make(),
        model: scripted(calls("work"), says("Done.")),
        tools: [work],
      });
      const session = await runtime.session();
      const turn = session.turn("Go.");
      const turnId = await turn.id;
      await ticks(instant);
      const [one, two] = await Promise.all([
        session.cancel(turnId, { requestId: "one" }),
        session.cancel(turnId, { requestId: "two" }),
      ]);
      const { outcome } = await within(turn.result());
      kinds.add(`${one.kind}, ${outcome.kind}`);
      if (one.kind === "requested") {
        expect(outcome).toMatchObject(STOPPED);
        expect(two.kind === "already-requested" ? two.request.requestId : two.kind).toBe(
          two.kind === "already-requested" ? "one" : "already-completed",
        );
      } else expect(one).toEqual({ kind: "already-completed", outcome });
      expect((await session.read()).turns).toBe(1);
    }
    expect([...kinds].sort()).toEqual(["already-completed, answered", "requested, stopped"]);
  });

  test("S3 a cancel that comes while the turn is being committed is decided by the commit", async () => {
    for (const isBefore of [true, false]) {
      let session: Session | undefined;
      let answer: unknown;
      let commits = 0;
      const racing = around(make(), {
        commit: async (commit, _lease, ended) => {
          const cancel = async () => {
            answer = (await session!.cancel((ended as { turnId: string }).turnId)).kind;
          };
          const isFirst = ++commits === 1;
          if (isFirst && isBefore) await cancel();
          const done = await commit();
          if (isFirst && !isBefore) await cancel();
          return done;
        },
      });
      await using runtime = await running({ store: racing, model: listener() });
      session = await runtime.session();
      const { outcome } = await within(session.turn("Hi.").result());
      expect(answer).toBe(isBefore ? "requested" : "already-completed");
      expect(outcome).toMatchObject(isBefore ? { ...STOPPED, text: "re: Hi." } : { kind: "answered", text: "re: Hi." });
      expect((await session.read()).turns).toBe(1);
      expect((await session.read()).messages.map(wordsOf)).toEqual(["Hi.", "re: Hi."]);
    }
  });

  test("S3 a cancelled turn that waits ends in its place, and the others have theirs", async () => {
    await using world = await busy(make());
    const { session, work, model } = world;
    const sent = [];
    for (const words of ["A.", "B.", "C."]) sent.push((await session.send(words, { at: "next-turn" })).turnId);
    expect(await session.cancel(sent[1]!, { reason: "Not that." })).toMatchObject({ kind: "requested" });
    expect(await session.cancel(sent[1]!)).toMatchObject({
      kind: "already-requested",
      request: { reason: "Not that." },
    });
    expect((await session.inputs.list()).map((input) => input.text)).toEqual(["A.", "B.", "C."]);
    work.release();
    const ends = await within(Promise.all(sent.map((id) => session.follow(id).result())));
    expect(ends.map(({ outcome }) => outcome.kind)).toEqual(["answered", "stopped", "answered"]);
    expect(model.requests).toHaveLength(4); // Two of the first, and none of B.
    expect((await session.read()).turns).toBe(4);
  });

  test("S3 a cancel addressed to an input that the running turn has taken stops that turn, or returns that it cannot", async () => {
    const go = signalOf();
    const asked = signalOf();
    const model = listener(async ({ messages }, signal) => {
      if (wordsOf(messages.at(-1)) !== "Steer.") return;
      asked.resolve();
      await Promise.race([go.promise, aborted(signal)]);
    });
    await using world = await busy(make(), { model });
    const { turnId: steer } = await world.session.send("Steer.");
    world.work.release();
    await within(asked.promise);
    const answer = await world.session.cancel(steer);
    go.resolve();
    const { outcome } = await within(world.turn.result());
    // A request that nothing comes of would be a lie.
    if (answer.kind === "requested") expect(outcome).toMatchObject(STOPPED);
    else expect(outcome).toMatchObject({ kind: "answered" });
    expect((await within(world.session.follow(steer).result())).outcome).toEqual(outcome);
  });

  test("S3 an input that waits for a boundary, and whose turn is cancelled, is not said to the running turn", async () => {
    await using world = await busy(make());
    const { turnId } = await world.session.send("Steer.");
    expect(await world.session.cancel(turnId)).toMatchObject({ kind: "requested" });
    world.work.release();
    expect(textOf(await within(world.turn.result()))).toBe("Done.");
    expect((await within(world.session.follow(turnId).result())).outcome).toMatchObject(STOPPED);
    expect(world.model.told).toEqual([["Work."], []]);
  });

  test("S3 a turn is cancelled in every hook, and ends stopped with nothing doubled", async () => {
    for (const hook of [
      "beforeTurn",
      "prompt",
      "context",
      "request",
      "response",
      "beforeToolCall",
      "afterToolCall",
      "checkpoint",
      "afterTurn",
    ] as const) {
      let session: Session | undefined;
      let answer: Promise<{ kind: string }> | undefined;
      const stopping = definePlugin({
        id: "a/stopping",
        setup: () => {
          const run = async ({ turnId }: { turnId: string }) => {
            answer ??= session!.cancel(turnId, { reason: hook });
            await answer;
          };
          return { [hook]: run } as object;
        },
      });
      await using runtime = await running({
        store: make(),
        model: scripted(calls("work"), says("Done.")),
        tools: [work],
        plugins: [stopping],
      });
      session = await runtime.session();
      const { outcome, usage } = await within(session.turn("Go.").result());
      expect((await answer)?.kind, hook).toBe("requested");
      expect(outcome, hook).toMatchObject({ ...STOPPED, reason: expect.stringContaining(hook) });
      const { messages, ledger, turns } = await session.read();
      expect(turns).toBe(1);
      const lines = outline(messages);
      expect(lines.filter((line) => line.startsWith("work ")).length, hook).toBe(
        lines.filter((line) => line === "calls work").length,
      );
      expect(
        ledger.reduce((sum, row) => sum + row.usage.input, 0),
        hook,
      ).toBe(usage.input);
    }
  });

  test.each([
    ["a reason that is not a text", { reason: 7 }],
    ["a reason of null", { reason: null }],
    ["a number as request id", { requestId: 7 }],
    ["an object as request id", { requestId: {} }],
    ["an empty request id", { requestId: "" }],
    ["options of null", null],
    ["a megabyte of reason", { reason: "x".repeat(1_000_000) }],
  ])("S3 a cancel with %s is a typed error, and the turn continues", async (_what, options) => {
    await using world = await busy(make());
    const error = await world.session.cancel(world.turnId, options as never).catch((thrown: unknown) => thrown);
    expect((error as { code?: string }).code).toMatch(/^(input\.invalid|options\.invalid|limit\.bytes)$/);
    world.work.release();
    expect(textOf(await within(world.turn.result()))).toBe("Done.");
  });

  test("S3 the creator of a cancelled turn's children cancels them, and they acknowledge it before the turn's commit", async () => {
    const childBegan = signalOf();
    const parent = definePlugin({
      id: "a/parent",
      setup: ({ tool }) => ({
        tools: [
          tool({
            name: "delegate",
            description: "Lets a child do it.",
            input: z.object({}),
            execute: async (_, { sessions, signal, idempotencyKey }) => {
              const { id } = await sessions.create({ kind: "child", id: "child", ifExists: "take" });
              const { turnId } = await sessions.send(id, "Work.", { key: idempotencyKey });
              try {
                return textOf((await sessions.result(id, turnId, { signal })) as TurnResult);
              } catch {
                const { kind: answer } = await sessions.cancel(id, turnId, "The parent was stopped.");
                const { outcome } = await sessions.result(id, turnId);
                return `${answer} ${outcome.kind}`;
              }
            },
          }),
        ],
      }),
    });
    const work = held();
    const inner = listener();
    const model = {
      ...inner,
      async *stream(...given: Parameters<typeof inner.stream>) {
        const isParent =
          given[0].tools.some(({ name }) => name === "delegate") && wordsOf(given[0].messages[0]) === "Delegate.";
        if (isParent && given[0].messages.length === 1) yield* scripted(calls("delegate")).stream(...given);
        else yield* inner.stream(...given);
      },
    };
    await using runtime = await running({ store: make(), model, tools: [work.tool], plugins: [parent] });
    const session = await runtime.session("parent");
    const turn = session.turn("Delegate.");
    void work.began().then(() => childBegan.resolve());
    await within(childBegan.promise);
    await turn.cancel("Enough.");
    expect((await within(turn.result())).outcome).toMatchObject(STOPPED);
    expect(outline((await session.read()).messages)).toEqual([
      "user: Delegate.",
      "calls delegate",
      "delegate ok: requested stopped",
    ]);
    const child = await runtime.sessions.get("child");
    expect(child).toMatchObject({ parentId: "parent", turns: 1 });
    expect(child.openTurn).toBeUndefined();
    expect(outline(child.messages)).toEqual([
      "user: Work.",
      "calls work",
      expect.stringMatching(/^work (ok|cancelled)/),
    ]);
  });

  test("S3 S4 a turn that merges inputs is cancelled at any instant: each input is kept once, with it or in a separate turn", async () => {
    for (let instant = 0; instant < 40; instant += sample(4, 1)) {
      const work = held();
      await using runtime = await running({ store: slowly(make(), 1), model: listener(), tools: [work.tool] });
      const session = await runtime.session("s", { config: { mergesInputs: true } });
      const first = session.turn("Work.");
      await within(work.began());
      const sent = [];
      for (const words of ["A.", "B.", "C."]) sent.push((await session.send(words, { at: "next-turn" })).turnId);
      const followed = sent.map((id) => session.follow(id).result());
      work.release();
      await first.result();
      await ticks(instant * 3);
      const answer = await session.cancel(sent[0]!);
      const ends = await within(Promise.all(followed));
      if (answer.kind === "requested") expect(ends[0]?.outcome).toMatchObject(STOPPED);
      else expect(answer).toEqual({ kind: "already-completed", outcome: ends[0]?.outcome });
      await within(session.turn("Last.").result());
      expect(await saidIn(session), `after ${instant}`).toEqual(["Work.", "A.", "B.", "C.", "Last."]);
    }
  });

  test("S3 handles and the runtime are closed while a cancel is under way: the turn is stopped all the same", async () => {
    const store = make();
    const world = await busy(store);
    const answer = world.session.cancel(world.turnId);
    await world.session.close();
    const closing = world.runtime.close();
    expect(await answer).toMatchObject({ kind: "requested" });
    expect((await within(world.turn.result())).outcome).toMatchObject(STOPPED);
    await within(closing);
    await expect(world.session.cancel(world.turnId)).rejects.toMatchObject({ code: "runtime.closed" });
    expect(await world.turn.cancel().catch((error: { code: string }) => error.code)).toBeDefined();
  });
});

async function settled(session: Session): Promise<void> {
  while (session.current() !== undefined) await new Promise((resolve) => setImmediate(resolve));
}

// ── From any process ──────────────────────────────────────────────────────────────────────────────────────────────────

describe.concurrent("from any process", () => {
  test("S3 a second runtime on the same file follows, cancels and is notified, before, while and after", async () => {
    const path = file();
    const work = held();
    await using one = await runningOn(path, { model: listener(), tools: [work.tool] });
    await using two = await runningOn(path, { model: listener(), tools: [work.tool] });
    const [here, there] = [await one.session("s"), await two.session("s")];
    const turn = here.turn("Work.");
    const turnId = await turn.id;
    await within(work.began());
    const { turnId: next } = await here.send("Next.", { at: "next-turn" });
    const [during, before] = [there.follow(turnId).result(), there.follow(next).result()];
    expect(there.current()).toBeUndefined();
    expect(await there.cancel(turnId, { reason: "From there." })).toMatchObject({ kind: "requested" });
    const { outcome } = await within(turn.result(), 4_000);
    expect(outcome).toMatchObject({ ...STOPPED, reason: expect.stringContaining("From there.") });
    expect((await within(during, 4_000)).outcome).toEqual(outcome);
    expect(textOf(await within(before, 4_000))).toBe("re: Next.");
    expect(await there.cancel(turnId)).toEqual({ kind: "already-completed", outcome });
    expect((await within(there.follow(turnId).result())).outcome).toEqual(outcome);
    expect(await there.cancel(next)).toMatchObject({ kind: "already-completed", outcome: { kind: "answered" } });
    await expect(within(there.follow("trn_never").result())).rejects.toMatchObject({ code: "turn.unknown" });
  }, 15_000);

  test("S3 a second runtime gets an error at once for a turn that does not exist, although the first is busy", async () => {
    const path = file();
    const work = held();
    await using one = await runningOn(path, { model: listener(), tools: [work.tool] });
    await using two = await runningOn(path, { model: listener(), tools: [work.tool] });
    const turn = (await one.session("s")).turn("Work.");
    await within(work.began());
    const there = await two.session("s");
    await expect(within(there.follow("trn_never").result())).rejects.toMatchObject({ code: "turn.unknown" });
    work.release();
    await within(turn.result());
  }, 15_000);

  test("S3 another process cancels a turn that runs here, and one that waits here", async () => {
    const path = file();
    const work = held();
    await using runtime = await runningOn(path, { model: listener(), tools: [work.tool] });
    const session = await runtime.session("s");
    const turn = session.turn("Work.");
    await within(work.began());
    const { turnId: next } = await session.send("Next.", { at: "next-turn" });
    const other = elsewhere(
      `const runtime = await createRuntime({ store, model: plays(), recover: "manual" });
       const session = await runtime.session("s");
       for (const id of args) say(await session.cancel(id, { reason: "From elsewhere." }));
       process.exit();`,
      path,
      next,
      await turn.id,
      "trn_never",
    );
    const request = { reason: "From elsewhere." };
    expect(JSON.parse((await other.next()) ?? "")).toMatchObject({ kind: "requested", request });
    expect(JSON.parse((await other.next()) ?? "")).toMatchObject({ kind: "requested", request });
    expect(JSON.parse((await other.next()) ?? "")).toEqual({ kind: "unknown" });
    expect((await within(turn.result(), 4_000)).outcome).toMatchObject(STOPPED);
    expect((await within(session.follow(next).result(), 4_000)).outcome).toMatchObject(STOPPED);
    await other.ended;
  }, 20_000);

  test("S3 a turn that runs in another process is followed and cancelled from here", async () => {
    const path = file();
    const other = elsewhere(
      `const work = defineTool({ name: "work", description: "Works.", input: { type: "object" },
         execute: (_, { signal }) => new Promise((resolve) => { say("began"); signal.addEventListener("abort", () => resolve("left")); }) });
       const runtime = await createRuntime({ store, model: plays(calls("work"), says("Next.")), tools: [work] });
       const session = await runtime.session("s");
       const turn = session.turn("Work.", { key: "k" });
       const alive = setInterval(() => {}, 1000);
       say((await turn.result()).outcome);
       say((await session.turn("More.").result()).outcome);
       clearInterval(alive);
       await runtime.close();`,
      path,
    );
    expect(await other.next()).toBe("began");
    await using runtime = await runningOn(path, { model: listener() });
    const session = await runtime.session("s");
    const turn = session.turn("Work.", { key: "k" }); // Joined by its key.
    const turnId = await turn.id;
    const followed = session.follow(turnId).result();
    expect(await session.cancel(turnId, { reason: "From here." })).toMatchObject({ kind: "requested" });
    expect(JSON.parse((await other.next()) ?? "")).toMatchObject(STOPPED);
    const { outcome } = await within(followed, 4_000);
    expect(outcome).toMatchObject({ ...STOPPED, reason: expect.stringContaining("From here.") });
    expect((await within(turn.result(), 4_000)).outcome).toEqual(outcome);
    expect(JSON.parse((await other.next()) ?? "")).toMatchObject({ kind: "answered" });
    await other.ended;
    expect(await saidIn(session)).toEqual(["Work.", "More."]);
  }, 20_000);

  test("S3 D2 a turn whose process was killed is cancelled by the next one, without another model call", async () => {
    const path = file();
    const other = elsewhere(
      `const work = defineTool({ name: "work", description: "Works.", input: { type: "object" }, execute: () => { say("began"); return new Promise(() => {}); } });
       const runtime = await createRuntime({ store, model: plays(calls("work")), tools: [work] });
       const session = await runtime.session("s");
       say(await session.turn("Work.").id);
       setInterval(() => {}, 1000);`,
      path,
    );
    const lines = [await other.next(), await other.next()];
    const turnId = lines.find((line) => line?.startsWith("trn_")) ?? "";
    await other.kill();
    // Cancelled before anybody goes on with it: by another session's door to the same file.
    const store = sqlite(path, { durability: "process" });
    expect(await store.cancel(turnId as never, { requestId: "r", reason: "Left.", at: Date.now() })).toMatchObject({
      kind: "requested",
    });
    await store.close();
    const model = listener();
    await using runtime = await runningOn(path, { model, tools: [work] });
    const session = await runtime.session("s");
    expect(await session.current()?.id).toBe(turnId);
    expect((await within(session.follow(turnId).result(), 4_000)).outcome).toMatchObject({
      ...STOPPED,
      reason: expect.stringContaining("Left."),
    });
    expect(model.requests).toEqual([]);
    expect(outline((await session.read()).messages)).toEqual([
      "user: Work.",
      "calls work",
      expect.stringMatching(/^work /),
    ]);
  }, 20_000);

  test("S3 D2 a follower of a turn whose process is killed continues to follow it, and receives its end", async () => {
    const path = file();
    const other = elsewhere(
      `const work = defineTool({ name: "work", description: "Works.", input: { type: "object" }, execute: () => { say("began"); return new Promise(() => {}); } });
       const runtime = await createRuntime({ store, model: plays(calls("work")), tools: [work] });
       const session = await runtime.session("s");
       say(await session.turn("Work.").id);
       setInterval(() => {}, 1000);`,
      path,
    );
    const lines = [await other.next(), await other.next()];
    const turnId = lines.find((line) => line?.startsWith("trn_")) ?? "";
    await using runtime = await runningOn(path, { model: listener(), tools: [work], recover: "manual" });
    const session = await runtime.session("s");
    expect(session.current()).toBeUndefined(); // Another has it.
    const followed = session.follow(turnId);
    const { turnId: next } = await session.send("Next.", { at: "next-turn" });
    const after = session.follow(next).result();
    await other.kill();
    expect(textOf(await within(followed.result(), 4_000))).toBe("Done.");
    expect(textOf(await within(after, 4_000))).toBe("re: Next.");
    expect(outline((await session.read()).messages).slice(0, 4)).toEqual([
      "user: Work.",
      "calls work",
      "work ok: worked",
      "assistant: Done.",
    ]);
  }, 20_000);

  test("S3 a second runtime cancels a turn that waits for a person, and the wait has ended", async () => {
    const path = file();
    const careful = definePlugin({ id: "a/careful", setup: () => ({ beforeToolCall: () => ask("May I?") }) });
    const options = { model: listener(), tools: [work], plugins: [careful] };
    await using one = await runningOn(path, options);
    await using two = await runningOn(path, options);
    const turn = (await one.session("s")).turn("Work.");
    const { wait } = await within(seen(turn, "waiting"));
    const key = await keyTo(two, wait);
    const there = await two.session("s");
    expect(await there.cancel(await turn.id)).toMatchObject({ kind: "requested" });
    expect((await within(turn.result(), 4_000)).outcome).toMatchObject(STOPPED);
    await expect(two.waits.resolve(key, { approved: true })).rejects.toMatchObject({ code: "wait.unknown" });
  }, 15_000);
});

describe("S3 D2 one process after the other", () => {
  test("S3 a cancel that was durable when its process died stops the turn in the next one, which asks nobody", async () => {
    const times = lifetimes();
    const asked = signalOf();
    const hanging = listener(async () => {
      asked.resolve();
      await new Promise(() => {});
    });
    const first = await times.next({ model: hanging });
    const session = await first.runtime.session("s");
    const turn = session.turn("Hi.", { key: "k" });
    await within(asked.promise);
    const turnId = await turn.id;
    const store = sqlite(times.path, { durability: "process" });
    times.kill();
    await store.cancel(turnId, { requestId: "r", reason: "Enough.", at: 1 });
    await store.close();
    const model = listener();
    const second = await times.next({ model });
    const again = await second.runtime.session("s");
    expect((await within(again.turn("Hi.", { key: "k" }).result())).outcome).toMatchObject(STOPPED);
    expect(model.requests).toEqual([]);
    expect((await again.read()).usage.unknownCalls).toBe(1);
    await second.runtime.close();
  });

  test("S3 an orphaned turn is followed, found as the current one, and cancelled where it resumes", async () => {
    const times = lifetimes();
    const work = held();
    const first = await times.next({ model: listener(), tools: [work.tool] });
    const session = await first.runtime.session("s");
    const turn = session.turn("Work.", { key: "k" });
    await within(work.began());
    const turnId = await turn.id;
    times.kill();
    const again = held();
    const second = await times.next({ model: listener(), tools: [again.tool] });
    const resumed = await second.runtime.session("s");
    const current = resumed.current();
    expect(await current?.id).toBe(turnId);
    await within(again.began());
    expect(await current?.cancel("Enough.")).toMatchObject({ kind: "requested" });
    expect((await within(current!.result())).outcome).toMatchObject(STOPPED);
    expect((await within(resumed.follow(turnId).result())).outcome).toMatchObject(STOPPED);
    await second.runtime.close();
  });
});

test("S3 closing a runtime that only follows a turn of another one does not wait for it", async () => {
  const path = file();
  const work = held();
  await using one = await running({
    store: sqlite(path, { durability: "process" }),
    model: listener(),
    tools: [work.tool],
  });
  const two = await running({ store: sqlite(path, { durability: "process" }), model: listener(), tools: [work.tool] });
  const turn = (await one.session("s")).turn("Work.");
  await within(work.began());
  const followed = (await two.session("s"))
    .follow(await turn.id)
    .result()
    .catch((error: unknown) => error);
  await within(two.close());
  expect(await within(followed)).toMatchObject({ code: "turn.left" });
  work.release();
  expect(textOf(await within(turn.result()))).toBe("Done.");
}, 15_000);

test("S3 two runtimes in one process: the second's follower of a queued turn receives its end, whichever runtime runs it", async () => {
  const store = STORES[0]![1]();
  const work = held();
  await using both2 = await twoOn(store, { model: listener(), tools: [work.tool] });
  const [here, there] = [await both2.one.session("s"), await both2.two.session("s")];
  const turn = here.turn("Work.");
  await within(work.began());
  const queued = there.turn("Queued there.");
  const followed = here.follow(await queued.id).result();
  work.release();
  expect(textOf(await within(turn.result()))).toBe("Done.");
  expect(textOf(await within(queued.result()))).toBe("re: Queued there.");
  expect(textOf(await within(followed))).toBe("re: Queued there.");
});
