import { Json } from "../../model/json.js";
import { Permissions } from "../../kernel/session-requests.js";
import { SessionView } from "../../model/view.js";
/** A session in the form of `session.read()`, with the data with which it was created. */
interface SessionDetails extends SessionView {
  /** The options that the protocol stores in the session, if any. */
  readonly protocolOptions?: Json;
  /** Omitted if there are no restrictions. */
  readonly permissions?: Permissions;
}
export { SessionDetails };
