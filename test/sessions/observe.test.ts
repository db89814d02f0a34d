import { getEventListeners } from "node:events";
import {
  definePlugin,
  defineTool,
  type Message,
  type Runtime,
  type Session,
  type SessionEvent,
  type SessionView,
  type Store,
} from "bowline";
import { emitEvent } from "bowline/plugin";
import { type ModelPart, ProviderFailure } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import { both, calls, cut, says, scripted, thinks } from "bowline/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { NO_USAGE } from "../../src/model/usage.ts";
import { call, end, follows, plays, text } from "../kit/models.ts";
import { codeOf, outline, ticks, within } from "../kit/reading.ts";
import { sample } from "../kit/size.ts";
import { KEPT } from "../kit/stores.ts";
import { ping, runningQuickly, SharedFile, Stop, stopping } from "../kit/worlds.ts";
import { compacting, counter, delegate } from "./plugins.ts";
import {
  drawn,
  factsIn,
  inShort,
  isEnd,
  kept,
  numberOf,
  Screen,
  screenOf,
  screensOf,
  Watcher,
  watch,
} from "./watching.ts";

const compactor = compacting((messages) => ({
  seed: ["S"],
  ...(messages.length > 4 ? { tail: messages.at(-2)!.id } : {}),
}));

// ── Facts and previews ──────────────────────────────────────────────────────────────────────────────────────────────

test.each(KEPT)("S11 one stream has everything that is kept and shown, in order, %s", async (_, store) => {
  const model = scripted(thinks("Hm. ", calls("ping")), says("Do", "ne."), says("Again."));
  await using runtime = await runningQuickly({ store: store(), model, tools: [ping], plugins: [counter, compactor] });
  const session = await runtime.session("s");
  const watcher = watch(session);
  await session.turn("Go.", { key: "k" }).result();
  await session.append([{ kind: "message", role: "user", text: "By the way." }]);
  await session.configure({ instructions: "Be kind." });
  await session.command(counter, "set", 7);
  await session.compact();
  await session.turn("More.").result();
  const events = await watcher.until(isEnd(2));
  expect(events.map(inShort)).toEqual([
    "accepted",
    "reasoning",
    "toolStarted",
    "toolEnded",
    "text",
    "text",
    "committed turn",
    "committed append",
    "committed configure",
    "committed command",
    "committed compact",
    "frame",
    "accepted",
    "text",
    "committed turn",
  ]);
  for (const event of events) expect(event).toMatchObject({ sessionId: "s", fact: "cursor" in event });
  expect(events[0]).toMatchObject({ key: "k", turnId: expect.any(String), inputId: expect.any(String) });
  expect(events[6]).toMatchObject({ outcome: { kind: "answered", text: "Done." }, usage: { output: 10 } });
  expect(await drawn(screenOf(events), session)).toEqual(await kept(session));
});

test.each(KEPT)("S11 the nodes of the facts are the history, in order, %s", async (_, store) => {
  const model = scripted(calls("ping"), says("One."), says("Two."), says("Three."));
  await using runtime = await runningQuickly({ store: store(), model, tools: [ping], plugins: [counter, compactor] });
  const session = await runtime.session("s");
  const watcher = watch(session);
  await session.turn("1").result();
  await session.turn("2").result();
  await session.compact();
  await session.command(counter, "note", "n");
  await session.append([{ kind: "plugin", type: "x", body: 1 }]);
  await session.turn("3").result();
  const events = await watcher.caughtUp(session);
  const nodes = events.flatMap((event) => (event.kind === "committed" ? event.nodes : []));
  const history = await session.history({ max: 100 });
  expect(nodes).toEqual(history.map(({ id }) => id).reverse());
  const frames = events.flatMap((event) => (event.kind === "frame" ? [event.frame] : []));
  expect(frames).toEqual([(await session.read()).frame]);
});

test("S11 what was taken back, and what a turn took at a boundary, leaves the stream and the session agreed", async () => {
  const stop = new Stop();
  const model = scripted(calls("slow"), says("Both."), says("Next."));
  await using runtime = await runningQuickly({ model, tools: [stopping(stop)] });
  const session = await runtime.session();
  const watcher = watch(session);
  const turn = session.turn("Go.");
  await stop.reached;
  await session.send("Steer.");
  await session.send("Next.", { at: "next-turn", key: "next" });
  await session.send("Never.", { at: "next-turn", key: "never" });
  expect((await session.inputs.cancel({ key: "never" })).map(({ kind }) => kind)).toEqual(["cancelled"]);
  stop.go();
  await turn.result();
  const events = await watcher.until(isEnd(2));
  const [go, steer, next, never, withdrawn, ...ends] = factsIn(events);
  expect([go, steer, next]).toMatchObject(["Go.", "Steer.", "Next."].map((said) => ({ kind: "accepted", text: said })));
  expect(never).toMatchObject({ kind: "accepted", key: "never" });
  const { turnId, inputId } = never as Extract<SessionEvent, { readonly kind: "accepted" }>;
  const { cursor } = withdrawn!;
  const fact = { fact: true, sessionId: session.id, kind: "withdrawn", turnId, inputId, key: "never" };
  expect(withdrawn).toEqual({ ...fact, cursor });
  expect(ends.map(inShort)).toEqual(["committed turn", "committed turn"]);
  expect(await drawn(screenOf(events), session)).toEqual(await kept(session));
  expect(outline((await session.read()).messages)).toContain("user: Steer.");
  expect(screenOf(events).showing).toEqual([]);
});

test.each(KEPT)("S11 an observer that waits receives a withdrawal at once, %s", async (_, store) => {
  const stop = new Stop();
  const model = scripted(calls("slow"), says("Done."), says("Later."));
  await using runtime = await runningQuickly({ store: store(), model, tools: [stopping(stop)] });
  const session = await runtime.session("s");
  const watchers = [watch(session), watch(session, { tree: true })];
  const feed = runtime.observe();
  const turn = session.turn("Go.");
  await stop.reached;
  await session.send("Never.", { at: "next-turn", key: "never" });
  const isAccepted = (events: readonly SessionEvent[]) => events.some((event) => "key" in event);
  for (const watcher of watchers) await watcher.until(isAccepted);
  for (const text of ["Go.", "Never."]) expect((await feed.next()).value).toMatchObject({ kind: "accepted", text });
  await session.inputs.cancel({ key: "never" });
  // Nothing else happens meanwhile, and a memory store is not polled.
  const isWithdrawn = (events: readonly SessionEvent[]) => events.some(({ kind }) => kind === "withdrawn");
  for (const watcher of watchers) expect(factsIn(await within(watcher.until(isWithdrawn)))).toHaveLength(3);
  expect((await within(feed.next())).value).toMatchObject({ kind: "withdrawn", sessionId: "s", key: "never" });
  // An observer that comes later is told the same, except for what was said.
  const late = factsIn(await watch(session).until(isWithdrawn));
  const early = factsIn(watchers[0]!.events);
  const { text: _text, at: _at, ...rest } = early[1] as SessionEvent & { readonly text: string; readonly at: number };
  expect(late).toEqual([early[0], rest, early[2]]);
  stop.go();
  await turn.result();
});

test("S12 an attempt that is tried again takes back exactly what it had shown", async () => {
  const failure = new ProviderFailure({ class: "overloaded", message: "Busy." });
  let tries = 0;
  const model = plays(
    ...[1, 2, 3].map(
      () =>
        async function* () {
          yield { kind: "reasoning" as const, delta: `Hm ${++tries}. ` };
          yield text(`Try ${tries}`);
          if (tries < 3) throw failure;
          yield text("!");
          yield end;
        },
    ),
  );
  await using runtime = await runningQuickly({ model });
  const session = await runtime.session();
  const watcher = watch(session);
  const { outcome } = await session.turn("Go.").result();
  const events = await watcher.until(isEnd());
  expect(outcome).toMatchObject({ kind: "answered", text: "Try 3!" });
  expect(events.filter(({ kind }) => kind === "retracted")).toHaveLength(2);
  const screen = new Screen();
  const shown = events.map((event) => {
    screen.add(event);
    return screen.showing.filter((line) => line.includes("text: ")).map((line) => line.split("text: ")[1]);
  });
  expect(shown.at(-2)).toEqual(["Try 3!"]);
  expect(shown.at(-1)).toEqual([]);
  for (const lines of shown) expect(lines.length).toBeLessThanOrEqual(1);
});

