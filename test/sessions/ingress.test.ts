import { attach, definePlugin, defineTool, hasCode, type Session } from "bowline";
import { ask } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { calls, scripted } from "bowline/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { call, endInCalls, type Heard, listener } from "../kit/models.ts";
import {
  eventsOf,
  eventually,
  only,
  outline,
  saidIn,
  seen,
  signalOf,
  ticks,
  unheard,
  waitingIn,
  within,
  wordsOf,
} from "../kit/reading.ts";
import { sample } from "../kit/size.ts";
import { around, durable, file, STORES, slowly } from "../kit/stores.ts";
import { answerWait, deployed, held, lifetimes, quickWorld, running, runningOn } from "../kit/worlds.ts";
import { busy } from "./busy.ts";
import { elsewhere } from "./elsewhere.ts";

/** Every input of the session has had its turn. */
async function quiet(session: Session): Promise<void> {
  await within(session.turn("Last.").result(), 5_000);
}

const MEGABYTE = "x".repeat(1_000_000);

describe.each(STORES)("on %s", (kind, make) => {
  // ── Where an input lands ──────────────────────────────────────────────────────────────────────────────────────────

  test("S4 inputs land at the next boundary, in the order in which they were sent, and all in one request", async () => {
    await using world = await busy(make());
    for (const words of ["One.", "Two.", "Three."]) await world.session.send(words, { at: "boundary" });
    world.work.release();
    expect((await world.turn.result()).outcome).toMatchObject({ kind: "answered", text: "re: One. + Two. + Three." });
    expect(await saidIn(world.session)).toEqual(["Work.", "One.", "Two.", "Three."]);
    expect((await world.session.read()).turns).toBe(1);
  });

  test("S4 inputs for the next turn have a turn each, in the order in which they were sent", async () => {
    await using world = await busy(make());
    const sent = [];
    for (const words of ["One.", "Two.", "Three."]) sent.push(await world.session.send(words, { at: "next-turn" }));
    world.work.release();
    const answers = sent.map(({ turnId }) => world.session.follow(turnId).result());
    expect((await Promise.all(answers)).map(({ outcome }) => outcome.kind === "answered" && outcome.text)).toEqual([
      "re: One.",
      "re: Two.",
      "re: Three.",
    ]);
    expect(world.model.told).toEqual([["Work."], [], ["One."], ["Two."], ["Three."]]);
    expect((await world.session.read()).turns).toBe(4);
  });

  test("S4 inputs of both kinds: those for a boundary do not wait for those of the next turn", async () => {
    await using world = await busy(make());
    await world.session.send("Next one.", { at: "next-turn" });
    await world.session.send("Steer one.");
    await world.session.send("Next two.", { at: "next-turn" });
    await world.session.send("Steer two.", { at: "boundary" });
    world.work.release();
    await world.turn.result();
    await quiet(world.session);
    expect(world.model.told).toEqual([
      ["Work."],
      ["Steer one.", "Steer two."],
      ["Next one."],
      ["Next two."],
      ["Last."],
    ]);
  });

  test("S4 an input that was sent for a boundary and missed the last one is a turn, before those that came later", async () => {
    const store = make();
    const [committing, go] = [signalOf(), signalOf()];
    let commits = 0;
    const slow = around(store, {
      commit: async (commit) => {
        if (++commits > 1) return commit();
        committing.resolve();
        await go.promise;
        return commit();
      },
    });
    const model = listener();
    await using runtime = await running({ store: slow, model });
    const session = await runtime.session("s");
    const turn = session.turn("First.");
    await within(committing.promise);
    const late = await session.send("Late.");
    await session.send("Later.", { at: "next-turn" });
    expect(await waitingIn(session)).toEqual(["Late.", "Later."]);
    go.resolve();
    expect((await turn.result()).outcome).toMatchObject({ text: "re: First." });
    expect((await session.follow(late.turnId).result()).outcome).toMatchObject({ text: "re: Late." });
    await quiet(session);
    expect(await saidIn(session)).toEqual(["First.", "Late.", "Later.", "Last."]);
  });

  test.each(["boundary", "next-turn"] as const)(
    "S4 what is sent for the %s to an idle session is a turn",
    async (at) => {
      await using runtime = await running({ store: make(), model: listener() });
      const session = await runtime.session();
      const { turnId } = await session.send("Hello.", { at });
      expect((await session.follow(turnId).result()).outcome).toMatchObject({ kind: "answered", text: "re: Hello." });
      expect(await waitingIn(session)).toEqual([]);
    },
  );

  test("S4 what a tool sends to its own session reaches the next round", async () => {
    let session: Session | undefined;
    const aside = defineTool({
      name: "work",
      description: "Works.",
      input: { type: "object" },
      execute: async () => {
        await session?.send("An aside.");
        await session?.send("For later.", { at: "next-turn" });
        return "worked";
      },
    });
    const model = listener();
    await using runtime = await running({ store: make(), model, tools: [aside] });
    session = await runtime.session();
    expect((await within(session.turn("Work.").result())).outcome).toMatchObject({ text: "re: An aside." });
    await quiet(session);
    expect(model.told).toEqual([["Work."], ["An aside."], ["For later."], ["Last."]]);
  });

  test("S4 attachments and parts arrive at a boundary as they were sent", async () => {
    await using world = await busy(make());
    const photo = attach(new Uint8Array([1, 2, 3]), { mediaType: "image/png", name: "a.png" });
    await world.session.send(["Look: ", photo, { kind: "text", text: "well?" }]);
    expect(await world.session.inputs.list()).toMatchObject([{ text: "Look: well?", at: "boundary" }]);
    world.work.release();
    await world.turn.result();
    expect(world.model.requests[1]?.messages.at(-1)?.parts).toMatchObject([
      { kind: "text", text: "Look: " },
      { kind: "attachment", mediaType: "image/png", name: "a.png", bytes: 3 },
      { kind: "text", text: "well?" },
    ]);
  });

  test("S4 an input that comes in the last round a turn may have is not used up by it: it is the next turn", async () => {
    let session: Session | undefined;
    let isSent = false;
    const model = listener(async () => {
      if (!isSent) await session?.send("One more thing.");
      isSent = true;
    });
    await using runtime = await running({ store: make(), model, limits: { roundsMax: 1 } });
    session = await runtime.session();
    expect((await within(session.turn("First.").result())).outcome).toMatchObject({
      kind: "answered",
      text: "re: First.",
    });
    await quiet(session);
    expect(model.told).toEqual([["First."], ["One more thing."], ["Last."]]);
  });

  // ── What waits ────────────────────────────────────────────────────────────────────────────────────────────────────

  test("S5 what waits is listed, oldest first, with what one needs to name it; what runs is not", async () => {
    await using world = await busy(make());
    expect(await world.session.inputs.list()).toEqual([]);
    const steer = await world.session.send("Steer.");
    const next = await world.session.send("Next.", { at: "next-turn", key: "k" });
    const turn = world.session.turn("A turn.", { key: "t" });
    const turnId = await turn.id;
    const list = await world.session.inputs.list();
    expect(list).toEqual([
      { id: list[0]?.id, turnId: steer.turnId, at: "boundary", text: "Steer.", acceptedAt: expect.any(Number) },
      {
        id: list[1]?.id,
        turnId: next.turnId,
        key: "k",
        at: "next-turn",
        text: "Next.",
        acceptedAt: expect.any(Number),
      },
      { id: list[2]?.id, turnId, key: "t", at: "next-turn", text: "A turn.", acceptedAt: expect.any(Number) },
    ]);
    expect(new Set(list.map(({ id }) => id)).size).toBe(3);
    world.work.release();
    await turn.result();
    expect(await world.session.inputs.list()).toEqual([]);
  });

  test("S5 inputs are taken back by id, by key, and from one on; the others have their turns", async () => {
    await using world = await busy(make());
    const { session } = world;
    await session.send("A.", { at: "next-turn" });
    await session.send("B.", { at: "next-turn", key: "b" });
    await session.send("C.", { at: "next-turn" });
    await session.send("D.");
    await session.send("E.", { at: "next-turn", key: "e" });
    const [a, b, c, d, e] = await session.inputs.list();
    expect(await session.inputs.cancel({ id: a!.id })).toEqual([{ id: a!.id, turnId: a!.turnId, kind: "cancelled" }]);
    expect(await session.inputs.cancel({ key: "b" })).toEqual([{ id: b!.id, turnId: b!.turnId, kind: "cancelled" }]);
    expect(await session.inputs.cancel({ from: d!.id })).toEqual([
      { id: d!.id, turnId: d!.turnId, kind: "cancelled" },
      { id: e!.id, turnId: e!.turnId, kind: "cancelled" },
    ]);
    expect(await session.inputs.list()).toEqual([c]);
    world.work.release();
    await quiet(session);
    expect(world.model.told.flat()).toEqual(["Work.", "C.", "Last."]);
    expect(await saidIn(session)).toEqual(["Work.", "C.", "Last."]);
  });

  test("S5 cancelling a withdrawn input again returns the same, and a missing input is unknown", async () => {
    await using world = await busy(make());
    const { session } = world;
    await session.send("A.", { at: "next-turn", key: "a" });
    const [a] = await session.inputs.list();
    await session.inputs.cancel({ key: "a" });
    expect(await session.inputs.cancel({ id: a!.id })).toMatchObject([{ kind: "cancelled" }]);
    expect(await session.inputs.cancel({ key: "a" })).toMatchObject([{ kind: "cancelled" }]);
    for (const ref of [
      { id: "inp_nobody" },
      { key: "nobody" },
      { from: "nobody" },
      { id: a!.turnId! },
      { from: a!.turnId! },
    ])
      expect(await session.inputs.cancel(ref)).toEqual([]);
    world.work.release();
    await quiet(session);
  });

  test("S5 an input with a running or ended turn cannot be withdrawn, and the answers differ", async () => {
    await using world = await busy(make());
    const { session, turn, work } = world;
    const facts: string[] = [];
    const observing = (async () => {
      for await (const event of session.observe())
        if (event.fact && event.kind === "accepted") facts.push(event.inputId);
    })();
    await session.send("Steer.", { key: "steer" });
    await session.send("Next.", { at: "next-turn", key: "next" });
    await eventually(() => facts.length === 3);
    const [first, steer, next] = facts as [string, string, string];
    expect(await session.inputs.cancel({ id: first })).toEqual([
      { id: first, turnId: await turn.id, kind: "already-taken" },
    ]);
    work.release();
    await turn.result();
    expect(await session.inputs.cancel({ id: first })).toMatchObject([{ kind: "already-completed" }]);
    expect(await session.inputs.cancel({ key: "steer" })).toMatchObject([{ id: steer, kind: "already-completed" }]);
    await quiet(session);
    expect(await session.inputs.cancel({ from: steer })).toMatchObject([
      { id: steer, kind: "already-completed" },
      { id: next, kind: "already-completed" },
      { kind: "already-completed" },
    ]);
    expect(await saidIn(session)).toEqual(["Work.", "Steer.", "Next.", "Last."]);
    await world.runtime.close();
    await observing;
  });

  test("S5 all from one on: those that had their turn stay, those that wait are taken back", async () => {
    await using world = await busy(make());
    const { session, turn } = world;
    await session.send("A.", { at: "next-turn" });
    await session.send("B.");
    const [a] = await session.inputs.list();
    expect(a).toBeDefined();
    const running = await turn.id;
    const [accepted] = await within(firstAccepted(session));
    expect(
      (await session.inputs.cancel({ from: accepted! })).map(({ turnId, kind }) => [turnId === running, kind]),
    ).toEqual([
      [true, "already-taken"],
      [false, "cancelled"],
      [false, "cancelled"],
    ]);
    world.work.release();
    expect((await turn.result()).outcome).toMatchObject({ kind: "answered", text: "Done." });
  });

  test("S5 an input is edited by taking it back and sending another, under the same key", async () => {
    await using world = await busy(make());
    const { session } = world;
    const before = await session.send("Buy ten.", { at: "next-turn", key: "order" });
    await session.send("Then rest.", { at: "next-turn" });
    await expect(session.send("Buy two.", { at: "next-turn", key: "order" })).rejects.toMatchObject({
      code: "input.conflict",
    });
    await session.inputs.cancel({ key: "order" });
    const after = await session.send("Buy two.", { at: "next-turn", key: "order" });
    expect(after.turnId).not.toBe(before.turnId);
    expect(await session.send("Buy two.", { at: "next-turn", key: "order" })).toEqual(after);
    expect(await waitingIn(session)).toEqual(["Then rest.", "Buy two."]);
    world.work.release();
    await quiet(session);
    expect(await saidIn(session)).toEqual(["Work.", "Then rest.", "Buy two.", "Last."]);
    expect(await session.inputs.cancel({ key: "order" })).toMatchObject([
      { turnId: after.turnId, kind: "already-completed" },
    ]);
  });

  test("S5 a caller that waits for a withdrawn input gets an error, and the running turn is not touched", async () => {
    await using world = await busy(make());
    const { session } = world;
    const queued = session.turn("A turn.", { key: "t" });
    const { turnId } = await session.send("Sent.", { at: "next-turn" });
    const followed = session.follow(turnId);
    const results = [queued.result(), followed.result(), eventsOf(followed)].map((each) =>
      each.catch((error) => error),
    );
    await session.inputs.cancel({ key: "t" });
    const [sent] = await session.inputs.list();
    await session.inputs.cancel({ id: sent!.id });
    for (const error of await within(Promise.all(results))) expect(error).toMatchObject({ code: "input.withdrawn" });
    world.work.release();
    expect((await world.turn.result()).outcome).toMatchObject({ kind: "answered", text: "Done." });
  });

  test("S5 a withdrawn input stays withdrawn for later callers, also while another turn runs", async () => {
    await using world = await busy(make());
    const { session } = world;
    const { turnId } = await session.send("Sent.", { at: "next-turn", key: "k" });
    await session.inputs.cancel({ key: "k" });
    await expect(within(session.follow(turnId).result())).rejects.toMatchObject({ code: "input.withdrawn" });
    expect(await session.cancel(turnId)).toEqual({ kind: "unknown" });
    world.work.release();
  });

  test.each([
    ["nothing", undefined],
    ["null", null],
    ["text", "inp_1"],
    ["a list", ["inp_1"]],
    ["no field", {}],
    ["two fields", { id: "a", key: "b" }],
    ["another field", { turnId: "a" }],
    ["a number", { id: 7 }],
    ["an undefined id", { id: undefined }],
    ["an object", { from: {} }],
    ["an empty id", { id: "" }],
    ["an empty key", { key: "" }],
    ["an empty from", { from: "" }],
  ])("S5 an input that is named by %s is a typed error, and takes nothing back", async (_what, ref) => {
    await using world = await busy(make());
    await world.session.send("A.", { at: "next-turn" });
    await expect(world.session.inputs.cancel(ref as never)).rejects.toMatchObject({ code: "input.invalid" });
    expect(await waitingIn(world.session)).toEqual(["A."]);
    world.work.release();
    await quiet(world.session);
  });

  test("S5 inputs belong to their session: another one neither lists nor takes them back", async () => {
    await using world = await busy(make());
    const other = await world.runtime.session("other");
    await world.session.send("A.", { at: "next-turn", key: "a" });
    const [a] = await world.session.inputs.list();
    expect(await other.inputs.list()).toEqual([]);
    for (const ref of [{ id: a!.id }, { key: "a" }, { from: a!.id }])
      expect(await other.inputs.cancel(ref)).toEqual([]);
    expect(await waitingIn(world.session)).toEqual(["A."]);
    world.work.release();
    await quiet(world.session);
  });

  test("S5 two handles on one session see and take back the same inputs", async () => {
    await using world = await busy(make());
    const second = await world.runtime.session("s");
    const queued = world.session.turn("A turn.");
    const lost = queued.result().catch((error: unknown) => error);
    await queued.id;
    const [only] = await second.inputs.list();
    await second.inputs.cancel({ id: only!.id });
    expect(await lost).toMatchObject({ code: "input.withdrawn" });
    await second.send("From the second.");
    await second.close();
    expect(await waitingIn(world.session)).toEqual(["From the second."]);
    world.work.release();
    expect((await world.turn.result()).outcome).toMatchObject({ text: "re: From the second." });
    await expect(second.inputs.list()).rejects.toMatchObject({ code: "session.closed" });
    await expect(second.inputs.cancel({ id: "x" })).rejects.toMatchObject({ code: "session.closed" });
    await expect(second.send("More.")).rejects.toMatchObject({ code: "session.closed" });
  });

  test("S4 what was sent has its turn although every handle is closed", async () => {
    const store = make();
    await using world = await busy(store);
    await world.session.send("Steer.");
    await world.session.send("Next.", { at: "next-turn" });
    await world.session.close();
    world.work.release();
    const again = await world.runtime.session("s");
    await quiet(again);
    expect(await saidIn(again)).toEqual(["Work.", "Steer.", "Next.", "Last."]);
  });

  test("S4 a steered input's result is known when the turn that took it ends, not when all that wait have had theirs", async () => {
    const store = make();
    const second = held("other");
    const work = held();
    const model = listener();
    const slow = {
      ...model,
      async *stream(...given: Parameters<Heard["stream"]>) {
        const isSlow = wordsOf(given[0].messages.at(-1)).startsWith("Slow");
        if (isSlow) yield* [call("other", {}, "call_slow"), endInCalls];
        else yield* model.stream(...given);
      },
    };
    await using runtime = await running({ store, model: slow, tools: [work.tool, second.tool] });
    const session = await runtime.session();
    const turn = session.turn("Work.");
    await within(work.began());
    const steer = await session.send("Steer.");
    await session.send("Slow one.", { at: "next-turn" });
    const followed = session.follow(steer.turnId).result();
    work.release();
    expect((await within(turn.result())).outcome).toMatchObject({ text: "re: Steer." });
    await within(second.began());
    expect((await within(followed)).outcome).toMatchObject({ kind: "answered", text: "re: Steer." });
    second.release();
    await quiet(session);
  });

  test("S4 a typed turn is steered like any other", async () => {
    const work = held();
    const model = scripted(calls("work"), calls("submit_output", { n: 2 }));
    await using runtime = await running({ store: make(), model, tools: [work.tool] });
    const session = await runtime.session();
    const turn = session.turn("Count.", { output: z.object({ n: z.number() }) });
    await within(work.began());
    await session.send("Twice.");
    const followed = session.follow(await turn.id).result();
    work.release();
    expect((await within(turn.result())).outcome).toEqual({ kind: "finished", by: "model", value: { n: 2 } });
    expect((await within(followed)).outcome).toEqual({ kind: "finished", by: "model", value: { n: 2 } });
    expect(outline(model.requests[1]?.messages ?? []).at(-1)).toBe("user: Twice.");
  });

  test("S4 T9 an input that comes while a call waits for a person is said after its result", async () => {
    const careful = definePlugin({ id: "a/careful", setup: () => ({ beforeToolCall: () => ask("May I?") }) });
    const work = held();
    work.release();
    const model = listener();
    await using runtime = await running({ store: make(), model, tools: [work.tool], plugins: [careful] });
    const session = await runtime.session();
    const turn = session.turn("Work.");
    const { wait } = await within(seen(turn, "waiting"));
    await session.send("Quickly.");
    await session.send("Slowly.", { key: "slow" });
    await session.inputs.cancel({ key: "slow" });
    expect(await waitingIn(session)).toEqual(["Quickly."]);
    await answerWait(runtime, wait, { approved: true });
    expect((await within(turn.result())).outcome).toMatchObject({ text: "re: Quickly." });
    expect(outline(model.requests[1]?.messages ?? []).slice(-2)).toEqual(["work ok: worked", "user: Quickly."]);
  });

  test("S4 S7 a fork does not have the inputs that wait in its origin", async () => {
    await using world = await busy(make());
    await world.session.send("Steer.");
    await world.session.send("Next.", { at: "next-turn", key: "k" });
    const fork = await world.session.fork({ id: "f" });
    expect(await fork.inputs.list()).toEqual([]);
    expect(await fork.inputs.cancel({ key: "k" })).toEqual([]);
    expect((await within(fork.turn("Hi.", { key: "k" }).result())).outcome).toMatchObject({ text: "re: Hi." });
    world.work.release();
    await quiet(world.session);
    expect(await saidIn(world.session)).toEqual(["Work.", "Steer.", "Next.", "Last."]);
  });

  test.each(["\0", "\ud800", "__proto__", "constructor", "🪢", "k".repeat(256), " ", "'; DROP TABLE turn; --"])(
    "S5 any key will do, and names its input again: %j",
    async (key) => {
      await using world = await busy(make());
      const { session } = world;
      const sent = await session.send("A.", { at: "next-turn", key });
      expect(await session.send("A.", { at: "next-turn", key })).toEqual(sent);
      expect(await session.inputs.list()).toMatchObject([{ key, turnId: sent.turnId }]);
      expect(await session.inputs.cancel({ key })).toMatchObject([{ kind: "cancelled" }]);
      const again = await session.send("B.", { at: "next-turn", key });
      world.work.release();
      expect((await within(session.follow(again.turnId).result())).outcome).toMatchObject({ text: "re: B." });
    },
  );

  test("S5 the same key and content is the same input, whatever place it is sent for", async () => {
    await using world = await busy(make());
    const first = await world.session.send("Steer.", { key: "k" });
    expect(await world.session.send("Steer.", { key: "k", at: "next-turn" })).toEqual(first);
    expect(await world.session.turn("Steer.", { key: "k" }).id).toBe(first.turnId);
    expect(await world.session.inputs.list()).toMatchObject([{ at: "boundary" }]);
    world.work.release();
    await world.turn.result();
    await quiet(world.session);
    expect(await saidIn(world.session)).toEqual(["Work.", "Steer.", "Last."]);
  });

  test("S5 an input that is taken back before it was accepted is said or taken back, and nothing else", async () => {
    for (let instant = 0; instant < 30; instant++) {
      await using runtime = await running({ store: slowly(make(), 2), model: listener() });
      const session = await runtime.session();
      session.turn("First.");
      const sending = session.send("A.", { at: "next-turn", key: "k" });
      await ticks(instant);
      const [answer] = await session.inputs.cancel({ key: "k" });
      const { turnId } = await sending;
      const end = await within(
        session
          .follow(turnId)
          .result()
          .catch((error: { code: string }) => error.code),
      );
      await quiet(session);
      const isSaid = (await saidIn(session)).includes("A.");
      expect(isSaid).toBe(answer?.kind !== "cancelled");
      if (!isSaid) expect(end).toBe("input.withdrawn");
    }
  });

  test("S4 S14 an input that comes when its turn may spend nothing more is not used up by it: it is the next turn", async () => {
    await using world = await busy(make(), { budget: { turn: { tokens: 1 } } });
    await world.session.send("One more thing.");
    world.work.release();
    expect((await within(world.turn.result())).outcome).toMatchObject({
      kind: "stopped",
      by: "limit",
      code: "limit.tokens",
    });
    await quiet(world.session);
    expect(world.model.told).toEqual([["Work."], ["One more thing."], ["Last."]]);
  });

  // ── Merged ────────────────────────────────────────────────────────────────────────────────────────────────────────

  test("S4 by policy, inputs that wait for separate turns are merged into one, in order, and each has its result", async () => {
    await using world = await busy(make(), {}, { mergesInputs: true });
    const { session } = world;
    const sent = [];
    for (const words of ["One.", "Two.", "Three."])
      sent.push(await session.send(words, { at: "next-turn", key: words }));
    const queued = session.turn("Four.");
    world.work.release();
    const results = await within(
      Promise.all([...sent.map(({ turnId }) => session.follow(turnId).result()), queued.result()]),
    );
    for (const { outcome } of results)
      expect(outcome).toMatchObject({ kind: "answered", text: "re: One. + Two. + Three. + Four." });
    expect(world.model.told).toEqual([["Work."], [], ["One.", "Two.", "Three.", "Four."]]);
    const { turns, messages } = await session.read();
    expect(turns).toBe(2);
    expect(messages.filter(({ origin }) => origin?.kind === "input")).toHaveLength(5);
    expect(await session.inputs.list()).toEqual([]);
    for (const { turnId } of sent) expect(await session.cancel(turnId)).toMatchObject({ kind: "already-completed" });
    expect(await session.send("Two.", { at: "next-turn", key: "Two." })).toEqual(sent[1]);
    expect(await session.inputs.cancel({ key: "Two." })).toMatchObject([{ kind: "already-completed" }]);
  });

  test("S4 without the policy nothing is merged, and a lone input has its turn with or without it", async () => {
    const model = listener();
    await using runtime = await running({ store: make(), model });
    const [plain, merging] = [await runtime.session(), await runtime.session("m", { config: { mergesInputs: true } })];
    expect((await merging.turn("Alone.").result()).outcome).toMatchObject({ text: "re: Alone." });
    expect((await plain.read()).config.mergesInputs).toBeUndefined();
    expect((await merging.read()).config.mergesInputs).toBe(true);
  });

  test("S4 an input that wants something of its turn is neither merged nor merged into", async () => {
    const model = listener();
    const typed = {
      ...model,
      async *stream(...given: Parameters<Heard["stream"]>) {
        if (!given[0].tools.some(({ name }) => name === "submit_output")) return yield* model.stream(...given);
        for await (const _ of model.stream(...given)) void _;
        yield* [call("submit_output", { n: 1 }, "call_out"), endInCalls];
      },
    };
    const work = held();
    await using runtime = await running({ store: make(), model: typed, tools: [work.tool] });
    const session = await runtime.session("s", { config: { mergesInputs: true } });
    const turn = session.turn("Work.");
    await within(work.began());
    for (const words of ["A.", "B."]) await session.send(words, { at: "next-turn" });
    const value = session.turn("Typed.", { output: z.object({ n: z.number() }) });
    await value.id;
    for (const words of ["C.", "D."]) await session.send(words, { at: "next-turn" });
    const prompted = session.turn("Prompted.", { prompt: [{ slot: "guidance", text: "Be brief." }] });
    await prompted.id;
    await session.send("E.", { at: "next-turn" });
    work.release();
    await turn.result();
    expect((await within(value.result())).outcome).toMatchObject({ kind: "finished", value: { n: 1 } });
    await quiet(session);
    expect(model.told).toEqual([["Work."], [], ["A.", "B."], ["Typed."], ["C.", "D."], ["Prompted."], ["E.", "Last."]]);
  });

  test("S4 inputs for a boundary that no turn took are merged in their place", async () => {
    const store = make();
    const [committing, go] = [signalOf(), signalOf()];
    let commits = 0;
    const slow = around(store, {
      commit: async (commit) => {
        if (++commits > 1) return commit();
        committing.resolve();
        await go.promise;
        return commit();
      },
    });
    const model = listener();
    await using runtime = await running({ store: slow, model });
    const session = await runtime.session("s", { config: { mergesInputs: true } });
    const turn = session.turn("First.");
    await within(committing.promise);
    await session.send("A.", { at: "next-turn" });
    await session.send("B.");
    await session.send("C.", { at: "next-turn" });
    go.resolve();
    await turn.result();
    await quiet(session);
    expect(model.told[1]?.slice(0, 3)).toEqual(["A.", "B.", "C."]);
    expect(await saidIn(session)).toEqual(["First.", "A.", "B.", "C.", "Last."]);
  });

  test("S4 an input that was taken back is not merged", async () => {
    await using world = await busy(make(), {}, { mergesInputs: true });
    const { session } = world;
    for (const words of ["A.", "B.", "C."]) await session.send(words, { at: "next-turn", key: words });
    await session.inputs.cancel({ key: "B." });
    world.work.release();
    await quiet(session);
    expect(await saidIn(session)).toEqual(["Work.", "A.", "C.", "Last."]);
  });

  test("S3 S4 an input whose turn was cancelled while it waited is not merged: its turn is stopped, and no other turn takes it", async () => {
    await using world = await busy(make(), {}, { mergesInputs: true });
    const { session } = world;
    await session.send("A.", { at: "next-turn" });
    const b = await session.send("B.", { at: "next-turn" });
    expect(await session.cancel(b.turnId)).toMatchObject({ kind: "requested" });
    world.work.release();
    expect((await within(session.follow(b.turnId).result())).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
    await quiet(session);
    expect(world.model.told[2]).toEqual(["A."]);
  });

  test("S4 the policy is changed between turns, and a turn that runs keeps the one it began with", async () => {
    await using world = await busy(make());
    const { session } = world;
    const changed = session.configure({ mergesInputs: true });
    for (const words of ["A.", "B."]) await session.send(words, { at: "next-turn" });
    world.work.release();
    await within(changed);
    await quiet(session);
    await session.configure({ mergesInputs: undefined });
    expect((await session.read()).config.mergesInputs).toBeUndefined();
    for (const wrong of ["yes", 1, null, {}])
      await expect(session.configure({ mergesInputs: wrong as never })).rejects.toMatchObject({
        code: "options.invalid",
      });
  });

  test("S4 very many inputs that are merged are each said once, in order, in few turns", async () => {
    const many = Array.from({ length: 300 }, (_each, n) => `${n}.`);
    await using world = await busy(make(), {}, { mergesInputs: true });
    for (const words of many) await world.session.send(words, { at: "next-turn" });
    world.work.release();
    await quiet(world.session);
    expect(await saidIn(world.session)).toEqual(["Work.", ...many, "Last."]);
    expect((await world.session.read()).turns).toBeLessThan(10);
  });

  test("S4 a cancel of the turn that merged inputs settles all of them with it", async () => {
    const asked = signalOf();
    const model = listener(async ({ messages }, signal) => {
      if (messages.length < 5) return;
      asked.resolve();
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    });
    await using world = await busy(make(), { model }, { mergesInputs: true });
    const { session } = world;
    const a = await session.send("A.", { at: "next-turn" });
    const b = await session.send("B.", { at: "next-turn" });
    world.work.release();
    await within(asked.promise);
    expect(await session.cancel(a.turnId)).toMatchObject({ kind: "requested" });
    for (const { turnId } of [a, b])
      expect((await within(session.follow(turnId).result())).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
    expect(await saidIn(session)).toEqual(["Work.", "A.", "B."]);
    expect(await waitingIn(session)).toEqual([]);
  });

  // ── Races ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  test("S4 S5 whenever inputs are sent and taken back, each is said once or was taken back, never both, never neither", async () => {
    const act = fc.record({
      wait: fc.nat(40),
      at: fc.constantFrom("boundary" as const, "next-turn" as const),
      withdraw: fc.option(fc.nat(40), { nil: undefined }),
    });
    const kept = fc.asyncProperty(
      fc.array(act, { minLength: 1, maxLength: 6 }),
      fc.boolean(),
      async (acts, mergesInputs) => {
        const model = listener();
        await using runtime = await running({ store: slowly(make(), 1), model });
        const session = await runtime.session("s", { config: { mergesInputs } });
        session.turn("0");
        const withdrawn: Promise<string | undefined>[] = [];
        for (const [index, { wait, at, withdraw }] of acts.entries()) {
          await ticks(wait);
          const key = `${index + 1}`;
          await session.send(key, { at, key });
          if (withdraw === undefined) continue;
          const take = async () => {
            await ticks(withdraw);
            const [answer] = await session.inputs.cancel({ key });
            return answer?.kind === "cancelled" ? key : undefined;
          };
          withdrawn.push(take());
        }
        const gone = (await Promise.all(withdrawn)).filter((key) => key !== undefined);
        await session.turn("last").result();
        const expected = [
          "0",
          ...acts.map((_each, index) => `${index + 1}`).filter((key) => !gone.includes(key)),
          "last",
        ];
        const said = await saidIn(session);
        expect([...said].sort()).toEqual([...expected].sort());
        expect(await waitingIn(session)).toEqual([]);
        for (const place of ["boundary", "next-turn"] as const) {
          const sent = expected.filter((key) => acts[Number(key) - 1]?.at === place);
          expect(said.filter((words) => sent.includes(words))).toEqual(sent);
        }
      },
    );
    await fc.assert(kept, { numRuns: sample(15, 120) });
  });

  test("S5 an input that is taken back at the moment in which a turn claims it is either taken back or said", async () => {
    for (const isBefore of [true, false]) {
      const store = make();
      let session: Session | undefined;
      let answer: unknown;
      let isArmed = true;
      const racing = around(store, {
        "inputs.claim": async (claim) => {
          const withdraw = async () => {
            if (!isArmed || (await session!.inputs.list()).length === 0) return;
            isArmed = false;
            answer = (await session!.inputs.cancel({ key: "k" }))[0]?.kind;
          };
          if (isBefore) await withdraw();
          const claimed = await claim();
          if (!isBefore && (claimed as unknown[]).length > 0 && isArmed) {
            isArmed = false;
            answer = (await session!.inputs.cancel({ key: "k" }))[0]?.kind;
          }
          return claimed;
        },
      });
      await using world = await busy(racing);
      session = world.session;
      await session.send("Steer.", { key: "k" });
      world.work.release();
      await within(world.turn.result());
      expect(answer).toBe(isBefore ? "cancelled" : "already-taken");
      expect(await saidIn(session)).toEqual(isBefore ? ["Work."] : ["Work.", "Steer."]);
      await quiet(session);
    }
  });

  test("S4 what an observer of the commit sends is the next turn", async () => {
    const store = make();
    let session: Session | undefined;
    let hasSent = false;
    const echoing = definePlugin({
      id: "a/echoing",
      setup: () => ({
        lifecycle: async ({ event }) => {
          if (event.kind !== "turnPersisted" || hasSent) return;
          hasSent = true;
          await session?.send("And another thing.");
        },
      }),
    });
    await using runtime = await running({ store, model: listener(), plugins: [echoing] });
    session = await runtime.session();
    await within(session.turn("First.").result());
    await quiet(session);
    expect(await saidIn(session)).toEqual(["First.", "And another thing.", "Last."]);
  });

  // ── Bad input ─────────────────────────────────────────────────────────────────────────────────────────────────────

  test.each([
    ["nothing", undefined, "input.invalid"],
    ["null", null, "input.invalid"],
    ["a number", 7, "input.invalid"],
    ["an object", { text: "Hi." }, "input.invalid"],
    ["empty text", "", "input.invalid"],
    ["white space", " \n\t", "input.invalid"],
    ["no parts", [], "input.invalid"],
    ["an empty part", [""], "input.invalid"],
    ["parts of white space", ["  ", { kind: "text", text: "\n" }], "input.invalid"],
    ["a part that is none", ["Hi.", 7], "input.invalid"],
    ["a part of null", [null], "input.invalid"],
    ["bytes that are not there", [{ kind: "attachment", hash: "nope", mediaType: "image/png" }], "input.invalid"],
    ["50 MB of text", "x".repeat(50_000_000), "limit.bytes"],
    ["50 MB in parts", ["Hi.", ...Array.from({ length: 50 }, () => MEGABYTE)], "limit.bytes"],
    ["600 MB in parts", Array.from({ length: 600 }, () => MEGABYTE), "limit.bytes"],
    ["50 MB of bytes", [attach(new Uint8Array(50_000_000), { mediaType: "image/png" })], "limit.bytes"],
    ["a million parts", Array.from({ length: 1_000_000 }, () => ""), "limit.bytes"],
  ])("S4 %s is refused with a type, and nothing waits", async (_what, input, code) => {
    await using world = await busy(make());
    for (const at of ["boundary", "next-turn"] as const)
      await expect(world.session.send(input as never, { at })).rejects.toMatchObject({ code });
    await expect(world.session.turn(input as never).result()).rejects.toMatchObject({ code });
    expect(await world.session.inputs.list()).toEqual([]);
    world.work.release();
    expect((await world.turn.result()).outcome).toMatchObject({ text: "Done." });
  });

  test.each([
    ["at", { at: "now" }, "options.invalid"],
    ["at of null", { at: null }, "options.invalid"],
    ["an empty key", { key: "" }, "input.invalid"],
    ["a long key", { key: "k".repeat(257) }, "input.invalid"],
    ["a number as key", { key: 7 }, "input.invalid"],
    ["options of null", null, "options.invalid"],
    ["options of text", "next-turn", "options.invalid"],
  ])("S4 wrong options are refused with a type: %s", async (_what, options, code) => {
    await using runtime = await running({ store: make() });
    const session = await runtime.session();
    await expect(session.send("Hi.", options as never)).rejects.toMatchObject({ code });
    expect(await session.inputs.list()).toEqual([]);
    expect((await session.read()).turns).toBe(0);
  });

  test("S4 of thousands of inputs as many wait as may; the others are refused with a type, and none is lost", async () => {
    await using world = await busy(make(), { limits: { pendingInputsMax: 100 } }, { mergesInputs: true });
    const { session } = world;
    const sends = Array.from({ length: sample(2_000, 10_000) }, (_each, n) =>
      session.send(`${n}.`, { at: "next-turn" }),
    );
    const settled = await within(Promise.allSettled(sends), 20_000);
    const accepted = settled.flatMap((each, n) => (each.status === "fulfilled" ? [`${n}.`] : []));
    expect(accepted).toHaveLength(100);
    for (const each of settled) if (each.status === "rejected") expect(hasCode(each.reason, "input.full")).toBe(true);
    expect(await waitingIn(session)).toEqual(accepted);
    world.work.release();
    await within(
      session
        .follow(
          (settled.findLast((each) => each.status === "fulfilled") as PromiseFulfilledResult<{ turnId: string }>).value
            .turnId,
        )
        .result(),
    );
    await quiet(session);
    expect(await saidIn(session)).toEqual(["Work.", ...accepted, "Last."]);
  }, 40_000);

  test("S4 thousands of inputs that may wait are listed, taken back from one on, and the rest is said in order", async () => {
    await using world = await busy(make(), { limits: { pendingInputsMax: Infinity } }, { mergesInputs: true });
    const { session } = world;
    const many = kind === "memory" ? sample(2_000, 10_000) : 2_000;
    const started = performance.now();
    for (let n = 0; n < many; n++) await session.send(`${n}.`, { at: "next-turn" });
    const list = await session.inputs.list();
    expect(list).toHaveLength(many);
    const gone = await session.inputs.cancel({ from: list[1_000]!.id });
    expect(gone).toHaveLength(many - 1_000);
    expect(gone.every(({ kind }) => kind === "cancelled")).toBe(true);
    world.work.release();
    await quiet(session);
    expect(await saidIn(session)).toEqual(["Work.", ...list.slice(0, 1_000).map((each) => each.text), "Last."]);
    expect(performance.now() - started).toBeLessThan(20_000);
  }, 60_000);

  test("S4 a send that is refused leaves nothing behind: no unhandled rejection, no waiting input, and its key is free", async () => {
    const found = await unheard(async () => {
      await using world = await busy(make(), { limits: { pendingInputsMax: 1 } });
      await world.session.send("A.", { at: "next-turn" });
      world.session.turn("B.", { key: "b" });
      await expect(world.session.send("B.", { at: "next-turn", key: "b" })).rejects.toMatchObject({
        code: "input.full",
      });
      world.work.release();
      const [a] = await world.session.inputs.list();
      await world.session.follow(a!.turnId!).result();
      const later = await world.session.turn("B again.", { key: "b" }).result();
      expect(later.outcome).toMatchObject({ text: "re: B again." });
    });
    expect(found).toEqual([]);
  });

  test("S4 a closed runtime takes nothing: sends, lists and cancels are typed errors", async () => {
    const runtime = await running({ store: make() });
    const session = await runtime.session();
    await runtime.close();
    await expect(session.send("Hi.")).rejects.toMatchObject({ code: "runtime.closed" });
    await expect(session.inputs.list()).rejects.toMatchObject({ code: "runtime.closed" });
    await expect(session.inputs.cancel({ id: "x" })).rejects.toMatchObject({ code: "runtime.closed" });
    expect(() => session.follow("x")).toThrow(expect.objectContaining({ code: "runtime.closed" }));
    expect(() => session.current()).toThrow(expect.objectContaining({ code: "runtime.closed" }));
  });
});

