import type { Message, Node, Runtime, Session, Store } from "bowline";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { both, calls, says, scripted } from "bowline/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { echo, follows } from "../kit/models.ts";
import { codeOf, outline, within, wordsOf } from "../kit/reading.ts";
import { KEPT } from "../kit/stores.ts";
import { ping, runningQuickly, SharedFile, Stop, stopping } from "../kit/worlds.ts";
import { compacting, counter, moves } from "./plugins.ts";
import { watch } from "./watching.ts";

const compactor = compacting((messages) => ({
  seed: ["S"],
  ...(messages.length > 6 ? { tail: messages.at(-2)!.id } : {}),
}));

/** Everything from the first node on. */
const allOf = async (session: Session): Promise<readonly Node[]> =>
  (await session.history({ max: 100_000 })).toReversed();
const idsOf = (nodes: readonly { readonly id: string }[]): readonly string[] => nodes.map(({ id }) => id);
const countOf = (session: Session): Promise<number> => session.query(counter, "count");

/** What is in the window of a session whose nodes these are. */
function windowOf(nodes: readonly Node[]): readonly Message[] {
  const frame = nodes.findLastIndex(({ kind }) => kind === "frame");
  return nodes.slice(frame + 1).flatMap((node) => (node.kind === "message" ? [node.message] : []));
}

const hasOpenCall = (messages: readonly Message[]): boolean =>
  messages.at(-1)?.parts.some(({ kind }) => kind === "toolCall") ?? false;

/** A history with calls, several in one reply, notes, commands that add no node, two kinds of frames, and appended words. */
async function makeHistory(session: Session): Promise<BranchRun> {
  const counts: [string | undefined, number][] = [[undefined, 0]];
  const keep = async () => void counts.push([(await session.read()).head, await countOf(session)]);
  const acts: readonly (() => Promise<unknown>)[] = [
    () => session.command(counter, "set", 10), // Before there is any node.
    () => session.turn("#two calls").result(),
    () => session.command(counter, "set", 20),
    () => session.turn("#plain").result(),
    () => session.command(counter, "note", "n"),
    () => session.command(counter, "set", 30),
    () => session.compact(),
    () => session.turn("#one call").result(),
    () =>
      session.append([
        { kind: "message", role: "user", text: "By the way." },
        { kind: "plugin", type: "x", body: 1 },
        { kind: "message", role: "system", text: "Mind this." },
      ]),
    () => session.turn("#move").result(),
    () => session.command(counter, "set", 40),
    () => session.turn("#plain").result(),
    () => session.command(counter, "set", 50),
  ];
  for (const act of acts) {
    await act();
    await keep();
  }
  return { counts };
}
interface BranchRun {
  /** The head after each commit, and the state then. */
  readonly counts: readonly (readonly [string | undefined, number])[];
}
const options = {
  model: follows({
    "#two calls": [both(says("Let me see. "), calls("ping", {}, "a"), calls("ping", {}, "b")), says("Done.")],
    "#one call": [calls("ping"), calls("ping"), says("Done.")],
    "#plain": [says("Plain.")],
    "#move": [calls("move")],
    "#after": [calls("ping"), says("Moved.")],
  }),
  tools: [ping, moves],
  plugins: [counter, compactor],
};

/** The state that a fork at this node begins with: of the last commit that ends there, or of the one before. */
function countAt({ counts }: BranchRun, nodes: readonly Node[], index: number): number {
  const at = nodes[index]!.id;
  const there = counts.findLast(([head]) => head === at);
  if (there !== undefined) return there[1];
  const before = new Set<string | undefined>([undefined, ...idsOf(nodes.slice(0, index))]);
  return counts.findLast(([head]) => before.has(head))![1];
}

// ── At every node ───────────────────────────────────────────────────────────────────────────────────────────────────

