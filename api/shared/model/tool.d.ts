import { Attachment, TextPart, ToolStatus } from "./message.js";
import { CallId } from "./ids.js";
import { Json, JsonObject } from "./json.js";
import { ToolSchema } from "./schema.js";
/** A tool call as the runtime runs it. */
interface ToolCall {
  readonly id: CallId;
  /** The call of the `batch` tool that this call is part of. */
  readonly parentId?: CallId;
  readonly name: string;
  readonly input: Json;
  /** The text of the model, if it was not valid JSON. */
  readonly malformed?: string;
}
/** A call of a turn, and its result. */
interface MadeCall extends Pick<ToolCall, "id" | "parentId" | "name" | "input"> {
  readonly status: ToolStatus;
  /** The time of all attempts and waits; left out if the call was not made. */
  readonly durationMs?: number;
}
/**
 * The kind of a failure. `arguments`: the arguments are invalid. `unavailable`: the tool does not exist or is not
 * callable. `denied`: a plugin or a person denied the call. `timeout`: the time limit has passed. `failed`: the tool
 * threw. `limit`: too many calls or too much data. `internal`: an error in the tool's code or in the runtime.
 */
type FailureClass = "arguments" | "unavailable" | "denied" | "timeout" | "failed" | "limit" | "internal";
/** Why a call failed: a class and a code for programs, a message for the model. */
interface ToolFailure {
  readonly class: FailureClass;
  readonly code: string;
  readonly message: string;
  /** The tool threw `retryable`, so a retry is safe. */
  readonly isRetryable?: boolean;
  readonly retryAfterMs?: number;
}
/** The result of a call: a value, a failure, a cancel, or unknown. */
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
/**
 * The call may have taken effect or not: it was interrupted, or did not return in the grace period after a cancel.
 */
{
  readonly kind: "unknown";
  readonly reason: string;
};
/** A tool's decision about the turn. If several calls of a round decide, the first in call order counts. */
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
  /** The result in the form the model sees. */
  readonly parts: readonly ResultPart[];
}
type RetryPolicy = "never" | "safe" | "idempotent";
/**
 * The fields of a tool that the turn machine uses to schedule its calls. A field is journaled only if it differs from
 * the default.
 */
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
 * How available a tool is to the model; each level includes the one before. `off`: hidden. `searchable`: the search
 * tool finds it and can make it callable. `callable`: declared. `documented`: declared and described in the prompt.
 */
type Availability = "off" | "searchable" | "callable" | "documented";
/** A tool without its schemas. */
interface ToolManifest {
  readonly name: string;
  readonly description: string;
  /** Default: `callable`. */
  readonly availability?: Availability | undefined;
  /** `runtime` hides the tool: the model can call it only by a grant. Default: `model`. */
  readonly audience?: "model" | "runtime" | undefined;
  /** Data for the code that runs the tool; it receives them as `context.bindings`. */
  readonly bindings?: JsonObject | undefined;
  /** Example arguments, shown where the tool is documented. */
  readonly examples?: readonly JsonObject[] | undefined;
  /** The path by which code calls the tool, such as `files.read`. Default: its name, see `toolPaths`. */
  readonly path?: string | undefined;
}
/** Read access to a plugin's state. */
interface StateView<S> {
  get(): S;
  /** Large values of the plugin, by name. */
  readonly blobs: BlobsView;
}
interface BlobsView {
  names(): readonly string[];
  get(name: string): Promise<Uint8Array | undefined>;
}
/**
 * Write access to a plugin's state. Changes are stored together with the answer of the hook or call that made them:
 * both or neither.
 */
