import {
  attach,
  definePlugin,
  defineTool,
  type Message,
  type Session,
  type SessionEvent,
  type TelemetryEvent,
} from "bowline";
import { compactHistory } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { both, calls, says, scripted } from "bowline/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import type { Compaction, CompactionSees } from "../../src/kernel/hook-values.ts";
import { follows, overflow } from "../kit/models.ts";
import { codeOf, outline, within, wordsOf } from "../kit/reading.ts";
import { KEPT } from "../kit/stores.ts";
import { onEvent } from "../kit/telemetry.ts";
import { runningQuickly, SharedFile, Stop, stopping } from "../kit/worlds.ts";
import { compacting, counter, moves } from "./plugins.ts";
import { drawn, factsIn, inShort, isEnd, kept, screenOf, watch } from "./watching.ts";

const ping = defineTool({
  name: "ping",
  description: "Pings.",
  input: z.looseObject({}),
  execute: () => "Pong, and a lot more than that: a result that is worth being left out of the conversation.",
});

const LONG = "It was a dark and stormy night, and it went on like that for quite a while. ".repeat(2);
const draft = (text: string) => ({ role: "user" as const, parts: [{ kind: "text" as const, text }] });

/** A window in which every call is followed by its result, and every result follows its call. */
function problemIn(messages: readonly Message[]): string | undefined {
  for (const [index, { role, parts }] of messages.entries()) {
    const [before, after] = [messages[index - 1], messages[index + 1]];
    const idsOf = (message: Message | undefined, kind: "toolCall" | "toolResult") =>
      (message?.parts ?? []).flatMap((part) => (part.kind === kind ? [part.callId] : [])).join();
    if (role === "tool" && idsOf(before, "toolCall") !== idsOf(messages[index], "toolResult"))
      return `a result at ${index}`;
    if (
      parts.some(({ kind }) => kind === "toolCall") &&
      idsOf(after, "toolResult") !== idsOf(messages[index], "toolCall")
    )
      return `a call at ${index}`;
  }
  return undefined;
}

/** A plugin that compacts as the test says at that moment. */
function asTold() {
  const told: { how: (sees: CompactionSees) => Compaction | undefined } = { how: () => undefined };
  const heard: CompactionSees[] = [];
  const plugin = definePlugin({
    id: "test/as-told",
    setup: () => ({
      compact: ({ messages, reason, attempt }) => {
        heard.push({ messages, reason, attempt });
        return told.how({ messages, reason, attempt });
      },
    }),
  });
  return { told, heard, plugin };
}

const conversation = {
  "#two calls": [both(says("Let me see. "), calls("ping", {}, "a"), calls("ping", {}, "b")), says(LONG)],
  "#two rounds": [calls("ping", {}, "c"), calls("ping", {}, "d"), says(LONG)],
  "#plain": [says(LONG)],
};
async function talk(session: Session): Promise<void> {
  await session.turn("#plain").result();
  await session.turn("#two calls").result();
  await session.append([{ kind: "message", role: "system", text: "Mind this." }]);
  await session.append([{ kind: "message", role: "user", text: "By the way." }]);
  await session.turn("#two rounds").result();
}

// ── On demand ───────────────────────────────────────────────────────────────────────────────────────────────────────

