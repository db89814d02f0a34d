import type { CallPolicy, ToolFailure, ToolOutput } from "../model/tool.ts";
import type { CallState } from "./state.ts";

/** Returns the delay before the next attempt; undefined if there is none. */
export const retryDelay = ({ policy, attempt, goesOn = 0 }: CallState, output: ToolOutput): number | undefined =>
  policy === undefined ? undefined : retryMs(policy, attempt - goesOn, output);

/** Returns the retry delay of a tool's policy after this many attempts; undefined if there is no retry. */
export function retryMs({ retry }: CallPolicy, attempts: number, output: ToolOutput): number | undefined {
  if (retry === undefined || output.kind !== "failure") return undefined;
  if (attempts >= retry.attempts) return undefined;
  // A tool that decided about the turn is not tried again, because its decision is final.
  if (output.control !== undefined || !mayRetry(retry, output.failure)) return undefined;
  return Math.min(output.failure.retryAfterMs ?? retry.baseMs * 2 ** (attempts - 1), retry.maxMs);
}

const mayRetry = (retry: NonNullable<CallPolicy["retry"]>, failure: ToolFailure): boolean =>
  retry.policy === "idempotent"
    ? failure.class === "failed" || failure.class === "timeout" || failure.class === "internal"
    : retry.policy === "safe" && failure.isRetryable === true;
