import type { Tool } from "../../kernel/tool.ts";
import { asCallId } from "../../model/ids.ts";
import { isObject, type Json, type JsonObject } from "../../model/json.ts";
import { type TextPart, type ToolCallPart, type ToolResultPart, text } from "../../model/message.ts";
import { BATCH_TOOL, statusOf } from "../../model/tool.ts";
import type { PlacedResult } from "../../turn/driver.ts";
import type { PlacedCall } from "../../turn/effect.ts";

const CALLS_MAX = 25;

interface Batched {
  readonly tool: string;
  readonly input: JsonObject;
}

/** What is wrong with the arguments of a batch; undefined when its calls can be made. */
function problemOf(input: Json): string | undefined {
  const calls = isObject(input) ? input.calls : undefined;
  if (!Array.isArray(calls) || calls.length === 0) return "/calls must be a list with at least one call";
  if (calls.length > CALLS_MAX) return `/calls must have at most ${CALLS_MAX} calls`;
  for (const [index, call] of calls.entries()) {
    if (!isObject(call) || typeof call.tool !== "string") return `/calls/${index} must have a tool's name`;
    if (!isObject(call.input)) return `/calls/${index}/input must be an object`;
    if (call.tool === BATCH_TOOL) return `/calls/${index} must not be a batch`;
  }
  return undefined;
}

/** The calls in a batch, each with its position. Undefined when the part is no batch, or its arguments are wrong. */
export function expanded(part: ToolCallPart, index: number): readonly PlacedCall[] | undefined {
  if (part.name !== BATCH_TOOL || part.malformed !== undefined || problemOf(part.input) !== undefined) return undefined;
  const { calls } = part.input as unknown as { readonly calls: readonly Batched[] };
  return calls.map(({ tool, input }, place) => ({
    at: `${index}.${place}`,
    call: { id: asCallId(`${part.callId}.${place}`), parentId: part.callId, name: tool, input },
  }));
}

/** One result for the batch: the results of its calls, in order, each under a title. */
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
 * Declares the batch to the model, and refuses wrong arguments. A right batch is expanded before, so `run` is never
 * reached.
 */
export const batchTool: Tool = {
  name: BATCH_TOOL,
  description: `Makes up to ${CALLS_MAX} tool calls at once and gives all their results, in order. The calls must not depend on each other.`,
  inputSchema: {
    type: "object",
    properties: {
      calls: {
        type: "array",
        minItems: 1,
        maxItems: CALLS_MAX,
        items: {
          type: "object",
          properties: { tool: { type: "string" }, input: { type: "object" } },
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
