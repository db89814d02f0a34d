import { alice, ann, bob, NOW } from "../../cast.ts";
import { listed, sendTo, signal, stepped, working, write } from "../../job-cast.ts";
import { law, refused, type StoreLaw } from "../../law.ts";
import { spawnOf } from "./acts.ts";

export const closingLaws: readonly StoreLaw[] = [
  law("a store that is closed keeps no jobs any more", async (store) => {
    const lease = await working(store);
    await store.close();
    for (const call of [
      () => store.jobs.spawn(spawnOf("more"), 9),
      () => store.jobs.claim(ann, NOW, 1, []),
      () => store.jobs.renew(ann, NOW),
      () => store.jobs.leave(ann),
      () => write(store, lease, [stepped("a")]),
      () => sendTo(store, "work", signal("s1")),
      () => store.jobs.load(lease.jobId),
      () => store.jobs.events(lease.jobId, 0),
      () => listed(store),
      () => store.jobs.count(alice),
      () => store.jobs.transfer(alice, bob, [], NOW),
      () => store.jobs.remove(lease.jobId),
      () => store.jobs.changes(undefined, { max: 1 }),
      () => store.jobs.lines(lease.jobId),
      () => store.jobs.take(lease.jobId, "k"),
    ])
      await refused("runtime.closed", call);
  }),
];
