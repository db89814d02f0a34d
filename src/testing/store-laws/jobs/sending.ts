import assert from "node:assert/strict";
import { alice, ann, ben, LAPSED, NOW } from "../../cast.ts";
import {
  bound,
  cancelling,
  claimed,
  end,
  jobId,
  kindsOf,
  liveIn,
  over,
  recordOf,
  sendTo,
  signal,
  spawn,
  stateOf,
  stepped,
  stored,
  turned,
  working,
  write,
} from "../../job-cast.ts";
import { law, refused, type StoreLaw } from "../../law.ts";

export const sendingLaws: readonly StoreLaw[] = [
  law("what is sent to a job is its event, once", async (store) => {
    const lease = await working(store);
    const sent = await store.jobs.send(jobId("work"), signal("s1", 1), NOW);
    assert.deepEqual(sent, { said: "accepted", job: await stored(store) });
    const again = await store.jobs.send(jobId("work"), signal("s1", 2), NOW);
    assert.deepEqual(again, { said: "known", job: sent.job });
    assert.deepEqual((await store.jobs.events(lease.jobId, 2))[0]?.event, signal("s1", 1).event);
    assert.deepEqual(await store.jobs.send(jobId("never"), signal("s1"), NOW), { said: "unknown" });
  }),
  law("an ended job takes nothing, and recognizes an earlier key", async (store) => {
    const lease = await working(store);
    await sendTo(store, "work", signal("s1"));
    await end(store, lease);
    const before = await stored(store);
    assert.deepEqual(await store.jobs.send(jobId("work"), signal("s1"), NOW), { said: "known", job: before });
    for (const event of [signal("s2"), cancelling()])
      assert.deepEqual(await store.jobs.send(jobId("work"), event, NOW), { said: "over", job: before });
    assert.deepEqual(await stored(store), before);
  }),
  law("only its holder can end a job or make it idle, except for an external job", async (store) => {
    await working(store);
    await bound(store, "bound");
    await spawn(store, "free");
    for (const name of ["work", "bound", "free"]) {
      const before = await stored(store, name);
      for (const event of [over(), turned("idle")])
        assert.deepEqual(await store.jobs.send(jobId(name), event, NOW), { said: "bound", job: before });
      assert.deepEqual(await stored(store, name), before);
    }
    await spawn(store, "outside", { recovery: "external", kind: "external" });
    assert.equal(await sendTo(store, "outside", turned("idle")), "accepted");
    assert.equal(await stateOf(store, "outside"), "idle");
    assert.equal(await sendTo(store, "outside", turned("running")), "accepted");
    assert.equal(await sendTo(store, "outside", over("failed")), "accepted");
    assert.equal(await sendTo(store, "outside", over("completed")), "known");
    assert.equal(await sendTo(store, "outside", over("completed", "again")), "over");
    assert.deepEqual([await stateOf(store, "outside"), await liveIn(store, alice)], ["failed", [3]]);
  }),
  law("the holder of a job receives a cancel and ends the job", async (store) => {
    const lease = await working(store);
    assert.equal(await sendTo(store, "work", cancelling()), "accepted");
    assert.deepEqual(await kindsOf(store), ["spawned", "started", "cancelling"]);
    assert.deepEqual(
      [(await recordOf(store)).cancel, await stateOf(store)],
      [{ reason: "Enough.", at: NOW }, "running"],
    );
    await write(store, lease, [stepped("cleanup")]);
    await end(store, lease, "cancelled");
    assert.equal(await stateOf(store), "cancelled");
  }),
  law("a cancel ends an unheld or external job", async (store) => {
    await spawn(store, "unbegun");
    await spawn(store, "later", { notBefore: NOW + 500 });
    await spawn(store, "outside", { recovery: "external", kind: "external" });
    for (const name of ["unbegun", "later", "outside"]) {
      assert.equal(await sendTo(store, name, cancelling(), NOW + 1), "accepted");
      const [asks, ends] = (await store.jobs.events(jobId(name), 0)).slice(-2);
      assert.deepEqual(asks?.event, cancelling().event);
      assert.deepEqual([ends?.key, ends?.event], ["end", { kind: "ended", at: NOW + 1, state: "cancelled" }]);
      assert.equal(await stateOf(store, name), "cancelled");
      assert.equal(await sendTo(store, name, cancelling("again")), "over");
    }
    assert.deepEqual(await claimed(store, ann, NOW + 500), []);
  }),
  law("a job whose owner is gone ends with the cancel, and its holder has lost it", async (store) => {
    const [one, two] = [await working(store, "one"), await bound(store, "two")];
    for (const [name, lease] of [
      ["one", one],
      ["two", two],
    ] as const) {
      assert.equal(await sendTo(store, name, cancelling("early"), LAPSED - 1), "accepted");
      assert.equal(await stateOf(store, name), "running");
      await sendTo(store, name, cancelling(), LAPSED);
      assert.equal(await stateOf(store, name), "cancelled");
      await refused("lease.lost", () => write(store, lease, [stepped("a")]));
    }
    await working(store, "three", {}, ben);
    await store.jobs.leave(ben);
    await sendTo(store, "three", cancelling());
    assert.equal(await stateOf(store, "three"), "cancelled");
  }),
  law("a cancel ends a job also where the key of its end is taken", async (store) => {
    await spawn(store);
    await sendTo(store, "work", cancelling("end"));
    assert.equal(await stateOf(store), "cancelled");
  }),
];
