import { definePlugin, type Plugin } from "bowline";
import { type ModelPart, ProviderFailure } from "bowline/provider";
import { both, calls, says, scripted, thinks } from "bowline/testing";
import { expect, test } from "vitest";
import { aborted, call, end, plays, text } from "../kit/models.ts";
import { eventsOf, only, outline, seen, shown, ticks } from "../kit/reading.ts";
import { open, ping } from "../kit/worlds.ts";

interface Chunk {
  readonly kind: "text" | "reasoning";
  readonly delta: string;
}
const stream = (id: string, run: (chunk: Chunk) => unknown): Plugin =>
  definePlugin({ id, setup: () => ({ stream: ({ chunk }: { chunk: Chunk }) => run(chunk) }) as object });
const upper = stream("a/upper", ({ delta }) => ({ delta: delta.toUpperCase() }));

// ── Deltas ──────────────────────────────────────────────────────────────────────────────────────────────────────────

test("K11 stream hooks chain: each is given what the one before it made, and what is shown is what is kept", async () => {
  const exclaim = stream("b/exclaim", ({ kind, delta }) => (kind === "text" ? { delta: `${delta}!` } : undefined));
  const model = scripted(thinks("hm", says("yes", "no")));
  await using world = await open(model, { plugins: [upper, exclaim] });
  const turn = world.session.turn("Go.");
  const events = await eventsOf(turn);
  expect([shown(events, "reasoning"), shown(events)]).toEqual(["HM", "YES!NO!"]);
  expect((await turn.result()).outcome).toMatchObject({ kind: "answered", text: "YES!NO!" });
  expect(outline((await world.session.read()).messages)).toEqual(["user: Go.", "thinks: HM", "assistant: YES!NO!"]);
});

test("K11 a stream hook may keep a delta back, and give it out later", async () => {
  let held = "";
  const hold = stream("a/hold", ({ delta }) => {
    held += delta;
    if (!held.endsWith("\n")) return { delta: "" };
    const whole = held;
    held = "";
    return { delta: whole };
  });
  await using world = await open(scripted(says("on", "e\n", "tw", "o\n")), { plugins: [hold] });
  const turn = world.session.turn("Go.");
  expect(only(await eventsOf(turn), "text").map(({ delta }) => delta)).toEqual(["one\n", "two\n"]);
  expect((await turn.result()).outcome).toMatchObject({ text: "one\ntwo\n" });
});

test("K11 a stream hook may wait, and the order of deltas stays", async () => {
  let turn = 9;
  const slow = stream("a/slow", async ({ delta }) => {
    await ticks(turn--);
    return { delta: `${delta}.` };
  });
  await using world = await open(scripted(says("a", "b", "c", "d")), { plugins: [slow, upper] });
  expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ text: "A.B.C.D." });
});

test("K11 a stream hook may add reasoning and events, in its own name", async () => {
  const comment = stream("a/comment", ({ delta }) => ({
    reasoning: `(${delta})`,
    events: [{ name: "heard", payload: delta }, { name: "bare" }],
  }));
  const second = stream("b/comment", () => ({ reasoning: "[b]", events: [{ name: "too" }] }));
  await using world = await open(scripted(says("yes")), { plugins: [comment, second] });
  const events = await eventsOf(world.session.turn("Go."));
  expect(shown(events)).toBe("yes");
  expect(shown(events, "reasoning")).toBe("(yes)[b]");
  expect(only(events, "plugin").map(({ plugin, name, payload }) => [plugin, name, payload])).toEqual([
    ["a/comment", "heard", "yes"],
    ["a/comment", "bare", null],
    ["b/comment", "too", null],
  ]);
});

test("K11 reasoning that a plugin added is not sent back as the model's own", async () => {
  const comment = stream("a/comment", ({ kind, delta }) => (kind === "text" ? { reasoning: `(${delta})` } : undefined));
  const model = scripted(thinks("My own.", says("Yes.")), says("Next."));
  await using world = await open(model, { plugins: [comment] });
  await world.session.turn("Go.").result();
  await world.session.turn("And?").result();
  const reasoning = (model.requests[1]?.messages ?? []).flatMap(({ parts }) =>
    parts.filter((part) => part.kind === "reasoning"),
  );
  const own = reasoning.filter((part) => part.made?.route === "scripted/test").map((part) => part.text);
  expect(own).toEqual(["My own."]);
});

