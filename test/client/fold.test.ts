import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { runInNewContext } from "node:vm";
import type { Session, SessionEvent, SessionView, Store } from "bowline";
import { type ClientView, fold, foldTree, rejoined } from "bowline/client";
import { sqlite } from "bowline/stores/sqlite";
import { calls, says, scripted } from "bowline/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { call, end, plays, text } from "../kit/models.ts";
import { only } from "../kit/reading.ts";
import { file, KEPT, lives } from "../kit/stores.ts";
import { runningQuickly, SharedFile, Stop, stopping } from "../kit/worlds.ts";
import { isEnd, numberOf, type Watcher, watch } from "../sessions/watching.ts";
import { answer, approve, viewOf, world } from "./world.ts";

const treeOf = (events: readonly SessionEvent[]) =>
  events.reduce<{ readonly [sessionId: string]: ClientView }>(foldTree, {});

const json = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const each of Object.values(value)) frozen(each);
  return Object.freeze(value);
}

/** Two turns with broken attempts, approvals and a child that asks too. Ends when both are kept. */
async function play(store: Store, moment: (session: Session) => Promise<unknown> = async () => {}) {
  const opened = Promise.withResolvers<Session>();
  const runtime = await runningQuickly({ ...world(async () => moment(await opened.promise)), store });
  const session = await runtime.session("s");
  opened.resolve(session);
  const first = watch(session);
  void approve(runtime, session.observe({ tree: true }));
  const turn = session.turn("Go");
  await turn.id;
  await session.send("More", { at: "next-turn" });
  await first.until(isEnd(2));
  await session.append([{ kind: "message", role: "user", text: "By the way." }]);
  return { session, first, [Symbol.asyncDispose]: () => runtime.close() };
}

const hasAll =
  ({ cursor }: SessionView) =>
  (events: readonly SessionEvent[]): boolean =>
    events.some((event) => event.fact && numberOf(event.cursor) >= numberOf(cursor ?? ""));

const waitsIn = (view: ClientView | undefined) =>
  view?.turns.flatMap((turn) => (turn.kind === "running" ? turn.waits : [])) ?? [];

/** What turns waited for after a fact: asked, not answered, and not over. */
function openAt(events: readonly SessionEvent[], cursor: string): readonly string[] {
  const open = new Map<string, string>();
  for (const event of events) {
    if (!event.fact || numberOf(event.cursor) > numberOf(cursor)) continue;
    if (event.kind === "waiting") open.set(event.wait, event.turnId ?? "");
    if (event.kind === "resolved") open.delete(event.wait);
    if (event.kind === "committed" && event.by === "turn")
      for (const [wait, turnId] of open) if (turnId === event.turnId) open.delete(wait);
  }
  return [...open.keys()];
}

// ── Whoever joins, and whenever ─────────────────────────────────────────────────────────────────────────────────────

test.each(KEPT)("S11 every reader ends with the same view, at whatever moment it joins, %s", async (_, make) => {
  const joins = fc.uniqueArray(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(joins, async (at) => {
      let moments = 0;
      const late: Watcher[] = [];
      const trees: Watcher[] = [];
      const readers: { readonly from: ClientView; readonly watcher: Watcher }[] = [];
      await using played = await play(make(), async (session) => {
        if (!at.includes(moments++)) return;
        late.push(watch(session));
        trees.push(watch(session, { tree: true }));
        const read = await session.read();
        expect(JSON.stringify(read.waits)).not.toContain("secret");
        readers.push({ from: fold(undefined, read), watcher: watch(session, { after: read.cursor }) });
      });
      const { session, first } = played;
      const last = watch(session, { tree: true });
      const final = await session.read();
      const isAll = hasAll(final);
      const whole = viewOf(await first.until(isAll));
      expect(whole).toMatchObject({ isBehind: true, inputs: [], turns: [{ kind: "ended" }, { kind: "ended" }] });
      for (const each of late) expect(viewOf(await each.until(isAll))).toEqual(whole);
      const read = fold(whole!, final);
      expect(read).toMatchObject({ isBehind: false, inputs: [], turns: [], read: final });
      for (const { from, watcher } of readers)
        expect(fold(viewOf(await watcher.until(isAll), from), final)).toEqual(read);
      const views = treeOf(await last.until(isAll));
      expect(Object.keys(views).sort()).toEqual(["below", "s"]);
      for (const each of trees) expect(treeOf(await each.until(isAll))).toEqual(views);
    }),
    { numRuns: 8 },
  );
});

