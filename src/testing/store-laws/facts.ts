import assert from "node:assert/strict";
import { asCursor, asSessionId, nodeId, type SessionId } from "../../model/ids.ts";
import { type Message, text } from "../../model/message.ts";
import type { TurnOutcome } from "../../model/outcome.ts";
import { NO_USAGE } from "../../model/usage.ts";
import type { Change } from "../../stores/store.ts";
import {
  alice,
  assistant,
  begin,
  bob,
  commit,
  committed,
  ended,
  inputId,
  NOW,
  newSession,
  node,
  send,
  spent,
  stopped,
  turn,
  turnId,
  usage,
} from "../cast.ts";
import { law, refused, type StoreLaw } from "../law.ts";
import {
  apply,
  change,
  claim,
  drain,
  FACTS,
  FRAME,
  first,
  INJECT,
  notes,
  ODD,
  queue,
  said,
  state,
  stop,
  take,
  threeTurns,
  withdraw,
} from "./acts.ts";

export const factLaws: readonly StoreLaw[] = [
  law("acceptances and commits are facts, in order and complete", async (store) => {
    const lease = await first(store, "hello", { key: "k \u0000" });
    await queue(store, "more");
    const answer: TurnOutcome = {
      kind: "answered",
      message: { id: nodeId(lease.turnId, 1), ...assistant(text("b")) } as Message,
      text: "b",
    };
    const done = await commit(store, lease, { says: [said("hello"), "b"], outcome: answer, usage: usage(3) });
    const bare = await commit(store, await take(store), { says: [] });
    const [one, two, three, four] = await store.changes(undefined, { max: 10 });
    const hello = {
      ...{ inputId: inputId("hello"), turnId: turnId("hello"), key: "k \u0000" },
      ...{ at: NOW, text: "hello" },
    };
    assert.deepEqual(one, { cursor: one!.cursor, sessionId: alice, kind: "accepted", ...hello });
    const more = { inputId: inputId("more"), turnId: turnId("more") };
    assert.deepEqual(two, { cursor: two!.cursor, sessionId: alice, kind: "accepted", ...more });
    const turns = { sessionId: alice, kind: "committed", by: "turn", at: NOW + 5 };
    const nodes = [node("hello", 0), node("hello", 1)];
    assert.deepEqual(three, {
      cursor: done.cursor,
      ...turns,
      turnId: turnId("hello"),
      outcome: answer,
      usage: usage(3),
      nodes,
    });
    assert.deepEqual(four, {
      cursor: bare.cursor,
      ...turns,
      turnId: turnId("more"),
      outcome: stopped("well"),
      usage: NO_USAGE,
      nodes: [],
    });
    assert.equal(new Set([one!.cursor, two!.cursor, done.cursor, bare.cursor]).size, 4);
  }),
  law("a withdrawn input stays a fact with its key", async (store) => {
    await first(store);
    await queue(store, "more", { key: "k" });
    const [hello, before] = await store.changes(undefined, { max: 10 });
    await withdraw(store, "more");
    const told = await store.changes(undefined, { max: 10 });
    const more = { sessionId: alice, inputId: inputId("more"), turnId: turnId("more"), key: "k" };
    assert.deepEqual(told, [
      hello,
      { cursor: before!.cursor, kind: "accepted", ...more }, // The text of the input was deleted.
      { cursor: await store.latest(), kind: "withdrawn", ...more },
    ]);
    assert.deepEqual(await store.changes(before!.cursor, { session: alice, max: 10 }), told.slice(2));
    await queue(store, "other", { key: "k" });
    const keys = (await store.changes(undefined, { max: 10 })).flatMap((change) =>
      change.kind === "accepted" ? [change.key] : [],
    );
    assert.deepEqual(keys, [undefined, "k", "k"]);
  }),
  law("an operation is a fact like a turn, with its maker", async (store) => {
    await store.create(newSession(alice));
    const kinds = ["append", "configure", "compact", "command", "completion"] as const;
    const cursors: string[] = [];
    for (const by of kinds) {
      const entries = by === "append" || by === "compact" ? notes(by, "a", "#b") : [];
      cursors.push((await apply(store, by, { by, entries })).cursor);
    }
    cursors.push((await apply(store, "op \u0000", { plugins: state(1) })).cursor);
    const told = await store.changes(undefined, { max: 10 });
    assert.deepEqual(
      told,
      [...kinds, "op \u0000"].map((operation, index) => ({
        cursor: cursors[index],
        sessionId: alice,
        kind: "committed",
        by: kinds[index] ?? "command",
        at: NOW,
        operation,
        nodes: operation === "append" || operation === "compact" ? [nodeId(operation, 0), nodeId(operation, 1)] : [],
      })),
    );
    assert.deepEqual(await store.changes(asCursor(cursors[3]!), { max: 10 }), told.slice(4));
    assert.deepEqual(await store.changes(asCursor(cursors[3]!), { session: alice, max: 1 }), told.slice(4, 5));
  }),
  law("what made an operation is not what it is: it makes no conflict", async (store) => {
    await store.create(newSession(alice));
    const first = await apply(store, "op", { by: "append", entries: notes("op", "a") });
    assert.deepEqual(await apply(store, "op", { by: "command", entries: notes("op", "a") }), first);
    assert.deepEqual(await apply(store, "op", { entries: notes("op", "a") }), first);
    assert.deepEqual(
      (await store.changes(undefined, { max: 10 })).map((change) => change.kind === "committed" && change.by),
      ["append"],
    );
  }),
  law("an operation that was not kept is not told", async (store) => {
    const lease = await first(store);
    await store.apply(change("op"));
    await commit(store, lease);
    await store.apply(change("op", { base: 9 }));
    await apply(store, "op");
    await apply(store, "op");
    assert.equal((await store.changes(undefined, { max: 10 })).length, 3);
  }),
  law("facts name the frames among their nodes, of turns and of operations", async (store) => {
    await store.create(newSession(alice));
    const lease = await begin(store, "hello");
    const { entries } = ended(lease, { says: ["a", "b"] });
    await store.commit(lease, { ...ended(lease), entries: [entries[0]!, FRAME, entries[1]!, FRAME] });
    await apply(store, "op", { by: "compact", entries: [FRAME, ...notes("op", "c")] });
    await apply(store, "none", {
      entries: [{ at: NOW, kind: "plugin", plugin: "p", type: "t", body: { kind: "frame" } }],
    });
    const told = (await store.changes(undefined, { max: 10 })).slice(1);
    assert.deepEqual(
      told.map((change) => change.kind === "committed" && [change.nodes.length, change.frames]),
      [
        [4, [node("hello", 1), node("hello", 3)]],
        [2, [nodeId("op", 0)]],
        [1, undefined],
      ],
    );
  }),
  law("changes are returned after a cursor, a page at a time", async (store) => {
    await threeTurns(store);
    const all = await store.changes(undefined, { max: 100 });
    const read = [...(await store.changes(undefined, { max: 4 }))];
    for (;;) {
      const more = await store.changes(read.at(-1)?.cursor, { max: 4 });
      if (more.length === 0) break;
      read.push(...more);
    }
    assert.equal(all.length, 6);
    assert.deepEqual(read, all);
  }),
  law("changes can be read for one session", async (store) => {
    const lease = await first(store);
    const other = await first(store, "hi", { to: bob });
    const { cursor } = await commit(store, lease);
    await commit(store, other);
    const about = async (session: SessionId, after = asCursor("")) =>
      (await store.changes(after === "" ? undefined : after, { session, max: 10 })).map((change) => change.kind);
    assert.deepEqual(await about(alice), ["accepted", "committed"]);
    assert.deepEqual(await about(bob), ["accepted", "committed"]);
    assert.deepEqual(await about(bob, cursor), ["committed"]);
    assert.deepEqual(await about(alice, cursor), []);
  }),
  law("what changes nothing is not told", async (store) => {
    const lease = await first(store, "hello", { key: "k" });
    await send(store, "hello", { key: "k" });
    await store.cancel(lease.turnId, stop("r1"));
    await store.commit(lease, ended(lease));
    await commit(store, lease, { cancel: "r1" });
    await commit(store, lease, { cancel: "r1" });
    assert.equal((await store.changes(undefined, { max: 10 })).length, 2);
  }),
  law("a turn kept as a branch is reported as committed", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one");
    const lease = await begin(store, "late");
    const { cursor, branch } = await committed(store.commit(lease, ended(lease, { usage: usage(9) })));
    assert.deepEqual((await store.changes(undefined, { max: 10 })).at(-1), {
      cursor,
      sessionId: alice,
      kind: "committed",
      by: "turn",
      at: NOW + 5,
      turnId: lease.turnId,
      outcome: stopped("well"),
      usage: usage(9),
      branch,
      nodes: [branch],
    });
  }),
  law(
    "the changes of a session are returned after a turn that was long open, and after inputs that waited",
    async (store) => {
      const lease = await first(store);
      for (const words of ["one", "two", "three"]) await queue(store, words);
      await withdraw(store, "two");
      await commit(store, lease);
      await drain(store);
      await turn(store, "last");
      const all = await store.changes(undefined, { max: 100 });
      assert.equal(all.length, 10);
      for (const [index, { cursor }] of all.entries())
        for (const max of [1, 2, 100])
          for (const which of [{}, { session: alice }, { tree: alice }])
            assert.deepEqual(await store.changes(cursor, { ...which, max }), all.slice(index + 1, index + 1 + max));
    },
  ),
  law("the changes of a tree are those of a session and of all that descend from it, in one order", async (store) => {
    const [child, grandchild, other] = ["child", "grandchild", "other"].map(asSessionId) as [
      SessionId,
      SessionId,
      SessionId,
    ];
    const descends = async (id: SessionId, parentId: SessionId) =>
      void (await store.create({ ...newSession(id), parentId }));
    await store.create(newSession(alice));
    await descends(child, alice);
    await descends(grandchild, child);
    await store.create(newSession(other));
    await store.fork(alice, newSession(bob)); // A fork is not a child.
    const long = await begin(store, "long", { to: child });
    for (const [index, to] of [alice, grandchild, other, bob, grandchild, alice].entries())
      await turn(store, `turn ${index}`, {}, { to });
    await apply(store, "op", { sessionId: grandchild, entries: notes("op", "a") });
    await commit(store, long);
    const all = await store.changes(undefined, { max: 100 });
    const among = (...ids: readonly SessionId[]) => all.filter(({ sessionId }) => ids.includes(sessionId));
    for (const [tree, facts] of [
      [alice, among(alice, child, grandchild)],
      [child, among(child, grandchild)],
      [grandchild, among(grandchild)],
      [bob, among(bob)],
    ] as const) {
      assert.deepEqual(await store.changes(undefined, { tree, max: 100 }), facts);
      for (const [index, { cursor }] of facts.entries())
        for (const max of [1, 2, 3])
          assert.deepEqual(await store.changes(cursor, { tree, max }), facts.slice(index + 1, index + 1 + max));
    }
    assert.deepEqual(await store.changes(undefined, { tree: asSessionId("nobody"), max: 9 }), []);
  }),
  law("a tree that bites its tail has each session once", async (store) => {
    await store.create({ ...newSession(alice), parentId: bob });
    await store.create({ ...newSession(bob), parentId: alice });
    await turn(store, "hello", { spent: [spent("turn", 1)] });
    assert.equal((await store.changes(undefined, { tree: bob, max: 10 })).length, 2);
    assert.deepEqual(await store.booked(alice), [{ sessionId: alice, ...spent("turn", 1) }]);
  }),
  law("the facts of a deleted session are gone, and a cursor at one of them holds", async (store) => {
    const lease = await first(store, "hello");
    const { cursor } = await first(store, "hi", { to: bob }).then((lease) => commit(store, lease));
    await commit(store, lease);
    await apply(store, "op", { sessionId: bob });
    await store.delete(bob);
    assert.deepEqual(
      (await store.changes(undefined, { max: 10 })).map(({ sessionId, kind }) => [sessionId, kind]),
      [
        [alice, "accepted"],
        [alice, "committed"],
      ],
    );
    assert.deepEqual(
      (await store.changes(cursor, { max: 10 })).map(({ kind }) => kind),
      ["committed"],
    );
    assert.deepEqual(await store.changes(undefined, { session: bob, max: 10 }), []);
  }),
  law("a deleted session cuts what descends from it off the tree, and is a root still", async (store) => {
    const carol = asSessionId("carol");
    await store.create(newSession(alice));
    await store.create({ ...newSession(bob), parentId: alice });
    await store.create({ ...newSession(carol), parentId: bob });
    await turn(store, "hello", { spent: [spent("turn", 1)] }, { to: carol });
    await store.delete(bob);
    assert.deepEqual(await store.changes(undefined, { tree: alice, max: 10 }), []);
    assert.equal((await store.changes(undefined, { tree: bob, max: 10 })).length, 2);
    assert.equal((await store.booked(bob)).length, 1);
  }),
  law("the latest fact is where those to come begin, and is never given back", async (store) => {
    assert.equal(await store.latest(), undefined);
    await store.create(newSession(alice));
    assert.equal(await store.latest(), undefined);
    const lease = await begin(store, "hello");
    const accepted = (await store.changes(undefined, { max: 10 })).at(-1)?.cursor;
    assert.equal(await store.latest(), accepted);
    const done = await commit(store, lease);
    assert.equal(await store.latest(), done.cursor);
    const op = await apply(store, "op");
    assert.equal(await store.latest(), op.cursor);
    await store.delete(alice);
    assert.equal(await store.latest(), op.cursor);
    assert.deepEqual(await store.changes(op.cursor, { max: 10 }), []);
    await first(store, "hi", { to: bob });
    assert.equal((await store.changes(op.cursor, { max: 10 })).length, 1);
  }),
  law(
    "an acceptance is the same fact while its input waits, once a turn takes it, and after the end",
    async (store) => {
      const metadata = { user: "u-1", odd: ODD };
      const lease = await first(store, "hello", { at: NOW + 1, metadata });
      await queue(store, "steer", { place: "boundary", at: NOW + 2, metadata });
      await queue(store, "psst", { ...INJECT, at: NOW + 3 });
      await queue(store, "next", { at: NOW + 4, metadata });
      const accepted = async () => (await store.changes(undefined, FACTS)).filter(({ kind }) => kind === "accepted");
      const before = await accepted();
      assert.deepEqual(
        before.map((fact) => fact.kind === "accepted" && [fact.text, fact.at, fact.metadata]),
        [
          ["hello", NOW + 1, metadata],
          ["steer", NOW + 2, metadata],
          ["psst", NOW + 3, undefined],
          ["next", NOW + 4, metadata],
        ],
      );
      assert.deepEqual(await claim(store, lease), ["steer", "psst"]);
      assert.deepEqual(await accepted(), before);
      const words = ["hello", "steer", "psst"];
      const opened = { startedAt: NOW + 8, model: "house/model", rounds: 1, metadata };
      const summary = { ...opened, acceptedAt: NOW + 1 };
      await commit(store, lease, { says: [...words.map(said), "well"], inputs: words.map(inputId), summary });
      assert.deepEqual(await accepted(), before);
      const next = await take(store);
      assert.deepEqual(await accepted(), before);
      const message = { id: node("next", 1), ...assistant(text("well")) };
      await commit(store, next, {
        says: [said("next"), "well"],
        outcome: { kind: "answered", message, text: "well" },
        inputs: [inputId("next")],
        summary: { ...opened, acceptedAt: NOW + 4 },
        journal: { events: await store.journal(next.turnId, 0) },
      });
      assert.deepEqual(await accepted(), before);
      assert.equal(await store.turns.forget([next.turnId]), 1);
      assert.deepEqual(await accepted(), before);
    },
  ),
  law("the acceptance of a turn without notes keeps its time", async (store) => {
    await store.create(newSession(alice));
    const times = [NOW, NOW + 0.25, 2 ** 53 + 2];
    for (const [nth, at] of times.entries()) {
      const lease = await begin(store, `${nth}`, { at });
      const before = (await store.changes(undefined, FACTS)).at(-1);
      const message = { id: node(`${nth}`, 1), ...assistant(text("well")) };
      await commit(store, lease, {
        says: [said(`${nth}`), "well"],
        outcome: { kind: "answered", message, text: "well" },
        inputs: [inputId(`${nth}`)],
        summary: { startedAt: at + 40, acceptedAt: at, model: "house/model", rounds: 1 },
        journal: { events: await store.journal(lease.turnId, 0) },
      });
      const { summary } = (await store.turns.get(lease.turnId))!.end!;
      assert.deepEqual(summary, { startedAt: at + 40, acceptedAt: at, model: "house/model", rounds: 1 });
      assert.deepEqual((await store.changes(undefined, FACTS)).at(-2), before);
      assert.equal(before?.kind === "accepted" && before.at, at);
    }
  }),
  law(
    "each withdrawal is one fact, after all that came before it, also of inputs that are withdrawn at once",
    async (store) => {
      const lease = await first(store);
      await first(store, "hi", { to: bob });
      for (const words of ["a", "b", "c"]) await queue(store, words, { key: words });
      await queue(store, "d", { ...INJECT, to: bob });
      await store.inputs.withdraw(alice, { from: inputId("b") });
      await store.inputs.withdraw(bob, { id: inputId("d") });
      await withdraw(store, "a");
      const latest = await store.latest();
      await store.inputs.withdraw(alice, { from: inputId("hello") }); // One is taken, the others are withdrawn already.
      assert.equal(await store.latest(), latest);
      await commit(store, lease);
      const all = await store.changes(undefined, FACTS);
      assert.deepEqual(
        all.slice(6).map((fact) => ("inputId" in fact ? [fact.kind, fact.inputId, fact.turnId] : [fact.kind])),
        [
          ...["b", "c"].map((words) => ["withdrawn", inputId(words), turnId(words)]),
          ["withdrawn", inputId("d"), undefined],
          ["withdrawn", inputId("a"), turnId("a")],
          ["committed"],
        ],
      );
      const cursors = all.map(({ cursor }) => Number(cursor));
      assert.deepEqual(
        cursors,
        [...new Set(cursors)].sort((one, other) => one - other),
      );
      for (const which of [{}, { session: alice }, { tree: alice }, { session: bob }]) {
        const read: Change[] = [];
        for (let page: readonly Change[] = []; read.length === 0 || page.length > 0; read.push(...page))
          page = await store.changes(read.at(-1)?.cursor, { ...which, max: 1 });
        const id = "session" in which ? which.session : which.tree;
        assert.deepEqual(
          read,
          all.filter(({ sessionId }) => id === undefined || sessionId === id),
        );
      }
    },
  ),
  law("a withdrawal that is deleted with its session leaves its number used", async (store) => {
    await commit(store, await first(store));
    await store.create(newSession(bob));
    await queue(store, "psst", INJECT);
    await withdraw(store, "psst");
    const latest = await store.latest();
    await store.delete(alice);
    assert.equal(await store.latest(), latest);
    assert.deepEqual(await store.changes(undefined, FACTS), []);
    await begin(store, "hi", { to: bob });
    assert.deepEqual(
      (await store.changes(latest, FACTS)).map(({ kind, sessionId }) => [kind, sessionId]),
      [["accepted", bob]],
    );
    assert.ok(Number(await store.latest()) > Number(latest));
  }),
  law("an invalid cursor is refused", async (store) => {
    await first(store);
    await refused("cursor.unknown", () => store.changes(asCursor("nonsense"), { max: 10 }));
    await refused("cursor.unknown", () => store.changes(asCursor(""), { session: alice, max: 10 }));
    await refused("cursor.unknown", () => store.changes(asCursor("2"), { tree: alice, max: 10 }));
  }),
];
