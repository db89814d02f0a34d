import { RuntimeError } from "../model/errors.ts";
import type { EffectName } from "../model/ids.ts";
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

/** Stores the bytes of an attachment, for the answer of an effect, and returns the reference. */
interface Keeper {
  keep(attachable: Attachable, place: EffectName): Attachment;
}

/**
 * Turns the result of a tool into an output: JSON, attachments, control, or a failure with the reason if it is not
 * valid.
 */
export function resultOf(
  name: string,
  returned: unknown,
  bytesMax: number,
  keeper: Keeper,
  place: EffectName,
): ToolOutput {
  if (typeof returned === "string") return within(name, { kind: "value", value: returned }, returned, bytesMax);
  if (returned instanceof ControlResult) return controlled(name, returned.control, bytesMax);
  const given = attachablesIn(returned, []);
  const attached = given.reduce((sum, { data }) => sum + data.byteLength, 0);
  if (attached > bytesMax) return tooLarge(name, attached, bytesMax);
  const attachments: Attachment[] = [];
  const found = toJson(
    given.length === 0 ? returned : withAttachments(returned, attachments, (each) => keeper.keep(each, place)),
  );
  if ("problem" in found) return unusable(name, `${found.path}: ${found.problem}`);
  const value = found.json;
  const output: ToolOutput =
    attachments.length === 0 ? { kind: "value", value } : { kind: "value", value, attachments };
  return within(name, output, JSON.stringify(value), bytesMax);
}

/** A control value is stored like a result, so it must be JSON within the same limit. */
function controlled(name: string, control: Control, bytesMax: number): ToolOutput {
  const found = toJson(control);
  if ("problem" in found) return unusable(name, `${found.path}: ${found.problem}`);
  const sure = found.json as unknown as Control;
  if (sure.kind === "fail") {
    const output = failure("failed", String(sure.code), String(sure.message));
    const { code, message } = output.failure;
    return { ...output, control: { kind: "fail", code, message } };
  }
  const value = sure.kind === "finish" ? (sure.value ?? null) : null;
  const storedControl: Control = sure.kind === "finish" ? { ...sure, value } : sure;
  return within(name, { kind: "value", value, control: storedControl }, JSON.stringify(found.json), bytesMax);
}

const DEPTH_MAX = 4;

/** The attachments in a value, up to four levels down in lists and plain objects. */
function attachablesIn(value: unknown, found: Attachable[], depth = 0): readonly Attachable[] {
  if (value instanceof Attachable) found.push(value);
  else if (depth < DEPTH_MAX && isContainer(value))
    for (const item of Object.values(value)) if (holds(item)) attachablesIn(item, found, depth + 1);
  return found;
}
const isContainer = (value: unknown): value is object =>
  Array.isArray(value) || (holds(value) && Object.getPrototypeOf(value) === Object.prototype);

/** Stores the attachments in the value, and replaces them by references. */
function withAttachments(
  value: unknown,
  found: Attachment[],
  keep: (each: Attachable) => Attachment,
  depth = 0,
): unknown {
  if (value instanceof Attachable) {
    const attachment = keep(value);
    found.push(attachment);
    return {
      attachment: attachment.hash,
      mediaType: attachment.mediaType,
      bytes: attachment.bytes,
      ...(attachment.name === undefined ? {} : { name: attachment.name }),
    };
  }
  if (depth >= DEPTH_MAX || !isContainer(value)) return value;
  if (Array.isArray(value)) return value.map((item) => withAttachments(item, found, keep, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, withAttachments(item, found, keep, depth + 1)]),
  );
}
const holds = (item: unknown): boolean => typeof item === "object" && item !== null;

function within(name: string, output: ToolOutput, json: string, max: number): ToolOutput {
  const bytes = bytesOver(json, max);
  return bytes === undefined ? output : tooLarge(name, bytes, max);
}

/** Applies the size limit to an output that replaces a result. */
export function bounded(name: string, output: ToolOutput, bytesMax: number): ToolOutput {
  if (output.kind !== "value") return output;
  const { value: given } = output;
  return within(name, output, typeof given === "string" ? given : JSON.stringify(given), bytesMax);
}

const tooLarge = (name: string, bytes: number, max: number): ToolOutput =>
  failure("limit", "limit.bytes", TEXTS.tooLarge(name, bytes, max));

const unusable = (name: string, problem: string): ToolOutput =>
  failure("internal", "tool.result", TEXTS.unusable(name, problem));

/** Turns an error of a tool into an output that the model sees. */
export function failureOf(name: string, thrown: unknown, bytesMax: number): ToolOutput {
  try {
    return failureFrom(name, thrown, bytesMax);
  } catch (error) {
    // Reading the error can throw too, for example a revoked proxy or a getter.
    return failure("failed", "tool.failed", TEXTS.failed(name, describeThrown(error)));
  }
}

function failureFrom(name: string, thrown: unknown, bytesMax: number): ToolOutput {
  if (thrown instanceof ControlResult) return controlled(name, thrown.control, bytesMax);
  if (thrown instanceof RuntimeError) return failure("failed", thrown.code, thrown.message);
  if (thrown instanceof ToolError) return failure(thrown.class, thrown.code, thrown.message.slice(0, 4_000));
  const retry: Partial<ToolFailure> =
    thrown instanceof RetryableError
      ? { isRetryable: true, ...(thrown.retryAfterMs === undefined ? {} : { retryAfterMs: thrown.retryAfterMs }) }
      : {};
  return failure("failed", "tool.failed", TEXTS.failed(name, describeThrown(thrown).slice(0, 4_000)), retry);
}

const REASON_MAX = 16_384;
const CODE_MAX = 256;

/** Cuts the text of a failure, because a failure is journaled and shown like a result. */
export const failure = (
  failureClass: FailureClass,
  code: string,
  message: string,
  more: Partial<ToolFailure> = {},
): Extract<ToolOutput, { readonly kind: "failure" }> => ({
  kind: "failure",
  failure: { class: failureClass, code: code.slice(0, CODE_MAX), message: message.slice(0, REASON_MAX), ...more },
});

export const denied = (name: string, reason: string): ToolOutput =>
  failure("denied", "tool.denied", TEXTS.denied(name, reason.slice(0, REASON_MAX)));

/** The message must state that the call ran, because otherwise the model could repeat it. */
export const withheld = (name: string, reason: string): ToolOutput =>
  failure("denied", "tool.denied", TEXTS.withheld(name, reason.slice(0, REASON_MAX)));

export const value = (json: Json): ToolOutput => ({ kind: "value", value: json });
