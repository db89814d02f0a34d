import assert from "node:assert/strict";
import { asSessionId, asWaitKey } from "../../model/ids.ts";
import { alice, ann, ben, bob, commit, LAPSED, NOW, newInput, newSession, slept } from "../cast.ts";
import { law, type StoreLaw } from "../law.ts";
import { answer, BOUNDARY, claim, drain, first, park, queue, take, waits, withdraw, work, yes } from "./acts.ts";

export const agendaLaws: readonly StoreLaw[] = [
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
  law("the agenda has the time when a parked turn gets mail by itself, the earliest first", async (store) => {
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
    // The agenda also answers for an earlier time, because a clock may be set back.
    const before = await store.agenda(NOW, 10);
    assert.deepEqual([before.sessions, before.next], [["one"], NOW + 20]);
  }),
  law("the agenda has the latest fact, and the number of deleted sessions", async (store) => {
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
