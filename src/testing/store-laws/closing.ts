import { nodeId } from "../../model/ids.ts";
import { waitIdOf } from "../../model/wait.ts";
import { alice, bob, ended, inputId, NOW, newSession, send, slept } from "../cast.ts";
import { law, refused, type StoreLaw } from "../law.ts";
import { BOUNDARY, CALL, change, first, HASH, hello, open, parked, stop, WAIT, yes } from "./acts.ts";

export const closingLaws: readonly StoreLaw[] = [
  law("a closed store answers nothing more", async (store) => {
    const lease = await first(store);
    await store.close();
    for (const call of [
      () => store.create(newSession(bob)),
      () => store.load(alice),
      () => store.has(alice),
      () => store.list(),
      () => store.fork(alice, newSession(bob)),
      () => store.setOptions(alice, {}),
      () => store.delete(alice),
      () => store.view(alice),
      () => store.holds(alice, nodeId("op", 0)),
      () => send(store, "more"),
      () => open(store),
      () => store.renew(lease, NOW),
      () => store.release(lease),
      () => store.append(lease, 1, [slept("a")], NOW),
      () => store.park(lease, parked(lease), NOW),
      () => store.journal(lease.turnId, 0),
      () => store.commit(lease, ended(lease)),
      () => store.apply(change("op")),
      () => store.operations.find(alice, "op"),
      () => store.operations.note(alice, "op", "k", 1),
      () => store.cancel(lease.turnId, stop("r1")),
      () => store.find(lease.turnId),
      () => store.terminal(lease.turnId),
      () => store.turns.list({ max: 1 }),
      () => store.turns.get(lease.turnId),
      () => store.turns.journal(lease.turnId),
      () => store.turns.forget([lease.turnId]),
      () => store.inputs.list(alice),
      () => store.inputs.holds(alice, "k"),
      () => store.inputs.withdraw(alice, { id: inputId("hello") }),
      () => store.inputs.claim(lease, BOUNDARY, 1),
      () => store.waits.resolve(WAIT, yes, NOW),
      () => store.waits.list({ max: 1 }),
      () => store.waits.get(waitIdOf(WAIT)),
      () => store.note(lease.turnId, CALL, "title", 1),
      () => store.attempt(lease.turnId, CALL),
      () => store.agenda(NOW, 1),
      () => store.blobs.put(HASH, hello()),
      () => store.blobs.get(HASH),
      () => store.changes(undefined, { max: 1 }),
      () => store.latest(),
      () => store.booked(alice),
    ]) {
      await refused("runtime.closed", call);
    }
  }),
  law("closing again is harmless", async (store) => {
    await store.close();
    await store.close();
  }),
];
