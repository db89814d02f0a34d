import type { CallId } from "./ids.ts";
import type { Json, JsonObject } from "./json.ts";
import type { Attachment, TextPart, ToolStatus } from "./message.ts";

/** A call as it is carried out: what the model asked for, at its position in the turn. */
export interface ToolCall {
  readonly id: CallId;
  /** The batch that it is a part of. */
  readonly parentId?: CallId;
  readonly name: string;
  readonly input: Json;
  /** What the model wrote, when it was not JSON. */
  readonly malformed?: string;
}

export type FailureClass = "arguments" | "unavailable" | "denied" | "timeout" | "failed" | "limit" | "internal";

const FAILURE_CLASSES: readonly FailureClass[] = [
  "arguments",
  "unavailable",
  "denied",
  "timeout",
  "failed",
  "limit",
  "internal",
];

export interface ToolFailure {
  readonly class: FailureClass;
  readonly code: string;
  readonly message: string;
  /** The tool said that trying again is safe. */
  readonly isRetryable?: boolean;
  readonly retryAfterMs?: number;
}

/** What became of a call. */
export type ToolOutput =
  | {
      readonly kind: "value";
      readonly value: Json;
      readonly attachments?: readonly Attachment[];
      readonly control?: Control;
    }
  | { readonly kind: "failure"; readonly failure: ToolFailure; readonly control?: Control }
  | { readonly kind: "cancelled"; readonly reason: string }
  /** It may have taken effect: it was interrupted, or did not return within the grace. */
  | { readonly kind: "unknown"; readonly reason: string };

/** What a tool may decide about the turn. The first in call order counts. */
export type Control =
  | { readonly kind: "finish"; readonly by: "model" | "tool"; readonly value: Json }
  | { readonly kind: "fail"; readonly code: string; readonly message: string }
  | { readonly kind: "switchFrame"; readonly task: string; readonly seed?: Json };

/** The name under which a model hands in the typed result of a turn; no other tool may have it. */
export const OUTPUT_TOOL = "submit_output";

/** The name of the tool that stands for many calls; they are made only where it can be called. */
export const BATCH_TOOL = "batch";

/** Under this id a session keeps which of its tools are open, like a plugin's state. A round after a change prepares anew. */
export const TOOLS_STATE = "bowline/tools";

export type ResultPart = TextPart | Attachment;

export interface ToolResult {
  readonly call: ToolCall;
  readonly output: ToolOutput;
  /** What the model is shown. */
  readonly parts: readonly ResultPart[];
}

export function statusOf(output: ToolOutput): ToolStatus {
  switch (output.kind) {
    case "value":
      return "ok";
    case "failure":
      return output.failure.class === "denied" ? "denied" : "failed";
    case "cancelled":
      return "cancelled";
    case "unknown":
      return "unknown";
  }
}

/** How a result is shown to the model when no plugin decides: text as it is, other JSON compact, failures as a line. */
export function projectOutput(output: ToolOutput): readonly ResultPart[] {
  switch (output.kind) {
    case "value": {
      const shown: TextPart = {
        kind: "text",
        text: typeof output.value === "string" ? output.value : JSON.stringify(output.value),
      };
      return output.attachments === undefined ? [shown] : [shown, ...output.attachments];
    }
    case "failure":
      return [{ kind: "text", text: `Error (${output.failure.code}): ${output.failure.message}` }];
    case "cancelled":
      return [{ kind: "text", text: `Cancelled: ${output.reason}` }];
    case "unknown":
      return [{ kind: "text", text: `Unknown: ${output.reason}` }];
  }
}

export type RetryPolicy = "never" | "safe" | "idempotent";

/** What the turn machine must know of a tool to schedule its calls. Only what differs from these is journaled. */
export interface CallPolicy {
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
export type Availability = "off" | "searchable" | "callable" | "documented";
export const AVAILABILITIES: readonly Availability[] = ["off", "searchable", "callable", "documented"];

/** What is known of a tool without its schemas. */
export interface ToolManifest {
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

const NAME = /^[A-Za-z0-9_-]{1,64}$/;
/** What a tool may be called; `__proto__` trips up too much of the world. */
export const isToolName = (name: unknown): name is string =>
  typeof name === "string" && name !== "__proto__" && name !== OUTPUT_TOOL && NAME.test(name);

export interface StateView<S> {
  get(): S;
  /** Bigger things that the plugin keeps, by name. */
  readonly blobs: BlobsView;
}
export interface BlobsView {
  names(): readonly string[];
  get(name: string): Promise<Uint8Array | undefined>;
}
export interface StateCell<S> extends StateView<S> {
  /** Runs once; its value is journaled with the event of the effect it ran in. */
  update(change: (state: S) => S): void;
  readonly blobs: BlobsView & { put(name: string, data: Uint8Array): Promise<void>; remove(name: string): void };
}

/** Returned or thrown by tools; made by `finish`, `fail`, `switchFrame`, `retryable` and `attach`. */
export class ControlResult {
  readonly control: Control;
  constructor(control: Control) {
    this.control = control;
  }
}
/** Ends the turn with this value. */
export const finish = (value: Json): ControlResult => new ControlResult({ kind: "finish", by: "tool", value });
/** Ends the turn as failed. */
export const fail = (code: string, message: string): ControlResult =>
  new ControlResult({ kind: "fail", code, message });
/** Goes on with this task in a fresh context window. */
export const switchFrame = (task: string, seed?: Json): ControlResult =>
  new ControlResult({ kind: "switchFrame", task, ...(seed === undefined ? {} : { seed }) });

/** Thrown by a tool whose failure may pass: retried when its policy is `safe` or `idempotent`. */
export class RetryableError extends Error {
  readonly retryAfterMs?: number;
  constructor(message: string, options: { readonly afterMs?: number; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "RetryableError";
    if (options.afterMs !== undefined) this.retryAfterMs = options.afterMs;
  }
}
export const retryable = (error: unknown, options: { readonly afterMs?: number } = {}): RetryableError =>
  new RetryableError(error instanceof Error ? error.message : String(error), { ...options, cause: error });

/** Thrown by a tool to say what kind of failure it is: a program reads the code, the model the message. */
export class ToolError extends Error {
  readonly code: string;
  readonly class: FailureClass;
  constructor(
    code: string,
    message: string,
    options: { readonly class?: FailureClass; readonly cause?: unknown } = {},
  ) {
    // It is recorded, so it must be what its type says, whoever made it.
    super(String(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ToolError";
    this.code = String(code);
    this.class = FAILURE_CLASSES.includes(options.class as FailureClass) ? (options.class as FailureClass) : "failed";
  }
}

/** Bytes for a tool's result or an input; kept once, by their hash. */
export class Attachable {
  readonly data: Uint8Array;
  readonly mediaType: string;
  readonly name?: string;
  constructor(data: Uint8Array, about: { readonly mediaType: string; readonly name?: string }) {
    if (!(data instanceof Uint8Array)) throw new TypeError("attach() takes bytes: a Uint8Array.");
    this.data = new Uint8Array(data); // The buffer may be used again.
    this.mediaType = about.mediaType;
    if (about.name !== undefined) this.name = about.name;
  }
}
export const attach = (data: Uint8Array, about: { readonly mediaType: string; readonly name?: string }): Attachable =>
  new Attachable(data, about);
