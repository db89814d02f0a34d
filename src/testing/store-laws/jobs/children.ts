import assert from "node:assert/strict";
import {
  alice,
  begin,
  ben,
  bob,
  commit,
  committed,
  ended,
  LAPSED,
  NOW,
  newSession,
  node,
  opening,
  turn,
  turnId,
} from "../../cast.ts";
import {
  bound,
  cancelling,
  end,
  jobId,
  keysOf,
  kindsOf,
  listed,
  over,
  sendTo,
  spawn,
  stateOf,
  stored,
  take,
  working,
  write,
} from "../../job-cast.ts";
import { law, refused, type StoreLaw } from "../../law.ts";
import { firstTurn, spawnOf } from "./acts.ts";

export const childLaws: readonly StoreLaw[] = [
  law("when a turn ends, its jobs that end with it are cancelled, and others stay", async (store) => {
    const lease = await firstTurn(store);
    const parent = { turnId: lease.turnId };
    const held = await working(store, "held", { parent, onParentEnd: "cancel" });
    await spawn(store, "free", { parent, onParentEnd: "cancel" });
    await spawn(store, "kept", { parent, onParentEnd: "keep" });
    await spawn(store, "other", { parent: { turnId: turnId("other") }, onParentEnd: "cancel" });
    await spawn(store, "nobody's", { onParentEnd: "cancel" });
    await commit(store, lease);
    assert.deepEqual(await kindsOf(store, "held"), ["spawned", "started", "cancelling"]);
    assert.equal((await keysOf(store, "held")).at(-1), "cancel");
    assert.deepEqual(await kindsOf(store, "free"), ["spawned", "cancelling", "ended"]);
    assert.deepEqual((await keysOf(store, "free")).slice(1), ["cancel", "end"]);
    for (const name of ["kept", "other", "nobody's"]) assert.deepEqual(await kindsOf(store, name), ["spawned"]);
    await end(store, held, "cancelled");
    assert.deepEqual(await listed(store, { isLive: true }), ["kept", "other", "nobody's"]);
    for (const { record } of await store.jobs.list({ max: 9 })) await stored(store, record.id.slice(4));
  }),
  law("a turn that is reopened, or whose commit is refused, cancels no job", async (store) => {
    const lease = await firstTurn(store);
    await spawn(store, "work", { parent: { turnId: lease.turnId }, onParentEnd: "cancel" });
    await store.cancel(lease.turnId, { requestId: "r1", reason: "Enough.", at: NOW });
    assert.equal((await store.commit(lease, ended(lease))).kind, "reopen");
    assert.deepEqual(await kindsOf(store), ["spawned"]);
    await store.open(alice, ben, LAPSED, opening);
    await refused("lease.lost", () => store.commit(lease, ended(lease, { cancel: "r1" })));
    assert.deepEqual(await kindsOf(store), ["spawned"]);
  }),
  law("a commit that is sent again cancels nothing again", async (store) => {
    const lease = await firstTurn(store);
    await working(store, "work", { parent: { turnId: lease.turnId }, onParentEnd: "cancel" });
    await committed(store.commit(lease, ended(lease)));
    await committed(store.commit(lease, ended(lease)));
    assert.deepEqual(await kindsOf(store), ["spawned", "started", "cancelling"]);
  }),
  law(
    "a turn beside the path ends its jobs too, and those that begin with it, and those of other sessions",
    async (store) => {
      await store.create(newSession());
      await turn(store, "one");
      await turn(store, "two");
      const lease = await begin(store, "three");
      const child = { parent: { turnId: lease.turnId }, onParentEnd: "cancel" } as const;
      await spawn(store, "here", child);
      await spawn(store, "there", { ...child, sessionId: bob });
      const { branch } = await commit(store, lease, { base: node("one", 0), spawns: [spawnOf("new", child)] });
      assert.ok(branch !== undefined);
      for (const name of ["here", "there", "new"]) assert.equal(await stateOf(store, name), "cancelled");
    },
  ),
  law("when a job ends, its children that end with it are cancelled, at any depth", async (store) => {
    const lease = await working(store, "root");
    const parent = { jobId: jobId("root") };
    await working(store, "held", { parent, onParentEnd: "cancel" });
    await spawn(store, "free", { parent, onParentEnd: "cancel" });
    await spawn(store, "kept", { parent });
    await spawn(store, "grandchild", { parent: { jobId: jobId("free") }, onParentEnd: "cancel" });
    await spawn(store, "later", { parent: { jobId: jobId("held") }, onParentEnd: "cancel" });
    await end(store, lease);
    assert.deepEqual(await kindsOf(store, "held"), ["spawned", "started", "cancelling"]);
    for (const name of ["free", "grandchild"])
      assert.deepEqual([await stateOf(store, name), (await keysOf(store, name)).at(1)], ["cancelled", "cancel"]);
    assert.deepEqual(await listed(store, { isLive: true }), ["held", "kept", "later"]);
  }),
  law("the children of a job end with it however it ends: cancelled, abandoned, external", async (store) => {
    await spawn(store, "free");
    await bound(store, "bound");
    await spawn(store, "outside", { recovery: "external", kind: "external" });
    for (const name of ["free", "bound", "outside"])
      await spawn(store, `of ${name}`, { parent: { jobId: jobId(name) }, onParentEnd: "cancel", operation: "x.y" });
    await sendTo(store, "free", cancelling());
    await sendTo(store, "outside", over());
    assert.deepEqual(await listed(store, { isLive: true }), ["bound", "of bound"]);
    const orphan = await take(store, ben, LAPSED, []);
    await write(store, orphan.lease, [over("abandoned")]);
    assert.deepEqual(await listed(store, { isLive: true }), []);
    for (const { record } of await store.jobs.list({ max: 9 })) await stored(store, record.id.slice(4));
  }),
  law("a job whose end is refused cancels no child", async (store) => {
    const lease = await working(store, "root");
    await spawn(store, "child", { parent: { jobId: jobId("root") }, onParentEnd: "cancel", operation: "x.y" });
    await take(store, ben, LAPSED);
    await refused("lease.lost", () => end(store, lease));
    assert.deepEqual(await kindsOf(store, "child"), ["spawned"]);
  }),
];
