/** What is seen of a turn that is not committed: parked, after a restart, and from other processes. */
import {
  definePlugin,
  defineTool,
  type Runtime,
  type RuntimeOptions,
  type Session,
  type SessionEvent,
  type Store,
} from "bowline";
import { fold } from "bowline/client";
import { replaceResult } from "bowline/plugin";
import type { Decision, ProtocolDriver } from "bowline/protocol";
import type { ModelPart, Provider } from "bowline/provider";
import { sqlite } from "bowline/stores/sqlite";
import { both, calls, cut, recited, says, thinks } from "bowline/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { closeSandbox, inCode, openSandbox, PROTOCOLS } from "../code-mode/protocols.ts";
import { only, outline, within, wordsOf } from "../kit/reading.ts";
import { around, file } from "../kit/stores.ts";
import { runningQuickly } from "../kit/worlds.ts";
import { elsewhere } from "./elsewhere.ts";
import { approve, inShort, parked, shop, showing, shownIn, shownWords, toldIn, viewOf } from "./open-turns.ts";
import { delegate } from "./plugins.ts";
import { isEnd, Watcher, watch } from "./watching.ts";

interface Process {
  readonly runtime: Runtime;
  readonly store: Store;
}
type Options = Partial<Omit<RuntimeOptions, "model" | "models" | "store">> & { readonly model: Provider };

/** A process on the file, which recovers nothing by itself. */
async function start(
  path: string,
  options: Options,
  watched: (store: Store) => Store = (store) => store,
): Promise<Process & AsyncDisposable> {
  const store = watched(sqlite(path, { durability: "process" }));
  const runtime = await runningQuickly({ recover: "manual", ...shop, ...options, store });
  return { runtime, store, [Symbol.asyncDispose]: () => runtime.close() };
}

const on = ({ runtime }: Process): Promise<Session> => runtime.session("s");

/** Begins the turn, and settles when it is parked. Nobody looks on. */
async function begun(process: Process): Promise<Session> {
  const session = await on(process);
  await session.send("Go.");
  await parked(process.runtime, process.store);
  return session;
}

/** The same tools, of which one looks when it is told to. */
const slowly = (until: Promise<unknown>) => [
  defineTool({
    name: "look",
    description: "Looks.",
    input: { type: "object" },
    execute: () => until.then(() => "nine"),
  }),
  ...shop.tools.slice(1),
];

const followed = (session: Session, turnId: string): Watcher =>
  new Watcher(session.follow(turnId) as AsyncIterable<SessionEvent>);

const buying = (): Provider =>
  recited(
    thinks("Hm.", both(says("Let me see."), calls("look", {}, "l1"))),
    both(says("I pay."), calls("look", {}, "l2"), calls("pay", { eur: 5 }, "p1")),
    both(says("Once more."), calls("pay", { eur: 6 }, "p2")),
    says("Done."),
  );
const FIRST = ["reasoning: Hm.", "text: Let me see.", "look ended", "text: I pay.", "look returned", "pay running"];
const SECOND = [...FIRST.slice(0, 4), "look ended", "pay ended", "text: Once more.", "pay running"];
const SAID = ["user: Go.", "thinks: Hm.", "assistant: Let me see.", "calls look", "look ok: nine", "assistant: I pay."];

/** Another protocol than that of the turns here. */
const answer = (): Decision => ({ kind: "answer" });
const driver: ProtocolDriver = {
  id: "acme/foreign",
  version: 1,
  request: ({ system, messages }) => ({ system, messages, tools: [] }),
  onReply: answer,
  onResults: answer,
  onExec: answer,
};
const foreign = definePlugin({
  id: "acme/foreign",
  setup: () => ({ protocolSession: {}, protocolDriver: { driver, preamble: () => ({ tools: [], prompt: [] }) } }),
});

