import { definePlugin, defineTool, defineToolProvider, type Session, type SessionEvent } from "bowline";
import { ask, type NewSessionRequest } from "bowline/plugin";
import { sqlite } from "bowline/stores/sqlite";
import { both, calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { end, follows, text } from "../kit/models.ts";
import { codeOf, seen, unheard, within, wordsOf } from "../kit/reading.ts";
import { KEPT } from "../kit/stores.ts";
import { keyTo, runningQuickly, SharedFile, Stop, stopping } from "../kit/worlds.ts";
import { compacting, counter, delegate } from "./plugins.ts";
import { drawn, factsIn, inShort, isEnd, kept, screenOf, watch } from "./watching.ts";

const GONE = /^session\.(unknown|deleted)$/;

const maker = definePlugin({
  id: "test/maker",
  setup: ({ command }) => ({
    operations: {
      make: command({
        input: z.custom<NewSessionRequest>(),
        run: async ({ input, sessions }) => (await sessions.create(input)).id,
      }),
    },
  }),
});

// ── Final ───────────────────────────────────────────────────────────────────────────────────────────────────────────

test.each(KEPT)("S2 a deleted session is nowhere any more, and its id is used up, %s", async (_, store) => {
  await using runtime = await runningQuickly({ store: store(), plugins: [counter, maker] });
  const session = await runtime.session("s");
  await session.turn("1").result();
  const { head = "" } = await session.read();
  const other = await runtime.session("other");
  await other.turn("1").result();
  await runtime.sessions.delete("s");
  expect((await runtime.sessions.list()).map(({ id }) => id)).toEqual(["other"]);
  expect(await codeOf(() => runtime.sessions.get("s"))).toBe("session.unknown");
  expect(await codeOf(() => runtime.sessions.usage("s"))).toBe("session.unknown");
  expect(await codeOf(() => runtime.sessions.compare("s", "other"))).toBe("session.unknown");
  expect(await codeOf(() => runtime.sessions.fork("s"))).toBe("session.unknown");
  expect(await codeOf(() => runtime.session("s"))).toBe("session.deleted");
  expect(await codeOf(() => runtime.session("s", { config: { label: "Again." } }))).toBe("session.deleted");
  expect(await codeOf(() => other.fork({ id: "s" }))).toBe("session.deleted");
  expect(await codeOf(() => other.command(maker, "make", { id: "s" }))).toBe("session.deleted");
  expect(await codeOf(() => other.command(maker, "make", { id: "s", ifExists: "take" }))).toBe("session.deleted");
  expect(await codeOf(() => other.fork({ at: head }))).toBe("fork.unknown");
  await runtime.sessions.delete("s"); // Once more changes nothing.
  expect((await other.turn("2").result()).outcome.kind).toBe("answered");
});

test.each(KEPT)("S2 what was never there can be deleted, and its id is not used up, %s", async (_, store) => {
  await using runtime = await runningQuickly({ store: store() });
  await runtime.sessions.delete("s");
  const session = await runtime.session("s");
  expect((await session.turn("1").result()).outcome.kind).toBe("answered");
});

test("S2 a deleted id stays so after a restart, and for another process at once", async () => {
  await using file = new SharedFile();
  const [here, there] = [await file.open(), await file.open()];
  await (await here.session("s")).turn("1").result();
  await here.sessions.delete("s");
  expect(await codeOf(() => there.session("s"))).toBe("session.deleted");
  await here.close();
  expect(await codeOf(async () => (await file.open()).session("s"))).toBe("session.deleted");
});

test("S2 who deletes and who opens at the same time agree in the end", async () => {
  await using runtime = await runningQuickly();
  for (let round = 0; round < 20; round++) {
    const id = `s${round}`;
    await (await runtime.session(id)).close();
    const [opened] = await Promise.allSettled([
      round % 2 === 0 ? runtime.session(id) : runtime.sessions.delete(id).then(() => runtime.session(id)),
      runtime.sessions.delete(id),
    ]);
    if (opened.status === "fulfilled")
      expect(await codeOf(() => within((opened.value as Session).turn("1").result()))).toMatch(GONE);
    else expect((opened.reason as { code: string }).code).toBe("session.deleted");
    expect(await codeOf(() => runtime.session(id))).toBe("session.deleted");
  }
});

// ── While something runs ────────────────────────────────────────────────────────────────────────────────────────────

test.each(KEPT)(
  "S2 a session whose turn runs here is not deleted, nor one with inputs that wait or a command, %s",
  async (_, store) => {
    const stop = new Stop();
    const model = scripted(calls("slow"), says("One."), says("Two."));
    await using runtime = await runningQuickly({ store: store(), model, tools: [stopping(stop)], plugins: [counter] });
    const session = await runtime.session("s");
    const turn = session.turn("1");
    await stop.reached;
    const next = session.turn("2");
    await expect(runtime.sessions.delete("s")).rejects.toMatchObject({ code: "session.busy", details: { id: "s" } });
    stop.go();
    expect((await turn.result()).outcome).toMatchObject({ text: "One." });
    expect((await next.result()).outcome).toMatchObject({ text: "Two." });
    const waits = new Stop();
    const task = session.task(counter, "wait", waits);
    await waits.reached;
    expect(await codeOf(() => runtime.sessions.delete("s"))).toBe("session.busy");
    waits.go();
    await task;
    await runtime.sessions.delete("s");
    expect(await codeOf(() => runtime.session("s"))).toBe("session.deleted");
  },
);

test.each(KEPT)(
  "S2 a session is idle when what it was asked for is answered: it can be deleted then, %s",
  async (_, store) => {
    await using runtime = await runningQuickly({
      store: store(),
      plugins: [counter, compacting(() => ({ seed: ["S"] }))],
    });
    const acts: { readonly [name: string]: (session: Session) => Promise<unknown> } = {
      turn: (session) => session.turn("1").result(),
      "a turn's fact": async (session) => {
        for await (const event of session.turn("1")) if (event.fact) break;
      },
      send: async (session) => session.follow((await session.send("1")).turnId).result(),
      append: (session) => session.append([{ kind: "plugin", type: "x", body: 1 }]),
      command: (session) => session.command(counter, "set", 1),
      note: (session) => session.command(counter, "note", "n"),
      query: (session) => session.query(counter, "count"),
      configure: (session) => session.configure({ label: "x" }),
      tools: (session) => session.tools.set([], "off"),
      complete: (session) => session.complete.text("Hi."),
      compact: async (session) => {
        await session.append([{ kind: "message", role: "user", text: "Quite a lot of words." }]);
        await session.compact();
      },
      fork: (session) => session.fork(),
      read: (session) => session.read(),
      failure: (session) => codeOf(() => session.append([{ kind: "wrong" } as never])),
    };
    const codes: { [name: string]: string } = {};
    for (const [name, act] of Object.entries(acts)) {
      const session = await runtime.session(name);
      await act(session);
      codes[name] = await codeOf(() => runtime.sessions.delete(name));
    }
    expect(Object.entries(codes).filter(([, code]) => code !== "nothing was thrown")).toEqual([]);
  },
);

test.each(KEPT)("S2 a turn that was cancelled lets its session be deleted when it has ended, %s", async (_, store) => {
  const model = follows({
    "#go": [
      async function* () {
        yield text("I begin. ");
        await new Promise(() => {});
        yield end;
      },
    ],
  });
  await using runtime = await runningQuickly({ store: store(), model });
  const session = await runtime.session("s");
  const turn = session.turn("#go");
  await seen(turn, "text");
  await turn.cancel("Not wanted any more.");
  expect((await within(turn.result(), 4_000)).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
  await runtime.sessions.delete("s");
  expect(await runtime.sessions.list()).toEqual([]);
});

test("S2 a turn whose session another process deletes ends for those who wait, typed, and writes nothing", async () => {
  await using file = new SharedFile();
  const stop = new Stop();
  const model = () => scripted(both(says("I look. "), calls("slow")), says("Never."));
  const lost = await unheard(async () => {
    const [here, there] = [
      await file.open({ model: model(), tools: [stopping(stop)] }),
      await file.open({ model: model() }),
    ];
    const session = await here.session("s");
    const turn = session.turn("1");
    const result = codeOf(() => turn.result());
    const queued = session.turn("2");
    const second = codeOf(() => queued.result());
    await stop.reached;
    await there.sessions.delete("s");
    expect(await there.sessions.list()).toEqual([]);
    stop.go();
    expect(await within(result, 6_000)).toMatch(/^(session\.(unknown|deleted)|lease\.lost)$/);
    expect(await within(second, 6_000)).toMatch(/^(session\.(unknown|deleted)|lease\.lost)$/);
    expect(await codeOf(() => session.read())).toMatch(GONE);
    expect(await here.sessions.list()).toEqual([]);
    await session.close();
  });
  expect(lost).toEqual([]);
}, 20_000);

// ── Waits ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const careful = definePlugin({
  id: "test/careful",
  setup: () => ({ beforeToolCall: () => ask("May I?") }),
});
const pay = defineTool({ name: "pay", description: "Pays.", input: z.looseObject({}), execute: () => "Paid." });

