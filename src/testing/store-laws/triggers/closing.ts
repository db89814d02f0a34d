import { alice, NOW } from "../../cast.ts";
import { law, refused, type StoreLaw } from "../../law.ts";
import { due, listed, moved, occur, occurrences, subscribe } from "../../trigger-cast.ts";

export const closingLaws: readonly StoreLaw[] = [
  law("a closed store refuses every call about triggers", async (store) => {
    const watch = await subscribe(store);
    await store.close();
    for (const call of [
      () => store.triggers.put(watch, 1, 9),
      () => store.triggers.load(alice, "watch"),
      () => listed(store),
      () => due(store, NOW),
      () => store.triggers.remove(alice, "watch"),
      () => store.triggers.move(moved(watch, {})),
      () => occur(store),
      () => occurrences(store),
    ])
      await refused("runtime.closed", call);
  }),
];