test.concurrent("S11 D4 a parked turn is read as far as it has come: what was said, called and returned, and what it waits for", async () => {
  await using one = await start(file(), { model: buying() });
  const session = await begun(one);
  const read = await session.read();
  expect(read.messages).toEqual([]);
  expect(outline(read.openTurn?.messages ?? [])).toEqual([...SAID, "calls look", "calls pay"]);
  expect(read.openTurn?.calls).toMatchObject([
    { effect: "r2.call.0", call: { name: "look" }, state: "ended", output: { value: "nine" } },
    { effect: "r2.call.1", call: { name: "pay", input: { eur: 5 } }, state: "running" },
  ]);
  expect(read.waits).toMatchObject([{ effect: "r2.call.1.w", turnId: read.openTurn?.id, call: { name: "pay" } }]);
  await approve(one.runtime);
  await parked(one.runtime, one.store);
  const later = await session.read();
  expect(later.openTurn?.messages.slice(0, read.openTurn?.messages.length)).toEqual(read.openTurn?.messages);
  await approve(one.runtime);
  await within(session.follow(read.openTurn!.id).result());
  const { messages, openTurn } = await session.read();
  expect(openTurn).toBeUndefined();
  expect(messages.slice(0, later.openTurn?.messages.length)).toEqual(later.openTurn?.messages);
});

test.concurrent("S11 a result that hooks have not seen yet is in no view of the open turn", async () => {
  const censor = definePlugin({
    id: "test/censor",
    setup: () => ({ afterToolCall: () => replaceResult("a number") }),
  });
  await using one = await start(file(), { model: buying(), plugins: [...shop.plugins, censor] });
  const session = await begun(one);
  const { openTurn } = await session.read();
  expect(openTurn?.calls.map(({ state }) => state)).toEqual(["returned", "running"]);
  const late = watch(session);
  await late.until((events) => inShort(events).length === FIRST.length);
  for (const seen of [openTurn, late.events]) {
    expect(JSON.stringify(seen)).toContain("a number");
    expect(JSON.stringify(seen)).not.toContain("nine");
  }
});

test.concurrent("S11 D4 who comes to a parked turn late sees what one saw who was there from the beginning", async () => {
  const path = file();
  const gate = Promise.withResolvers<void>();
  await using one = await start(path, { model: buying(), tools: slowly(gate.promise) });
  await using two = await start(path, { model: buying() });
  await using three = await start(path, { model: buying() });
  const first = watch(await on(two)); // In another process: nobody looks on where the turn runs.
  const session = await on(one);
  await session.send("Go.");
  await first.until((events) => inShort(events).includes("look running"));
  gate.resolve();
  await first.until((events) => inShort(events).length === FIRST.length);
  await parked(one.runtime, one.store);
  expect(inShort(first.events)).toEqual(FIRST);
  const shown = shownIn(first.events);
  for (const process of [one, two, three]) {
    const here = await on(process);
    const { cursor, openTurn } = await here.read();
    for (const late of [watch(here), watch(here, { after: cursor }), followed(here, openTurn!.id)]) {
      await late.until(showing(shown));
      expect(toldIn(late.events)).toBe("Let me see.I pay."); // Nothing is told twice.
      await late.leave();
    }
    expect((await here.read()).openTurn).toEqual((await session.read()).openTurn);
  }
  expect(inShort(first.events)).toEqual(FIRST);
  expect(toldIn(first.events)).toBe("Let me see.I pay.");
});

test.concurrent("S11 D4 when the turn resumes, all observers have the same view again, wherever it runs", async () => {
  const path = file();
  await using one = await start(path, { model: buying() });
  await using two = await start(path, { model: buying() });
  await using three = await start(path, { model: buying() });
  const first = watch(await on(one));
  const other = watch(await on(two));
  await begun(one);
  const late = watch(await on(three));
  for (const each of [first, other, late]) await each.until((events) => inShort(events).length === FIRST.length);
  await approve(one.runtime); // It goes on where it began.
  for (const each of [first, other, late]) await each.until((events) => inShort(events).length === SECOND.length);
  const later = watch(await on(three));
  await parked(one.runtime, one.store);
  for (const each of [first, other, late, later]) await each.until(showing(shownIn(first.events)));
  expect(inShort(first.events)).toEqual(SECOND);
  await approve(three.runtime); // And now where it was only looked at.
  for (const each of [first, other, late, later]) await each.until(isEnd());
  const final = await (await on(one)).read();
  const views = [first, other, late, later].map(({ events }) => fold(viewOf(events), final));
  for (const view of views) expect(view).toEqual(views[0]);
  expect(views[0]?.turns).toEqual([]);
});

beforeAll(openSandbox, 20_000);
afterAll(closeSandbox);

const paying = (times: number): Provider =>
  recited(...Array.from({ length: times }, (_, nth) => both(says(`${nth}.`), calls("pay", {}, "p"))), says("Done."));
