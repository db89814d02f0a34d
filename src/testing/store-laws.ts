// long: one list of laws
import assert from "node:assert/strict";
import type { Awaitable } from "../model/awaitable.ts";
import {
  asBlobHash,
  asCallId,
  asCursor,
  asEffectName,
  asSessionId,
  asTurnId,
  asWaitKey,
  type NodeId,
  nodeId,
  type SessionId,
  type WaitKey,
} from "../model/ids.ts";
import { defined, type Json } from "../model/json.ts";
import { type Draft, type Message, type Part, text, textOf } from "../model/message.ts";
import type { Entry } from "../model/node.ts";
import type { TurnOutcome } from "../model/outcome.ts";
import { addUsage, NO_USAGE } from "../model/usage.ts";
import { type WaitAnswer, waitIdOf } from "../model/wait.ts";
import {
  type CancelRequest,
  type Committed,
  LEASE_MS,
  type Lease,
  type Mail,
  type NewWait,
  type OpenAnswer,
  type Opening,
  type Owner,
  type ParkedTurn,
  type PluginSnapshots,
  type Segment,
  type SessionChange,
  type Standing,
  type Store,
  type StoredWait,
  type ViewPage,
  type Withdrawal,
} from "../stores/store.ts";
import type { TurnEvent } from "../turn/event.ts";
import {
  alice,
  ann,
  approval,
  assistant,
  begin,
  ben,
  bob,
  commit,
  committed,
  ended,
  inputId,
  LAPSED,
  NOW,
  newInput,
  newSession,
  newWait,
  node,
  opening,
  requireHeld,
  type Sending,
  SKEWED,
  said,
  send,
  slept,
  spent,
  stopped,
  turn,
  turnId,
  usage,
  wordsOf,
} from "./cast.ts";
import { jobLaws } from "./job-laws.ts";
import { law, refused, type StoreLaw } from "./law.ts";
import { lineLaws } from "./line-laws.ts";
import { liveLaws } from "./live-laws.ts";
import { triggerLaws } from "./trigger-laws.ts";

export type { StoreLaw } from "./law.ts";

const BOUNDARY = asEffectName("r1.boundary");
const CALL = asEffectName("r1.call.0");
const WAIT = asWaitKey("wait-key");
const NEVER = asTurnId("turn-never-begun");

const failsToOpen: Opening = () => {
  throw new Error("This opening fails.");
};

async function queue(store: Store, words: string, sending: Sending = {}): Promise<void> {
  assert.equal((await send(store, words, sending)).kind, "queued");
}

async function first(store: Store, words = "hello", sending: Sending = {}): Promise<Lease> {
  await store.create(newSession(sending.to ?? alice));
  return begin(store, words, sending);
}

const open = async (store: Store, by = ben, now = LAPSED, session = alice): Promise<OpenAnswer> =>
  store.open(session, by, now, opening);

/** Opens a session that must have something to run: a turn that nobody holds, or an input that waits. */
async function take(store: Store, by = ben, now = LAPSED, session = alice): Promise<Lease> {
  const answer = await open(store, by, now, session);
  if (answer.kind !== "resumed" && answer.kind !== "opened") return assert.fail(`the session is ${answer.kind}`);
  return answer.lease;
}

const state = (value: Json): PluginSnapshots => ({ notes: { version: "1", revision: 1, state: value } });
const calls = (name: string): Draft =>
  assistant({ kind: "toolCall", callId: asCallId(name), name: "search", input: {} });
const returns = (name: string): Draft => ({
  role: "tool",
  parts: [{ kind: "toolResult", callId: asCallId(name), name: "search", status: "ok", parts: [text("found")] }],
});

/** Runs whatever waits, one turn after the other. Returns the words of the inputs in the order in which they ran. */
async function drain(store: Store, session = alice): Promise<readonly string[]> {
  const run: string[] = [];
  for (;;) {
    const answer = await open(store, ben, LAPSED, session);
    if (answer.kind !== "opened") return run;
    run.push(textOf(answer.opened.input.parts));
    await commit(store, answer.lease);
  }
}

const waiting = async (store: Store, session = alice): Promise<readonly string[]> =>
  (await store.inputs.list(session)).map((input) => textOf(input.message.parts));

/** What was claimed: the words of inputs, the names of appends. */
const wordsIn = (claimed: Awaited<ReturnType<Store["inputs"]["claim"]>>): readonly string[] =>
  claimed.map((each) => ("operation" in each ? each.operation : textOf(each.message.parts)));

const claim = async (store: Store, lease: Lease, boundary = BOUNDARY, max = 10): Promise<readonly string[]> =>
  wordsIn(await store.inputs.claim(lease, boundary, max));

/** Claims inputs, including those that wait for turns of their own. */
const claimAll = async (store: Store, lease: Lease, boundary = BOUNDARY, max = 10): Promise<readonly string[]> =>
  wordsIn(await store.inputs.claim(lease, boundary, max, true));

/** Withdraws one input and returns what became of it; undefined when there is none. */
const withdraw = async (store: Store, words: string, from = alice): Promise<Withdrawal["answer"] | undefined> =>
  (await store.inputs.withdraw(from, { id: inputId(words) }))[0]?.answer;

const deferred = (key = WAIT): TurnEvent => ({ kind: "deferred", at: NOW, effect: CALL, key, until: NOW + 10 });
/** Opens a turn that waits for one answer until `NOW + 10`. */
async function waits(store: Store, words = "hello", sending: Sending = {}, key = WAIT): Promise<Lease> {
  const lease = await first(store, words, sending);
  await store.append(lease, 1, [deferred(key)], NOW, [newWait(key)]);
  return lease;
}
const yes = { kind: "value", value: "yes" } as const;
const no = { kind: "value", value: "no" } as const;
const late = { kind: "timeout" } as const;
const revoked = { kind: "revoked" } as const;
/** Answers a wait, and returns what became of that. */
const answer = async (store: Store, given: WaitAnswer, key = WAIT, now = NOW): Promise<string> =>
  (await store.waits.resolve(key, given, now)).said;
/** A session that somebody holds, for no longer than so. */
function requireBusy(answer: OpenAnswer, holder: Owner, mostMs: number): void {
  assert.ok(answer.kind === "busy");
  assert.deepEqual(answer.holder, holder);
  assert.ok(answer.forMs > 0 && answer.forMs <= mostMs, `It is held for ${answer.forMs} ms.`);
}

/** What came with mail. */
const newsIn = ({ cancel, resolved }: Mail): Partial<Mail> => defined({ cancel, resolved });

const resolvedOf = async (store: Store, lease: Lease): Promise<Mail["resolved"]> =>
  (await store.renew(lease, NOW)).resolved;

const work = async (store: Store, now = NOW, max = 10): Promise<readonly SessionId[]> =>
  (await store.agenda(now, max)).sessions;

const stop = (requestId: string): CancelRequest => ({ requestId, reason: "Enough.", at: NOW + 1 });

const sessionLaws = [
  law("a new session is empty", async (store) => {
    await store.create(newSession(alice));
    assert.deepEqual(await store.load(alice), {
      id: alice,
      createdAt: NOW,
      config: { model: "house/model" },
      revision: 0,
      plugins: {},
      usage: NO_USAGE,
      ledger: [],
      turns: 0,
    });
    assert.deepEqual(await store.view(alice), []);
    assert.deepEqual(await waiting(store), []);
  }),
  law("a session keeps its parent and its configuration", async (store) => {
    const config = { model: "other/model", instructions: "Be brief.", settings: { temperature: 0.5 } };
    const made = await store.create({ id: bob, parentId: alice, config, at: NOW });
    assert.equal(made.parentId, alice);
    assert.deepEqual((await store.load(bob))?.config, config);
  }),
  law("creating a session again answers it as it is", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "hello");
    const again = await store.create({ id: alice, config: { model: "another/model" }, at: NOW + 9 });
    assert.deepEqual(again, await store.load(alice));
    assert.equal(again.revision, 1);
    assert.equal(again.config.model, "house/model");
  }),
  law("a session that was never created is not there", async (store) => {
    assert.equal(await store.load(alice), undefined);
    assert.deepEqual(await store.list(), []);
  }),
  law("whether a session is there can be asked: made, forked, never made, deleted", async (store) => {
    assert.equal(await store.has(alice), false);
    await store.create(newSession(alice));
    assert.equal(await store.has(alice), true);
    await turn(store, "hello");
    await store.fork(alice, newSession(bob));
    assert.deepEqual([await store.has(alice), await store.has(bob)], [true, true]);
    await store.delete(alice);
    assert.deepEqual([await store.has(alice), await store.has(bob)], [false, true]);
  }),
  law("sessions are listed by id, a page at a time", async (store) => {
    for (const id of ["d", "a", "c", "b"]) await store.create(newSession(asSessionId(id)));
    const ids = async (page?: { readonly after?: SessionId; readonly max?: number }) =>
      (await store.list(page)).map((session) => session.id);
    assert.deepEqual(await ids(), ["a", "b", "c", "d"]);
    assert.deepEqual(await ids({ max: 2 }), ["a", "b"]);
    assert.deepEqual(await ids({ after: asSessionId("b"), max: 1 }), ["c"]);
    assert.deepEqual(await ids({ after: asSessionId("bb") }), ["c", "d"]);
    assert.deepEqual(await ids({ after: asSessionId("d") }), []);
  }),
];

const relativeLaws = [
  law("a session begins with the plugin states it is given, and counts from nothing all the same", async (store) => {
    const made = await store.create({ ...newSession(alice), plugins: state("given") });
    assert.deepEqual([made.plugins, made.revision], [state("given"), 0]);
    assert.deepEqual(await store.load(alice), made);
    await turn(store, "hello", { plugins: state("given") });
    assert.deepEqual((await store.load(alice))?.plugins, state("given"));
  }),
  law("a session that is there keeps its states when it is created again with others", async (store) => {
    await store.create({ ...newSession(alice), plugins: state("first") });
    const again = await store.create({ ...newSession(alice), plugins: state("second") });
    assert.deepEqual(again.plugins, state("first"));
    assert.deepEqual(
      (await store.fork(alice, { ...newSession(alice), plugins: state("third") })).plugins,
      state("first"),
    );
    assert.deepEqual((await store.load(alice))?.plugins, state("first"));
  }),
  law("the states that a fork is given lie over those that it copies, there and in its own forks", async (store) => {
    const other = { other: { version: "1", revision: 1, state: "copied" } };
    await store.create(newSession(alice));
    await turn(store, "one", { plugins: { ...state("copied"), ...other } });
    const at = node("one", 0);
    const fork = await store.fork(alice, { ...newSession(bob), plugins: state("given") }, at);
    assert.deepEqual(fork.plugins, { ...state("given"), ...other });
    assert.deepEqual((await store.load(alice))?.plugins, { ...state("copied"), ...other });
    await turn(store, "two", { plugins: other }, { to: bob });
    for (const [name, node] of [
      ["carol", at],
      ["dave", nodeId(turnId("two"), 0)],
    ] as const) {
      const { plugins } = await store.fork(bob, newSession(asSessionId(name)), node);
      assert.deepEqual(plugins, name === "carol" ? fork.plugins : other);
    }
  }),
  law("a fork says what it was forked from and where, for ever", async (store) => {
    await threeTurns(store);
    const [carol, dave] = [asSessionId("carol"), asSessionId("dave")];
    const atHead = await store.fork(alice, newSession(bob));
    assert.deepEqual(atHead.origin, { sessionId: alice, at: node("three", 1) });
    const inside = await store.fork(alice, newSession(carol), node("two", 0));
    assert.deepEqual(inside.origin, { sessionId: alice, at: node("two", 0) });
    await turn(store, "in bob", {}, { to: bob });
    const ofFork = await store.fork(bob, newSession(dave), node("one", 1));
    assert.deepEqual(ofFork.origin, { sessionId: bob, at: node("one", 1) });
    await store.delete(alice);
    assert.deepEqual((await store.load(bob))?.origin, { sessionId: alice, at: node("three", 1) });
    assert.deepEqual((await store.fork(carol, newSession(bob))).origin, { sessionId: alice, at: node("three", 1) });
  }),
  law(
    "a fork of an empty session has an origin without a place, and a session that is no fork has none",
    async (store) => {
      assert.equal("origin" in (await store.create(newSession(alice))), false);
      assert.deepEqual((await store.fork(alice, newSession(bob))).origin, { sessionId: alice });
      assert.equal("origin" in (await store.create({ ...newSession(asSessionId("c")), parentId: alice })), false);
    },
  ),
  law("a fork may begin at a node of an operation with any name", async (store) => {
    await store.create(newSession(alice));
    const operation = "op \u0000 \ud800";
    await apply(store, operation, { entries: notes(operation, "a", "b") });
    const { origin } = await store.fork(alice, newSession(bob), nodeId(operation, 0));
    assert.deepEqual(origin, { sessionId: alice, at: nodeId(operation, 0) });
    assert.deepEqual((await store.load(bob))?.origin, origin);
  }),
  law("the children of a session are listed by id, a page at a time", async (store) => {
    for (const id of ["d", "a", "c", "b"]) await store.create({ ...newSession(asSessionId(id)), parentId: alice });
    await store.create(newSession(alice));
    await store.create({ ...newSession(asSessionId("grandchild")), parentId: asSessionId("a") });
    await store.fork(alice, newSession(asSessionId("fork")));
    const ids = async (page: Parameters<Store["list"]>[0]) => (await store.list(page)).map((session) => session.id);
    assert.deepEqual(await ids({ parent: alice }), ["a", "b", "c", "d"]);
    assert.deepEqual(await ids({ parent: alice, max: 2 }), ["a", "b"]);
    assert.deepEqual(await ids({ parent: alice, after: asSessionId("b"), max: 1 }), ["c"]);
    await store.delete(asSessionId("b"));
    assert.deepEqual(await ids({ parent: alice, max: Infinity }), ["a", "c", "d"]);
    assert.deepEqual(await ids({ parent: bob }), []);
    await store.delete(alice);
    assert.deepEqual(await ids({ parent: alice }), ["a", "c", "d"]);
  }),
  law(
    "the forks of a session are listed by id, those that are its children apart from those that are not",
    async (store) => {
      await store.create(newSession(alice));
      await store.fork(alice, newSession(asSessionId("y")));
      await store.fork(alice, { ...newSession(asSessionId("x")), parentId: alice });
      await store.fork(asSessionId("x"), newSession(asSessionId("z")));
      await store.create({ ...newSession(asSessionId("child")), parentId: alice });
      const ids = async (page: Parameters<Store["list"]>[0]) => (await store.list(page)).map((session) => session.id);
      assert.deepEqual(await ids({ origin: alice }), ["x", "y"]);
      assert.deepEqual(await ids({ origin: alice, after: asSessionId("x") }), ["y"]);
      assert.deepEqual(await ids({ origin: alice, parent: alice }), ["x"]);
      assert.deepEqual(await ids({ origin: asSessionId("x") }), ["z"]);
      assert.deepEqual(await ids({ origin: asSessionId("z") }), []);
      assert.deepEqual(await store.list({ origin: alice, max: 1 }), [await store.load(asSessionId("x"))]);
    },
  ),
];

const acceptanceLaws = [
  law("an input to an idle session opens its turn in the same write", async (store) => {
    await store.create(newSession(alice));
    const receipt = await send(store, "hello");
    assert.ok(receipt.kind === "opened");
    const { lease, opened } = receipt;
    assert.deepEqual([receipt.inputId, receipt.turnId], [inputId("hello"), turnId("hello")]);
    assert.deepEqual([lease.sessionId, lease.turnId, lease.owner], [alice, turnId("hello"), ann]);
    assert.deepEqual(opened, { ...opening(newInput("hello"), {}, { plugins: {} }), generation: lease.generation });
    assert.deepEqual(await store.journal(turnId("hello"), 0), [opened]);
    assert.deepEqual(await waiting(store), []);
  }),
  law("a lease holds from the time its input was accepted", async (store) => {
    requireHeld(await first(store, "hello", { at: NOW + 7 }));
    assert.equal((await open(store, ben, LAPSED + 6)).kind, "busy");
    assert.equal((await open(store, ben, LAPSED + 7)).kind, "resumed");
  }),
  law("an input for a boundary opens a turn too when the session is idle", async (store) => {
    const lease = await first(store, "hello", { place: "boundary" });
    assert.equal(lease.turnId, turnId("hello"));
  }),
  law("an input to a session with an open turn waits", async (store) => {
    await first(store);
    const receipt = await send(store, "more");
    assert.deepEqual(receipt, { kind: "queued", inputId: inputId("more"), turnId: turnId("more") });
    assert.deepEqual(await waiting(store), ["more"]);
    assert.deepEqual(await store.journal(turnId("more"), 0), []);
  }),
  law("an input waits behind those that wait, though no turn is open", async (store) => {
    const lease = await first(store);
    await queue(store, "second");
    await commit(store, lease);
    await queue(store, "third");
    assert.deepEqual(await drain(store), ["second", "third"]);
  }),
  law("the same key and content is the same input", async (store) => {
    await first(store);
    await queue(store, "more", { key: "k" });
    const again = await store.accept(
      { ...newInput("more", { key: "k" }), id: inputId("copy"), turnId: turnId("copy") },
      ben,
      opening,
      100,
    );
    assert.deepEqual(again, { kind: "known", inputId: inputId("more"), turnId: turnId("more") });
    assert.deepEqual(await waiting(store), ["more"]);
  }),
  law("the same input sent again without a key is the same input", async (store) => {
    await first(store);
    await queue(store, "more");
    assert.equal((await send(store, "more")).kind, "known");
    assert.equal((await send(store, "hello")).kind, "known");
    assert.deepEqual(await waiting(store), ["more"]);
  }),
  law("a key with other content is refused, and nothing is kept of it", async (store) => {
    await first(store, "hello", { key: "k" });
    await refused("input.conflict", () => send(store, "other", { key: "k" }));
    assert.deepEqual(await waiting(store), []);
    assert.equal((await send(store, "hello", { key: "k" })).kind, "known");
    assert.equal(await withdraw(store, "other"), undefined);
  }),
  law("a key stays known after its turn has ended", async (store) => {
    await commit(store, await first(store, "hello", { key: "k" }));
    assert.equal((await send(store, "hello", { key: "k" })).kind, "known");
    await refused("input.conflict", () => send(store, "other", { key: "k" }));
    assert.equal((await open(store)).kind, "idle");
  }),
  law("a key is known in its session only", async (store) => {
    await first(store, "hello", { key: "k" });
    const lease = await first(store, "other", { key: "k", to: bob });
    assert.equal(lease.sessionId, bob);
  }),
  law("a full queue refuses an input and keeps nothing of it", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { pendingMax: 1 });
    await refused("input.full", () => send(store, "two", { pendingMax: 1, key: "k" }));
    assert.deepEqual(await waiting(store), ["one"]);
    await commit(store, lease);
    assert.deepEqual(await drain(store), ["one"]);
    assert.equal((await send(store, "two", { pendingMax: 1, key: "k" })).kind, "opened");
  }),
  law("a full queue still knows what it holds", async (store) => {
    await first(store);
    await queue(store, "one", { key: "k", pendingMax: 1 });
    assert.equal((await send(store, "one", { key: "k", pendingMax: 1 })).kind, "known");
  }),
  law("a session that may hold no waiting inputs still opens turns", async (store) => {
    await store.create(newSession(alice));
    assert.equal((await send(store, "hello", { pendingMax: 0 })).kind, "opened");
    await refused("input.full", () => send(store, "more", { pendingMax: 0 }));
  }),
  law("an input to no session is refused", async (store) => {
    await refused("session.unknown", () => send(store, "hello"));
  }),
  law("an opening that fails leaves nothing behind", async (store) => {
    await store.create(newSession(alice));
    await assert.rejects(async () => store.accept(newInput("hello", { key: "k" }), ann, failsToOpen, 100), /fails/);
    assert.equal((await open(store)).kind, "idle");
    assert.deepEqual(await store.changes(undefined, { max: 10 }), []);
    assert.equal((await send(store, "hello", { key: "k" })).kind, "opened");
  }),
];

