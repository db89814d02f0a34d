import assert from "node:assert/strict";
import { asBlobHash, asCallId, type SessionId } from "../../model/ids.ts";
import { type Part, text } from "../../model/message.ts";
import type { Store, StoredTurn, TurnSummary } from "../../stores/store.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { alice, assistant, begin, bob, commit, NOW, newSession, opening, send, slept, turn, turnId } from "../cast.ts";
import { law, type StoreLaw } from "../law.ts";
import { BOUNDARY, claim, first, ODD, open, parked, queue, take, waits, withdraw } from "./acts.ts";

const summary: TurnSummary = { startedAt: NOW, model: "house/model", rounds: 2, metadata: { user: "u-1" } };

const list = (store: Store, page: { readonly session?: SessionId; readonly before?: string } = {}, max = 100) =>
  store.turns.list({ max, ...page });
const ids = (turns: readonly StoredTurn[]): readonly string[] => turns.map((each) => each.turnId);

/** Events whose texts are in nodes too, or look like the references that a store can use for them. */
const LONG = "a text that is long enough to be stored once";
const ARGS = { path: "a/long/path/that/also/stands/in/a/node.txt", __proto__x: 1 };
const PARTS: readonly Part[] = [
  text(LONG),
  { kind: "toolCall", callId: asCallId("c1"), name: "read", input: ARGS },
  text("~0"),
];
const ODD_TEXTS = ["~", "~0", "~~", "~=0", "~zz", ODD, "", LONG, `${LONG} and more`];
const odd: TurnEvent[] = [
  slept("r1.sleep"),
  ...ODD_TEXTS.map((value, nth): TurnEvent => {
    const json = JSON.parse(`{ "__proto__": ${JSON.stringify(value)}, "list": [${JSON.stringify(value)}, null, 1.5] }`);
    return { kind: "cancelled", at: NOW + nth, requestId: `stop-${nth}`, reason: JSON.stringify(json) };
  }),
  { kind: "cancelled", at: NOW + 90, requestId: "~0", reason: LONG },
];

