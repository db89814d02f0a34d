import { callsOf, type Draft } from "./message.ts";

/**
 * Checks I4: every tool call has exactly one result, in the tool message right after it, in call order. Finds pairs by
 * position, because call ids of providers can repeat. Returns the problem, or undefined.
 */
export function pairingProblem(before: Draft | undefined, message: Draft): string | undefined {
  if (before?.role !== "assistant" && message.role !== "tool") return undefined;
  const calls = before?.role === "assistant" ? callsOf(before.parts) : [];
  if (message.role !== "tool") return calls.length === 0 ? undefined : `the call of ${calls[0]?.name} has no result`;
  let results = 0;
  let odd = -1;
  for (let index = 0; index < message.parts.length; index++) {
    const part = message.parts[index];
    if (part?.kind !== "toolResult") continue;
    if (odd < 0 && part.callId !== calls[results]?.callId) odd = results;
    results++;
  }
  if (results !== calls.length) return `${calls.length} calls have ${results} results`;
  return odd < 0 ? undefined : `result ${odd} belongs to another call`;
}

export const hasOpenCalls = (last: Draft | undefined): boolean =>
  last?.role === "assistant" && callsOf(last.parts).length > 0;
