import { Addition } from "../model/node.js";
import { Attempt, ProviderFailureClass, Reply } from "../model/request.js";
import { BlobHash, EffectName, InputId, SessionId, TurnId, WaitKey } from "../model/ids.js";
import { CallPolicy, ResultPart, ToolFailure, ToolOutput } from "../model/tool.js";
import { CellStatus, Draft, Part } from "../model/message.js";
import { Json, JsonObject } from "../model/json.js";
import { Limits } from "../model/limits.js";
import { NewJob } from "../model/job.js";
import { PlacedCall, PlacedSleep } from "./effect.js";
import { PromptPart } from "../model/prompt.js";
import { SessionConfig } from "../model/config.js";
import { Spent, Usage } from "../model/usage.js";
import { WaitAnswer, WaitedTurns } from "../model/wait.js";
/** What a plugin keeps: its state, and large values as blobs by name. */
interface PluginState {
  readonly state: Json;
  readonly blobs?: {
    readonly [name: string]: BlobHash;
  };
}
/** The new state, whole, of every plugin that changed something; by plugin id. */
type Changes = {
  readonly [plugin: string]: PluginState;
};
/** Everything the fold needs to know of the world in which the turn began. It never reads today's configuration. */
interface Opened {
  readonly kind: "opened";
  readonly at: number;
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  readonly inputId: InputId;
  /** A store may keep the input once, with the input's own row, and put it back here when it reads. */
  readonly input: Draft;
  readonly step: number;
  /** `options`: the protocol's own, as the frame has them in which the turn begins. */
  readonly protocol: {
    readonly id: string;
    readonly version: number;
    readonly options?: Json;
  };
  readonly host: string;
  readonly plugins: readonly {
    readonly id: string;
    readonly version: string;
  }[];
  readonly limits: Limits;
  readonly config: SessionConfig;
  /** The session's own options of plugins, as they were given. */
  readonly options?: {
    readonly [plugin: string]: Json;
  };
  /** Input for plugins, by the id of the extension. */
  readonly extensions?: JsonObject;
  /** Prompt parts for this turn alone. */
  readonly prompt?: readonly PromptPart[];
  /** The JSON Schema of the typed result, when the caller asked for one. */
  readonly output?: JsonObject;
  /** The schema was wrapped in an object: the result is its field `value`. */
  readonly unwraps?: true;
  /** Other inputs that wait for turns of their own are taken into this turn before it begins. */
  readonly merges?: true;
  /** Injected inputs wait: the turn takes them in before it begins. */
  readonly takes?: true;
  readonly generation: number;
}
/** Stages that no plugin hooks in this turn: the machine passes them by, and the journal does not mention them. */
interface Skips {
  /** Rounds after the first need no preparing; `unless-code`: until code has run in the turn. */
  readonly prepare?: true | "unless-code";
  readonly gate?: true;
  readonly settle?: true;
  /** `unless-code`: only a turn in which code ran has something to keep there. */
  readonly finalize?: true | "unless-code";
}
/** The policies of tools that are not plain, by name. Used where there is no gate to give them call by call. */
type Policies = {
  readonly [tool: string]: CallPolicy;
};
interface Abort {
  readonly plugin: string;
  readonly code: string;
  readonly message: string;
}
type Verdict = {
  readonly kind: "pass";
  readonly input?: Json;
  readonly policy?: CallPolicy;
} |
/** The call will not run: it was denied, short-circuited, unknown or invalid. */
{
  readonly kind: "settled";
  readonly output: ToolOutput;
} | {
  readonly kind: "wait";
  readonly key: WaitKey;
  readonly until: number;
  /** Why somebody is asked, shown to them; and the plugin that wants it. */
  readonly reason?: string;
  readonly plugin?: string;
  /** Of the tool's arguments, as JSON Schema: edited ones are checked where the answer is given. */
  readonly schema?: JsonObject;
  readonly input?: Json;
  readonly policy?: CallPolicy;
};
/** What the after-hooks made of one result; null where they left it alone and the plain projection stands. */
type Settlement = {
  readonly output?: ToolOutput;
  readonly parts?: readonly ResultPart[];
} | null;
interface Failure {
  readonly class: ProviderFailureClass | "plugin" | "runtime" | "limit";
  readonly code: string;
  readonly message: string;
  readonly plugin?: string;
}
/** How a code cell ended, and what a model is shown of it. */
interface CellOutput {
  readonly state: CellStatus;
  readonly parts: readonly ResultPart[];
  readonly finish?: Json;
  /** The code wants to go on with this task in a fresh frame. */
  readonly continues?: {
    readonly task: string;
    readonly seed?: Json;
  };
}
/** What a turn takes in at a boundary: something that was said, or nodes that others appended meanwhile. */
type TakenInput = {
  readonly inputId: InputId;
  readonly message: Draft;
} | {
  readonly inputId: InputId;
  readonly nodes: readonly Addition[];
};
/** Nodes that a hook or a tool appends to its own session. */
interface Appending {
  readonly nodes: readonly Addition[];
  /** Named by the caller: a repeat, in this turn or later, appends nothing. `hash` is of the nodes. */
  readonly operation?: {
    readonly name: string;
    readonly hash: string;
  };
}
/** An answer closes the effect that it names. */
type Answered = {
  readonly at: number;
  readonly effect: EffectName;
  readonly changes?: Changes;
  /** What nested model calls (`complete`) used while the effect ran. */
  readonly spent?: readonly Spent[];
  /** The notes of nested calls that `spent` includes, so that none is booked twice. */
  readonly booked?: readonly string[];
  /** What hooks and tools appended to the conversation while the effect ran. */
  readonly appends?: readonly Appending[];
  /** Inputs whose nodes are among `appends`: others appended them while the turn was open. */
  readonly taken?: readonly InputId[];
  /** Jobs that begin with this answer: their rows are written with it. */
  readonly spawns?: readonly NewJob[];
};
type Answer = Answered & ({
  readonly kind: "prepared";
  /** The prompt and the catalog; left out when nothing changed since the round before. */
  readonly prompt?: BlobHash;
  readonly catalog?: BlobHash;
  /** The volatile prompt parts of this round, said after the conversation. */
  readonly tail?: string;
  /** The messages that plugins show the model instead of the plain conversation, as JSON. */
  readonly shown?: BlobHash;
  /** The parts that the prompt was made of, as JSON; left out when no plugin gave any. */
  readonly parts?: BlobHash;
  /** Plugins gave tools for this turn alone. */
  readonly hasTools?: true;
  readonly messages?: readonly Draft[];
  readonly abort?: Abort;
  /** A plugin answers the turn; no model is asked. */
  readonly answer?: {
    readonly plugin: string;
    readonly text: string;
  };
  /** A plugin wants the conversation compacted before the model is asked. */
  readonly compact?: true;
  readonly frame?: {
    readonly task: string;
    readonly seed?: Json;
    readonly name?: string;
  };
  /** Whether response hooks and compactors are installed. Where they are not, the turn has no such stage. */
  readonly responds?: true;
  readonly compacts?: true;
  readonly skips?: Skips;
  readonly policies?: Policies;
} | {
  readonly kind: "replied";
  readonly reply: Reply;
  readonly attempts?: readonly Attempt[];
  /** The model that was asked instead of the session's. */
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
} |
/** The call goes on without its tool: until its result is given, or the turns have ended for which it waits. */
{
  readonly kind: "deferred";
  readonly key: WaitKey;
  readonly until: number;
  /** A person is asked this; left out for a result that comes from elsewhere. */
  readonly question?: string;
  readonly schema?: JsonObject;
  readonly on?: WaitedTurns;
  /** How the call ends when the turn is stopped meanwhile; left out where that is unknown. */
  readonly ifStopped?: ToolFailure;
} | {
  readonly kind: "settled";
  readonly results: readonly Settlement[];
  readonly messages?: readonly Draft[];
  readonly abort?: Abort;
} |
/** The code waits: for these calls and sleeps, and for those before them that are open. */
{
  readonly kind: "called";
  readonly calls: readonly PlacedCall[];
  readonly sleeps?: readonly PlacedSleep[];
  /** How far the cell has computed. A replay must come to the same. */
  readonly meter?: number;
  /** What the segment was given of the world around it. A replay is given the same. */
  readonly given?: Json;
} |
/** The cell is over. */
{
  readonly kind: "executed";
  readonly output: CellOutput;
  readonly meter?: number;
  /** A hash of what the code keeps. A replay must come to the same. */
  readonly heap?: string;
  readonly given?: Json;
} | {
  readonly kind: "bounded";
  readonly inputs?: readonly TakenInput[];
  readonly messages?: readonly Draft[];
  readonly abort?: Abort;
  readonly compact?: true;
  /** Tools were added to the session: the next round is prepared anew. */
  readonly hasNewTools?: true;
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
} |
/** `forgets`: cells ran, and what they keep could not be kept. */
{
  readonly kind: "finalized";
  readonly messages?: readonly Draft[];
  readonly forgets?: true;
} | {
  readonly kind: "failed";
  readonly error: Failure;
  readonly attempts?: readonly Attempt[];
  readonly usage?: Usage;
  readonly model?: string;
  /** What the model had said when the call broke off. */
  readonly partial?: readonly Part[];
});
/** An operation that ran while the turn only waited. What it changed is the turn's, and is committed with it. */
interface Applied {
  readonly kind: "applied";
  readonly at: number;
  /** The name of the operation, unique over all sessions. */
  readonly operation: string;
  /** What is kept of it for repeats, where its caller named it. */
  readonly parts?: readonly {
    readonly operation: string;
    readonly receipt: Json;
  }[];
  readonly changes?: Changes;
  readonly appends?: readonly Appending[];
  /** The session's own settings from the next turn on. */
  readonly config?: Partial<SessionConfig>;
  readonly spent?: readonly Spent[];
  readonly spawns?: readonly NewJob[];
}
type TurnEvent = Opened | Answer | {
  readonly kind: "resumed";
  readonly at: number;
  readonly step: number;
  readonly generation: number;
  /** The process had let the turn go because its store failed: that is no crash, however often it happens. */
  readonly isFault?: true;
} |
/** An operation ran while the turn did nothing but wait. */
Applied | {
  readonly kind: "cancelled";
  readonly at: number;
  readonly requestId: string;
  readonly reason: string;
};
export { Answer, Applied, CellOutput, Opened, PluginState, TurnEvent };