/** Forks this session at every node, and looks at all that a fork must be. */
async function forkEverywhere(runtime: Runtime, source: Session, history: BranchRun): Promise<void> {
  const nodes = await allOf(source);
  const before = await source.read();
  for (const [index, { id: at }] of nodes.entries()) {
    const path = nodes.slice(0, index + 1);
    const messages = windowOf(path);
    if (hasOpenCall(messages)) {
      const error = await source.fork({ at }).then(
        () => undefined,
        (thrown) => thrown,
      );
      expect(error, at).toMatchObject({ code: "fork.unpaired", details: { node: at } });
      const legal: readonly string[] = error.details.legal;
      expect(legal.map((node) => idsOf(nodes).indexOf(node) - index).map(Math.sign)).toEqual([-1, 1]);
      for (const node of legal) await (await source.fork({ at: node })).close();
      continue;
    }
    const fork = await source.fork({ at });
    const view = await fork.read();
    expect(view, at).toMatchObject({ head: at, origin: { sessionId: source.id, at }, turns: 0, ledger: [] });
    expect(view.messages, at).toEqual(messages);
    expect(await allOf(fork), at).toEqual(path);
    expect(await countOf(fork), at).toBe(countAt(history, nodes, index));
    expect((await fork.turn("#plain").result()).outcome, at).toMatchObject({ text: "Plain." });
    expect(await countOf(fork), at).toBe(countAt(history, nodes, index) + 1);
    expect(await runtime.sessions.compare(source.id, fork.id), at).toEqual({
      common: at,
      ours: nodes.slice(index + 1),
      theirs: (await allOf(fork)).slice(index + 1),
    });
    await fork.close();
  }
  const { cursor: _, ...after } = await source.read();
  expect(after).toEqual({ ...before, cursor: undefined, ...after }); // Nothing of it changed.
  expect(await allOf(source)).toEqual(nodes);
}

test.each(KEPT)("S7 a fork at any node shares what is before it, with the states of then, %s", async (_, store) => {
  await using runtime = await runningQuickly({ ...options, store: store() });
  const source = await runtime.session("source");
  const history = await makeHistory(source);
  expect((await allOf(source)).filter(({ kind }) => kind === "frame")).toHaveLength(2);
  await forkEverywhere(runtime, source, history);
});

test.each(KEPT)("S7 so does a fork of a fork, and when the first one is deleted, %s", async (_, store) => {
  await using runtime = await runningQuickly({ ...options, store: store() });
  const source = await runtime.session("source");
  const history = await makeHistory(source);
  const fork = await source.fork({ id: "fork" });
  await source.command(counter, "set", 1_000); // Nothing that the fork has to know of.
  await source.turn("#plain").result();
  await forkEverywhere(runtime, fork, history);
  await runtime.sessions.delete("source");
  await forkEverywhere(runtime, fork, history);
  const deep = await (await fork.fork({ id: "deep" })).fork({ id: "deeper" });
  await runtime.sessions.delete("fork");
  await runtime.sessions.delete("deep");
  await forkEverywhere(runtime, deep, history);
});

test("S7 so does a fork that another process makes", async () => {
  await using file = new SharedFile();
  const [here, there] = [await file.open(options), await file.open(options)];
  const history = await makeHistory(await here.session("source"));
  await forkEverywhere(there, await there.session("source"), history);
}, 20_000);

test.each(KEPT)(
  "S7 in a fork the states of its commits count, before and after the shared node, %s",
  async (_, store) => {
    await using runtime = await runningQuickly({ ...options, store: store() });
    const source = await runtime.session("source");
    await source.turn("#plain").result();
    const { head: at = "" } = await source.read();
    await source.turn("#plain").result();
    const fork = await source.fork({ at });
    await fork.command(counter, "set", 70);
    expect(await countOf(await fork.fork({ at }))).toBe(70);
    expect(await countOf(await source.fork({ at }))).toBe(1);
    await fork.turn("#plain").result();
    expect(await countOf(await fork.fork({ at }))).toBe(70);
    expect(await countOf(await source.fork({ at }))).toBe(1);
    const [first] = await allOf(fork);
    expect(await countOf(await fork.fork({ at: first!.id }))).toBe(0);
  },
);

