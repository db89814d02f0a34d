import type { Store } from "bowline";

/** The same store, with some of its methods replaced. */
export const over = (store: Store, own: Partial<Store>): Store =>
  new Proxy(store, {
    get(target, key) {
      const found: unknown = Reflect.get(Object.hasOwn(own, key) ? own : target, key);
      return typeof found === "function" ? found.bind(target) : found;
    },
  });

/** A store that keeps things, as one process after the other sees it: what a dead one asks is never answered. */
export function lives(store: Store): { next(): Store; kill(): void } {
  let now = 0;
  const never = new Promise<never>(() => {});
  const hour = 3_600_000;
  return {
    kill: () => void now++,
    next() {
      const mine = now;
      const alive = (of: object): object =>
        new Proxy(of, {
          get(target, key) {
            if (key === "isDurable") return true;
            const found: unknown = Reflect.get(target, key);
            if (typeof found === "object" && found !== null) return alive(found);
            if (typeof found !== "function") return found;
            return (...given: readonly unknown[]): unknown => {
              if (mine !== now) return never;
              // Its lease has lapsed, by the clock of the next one.
              const asked = key === "open" && mine > 0 ? given.with(2, (given[2] as number) + hour) : given;
              return found.apply(target, asked);
            };
          },
        });
      return alive(store) as Store;
    },
  };
}
