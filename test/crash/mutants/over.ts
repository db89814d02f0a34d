import type { Json, Store } from "bowline";
import type { CodeExecutor } from "bowline/protocol";

/** The same store, with some of its methods replaced. */
export const over = (store: Store, own: Partial<Store>): Store => replaced(store, own);

/** The same store, with some of its methods about jobs replaced. */
export const overJobs = (store: Store, own: Partial<Store["jobs"]>): Store =>
  over(store, { jobs: replaced(store.jobs, own) });

/** The same store, with some of its methods about triggers replaced. */
export const overTriggers = (store: Store, own: Partial<Store["triggers"]>): Store =>
  over(store, { triggers: replaced(store.triggers, own) });

/** The same executor of code, with some of its functions replaced. */
export const overExecutor = (executor: CodeExecutor<Json>, own: Partial<CodeExecutor<Json>>): CodeExecutor<Json> =>
  replaced(executor, own);

/** Long enough for whoever awaits an answer to be killed with it, and too short for anybody to miss what comes then. */
export async function moment(): Promise<void> {
  for (let n = 0; n < 10; n++) await undefined;
}

const replaced = <T extends object>(of: T, own: Partial<T>): T =>
  new Proxy(of, {
    get(target, key) {
      const found: unknown = Reflect.get(Object.hasOwn(own, key) ? own : target, key);
      return typeof found === "function" ? found.bind(target) : found;
    },
  });