test.each(KEPT)(
  "S7 any tree of forks: each is what it was made of, whatever became of the others, %s",
  async (name, store) => {
    const act = fc.record({
      who: fc.nat(6),
      does: fc.constantFrom("turn", "command", "note", "append", "compact", "fork", "fork inside", "delete"),
      where: fc.nat(40),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 25 }), async (acts) => {
        await using runtime = await runningQuickly({ ...options, store: store() });
        interface Known {
          readonly session: Session;
          nodes: readonly Node[];
          counts: [string | undefined, number][];
        }
        const known: Known[] = [{ session: await runtime.session(), nodes: [], counts: [[undefined, 0]] }];
        const learn = async (each: Known) => {
          each.nodes = await allOf(each.session);
          each.counts.push([(await each.session.read()).head, await countOf(each.session)]);
        };
        let number = 100;
        for (const { who, does, where } of acts) {
          const each = known[who % known.length]!;
          const { session, nodes } = each;
          if (does === "turn") await session.turn(where % 2 === 0 ? "#plain" : "#one call").result();
          else if (does === "command") await session.command(counter, "set", ++number);
          else if (does === "note") await session.command(counter, "note", "n");
          else if (does === "append") await session.append([{ kind: "message", role: "user", text: "By the way." }]);
          else if (does === "compact") await session.compact();
          else if (does === "delete") {
            if (known.length < 2) continue;
            await runtime.sessions.delete(session.id);
            known.splice(known.indexOf(each), 1);
            continue;
          } else {
            const index = does === "fork" ? nodes.length - 1 : where % Math.max(nodes.length, 1);
            const path = nodes.slice(0, index + 1);
            if (hasOpenCall(windowOf(path))) continue;
            const at = nodes[index]?.id;
            const fork = await session.fork(at === undefined ? {} : { at });
            const count = at === undefined ? each.counts.at(-1)![1] : countAt(each, nodes, index);
            const ends = idsOf(path);
            const counts = each.counts.filter(([head]) => head === undefined || ends.indexOf(head) < index);
            counts.push([at, count]);
            known.push({ session: fork, nodes: path, counts: [...counts, [at, count]] });
            expect(await countOf(fork)).toBe(count);
            continue;
          }
          await learn(each);
        }
        for (const { session, nodes, counts } of known) {
          expect(await allOf(session)).toEqual(nodes);
          expect((await session.read()).messages).toEqual(windowOf(nodes));
          expect(await countOf(session)).toBe(counts.at(-1)![1]);
        }
        for (const one of known)
          for (const other of known) {
            const { common, ours, theirs } = await runtime.sessions.compare(one.session.id, other.session.id);
            const shared = one.nodes.filter(({ id }) => idsOf(other.nodes).includes(id));
            expect(common).toBe(shared.at(-1)?.id);
            expect([...shared, ...ours]).toEqual(one.nodes);
            expect([...shared, ...theirs]).toEqual(other.nodes);
          }
      }),
      { numRuns: name === "in SQLite" ? 15 : 40 },
    );
  },
  60_000,
);

test.each(KEPT)(
  "S7 a fork before a node is a fork at the one before it; before the first it is empty, %s",
  async (_, store) => {
    await using runtime = await runningQuickly({ ...options, store: store() });
    const source = await runtime.session("source", { config: { instructions: "Be kind." } });
    const history = await makeHistory(source);
    const nodes = await allOf(source);
    for (const [index, { id: before }] of nodes.entries()) {
      if (index === 0) continue;
      if (hasOpenCall(windowOf(nodes.slice(0, index)))) {
        expect(await codeOf(() => source.fork({ before })), before).toBe("fork.unpaired");
        continue;
      }
      const fork = await source.fork({ before });
      expect(await allOf(fork), before).toEqual(nodes.slice(0, index));
      expect(await countOf(fork), before).toBe(countAt(history, nodes, index - 1));
      await fork.close();
    }
    const empty = await source.fork({ before: nodes[0]!.id, label: "Once more" });
    const view = await empty.read();
    expect([view.messages, view.head, view.config.instructions]).toEqual([[], undefined, "Be kind."]);
    expect((await empty.turn("#plain").result()).outcome).toMatchObject({ text: "Plain." });
    const { common, ours, theirs } = await runtime.sessions.compare("source", empty.id);
    expect([common, ours.length, theirs.length]).toEqual([undefined, nodes.length, 2]);
  },
);

test("S7 a fork before a node that is not there is fork.unknown, and at and before exclude each other", async () => {
  await using runtime = await runningQuickly();
  const [source, other] = [await runtime.session("source"), await runtime.session("other")];
  await source.turn("1").result();
  await other.turn("1").result();
  const { head: at = "" } = await source.read();
  for (const before of [(await other.read()).head, "x.0", "", 5, null])
    expect(await codeOf(() => source.fork({ before: before as string })), String(before)).toBe("fork.unknown");
  expect(await codeOf(() => source.fork({ at, before: at }))).toBe("options.invalid");
  expect(idsOf(await runtime.sessions.list())).toEqual(["other", "source"]);
});

