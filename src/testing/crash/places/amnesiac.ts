import type { Store } from "../../../stores/store.ts";
import { amnesiac } from "../../amnesiac.ts";
import type { Place } from "./place.ts";
import { sqlitePlace } from "./sqlite.ts";

/** A SQLite file that tells nobody of the past at once, and the host without a memory, which folds it event by event. */
export const amnesiacPlace: Place = {
  ...sqlitePlace,
  async open(at) {
    const { store } = await sqlitePlace.open(at);
    return { store: forgetful(store), host: amnesiac() };
  },
};

/** Answers a resumed turn with its first event alone: who wants to know more of the past must fold it. */
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