const queueLaws = [
  law("waiting inputs are listed whole, oldest first", async (store) => {
    await first(store);
    await queue(store, "one", { place: "boundary", key: "k" });
    await queue(store, "two");
    const [one, two] = await store.inputs.list(alice);
    assert.ok(one && two && one.seq < two.seq);
    assert.deepEqual(one, { ...newInput("one", { place: "boundary", key: "k" }), seq: one.seq });
    assert.deepEqual(two, { ...newInput("two"), seq: two.seq });
  }),
  law("the oldest waiting input becomes the next turn, whatever its place", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { place: "boundary" });
    await queue(store, "two");
    await commit(store, lease);
    const answer = await open(store);
    assert.ok(answer.kind === "opened");
    assert.equal(answer.lease.turnId, turnId("one"));
    requireHeld(answer.lease);
    assert.equal((await open(store, ann, LAPSED + LEASE_MS - 1)).kind, "busy");
    const { generation } = answer.lease;
    assert.deepEqual(answer.opened, {
      ...opening(newInput("one", { place: "boundary" }), {}, { plugins: {} }),
      generation,
    });
    assert.deepEqual(await store.journal(turnId("one"), 0), [answer.opened]);
    assert.deepEqual(await waiting(store), ["two"]);
  }),
  law("an input stays in the queue when its opening fails", async (store) => {
    const lease = await first(store);
    await queue(store, "more");
    await commit(store, lease);
    await assert.rejects(async () => store.open(alice, ben, NOW, failsToOpen), /fails/);
    assert.deepEqual(await drain(store), ["more"]);
  }),
  law("a session with nothing to do is idle", async (store) => {
    await store.create(newSession(alice));
    assert.deepEqual(await open(store), { kind: "idle" });
    await turn(store, "hello");
    assert.deepEqual(await open(store), { kind: "idle" });
  }),
  law("a session that is not there cannot be opened", async (store) => {
    await refused("session.unknown", () => open(store));
  }),
  law("the queues of sessions are their own", async (store) => {
    await first(store, "hello");
    await first(store, "hi", { to: bob });
    await queue(store, "for alice");
    await queue(store, "for bob", { to: bob });
    assert.deepEqual(await waiting(store, alice), ["for alice"]);
    assert.deepEqual(await waiting(store, bob), ["for bob"]);
  }),
  law("a withdrawn input is never run", async (store) => {
    const lease = await first(store);
    await queue(store, "one");
    await queue(store, "two");
    assert.equal(await withdraw(store, "one"), "withdrawn");
    assert.deepEqual(await waiting(store), ["two"]);
    await commit(store, lease);
    assert.deepEqual(await drain(store), ["two"]);
  }),
  law("a key is held from its acceptance on, and no longer once its input is withdrawn", async (store) => {
    await store.create(newSession(alice));
    assert.equal(await store.inputs.holds(alice, "k"), false);
    const lease = await begin(store, "hello", { key: "k" });
    await queue(store, "more", { key: "l" });
    assert.deepEqual([await store.inputs.holds(alice, "k"), await store.inputs.holds(alice, "l")], [true, true]);
    assert.equal(await withdraw(store, "more"), "withdrawn");
    await commit(store, lease);
    assert.deepEqual([await store.inputs.holds(alice, "k"), await store.inputs.holds(alice, "l")], [true, false]);
  }),
  law("withdrawing again answers the same", async (store) => {
    await first(store);
    await queue(store, "more");
    assert.equal(await withdraw(store, "more"), "withdrawn");
    assert.equal(await withdraw(store, "more"), "withdrawn");
  }),
  law("an input that a turn has taken cannot be withdrawn", async (store) => {
    const lease = await first(store);
    assert.equal(await withdraw(store, "hello"), "taken");
    await queue(store, "more", { place: "boundary" });
    await claim(store, lease);
    assert.equal(await withdraw(store, "more"), "taken");
    await commit(store, lease, { inputs: [inputId("more")] });
    assert.equal(await withdraw(store, "hello"), "ended");
    assert.equal(await withdraw(store, "more"), "ended");
  }),
  law("only the session's own inputs can be withdrawn", async (store) => {
    await first(store);
    await queue(store, "more");
    await store.create(newSession(bob));
    assert.equal(await withdraw(store, "more", bob), undefined);
    assert.equal(await withdraw(store, "none"), undefined);
    assert.deepEqual(await waiting(store), ["more"]);
  }),
  law("a withdrawn key is free: with other content, or the same, it is a new input", async (store) => {
    const lease = await first(store);
    await queue(store, "more", { key: "k" });
    await withdraw(store, "more");
    await queue(store, "other", { key: "k" });
    await refused("input.conflict", () => send(store, "third", { key: "k" }));
    await withdraw(store, "other");
    const again = { ...newInput("other", { key: "k" }), id: inputId("again"), turnId: turnId("again") };
    assert.equal((await store.accept(again, ann, opening, 100)).kind, "queued");
    assert.equal((await store.accept(again, ann, opening, 100)).kind, "known");
    await commit(store, lease);
    assert.deepEqual(await drain(store), ["other"]);
  }),
  law("a write of a withdrawn input that comes again is known, and does not run", async (store) => {
    const lease = await first(store);
    await queue(store, "more", { key: "k" });
    await withdraw(store, "more");
    assert.equal((await send(store, "more", { key: "k" })).kind, "known");
    await commit(store, lease);
    assert.deepEqual(await drain(store), []);
  }),
  law("an input is withdrawn by its key, and told by its id and its turn", async (store) => {
    const lease = await first(store);
    const key = "a key with \u0000 and \ud800";
    await queue(store, "one", { key });
    await queue(store, "two", { key: "k" });
    const withdrawn = [{ inputId: inputId("one"), turnId: turnId("one"), answer: "withdrawn" }];
    assert.deepEqual(await store.inputs.withdraw(alice, { key }), withdrawn);
    assert.deepEqual(await store.inputs.withdraw(alice, { key }), withdrawn);
    assert.deepEqual(await waiting(store), ["two"]);
    assert.deepEqual(await store.inputs.withdraw(alice, { key: "another" }), []);
    await store.create(newSession(bob));
    assert.deepEqual(await store.inputs.withdraw(bob, { key: "k" }), []);
    await commit(store, lease);
    assert.deepEqual(await drain(store), ["two"]);
  }),
  law("a key that was withdrawn and used again names the latest input", async (store) => {
    await first(store);
    await queue(store, "one", { key: "k" });
    await withdraw(store, "one");
    await queue(store, "two", { key: "k" });
    assert.deepEqual(await store.inputs.withdraw(alice, { key: "k" }), [
      { inputId: inputId("two"), turnId: turnId("two"), answer: "withdrawn" },
    ]);
    assert.deepEqual(await waiting(store), []);
  }),
  law("an input is withdrawn with all that came after it, oldest first", async (store) => {
    const lease = await first(store);
    await queue(store, "zero");
    await queue(store, "one", { key: "k" });
    await queue(store, "two", { place: "boundary" });
    await first(store, "hi", { to: bob });
    await queue(store, "for bob", { to: bob });
    await queue(store, "three");
    const from = { from: inputId("one") };
    const answers = ["one", "two", "three"].map((words) => ({
      inputId: inputId(words),
      turnId: turnId(words),
      answer: "withdrawn",
    }));
    assert.deepEqual(await store.inputs.withdraw(alice, from), answers);
    assert.deepEqual(await waiting(store), ["zero"]);
    assert.deepEqual(await waiting(store, bob), ["for bob"]);
    assert.deepEqual(await claim(store, lease), []);
    assert.deepEqual(await store.inputs.withdraw(alice, from), answers);
    await queue(store, "after", { key: "k" });
    assert.deepEqual(await waiting(store), ["zero", "after"]);
    assert.deepEqual(await store.inputs.withdraw(alice, { from: inputId("for bob") }), []);
    assert.deepEqual(await store.inputs.withdraw(asSessionId("nobody"), from), []);
  }),
  law("of all that came after an input, those that were taken or have ended are told and left alone", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one");
    const lease = await begin(store, "two");
    await queue(store, "three", { place: "boundary" });
    await claim(store, lease);
    await queue(store, "four");
    const answers = await store.inputs.withdraw(alice, { from: inputId("one") });
    assert.deepEqual(
      answers.map(({ inputId, answer }) => [inputId, answer]),
      [
        [inputId("one"), "ended"],
        [inputId("two"), "taken"],
        [inputId("three"), "taken"],
        [inputId("four"), "withdrawn"],
      ],
    );
    assert.deepEqual(await claim(store, lease), ["three"]);
    await commit(store, lease, { inputs: [inputId("three")] });
    assert.equal(await withdraw(store, "three"), "ended");
    assert.deepEqual(await said(store), ["one", "well"]);
  }),
  law("withdrawing makes room in a full queue", async (store) => {
    await first(store);
    await queue(store, "one", { pendingMax: 1 });
    await withdraw(store, "one");
    await queue(store, "two", { pendingMax: 1 });
  }),
];

const leaseLaws = [
  law("a live lease keeps everyone out, its owner too", async (store) => {
    await first(store);
    for (const by of [ben, ann]) {
      requireBusy(await open(store, by, NOW + 1), ann, LEASE_MS - 1);
      requireBusy(await open(store, by, LAPSED - 1), ann, 1);
    }
  }),
  law("a lapsed lease is taken over with the next generation and the whole journal", async (store) => {
    const lease = await first(store);
    await store.append(lease, 1, [slept("a"), slept("b")], NOW);
    const journal = await store.journal(lease.turnId, 0);
    const answer = await open(store, ben, LAPSED);
    assert.ok(answer.kind === "resumed");
    const { sessionId, turnId } = lease;
    const generation = lease.generation + 1;
    assert.deepEqual(answer.lease, {
      sessionId,
      turnId,
      generation,
      owner: ben,
      heldMs: answer.lease.heldMs,
      revision: 0,
    });
    assert.deepEqual(answer.journal, journal);
    assert.equal(journal.length, 3);
  }),
  law("a takeover leaves waiting inputs where they are", async (store) => {
    await first(store);
    await queue(store, "more");
    assert.equal((await take(store)).turnId, turnId("hello"));
    assert.deepEqual(await waiting(store), ["more"]);
  }),
  law("a released turn is resumed at once", async (store) => {
    const lease = await first(store);
    await store.release(lease);
    const answer = await open(store, ben, NOW + 1);
    assert.ok(answer.kind === "resumed");
    assert.equal(answer.lease.generation, lease.generation + 1);
  }),
  law("releasing what another has taken over does nothing", async (store) => {
    const lease = await first(store);
    await take(store);
    await store.release(lease);
    requireBusy(await open(store, ann, LAPSED + 1), ben, LEASE_MS - 1);
  }),
  law("releasing a lease of a turn that has ended does nothing", async (store) => {
    const lease = await first(store);
    await commit(store, lease);
    await begin(store, "more");
    await store.release(lease);
    assert.equal((await open(store, ben, LAPSED - 1)).kind, "busy");
  }),
  law("renewing holds the session for longer", async (store) => {
    const lease = await first(store);
    requireHeld(await store.renew(lease, NOW + 10));
    assert.equal((await open(store, ben, LAPSED)).kind, "busy");
    assert.equal((await open(store, ben, LAPSED + 10)).kind, "resumed");
  }),
  law("a renewal that comes late takes nothing back", async (store) => {
    const lease = await first(store);
    await store.renew(lease, NOW + 50);
    await store.renew(lease, NOW + 10);
    assert.equal((await open(store, ben, LAPSED + 49)).kind, "busy");
    await store.append(lease, 1, [slept("a")], NOW + 90);
    await store.renew(lease, NOW + 60);
    assert.equal((await open(store, ben, LAPSED + 89)).kind, "busy");
  }),
  law("any append renews", async (store) => {
    const lease = await first(store);
    requireHeld(await store.append(lease, 1, [slept("a")], NOW + 10));
    assert.equal((await open(store, ben, LAPSED)).kind, "busy");
  }),
  law(
    "whatever the clock of a caller says, its lease holds for a while, and for the time of a lease at most",
    async (store) => {
      for (const [nth, now] of SKEWED.entries()) {
        const to = asSessionId(`session ${nth}`);
        const lease = await first(store, `hello ${nth}`, { to, at: now });
        requireHeld(lease);
        for (const [before, then] of SKEWED.entries()) {
          requireHeld(await store.append(lease, before + 1, [slept(`a${before}`)], then));
          requireHeld(await store.renew(lease, then));
        }
        await store.release(lease);
        requireHeld(await take(store, ben, now, to));
      }
    },
  ),
  law("a store does not say that nothing waits for a boundary while something does, or was claimed", async (store) => {
    const waits: readonly ((name: string, to: SessionId) => unknown)[] = [
      (name, to) => queue(store, name, { to, place: "boundary" }),
      (name, to) => queue(store, name, { to, place: "injected" }),
      (name, to) => queueAppend(store, name, { sessionId: to }),
    ];
    for (const [nth, come] of waits.entries()) {
      const to = asSessionId(`session ${nth}`);
      const lease = await first(store, `hello ${nth}`, { to });
      await store.append(lease, 1, [slept("a")], NOW);
      await come(`more ${nth}`, to);
      assert.notEqual((await store.renew(lease, NOW)).pending, false);
      assert.notEqual((await store.append(lease, 2, [slept("b")], NOW)).pending, false);
      assert.equal((await store.inputs.claim(lease, BOUNDARY, 1)).length, 1);
      assert.notEqual((await store.renew(lease, NOW)).pending, false);
      assert.notEqual((await store.append(lease, 3, [slept("c")], NOW)).pending, false);
      // Whoever goes on with the turn is to find the claim again.
      await store.release(lease);
      const taken = await take(store, ben, NOW, to);
      assert.notEqual((await store.append(taken, 4, [slept("d")], NOW)).pending, false);
    }
  }),
  law("a lease that lapsed unnoticed still writes until someone takes it over", async (store) => {
    const lease = await first(store);
    await store.append(lease, 1, [slept("a")], LAPSED + 5);
    assert.equal((await open(store, ben, LAPSED + 6)).kind, "busy");
    assert.equal((await commit(store, lease)).revision, 1);
  }),
  law("after a takeover the old holder cannot append", async (store) => {
    const lease = await first(store);
    await take(store);
    await refused("lease.lost", () => store.append(lease, 1, [slept("a")], LAPSED, [newWait(WAIT)]));
    assert.equal((await store.journal(lease.turnId, 0)).length, 1);
    assert.equal(await answer(store, yes), "unknown");
  }),
  law("after a takeover the old holder cannot repeat an append either", async (store) => {
    const lease = await first(store);
    await store.append(lease, 1, [slept("a")], NOW);
    await take(store);
    await refused("lease.lost", () => store.append(lease, 1, [slept("a")], LAPSED));
  }),
  law("after a takeover the old holder cannot renew", async (store) => {
    const lease = await first(store);
    await take(store);
    await refused("lease.lost", () => store.renew(lease, LAPSED + 9));
    requireBusy(await open(store, ann, LAPSED + 9), ben, LEASE_MS - 9);
  }),
  law("after a takeover the old holder cannot claim", async (store) => {
    const lease = await first(store);
    await queue(store, "more", { place: "boundary" });
    await take(store);
    await refused("lease.lost", () => claim(store, lease));
    assert.deepEqual(await waiting(store), ["more"]);
  }),
  law("after a takeover the old holder cannot commit", async (store) => {
    const lease = await first(store);
    const before = await store.load(alice);
    const taken = await take(store);
    await refused("lease.lost", () => store.commit(lease, ended(lease)));
    assert.deepEqual(await store.load(alice), before);
    assert.equal(await store.terminal(lease.turnId), undefined);
    assert.equal((await commit(store, taken)).revision, 1);
  }),
  law("every lease on a session has a higher generation than those before", async (store) => {
    const one = await first(store, "one");
    const two = await take(store);
    await commit(store, two);
    const three = await begin(store, "three");
    assert.equal(two.generation, one.generation + 1);
    assert.ok(three.generation > two.generation);
  }),
  law("the lease ends with its turn", async (store) => {
    const lease = await first(store);
    await commit(store, lease);
    await refused("lease.lost", () => store.append(lease, 1, [slept("a")], NOW));
    await refused("lease.lost", () => store.renew(lease, NOW));
    await refused("lease.lost", () => claim(store, lease));
  }),
];

const foundLaws = [
  law("a session says which turn is open, whoever holds it", async (store) => {
    const openTurn = async (session = alice) => (await store.load(session))?.openTurn;
    const lease = await first(store);
    await store.create(newSession(bob));
    assert.equal(await openTurn(), lease.turnId);
    assert.deepEqual(
      (await store.list()).map((session) => session.openTurn),
      [lease.turnId, undefined],
    );
    assert.equal((await store.create(newSession(alice))).openTurn, lease.turnId);
    assert.equal("openTurn" in (await store.fork(alice, newSession(asSessionId("carol")))), false);
    await queue(store, "more");
    await store.release(lease);
    assert.equal(await openTurn(), lease.turnId);
    const taken = await take(store);
    assert.equal(await openTurn(), lease.turnId);
    await commit(store, taken);
    assert.equal("openTurn" in (await store.load(alice))!, false);
    await take(store);
    assert.equal(await openTurn(), turnId("more"));
  }),
  law("what became of a turn is found by its id", async (store) => {
    const found = async (words: string) => (await store.find(turnId(words)))?.state;
    const lease = await first(store);
    assert.deepEqual(await store.find(lease.turnId), { sessionId: alice, state: "open" });
    for (const words of ["one", "two"]) await queue(store, words, { place: "boundary" });
    await queue(store, "three");
    assert.deepEqual([await found("one"), await found("three")], ["waiting", "waiting"]);
    await withdraw(store, "three");
    await claim(store, lease);
    assert.deepEqual([await found("one"), await found("three")], ["taken", "withdrawn"]);
    await store.release(lease);
    const taken = await take(store);
    assert.deepEqual([await found("hello"), await found("two")], ["open", "taken"]);
    await commit(store, taken, { inputs: [inputId("one")] });
    assert.deepEqual([await found("hello"), await found("one"), await found("two")], ["ended", "ended", "waiting"]);
    await take(store);
    assert.deepEqual([await found("two"), await found("three")], ["open", "withdrawn"]);
  }),
  law("a turn that is not there, or whose session was deleted, is not found", async (store) => {
    await first(store);
    assert.equal(await store.find(NEVER), undefined);
    await store.delete(alice);
    assert.equal(await store.find(turnId("hello")), undefined);
  }),
];

const journalLaws = [
  law("events are read in the order they were appended", async (store) => {
    const lease = await first(store);
    const opened = (await store.journal(lease.turnId, 0))[0];
    await store.append(lease, 1, [slept("a"), slept("b")], NOW);
    await store.append(lease, 3, [slept("c")], NOW);
    assert.deepEqual(await store.journal(lease.turnId, 0), [opened, slept("a"), slept("b"), slept("c")]);
    assert.deepEqual(await store.journal(lease.turnId, 2), [slept("b"), slept("c")]);
    assert.deepEqual(await store.journal(lease.turnId, 4), []);
  }),
  law("the same append again changes nothing", async (store) => {
    const lease = await first(store);
    await store.append(lease, 1, [slept("a"), slept("b")], NOW);
    await store.append(lease, 3, [slept("c")], NOW);
    requireHeld(await store.append(lease, 1, [slept("a"), slept("b")], NOW + 10));
    assert.deepEqual(await store.journal(lease.turnId, 1), [slept("a"), slept("b"), slept("c")]);
  }),
  law("an append of no events writes its waits and renews", async (store) => {
    const lease = await first(store);
    requireHeld(await store.append(lease, 0, [], NOW + 10, [newWait(WAIT)]));
    assert.equal((await store.journal(lease.turnId, 0)).length, 1);
    assert.equal(await answer(store, yes), "accepted");
  }),
  law("an append that would leave a gap is refused", async (store) => {
    const lease = await first(store);
    await refused("append.conflict", () => store.append(lease, 2, [slept("b")], NOW, [newWait(WAIT)]));
    assert.deepEqual(await store.journal(lease.turnId, 1), []);
    assert.equal(await answer(store, yes), "unknown");
  }),
  law("other content at the same place is refused", async (store) => {
    const lease = await first(store);
    await store.append(lease, 1, [slept("a"), slept("b")], NOW);
    await refused("append.conflict", () => store.append(lease, 1, [slept("x"), slept("b")], NOW));
    await refused("append.conflict", () => store.append(lease, 2, [slept("b"), slept("c")], NOW));
    await refused("append.conflict", () => store.append(lease, 0, [slept("opened")], NOW));
    assert.deepEqual(await store.journal(lease.turnId, 1), [slept("a"), slept("b")]);
  }),
  law("a list that its caller goes on using is kept as it was given", async (store) => {
    const lease = await first(store);
    const events = [slept("a")];
    await store.append(lease, 1, events, NOW);
    events.push(slept("b"));
    await store.append(lease, 2, [slept("c")], NOW);
    assert.deepEqual(await store.journal(lease.turnId, 1), [slept("a"), slept("c")]);
  }),
  law("a journal that was read does not grow", async (store) => {
    const lease = await first(store);
    const answer = await open(store);
    assert.ok(answer.kind === "resumed");
    await store.append(answer.lease, 1, [slept("a")], NOW);
    assert.equal(answer.journal.length, 1);
    assert.equal((await store.journal(lease.turnId, 0)).length, 2);
  }),
  law("the journal ends with its turn", async (store) => {
    const lease = await first(store);
    await store.append(lease, 1, [slept("a")], NOW);
    await commit(store, lease);
    assert.deepEqual(await store.journal(lease.turnId, 0), []);
    assert.deepEqual(await store.journal(NEVER, 0), []);
  }),
];

