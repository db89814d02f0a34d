import { Attempt, ProviderFailureClass, Reply } from "../model/request.js";
import { BlobHash, EffectName, InputId, SessionId, TurnId, WaitKey } from "../model/ids.js";
import { CallPolicy, ResultPart, ToolOutput } from "../model/tool.js";
import { Draft, Part } from "../model/message.js";
import { Json, JsonObject } from "../model/json.js";
import { Limits } from "../model/limits.js";
import { PlacedCall } from "./effect.js";
import { PromptPart } from "../model/prompt.js";
import { SessionConfig } from "../model/config.js";
import { Spent, Usage } from "../model/usage.js";
/** What a plugin keeps: its state, and bigger things as blobs by name. */
interface PluginState {
  readonly state: Json;
  readonly blobs?: {
    readonly [name: string]: BlobHash;
  };
}
/** By plugin id, the whole of what those keep that changed something. */
type Changes = {
  readonly [plugin: string]: PluginState;
};
/** Everything a fold needs to know of the world in which the turn began; it never reads today's configuration. */
interface Opened {
  readonly kind: "opened";
  readonly at: number;
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  readonly inputId: InputId;
  /** The input itself; a store may keep it once, with the input's row, and put it back here when it reads. */
  readonly input: Draft;
  readonly step: number;
  readonly protocol: {
    readonly id: string;
    readonly version: number;
  };
  readonly host: string;
  readonly plugins: readonly {
    readonly id: string;
    readonly version: string;
  }[];
  readonly limits: Limits;
  readonly config: SessionConfig;
  /** Parts of the prompt for this turn alone. */
  readonly prompt?: readonly PromptPart[];
  /** The JSON Schema of a typed result, when the caller asked for one. */
  readonly output?: JsonObject;
  /** The result is the field `value` of what is handed in. */
  readonly unwraps?: true;
  /** What else waits for a turn of its own is taken into this one before it begins. */
  readonly merges?: true;
  readonly generation: number;
}
/** Stages at which nobody has anything to do in this turn: the machine passes them by, and nothing is journaled there. */
interface Skips {
  /** Rounds after the first need no preparing. */
  readonly prepare?: true;
  readonly gate?: true;
  readonly settle?: true;
  readonly finalize?: true;
}
/** Of tools that are not plain, by name; without a gate to tell them call by call. */
type Policies = {
  readonly [tool: string]: CallPolicy;
};
/** A plugin ended the turn. */
interface Abort {
  readonly plugin: string;
  readonly code: string;
  readonly message: string;
}
/** What the gate said of one call. */
type Verdict = {
  readonly kind: "pass";
  readonly input?: Json;
  readonly policy?: CallPolicy;
} |
/** Denied, short-circuited, unknown or invalid: it will not run. */
{
  readonly kind: "settled";
  readonly output: ToolOutput;
} | {
  readonly kind: "wait";
  readonly key: WaitKey;
  readonly until: number;
  /** Why somebody is asked. */
  readonly reason?: string;
  readonly input?: Json;
  readonly policy?: CallPolicy;
};
/** What the after-hooks made of one result; nothing where they left it alone and its plain projection stands. */
type Settlement = {
  readonly output?: ToolOutput;
  readonly parts?: readonly ResultPart[];
} | null;
type WaitAnswer = {
  readonly kind: "value";
  readonly value: Json;
} | {
  readonly kind: "timeout";
} | {
  readonly kind: "revoked";
};
interface Failure {
  readonly class: ProviderFailureClass | "plugin" | "runtime" | "limit";
  readonly code: string;
  readonly message: string;
  readonly plugin?: string;
}
interface CellOutput {
  readonly state: "done" | "threw" | "stalled" | "stopped";
  readonly parts: readonly ResultPart[];
  readonly finish?: Json;
}
/** An answer closes the effect it names. */
type Answered = {
  readonly at: number;
  readonly effect: EffectName;
  readonly changes?: Changes;
  /** What nested model calls cost while it ran. */
  readonly spent?: readonly Spent[];
  /** Which noted ones that counts. */
  readonly booked?: readonly string[];
};
type Answer = Answered & ({
  readonly kind: "prepared";
  /** Left out when nothing changed since the round before. */
  readonly prompt?: BlobHash;
  readonly catalog?: BlobHash;
  /** What is said after the conversation in this round. */
  readonly tail?: string;
  /** The messages that plugins show instead of the plain conversation, as JSON. */
  readonly shown?: BlobHash;
  /** What the prompt was made of, as JSON; left out when plugins had no part in it. */
  readonly parts?: BlobHash;
  /** Plugins gave tools for this turn. */
  readonly hasTools?: true;
  readonly messages?: readonly Draft[];
  readonly abort?: Abort;
  /** A plugin wants the conversation compacted before the model is asked. */
  readonly compact?: true;
  readonly frame?: {
    readonly task: string;
    readonly seed?: Json;
  };
  /** Response hooks and compactors are installed: without them the turn does not stop for them. */
  readonly responds?: true;
  readonly compacts?: true;
  readonly skips?: Skips;
  readonly policies?: Policies;
} | {
  readonly kind: "replied";
  readonly reply: Reply;
  readonly attempts?: readonly Attempt[];
  /** Asked instead of the session's. */
  readonly model?: string;
} | {
  readonly kind: "responded";
  readonly parts?: readonly Part[];
} | {
  readonly kind: "gated";
  readonly verdicts: readonly Verdict[];
  readonly abort?: Abort;
} | {
  readonly kind: "returned";
  readonly output: ToolOutput;
} | {
  readonly kind: "deferred";
  readonly key: WaitKey;
  readonly until: number;
} | {
  readonly kind: "settled";
  readonly results: readonly Settlement[];
  readonly messages?: readonly Draft[];
  readonly abort?: Abort;
} | {
  readonly kind: "executed";
  readonly output: CellOutput;
} | {
  readonly kind: "bounded";
  readonly inputs?: readonly {
    readonly inputId: InputId;
    readonly message: Draft;
  }[];
  readonly messages?: readonly Draft[];
  readonly abort?: Abort;
  readonly compact?: true;
} | {
  readonly kind: "compacted";
  readonly seed?: readonly Draft[];
} | {
  readonly kind: "resolved";
  readonly answer: WaitAnswer;
} | {
  readonly kind: "slept";
} | {
  readonly kind: "interrupted";
  readonly key?: WaitKey;
  readonly until?: number;
} | {
  readonly kind: "finalized";
  readonly messages?: readonly Draft[];
} | {
  readonly kind: "failed";
  readonly error: Failure;
  readonly attempts?: readonly Attempt[];
  readonly usage?: Usage;
  readonly model?: string;
  /** What a model had said when the call broke off. */
  readonly partial?: readonly Part[];
});
type TurnEvent = Opened | Answer | {
  readonly kind: "resumed";
  readonly at: number;
  readonly step: number;
  readonly generation: number;
} |
/** Calls made by a running code cell; it stays open. */
{
  readonly kind: "called";
  readonly at: number;
  readonly effect: EffectName;
  readonly calls: readonly PlacedCall[];
} |
/** A queued operation ran on a parked turn. */
{
  readonly kind: "applied";
  readonly at: number;
  readonly inputId: InputId;
  readonly changes: Changes;
} | {
  readonly kind: "cancelled";
  readonly at: number;
  readonly requestId: string;
  readonly reason: string;
};
export { Answer, CellOutput, Opened, PluginState, TurnEvent, WaitAnswer };