// ── Coming late ─────────────────────────────────────────────────────────────────────────────────────────────────────

test.each(KEPT)("S11 an observer that joins in the middle of a turn sees its output so far, %s", async (_, store) => {
  const stop = new Stop();
  const model = scripted(says("Old."), both(says("Wa", "it ", "for it. "), calls("slow")), says("Done."));
  await using runtime = await runningQuickly({ store: store(), model, tools: [stopping(stop)] });
  const session = await runtime.session();
  await session.turn("1").result();
  const early = watch(session);
  const turn = session.turn("2");
  await stop.reached;
  const late = watch(session);
  const view = await session.read();
  const reader = watch(session, { after: view.cursor });
  const started = (events: readonly SessionEvent[]) => events.some(({ kind }) => kind === "toolStarted");
  const screens = await Promise.all(
    [early, late, reader].map(async (watcher, index) =>
      screenOf(await watcher.until(started), index === 2 ? view : undefined),
    ),
  );
  for (const screen of screens) {
    expect(screen.showing).toEqual(screens[0]!.showing);
    expect(screen.showing.join()).toContain("text: Wait for it.");
    expect(await drawn(screen, session)).toEqual(await kept(session));
  }
  stop.go();
  await turn.result();
  const all = await early.until(isEnd(2));
  expect(factsIn(await late.until(isEnd(2)))).toEqual(factsIn(all));
  expect(factsIn(await reader.until(isEnd())).map(inShort)).toEqual(["committed turn"]);
});

/** A turn with text, a retry, calls and an input on the way; then a command, a compaction, and one more turn. */
function story() {
  const model = scripted(
    cut("Oh"),
    both(says("Let ", "me see. "), calls("ping", {}, "a"), calls("ping", {}, "b")),
    says("Do", "ne."),
    says("More", "."),
  );
  return {
    options: { model, tools: [ping], plugins: [counter, compactor] },
    async run(session: Session): Promise<void> {
      const turn = session.turn("Go.");
      await session.send("Steer.");
      await turn.result();
      await session.command(counter, "note", "n");
      await session.compact();
      await session.turn("Again.").result();
    },
  };
}

const JOINS = Array.from(
  { length: sample(24, 90) },
  (_, index) => [index % 6, Math.floor(index / 6) * sample(27, 7)] as const,
);

test.each(KEPT)(
  "S11 an observer that joins, at any tick, receives the same facts and sees nothing that is void, %s",
  async (_, store) => {
    const wrong: unknown[] = [];
    await Promise.all(
      JOINS.map(async ([macros, micros]) => {
        const { options, run } = story();
        await using runtime = await runningQuickly({ ...options, store: store() });
        const session = await runtime.session();
        const early = watch(session);
        const done = run(session);
        for (let macro = 0; macro < macros; macro++) await new Promise(setImmediate);
        await ticks(micros);
        const late = watch(session);
        const view = await session.read();
        const reader = watch(session, { after: view.cursor });
        await done;
        await session.configure({ label: "The end." });
        const isOver = (events: readonly SessionEvent[]) =>
          events.some((event) => event.kind === "committed" && event.by === "configure");
        try {
          const all = await early.until(isOver);
          const end = await kept(session);
          for (const [name, watcher, from] of [
            ["early", early, undefined],
            ["late", late, undefined],
            ["reader", reader, view],
          ] as const) {
            const events = await watcher.until(isOver);
            const screen = screenOf(events, from);
            expect(await drawn(screen, session), name).toEqual(end);
            expect(screen.showing, name).toEqual([]);
            const after = from === undefined ? 0 : numberOf(view.cursor ?? "0");
            expect(factsIn(events), name).toEqual(factsIn(all).filter(({ cursor }) => numberOf(cursor) > after));
          }
        } catch (error) {
          wrong.push([macros, micros, error]);
        }
      }),
    );
    expect(wrong).toEqual([]);
  },
  30_000,
);

test.each(KEPT)("S11 what is read at any tick has exactly the facts up to its cursor, %s", async (_, store) => {
  const { options, run } = story();
  await using runtime = await runningQuickly({ ...options, store: store() });
  const session = await runtime.session();
  const views: Promise<{ turns: number; cursor?: string; messages: readonly Message[]; frame?: string }>[] = [];
  let isDone = false;
  const looking = (async () => {
    while (!isDone) {
      views.push(session.read());
      if (views.length % 200 === 0) await new Promise(setImmediate);
      else await undefined;
    }
  })();
  await run(session);
  isDone = true;
  await looking;
  const all = factsIn(await watch(session).caughtUp(session));
  const wrong = (await Promise.all(views)).flatMap(({ turns, cursor, messages, frame }) => {
    const known = all.filter((fact) => cursor !== undefined && numberOf(fact.cursor) <= numberOf(cursor));
    const ends = known.filter((fact) => fact.kind === "committed" && fact.by === "turn").length;
    const frames = known.filter((fact) => fact.kind === "frame").length;
    const isRight = turns === ends && (frames === 0) === (frame === undefined);
    return isRight ? [] : [`${cursor}: ${turns} turns of ${ends}, ${messages.length} messages, frame ${frame}`];
  });
  expect(wrong).toEqual([]);
  expect(views.length).toBeGreaterThan(20);
});

test("S11 what is read between a commit and its answer has the turn, or a cursor before it", async () => {
  const store = memory();
  const commit = store.commit.bind(store);
  const stop = new Stop();
  store.commit = async (...given) => {
    const answer = await commit(...given);
    await stop.here();
    return answer;
  };
  await using runtime = await runningQuickly({ store });
  const session = await runtime.session();
  const turn = session.turn("1");
  await stop.reached;
  const view = await within(session.read());
  const watcher = watch(session, { after: view.cursor });
  stop.go();
  await turn.result();
  const events = await watcher.caughtUp(session);
  expect(await drawn(screenOf(events, view), session)).toEqual(await kept(session));
});

test("S11 a turn that is committed while a view is made is in it or after it, and not both", async () => {
  for (const part of ["latest", "load", "view"] as const) {
    const store = memory();
    const answer = store[part].bind(store) as (...given: readonly unknown[]) => unknown;
    let stop: Stop | undefined;
    store[part] = (async (...given: readonly unknown[]) => {
      const found = await answer(...given);
      const held = stop;
      stop = undefined;
      await held?.here();
      return found;
    }) as never;
    await using runtime = await runningQuickly({ store });
    const [session, other] = [await runtime.session("s"), await runtime.session("s")];
    await session.turn("1").result();
    const held = new Stop();
    stop = held;
    const reading = session.read();
    if (part !== "view") await held.reached; // Nothing to be read of what is known already.
    await other.turn("2").result();
    held.go();
    const view = await within(reading);
    const rest = await watch(session, { after: view.cursor }).caughtUp(session);
    const ends = rest.filter((event) => event.kind === "committed" && event.by === "turn").length;
    expect(view.turns + ends, part).toBe(2);
    expect(view.messages, part).toHaveLength(2 * view.turns);
  }
});

test("S11 a session is read however busy the others are", async () => {
  const store = memory();
  const latest = store.latest.bind(store);
  let looks = Infinity;
  store.latest = () => {
    if (++looks <= 200) void store.apply({ sessionId: other.id, operation: `opr_${looks}`, at: 1 });
    return latest();
  };
  await using runtime = await runningQuickly({ store });
  const [session, other] = [await runtime.session(), await runtime.session()];
  await session.turn("1").result();
  looks = 0;
  expect(await session.read()).toMatchObject({ turns: 1 });
  expect(looks).toBeLessThan(20);
});