const commitLaws = [
  law("a commit moves everything at once", async (store) => {
    const lease = await first(store);
    const plugins = state({ count: 1 });
    const done = await commit(store, lease, { says: ["one", "two"], plugins, usage: usage(3) });
    assert.equal(done.head, nodeId(lease.turnId, 1));
    assert.equal(done.revision, 1);
    assert.equal(done.branch, undefined);
    const session = await store.load(alice);
    assert.deepEqual(
      [session?.head, session?.revision, session?.turns, session?.plugins, session?.usage],
      [done.head, 1, 1, plugins, usage(3)],
    );
    assert.deepEqual(await said(store), ["one", "two"]);
    assert.equal((await open(store)).kind, "idle");
  }),
  law("nothing moves before the commit", async (store) => {
    await store.create(newSession(alice));
    const before = await store.load(alice);
    const lease = await begin(store, "hello");
    await store.append(lease, 1, [slept("a")], NOW);
    assert.deepEqual(await store.load(alice), { ...before, openTurn: lease.turnId });
    assert.equal(await store.terminal(lease.turnId), undefined);
  }),
  law("how a turn ended is kept", async (store) => {
    const lease = await first(store);
    const done = await commit(store, lease, { at: NOW + 8, outcome: stopped("bye"), usage: usage(2) });
    assert.deepEqual(await store.terminal(lease.turnId), {
      sessionId: alice,
      turnId: lease.turnId,
      at: NOW + 8,
      outcome: stopped("bye"),
      usage: usage(2),
      committed: done,
    });
    assert.equal(await store.terminal(NEVER), undefined);
  }),
  law("the same commit again is answered by the first receipt and counts once", async (store) => {
    const lease = await first(store);
    const turn = ended(lease, { usage: usage(3) });
    const done = await committed(store.commit(lease, turn));
    assert.deepEqual(await store.commit(lease, turn), done);
    const session = await store.load(alice);
    assert.deepEqual([session?.revision, session?.turns, session?.usage], [1, 1, usage(3)]);
  }),
  law("the same commit again is answered by the first receipt after later turns too", async (store) => {
    const lease = await first(store);
    const turn1 = ended(lease);
    const done = await committed(store.commit(lease, turn1));
    await turn(store, "more");
    assert.deepEqual(await store.commit(lease, turn1), done);
  }),
  law("when a turn ended is not what it came to: the clock makes no conflict", async (store) => {
    const lease = await first(store);
    const done = await committed(store.commit(lease, ended(lease)));
    assert.deepEqual(await store.commit(lease, ended(lease, { at: NOW + 99 })), done);
    assert.equal((await store.terminal(lease.turnId))?.at, NOW + 5);
  }),
  law("an old holder that commits what was committed is given the receipt", async (store) => {
    const lease = await first(store);
    const taken = await take(store);
    const done = await committed(store.commit(taken, ended(taken)));
    assert.deepEqual(await store.commit(lease, ended(lease)), done);
  }),
  law("another commit of an ended turn is a conflict, and the first stands", async (store) => {
    const lease = await first(store);
    const done = await commit(store, lease, { says: ["first"] });
    for (const other of [
      { says: ["second"] },
      { outcome: stopped("bye") },
      { usage: usage(1) },
      { plugins: state(1) },
    ]) {
      await refused("store.conflict", () => store.commit(lease, ended(lease, { says: ["first"], ...other })));
    }
    assert.deepEqual(await said(store), ["first"]);
    assert.deepEqual((await store.terminal(lease.turnId))?.committed, done);
  }),
  law("a commit without nodes counts and leaves the head", async (store) => {
    await store.create(newSession(alice));
    const bare = await turn(store, "zero", { says: [] });
    assert.deepEqual([bare.revision, bare.head], [1, undefined]);
    const { head } = await turn(store, "one");
    const done = await turn(store, "two", { says: [], plugins: state(2) });
    assert.deepEqual([done.head, done.revision, done.branch], [head, 3, undefined]);
    const session = await store.load(alice);
    assert.deepEqual([session?.head, session?.revision, session?.plugins], [head, 3, state(2)]);
    assert.deepEqual(await said(store), ["one"]);
  }),
  law("the usage of a session is the sum of its turns", async (store) => {
    await store.create(newSession(alice));
    const spent = { input: 1, cacheRead: 2, cacheWrite: 3, output: 4, reasoning: 5, unknownCalls: 6 };
    await turn(store, "one", { usage: spent });
    await turn(store, "two", { usage: usage(7) });
    const session = await store.load(alice);
    assert.deepEqual(session?.usage, addUsage(spent, usage(7)));
    assert.deepEqual([session?.turns, session?.revision], [2, 2]);
  }),
  law("estimated usage is kept apart from the reported one, in the session and in its ledger", async (store) => {
    await store.create(newSession(alice));
    const guessed = { ...usage(7), unknownCalls: 1, estimatedInput: 20, estimatedOutput: 3 };
    const row = { source: "turn", model: "law/model", calls: 1 };
    await turn(store, "one", { usage: guessed, spent: [{ ...row, usage: guessed }] });
    await turn(store, "two", { usage: usage(1), spent: [{ ...row, usage: usage(1) }] });
    await turn(store, "three", { usage: guessed, spent: [{ ...row, usage: guessed }] });
    const sum = addUsage(addUsage(guessed, usage(1)), guessed);
    assert.deepEqual([sum.estimatedInput, sum.estimatedOutput, sum.input], [40, 6, 15]);
    const session = await store.load(alice);
    assert.deepEqual([session?.usage, session?.ledger], [sum, [{ ...row, usage: sum, calls: 3 }]]);
    assert.deepEqual(await store.booked(alice), [{ sessionId: alice, ...row, usage: sum, calls: 3 }]);
  }),
  law("plugin states are replaced as a whole", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one", { plugins: { ...state(1), other: { version: "2", revision: 4, state: null } } });
    await turn(store, "two", { plugins: state(2) });
    assert.deepEqual((await store.load(alice))?.plugins, state(2));
  }),
  law("the next input is opened only after the commit, on the new head", async (store) => {
    const lease = await first(store);
    await queue(store, "more");
    assert.equal((await open(store, ben, NOW)).kind, "busy");
    await commit(store, lease, { says: ["one"] });
    assert.equal((await commit(store, await take(store), { says: ["two"] })).branch, undefined);
    assert.deepEqual(await said(store), ["one", "two"]);
  }),
  law("nodes whose list goes on growing are kept as they were given", async (store) => {
    const lease = await first(store);
    const turn = ended(lease, { says: ["one"] });
    await store.commit(lease, turn);
    (turn.entries as Entry[]).push(...turn.entries);
    assert.deepEqual(await said(store), ["one"]);
    await refused("fork.unknown", () => store.view(alice, { from: nodeId(lease.turnId, 1) }));
  }),
  law("what was loaded does not change with the next commit", async (store) => {
    await store.create(newSession(alice));
    const before = await store.load(alice);
    await turn(store, "hello", { usage: usage(1) });
    assert.deepEqual([before?.revision, before?.head, before?.usage], [0, undefined, NO_USAGE]);
  }),
  law("a commit against a moved head becomes a branch and moves nothing", async (store) => {
    await store.create(newSession(alice));
    const { head } = await turn(store, "one", { plugins: state(1), usage: usage(1) });
    const before = await store.load(alice);
    const lease = await begin(store, "late");
    // Without a base: the turn ran on an empty session, so for it the head has moved.
    const turn2 = ended(lease, { says: ["late", "later"], plugins: state(9), usage: usage(9) });
    const kept = await committed(store.commit(lease, turn2));
    assert.deepEqual([kept.branch, kept.head, kept.revision], [nodeId(lease.turnId, 1), head, 1]);
    assert.deepEqual(await store.load(alice), before);
    assert.deepEqual(await said(store), ["one"]);
  }),
  law("a branch can be read, off the head it ran on", async (store) => {
    await store.create(newSession(alice));
    const one = await turn(store, "one");
    await turn(store, "two");
    const lease = await begin(store, "late");
    const { branch } = await commit(store, lease, { says: ["late"], base: one.head! });
    assert.deepEqual(await said(store, alice, branch), ["one", "late"]);
    assert.deepEqual(await said(store), ["one", "two"]);
  }),
  law("a turn kept as a branch has ended", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one");
    const lease = await begin(store, "late");
    await queue(store, "more", { place: "boundary" });
    await claim(store, lease);
    const late = ended(lease, { inputs: [inputId("more")], usage: usage(9) });
    const kept = await committed(store.commit(lease, late));
    assert.deepEqual(await store.commit(lease, late), kept);
    const terminal = await store.terminal(lease.turnId);
    assert.deepEqual([terminal?.committed, terminal?.usage], [kept, usage(9)]);
    assert.equal((await open(store)).kind, "idle");
  }),
];

const cancelLaws = [
  law("a cancel reaches the running turn by its mail", async (store) => {
    const lease = await first(store);
    const request = stop("r1");
    assert.deepEqual(await store.cancel(lease.turnId, request), { kind: "requested", request });
    assert.deepEqual((await store.renew(lease, NOW)).cancel, request);
    await store.append(lease, 1, [slept("a")], NOW);
    assert.deepEqual((await store.renew(lease, NOW)).cancel, request);
  }),
  law("a turn that nobody cancelled has no cancel in its mail", async (store) => {
    const lease = await first(store);
    await queue(store, "more");
    await store.cancel(turnId("more"), stop("r1"));
    assert.equal((await store.renew(lease, NOW)).cancel, undefined);
  }),
  law("the first cancel wins", async (store) => {
    const lease = await first(store);
    await store.cancel(lease.turnId, stop("r1"));
    const again = await store.cancel(lease.turnId, stop("r2"));
    assert.deepEqual(again, { kind: "already-requested", request: stop("r1") });
    assert.deepEqual((await store.renew(lease, NOW)).cancel, stop("r1"));
  }),
  law("a commit that has not seen the cancel is reopened, and nothing moves", async (store) => {
    const lease = await first(store);
    const before = await store.load(alice);
    await queue(store, "more", { place: "boundary" });
    await claim(store, lease);
    await store.cancel(lease.turnId, stop("r1"));
    const turn = ended(lease, { inputs: [inputId("more")] });
    assert.deepEqual(await store.commit(lease, turn), { kind: "reopen", cancel: stop("r1") });
    assert.deepEqual(await store.load(alice), before);
    assert.equal(await store.terminal(lease.turnId), undefined);
    assert.deepEqual(await claim(store, lease), ["more"]);
    assert.equal((await open(store, ben, NOW)).kind, "busy");
  }),
  law("a commit that has folded another cancel is reopened", async (store) => {
    const lease = await first(store);
    await store.cancel(lease.turnId, stop("r1"));
    assert.equal((await store.commit(lease, ended(lease, { cancel: "r0" }))).kind, "reopen");
  }),
  law("a reopened turn goes on and commits with the cancel it has folded", async (store) => {
    const lease = await first(store);
    await store.cancel(lease.turnId, stop("r1"));
    await store.commit(lease, ended(lease));
    await store.append(lease, 1, [{ kind: "cancelled", at: NOW, requestId: "r1", reason: "Enough." }], NOW);
    const done = await committed(store.commit(lease, ended(lease, { cancel: "r1" })));
    assert.equal(done.revision, 1);
  }),
  law("a cancel after the commit is told the outcome", async (store) => {
    const lease = await first(store);
    await commit(store, lease, { outcome: stopped("bye") });
    const late = await store.cancel(lease.turnId, stop("r1"));
    assert.deepEqual(late, { kind: "already-completed", outcome: stopped("bye") });
  }),
  law("a cancel before the commit is told the outcome after it", async (store) => {
    const lease = await first(store);
    await store.cancel(lease.turnId, stop("r1"));
    await commit(store, lease, { cancel: "r1", outcome: stopped("bye") });
    assert.equal((await store.cancel(lease.turnId, stop("r1"))).kind, "already-completed");
  }),
  law("a turn that is not there cannot be cancelled", async (store) => {
    assert.deepEqual(await store.cancel(NEVER, stop("r1")), { kind: "unknown" });
  }),
  law("a cancel of a waiting input is there when its turn opens", async (store) => {
    const lease = await first(store);
    await queue(store, "more");
    assert.equal((await store.cancel(turnId("more"), stop("r1"))).kind, "requested");
    await commit(store, lease);
    const next = await take(store);
    assert.deepEqual((await store.renew(next, NOW)).cancel, stop("r1"));
    assert.equal((await store.commit(next, ended(next))).kind, "reopen");
  }),
  law("a withdrawn input cannot be cancelled", async (store) => {
    await first(store);
    await queue(store, "more");
    await withdraw(store, "more");
    assert.deepEqual(await store.cancel(turnId("more"), stop("r1")), { kind: "unknown" });
  }),
  law("a cancel survives a takeover", async (store) => {
    const lease = await first(store);
    await store.cancel(lease.turnId, stop("r1"));
    assert.deepEqual((await store.renew(await take(store), LAPSED)).cancel, stop("r1"));
  }),
];

const claimLaws = [
  law("a boundary is given the inputs meant for one, whole and oldest first", async (store) => {
    const lease = await first(store);
    for (const words of ["one", "two", "three"]) await queue(store, words, { place: "boundary" });
    const [one, two, ...rest] = await store.inputs.claim(lease, BOUNDARY, 2);
    assert.ok(one && two && one.seq < two.seq);
    assert.deepEqual(one, { ...newInput("one", { place: "boundary" }), seq: one.seq });
    assert.equal(two.id, inputId("two"));
    assert.deepEqual(rest, []);
    assert.deepEqual(await waiting(store), ["three"]);
  }),
  law("a boundary is never given an input that asked for its own turn", async (store) => {
    const lease = await first(store);
    await queue(store, "own turn");
    assert.deepEqual(await claim(store, lease), []);
    await queue(store, "aside", { place: "boundary" });
    assert.deepEqual(await claim(store, lease), ["aside"]);
    assert.deepEqual(await waiting(store), ["own turn"]);
  }),
  law("the same boundary is given the same inputs again", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { place: "boundary" });
    assert.deepEqual(await claim(store, lease), ["one"]);
    await queue(store, "two", { place: "boundary" });
    assert.deepEqual(await claim(store, lease), ["one"]);
    assert.deepEqual(await claim(store, lease, asEffectName("r2.boundary")), ["two"]);
  }),
  law("the same boundary is given the same inputs after a takeover", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { place: "boundary" });
    await claim(store, lease);
    await queue(store, "two", { place: "boundary" });
    assert.deepEqual(await claim(store, await take(store)), ["one"]);
  }),
  law("a settled claim is never run again", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { place: "boundary" });
    await claim(store, lease);
    await commit(store, lease, { inputs: [inputId("hello"), inputId("one")] });
    assert.deepEqual(await waiting(store), []);
    assert.equal((await open(store)).kind, "idle");
  }),
  law("the turn of a settled claim ended as the turn that took it", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { place: "boundary" });
    await claim(store, lease);
    await commit(store, lease, { inputs: [inputId("one")], outcome: stopped("bye") });
    assert.deepEqual(await store.terminal(turnId("one")), await store.terminal(lease.turnId));
    const late = await store.cancel(turnId("one"), stop("r1"));
    assert.deepEqual(late, { kind: "already-completed", outcome: stopped("bye") });
  }),
  law("claims that the commit does not settle wait again, in their old order", async (store) => {
    const lease = await first(store);
    await queue(store, "zero");
    for (const words of ["one", "two", "three"]) await queue(store, words, { place: "boundary" });
    await queue(store, "four");
    await claim(store, lease, BOUNDARY, 2);
    await claim(store, lease, asEffectName("r2.boundary"), 1);
    await queue(store, "five", { place: "boundary" });
    await commit(store, lease, { inputs: [inputId("two")] });
    assert.deepEqual(await waiting(store), ["zero", "one", "three", "four", "five"]);
    assert.deepEqual(await drain(store), ["zero", "one", "three", "four", "five"]);
  }),
  law("a claim that was given back can be claimed, withdrawn and cancelled like any other", async (store) => {
    const lease = await first(store);
    for (const words of ["one", "two", "three"]) await queue(store, words, { place: "boundary" });
    await claim(store, lease);
    await commit(store, lease);
    const next = await take(store);
    assert.equal(next.turnId, turnId("one"));
    assert.equal(await withdraw(store, "two"), "withdrawn");
    assert.deepEqual(await claim(store, next), ["three"]);
    assert.equal((await store.cancel(turnId("three"), stop("r1"))).kind, "requested");
  }),
  law("an input that was cancelled while it waited is claimed by no other turn, and opens its own", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { place: "boundary" });
    await queue(store, "two", { place: "boundary" });
    await store.cancel(turnId("one"), stop("r1"));
    assert.deepEqual(await claim(store, lease), ["two"]);
    assert.deepEqual(await waiting(store), ["one"]);
    assert.deepEqual(await claim(store, lease, asEffectName("r2.boundary")), []);
    await commit(store, lease, { inputs: [inputId("two")] });
    const own = await take(store);
    assert.equal(own.turnId, turnId("one"));
    assert.deepEqual((await store.renew(own, NOW)).cancel, stop("r1"));
  }),
  law("a boundary that takes turns passes over one that was cancelled, whatever that wants", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { wants: { output: { type: "object" } } });
    await queue(store, "two");
    await queue(store, "three", { place: "boundary" });
    await queue(store, "four");
    await store.cancel(turnId("one"), stop("r1"));
    await store.cancel(turnId("three"), stop("r2"));
    assert.deepEqual(await claimAll(store, lease, BOUNDARY, 2), ["two", "four"]);
    assert.deepEqual(await claimAll(store, lease, asEffectName("r2.boundary")), []);
    assert.deepEqual(await waiting(store), ["one", "three"]);
    await commit(store, lease, { inputs: [inputId("two"), inputId("four")] });
    assert.deepEqual((await take(store)).turnId, turnId("one"));
  }),
  law("a session holds the nodes on the path to its head, and no others", async (store) => {
    await store.create(newSession(alice));
    await apply(store, "op", { entries: notes("op", "a", "b") });
    await store.fork(alice, newSession(bob), nodeId("op", 0));
    assert.equal(await store.holds(alice, nodeId("op", 1)), true);
    assert.equal(await store.holds(bob, nodeId("op", 0)), true);
    assert.equal(await store.holds(bob, nodeId("op", 1)), false);
    assert.equal(await store.holds(alice, nodeId("nowhere", 0)), false);
    await refused("session.unknown", () => store.holds(asSessionId("nobody"), nodeId("op", 0)));
  }),
  law("a cancel of an input that was claimed goes to the turn that has it", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { place: "boundary" });
    await claim(store, lease);
    assert.equal((await store.cancel(turnId("one"), stop("r1"))).kind, "requested");
    assert.equal((await store.cancel(lease.turnId, stop("r2"))).kind, "already-requested");
    assert.deepEqual((await store.renew(lease, NOW)).cancel, stop("r1"));
    // This commit does not list the claimed input, so the input waits again.
    await commit(store, lease, { cancel: "r1" });
    const next = await take(store);
    assert.equal(next.turnId, turnId("one"));
    assert.deepEqual((await store.renew(next, NOW)).cancel, stop("r1"));
  }),
  law("a commit settles only what its own turn has claimed", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { place: "boundary" });
    await commit(store, lease, { inputs: [inputId("one")] });
    assert.deepEqual(await drain(store), ["one"]);
  }),
  law("a withdrawn input is not claimed", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { place: "boundary" });
    await queue(store, "two", { place: "boundary" });
    await withdraw(store, "one");
    assert.deepEqual(await claim(store, lease), ["two"]);
  }),
  law("a boundary that takes turns is given what waits for one too, oldest first over both kinds", async (store) => {
    const lease = await first(store);
    await queue(store, "one");
    await queue(store, "two", { place: "boundary" });
    await queue(store, "three", { key: "k" });
    await queue(store, "four");
    const [one, two, three, ...rest] = await store.inputs.claim(lease, BOUNDARY, 3, true);
    assert.ok(one && two && three);
    assert.deepEqual(one, { ...newInput("one"), seq: one.seq });
    assert.deepEqual(two, { ...newInput("two", { place: "boundary" }), seq: two.seq });
    assert.deepEqual(three, { ...newInput("three", { key: "k" }), seq: three.seq });
    assert.deepEqual(rest, []);
    assert.deepEqual(await waiting(store), ["four"]);
    assert.equal(await withdraw(store, "one"), "taken");
  }),
  law("a boundary that takes turns stops before an input that wants something of its turn", async (store) => {
    const lease = await first(store);
    await queue(store, "one");
    await queue(store, "wants", { wants: { output: { type: "object" } } });
    await queue(store, "aside", { place: "boundary" });
    await queue(store, "two");
    assert.deepEqual(await claimAll(store, lease), ["one"]);
    assert.deepEqual(await claimAll(store, lease, asEffectName("r2.boundary")), []);
    assert.deepEqual(await claim(store, lease, asEffectName("r3.boundary")), ["aside"]);
    await commit(store, lease, { inputs: [inputId("one"), inputId("aside")] });
    const next = await take(store);
    assert.equal(next.turnId, turnId("wants"));
    assert.deepEqual(await claimAll(store, next), ["two"]);
  }),
  law("a boundary that took turns is given the same again, after a takeover and however it asks", async (store) => {
    const lease = await first(store);
    await queue(store, "one");
    assert.deepEqual(await claimAll(store, lease, BOUNDARY, Infinity), ["one"]);
    await queue(store, "two");
    assert.deepEqual(await claimAll(store, lease), ["one"]);
    assert.deepEqual(await claim(store, lease), ["one"]);
    assert.deepEqual(await claimAll(store, await take(store)), ["one"]);
    await refused("lease.lost", () => claimAll(store, lease, asEffectName("r2.boundary")));
    assert.deepEqual(await waiting(store), ["two"]);
  }),
  law(
    "what a boundary took of turns ends with the turn that settles it, and what it does not waits again",
    async (store) => {
      const lease = await first(store);
      await queue(store, "one");
      await queue(store, "two", { place: "boundary" });
      await queue(store, "three");
      await claimAll(store, lease);
      await queue(store, "four");
      await commit(store, lease, { inputs: [inputId("three")], outcome: stopped("bye") });
      assert.deepEqual(await store.terminal(turnId("three")), await store.terminal(lease.turnId));
      assert.equal(await withdraw(store, "three"), "ended");
      assert.deepEqual(await waiting(store), ["one", "two", "four"]);
      const next = await take(store);
      assert.equal(next.turnId, turnId("one"));
      assert.deepEqual(await claim(store, next), ["two"]);
      await commit(store, next, { inputs: [inputId("two")] });
      assert.deepEqual(await drain(store), ["four"]);
    },
  ),
];

const OTHER = asWaitKey("other-key");
const FACTS = { max: 100 } as const;
/** The kinds of all facts, in their order. */
const told = async (store: Store, which: { readonly session?: SessionId; readonly tree?: SessionId } = {}) =>
  (await store.changes(undefined, { ...which, ...FACTS })).map(({ kind }) => kind);
const listed = async (store: Store, page: Partial<Parameters<Store["waits"]["list"]>[0]> = {}) =>
  (await store.waits.list({ max: 100, ...page })).map(({ key }) => key);

