/**
 * Every call of a store that writes, once for each way it may take. A new method gets a line here, and with it all the
 * tests of lost connections.
 */
import { createHash } from "node:crypto";
import { asBlobHash, asEffectName, asSessionId, asWaitKey, nodeId } from "../../src/model/ids.ts";
import { text } from "../../src/model/message.ts";
import type { Entry } from "../../src/model/node.ts";
import type { WaitAnswer } from "../../src/model/wait.ts";
import type { PostgresStore } from "../../src/stores/postgres.ts";
import type { Lease, NewInput, SessionChange } from "../../src/stores/store.ts";
import {
  alice,
  ann,
  answering,
  begin,
  ben,
  bob,
  ended,
  LAPSED,
  NOW,
  newInput,
  newSession,
  newWait,
  opening,
  send,
  slept,
  spent,
  turn,
  turnId,
  usage,
} from "../../src/testing/cast.ts";
import {
  bound,
  cancelling,
  jobId,
  newJob,
  over,
  signal,
  spawn,
  stepped,
  TASK,
  turned,
  working,
} from "../../src/testing/job-cast.ts";
import {
  delivery,
  moved,
  occurrence,
  scheduled,
  sourceOf,
  subscribe,
  subscription,
} from "../../src/testing/trigger-cast.ts";

type Store = PostgresStore;
type Act = (store: Store) => unknown;

export interface Write {
  readonly name: string;
  /** What is there before, written without trouble; answers the call, whose connection is lost. */
  readonly prepare: (store: Store) => Promise<Act>;
  /** Another answer that is right when the first one was lost. */
  readonly orAnswers?: unknown;
}

const WAIT = asWaitKey("wait-key");
const EFFECT = asEffectName("r1.call.0");
const YES: WaitAnswer = { kind: "value", value: { approved: true }, by: "carol" };
const CANCEL = { requestId: "cancel-1", at: NOW, reason: "Enough." } as const;
const BYTES = Buffer.from("some bytes");
const HASH = asBlobHash(createHash("sha256").update(BYTES).digest("hex"));

const note = (operation: string, words: string): Entry => ({
  at: NOW,
  kind: "message",
  message: { id: nodeId(operation, 0), role: "user", parts: [text(words)] },
});
const change = (operation: string, rest: Partial<SessionChange> = {}): SessionChange => ({
  sessionId: alice,
  operation,
  at: NOW,
  entries: [note(operation, "noted")],
  spent: [spent("notes", 7)],
  ...rest,
});
const wake = (words: string): NewInput => newInput(words, { key: `wake/${words}`, place: "boundary" });
const PAID = {
  usage: usage(5),
  spent: [spent("turn", 5)],
  plugins: { counts: { version: "1", revision: 1, state: { n: 1 } } },
};

/** A session that has had a turn, so that the store knows it: what comes next takes the short ways. */
async function known(store: Store): Promise<void> {
  await store.create(newSession());
  await turn(store, "before");
}
async function waiting(store: Store): Promise<Lease> {
  await known(store);
  const lease = await begin(store, "asks");
  await store.append(lease, 1, [slept("a")], NOW, [newWait(WAIT)]);
  return lease;
}
const at = async (store: Store) => (await store.load(alice))!.head!;

