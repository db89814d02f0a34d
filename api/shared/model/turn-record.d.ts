import { Cursor, EffectName, JobId, SessionId, TurnId, WaitId } from "./ids.js";
import { Json, JsonObject } from "./json.js";
import { Part } from "./message.js";
import { PromptPart } from "./prompt.js";
import { Reply, ToolDeclaration } from "./request.js";
import { ToolCall, ToolOutput } from "./tool.js";
import { TurnOutcome } from "./outcome.js";
import { Usage } from "./usage.js";
import { WaitKind } from "./wait.js";
/** One turn in a list. */
interface TurnRecord {
  readonly id: TurnId;
  readonly sessionId: SessionId;
  /**
   * `queued`: its input waits for another turn. `waiting`: the turn is parked until a person, a job or a time wakes it.
   * `interrupted`: the process that ran it is dead, and any process can resume it.
   */
  readonly state: "queued" | "running" | "waiting" | "interrupted" | "ended";
  /** How it ended, with the code of a stopped or failed turn. */
  readonly outcome?: TurnOutcome["kind"];
  readonly code?: string;
  /** Milliseconds since 1970, as all times. Present if the turn had to wait for another one. */
  readonly acceptedAt?: number;
  /** Omitted for a queued turn, and for a turn that an early version of Bowline ended. */
  readonly startedAt?: number;
  readonly endedAt?: number;
  readonly model?: string;
  /** How many rounds it had: model calls with their work. */
  readonly rounds?: number;
  /** How often a process resumed it. */
  readonly resumes?: number;
  readonly usage?: Usage;
  /** In the currency of `prices`; omitted if a price is unknown. */
  readonly cost?: number;
  readonly metadata?: JsonObject;
  /** Whether `timeline` can show it. */
  readonly hasJournal: boolean;
  /** The position in the list, for `after`. */
  readonly cursor: string;
}
/** One turn with its input and its outcome. */
interface TurnDetails extends Omit<TurnRecord, "outcome" | "code"> {
  /** What the user said; omitted if it is no longer known. */
  readonly input?: readonly Part[];
  readonly outcome?: TurnOutcome;
  /** The fact of its end. */
  readonly endedAs?: Cursor;
  readonly parentId?: SessionId;
  /** The turn or the job that sent its input. Omitted if the app sent it. */
  readonly sentBy?: {
    readonly turnId: TurnId;
  } | {
    readonly jobId: JobId;
  };
  /** Sessions that were created as children of its session while the turn was open. */
  readonly children: readonly SessionId[];
  readonly waits: readonly RecordedWait[];
  /** Each time that a process resumed it. Omitted without a journal. */
  readonly resumed?: readonly {
    readonly at: number;
    readonly by?: string;
    readonly isFault?: true;
  }[];
}
/** A question that the turn asked. */
interface RecordedWait {
  readonly effect: EffectName;
  readonly id: WaitId;
  readonly wants: WaitKind;
  readonly call: ToolCall;
  readonly reason: string;
  readonly askedAt: number;
  readonly until: number;
  readonly answeredAt?: number;
  readonly how?: "answered" | "timeout" | "revoked";
  readonly by?: string;
}
/** What happened in a turn, effect by effect. */
interface TurnTimeline {
  readonly turnId: TurnId;
  readonly sessionId: SessionId;
  readonly isOpen: boolean;
  readonly startedAt: number;
  /** When it ended; for an open turn the time of its latest event. */
  readonly endedAt: number;
  /**
   * False if the present build, protocol or plugins cannot follow the journal. Then an item starts at the time of the
   * previous event.
   */
  readonly isExact: boolean;
  readonly rounds: readonly RecordedRound[];
  /** In the order of their starts. */
  readonly items: readonly TimelineItem[];
}
/** What the model got in a round. */
interface RecordedRound {
  readonly round: number;
  readonly startedAt: number;
  /** The system prompt. */
  readonly prompt?: string;
  /** The parts of the prompt; omitted if no plugin added one. */
  readonly parts?: readonly PromptPart[];
  readonly tools?: readonly ToolDeclaration[];
  /** Text after the conversation that is not stored in history. */
  readonly tail?: string;
}
type TimelineItem = {
  /** The position in the turn: `r2.call.0` is the first call of round 2. */
  readonly effect: EffectName;
  readonly round: number;
  readonly startedAt: number;
  /** Omitted if an open turn has not finished the effect. */
  readonly endedAt?: number;
  /** The new states of the plugins that changed theirs. */
  readonly changes?: {
    readonly [plugin: string]: Json;
  };
  /** Jobs that it started. */
  readonly jobs?: readonly JobId[];
  /** The effect failed. */
  readonly error?: {
    readonly code: string;
    readonly message: string;
    readonly plugin?: string;
  };
} & ({
  /** One attempt at a model call. */
  readonly kind: "model";
  readonly model: string;
  readonly attempt: number;
  /** The time to the first output. */
  readonly firstMs?: number;
  readonly finish?: Reply["finish"];
  readonly usage?: Usage;
  readonly parts?: readonly Part[];
  /** Why this attempt failed. */
  readonly failure?: string;
  /** The wait before the next attempt. */
  readonly waitedMs?: number;
} | {
  readonly kind: "tool";
  readonly call: ToolCall;
  readonly attempt: number;
  /** The result before hooks; omitted while the call runs or was deferred. */
  readonly output?: ToolOutput;
  readonly isDeferred?: true;
  /** A crash interrupted the call, and its tool must not be repeated. */
  readonly isInterrupted?: true;
} | {
  /** Hooks of one stage. */
  readonly kind: "hooks";
  readonly stage: "prepare" | "respond" | "gate" | "settle" | "boundary" | "compact" | "finalize";
  /** The verdicts of a gate, by call. */
  readonly verdicts?: readonly {
    readonly name: string;
    readonly verdict: "pass" | "settled" | "wait";
    readonly reason?: string;
    readonly plugin?: string;
  }[];
  /** A plugin ended the turn. */
  readonly abort?: {
    readonly plugin: string;
    readonly code: string;
    readonly message: string;
  };
  /** Inputs that a boundary took. */
  readonly inputs?: number;
  /** A new frame began. */
  readonly isFrame?: true;
} | {
  readonly kind: "cell";
  readonly code: string;
  readonly state?: string;
  readonly isDelivery?: true;
} | {
  readonly kind: "wait";
  readonly id: WaitId;
  readonly wants: WaitKind | "turns";
  readonly reason: string;
  readonly call?: ToolCall;
  readonly until: number;
  readonly how?: "answered" | "timeout" | "revoked";
  readonly by?: string;
} | {
  readonly kind: "sleep";
  readonly until: number;
} | {
  readonly kind: "resumed";
  readonly by?: string;
  readonly isFault?: true;
} | {
  readonly kind: "cancelled";
  readonly reason: string;
} | {
  readonly kind: "operation";
  readonly operation: string;
} |
/** An event of a turn that cannot be followed (`isExact` is false). */
{
  readonly kind: "event";
  readonly event: string;
});
export { RecordedWait, TimelineItem, TurnDetails, TurnRecord, TurnTimeline };
