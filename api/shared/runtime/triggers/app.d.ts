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
  /** Records an event, as `Triggers.emit`. */
  emit<P = Json>(event: string | Trigger<P>, payload: NoInfer<P>, options?: EmitOptions): Promise<Occurrence>;
  /** All occurrences, newest first, with the work that they started. */
  occurrences(filter?: Omit<OccurrencesFilter, "subscription">): Promise<readonly Occurrence[]>;
  /**
   * Makes a handler of web requests. It verifies each request and records the event. It answers 202 when the event is
   * stored, or 200 if an event with the same key is already stored. It never throws.
   */
  webhook<P = Json>(options: WebhookOptions<P>): (request: Request) => Promise<Response>;
}
export { AppTriggers };
