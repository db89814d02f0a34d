import { Provider } from "../../providers/provider.js";
import { Reply } from "../../../providers/scripted.js";
/**
 * A model that finds its place in the conversation: its first reply if there is none yet, its second after one, and so
 * on. So it continues after a restart, which `scripted` does not.
 */
declare const recited: (...replies: readonly Reply[]) => Provider;
export { recited };
