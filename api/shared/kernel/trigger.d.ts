import { JsonSchema } from "../model/schema.js";
/** An event that triggers can be subscribed to. */
interface TriggerDeclaration {
  /** `resource.event`, such as `mail.received`. */
  readonly name: string;
  readonly description?: string | undefined;
  /** The JSON Schema of the event's payload. */
  readonly payload?: JsonSchema | undefined;
}
export { TriggerDeclaration };