const waitLaws = [
  law("D4 a wait is answered once, and the first answer stands", async (store) => {
    const lease = await waits(store);
    assert.deepEqual(await store.waits.resolve(WAIT, yes, NOW), { said: "accepted", sessionId: alice });
    assert.deepEqual(await store.waits.resolve(WAIT, no, NOW), { said: "already-resolved", sessionId: alice });
    assert.equal(await answer(store, late), "already-resolved");
    assert.equal(await answer(store, revoked), "already-resolved");
    assert.deepEqual(await resolvedOf(store, lease), [{ key: WAIT, answer: yes }]);
    assert.deepEqual((await store.waits.get(waitIdOf(WAIT)))?.answer, yes);
  }),
  law("D4 a key that nobody waits for is unknown, and its answer is not kept", async (store) => {
    assert.deepEqual(await store.waits.resolve(WAIT, yes, NOW), { said: "unknown" });
    const lease = await waits(store);
    assert.equal(await answer(store, yes, asWaitKey(waitIdOf(WAIT))), "unknown");
    assert.equal(await answer(store, yes, asWaitKey(WAIT.slice(0, -1))), "unknown");
    assert.equal(await resolvedOf(store, lease), undefined);
  }),
  law("an answer is in every mail until the turn ends", async (store) => {
    const lease = await waits(store);
    assert.equal(await resolvedOf(store, lease), undefined);
    await answer(store, yes);
    const resolved = [{ key: WAIT, answer: yes }];
    assert.deepEqual(await resolvedOf(store, lease), resolved);
    await store.append(lease, 2, [slept("a")], NOW);
    assert.deepEqual(await resolvedOf(store, lease), resolved);
  }),
  law("answers are in the mail in the order in which they came", async (store) => {
    const lease = await waits(store);
    const keys = ["c", "a", "b"].map(asWaitKey);
    await store.append(
      lease,
      2,
      [slept("a")],
      NOW,
      ["a", "b", "c"].map(asWaitKey).map((key) => newWait(key)),
    );
    for (const key of keys) await answer(store, { ...yes, by: key }, key);
    const resolved = keys.map((key) => ({ key, answer: { ...yes, by: key } }));
    assert.deepEqual(await resolvedOf(store, lease), resolved);
  }),
  law("D4 an answer that came while nobody held the turn is in the next holder's mail", async (store) => {
    await store.release(await waits(store));
    await answer(store, yes);
    const mail = await store.renew(await take(store, ben, NOW), NOW);
    assert.deepEqual(mail.resolved, [{ key: WAIT, answer: yes }]);
  }),
  law("an answer is in the mail of its own turn only", async (store) => {
    await waits(store);
    const other = await first(store, "hi", { to: bob });
    await answer(store, yes);
    assert.equal(await resolvedOf(store, other), undefined);
  }),
  law("the same append again leaves an answered wait answered, and tells nothing twice", async (store) => {
    const lease = await waits(store);
    await answer(store, yes);
    await store.append(lease, 1, [deferred()], NOW, [newWait(WAIT)]);
    assert.deepEqual(await resolvedOf(store, lease), [{ key: WAIT, answer: yes }]);
    assert.deepEqual(await told(store), ["accepted", "waiting", "resolved"]);
  }),
  law("a value is taken until its time is over, and not then", async (store) => {
    const lease = await waits(store);
    assert.deepEqual(await store.waits.resolve(WAIT, yes, NOW + 10), { said: "expired", sessionId: alice });
    assert.equal(await answer(store, yes, WAIT, NOW + 11), "expired");
    assert.equal(await resolvedOf(store, lease), undefined);
    assert.deepEqual(await told(store), ["accepted", "waiting"]);
    assert.equal(await answer(store, yes, WAIT, NOW + 9), "accepted");
    assert.equal(await answer(store, yes, WAIT, NOW + 10), "already-resolved");
  }),
  law("that a time is over is noted whenever somebody says so, and is an answer like any", async (store) => {
    const lease = await waits(store);
    assert.equal(await answer(store, late, WAIT, NOW), "accepted");
    assert.equal(await answer(store, yes, WAIT, NOW), "already-resolved");
    assert.deepEqual(await resolvedOf(store, lease), [{ key: WAIT, answer: late }]);
  }),
  law("D4 a revoked wait cannot be answered, and its turn is told", async (store) => {
    const lease = await waits(store);
    assert.equal(await answer(store, { ...revoked, by: "the boss" }, WAIT, NOW + 50), "accepted");
    assert.deepEqual(await store.waits.resolve(WAIT, yes, NOW), { said: "unknown" });
    assert.equal(await answer(store, late), "unknown");
    assert.deepEqual(await listed(store), []);
    assert.deepEqual(await resolvedOf(store, lease), [{ key: WAIT, answer: { ...revoked, by: "the boss" } }]);
  }),
  law("D4 with the end of its turn a wait cannot be answered", async (store) => {
    const lease = await waits(store);
    await store.append(lease, 2, [slept("a")], NOW, [newWait(OTHER, { isEarly: true })]);
    await commit(store, lease);
    for (const key of [WAIT, OTHER])
      for (const given of [yes, late, revoked])
        assert.deepEqual(await store.waits.resolve(key, given, NOW), { said: "unknown" });
    assert.equal(await store.waits.get(waitIdOf(WAIT)), undefined);
    assert.equal(await store.waits.get(waitIdOf(OTHER)), undefined);
    assert.deepEqual(await listed(store), []);
  }),
  law("a commit that is reopened ends no wait", async (store) => {
    const lease = await waits(store);
    await store.cancel(lease.turnId, stop("r1"));
    await store.commit(lease, ended(lease));
    assert.equal(await answer(store, yes), "accepted");
  }),
  law("a wait of the next turn is another one, though it has the same key", async (store) => {
    await commit(store, await waits(store));
    const lease = await begin(store, "again");
    await store.append(lease, 1, [deferred()], NOW, [newWait(WAIT)]);
    assert.deepEqual(await listed(store), [WAIT]);
    assert.equal(await answer(store, yes), "accepted");
    assert.equal((await store.waits.get(waitIdOf(WAIT)))?.turnId, turnId("again"));
    assert.deepEqual(await told(store), ["accepted", "waiting", "committed", "accepted", "waiting", "resolved"]);
  }),
  law("a wait says what it is about, of whom, and which facts it is", async (store) => {
    await store.create(newSession(bob));
    await store.create({ ...newSession(alice), parentId: bob });
    const lease = await begin(store, "hello");
    const schema = { type: "object" };
    const about = { ...approval, kind: "question", schema } as const;
    await store.append(lease, 1, [slept("a")], NOW, [newWait(WAIT, { about, at: NOW + 1, until: NOW + 9 })]);
    const wait: StoredWait = {
      id: waitIdOf(WAIT),
      key: WAIT,
      sessionId: alice,
      path: [bob, alice],
      turnId: turnId("hello"),
      effect: newWait(WAIT).effect,
      at: NOW + 1,
      until: NOW + 9,
      about,
      askedAs: (await store.latest())!,
    };
    assert.deepEqual(await store.waits.list({ max: 10 }), [wait]);
    assert.deepEqual(await store.waits.get(wait.id), wait);
    const by = { ...yes, by: "Ann" };
    await answer(store, by);
    assert.deepEqual(await store.waits.get(wait.id), { ...wait, answer: by, answeredAs: await store.latest() });
    assert.deepEqual(await store.waits.list({ max: 10 }), []);
  }),
  law("the path to a wait goes as far up as is known", async (store) => {
    const [root, middle] = [asSessionId("root"), asSessionId("middle")];
    await store.create(newSession(root));
    await store.create({ ...newSession(middle), parentId: root });
    await store.create({ ...newSession(alice), parentId: middle });
    const lease = await begin(store, "hello");
    await store.append(lease, 1, [deferred()], NOW, [newWait(WAIT)]);
    const path = async () => (await store.waits.get(waitIdOf(WAIT)))?.path;
    assert.deepEqual(await path(), [root, middle, alice]);
    await store.delete(root);
    assert.deepEqual(await path(), [root, middle, alice]);
    await store.delete(middle);
    assert.deepEqual(await path(), [middle, alice]);
  }),
  law("waits are listed oldest first, of all sessions, of one, or of a tree", async (store) => {
    await store.create(newSession(alice));
    await store.create({ ...newSession(bob), parentId: alice });
    const [one, two] = [await begin(store, "hello"), await begin(store, "hi", { to: bob })];
    const keys = ["d", "b", "c", "a"].map(asWaitKey);
    const [d, b, c, a] = keys as [WaitKey, WaitKey, WaitKey, WaitKey];
    await store.append(two, 1, [slept("a")], NOW, [newWait(d)]);
    await store.append(one, 1, [slept("a")], NOW, [newWait(b), newWait(c)]);
    await store.append(two, 2, [slept("b")], NOW, [newWait(a)]);
    assert.deepEqual(await listed(store), keys);
    assert.deepEqual(await listed(store, { max: 2 }), [d, b]);
    assert.deepEqual(await listed(store, { after: waitIdOf(b) }), [c, a]);
    assert.deepEqual(await listed(store, { session: alice }), [b, c]);
    assert.deepEqual(await listed(store, { session: bob, max: 1 }), [d]);
    assert.deepEqual(await listed(store, { session: bob, after: waitIdOf(d), max: 1 }), [a]);
    assert.deepEqual(await listed(store, { tree: alice }), keys);
    assert.deepEqual(await listed(store, { tree: alice, after: waitIdOf(c) }), [a]);
    assert.deepEqual(await listed(store, { tree: bob }), [d, a]);
    assert.deepEqual(await listed(store, { session: asSessionId("nobody") }), []);
  }),
  law("a list goes on after a wait that was answered, or whose turn has ended meanwhile", async (store) => {
    const lease = await waits(store);
    await waits(store, "hi", { to: bob }, OTHER);
    await answer(store, yes);
    assert.deepEqual(await listed(store, { after: waitIdOf(WAIT) }), [OTHER]);
    await commit(store, lease);
    assert.deepEqual(await listed(store, { after: waitIdOf(WAIT) }), [OTHER]);
    assert.deepEqual(await listed(store, { after: waitIdOf(OTHER) }), []);
    await store.delete(alice);
    assert.deepEqual(await listed(store, { after: waitIdOf(WAIT) }), []);
  }),
  law("D4 an early wait can be answered; it is listed, and a fact, when it is given again", async (store) => {
    const lease = await first(store);
    const early = newWait(WAIT, { isEarly: true, until: NOW + 5 });
    await store.append(lease, 0, [], NOW, [early]);
    await store.append(lease, 0, [], NOW, [early]);
    assert.deepEqual([await listed(store), await told(store)], [[], ["accepted"]]);
    assert.equal("askedAs" in (await store.waits.get(waitIdOf(WAIT)))!, false);
    await store.append(lease, 1, [deferred()], NOW, [newWait(WAIT)]);
    assert.deepEqual([await listed(store), await told(store)], [[WAIT], ["accepted", "waiting"]]);
    assert.equal((await store.waits.get(waitIdOf(WAIT)))?.until, NOW + 10);
    await store.append(lease, 1, [deferred()], NOW, [early]);
    assert.deepEqual(await listed(store), [WAIT]);
    assert.equal(await answer(store, yes, WAIT, NOW + 6), "accepted");
    assert.deepEqual(await told(store), ["accepted", "waiting", "resolved"]);
  }),
  law("D4 what was answered while it was early is told right after the question", async (store) => {
    const lease = await first(store);
    await store.append(lease, 0, [], NOW, [newWait(WAIT, { isEarly: true }), newWait(OTHER, { isEarly: true })]);
    await answer(store, { ...yes, by: "Ann" }, OTHER);
    assert.deepEqual(await resolvedOf(store, lease), [{ key: OTHER, answer: { ...yes, by: "Ann" } }]);
    assert.deepEqual(await told(store), ["accepted"]);
    await store.append(lease, 1, [deferred()], NOW, [newWait(OTHER), newWait(WAIT)]);
    assert.deepEqual(await told(store), ["accepted", "waiting", "resolved", "waiting"]);
    assert.deepEqual(await listed(store), [WAIT]);
    assert.equal(await answer(store, no, OTHER), "already-resolved");
    assert.deepEqual(await resolvedOf(store, lease), [{ key: OTHER, answer: { ...yes, by: "Ann" } }]);
  }),
  law("a question and its answer are facts, for all, for the session and for its tree", async (store) => {
    await store.create(newSession(alice));
    await store.create({ ...newSession(bob), parentId: alice });
    const lease = await begin(store, "hi", { to: bob });
    await store.append(lease, 1, [deferred()], NOW, [newWait(WAIT)]);
    const asked = await store.latest();
    await answer(store, { ...yes, by: "Ann" });
    const answered = await store.latest();
    const { about, effect, until } = newWait(WAIT);
    const one = { sessionId: bob, turnId: turnId("hi"), wait: waitIdOf(WAIT), effect };
    const facts = [
      { kind: "waiting", cursor: asked, ...one, about, until },
      { kind: "resolved", cursor: answered, ...one, wants: "approval", how: "value", by: "Ann" },
    ];
    const cursor = (await store.changes(undefined, { max: 1 }))[0]!.cursor;
    for (const which of [{}, { session: bob }, { tree: bob }, { tree: alice }]) {
      assert.deepEqual(await store.changes(cursor, { ...which, ...FACTS }), facts);
      assert.deepEqual(await store.changes(asked, { ...which, ...FACTS }), facts.slice(1));
      assert.deepEqual(await store.changes(cursor, { ...which, max: 1 }), facts.slice(0, 1));
      assert.deepEqual(await store.changes(answered, { ...which, ...FACTS }), []);
    }
    assert.deepEqual(await store.changes(cursor, { session: alice, ...FACTS }), []);
  }),
  law("each kind of answer is told, and no fact has a key or what was said", async (store) => {
    const lease = await first(store);
    const keys = ["key-one", "key-two", "key-three", "key-four"].map(asWaitKey);
    await store.append(
      lease,
      1,
      [slept("a")],
      NOW,
      keys.map((key) => newWait(key)),
    );
    const secret = { kind: "value", value: "a secret value" } as const;
    for (const [index, given] of [secret, late, revoked].entries()) await answer(store, given, keys[index]);
    const how = async () =>
      (await store.changes(undefined, FACTS)).flatMap((each) => (each.kind === "resolved" ? each.how : []));
    assert.deepEqual(await how(), ["value", "timeout", "revoked"]);
    for (const text of ["key-", "secret"])
      assert.equal(JSON.stringify(await store.changes(undefined, FACTS)).includes(text), false);
    await commit(store, lease);
    assert.deepEqual(await how(), ["value", "timeout", "revoked"]);
  }),
  law(
    "the facts of waits are told to slow readers after the turn's end, until the session is deleted",
    async (store) => {
      const lease = await waits(store);
      await answer(store, { ...yes, by: "Ann" });
      await store.append(lease, 2, [slept("a")], NOW, [newWait(OTHER)]);
      const before = await store.changes(undefined, FACTS);
      await commit(store, lease);
      const after = await store.changes(undefined, FACTS);
      assert.deepEqual(after.slice(0, -1), before);
      assert.deepEqual(await told(store), ["accepted", "waiting", "resolved", "waiting", "committed"]);
      assert.deepEqual(await store.changes(before.at(-1)?.cursor, FACTS), after.slice(-1));
      const latest = await store.latest();
      await store.delete(alice);
      assert.deepEqual(await store.changes(undefined, FACTS), []);
      assert.equal(await store.latest(), latest);
      assert.deepEqual(await store.changes(before[1]?.cursor, FACTS), []);
    },
  ),
  law("the number of a wait's fact is not used again, though its session is deleted", async (store) => {
    await waits(store);
    await answer(store, yes);
    const latest = Number(await store.latest());
    await store.delete(alice);
    await first(store, "hi", { to: bob });
    assert.ok(Number(await store.latest()) > latest);
  }),
  law("D4 deleting a session revokes its waits", async (store) => {
    const lease = await waits(store);
    await store.append(lease, 2, [slept("a")], NOW, [newWait(OTHER, { isEarly: true })]);
    await store.delete(alice);
    for (const key of [WAIT, OTHER]) assert.equal(await answer(store, yes, key), "unknown");
    assert.equal(await store.waits.get(waitIdOf(WAIT)), undefined);
    assert.deepEqual(await listed(store), []);
  }),
  law("a fork has none of its origin's waits", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one");
    const lease = await begin(store, "hello");
    await store.append(lease, 1, [deferred()], NOW, [newWait(WAIT)]);
    await store.fork(alice, newSession(bob));
    assert.deepEqual(await listed(store, { session: bob }), []);
    assert.deepEqual(await told(store, { session: bob }), []);
    assert.equal((await store.waits.get(waitIdOf(WAIT)))?.sessionId, alice);
  }),
  law("waits that are given without an event are kept", async (store) => {
    const lease = await first(store);
    await store.append(lease, 1, [], NOW, [newWait(WAIT)]);
    assert.deepEqual(await listed(store), [WAIT]);
    assert.equal((await store.journal(lease.turnId, 0)).length, 1);
  }),
];

/** How a turn with nothing but these waits is parked, until `NOW + 10` unless it is said. */
const parked = ({ turnId }: Pick<Lease, "turnId">, other: Partial<ParkedTurn> = {}): ParkedTurn => ({
  turnId,
  wakeAt: NOW + 10,
  waits: [WAIT],
  ...other,
});
async function park(store: Store, lease: Lease, other: Partial<ParkedTurn> = {}, now = NOW): Promise<void> {
  assert.deepEqual(await store.park(lease, parked(lease, other), now), { kind: "parked" });
}
/** Parks a turn that waits for one answer. */
async function parks(store: Store, other: Partial<ParkedTurn> = {}): Promise<Lease> {
  const lease = await waits(store);
  await park(store, lease, other);
  return lease;
}
async function resume(store: Store, now = NOW, forOperation?: true): Promise<Lease> {
  const answer = await store.open(alice, ben, now, opening, forOperation);
  if (answer.kind !== "resumed") return assert.fail(`the session is ${answer.kind}`);
  return answer.lease;
}

const parkLaws = [
  law("D4 a parked turn is nobody's and keeps its session", async (store) => {
    const lease = await parks(store);
    assert.equal((await store.load(alice))?.openTurn, lease.turnId);
    assert.deepEqual(await store.find(lease.turnId), { sessionId: alice, state: "parked" });
    assert.equal((await send(store, "more")).kind, "queued");
    assert.deepEqual(await store.apply(change("op")), { kind: "busy" });
    assert.equal((await store.journal(lease.turnId, 0)).length, 2);
    assert.deepEqual(await listed(store), [WAIT]);
    assert.deepEqual(await work(store), []);
  }),
  law("D4 a parked turn without mail is not taken, by nobody and however late", async (store) => {
    const lease = await parks(store, { wakeAt: LAPSED + 10 });
    const asleep = { kind: "parked", turnId: lease.turnId, wakeAt: LAPSED + 10 };
    for (const by of [ann, ben]) assert.deepEqual(await open(store, by, NOW), asleep);
    assert.deepEqual(await open(store, ben, LAPSED + 9), asleep);
    assert.deepEqual(await work(store, LAPSED + 9), []);
    assert.deepEqual(await resolvedOf(store, await resume(store, LAPSED + 10)), undefined);
  }),
  law("whoever takes a parked turn has a lease of its own, and finds what was recorded", async (store) => {
    const lease = await parks(store);
    const answer = await store.open(alice, ben, NOW + 10, opening);
    assert.ok(answer.kind === "resumed");
    assert.deepEqual(answer.journal.slice(1), [deferred()]);
    assert.deepEqual([answer.lease.generation, answer.lease.owner], [lease.generation + 1, ben]);
    requireHeld(answer.lease);
    assert.equal((await open(store, ann, NOW + 10)).kind, "busy");
    requireHeld(await store.append(answer.lease, 2, [slept("a")], NOW + 11));
    assert.equal((await commit(store, answer.lease)).revision, 1);
  }),
  law("a turn that was parked, taken up and released is resumed by whoever comes", async (store) => {
    await store.release(await parks(store)); // A stale release.
    const lease = await resume(store, NOW + 10);
    await store.release(lease);
    const answer = await open(store, ann, NOW + 10);
    assert.ok(answer.kind === "resumed");
    assert.equal(answer.lease.generation, lease.generation + 1);
  }),
  law("the one who parked a turn writes nothing more to it", async (store) => {
    const lease = await parks(store);
    await refused("lease.lost", () => store.append(lease, 2, [slept("a")], NOW));
    await refused("lease.lost", () => store.append(lease, 1, [deferred()], NOW));
    await refused("lease.lost", () => store.append(lease, 0, [], NOW, [newWait(OTHER)]));
    await refused("lease.lost", () => store.renew(lease, NOW));
    await refused("lease.lost", () => store.inputs.claim(lease, BOUNDARY, 1));
    await refused("lease.lost", () => store.commit(lease, ended(lease)));
    await store.release(lease);
    assert.equal((await open(store, ben, NOW)).kind, "parked");
    assert.equal((await store.journal(lease.turnId, 0)).length, 2);
  }),
  law("the same parking again is answered as before, as long as nobody took the turn", async (store) => {
    const lease = await parks(store);
    await park(store, lease);
    assert.equal((await open(store, ben, NOW)).kind, "parked");
    await answer(store, yes);
    await park(store, lease);
    assert.deepEqual(await work(store), [alice]);
    const next = await resume(store);
    await refused("lease.lost", () => store.park(lease, parked(lease), NOW));
    await park(store, next, { waits: [] });
    await refused("lease.lost", () => store.park(lease, parked(lease), NOW));
    assert.equal((await open(store, ben, NOW)).kind, "parked");
  }),
  law("a turn is parked under its own lease only", async (store) => {
    const lease = await waits(store);
    const other = await first(store, "hi", { to: bob });
    await refused("lease.lost", () => store.park(lease, parked(other), NOW));
    await refused("lease.lost", () => store.park({ ...lease, sessionId: bob }, parked(lease), NOW));
    await refused("lease.lost", () => store.park({ ...lease, turnId: NEVER }, parked({ turnId: NEVER }), NOW));
    const taken = await take(store);
    await refused("lease.lost", () => store.park(lease, parked(lease), LAPSED));
    await commit(store, taken);
    await refused("lease.lost", () => store.park(taken, parked(taken), LAPSED));
  }),
  law("D4 an answer that came first keeps the turn from being parked, and is in the answer", async (store) => {
    const lease = await waits(store);
    await answer(store, yes);
    const came = await store.park(lease, parked(lease), NOW + 3);
    assert.ok(came.kind === "mail");
    requireHeld(came.mail);
    assert.deepEqual(newsIn(came.mail), { resolved: [{ key: WAIT, answer: yes }] });
    assert.equal((await open(store, ben, NOW + 3)).kind, "busy");
    assert.deepEqual(newsIn(came.mail), newsIn(await store.renew(lease, NOW + 3)));
    await store.append(lease, 2, [slept("a")], NOW);
  }),
  law("D4 an answer that comes after wakes the turn", async (store) => {
    for (const given of [yes, late, revoked]) {
      const to = asSessionId(given.kind);
      const key = asWaitKey(given.kind);
      const lease = await waits(store, given.kind, { to }, key);
      await park(store, lease, { waits: [key] });
      assert.deepEqual(await work(store), []);
      assert.equal(await answer(store, given, key), "accepted");
      assert.deepEqual(await work(store), [to]);
      const next = await take(store, ben, NOW, to);
      assert.deepEqual(await work(store), []);
      assert.deepEqual(await resolvedOf(store, next), [{ key, answer: given }]);
    }
  }),
  law("an answer that comes too late for a parked turn wakes nobody", async (store) => {
    await parks(store, { wakeAt: NOW + 50 });
    assert.equal(await answer(store, yes, WAIT, NOW + 10), "expired");
    assert.deepEqual(await work(store, NOW + 10), []);
    assert.equal((await open(store, ben, NOW + 10)).kind, "parked");
  }),
  law("answers that the turn has folded do not keep it from being parked, and do not wake it", async (store) => {
    const lease = await waits(store);
    await store.append(lease, 2, [slept("a")], NOW, [newWait(OTHER)]);
    await answer(store, yes);
    await park(store, lease, { waits: [OTHER] });
    assert.deepEqual(await work(store), []);
    assert.equal((await open(store, ben, NOW)).kind, "parked");
    await answer(store, no, OTHER);
    const next = await resume(store);
    assert.deepEqual(await resolvedOf(store, next), [
      { key: WAIT, answer: yes },
      { key: OTHER, answer: no },
    ]);
    await park(store, next, { waits: [] });
    assert.equal((await open(store, ben, NOW)).kind, "parked");
  }),
  law("an answer to a wait that the turn does not want any more wakes nobody, and is kept", async (store) => {
    const lease = await waits(store);
    await store.append(lease, 2, [slept("a")], NOW, [newWait(OTHER)]);
    await park(store, lease, { waits: [OTHER] });
    assert.equal(await answer(store, yes), "accepted");
    assert.deepEqual(await work(store), []);
    assert.equal((await open(store, ben, NOW)).kind, "parked");
    assert.deepEqual(await resolvedOf(store, await resume(store, NOW + 10)), [{ key: WAIT, answer: yes }]);
  }),
  law("a cancel that came first keeps the turn from being parked, unless it was folded", async (store) => {
    const lease = await waits(store);
    await store.cancel(lease.turnId, stop("r1"));
    const came = await store.park(lease, parked(lease, { cancel: "another" }), NOW);
    assert.ok(came.kind === "mail");
    requireHeld(came.mail);
    assert.deepEqual(newsIn(came.mail), { cancel: stop("r1") });
    await park(store, lease, { cancel: "r1" });
    assert.deepEqual(await work(store), []);
    assert.equal((await open(store, ben, NOW)).kind, "parked");
    assert.equal((await store.cancel(lease.turnId, stop("r2"))).kind, "already-requested");
    assert.deepEqual(await work(store), []);
  }),
  law("a cancel that comes after wakes the turn", async (store) => {
    const lease = await parks(store);
    assert.equal((await store.cancel(lease.turnId, stop("r1"))).kind, "requested");
    assert.deepEqual(await work(store), [alice]);
    const next = await resume(store);
    assert.deepEqual((await store.renew(next, NOW)).cancel, stop("r1"));
    await commit(store, next, { cancel: "r1" });
  }),
  law(
    "a cancel of an input that the parked turn has claimed wakes it, and of one that waits does not",
    async (store) => {
      const lease = await waits(store);
      await queue(store, "aside", { place: "boundary" });
      assert.deepEqual(await claim(store, lease), ["aside"]);
      await queue(store, "next");
      await park(store, lease);
      await store.cancel(turnId("next"), stop("r0"));
      assert.deepEqual(await work(store), []);
      await store.cancel(turnId("aside"), stop("r1"));
      assert.deepEqual(await work(store), [alice]);
    },
  ),
  law("a time that has come already does not keep a turn from being parked: it is work at once", async (store) => {
    await parks(store, { wakeAt: NOW });
    assert.deepEqual(await work(store, NOW - 1), []);
    assert.deepEqual(await work(store), [alice]);
    await resume(store);
  }),
  law("a parked turn is taken for an operation, and can be parked again", async (store) => {
    await parks(store);
    const lease = await resume(store, NOW, true);
    await store.append(lease, 2, [slept("a")], NOW);
    await park(store, lease);
    assert.equal((await open(store, ben, NOW)).kind, "parked");
    assert.equal((await store.open(alice, ann, NOW, opening, true)).kind, "resumed");
    assert.equal((await store.open(alice, ann, NOW, opening, true)).kind, "busy");
    await store.create(newSession(bob));
    assert.deepEqual(await store.open(bob, ann, NOW, opening, true), { kind: "idle" });
  }),
  law("what waits behind a parked turn is no work, and is run after it", async (store) => {
    await parks(store, { wakeAt: LAPSED + 9 });
    await queue(store, "more");
    assert.deepEqual(await work(store, LAPSED), []);
    await commit(store, await resume(store, LAPSED + 9));
    assert.deepEqual(await drain(store), ["more"]);
  }),
  law("notes and attempts of a parked turn are there when it goes on", async (store) => {
    const lease = await waits(store);
    await store.note(lease.turnId, CALL, "title", 1);
    await store.attempt(lease.turnId, CALL);
    await park(store, lease);
    const next = await resume(store, NOW + 10);
    assert.equal(await store.note(next.turnId, CALL, "title"), 1);
    assert.equal(await store.attempt(next.turnId, CALL), "again");
  }),
  law("a session is deleted though its turn is parked, and wakes nobody", async (store) => {
    const lease = await parks(store);
    await store.delete(alice);
    assert.equal(await answer(store, yes), "unknown");
    assert.deepEqual(await store.cancel(lease.turnId, stop("r1")), { kind: "unknown" });
    assert.deepEqual((await store.agenda(LAPSED, 10)).sessions, []);
    assert.equal("next" in (await store.agenda(NOW, 10)), false);
    await refused("lease.lost", () => store.park(lease, parked(lease), NOW));
  }),
  law("D4 whatever comes first, park or mail, the second sees it: nothing is left lying", async (store) => {
    const mails: { readonly [name: string]: (lease: Lease, key: WaitKey) => Awaitable<unknown> } = {
      value: (_, key) => store.waits.resolve(key, yes, NOW),
      timeout: (_, key) => store.waits.resolve(key, late, NOW),
      revoked: (_, key) => store.waits.resolve(key, revoked, NOW),
      cancel: ({ turnId }) => store.cancel(turnId, stop("r1")),
    };
    for (const [name, bring] of Object.entries(mails))
      for (const isFirst of [true, false]) {
        const key = asWaitKey(`${name} ${isFirst}`);
        const to = asSessionId(key);
        const lease = await waits(store, key, { to }, key);
        if (isFirst) await bring(lease, key);
        const answer = await store.park(lease, parked(lease, { waits: [key] }), NOW);
        assert.equal(answer.kind, isFirst ? "mail" : "parked", key);
        if (!isFirst) await bring(lease, key);
        assert.deepEqual(await work(store), isFirst ? [] : [to], key);
        const mail = await store.renew(isFirst ? lease : await take(store, ben, NOW, to), NOW);
        assert.ok(mail.cancel !== undefined || mail.resolved?.length === 1, key);
        await store.delete(to);
      }
  }),
  law(
    "a turn that was parked ends like any other, and with it the settings of its session may change",
    async (store) => {
      await parks(store);
      const lease = await resume(store, NOW + 10);
      const config = { model: "another/model", instructions: "Be brief." };
      const first = await commit(store, lease, { says: ["well"], config });
      assert.deepEqual((await store.load(alice))?.config, config);
      assert.equal((await store.load(alice))?.revision, 1);
      assert.deepEqual(await committed(store.commit(lease, ended(lease, { config: { model: "x" } }))), first);
      assert.deepEqual((await store.load(alice))?.config, config);
      let given: unknown;
      await store.accept(
        newInput("more"),
        ann,
        (input, own, standing) => {
          given = own;
          return opening(input, own, standing);
        },
        100,
      );
      assert.deepEqual(given, config);
    },
  ),
  law("a turn that is kept beside the path leaves the settings of its session", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one");
    const lease = await begin(store, "two");
    const { base: _, ...beside } = ended(lease, { config: { model: "another/model" } });
    assert.ok((await committed(store.commit(lease, beside))).branch !== undefined);
    assert.deepEqual((await store.load(alice))?.config, { model: "house/model" });
  }),
  law("a commit without settings leaves those of the session", async (store) => {
    await commit(store, await first(store));
    assert.deepEqual((await store.load(alice))?.config, { model: "house/model" });
  }),
];