/** The input of the first fact, as whoever observes the session is told it. */
async function firstAccepted(session: Session): Promise<readonly string[]> {
  for await (const event of session.observe()) if (event.fact && event.kind === "accepted") return [event.inputId];
  return [];
}

// ── Other processes, and the next one ─────────────────────────────────────────────────────────────────────────────────

describe("from any process", () => {
  test("S4 S5 a second runtime on the same file steers, lists and takes back", async () => {
    const path = file();
    const work = held();
    const model = listener();
    await using one = await runningOn(path, { model, tools: [work.tool] });
    await using two = await runningOn(path, { model: listener(), tools: [work.tool] });
    const here = await one.session("s");
    const turn = here.turn("Work.");
    await within(work.began());
    const there = await two.session("s");
    await there.send("From there.");
    const queued = await here.send("Queued here.", { at: "next-turn", key: "k" });
    const lost = here
      .follow(queued.turnId)
      .result()
      .catch((error: unknown) => error);
    expect(await waitingIn(there)).toEqual(["From there.", "Queued here."]);
    expect(await there.inputs.cancel({ key: "k" })).toMatchObject([{ turnId: queued.turnId, kind: "cancelled" }]);
    expect(await waitingIn(here)).toEqual(["From there."]);
    work.release();
    expect((await within(turn.result())).outcome).toMatchObject({ text: "re: From there." });
    expect(await within(lost)).toMatchObject({ code: "input.withdrawn" });
    expect(await saidIn(there)).toEqual(["Work.", "From there."]);
  });

  test("S4 S5 another process steers a turn that runs here, and takes back what waits here", async () => {
    const path = file();
    const work = held();
    await using runtime = await runningOn(path, { model: listener(), tools: [work.tool] });
    const session = await runtime.session("s");
    const turn = session.turn("Work.");
    await within(work.began());
    await session.send("Not this.", { at: "next-turn", key: "k" });
    const other = elsewhere(
      `const runtime = await createRuntime({ store, model: plays(), recover: "manual" });
       const session = await runtime.session("s");
       await session.send("From elsewhere.");
       say(await session.inputs.list().then((list) => list.map(({ text, at }) => [text, at])));
       say((await session.inputs.cancel({ key: "k" })).map(({ kind }) => kind));
       await runtime.close();`,
      path,
    );
    expect(JSON.parse((await other.next()) ?? "")).toEqual([
      ["Not this.", "next-turn"],
      ["From elsewhere.", "boundary"],
    ]);
    expect(JSON.parse((await other.next()) ?? "")).toEqual(["cancelled"]);
    await other.ended;
    work.release();
    expect((await within(turn.result())).outcome).toMatchObject({ text: "re: From elsewhere." });
    await quiet(session);
    expect(await saidIn(session)).toEqual(["Work.", "From elsewhere.", "Last."]);
  }, 20_000);

  test("S4 S5 two runtimes send, take back and merge at once: each input is said once or was taken back", async () => {
    const path = file();
    const models = [listener(), listener()];
    await using one = await runningOn(path, { model: models[0]! });
    await using two = await runningOn(path, { model: models[1]! });
    const config = { mergesInputs: true };
    const sessions = [await one.session("s", { config }), await two.session("s")];
    const sent: string[] = [];
    const gone: string[] = [];
    const talk = async (session: Session, who: number): Promise<void> => {
      for (let n = 0; n < 30; n++) {
        const key = `${who}/${n}`;
        await session.send(key, { key, at: n % 3 === 0 ? "boundary" : "next-turn" });
        sent.push(key);
        if (n % 4 !== 1) continue;
        const [answer] = await sessions[1 - who]!.inputs.cancel({ key }); // By the other one.
        if (answer?.kind === "cancelled") gone.push(key);
      }
    };
    await Promise.all(sessions.map(talk));
    for (const session of sessions) await quiet(session);
    const said = (await saidIn(sessions[0]!)).filter((words) => words !== "Last.");
    expect([...said].sort()).toEqual(sent.filter((key) => !gone.includes(key)).sort());
    expect(await waitingIn(sessions[1]!)).toEqual([]);
    for (const who of ["0/", "1/"])
      for (const isAside of [true, false]) {
        const own = said.filter((key) => key.startsWith(who) && (Number(key.slice(2)) % 3 === 0) === isAside);
        expect(own).toEqual([...own].sort((a, b) => Number(a.slice(2)) - Number(b.slice(2))));
      }
  }, 20_000);

  test("D2 S4 what waits when a process is killed has its turn in the next one, in order; what was taken back has not", async () => {
    const path = file();
    const dying = elsewhere(
      `const work = defineTool({ name: "work", description: "Works.", input: { type: "object" }, execute: () => { say("began"); return new Promise(() => {}); } });
       const runtime = await createRuntime({ store, model: plays(calls("work")), tools: [work] });
       const session = await runtime.session("s");
       session.turn("Work.", { key: "work" });
       setInterval(() => {}, 1000);
       await heard;
       await session.send("A.", { at: "next-turn", key: "a" });
       await session.send("B.", { at: "next-turn", key: "b" });
       await session.send("Steer.", { key: "steer" });
       await session.send("C.", { at: "next-turn", key: "c" });
       await session.inputs.cancel({ key: "b" });
       say("sent");`,
      path,
    );
    expect(await dying.next()).toBe("began");
    dying.tell();
    expect(await dying.next()).toBe("sent");
    await dying.kill();
    const work = held();
    work.release();
    const model = listener();
    await using runtime = await runningOn(path, { model, tools: [work.tool] });
    const session = await runtime.session("s");
    await quiet(session);
    expect(await saidIn(session)).toEqual(["Work.", "Steer.", "A.", "C.", "Last."]);
    expect(work.calls).toBe(1);
    expect(model.told).toEqual([["Steer."], ["A."], ["C."], ["Last."]]);
  }, 20_000);
});

