import { Provider } from "../../providers/provider.js";
import { Reply } from "../../../providers/scripted.js";
/**
 * A model that finds its place by the conversation: it gives the first reply where there is none yet, the second where
 * there is one, and so on. So it goes on after a restart, which `scripted` does not.
 */
declare const recited: (...replies: readonly Reply[]) => Provider;
export { recited };