interface StateCell<S> extends StateView<S> {
  /** Replaces the state. `change` runs once; its result is journaled, so a replay does not run it again. */
  update(change: (state: S) => S): void;
  readonly blobs: BlobsView & {
    put(name: string, data: Uint8Array): Promise<void>;
    remove(name: string): void;
  };
}
/** A value that a tool returns or throws to decide about the turn. Make one with `finish`, `fail` or `switchFrame`. */
declare class ControlResult {
  readonly control: Control;
  constructor(control: Control);
}
/** Return this from a tool to end the turn with this value. */
declare const finish: (value: Json) => ControlResult;
/** Return this from a tool to end the turn as failed. */
declare const fail: (code: string, message: string) => ControlResult;
/** Return this from a tool to continue with this task in a new context window. The model sees `seed` with it. */
declare const switchFrame: (task: string, seed?: Json) => ControlResult;
/** Turns of other sessions, or jobs, that a call waits for. */
interface DeferTurns {
  readonly turns?: readonly {
    readonly session: string;
    readonly turn: string;
  }[] | undefined;
  /** The ids of jobs. An idle job counts as ended. */
  readonly jobs?: readonly string[] | undefined;
  /** Wait until all of them have ended, or any. Default: `all`. */
  readonly need?: "any" | "all" | undefined;
  /** Cancels them if this turn is stopped while it waits. Default: false. */
  readonly cancels?: boolean | undefined;
  /** The error of the call if this turn is stopped during the wait. Default: the result is unknown. */
  readonly ifStopped?: ToolError | undefined;
  /** The latest end of the wait. Default: in seven days. */
  readonly until?: Date | number | undefined;
  /** The same, in milliseconds from now. */
  readonly waitMs?: number | undefined;
}
interface DeferOptions {
  /** The schema of the value. `resolve` checks it. Default: the tool's `output`, if it has one. */
  readonly schema?: ToolSchema | undefined;
  /** When the wait expires: a date, or milliseconds since 1970. The result is then unknown. Default: in seven days. */
  readonly until?: Date | number | undefined;
  /** The same, in milliseconds from now. */
  readonly waitMs?: number | undefined;
}
interface QuestionOptions extends DeferOptions {
  /** The question for the person. */
  readonly text: string;
}
/** A value that a tool returns to make its call wait. Make one with `defer` or `question`. */
declare class Deferral {
  /** Milliseconds since 1970; undefined for the default. */
  readonly until: number | undefined;
  readonly waitMs: number | undefined;
  readonly schema: JsonObject | undefined;
  readonly question: string | undefined;
  readonly on: DeferTurns | undefined;
  constructor(options: DeferOptions | DeferTurns, question?: string);
}
/**
 * Return this from a tool whose result comes later: `runtime.waits.resolve` passes it, in any process. With `turns` or
 * `jobs`, the tool runs again when these have ended, and reads their results itself.
 */
declare function defer(options?: DeferOptions | DeferTurns): Deferral;
/** Return this from a tool to ask a person a question. The answer is the result of the call. */
declare function question(schema: ToolSchema, options: Omit<QuestionOptions, "schema">): Deferral;
/**
 * Throw this from a tool for a temporary failure. The call is retried if the tool's retry policy is `safe` or
 * `idempotent`.
 */
declare class RetryableError extends Error {
  readonly retryAfterMs?: number;
  constructor(message: string, options?: {
    readonly afterMs?: number | undefined;
    readonly cause?: unknown;
  });
}
/** Wraps an error so that the call is retried. `afterMs`: the delay in milliseconds. */
declare const retryable: (error: unknown, options?: {
  readonly afterMs?: number | undefined;
}) => RetryableError;
/** Throw this from a tool to classify its failure: programs read the code, the model reads the message. */
declare class ToolError extends Error {
  readonly code: string;
  readonly class: FailureClass;
  constructor(code: string, message: string, options?: {
    readonly class?: FailureClass | undefined;
    readonly cause?: unknown;
  });
}
/** The tools of a session as data, to show, store, edit and restore (`export`, `apply`, `restore`). */
interface ToolState {
  /** The generation of the export. `apply` throws if the session's tools have changed since. */
  readonly generation: number;
  /** A hash of the names and sources at the export. `apply` checks it too. */
  readonly surface?: string;
  readonly tools: {
    readonly [name: string]: ToolStateEntry;
  };
}
interface ToolStateEntry {
  readonly source: string;
  readonly availability: Availability;
  /**
   * The source is missing. The choice stays, but the tool cannot be called until the source offers it again.
   */
  readonly isOrphan?: true;
}
/** A tool of a session, as `list` returns it. Without schemas if `raw` is set or the tool is not loaded. */
interface ToolListing extends ToolStateEntry {
  readonly name: string;
  readonly description: string;
  readonly path?: string | undefined;
  readonly inputSchema?: JsonObject;
  readonly outputSchema?: JsonObject;
}
/** Options of `tools.list`. */
interface ToolListOptions {
  /** Lists the registry: all tools, also tools that are off or whose source is missing. Default: false. */
  readonly raw?: boolean | undefined;
}
interface About {
  readonly mediaType: string;
  readonly name?: string | undefined;
}
/** Bytes in a tool's result or in an input. Stored once per content, by their hash. */
declare class Attachable {
  readonly data: Uint8Array;
  readonly mediaType: string;
  readonly name?: string;
  constructor(data: Uint8Array, about: About);
}
/** Attaches bytes, such as an image, to a tool's result or an input. */
declare const attach: (data: Uint8Array, about: About) => Attachable;
export {
  Attachable,
  Availability,
  CallPolicy,
  ControlResult,
  Deferral,
  FailureClass,
  MadeCall,
  ResultPart,
  RetryPolicy,
  StateCell,
  StateView,
  ToolCall,
  ToolError,
  ToolFailure,
  ToolListOptions,
  ToolListing,
  ToolManifest,
  ToolOutput,
  ToolResult,
  ToolState,
  attach,
  defer,
  fail,
  finish,
  question,
  retryable,
  switchFrame,
};