/** A wait for turns of other sessions. */
const forTurns = (need: "any" | "all", ...words: readonly string[]): NewWait =>
  newWait(WAIT, {
    about: { kind: "turns", need, turns: words.map((each) => ({ sessionId: bob, turnId: turnId(each) })) },
  });
const OVER = [{ key: WAIT, answer: { kind: "value", value: null } }] as const;

/** Parks alice's turn until those of bob have ended. */
async function parksFor(store: Store, wait: NewWait): Promise<Lease> {
  const lease = await first(store);
  await store.append(lease, 1, [deferred()], NOW, [wait]);
  await park(store, lease);
  return lease;
}

const waitedTurnLaws = [
  law("a wait for turns is no fact and nobody is asked about it", async (store) => {
    await first(store, "one", { to: bob });
    const lease = await parksFor(store, forTurns("all", "one"));
    assert.deepEqual([await listed(store), await told(store)], [[], ["accepted", "accepted"]]);
    assert.equal(await store.waits.get(waitIdOf(WAIT)), undefined);
    assert.deepEqual(await store.waits.resolve(WAIT, yes, NOW), { said: "unknown" });
    assert.deepEqual(await work(store), []);
    assert.equal(await answer(store, late), "accepted");
    assert.deepEqual(await told(store), ["accepted", "accepted"]);
    assert.deepEqual(await work(store), [alice]);
    assert.deepEqual(await resolvedOf(store, await resume(store)), [{ key: WAIT, answer: late }]);
    assert.equal(await answer(store, late), "already-resolved");
    assert.equal((await store.find(lease.turnId))?.state, "open");
  }),
  law("a turn is woken when the turn that it waits for has ended", async (store) => {
    const child = await first(store, "one", { to: bob });
    await parksFor(store, forTurns("all", "one"));
    assert.equal((await open(store, ben, NOW)).kind, "parked");
    await commit(store, child);
    assert.deepEqual(await work(store), [alice]);
    assert.equal(await answer(store, late), "already-resolved");
    const lease = await resume(store);
    assert.deepEqual(await resolvedOf(store, lease), OVER);
    await park(store, lease, { waits: [] });
    assert.deepEqual(await work(store), []);
  }),
  law("a turn that waits for all is woken by the last, and one that waits for any by the first", async (store) => {
    const child = await first(store, "one", { to: bob });
    await queue(store, "two", { to: bob });
    const lease = await first(store);
    const any = { ...forTurns("any", "one", "two"), key: OTHER };
    await store.append(lease, 1, [deferred()], NOW, [forTurns("all", "one", "two"), any]);
    assert.equal(await resolvedOf(store, lease), undefined);
    await commit(store, child);
    assert.deepEqual(await resolvedOf(store, lease), [{ ...OVER[0], key: OTHER }]);
    await park(store, lease, { waits: [WAIT] });
    assert.deepEqual(await work(store), [bob]);
    await commit(store, await take(store, ben, NOW, bob));
    assert.deepEqual(await work(store), [alice]);
    assert.deepEqual(await resolvedOf(store, await resume(store)), [OVER[0], { ...OVER[0], key: OTHER }]);
  }),
  law("a turn that ended first keeps the one that waits for it from being parked", async (store) => {
    await commit(store, await first(store, "one", { to: bob }));
    const lease = await first(store);
    await store.append(lease, 1, [deferred()], NOW, [forTurns("all", "one")]);
    const came = await store.park(lease, parked(lease), NOW);
    assert.ok(came.kind === "mail");
    assert.deepEqual(came.mail.resolved, OVER);
  }),
  law("a turn whose input was withdrawn, or settled by another, is over", async (store) => {
    const child = await first(store, "one", { to: bob });
    await queue(store, "two", { to: bob });
    await queue(store, "three", { to: bob, place: "boundary" });
    await parksFor(store, forTurns("all", "two", "three"));
    await withdraw(store, "two", bob);
    assert.deepEqual(await claim(store, child), ["three"]);
    assert.deepEqual(await work(store), []);
    await commit(store, child, { inputs: [inputId("three")] });
    assert.deepEqual(await work(store), [alice]);
  }),
  law("a turn that nobody knows is over, and so is one whose session was deleted", async (store) => {
    const lease = await first(store);
    await first(store, "one", { to: bob });
    await store.append(lease, 1, [deferred()], NOW, [{ ...forTurns("any", "never"), key: OTHER }]);
    assert.deepEqual(await resolvedOf(store, lease), [{ ...OVER[0], key: OTHER }]);
    await store.append(lease, 2, [slept("a")], NOW, [forTurns("all", "one")]);
    await park(store, lease);
    assert.deepEqual(await work(store), []);
    await store.delete(bob);
    assert.deepEqual(await work(store), [alice]);
    await resume(store);
  }),
  law("answers come before turns that are over in the mail", async (store) => {
    await commit(store, await first(store, "one", { to: bob }));
    const lease = await first(store);
    await store.append(lease, 1, [deferred()], NOW, [forTurns("all", "one"), newWait(OTHER)]);
    await answer(store, yes, OTHER);
    assert.deepEqual(await resolvedOf(store, lease), [{ key: OTHER, answer: yes }, ...OVER]);
  }),
  law("a wait for turns is gone when its turn ends", async (store) => {
    await first(store, "one", { to: bob });
    await parksFor(store, forTurns("all", "one"));
    await commit(store, await resume(store, NOW + 10));
    assert.equal(await answer(store, late), "unknown");
    assert.deepEqual(await told(store, { session: alice }), ["accepted", "committed"]);
  }),
];

const noteLaws = [
  law("the first note stands", async (store) => {
    const { turnId } = await first(store);
    assert.equal(await store.note(turnId, CALL, "title"), undefined);
    assert.deepEqual(await store.note(turnId, CALL, "title", { text: "first" }), { text: "first" });
    assert.deepEqual(await store.note(turnId, CALL, "title", { text: "second" }), { text: "first" });
    assert.deepEqual(await store.note(turnId, CALL, "title"), { text: "first" });
  }),
  law("null, false, 0 and nothing said are notes like any other", async (store) => {
    const { turnId } = await first(store);
    for (const value of [null, false, 0, ""]) {
      const key = JSON.stringify(value);
      assert.equal(await store.note(turnId, CALL, key, value), value);
      assert.equal(await store.note(turnId, CALL, key, "second"), value);
    }
  }),
  law("a note belongs to its turn, effect and key", async (store) => {
    const one = await first(store);
    const two = await first(store, "hi", { to: bob });
    await store.note(one.turnId, CALL, "title", 1);
    assert.equal(await store.note(one.turnId, CALL, "other"), undefined);
    assert.equal(await store.note(one.turnId, asEffectName("r1.call.1"), "title"), undefined);
    assert.equal(await store.note(two.turnId, CALL, "title"), undefined);
  }),
  law("notes survive a takeover and end with the turn", async (store) => {
    const lease = await first(store);
    await store.note(lease.turnId, CALL, "title", 1);
    const taken = await take(store);
    assert.equal(await store.note(lease.turnId, CALL, "title"), 1);
    await commit(store, taken);
    assert.equal(await store.note(lease.turnId, CALL, "title"), undefined);
    assert.equal(await store.note(lease.turnId, CALL, "title", 2), 2);
    assert.equal(await store.note(lease.turnId, CALL, "title"), undefined);
  }),
  law("an effect is begun for the first time once", async (store) => {
    const one = await first(store);
    const two = await first(store, "hi", { to: bob });
    assert.equal(await store.attempt(one.turnId, CALL), "first");
    assert.equal(await store.attempt(one.turnId, CALL), "again");
    assert.equal(await store.attempt(one.turnId, asEffectName("r1.call.1")), "first");
    assert.equal(await store.attempt(two.turnId, CALL), "first");
  }),
  law("what was begun before a takeover may have run", async (store) => {
    const lease = await first(store);
    await store.attempt(lease.turnId, CALL);
    await take(store);
    assert.equal(await store.attempt(lease.turnId, CALL), "again");
  }),
  law("nothing of an ended turn is begun for the first time", async (store) => {
    const lease = await first(store);
    await commit(store, lease);
    assert.equal(await store.attempt(lease.turnId, CALL), "again");
  }),
];

const agendaLaws = [
  law("an idle session and one that is held have no work to take", async (store) => {
    await store.create(newSession(bob));
    await first(store);
    await queue(store, "more");
    assert.deepEqual(await work(store, LAPSED - 1, 10), []);
  }),
  law("a turn whose lease has lapsed is work to take", async (store) => {
    await first(store);
    assert.deepEqual(await work(store, LAPSED, 10), [alice]);
    await take(store, ben, LAPSED);
    assert.deepEqual(await work(store, LAPSED, 10), []);
  }),
  law("a released turn is work to take", async (store) => {
    await store.release(await first(store));
    assert.deepEqual(await work(store, NOW, 10), [alice]);
  }),
  law("an input that waits where no turn is open is work to take", async (store) => {
    const lease = await first(store);
    await queue(store, "more");
    await commit(store, lease);
    assert.deepEqual(await work(store, NOW, 10), [alice]);
    await drain(store);
    assert.deepEqual(await work(store, NOW, 10), []);
  }),
  law("a session whose last waiting input was withdrawn has no work to take", async (store) => {
    const lease = await first(store);
    await queue(store, "more");
    await commit(store, lease);
    await withdraw(store, "more");
    assert.deepEqual(await work(store, NOW, 10), []);
  }),
  law("work is given no more than asked for, each session once", async (store) => {
    await first(store);
    await queue(store, "more");
    await first(store, "hi", { to: bob });
    assert.deepEqual([...(await work(store, LAPSED, 10))].sort(), [alice, bob]);
    assert.equal((await work(store, LAPSED, 1)).length, 1);
  }),
  law("asked for without an end, everything is given", async (store) => {
    const lease = await waits(store);
    await queue(store, "one", { place: "boundary" });
    await commit(store, await first(store, "hi", { to: bob }));
    await store.accept(newInput("more", { to: bob }), ann, undefined, 100);
    assert.deepEqual([...(await work(store, LAPSED, Infinity))].sort(), [alice, bob]);
    assert.equal((await store.list({ max: Infinity })).length, 2);
    assert.equal((await store.waits.list({ max: Infinity })).length, 1);
    assert.equal((await store.changes(undefined, { max: Infinity })).length, 6);
    assert.deepEqual(await claim(store, lease, BOUNDARY, Infinity), ["one"]);
  }),
  law("the agenda says when a parked turn has mail by itself, the earliest first", async (store) => {
    assert.deepEqual(await store.agenda(NOW, 10), { sessions: [], gone: 0 });
    for (const [name, wakeAt] of [
      ["one", NOW + 30],
      ["two", NOW + 20],
      ["three", NOW + 40],
    ] as const) {
      const key = asWaitKey(name);
      await park(store, await waits(store, name, { to: asSessionId(name) }, key), { waits: [key], wakeAt });
    }
    assert.equal((await store.agenda(NOW, 10)).next, NOW + 20);
    const due = await store.agenda(NOW + 20, 10);
    assert.deepEqual([due.sessions, due.next], [["two"], NOW + 30]);
    await answer(store, yes, asWaitKey("one"));
    const woken = await store.agenda(NOW, 10);
    assert.deepEqual([woken.sessions, woken.next], [["one"], NOW + 20]);
    const all = await store.agenda(NOW + 40, 10);
    assert.deepEqual([[...all.sessions].sort(), "next" in all], [["one", "three", "two"], false]);
    assert.equal((await store.agenda(NOW + 40, 2)).sessions.length, 2);
    // Asked for an earlier time, as by a clock that was set back, it answers for that.
    const before = await store.agenda(NOW, 10);
    assert.deepEqual([before.sessions, before.next], [["one"], NOW + 20]);
  }),
  law("the agenda tells the latest fact, and how many sessions were deleted", async (store) => {
    await waits(store);
    assert.deepEqual(await store.agenda(NOW, 10), { sessions: [], latest: await store.latest(), gone: 0 });
    await answer(store, yes);
    assert.equal((await store.agenda(NOW, 10)).latest, await store.latest());
    const latest = await store.latest();
    await store.delete(alice);
    assert.deepEqual(await store.agenda(NOW, 10), { sessions: [], latest, gone: 1 });
    await store.delete(alice);
    await store.create(newSession(bob));
    await store.delete(bob);
    assert.deepEqual(await store.agenda(NOW, 10), { sessions: [], latest, gone: 2 });
  }),
  law("the agenda that is asked again follows what happened", async (store) => {
    const lease = await first(store);
    const lists = async (now: number) => (await work(store, now)).length === 1;
    for (const isWork of [true, false, true]) assert.equal(await lists(isWork ? LAPSED : NOW), isWork);
    await store.append(lease, 1, [slept("a")], NOW + 5);
    assert.equal(await lists(LAPSED), false);
    await store.renew(lease, NOW + 10);
    assert.deepEqual([await lists(LAPSED + 5), await lists(LAPSED + 10)], [false, true]);
    await store.release(lease);
    assert.equal(await lists(NOW), true);
    await commit(store, await take(store));
    assert.equal(await lists(LAPSED), false);
  }),
];

const HASH = asBlobHash("LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ"); // of "hello"
const hello = () => new TextEncoder().encode("hello");

