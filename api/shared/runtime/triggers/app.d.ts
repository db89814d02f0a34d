import { EmitOptions, OccurrencesFilter, Trigger, TriggerDeclaration, Triggers } from "../../kernel/trigger.js";
import { Json } from "../../model/json.js";
import { Occurrence, Subscription } from "../../model/trigger.js";
import { WebhookOptions } from "./webhook-options.js";
interface AppTriggers {
  /** The triggers of one session, without opening it. */
  of(session: string): Triggers;
  /** The events that the plugins declare. */
  declared(): readonly TriggerDeclaration[];
  /** The subscriptions of all sessions, by session and id. */
  list(): Promise<readonly Subscription[]>;
  /** As `Triggers.emit`: says that an event has happened. */
  emit<P = Json>(event: string | Trigger<P>, payload: NoInfer<P>, options?: EmitOptions): Promise<Occurrence>;
  /** What has happened, newest first, and what it started. */
  occurrences(filter?: Omit<OccurrencesFilter, "subscription">): Promise<readonly Occurrence[]>;
  /**
   * Makes a handler of web requests that verifies each and says that the event has happened. It answers when that is kept,
   * with 202, or with 200 when it was known by its key; it never throws.
   */
  webhook<P = Json>(options: WebhookOptions<P>): (request: Request) => Promise<Response>;
}
export { AppTriggers };
