import type { Store } from "bowline";

/** The same store, with some of its methods replaced. */
export const over = (store: Store, own: Partial<Store>): Store =>
  new Proxy(store, {
    get(target, key) {
      const found: unknown = Reflect.get(Object.hasOwn(own, key) ? own : target, key);
      return typeof found === "function" ? found.bind(target) : found;
    },
  });