const blobLaws = [
  law("a blob is given back as it was put", async (store) => {
    assert.equal(await store.blobs.get(HASH), undefined);
    await store.blobs.put(HASH, hello());
    const data = await store.blobs.get(HASH);
    assert.deepEqual([...(data ?? [])], [...hello()]);
  }),
  law("putting a blob again is harmless", async (store) => {
    await store.blobs.put(HASH, hello());
    await store.blobs.put(HASH, hello());
    assert.deepEqual([...((await store.blobs.get(HASH)) ?? [])], [...hello()]);
  }),
  law("a blob does not change with the bytes it was made of, or that were read", async (store) => {
    const data = hello();
    await store.blobs.put(HASH, data);
    data.fill(0);
    (await store.blobs.get(HASH))?.fill(0);
    assert.deepEqual([...((await store.blobs.get(HASH)) ?? [])], [...hello()]);
  }),
  law("an input whose attachment is not there is refused, and kept once its bytes are", async (store) => {
    await store.create(newSession(alice));
    const parts: readonly Part[] = [{ kind: "attachment", hash: HASH, mediaType: "text/plain", bytes: 5 }];
    await refused("store.swept", () => send(store, "look", { parts, key: "k" }));
    assert.deepEqual([await store.inputs.list(alice), await store.latest()], [[], undefined]);
    await store.blobs.put(HASH, hello());
    assert.equal((await send(store, "look", { parts, key: "k" })).kind, "opened");
    assert.equal((await send(store, "look", { parts, key: "k" })).kind, "known");
  }),
  law("a blob may be empty", async (store) => {
    const empty = asBlobHash("47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
    await store.blobs.put(empty, new Uint8Array());
    assert.equal((await store.blobs.get(empty))?.length, 0);
  }),
];

/** Makes three turns of two nodes each and returns the last commit. */
async function threeTurns(store: Store): Promise<Committed> {
  await store.create(newSession(alice));
  await turn(store, "one", { says: ["1a", "1b"], plugins: state(1), usage: usage(1) });
  await turn(store, "two", { says: ["2a", "2b"], plugins: state(2), usage: usage(1) });
  return turn(store, "three", { says: ["3a", "3b"], plugins: state(3), usage: usage(1) });
}
const FRAME: Entry = { at: NOW, kind: "frame", reason: "compacted", task: "Go on." };

const viewLaws = [
  law("a path is read by segments, newest first, each naming the node it follows", async (store) => {
    await threeTurns(store);
    const path = await store.view(alice);
    assert.deepEqual(
      path.map(({ commit, parent }) => [commit, parent]),
      [
        [turnId("three"), node("two", 1)],
        [turnId("two"), node("one", 1)],
        [turnId("one"), undefined],
      ],
    );
    assert.deepEqual(wordsOf(path), ["1a", "1b", "2a", "2b", "3a", "3b"]);
  }),
  law("nodes are kept whole", async (store) => {
    const lease = await first(store);
    const { entries } = ended(lease, { says: [calls("c1"), returns("c1"), "done"] });
    const kept: readonly Entry[] = [
      ...entries,
      { at: NOW, kind: "plugin", plugin: "acme/notes", type: "note", body: { list: [1, null, "é\u0000\ud83d\ude00"] } },
      { at: NOW, kind: "frame", reason: "compacted", task: "Go on." },
    ];
    await store.commit(lease, { ...ended(lease), entries: kept });
    assert.deepEqual((await store.view(alice))[0]?.entries, kept);
  }),
  law("pages that follow the last parent read the whole path once", async (store) => {
    await threeTurns(store);
    const pages: Segment[] = [];
    let page = await store.view(alice, { max: 2 });
    while (page.length > 0) {
      pages.push(...page);
      const parent = page.at(-1)?.parent;
      page = parent === undefined ? [] : await store.view(alice, { from: parent, max: 2 });
    }
    assert.deepEqual(pages, await store.view(alice));
  }),
  law("a path that ends inside a segment is cut there", async (store) => {
    await threeTurns(store);
    assert.deepEqual(await said(store, alice, node("two", 0)), ["1a", "1b", "2a"]);
    assert.deepEqual(await said(store, alice, node("two", 1)), ["1a", "1b", "2a", "2b"]);
    const cut = await store.view(alice, { from: node("three", 0), max: 1 });
    assert.deepEqual(wordsOf(cut), ["3a"]);
  }),
  law("a path is read down to the segment in which its frame begins, and no further", async (store) => {
    await threeTurns(store);
    const commits = async (page: Omit<ViewPage, "toFrame"> = {}, session = alice) =>
      (await store.view(session, { ...page, toFrame: true })).map((segment) => segment.commit);
    assert.deepEqual(await commits(), [turnId("three"), turnId("two"), turnId("one")]);
    await apply(store, "frame", { entries: [...notes("frame", "before"), FRAME, ...notes("frame", "after")] });
    assert.deepEqual(await commits(), ["frame"]);
    assert.deepEqual(await store.view(alice, { toFrame: true }), await store.view(alice, { max: 1 }));
    await turn(store, "four");
    await turn(store, "five");
    assert.deepEqual(await commits(), [turnId("five"), turnId("four"), "frame"]);
    assert.deepEqual(await commits({ max: 2 }), [turnId("five"), turnId("four")]);
    assert.deepEqual(await commits({ from: node("four", 0) }), [turnId("four"), "frame"]);
    assert.deepEqual(await commits({ from: nodeId("frame", 1) }), ["frame"]);
    // Nodes before a frame belong to the frame before it, even within the same segment.
    assert.deepEqual(await commits({ from: nodeId("frame", 0) }), [
      "frame",
      turnId("three"),
      turnId("two"),
      turnId("one"),
    ]);
    await apply(store, "again", { entries: [FRAME] });
    assert.deepEqual(await commits(), ["again"]);
    await store.fork(alice, newSession(bob), node("four", 0));
    await turn(store, "in bob", {}, { to: bob });
    assert.deepEqual(await commits({}, bob), [turnId("in bob"), turnId("four"), "frame"]);
    const { branch } = await commit(store, await begin(store, "late"), { base: node("two", 1) });
    assert.deepEqual(await commits({ from: branch! }), [turnId("late"), turnId("two"), turnId("one")]);
  }),
  law("a session without nodes has no frame to read", async (store) => {
    await store.create(newSession(alice));
    assert.deepEqual(await store.view(alice, { toFrame: true }), []);
    await refused("fork.unknown", () => store.view(alice, { toFrame: true, from: node("never", 0) }));
  }),
  law("a path that ends nowhere is refused", async (store) => {
    await threeTurns(store);
    for (const nowhere of [node("two", 2), nodeId(NEVER, 0)]) {
      await refused("fork.unknown", () => store.view(alice, { from: nowhere }));
    }
    await refused("session.unknown", () => store.view(bob));
  }),
];

const forkLaws = [
  law("a fork shares the history and counts from nothing", async (store) => {
    const { head } = await threeTurns(store);
    const fork = await store.fork(alice, { ...newSession(bob), parentId: alice, at: NOW + 1 });
    assert.deepEqual(fork, {
      id: bob,
      parentId: alice,
      origin: { sessionId: alice, at: head },
      createdAt: NOW + 1,
      config: { model: "house/model" },
      revision: 0,
      head,
      plugins: state(3),
      usage: NO_USAGE,
      ledger: [],
      turns: 0,
    });
    assert.deepEqual(await store.load(bob), fork);
    assert.deepEqual(await store.view(bob), await store.view(alice));
  }),
  law("a fork of an empty session is empty", async (store) => {
    await store.create(newSession(alice));
    assert.equal((await store.fork(alice, newSession(bob))).head, undefined);
    assert.deepEqual(await store.view(bob), []);
  }),
  law("a fork at a node ends there", async (store) => {
    await threeTurns(store);
    const fork = await store.fork(alice, newSession(bob), node("two", 0));
    assert.equal(fork.head, node("two", 0));
    assert.deepEqual(await said(store, bob), ["1a", "1b", "2a"]);
  }),
  law("a fork and its source go on without each other", async (store) => {
    await threeTurns(store);
    await store.fork(alice, newSession(bob), node("two", 0));
    await turn(store, "in bob", { plugins: state("bob"), usage: usage(5) }, { to: bob });
    await turn(store, "in alice", { plugins: state("alice"), usage: usage(7) });
    assert.deepEqual(await said(store, bob), ["1a", "1b", "2a", "in bob"]);
    assert.deepEqual(await said(store, alice), ["1a", "1b", "2a", "2b", "3a", "3b", "in alice"]);
    const [a, b] = [await store.load(alice), await store.load(bob)];
    assert.deepEqual([a?.revision, a?.turns, a?.usage, a?.plugins], [4, 4, usage(10), state("alice")]);
    assert.deepEqual([b?.revision, b?.turns, b?.usage, b?.plugins], [1, 1, usage(5), state("bob")]);
  }),
  law("a fork at the end of a commit has its plugin states, inside of one those before it", async (store) => {
    await threeTurns(store);
    const at = async (name: string, node: NodeId) =>
      (await store.fork(alice, newSession(asSessionId(name)), node)).plugins;
    assert.deepEqual(await at("f1", node("three", 1)), state(3));
    assert.deepEqual(await at("f2", node("three", 0)), state(2));
    assert.deepEqual(await at("f3", node("two", 1)), state(2));
    assert.deepEqual(await at("f4", node("two", 0)), state(1));
    assert.deepEqual(await at("f5", node("one", 0)), {});
  }),
  law("a commit without nodes counts for forks at the node it was made on", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one", { plugins: state(1) });
    await turn(store, "bare", { says: [], plugins: state("bare") });
    const early = await store.fork(alice, newSession(asSessionId("early")), node("one", 0));
    assert.deepEqual(early.plugins, state("bare"));
    await turn(store, "two", { plugins: state(2) });
    const late = await store.fork(alice, newSession(asSessionId("late")), node("one", 0));
    assert.deepEqual(late.plugins, state("bare"));
  }),
  law("a commit without nodes in a fork is nothing to its source", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one", { plugins: state(1) });
    await store.fork(alice, newSession(bob));
    await turn(store, "bare", { says: [], plugins: state("bare") }, { to: bob });
    const fork = await store.fork(alice, newSession(asSessionId("carol")), node("one", 0));
    assert.deepEqual(fork.plugins, state(1));
  }),
  law("a fork does not share inputs, keys or leases", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one", {}, { key: "k" });
    const lease = await begin(store, "two");
    await queue(store, "more");
    await store.fork(alice, newSession(bob));
    assert.deepEqual(await waiting(store, bob), []);
    assert.equal((await open(store, ben, LAPSED, bob)).kind, "idle");
    const own = await begin(store, "own", { to: bob, key: "k" });
    await commit(store, own);
    await commit(store, lease, { says: ["two"] });
    assert.deepEqual(await said(store), ["one", "two"]);
  }),
  law("a fork of a fork may end inside what they share", async (store) => {
    await threeTurns(store);
    await store.fork(alice, newSession(bob), node("two", 0));
    await turn(store, "in bob", {}, { to: bob });
    const carol = asSessionId("carol");
    await store.fork(bob, newSession(carol), node("one", 0));
    assert.deepEqual(await said(store, carol), ["1a"]);
    const dave = asSessionId("dave");
    assert.equal((await store.fork(bob, newSession(dave), node("two", 0))).head, node("two", 0));
    await refused("fork.unknown", () => store.fork(bob, newSession(asSessionId("erin")), node("two", 1)));
  }),
  law("a fork may not part a call from its result", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one");
    await turn(store, "two", { says: ["so", calls("c1"), returns("c1"), "done"] });
    await assert.rejects(
      async () => store.fork(alice, newSession(bob), node("two", 1)),
      ({ code, details }: { readonly code?: unknown; readonly details?: unknown }) => {
        assert.equal(code, "fork.unpaired");
        assert.deepEqual(details, { node: node("two", 1), legal: [node("two", 0), node("two", 2)] });
        return true;
      },
    );
    assert.equal(await store.load(bob), undefined);
    assert.equal((await store.fork(alice, newSession(bob), node("two", 2))).head, node("two", 2));
  }),
  law("where a commit begins with a call, a fork is sent to the commit before", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one");
    await turn(store, "two", { says: [calls("c1"), returns("c1"), "done"] });
    await assert.rejects(
      async () => store.fork(alice, newSession(bob), node("two", 0)),
      ({ details }: { readonly details?: unknown }) => {
        assert.deepEqual(details, { node: node("two", 0), legal: [node("one", 0), node("two", 1)] });
        return true;
      },
    );
  }),
  law("a fork at no node of the active path is refused", async (store) => {
    const { head } = await threeTurns(store);
    await store.create(newSession(bob));
    await turn(store, "elsewhere", {}, { to: bob });
    const lease = await begin(store, "late");
    const { branch } = await commit(store, lease, { base: node("two", 1) });
    const carol = newSession(asSessionId("carol"));
    for (const at of [nodeId(NEVER, 0), node("two", 2), node("elsewhere", 0), branch!]) {
      await refused("fork.unknown", () => store.fork(alice, carol, at));
    }
    const dave = newSession(asSessionId("dave"));
    await store.create(dave);
    await refused("fork.unknown", () => store.fork(dave.id, carol, node("one", 0)));
    assert.equal(await store.load(carol.id), undefined);
    assert.equal((await store.fork(alice, carol)).head, head);
  }),
  law("a session that is not there cannot be forked", async (store) => {
    await refused("session.unknown", () => store.fork(alice, newSession(bob)));
  }),
  law("forking to the same id again answers the fork as it is", async (store) => {
    await threeTurns(store);
    await store.fork(alice, newSession(bob), node("one", 1));
    await turn(store, "in bob", {}, { to: bob });
    assert.deepEqual(await store.fork(alice, newSession(bob)), await store.load(bob));
    assert.deepEqual(await said(store, bob), ["1a", "1b", "in bob"]);
  }),
];

const deleteLaws = [
  law("a deleted session is gone, and its id is used up", async (store) => {
    await threeTurns(store);
    await store.delete(alice);
    assert.equal(await store.load(alice), undefined);
    assert.deepEqual(await store.list(), []);
    await refused("session.deleted", () => store.create(newSession(alice)));
    await store.create(newSession(bob));
    await refused("session.deleted", () => store.fork(bob, newSession(alice)));
    await refused("session.unknown", () => send(store, "more"));
    await refused("session.unknown", () => open(store));
    await refused("session.unknown", () => store.view(alice));
    await refused("session.unknown", () => store.fork(alice, newSession(asSessionId("carol"))));
  }),
  law("deleting again is harmless", async (store) => {
    await store.create(newSession(alice));
    await store.delete(alice);
    await store.delete(alice);
    await refused("session.deleted", () => store.create(newSession(alice)));
  }),
  law("a deleted session's work is dropped", async (store) => {
    const lease = await waits(store);
    await queue(store, "more");
    await store.delete(alice);
    assert.deepEqual(await waiting(store), []);
    assert.deepEqual(await work(store, LAPSED, 10), []);
    assert.equal(await answer(store, yes), "unknown");
    assert.deepEqual(await store.waits.list({ max: 10 }), []);
    assert.deepEqual(await store.journal(lease.turnId, 0), []);
    assert.equal(await withdraw(store, "more"), undefined);
    assert.deepEqual(await store.cancel(lease.turnId, stop("r1")), { kind: "unknown" });
  }),
  law("a turn that runs in a deleted session has lost its lease", async (store) => {
    const lease = await first(store);
    await store.delete(alice);
    await refused("lease.lost", () => store.append(lease, 1, [slept("a")], NOW));
    await refused("lease.lost", () => store.renew(lease, NOW));
    await refused("lease.lost", () => claim(store, lease));
    await refused("lease.lost", () => store.commit(lease, ended(lease)));
    await store.release(lease);
    assert.equal(await store.load(alice), undefined);
  }),
  law("the terminals of a deleted session are gone", async (store) => {
    await threeTurns(store);
    await store.delete(alice);
    assert.equal(await store.terminal(turnId("one")), undefined);
  }),
  law("deleting a session leaves its forks unharmed", async (store) => {
    await threeTurns(store);
    await store.fork(alice, newSession(bob), node("two", 0));
    const before = await store.view(bob);
    await store.delete(alice);
    assert.deepEqual(await store.view(bob), before);
    assert.deepEqual(await said(store, bob, node("one", 0)), ["1a"]);
    await turn(store, "in bob", {}, { to: bob });
    assert.deepEqual(await said(store, bob), ["1a", "1b", "2a", "in bob"]);
    const carol = asSessionId("carol");
    await store.fork(bob, newSession(carol), node("one", 1));
    await store.delete(bob);
    assert.deepEqual(await said(store, carol), ["1a", "1b"]);
  }),
  law("deleting a fork leaves its source unharmed", async (store) => {
    await threeTurns(store);
    await store.fork(alice, newSession(bob), node("two", 0));
    await turn(store, "in bob", {}, { to: bob });
    await store.delete(bob);
    assert.deepEqual(await said(store), ["1a", "1b", "2a", "2b", "3a", "3b"]);
    await turn(store, "more");
  }),
  law("deleting a session with branches leaves its forks unharmed", async (store) => {
    await threeTurns(store);
    await commit(store, await begin(store, "late"), { base: node("one", 0) });
    await store.fork(alice, newSession(bob));
    await store.delete(alice);
    assert.deepEqual(await said(store, bob), ["1a", "1b", "2a", "2b", "3a", "3b"]);
    assert.deepEqual(await said(store, bob, node("one", 0)), ["1a"]);
  }),
];

