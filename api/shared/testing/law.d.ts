import { Awaitable } from "../model/awaitable.js";
import { Store } from "../stores/store.js";
/** One promise that every store makes. `check` gets an empty store and throws if the promise is broken. */
interface StoreLaw {
  readonly law: string;
  check(store: Store): Awaitable<void>;
}
export { StoreLaw };
