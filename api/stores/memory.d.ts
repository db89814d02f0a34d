import { Store } from "../shared/stores/store.js";
/** Stores turns in memory, for as long as the process lives. Every call returns synchronously. */
declare const memory: () => Store;
export { memory };
