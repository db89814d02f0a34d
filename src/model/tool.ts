// Job: the shared types of tools: calls, outputs, policies, manifests, and what a tool can return or throw.
// Not its job: making tools (`tools/define.ts`) and running them (`tools/dispatch.ts`).

import { RuntimeError } from "./errors.ts";
import type { CallId } from "./ids.ts";
import type { Json, JsonObject } from "./json.ts";
import { type Known, requireKnown } from "./known.ts";
import type { Attachment, TextPart, ToolStatus } from "./message.ts";
import { documentOf, type ToolSchema } from "./schema.ts";

/** A tool call as the runtime runs it. */
export interface ToolCall {
  readonly id: CallId;
  /** The call of the `batch` tool that this call is part of. */
  readonly parentId?: CallId;
  readonly name: string;
  readonly input: Json;
  /** The text of the model, if it was not valid JSON. */
  readonly malformed?: string;
}

/** A call of a turn, and its result. */
export interface MadeCall extends Pick<ToolCall, "id" | "parentId" | "name" | "input"> {
  readonly status: ToolStatus;
  /** The time of all attempts and waits; left out if the call was not made. */
  readonly durationMs?: number;
}

/**
 * The kind of a failure. `arguments`: the arguments are invalid. `unavailable`: the tool does not exist or is not
 * callable. `denied`: a plugin or a person denied the call. `timeout`: the time limit has passed. `failed`: the tool
 * threw. `limit`: too many calls or too much data. `internal`: an error in the tool's code or in the runtime.
 */
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

/** Why a call failed: a class and a code for programs, a message for the model. */
export interface ToolFailure {
  readonly class: FailureClass;
  readonly code: string;
  readonly message: string;
  /** The tool threw `retryable`, so a retry is safe. */
  readonly isRetryable?: boolean;
  readonly retryAfterMs?: number;
}

/** The result of a call: a value, a failure, a cancel, or unknown. */
export type ToolOutput =
  | {
      readonly kind: "value";
      readonly value: Json;
      readonly attachments?: readonly Attachment[];
      readonly control?: Control;
    }
  | { readonly kind: "failure"; readonly failure: ToolFailure; readonly control?: Control }
  | { readonly kind: "cancelled"; readonly reason: string }
  /**
   * The call may have taken effect or not: it was interrupted, or did not return in the grace period after a cancel.
   */
  | { readonly kind: "unknown"; readonly reason: string };

/** A tool's decision about the turn. If several calls of a round decide, the first in call order counts. */
export type Control =
  | { readonly kind: "finish"; readonly by: "model" | "tool"; readonly value: Json }
  | { readonly kind: "fail"; readonly code: string; readonly message: string }
  | { readonly kind: "switchFrame"; readonly task: string; readonly seed?: Json };

/** The tool by which a model returns the typed result of a turn. No other tool can have this name. */
export const OUTPUT_TOOL = "submit_output";

/** The tool that makes many calls at once. Calls inside a batch run only if the model can call this tool. */
export const BATCH_TOOL = "batch";

/**
 * The key under which the session's choice of tools is stored, like a plugin's state. After a change the
 * next round prepares again.
 */
export const TOOLS_STATE = "bowline/tools";

export type ResultPart = TextPart | Attachment;

