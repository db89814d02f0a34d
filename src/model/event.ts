import type { CallId, Cursor, EffectName, NodeId, SessionId, TurnId, WaitKey } from "./ids.ts";
import type { Json } from "./json.ts";
import type { ToolStatus } from "./message.ts";
import type { TurnOutcome } from "./outcome.ts";
import type { ToolCall, ToolOutput } from "./tool.ts";
import type { Usage } from "./usage.ts";

/** A preview belongs to one attempt at one effect: a higher key, or the fact, makes lower ones void. */
export interface PreviewKey {
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
export type Preview = Previewed &
  (
    | { readonly kind: "text"; readonly delta: string }
    | { readonly kind: "reasoning"; readonly delta: string }
    /** Everything shown under this key is void: the attempt is tried again. */
    | { readonly kind: "retracted" }
    | { readonly kind: "toolStarted"; readonly call: ToolCall }
    | {
        readonly kind: "toolEnded";
        readonly callId: CallId;
        readonly name: string;
        readonly status: ToolStatus;
        readonly ms: number;
        readonly output: ToolOutput;
      }
    | { readonly kind: "waiting"; readonly callId: CallId; readonly wait: WaitKey; readonly reason: string }
    | { readonly kind: "plugin"; readonly plugin: string; readonly name: string; readonly payload: Json }
  );

/** What is kept. */
export type FactEvent = Fact & {
  readonly kind: "committed";
  readonly by: "turn";
  readonly turnId: TurnId;
  readonly nodes: readonly NodeId[];
  readonly outcome: TurnOutcome;
  readonly usage: Usage;
};

/** Closed; `fact` splits it in two. */
export type SessionEvent = Preview | FactEvent;
