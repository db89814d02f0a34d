// A store in which every table has something: sessions that rest, work, wait, are parked, were forked and deleted; jobs in
// every state; subscriptions, and what has come of them. Nothing in it is damaged.
import { hash } from "node:crypto";
import {
  asBlobHash,
  asEffectName,
  asSessionId,
  asWaitKey,
  type BlobHash,
  type NodeId,
  type SessionId,
  type TurnId,
} from "../../src/model/ids.ts";
import type { Json } from "../../src/model/json.ts";
import type { Part } from "../../src/model/message.ts";
import type { Store } from "../../src/stores/store.ts";
import {
  alice,
  ann,
  assistant,
  begin,
  bob,
  commit,
  ended,
  NOW,
  newSession,
  newWait,
  node,
  send,
  slept,
  spent,
  turn,
} from "../../src/testing/cast.ts";
import { bound, end, jobId, over, parks, spawn, stepped, turned, working, write } from "../../src/testing/job-cast.ts";
import { occur, scheduled, sourceOf, subscribe } from "../../src/testing/trigger-cast.ts";

export const [busy, asleep, yard, gone, left] = ["busy", "asleep", "yard", "gone", "left"].map(asSessionId) as [
  SessionId,
  SessionId,
  SessionId,
  SessionId,
  SessionId,
];

export const blobOf = (words: string): BlobHash => asBlobHash(hash("sha256", words, "base64url"));
const attached = (words: string): Part => ({
  ...{ kind: "attachment", hash: blobOf(words), mediaType: "text/plain", bytes: words.length },
});
/** What blobs are named by. */
export const NAMED = ["a state", "a node", "an input", "an event", "a note", "a question", "a step", "a payload"];

export async function fillTables(store: Store): Promise<void> {
  for (const words of NAMED) await store.blobs.put(blobOf(words), new TextEncoder().encode(words));
  await addRest(store);
  await addWork(store);
  await addSleep(store);
  await addJobs(store);
  await addTriggers(store);
}

/** Sessions in which nothing is open. */
async function addRest(store: Store): Promise<void> {
  const plugins = (state: number) => ({ p: { version: "1", revision: state, state, blobs: { x: blobOf("a state") } } });
  await store.create({ ...newSession(), plugins: plugins(1) });
  await turn(store, "one", { plugins: plugins(2), spent: [spent("turn", 3), spent("label", 1)] }, { key: "of one" });
  await turn(store, "two", { says: [assistant(attached("a node"))], plugins: {} });
  await store.apply({ sessionId: alice, operation: "op", at: NOW, config: { model: "n" }, entries: REMARK });
  await store.setOptions(alice, { notes: { depth: 2 } });
  await store.operations.note(alice, "work", "k", [attached("a note") as never]);
  await store.fork(alice, newSession(bob), node("one", 0));
  await turn(store, "kept", { base: node("one", 0) as NodeId, entries: [] }, { to: bob });
  const beside = await begin(store, "beside", { to: bob });
  const { base: _, ...unbased } = ended(beside);
  await store.commit(beside, unbased);
  // A deleted session, of which a fork goes on.
  await store.create(newSession(gone));
  for (const [nth, name] of ["before", "after"].entries())
    await turn(store, name, { plugins: plugins(nth) }, { to: gone });
  await store.fork(gone, newSession(left));
  await store.delete(gone);
}
const REMARK = [{ at: NOW, kind: "plugin", plugin: "notes", type: "remark", body: 1 }] as const;

