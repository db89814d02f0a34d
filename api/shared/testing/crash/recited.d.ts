import { Provider } from "../../providers/provider.js";
import { Reply } from "../../../providers/scripted.js";
/**
 * A model that knows its place by the conversation: it gives the first reply where nobody has replied yet, the second
 * where one reply is there, and so on. So it goes on after a restart, which `scripted` does not.
 */
declare const recited: (...replies: readonly Reply[]) => Provider;
export { recited };