test.each(KEPT)(
  "S4 S11 a view has what was said and not answered: what the turn has taken, then what waits, %s",
  async (_, store) => {
    const stops = [new Stop(), new Stop()];
    const model = scripted(calls("first"), calls("second"), says("One."), says("Two."));
    const tools = [stopping(stops[0]!, "first"), stopping(stops[1]!, "second")];
    await using runtime = await runningQuickly({ store: store(), model, tools });
    const session = await runtime.session();
    const unanswered = async () =>
      (await session.read()).inputs.map(({ state, message }) => [
        state,
        message.parts.map((part) => part.kind === "text" && part.text).join(),
      ]);
    expect(await unanswered()).toEqual([]);
    const turn = session.turn("1");
    await stops[0]!.reached;
    expect(await unanswered()).toEqual([["running", "1"]]);
    await session.send("Steer.");
    const next = await session.send("2", { at: "next-turn" });
    await session.send("Never.", { at: "next-turn", key: "never" });
    await session.inputs.cancel({ key: "never" });
    expect(await unanswered()).toEqual([
      ["running", "1"],
      ["waiting", "Steer."],
      ["waiting", "2"],
    ]);
    stops[0]!.go();
    await stops[1]!.reached;
    const view = await session.read();
    expect(await unanswered()).toEqual([
      ["running", "1"],
      ["running", "Steer."],
      ["waiting", "2"],
    ]);
    expect(view.inputs.map(({ turnId }) => turnId)).toEqual([await turn.id, await turn.id, next.turnId]);
    const late = watch(session, { after: view.cursor });
    stops[1]!.go();
    await turn.result();
    await session.follow(next.turnId).result();
    expect(await unanswered()).toEqual([]);
    const ends = (await late.until(isEnd(2))).flatMap((event) =>
      event.kind === "committed" && event.by === "turn" ? [event.turnId] : [],
    );
    expect(ends).toEqual([await turn.id, next.turnId]);
    expect(late.events.some(({ kind }) => kind === "accepted")).toBe(false); // They were in the view.
  },
);

test("S11 the stream also has a fact that comes while the store is being read", async () => {
  const store = memory();
  const changes = store.changes.bind(store);
  let stop: Stop | undefined;
  store.changes = async (...given) => {
    const found = await changes(...given);
    await stop?.here();
    return found;
  };
  await using runtime = await runningQuickly({ store });
  const session = await runtime.session();
  const note = (body: number) => session.append([{ kind: "plugin", type: "x", body }]);
  const watcher = watch(session);
  await watcher.caughtUp(session);
  stop = new Stop();
  await note(1);
  await stop.reached; // It was read, and the answer is on its way.
  await note(2);
  stop.go();
  expect((await watcher.until((events) => events.length >= 3)).map(inShort)).toEqual([
    "committed configure",
    "committed append",
    "committed append",
  ]);
});

test.each(KEPT)("S11 of many facts that come at once none is overlooked, %s", async (_, store) => {
  await using runtime = await runningQuickly({ store: store(), limits: { pendingInputsMax: 1_000 } });
  for (let round = 0; round < 10; round++) {
    const session = await runtime.session(`s${round}`);
    const watcher = watch(session);
    const turns = Array.from({ length: 8 }, async (_, index) => {
      await ticks(round * index);
      return session.turn(`${index}`).result();
    });
    await Promise.all(turns);
    expect(factsIn(await watcher.until(isEnd(8)))).toHaveLength(16);
  }
});

test("S11 a slow reader sees longer deltas, and no output of turns that have ended by then", async () => {
  const deltas = Array.from({ length: 50 }, (_, index) => `${index} `);
  await using runtime = await runningQuickly({ model: scripted(says(...deltas)) });
  const session = await runtime.session();
  const stream = session.observe();
  await session.turn("Go.").result();
  const events: SessionEvent[] = [];
  for await (const event of stream) {
    events.push(event);
    if (isEnd()(events)) break;
  }
  expect(events.map(inShort)).toEqual(["accepted", "committed turn"]);
});

// ── Cursors ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test.each(KEPT)("S11 after any fact come exactly the facts that follow it, %s", async (_, store) => {
  const { options, run } = story();
  await using runtime = await runningQuickly({ ...options, store: store() });
  const session = await runtime.session();
  await run(session);
  const all = factsIn(await watch(session).caughtUp(session));
  expect(all.length).toBeGreaterThan(8);
  for (const [index, { cursor }] of all.entries()) {
    const rest = all.slice(index + 1);
    const again = watch(session, { after: cursor });
    if (rest.length > 0) await again.until((events) => events.length >= rest.length);
    expect(again.events.map(inShort), `after ${index}: ${cursor}`).toEqual(rest.map(inShort));
    expect(again.events).toEqual(rest);
    await again.leave();
  }
});

test.each(KEPT)("S11 cursors of a stream only rise, whatever happens in other sessions, %s", async (_, store) => {
  await using runtime = await runningQuickly({ store: store() });
  const [a, b] = [await runtime.session("a"), await runtime.session("b")];
  const watchers = [watch(a), watch(b)];
  for (let turn = 0; turn < 5; turn++) await Promise.all([a.turn(`${turn}`).result(), b.turn(`${turn}`).result()]);
  for (const [index, watcher] of watchers.entries()) {
    const numbers = factsIn(await watcher.until(isEnd(5))).map(({ cursor }) => numberOf(cursor));
    expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
    expect(new Set(watcher.events.map(({ sessionId }) => sessionId))).toEqual(new Set([index === 0 ? "a" : "b"]));
  }
});

test("S11 a view of a session where nothing happened has no cursor, and its reader receives everything from the start", async () => {
  await using runtime = await runningQuickly();
  const session = await runtime.session();
  const view = await session.read();
  expect(view.cursor).toBe(undefined);
  const watcher = watch(session, { after: view.cursor });
  await session.turn("Go.").result();
  expect((await watcher.until(isEnd())).map(inShort)).toEqual(["accepted", "text", "committed turn"]);
});

test("S11 thousands of facts are read in pages, none twice and none left out", async () => {
  await using runtime = await runningQuickly();
  const session = await runtime.session();
  for (let index = 0; index < 1_100; index++) await session.append([{ kind: "plugin", type: "n", body: index }]);
  const watcher = watch(session);
  const numbers = factsIn(await watcher.until((events) => events.length >= 1_100)).map(({ cursor }) =>
    numberOf(cursor),
  );
  expect(new Set(numbers).size).toBe(1_100);
  await session.append([{ kind: "plugin", type: "n", body: -1 }]);
  await watcher.until((events) => events.length === 1_101);
});

test.each(KEPT)(
  "S11 a cursor that is none, of another session, or of the future is a typed error, %s",
  async (_, store) => {
    await using runtime = await runningQuickly({ store: store() });
    const [mine, other] = [await runtime.session("mine"), await runtime.session("other@home")];
    await mine.turn("1").result();
    await other.turn("1").result();
    const { cursor: foreign = "" } = await other.read();
    expect(foreign).toMatch(/@other@home$/);
    const first = (after: unknown) => async () => mine.observe({ after: after as string }).next();
    expect(await codeOf(first(foreign))).toBe("cursor.foreign");
    expect((await within(other.observe({ after: foreign.replace(/^\d+/, "1") }).next())).value).toMatchObject({
      fact: true,
    });
    for (const wrong of [
      "",
      "1",
      "@mine",
      "x@mine",
      "0@mine",
      "-1@mine",
      "1.5@mine",
      "1e0@mine",
      "999999@mine",
      " 1@mine",
    ])
      expect(await codeOf(first(wrong)), JSON.stringify(wrong)).toBe("cursor.unknown");
    for (const wrong of [null, 7, {}, ["1@mine"], "9".repeat(400), `${"9".repeat(400)}@mine`])
      expect(await codeOf(first(wrong)), String(wrong).slice(0, 20)).toBe("cursor.unknown");
  },
);

