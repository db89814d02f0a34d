import { type DescribedSchema, described, type JsonSchema, jsonSchema } from "../../plugin.ts";
import type { Settings } from "./options.ts";
import { REASON_CHARS_MAX, TEXTS } from "./texts.ts";

const AGENT = { type: "string", maxLength: 256, description: TEXTS.agent };
const BACKGROUND = { type: "boolean", description: TEXTS.background };

const object = (properties: { readonly [name: string]: JsonSchema }, required: readonly string[]): JsonSchema => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

export interface SpawnInput {
  readonly task: string;
  readonly capability?: string;
  readonly output?: JsonSchema;
  readonly seed?: string | readonly string[];
  readonly background?: boolean;
}
/**
 * The model sees an enum of capabilities. The check accepts any text, because the tool has a better message for a wrong
 * one.
 */
export function spawnInput({ capabilities }: Settings): DescribedSchema<SpawnInput, SpawnInput> {
  const names = [...capabilities.keys()];
  const capability = { type: "string", description: TEXTS.capability };
  const document = (of: JsonSchema, required: readonly string[]): JsonSchema =>
    object(
      {
        task: { type: "string", description: TEXTS.task },
        capability: of,
        output: { type: "object", description: TEXTS.output },
        seed: {
          type: ["string", "array"],
          items: { type: "string" },
          description: TEXTS.seed,
        },
        background: BACKGROUND,
      },
      required,
    );
  return described(
    jsonSchema<SpawnInput>(document(capability, ["task"])),
    document({ ...capability, enum: names }, names.length === 1 ? ["task"] : ["task", "capability"]),
  );
}

export interface MessageInput {
  readonly agent: string;
  readonly message: string;
  readonly background?: boolean;
}
export const MESSAGE_INPUT = jsonSchema<MessageInput>(
  object({ agent: AGENT, message: { type: "string", description: TEXTS.words }, background: BACKGROUND }, [
    "agent",
    "message",
  ]),
);

export interface WaitInput {
  readonly agents: readonly string[];
  readonly until?: "all" | "any";
  readonly timeoutMs?: number;
}
export const waitInput = ({ timeoutMs }: Settings) =>
  jsonSchema<WaitInput>(
    object(
      {
        agents: { type: "array", items: AGENT, minItems: 1, maxItems: 100, description: TEXTS.agents },
        until: { type: "string", enum: ["all", "any"], description: TEXTS.until },
        timeoutMs: { type: "integer", minimum: 0, description: TEXTS.timeout(timeoutMs) },
      },
      ["agents"],
    ),
  );

export const CLOSE_INPUT = jsonSchema<{ readonly agent: string }>(object({ agent: AGENT }, ["agent"]));
export const LIST_INPUT = jsonSchema<object>(object({}, []));
export const ERROR_INPUT = jsonSchema<{ readonly reason: string }>(
  object({ reason: { type: "string", minLength: 1, maxLength: REASON_CHARS_MAX, description: TEXTS.reason } }, [
    "reason",
  ]),
);