describe("D2 S4 merged inputs in the next process", () => {
  const options = (model: Heard, work = held()) => ({ model, tools: [work.tool] });
  async function begun(times: ReturnType<typeof lifetimes>, doing: Parameters<typeof around>[1], model = listener()) {
    const work = held();
    const life = await times.next(options(model, work), doing);
    const session = await life.runtime.session("s", { config: { mergesInputs: true } });
    session.turn("Work.", { key: "work" });
    await within(work.began());
    for (const key of ["A.", "B.", "C."]) await session.send(key, { at: "next-turn", key });
    await session.send("D.", { at: "next-turn", key: "D." });
    await session.inputs.cancel({ key: "C." });
    return { ...life, session, work, model };
  }
  async function resumed(times: ReturnType<typeof lifetimes>) {
    const model = listener();
    const life = await times.next(options(model));
    const session = await life.runtime.session("s");
    const turns = await Promise.all(
      ["A.", "B.", "D."].map((key) => within(session.turn(key, { key }).result(), 4_000)),
    );
    return { ...life, session, model, turns };
  }

  test("S4 killed while the merged turn's model call is under way: the same inputs are asked about again, once each", async () => {
    const times = lifetimes();
    const asked = signalOf();
    const model = listener(async ({ messages }) => {
      if (messages.length < 6) return;
      asked.resolve();
      await new Promise(() => {});
    });
    const first = await begun(times, {}, model);
    first.work.release();
    await within(asked.promise);
    await first.session.send("E.", { at: "next-turn", key: "E." });
    times.kill();
    const { session, model: again, turns, runtime } = await resumed(times);
    for (const { outcome } of turns) expect(outcome).toMatchObject({ kind: "answered", text: "re: A. + B. + D." });
    expect((await session.turn("E.", { key: "E." }).result()).outcome).toMatchObject({ text: "re: E." });
    expect(again.told).toEqual([["A.", "B.", "D."], ["E."]]);
    expect(await saidIn(session)).toEqual(["Work.", "A.", "B.", "D.", "E."]);
    expect((await session.read()).turns).toBe(3);
    await runtime.close();
  });

  test("S4 killed between the claim and the event that shows it: what was claimed is claimed again, once each", async () => {
    const times = lifetimes();
    const claimed = signalOf();
    const first = await begun(times, {
      "inputs.claim": (claim, _lease, boundary) => {
        const found = claim();
        if (!String(boundary).endsWith("opening") || (found as unknown[]).length === 0) return found;
        times.kill();
        claimed.resolve();
        return new Promise(() => {});
      },
    });
    first.work.release();
    await within(claimed.promise);
    const { session, model, turns, runtime } = await resumed(times);
    for (const { outcome } of turns) expect(outcome).toMatchObject({ kind: "answered", text: "re: A. + B. + D." });
    expect(model.told).toEqual([["A.", "B.", "D."]]);
    expect(await saidIn(session)).toEqual(["Work.", "A.", "B.", "D."]);
    await runtime.close();
  });

  test("S4 killed in the commit of the merged turn: it is kept or not, and nothing is said twice", async () => {
    for (const isKept of [true, false]) {
      const times = lifetimes();
      const dead = signalOf();
      let commits = 0;
      const first = await begun(times, {
        commit: async (commit) => {
          if (++commits === 1) return commit();
          if (isKept) await commit();
          times.kill();
          dead.resolve();
          return new Promise(() => {});
        },
      });
      first.work.release();
      await within(dead.promise);
      const { session, model, turns, runtime } = await resumed(times);
      for (const { outcome } of turns) expect(outcome).toMatchObject({ kind: "answered", text: "re: A. + B. + D." });
      // The reply was to be recorded with the commit.
      expect(model.told).toEqual(isKept ? [] : [["A.", "B.", "D."]]);
      expect(await saidIn(session)).toEqual(["Work.", "A.", "B.", "D."]);
      expect((await session.read()).turns).toBe(2);
      await runtime.close();
    }
  });

  test("S4 the policy of the next process does not change a turn that has begun: inputs outside it have separate turns", async () => {
    const times = lifetimes();
    const work = held();
    const first = await times.next(options(listener(), work));
    const session = await first.runtime.session("s");
    session.turn("Work.", { key: "work" });
    await within(work.began());
    for (const key of ["A.", "B."]) await session.send(key, { at: "next-turn", key });
    times.kill();
    const model = listener();
    const done = held();
    done.release();
    const second = await times.next(options(model, done));
    const again = await second.runtime.session("s");
    await within(again.turn("B.", { key: "B." }).result(), 4_000);
    expect(model.told).toEqual([[], ["A."], ["B."]]);
    await second.runtime.close();
  });
});