test.each(KEPT)("S11 S7 a fork has a separate stream, from where it began, %s", async (_, store) => {
  await using runtime = await runningQuickly({ store: store() });
  const source = await runtime.session();
  await source.turn("1").result();
  const { cursor } = await source.read();
  const fork = await source.fork();
  const watcher = watch(fork);
  await source.turn("2").result();
  await fork.turn("3").result();
  const events = await watcher.until(isEnd());
  expect(events.map(inShort)).toEqual(["accepted", "text", "committed turn"]);
  expect(events.every(({ sessionId }) => sessionId === fork.id)).toBe(true);
  expect(await codeOf(() => fork.observe({ after: cursor }))).toBe("cursor.foreign");
  const view = await fork.read();
  const rest = await watch(fork, { after: view.cursor }).caughtUp(fork);
  expect(rest.map(inShort)).toEqual(["committed configure"]);
});

test("S11 a stream that failed has ended: it does not fail again, and nothing is kept for it", async () => {
  await using runtime = await runningQuickly();
  const session = await runtime.session();
  const aborter = new AbortController();
  const stream = session.observe({ after: `99@${session.id}`, signal: aborter.signal });
  await expect(stream.next()).rejects.toMatchObject({ code: "cursor.unknown" });
  expect(await within(stream.next())).toEqual({ value: undefined, done: true });
  expect(getEventListeners(aborter.signal, "abort")).toHaveLength(0);
});

test("S11 options that are wrong are typed", async () => {
  await using runtime = await runningQuickly();
  const session = await runtime.session();
  expect(await codeOf(() => session.observe({ signal: {} as AbortSignal }))).toBe("options.invalid");
  expect(await codeOf(() => session.observe({ signal: "no" as never }))).toBe("options.invalid");
  await session.close();
  expect(await codeOf(() => session.observe())).toBe("session.closed");
});

// ── Those who do not keep up ────────────────────────────────────────────────────────────────────────────────────────

/** Shows this many things that cannot be joined into one. */
const noisy = (count: number) =>
  definePlugin({
    id: "test/noisy",
    setup: () => ({
      beforeToolCall: () => Array.from({ length: count }, (_, index) => emitEvent("noise", index)),
    }),
  });

test.each([1, 2, 3, 4, 5, 7, 8, 16, 100])(
  "S11 a slow reader receives a view instead of previews, and all facts after it (unreadEventsMax %i)",
  async (unreadEventsMax) => {
    const stop = new Stop();
    const model = scripted(calls("ping"), says("One."), both(calls("ping"), calls("slow")), says("Two."));
    await using runtime = await runningQuickly({
      model,
      tools: [ping, stopping(stop)],
      plugins: [noisy(500)],
      limits: { unreadEventsMax },
    });
    const session = await runtime.session();
    const stream = session.observe();
    await session.turn("1").result();
    const second = session.turn("2");
    await stop.reached;
    const watcher = new Watcher(stream);
    await watcher.until((events) => events.some(({ kind }) => kind === "gap"));
    expect(watcher.events.find(({ kind }) => kind === "gap")).toMatchObject({ view: { id: session.id, turns: 1 } });
    stop.go();
    await second.result();
    const events = await watcher.caughtUp(session);
    const screen = screenOf(events);
    expect(await drawn(screen, session)).toEqual(await kept(session));
    expect(screen.showing).toEqual([]);
    expect(events.length).toBeLessThan(2 * unreadEventsMax + 10);
  },
);

test("S11 previews of a turn that a gap's view has already are not shown after it", async () => {
  const model = scripted(calls("ping"), says("One."));
  await using runtime = await runningQuickly({
    model,
    tools: [ping],
    plugins: [noisy(100)],
    limits: { unreadEventsMax: 16 },
  });
  const session = await runtime.session();
  const stream = session.observe();
  await session.turn("1").result();
  const watcher = new Watcher(stream);
  await watcher.until((events) => events.some(({ kind }) => kind === "gap"));
  await session.append([{ kind: "plugin", type: "x", body: 1 }]);
  await watcher.until((events) => events.some((event) => event.kind === "committed"));
  const events = await watcher.caughtUp(session);
  expect(events.map(inShort)).toEqual(["accepted", "committed turn", "gap", "committed append", "committed configure"]);
  expect(events[2]).toMatchObject({ view: { turns: 1 } });
  expect(screenOf(events).showing).toEqual([]);
});

test.each([1, 4, 50])(
  "S11 a gap replaces previews only: a slow reader receives every fact, once (unreadEventsMax %i)",
  async (max) => {
    const replies = [1, 2, 3].flatMap((turn) => [calls("ping"), says(`${turn}`)]);
    const limits = { unreadEventsMax: max };
    await using runtime = await runningQuickly({
      model: scripted(...replies),
      tools: [ping],
      plugins: [noisy(200)],
      limits,
    });
    const session = await runtime.session();
    const streams = [session.observe(), session.observe({ tree: true })];
    for (const words of ["1", "2", "3"]) await session.turn(words).result();
    await session.configure({ label: "The end." });
    const all = factsIn(await watch(session).until((events) => factsIn(events).length >= 7));
    for (const stream of streams) {
      const watcher = new Watcher(stream);
      await watcher.caughtUp(session);
      const events = factsIn(watcher.events);
      expect(events.some(({ kind }) => kind === "gap")).toBe(true);
      expect(events.filter(({ kind }) => kind !== "gap").slice(0, 7)).toEqual(all.slice(0, 7));
      expect(screenOf(watcher.events).showing).toEqual([]);
      expect(await drawn(screenOf(watcher.events), session)).toEqual(await kept(session));
    }
  },
);

test.each([false, true])(
  "S11 after a gap the output of the running turn comes again, on every handle (tree: %s)",
  async (tree) => {
    const stop = new Stop();
    const model = scripted(
      calls("ping"),
      says("One."),
      both(says("Wait ", "for it. "), calls("ping"), calls("slow")),
      says("Two."),
    );
    const limits = { unreadEventsMax: 64 };
    await using runtime = await runningQuickly({ model, tools: [ping, stopping(stop)], plugins: [noisy(25)], limits });
    const first = await runtime.session("s");
    const stream = first.observe({ tree });
    await first.turn("1").result();
    await first.close();
    const session = await runtime.session("s");
    const turn = session.turn("2");
    await stop.reached;
    const isThere = (events: readonly SessionEvent[]) =>
      events.some((event) => event.kind === "plugin" && event.key.effect === "r1.call.1" && event.payload === 24);
    const fresh = await watch(session, { tree }).until(isThere);
    const late = await new Watcher(stream).until(isThere);
    expect(late.some(({ kind }) => kind === "gap")).toBe(true);
    expect(screenOf(late).showing).toEqual(screenOf(fresh).showing);
    expect(screenOf(late).showing.join()).toContain("text: Wait for it.");
    stop.go();
    await turn.result();
  },
);

test("S11 a cursor of a gap continues where its view ends", async () => {
  const model = scripted(calls("ping"), says("One."), says("Two."));
  await using runtime = await runningQuickly({
    model,
    tools: [ping],
    plugins: [noisy(100)],
    limits: { unreadEventsMax: 8 },
  });
  const session = await runtime.session();
  const stream = session.observe();
  await session.turn("1").result();
  let gap: SessionEvent | undefined;
  for await (const event of stream) {
    gap = event;
    if (event.kind === "gap") break;
  }
  if (gap?.kind !== "gap") throw new Error("There was no gap.");
  expect(gap.cursor).toBe(gap.view.cursor);
  await session.turn("2").result();
  const rest = await watch(session, { after: gap.cursor }).until(isEnd());
  expect(factsIn(rest).map(inShort)).toEqual(["accepted", "committed turn"]);
  expect(await drawn(screenOf([gap, ...rest]), session)).toEqual(await kept(session));
});