test("S11 in the middle of a turn the view has what was said, called, printed and asked, whenever one joined", async () => {
  const stop = new Stop();
  const here = world(async (where) => (where === "work 2" ? stop.here() : undefined)); // In its second attempt.
  await using runtime = await runningQuickly(here);
  const session = await runtime.session("s");
  const first = watch(session);
  const turn = session.turn("Go");
  await stop.reached;
  const isThere = (events: readonly SessionEvent[]): boolean =>
    events.some((event) => event.kind === "toolOutput" && event.key.attempt === 2) &&
    events.some(({ kind }) => kind === "waiting");
  const view = viewOf(await first.until(isThere));
  expect(view?.inputs).toMatchObject([{ turnId: await turn.id }]);
  expect(view?.turns).toEqual([
    {
      kind: "running",
      id: await turn.id,
      generation: 1,
      parts: [
        { kind: "reasoning", effect: "r1.ask", attempt: 2, text: "Hm. " },
        { kind: "text", effect: "r1.ask", attempt: 2, text: "Let me see." },
        expect.objectContaining({ effect: "r1.call.0", name: "work", state: "running", printed: "attempt 2\n" }),
        expect.objectContaining({ effect: "r1.call.1", name: "pay", input: { euros: 9 }, state: "running" }),
      ],
      waits: [
        {
          id: expect.stringMatching(/^wai_/),
          turnId: await turn.id,
          wants: "approval",
          effect: "r1.call.1.w",
          callId: "call_pay_3",
          call: { id: "call_pay_3", name: "pay", input: { euros: 9 } },
          reason: "It moves money.",
          until: expect.any(Number),
        },
      ],
      children: {},
    },
  ]);
  const late = watch(session);
  expect(viewOf(await late.until(isThere))).toEqual(view);
  const read = await session.read();
  const reader = watch(session, { after: read.cursor });
  const isShown = (events: readonly SessionEvent[]): boolean => events.some(({ kind }) => kind === "toolProgress");
  expect(viewOf(await reader.until(isShown), fold(undefined, read))).toEqual(fold(view, read));
  void approve(runtime, session.observe({ tree: true }));
  stop.go();
  const isChild = (events: readonly SessionEvent[]): boolean =>
    events.some((event) => event.kind === "child" && event.event.kind === "committed");
  const shown = (events: readonly SessionEvent[]) =>
    events.slice(
      0,
      events.findIndex(({ kind }) => kind === "committed"),
    );
  const [early, later] = [await first.until(isEnd()), await late.until(isEnd())];
  expect(isChild(early)).toBe(true);
  const whole = viewOf(shown(early));
  expect(viewOf(shown(later))).toEqual(whole);
  expect(whole?.turns[0]).toMatchObject({
    waits: [],
    parts: [
      { text: "Hm. " },
      { text: "Let me see." },
      { name: "work", state: "ended", status: "ok", printed: "attempt 2\nhalf\n", progress: { done: 2, of: 2 } },
      { name: "pay", state: "ended", status: "ok", output: { kind: "value", value: "paid" } },
      { name: "delegate", state: "ended" },
      { name: "ping", state: "ended" },
      { text: "All done." },
    ],
    children: { below: { turns: [{ kind: "ended", outcome: { text: "Here." } }] } },
  });
});

test("S11 D1 a turn that another process resumes is shown once, whether the client disconnected or not", async () => {
  const stop = new Stop();
  const here = world(async (where) => (where === "work 2" ? stop.here() : undefined));
  const { next, kill } = lives(sqlite(file(), { durability: "process" }));
  const one = await runningQuickly({ ...here, store: next() });
  const before = await one.session("s");
  const first = watch(before);
  void before.turn("Go").id;
  await stop.reached;
  const events = [...(await first.until((told) => told.some(({ kind }) => kind === "waiting")))];
  const left = viewOf(events)!;
  kill();

  const two = await runningQuickly({ ...here, store: next() });
  const after = await two.session("s");
  const stay = watch(after, { after: left.cursor });
  const fresh = watch(after);
  // Then the turn only waits, and shows nothing more.
  const isQuiet = (told: readonly SessionEvent[]): boolean => told.some(({ kind }) => kind === "toolReturned");
  const shown = viewOf(await fresh.until(isQuiet));
  expect(only(fresh.events, "waiting")).toHaveLength(1);
  expect(only(await stay.until(isQuiet), "waiting")).toEqual([]); // It was told before, and once is enough.
  expect(viewOf(stay.events, left)).toEqual(shown);
  expect(viewOf(stay.events, rejoined(left))).toEqual(shown);
  expect(shown?.turns).toMatchObject([{ generation: 2, waits: [{ reason: "It moves money." }] }]);
  void approve(two, after.observe({ tree: true }));
  const ended = viewOf(await fresh.until(isEnd()));
  expect(viewOf(await stay.until(isEnd()), left)).toEqual(ended);
  expect(viewOf(stay.events, rejoined(left))).toEqual(ended);
  await two.close();
});