// ── What a fork has and has not ─────────────────────────────────────────────────────────────────────────────────────

test.each(KEPT)(
  "S7 an open turn is not forked, nor what waits: the fork has what was committed before, %s",
  async (_, store) => {
    const stop = new Stop();
    const model = scripted(says("One."), calls("slow"), says("Two."), says("Three."), says("Of the fork."));
    await using runtime = await runningQuickly({ store: store(), model, tools: [stopping(stop)], plugins: [counter] });
    const source = await runtime.session();
    await source.turn("1").result();
    const before = await source.read();
    const turn = source.turn("2");
    await stop.reached;
    await source.send("3", { at: "next-turn" });
    const head = await within(source.fork());
    const inside = await within(source.fork({ at: before.messages[0]!.id }));
    const byId = await within(runtime.sessions.fork(source.id));
    for (const fork of [head, byId]) {
      expect((await fork.read()).messages).toEqual(before.messages);
      expect(await fork.inputs.list()).toEqual([]);
      expect(fork.current()).toBe(undefined);
    }
    expect(outline((await inside.read()).messages)).toEqual(["user: 1"]);
    const turnId = await turn.id;
    expect(await codeOf(() => source.fork({ at: `${turnId}.0` }))).toBe("fork.unknown"); // It is not kept yet.
    stop.go();
    await turn.result();
    await source.follow((await source.inputs.list())[0]?.turnId ?? turnId).result();
    expect((await head.read()).messages).toEqual(before.messages);
    expect(await codeOf(() => head.fork({ at: `${turnId}.0` }))).toBe("fork.unknown");
    expect((await head.turn("Go on.").result()).outcome.kind).toBe("answered");
  },
);

test.each(KEPT)(
  "S7 a fork has the tools that its origin had chosen by then, and chooses for itself, %s",
  async (_, store) => {
    const model = echo();
    await using runtime = await runningQuickly({ store: store(), model, tools: [ping, moves] });
    const source = await runtime.session();
    await source.turn("1").result();
    const { head: at = "" } = await source.read();
    await source.tools.set("ping", "off");
    await source.turn("2").result();
    const off = async (session: Session) =>
      (await session.tools.list({ raw: true }))
        .filter(({ availability }) => availability === "off")
        .map(({ name }) => name);
    const [now, then, first] = [
      await source.fork(),
      await source.fork({ at }),
      await source.fork({ at: (await allOf(source))[0]!.id }),
    ];
    // What was chosen at a node counts there, as a command's change does.
    expect([await off(now), await off(then), await off(first)]).toEqual([["ping"], ["ping"], []]);
    await now.tools.set("ping", "callable");
    expect([await off(now), await off(source)]).toEqual([[], ["ping"]]);
  },
);

test.each(KEPT)(
  "S7 S10 a fork has the config of its origin without the label, and has spent nothing, %s",
  async (_, store) => {
    await using runtime = await runningQuickly({ store: store() });
    const source = await runtime.session("source", { config: { label: "Plan A", instructions: "Be kind." } });
    await source.turn("1").result();
    const [plain, named] = [await source.fork(), await source.fork({ label: "Plan B" })];
    expect((await plain.read()).config).toMatchObject({ instructions: "Be kind." });
    expect((await plain.read()).config.label).toBe(undefined);
    expect((await named.read()).config.label).toBe("Plan B");
    const { usage, ledger, turns } = await plain.read();
    expect([usage.input, ledger, turns]).toEqual([0, [], 0]);
    expect((await runtime.sessions.usage("source")).usage.input).toBe(10); // Its forks are not of its tree.
  },
);