export const WRITES: readonly Write[] = [
  // ── Sessions ──────────────────────────────────────────────────────────────────────────────────────────────────────
  { name: "create", prepare: async () => (store) => store.create({ ...newSession(), isNew: true }) },
  {
    name: "fork",
    prepare: async (store) => {
      await known(store);
      return () => store.fork(alice, { ...newSession(bob), isNew: true });
    },
  },
  {
    name: "setOptions",
    prepare: async (store) => {
      await known(store);
      return () => store.setOptions(alice, { counts: { max: 3 } });
    },
  },
  {
    name: "delete",
    prepare: async (store) => {
      await waiting(store);
      await spawn(store, "work");
      await send(store, "queued");
      return () => store.delete(alice);
    },
  },
  {
    name: "apply",
    prepare: async (store) => {
      await known(store);
      return () => store.apply(change("op", { plugins: PAID.plugins, config: { model: "other/model" } }));
    },
  },
  {
    name: "apply, with a job",
    prepare: async (store) => {
      await known(store);
      return () => store.apply(change("op", { spawns: [{ job: newJob() }], receipt: { done: true } }));
    },
  },
  {
    name: "apply, to wait for a turn",
    prepare: async (store) => {
      await known(store);
      await begin(store, "runs");
      return () => store.apply(change("op", { by: "append", queueMax: 5 }));
    },
  },
  {
    name: "operations.note",
    prepare: async (store) => {
      await known(store);
      return () => store.operations.note(alice, "op", "asked", { said: "yes" });
    },
  },

  // ── Turns ─────────────────────────────────────────────────────────────────────────────────────────────────────────
  {
    name: "accept, in one statement",
    prepare: async (store) => {
      await known(store);
      return () => send(store, "hello", { key: "k" });
    },
  },
  {
    name: "accept, in steps",
    prepare: async (store) => {
      await store.create(newSession());
      return () => send(store, "hello", { key: "k" });
    },
  },
  {
    name: "accept, to wait",
    prepare: async (store) => {
      await known(store);
      await begin(store, "runs");
      return () => send(store, "hello", { key: "k" });
    },
  },
  {
    name: "open, a turn for what waits",
    prepare: async (store) => {
      await known(store);
      await store.accept(newInput("hello"), ann, undefined, 5);
      return () => store.open(alice, ann, NOW, opening);
    },
  },
  {
    name: "open, a turn that was left",
    prepare: async (store) => {
      const lease = await waiting(store);
      await store.release(lease);
      return () => store.open(alice, ben, NOW, opening);
    },
  },
  {
    name: "renew",
    prepare: async (store) => {
      const lease = await waiting(store);
      return () => store.renew(lease, NOW + 100);
    },
  },
  {
    name: "release",
    prepare: async (store) => {
      const lease = await waiting(store);
      return () => store.release(lease);
    },
  },
  {
    name: "append, in one statement",
    prepare: async (store) => {
      await known(store);
      const lease = await begin(store, "hello");
      return () => store.append(lease, 1, [slept("a"), slept("b")], NOW + 5);
    },
  },
  {
    name: "append, with a wait and a job",
    prepare: async (store) => {
      await known(store);
      const lease = await begin(store, "hello");
      return () => store.append(lease, 1, [slept("a")], NOW + 5, [newWait(WAIT)], [{ job: newJob() }]);
    },
  },
  {
    name: "park",
    prepare: async (store) => {
      const lease = await waiting(store);
      return () => store.park(lease, { turnId: lease.turnId, wakeAt: NOW + 10, waits: [WAIT] }, NOW);
    },
  },
  {
    name: "park, with mail",
    prepare: async (store) => {
      const lease = await waiting(store);
      await store.waits.resolve(WAIT, YES, NOW);
      return () => store.park(lease, { turnId: lease.turnId, wakeAt: NOW + 10, waits: [WAIT] }, NOW);
    },
  },
  {
    name: "commit, in one statement",
    prepare: async (store) => {
      await known(store);
      const lease = await begin(store, "hello");
      const base = await at(store);
      const inputs = [newInput("hello").id];
      return () => store.commit(lease, ended(lease, { ...answering(lease.turnId, "Hi."), ...PAID, base, inputs }));
    },
  },
  {
    name: "commit, in steps",
    prepare: async (store) => {
      const lease = await waiting(store);
      const base = await at(store);
      await store.apply(change("op", { by: "append", queueMax: 5 }));
      await send(store, "next");
      await spawn(store, "child", { parent: { turnId: lease.turnId }, onParentEnd: "cancel" });
      const parts = [{ operation: "part", receipt: { ok: true } }];
      const ending = { ...PAID, base, inputs: [newInput("asks").id], parts, spawns: [{ job: newJob() }] };
      return () => store.commit(lease, ended(lease, ending));
    },
  },
  {
    name: "commit, beside the path",
    prepare: async (store) => {
      await known(store);
      const lease = await begin(store, "hello");
      return () => store.commit(lease, ended(lease, PAID));
    },
  },
  {
    name: "commit, that is reopened",
    prepare: async (store) => {
      await known(store);
      const lease = await begin(store, "hello");
      const base = await at(store);
      await store.cancel(lease.turnId, CANCEL);
      return () => store.commit(lease, ended(lease, { base }));
    },
  },
  {
    name: "cancel",
    prepare: async (store) => {
      const lease = await waiting(store);
      return () => store.cancel(lease.turnId, CANCEL);
    },
  },
  {
    name: "cancel, of what waits",
    prepare: async (store) => {
      await waiting(store);
      await send(store, "queued");
      return () => store.cancel(turnId("queued"), CANCEL);
    },
  },
  {
    name: "inputs.withdraw",
    prepare: async (store) => {
      await waiting(store);
      await send(store, "queued", { key: "k" });
      await send(store, "later");
      return () => store.inputs.withdraw(alice, { from: newInput("queued").id });
    },
  },
  {
    name: "inputs.claim",
    prepare: async (store) => {
      const lease = await waiting(store);
      await send(store, "queued", { place: "boundary" });
      await store.apply(change("op", { by: "append", queueMax: 5 }));
      return () => store.inputs.claim(lease, EFFECT, 5, true);
    },
  },
  {
    name: "waits.resolve, of a turn",
    prepare: async (store) => {
      const lease = await waiting(store);
      await store.park(lease, { turnId: lease.turnId, wakeAt: NOW + 10, waits: [WAIT] }, NOW);
      return () => store.waits.resolve(WAIT, YES, NOW);
    },
  },
  {
    name: "waits.resolve, of a job",
    prepare: async (store) => {
      const lease = await working(store);
      await store.jobs.append(lease, [], NOW, { waits: [newWait(WAIT)] });
      return () => store.waits.resolve(WAIT, YES, NOW);
    },
  },
  {
    name: "note",
    prepare: async (store) => {
      const lease = await waiting(store);
      return () => store.note(lease.turnId, EFFECT, "asked", { said: "yes" });
    },
  },
  {
    name: "attempt",
    prepare: async (store) => {
      const lease = await waiting(store);
      return () => store.attempt(lease.turnId, EFFECT);
    },
    orAnswers: "again", // Whether it was begun nobody can tell, so it is not begun twice.
  },

  // ── Jobs ──────────────────────────────────────────────────────────────────────────────────────────────────────────
  {
    name: "jobs.spawn",
    prepare: async (store) => {
      await known(store);
      return () => store.jobs.spawn({ job: newJob() }, 1);
    },
  },
  {
    name: "jobs.spawn, with an owner",
    prepare: async (store) => {
      await known(store);
      return () => store.jobs.spawn({ job: newJob("work", { recovery: "owner-bound" }), owner: ann }, 1);
    },
  },
  {
    name: "jobs.claim",
    prepare: async (store) => {
      for (const name of ["one", "two", "three"]) await spawn(store, name);
      await bound(store, "orphan", ben);
      await store.jobs.leave(ben);
      return () => store.jobs.claim(ann, NOW, 3, [TASK]);
    },
  },
  {
    name: "jobs.renew",
    prepare: async (store) => {
      await working(store);
      return () => store.jobs.renew(ann, NOW + 100);
    },
  },
  {
    name: "jobs.leave",
    prepare: async (store) => {
      await working(store);
      await bound(store, "tied");
      return () => store.jobs.leave(ann);
    },
  },
  {
    name: "jobs.append",
    prepare: async (store) => {
      const lease = await working(store);
      const line = { n: 1, at: NOW, channel: "out", text: "said" } as const;
      const more = { waits: [newWait(WAIT)], wakes: [wake("up")], says: { lines: [line], max: 5 } };
      return () => store.jobs.append(lease, [stepped("a"), stepped("b")], NOW, more);
    },
  },
  {
    name: "jobs.append, that parks",
    prepare: async (store) => {
      const lease = await working(store);
      const { seq: seen } = (await store.jobs.load(lease.jobId))!;
      return () => store.jobs.append(lease, [], NOW, { parks: { seen, due: LAPSED } });
    },
  },
  {
    name: "jobs.append, that ends",
    prepare: async (store) => {
      const lease = await working(store);
      await spawn(store, "child", { parent: { jobId: lease.jobId }, onParentEnd: "cancel" });
      return () => store.jobs.append(lease, [over("completed", "end", { result: 1 })], NOW, { wakes: [wake("over")] });
    },
  },
  {
    name: "jobs.send",
    prepare: async (store) => {
      await working(store);
      return () => store.jobs.send(jobId("work"), signal("s1"), NOW, { wakes: [wake("up")] });
    },
  },
  {
    name: "jobs.send, a cancel that ends it",
    prepare: async (store) => {
      await spawn(store);
      return () => store.jobs.send(jobId("work"), cancelling(), NOW);
    },
  },
  {
    name: "jobs.send, to an external one",
    prepare: async (store) => {
      await spawn(store, "work", { recovery: "external" });
      return () => store.jobs.send(jobId("work"), turned("idle"), NOW);
    },
  },
  {
    name: "jobs.transfer",
    prepare: async (store) => {
      const lease = await working(store);
      await store.jobs.append(lease, [], NOW, { waits: [newWait(WAIT)] });
      await store.create(newSession(bob));
      return () => store.jobs.transfer(alice, bob, [lease.jobId], NOW);
    },
  },
  {
    name: "jobs.remove",
    prepare: async (store) => {
      const lease = await working(store);
      await store.jobs.append(lease, [over()], NOW);
      return () => store.jobs.remove(lease.jobId);
    },
  },
  {
    name: "jobs.take",
    prepare: async (store) => {
      const lease = await working(store);
      const lines = [1, 2].map((n) => ({ n, at: NOW, channel: "out" as const, text: `line ${n}` }));
      await store.jobs.append(lease, [], NOW, { says: { lines, max: 5 } });
      return () => store.jobs.take(lease.jobId, "take-1");
    },
  },

  // ── Triggers ──────────────────────────────────────────────────────────────────────────────────────────────────────
  {
    name: "triggers.put",
    prepare: async (store) => {
      await store.create(newSession());
      return () => store.triggers.put(subscription(), undefined, 1);
    },
  },
  {
    name: "triggers.put, a change",
    prepare: async (store) => {
      const before = await subscribe(store);
      return () => store.triggers.put({ ...before, revision: 2, label: "changed" }, 1, 1);
    },
  },
  {
    name: "triggers.remove",
    prepare: async (store) => {
      await subscribe(store);
      return () => store.triggers.remove(alice, "watch", 1);
    },
  },
  {
    name: "triggers.move",
    prepare: async (store) => {
      const clock = await scheduled(store, "clock", NOW);
      return () => store.triggers.move(moved(clock, { next: NOW + 10 }));
    },
  },
  {
    name: "triggers.occur",
    prepare: async (store) => {
      const clock = await scheduled(store, "clock", NOW);
      const other = await subscribe(store, "other", { sessionId: asSessionId("of other") });
      const what = occurrence("tick", { source: sourceOf(clock) });
      const deliveries = [delivery("tick", clock), delivery("tick", other)];
      return () => store.triggers.occur(what, deliveries, 5, moved(clock, { next: NOW + 10 }));
    },
  },

  // ── Blobs ─────────────────────────────────────────────────────────────────────────────────────────────────────────
  { name: "blobs.put", prepare: async () => (store) => store.blobs.put(HASH, BYTES) },
];
