import { CallId, Cursor, EffectName, InputId, SessionId, TurnId } from "../model/ids.js";
import { Draft, ToolStatus } from "../model/message.js";
import { Json } from "../model/json.js";
import { OpenWait, SessionView } from "../model/view.js";
import { ProviderFailureClass } from "../model/request.js";
import { SessionEvent } from "../model/event.js";
import { ToolOutput } from "../model/tool.js";
import { TurnOutcome } from "../model/outcome.js";
import { Usage } from "../model/usage.js";
/** The view of a session. Plain JSON that never changes, so you can compare views and their parts by identity. */
interface ClientView {
  readonly sessionId: SessionId;
  /** The last `session.read()` in the view, with the messages. Omitted until there is one. */
  readonly read?: SessionView;
  /** Inputs that are in no ended turn: those of `read`, then those accepted since. */
  readonly inputs: readonly ClientInput[];
  /** The turns that are not among the messages of `read`: those that have ended since, then the running one. */
  readonly turns: readonly ClientTurn[];
  /** What jobs of the session wait for, such as an approval, oldest first. Omitted if there is none. */
  readonly jobWaits?: readonly ClientWait[];
  /** The last fact: pass it to `observe({ after })` to continue from here. */
  readonly cursor?: Cursor;
  /** There are facts that `read` does not contain. Fold a new `session.read()` to get their messages. */
  readonly isBehind: boolean;
}
interface ClientInput {
  readonly id: InputId;
  /**
   * The turn that has taken the input, or that the input opens unless a running turn takes it. An injected input opens
   * no turn.
   */
  readonly turnId?: TurnId;
  /** The text of the input: known after a `session.read()` that contains the input. */
  readonly message?: Draft;
  /** The fact of the input. Omitted if a `session.read()` contained it. */
  readonly cursor?: Cursor;
}
type ClientTurn = RunningTurn | EndedTurn;
/**
 * A turn that has previews, or that waits. Except for `waits`, all of it is preview: the end of the turn replaces it.
 */
interface RunningTurn {
  readonly kind: "running";
  readonly id: TurnId;
  /**
   * Grows when another process resumes the turn, which shows it again from the beginning. 0 while the turn waits and
   * has shown nothing here.
   */
  readonly generation: number;
  /** The texts, thoughts and calls, in the order of their arrival. */
  readonly parts: readonly (ClientText | ClientCall)[];
  /** What the turn waits for, such as an approval, oldest first. */
  readonly waits: readonly ClientWait[];
  /** Set while a retry of the model call is near. */
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
  /** The turn was stored as a branch: it is not among the messages. */
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
  /** How the call's work ended and how long it took. Set when it has returned. */
  readonly status?: ToolStatus;
  readonly ms?: number;
  /** The result of the call. Set when it has ended. */
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
 * Computes the view after an event, or with a `session.read()`. Start with `undefined`. Throws a TypeError for an event
 * of another session: use `foldTree` for `observe({ tree: true })`.
 */
declare function fold(view: ClientView | undefined, change: SessionEvent | SessionView): ClientView;
/** The views of a session and its descendants, by id, after an event of `observe({ tree: true })`. */
declare function foldTree(views: {
  readonly [sessionId: string]: ClientView;
}, event: SessionEvent): {
  readonly [sessionId: string]: ClientView;
};
/**
 * The view without the previews of running turns. Call it each time you start to observe again, because the previews
 * are sent again. Waits stay in the view.
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
