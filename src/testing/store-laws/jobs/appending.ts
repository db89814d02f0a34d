import assert from "node:assert/strict";
import type { Awaitable } from "../../../model/awaitable.ts";
import { asEffectName } from "../../../model/ids.ts";
import type { JobEvent } from "../../../model/job.ts";
import type { JobLease } from "../../../stores/store.ts";
import {
  alice,
  ann,
  begin,
  ben,
  bob,
  commit,
  inputId,
  LAPSED,
  NOW,
  newSession,
  opening,
  send,
  turnId,
} from "../../cast.ts";
import {
  bound,
  cancelling,
  end,
  jobId,
  kindsOf,
  over,
  parks,
  recordOf,
  sendTo,
  signal,
  spawn,
  stepped,
  stored,
  take,
  turned,
  working,
  write,
} from "../../job-cast.ts";
import { law, refused, type StoreLaw } from "../../law.ts";
import { waiting, work } from "../acts.ts";
import { asked, firstTurn, told, WAIT, wake, yes } from "./acts.ts";

const eventLaws = [
  law("the record of a job is what its events come to, after each kind of write", async (store) => {
    await store.create(newSession(bob));
    const { lease } = await spawn(store).then(() => take(store));
    const steps: readonly (() => Awaitable<unknown>)[] = [
      () => write(store, lease, [stepped("a"), stepped("b")]),
      () => write(store, lease, [turned("idle"), turned("running")], { waits: [asked] }),
      () => store.waits.resolve(WAIT, yes, NOW),
      () => write(store, lease, [], { wakes: [wake("up")] }),
      () => sendTo(store, "work", signal("s1", { a: 1 })),
      () => store.jobs.transfer(alice, bob, [jobId("work")], NOW),
      () => sendTo(store, "work", cancelling()),
      () => sendTo(store, "work", cancelling("again")),
      () => parks(store, lease),
      () => sendTo(store, "work", signal("s2")),
      async () => write(store, (await take(store, ben)).lease, [over("failed", "end")], { wakes: [wake("over")] }),
    ];
    for (const act of steps) {
      await act();
      await stored(store);
    }
    const { record, seq } = await stored(store);
    const { state, steps: count, wakes, starts, sessionId, cancel } = record;
    assert.deepEqual(
      [state, count, wakes, starts, sessionId, cancel],
      ["failed", 2, 2, 2, bob, { reason: "Enough.", at: NOW }],
    );
    assert.equal(seq, 16);
  }),
  law("an event counts once by its key, and a repeat returns the first", async (store) => {
    const lease = await working(store);
    const first = await write(store, lease, [stepped("a", 1)]);
    assert.deepEqual(first.events, [{ ...stepped("a", 1), seq: 3 }]);
    const again = await write(store, lease, [stepped("a", 2), stepped("b", 3)]);
    assert.deepEqual(again.events, [
      { ...stepped("a", 1), seq: 3 },
      { ...stepped("b", 3), seq: 4 },
    ]);
    const { cursor, seq } = await stored(store);
    assert.deepEqual([again.cursor, again.seq, seq], [cursor, 4, 4]);
    assert.equal((await recordOf(store)).steps, 2);
    assert.deepEqual(await write(store, lease, [stepped("b", 4)]), {
      events: [{ ...stepped("b", 3), seq: 4 }],
      cursor,
      seq,
    });
  }),
  law("a key that stands twice in one write counts once", async (store) => {
    const lease = await working(store);
    const { events, seq } = await write(store, lease, [stepped("a", 1), stepped("a", 2)]);
    assert.deepEqual([events.map(({ event }) => "value" in event && event.value), seq], [[1, 1], 3]);
    await stored(store);
  }),
  law("a key counts in its own job alone, and among many", async (store) => {
    const [one, two] = [await working(store, "one"), await working(store, "two")];
    const names = Array.from({ length: 40 }, (_, nth) => `s${nth}`);
    for (const name of names) await write(store, one, [stepped(name)]);
    await write(store, two, [stepped("s3", "other")]);
    await write(store, one, [stepped("s3", "late"), stepped("s39", "late")]);
    assert.deepEqual((await stored(store, "one")).seq, 42);
    assert.deepEqual((await store.jobs.events(two.jobId, 2))[0]?.event, stepped("s3", "other").event);
  }),
  law("the events of a job are read from any place", async (store) => {
    const lease = await working(store);
    await write(store, lease, [stepped("a"), stepped("b")]);
    const all = await store.jobs.events(lease.jobId, 0);
    for (const after of [1, 3, 4, 9]) assert.deepEqual(await store.jobs.events(lease.jobId, after), all.slice(after));
  }),
  law("what a holder and others write at once is all there, in one order", async (store) => {
    const lease = await working(store);
    const nth = [1, 2, 3, 4, 5];
    await Promise.all([
      ...nth.map((each) => write(store, lease, [stepped(`s${each}`)])),
      ...nth.map((each) => sendTo(store, "work", signal(`m${each}`))),
    ]);
    assert.equal((await stored(store)).seq, 12);
  }),
  law("a job ends once", async (store) => {
    const lease = await working(store);
    const all = await Promise.allSettled([
      write(store, lease, [over("completed", "one")]),
      write(store, lease, [over("failed", "two")]),
      sendTo(store, "work", cancelling(), LAPSED),
    ]);
    assert.ok(all.filter(({ status }) => status === "rejected").length >= 1);
    assert.equal((await kindsOf(store)).filter((kind) => kind === "ended").length, 1);
    const before = await stored(store);
    await refused("lease.lost", () => write(store, lease, [over("failed", "three")]));
    assert.equal(await sendTo(store, "work", over("failed", "four")), "over");
    assert.deepEqual(await stored(store), before);
  }),
  law("after its end a job takes nothing, and a repeat is answered", async (store) => {
    const lease = await working(store);
    const events = [stepped("a"), over("completed", "end", { result: 7 })];
    const first = await write(store, lease, events, { wakes: [wake("over")] });
    const { state, result, endedAt } = await recordOf(store);
    assert.deepEqual([state, result, endedAt], ["completed", 7, NOW]);
    const again = await write(store, lease, [stepped("a", "else"), over("failed")], { wakes: [wake("over")] });
    assert.deepEqual(again, first);
    await refused("lease.lost", () => write(store, lease, [stepped("b")]));
    await refused("lease.lost", () => write(store, lease, [stepped("a"), stepped("b")]));
    await refused("lease.lost", () => write(store, lease, []));
    assert.deepEqual([(await stored(store)).seq, await waiting(store)], [first.seq, ["over"]]);
  }),
  law("a job that is not there has no holder: never begun, removed, of a deleted session", async (store) => {
    const never: JobLease = { jobId: jobId("never"), generation: 1, owner: ann };
    await refused("lease.lost", () => write(store, never, [stepped("a")]));
    const removed = await working(store, "removed");
    await end(store, removed);
    await store.jobs.remove(removed.jobId);
    await refused("lease.lost", () => write(store, removed, [over()]));
    const deleted = await working(store, "deleted");
    await store.delete(alice);
    await refused("lease.lost", () => write(store, deleted, [stepped("a")], { wakes: [wake("up")] }));
  }),
  law("a write without an event is none, and its lease is looked at all the same", async (store) => {
    const lease = await working(store);
    const { cursor, seq } = await stored(store);
    assert.deepEqual(await write(store, lease, []), { events: [], cursor, seq });
    await take(store, ben, LAPSED);
    await refused("lease.lost", () => write(store, lease, []));
  }),
];

