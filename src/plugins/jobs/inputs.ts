import { type Json, type JsonSchema, jsonSchema } from "../../plugin.ts";
import { type Settings, WAKES, type Wake } from "./options.ts";
import { TEXTS } from "./texts.ts";

const object = (properties: { readonly [name: string]: JsonSchema }, required: readonly string[]): JsonSchema => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

const ID = { type: "string", maxLength: 256, description: TEXTS.id };
const TEXT = { type: "string" };

export const LIST_INPUT = jsonSchema<object>(object({}, []));

export const STOP_INPUT = jsonSchema<{ readonly id: string; readonly reason?: string }>(
  object({ id: ID, reason: { type: "string", maxLength: 500, description: TEXTS.reason } }, ["id"]),
);

export interface WaitInput {
  readonly ids: readonly string[];
  readonly need?: "all" | "any";
  readonly timeoutMs?: number;
}
export const waitInput = ({ timeoutMs }: Settings) =>
  jsonSchema<WaitInput>(
    object(
      {
        ids: { type: "array", items: ID, minItems: 1, maxItems: 100, description: TEXTS.ids },
        need: { type: "string", enum: ["all", "any"], description: TEXTS.need },
        timeoutMs: { type: "integer", minimum: 0, description: TEXTS.timeout(timeoutMs) },
      },
      ["ids"],
    ),
  );

export interface StartInput {
  readonly task: string;
  readonly input?: { readonly [field: string]: Json };
  readonly label?: string;
  readonly wake?: Wake;
}
export const startInput = ({ tasks, wake }: Settings) =>
  jsonSchema<StartInput>(
    object(
      {
        task: { type: "string", enum: [...tasks.keys()], description: TEXTS.taskName },
        input: { type: "object", description: TEXTS.input },
        label: { type: "string", maxLength: 200, description: TEXTS.label },
        wake: { type: "string", enum: WAKES, description: TEXTS.wake(wake) },
      },
      ["task"],
    ),
  );
export interface Started {
  readonly id: string;
  readonly label: string;
  readonly note: string;
}
export const STARTED = jsonSchema<Started>(object({ id: TEXT, label: TEXT, note: TEXT }, ["id", "label", "note"]));

export interface SignalInput {
  readonly id: string;
  readonly name: string;
  readonly payload?: Json;
}
export const SIGNAL_INPUT = jsonSchema<SignalInput>(
  object(
    {
      id: ID,
      name: { type: "string", maxLength: 64, description: TEXTS.signalName },
      payload: { description: TEXTS.payload },
    },
    ["id", "name"],
  ),
);
export interface Sent {
  readonly id: string;
  readonly sent: string;
}
export const SENT = jsonSchema<Sent>(object({ id: TEXT, sent: TEXT }, ["id", "sent"]));