test("S11 one who never reads holds up nobody, and another one misses nothing", async () => {
  const deltas = Array.from({ length: 2_000 }, () => "x");
  const model = scripted(...Array.from({ length: 20 }, () => both(says(...deltas), calls("ping"))), says("Done."));
  await using runtime = await runningQuickly({ model, tools: [ping], limits: { unreadEventsMax: 32 } });
  const session = await runtime.session();
  const never = session.observe();
  const quick = watch(session);
  await session.turn("Go.").result();
  const events = await quick.until(isEnd());
  expect(events.filter(({ kind }) => kind === "toolEnded")).toHaveLength(20);
  expect(events.some(({ kind }) => kind === "gap")).toBe(false);
  await never.return?.();
});

test("S11 an observer that joins too late for all output of a long turn receives a gap, with a view", async () => {
  const stop = new Stop();
  const model = scripted(both(calls("ping"), calls("slow")), says("Done."));
  await using runtime = await runningQuickly({ model, tools: [ping, stopping(stop)], plugins: [noisy(3_000)] });
  const session = await runtime.session();
  const early = watch(session);
  const turn = session.turn("Go.");
  await stop.reached;
  const late = watch(session);
  stop.go();
  await turn.result();
  expect((await early.until(isEnd())).some(({ kind }) => kind === "gap")).toBe(false);
  const events = await late.until(isEnd());
  expect(events.filter(({ kind }) => kind === "gap")).toHaveLength(1);
  expect(events.length).toBeLessThan(4_100);
  expect(await drawn(screenOf(events), session)).toEqual(await kept(session));
});

// ── Leaving ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test("S11 leaving ends the stream and not the turn", async () => {
  const stop = new Stop();
  await using runtime = await runningQuickly({
    model: scripted(calls("slow"), says("Done.")),
    tools: [stopping(stop)],
  });
  const session = await runtime.session();
  const turn = session.turn("Go.");
  for await (const event of session.observe()) if (event.kind === "toolStarted") break;
  const left = session.observe();
  const waiting = [left.next(), left.next(), left.next(), left.next()];
  await left.return?.();
  expect((await within(Promise.all(waiting))).at(-1)).toMatchObject({ done: true });
  expect(await left.next()).toMatchObject({ done: true });
  stop.go();
  expect((await turn.result()).outcome).toMatchObject({ text: "Done." });
});

test("S11 a signal ends the stream: before it begins, while it waits, and after it has ended nothing listens", async () => {
  await using runtime = await runningQuickly();
  const session = await runtime.session();
  const aborter = new AbortController();
  const waiting = watch(session, { signal: aborter.signal });
  const left = watch(session, { signal: aborter.signal });
  await session.turn("Go.").result();
  await waiting.until(isEnd());
  await left.until(isEnd());
  await left.leave();
  expect(getEventListeners(aborter.signal, "abort")).toHaveLength(1);
  aborter.abort();
  await within(waiting.over);
  expect(await within(session.observe({ signal: aborter.signal }).next())).toMatchObject({ done: true });
  expect(getEventListeners(aborter.signal, "abort")).toHaveLength(0);
});

test("S11 the stream is read by several at once: each event is given out once, in order", async () => {
  await using runtime = await runningQuickly({ model: scripted(says("a", "b", "c")) });
  const session = await runtime.session();
  const stream = session.observe();
  const reading = Array.from({ length: 5 }, () => stream.next());
  await session.turn("Go.").result();
  const events = (await within(Promise.all(reading))).map(({ value }) => inShort(value as SessionEvent));
  expect(events).toEqual(["accepted", "text", "text", "text", "committed turn"]);
});

test.each(KEPT)("S11 when the runtime closes the stream ends, also one that nobody reads, %s", async (_, store) => {
  const runtime = await runningQuickly({ store: store() });
  const session = await runtime.session();
  const [waiting, unread] = [watch(session), session.observe()];
  const tree = watch(session, { tree: true });
  await session.turn("Go.").result();
  await waiting.until(isEnd());
  await runtime.close();
  await within(Promise.all([waiting.over, tree.over]));
  expect(await within(unread.next())).toMatchObject({ done: true });
  expect(await codeOf(() => session.observe())).toBe("runtime.closed");
});

test("S11 a stream outlives the handle that it was opened with", async () => {
  await using runtime = await runningQuickly();
  const first = await runtime.session("s");
  const watcher = watch(first);
  await first.turn("1").result();
  await first.close();
  const second = await runtime.session("s");
  await second.turn("2").result();
  const events = await watcher.until(isEnd(2));
  expect(events.filter(({ kind }) => kind === "text")).toHaveLength(2);
  expect(await drawn(screenOf(events), second)).toEqual(await kept(second));
});

test("S11 two observers of one session do not know of each other", async () => {
  await using runtime = await runningQuickly({ model: scripted(says("a", "b"), says("c")) });
  const session = await runtime.session();
  const [one, two] = [watch(session), watch(session)];
  await session.turn("1").result();
  await one.until(isEnd());
  await one.leave();
  await session.turn("2").result();
  expect((await two.until(isEnd(2))).map(inShort)).toEqual([
    "accepted",
    "text",
    "text",
    "committed turn",
    "accepted",
    "text",
    "committed turn",
  ]);
  expect(isEnd(2)(one.events)).toBe(false);
});

test("S11 a store that fails while it is looked at fails the one who reads, typed, and not the turn", async () => {
  const store = memory();
  const changes = store.changes.bind(store);
  let isBroken = false;
  store.changes = (...given) => {
    if (isBroken) throw new Error("The disk is on fire.");
    return changes(...given);
  };
  await using runtime = await runningQuickly({ store });
  const session = await runtime.session();
  const watcher = watch(session);
  await session.turn("1").result();
  await watcher.until(isEnd());
  isBroken = true;
  expect((await session.turn("2").result()).outcome.kind).toBe("answered");
  await expect(within(watcher.over)).rejects.toThrow("The disk is on fire.");
  isBroken = false;
  const { cursor } = factsIn(watcher.events).at(-1)!;
  expect(factsIn(await watch(session, { after: cursor }).until(isEnd())).map(inShort)).toEqual([
    "accepted",
    "committed turn",
  ]);
});

// ── A whole tree ────────────────────────────────────────────────────────────────────────────────────────────────────

const hands = (id: string, task: string) => calls("delegate", { id, task }, `call_${id}`);

/** A root that has a child, which has a grandchild, which stops in the middle of what it says. */
function family(stop: Stop) {
  const model = follows({
    "#root": [both(says("I ask. "), hands("child", "#child")), says("The root is done.")],
    "#child": [hands("grandchild", "#grandchild"), says("The child is done.")],
    "#grandchild": [
      async function* () {
        yield text("Once upon ");
        yield text("a time ");
        await stop.here();
        yield text("there was.");
        yield end;
      },
    ],
    "#again": [says("Again.")],
  });
  return { model, tools: [delegate] };
}
const isOver =
  (id: string, nth = 1) =>
  (events: readonly SessionEvent[]) =>
    isEnd(nth)(events.filter(({ sessionId }) => sessionId === id));

test.each(KEPT)(
  "S11 one stream follows a whole tree, with all that its sessions keep and show, %s",
  async (_, store) => {
    const stop = new Stop();
    await using runtime = await runningQuickly({ ...family(stop), store: store() });
    const [root, other] = [await runtime.session("root"), await runtime.session("other")];
    const early = watch(root, { tree: true });
    const turn = root.turn("#root");
    await stop.reached;
    await other.turn("#again").result();
    const late = watch(root, { tree: true });
    const hasText = (events: readonly SessionEvent[]) =>
      events.some(
        (event) => event.kind === "text" && event.sessionId === "grandchild" && event.delta.includes("a time"),
      );
    const [first, second] = [await early.until(hasText), await late.until(hasText)];
    const shown = (events: readonly SessionEvent[]) =>
      Object.fromEntries([...screensOf(events)].map(([id, screen]) => [id, screen.showing]));
    expect(shown(first)).toEqual({
      root: ["r1.ask 1.1 text: I ask. ", "r1.call.0 1.1 calls delegate"],
      child: ["r1.call.0 1.1 calls delegate"],
      grandchild: ["r1.ask 1.1 text: Once upon a time "],
    });
    expect(shown(second)).toEqual(shown(first));
    expect(second.some(({ kind }) => kind === "child")).toBe(false);
    stop.go();
    await turn.result();
    for (const watcher of [early, late]) {
      const events = await watcher.until(isOver("root"));
      expect(factsIn(events).map((fact) => `${fact.sessionId} ${inShort(fact)}`)).toEqual([
        "root accepted",
        "child accepted",
        "grandchild accepted",
        "grandchild committed turn",
        "child committed turn",
        "root committed turn",
      ]);
      for (const [id, screen] of screensOf(events)) {
        const session = await runtime.session(id);
        expect(await drawn(screen, session)).toEqual(await kept(session));
        expect(screen.showing).toEqual([]);
      }
    }
  },
);

