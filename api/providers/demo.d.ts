import { Provider } from "../shared/providers/provider.js";
/**
 * An offline stand-in for a language model, so that the first run needs no key. It knows a few phrasings and these
 * tools, if they are offered: calculator { expression }, clock { timeZone? }, notes_add { text }, notes_list {},
 * notes_remove { number }. All it says follows from the request. `delayMs` is waited before each part.
 */
declare function demo({ delayMs }?: {
  readonly delayMs?: number;
}): Provider;
export { demo };
