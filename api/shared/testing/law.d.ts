import { Awaitable } from "../model/awaitable.js";
import { Store } from "../stores/store.js";
/** One promise that every store makes. `check` is given an empty store and throws when the promise is broken. */
interface StoreLaw {
  readonly law: string;
  check(store: Store): Awaitable<void>;
}
export { StoreLaw };