test.each(KEPT)(
  "S11 a stream of a subtree has that, and of one session its own and what its turn shows of others, %s",
  async (_, store) => {
    const stop = new Stop();
    await using runtime = await runningQuickly({ ...family(stop), store: store() });
    const root = await runtime.session("root");
    const own = watch(root);
    const turn = root.turn("#root");
    await stop.reached;
    const child = await runtime.session("child");
    const below = watch(child, { tree: true });
    const late = watch(root);
    stop.go();
    await turn.result();
    const events = await own.until(isEnd());
    expect(new Set(events.map(({ sessionId }) => sessionId))).toEqual(new Set(["root"]));
    expect(factsIn(events)).toEqual(factsIn(await late.until(isEnd())));
    const nested = events.flatMap((event) => (event.kind === "child" ? [event.event] : []));
    expect(nested.filter((event) => event.kind === "text").map(({ sessionId }) => sessionId)).toContain("child");
    expect(nested.filter((event) => event.kind === "child").length).toBeGreaterThan(0);
    const ids = new Set((await below.until(isOver("child"))).map(({ sessionId }) => sessionId));
    expect(ids).toEqual(new Set(["child", "grandchild"]));
  },
);

test.each(KEPT)(
  "S11 one cursor follows the whole tree: after any fact come exactly those that follow it, %s",
  async (_, store) => {
    const stop = new Stop();
    stop.go();
    await using runtime = await runningQuickly({ ...family(stop), store: store() });
    const root = await runtime.session("root");
    await root.turn("#root").result();
    await (await runtime.session("child")).turn("#again").result();
    await root.turn("#again").result();
    const all = factsIn(await watch(root, { tree: true }).until(isOver("root", 2)));
    expect(all).toHaveLength(10);
    for (const [index, { cursor }] of all.entries()) {
      const rest = all.slice(index + 1);
      const again = watch(root, { tree: true, after: cursor });
      if (rest.length > 0) await again.until((events) => events.length >= rest.length);
      expect(again.events).toEqual(rest);
      await again.leave();
    }
  },
);

test("S11 a cursor of a session outside of the tree is cursor.foreign", async () => {
  const stop = new Stop();
  stop.go();
  await using runtime = await runningQuickly(family(stop));
  const root = await runtime.session("root");
  await root.turn("#root").result();
  const other = await runtime.session("other");
  await other.turn("#again").result();
  const child = await runtime.session("child");
  const { cursor: foreign } = await other.read();
  const { cursor: above } = await root.read();
  const first = (session: Session, after: string | undefined, tree: boolean) => () =>
    within(session.observe({ after, tree }).next());
  expect(await codeOf(first(root, foreign, true))).toBe("cursor.foreign");
  expect(await codeOf(first(child, above, true))).toBe("cursor.foreign");
  expect(await codeOf(first(child, above, false))).toBe("cursor.foreign");
  expect(await codeOf(first(root, "5@nobody", true))).toBe("cursor.foreign");
  expect(await codeOf(first(root, "999@child", true))).toBe("cursor.unknown");
});

test("S11 the cursor of a tree stays good when the session it came from is deleted", async () => {
  const stop = new Stop();
  stop.go();
  await using runtime = await runningQuickly(family(stop));
  const root = await runtime.session("root");
  await root.turn("#root").result();
  const watcher = watch(root, { tree: true });
  await watcher.until(isOver("child"));
  const { cursor } = factsIn(watcher.events).find(({ sessionId }) => sessionId === "grandchild")!;
  await runtime.sessions.delete("grandchild");
  const rest = await watch(root, { tree: true, after: cursor }).until(isOver("root"));
  expect(rest.map((event) => `${event.sessionId} ${inShort(event)}`)).toEqual([
    "child committed turn",
    "root committed turn",
  ]);
});

test("S11 so does one in the middle of a fact", async () => {
  const stop = new Stop();
  stop.go();
  await using runtime = await runningQuickly({ ...family(stop), plugins: [compactor] });
  const root = await runtime.session("root");
  await root.turn("#root").result();
  await (await runtime.session("child")).compact();
  await root.turn("#again").result();
  const all = factsIn(await watch(root, { tree: true }).until(isOver("root", 2)));
  const compacted = all.findIndex((event) => event.kind === "committed" && event.by === "compact");
  const rest = all.slice(compacted + 1);
  expect(rest[0]?.kind).toBe("frame");
  const after = all[compacted]!.cursor;
  expect(factsIn(await watch(root, { tree: true, after }).until(isOver("root")))).toEqual(rest);
  await runtime.sessions.delete("child");
  expect(factsIn(await watch(root, { tree: true, after }).until(isOver("root")))).toEqual(rest.slice(1));
});

test("S11 in a tree too, cursors only rise, also over a gap", async () => {
  const stop = new Stop();
  const model = follows({
    "#1": [says("One.")],
    "#root": [both(calls("ping"), hands("child", "#child")), says("Done.")],
    "#child": [both(calls("ping"), calls("slow")), says("Done.")],
  });
  const tools = [ping, delegate, stopping(stop)];
  await using runtime = await runningQuickly({ model, tools, plugins: [noisy(3_000)] });
  const root = await runtime.session("root");
  await root.turn("#1").result();
  const turn = root.turn("#root");
  await stop.reached;
  const late = watch(root, { tree: true }); // Both have shown too much to be repeated.
  stop.go();
  await turn.result();
  const events = await late.until(isOver("root", 2));
  expect(events.some(({ kind }) => kind === "gap")).toBe(true);
  const numbers = factsIn(events).map(({ cursor }) => numberOf(cursor));
  expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
  for (const [id, screen] of screensOf(events)) expect(screen.showing, id).toEqual([]);
  const gap = events.find(({ kind }) => kind === "gap");
  if (gap?.kind !== "gap") throw new Error("There is no gap.");
  const rest = factsIn(events.slice(events.indexOf(gap) + 1)).filter(({ kind }) => kind !== "gap");
  const again = await watch(root, { tree: true, after: gap.cursor }).until(isOver("root"));
  expect(factsIn(again)).toEqual(rest);
});

test("S11 a session that joins the tree later is in its stream from its first fact on", async () => {
  const stop = new Stop();
  stop.go();
  await using runtime = await runningQuickly(family(stop));
  const root = await runtime.session("root");
  const watcher = watch(root, { tree: true });
  await root.turn("#again").result();
  await root.turn("#root").result();
  const events = await watcher.until(isOver("root", 2));
  expect(events.filter(({ sessionId, kind }) => sessionId === "grandchild" && kind === "text")).toHaveLength(3);
});

test("S11 a fork is not in the tree, except as a plugin's child", async () => {
  const forks = defineTool({
    name: "branch",
    description: "Forks another session.",
    input: z.looseObject({}),
    execute: async (_, { sessions }) => {
      const { id } = await sessions.create({ kind: "fork", from: "other", id: "ours" });
      const { turnId } = await sessions.send(id, "#again");
      await sessions.result(id, turnId);
      return "Done.";
    },
  });
  const model = follows({ "#again": [says("Again.")], "#fork": [calls("branch"), says("Forked.")] });
  await using runtime = await runningQuickly({ model, tools: [forks] });
  const [root, other] = [await runtime.session("root"), await runtime.session("other")];
  const watcher = watch(root, { tree: true });
  await root.turn("#again").result();
  await other.turn("#again").result();
  await (await root.fork({ id: "theirs" })).turn("#again").result();
  await root.turn("#fork").result();
  const events = await watcher.until(isOver("root", 2));
  expect(new Set(events.map(({ sessionId }) => sessionId))).toEqual(new Set(["root", "ours"]));
});

