import { CallId, Cursor, EffectName, InputId, JobId, NodeId, SessionId, TurnId, WaitId } from "./ids.js";
import { Json } from "./json.js";
import { ProviderFailureClass } from "./request.js";
import { SessionView } from "./view.js";
import { ToolCall, ToolOutput } from "./tool.js";
import { ToolStatus } from "./message.js";
import { TurnOutcome } from "./outcome.js";
import { Usage } from "./usage.js";
import { WaitKind } from "./wait.js";
/**
 * Names the attempt that a preview belongs to. Once a preview with a higher generation or attempt of the same effect
 * arrives, or the committed fact, discard the lower ones.
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
/**
 * Streams while a turn runs, so that a screen can show it. Only the commit is a fact: a preview may be retracted or
 * lost.
 */
type Preview = Previewed & ({
  readonly kind: "text";
  readonly delta: string;
} | {
  readonly kind: "reasoning";
  readonly delta: string;
} |
/** Discard everything shown under this key: the attempt is being tried again. */
{
  readonly kind: "retracted";
} |
/** A model call failed and is made again after `waitMs`. `attempt` is the one that failed, from 1. */
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
/** How far a running tool is, by `progress` of its context. Only the newest one counts. */
{
  readonly kind: "toolProgress";
  readonly callId: CallId;
  readonly value: Json;
} |
/** The call's own work is over; hooks may still look at its result, which comes with `toolEnded`. */
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
});
/** A fact: it is in the store, has a cursor, and is never taken back. */
type FactEvent = Fact & ({
  readonly kind: "accepted";
  readonly turnId?: TurnId;
  readonly inputId: InputId;
  readonly key?: string;
} | TurnCommitted | Waiting | Resolved |
/** A change between turns. */
{
  readonly kind: "committed";
  readonly by: "append" | "configure" | "compact" | "command" | "completion";
  readonly nodes: readonly NodeId[];
} |
/** A fresh context window begins at this node. */
{
  readonly kind: "frame";
  readonly frame: NodeId;
} |
/**
 * Previews were lost because the reader was too slow or came too late. `view` is the session as it stands: draw it
 * anew.
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
  readonly outcome: TurnOutcome;
  readonly usage: Usage;
  /** Set when the session had moved meanwhile: the turn was kept as a branch, and the head stayed where it was. */
  readonly branch?: NodeId;
}
/** A turn or a job waits for an answer. `runtime.waits.resolve(wait, answer)` answers it. */
interface Waiting {
  readonly kind: "waiting";
  /** Either of these two. */
  readonly turnId?: TurnId;
  readonly jobId?: JobId;
  readonly wait: WaitId;
  readonly wants: WaitKind;
  /** The position of the wait in the turn, such as `r1.call.0.w`. */
  readonly effect: EffectName;
  readonly callId: CallId;
  /** As it is made if it is approved: hooks may have replaced the arguments of `toolStarted`. */
  readonly call: ToolCall;
  readonly reason: string;
  /** When it can no longer be answered: milliseconds since 1970. */
  readonly until: number;
}
/** A wait was answered, or its time is up, or it was revoked. */
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
/** Everything an observer of a session is told. `fact` tells previews from facts. */
type SessionEvent = Preview | FactEvent;
/** Everything a reader of one turn is told: its previews, what it waits for, and at last its `committed` fact. */
type TurnProgress = Preview | (Fact & (TurnCommitted | Waiting | Resolved));
export { Preview, PreviewKey, SessionEvent, TurnProgress };
