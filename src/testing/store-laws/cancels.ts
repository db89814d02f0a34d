import assert from "node:assert/strict";
import { alice, ben, commit, committed, ended, inputId, LAPSED, NOW, slept, stopped, turnId } from "../cast.ts";
import { law, type StoreLaw } from "../law.ts";
import { claim, first, NEVER, open, queue, stop, take, withdraw } from "./acts.ts";

export const cancelLaws: readonly StoreLaw[] = [
  law("a cancel reaches the running turn by its mail", async (store) => {
    const lease = await first(store);
    const request = stop("r1");
    assert.deepEqual(await store.cancel(lease.turnId, request), { kind: "requested", request });
    assert.deepEqual((await store.renew(lease, NOW)).cancel, request);
    await store.append(lease, 1, [slept("a")], NOW);
    assert.deepEqual((await store.renew(lease, NOW)).cancel, request);
  }),
  law("a turn without a cancel has none in its mail", async (store) => {
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
  law("a reopened turn continues and commits with the folded cancel", async (store) => {
    const lease = await first(store);
    await store.cancel(lease.turnId, stop("r1"));
    await store.commit(lease, ended(lease));
    await store.append(lease, 1, [{ kind: "cancelled", at: NOW, requestId: "r1", reason: "Enough." }], NOW);
    const done = await committed(store.commit(lease, ended(lease, { cancel: "r1" })));
    assert.equal(done.revision, 1);
  }),
  law("a cancel after the commit returns the outcome", async (store) => {
    const lease = await first(store);
    await commit(store, lease, { outcome: stopped("bye") });
    const late = await store.cancel(lease.turnId, stop("r1"));
    assert.deepEqual(late, { kind: "already-completed", outcome: stopped("bye") });
  }),
  law("a cancel before the commit returns the outcome after it", async (store) => {
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