test.each(KEPT)("S7 branches are listed by their origin, with labels that can be changed, %s", async (_, store) => {
  await using runtime = await runningQuickly({ store: store() });
  const source = await runtime.session("source");
  await source.turn("1").result();
  const { head: at } = await source.read();
  await source.fork({ id: "b", label: "Second" });
  const a = await source.fork({ id: "a", label: "First" });
  await a.fork({ id: "aa" });
  await runtime.session("alone");
  const found = await runtime.sessions.list({ origin: "source" });
  expect(found.map(({ id, label, origin }) => [id, label, origin])).toEqual([
    ["a", "First", { sessionId: "source", at }],
    ["b", "Second", { sessionId: "source", at }],
  ]);
  expect(idsOf(await runtime.sessions.list({ origin: "a" }))).toEqual(["aa"]);
  expect(await runtime.sessions.list({ origin: "alone" })).toEqual([]);
  expect(await runtime.sessions.list({ origin: "nobody" })).toEqual([]);
  await a.configure({ label: "Renamed" });
  await source.configure({ label: "The first of all" });
  const labels = Object.fromEntries((await runtime.sessions.list()).map(({ id, label }) => [id, label]));
  expect(labels).toEqual({ a: "Renamed", aa: undefined, alone: undefined, b: "Second", source: "The first of all" });
  await a.configure({ label: undefined });
  expect((await runtime.sessions.list({ origin: "source" }))[0]?.label).toBe(undefined);
  expect(idsOf(await runtime.sessions.list({ origin: "source", max: 1 }))).toEqual(["a"]);
  expect(idsOf(await runtime.sessions.list({ origin: "source", after: "a" }))).toEqual(["b"]);
  await runtime.sessions.delete("a");
  expect(idsOf(await runtime.sessions.list({ origin: "source" }))).toEqual(["b"]);
  expect((await runtime.sessions.list({ origin: "a" }))[0]?.origin).toMatchObject({ sessionId: "a" });
});

test("S7 a label is kept, told, and good after a restart", async () => {
  await using file = new SharedFile();
  const first = await file.open();
  const session = await first.session("s");
  const watcher = watch(session);
  await session.configure({ label: "Trip to Oslo" });
  await watcher.until((events) => events.some((event) => event.kind === "committed" && event.by === "configure"));
  await session.turn("1").result();
  await session.fork({ id: "f", label: "Trip to Rome" });
  await first.close();
  const labels = (await (await file.open()).sessions.list()).map(({ label }) => label);
  expect(labels).toEqual(["Trip to Rome", "Trip to Oslo"]);
});

test.each(KEPT)("S7 a session without any node can be forked too, with its states, %s", async (_, store) => {
  await using runtime = await runningQuickly({ ...options, store: store() });
  const source = await runtime.session();
  await source.command(counter, "set", 5);
  const fork = await source.fork();
  expect(await countOf(fork)).toBe(5);
  expect((await fork.read()).origin).toEqual({ sessionId: source.id });
  await fork.turn("#plain").result();
  expect(await runtime.sessions.compare(source.id, fork.id)).toMatchObject({ ours: [], theirs: [{}, {}] });
  expect((await runtime.sessions.compare(source.id, fork.id)).common).toBe(undefined);
});

test("S7 several callers can fork at one node at once, and continue at once", async () => {
  await using runtime = await runningQuickly();
  const source = await runtime.session();
  await source.turn("1").result();
  const { head: at = "" } = await source.read();
  await source.turn("2").result();
  const forks = await Promise.all(Array.from({ length: 20 }, () => source.fork({ at })));
  await Promise.all(forks.map((fork, index) => fork.turn(`fork ${index}`).result()));
  for (const [index, fork] of forks.entries())
    expect((await fork.read()).messages.map(wordsOf)).toEqual(["1", "re: 1", `fork ${index}`, `re: fork ${index}`]);
  expect((await source.read()).messages).toHaveLength(4);
});

// ── Wrong use ───────────────────────────────────────────────────────────────────────────────────────────────────────

test.each(KEPT)(
  "S7 forks of what is not there, and options that are wrong, are typed and make nothing, %s",
  async (_, store) => {
    await using runtime = await runningQuickly({ store: store() });
    const [source, other] = [await runtime.session("source"), await runtime.session("other")];
    await source.turn("1").result();
    await other.turn("1").result();
    const { head: foreign = "" } = await other.read();
    const { head = "" } = await source.read();
    const fork = (given: object) => codeOf(() => source.fork(given));
    for (const at of [
      foreign,
      "",
      "nothing",
      `${head}0`,
      head.replace(/\d+$/, "99"),
      "x.0",
      ".0",
      `${head}.0`,
      "__proto__.0",
    ])
      expect(await fork({ at }), at).toBe("fork.unknown");
    expect(await fork({ id: "other" })).toBe("session.exists");
    expect(await codeOf(() => runtime.sessions.fork("nobody"))).toBe("session.unknown");
    expect(await codeOf(() => runtime.sessions.compare("source", "nobody"))).toBe("session.unknown");
    expect(await codeOf(() => runtime.sessions.compare("nobody", "source"))).toBe("session.unknown");
    expect(idsOf(await runtime.sessions.list())).toEqual(["other", "source"]);
    await source.close();
    expect(await fork({})).toBe("session.closed");
  },
);

