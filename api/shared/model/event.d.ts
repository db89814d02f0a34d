import { CallId, Cursor, EffectName, InputId, NodeId, SessionId, TurnId, WaitKey } from "./ids.js";
import { Json } from "./json.js";
import { SessionView } from "./view.js";
import { ToolCall, ToolOutput } from "./tool.js";
import { ToolStatus } from "./message.js";
import { TurnOutcome } from "./outcome.js";
import { Usage } from "./usage.js";
/** A preview belongs to one attempt at one effect: a higher key, or the fact, makes lower ones void. */
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
/** What streams while a turn runs. Only a commit makes it true. */
type Preview = Previewed & ({
  readonly kind: "text";
  readonly delta: string;
} | {
  readonly kind: "reasoning";
  readonly delta: string;
} |
/** Everything shown under this key is void: the attempt is tried again. */
{
  readonly kind: "retracted";
} | {
  readonly kind: "toolStarted";
  readonly call: ToolCall;
} | {
  readonly kind: "toolEnded";
  readonly callId: CallId;
  readonly name: string;
  readonly status: ToolStatus;
  readonly ms: number;
  readonly output: ToolOutput;
} | {
  readonly kind: "waiting";
  readonly callId: CallId;
  readonly wait: WaitKey;
  readonly reason: string;
} | {
  readonly kind: "plugin";
  readonly plugin: string;
  readonly name: string;
  readonly payload: Json;
} |
/** Of a session that this turn has started. */
{
  readonly kind: "child";
  readonly event: SessionEvent;
});
/** What is kept. */
type FactEvent = Fact &
/** Durable: it has its turn now, later, or a running turn takes it at a boundary. */
({
  readonly kind: "accepted";
  readonly turnId: TurnId;
  readonly inputId: InputId;
  readonly key?: string;
} | TurnCommitted |
/** Between turns. */
{
  readonly kind: "committed";
  readonly by: "append" | "configure" | "compact" | "command" | "completion";
  readonly nodes: readonly NodeId[];
} |
/** A fresh window begins at this node. */
{
  readonly kind: "frame";
  readonly frame: NodeId;
} |
/** Previews were lost, because the reader did not keep up or came too late for them: this is how the session stands. */
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
  /** Set when the session had moved: the turn was kept beside it. */
  readonly branch?: NodeId;
}
/** Closed; `fact` splits it in two. */
type SessionEvent = Preview | FactEvent;
/** What the readers of one turn see: what it shows, and at last how it ended. */
type TurnProgress = Preview | (Fact & TurnCommitted);
export { PreviewKey, SessionEvent, TurnProgress };
