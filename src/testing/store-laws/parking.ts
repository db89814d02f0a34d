import assert from "node:assert/strict";
import type { Awaitable } from "../../model/awaitable.ts";
import { asSessionId, asWaitKey, type WaitKey } from "../../model/ids.ts";
import { defined } from "../../model/json.ts";
import type { Lease, Mail, ParkedTurn, Store } from "../../stores/store.ts";
import {
  alice,
  ann,
  ben,
  bob,
  commit,
  committed,
  ended,
  LAPSED,
  NOW,
  newInput,
  newSession,
  newWait,
  opening,
  requireHeld,
  send,
  slept,
  turnId,
} from "../cast.ts";
import { law, refused, type StoreLaw } from "../law.ts";
import {
  answer,
  BOUNDARY,
  CALL,
  change,
  claim,
  deferred,
  drain,
  first,
  late,
  listed,
  NEVER,
  no,
  OTHER,
  open,
  park,
  parked,
  queue,
  resolvedOf,
  resume,
  revoked,
  stop,
  take,
  WAIT,
  waits,
  work,
  yes,
} from "./acts.ts";

/** Returns the cancel and the answers in mail, without the duration of the lease. */
const newsIn = ({ cancel, resolved }: Mail): Partial<Mail> => defined({ cancel, resolved });

/** Parks a turn that waits for one answer. */
async function parks(store: Store, other: Partial<ParkedTurn> = {}): Promise<Lease> {
  const lease = await waits(store);
  await park(store, lease, other);
  return lease;
}