test("S11 D4 what a parked turn has called and waits for is shown, however one has joined", async () => {
  await using processes = new SharedFile();
  const { tools, plugins } = world(async () => {});
  const one = await processes.open({ tools, plugins, model: scripted(calls("pay", { euros: 9 })) });
  const begun = await one.session("s");
  const first = watch(begun);
  const { id: turnId } = begun.turn("Go");
  const isAsked = (events: readonly SessionEvent[]): boolean => events.some(({ kind }) => kind === "waiting");
  const left = viewOf(await first.until(isAsked))!;
  await one.close();

  const two = await processes.open({ tools, plugins, model: scripted(says("Paid.")) });
  const session = await two.session("s");
  const read = await session.read();
  const fresh = watch(session);
  const stay = watch(session, { after: left.cursor });
  const reader = watch(session, { after: read.cursor });
  const [wait] = waitsIn(left);
  const silent = { kind: "running", id: await turnId, generation: 0, parts: [], waits: [wait], children: {} };
  const isShown = (events: readonly SessionEvent[]): boolean =>
    isAsked(events) && only(events, "toolStarted").length > 0;
  const started = { kind: "call", effect: "r1.call.0", name: "pay", input: { euros: 9 }, state: "running" };
  expect(viewOf(await fresh.until(isShown))?.turns).toMatchObject([{ ...silent, generation: 1, parts: [started] }]);
  expect(rejoined(left).turns).toEqual([silent]);
  expect(fold(undefined, read).turns).toEqual([silent]);
  expect(fold(rejoined(left), read)).toEqual(fold(undefined, read));
  await answer(two, wait!.id, { approved: true });
  const ended = viewOf(await fresh.until(isEnd()))!;
  expect(ended.turns).toMatchObject([{ kind: "ended", outcome: { text: "Paid." } }]);
  expect(viewOf(await stay.until(isEnd()), rejoined(left))).toEqual(ended);
  const final = await session.read();
  expect(fold(viewOf(await reader.until(isEnd()), fold(undefined, read)), final)).toEqual(fold(ended, final));
  for (const { events } of [fresh, stay, reader]) expect(only(events, "resolved")).toHaveLength(1);
  expect(viewOf(only(stay.events, "resolved"), rejoined(left))?.turns).toEqual([]); // Nothing of it is left to show.
});

test("S11 D4 in its parent's turn a child shows as waiting until its answer arrives, also if that is late", async () => {
  await using played = await play(KEPT[0]![1]());
  const events = await played.first.until(isEnd());
  const child = events.flatMap((event) => (event.kind === "child" ? [event.event] : []));
  const asked = child.findIndex(({ kind }) => kind === "waiting");
  const answered = child.find(({ kind }) => kind === "resolved")!;
  const isShown = viewOf(child.slice(0, asked + 1))!;
  expect(waitsIn(isShown)).toMatchObject([{ call: { name: "pay", input: { euros: 1 } } }]);
  const later = {
    fact: true,
    sessionId: "below",
    cursor: "1000@below",
    kind: "accepted",
    inputId: "i",
  } as SessionEvent;
  expect(waitsIn(viewOf([later, answered], isShown))).toEqual([]);
  expect(waitsIn(viewOf([later, answered, child[asked]!], isShown))).toEqual([]); // Told again, it does not wait again.
});