test("S2 D4 a wait of a deleted session is revoked, for every holder of its key", async () => {
  await using file = new SharedFile();
  const options = () => ({ model: scripted(calls("pay"), says("Done.")), tools: [pay], plugins: [careful] });
  const [here, there] = [await file.open(options()), await file.open(options())];
  const session = await here.session("s");
  const turn = session.turn("Pay.");
  const result = codeOf(() => turn.result());
  const key = await keyTo(here, (await seen(turn, "waiting")).wait);
  await there.sessions.delete("s");
  expect(await codeOf(() => there.waits.resolve(key, { approved: true }))).toBe("wait.unknown");
  expect(await codeOf(() => here.waits.resolve(key, { approved: true }))).toBe("wait.unknown");
  expect(await within(result, 6_000)).toMatch(/^(session\.(unknown|deleted)|lease\.lost)$/);
}, 20_000);

test("S2 D4 a session whose turn only waits is deleted where it runs: nobody waits for the answer any more", async () => {
  await using file = new SharedFile();
  const here = await file.open({ model: scripted(calls("pay")), tools: [pay], plugins: [careful] });
  const turn = (await here.session("s")).turn("Pay.");
  const result = codeOf(() => turn.result());
  const key = await keyTo(here, (await seen(turn, "waiting")).wait);
  await here.sessions.delete("s");
  expect(await here.waits.list()).toEqual([]);
  expect(await codeOf(() => here.waits.resolve(key, { approved: true }))).toBe("wait.unknown");
  expect(await within(result)).toBe("session.deleted");
});

