/**
 * The model and the tool that both sides are driven with. What the model says follows from the last input and the
 * number of tool results after it, and from nothing else:
 *   "text"      one reply
 *   "loop:N"    N replies with one call each, then a reply
 *   "par:N"     one reply with N calls, then a reply
 *   "stream:N"  one reply of N deltas
 */
export type Saying =
  | { readonly text: string }
  | { readonly calls: readonly { readonly id: string; readonly n: number }[] }
  | { readonly deltas: number };

const PADDING = "x".repeat(180);

export const SYSTEM = "You are a benchmark agent. Use the echo tool.";
export const TOOL_DESC = "Echo a number back.";
export const TEXT = `final answer ${PADDING}`;
export const DELTA = "tok ";

/** Counts what really happened, so that workloads can check it. */
export const stats = { tools: 0, modelCalls: 0, promptMessages: 0 };

export function next(input: string, results: number, promptMessages: number): Saying {
  stats.modelCalls++;
  stats.promptMessages = promptMessages;
  const [kind, count] = input.split(":");
  const n = Number(count);
  // Unique across processes: another process may continue the session.
  const id = `call_${process.pid}_${stats.modelCalls}`;
  if (kind === "loop" && results < n) return { calls: [{ id, n: results }] };
  if (kind === "par" && results === 0) {
    return { calls: Array.from({ length: n }, (_, index) => ({ id: `${id}_${index}`, n: index })) };
  }
  if (kind === "stream") return { deltas: n };
  return { text: TEXT };
}

export function runTool(n: number): string {
  stats.tools++;
  return `result ${n} ${PADDING}`;
}