test("S4 D2 a runtime that is closed leaves waiting inputs to the next one, and their callers get an error", async () => {
  const store = durable(memory());
  const world = quickWorld();
  const work = held();
  const first = await deployed(store, world, { model: listener(), tools: [work.tool] });
  const session = await first.runtime.session("s");
  const turn = session.turn("Work.", { key: "work" });
  await within(work.began());
  const { turnId } = await session.send("Next.", { at: "next-turn", key: "next" });
  const results = [turn.result(), session.follow(turnId).result()].map((each) => each.catch((error: unknown) => error));
  await within(first.runtime.close());
  const codes = (await within(Promise.all(results))).map((error) => (error as { readonly code?: string }).code);
  expect(codes).toEqual(["runtime.closed", "turn.left"]);
  const model = listener();
  const done = held();
  done.release();
  const second = await deployed(store, quickWorld({ name: "b", now: world.now() + 60_000 }), {
    model,
    tools: [done.tool],
  });
  const again = await second.runtime.session("s");
  expect((await within(again.turn("Next.", { key: "next" }).result())).outcome).toMatchObject({ text: "re: Next." });
  expect(await saidIn(again)).toEqual(["Work.", "Next."]);
  await second.runtime.close();
});

test("S4 the facts of a steered turn name its inputs, each accepted once", async () => {
  await using world = await busy(memory());
  const all = (async () => {
    const events = [];
    for await (const event of world.session.observe()) events.push(event);
    return events;
  })();
  const steer = await world.session.send("Steer.", { key: "k" });
  await world.session.send("Steer.", { key: "k" });
  world.work.release();
  await world.turn.result();
  await world.runtime.close();
  const accepted = only(await all, "accepted");
  expect(accepted.map(({ turnId, key }) => [turnId, key])).toEqual([
    [await world.turn.id, undefined],
    [steer.turnId, "k"],
  ]);
});