test("S2 D4 an approval that was cancelled and then deleted is not answered, and the tool never runs", async () => {
  let paid = 0;
  const counts = defineTool({
    name: "pay",
    description: "Pays.",
    input: z.looseObject({}),
    execute: () => `${++paid}`,
  });
  await using runtime = await runningQuickly({ model: scripted(calls("pay")), tools: [counts], plugins: [careful] });
  const session = await runtime.session("s");
  const turn = session.turn("Pay.");
  const key = await keyTo(runtime, (await seen(turn, "waiting")).wait);
  await turn.cancel();
  await turn.result();
  await runtime.sessions.delete("s");
  expect(await codeOf(() => runtime.waits.resolve(key, { approved: true }))).toBe("wait.unknown");
  expect(paid).toBe(0);
});

// ── Handles and observers that are still there ──────────────────────────────────────────────────────────────────────

test.each(KEPT)(
  "S2 every use of a handle on a deleted session is typed, and it can be closed, %s",
  async (_, store) => {
    const lost = await unheard(async () => {
      await using runtime = await runningQuickly({ store: store(), plugins: [counter] });
      const session = await runtime.session("s");
      await session.turn("1").result();
      const { head = "" } = await session.read();
      await runtime.sessions.delete("s");
      const uses: { readonly [name: string]: () => unknown } = {
        turn: () => session.turn("2").result(),
        "turn id": () => session.turn("2").id,
        send: () => session.send("2"),
        read: () => session.read(),
        history: () => session.history(),
        compact: () => session.compact(),
        append: () => session.append([{ kind: "message", role: "user", text: "x" }]),
        configure: () => session.configure({ label: "x" }),
        command: () => session.command(counter, "set", 1),
        task: () => session.task(counter, "wait", new Stop()),
        query: () => session.query(counter, "count"),
        fork: () => session.fork(),
        "fork at": () => session.fork({ at: head }),
        "tools.set": () => session.tools.set([], "off"),
        "inputs.list": () => session.inputs.list(),
        "inputs.cancel": () => session.inputs.cancel({ key: "x" }),
        observe: () => session.observe().next(),
        tree: () => session.observe({ tree: true }).next(),
      };
      const codes: { [name: string]: string } = {};
      for (const [name, use] of Object.entries(uses))
        codes[name] = await codeOf(() => within(Promise.resolve(use()), 4_000));
      const wrong = Object.entries(codes).filter(([, code]) => !GONE.test(code));
      expect(wrong).toEqual([]);
      await session.close();
      expect(await runtime.sessions.list()).toEqual([]);
    });
    expect(lost).toEqual([]);
  },
  60_000,
);