test("S11 previews that a slow reader lost leave the same view at the end", async () => {
  const stop = new Stop();
  const musing = plays(
    async function* () {
      for (let thought = 0; thought < 10; thought++)
        yield* [{ kind: "reasoning", delta: "Hm. " } as const, text("So. ")];
      yield call("slow");
      yield end;
    },
    async function* () {
      yield* [text("Done."), end];
    },
  );
  await using runtime = await runningQuickly({
    model: musing,
    tools: [stopping(stop)],
    limits: { unreadEventsMax: 4 },
  });
  const session = await runtime.session("s");
  const slow = session.observe();
  const turn = session.turn("Go");
  await turn.id;
  let view: ClientView | undefined;
  const next = async (): Promise<SessionEvent> => {
    const { value } = await slow.next();
    view = fold(view, value);
    return value;
  };
  while ((await next()).kind !== "reasoning"); // From now on it reads nothing until there is too much.
  await stop.reached;
  while ((await next()).kind !== "gap");
  expect(view).toMatchObject({ inputs: [{ message: { parts: [{ text: "Go" }] } }], turns: [] });
  stop.go();
  await turn.result();
  while (!isEnd()([await next()]));
  const fresh = viewOf(await watch(session).until(isEnd()));
  const final = await session.read();
  expect(fold(view!, final)).toEqual(fold(fresh!, final));
});

// ── Folding ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The same events, with deltas cut at random. */
const cuts = (events: readonly SessionEvent[], seed: readonly number[]): readonly SessionEvent[] =>
  events.flatMap((event, index): readonly SessionEvent[] => {
    if (event.kind !== "text" && event.kind !== "reasoning" && event.kind !== "toolOutput") return [event];
    const at = (seed[index % seed.length] ?? 0) % (event.delta.length + 1);
    return [event.delta.slice(0, at), event.delta.slice(at)]
      .filter((delta) => delta !== "")
      .map((delta) => ({ ...event, delta }));
  });

test("S11 folding changes nothing that it is given, over JSON and however deltas are cut", async () => {
  await using played = await play(KEPT[0]![1]());
  const { events } = played.first;
  const views: (ClientView | undefined)[] = [undefined];
  for (const event of events) views.push(frozen(fold(views.at(-1), frozen(event))));
  fc.assert(
    fc.property(fc.array(fc.nat(50), { minLength: 1 }), fc.nat(events.length), (seed, upTo) => {
      const again = viewOf(cuts(events.slice(0, upTo), seed).map(json));
      expect(again).toEqual(views[upTo]);
      expect(again === undefined ? again : json(again)).toEqual(again);
    }),
  );
});

test("S11 reads may come late and in any order: nothing is shown twice, and the last one settles all", async () => {
  const reads: SessionView[] = [];
  await using played = await play(KEPT[0]![1](), async (session) => reads.push(await session.read()));
  const { session, first } = played;
  const final = await session.read();
  const events = await first.until(hasAll(final));
  const settled = fold(viewOf(events)!, final);
  const places = fc.array(fc.tuple(fc.nat(events.length), fc.nat(reads.length - 1)), { maxLength: 6 });
  fc.assert(
    fc.property(places, (at) => {
      let view: ClientView | undefined;
      for (const [index, event] of events.entries()) {
        const before = numberOf(view?.read?.cursor ?? "0");
        for (const [place, read] of at) if (place === index) view = fold(view, reads[read]!);
        view = fold(view, event);
        expect(numberOf(view.read?.cursor ?? "0")).toBeGreaterThanOrEqual(before);
        const said = new Set(view.read?.messages.map(({ id }) => id));
        for (const turn of view.turns)
          if (turn.kind === "ended" && turn.outcome.kind === "answered")
            expect(said).not.toContain(turn.outcome.message.id);
        const ended = view.turns.flatMap((turn) => (turn.kind === "ended" ? [turn.id] : []));
        for (const { turnId } of view.inputs) expect(ended).not.toContain(turnId);
        expect(new Set(view.inputs.map(({ id }) => id)).size).toBe(view.inputs.length);
        expect(waitsIn(view).map(({ id }) => id)).toEqual(openAt(events, view.cursor ?? "0"));
      }
      expect(fold(view, final)).toEqual(settled);
    }),
  );
});