test.each(KEPT)("S8 compact continues in a fresh frame; the old one stays readable, %s", async (_, store) => {
  const { told, heard, plugin } = asTold();
  const requests: (readonly Message[])[] = [];
  const model = follows({
    ...conversation,
    "#next": [
      async function* (request) {
        requests.push([...request.messages] as readonly Message[]);
        yield* says("Next.");
      },
    ],
  });
  await using runtime = await runningQuickly({ store: store(), model, tools: [ping], plugins: [plugin] });
  const session = await runtime.session();
  const watcher = watch(session);
  await talk(session);
  const before = await session.read();
  told.how = ({ messages }) => ({ seed: [draft("In short: they talked.")], tail: messages.at(-1)!.id });
  const compacted = await session.compact();
  const after = await session.read();
  expect(heard).toEqual([{ messages: before.messages, reason: "asked", attempt: 1 }]);
  expect(compacted).toEqual({ kind: "compacted", frame: after.frame });
  expect(outline(after.messages)).toEqual(["user: In short: they talked.", `assistant: ${LONG}`]);
  expect(after.messages.map(({ origin }) => origin)).toEqual([
    { kind: "plugin", plugin: "test/as-told" },
    { kind: "carried", from: before.messages.at(-1)!.id },
  ]);
  expect([after.turns, after.usage]).toEqual([before.turns, before.usage]);
  const history = (await session.history()).toReversed();
  expect(history.slice(0, before.messages.length).map(({ id }) => id)).toEqual(before.messages.map(({ id }) => id));
  expect(history.at(before.messages.length)).toMatchObject({ kind: "frame", reason: "compaction", id: after.frame });
  const old = await session.fork({ at: before.head! });
  expect((await old.read()).messages).toEqual(before.messages);
  expect((await old.read()).frame).toBe(undefined);
  await session.turn("#next").result();
  expect(outline(requests[0]!)).toEqual([...outline(after.messages), "user: #next"]);
  const events = await watcher.until(isEnd(4));
  const fact = factsIn(events).find((event) => event.kind === "committed" && event.by === "compact");
  expect(fact).toMatchObject({ nodes: [after.frame, ...after.messages.map(({ id }) => id)] });
  expect(await drawn(screenOf(events), session)).toEqual(await kept(session));
});

test.each(KEPT)(
  "S8 where nobody compacts, or there is nothing to compact, nothing happens and nothing is kept, %s",
  async (_, store) => {
    const { told, plugin } = asTold();
    await using runtime = await runningQuickly({ store: store(), plugins: [plugin] });
    await using alone = await runningQuickly({ store: store() });
    const nobody = await alone.session();
    await nobody.turn("1").result();
    expect(await nobody.compact()).toEqual({ kind: "nothing" });
    const session = await runtime.session();
    expect(await session.compact()).toEqual({ kind: "nothing" });
    await session.turn("1").result();
    const before = await session.read();
    const watcher = watch(session, { after: before.cursor });
    expect(await session.compact()).toEqual({ kind: "nothing" });
    told.how = () => ({ seed: [] });
    expect(await session.compact()).toEqual({ kind: "nothing" });
    expect(await session.read()).toEqual(before);
    expect((await watcher.caughtUp(session)).map(inShort)).toEqual(["committed configure"]);
  },
);