test.each(KEPT)("S2 S11 an observer of a session receives its end, %s", async (_, store) => {
  await using runtime = await runningQuickly({ store: store() });
  const session = await runtime.session("s");
  const watchers = [watch(session), watch(session)];
  const unread = session.observe();
  await session.turn("1").result();
  await Promise.all(watchers.map((watcher) => watcher.until(isEnd())));
  await runtime.sessions.delete("s");
  for (const watcher of watchers) {
    expect(await codeOf(() => within(watcher.over))).toMatch(/^(nothing was thrown|session\.(unknown|deleted))$/);
    expect(watcher.events.map(inShort)).toEqual(["accepted", "text", "committed turn"]);
  }
  expect(await codeOf(() => within(drained(unread)))).toMatch(/^(nothing was thrown|session\.(unknown|deleted))$/);
  // As all who watched: in one way.
  const ends = await Promise.all(watchers.map((watcher) => codeOf(() => watcher.over)));
  expect(new Set(ends).size).toBe(1);
});

async function drained(stream: AsyncIterable<SessionEvent>): Promise<void> {
  for await (const _ of stream);
}

test("S2 S11 also when another process deletes it", async () => {
  await using file = new SharedFile();
  const [here, there] = [await file.open(), await file.open()];
  const session = await here.session("s");
  const watcher = watch(session);
  await session.turn("1").result();
  await watcher.until(isEnd());
  await there.sessions.delete("s");
  expect(await codeOf(() => within(watcher.over, 3_000))).toMatch(/^(nothing was thrown|session\.(unknown|deleted))$/);
});

test.each(KEPT)(
  "S2 S11 cursors of other sessions stay good when one is deleted, the last one too, %s",
  async (_, store) => {
    await using runtime = await runningQuickly({ store: store() });
    const [first, last] = [await runtime.session("first"), await runtime.session("last")];
    await first.turn("1").result();
    await last.turn("1").result();
    const view = await first.read(); // Its cursor is of the last fact of all, which is the other's.
    const watcher = watch(first);
    await runtime.sessions.delete("last");
    await first.turn("2").result();
    const rest = await watch(first, { after: view.cursor }).until(isEnd());
    expect(factsIn(rest).map(inShort)).toEqual(["accepted", "committed turn"]);
    expect(await drawn(screenOf(rest, view), first)).toEqual(await kept(first));
    const numbers = factsIn(await watcher.until(isEnd(2))).map(({ cursor }) => Number.parseInt(cursor, 10));
    expect(new Set(numbers).size).toBe(4);
    const fresh = await runtime.session("fresh");
    await fresh.turn("1").result();
    expect(factsIn(await watch(fresh).until(isEnd()))).toHaveLength(2);
  },
);

test("S2 tools that were added to a session are let go with it", async () => {
  let watched = 0;
  const provider = () =>
    defineToolProvider({
      id: "test/added",
      list: () => [],
      load: () => undefined,
      watch: () => {
        watched++;
        return () => void watched--;
      },
    });
  await using runtime = await runningQuickly();
  const closed = await runtime.session("closed");
  await closed.tools.add(provider());
  expect(watched).toBe(1);
  await closed.close();
  expect(watched).toBe(0);
  const session = await runtime.session("s");
  await session.tools.add(provider());
  await session.turn("1").result();
  await runtime.sessions.delete("s");
  await session.close();
  await session.close();
  expect(watched).toBe(0);
  expect(await codeOf(() => session.read())).toBe("session.closed");
});

// ── Children, parents, forks ────────────────────────────────────────────────────────────────────────────────────────

const family = {
  model: follows({
    "#root": [calls("delegate", { id: "child", task: "#child" }), says("Root.")],
    "#child": [calls("delegate", { id: "grandchild", task: "#plain" }), says("Child.")],
    "#plain": [says("Plain.")],
  }),
  tools: [delegate],
};

test.each(KEPT)(
  "S2 children of a deleted session stay, and can be opened, talked to, listed and deleted, %s",
  async (_, store) => {
    await using runtime = await runningQuickly({ ...family, store: store() });
    const root = await runtime.session("root");
    await root.turn("#root").result();
    const tree = watch(root, { tree: true });
    await tree.until((events) => isEnd(3)(events));
    await runtime.sessions.delete("root");
    expect((await runtime.sessions.list()).map(({ id, parentId }) => [id, parentId])).toEqual([
      ["child", "root"],
      ["grandchild", "child"],
    ]);
    expect((await runtime.sessions.list({ parent: "root" })).map(({ id }) => id)).toEqual(["child"]);
    const child = await runtime.session("child");
    expect((await child.turn("#plain").result()).outcome).toMatchObject({ text: "Plain." });
    expect((await runtime.sessions.usage("child")).usage.output).toBe(20);
    await runtime.sessions.delete("child");
    const grandchild = await runtime.session("grandchild");
    expect((await grandchild.turn("#plain").result()).outcome).toMatchObject({ text: "Plain." });
  },
);

