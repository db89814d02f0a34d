/** Stores for tests: the cast that tests of any store run on, and stores in which something happens. */
import type { Store } from "bowline";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { ticks } from "./reading.ts";

export { file } from "./files.ts";

// ── The cast ────────────────────────────────────────────────────────────────────────────────────────────────────────

const later = (): Store => slowly(memory());
const inSqlite = (): Store => sqlite(":memory:", { durability: "process" });

type Cast = readonly (readonly [name: string, make: () => Store])[];
/** `describe.each(STORES)("on %s", (_, make) => …)` */
export const STORES: Cast = [
  ["memory", memory],
  ["sqlite", inSqlite],
];
/** `test.each(ANSWERING)("… on a store that answers %s", async (_, store) => …)` */
export const ANSWERING: Cast = [
  ["at once", memory],
  ["later", later],
];
/** `test.each(KEPT)("…, %s", async (_, store) => …)` */
export const KEPT: Cast = [
  ["in memory", memory],
  ["in a store that answers later", later],
  ["in SQLite", inSqlite],
];

// ── Stores in which something happens ───────────────────────────────────────────────────────────────────────────────

type Act = (...given: readonly unknown[]) => unknown;

/** The same store; every call of it (`commit`, `inputs.claim`) is answered by `answer`, which is given the real one. */
function through(store: Store, answer: (name: string, act: Act, given: readonly unknown[]) => unknown): Store {
  const inside = (of: object, path: string): object =>
    new Proxy(of, {
      get(target, key) {
        const found: unknown = Reflect.get(target, key);
        const name = `${path}${String(key)}`;
        if (typeof found === "object" && found !== null) return inside(found, `${name}.`);
        if (typeof found !== "function") return found;
        const act: Act = (...given) => found.apply(target, given);
        return (...given: readonly unknown[]): unknown => answer(name, act, given);
      },
    });
  return inside(store, "") as Store;
}

type Doing = (act: () => unknown, ...given: readonly unknown[]) => unknown;

/** The same store; what is named here (`commit`, `inputs.claim`) is done by the test, which is given the real one. */
export const around = (store: Store, doing: { readonly [method: string]: Doing }): Store =>
  through(store, (name, act, given) => {
    const own = doing[name];
    return own === undefined ? act(...given) : own(() => act(...given), ...given);
  });

/** The same store, with some of its members replaced. */
export const over = (store: Store, own: Partial<Store>): Store =>
  new Proxy(store, {
    get(target, key) {
      const found: unknown = Reflect.get(Object.hasOwn(own, key) ? own : target, key);
      return typeof found === "function" ? found.bind(target) : found;
    },
  });

/** The same store, which says that it keeps things, and stays open whoever closes it. */
export const durable = (store: Store): Store => over(store, { isDurable: true, close: () => {} });

/** The same store, whose answers come later: what the memory store hides by answering at once shows here. */
export const slowly = (store: Store, count = 3): Store =>
  through(store, async (_, act, given) => {
    await ticks(count);
    const answer = await act(...given);
    await ticks(count);
    return answer;
  });

const never = new Promise<never>(() => {});

/** The same store for a process that may be killed: what a dead one asks is never answered. */
export const mortal = (store: Store, isAlive: () => boolean): Store =>
  through(store, (_, act, given) => (isAlive() ? act(...given) : never));

/** A store that keeps things, as one process after the other sees it. */
export function lives(store: Store): { next(): Store; kill(): void } {
  let now = 0;
  return {
    kill: () => void now++,
    next() {
      const mine = now;
      // By the clock of a later one, the lease of the one before has lapsed.
      const late = (now: number): number => (mine > 0 ? now + 60_000 : now);
      const later = over(store, {
        isDurable: true,
        open: (session, owner, at, ...more) => store.open(session, owner, late(at), ...more),
        agenda: (at, max) => store.agenda(late(at), max),
      });
      return mortal(later, () => mine === now);
    },
  };
}
