import { describe, RuntimeError } from "../model/errors.ts";
import { bytesOver, describeThrown, type Json, toJson } from "../model/json.ts";
import type { Attachment } from "../model/message.ts";
import {
  Attachable,
  ControlResult,
  type FailureClass,
  RetryableError,
  type ToolFailure,
  type ToolOutput,
} from "../model/tool.ts";

/** Keeps the bytes of an attachment and says where. */
interface Keeper {
  keep(attachable: Attachable): Attachment;
}

/** What a tool returned, as a result: JSON, attachments, control, or why it cannot be used. */
export function resultOf(name: string, returned: unknown, bytesMax: number, keeper: Keeper): ToolOutput {
  if (typeof returned === "string") return within(name, { kind: "value", value: returned }, returned, bytesMax);
  if (returned instanceof ControlResult) {
    const { control } = returned;
    if (control.kind === "fail")
      return { kind: "failure", failure: { class: "failed", code: control.code, message: control.message }, control };
    return { kind: "value", value: control.kind === "finish" ? control.value : null, control };
  }
  const attachments: Attachment[] = [];
  const found = toJson(withAttachments(returned, attachments, keeper));
  if ("problem" in found) return unusable(name, `${found.path}: ${found.problem}`);
  const value = found.json;
  const output: ToolOutput =
    attachments.length === 0 ? { kind: "value", value } : { kind: "value", value, attachments };
  return within(name, output, JSON.stringify(value), bytesMax);
}

/** An attachment anywhere near the top (itself, or in a list or object of results) is stored and leaves a reference. */
function withAttachments(value: unknown, found: Attachment[], keeper: Keeper, depth = 0): unknown {
  if (value instanceof Attachable) {
    const kept = keeper.keep(value);
    found.push(kept);
    return {
      attachment: kept.hash,
      mediaType: kept.mediaType,
      bytes: kept.bytes,
      ...(kept.name === undefined ? {} : { name: kept.name }),
    };
  }
  if (depth > 3 || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value))
    return value.some(holds) ? value.map((item) => withAttachments(item, found, keeper, depth + 1)) : value;
  if (Object.getPrototypeOf(value) !== Object.prototype || !Object.values(value).some(holds)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, withAttachments(item, found, keeper, depth + 1)]),
  );
}
const holds = (item: unknown): boolean => typeof item === "object" && item !== null;

function within(name: string, output: ToolOutput, json: string, max: number): ToolOutput {
  const bytes = bytesOver(json, max);
  return bytes === undefined
    ? output
    : failure("limit", "limit.bytes", describe("limit.bytes", { what: `The result of ${name}`, bytes, max }).message);
}

const unusable = (name: string, problem: string): ToolOutput =>
  failure("internal", "tool.result", describe("tool.result", { name, problem }).message);

/** What a tool threw, as a result that the model sees. */
export function failureOf(name: string, thrown: unknown): ToolOutput {
  if (thrown instanceof ControlResult)
    return resultOf(name, thrown, Number.POSITIVE_INFINITY, { keep: () => noAttachments(name) });
  if (thrown instanceof RuntimeError) return failure("failed", thrown.code, thrown.message);
  const retry: Partial<ToolFailure> =
    thrown instanceof RetryableError
      ? { isRetryable: true, ...(thrown.retryAfterMs === undefined ? {} : { retryAfterMs: thrown.retryAfterMs }) }
      : {};
  return failure(
    "failed",
    "tool.failed",
    describe("tool.failed", { name, problem: describeThrown(thrown).slice(0, 4_000) }).message,
    retry,
  );
}

const noAttachments = (name: string): never => {
  throw new RuntimeError("tool.result", { name, problem: "an attachment was thrown" });
};

export const failure = (
  failureClass: FailureClass,
  code: string,
  message: string,
  more: Partial<ToolFailure> = {},
): ToolOutput => ({
  kind: "failure",
  failure: { class: failureClass, code, message, ...more },
});

export const denied = (name: string, reason: string): ToolOutput =>
  failure("denied", "tool.denied", describe("tool.denied", { name, reason }).message);

export const value = (json: Json): ToolOutput => ({ kind: "value", value: json });
