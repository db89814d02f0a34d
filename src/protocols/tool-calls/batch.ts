import type { Tool } from "../../kernel/tool.ts";
import { asCallId } from "../../model/ids.ts";
import { isObject, type Json, type JsonObject } from "../../model/json.ts";
import { type TextPart, type ToolCallPart, type ToolResultPart, text } from "../../model/message.ts";
import { BATCH_TOOL, statusOf } from "../../model/tool.ts";
import type { PlacedResult } from "../../turn/driver.ts";
import type { PlacedCall } from "../../turn/effect.ts";
import { CALLS_MAX, TEXTS } from "./texts.ts";

interface Batched {
  readonly tool: string;
  readonly input: JsonObject;
}

/** Returns what is wrong with the arguments of a batch; undefined if its calls can be made. */
function problemOf(input: Json): string | undefined {
  const calls = isObject(input) ? input.calls : undefined;
  if (!Array.isArray(calls) || calls.length === 0) return TEXTS.noCalls;
  if (calls.length > CALLS_MAX) return TEXTS.tooManyCalls;
  for (const [index, call] of calls.entries()) {
    if (!isObject(call) || typeof call.tool !== "string") return TEXTS.noTool(index);
    if (!isObject(call.input)) return TEXTS.noInput(index);
    if (call.tool === BATCH_TOOL) return TEXTS.nested(index);
  }
  return undefined;
}

/**
 * Returns the calls of a batch, each with its position. Undefined if the part is not a batch or its arguments are
 * wrong.
 */
export function expanded(part: ToolCallPart, index: number): readonly PlacedCall[] | undefined {
  if (part.name !== BATCH_TOOL || part.malformed !== undefined || problemOf(part.input) !== undefined) return undefined;
  const { calls } = part.input as unknown as { readonly calls: readonly Batched[] };
  return calls.map(({ tool, input }, place) => ({
    at: `${index}.${place}`,
    call: { id: asCallId(`${part.callId}.${place}`), parentId: part.callId, name: tool, input },
  }));
}

/** Returns one result for the batch: the results of its calls, in order, each under a title. */
export function joined(part: ToolCallPart, results: readonly PlacedResult[]): ToolResultPart {
  const shown = results.flatMap(({ call, output, parts }, place) => {
    const title: TextPart = text(`[${place + 1}] ${call.name}: ${statusOf(output)}`);
    return [title, ...parts];
  });
  const isAnyOk = results.some(({ output }) => statusOf(output) === "ok");
  return {
    kind: "toolResult",
    callId: part.callId,
    name: part.name,
    status: isAnyOk ? "ok" : statusOf((results[0] as PlacedResult).output),
    parts: shown,
  };
}

/**
 * Declares the batch to the model and refuses wrong arguments. A correct batch is expanded earlier, so `run` is never
 * called.
 */
export const batchTool: Tool = {
  name: BATCH_TOOL,
  description: TEXTS.batch,
  inputSchema: {
    type: "object",
    properties: {
      calls: {
        type: "array",
        description: TEXTS.calls,
        minItems: 1,
        maxItems: CALLS_MAX,
        items: {
          type: "object",
          properties: {
            tool: { type: "string", description: TEXTS.tool },
            input: { type: "object", description: TEXTS.input },
          },
          required: ["tool", "input"],
          additionalProperties: false,
        },
      },
    },
    required: ["calls"],
    additionalProperties: false,
  },
  policy: {},
  check: (input) => {
    const problem = problemOf(input);
    return problem === undefined ? { ok: true, value: input } : { ok: false, problem };
  },
  run: () => {
    throw new Error("A batch is made of other calls and is none itself.");
  },
};
