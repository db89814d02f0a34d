import { Any, OutputOf, Schema, ToolSchema } from "../model/schema.js";
import { Awaitable } from "../model/awaitable.js";
import { CallId, SessionId, TurnId } from "../model/ids.js";
import { CallPolicy, ControlResult, Deferral, RetryPolicy, StateCell, StateView, ToolManifest } from "../model/tool.js";
import { Extension } from "./extension.js";
import { Json, JsonObject } from "../model/json.js";
import { Point } from "./point.js";
import { Services } from "./services.js";
type ToolServices = Pick<Services, "session" | "sessions" | "catalog" | "membership" | "graph" | "complete" | "blobs" | "trace" | "jobs" | "monitors" | "triggers">;
/**
 * The second argument of a tool's `execute`. `complete` and `once` are recorded: if the call runs again, they return
 * the recorded values.
 */
interface ToolContext extends ToolServices {
  readonly callId: CallId;
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  /** The number of this attempt, from 1. */
  readonly attempt: number;
  /**
   * Aborts on cancel and on timeout: its reason then has the code `tool.cancelled` or `tool.timeout`. With any other
   * code another process resumes the turn, so do not undo what the call has started.
   */
  readonly signal: AbortSignal;
  /** The same in every attempt at this call, also after a crash. Pass it to every service that must not act twice. */
  readonly idempotencyKey: string;
  /** The bindings of the tool's manifest, merged with the bindings of the grant. */
  readonly bindings: JsonObject;
  /** Reports progress: restarts the timeout of the call, and shows `value` to observers of the turn. */
  progress(value?: Json): void;
  /**
   * Opens the wait before `execute` returns, and returns the key that answers it. A rerun of the attempt returns the
   * same key. Pass the key on, then return the deferral.
   */
  waitKey(deferral: Deferral): Promise<string>;
  /** Shows a piece of what the tool prints, while it runs. The model sees only what `execute` returns. */
  output(chunk: string): void;
  /** What plugins contributed to a point, combined. */
  read<Out>(point: Point<Any, Out>): Out;
  /** The value that the caller of the turn gave for this extension; undefined without a value. */
  extension<Out>(extension: Extension<Any, Out>): Out | undefined;
  /** Runs `run` once in this call. Later attempts get the recorded value. */
  once<T extends Json>(name: string, run: () => Awaitable<T>): Promise<T>;
}
/** When a failed attempt is tried again, and how often. */
interface RetryOptions {
  readonly policy: RetryPolicy;
  readonly attempts?: number | undefined;
  readonly baseMs?: number | undefined;
  readonly maxMs?: number | undefined;
}
type StateOf<S, Writes> = S extends undefined ? object : {
  readonly state: Writes extends true ? StateCell<S> : StateView<S>;
};
/** The definition of a tool: its manifest, its schemas, how its calls run, and `execute`. */
interface ToolSpec<I extends ToolSchema, O, S = undefined, Writes extends true | undefined = undefined> extends ToolManifest {
  /** The schema of the arguments. The model sees it. */
  readonly input: I;
  /** The schema of the result. A result that does not fit becomes a failure. */
  readonly output?: Schema<Any, O> | undefined;
  /** Time for one attempt, in milliseconds. Default: `limits.toolMs`, 10 minutes. */
  readonly timeoutMs?: number | undefined;
  /** Runs each call alone, never in parallel with another call. Default: false. */
  readonly isSerial?: boolean | undefined;
  /**
   * Lets the tool change its plugin's state and the session's tools. Such calls run one at a time. Default: read only.
   */
  readonly writes?: Writes | undefined;
  /**
   * Whether a failed attempt is tried again: `never` (the default); `safe`, only errors thrown with `retryable`;
   * `idempotent`, any error and timeout. Default: 3 attempts, waits that double from 250 ms up to 5 s.
   */
  readonly retry?: RetryPolicy | RetryOptions | undefined;
  /**
   * What happens to a call that a crash interrupted. `rerun` (the default) runs it again with the same idempotency key.
   * With `fail` the model reads that the result is unknown. `ask` waits for the answer `{ approved: true }` and then
   * runs it again.
   */
  readonly onInterrupt?: "rerun" | "fail" | "ask" | undefined;
  /**
   * Runs the call. Return JSON, text, `attach(…)`, a decision such as `finish(value)`, or `defer(…)` for a result that
   * comes later; throw to report a failure.
   */
  execute(input: OutputOf<I>, context: ToolContext & StateOf<S, Writes>): Awaitable<O | ControlResult | Deferral>;
}
declare const toolState: unique symbol;
declare const toolInput: unique symbol;
type Check = Awaitable<{
  readonly ok: true;
  readonly value: unknown;
} | {
  readonly ok: false;
  readonly problem: string;
}>;
/**
 * A tool, ready to be listed and called. Made by `defineTool`, or by `tool` in a plugin's setup. Its type carries its
 * name and the type of its arguments as a model sends them, for gates.
 */
interface Tool<S = undefined, Name extends string = string, In = unknown> extends ToolManifest {
  readonly name: Name;
  readonly inputSchema: JsonObject;
  readonly policy: CallPolicy;
  readonly timeoutMs?: number;
  /** The JSON Schema of its result, if the schema can describe itself. Deferred results must fit it too. */
  readonly outputSchema?: JsonObject;
  /** Checks and parses arguments with the tool's schema. The value may differ from the input (defaults, transforms). */
  check(input: Json): Check;
  run(input: unknown, context: ToolContext & {
    readonly state?: unknown;
  }): Awaitable<unknown>;
  checkOutput?(output: unknown): Check;
  readonly [toolState]?: S;
  readonly [toolInput]?: In;
}
/** Tools that can change at run time, or are too many to load at once. Made by `defineToolProvider`. */
interface ToolProvider {
  /** The id of the source. It must stay the same, because a session stores its tool choices under this id. */
  readonly id: string;
  /** Lists the tools without their schemas. It must be cheap. If it throws, the previous list stays. */
  list(signal: AbortSignal): Awaitable<readonly ToolManifest[]>;
  /** Loads one tool when it is first needed. Returns undefined if the tool no longer exists. */
  load(name: string, signal: AbortSignal): Awaitable<Tool | undefined>;
  /**
   * Calls `changed` when the list has changed. The runtime then reads the list before the next turn. Returns a function
   * that stops watching.
   */
  readonly watch?: ((changed: () => void) => () => void) | undefined;
}
export { Tool, ToolContext, ToolProvider, ToolSpec };