test("S11 an input shows as waiting until its turn has ended, or until a read does not contain it", async () => {
  const stop = new Stop();
  await using runtime = await runningQuickly({
    model: scripted(calls("slow"), says("Both."), says("Next.")),
    tools: [stopping(stop)],
  });
  const session = await runtime.session("s");
  const watcher = watch(session);
  const turn = session.turn("Go.");
  await stop.reached;
  await session.send("Steer.");
  await session.send("Next.", { at: "next-turn" });
  await session.send("Never.", { at: "next-turn", key: "never" });
  await session.inputs.cancel({ key: "never" });
  const accepted = (events: readonly SessionEvent[]): boolean =>
    events.filter(({ kind }) => kind === "accepted").length === 4;
  const view = viewOf(await watcher.until(accepted))!;
  expect(view.inputs.map(({ message }) => message)).toEqual([undefined, undefined, undefined, undefined]);
  const known = fold(view, await session.read()).inputs.map(({ message }) => message?.parts[0]);
  expect(known).toMatchObject([{ text: "Go." }, { text: "Steer." }, { text: "Next." }]);
  stop.go();
  await turn.result();
  const ended = viewOf(await watcher.until(isEnd(2)))!;
  expect(ended.inputs).toHaveLength(2); // The fact of the turn does not name the input that it took at a boundary.
  expect(fold(ended, await session.read()).inputs).toEqual([]);
});

test("S12 what an attempt showed is gone when it is taken back, and at the latest when the next one speaks", async () => {
  const stop = new Stop();
  const here = world(async (where) => (where === "Go 0 1" ? stop.here() : undefined)); // Before the second attempt speaks.
  await using runtime = await runningQuickly(here);
  const session = await runtime.session("s");
  const watcher = watch(session);
  void approve(runtime, session.observe({ tree: true }));
  void session.turn("Go");
  await stop.reached;
  const isTakenBack = (events: readonly SessionEvent[]): boolean => events.some(({ kind }) => kind === "retracted");
  const events = [...(await watcher.until(isTakenBack))];
  expect(
    viewOf(
      events.slice(
        0,
        events.findIndex(({ kind }) => kind === "retracted"),
      ),
    )?.turns,
  ).toMatchObject([{ parts: [{ text: "I will not" }] }]);
  expect(viewOf(events)?.turns).toMatchObject([{ parts: [] }]);
  stop.go();
  const all = await watcher.until(isEnd());
  const shown = all.slice(
    0,
    all.findIndex(({ kind }) => kind === "committed"),
  );
  expect(viewOf(shown.filter(({ kind }) => kind !== "retracted"))).toEqual(viewOf(shown));
  expect(viewOf(shown, viewOf(all))).toEqual(viewOf(all)); // What is told again is passed over.
});

test("S11 a model that is asked again is shown so until it answers", async () => {
  const stop = new Stop();
  const model = plays(async function* () {
    await stop.here();
    yield text("Here.");
    yield end;
  });
  await using runtime = await runningQuickly({ model });
  const session = await runtime.session("s");
  const watcher = watch(session);
  const turn = session.turn("Go");
  const [turnId] = [await turn.id, await stop.reached];
  const key = { effect: "r1.ask", generation: 1, attempt: 1 };
  const about = { fact: false, sessionId: "s", turnId, key, kind: "retrying" };
  const retrying = { ...about, class: "overloaded", attempt: 1, waitMs: 500 } as SessionEvent;
  const view = fold(undefined, retrying);
  expect(view.turns).toMatchObject([{ retrying: { class: "overloaded", attempt: 1, waitMs: 500 } }]);
  stop.go();
  const said = (await watcher.until(isEnd())).filter(({ kind }) => kind === "text");
  expect(viewOf(said, view)?.turns[0]).not.toHaveProperty("retrying");
});

test("S11 an event of another session is refused; a tree has a view for each", async () => {
  await using played = await play(KEPT[0]![1]());
  const events = await watch(played.session, { tree: true }).until(isEnd(3));
  expect(() => viewOf(events)).toThrow(/event of below.*foldTree/);
  const views = treeOf(events);
  expect(views.below?.turns).toMatchObject([{ kind: "ended", outcome: { text: "Here." } }]);
  expect(views.s?.turns).toHaveLength(2);
});

test("S11 the client needs nothing but the language", () => {
  const code = stripTypeScriptTypes(readFileSync("src/client/fold.ts", "utf8")).replaceAll("export ", "");
  const event = { fact: true, sessionId: "s", cursor: "1@s", kind: "accepted", turnId: "t", inputId: "i" };
  const view = runInNewContext(`${code}; JSON.stringify(fold(undefined, ${JSON.stringify(event)}))`);
  expect(JSON.parse(view)).toMatchObject({ inputs: [{ id: "i", turnId: "t" }], isBehind: true });
});
