import { CallId, Cursor, EffectName, InputId, SessionId, TurnId } from "../model/ids.js";
import { Draft, ToolStatus } from "../model/message.js";
import { Json } from "../model/json.js";
import { OpenWait, SessionView } from "../model/view.js";
import { ProviderFailureClass } from "../model/request.js";
import { SessionEvent } from "../model/event.js";
import { ToolOutput } from "../model/tool.js";
import { TurnOutcome } from "../model/outcome.js";
import { Usage } from "../model/usage.js";
/** What there is to show of a session. Plain JSON, and never changed: compare views and their parts by identity. */
interface ClientView {
  readonly sessionId: SessionId;
  /** The last `session.read()` that was folded in, with the messages. Left out until there was one. */
  readonly read?: SessionView;
  /** Inputs that are in no ended turn: those of `read`, then those accepted since. */
  readonly inputs: readonly ClientInput[];
  /** The turns that are not among the messages of `read`: those that have ended since, then the running one. */
  readonly turns: readonly ClientTurn[];
  /** What jobs of the session wait for, such as an approval, oldest first. Left out where there is nothing. */
  readonly jobWaits?: readonly ClientWait[];
  /** The last fact: pass it to `observe({ after })` to continue from here. */
  readonly cursor?: Cursor;
  /** Facts came that are not in `read`. Fold a new `session.read()` in to have their messages. */
  readonly isBehind: boolean;
}
interface ClientInput {
  readonly id: InputId;
  /** The turn that has taken it, or that it opens unless a running turn takes it. An injected one opens none. */
  readonly turnId?: TurnId;
  /** What was said: known once a `session.read()` that has the input was folded in. */
  readonly message?: Draft;
  /** The fact that told of it. Left out if it was read. */
  readonly cursor?: Cursor;
}
type ClientTurn = RunningTurn | EndedTurn;
/** A turn that shows itself, or that waits. All but `waits` is preview: the end of the turn takes its place. */
interface RunningTurn {
  readonly kind: "running";
  readonly id: TurnId;
  /**
   * Grows when another process resumes the turn, which shows it again from the beginning. 0 while the turn waits and
   * has shown nothing here.
   */
  readonly generation: number;
  /** What was said, thought and called, in the order in which it came. */
  readonly parts: readonly (ClientText | ClientCall)[];
  /** What the turn waits for, such as an approval, oldest first. */
  readonly waits: readonly ClientWait[];
  /** Set while the model is about to be asked again. */
  readonly retrying?: ClientRetry;
  /** The sessions that the turn has started, by id. */
  readonly children: {
    readonly [sessionId: string]: ClientView;
  };
}
interface EndedTurn {
  readonly kind: "ended";
  readonly id: TurnId;
  readonly outcome: TurnOutcome;
  readonly usage: Usage;
  /** The turn was kept as a branch: it is not among the messages. */
  readonly isBranch: boolean;
  readonly cursor: Cursor;
}
interface ClientText {
  readonly kind: "text" | "reasoning";
  /** The place in the turn, such as `r1.ask`. */
  readonly effect: EffectName;
  readonly attempt: number;
  readonly text: string;
}
/** A tool call. `returned`: its own work has ended, and hooks look at its result; `ended`: it has its output. */
interface ClientCall {
  readonly kind: "call";
  /** The place in the turn, such as `r1.call.0`. Identifies the call; providers repeat `callId`. */
  readonly effect: EffectName;
  readonly callId: CallId;
  /** The call of the `batch` tool that this call is part of. */
  readonly parentId?: CallId;
  readonly name: string;
  readonly input: Json;
  readonly state: "running" | "returned" | "ended";
  /** Since it has returned: how its work ended, and how long it took. */
  readonly status?: ToolStatus;
  readonly ms?: number;
  /** Since it has ended. */
  readonly output?: ToolOutput;
  /** What the tool has printed in its last attempt. */
  readonly printed: string;
  /** The newest progress of its last attempt. */
  readonly progress?: Json;
  readonly attempt: number;
}
/** Something that a turn waits for. On the server `runtime.waits.resolve(id, answer)` answers it. */
type ClientWait = OpenWait;
interface ClientRetry {
  readonly class: ProviderFailureClass;
  /** The attempt that failed, from 1. */
  readonly attempt: number;
  readonly waitMs: number;
}
/**
 * The view after an event, or with a `session.read()`. Begin with `undefined`. Throws a TypeError for an event of
 * another session: for `observe({ tree: true })` there is `foldTree`.
 */
declare function fold(view: ClientView | undefined, change: SessionEvent | SessionView): ClientView;
/** The views of a session and its descendants, by id, after an event of `observe({ tree: true })`. */
declare function foldTree(views: {
  readonly [sessionId: string]: ClientView;
}, event: SessionEvent): {
  readonly [sessionId: string]: ClientView;
};
/**
 * The view without what running turns have shown. Call it whenever you begin to observe again: what they have shown is
 * told again. What they wait for stays.
 */
declare const rejoined: (view: ClientView) => ClientView;
export {
  ClientCall,
  ClientInput,
  ClientRetry,
  ClientText,
  ClientTurn,
  ClientView,
  ClientWait,
  EndedTurn,
  RunningTurn,
  fold,
  foldTree,
  rejoined,
};
