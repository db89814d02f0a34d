import { callsOf, type Draft } from "./message.ts";

/**
 * I4: every tool call has exactly one result, in the tool message right after it and in call order. Provider ids are
 * data and may repeat, so pairs are found by place. Undefined when all is well, else what is wrong.
 */
export function pairingProblem(before: Draft | undefined, message: Draft): string | undefined {
  if (before?.role !== "assistant" && message.role !== "tool") return undefined;
  const calls = before?.role === "assistant" ? callsOf(before.parts) : [];
  if (message.role !== "tool") return calls.length === 0 ? undefined : `the call of ${calls[0]?.name} has no result`;
  const results = message.parts.filter((part) => part.kind === "toolResult");
  if (results.length !== calls.length) return `${calls.length} calls have ${results.length} results`;
  const odd = results.findIndex((result, index) => result.callId !== calls[index]?.callId);
  return odd < 0 ? undefined : `result ${odd} belongs to another call`;
}

export const hasOpenCalls = (last: Draft | undefined): boolean =>
  last?.role === "assistant" && callsOf(last.parts).length > 0;