export interface ToolResult {
  readonly call: ToolCall;
  readonly output: ToolOutput;
  /** The result in the form the model sees. */
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

/**
 * How the model sees a result by default: text unchanged, other JSON compact, a failure as one line.
 */
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

/**
 * The fields of a tool that the turn machine uses to schedule its calls. A field is journaled only if it differs from
 * the default.
 */
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
 * How available a tool is to the model; each level includes the one before. `off`: hidden. `searchable`: the search
 * tool finds it and can make it callable. `callable`: declared. `documented`: declared and described in the prompt.
 */
export type Availability = "off" | "searchable" | "callable" | "documented";
export const AVAILABILITIES: readonly Availability[] = ["off", "searchable", "callable", "documented"];

/** A tool without its schemas. */
export interface ToolManifest {
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

const NAME = /^[A-Za-z0-9_-]{1,64}$/;
/** Whether this can be a tool's name. `__proto__` is refused because it breaks code that uses names as keys. */
export const isToolName = (name: unknown): name is string =>
  typeof name === "string" && name !== "__proto__" && name !== OUTPUT_TOOL && NAME.test(name);

/** Read access to a plugin's state. */
export interface StateView<S> {
  get(): S;
  /** Large values of the plugin, by name. */
  readonly blobs: BlobsView;
}
export interface BlobsView {
  names(): readonly string[];
  get(name: string): Promise<Uint8Array | undefined>;
}
/**
 * Write access to a plugin's state. Changes are stored together with the answer of the hook or call that made them:
 * both or neither.
 */
export interface StateCell<S> extends StateView<S> {
  /** Replaces the state. `change` runs once; its result is journaled, so a replay does not run it again. */
  update(change: (state: S) => S): void;
  readonly blobs: BlobsView & { put(name: string, data: Uint8Array): Promise<void>; remove(name: string): void };
}

/** A value that a tool returns or throws to decide about the turn. Make one with `finish`, `fail` or `switchFrame`. */
export class ControlResult {
  readonly control: Control;
  constructor(control: Control) {
    this.control = control;
  }
}
/** Return this from a tool to end the turn with this value. */
export const finish = (value: Json): ControlResult => new ControlResult({ kind: "finish", by: "tool", value });
/** Return this from a tool to end the turn as failed. */
export const fail = (code: string, message: string): ControlResult =>
  new ControlResult({ kind: "fail", code, message });
/** Return this from a tool to continue with this task in a new context window. The model sees `seed` with it. */
export const switchFrame = (task: string, seed?: Json): ControlResult =>
  new ControlResult({ kind: "switchFrame", task, ...(seed === undefined ? {} : { seed }) });

/** Turns of other sessions, or jobs, that a call waits for. */
export interface DeferTurns {
  readonly turns?: readonly { readonly session: string; readonly turn: string }[] | undefined;
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
export interface DeferOptions {
  /** The schema of the value. `resolve` checks it. Default: the tool's `output`, if it has one. */
  readonly schema?: ToolSchema | undefined;
  /** When the wait expires: a date, or milliseconds since 1970. The result is then unknown. Default: in seven days. */
  readonly until?: Date | number | undefined;
  /** The same, in milliseconds from now. */
  readonly waitMs?: number | undefined;
}
export interface QuestionOptions extends DeferOptions {
  /** The question for the person. */
  readonly text: string;
}

/** A value that a tool returns to make its call wait. Make one with `defer` or `question`. */
export class Deferral {
  /** Milliseconds since 1970; undefined for the default. */
  readonly until: number | undefined;
  readonly waitMs: number | undefined;
  readonly schema: JsonObject | undefined;
  readonly question: string | undefined;
  readonly on: DeferTurns | undefined;
  constructor(options: DeferOptions | DeferTurns, question?: string) {
    const { waitMs } = options;
    const until = options.until instanceof Date ? options.until.getTime() : options.until;
    if (until !== undefined && !Number.isFinite(until)) throw new TypeError("`until` must be a date or a time in ms.");
    if (waitMs !== undefined && !(Number.isFinite(waitMs) && waitMs > 0))
      throw new TypeError("`waitMs` must be a number above 0.");
    if (waitMs !== undefined && until !== undefined) throw new TypeError("Give `until` or `waitMs`, not both.");
    this.until = until;
    this.waitMs = waitMs;
    this.question = question;
    this.on = "turns" in options || "jobs" in options ? options : undefined;
    const { schema } = options as DeferOptions;
    this.schema = schema === undefined ? undefined : documentOf(schema, question === undefined ? "defer" : "question");
  }
}

const DEFER: Known<DeferOptions & DeferTurns> = {
  schema: true,
  until: true,
  waitMs: true,
  turns: true,
  jobs: true,
  need: true,
  cancels: true,
  ifStopped: true,
};

/**
 * Return this from a tool whose result comes later: `runtime.waits.resolve` passes it, in any process. With `turns` or
 * `jobs`, the tool runs again when these have ended, and reads their results itself.
 */
export function defer(options: DeferOptions | DeferTurns = {}): Deferral {
  requireKnown("defer", options, DEFER);
  if ("turns" in options || "jobs" in options) {
    const { turns = [], jobs = [] } = options as DeferTurns;
    if (!Array.isArray(turns) || !Array.isArray(jobs) || turns.length + jobs.length === 0)
      throw new TypeError("defer() needs turns or jobs to wait for.");
  }
  if ("ifStopped" in options && options.ifStopped !== undefined && !(options.ifStopped instanceof ToolError))
    throw new TypeError("`ifStopped` must be a ToolError.");
  return new Deferral(options);
}

const QUESTION: Known<QuestionOptions> = { text: true, schema: true, until: true, waitMs: true };

/** Return this from a tool to ask a person a question. The answer is the result of the call. */
export function question(schema: ToolSchema, options: Omit<QuestionOptions, "schema">): Deferral {
  requireKnown("question", options, QUESTION);
  if (typeof options.text !== "string" || options.text.trim() === "") throw new TypeError("A question needs a text.");
  return new Deferral({ ...options, schema }, options.text);
}

/**
 * Throw this from a tool for a temporary failure. The call is retried if the tool's retry policy is `safe` or
 * `idempotent`.
 */
export class RetryableError extends Error {
  readonly retryAfterMs?: number;
  constructor(message: string, options: { readonly afterMs?: number | undefined; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    requireKnown("retryable", options, { afterMs: true, cause: true });
    this.name = "RetryableError";
    if (options.afterMs !== undefined) this.retryAfterMs = options.afterMs;
  }
}
/** Wraps an error so that the call is retried. `afterMs`: the delay in milliseconds. */
export const retryable = (error: unknown, options: { readonly afterMs?: number | undefined } = {}): RetryableError =>
  new RetryableError(error instanceof Error ? error.message : String(error), { ...options, cause: error });

/** Throw this from a tool to classify its failure: programs read the code, the model reads the message. */
export class ToolError extends Error {
  readonly code: string;
  readonly class: FailureClass;
  constructor(
    code: string,
    message: string,
    options: { readonly class?: FailureClass | undefined; readonly cause?: unknown } = {},
  ) {
    // Converted, because untyped callers can pass any value, and the journal stores it.
    super(String(message), options.cause === undefined ? undefined : { cause: options.cause });
    requireKnown("ToolError", options, { class: true, cause: true });
    this.name = "ToolError";
    this.code = String(code);
    this.class = FAILURE_CLASSES.includes(options.class as FailureClass) ? (options.class as FailureClass) : "failed";
  }
}

/** The tools of a session as data, to show, store, edit and restore (`export`, `apply`, `restore`). */
export interface ToolState {
  /** The generation of the export. `apply` throws if the session's tools have changed since. */
  readonly generation: number;
  /** A hash of the names and sources at the export. `apply` checks it too. */
  readonly surface?: string;
  readonly tools: { readonly [name: string]: ToolStateEntry };
}
export interface ToolStateEntry {
  readonly source: string;
  readonly availability: Availability;
  /**
   * The source is missing. The choice stays, but the tool cannot be called until the source offers it again.
   */
  readonly isOrphan?: true;
}

/** A tool of a session, as `list` returns it. Without schemas if `raw` is set or the tool is not loaded. */
export interface ToolListing extends ToolStateEntry {
  readonly name: string;
  readonly description: string;
  readonly path?: string | undefined;
  readonly inputSchema?: JsonObject;
  readonly outputSchema?: JsonObject;
}

/** Options of `tools.list`. */
export interface ToolListOptions {
  /** Lists the registry: all tools, also tools that are off or whose source is missing. Default: false. */
  readonly raw?: boolean | undefined;
}

interface About {
  readonly mediaType: string;
  readonly name?: string | undefined;
}
const ABOUT: Known<About> = { mediaType: true, name: true };
const MEDIA_TYPE_MAX = 255;
const NAME_MAX = 1_024;

/**
 * The problem of an attachment's description, if any. The description is limited, because providers read it and limits
 * of bytes do not count it.
 */
export function aboutProblem({ mediaType, name }: { readonly mediaType?: unknown; readonly name?: unknown }) {
  const isText = (words: unknown, max: number): boolean =>
    typeof words === "string" && words !== "" && words.length <= max;
  if (!isText(mediaType, MEDIA_TYPE_MAX))
    return { option: "mediaType", problem: `it must be a text of 1 to ${MEDIA_TYPE_MAX} characters` };
  if (name !== undefined && !isText(name, NAME_MAX))
    return { option: "name", problem: `it must be a text of 1 to ${NAME_MAX} characters` };
  return undefined;
}

/** Bytes in a tool's result or in an input. Stored once per content, by their hash. */
export class Attachable {
  readonly data: Uint8Array;
  readonly mediaType: string;
  readonly name?: string;
  constructor(data: Uint8Array, about: About) {
    if (!(data instanceof Uint8Array)) throw new TypeError("attach() takes bytes: a Uint8Array.");
    requireKnown("attach", about, ABOUT);
    const { mediaType, name } = about;
    const problem = aboutProblem({ mediaType, name });
    if (problem !== undefined) throw new RuntimeError("options.invalid", problem);
    this.data = new Uint8Array(data); // A copy, because the caller can reuse its buffer.
    this.mediaType = mediaType;
    if (name !== undefined) this.name = name;
  }
}
/** Attaches bytes, such as an image, to a tool's result or an input. */
export const attach = (data: Uint8Array, about: About): Attachable => new Attachable(data, about);