const wakeLaws = [
  law("a wake is an input of the session and an event of the job, in one write", async (store) => {
    const lease = await working(store);
    assert.deepEqual(await work(store), []);
    const { seq, events } = await write(store, lease, [stepped("a")], { wakes: [wake("up", { key: "k" })] });
    assert.deepEqual([events.length, seq], [1, 4]);
    const woke: JobEvent = { kind: "woke", at: NOW, inputId: inputId("up") };
    assert.deepEqual((await store.jobs.events(lease.jobId, 3))[0], {
      key: `wake/${inputId("up")}`,
      event: woke,
      seq: 4,
    });
    assert.deepEqual([await waiting(store), await work(store), await told(store)], [["up"], [alice], ["accepted"]]);
    assert.equal((await store.load(alice))?.openTurn, undefined);
    assert.equal(await store.inputs.holds(alice, "k"), true);
    const opened = await store.open(alice, ann, NOW, opening);
    assert.ok(opened.kind === "opened" && opened.opened.turnId === turnId("up"));
    assert.equal((await recordOf(store)).wakes, 1);
  }),
  law("a wake for a session with an open turn waits for it", async (store) => {
    const open = await firstTurn(store);
    const lease = await working(store);
    await write(store, lease, [], { wakes: [wake("next"), wake("here", { place: "boundary" })] });
    assert.deepEqual(await waiting(store), ["next", "here"]);
    const taken = await store.inputs.claim(open, asEffectName("r1.boundary"), 10);
    assert.deepEqual(
      taken.map(({ id }) => id),
      [inputId("here")],
    );
  }),
  law("a message for the next boundary opens no turn, and the next turn takes it", async (store) => {
    const lease = await working(store);
    await write(store, lease, [], { wakes: [wake("note", { place: "injected" })] });
    assert.deepEqual([await waiting(store), await work(store)], [["note"], []]);
    assert.equal((await store.open(alice, ann, NOW, opening)).kind, "idle");
    const open = await begin(store, "hello");
    const taken = await store.inputs.claim(open, asEffectName("r1.boundary"), 10);
    assert.deepEqual(
      taken.map(({ id }) => id),
      [inputId("note")],
    );
  }),
  law("a refused write wakes no session", async (store) => {
    const lease = await bound(store);
    const orphan = await take(store, ben, LAPSED, []);
    const more = { wakes: [wake("up")] };
    await refused("lease.lost", () => write(store, lease, [stepped("a")], more));
    await refused("job.bound", () => write(store, orphan.lease, [stepped("a")], more));
    assert.deepEqual([await waiting(store), await told(store), await work(store)], [[], [], []]);
  }),
  law("wakes keep their order, and come after the events of their write", async (store) => {
    const lease = await working(store);
    await write(store, lease, [stepped("a"), over()], { wakes: [wake("one"), wake("two")] });
    assert.deepEqual(await kindsOf(store), ["spawned", "started", "stepped", "ended", "woke", "woke"]);
    assert.deepEqual([await waiting(store), (await recordOf(store)).wakes], [["one", "two"], 2]);
  }),
  law("a wake that is sent again is neither accepted nor told again, also under another id", async (store) => {
    const lease = await working(store);
    await write(store, lease, [stepped("a")], { wakes: [wake("up", { key: "k" })] });
    await write(store, lease, [stepped("a")], { wakes: [wake("up", { key: "k" })] });
    await write(store, lease, [stepped("a")], { wakes: [wake("else", { key: "k", hash: "hash of up" })] });
    await write(store, lease, [stepped("a")], { wakes: [wake("other", { key: "k" })] });
    assert.deepEqual([await waiting(store), (await stored(store)).seq], [["up"], 4]);
    assert.deepEqual([(await recordOf(store)).wakes, await told(store)], [1, ["accepted"]]);
  }),
  law("a wake that its session has settled is not accepted again", async (store) => {
    const lease = await working(store);
    await write(store, lease, [], { wakes: [wake("up")] });
    const opened = await store.open(alice, ann, NOW, opening);
    assert.ok(opened.kind === "opened");
    await commit(store, opened.lease);
    await write(store, lease, [], { wakes: [wake("up")] });
    assert.deepEqual([await waiting(store), (await recordOf(store)).wakes], [[], 1]);
  }),
  law(
    "a job wakes its session at most as often as its limit: one more is reported as lost, and nothing fails",
    async (store) => {
      const lease = await working(store);
      await write(store, lease, [], { wakes: [wake("one")], wakesMax: 2 });
      const { events } = await write(store, lease, [stepped("a")], {
        wakes: [wake("two"), wake("three")],
        wakesMax: 2,
      });
      assert.equal(events.length, 1);
      await write(store, lease, [], { wakes: [wake("four")], wakesMax: 2 });
      assert.deepEqual(await waiting(store), ["one", "two"]);
      const lost = (await store.jobs.events(lease.jobId, 0)).flatMap(({ event }) =>
        event.kind === "woke" ? [event.lost] : [],
      );
      assert.deepEqual(lost, [undefined, undefined, "full", "full"]);
      await stored(store);
    },
  ),
  law("a wake goes to the session that has the job, also where its holder does not know that yet", async (store) => {
    const lease = await working(store);
    await store.create(newSession(bob));
    await store.jobs.transfer(alice, bob, [lease.jobId], NOW);
    await write(store, lease, [stepped("a")], { wakes: [wake("up"), wake("hey", { to: bob })] });
    const [up, hey] = (await store.jobs.events(lease.jobId, 4)).map(({ event }) => event);
    assert.deepEqual(up, { kind: "woke", at: NOW, inputId: inputId("up") });
    assert.deepEqual(hey, { kind: "woke", at: NOW, inputId: inputId("hey") });
    assert.deepEqual([await waiting(store, alice), await waiting(store, bob)], [[], ["up", "hey"]]);
  }),
  law("a wake is accepted however many inputs wait", async (store) => {
    await firstTurn(store);
    await send(store, "more", { pendingMax: 1 });
    await refused("input.full", () => send(store, "too much", { pendingMax: 1 }));
    await write(store, await working(store), [], { wakes: [wake("up")] });
    assert.deepEqual(await waiting(store), ["more", "up"]);
  }),
  law("what is sent to a job may wake its session, once", async (store) => {
    await spawn(store, "outside", { recovery: "external", kind: "external" });
    const ends = () => store.jobs.send(jobId("outside"), over("completed", "e1"), NOW, { wakes: [wake("done")] });
    assert.deepEqual([(await ends()).said, (await ends()).said], ["accepted", "known"]);
    await store.jobs.send(jobId("outside"), signal("late"), NOW, { wakes: [wake("late")] });
    assert.deepEqual(await waiting(store), ["done"]);
    assert.deepEqual(await kindsOf(store, "outside"), ["spawned", "ended", "woke"]);
    await stored(store, "outside");
  }),
];

export const appendingLaws: readonly StoreLaw[] = [...eventLaws, ...wakeLaws];
