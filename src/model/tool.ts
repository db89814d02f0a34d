import type { CallId, SessionId, TurnId } from "./ids.ts";
import type { Awaitable, Json } from "./json.ts";
import type { Attachment, TextPart, ToolStatus } from "./message.ts";
import type { Any, OutputOf, Schema, ToolSchema } from "./schema.ts";

/** A call as it is carried out: what the model asked for, at its position in the turn. */
export interface ToolCall {
  readonly id: CallId;
  readonly name: string;
  readonly input: Json;
  /** What the model wrote, when it was not JSON. */
  readonly malformed?: string;
}

export type FailureClass = "arguments" | "unavailable" | "denied" | "timeout" | "failed" | "limit" | "internal";

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

export interface ToolManifest {
  readonly name: string;
  readonly description: string;
}

export interface ToolContext {
  readonly callId: CallId;
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  /** 1, 2, … */
  readonly attempt: number;
  /** Aborts on cancel and on timeout. */
  readonly signal: AbortSignal;
  /** The same in every attempt at this call, also after a crash. Hand it to whatever must not act twice. */
  readonly idempotencyKey: string;
}

export interface StateView<S> {
  get(): S;
}
export interface StateCell<S> extends StateView<S> {
  /** Runs once; its value is journaled with the event of the effect it ran in. */
  update(change: (state: S) => S): void;
}
type StateOf<S, Writes> = S extends undefined
  ? object
  : { readonly state: Writes extends true ? StateCell<S> : StateView<S> };

export interface ToolSpec<I extends ToolSchema, O, S = undefined, Writes extends true | undefined = undefined>
  extends ToolManifest {
  readonly input: I;
  readonly output?: Schema<Any, O>;
  readonly timeoutMs?: number;
  /** Never beside another call of the same reply. */
  readonly isSerial?: boolean;
  /** May change the plugin's state; such calls are released one at a time. */
  readonly writes?: Writes;
  readonly retry?:
    | RetryPolicy
    | { readonly policy: RetryPolicy; readonly attempts?: number; readonly baseMs?: number; readonly maxMs?: number };
  /** What to do with a call that a crash interrupted: `rerun` (with the same idempotency key), or tell the model. */
  readonly onInterrupt?: "rerun" | "fail";
  execute(input: OutputOf<I>, context: ToolContext & StateOf<S, Writes>): Awaitable<O | ControlResult>;
}

declare const toolState: unique symbol;
/** A tool, ready to be listed and called. Made by `defineTool`, or by `tool` in a plugin's setup. */
export interface Tool<S = undefined> extends ToolManifest {
  readonly inputSchema: { readonly [keyword: string]: Json };
  readonly policy: CallPolicy;
  readonly timeoutMs?: number;
  /** Checks the arguments as the tool's author wrote them; the value may differ from the input (defaults, transforms). */
  check(
    input: Json,
  ): Awaitable<{ readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problem: string }>;
  run(input: unknown, context: ToolContext & { readonly state?: unknown }): Awaitable<unknown>;
  checkOutput?(
    output: unknown,
  ): Awaitable<{ readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problem: string }>;
  readonly [toolState]?: S;
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

/** Bytes for a tool's result or an input; kept once, by their hash. */
export class Attachable {
  readonly data: Uint8Array;
  readonly mediaType: string;
  readonly name?: string;
  constructor(data: Uint8Array, about: { readonly mediaType: string; readonly name?: string }) {
    if (!(data instanceof Uint8Array)) throw new TypeError("attach() takes bytes: a Uint8Array.");
    this.data = data;
    this.mediaType = about.mediaType;
    if (about.name !== undefined) this.name = about.name;
  }
}
export const attach = (data: Uint8Array, about: { readonly mediaType: string; readonly name?: string }): Attachable =>
  new Attachable(data, about);