test("S7 options of a fork that are not what their types say are typed, and make nothing", async () => {
  await using runtime = await runningQuickly();
  const source = await runtime.session("source");
  await source.turn("1").result();
  const codes = (field: string, values: readonly unknown[]) =>
    Promise.all(values.map((value) => codeOf(() => source.fork({ [field]: value }))));
  expect(await codes("at", [5, null, {}, ["x"]])).toEqual(Array(4).fill("fork.unknown"));
  expect(await codes("label", [5, {}, "x".repeat(257)])).toEqual(Array(3).fill("options.invalid"));
  expect(await codes("id", ["", 7, "x".repeat(10_000)])).toEqual(Array(3).fill("session.id"));
  expect(idsOf(await runtime.sessions.list())).toEqual(["source"]);
});

// ── Where two part ──────────────────────────────────────────────────────────────────────────────────────────────────

test.each(KEPT)(
  "S7 two sessions are compared: the same, one before the other, apart, and of no common origin, %s",
  async (_, store) => {
    await using runtime = await runningQuickly({ store: store() });
    const a = await runtime.session("a");
    expect(await runtime.sessions.compare("a", "a")).toEqual({ ours: [], theirs: [] });
    await a.turn("1").result();
    const { head } = await a.read();
    const b = await a.fork({ id: "b" });
    expect(await runtime.sessions.compare("a", "a")).toEqual({ common: head, ours: [], theirs: [] });
    expect(await runtime.sessions.compare("a", "b")).toEqual({ common: head, ours: [], theirs: [] });
    await a.turn("2").result();
    const words = (nodes: readonly Node[]) =>
      nodes.map((node) => (node.kind === "message" ? wordsOf(node.message) : ""));
    const ahead = await runtime.sessions.compare("a", "b");
    expect([ahead.common, words(ahead.ours), ahead.theirs]).toEqual([head, ["2", "re: 2"], []]);
    const behind = await runtime.sessions.compare("b", "a");
    expect([behind.common, behind.ours, words(behind.theirs)]).toEqual([head, [], ["2", "re: 2"]]);
    await b.turn("3").result();
    const apart = await runtime.sessions.compare("a", "b");
    expect([apart.common, words(apart.ours), words(apart.theirs)]).toEqual([head, ["2", "re: 2"], ["3", "re: 3"]]);
    const c = await runtime.session("c");
    expect(await runtime.sessions.compare("a", "c")).toMatchObject({ theirs: [] });
    await c.turn("4").result();
    const strange = await runtime.sessions.compare("a", "c");
    expect([strange.common, words(strange.ours), words(strange.theirs)]).toEqual([
      undefined,
      ["1", "re: 1", "2", "re: 2"],
      ["4", "re: 4"],
    ]);
  },
);

test.each(KEPT)("S7 two forks inside one commit part inside it, %s", async (_, store) => {
  await using runtime = await runningQuickly({ store: store() });
  const source = await runtime.session();
  await source.append([1, 2, 3, 4, 5].map((body) => ({ kind: "plugin", type: "n", body })));
  const nodes = await allOf(source);
  const forks = await Promise.all(nodes.map(({ id }) => source.fork({ at: id })));
  for (const [one, left] of forks.entries())
    for (const [other, right] of forks.entries()) {
      const common = Math.min(one, other);
      expect(await runtime.sessions.compare(left.id, right.id)).toEqual({
        common: nodes[common]!.id,
        ours: nodes.slice(common + 1, one + 1),
        theirs: nodes.slice(common + 1, other + 1),
      });
    }
});