export const parkingLaws: readonly StoreLaw[] = [
  law("D4 a parked turn is nobody's and keeps its session", async (store) => {
    const lease = await parks(store);
    assert.equal((await store.load(alice))?.openTurn, lease.turnId);
    assert.deepEqual(await store.find(lease.turnId), { sessionId: alice, state: "parked" });
    assert.equal((await send(store, "more")).kind, "queued");
    assert.deepEqual(await store.apply(change("op")), { kind: "busy" });
    assert.equal((await store.journal(lease.turnId, 0)).length, 2);
    assert.deepEqual(await listed(store), [WAIT]);
    assert.deepEqual(await work(store), []);
  }),
  law("D4 a parked turn without mail is not taken, by nobody and however late", async (store) => {
    const lease = await parks(store, { wakeAt: LAPSED + 10 });
    const asleep = { kind: "parked", turnId: lease.turnId, wakeAt: LAPSED + 10 };
    for (const by of [ann, ben]) assert.deepEqual(await open(store, by, NOW), asleep);
    assert.deepEqual(await open(store, ben, LAPSED + 9), asleep);
    assert.deepEqual(await work(store, LAPSED + 9), []);
    assert.deepEqual(await resolvedOf(store, await resume(store, LAPSED + 10)), undefined);
  }),
  law("a worker that takes a parked turn has a new lease, and finds the recorded events", async (store) => {
    const lease = await parks(store);
    const answer = await store.open(alice, ben, NOW + 10, opening);
    assert.ok(answer.kind === "resumed");
    assert.deepEqual(answer.journal.slice(1), [deferred()]);
    assert.deepEqual([answer.lease.generation, answer.lease.owner], [lease.generation + 1, ben]);
    requireHeld(answer.lease);
    assert.equal((await open(store, ann, NOW + 10)).kind, "busy");
    requireHeld(await store.append(answer.lease, 2, [slept("a")], NOW + 11));
    assert.equal((await commit(store, answer.lease)).revision, 1);
  }),
  law("any worker can resume a turn that was parked, taken and released", async (store) => {
    await store.release(await parks(store)); // This lease is already lost.
    const lease = await resume(store, NOW + 10);
    await store.release(lease);
    const answer = await open(store, ann, NOW + 10);
    assert.ok(answer.kind === "resumed");
    assert.equal(answer.lease.generation, lease.generation + 1);
  }),
  law("the one who parked a turn writes nothing more to it", async (store) => {
    const lease = await parks(store);
    await refused("lease.lost", () => store.append(lease, 2, [slept("a")], NOW));
    await refused("lease.lost", () => store.append(lease, 1, [deferred()], NOW));
    await refused("lease.lost", () => store.append(lease, 0, [], NOW, [newWait(OTHER)]));
    await refused("lease.lost", () => store.renew(lease, NOW));
    await refused("lease.lost", () => store.inputs.claim(lease, BOUNDARY, 1));
    await refused("lease.lost", () => store.commit(lease, ended(lease)));
    await store.release(lease);
    assert.equal((await open(store, ben, NOW)).kind, "parked");
    assert.equal((await store.journal(lease.turnId, 0)).length, 2);
  }),
  law("the same parking again is answered as before, as long as nobody took the turn", async (store) => {
    const lease = await parks(store);
    await park(store, lease);
    assert.equal((await open(store, ben, NOW)).kind, "parked");
    await answer(store, yes);
    await park(store, lease);
    assert.deepEqual(await work(store), [alice]);
    const next = await resume(store);
    await refused("lease.lost", () => store.park(lease, parked(lease), NOW));
    await park(store, next, { waits: [] });
    await refused("lease.lost", () => store.park(lease, parked(lease), NOW));
    assert.equal((await open(store, ben, NOW)).kind, "parked");
  }),
  law("a turn is parked under its own lease only", async (store) => {
    const lease = await waits(store);
    const other = await first(store, "hi", { to: bob });
    await refused("lease.lost", () => store.park(lease, parked(other), NOW));
    await refused("lease.lost", () => store.park({ ...lease, sessionId: bob }, parked(lease), NOW));
    await refused("lease.lost", () => store.park({ ...lease, turnId: NEVER }, parked({ turnId: NEVER }), NOW));
    const taken = await take(store);
    await refused("lease.lost", () => store.park(lease, parked(lease), LAPSED));
    await commit(store, taken);
    await refused("lease.lost", () => store.park(taken, parked(taken), LAPSED));
  }),
  law("D4 an answer that came first keeps the turn from being parked, and is in the answer", async (store) => {
    const lease = await waits(store);
    await answer(store, yes);
    const came = await store.park(lease, parked(lease), NOW + 3);
    assert.ok(came.kind === "mail");
    requireHeld(came.mail);
    assert.deepEqual(newsIn(came.mail), { resolved: [{ key: WAIT, answer: yes }] });
    assert.equal((await open(store, ben, NOW + 3)).kind, "busy");
    assert.deepEqual(newsIn(came.mail), newsIn(await store.renew(lease, NOW + 3)));
    await store.append(lease, 2, [slept("a")], NOW);
  }),
  law("D4 an answer that comes after wakes the turn", async (store) => {
    for (const given of [yes, late, revoked]) {
      const to = asSessionId(given.kind);
      const key = asWaitKey(given.kind);
      const lease = await waits(store, given.kind, { to }, key);
      await park(store, lease, { waits: [key] });
      assert.deepEqual(await work(store), []);
      assert.equal(await answer(store, given, key), "accepted");
      assert.deepEqual(await work(store), [to]);
      const next = await take(store, ben, NOW, to);
      assert.deepEqual(await work(store), []);
      assert.deepEqual(await resolvedOf(store, next), [{ key, answer: given }]);
    }
  }),
  law("an answer that comes too late for a parked turn wakes nobody", async (store) => {
    await parks(store, { wakeAt: NOW + 50 });
    assert.equal(await answer(store, yes, WAIT, NOW + 10), "expired");
    assert.deepEqual(await work(store, NOW + 10), []);
    assert.equal((await open(store, ben, NOW + 10)).kind, "parked");
  }),
  law("answers that the turn has folded do not keep it from being parked, and do not wake it", async (store) => {
    const lease = await waits(store);
    await store.append(lease, 2, [slept("a")], NOW, [newWait(OTHER)]);
    await answer(store, yes);
    await park(store, lease, { waits: [OTHER] });
    assert.deepEqual(await work(store), []);
    assert.equal((await open(store, ben, NOW)).kind, "parked");
    await answer(store, no, OTHER);
    const next = await resume(store);
    assert.deepEqual(await resolvedOf(store, next), [
      { key: WAIT, answer: yes },
      { key: OTHER, answer: no },
    ]);
    await park(store, next, { waits: [] });
    assert.equal((await open(store, ben, NOW)).kind, "parked");
  }),
  law("an answer to a wait that the turn does not want any more wakes nobody, and is kept", async (store) => {
    const lease = await waits(store);
    await store.append(lease, 2, [slept("a")], NOW, [newWait(OTHER)]);
    await park(store, lease, { waits: [OTHER] });
    assert.equal(await answer(store, yes), "accepted");
    assert.deepEqual(await work(store), []);
    assert.equal((await open(store, ben, NOW)).kind, "parked");
    assert.deepEqual(await resolvedOf(store, await resume(store, NOW + 10)), [{ key: WAIT, answer: yes }]);
  }),
  law("a cancel that came first keeps the turn from being parked, unless it was folded", async (store) => {
    const lease = await waits(store);
    await store.cancel(lease.turnId, stop("r1"));
    const came = await store.park(lease, parked(lease, { cancel: "another" }), NOW);
    assert.ok(came.kind === "mail");
    requireHeld(came.mail);
    assert.deepEqual(newsIn(came.mail), { cancel: stop("r1") });
    await park(store, lease, { cancel: "r1" });
    assert.deepEqual(await work(store), []);
    assert.equal((await open(store, ben, NOW)).kind, "parked");
    assert.equal((await store.cancel(lease.turnId, stop("r2"))).kind, "already-requested");
    assert.deepEqual(await work(store), []);
  }),
  law("a cancel that comes after wakes the turn", async (store) => {
    const lease = await parks(store);
    assert.equal((await store.cancel(lease.turnId, stop("r1"))).kind, "requested");
    assert.deepEqual(await work(store), [alice]);
    const next = await resume(store);
    assert.deepEqual((await store.renew(next, NOW)).cancel, stop("r1"));
    await commit(store, next, { cancel: "r1" });
  }),
  law(
    "a cancel of an input that the parked turn has claimed wakes it, and of one that waits does not",
    async (store) => {
      const lease = await waits(store);
      await queue(store, "aside", { place: "boundary" });
      assert.deepEqual(await claim(store, lease), ["aside"]);
      await queue(store, "next");
      await park(store, lease);
      await store.cancel(turnId("next"), stop("r0"));
      assert.deepEqual(await work(store), []);
      await store.cancel(turnId("aside"), stop("r1"));
      assert.deepEqual(await work(store), [alice]);
    },
  ),
  law("a time that has come already does not keep a turn from being parked: it is work at once", async (store) => {
    await parks(store, { wakeAt: NOW });
    assert.deepEqual(await work(store, NOW - 1), []);
    assert.deepEqual(await work(store), [alice]);
    await resume(store);
  }),
  law("a parked turn is taken for an operation, and can be parked again", async (store) => {
    await parks(store);
    const lease = await resume(store, NOW, true);
    await store.append(lease, 2, [slept("a")], NOW);
    await park(store, lease);
    assert.equal((await open(store, ben, NOW)).kind, "parked");
    assert.equal((await store.open(alice, ann, NOW, opening, true)).kind, "resumed");
    assert.equal((await store.open(alice, ann, NOW, opening, true)).kind, "busy");
    await store.create(newSession(bob));
    assert.deepEqual(await store.open(bob, ann, NOW, opening, true), { kind: "idle" });
  }),
  law("an input behind a parked turn is not work, and runs after the turn", async (store) => {
    await parks(store, { wakeAt: LAPSED + 9 });
    await queue(store, "more");
    assert.deepEqual(await work(store, LAPSED), []);
    await commit(store, await resume(store, LAPSED + 9));
    assert.deepEqual(await drain(store), ["more"]);
  }),
  law("notes and attempts of a parked turn still exist when it resumes", async (store) => {
    const lease = await waits(store);
    await store.note(lease.turnId, CALL, "title", 1);
    await store.attempt(lease.turnId, CALL);
    await park(store, lease);
    const next = await resume(store, NOW + 10);
    assert.equal(await store.note(next.turnId, CALL, "title"), 1);
    assert.equal(await store.attempt(next.turnId, CALL), "again");
  }),
  law("a session is deleted though its turn is parked, and wakes nobody", async (store) => {
    const lease = await parks(store);
    await store.delete(alice);
    assert.equal(await answer(store, yes), "unknown");
    assert.deepEqual(await store.cancel(lease.turnId, stop("r1")), { kind: "unknown" });
    assert.deepEqual((await store.agenda(LAPSED, 10)).sessions, []);
    assert.equal("next" in (await store.agenda(NOW, 10)), false);
    await refused("lease.lost", () => store.park(lease, parked(lease), NOW));
  }),
  law("D4 whatever comes first, park or mail, the second sees it: nothing is left lying", async (store) => {
    const mails: { readonly [name: string]: (lease: Lease, key: WaitKey) => Awaitable<unknown> } = {
      value: (_, key) => store.waits.resolve(key, yes, NOW),
      timeout: (_, key) => store.waits.resolve(key, late, NOW),
      revoked: (_, key) => store.waits.resolve(key, revoked, NOW),
      cancel: ({ turnId }) => store.cancel(turnId, stop("r1")),
    };
    for (const [name, bring] of Object.entries(mails))
      for (const isFirst of [true, false]) {
        const key = asWaitKey(`${name} ${isFirst}`);
        const to = asSessionId(key);
        const lease = await waits(store, key, { to }, key);
        if (isFirst) await bring(lease, key);
        const answer = await store.park(lease, parked(lease, { waits: [key] }), NOW);
        assert.equal(answer.kind, isFirst ? "mail" : "parked", key);
        if (!isFirst) await bring(lease, key);
        assert.deepEqual(await work(store), isFirst ? [] : [to], key);
        const mail = await store.renew(isFirst ? lease : await take(store, ben, NOW, to), NOW);
        assert.ok(mail.cancel !== undefined || mail.resolved?.length === 1, key);
        await store.delete(to);
      }
  }),
  law(
    "a turn that was parked ends like any other, and with it the settings of its session may change",
    async (store) => {
      await parks(store);
      const lease = await resume(store, NOW + 10);
      const config = { model: "another/model", instructions: "Be brief." };
      const first = await commit(store, lease, { says: ["well"], config });
      assert.deepEqual((await store.load(alice))?.config, config);
      assert.equal((await store.load(alice))?.revision, 1);
      assert.deepEqual(await committed(store.commit(lease, ended(lease, { config: { model: "x" } }))), first);
      assert.deepEqual((await store.load(alice))?.config, config);
      let given: unknown;
      await store.accept(
        newInput("more"),
        ann,
        (input, own, standing) => {
          given = own;
          return opening(input, own, standing);
        },
        100,
      );
      assert.deepEqual(given, config);
    },
  ),
];
