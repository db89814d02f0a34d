import assert from "node:assert/strict";
import { asCursor, asWaitKey } from "../../../model/ids.ts";
import { alice, begin, bob, NOW, newSession, newWait, slept, turnId } from "../../cast.ts";
import { spawn } from "../../job-cast.ts";
import { law, type StoreLaw } from "../../law.ts";
import { change, due, found, INTERVAL, moved, occurs, scheduled, subscribe } from "../../trigger-cast.ts";
import { agenda, COMMITS, CRON, unchanged } from "./acts.ts";

const dueLaws = [
  law("schedules are due when their time has come, the longest due first", async (store) => {
    await scheduled(store, "b", NOW + 2);
    await scheduled(store, "a", NOW + 3);
    await scheduled(store, "d", NOW + 1, { sessionId: bob });
    await scheduled(store, "c", NOW + 2, { on: CRON });
    assert.deepEqual(await due(store, NOW), []);
    assert.deepEqual(await due(store, NOW + 1), ["d"]);
    assert.deepEqual(await due(store, NOW + 2), ["d", "b", "c"]);
    assert.deepEqual(await due(store, NOW + 99), ["d", "b", "c", "a"]);
    assert.deepEqual(await due(store, NOW + 99, 2), ["d", "b"]);
    assert.deepEqual(await store.triggers.due(NOW + 1, 9), [await found(store, "d", bob)]);
  }),
  law("nothing else is due", async (store) => {
    await scheduled(store, "asleep", NOW, { isEnabled: false });
    await subscribe(store, "never", { on: INTERVAL });
    await subscribe(store, "mail");
    await subscribe(store, "turns", { on: COMMITS });
    assert.deepEqual(await due(store, NOW + 99), []);
    const woken = await change(store, await found(store, "asleep"), { isEnabled: true });
    assert.deepEqual(await due(store, NOW + 99), ["asleep"]);
    await change(store, woken, { isEnabled: false });
    assert.deepEqual(await due(store, NOW + 99), []);
  }),
];

const moveLaws = [
  law("a schedule is moved to its next time, which is not a change of it", async (store) => {
    const clock = await scheduled(store, "clock", NOW);
    assert.equal(await store.triggers.move(moved(clock, { next: NOW + 5 })), true);
    assert.deepEqual(await found(store, "clock"), { ...clock, next: NOW + 5 });
    assert.deepEqual([await due(store, NOW), await due(store, NOW + 5)], [[], ["clock"]]);
    await change(store, await found(store, "clock"), { label: "second" });
  }),
  law("a schedule that never occurs again has no next time", async (store) => {
    const clock = await scheduled(store, "clock", NOW);
    assert.equal(await store.triggers.move(moved(clock, {})), true);
    const { next: _, ...rest } = clock;
    assert.deepEqual(await found(store, "clock"), rest);
    assert.deepEqual([await due(store, NOW + 99), await agenda(store)], [[], {}]);
    assert.equal(await store.triggers.move(moved(rest, { next: NOW + 1 })), true);
    assert.deepEqual(await due(store, NOW + 1), ["clock"]);
  }),
  law("a subscription that was changed is not moved by who has not seen it, wherever it stands", async (store) => {
    const clock = await scheduled(store, "clock", NOW);
    const second = await change(store, clock, { on: CRON });
    const move = moved(clock, { next: NOW + 10 });
    assert.equal(await unchanged(store, async () => store.triggers.move(move)), false);
    assert.equal(await unchanged(store, () => occurs(store, "tick", [second], { moved: move })), "stale");
    assert.equal(await store.triggers.move(moved(second, { next: NOW + 10 })), true);
  }),
  law("a subscription that stands elsewhere is not moved", async (store) => {
    const clock = await scheduled(store, "clock", NOW);
    const turns = await subscribe(store, "turns", { on: COMMITS, after: asCursor("3") });
    const { next: _, ...timeless } = clock;
    const { after: __, ...fresh } = turns;
    const wrong = [
      { ...clock, next: NOW + 1 },
      timeless,
      { ...clock, after: asCursor("3") },
      { ...clock, incarnation: "another" },
      { ...clock, revision: 2 },
      { ...clock, sessionId: bob },
      { ...clock, id: "other" },
      { ...turns, after: asCursor("2") },
      fresh,
    ];
    for (const each of wrong)
      assert.equal(await unchanged(store, async () => store.triggers.move(moved(each, { next: NOW + 9 }))), false);
  }),
  law("of two that move a subscription from one place one does", async (store) => {
    const clock = await scheduled(store, "clock", NOW);
    const moves = await Promise.all([1, 2].map(async (ms) => store.triggers.move(moved(clock, { next: NOW + ms }))));
    assert.deepEqual([...moves].sort(), [false, true]);
    assert.equal((await found(store, "clock")).next, NOW + (moves[0] ? 1 : 2));
  }),
  law("a subscription to commits keeps the cursor that it was moved to", async (store) => {
    const turns = await subscribe(store, "turns", { on: COMMITS });
    assert.equal(await store.triggers.move(moved(turns, { after: asCursor("5") })), true);
    const then = await found(store, "turns");
    assert.deepEqual(then, { ...turns, after: asCursor("5") });
    assert.equal(await store.triggers.move(moved(turns, { after: asCursor("6") })), false);
    assert.equal(await store.triggers.move(moved(then, { after: asCursor("6") })), true);
  }),
  law("a subscription that is not enabled can be moved", async (store) => {
    const clock = await scheduled(store, "clock", NOW, { isEnabled: false });
    assert.equal(await store.triggers.move(moved(clock, { next: NOW + 5 })), true);
    assert.deepEqual(await found(store, "clock"), { ...clock, next: NOW + 5 });
    assert.deepEqual(await due(store, NOW + 99), []);
  }),
];

