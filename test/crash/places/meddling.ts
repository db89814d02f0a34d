import { type CrashBackend, crashBackends } from "bowline/testing";

/** Opens the store itself to look at it, and tidies up: the next process does not find what the dead one left. */
export default {
  ...crashBackends.sqlite,
  look: (at, read) =>
    crashBackends.sqlite.look(
      at,
      async (store) => {
        const found = await read(store);
        for (const { id } of await store.list()) await store.delete(id);
        return found;
      },
      "shared",
    ),
} satisfies CrashBackend;
