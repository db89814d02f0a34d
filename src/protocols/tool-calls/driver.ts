import { describe } from "../../model/errors.ts";
import type { JsonObject } from "../../model/json.ts";
import { callsOf, type Draft, type ToolCallPart, type ToolResultPart, textOf } from "../../model/message.ts";
import type { ModelRequest, Reply, ToolDeclaration } from "../../model/request.ts";
import { OUTPUT_TOOL, statusOf } from "../../model/tool.ts";
import type { Decision, PlacedResult, ProtocolDriver, RequestView, RoundView } from "../../turn/driver.ts";
import type { PlacedCall } from "../../turn/effect.ts";
import { expanded, joined } from "./batch.ts";
import { TEXTS } from "./texts.ts";

/** How often a model may repair a wrong or missing typed result before the turn fails. */
const REPAIRS_MAX = 2;

/** With batches, a call of the batch tool is replaced by the calls in it. */
export const driverFor = (hasBatch: boolean): ProtocolDriver => ({
  id: hasBatch ? "bowline/tool-calls/batch" : "bowline/tool-calls",
  version: 1,
  request,
  onReply: (view, reply) => onReply(view, reply, hasBatch ? placedOrExpanded : placed),
  onResults: (view, reply, results) =>
    onResults(view, results, hasBatch ? resultsOrBatches(reply, results) : results.map(shown)),
  onExec: () => ({
    kind: "end",
    ending: {
      kind: "failed",
      by: "runtime",
      code: "code.unavailable",
      reason: describe("code.unavailable", {}).message,
    },
  }),
});

function request({ system, messages, tools, settings, output }: RequestView): ModelRequest {
  return {
    system,
    messages,
    tools: output === undefined ? tools : [...tools, outputTool(output)],
    ...(settings === undefined ? {} : { settings }),
  };
}

const outputTool = (inputSchema: JsonObject): ToolDeclaration => ({
  name: OUTPUT_TOOL,
  description: TEXTS.output,
  inputSchema,
});

type PlaceCalls = (part: ToolCallPart, index: number) => readonly PlacedCall[];

const placed: PlaceCalls = (part, index) => [{ at: String(index), call: callOf(part) }];
const placedOrExpanded: PlaceCalls = (part, index) => expanded(part, index) ?? placed(part, index);

function onReply(view: RoundView, reply: Reply, place: PlaceCalls): Decision {
  const calls = callsOf(reply.parts);
  if (reply.finish === "refused") return ended("stopped", "incomplete", "reply.refused");
  if (calls.length > 0) return { kind: "calls", calls: calls.flatMap(place) };
  if (reply.finish === "length") return ended("stopped", "incomplete", "reply.truncated");
  if (view.output !== undefined) return repair(view, TEXTS.outputMissing);
  if (textOf(reply.parts).trim() !== "" || isAfterWork(view)) return { kind: "answer" };
  if (reply.finish === "aborted") return ended("stopped", "plugin", "reply.aborted");
  return {
    kind: "end",
    ending: {
      kind: "failed",
      by: "provider",
      code: "provider.empty",
      reason: describe("provider.empty", { route: reply.route }).message,
    },
  };
}

const callOf = ({ callId, name, input, malformed }: ToolCallPart) => ({
  id: callId,
  name,
  input,
  ...(malformed === undefined ? {} : { malformed }),
});

const ended = (
  kind: "stopped",
  by: "incomplete" | "plugin",
  code: "reply.refused" | "reply.truncated" | "reply.aborted",
): Decision => ({
  kind: "end",
  ending: { kind, by, code, reason: describe(code, {}).message },
});

/** Some models send an empty reply once tools have done the work. After work, that is an answer. */
const isAfterWork = ({ log }: RoundView): boolean =>
  log.some((entry) => entry.kind === "message" && entry.message.role === "tool");

function repair(view: RoundView, words: string): Decision {
  const repairs = ((view.memo as { repairs?: number } | null)?.repairs ?? 0) + 1;
  if (repairs > REPAIRS_MAX) {
    return {
      kind: "end",
      ending: {
        kind: "failed",
        by: "provider",
        code: "output.invalid",
        reason: describe("output.invalid", { problem: words }).message,
      },
    };
  }
  return {
    kind: "retry",
    memo: { repairs },
    add: [{ role: "user", parts: [{ kind: "text", text: words }], origin: { kind: "runtime" } }],
  };
}

const shown = ({ call, output, parts }: PlacedResult): ToolResultPart => ({
  kind: "toolResult",
  callId: call.id,
  name: call.name,
  status: statusOf(output),
  parts,
});

function resultsOrBatches({ parts }: Reply, results: readonly PlacedResult[]): readonly ToolResultPart[] {
  return callsOf(parts).flatMap((part, index) => {
    const own = results.filter(({ at }) => at === String(index) || at.startsWith(`${index}.`));
    return expanded(part, index) === undefined ? own.map(shown) : [joined(part, own)];
  });
}

function onResults(view: RoundView, results: readonly PlacedResult[], parts: readonly ToolResultPart[]): Decision {
  const add: readonly Draft[] = [{ role: "tool", parts }];
  const wrong =
    view.output === undefined
      ? undefined
      : results.find(({ call, output }) => call.name === OUTPUT_TOOL && output.kind === "failure");
  if (wrong?.output.kind !== "failure") return { kind: "ask", add };
  const { add: _, ...repaired } = repair(view, wrong.output.failure.message);
  return { ...repaired, add };
}
