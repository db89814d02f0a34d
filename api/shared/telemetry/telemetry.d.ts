import { JobId, SessionId, TurnId, WaitId } from "../model/ids.js";
import { JobKind, JobState } from "../model/job.js";
import { Json, JsonObject } from "../model/json.js";
import { ModelRequest, ProviderFailureClass, Reply } from "../model/request.js";
import { Part } from "../model/message.js";
import { ToolCall, ToolOutput } from "../model/tool.js";
import { TurnOutcome } from "../model/outcome.js";
import { Usage } from "../model/usage.js";
import { WaitKind } from "../model/wait.js";
/**
 * Receives the work of a runtime while it runs. Each method is optional and called synchronously, so it should be
 * short. A listener that throws or blocks changes nothing; the runtime reports it once, as an event.
 */
interface TelemetryListener {
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
interface TelemetryEvent {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** For example `hook.issue`; an event of a plugin begins with the id of the plugin. */
  readonly name: string;
  readonly sessionId?: string;
  readonly turnId?: string;
  /** The place in the turn or job, given by the plugin: for example a call's id or a job's id. */
  readonly context?: JsonObject;
  readonly about: {
    readonly [key: string]: Json;
  };
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
  readonly error?: {
    readonly code: string;
    readonly message: string;
  };
}
/** One piece of work in this process. Replayed work makes no span. */
type Span = TurnSpan | RoundSpan | ModelSpan | ToolSpan | CellSpan | HookSpan | WaitSpan | CommitSpan | JobSpan | StoreSpan;
/** A turn, from the time this process takes it until it commits, parks or loses it. A resumed turn has a span in each process. */
interface TurnSpan extends SpanBase {
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
interface RoundSpan extends SpanBase {
  readonly kind: "round";
  readonly round: number;
}
/** One attempt at a model call. */
interface ModelSpan extends SpanBase {
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
interface ToolSpan extends SpanBase {
  readonly kind: "tool";
  readonly call: ToolCall;
  readonly attempt: number;
  /** An earlier process began the call and was killed. */
  readonly isResumed: boolean;
  /** The result before hooks; omitted if the result comes later. */
  readonly output?: ToolOutput;
}
/** A segment of a code cell. */
interface CellSpan extends SpanBase {
  readonly kind: "cell";
  readonly code: string;
  /** How the segment ended, for example `done` or `waiting`. */
  readonly state?: string;
}
/** A call of a plugin's handler. Handlers of `stream`, which run for each delta, have none. */
interface HookSpan extends SpanBase {
  readonly kind: "hook";
  readonly hook: string;
  readonly plugin: string;
  /** The kind of a `lifecycle` event. */
  readonly event?: string;
  /** The call that a tool hook is about. */
  readonly call?: ToolCall;
}
/** A wait of a turn. */
interface WaitSpan extends SpanBase {
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
interface CommitSpan extends SpanBase {
  readonly kind: "commit";
  readonly outcome: TurnOutcome["kind"];
}
/** Background work, while this process runs it. */
interface JobSpan extends SpanBase {
  readonly kind: "job";
  readonly jobId: JobId;
  readonly job: JobKind;
  readonly operation?: string;
  readonly label?: string;
  /** Omitted if this process released the job before its end. */
  readonly state?: JobState;
}
/** A call of the store. It has no parent. */
interface StoreSpan extends SpanBase {
  readonly kind: "store";
  /** For example `commit` or `jobs.claim`. */
  readonly operation: string;
}
export { Span, TelemetryEvent, TelemetryListener };
