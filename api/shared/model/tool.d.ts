import { Attachment, TextPart } from "./message.js";
import { CallId } from "./ids.js";
import { Json, JsonObject } from "./json.js";
/** A call as it is carried out: what the model asked for, at its position in the turn. */
interface ToolCall {
  readonly id: CallId;
  /** The batch that it is a part of. */
  readonly parentId?: CallId;
  readonly name: string;
  readonly input: Json;
  /** What the model wrote, when it was not JSON. */
  readonly malformed?: string;
}
type FailureClass = "arguments" | "unavailable" | "denied" | "timeout" | "failed" | "limit" | "internal";
interface ToolFailure {
  readonly class: FailureClass;
  readonly code: string;
  readonly message: string;
  /** The tool said that trying again is safe. */
  readonly isRetryable?: boolean;
  readonly retryAfterMs?: number;
}
/** What became of a call. */
type ToolOutput = {
  readonly kind: "value";
  readonly value: Json;
  readonly attachments?: readonly Attachment[];
  readonly control?: Control;
} | {
  readonly kind: "failure";
  readonly failure: ToolFailure;
  readonly control?: Control;
} | {
  readonly kind: "cancelled";
  readonly reason: string;
} |
/** It may have taken effect: it was interrupted, or did not return within the grace. */
{
  readonly kind: "unknown";
  readonly reason: string;
};
/** What a tool may decide about the turn. The first in call order counts. */
type Control = {
  readonly kind: "finish";
  readonly by: "model" | "tool";
  readonly value: Json;
} | {
  readonly kind: "fail";
  readonly code: string;
  readonly message: string;
} | {
  readonly kind: "switchFrame";
  readonly task: string;
  readonly seed?: Json;
};
type ResultPart = TextPart | Attachment;
interface ToolResult {
  readonly call: ToolCall;
  readonly output: ToolOutput;
  /** What the model is shown. */
  readonly parts: readonly ResultPart[];
}
type RetryPolicy = "never" | "safe" | "idempotent";
/** What the turn machine must know of a tool to schedule its calls. Only what differs from these is journaled. */
interface CallPolicy {
  readonly isSerial?: true;
  readonly writes?: true;
  readonly onInterrupt?: "fail" | "ask";
  readonly retry?: {
    readonly policy: RetryPolicy;
    readonly attempts: number;
    readonly baseMs: number;
    readonly maxMs: number;
  };
}
/**
 * How far a tool is open to the model, each step more than the one before: not there; found by a search, which may make
 * it callable; declared; declared and described in the prompt.
 */
type Availability = "off" | "searchable" | "callable" | "documented";
/** What is known of a tool without its schemas. */
interface ToolManifest {
  readonly name: string;
  readonly description: string;
  /** `callable` unless given. */
  readonly availability?: Availability;
  /** `runtime`: never shown to the model nor called by it, except under a grant. */
  readonly audience?: "model" | "runtime";
  /** For whoever runs it, as `context.bindings`. */
  readonly bindings?: JsonObject;
  /** Arguments as one would write them. */
  readonly examples?: readonly JsonObject[];
}
interface StateView<S> {
  get(): S;
  /** Bigger things that the plugin keeps, by name. */
  readonly blobs: BlobsView;
}
interface BlobsView {
  names(): readonly string[];
  get(name: string): Promise<Uint8Array | undefined>;
}
interface StateCell<S> extends StateView<S> {
  /** Runs once; its value is journaled with the event of the effect it ran in. */
  update(change: (state: S) => S): void;
  readonly blobs: BlobsView & {
    put(name: string, data: Uint8Array): Promise<void>;
    remove(name: string): void;
  };
}
/** Returned or thrown by tools; made by `finish`, `fail`, `switchFrame`, `retryable` and `attach`. */
declare class ControlResult {
  readonly control: Control;
  constructor(control: Control);
}
/** Ends the turn with this value. */
declare const finish: (value: Json) => ControlResult;
/** Ends the turn as failed. */
declare const fail: (code: string, message: string) => ControlResult;
/** Goes on with this task in a fresh context window. */
declare const switchFrame: (task: string, seed?: Json) => ControlResult;
/** Thrown by a tool whose failure may pass: retried when its policy is `safe` or `idempotent`. */
declare class RetryableError extends Error {
  readonly retryAfterMs?: number;
  constructor(message: string, options?: {
    readonly afterMs?: number;
    readonly cause?: unknown;
  });
}
declare const retryable: (error: unknown, options?: {
  readonly afterMs?: number;
}) => RetryableError;
/** Thrown by a tool to say what kind of failure it is: a program reads the code, the model the message. */
declare class ToolError extends Error {
  readonly code: string;
  readonly class: FailureClass;
  constructor(code: string, message: string, options?: {
    readonly class?: FailureClass;
    readonly cause?: unknown;
  });
}
/** Bytes for a tool's result or an input; kept once, by their hash. */
declare class Attachable {
  readonly data: Uint8Array;
  readonly mediaType: string;
  readonly name?: string;
  constructor(data: Uint8Array, about: {
    readonly mediaType: string;
    readonly name?: string;
  });
}
declare const attach: (data: Uint8Array, about: {
  readonly mediaType: string;
  readonly name?: string;
}) => Attachable;
export {
  Attachable,
  Availability,
  CallPolicy,
  ControlResult,
  FailureClass,
  ResultPart,
  RetryPolicy,
  StateCell,
  StateView,
  ToolCall,
  ToolError,
  ToolManifest,
  ToolOutput,
  ToolResult,
  attach,
  fail,
  finish,
  retryable,
  switchFrame,
};