test.each(KEPT)(
  "S7 siblings that never met part where their origin was forked, also when it is gone, %s",
  async (_, store) => {
    await using runtime = await runningQuickly({ store: store() });
    const source = await runtime.session("source");
    for (const words of ["1", "2", "3"]) await source.turn(words).result();
    const nodes = await allOf(source);
    const [early, late] = [await source.fork({ at: nodes[1]!.id }), await source.fork({ at: nodes[3]!.id })];
    await early.turn("early").result();
    await late.turn("late").result();
    await runtime.sessions.delete("source");
    const { common, ours, theirs } = await runtime.sessions.compare(early.id, late.id);
    expect([common, ours.length, theirs.length]).toEqual([nodes[1]!.id, 2, 4]);
  },
);

test.each([
  ["in memory", () => memory()],
  ["in SQLite", () => sqlite(":memory:", { durability: "process" })],
] as const)(
  "S7 sessions that differ in 5,000 nodes are compared in both directions, %s",
  async (_, store) => {
    const kept: Store = store();
    await using runtime = await runningQuickly({ store: kept });
    const source = await runtime.session("source");
    await source.turn("1").result();
    const { head } = await source.read();
    const fork = await source.fork({ id: "fork" });
    await source.close();
    const node = (type: string, body: number) => ({ kind: "plugin", plugin: "test/many", type, body, at: 1 }) as const;
    for (let index = 0; index < 2_500; index++)
      await kept.apply({
        sessionId: source.id,
        operation: `opr_${index}`,
        at: 1,
        entries: [node("n", index), node("m", index)],
      });
    await fork.turn("2").result();
    const found = await runtime.sessions.compare("source", "fork");
    expect([found.common, found.ours.length, found.theirs.length]).toEqual([head, 5_000, 2]);
    const bodies = found.ours.map((node) => (node.kind === "plugin" ? node.body : undefined));
    expect(bodies).toEqual(Array.from({ length: 5_000 }, (_, index) => index >> 1));
    const back = await runtime.sessions.compare("fork", "source");
    expect([back.common, back.ours.length, back.theirs.length]).toEqual([head, 2, 5_000]);
  },
  20_000,
);

/** A store in memory that counts how many commits were read. */
function counting() {
  const store = memory();
  const view = store.view.bind(store);
  const read = { segments: 0 };
  store.view = async (...given) => {
    const found = await view(...given);
    read.segments += found.length;
    return found;
  };
  return { store, read };
}

test("S7 what two long sessions have in common is not read", async () => {
  const { store, read } = counting();
  await using runtime = await runningQuickly({ store });
  const source = await runtime.session("source");
  for (let index = 0; index < 300; index++) await source.append([{ kind: "plugin", type: "n", body: index }]);
  const fork = await source.fork({ id: "fork" });
  await source.append([{ kind: "plugin", type: "n", body: 0 }]);
  await fork.append([{ kind: "plugin", type: "n", body: 0 }]);
  read.segments = 0;
  expect(await runtime.sessions.compare("source", "fork")).toMatchObject({ ours: [{}], theirs: [{}] });
  expect(read.segments).toBeLessThan(100);
});

test("D7 what is changed between turns costs no reading of what is there already", async () => {
  const { store, read } = counting();
  await using runtime = await runningQuickly({ ...options, store });
  const session = await runtime.session();
  for (let turn = 0; turn < 100; turn++) await session.turn("#plain").result();
  read.segments = 0;
  await session.append([{ kind: "message", role: "user", text: "By the way." }]);
  await session.command(counter, "set", 5);
  await session.command(counter, "note", "n");
  await session.configure({ label: "L" });
  await session.tools.set("ping", "off");
  await session.turn("#plain").result();
  await session.compact();
  expect(read.segments).toBe(0);
  expect((await session.read()).messages).toEqual(windowOf(await allOf(session)));
});

// ── History ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test.each(KEPT)("S8 history goes back over all frames, page by page, %s", async (_, store) => {
  await using runtime = await runningQuickly({ ...options, store: store() });
  const session = await runtime.session();
  await makeHistory(session);
  const all = await session.history({ max: 1_000 });
  expect(all[0]?.id).toBe((await session.read()).head);
  expect(all.at(-1)?.parent).toBe(undefined);
  for (const [index, node] of all.entries()) expect(node.parent).toBe(all[index + 1]?.id);
  for (const max of [1, 2, 3, 7, 100]) {
    const pages: Node[] = [];
    for (let from = all[0]?.id as string | undefined; from !== undefined; from = pages.at(-1)?.parent)
      pages.push(...(await session.history({ from, max })));
    expect(pages).toEqual(all);
  }
  expect(await session.history()).toEqual(all.slice(0, 100));
  expect(all.map(({ kind }) => kind)).toContain("plugin");
});