const paid = (times: number): readonly string[] =>
  Array.from({ length: times }, (_, nth) => [`text: ${nth}.`, nth < times - 1 ? "pay ended" : "pay running"]).flat();
const hasPaid =
  (times: number) =>
  (events: readonly SessionEvent[]): boolean =>
    JSON.stringify(inShort(events)) === JSON.stringify(paid(times));

test.concurrent("S11 D4 a turn that resumes in one process after the other is the same on all screens at every stop", async () => {
  const path = file();
  const model = paying(4);
  await using one = await start(path, { model });
  await using two = await start(path, { model });
  await using three = await start(path, { model });
  const watchers = [watch(await on(one))];
  await begun(one);
  for (const [nth, next] of [three, one, two].entries()) {
    for (const process of [one, two, three]) watchers.push(watch(await on(process)));
    for (const each of watchers) await each.until(hasPaid(nth + 1));
    await approve(next.runtime);
    await watchers[0]!.until(hasPaid(nth + 2));
    await parked(next.runtime, next.store);
  }
  for (const each of watchers) await each.until(hasPaid(4));
  await approve(one.runtime);
  for (const each of watchers) await each.until(isEnd());
});

test.concurrent("S11 D4 an observer that joins after an earlier resume sees the turn continue, though an older screen is behind", async () => {
  const path = file();
  const gate = Promise.withResolvers<void>();
  const model = recited(
    calls("pay", {}, "p"),
    calls("pay", {}, "p"),
    both(says("Now I look."), calls("look")),
    says("Done."),
  );
  await using one = await start(path, { model, tools: slowly(gate.promise) });
  await using two = await start(path, { model });
  const first = watch(await on(one));
  await begun(one);
  await approve(one.runtime);
  await first.until((events) => only(events, "waiting").length === 2);
  await parked(one.runtime, one.store);
  const late = watch(await on(two));
  await late.until((events) => inShort(events).join() === "pay ended,pay running");
  await approve(one.runtime);
  for (const each of [first, late])
    await each.until((events) => inShort(events).join() === "pay ended,pay ended,text: Now I look.,look running");
  gate.resolve();
  for (const each of [first, late]) await each.until(isEnd());
  expect(toldIn(first.events)).toBe("Now I look.Done."); // Where it runs nothing is told twice.
});

describe.each(PROTOCOLS)("D1 D4 $name", ({ plugins, saysAndActs }) => {
  const model = () => recited(saysAndActs("Let me see.", "look"), saysAndActs("I pay.", "look", "pay"), says("Done."));
  const options = { plugins: [...plugins, ...shop.plugins] };

  test("after a restart a parked turn is shown as before it, and resumes without being shown again", async () => {
    const path = file();
    const one = await start(path, { model: model(), ...options });
    const first = watch(await on(one));
    const session = await begun(one);
    const before = await session.read();
    const shown = shownIn(first.events);
    expect(inShort(first.events).filter((part) => !part.startsWith("text"))).toEqual([
      "look ended",
      expect.stringMatching(/^look (returned|ended)$/),
      "pay running",
    ]);
    await one.runtime.close();

    await using two = await start(path, { model: model(), ...options });
    const again = await on(two);
    const { openTurn, waits } = await again.read();
    expect({ openTurn, waits }).toEqual({ openTurn: before.openTurn, waits: before.waits });
    expect(openTurn?.calls.map(({ call }) => call.name)).toEqual(["look", "pay"]);
    const readers = [watch(again), watch(again, { after: before.cursor! }), followed(again, openTurn!.id)];
    for (const each of readers) await each.until(showing(shown));
    await approve(two.runtime);
    for (const each of readers) {
      await each.until(isEnd());
      expect(toldIn(each.events)).toBe(toldIn(readers[0]!.events));
      expect(toldIn(each.events).match(/Let me see\./g)).toHaveLength(1);
    }
    const final = await again.read();
    expect(final.messages.slice(0, openTurn?.messages.length)).toEqual(openTurn?.messages);
    expect(toldIn(readers[0]!.events)).toContain("Done.");
  });
});

