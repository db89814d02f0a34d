// Triggers as an app uses them: those of all sessions, and the service of one.
import {
  type EmitOptions,
  type OccurrencesFilter,
  type Trigger,
  type TriggerDeclaration,
  type Triggers,
  triggerName,
} from "../../kernel/trigger.ts";
import { RuntimeError } from "../../model/errors.ts";
import { asSessionId } from "../../model/ids.ts";
import { frozen, type Json } from "../../model/json.ts";
import type { Occurrence, Subscription } from "../../model/trigger.ts";
import { APP } from "../../tools/catalog.ts";
import { requireOptions } from "../checks.ts";
import type { Core } from "../core.ts";
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

export function appTriggers(open: () => Core): AppTriggers {
  return {
    of: (session) => {
      if (typeof session !== "string") throw new RuntimeError("session.unknown", { id: typeof session });
      return open().background.triggers.at({ core: open(), sessionId: asSessionId(session), plugin: APP });
    },
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