export const turnLaws: readonly StoreLaw[] = [
  law("turns are listed from the latest accepted to the first, page by page", async (store) => {
    await store.create(newSession(alice));
    await store.create(newSession(bob));
    for (const words of ["one", "two", "three"]) await turn(store, words);
    await turn(store, "hi", {}, { to: bob });
    await turn(store, "four");
    const all = await list(store);
    assert.deepEqual(ids(all), ["four", "hi", "three", "two", "one"].map(turnId));
    const paged: StoredTurn[] = [];
    for (let page = await list(store, {}, 2); page.length > 0; ) {
      assert.ok(page.length <= 2);
      paged.push(...page);
      page = await list(store, { before: page.at(-1)!.cursor }, 2);
    }
    assert.deepEqual(paged, all);
  }),
  law("the list of a session has its turns alone", async (store) => {
    await store.create(newSession(alice));
    await store.create(newSession(bob));
    await turn(store, "one");
    await turn(store, "hi", {}, { to: bob });
    await turn(store, "two");
    assert.deepEqual(ids(await list(store, { session: alice })), [turnId("two"), turnId("one")]);
    const [latest] = await list(store, { session: alice }, 1);
    assert.deepEqual(ids(await list(store, { session: alice, before: latest!.cursor })), [turnId("one")]);
    assert.deepEqual(await list(store, { session: "nobody" as SessionId }), []);
  }),
  law("an input that a turn took, or that was withdrawn, is not a turn", async (store) => {
    const lease = await first(store);
    await queue(store, "joined", { place: "boundary" });
    await queue(store, "gone");
    await queue(store, "next");
    await claim(store, lease);
    await withdraw(store, "gone");
    assert.deepEqual(ids(await list(store)), [turnId("next"), turnId("hello")]);
    await commit(store, lease, { inputs: [] });
    assert.equal(await store.turns.get(turnId("gone")), undefined);
    assert.equal(await store.turns.get(turnId("never")), undefined);
  }),
  law("a turn is listed as waiting, open, parked and ended", async (store) => {
    const stateOf = async () => (await store.turns.get(turnId("hello")))?.state;
    await store.create(newSession(alice));
    const running = await begin(store, "busy");
    await queue(store, "hello");
    assert.equal(await stateOf(), "waiting");
    await commit(store, running);
    const lease = await take(store);
    assert.equal(await stateOf(), "open");
    await store.park(lease, parked(lease, { waits: [] }), NOW);
    assert.equal(await stateOf(), "parked");
    await commit(store, await take(store));
    assert.equal(await stateOf(), "ended");
    assert.equal((await list(store)).length, 2);
  }),
  law("an ended turn has its time, outcome, usage and summary", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "plain", {});
    await turn(store, "full", { summary, at: NOW + 7 });
    const plain = await store.turns.get(turnId("plain"));
    assert.equal(plain?.end?.summary, undefined);
    assert.equal(plain?.end?.journalBytes, undefined);
    const { end } = (await store.turns.get(turnId("full")))!;
    assert.deepEqual(end?.summary, summary);
    assert.equal(end?.at, NOW + 7);
    assert.equal(end?.outcome, "stopped");
    assert.equal(end?.code, "law");
    const [newest] = await list(store);
    assert.deepEqual(newest?.end, end);
  }),
  law("a kept journal is returned as it was recorded", async (store) => {
    const lease = await first(store);
    const events = [...(await store.journal(lease.turnId, 0)), ...odd];
    const setting = asBlobHash("setting");
    await commit(store, lease, { says: [LONG, assistant(...PARTS)], summary, journal: { setting, events } });
    assert.deepEqual(await store.turns.journal(lease.turnId), { setting, events });
    assert.ok((await store.turns.get(lease.turnId))!.end!.journalBytes! >= 0);
  }),
  law("a turn that ended without a journal has none, nor has an open one", async (store) => {
    const lease = await first(store);
    await store.append(lease, 1, [slept("r1.sleep")], NOW);
    assert.equal(await store.turns.journal(lease.turnId), undefined);
    await commit(store, lease);
    assert.equal(await store.turns.journal(lease.turnId), undefined);
    assert.equal(await store.turns.journal(turnId("never")), undefined);
  }),
  law("forgetting removes a journal once and nothing else", async (store) => {
    await store.create(newSession(alice));
    for (const words of ["one", "two"]) await turn(store, words, { summary, journal: { events: odd } });
    const open = await begin(store, "three");
    const before = await store.turns.get(turnId("one"));
    assert.equal(await store.turns.forget([turnId("one"), turnId("never"), open.turnId]), 1);
    assert.equal(await store.turns.forget([turnId("one")]), 0);
    assert.equal(await store.turns.journal(turnId("one")), undefined);
    assert.deepEqual((await store.turns.journal(turnId("two")))?.events, odd);
    const { journalBytes: _, ...end } = before!.end!;
    assert.deepEqual(await store.turns.get(turnId("one")), { ...before, end });
    assert.equal((await store.terminal(turnId("one")))?.outcome.kind, "stopped");
    await commit(store, open);
  }),
  law("an input keeps its metadata until its turn opens, and at a boundary", async (store) => {
    const metadata = { user: "u-1", odd: ODD };
    const lease = await first(store, "hello", { metadata });
    await queue(store, "joined", { place: "boundary", metadata });
    await queue(store, "next", { metadata });
    assert.deepEqual(
      (await store.inputs.list(alice)).map((input) => input.metadata),
      [metadata, metadata],
    );
    const claimed = await store.inputs.claim(lease, BOUNDARY, 10);
    assert.deepEqual(
      claimed.map((each) => "metadata" in each && each.metadata),
      [metadata],
    );
    await commit(store, lease, { inputs: [] });
    const seen: unknown[] = [];
    const answer = await store.open(alice, lease.owner, NOW, (input, ...rest) => {
      seen.push(input.metadata);
      return opening(input, ...rest);
    });
    assert.equal(answer.kind, "opened");
    assert.deepEqual(seen, [metadata]);
  }),
  law("another call with the same key and other metadata is the same input", async (store) => {
    await store.create(newSession(alice));
    await begin(store, "hello", { key: "k", metadata: { nth: 1 } });
    const repeat = await send(store, "hello", { key: "k", metadata: { nth: 2 } });
    assert.equal(repeat.kind, "known");
  }),
  law("the turns of a deleted session are deleted", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one", { summary, journal: { events: odd } });
    await store.delete(alice);
    assert.deepEqual(await list(store), []);
    assert.equal(await store.turns.get(turnId("one")), undefined);
    assert.equal(await store.turns.journal(turnId("one")), undefined);
    assert.equal(await store.turns.forget([turnId("one")]), 0);
  }),
  law("a turn whose wait is open is listed as open until it is parked", async (store) => {
    const lease = await waits(store);
    assert.equal((await list(store))[0]?.state, "open");
    await store.park(lease, parked(lease), NOW);
    assert.equal((await list(store))[0]?.state, "parked");
    assert.equal((await open(store, undefined, NOW)).kind, "parked");
  }),
];