test.concurrent("S11 S12 what an attempt said that was made again is not shown to those who come late", async () => {
  let attempts = 0;
  const talk = buying();
  const model: Provider = {
    ...talk,
    async *stream(request, options): AsyncIterable<ModelPart> {
      if (attempts++ === 0) yield* cut("I will", " not");
      else yield* talk.stream(request, options) as AsyncIterable<ModelPart>;
    },
  };
  const path = file();
  await using one = await start(path, { model });
  await using two = await start(path, { model: buying() });
  const first = watch(await on(two));
  await begun(one);
  await first.until((events) => inShort(events).length === FIRST.length);
  const late = watch(await on(one));
  await late.until(showing(shownIn(first.events)));
  expect(inShort(late.events)).toEqual(FIRST);
});

test.concurrent("S11 D4 a parked turn that is cancelled has ended for late observers too", async () => {
  const path = file();
  await using one = await start(path, { model: buying() });
  await using two = await start(path, { model: buying() });
  await begun(one);
  const session = await on(two);
  const { id } = (await session.read()).openTurn!;
  const reader = watch(session);
  const handle = followed(session, id);
  for (const each of [reader, handle]) await each.until((events) => inShort(events).length === FIRST.length);
  await one.runtime.sessions.cancel("s", id);
  for (const each of [reader, handle]) await each.until(isEnd());
  expect(viewOf(reader.events)?.turns).toMatchObject([
    { kind: "ended", id, outcome: { kind: "stopped", by: "cancel" } },
  ]);
  expect((await session.read()).openTurn).toBeUndefined();
});

test.concurrent("S11 D4 a handle that nobody has read shows everything when the turn is parked", async () => {
  await using one = await start(file(), { model: buying() });
  const session = await on(one);
  const turn = session.turn("Go.");
  await turn.id;
  await parked(one.runtime, one.store);
  const reader = new Watcher(turn as AsyncIterable<SessionEvent>);
  await reader.until((events) => inShort(events).length === FIRST.length && only(events, "waiting").length === 1);
  expect(inShort(reader.events)).toEqual(FIRST);
  for (const nth of [1, 2]) {
    await approve(one.runtime);
    await reader.until(
      (events) => only(events, "resolved").length === nth && (nth === 2 || only(events, "waiting").length === 2),
    );
  }
  expect(toldIn(await reader.until(isEnd()))).toBe("Let me see.I pay.Once more.Done.");
});

test.concurrent("S11 D4 in a tree that is observed elsewhere a parked child is shown, though nobody there has it open", async () => {
  const path = file();
  const above = recited(calls("delegate", { id: "below", task: "Pay." }), says("Done."));
  const below = recited(both(says("I pay."), calls("pay")), says("Paid."));
  const model: Provider = {
    ...above,
    stream: (request, options) => (wordsOf(request.messages[0]) === "Go." ? above : below).stream(request, options),
  };
  await using one = await start(path, { model, tools: [...shop.tools, delegate] });
  await using two = await start(path, { model });
  const session = await on(one);
  const turn = session.turn("Go.");
  await parked(one.runtime, one.store, "below");
  const { cursor } = await session.read();
  const late = watch(await on(two), { tree: true, after: cursor! });
  const ofChild = (events: readonly SessionEvent[]) => events.filter(({ sessionId }) => sessionId === "below");
  await late.until((events) => inShort(ofChild(events)).includes("pay running"));
  expect(inShort(ofChild(late.events))).toEqual(["text: I pay.", "pay running"]);
  await approve(one.runtime, "below");
  await within(turn.result());
  await late.until(isEnd(2));
});

test.concurrent("S11 the open turn of another process is read while it runs", async () => {
  const path = file();
  const gate = Promise.withResolvers<void>();
  await using one = await start(path, { model: buying(), tools: slowly(gate.promise) });
  await using two = await start(path, { model: buying() });
  const session = await on(one);
  const turn = session.turn("Go.");
  const here = watch(session);
  await here.until((events) => events.some(({ kind }) => kind === "toolStarted"));
  const read = await (await on(two)).read();
  expect(read.openTurn).toMatchObject({ id: await turn.id, calls: [{ call: { name: "look" }, state: "running" }] });
  expect(outline(read.openTurn?.messages ?? [])).toEqual(SAID.slice(0, 4));
  expect((await session.read()).openTurn).toEqual(read.openTurn);
  gate.resolve();
  await parked(one.runtime, one.store);
});

test.concurrent("S11 D8 where the protocol of a parked turn is missing, what is recorded is shown all the same", async () => {
  const path = file();
  await using one = await start(path, { model: buying() });
  await using two = await start(path, { model: buying(), plugins: [foreign, ...shop.plugins] });
  const session = await begun(one);
  const other = await on(two);
  expect((await other.read()).openTurn).toEqual((await session.read()).openTurn);
  const late = watch(other);
  await late.until((events) => inShort(events).length === FIRST.length);
  expect(inShort(late.events)).toEqual(FIRST);
});

