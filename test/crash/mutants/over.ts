import type { Store } from "bowline";

/** The same store, with some of its methods replaced. */
export const over = (store: Store, own: Partial<Store>): Store => replaced(store, own);

/** The same store, with some of its methods about jobs replaced. */
export const overJobs = (store: Store, own: Partial<Store["jobs"]>): Store =>
  over(store, { jobs: replaced(store.jobs, own) });

const replaced = <T extends object>(of: T, own: Partial<T>): T =>
  new Proxy(of, {
    get(target, key) {
      const found: unknown = Reflect.get(Object.hasOwn(own, key) ? own : target, key);
      return typeof found === "function" ? found.bind(target) : found;
    },
  });