test.each(KEPT)("S8 what came before a node is paged through by the last one of each page, %s", async (_, store) => {
  await using runtime = await runningQuickly({ ...options, store: store() });
  const session = await runtime.session();
  await makeHistory(session);
  const all = await session.history({ max: 1_000 });
  for (const max of [1, 3, 7]) {
    const found: Node[] = [];
    for (let page = await session.history({ max }); page.length > 0; ) {
      found.push(...page);
      page = await session.history({ max, before: page.at(-1)!.id });
    }
    expect(found).toEqual(all);
  }
  expect(await session.history({ before: all.at(-1)!.id })).toEqual([]);
  expect(await codeOf(() => session.history({ before: "x.0" }))).toBe("fork.unknown");
  expect(await codeOf(() => session.history({ from: all[0]!.id, before: all[0]!.id }))).toBe("options.invalid");
});

test.each(KEPT)("S8 a history of more than a page, of a fork, and of a session that has none, %s", async (_, store) => {
  await using runtime = await runningQuickly({ store: store() });
  const session = await runtime.session();
  expect(await session.history()).toEqual([]);
  for (let body = 0; body < 150; body++) await session.append([{ kind: "plugin", type: "n", body }]);
  expect(await session.history()).toHaveLength(100);
  expect(await session.history({ max: Infinity })).toHaveLength(150);
  const fork = await session.fork({ at: (await session.history())[10]!.id });
  expect(await fork.history({ max: 1_000 })).toEqual((await session.history({ max: 1_000 })).slice(10));
});

test.each(KEPT)("S8 a page that is wrong, or begins elsewhere, is typed, %s", async (_, store) => {
  await using runtime = await runningQuickly({ store: store() });
  const [session, other] = [await runtime.session(), await runtime.session()];
  await session.turn("1").result();
  await other.turn("My secret.").result();
  for (const max of [0, -1, Number.NaN, null])
    expect(await codeOf(() => session.history({ max: max as number })), String(max)).toBe("options.invalid");
  for (const from of ["", "nothing", "x.0", 5])
    expect(await codeOf(() => session.history({ from: from as string })), String(from)).toBe("fork.unknown");
  const { head: foreign } = await other.read();
  expect(await codeOf(() => session.history({ from: foreign }))).toBe("fork.unknown");
});

test.each(KEPT)(
  "S7 S8 a fork has no history after the node where it began, also of the same commit, %s",
  async (_, store) => {
    await using runtime = await runningQuickly({ store: store() });
    const source = await runtime.session();
    await source.append([1, 2, 3, 4].map((body) => ({ kind: "plugin", type: "n", body })));
    await source.append([{ kind: "plugin", type: "n", body: 5 }]);
    const nodes = await allOf(source);
    const fork = await source.fork({ at: nodes[1]!.id });
    for (const [index, { id: from }] of nodes.entries())
      if (index <= 1)
        expect(idsOf(await fork.history({ from }))).toEqual(idsOf(nodes.slice(0, index + 1)).toReversed());
      else expect(await codeOf(() => fork.history({ from })), `${index}`).toBe("fork.unknown");
  },
);

test("S8 paging through a history costs what it has, in a fork and over what was appended too", async () => {
  const { store, read } = counting();
  await using runtime = await runningQuickly({ store });
  const source = await runtime.session();
  for (let turn = 0; turn < 60; turn++) {
    await source.turn(`${turn}`).result();
    await source.append([{ kind: "plugin", type: "n", body: turn }]);
  }
  for (const session of [source, await source.fork()]) {
    read.segments = 0;
    const found: Node[] = [];
    for (let from = (await session.read()).head as string | undefined; from !== undefined; from = found.at(-1)?.parent)
      found.push(...(await session.history({ from, max: 10 })));
    expect(found).toHaveLength(180);
    expect(read.segments).toBeLessThan(18 * 2 * 32 + 200); // 18 pages.
  }
});