test("S11 a tree is followed over two processes", async () => {
  await using file = new SharedFile();
  const stop = new Stop();
  stop.go();
  const [here, there] = [await file.open(family(stop)), await file.open(family(stop))];
  const watcher = watch(await here.session("root"), { tree: true });
  await (await there.session("root")).turn("#root").result();
  const events = await watcher.until(isOver("root"));
  expect(events.map((event) => `${event.sessionId} ${inShort(event)}`)).toEqual([
    "root accepted",
    "child accepted",
    "grandchild accepted",
    "grandchild committed turn",
    "child committed turn",
    "root committed turn",
  ]);
});

// ── Another process ─────────────────────────────────────────────────────────────────────────────────────────────────

test("S11 facts of another process are received here, and its output is not", async () => {
  await using file = new SharedFile();
  const [here, there] = [await file.open({ plugins: [counter] }), await file.open({ plugins: [counter] })];
  const [mine, theirs] = [await here.session("s"), await there.session("s")];
  const watcher = watch(mine);
  await theirs.turn("1").result();
  await theirs.command(counter, "set", 3);
  await watcher.until((events) => events.some((event) => event.kind === "committed" && event.by === "command"));
  expect(watcher.events.map(inShort)).toEqual(["accepted", "committed turn", "committed command"]);
  await mine.turn("2").result();
  const events = await watcher.until(isEnd(2));
  expect(events.slice(3).map(inShort)).toEqual(["accepted", "text", "committed turn"]);
  expect(await drawn(screenOf(events), mine)).toEqual(await kept(mine));
  expect(await drawn(screenOf(events), theirs)).toEqual(await kept(theirs));
});

test("S11 a cursor from one process is good in another, and after a restart", async () => {
  await using file = new SharedFile();
  const first = await file.open();
  const session = await first.session("s");
  await session.turn("1").result();
  const { cursor } = await session.read();
  await session.turn("2").result();
  await first.close();
  const second = await file.open();
  const again = await second.session("s");
  const events = await watch(again, { after: cursor }).until(isEnd());
  expect(events.map(inShort)).toEqual(["accepted", "committed turn"]);
});

test("S11 a view has all facts up to its cursor, also while an operation holds the session here and a turn ends elsewhere", async () => {
  await using file = new SharedFile();
  const [here, there] = [await file.open({ plugins: [counter] }), await file.open({ plugins: [counter] })];
  const [mine, theirs] = [await here.session("s"), await there.session("s")];
  const stop = new Stop();
  const waiting = mine.task(counter, "wait", stop);
  await stop.reached;
  await theirs.turn("1").result();
  const view = await mine.read();
  const watcher = watch(mine, { after: view.cursor });
  stop.go();
  await waiting;
  const events = await watcher.caughtUp(mine);
  expect(await drawn(screenOf(events, view), mine)).toEqual(await kept(mine));
  const ends = events.filter((event) => event.kind === "committed" && event.by === "turn");
  expect(view.turns + ends.length).toBe(1);
});

test("S11 D2 a turn that another process left is shown from where it resumes here, and reported once", async () => {
  await using file = new SharedFile();
  const stop = new Stop();
  const replies = { "#go": [both(says("I look. "), calls("slow")), says("It ", "is ", "there.")] };
  const here = await file.open({ model: follows(replies), tools: [stopping(stop)] });
  const first = await here.session("s");
  const early = watch(first);
  const left = first.turn("#go");
  left.result().catch(() => {});
  await stop.reached;
  await early.until((events) => events.some(({ kind }) => kind === "toolStarted"));
  const there = await file.open({
    model: follows(replies),
    tools: [defineTool({ name: "slow", description: "Quick.", input: z.looseObject({}), execute: () => "Done." })],
  });
  await here.close(); // It does not wait for the tool, and leaves the turn.
  await within(early.over);
  const session = await there.session("s");
  const { cursor } = factsIn(early.events).at(-1)!;
  const late = watch(session, { after: cursor });
  await there.recover();
  const rest = await late.until(isEnd());
  expect(factsIn(rest).map(inShort)).toEqual(["committed turn"]);
  const screen = screenOf([...early.events, ...rest.slice(0, -1)]);
  const words = screen.showing.filter((line) => line.includes("text: ")).map((line) => line.split("text: ")[1]);
  expect(words).toEqual(["I look. ", "It is there."]); // Nothing twice, though two processes showed it.
  const generations = new Set(rest.flatMap((event) => (event.fact ? [] : [event.key.generation])));
  expect([...generations]).toEqual([2]);
  expect(screenOf([...early.events, ...rest]).showing).toEqual([]);
  expect(await drawn(screenOf([...early.events, ...rest]), session)).toEqual(await kept(session));
  stop.go();
});

test("S11 a turn that two processes follow is reported once in each", async () => {
  await using file = new SharedFile();
  const [here, there] = [await file.open(), await file.open()];
  const [mine, theirs] = [await here.session("s"), await there.session("s")];
  const watchers = [watch(mine), watch(theirs)];
  await Promise.all([1, 2, 3].flatMap((n) => [mine.turn(`m${n}`).result(), theirs.turn(`t${n}`).result()]));
  const [one, two] = await Promise.all(watchers.map((watcher) => watcher.until(isEnd(6))));
  expect(factsIn(one!)).toEqual(factsIn(two!));
  expect(await drawn(screenOf(one!), mine)).toEqual(await kept(theirs));
}, 20_000);

// ── Any story, any time to join ─────────────────────────────────────────────────────────────────────────────────────

type Join = "all" | "tree" | "after a view" | "after a fact";
type Step = "say" | "think" | "compare" | "steer" | { readonly join: Join } | { readonly leave: number };
interface ScriptedTurn {
  readonly steps: readonly Step[];
  readonly isRetried: boolean;
  readonly calls: readonly ("ping" | "delegate")[];
}
type Op =
  | { readonly op: "turns"; readonly turns: readonly (readonly ScriptedTurn[])[] }
  | { readonly op: "command" | "note" | "append" | "compact" | "label" | "fork" | "delete fork" | "close handle" }
  | { readonly op: "step"; readonly step: Step };

const join = fc.constantFrom<Join>("all", "tree", "after a view", "after a fact").map((how): Step => ({ join: how }));
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<Step>("say", "think", "compare", "steer") },
  { weight: 2, arbitrary: join },
  { weight: 1, arbitrary: fc.nat(5).map((leave): Step => ({ leave })) },
);
const told = fc.record({
  steps: fc.array(step, { maxLength: 5 }),
  isRetried: fc.boolean(),
  calls: fc.array(fc.constantFrom("ping" as const, "delegate" as const), { maxLength: 2 }),
});
const op: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .array(fc.array(told, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 2 })
      .map((turns): Op => ({ op: "turns", turns })),
  },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom("command", "note", "append", "compact", "label", "fork", "delete fork", "close handle")
      .map((each): Op => ({ op: each }) as Op),
  },
  { weight: 1, arbitrary: step.map((each): Op => ({ op: "step", step: each })) },
);

type Plays = Map<string, readonly (() => AsyncIterable<ModelPart>)[]>;