test("K11 a stream hook may end the reply: the text so far is the answer, and the model is let go", async () => {
  const over = Promise.withResolvers<void>();
  const model = plays(async function* () {
    try {
      yield [text("one "), text("two "), text("three ")];
      yield text("four ");
      yield call("ping");
      yield end;
    } finally {
      over.resolve();
    }
  });
  const stop = stream("a/stop", ({ delta }) => (delta === "two " ? { abort: true } : undefined));
  await using world = await open(model, { plugins: [stop], tools: [ping] });
  const turn = world.session.turn("Go.");
  const events = await eventsOf(turn);
  const { outcome, usage } = await turn.result();
  expect(outcome).toMatchObject({ kind: "answered", text: "one two " });
  expect(shown(events)).toBe("one two ");
  expect(usage.unknownCalls).toBe(1);
  await over.promise;
  expect(outline((await world.session.read()).messages)).toEqual(["user: Go.", "assistant: one two "]);
});

test("K11 a stream hook that throws fails the call without another attempt; what was said is kept", async () => {
  for (const isAsync of [false, true]) {
    const sick = stream("a/sick", ({ delta }) => {
      if (delta !== "two ") return undefined;
      if (isAsync) return Promise.reject(new Error("Ouch."));
      throw new Error("Ouch.");
    });
    const model = scripted(says("one ", "two ", "three "), says("Never."));
    await using world = await open(model, { plugins: [sick] });
    const turn = world.session.turn("Go.");
    const events = await eventsOf(turn);
    expect((await turn.result()).outcome).toEqual({
      kind: "failed",
      by: "plugin",
      code: "hook.failed",
      reason: "Plugin a/sick failed in stream: Ouch.",
      text: "one ",
    });
    expect(model.requests).toHaveLength(1);
    expect(only(events, "retracted")).toEqual([]);
  }
});

test("K11 an attempt that is tried again retracts what the hooks made of it", async () => {
  const model = plays(
    async function* () {
      yield text("half");
      throw new ProviderFailure({ class: "network", message: "Reset.", retryAfterMs: 0 });
    },
    async function* () {
      yield* says("whole");
    },
  );
  await using world = await open(model, { plugins: [upper] });
  const events = await eventsOf(world.session.turn("Go."));
  expect(only(events, "text").map(({ delta }) => delta)).toEqual(["HALF", "WHOLE"]);
  expect(shown(events)).toBe("WHOLE");
});

// ── Ends of streams ─────────────────────────────────────────────────────────────────────────────────────────────────

const ending = () => {
  const reasons: string[] = [];
  const plugin = definePlugin({
    id: "z/ends",
    setup: () => ({ streamFinished: ({ reason }) => void reasons.push(reason) }),
  });
  return { reasons, plugin };
};
const broken = (failure: ProviderFailure["class"], ...parts: readonly ModelPart[]) =>
  async function* () {
    yield* parts;
    throw new ProviderFailure({ class: failure, message: "Broken.", retryAfterMs: 0 });
  };
const whole = async function* () {
  yield* says("Whole.");
};

test("K11 the end of every stream is reported, with its reason", async () => {
  const { reasons, plugin } = ending();
  const model = plays(
    async function* () {
      yield* both(says("Hm."), calls("ping"));
    },
    broken("network", text("Half")),
    broken("rate-limit"),
    whole,
    broken("auth"),
  );
  await using world = await open(model, { plugins: [plugin], tools: [ping] });
  await world.session.turn("Go.").result();
  expect(reasons.splice(0)).toEqual(["complete", "attempt-reset", "attempt-reset", "complete"]);
  await world.session.turn("Go.").result();
  expect(reasons).toEqual(["provider-error"]);
});

test("K11 the end of a stream that a hook or a cancel ended is reported with that reason", async () => {
  const { reasons, plugin } = ending();
  const stop = stream("a/stop", ({ delta }) => (delta === "stop" ? { abort: true } : undefined));
  const model = plays(
    async function* () {
      yield* says("stop", "never");
    },
    async function* (_, signal) {
      yield text("so ");
      await aborted(signal);
    },
  );
  await using world = await open(model, { plugins: [stop, plugin] });
  await world.session.turn("Go.").result();
  expect(reasons.splice(0)).toEqual(["aborted"]);
  const turn = world.session.turn("Go.");
  await seen(turn, "text");
  await turn.cancel();
  await turn.result();
  expect(reasons).toEqual(["cancelled"]);
});

test("K11 an observer of the end that fails or hangs changes nothing", async () => {
  const sick = definePlugin({
    id: "a/sick",
    setup: () => ({
      streamFinished: [
        () => {
          throw new Error("Ouch.");
        },
        { deadlineMs: 20, run: () => new Promise<void>(() => {}) },
      ],
    }),
  });
  const { reasons, plugin } = ending();
  await using world = await open(scripted(says("Fine.")), { plugins: [sick, plugin] });
  expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "answered", text: "Fine." });
  expect(reasons).toEqual(["complete"]);
});

