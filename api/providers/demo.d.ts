import { Provider } from "../shared/providers/provider.js";
/**
 * A small rule-based program instead of a language model, so that a first run needs no key and no network. It
 * understands a few phrases, and uses these tools if they are offered: calculator { expression }, clock { timeZone? },
 * wait { seconds }, notes_add { text }, notes_list {}, notes_remove { number }. In code mode it writes a cell that
 * calls them. Equal requests get equal replies. `delayMs` is the pause before each part.
 */
declare function demo(options?: {
  readonly delayMs?: number | undefined;
}): Provider;
export { demo };