/** One run of a story, and those who watch it. */
class Telling {
  readonly #runtime: Runtime;
  readonly #scripts: Plays;
  readonly #watchers: {
    readonly watcher: Watcher;
    readonly how: Join;
    readonly view?: SessionView;
    hasLeft: boolean;
  }[] = [];
  #session: Session;
  /** What is shown may be lost on the way. */
  readonly #isLagging: boolean;
  #forks: Session[] = [];
  #count = 0;

  constructor(runtime: Runtime, session: Session, scripts: Plays, isLagging: boolean) {
    this.#isLagging = isLagging;
    this.#runtime = runtime;
    this.#session = session;
    this.#scripts = scripts;
  }

  async join(how: Join): Promise<void> {
    if (how === "after a view") {
      const view = await this.#session.read();
      this.#watchers.push({ watcher: watch(this.#session, { after: view.cursor }), how, view, hasLeft: false });
    } else if (how === "after a fact") {
      const known = factsIn(this.#watchers[0]?.watcher.events ?? []).filter(({ kind }) => kind !== "gap");
      const { cursor } = known[this.#count % Math.max(known.length, 1)] ?? {};
      this.#watchers.push({ watcher: watch(this.#session, { after: cursor }), how, hasLeft: false });
    } else {
      const watcher = watch(this.#session, { tree: how === "tree" });
      this.#watchers.push({ watcher, how, hasLeft: false });
    }
  }

  /** In the middle of what a model says. */
  async *say(steps: readonly Step[]): AsyncGenerator<ModelPart> {
    for (const each of steps) {
      if (each === "say") yield text(`${++this.#count} `);
      else if (each === "think") yield { kind: "reasoning", delta: `${++this.#count} ` };
      else if (each === "compare") {
        const mark = `<${++this.#count}>`;
        yield { kind: "reasoning", delta: mark };
        if (!this.#isLagging) await this.#compare(mark);
      } else await this.act(each);
    }
  }

  async act(each: Step): Promise<void> {
    if (each === "steer") await this.#session.send(`And ${++this.#count}.`);
    else if (typeof each === "object" && "join" in each) await this.join(each.join);
    else if (typeof each === "object") {
      const found = this.#watchers[each.leave];
      if (found === undefined || each.leave === 0) return; // The first one stays, to compare with.
      found.hasLeft = true;
      await found.watcher.leave();
    }
  }

  get #present() {
    return this.#watchers.filter(({ hasLeft }) => !hasLeft);
  }

  /** All who see this see the same. */
  async #compare(mark: string): Promise<void> {
    const has = (event: SessionEvent): boolean =>
      event.kind === "child" ? has(event.event) : event.kind === "reasoning" && event.delta.includes(mark);
    const screens = await Promise.all(
      this.#present.map(async ({ watcher, how }) => {
        const events = await watcher.until((all) => all.some(has));
        const showing =
          how === "tree"
            ? [...screensOf(events)].flatMap(([id, screen]) => screen.showing.map((line) => `${id}: ${line}`)).sort()
            : screenOf(events).showing;
        return { isTree: how === "tree", showing };
      }),
    );
    for (const isTree of [true, false]) {
      const alike = screens.filter((screen) => screen.isTree === isTree);
      for (const { showing } of alike) expect(showing).toEqual(alike[0]?.showing);
    }
  }

  async run(each: Op): Promise<void> {
    const session = this.#session;
    const words = `${++this.#count}`;
    switch (each.op) {
      case "turns":
        await Promise.all(each.turns.map((replies) => session.turn(this.#script(replies)).result()));
        break;
      case "command":
        await session.command(counter, "set", this.#count);
        break;
      case "note":
        await session.command(counter, "note", words);
        break;
      case "append":
        await session.append([{ kind: "message", role: "user", text: words }]);
        break;
      case "compact":
        await session.compact();
        break;
      case "label":
        await session.configure({ label: words });
        break;
      case "fork": {
        const fork = await session.fork();
        this.#forks.push(fork);
        await fork.turn(this.#script([{ steps: ["say"], isRetried: false, calls: [] }])).result();
        break;
      }
      case "delete fork": {
        const fork = this.#forks.pop();
        if (fork !== undefined) await this.#runtime.sessions.delete(fork.id);
        break;
      }
      case "close handle":
        await session.close();
        this.#session = await this.#runtime.session(session.id);
        break;
      case "step":
        if (each.step !== "say" && each.step !== "think" && each.step !== "compare") await this.act(each.step);
        break;
    }
  }

  /** The input of a turn whose replies are these; an answer ends it. */
  #script(replies: readonly ScriptedTurn[]): string {
    const input = `#${++this.#count}`;
    const plays = replies.map(({ steps, isRetried, calls: names }, index) => {
      let attempts = 0;
      const tells = (given: readonly Step[]) => this.say(given);
      const wanted = index === replies.length - 1 ? [] : names.length === 0 ? (["ping"] as const) : names;
      const parts = wanted.map((name, nth): ModelPart => {
        const id = `${input}.${index}.${nth}`;
        if (name === "ping") return call("ping", {}, id);
        return call(
          "delegate",
          { id: `child ${id}`, task: this.#script([{ steps, isRetried: false, calls: [] }]) },
          id,
        );
      });
      return async function* (): AsyncGenerator<ModelPart> {
        yield* tells(attempts === 0 || !isRetried ? steps : ["say"]);
        if (isRetried && ++attempts === 1) throw new ProviderFailure({ class: "overloaded", message: "Busy." });
        if (parts.length === 0) yield text("Done.");
        yield* parts;
        yield { kind: "finish", reason: parts.length === 0 ? "stop" : "calls", usage: NO_USAGE };
      };
    });
    this.#scripts.set(input, plays);
    return input;
  }

  /** Whoever is there, and came whenever: all know the same in the end. */
  async end(): Promise<void> {
    const session = this.#session;
    // What was said to a turn that had no boundary left has its own now.
    for (const { turnId } of await session.inputs.list()) await session.follow(turnId!).result();
    await session.configure({ label: "The end." });
    const last = factsIn(await watch(session).caughtUp(session));
    const state = await kept(session);
    for (const { watcher, how, view } of this.#present) {
      await watcher.caughtUp(session);
      const events = watcher.events.filter(({ sessionId }) => sessionId === session.id);
      const whole =
        how === "after a fact" ? [...last.filter(({ cursor }) => !isAfter(events, cursor)), ...events] : events;
      const screen = screenOf(whole, view);
      expect(await drawn(screen, session), how).toEqual(state);
      expect(screen.showing, how).toEqual([]);
      for (const [id, other] of screensOf(watcher.events)) expect(other.showing, `${how}: ${id}`).toEqual([]);
      const known = factsIn(events).filter(({ kind, cursor }) => kind !== "gap" && isAfter(last, cursor));
      const from = last.findIndex(({ cursor }) => cursor === known[0]?.cursor);
      expect(known, how).toEqual(from < 0 ? [] : last.slice(from));
      if (how === "all" || how === "tree") expect(known, how).toEqual(last);
      const numbers = factsIn(watcher.events).map(({ cursor }) => numberOf(cursor));
      expect(numbers, how).toEqual(numbers.toSorted((one, other) => one - other));
    }
  }
}

const isAfter = (events: readonly SessionEvent[], cursor: string): boolean =>
  events.some((event) => event.fact && event.cursor === cursor);

async function tell(ops: readonly Op[], store: Store, unreadEventsMax = 10_000): Promise<void> {
  const scripts: Plays = new Map();
  const plugins = [counter, compactor];
  const limits = { unreadEventsMax };
  await using runtime = await runningQuickly({
    store,
    model: follows(scripts),
    tools: [ping, delegate],
    plugins,
    limits,
  });
  const telling = new Telling(runtime, await runtime.session("s"), scripts, unreadEventsMax < 100);
  await telling.join("all");
  await telling.join("tree");
  for (const each of ops) await telling.run(each);
  await telling.end();
}

test.each(KEPT)(
  "S11 S12 whatever happens and whenever one joins, all who watch come to the same, %s",
  async (name, store) => {
    const numRuns = name === "in SQLite" ? sample(5, 40) : sample(15, 120);
    await fc.assert(
      fc.asyncProperty(fc.array(op, { maxLength: 8 }), (ops) => tell(ops, store())),
      { numRuns },
    );
  },
  60_000,
);

test.each([1, 2, 5, 9])(
  "S11 so do those who lag, over gaps (unreadEventsMax %i)",
  async (max) => {
    await fc.assert(
      fc.asyncProperty(fc.array(op, { maxLength: 8 }), (ops) => tell(ops, memory(), max)),
      { numRuns: sample(8, 50) },
    );
  },
  60_000,
);
