import type { Store } from "../../../stores/store.ts";
import { amnesiac } from "../../amnesiac.ts";
import type { CrashBackend } from "./backend.ts";
import { sqliteBackend } from "./sqlite.ts";

/**
 * An SQLite file that returns only the first event of a resumed turn, and the host without a memory, which folds the
 * rest event by event.
 */
export const amnesiacBackend: CrashBackend = {
  ...sqliteBackend,
  async open(at) {
    const { store } = await sqliteBackend.open(at);
    return { store: forgetful(store), host: amnesiac() };
  },
};

/** Returns only the first event of a resumed turn, so that all users of the past must fold it. */
function forgetful(store: Store): Store {
  const open: Store["open"] = async (...given) => {
    const answer = await store.open(...given);
    return answer.kind === "resumed" ? { ...answer, journal: answer.journal.slice(0, 1) } : answer;
  };
  return new Proxy(store, {
    get(target, key) {
      if (key === "open") return open;
      const found: unknown = Reflect.get(target, key);
      return typeof found === "function" ? found.bind(target) : found;
    },
  });
}
