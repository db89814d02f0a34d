import assert from "node:assert/strict";
import { ann, bob, LAPSED, NOW, newSession, newWait, slept } from "../../cast.ts";
import {
  bound,
  cancelling,
  claimJobs,
  parks,
  sendTo,
  spawn,
  stepped,
  stored,
  TASK,
  take,
  working,
  write,
} from "../../job-cast.ts";
import { law, refused, type StoreLaw } from "../../law.ts";
import { firstTurn, hasJobs, OTHER } from "./acts.ts";

export const agendaLaws: readonly StoreLaw[] = [
  law("the agenda reports claimable jobs only to processes with their task", async (store) => {
    const nothing = { sessions: [], gone: 0 };
    await store.create(newSession());
    assert.deepEqual(await store.agenda(NOW, 10, [TASK]), nothing);
    const { cursor: jobs } = await spawn(store);
    assert.deepEqual(await store.agenda(NOW, 10, [TASK, "more"]), { ...nothing, jobs, hasJobs: true });
    assert.deepEqual(await store.agenda(NOW, 10, ["more"]), { ...nothing, jobs });
    assert.deepEqual(await store.agenda(NOW, 10, []), { ...nothing, jobs });
    assert.deepEqual(await store.agenda(NOW, 10), { ...nothing, jobs });
  }),
  law("the agenda reports no jobs to a process without tasks", async (store) => {
    await spawn(store, "now");
    await spawn(store, "later", { notBefore: NOW + 5 });
    await bound(store, "bound");
    assert.deepEqual(await store.agenda(LAPSED, 10), {
      sessions: [],
      gone: 0,
      jobs: (await stored(store, "bound")).cursor,
    });
  }),
  law(
    "the agenda has the next time of a job, and drops it when the job is claimed, ended or deleted",
    async (store) => {
      const next = async (operations: readonly string[] = [TASK]) => (await store.agenda(NOW, 10, operations)).next;
      await spawn(store, "a", { notBefore: NOW + 7 });
      await spawn(store, "b", { notBefore: NOW + 5 });
      await spawn(store, "c", { notBefore: NOW + 3, operation: "x.y" });
      await spawn(store, "d", { notBefore: NOW + 9, sessionId: bob });
      assert.deepEqual([await next(), await next(["x.y"]), await next([])], [NOW + 5, NOW + 3, undefined]);
      await take(store, ann, NOW + 5);
      assert.equal(await next(), NOW + 7);
      await sendTo(store, "a", cancelling());
      assert.equal(await next(), NOW + 9);
      await store.delete(bob);
      assert.equal(await next(), undefined);
    },
  ),
  law("the next time in the agenda is the earlier of a turn's and a job's", async (store) => {
    const open = await firstTurn(store);
    await store.append(open, 1, [slept("a")], NOW, [newWait(OTHER)]);
    await store.park(open, { turnId: open.turnId, wakeAt: NOW + 6, waits: [OTHER] }, NOW);
    await spawn(store, "work", { notBefore: NOW + 8 });
    assert.equal((await store.agenda(NOW, 1, [TASK])).next, NOW + 6);
    await spawn(store, "sooner", { notBefore: NOW + 4 });
    assert.deepEqual(
      [(await store.agenda(NOW, 1, [TASK])).next, (await store.agenda(NOW, 1)).next],
      [NOW + 4, NOW + 6],
    );
  }),
  law("the agenda agrees with what can be claimed", async (store) => {
    const lease = await working(store, "held");
    await bound(store, "bound");
    await parks(store, await working(store, "parked"), { due: NOW + 5 });
    await spawn(store, "later", { notBefore: NOW + 9 });
    for (const now of [NOW, NOW + 5, NOW + 9, LAPSED]) {
      const isTold = await hasJobs(store, now);
      assert.equal(
        (await claimJobs(store, { id: `at ${now}`, process: "elsewhere" }, now)).length > 0,
        isTold,
        `${now}`,
      );
      assert.equal(await hasJobs(store, now), false);
    }
    await refused("lease.lost", () => write(store, lease, [stepped("a")]));
  }),
];