const changeLaws = [
  law("what was accepted and committed is told in order, whole", async (store) => {
    const lease = await first(store, "hello", { key: "k \u0000" });
    await queue(store, "more");
    const answer: TurnOutcome = {
      kind: "answered",
      message: { id: nodeId(lease.turnId, 1), ...assistant(text("b")) } as Message,
      text: "b",
    };
    const done = await commit(store, lease, { says: ["a", "b"], outcome: answer, usage: usage(3) });
    const bare = await commit(store, await take(store), { says: [] });
    const [one, two, three, four] = await store.changes(undefined, { max: 10 });
    const hello = { inputId: inputId("hello"), turnId: turnId("hello"), key: "k \u0000" };
    assert.deepEqual(one, { cursor: one!.cursor, sessionId: alice, kind: "accepted", ...hello });
    const more = { inputId: inputId("more"), turnId: turnId("more") };
    assert.deepEqual(two, { cursor: two!.cursor, sessionId: alice, kind: "accepted", ...more });
    const turns = { sessionId: alice, kind: "committed", by: "turn" };
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
  law("a withdrawn input is told as accepted still, with its key", async (store) => {
    await first(store);
    await queue(store, "more", { key: "k" });
    const before = await store.changes(undefined, { max: 10 });
    await withdraw(store, "more");
    assert.deepEqual(await store.changes(undefined, { max: 10 }), before);
    await queue(store, "other", { key: "k" });
    const keys = (await store.changes(undefined, { max: 10 })).map(
      (change) => change.kind === "accepted" && change.key,
    );
    assert.deepEqual(keys, [undefined, "k", "k"]);
  }),
  law("an operation is told like a turn, by what made it", async (store) => {
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
  law("the frames among the nodes are told, of turns and of operations", async (store) => {
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
  law("changes are told after a cursor, a page at a time", async (store) => {
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
  law("changes can be told of one session", async (store) => {
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
  law("a turn kept as a branch is told as committed", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one");
    const lease = await begin(store, "late");
    const { cursor, branch } = await committed(store.commit(lease, ended(lease, { usage: usage(9) })));
    assert.deepEqual((await store.changes(undefined, { max: 10 })).at(-1), {
      cursor,
      sessionId: alice,
      kind: "committed",
      by: "turn",
      turnId: lease.turnId,
      outcome: stopped("well"),
      usage: usage(9),
      branch,
      nodes: [branch],
    });
  }),
  law(
    "the changes of a session are told after a turn that was long open, and after inputs that waited",
    async (store) => {
      const lease = await first(store);
      for (const words of ["one", "two", "three"]) await queue(store, words);
      await withdraw(store, "two");
      await commit(store, lease);
      await drain(store);
      await turn(store, "last");
      const all = await store.changes(undefined, { max: 100 });
      assert.equal(all.length, 9);
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
    await store.fork(alice, newSession(bob)); // A fork is no child.
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
  law("a ledger has its rows in the order in which they first came, of changes and turns alike", async (store) => {
    const lease = await first(store, "one");
    await send(store, "two");
    await commit(store, lease);
    await apply(store, "op", { spent: [spent("z", 1)] });
    // The turn was accepted before the change and commits right after it: no fact stands between the two.
    await commit(store, await take(store), { spent: [spent("a", 2)] });
    assert.deepEqual(
      (await store.load(alice))?.ledger.map(({ source }) => source),
      ["z", "a"],
    );
  }),

  law("what a tree has spent is told by session, source and model", async (store) => {
    const carol = asSessionId("carol");
    await store.create(newSession(bob));
    await store.create({ ...newSession(alice), parentId: bob });
    await store.create({ ...newSession(carol), parentId: alice });
    await store.fork(bob, newSession(asSessionId("dave")));
    assert.deepEqual(await store.booked(bob), []);
    await turn(store, "one", { spent: [spent("turn", 1), spent("label", 2)] }, { to: carol });
    await turn(store, "two", { spent: [spent("turn", 4)] }, { to: bob });
    await turn(store, "three", { spent: [spent("turn", 8)] }, { to: bob });
    await apply(store, "op", { spent: [spent("label", 16)] });
    await apply(store, "elsewhere", { sessionId: asSessionId("dave"), spent: [spent("turn", 32)] });
    assert.deepEqual(await store.booked(bob), [
      { sessionId: alice, ...spent("label", 16) },
      { sessionId: bob, ...spent("turn", 12), calls: 2 },
      { sessionId: carol, ...spent("turn", 1) },
      { sessionId: carol, ...spent("label", 2) },
    ]);
    assert.deepEqual(
      (await store.booked(alice)).map(({ sessionId }) => sessionId),
      [alice, carol, carol],
    );
    assert.deepEqual(await store.booked(asSessionId("nobody")), []);
  }),
  law("a text that is no cursor is refused", async (store) => {
    await first(store);
    await refused("cursor.unknown", () => store.changes(asCursor("nonsense"), { max: 10 }));
    await refused("cursor.unknown", () => store.changes(asCursor(""), { session: alice, max: 10 }));
    await refused("cursor.unknown", () => store.changes(asCursor("2"), { tree: alice, max: 10 }));
  }),
];

// Changes between turns. An operation is called by its words, like an input, and adds a node for each of them.

const change = (operation: string, rest: Partial<SessionChange> = {}): SessionChange => ({
  sessionId: alice,
  operation,
  at: NOW,
  ...rest,
});
const notes = (operation: string, ...words: readonly string[]): readonly Entry[] =>
  words.map((each, index): Entry => {
    if (each.startsWith("#")) return { at: NOW, kind: "plugin", plugin: "notes", type: "note", body: { each } };
    const message = { id: nodeId(operation, index), role: "user", parts: [text(each)] } as const;
    return { at: NOW, kind: "message", message };
  });
/** Applies a change that must be kept. */
async function apply(store: Store, operation: string, rest: Partial<SessionChange> = {}): Promise<Committed> {
  const answer = await store.apply(change(operation, rest));
  return answer.kind === "committed" ? answer : assert.fail(`the change was ${answer.kind}`);
}

const applyLaws = [
  law("a change between turns is kept at once, whole", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "hello", { plugins: state("old"), usage: usage(1), spent: [spent("turn", 1)] });
    const done = await apply(store, "op", {
      entries: notes("op", "a", "#b"),
      plugins: { more: { version: "2", revision: 7, state: [1] } },
      config: { model: "other/model", instructions: "Be brief." },
      spent: [spent("label", 10), spent("label", 5)],
    });
    assert.deepEqual([done.revision, done.head, done.branch], [2, nodeId("op", 1), undefined]);
    const session = await store.load(alice);
    assert.deepEqual(session, {
      id: alice,
      createdAt: NOW,
      config: { model: "other/model", instructions: "Be brief." },
      revision: 2,
      head: nodeId("op", 1),
      plugins: { ...state("old"), more: { version: "2", revision: 7, state: [1] } },
      usage: usage(16),
      ledger: [
        { ...spent("turn", 1), calls: 1 },
        { ...spent("label", 15), calls: 2 },
      ],
      turns: 1,
    });
    assert.deepEqual(await said(store), ["hello", "a", "plugin"]);
  }),
  law("a change of no session is refused", async (store) => {
    await refused("session.unknown", () => store.apply(change("op")));
    await store.create(newSession(alice));
    await store.delete(alice);
    await refused("session.unknown", () => store.apply(change("op")));
  }),
  law("a change leaves what it does not name", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "hello", { plugins: state("old"), usage: usage(1) });
    const before = await store.load(alice);
    await apply(store, "nothing");
    assert.deepEqual(await store.load(alice), { ...before, revision: 2 });
    await apply(store, "empty", { entries: [], plugins: {}, spent: [] });
    assert.deepEqual(await store.load(alice), { ...before, revision: 3 });
  }),
  law("a change of the config replaces it whole", async (store) => {
    await store.create(newSession(alice));
    await apply(store, "one", { config: { model: "other/model", instructions: "Be brief." } });
    await apply(store, "two", { config: { instructions: "Be kind." } });
    assert.deepEqual((await store.load(alice))?.config, { instructions: "Be kind." });
    await apply(store, "three", { config: {} });
    assert.deepEqual((await store.load(alice))?.config, {});
  }),
  law("a change of plugin states replaces those it names, and a turn after it those it commits", async (store) => {
    await store.create(newSession(alice));
    const [one, two] = [
      { one: { version: "1", revision: 1, state: 1 } },
      { two: { version: "1", revision: 1, state: 2 } },
    ];
    await apply(store, "one", { plugins: one });
    await apply(store, "two", { plugins: two });
    assert.deepEqual((await store.load(alice))?.plugins, { ...one, ...two });
    const other = { one: { version: "1", revision: 2, state: 11 } };
    await apply(store, "other", { plugins: other });
    assert.deepEqual((await store.load(alice))?.plugins, { ...other, ...two });
    await turn(store, "hello", { plugins: two });
    assert.deepEqual((await store.load(alice))?.plugins, two);
  }),
  law("the same change again is answered as the first time and counts once", async (store) => {
    await store.create(newSession(alice));
    const rest = { entries: notes("op", "a"), plugins: state(1), config: { model: "m/m" }, spent: [spent("x", 1)] };
    const first = await apply(store, "op", rest);
    const before = await store.load(alice);
    assert.deepEqual(await apply(store, "op", rest), first);
    assert.deepEqual(await store.load(alice), before);
    await turn(store, "hello");
    assert.deepEqual(await apply(store, "op", rest), first);
    assert.deepEqual(await said(store), ["a", "hello"]);
    assert.equal((await store.load(alice))?.usage.input, 1);
  }),
  law("when a change was made, and on which revision, is not what it is: neither makes a conflict", async (store) => {
    await store.create(newSession(alice));
    const entries = notes("op", "a");
    const first = await apply(store, "op", { entries, base: 0 });
    assert.deepEqual(await apply(store, "op", { entries, base: 1, at: NOW + 9 }), first);
    assert.deepEqual(await apply(store, "op", { entries: entries.map((entry) => ({ ...entry, at: NOW + 9 })) }), first);
  }),
  law("the same change again is answered while a turn is open, too", async (store) => {
    await store.create(newSession(alice));
    const first = await apply(store, "op", { entries: notes("op", "a") });
    await begin(store, "hello");
    assert.deepEqual(await store.apply(change("op", { entries: notes("op", "a") })), first);
  }),
  law("an operation with other content is a conflict, and the first stands", async (store) => {
    await store.create(newSession(alice));
    await apply(store, "op", { entries: notes("op", "a"), plugins: state(1) });
    const before = await store.load(alice);
    for (const rest of [
      {},
      { entries: notes("op", "b"), plugins: state(1) },
      { entries: notes("op", "a"), plugins: state(2) },
      { entries: notes("op", "a"), plugins: state(1), config: { model: "m/m" } },
      { entries: notes("op", "a"), plugins: state(1), spent: [spent("x", 1)] },
    ])
      await refused("append.conflict", () => store.apply(change("op", rest)));
    assert.deepEqual(await store.load(alice), before);
  }),
  law("while a turn is open a change is busy, and nothing is kept of it", async (store) => {
    const lease = await first(store);
    const before = await store.load(alice);
    assert.deepEqual(await store.apply(change("op", { entries: notes("op", "a") })), { kind: "busy" });
    await store.renew(lease, LAPSED);
    assert.deepEqual(await store.apply(change("op", { plugins: state(1) })), { kind: "busy" });
    assert.deepEqual(await store.load(alice), before);
    await commit(store, lease);
    await apply(store, "op", { entries: notes("op", "b") });
    assert.deepEqual(await said(store), ["well", "b"]);
  }),
  law("a turn whose lease has lapsed is open still", async (store) => {
    const lease = await first(store);
    await store.release(lease);
    assert.deepEqual(await store.apply(change("op")), { kind: "busy" });
  }),
  law("inputs that wait keep no change from being made", async (store) => {
    const lease = await first(store);
    await queue(store, "more");
    await commit(store, lease);
    await apply(store, "op", { entries: notes("op", "a") });
    assert.deepEqual(await drain(store), ["more"]);
    assert.deepEqual(await said(store), ["well", "a", "well"]);
  }),
  law("a change on another revision than its base is stale, and nothing is kept of it", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "hello");
    const before = await store.load(alice);
    for (const base of [0, 2])
      assert.deepEqual(await store.apply(change("op", { base, entries: notes("op", "a") })), {
        kind: "stale",
        revision: 1,
      });
    assert.deepEqual(await store.load(alice), before);
    assert.deepEqual(await said(store), ["hello"]);
    await apply(store, "op", { base: 1, entries: notes("op", "b") });
    assert.deepEqual(await said(store), ["hello", "b"]);
  }),
  law("of changes on one base the first is kept", async (store) => {
    await store.create(newSession(alice));
    const answers = await Promise.all(
      ["a", "b", "c"].map((each) => store.apply(change(each, { base: 0, plugins: state(each) }))),
    );
    assert.deepEqual(answers.map(({ kind }) => kind).sort(), ["committed", "stale", "stale"]);
    assert.equal((await store.load(alice))?.revision, 1);
  }),
  law("a required node may be the head or anything before it, of a turn or of a change", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one", { says: ["1a", "1b"] });
    await apply(store, "op", { entries: notes("op", "a", "b") });
    await turn(store, "two");
    for (const requires of [node("one", 0), node("one", 1), nodeId("op", 0), nodeId("op", 1), node("two", 0)])
      await apply(store, `after ${requires}`, { requires, plugins: state(requires) });
    assert.equal((await store.load(alice))?.revision, 8);
  }),
  law("a required node that is not on the active path is stale, and nothing is kept of it", async (store) => {
    await threeTurns(store);
    const { branch } = await commit(store, await begin(store, "late"), { base: node("one", 0) });
    await store.fork(alice, newSession(bob), node("one", 1));
    await turn(store, "in bob", {}, { to: bob });
    const before = await store.load(alice);
    for (const requires of [branch as NodeId, node("in bob", 0), node("never", 0), node("one", 9)])
      assert.deepEqual(await store.apply(change("op", { requires, entries: notes("op", "a") })), {
        kind: "stale",
        revision: before?.revision,
      });
    assert.deepEqual(await store.load(alice), before);
    assert.deepEqual((await store.apply(change("op", { sessionId: bob, requires: node("two", 0) }))).kind, "stale");
    assert.equal((await store.apply(change("op", { sessionId: bob, requires: node("one", 1) }))).kind, "committed");
  }),
  law("the nodes of a change are read like those of a turn", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "hello");
    const entries = notes("op", "a", "#b", "c");
    await apply(store, "op", { entries });
    await turn(store, "more");
    assert.deepEqual(await store.view(alice, { max: 2 }), [
      { commit: turnId("more"), parent: nodeId("op", 2), entries: (await store.view(alice))[0]?.entries },
      { commit: "op", parent: node("hello", 0), entries },
    ]);
    assert.deepEqual(await said(store, alice, nodeId("op", 1)), ["hello", "a", "plugin"]);
    await refused("fork.unknown", () => store.view(alice, { from: nodeId("op", 3) }));
  }),
  law("a fork may end at a node of a change, with the plugin states of then", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "hello", { plugins: state(1) });
    await apply(store, "op", { entries: notes("op", "a", "b"), plugins: state(2) });
    await turn(store, "more", { plugins: state(3) });
    for (const [at, words, value] of [
      [node("hello", 0), ["hello"], 1],
      [nodeId("op", 0), ["hello", "a"], 1],
      [nodeId("op", 1), ["hello", "a", "b"], 2],
      [node("more", 0), ["hello", "a", "b", "more"], 3],
    ] as const) {
      const id = asSessionId(`fork at ${at}`);
      await store.fork(alice, newSession(id), at);
      assert.deepEqual(await said(store, id), words);
      assert.deepEqual((await store.load(id))?.plugins, state(value));
    }
  }),
  law("a change without nodes counts for forks at the node it was made on", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "hello", { plugins: state(1) });
    await apply(store, "op", { plugins: state(2) });
    await store.fork(alice, newSession(bob), node("hello", 0));
    assert.deepEqual((await store.load(bob))?.plugins, state(2));
  }),
  law("a fork and its source change without each other", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "hello", { plugins: state(1) });
    await store.fork(alice, newSession(bob));
    await apply(store, "in alice", { entries: notes("in alice", "a"), plugins: state(2), config: { model: "a/a" } });
    await apply(store, "in bob", { sessionId: bob, entries: notes("in bob", "b"), plugins: state(3) });
    assert.deepEqual(await said(store), ["hello", "a"]);
    assert.deepEqual(await said(store, bob), ["hello", "b"]);
    assert.deepEqual((await store.load(alice))?.plugins, state(2));
    assert.deepEqual((await store.load(bob))?.config, newSession(bob).config);
  }),
  law("deleting a session leaves the nodes that its changes gave to forks", async (store) => {
    await store.create(newSession(alice));
    await apply(store, "op", { entries: notes("op", "a", "b") });
    await turn(store, "hello");
    await store.fork(alice, newSession(bob), nodeId("op", 0));
    await store.delete(alice);
    assert.deepEqual(await said(store, bob), ["a"]);
    await apply(store, "more", { sessionId: bob, entries: notes("more", "c"), requires: nodeId("op", 0) });
    assert.deepEqual(await said(store, bob), ["a", "c"]);
  }),
  law(
    "a turn runs on what a change left: its lease has the revision, and its commit follows the head",
    async (store) => {
      await store.create(newSession(alice));
      await apply(store, "op", { entries: notes("op", "a") });
      const lease = await begin(store, "hello");
      assert.equal(lease.revision, 1);
      const done = await commit(store, lease, { says: ["b"] });
      assert.equal(done.branch, undefined);
      assert.deepEqual(await said(store), ["a", "b"]);
    },
  ),
  law("nodes whose list its caller goes on using are kept as they were given", async (store) => {
    await store.create(newSession(alice));
    const entries = [...notes("op", "a")];
    await apply(store, "op", { entries });
    entries.push(...notes("op", "b"));
    assert.deepEqual(await said(store), ["a"]);
  }),
];

// Inputs that open no turn, and appends that wait for the one that is open.

const INJECT = { place: "injected" } as const;

/** An opening that notes what it was told besides the input. A store may ask more than once: the last answer counts. */
function noting(): { readonly opening: Opening; readonly told: () => readonly Standing[] } {
  const told = new Map<string, Standing>();
  return {
    told: () => [...told.values()],
    opening(input, config, standing) {
      told.delete(input.id);
      told.set(input.id, standing);
      return opening(input, config, standing);
    },
  };
}

const injectedLaws = [
  law("an injected input waits on an idle session, and opens no turn there by whatever way", async (store) => {
    await store.create(newSession(alice));
    const receipt = { kind: "queued", inputId: inputId("psst"), turnId: turnId("psst") };
    assert.deepEqual(await send(store, "psst", INJECT), receipt);
    assert.equal((await store.load(alice))?.openTurn, undefined);
    assert.deepEqual(await open(store), { kind: "idle" });
    assert.deepEqual(await work(store, LAPSED, 10), []);
    const [listed] = await store.inputs.list(alice);
    assert.deepEqual(listed, { ...newInput("psst", INJECT), seq: listed?.seq });
    assert.equal((await store.find(turnId("psst")))?.state, "waiting");
  }),
  law("an input that comes after injected ones still opens its turn in the same write", async (store) => {
    await store.create(newSession(alice));
    await queue(store, "psst", INJECT);
    await queue(store, "hush", { ...INJECT, pendingMax: 2 });
    const receipt = await send(store, "hello", { pendingMax: 2 });
    assert.equal(receipt.kind, "opened");
    assert.deepEqual(await waiting(store), ["psst", "hush"]);
  }),
  law("an injected input is passed over when the next turn opens, however old it is", async (store) => {
    const lease = await first(store);
    await queue(store, "psst", INJECT);
    await queue(store, "next");
    await commit(store, lease);
    assert.deepEqual(await work(store, LAPSED, 10), [alice]);
    assert.equal((await take(store)).turnId, turnId("next"));
    assert.deepEqual(await waiting(store), ["psst"]);
  }),
  law("a session whose last turn left only injected inputs has no work to take", async (store) => {
    const lease = await first(store);
    await queue(store, "psst", INJECT);
    await queue(store, "more");
    await commit(store, lease);
    await withdraw(store, "more");
    assert.deepEqual(await work(store, LAPSED, 10), []);
    assert.deepEqual(await open(store), { kind: "idle" });
  }),
  law("a turn is told at its opening whether injected inputs wait for it", async (store) => {
    const { opening, told } = noting();
    await store.create(newSession(alice));
    const accept = async (words: string, sending: Sending = {}) =>
      store.accept(newInput(words, sending), ann, opening, 100);
    const one = await accept("one");
    assert.ok(one.kind === "opened");
    await accept("two");
    await accept("psst", INJECT);
    await commit(store, one.lease);
    const two = await store.open(alice, ben, LAPSED, opening);
    assert.ok(two.kind === "opened");
    assert.deepEqual(await claim(store, two.lease), ["psst"]);
    await commit(store, two.lease, { inputs: [inputId("psst")] });
    const three = await accept("three");
    assert.ok(three.kind === "opened");
    await commit(store, three.lease);
    await accept("hush", INJECT);
    assert.equal((await accept("four")).kind, "opened");
    assert.deepEqual(told(), [
      { plugins: {} },
      { plugins: {}, hasInjected: true },
      { plugins: {} },
      { plugins: {}, hasInjected: true },
    ]);
  }),
  law("any boundary takes injected inputs among those meant for it, oldest first", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { place: "boundary" });
    await queue(store, "psst", INJECT);
    await queue(store, "own turn");
    await queue(store, "two", { place: "boundary" });
    await queue(store, "hush", INJECT);
    assert.deepEqual(await claim(store, lease, BOUNDARY, 2), ["one", "psst"]);
    assert.deepEqual(await claim(store, lease, BOUNDARY, 2), ["one", "psst"]);
    assert.deepEqual(await claim(store, lease, CALL), ["two", "hush"]);
  }),
  law("a turn that takes others' inputs takes injected ones in their order", async (store) => {
    const lease = await first(store);
    await queue(store, "one");
    await queue(store, "psst", INJECT);
    await queue(store, "two");
    assert.deepEqual(await claimAll(store, lease), ["one", "psst", "two"]);
  }),
  law("an injected input that a turn claimed and did not settle waits again, and still opens none", async (store) => {
    const lease = await first(store);
    await queue(store, "psst", INJECT);
    await queue(store, "hush", INJECT);
    assert.deepEqual(await claim(store, lease), ["psst", "hush"]);
    assert.equal((await store.find(turnId("psst")))?.state, "taken");
    await commit(store, lease, { inputs: [inputId("hush")] });
    assert.deepEqual(await waiting(store), ["psst"]);
    assert.equal((await store.find(turnId("hush")))?.state, "ended");
    assert.equal((await store.terminal(turnId("hush")))?.turnId, lease.turnId);
    assert.deepEqual(await work(store, LAPSED, 10), []);
    assert.deepEqual(await claim(store, await begin(store, "more")), ["psst"]);
  }),
  law("an injected input counts in the queue and is known by its key, also when the session is idle", async (store) => {
    await store.create(newSession(alice));
    await queue(store, "psst", { ...INJECT, key: "k", pendingMax: 1 });
    assert.equal((await send(store, "psst", { ...INJECT, key: "k", pendingMax: 1 })).kind, "known");
    assert.equal(await store.inputs.holds(alice, "k"), true);
    await refused("input.conflict", () => send(store, "other", { ...INJECT, key: "k" }));
    await refused("input.full", () => send(store, "hush", { ...INJECT, pendingMax: 1 }));
    const lease = await begin(store, "hello");
    await refused("input.full", () => send(store, "more", { pendingMax: 1 }));
    await commit(store, lease);
    assert.deepEqual(await waiting(store), ["psst"]);
  }),
  law("an injected input can be withdrawn, and its key is free then", async (store) => {
    await store.create(newSession(alice));
    await queue(store, "psst", { ...INJECT, key: "k" });
    assert.deepEqual(await store.inputs.withdraw(alice, { key: "k" }), [
      { inputId: inputId("psst"), answer: "withdrawn" },
    ]);
    await queue(store, "again", { ...INJECT, key: "k" });
    assert.deepEqual(await claim(store, await begin(store, "hello")), ["again"]);
    assert.equal(await withdraw(store, "again"), "taken");
  }),
  law("an injected input is no turn that could be cancelled, and stays for the turn that runs", async (store) => {
    const lease = await first(store);
    await queue(store, "psst", INJECT);
    assert.deepEqual(await store.cancel(turnId("psst"), stop("r1")), { kind: "unknown" });
    assert.deepEqual(await claim(store, lease), ["psst"]);
    assert.deepEqual(await store.cancel(turnId("psst"), stop("r1")), { kind: "unknown" });
    assert.equal((await store.renew(lease, NOW)).cancel, undefined);
  }),
  law("the fact of an injected input names no turn, before and after it is settled", async (store) => {
    const lease = await first(store);
    await queue(store, "psst", { ...INJECT, key: "k" });
    const accepted = { sessionId: alice, kind: "accepted", inputId: inputId("psst"), key: "k" } as const;
    const told = async () => {
      const { cursor: _, ...fact } = (await store.changes(undefined, { session: alice, max: 10 }))[1]!;
      return fact;
    };
    assert.deepEqual(await told(), accepted);
    await claim(store, lease);
    await commit(store, lease, { inputs: [inputId("psst")] });
    assert.deepEqual(await told(), accepted);
  }),
];

/** Sends an append, which may wait. */
const append = async (store: Store, operation: string, rest: Partial<SessionChange> = {}) =>
  store.apply(change(operation, { by: "append", entries: notes(operation, operation), queueMax: 10, ...rest }));
async function queueAppend(store: Store, operation: string, rest: Partial<SessionChange> = {}): Promise<void> {
  assert.deepEqual(await append(store, operation, rest), { kind: "queued" });
}
/** The facts of a session, each in a word or two. */
const factsOf = async (store: Store): Promise<readonly string[]> =>
  (await store.changes(undefined, { session: alice, max: 100 })).map((fact) => {
    if (fact.kind === "accepted") return `accepted ${fact.inputId}`;
    if (fact.kind !== "committed") return `${fact.kind} ${fact.wait}`;
    return fact.by === "turn" ? `turn ${fact.turnId}` : `${fact.by} ${fact.operation}`;
  });

