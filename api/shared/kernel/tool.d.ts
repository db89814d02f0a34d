import { Any, OutputOf, Schema, ToolSchema } from "../model/schema.js";
import { Awaitable } from "../model/awaitable.js";
import { CallId, SessionId, TurnId } from "../model/ids.js";
import { CallPolicy, ControlResult, RetryPolicy, StateCell, StateView, ToolManifest } from "../model/tool.js";
import { Json, JsonObject } from "../model/json.js";
import { Point } from "./point.js";
import { Services } from "./services.js";
type ToolServices = Pick<Services, "session" | "sessions" | "catalog" | "membership" | "complete" | "blobs" | "trace">;
/** What a tool is given besides its arguments. What is nested in a call and costs something is noted: a rerun is given it back. */
interface ToolContext extends ToolServices {
  readonly callId: CallId;
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  /** 1, 2, … */
  readonly attempt: number;
  /**
   * Aborts on cancel and on timeout: its reason has the code `tool.cancelled` or `tool.timeout`. With any other code the
   * turn is only let go here, and goes on elsewhere: what was started for it is still wanted.
   */
  readonly signal: AbortSignal;
  /** The same in every attempt at this call, also after a crash. Hand it to whatever must not act twice. */
  readonly idempotencyKey: string;
  /** Of the tool's manifest, and of the grant it is called under. */
  readonly bindings: JsonObject;
  /** Says that the call is getting on: its timeout starts anew. */
  progress(note?: string): void;
  /** What plugins contributed to a point. */
  read<Out>(point: Point<Any, Out>): Out;
  /** Runs once in this call, whatever the attempt. */
  once<T extends Json>(name: string, run: () => Awaitable<T>): Promise<T>;
}
type StateOf<S, Writes> = S extends undefined ? object : {
  readonly state: Writes extends true ? StateCell<S> : StateView<S>;
};
interface ToolSpec<I extends ToolSchema, O, S = undefined, Writes extends true | undefined = undefined> extends ToolManifest {
  readonly input: I;
  readonly output?: Schema<Any, O>;
  readonly timeoutMs?: number;
  /** Never beside another call of the same reply. */
  readonly isSerial?: boolean;
  /** May change the plugin's state and the session's tools; such calls are released one at a time. */
  readonly writes?: Writes;
  readonly retry?: RetryPolicy | {
    readonly policy: RetryPolicy;
    readonly attempts?: number;
    readonly baseMs?: number;
    readonly maxMs?: number;
  };
  /**
   * What to do with a call that a crash interrupted: `rerun` (with the same idempotency key), `fail` (the model is told
   * that the result is unknown), or `ask` (somebody answers its wait with `{ approved: true }`, and it runs again).
   */
  readonly onInterrupt?: "rerun" | "fail" | "ask";
  execute(input: OutputOf<I>, context: ToolContext & StateOf<S, Writes>): Awaitable<O | ControlResult>;
}
declare const toolState: unique symbol;
type Check = Awaitable<{
  readonly ok: true;
  readonly value: unknown;
} | {
  readonly ok: false;
  readonly problem: string;
}>;
/** A tool, ready to be listed and called. Made by `defineTool`, or by `tool` in a plugin's setup. */
interface Tool<S = undefined> extends ToolManifest {
  readonly inputSchema: JsonObject;
  readonly policy: CallPolicy;
  readonly timeoutMs?: number;
  /** Checks the arguments as the tool's author wrote them; the value may differ from the input (defaults, transforms). */
  check(input: Json): Check;
  run(input: unknown, context: ToolContext & {
    readonly state?: unknown;
  }): Awaitable<unknown>;
  checkOutput?(output: unknown): Check;
  readonly [toolState]?: S;
}
/** Tools that come and go, or are too many to be made at once. Made by `defineToolProvider`. */
interface ToolProvider {
  /** Names the source: what a session remembers of its tools holds for it. */
  readonly id: string;
  /** Light: no schema is made. A throw leaves the list as it was. */
  list(signal: AbortSignal): Awaitable<readonly ToolManifest[]>;
  /** Heavy: one tool, when it is first needed. Nothing means that it is not there any more. */
  load(name: string, signal: AbortSignal): Awaitable<Tool | undefined>;
  /** Calls back when the list has changed: it is read again before the next turn. Answers how to stop. */
  watch?(changed: () => void): () => void;
}
export { Tool, ToolContext, ToolProvider, ToolSpec };
