import { ask, attach, definePlugin, type Plugin, retryable, type Services, type TurnProgress } from "bowline/plugin";
import { sqlite } from "bowline/stores/sqlite";
import { calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { listener } from "../kit/models.ts";
import { codeOf, eventually, outline, saidIn, unheard, within } from "../kit/reading.ts";
import { file } from "../kit/stores.ts";
import { held, lifetimes, named, open, running, Stop, work } from "../kit/worlds.ts";
import { parked } from "../sessions/open-turns.ts";

type Run = (services: Services & { readonly sessionId: string }) => unknown;

/** What the sessions named here do before their turns begin. */
const before = (doing: { readonly [session: string]: Run }): Plugin =>
  definePlugin({
    id: "a/asks",
    setup: () => ({
      beforeTurn: async (event) => {
        await doing[event.sessionId]?.(event as never);
      },
    }),
  });

// ── Turns of other sessions ─────────────────────────────────────────────────────────────────────────────────────────

test("S2 K13 a plugin has of another session's turn what an app has: its events, its result, parts and attachments", async () => {
  const events: TurnProgress[] = [];
  let found: unknown;
  const doing: Run = async ({ sessions }) => {
    const picture = attach(new Uint8Array([1, 2]), { mediaType: "image/png" });
    const turn = sessions.turn("other", ["Look.", picture]);
    for await (const event of turn) events.push(event);
    found = [await turn.id, await turn.result()];
    await sessions.send("other", ["And", " again."]);
  };
  await using runtime = await running({ model: listener(), plugins: [before({ asking: doing })] });
  const other = await runtime.session("other");
  const asked = await (await runtime.session("asking")).turn("Go.").result();
  expect(asked.outcome.kind).toBe("answered");
  expect(events.map(({ kind }) => kind)).toEqual(["text", "committed"]);
  const turnId = (events[1] as { readonly turnId: string }).turnId;
  expect(found).toMatchObject([turnId, { turnId, outcome: { text: "re: Look." } }]);
  await eventually(async () => (await saidIn(other)).length === 2);
  const [first] = (await other.read()).messages;
  expect(first?.parts).toMatchObject([{ text: "Look." }, { kind: "attachment", mediaType: "image/png", bytes: 2 }]);
  expect(await saidIn(other)).toEqual(["Look.", "And again."]);
});

test("S2 a plugin cancels another session's turn, and gets a typed result of one", async () => {
  const far = held();
  const ends: unknown[] = [];
  const output = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;
  const doing: Run = async ({ sessions }) => {
    const turn = sessions.turn("slow", "Work.");
    await far.began();
    expect(await turn.cancel("Enough.")).toMatchObject({ kind: "requested" });
    const leaving = new AbortController();
    const left = sessions.turn("slow", "Work.", { signal: leaving.signal });
    await far.began(2);
    leaving.abort();
    ends.push((await turn.result()).outcome, (await left.result()).outcome);
    ends.push((await sessions.turn("typed", "Count.", { output }).result()).outcome);
  };
  const model = listener();
  const counting = { ...scripted(calls("submit_output", { n: 3 })), id: "counts" };
  await using runtime = await running({
    model,
    models: () => counting,
    tools: [far.tool],
    plugins: [before({ asking: doing })],
  });
  await runtime.session("slow");
  await runtime.session("typed", { config: { model: "counts/any" } });
  await within((await runtime.session("asking")).turn("Go.").result(), 4_000);
  expect(ends).toMatchObject([
    { kind: "stopped", by: "cancel", reason: expect.stringContaining("Enough.") },
    { kind: "stopped", by: "cancel" },
    { kind: "finished", value: { n: 3 } },
  ]);
});

test("S2 a plugin cannot wait for a turn of the same session or of a session above, because both would wait for ever", async () => {
  const codes: string[] = [];
  const asks = async (sessions: Services["sessions"], id: string): Promise<void> => {
    const turn = sessions.turn(id, "Later.");
    await turn.id;
    codes.push(await codeOf(turn.result()), await codeOf(turn[Symbol.asyncIterator]().next()));
  };
  const doing: Run = async ({ sessions }) => {
    await asks(sessions, "asking");
    const { id } = await sessions.create({ id: "child", kind: "child" });
    await sessions.turn(id, "Go.").result();
  };
  const plugin = before({
    asking: (event) => (codes.length === 0 ? doing(event) : undefined),
    child: ({ sessions }) => asks(sessions, "asking"),
  });
  await using runtime = await running({ model: listener(), plugins: [plugin] });
  const session = await runtime.session("asking");
  await within(session.turn("Go.").result());
  expect(codes).toEqual(Array(4).fill("operation.reentrant"));
  await eventually(async () => (await session.read()).turns === 3);
});

test("S2 only the awaited promises of such a turn report its errors", async () => {
  const codes: unknown[] = [];
  const doing: Run = async ({ sessions }) => {
    const turn = sessions.turn as (...given: readonly unknown[]) => ReturnType<Services["sessions"]["turn"]>;
    for (const given of [
      ["nobody", "Hi."],
      [7, "Hi."],
      ["other", ""],
      ["other", { words: "Hi." }],
      ["other", "Hi.", { prompt: [] }],
      ["other", "Hi.", null],
      ["other", "Hi.", { key: "" }],
      ["other", "Hi.", { signal: "stop" }],
    ]) {
      const begun = turn(...given);
      codes.push([await codeOf(begun.id), await codeOf(begun.result()), await codeOf(begun.cancel())]);
      turn(...given);
    }
    codes.push(await codeOf(sessions.close("nobody")), await codeOf(sessions.inject("nobody", "Hi.")));
  };
  const found = await unheard(async () => {
    await using runtime = await running({ model: listener(), plugins: [before({ asking: doing })] });
    const other = await runtime.session("other");
    await (await runtime.session("asking")).turn("Go.").result();
    expect((await other.read()).turns).toBe(0);
  });
  const thrice = (code: string) => [code, code, code];
  expect(codes).toEqual([
    thrice("session.unknown"),
    thrice("session.unknown"),
    thrice("input.invalid"),
    thrice("input.invalid"),
    thrice("options.unknown"),
    thrice("options.invalid"),
    thrice("input.invalid"),
    thrice("input.invalid"),
    "session.unknown",
    "session.unknown",
  ]);
  expect(found).toEqual([]);
});

test("S4 a turn that nobody looks at holds its session until it has ended, and `close` lets it go and stops nothing", async () => {
  const far = held();
  const closed: string[] = [];
  const watches = definePlugin({
    id: "a/watches",
    setup: () => ({
      lifecycle: ({ event, sessionId }) => void (event.kind === "sessionClosed" && closed.push(sessionId)),
    }),
  });
  let last: unknown;
  const doing: Run = async ({ sessions }) => {
    await sessions.turn("unseen", "Hello.").id;
    for await (const { kind } of sessions.turn("left", "Hello.")) if (kind === "text") break;
    const turn = sessions.turn("other", "Work.");
    await far.began();
    await sessions.close("other");
    await sessions.close("other");
    far.release();
    last = (await turn.result()).outcome;
  };
  await using runtime = await running({
    model: listener(),
    tools: [far.tool],
    plugins: [before({ asking: doing }), watches],
  });
  for (const id of ["unseen", "left", "other"]) await (await runtime.session(id)).close();
  await eventually(() => closed.length === 3);
  await (await runtime.session("asking")).turn("Go.").result();
  expect(last).toMatchObject({ kind: "answered" });
  await eventually(() => closed.length === 6);
  expect(closed.slice(3).sort()).toEqual(["left", "other", "unseen"]);
  expect(await runtime.sessions.get("left")).toMatchObject({ turns: 1 });
});

test("K15 S4 `close` lets a session go whose turn waits for a person; its turn continues there once it is answered", async () => {
  const closed: string[] = [];
  const asks = definePlugin({
    id: "a/asks",
    setup: ({ command }) => ({
      beforeToolCall: () => ask("Really?"),
      lifecycle: ({ event, sessionId }) => void (event.kind === "sessionClosed" && closed.push(sessionId)),
      operations: {
        begin: command({ input: z.string(), run: ({ input, sessions }) => sessions.turn(input, "Work.").id }),
        close: command({ run: ({ sessions }) => sessions.close("other") }),
      },
    }),
  });
  const store = sqlite(file(), { durability: "process" });
  const limits = { parkAfterMs: 1 };
  await using runtime = await running({ store, model: listener(), tools: [work], plugins: [asks], limits });
  const asking = await runtime.session("asking");
  for (const id of ["other", "third"]) {
    await runtime.sessions.create({ id });
    await asking.command(asks, "begin", id);
    await parked(runtime, store, id);
  }
  await asking.command(asks, "close");
  await eventually(() => closed.length > 0);
  expect(closed).toEqual(["other"]); // Its turn still holds the third one.
  const [wait] = await runtime.waits.list({ session: "other" });
  await runtime.waits.resolve(wait!.key, { approved: true });
  const ended = await (await runtime.session("other")).follow(wait!.turnId!).result();
  expect(ended.outcome).toMatchObject({ kind: "answered" });
});

// ── What a rerun does again ─────────────────────────────────────────────────────────────────────────────────────────

test("S2 D2 what a hook sent, injected and began before its process was killed is there once after the rerun", async () => {
  const lives = lifetimes();
  let runs = 0;
  const doing: Run = async ({ sessions }) => {
    await sessions.send("other", "Sent.");
    await sessions.send("other", "Sent.");
    await sessions.inject("third", "Noted.");
    await sessions.inject("asking", { role: "system", parts: ["To myself."] });
    await sessions.turn("other", "Begun.").id;
    if (++runs === 1) lives.kill();
  };
  const options = { model: listener(), plugins: [before({ asking: doing })] };
  const first = await lives.next(options);
  for (const each of ["other", "third"]) await (await first.runtime.session(each)).close();
  void (await first.runtime.session("asking"))
    .turn("Go.")
    .result()
    .catch(() => {});
  await eventually(() => runs === 1);
  const { runtime } = await lives.next(options);
  await runtime.recover();
  const [asking, other, third] = [
    await runtime.session("asking"),
    await runtime.session("other"),
    await runtime.session("third"),
  ];
  await eventually(async () => (await other.read()).turns === 3);
  expect(runs).toBe(2);
  expect([...(await saidIn(other))].sort()).toEqual(["Begun.", "Sent.", "Sent."]);
  expect(await third.inputs.list()).toMatchObject([{ text: "Noted.", at: "injected" }]);
  const { messages } = await asking.read();
  expect(outline(messages)).toEqual(["user: Go.", "assistant: re: Go.", "system: To myself.", "assistant: Done."]);
  expect(messages[2]?.origin).toMatchObject({ kind: "plugin", plugin: "a/asks", inputId: expect.any(String) });
  await runtime.close();
});

test("S2 a tool that is tried again has sent once; each call, hook and plugin sends for itself", async () => {
  let tries = 0;
  const sends = definePlugin({
    id: "a/sends",
    setup: ({ tool }) => ({
      tools: [
        tool({
          name: "tell",
          description: "Tells.",
          input: z.object({}),
          retry: "safe",
          execute: async (_, { sessions }) => {
            await sessions.send("other", "Told.");
            if (++tries === 1) throw retryable(new Error("Again."), { afterMs: 1 });
            return "told";
          },
        }),
      ],
      afterToolCall: async ({ sessions }) => void (await sessions.send("other", "Heard.")),
    }),
  });
  const also = definePlugin({
    id: "a/also",
    setup: () => ({ afterToolCall: async ({ sessions }) => void (await sessions.send("other", "Heard.")) }),
  });
  const model = scripted(calls("tell"), calls("tell"), ...Array.from({ length: 7 }, () => says("Done.")));
  await using world = await open(model, { plugins: [sends, also] });
  const other = await world.runtime.session("other");
  await world.session.turn("Go.").result();
  expect(tries).toBe(3);
  await eventually(async () => (await other.read()).inputs.length === 0 && (await other.read()).turns === 6);
  expect([...(await saidIn(other))].sort()).toEqual([...Array(4).fill("Heard."), "Told.", "Told."]);
});

test("S2 other words under the key of the first run are a conflict, as under any key", async () => {
  const lives = lifetimes();
  let runs = 0;
  let code = "";
  const doing: Run = async ({ sessions }) => {
    code = await codeOf(sessions.inject("third", `Run ${++runs}.`));
    if (runs === 1) lives.kill();
  };
  const options = { model: listener(), plugins: [before({ asking: doing })] };
  const first = await lives.next(options);
  await first.runtime.session("third");
  void (await first.runtime.session("asking"))
    .turn("Go.")
    .result()
    .catch(() => {});
  await eventually(() => runs === 1);
  const { runtime } = await lives.next(options);
  await runtime.recover();
  expect([runs, code]).toEqual([2, "input.conflict"]);
  await runtime.close();
});

// ── Tools of other sessions ─────────────────────────────────────────────────────────────────────────────────────────

const TOOLS = [work, named("dig"), named("fly", undefined, { availability: "searchable" })];

test("T4 a plugin reads and changes the tools of another session, and is given each new generation", async () => {
  const found: unknown[] = [];
  const doing: Run = async ({ sessions }) => {
    const tools = sessions.tools("other");
    const { generation } = await tools.export();
    const off = await tools.set(["dig", "fly"], "off");
    const state = await tools.export();
    expect(state).toMatchObject({ generation: off, tools: { dig: { availability: "off" } } });
    const applied = await tools.apply({
      ...state,
      tools: { ...state.tools, work: { ...state.tools.work!, availability: "off" } },
    });
    found.push(await codeOf(tools.apply(state)));
    const reset = await tools.set(["fly", "work"], null);
    found.push([generation < off, off < applied, applied < reset]);
    found.push((await tools.list({ raw: true })).map(({ name, availability }) => `${name} ${availability}`));
    for (const [code, act] of [
      ["tool.unknown", () => tools.set("swim", "off")],
      ["tool.unknown", () => tools.set("swim", null)],
      ["input.invalid", () => tools.set("dig", "open" as never)],
      ["input.invalid", () => tools.set([7] as never, "off")],
      ["input.invalid", () => tools.apply({} as never)],
      ["session.unknown", () => sessions.tools("nobody").set("dig", "off")],
      ["session.unknown", () => sessions.tools("nobody").list()],
    ] as const)
      found.push([code, await codeOf(act)]);
  };
  await using runtime = await running({ model: listener(), tools: TOOLS, plugins: [before({ asking: doing })] });
  const other = await runtime.session("other");
  const { outcome } = await within((await runtime.session("asking")).turn("Go.").result());
  expect(outcome).toMatchObject({ kind: "answered" });
  const [stale, grew, listed, ...refused] = found;
  expect([stale, grew, listed]).toEqual([
    "tool.generation",
    [true, true, true],
    ["work callable", "dig off", "fly searchable"],
  ]);
  for (const each of refused) expect((each as readonly string[])[1]).toBe((each as readonly string[])[0]);
  expect((await other.tools.export()).tools).toMatchObject({
    dig: { availability: "off" },
    fly: { availability: "searchable" },
  });
});

test("T4 in its own turn a plugin changes its tools with the turn's state, and not after its time", async () => {
  let late: Services["sessions"] | undefined;
  const found: unknown[] = [];
  const doing: Run = async ({ sessions, membership }) => {
    const tools = sessions.tools("asking");
    const generation = await tools.set("dig", "off");
    const state = await tools.export();
    expect(state).toMatchObject({ generation, tools: { dig: { availability: "off" } } });
    membership.set("dig", null);
    found.push(await codeOf(tools.apply(state)));
    await tools.apply({ ...(await tools.export()), tools: { work: state.tools.work! } });
    late = sessions;
  };
  await using runtime = await running({ model: listener(), tools: TOOLS, plugins: [before({ asking: doing })] });
  const session = await runtime.session("asking");
  await session.turn("Go.").result();
  expect(found).toEqual(["tool.generation"]);
  expect((await session.tools.list({ raw: true })).map(({ availability }) => availability)).toEqual([
    "callable",
    "off",
    "off",
  ]);
  expect(await codeOf(late!.tools("asking").set("dig", null))).toBe("state.parallel");
  expect((await session.tools.list({ raw: true })).map(({ availability }) => availability)).toEqual([
    "callable",
    "off",
    "off",
  ]);
});

test("T4 a tool without `writes` changes no tools of its session, and an operation does not wait for one", async () => {
  const codes: string[] = [];
  const tries = definePlugin({
    id: "a/tries",
    setup: ({ tool, command }) => ({
      tools: [
        tool({
          name: "try",
          description: "Tries.",
          input: z.object({}),
          execute: async (_, { sessions, sessionId }) => {
            codes.push(await codeOf(sessions.tools(sessionId).set("dig", "off")));
            return "tried";
          },
        }),
      ],
      operations: {
        change: command({
          run: async ({ sessions, sessionId }) =>
            void codes.push(await codeOf(sessions.tools(sessionId!).set("dig", "off"))),
        }),
      },
    }),
  });
  await using world = await open(scripted(calls("try"), says("Done.")), { tools: TOOLS, plugins: [tries] });
  await world.session.turn("Go.").result();
  await within(world.session.command(tries, "change"));
  expect(codes).toEqual(["state.parallel", "operation.reentrant"]);
});

test("T4 a tool that has returned changes no tools any more", async () => {
  let late: Services["sessions"] | undefined;
  let found = "";
  const keeps = definePlugin({
    id: "a/keeps",
    setup: ({ tool }) => ({
      tools: [
        tool({
          name: "keep",
          description: "Keeps.",
          input: z.object({}),
          writes: true,
          execute: async (_, { sessions, sessionId }) => {
            late = sessions;
            await sessions.tools(sessionId).set("dig", "off");
            return "kept";
          },
        }),
      ],
      checkpoint: async ({ sessionId }) => {
        if (found === "") found = await codeOf(late!.tools(sessionId).set("dig", null));
      },
    }),
  });
  await using world = await open(scripted(calls("keep"), says("Done.")), { tools: TOOLS, plugins: [keeps] });
  await world.session.turn("Go.").result();
  expect(found).toBe("state.parallel");
  expect((await world.session.tools.export()).tools.dig).toMatchObject({ availability: "off" });
});

test("T4 a child changes no tools of the session above it, which may wait for the child, and reads them", async () => {
  const codes: unknown[] = [];
  const plugin = before({
    asking: async ({ sessions }) => {
      const { id } = await sessions.create({ id: "child", kind: "child" });
      await sessions.turn(id, "Go.").result();
    },
    child: async ({ sessions }) => {
      const tools = sessions.tools("asking");
      const state = await tools.export();
      codes.push(Object.keys(state.tools), await codeOf(tools.set("dig", "off")), await codeOf(tools.apply(state)));
    },
  });
  await using runtime = await running({ model: listener(), tools: TOOLS, plugins: [plugin] });
  const session = await runtime.session("asking");
  await within(session.turn("Go.").result());
  expect(codes).toEqual([["work", "dig", "fly"], "operation.reentrant", "operation.reentrant"]);
});

test("T4 an app is given the generation, and `null` takes its choice back", async () => {
  await using runtime = await running({ tools: TOOLS });
  const session = await runtime.session();
  const first = await session.tools.set(["dig", "fly"], "off");
  const second = await session.tools.set("fly", null);
  expect(second).toBeGreaterThan(first);
  const { generation, tools } = await session.tools.export();
  expect(generation).toBe(second);
  expect([tools.dig?.availability, tools.fly?.availability]).toEqual(["off", "searchable"]);
});

// ── Who waits for whom ──────────────────────────────────────────────────────────────────────────────────────────────

test("S4 a turn that a caller began waits for a session whose turn only woke the queue", async () => {
  const stay = new Stop();
  const far = held();
  const doing: Run = async ({ sessions }) => {
    await sessions.send("other", "Work.");
    await stay.here();
  };
  let isChanged = false;
  const plugin = before({
    asking: doing,
    other: async ({ sessions }) => {
      if (far.calls === 0) return;
      await sessions.tools("asking").set("dig", "off");
      isChanged = true;
    },
  });
  await using runtime = await running({ model: listener(), tools: [far.tool, named("dig")], plugins: [plugin] });
  const other = await runtime.session("other");
  const asking = (await runtime.session("asking")).turn("Go.");
  await far.began();
  const turn = other.turn("And now?");
  await turn.id;
  far.release();
  stay.go();
  await within(asking.result());
  expect((await within(turn.result())).outcome.kind).toBe("answered");
  expect(isChanged).toBe(true);
});

test("S4 sessions that wait for each other are found, also when their turns had to queue", async () => {
  const far = held();
  let code = "";
  const plugin = before({
    asking: ({ sessions }) => sessions.turn("other", "Ask back.").result(),
    other: async ({ sessions }) => {
      if (far.calls > 0) code = await codeOf(sessions.tools("asking").set("dig", "off"));
    },
  });
  await using runtime = await running({ model: listener(), tools: [far.tool, named("dig")], plugins: [plugin] });
  const other = await runtime.session("other");
  const held1 = other.turn("Work.");
  await far.began();
  const asking = (await runtime.session("asking")).turn("Go.");
  await eventually(async () => (await other.inputs.list()).length === 1);
  far.release();
  await within(held1.result());
  await within(asking.result());
  expect(code).toBe("operation.reentrant");
});
