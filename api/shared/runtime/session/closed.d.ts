import { Json } from "../../model/json.js";
import { Permissions } from "../../kernel/session-requests.js";
import { SessionView } from "../../model/view.js";
/** A session as `session.read()` shows it, with what it was created with. */
interface SessionDetails extends SessionView {
  /** What the protocol records for the session, if it records something. */
  readonly protocolOptions?: Json;
  /** Omitted if there are no restrictions. */
  readonly permissions?: Permissions;
}
export { SessionDetails };