test.each(KEPT)(
  "S2 a parent continues when its child is deleted, and a tree is watched and counted without it, %s",
  async (_, store) => {
    await using runtime = await runningQuickly({ ...family, store: store() });
    const root = await runtime.session("root");
    await root.turn("#root").result();
    await runtime.sessions.delete("grandchild");
    expect((await root.turn("#plain").result()).outcome).toMatchObject({ text: "Plain." });
    const events = await watch(root, { tree: true }).until((all) => isEnd(3)(all));
    expect(new Set(events.map(({ sessionId }) => sessionId))).toEqual(new Set(["root", "child"]));
    expect((await runtime.sessions.usage("root")).ledger.map(({ sessionId }) => sessionId)).toEqual(["child", "root"]);
  },
);

test("S2 a child that is deleted while its parent waits for it ends the call, typed, and not the parent", async () => {
  const stop = new Stop();
  const model = follows({
    "#root": [calls("delegate", { id: "child", task: "#child" }), says("It is gone.")],
    "#child": [calls("slow"), says("Never.")],
  });
  await using file = new SharedFile();
  const options = { model, tools: [delegate, stopping(stop)] };
  const [here, there] = [await file.open(options), await file.open(options)];
  const root = await here.session("root");
  const turn = root.turn("#root");
  await stop.reached;
  await there.sessions.delete("child");
  stop.go();
  const { outcome } = await within(turn.result(), 8_000);
  expect(outcome).toMatchObject({ kind: "answered", text: "It is gone." });
  const results = (await root.read()).messages.flatMap(({ parts }) =>
    parts.filter(({ kind }) => kind === "toolResult"),
  );
  expect(results).toMatchObject([{ name: "delegate", status: "failed" }]);
}, 20_000);

test.each(KEPT)(
  "S2 S7 history that forks share stays when any of them is deleted, in any order, %s",
  async (_, store) => {
    for (const order of [
      ["source", "fork", "deep"],
      ["deep", "fork", "source"],
      ["fork", "source", "deep"],
      ["fork", "deep", "source"],
    ]) {
      await using runtime = await runningQuickly({ store: store(), plugins: [counter] });
      const source = await runtime.session("source");
      for (const words of ["1", "2", "3"]) await source.turn(words).result();
      const nodes = (await source.history()).toReversed();
      const fork = await source.fork({ id: "fork", at: nodes[3]!.id });
      await fork.turn("fork").result();
      const deep = await fork.fork({ id: "deep", at: nodes[1]!.id });
      await deep.turn("deep").result();
      const words: { [id: string]: readonly string[] } = {
        source: ["1", "re: 1", "2", "re: 2", "3", "re: 3"],
        fork: ["1", "re: 1", "2", "re: 2", "fork", "re: fork"],
        deep: ["1", "re: 1", "deep", "re: deep"],
      };
      for (const [index, gone] of order.entries()) {
        await runtime.sessions.delete(gone);
        for (const id of order.slice(index + 1)) {
          const session = await runtime.session(id);
          expect((await session.read()).messages.map(wordsOf), `${id} without ${gone}`).toEqual(words[id]);
          expect((await session.history()).length).toBe(words[id]!.length);
          expect((await session.turn("More.").result()).outcome.kind).toBe("answered");
          words[id] = [...words[id]!, "More.", "re: More."];
          await session.close();
        }
      }
      expect(await runtime.sessions.list()).toEqual([]);
    }
  },
);

test("S2 D9 a file from which sessions were deleted is whole, and keeps nothing of them", async () => {
  const store = sqlite(":memory:");
  await using runtime = await runningQuickly({ store, plugins: [counter] });
  const source = await runtime.session("source");
  for (const words of ["1", "2", "3"]) await source.turn(words).result();
  await source.command(counter, "set", 9);
  const nodes = (await source.history()).toReversed();
  const fork = await source.fork({ id: "fork", at: nodes[3]!.id });
  await fork.turn("fork").result();
  await runtime.sessions.delete("source");
  expect(await store.check({ deep: true })).toEqual([]);
  expect(await codeOf(() => fork.fork({ at: nodes[5]!.id }))).toBe("fork.unknown"); // What only the source had.
  await runtime.sessions.delete("fork");
  expect(await store.check({ deep: true })).toEqual([]);
  expect(await runtime.sessions.list()).toEqual([]);
});