test.concurrent("S11 D8 so it is of code that waits", async () => {
  const path = file();
  const { plugins, saysAndActs } = inCode;
  const model = recited(saysAndActs("Let me see.", "look"), saysAndActs("I pay.", "look", "pay"), says("Done."));
  await using one = await start(path, { model, plugins: [...plugins, ...shop.plugins] });
  await using two = await start(path, { model });
  const session = await begun(one);
  const other = await on(two);
  expect((await other.read()).openTurn?.calls).toEqual((await session.read()).openTurn?.calls);
  const [late, here] = [watch(other), watch(session)];
  await here.until((events) => inShort(events).includes("pay running"));
  await late.until((events) => inShort(events).includes("pay running"));
  expect(inShort(late.events)).toEqual(inShort(here.events));
});

test.concurrent("S11 D2 a turn whose process was killed while it waited is shown by the next one", async () => {
  const path = file();
  const killed = elsewhere(
    `const { definePlugin, ask } = await import(${JSON.stringify(new URL("../../src/plugin.ts", import.meta.url).href)});
     const careful = definePlugin({ id: "test/careful", setup: () => ({ beforeToolCall: () => ask("It moves money.") }) });
     const pay = defineTool({ name: "pay", description: "Pays.", input: { type: "object" }, execute: () => "paid" });
     const model = { id: "recited", modelId: "test", async *stream() {
       yield { kind: "text", delta: "I pay." };
       yield* calls("pay", { eur: 5 }, "p1");
     } };
     const runtime = await createRuntime({ store, model, tools: [pay], plugins: [careful], limits: { parkAfterMs: 1 } });
     const { turnId } = await (await runtime.session("s")).send("Go.");
     while ((await store.find(turnId))?.state !== "parked") await new Promise((resolve) => setTimeout(resolve, 5));
     say(turnId);
     await heard;`,
    path,
  );
  const turnId = (await killed.next()) ?? "";
  await killed.kill();
  await using two = await start(path, { model: recited(says("Never."), says("Done.")) });
  const session = await on(two);
  expect((await session.read()).openTurn).toMatchObject({ id: turnId, calls: [{ call: { name: "pay" } }] });
  const reader = watch(session);
  const handle = followed(session, turnId);
  for (const each of [reader, handle])
    await each.until((events) => JSON.stringify(inShort(events)) === JSON.stringify(["text: I pay.", "pay running"]));
  await approve(two.runtime);
  for (const each of [reader, handle]) expect(shownWords(await each.until(isEnd()))).toBe("I pay.Done.");
});

test.concurrent("S11 a long parked turn costs those who look at it one read of its journal, however many they are", async () => {
  const path = file();
  const many = 300;
  const round = (nth: number) => both(...Array.from({ length: 30 }, (_, each) => calls("look", {}, `l${nth}.${each}`)));
  const model = recited(
    ...Array.from({ length: many / 30 }, (_, nth) => round(nth)),
    calls("pay", {}, "p"),
    says("Done."),
  );
  await using one = await start(path, { model });
  await begun(one);
  const reads: number[] = [];
  const journal = async (read: () => unknown) => {
    const events = (await read()) as readonly unknown[];
    reads.push(events.length);
    return events;
  };
  await using two = await start(path, { model }, (store) => around(store, { journal }));
  const session = await on(two);
  const { openTurn } = await session.read();
  expect(openTurn?.messages.flatMap(({ parts }) => parts).filter(({ kind }) => kind === "toolResult")).toHaveLength(
    many,
  );
  const [length] = reads.filter((events) => events > 0);
  reads.length = 0;
  const hasAll = (events: readonly SessionEvent[]): boolean => only(events, "toolStarted").length === many + 1;
  const cost = (): number => reads.reduce((sum, events) => sum + events, 0);
  const readers = Array.from({ length: 5 }, () => watch(session));
  for (const each of readers) await each.until(hasAll);
  expect(cost()).toBeLessThanOrEqual(length!);
  const late = watch(session);
  await late.until(hasAll);
  expect(shownIn(late.events)).toEqual(shownIn(readers[0]!.events));
  expect(cost()).toBeLessThanOrEqual(length!);
});
