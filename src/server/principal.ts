import type { Awaitable } from "../model/awaitable.ts";
import type { Action } from "./routes.ts";

/** The sender of a request, and the sender's rights. */
export interface Principal {
  /** Only sessions of this owner exist for the caller, and new sessions get it. Omitted: all sessions. */
  readonly owner?: string | undefined;
  /** The name of the caller for rate limits, and for the record of answered waits. Default: the owner. */
  readonly name?: string | undefined;
  /** Default: everything. `session` is omitted for lists and for a session that does not exist yet. */
  readonly may?: ((action: Exclude<Action, "public">, session?: string) => Awaitable<boolean>) | undefined;
}
