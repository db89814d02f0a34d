// What a runtime reports about its work: spans and events. Listeners receive them; they change nothing.
// Not its job: facts (`runtime.observe`) and records (`runtime.turns`), which the store keeps, so that no reader misses
// one.
import type { JobId, SessionId, TurnId, WaitId } from "../model/ids.ts";
import type { JobKind, JobState } from "../model/job.ts";
import type { Json, JsonObject } from "../model/json.ts";
import type { Part } from "../model/message.ts";
import type { TurnOutcome } from "../model/outcome.ts";
import type { ModelRequest, ProviderFailureClass, Reply } from "../model/request.ts";
import type { ToolCall, ToolOutput } from "../model/tool.ts";
import type { Usage } from "../model/usage.ts";
import type { WaitKind } from "../model/wait.ts";

/**
 * Receives the work of a runtime while it runs. Each method is optional and called synchronously, so it should be
 * short. A listener that throws or blocks changes nothing; the runtime reports it once, as an event.
 */
export interface TelemetryListener {
  /** The kinds of spans that `start` and `end` get. Spans that no listener wants are not made. Default: all. */
  readonly kinds?: readonly Span["kind"][] | undefined;
  /** A piece of work begins. `end` is called with the same object, so a listener can use it as a key. */
  start?(span: Span): void;
  /** The work has ended in this process: the span has its end and its results. */
  end?(span: Span): void;
  /** A diagnostic, for example a late answer that was dropped. `span`: its turn, if the turn runs here. */
  event?(span: Span | undefined, event: TelemetryEvent): void;
  /** Called once when the runtime is closed. `close()` of the runtime waits for it. */
  close?(): void | PromiseLike<void>;
}

/** A diagnostic that belongs to no result: a late answer, a conflict between plugins, an observer that failed. */
export interface TelemetryEvent {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** For example `hook.issue`; an event of a plugin begins with the id of the plugin. */
  readonly name: string;
  readonly sessionId?: string;
  readonly turnId?: string;
  /** The place in the turn or job, given by the plugin: for example a call's id or a job's id. */
  readonly context?: JsonObject;
  readonly about: { readonly [key: string]: Json };
}

interface SpanBase {
  /** Unique in this process. */
  readonly id: string;
  /** The span that contains this one. */
  readonly parent?: Span;
  readonly sessionId?: SessionId;
  readonly turnId?: TurnId;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Set when it ends, with a fraction of a millisecond. */
  readonly endedAt?: number;
  /** Why it failed. */
  readonly error?: { readonly code: string; readonly message: string };
}

/** One piece of work in this process. Replayed work makes no span. */
export type Span =
  | TurnSpan
  | RoundSpan
  | ModelSpan
  | ToolSpan
  | CellSpan
  | HookSpan
  | WaitSpan
  | CommitSpan
  | JobSpan
  | StoreSpan;

/** A turn, from the time this process takes it until it commits, parks or loses it. A resumed turn has a span in each process. */
export interface TurnSpan extends SpanBase {
  readonly kind: "turn";
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  readonly owner?: string;
  /** The label of the session's settings. */
  readonly label?: string;
  readonly model: string;
  readonly metadata?: JsonObject;
  /** The number of runs of the turn so far, including this one. */
  readonly generation: number;
  readonly isResumed: boolean;
  readonly input: readonly Part[];
  /** `lost`: this process could not continue, and any process can resume the turn. */
  readonly how?: "committed" | "parked" | "lost";
  readonly outcome?: TurnOutcome;
  readonly usage?: Usage;
  readonly rounds?: number;
}

/** A model call and the work that follows from it. */
export interface RoundSpan extends SpanBase {
  readonly kind: "round";
  readonly round: number;
}

/** One attempt at a model call. */
export interface ModelSpan extends SpanBase {
  readonly kind: "model";
  readonly model: string;
  readonly provider: string;
  readonly attempt: number;
  /** `turn` for the call of the round, or the label of a completion. */
  readonly purpose: string;
  readonly request: ModelRequest;
  readonly reply?: Reply;
  /** The tokens of this attempt. The sum of all attempts is the ledger's number. */
  readonly usage?: Usage;
  /** The time to the first output. */
  readonly firstMs?: number;
  readonly failure?: ProviderFailureClass;
}

/** One attempt at a tool call. */
export interface ToolSpan extends SpanBase {
  readonly kind: "tool";
  readonly call: ToolCall;
  readonly attempt: number;
  /** An earlier process began the call and was killed. */
  readonly isResumed: boolean;
  /** The result before hooks; omitted if the result comes later. */
  readonly output?: ToolOutput;
}

/** A segment of a code cell. */
export interface CellSpan extends SpanBase {
  readonly kind: "cell";
  readonly code: string;
  /** How the segment ended, for example `done` or `waiting`. */
  readonly state?: string;
}

/** A call of a plugin's handler. Handlers of `stream`, which run for each delta, have none. */
export interface HookSpan extends SpanBase {
  readonly kind: "hook";
  readonly hook: string;
  readonly plugin: string;
  /** The kind of a `lifecycle` event. */
  readonly event?: string;
  /** The call that a tool hook is about. */
  readonly call?: ToolCall;
}

/** A wait of a turn. */
export interface WaitSpan extends SpanBase {
  readonly kind: "wait";
  readonly wants: WaitKind | "turns" | "time";
  readonly waitId?: WaitId;
  readonly reason?: string;
  readonly call?: ToolCall;
  readonly until: number;
  /** `left`: the turn was parked, cancelled or lost first. A turn that is resumed with the answer has another span. */
  readonly how?: "answered" | "timeout" | "revoked" | "left";
  readonly by?: string;
}

/** The atomic write that ends a turn. */
export interface CommitSpan extends SpanBase {
  readonly kind: "commit";
  readonly outcome: TurnOutcome["kind"];
}

/** Background work, while this process runs it. */
export interface JobSpan extends SpanBase {
  readonly kind: "job";
  readonly jobId: JobId;
  readonly job: JobKind;
  readonly operation?: string;
  readonly label?: string;
  /** Omitted if this process released the job before its end. */
  readonly state?: JobState;
}

/** A call of the store. It has no parent. */
export interface StoreSpan extends SpanBase {
  readonly kind: "store";
  /** For example `commit` or `jobs.claim`. */
  readonly operation: string;
}