const agendaLaws = [
  law("the agenda reports due schedules, and the time of the next ones; time alone makes them due", async (store) => {
    assert.deepEqual(await agenda(store), {});
    await scheduled(store, "a", NOW + 10);
    await scheduled(store, "b", NOW + 20, { sessionId: bob });
    const hasSchedules = true;
    assert.deepEqual(await agenda(store), { next: NOW + 10 });
    assert.deepEqual(await agenda(store, NOW + 9), { next: NOW + 10 });
    assert.deepEqual(await agenda(store, NOW + 10), { hasSchedules, next: NOW + 20 });
    assert.deepEqual(await agenda(store, NOW + 11), { hasSchedules, next: NOW + 20 });
    assert.deepEqual(await agenda(store, NOW + 20), { hasSchedules });
    assert.deepEqual(await agenda(store, NOW), { next: NOW + 10 });
  }),
  law("the agenda follows what becomes of a schedule", async (store) => {
    const clock = await scheduled(store, "clock", NOW);
    const hasSchedules = true;
    assert.deepEqual(await agenda(store), { hasSchedules });
    await store.triggers.move(moved(clock, { next: NOW + 5 }));
    assert.deepEqual(await agenda(store), { next: NOW + 5 });
    const asleep = await change(store, await found(store, "clock"), { isEnabled: false });
    assert.deepEqual([await agenda(store), await agenda(store, NOW + 5)], [{}, {}]);
    await change(store, asleep, { isEnabled: true, next: NOW + 7 });
    assert.deepEqual(await agenda(store), { next: NOW + 7 });
    await store.triggers.remove(alice, "clock");
    assert.deepEqual(await agenda(store), {});
  }),
  law("the agenda has a flag for subscriptions that wait for commits", async (store) => {
    await subscribe(store, "mail");
    assert.deepEqual(await agenda(store), {});
    const turns = await subscribe(store, "turns", { on: COMMITS });
    assert.deepEqual(await agenda(store), { hasCommits: true });
    const asleep = await change(store, turns, { isEnabled: false });
    assert.deepEqual(await agenda(store), {});
    await change(store, asleep, { isEnabled: true });
    assert.deepEqual(await agenda(store), { hasCommits: true });
    await store.triggers.remove(alice, "turns");
    assert.deepEqual(await agenda(store), {});
  }),
  law("the agenda's next time is the earliest of turns, jobs and schedules", async (store) => {
    await store.create(newSession(bob));
    const lease = await begin(store, "hello", { to: bob });
    const key = asWaitKey("wait");
    await store.append(lease, 1, [slept("a")], NOW, [newWait(key, { until: NOW + 30 })]);
    await store.park(lease, { turnId: turnId("hello"), wakeAt: NOW + 30, waits: [key] }, NOW);
    assert.deepEqual(await agenda(store), { next: NOW + 30 });
    const clock = await scheduled(store, "clock", NOW + 40);
    assert.deepEqual(await agenda(store), { next: NOW + 30 });
    await spawn(store, "late", { notBefore: NOW + 20 });
    assert.deepEqual(await agenda(store), { next: NOW + 20 });
    await store.triggers.move(moved(clock, { next: NOW + 10 }));
    assert.deepEqual(await agenda(store), { next: NOW + 10 });
    assert.equal((await store.agenda(NOW, 10)).next, NOW + 10);
    assert.deepEqual(await agenda(store, NOW + 10), { hasSchedules: true, next: NOW + 20 });
  }),
];

export const scheduleLaws: readonly StoreLaw[] = [...dueLaws, ...moveLaws, ...agendaLaws];
