import { Store } from "../shared/stores/store.js";
/** Keeps turns as long as the process lives. Every answer is given at once, without a promise. */
declare const memory: () => Store;
export { memory };
