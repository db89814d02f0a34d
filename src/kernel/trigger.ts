import type { JsonSchema } from "../model/schema.ts";

/** An event that triggers can be subscribed to. */
export interface TriggerDeclaration {
  /** `resource.event`, such as `mail.received`. */
  readonly name: string;
  readonly description?: string | undefined;
  /** The JSON Schema of the event's payload. */
  readonly payload?: JsonSchema | undefined;
}
