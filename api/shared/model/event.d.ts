import { CallId, Cursor, EffectName, InputId, JobId, NodeId, SessionId, TurnId, WaitId } from "./ids.js";
import { Json, JsonObject } from "./json.js";
import { ProviderFailureClass } from "./request.js";
import { SessionView } from "./view.js";
import { ToolCall, ToolOutput } from "./tool.js";
import { ToolStatus } from "./message.js";
import { TurnOutcome } from "./outcome.js";
import { Usage } from "./usage.js";
import { WaitKind } from "./wait.js";
/**
 * Identifies the attempt of a preview. When a preview of the same effect with a higher generation or attempt arrives,
 * or the committed fact, discard the lower ones.
 */
interface PreviewKey {
  readonly effect: EffectName;
  readonly generation: number;
  readonly attempt: number;
}
interface Previewed {
  readonly fact: false;
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  readonly key: PreviewKey;
}
interface Fact {
  readonly fact: true;
  readonly sessionId: SessionId;
  readonly cursor: Cursor;
}
/** Arrives while a turn runs, so that a screen can show it. A preview is not a fact: it can be retracted or lost. */
type Preview = Previewed & ({
  readonly kind: "text";
  readonly delta: string;
} | {
  readonly kind: "reasoning";
  readonly delta: string;
} |
/** Discard everything shown under this key, because the attempt is repeated. */
{
  readonly kind: "retracted";
} |
/** A model call failed and is repeated after `waitMs`. `attempt` is the failed attempt, from 1. */
{
  readonly kind: "retrying";
  readonly class: ProviderFailureClass;
  readonly attempt: number;
  readonly waitMs: number;
} | {
  readonly kind: "toolStarted";
  readonly call: ToolCall;
} |
/** What a running tool printed, by `output` of its context. Bounded, and never part of the call's result. */
{
  readonly kind: "toolOutput";
  readonly callId: CallId;
  readonly delta: string;
} |
/** The progress of a running tool, by `progress` of its context. Only the newest value counts. */
{
  readonly kind: "toolProgress";
  readonly callId: CallId;
  readonly value: Json;
} |
/** The tool has returned. Hooks can still change its result, which comes with `toolEnded`. */
{
  readonly kind: "toolReturned";
  readonly callId: CallId;
  readonly name: string;
  readonly status: ToolStatus;
  readonly ms: number;
} | {
  readonly kind: "toolEnded";
  readonly callId: CallId;
  readonly name: string;
  readonly status: ToolStatus;
  readonly ms: number;
  readonly output: ToolOutput;
} | {
  readonly kind: "plugin";
  readonly plugin: string;
  readonly name: string;
  readonly payload: Json;
} |
/** An event of a session that this turn started. */
{
  readonly kind: "child";
  readonly event: SessionEvent;
  /** The call of this turn that waits for the child, such as `r1.call.0`. */
  readonly call?: EffectName;
  /** For a subagent: the capability that the model called. */
  readonly capability?: string;
});
/** A fact: it is in the store, has a cursor, and is never withdrawn. */
type FactEvent = Fact & ({
  readonly kind: "accepted";
  readonly turnId?: TurnId;
  readonly inputId: InputId;
  readonly key?: string;
  /** When it was accepted, in milliseconds since 1970, and its text. Omitted if it was withdrawn meanwhile. */
  readonly at?: number;
  readonly text?: string;
  /** The app's notes about the turn that the input opens. */
  readonly metadata?: JsonObject;
} |
/** A waiting input was withdrawn: no turn takes it. */
{
  readonly kind: "withdrawn";
  readonly turnId?: TurnId;
  readonly inputId: InputId;
  readonly key?: string;
} | TurnCommitted | Waiting | Resolved |
/** A change between turns. */
{
  readonly kind: "committed";
  readonly by: "append" | "configure" | "compact" | "command" | "completion";
  /** Omitted for a change that an early version made. */
  readonly at?: number;
  readonly nodes: readonly NodeId[];
} |
/** A fresh context window begins at this node. */
{
  readonly kind: "frame";
  readonly frame: NodeId;
} |
/**
 * Previews were lost, because the reader was too slow or joined too late. Redraw the session from `view`, its
 * current state.
 */
{
  readonly kind: "gap";
  readonly view: SessionView;
});
interface TurnCommitted {
  readonly kind: "committed";
  readonly by: "turn";
  readonly turnId: TurnId;
  readonly nodes: readonly NodeId[];
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly outcome: TurnOutcome;
  readonly usage: Usage;
  /** The model and the number of rounds. Omitted for a turn that an early version ended. */
  readonly model?: string;
  readonly rounds?: number;
  /** Set if the session changed during the turn: the turn was stored as a branch, and the head did not move. */
  readonly branch?: NodeId;
}
/** A turn or a job waits for an answer. `runtime.waits.resolve(wait, answer)` answers it. */
interface Waiting {
  readonly kind: "waiting";
  /** Either `turnId` or `jobId` is set. */
  readonly turnId?: TurnId;
  readonly jobId?: JobId;
  readonly wait: WaitId;
  readonly wants: WaitKind;
  /** The position of the wait in the turn, such as `r1.call.0.w`. */
  readonly effect: EffectName;
  readonly callId: CallId;
  /** The call that runs after an approval. Hooks can have replaced the arguments of `toolStarted`. */
  readonly call: ToolCall;
  readonly reason: string;
  /** The last time at which it can be answered, in milliseconds since 1970. */
  readonly until: number;
}
/** A wait was answered, has expired, or was revoked. */
interface Resolved {
  readonly kind: "resolved";
  readonly turnId?: TurnId;
  readonly jobId?: JobId;
  readonly wait: WaitId;
  readonly wants: WaitKind;
  readonly effect: EffectName;
  readonly how: "answered" | "timeout" | "revoked";
  readonly by?: string;
}
/**
 * A fact in `runtime.observe()`. Its cursor belongs to that feed. To observe a single session, use cursors of that
 * session.
 */
type RuntimeFact = Exclude<FactEvent, {
  readonly kind: "gap";
}> & {
  readonly owner?: string;
  readonly tags?: readonly string[];
};
/** All events of `observe()`. `fact` distinguishes facts from previews. */
type SessionEvent = Preview | FactEvent;
/** All events of one turn: its previews, its waits, and at the end its `committed` fact. */
type TurnProgress = Preview | (Fact & (TurnCommitted | Waiting | Resolved));
export { Preview, RuntimeFact, SessionEvent, TurnProgress };
