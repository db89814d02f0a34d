import { type DescribedSchema, described, type JsonSchema, jsonSchema } from "../../index.ts";
import type { Settings } from "./options.ts";

const AGENT = { type: "string", maxLength: 256, description: "As spawn_agent named it." };
const BACKGROUND = {
  type: "boolean",
  description: "Come back at once, and ask for the result later with wait_agents. Else the call waits for it.",
};

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
/** The model is shown an enum of capabilities, but any text passes: the tool refuses it in words of its own. */
export function spawnInput({ capabilities }: Settings): DescribedSchema<SpawnInput, SpawnInput> {
  const names = [...capabilities.keys()];
  const capability = { type: "string", description: "Which kind of agent." };
  const document = (of: JsonSchema, required: readonly string[]): JsonSchema =>
    object(
      {
        task: { type: "string", description: "What to do, and all that the agent must know for it." },
        capability: of,
        output: { type: "object", description: "JSON Schema of the result, if it must be of a certain shape." },
        seed: {
          type: ["string", "array"],
          items: { type: "string" },
          description: "Texts that its conversation begins with.",
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
  object({ agent: AGENT, message: { type: "string" }, background: BACKGROUND }, ["agent", "message"]),
);

export interface WaitInput {
  readonly agents: readonly string[];
  readonly until?: "all" | "any";
  readonly timeoutMs?: number;
}
export const WAIT_INPUT = jsonSchema<WaitInput>(
  object(
    {
      agents: { type: "array", items: AGENT, minItems: 1, maxItems: 100 },
      until: { type: "string", enum: ["all", "any"], description: "Wait for all of them unless given." },
      timeoutMs: { type: "integer", minimum: 0, description: "How long to wait at most; 0 only looks." },
    },
    ["agents"],
  ),
);

export const CLOSE_INPUT = jsonSchema<{ readonly agent: string }>(object({ agent: AGENT }, ["agent"]));
export const LIST_INPUT = jsonSchema<object>(object({}, []));
export const ERROR_INPUT = jsonSchema<{ readonly reason: string }>(
  object({ reason: { type: "string", minLength: 1, maxLength: 4_000 } }, ["reason"]),
);