const appendLaws = [
  law("an append to an idle session is applied at once, also where it may wait", async (store) => {
    await store.create(newSession(alice));
    const answer = await append(store, "note", { queueMax: 0 });
    assert.equal(answer.kind, "committed");
    assert.deepEqual(await said(store), ["note"]);
  }),
  law("an append waits for the open turn, whose commit applies it after its own nodes", async (store) => {
    const lease = await first(store);
    await queueAppend(store, "note", { entries: notes("note", "a", "b") });
    assert.deepEqual(await said(store), []);
    assert.equal((await store.load(alice))?.revision, 0);
    const done = await commit(store, lease, { says: ["well"] });
    assert.deepEqual([done.revision, done.head], [1, node("hello", 0)]);
    assert.deepEqual(await said(store), ["well", "a", "b"]);
    const session = await store.load(alice);
    assert.deepEqual([session?.revision, session?.head, session?.turns], [2, nodeId("note", 1), 1]);
    assert.deepEqual((await store.terminal(lease.turnId))?.committed, done);
    assert.deepEqual(await committed(store.commit(lease, ended(lease, { says: ["well"] }))), done);
  }),
  law("two appends keep their order, and each is an operation and a fact of its own", async (store) => {
    const lease = await first(store);
    await queueAppend(store, "one");
    await queueAppend(store, "two");
    const before = await store.latest();
    await commit(store, lease);
    assert.deepEqual(await said(store), ["well", "one", "two"]);
    assert.deepEqual(await factsOf(store), [
      `accepted ${inputId("hello")}`,
      `turn ${turnId("hello")}`,
      "append one",
      "append two",
    ]);
    const told = await store.changes(before, { max: 10 });
    assert.equal(told.length, 3);
    const nodes = told.flatMap((fact) => (fact.kind === "committed" ? fact.nodes : []));
    assert.deepEqual(nodes, [node("hello", 0), nodeId("one", 0), nodeId("two", 0)]);
    assert.equal(await store.latest(), told.at(-1)?.cursor);
    const [one, two] = [await append(store, "one"), await append(store, "two")];
    assert.ok(one.kind === "committed" && two.kind === "committed");
    assert.deepEqual([one.revision, two.revision], [2, 3]);
    assert.deepEqual([one.head, two.head], [nodeId("one", 0), nodeId("two", 0)]);
    assert.deepEqual(
      [one.cursor, two.cursor],
      told.slice(1).map(({ cursor }) => cursor),
    );
  }),
  law("an append that waits is no input: not listed, not withdrawn, and told as no fact", async (store) => {
    const lease = await first(store);
    await queueAppend(store, "note");
    await queue(store, "psst", INJECT);
    assert.deepEqual(await waiting(store), ["psst"]);
    const [{ id } = assert.fail("nothing was claimed")] = await store.inputs.claim(lease, BOUNDARY, 1);
    assert.deepEqual(await store.inputs.withdraw(alice, { id }), []);
    assert.deepEqual(await store.inputs.withdraw(alice, { from: id }), []);
    assert.deepEqual(
      (await store.inputs.withdraw(alice, { from: inputId("hello") })).map(({ inputId }) => inputId),
      [inputId("hello"), inputId("psst")],
    );
    assert.deepEqual(await factsOf(store), [`accepted ${inputId("hello")}`, `accepted ${inputId("psst")}`]);
    for (const which of [{}, { session: alice }, { tree: alice }])
      assert.equal((await store.changes(undefined, { ...which, max: 2 })).length, 2);
  }),
  law("a page of facts is full though an append waits in between", async (store) => {
    const lease = await first(store);
    await queueAppend(store, "note");
    await queue(store, "more");
    for (const which of [{}, { session: alice }, { tree: alice }]) {
      const [one, two, ...rest] = await store.changes(undefined, { ...which, max: 2 });
      assert.ok(one?.kind === "accepted" && two?.kind === "accepted" && rest.length === 0);
      assert.equal(two.inputId, inputId("more"));
      assert.deepEqual(await store.changes(one.cursor, { ...which, max: 1 }), [two]);
    }
    await commit(store, lease);
  }),
  law("a boundary takes appends among inputs, in the order in which they came", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { place: "boundary" });
    await queueAppend(store, "note", { entries: notes("note", "a", "#b") });
    await queue(store, "psst", INJECT);
    await queue(store, "own turn");
    await queueAppend(store, "later");
    assert.deepEqual(await claim(store, lease, BOUNDARY, 3), ["one", "note", "psst"]);
    const [, taken] = await store.inputs.claim(lease, BOUNDARY, 3);
    assert.ok(taken !== undefined && "operation" in taken);
    const { id, seq, ...rest } = taken;
    assert.deepEqual(rest, { operation: "note", entries: notes("note", "a", "#b") });
    assert.ok(typeof id === "string" && typeof seq === "number");
    assert.deepEqual(await claimAll(store, lease, CALL), ["own turn", "later"]);
  }),
  law(
    "an append that a turn took in and settled is applied by nobody, and a repeat of it waits for nothing",
    async (store) => {
      const lease = await first(store);
      await queueAppend(store, "note");
      const taken = await store.inputs.claim(lease, BOUNDARY, 10);
      await queueAppend(store, "note");
      await commit(store, lease, { says: ["note, taken in"], inputs: taken.map(({ id }) => id) });
      assert.deepEqual(await said(store), ["note, taken in"]);
      assert.equal((await store.load(alice))?.revision, 1);
      await queueAppend(store, "note");
      assert.deepEqual(await store.operations.find(alice, "note"), { kind: "queued" });
      await refused("append.conflict", () => append(store, "note", { entries: notes("note", "other") }));
      await turn(store, "more");
      assert.deepEqual(await said(store), ["note, taken in", "more"]);
    },
  ),
  law("an append that a turn claimed and did not settle is applied by its commit, in its old place", async (store) => {
    const lease = await first(store);
    await queueAppend(store, "one");
    await queueAppend(store, "two");
    assert.deepEqual(await claim(store, lease, BOUNDARY, 1), ["one"]);
    await commit(store, lease);
    assert.deepEqual(await said(store), ["well", "one", "two"]);
    assert.deepEqual(await drain(store), []);
  }),
  law(
    "a repeat of an append waits with it, whether it may wait or not, and is answered by its commit after",
    async (store) => {
      const lease = await first(store);
      await queueAppend(store, "note", { queueMax: 1 });
      await queueAppend(store, "note", {
        queueMax: 1,
        at: NOW + 9,
        entries: notes("note", "note").map((entry) => ({ ...entry, at: NOW + 9 })),
      });
      const { queueMax: _, ...unqueued } = change("note", {
        by: "append",
        entries: notes("note", "note"),
        queueMax: 1,
      });
      assert.deepEqual(await store.apply(unqueued), { kind: "queued" });
      await commit(store, lease);
      const done = await append(store, "note");
      assert.ok(done.kind === "committed");
      assert.equal(done.revision, 2);
      assert.deepEqual(await store.apply(unqueued), done);
      await first(store, "more");
      assert.deepEqual(await append(store, "note"), done);
      assert.deepEqual(await said(store), ["well", "note"]);
    },
  ),
  law("other content under the name of an append that waits is a conflict, and changes nothing", async (store) => {
    const lease = await first(store);
    await queueAppend(store, "note");
    await refused("append.conflict", () => append(store, "note", { entries: notes("note", "other") }));
    await commit(store, lease);
    assert.deepEqual(await said(store), ["well", "note"]);
    await refused("append.conflict", () => append(store, "note", { entries: notes("note", "other") }));
  }),
  law(
    "a queue takes as many appends and inputs together as it may, and keeps nothing of the one too many",
    async (store) => {
      const lease = await first(store);
      await queue(store, "more");
      await queueAppend(store, "one", { queueMax: 2 });
      await refused("input.full", () => append(store, "two", { queueMax: 2 }));
      assert.equal(await store.operations.find(alice, "two"), undefined);
      await refused("input.full", () => send(store, "too much", { pendingMax: 2 }));
      await queueAppend(store, "two", { queueMax: 3 });
      await commit(store, lease);
      assert.deepEqual(await said(store), ["well", "one", "two"]);
      assert.deepEqual(await drain(store), ["more"]);
    },
  ),
  law("an append that requires a node off the path is stale at once, and is not kept", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one");
    const lease = await begin(store, "two");
    const stale = { kind: "stale", revision: 1 };
    assert.deepEqual(await append(store, "note", { requires: nodeId("nowhere", 0) }), stale);
    assert.equal(await store.operations.find(alice, "note"), undefined);
    await queueAppend(store, "note", { requires: node("one", 0) });
    await commit(store, lease);
    assert.deepEqual(await said(store), ["one", "well", "note"]);
    assert.equal((await append(store, "note", { requires: node("one", 0) })).kind, "committed");
  }),
  law("a change that may not wait is busy while a turn is open, and is not kept", async (store) => {
    const lease = await first(store);
    assert.deepEqual(await store.apply(change("op", { entries: notes("op", "op") })), { kind: "busy" });
    await commit(store, lease);
    assert.deepEqual(await said(store), ["well"]);
  }),
  law(
    "an append under a name that was part of the turn is stale, and is dropped if it waited for it",
    async (store) => {
      const lease = await first(store);
      await queueAppend(store, "note");
      const parts = [{ operation: "note", receipt: "first" }];
      await committed(store.commit(lease, ended(lease, { says: ["note, by the turn"], parts })));
      assert.deepEqual(await said(store), ["note, by the turn"]);
      assert.deepEqual(await append(store, "note"), { kind: "stale", revision: 1 });
      assert.deepEqual(await store.operations.find(alice, "note"), { kind: "done", receipt: "first" });
      assert.deepEqual(await said(store), ["note, by the turn"]);
    },
  ),
  law("an append under the name of another session's nodes is a conflict, whether it waits or not", async (store) => {
    await store.create(newSession(alice));
    await append(store, "note");
    const there = { sessionId: bob, entries: notes("note", "note") };
    await store.create(newSession(bob));
    await refused("append.conflict", () => append(store, "note", there));
    await first(store, "hello bob", { to: bob });
    await refused("append.conflict", () => append(store, "note", there));
    assert.deepEqual(await said(store, bob), []);
  }),
  law("an append that waited for a turn which became a branch is applied to the path", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one");
    const lease = await begin(store, "two");
    await queueAppend(store, "note");
    const done = await committed(store.commit(lease, ended(lease, { says: ["late"] }))); // Without a base.
    assert.deepEqual([done.revision, done.head, done.branch], [1, node("one", 0), node("two", 0)]);
    assert.deepEqual(await said(store), ["one", "note"]);
    assert.equal((await store.load(alice))?.revision, 2);
    assert.equal((await store.load(alice))?.openTurn, undefined);
  }),
  law("an append waits on through a takeover, and a commit that is reopened applies none", async (store) => {
    const lease = await first(store);
    await queueAppend(store, "note");
    await store.cancel(lease.turnId, stop("r1"));
    const resumed = await take(store);
    assert.equal((await store.commit(resumed, ended(resumed))).kind, "reopen");
    assert.deepEqual(await said(store), []);
    assert.deepEqual(await claim(store, resumed), ["note"]);
    await commit(store, resumed, { cancel: "r1" });
    assert.deepEqual(await said(store), ["well", "note"]);
  }),
  law("an append neither opens a turn nor keeps the next input from opening one", async (store) => {
    const lease = await first(store);
    await queueAppend(store, "note");
    await commit(store, lease);
    assert.deepEqual(await open(store), { kind: "idle" });
    assert.deepEqual(await work(store, LAPSED, 10), []);
    await begin(store, "more");
  }),
  law("plugin states and forks stand after appends as if these had come right after the turn", async (store) => {
    const lease = await first(store);
    await queueAppend(store, "note");
    await commit(store, lease, { plugins: state("kept") });
    assert.deepEqual((await store.load(alice))?.plugins, state("kept"));
    const fork = await store.fork(alice, newSession(bob), node("hello", 0));
    assert.deepEqual(fork.plugins, state("kept"));
    assert.deepEqual(await said(store, bob), ["well"]);
    assert.deepEqual(await said(store, alice, nodeId("note", 0)), ["well", "note"]);
  }),
  law("an append with any name waits and is applied", async (store) => {
    const lease = await first(store);
    const operation = "op \u0000 \ud800";
    await queueAppend(store, operation);
    assert.deepEqual(await claim(store, lease), [operation]);
    await commit(store, lease);
    assert.deepEqual(await said(store), ["well", operation]);
  }),
  law("deleting a session drops the appends that wait in it", async (store) => {
    const lease = await first(store);
    await queueAppend(store, "note");
    await store.delete(alice);
    await refused("lease.lost", () => store.commit(lease, ended(lease)));
    assert.equal(await store.operations.find(alice, "note"), undefined);
    await first(store, "hello bob", { to: bob });
  }),
];

const OPTIONS = { notes: { depth: 2 }, search: null };

const optionLaws = [
  law("a session keeps the options it is made with, and has none otherwise, nor for empty ones", async (store) => {
    const made = await store.create({ ...newSession(alice), options: OPTIONS });
    assert.deepEqual(made.options, OPTIONS);
    assert.deepEqual((await store.load(alice))?.options, OPTIONS);
    assert.deepEqual((await store.list())[0]?.options, OPTIONS);
    assert.equal("options" in (await store.create(newSession(bob))), false);
    const empty = await store.create({ ...newSession(asSessionId("empty")), options: {} });
    assert.equal("options" in empty, false);
  }),
  law(
    "setting options replaces those of the plugins that it names, moves nothing else, and answers all",
    async (store) => {
      await store.create(newSession(alice));
      await turn(store, "hello");
      const before = await store.load(alice);
      const latest = await store.latest();
      assert.deepEqual(await store.setOptions(alice, {}), {});
      assert.deepEqual(await store.load(alice), before);
      assert.deepEqual(await store.setOptions(alice, { notes: 1 }), { notes: 1 });
      assert.deepEqual(await store.setOptions(alice, { search: [2] }), { notes: 1, search: [2] });
      await store.setOptions(alice, OPTIONS);
      assert.deepEqual(await store.load(alice), { ...before, options: OPTIONS });
      assert.deepEqual(await store.setOptions(alice, {}), OPTIONS);
      assert.equal(await store.latest(), latest);
      await refused("session.unknown", () => store.setOptions(bob, OPTIONS));
    },
  ),
  law("creating a session again answers the options it has, not those it is given", async (store) => {
    await store.create({ ...newSession(alice), options: OPTIONS });
    assert.deepEqual((await store.create({ ...newSession(alice), options: { notes: 1 } })).options, OPTIONS);
    await store.setOptions(alice, { notes: 2 });
    assert.deepEqual((await store.create(newSession(alice))).options, { ...OPTIONS, notes: 2 });
  }),
  law("a turn is opened with the options and states as they are in that write", async (store) => {
    const { opening, told } = noting();
    await store.create({ ...newSession(alice), options: OPTIONS, plugins: state("given") });
    const accept = async (words: string) => store.accept(newInput(words), ann, opening, 100);
    const one = await accept("one");
    assert.ok(one.kind === "opened");
    await accept("two");
    await store.setOptions(alice, { notes: 1 });
    await commit(store, one.lease, { plugins: state("new") });
    await store.setOptions(alice, { notes: 2 });
    const two = await store.open(alice, ben, LAPSED, opening);
    assert.ok(two.kind === "opened");
    await commit(store, two.lease, { plugins: {} });
    await accept("three");
    assert.deepEqual(told(), [
      { plugins: state("given"), options: OPTIONS },
      { plugins: state("new"), options: { ...OPTIONS, notes: 2 } },
      { plugins: {}, options: { ...OPTIONS, notes: 2 } },
    ]);
  }),
  law("options that change while a turn is open are there at once, and its commit leaves them", async (store) => {
    const lease = await first(store);
    await store.setOptions(alice, OPTIONS);
    assert.deepEqual((await store.load(alice))?.options, OPTIONS);
    await commit(store, lease);
    assert.deepEqual((await store.load(alice))?.options, OPTIONS);
    await apply(store, "op", { config: { model: "other/model" } });
    assert.deepEqual((await store.load(alice))?.options, OPTIONS);
  }),
  law(
    "a fork has the options of its origin as they are now, or its own; what is set after is each one's own",
    async (store) => {
      await store.create({ ...newSession(alice), options: { notes: 0 } });
      await turn(store, "hello");
      await store.setOptions(alice, { notes: 1 });
      assert.deepEqual((await store.fork(alice, newSession(bob), node("hello", 0))).options, { notes: 1 });
      const [own, none] = [asSessionId("own"), asSessionId("none")];
      assert.deepEqual((await store.fork(alice, { ...newSession(own), options: { notes: 3 } })).options, { notes: 3 });
      assert.equal("options" in (await store.fork(alice, { ...newSession(none), options: {} })), false);
      await store.setOptions(bob, { notes: 9 });
      assert.deepEqual((await store.load(alice))?.options, { notes: 1 });
      await store.delete(alice);
      assert.deepEqual((await store.load(bob))?.options, { notes: 9 });
    },
  ),
  law("a child has no options of its parent's", async (store) => {
    await store.create({ ...newSession(alice), options: OPTIONS });
    assert.equal("options" in (await store.create({ ...newSession(bob), parentId: alice })), false);
  }),
];

const operationLaws = [
  law("an operation is found with its receipt, as its own change was answered", async (store) => {
    await store.create(newSession(alice));
    assert.equal(await store.operations.find(alice, "op"), undefined);
    assert.equal(await store.operations.find(bob, "op"), undefined);
    const done = await apply(store, "op", { entries: notes("op", "a"), receipt: { made: ["a", null] } });
    assert.equal("receipt" in done, false);
    const found = { kind: "done", committed: done, receipt: { made: ["a", null] } };
    assert.deepEqual(await store.operations.find(alice, "op"), found);
    const plain = await apply(store, "plain");
    assert.deepEqual(await store.operations.find(alice, "plain"), { kind: "done", committed: plain });
    assert.equal(await store.operations.find(bob, "op"), undefined);
  }),
  law("a repeat of a change may have another receipt and other parts, and keeps the first", async (store) => {
    await store.create(newSession(alice));
    const parts = [{ operation: "part", receipt: 1 }];
    const done = await apply(store, "op", { entries: notes("op", "a"), receipt: null, parts });
    const others = [
      { operation: "part", receipt: 2 },
      { operation: "another", receipt: 2 },
    ];
    assert.deepEqual(await apply(store, "op", { entries: notes("op", "a"), receipt: "new", parts: others }), done);
    assert.deepEqual(await apply(store, "op", { entries: notes("op", "a") }), done);
    assert.deepEqual(await store.operations.find(alice, "op"), { kind: "done", committed: done, receipt: null });
    assert.deepEqual(await store.operations.find(alice, "part"), { kind: "done", receipt: 1 });
    assert.equal(await store.operations.find(alice, "another"), undefined);
  }),
  law("a change of nothing is kept as an operation all the same", async (store) => {
    await store.create(newSession(alice));
    const done = await apply(store, "op", { receipt: "done" });
    assert.deepEqual(await apply(store, "op"), done);
    assert.deepEqual(await store.operations.find(alice, "op"), { kind: "done", committed: done, receipt: "done" });
  }),
  law("an append that waits is found as queued, and as done once it is applied", async (store) => {
    const lease = await first(store);
    await queueAppend(store, "note", { receipt: "kept" });
    assert.deepEqual(await store.operations.find(alice, "note"), { kind: "queued" });
    assert.equal(await store.operations.find(bob, "note"), undefined);
    await claim(store, lease);
    assert.deepEqual(await store.operations.find(alice, "note"), { kind: "queued" });
    await commit(store, lease);
    const done = await append(store, "note");
    assert.deepEqual(await store.operations.find(alice, "note"), { kind: "done", committed: done, receipt: "kept" });
  }),
  law("parts of a turn are found once it is committed, and the first receipt of a name stays", async (store) => {
    const lease = await first(store);
    const parts = [
      { operation: "one", receipt: { n: 1 } },
      { operation: "nul \u0000", receipt: null },
    ];
    await store.cancel(lease.turnId, stop("r1"));
    assert.equal((await store.commit(lease, ended(lease, { parts }))).kind, "reopen");
    assert.equal(await store.operations.find(alice, "one"), undefined);
    const done = await commit(store, lease, { parts, cancel: "r1" });
    assert.deepEqual(await committed(store.commit(lease, ended(lease, { cancel: "r1" }))), done);
    assert.deepEqual(await store.operations.find(alice, "one"), { kind: "done", receipt: { n: 1 } });
    assert.deepEqual(await store.operations.find(alice, "nul \u0000"), { kind: "done", receipt: null });
    assert.equal(await store.operations.find(bob, "one"), undefined);
    await turn(store, "more", {
      parts: [
        { operation: "one", receipt: 2 },
        { operation: "two", receipt: 2 },
      ],
    });
    assert.deepEqual(await store.operations.find(alice, "one"), { kind: "done", receipt: { n: 1 } });
    assert.deepEqual(await store.operations.find(alice, "two"), { kind: "done", receipt: 2 });
  }),
  law("the first note of an operation stands, for its key alone", async (store) => {
    await store.create(newSession(alice));
    await store.create(newSession(bob));
    assert.equal(await store.operations.note(alice, "op", "k"), undefined);
    assert.deepEqual(await store.operations.note(alice, "op", "k", { paid: 1 }), { paid: 1 });
    assert.deepEqual(await store.operations.note(alice, "op", "k", { paid: 2 }), { paid: 1 });
    assert.deepEqual(await store.operations.note(alice, "op", "k"), { paid: 1 });
    assert.equal(await store.operations.note(alice, "op", "", null), null);
    assert.equal(await store.operations.note(alice, "op", "", "later"), null);
    assert.equal(await store.operations.note(alice, "op", "other \u0000"), undefined);
    assert.equal(await store.operations.note(alice, "other", "k"), undefined);
    assert.equal(await store.operations.note(bob, "op", "k"), undefined);
    assert.equal(await store.operations.find(alice, "op"), undefined);
    await refused("session.unknown", () => store.operations.note(asSessionId("nobody"), "op", "k"));
    await refused("session.unknown", () => store.operations.note(asSessionId("nobody"), "op", "k", 1));
  }),
  law(
    "notes go when their operation is applied or part of a turn, those of others stay, and none comes after",
    async (store) => {
      await store.create(newSession(alice));
      for (const key of ["a", "b"]) await store.operations.note(alice, "op", key, key);
      await store.operations.note(alice, "other", "a", "kept");
      const parts = [{ operation: "op", receipt: "its own part" }];
      const lease = await begin(store, "hello");
      assert.equal((await store.apply(change("op"))).kind, "busy");
      assert.equal(await store.operations.note(alice, "op", "a"), "a");
      await commit(store, lease, { parts });
      assert.equal(await store.operations.note(alice, "op", "a"), undefined);
      await apply(store, "op", { receipt: "done" });
      for (const key of ["a", "b"]) assert.equal(await store.operations.note(alice, "op", key), undefined);
      assert.equal(await store.operations.note(alice, "op", "a", "late"), "late");
      assert.equal(await store.operations.note(alice, "op", "a"), undefined);
      assert.equal(await store.operations.note(alice, "other", "a"), "kept");
    },
  ),
  law("notes of an append go when a commit applies it", async (store) => {
    const lease = await first(store);
    await store.operations.note(alice, "note", "k", 1);
    await queueAppend(store, "note");
    assert.equal(await store.operations.note(alice, "note", "k"), 1);
    await commit(store, lease);
    assert.equal(await store.operations.note(alice, "note", "k"), undefined);
  }),
  law("what is known of operations goes with their session, and does not come to its forks", async (store) => {
    await store.create(newSession(alice));
    await store.operations.note(alice, "op", "k", 1);
    await turn(store, "hello", { parts: [{ operation: "part", receipt: 1 }] });
    await store.fork(alice, newSession(bob));
    assert.equal(await store.operations.note(bob, "op", "k"), undefined);
    assert.equal(await store.operations.find(bob, "part"), undefined);
    await store.delete(alice);
    assert.equal(await store.operations.find(alice, "part"), undefined);
    await refused("session.unknown", () => store.operations.note(alice, "op", "k"));
  }),
];

const closeLaws = [
  law("a closed store answers nothing more", async (store) => {
    const lease = await first(store);
    await store.close();
    for (const call of [
      () => store.create(newSession(bob)),
      () => store.load(alice),
      () => store.has(alice),
      () => store.list(),
      () => store.fork(alice, newSession(bob)),
      () => store.setOptions(alice, {}),
      () => store.delete(alice),
      () => store.view(alice),
      () => send(store, "more"),
      () => open(store),
      () => store.renew(lease, NOW),
      () => store.release(lease),
      () => store.append(lease, 1, [slept("a")], NOW),
      () => store.park(lease, parked(lease), NOW),
      () => store.journal(lease.turnId, 0),
      () => store.commit(lease, ended(lease)),
      () => store.apply(change("op")),
      () => store.operations.find(alice, "op"),
      () => store.operations.note(alice, "op", "k", 1),
      () => store.cancel(lease.turnId, stop("r1")),
      () => store.find(lease.turnId),
      () => store.terminal(lease.turnId),
      () => store.inputs.list(alice),
      () => store.inputs.withdraw(alice, { id: inputId("hello") }),
      () => store.inputs.claim(lease, BOUNDARY, 1),
      () => store.waits.resolve(WAIT, yes, NOW),
      () => store.waits.list({ max: 1 }),
      () => store.waits.get(waitIdOf(WAIT)),
      () => store.note(lease.turnId, CALL, "title", 1),
      () => store.attempt(lease.turnId, CALL),
      () => store.agenda(NOW, 1),
      () => store.blobs.put(HASH, hello()),
      () => store.blobs.get(HASH),
      () => store.changes(undefined, { max: 1 }),
      () => store.latest(),
      () => store.booked(alice),
    ]) {
      await refused("runtime.closed", call);
    }
  }),
  law("closing again is harmless", async (store) => {
    await store.close();
    await store.close();
  }),
];

export const storeLaws: readonly StoreLaw[] = [
  ...sessionLaws,
  ...relativeLaws,
  ...acceptanceLaws,
  ...queueLaws,
  ...leaseLaws,
  ...foundLaws,
  ...journalLaws,
  ...commitLaws,
  ...cancelLaws,
  ...claimLaws,
  ...waitLaws,
  ...noteLaws,
  ...parkLaws,
  ...waitedTurnLaws,
  ...agendaLaws,
  ...blobLaws,
  ...viewLaws,
  ...forkLaws,
  ...deleteLaws,
  ...changeLaws,
  ...applyLaws,
  ...injectedLaws,
  ...appendLaws,
  ...optionLaws,
  ...operationLaws,
  ...jobLaws,
  ...lineLaws,
  ...triggerLaws,
  ...liveLaws,
  ...closeLaws,
];