test("S8 what is not smaller is not taken: the compactor is asked three times, then nothing happens and it is traced", async () => {
  const { told, heard, plugin } = asTold();
  const issues: unknown[] = [];
  const trace = ({ name, about }: TelemetryEvent) => void (name === "hook.issue" && issues.push(about));
  await using runtime = await runningQuickly({
    model: follows(conversation),
    tools: [ping],
    plugins: [plugin],
    telemetry: onEvent(trace),
  });
  const session = await runtime.session();
  await talk(session);
  const before = await session.read();
  told.how = ({ messages }) => ({ seed: [draft("Nothing was left out.")], tail: messages[0]!.id });
  expect(await session.compact()).toEqual({ kind: "nothing" });
  expect(issues).toMatchObject([
    {
      plugin: "test/as-told",
      code: "compact.useless",
      message: expect.stringMatching(/\d+ bytes to \d+, which is not smaller/),
    },
  ]);
  expect(heard.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
  expect(await session.read()).toEqual(before);
  heard.length = 0;
  told.how = ({ attempt, messages }) => ({ seed: [draft("Less.")], tail: messages[attempt === 3 ? 5 : 0]!.id });
  expect((await session.compact()).kind).toBe("compacted");
  expect(heard.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
});

test.each<readonly [string, unknown, string]>([
  ["throws", () => Promise.reject(new Error("No.")), "hook.failed"],
  ["gives no list", () => "short", "hook.answer"],
  ["gives no seed", () => ({ tail: "x" }), "hook.answer"],
  ["speaks for the assistant", () => [{ role: "assistant", parts: [{ kind: "text", text: "I." }] }], "hook.answer"],
  ["gives a tail that is not a text", () => ({ seed: [], tail: 5 }), "hook.answer"],
  ["gives a tail that is not there", () => ({ seed: [draft("S")], tail: "trn_x.0" }), "hook.answer"],
])("S8 a compactor that %s fails typed, and the session is as before and continues", async (_, compact, code) => {
  const plugin = definePlugin({ id: "test/wrong", setup: () => ({ compact: compact as never }) });
  await using runtime = await runningQuickly({ plugins: [plugin] });
  const session = await runtime.session();
  await session.turn("1").result();
  const before = await session.read();
  expect(await codeOf(() => session.compact())).toBe(code);
  expect(await session.read()).toEqual(before);
  expect((await session.turn("2").result()).outcome.kind).toBe("answered");
});

// ── Where it may be cut ─────────────────────────────────────────────────────────────────────────────────────────────

test.each([
  ["with a seed", ["S"]],
  ["without a seed", []],
] as const)("S8 a tail at any message is carried without parting a call from its result (%s)", async (_, seed) => {
  const { told, plugin } = asTold();
  await using runtime = await runningQuickly({ model: follows(conversation), tools: [ping], plugins: [plugin] });
  const source = await runtime.session();
  await talk(source);
  const { messages: before } = await source.read();
  expect(before.map(({ role }) => role).join()).toBe(
    "user,assistant,user,assistant,tool,assistant,system,user,user,assistant,tool,assistant,tool,assistant",
  );
  const cuts: number[] = [];
  for (const [at, { id: tail }] of before.entries()) {
    const session = await source.fork();
    told.how = () => ({ seed: seed.map(draft), tail });
    if (at === 0) {
      expect(await session.compact()).toEqual({ kind: "nothing" });
      continue;
    }
    const { kind } = await session.compact();
    const { messages } = await session.read();
    if (kind === "nothing") {
      expect(messages).toEqual(before);
      cuts.push(before.length);
      continue;
    }
    expect(problemIn(messages)).toBe(undefined);
    const carried = messages.slice(seed.length);
    const from = before.length - carried.length;
    cuts.push(from);
    expect(from).toBeGreaterThanOrEqual(at);
    expect(carried.map(({ role, parts }) => ({ role, parts }))).toEqual(
      before.slice(from).map(({ role, parts }) => ({ role, parts })),
    );
    expect(carried.map(({ origin }) => origin)).toEqual(
      before.slice(from).map(({ id }) => ({ kind: "carried", from: id })),
    );
    expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length);
    if (seed.length === 0) expect(carried[0]?.role).toBe("user");
    expect((await session.turn("#two calls").result()).outcome.kind).toBe("answered");
    expect(problemIn((await session.read()).messages)).toBe(undefined);
  }
  expect(cuts).toEqual(
    seed.length > 0 ? [1, 2, 3, 5, 5, 6, 7, 8, 9, 11, 11, 13, 13] : [2, 2, 7, 7, 7, 7, 7, 8, 14, 14, 14, 14, 14],
  );
});

test("S8 a window may be compacted again and again: what was carried is carried on, and nothing is parted", async () => {
  const { told, plugin } = asTold();
  const shape = fc.array(
    fc.record({
      input: fc.constantFrom("#plain", "#two calls", "#two rounds"),
      tail: fc.nat(30),
      seeds: fc.nat(2),
      how: fc.constantFrom("asked", "before turn", "not at all"),
    }),
    { maxLength: 6 },
  );
  const plans = new Map<string, boolean>();
  const before = definePlugin({
    id: "test/before",
    setup: () => ({ beforeTurn: ({ sessionId }) => (plans.get(sessionId) === true ? compactHistory() : undefined) }),
  });
  await fc.assert(
    fc.asyncProperty(shape, async (rounds) => {
      await using runtime = await runningQuickly({
        model: follows(conversation),
        tools: [ping],
        plugins: [plugin, before],
      });
      const session = await runtime.session();
      const watcher = watch(session);
      for (const { input, tail, seeds, how } of rounds) {
        told.how = ({ messages }) => ({
          seed: Array.from({ length: seeds }, (_, index) => draft(`S${index}`)),
          tail: messages[tail % messages.length]!.id,
        });
        plans.set(session.id, how === "before turn");
        const { outcome } = await session.turn(input).result();
        expect(outcome.kind).toBe("answered");
        if (how === "asked") await session.compact();
        expect(problemIn((await session.read()).messages)).toBe(undefined);
      }
      expect(await drawn(screenOf(await watcher.caughtUp(session)), session)).toEqual(await kept(session));
      const { head, frame } = await session.read();
      if (head === undefined) return;
      const frames = (await session.history({ max: 1_000 })).filter(({ kind }) => kind === "frame");
      expect(frames[0]?.id).toBe(frame);
    }),
    { numRuns: 60 },
  );
}, 30_000);

test("S8 what was attached is carried too", async () => {
  const { told, plugin } = asTold();
  await using runtime = await runningQuickly({ plugins: [plugin] });
  const session = await runtime.session();
  await session.turn(LONG).result();
  await session.turn(["See this.", attach(new Uint8Array([1, 2, 3]), { mediaType: "image/png" })]).result();
  const before = (await session.read()).messages;
  told.how = ({ messages }) => ({ seed: [], tail: messages[2]!.id });
  await session.compact();
  const after = (await session.read()).messages;
  expect(after[0]?.parts).toEqual(before[2]?.parts);
  expect(after[0]?.parts[1]).toMatchObject({ kind: "attachment", bytes: 3 });
});

// ── Together with turns and others ──────────────────────────────────────────────────────────────────────────────────

test.each(KEPT)(
  "S8 compact waits for the turn that runs, and the turns after it are in the new frame, %s",
  async (_, store) => {
    const stop = new Stop();
    const plugin = compacting((messages) => ({ seed: [`${messages.length} messages`] }));
    const model = scripted(calls("slow"), says(LONG), says("Next."));
    await using runtime = await runningQuickly({ store: store(), model, tools: [stopping(stop)], plugins: [plugin] });
    const session = await runtime.session();
    const turn = session.turn("Go.");
    await stop.reached;
    const compacted = session.compact();
    const next = session.turn("Next.");
    stop.go();
    await turn.result();
    await compacted;
    await next.result();
    const words = outline((await session.read()).messages);
    // The turn was accepted first or last: the compaction has it, or is before it.
    expect([["user: 4 messages", "user: Next.", "assistant: Next."], ["user: 6 messages"]]).toContainEqual(words);
    expect((await session.history()).filter(({ kind }) => kind === "frame")).toHaveLength(1);
  },
);

test("S8 compactions that are asked for at once come one after the other", async () => {
  const heard: number[] = [];
  const plugin = compacting((messages) => {
    heard.push(messages.length);
    return messages.length < 2 ? undefined : { seed: ["S"] };
  });
  await using runtime = await runningQuickly({ plugins: [plugin] });
  const session = await runtime.session();
  await session.turn(LONG).result();
  const found = await Promise.all([session.compact(), session.compact(), session.compact()]);
  expect(found.map(({ kind }) => kind)).toEqual(["compacted", "nothing", "nothing"]);
  expect(heard).toEqual([2, 1, 1]);
});

test("S8 a turn that compacts its own session by its handle is refused", async () => {
  const codes: string[] = [];
  let session: Session;
  const selfish = defineTool({
    name: "selfish",
    description: "Compacts.",
    input: z.looseObject({}),
    execute: async () => {
      codes.push(await codeOf(() => within(session.compact())));
      return "Done.";
    },
  });
  const model = scripted(calls("selfish"), says("Done."));
  await using runtime = await runningQuickly({
    model,
    tools: [selfish],
    plugins: [compacting(() => ({ seed: ["S"] }))],
  });
  session = await runtime.session();
  await session.turn("Go.").result();
  expect(codes).toEqual(["operation.reentrant"]);
});

test("S8 a compaction of another process is seen here, and one that came in between is worked out again", async () => {
  await using file = new SharedFile();
  const plugin = () =>
    compacting((messages) => (messages.length < 2 ? undefined : { seed: [`${messages.length} messages`] }));
  const [here, there] = [await file.open({ plugins: [plugin()] }), await file.open({ plugins: [plugin()] })];
  const [mine, theirs] = [await here.session("s"), await there.session("s")];
  await mine.turn(LONG).result();
  await theirs.turn(LONG).result();
  await theirs.compact();
  expect((await mine.read()).messages.map(wordsOf)).toEqual(["4 messages"]);
  expect((await mine.turn("More.").result()).outcome.kind).toBe("answered");
  expect((await theirs.read()).messages.map(wordsOf)).toEqual(["4 messages", "More.", "re: More."]);
  const both = await Promise.all([mine.compact(), theirs.compact()]);
  expect(both.map(({ kind }) => kind).sort()).toEqual(["compacted", "nothing"]);
  expect((await mine.read()).messages.map(wordsOf)).toEqual(["3 messages"]);
});

test.each(KEPT)(
  "S8 a compactor's change of state is kept with the frame, and not when it fails, %s",
  async (_, store) => {
    let isBroken = false;
    const plugin = definePlugin({
      id: "test/counts",
      state: z.object({ times: z.number().default(0) }),
      setup: ({ query }) => ({
        compact: ({ state }) => {
          state.update(({ times }) => ({ times: times + 1 }));
          if (isBroken) throw new Error("No.");
          return [draft("S")];
        },
        operations: { times: query({ run: ({ state }) => state.get().times }) },
      }),
    });
    await using runtime = await runningQuickly({ store: store(), plugins: [plugin] });
    const session = await runtime.session();
    await session.turn("1").result();
    const { head: at = "" } = await session.read();
    await session.compact();
    expect(await session.query(plugin, "times")).toBe(1);
    await session.turn("2").result();
    isBroken = true;
    expect(await codeOf(() => session.compact())).toBe("hook.failed");
    expect(await session.query(plugin, "times")).toBe(1);
    expect(await (await session.fork({ at })).query(plugin, "times")).toBe(0);
    expect(await (await session.fork()).query(plugin, "times")).toBe(1);
  },
);

test.each(KEPT)(
  "S8 S10 what a compactor spends on models is booked, also when it fails in the end, %s",
  async (_, store) => {
    let isBroken = false;
    const plugin = definePlugin({
      id: "test/summary",
      setup: () => ({
        compact: async ({ complete, messages }) => {
          const summary = await complete.text(`Sum ${messages.length} up.`, { label: "summary" });
          if (isBroken) throw new Error("No.");
          return [draft(summary)];
        },
      }),
    });
    const model = scripted(says(LONG), says("In short."), says(LONG), says("In vain."));
    await using runtime = await runningQuickly({ store: store(), model, plugins: [plugin] });
    const session = await runtime.session();
    await session.turn("1").result();
    await session.compact();
    expect((await session.read()).messages.map(wordsOf)).toEqual(["In short."]);
    const booked = async () => (await session.read()).ledger.map(({ source, calls: count }) => [source, count]);
    expect(await booked()).toEqual([
      ["turn", 1],
      ["summary", 1],
    ]);
    await session.turn("2").result();
    isBroken = true;
    expect(await codeOf(() => session.compact())).toBe("hook.failed");
    expect(await booked()).toEqual([
      ["turn", 2],
      ["summary", 2],
    ]);
    expect((await session.read()).usage).toMatchObject({ input: 40, output: 20 });
  },
);

test("S8 a compaction that is under way when the runtime closes is kept whole or not at all", async () => {
  await using file = new SharedFile();
  const stop = new Stop();
  const plugin = definePlugin({
    id: "test/slow",
    setup: () => ({
      compact: async () => {
        await stop.here();
        return [draft("S")];
      },
    }),
  });
  const first = await file.open({ plugins: [plugin] });
  const session = await first.session("s");
  await session.turn(LONG).result();
  const before = await session.read();
  const compacted = codeOf(() => session.compact());
  await stop.reached;
  const closed = first.close();
  stop.go();
  await Promise.all([closed, compacted]);
  const again = await (await file.open()).session("s");
  const { messages, frame } = await again.read();
  if (frame === undefined) expect(messages).toEqual(before.messages);
  else expect(messages.map(wordsOf)).toEqual(["S"]);
  expect((await again.turn("2").result()).outcome.kind).toBe("answered");
});

// ── Inside of turns ─────────────────────────────────────────────────────────────────────────────────────────────────

test.each(KEPT)("S8 frames that a turn opens are reported with its commit, %s", async (_, store) => {
  const { told, plugin } = asTold();
  told.how = () => ({ seed: [draft("In short.")] });
  const before = definePlugin({
    id: "test/before",
    setup: () => ({
      beforeTurn: ({ input }) => (wordsOf(input) === "#plain" ? compactHistory() : undefined),
    }),
  });
  const model = follows({ ...conversation, "#move": [calls("move")], "#after": [calls("ping"), says("Moved.")] });
  await using runtime = await runningQuickly({
    store: store(),
    model,
    tools: [ping, moves],
    plugins: [plugin, before],
  });
  const session = await runtime.session();
  await session.turn("#two calls").result();
  const watcher = watch(session, { after: (await session.read()).cursor });
  await session.turn("#move").result();
  const moved = await session.read();
  expect(outline(moved.messages)[0]).toBe("user: #after");
  await session.turn("#plain").result();
  const events = await watcher.until(isEnd(2));
  expect(factsIn(events).map(inShort)).toEqual([
    "accepted",
    "committed turn",
    "frame",
    "accepted",
    "committed turn",
    "frame",
  ]);
  const [first, second] = events.flatMap((event) => (event.kind === "frame" ? [event.frame] : []));
  expect([first, second]).toEqual([moved.frame, (await session.read()).frame]);
  const frames = (await session.history()).filter(({ kind }) => kind === "frame").map(({ id }) => id);
  expect(frames).toEqual([second, first]);
});

test("S8 a window that overflows is compacted in the middle of a turn, and its cut parts no call from its result", async () => {
  for (let back = 1; back <= 6; back++) {
    const { told, heard, plugin } = asTold();
    told.how = ({ messages }) => ({ seed: [draft("S")], tail: messages.at(-back)!.id });
    const model = scripted(
      says(LONG),
      calls("ping", {}, "a"),
      both(calls("ping", {}, "b"), calls("ping", {}, "c")),
      overflow,
      says("Done."),
    );
    await using runtime = await runningQuickly({ model, tools: [ping], plugins: [plugin] });
    const session = await runtime.session();
    await session.turn(LONG).result();
    const { outcome } = await session.turn("2").result();
    expect(
      heard.map(({ reason }) => reason),
      `${back}`,
    ).toEqual(["overflow"]);
    expect(outcome, `${back}`).toMatchObject({ kind: "answered", text: "Done." });
    const { messages } = await session.read();
    expect(problemIn(messages), `${back}`).toBe(undefined);
    const asked = model.requests.at(-1)!.messages as readonly Message[];
    expect(problemIn(asked), `${back}`).toBe(undefined);
    expect(wordsOf(asked[0])).toBe("S");
  }
});

// ── What opening costs ──────────────────────────────────────────────────────────────────────────────────────────────

test("S8 opening a session, and a turn in it, read the active frame and nothing before it", async () => {
  const store = memory();
  const view = store.view.bind(store);
  let segments = 0;
  store.view = async (...given) => {
    const found = await view(...given);
    segments += found.length;
    return found;
  };
  const plugin = compacting(() => ({ seed: ["S"] }));
  const first = await runningQuickly({ store, plugins: [plugin] });
  const session = await first.session("s");
  for (let turn = 0; turn < 60; turn++) await session.turn(`${turn}`).result();
  await session.compact();
  for (let turn = 0; turn < 3; turn++) await session.turn(`${turn}`).result();
  await session.close();
  segments = 0;
  const again = await first.session("s");
  expect(segments).toBe(4);
  await again.turn("More.").result();
  await again.read();
  await again.close();
  expect(segments).toBe(4);
  const fork = await first.sessions.fork("s");
  await fork.turn("More.").result();
  expect(segments).toBeLessThan(12);
  await first.close();
});

test("S8 a view keeps to its frame whatever is compacted after it", async () => {
  await using runtime = await runningQuickly({ plugins: [compacting(() => ({ seed: ["S"] })), counter] });
  const session = await runtime.session();
  await session.turn(LONG).result();
  const view = await session.read();
  const words = outline(view.messages);
  await session.compact();
  await session.turn("More.").result();
  expect(outline(view.messages)).toEqual(words);
  const events: SessionEvent[] = [...(await watch(session, { after: view.cursor }).until(isEnd()))];
  expect(await drawn(screenOf(events, view), session)).toEqual(await kept(session));
});
