// Triggers for apps: the triggers of all sessions, and the service of one session.
import {
  type EmitOptions,
  type OccurrencesFilter,
  type Trigger,
  type TriggerDeclaration,
  type Triggers,
  triggerName,
} from "../../kernel/trigger.ts";
import { frozen, type Json } from "../../model/json.ts";
import type { Occurrence, Subscription } from "../../model/trigger.ts";
import { APP } from "../../tools/catalog.ts";
import { requireOptions } from "../checks.ts";
import type { Core } from "../core.ts";
import { placeFor } from "../services/session-service.ts";
import { emit, occurrencesOf } from "./service.ts";
import { webhook } from "./webhook.ts";
import type { WebhookOptions } from "./webhook-options.ts";

export interface AppTriggers {
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

export function appTriggers(open: () => Core): AppTriggers {
  return {
    of: (session) => open().background.triggers.at(placeFor({ core: open(), plugin: APP }, session)),
    declared: () => open().background.declared(),
    list: async () => frozen(await open().store.triggers.list({ max: Infinity })),
    emit: async (event, payload, options = {}) => {
      const core = open();
      requireOptions("triggers.emit", options, { key: true, source: true });
      return emit(core, core.background.declared(), triggerName(event), payload, options);
    },
    occurrences: async (filter = {}) => {
      requireOptions("triggers.occurrences", filter, { event: true, before: true, max: true });
      return occurrencesOf(open(), filter);
    },
    webhook: (options) => webhook(open, options),
  };
}
