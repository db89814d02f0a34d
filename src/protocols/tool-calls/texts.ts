// All texts of the protocol to a model, except the documentation of tools.
import { OUTPUT_TOOL } from "../../model/tool.ts";

export const CALLS_MAX = 25;

export const TEXTS = {
  output:
    "Submits the final result of your work and ends it. Call it exactly once, when the work is done and the result is " +
    "complete. The arguments are the result and must fit this tool's schema. Do not write the result as text: text is not read.",
  outputMissing: `You answered in text, which is not read. Submit the result by calling ${OUTPUT_TOOL}.`,

  batch:
    `Makes up to ${CALLS_MAX} tool calls in one step, and returns all their results in order. Use it when you ` +
    "need several results that do not depend on each other. If a call needs the result of another one, make that one " +
    "first. Each result has a heading with its number, its tool and its status; one that fails does not stop the others.",
  calls: `1 to ${CALLS_MAX} calls. A batch cannot contain another batch.`,
  tool: "The name of the tool to call.",
  input: "The arguments of that tool, as an object that fits the tool's schema.",

  // Each is the `problem` of the error `tool.arguments`, whose text adds what to do next.
  noCalls: "/calls must be a list with at least one call",
  tooManyCalls: `/calls must have at most ${CALLS_MAX} calls`,
  noTool: (index: number) => `/calls/${index} must have the name of a tool in \`tool\``,
  noInput: (index: number) => `/calls/${index}/input must be an object`,
  nested: (index: number) => `/calls/${index} must not be a batch`,
};
