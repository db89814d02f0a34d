import { RuntimeError } from "../model/errors.ts";
import { bytesOver, describeThrown, type Json, toJson } from "../model/json.ts";
import type { Attachment } from "../model/message.ts";
import { TEXTS } from "../model/texts.ts";
import {
  Attachable,
  type Control,
  ControlResult,
  type FailureClass,
  RetryableError,
  ToolError,
  type ToolFailure,
  type ToolOutput,
} from "../model/tool.ts";

/** Stores the bytes of an attachment and returns the reference. */
interface Keeper {
  keep(attachable: Attachable): Attachment;
}

/**
 * Turns what a tool returned into an output: JSON, attachments, control, or a failure that says why it cannot be used.
 */
export function resultOf(name: string, returned: unknown, bytesMax: number, keeper: Keeper): ToolOutput {
  if (typeof returned === "string") return within(name, { kind: "value", value: returned }, returned, bytesMax);
  if (returned instanceof ControlResult) return controlled(name, returned.control, bytesMax);
  const attachments: Attachment[] = [];
  const found = toJson(withAttachments(returned, attachments, keeper));
  if ("problem" in found) return unusable(name, `${found.path}: ${found.problem}`);
  const value = found.json;
  const output: ToolOutput =
    attachments.length === 0 ? { kind: "value", value } : { kind: "value", value, attachments };
  const attached = attachments.reduce((sum, { bytes }) => sum + bytes, 0);
  if (attached > bytesMax) return tooLarge(name, attached, bytesMax);
  return within(name, output, JSON.stringify(value), bytesMax);
}

/** A control value is stored like a result, so it must be JSON within the same limit. */
function controlled(name: string, control: Control, bytesMax: number): ToolOutput {
  const found = toJson(control);
  if ("problem" in found) return unusable(name, `${found.path}: ${found.problem}`);
  const sure = found.json as unknown as Control;
  if (sure.kind === "fail")
    return {
      kind: "failure",
      failure: { class: "failed", code: String(sure.code), message: String(sure.message) },
      control: sure,
    };
  const value = sure.kind === "finish" ? (sure.value ?? null) : null;
  const kept: Control = sure.kind === "finish" ? { ...sure, value } : sure;
  return within(name, { kind: "value", value, control: kept }, JSON.stringify(found.json), bytesMax);
}

/**
 * Stores attachments found in the value, up to four levels down in lists and objects, and leaves a reference in their
 * place.
 */
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
  return bytes === undefined ? output : tooLarge(name, bytes, max);
}

/** Applies the size limit to an output that a hook put in the place of a result. */
export function bounded(name: string, output: ToolOutput, bytesMax: number): ToolOutput {
  if (output.kind !== "value") return output;
  const { value: given } = output;
  return within(name, output, typeof given === "string" ? given : JSON.stringify(given), bytesMax);
}

const tooLarge = (name: string, bytes: number, max: number): ToolOutput =>
  failure("limit", "limit.bytes", TEXTS.tooLarge(name, bytes, max));

const unusable = (name: string, problem: string): ToolOutput =>
  failure("internal", "tool.result", TEXTS.unusable(name, problem));

/** Turns what a tool threw into an output that the model sees. */
export function failureOf(name: string, thrown: unknown, bytesMax: number): ToolOutput {
  try {
    return failureFrom(name, thrown, bytesMax);
  } catch (error) {
    // Looking at what was thrown can throw as well: a revoked proxy, a getter.
    return failure("failed", "tool.failed", TEXTS.failed(name, describeThrown(error)));
  }
}

function failureFrom(name: string, thrown: unknown, bytesMax: number): ToolOutput {
  if (thrown instanceof ControlResult) return resultOf(name, thrown, bytesMax, { keep: () => noAttachments(name) });
  if (thrown instanceof RuntimeError) return failure("failed", thrown.code, thrown.message);
  if (thrown instanceof ToolError) return failure(thrown.class, thrown.code, thrown.message.slice(0, 4_000));
  const retry: Partial<ToolFailure> =
    thrown instanceof RetryableError
      ? { isRetryable: true, ...(thrown.retryAfterMs === undefined ? {} : { retryAfterMs: thrown.retryAfterMs }) }
      : {};
  return failure("failed", "tool.failed", TEXTS.failed(name, describeThrown(thrown).slice(0, 4_000)), retry);
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

const REASON_MAX = 16_384;

export const denied = (name: string, reason: string): ToolOutput =>
  failure("denied", "tool.denied", TEXTS.denied(name, reason.slice(0, REASON_MAX)));

/** The call was made, which the model must know: it might make up for it otherwise. */
export const withheld = (name: string, reason: string): ToolOutput =>
  failure("denied", "tool.denied", TEXTS.withheld(name, reason.slice(0, REASON_MAX)));

export const value = (json: Json): ToolOutput => ({ kind: "value", value: json });