/** An open turn with all that one can have, and inputs that wait, were claimed, or were withdrawn. */
async function addWork(store: Store): Promise<void> {
  await store.create({ ...newSession(busy), owner: "ann", tags: ["red", "new"] });
  const lease = await begin(store, "open", { to: busy, parts: [attached("an input")] });
  const prepared = { kind: "prepared", at: 1, effect: asEffectName("e"), prompt: blobOf("an event") } as const;
  await store.append(lease, 1, [slept("a"), prepared], NOW);
  const about = { kind: "input", question: attached("a question") as unknown as Json } as never;
  await store.append(lease, 3, [slept("c")], NOW, [newWait(asWaitKey("w1")), newWait(asWaitKey("w2"), { about })]);
  await store.waits.resolve(asWaitKey("w1"), { kind: "value", value: "yes", by: "Ann" }, NOW);
  await store.note(lease.turnId, asEffectName("e"), "k", { paid: true });
  await store.attempt(lease.turnId, asEffectName("e"));
  await send(store, "aside", { to: busy, place: "boundary" });
  await store.inputs.claim(lease, asEffectName("r1"), 5);
  for (const name of ["next", "back"]) await send(store, name, { to: busy, key: `of ${name}` });
  await store.inputs.withdraw(busy, { key: "of back" });
  await store.apply({ sessionId: busy, operation: "late", at: NOW, entries: REMARK, queueMax: 9 });
  await store.cancel(lease.turnId, { requestId: "r", reason: "Enough.", at: NOW });
}

/** A turn whose question is a fact of the past and one whose input another turn settled; then one that is parked. */
async function addSleep(store: Store): Promise<void> {
  await store.create({ ...newSession(asleep), parentId: busy });
  const past = await begin(store, "asked", { to: asleep });
  await store.append(past, 1, [slept("a")], NOW, [newWait(asWaitKey("w3"))]);
  await store.waits.resolve(asWaitKey("w3"), { kind: "value", value: "yes", by: "Ann" }, NOW);
  await send(store, "joined", { to: asleep, place: "boundary" });
  await store.inputs.claim(past, asEffectName("r1"), 5);
  await commit(store, past, { inputs: ["input-asked", "input-joined"] as never });
  const waiting = await begin(store, "waits", { to: asleep });
  const turns = { kind: "turns", need: "all", turns: [{ sessionId: busy, turnId: "turn-open" as TurnId }] } as const;
  const keys = ["w4", "w5"].map(asWaitKey);
  await store.append(waiting, 1, [slept("a")], NOW, [newWait(keys[0]!), newWait(keys[1]!, { about: turns })]);
  await store.park(waiting, { turnId: waiting.turnId, wakeAt: NOW + 9_000, waits: keys }, NOW);
}

async function addJobs(store: Store): Promise<void> {
  const own = { sessionId: yard };
  const done = await working(store, "done", own);
  const step = stepped("b", attached("a step") as unknown as Json);
  await write(store, done, [stepped("a"), step], { waits: [newWait(asWaitKey("w6"))] });
  await write(store, done, [over("completed", "end", { result: { found: 9 } })]);
  const running = await working(store, "running", {
    ...own,
    parent: { turnId: "turn-open" as TurnId },
    onParentEnd: "cancel",
  });
  await write(store, running, [stepped("a"), turned("idle"), turned("running")]);
  const lines = [1, 2, 3].map((n) => ({ n, at: NOW, channel: "out", text: `line ${n}` }) as const);
  await write(store, running, [], { says: { lines: lines.slice(0, 2), max: 3 } });
  await store.jobs.take(jobId("running"), "k");
  await write(store, running, [], { says: { lines: lines.slice(2), max: 3 } });
  await bound(store, "bound", ann, { ...own, visibility: "hidden", kind: "code" });
  await spawn(store, "outside", { ...own, recovery: "external", kind: "external" });
  const waits = await working(store, "waits", own);
  await write(store, waits, [], { waits: [newWait(asWaitKey("w7"))] });
  await parks(store, waits, { awaits: { jobs: [jobId("running"), jobId("bound")], need: "all" } });
  const moved = await working(store, "moved", { sessionId: alice });
  await write(store, moved, [], { waits: [newWait(asWaitKey("w8"))] });
  await store.jobs.transfer(alice, yard, [moved.jobId], NOW);
  await end(store, await working(store, "failed", own), "failed");
  await spawn(store, "later", { ...own, notBefore: NOW + 500_000 });
}

async function addTriggers(store: Store): Promise<void> {
  const watch = await subscribe(store);
  const clock = await scheduled(store, "clock", NOW + 5);
  const other = await subscribe(store, "other", { sessionId: bob });
  await subscribe(store, "turns", { on: { kind: "commits" } });
  await occur(store, "mail", [watch, other], { payload: attached("a payload") as unknown as Json });
  await occur(store, "tick", [clock], { source: sourceOf(clock) });
}