test.each(["cancelled", "complete"] as const)(
  "K11 an observer of the end that is slow does not cost a cancelled turn its words: %s",
  async (when) => {
    const told = Promise.withResolvers<void>();
    const slow = definePlugin({
      id: "a/slow",
      setup: () => ({
        streamFinished: ({ reason }) => {
          told.resolve();
          return reason === when ? new Promise<void>((resolve) => setTimeout(resolve, 50)) : undefined;
        },
      }),
    });
    const model = plays(async function* (_, signal) {
      yield text("so far");
      if (when === "cancelled") await aborted(signal);
      yield end;
    });
    await using world = await open(model, { plugins: [slow], limits: { cancelGraceMs: 15 } });
    const turn = world.session.turn("Go.");
    if (when === "cancelled") await seen(turn, "text");
    else await told.promise;
    await turn.cancel();
    expect((await turn.result()).outcome).toMatchObject({ kind: "stopped", by: "cancel", text: "so far" });
    expect(outline((await world.session.read()).messages)).toEqual(["user: Go.", "assistant: so far"]);
  },
);

// ── Whole replies ───────────────────────────────────────────────────────────────────────────────────────────────────

test("K11 response hooks chain over the whole reply; what they make of it is kept and answered", async () => {
  const wrap = (id: string, left: string, right: string) =>
    definePlugin({
      id,
      setup: () => ({
        response: ({ reply }) => ({
          parts: reply.parts.map((part) =>
            part.kind === "text" ? { ...part, text: `${left}${part.text}${right}` } : part,
          ),
          events: [{ name: "wrapped", payload: reply.route }],
        }),
      }),
    });
  await using world = await open(scripted(says("yes")), {
    plugins: [wrap("a/round", "(", ")"), wrap("b/square", "[", "]")],
  });
  const turn = world.session.turn("Go.");
  const events = await eventsOf(turn);
  expect((await turn.result()).outcome).toMatchObject({ kind: "answered", text: "[(yes)]" });
  expect(outline((await world.session.read()).messages).at(-1)).toBe("assistant: [(yes)]");
  expect(only(events, "plugin").map(({ plugin, name, payload }) => [plugin, name, payload])).toEqual([
    ["a/round", "wrapped", "scripted/test"],
    ["b/square", "wrapped", "scripted/test"],
  ]);
});

test("K11 a response hook may take a call out of a reply, or put one in", async () => {
  const edit = definePlugin({
    id: "a/edit",
    setup: () => ({
      response: ({ reply }) => ({
        parts: reply.parts
          .map((part) => (part.kind === "toolCall" && part.name === "pong" ? { ...part, name: "ping" } : part))
          .filter((part) => part.kind !== "toolCall" || part.name === "ping"),
      }),
    }),
  });
  const model = scripted(both(calls("danger"), calls("pong")), says("Done."));
  await using world = await open(model, { plugins: [edit], tools: [ping] });
  await world.session.turn("Go.").result();
  expect(outline((await world.session.read()).messages)).toEqual([
    "user: Go.",
    "calls ping",
    "ping ok: Pong.",
    "assistant: Done.",
  ]);
});

test("K11 a response hook that fails is tried again on the same paid reply", async () => {
  let tries = 0;
  const flaky = definePlugin({
    id: "a/flaky",
    setup: () => ({
      response: ({ reply }) => {
        if (++tries < 3) throw new Error("Not yet.");
        return { parts: [...reply.parts, { kind: "text" as const, text: " Checked." }] };
      },
    }),
  });
  const model = scripted(says("Yes."));
  await using world = await open(model, { plugins: [flaky] });
  expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "answered", text: "Yes. Checked." });
  expect(tries).toBe(3);
  expect(model.requests).toHaveLength(1);
});

test("K11 a request hook changes this call only, and nothing that is kept", async () => {
  const hide = definePlugin({
    id: "a/hide",
    setup: () => ({
      request: ({ request }) => ({
        ...request,
        system: `${request.system} Be brief.`,
        messages: request.messages.slice(-1),
      }),
    }),
  });
  const model = scripted(says("One."), says("Two."));
  await using world = await open(model, { plugins: [hide], instructions: "You are kind." });
  await world.session.turn("First.").result();
  await world.session.turn("Second.").result();
  expect(model.requests[1]?.system).toBe("You are kind. Be brief.");
  expect(outline(model.requests[1]?.messages ?? [])).toEqual(["user: Second."]);
  expect((await world.session.read()).messages).toHaveLength(4);
});
