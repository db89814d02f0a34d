import { type Place, places } from "bowline/testing";

/** Opens the store itself to look at it, and tidies up: the next process does not find what the dead one left. */
export default {
  ...places.sqlite,
  look: (at, read) =>
    places.sqlite.look(
      at,
      async (store) => {
        const found = await read(store);
        for (const { id } of await store.list()) await store.delete(id);
        return found;
      },
      "shared",
    ),
} satisfies Place;
