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
 * What a tool's `execute` is given besides its arguments. `complete` and `once` are recorded: when the call runs again,
 * they return what they returned before.
 */
interface ToolContext extends ToolServices {
  readonly callId: CallId;
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  /** The number of this attempt, from 1. */
  readonly attempt: number;
  /**
   * Aborts on cancel and on timeout: its reason then has the code `tool.cancelled` or `tool.timeout`. With any other
   * code this process only lets the turn go, and another goes on with it: do not undo what was started for it.
   */
  readonly signal: AbortSignal;
  /** The same in every attempt at this call, also after a crash. Pass it to whatever must not act twice. */
  readonly idempotencyKey: string;
  /** The bindings of the tool's manifest, merged with those of the grant it is called under. */
  readonly bindings: JsonObject;
  /** Reports that the call is getting on: restarts its timeout, and shows `value` to whoever watches the turn. */
  progress(value?: Json): void;
  /**
   * Makes what the call is about to wait for answerable now, and returns the key that answers it: the same when the
   * attempt is run again. Hand the key out, then return the deferral.
   */
  waitKey(deferral: Deferral): Promise<string>;
  /** Shows a piece of what the tool prints, while it runs. The model sees only what `execute` returns. */
  output(chunk: string): void;
  /** What plugins contributed to a point, combined. */
  read<Out>(point: Point<Any, Out>): Out;
  /** What the caller of the turn gave for this extension; undefined when nothing. */
  extension<Out>(extension: Extension<Any, Out>): Out | undefined;
  /** Runs `run` once in this call, over all its attempts; later ones get the recorded value. */
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
/** What a tool is made from: its manifest, its schemas, how its calls are run, and `execute`. */
interface ToolSpec<I extends ToolSchema, O, S = undefined, Writes extends true | undefined = undefined> extends ToolManifest {
  /** The schema of the arguments, which the model is shown. */
  readonly input: I;
  /** The schema of the result. A result that does not fit becomes a failure. */
  readonly output?: Schema<Any, O> | undefined;
  /** Time for one attempt, in milliseconds. Default: `limits.toolMs`, 10 minutes. */
  readonly timeoutMs?: number | undefined;
  /** Runs this call alone, never beside another call of the same reply. Default: false. */
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
   * What to do with a call that a crash interrupted: `rerun` (the default) runs it again with the same idempotency key;
   * `fail` tells the model that the result is unknown; `ask` waits until somebody answers `{ approved: true }`, then
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
  /** What its result must fit, where its schema can describe itself: also a result that is given later. */
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
/** Tools that come and go, or are too many to be made at once. Made by `defineToolProvider`. */
interface ToolProvider {
  /** Names the source. A session's choices for its tools are kept under this id, so it must stay the same. */
  readonly id: string;
  /** Lists the tools without their schemas; must be cheap. A throw leaves the list as it was. */
  list(signal: AbortSignal): Awaitable<readonly ToolManifest[]>;
  /** Loads one tool when it is first needed. Return nothing when the tool is gone. */
  load(name: string, signal: AbortSignal): Awaitable<Tool | undefined>;
  /**
   * Calls `changed` when the list has changed; it is then read again before the next turn. Returns a function that
   * stops watching.
   */
  readonly watch?: ((changed: () => void) => () => void) | undefined;
}
export { Tool, ToolContext, ToolProvider, ToolSpec };
