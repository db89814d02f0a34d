import type { SessionConfig } from "../model/config.ts";
import type { BlobHash, EffectName, InputId, SessionId, TurnId, WaitKey } from "../model/ids.ts";
import type { NewJob } from "../model/job.ts";
import type { Json, JsonObject } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import type { CellStatus, Draft, Part } from "../model/message.ts";
import type { Addition } from "../model/node.ts";
import type { PromptPart } from "../model/prompt.ts";
import type { Attempt, ProviderFailureClass, Reply } from "../model/request.ts";
import type { CallPolicy, ResultPart, ToolFailure, ToolOutput } from "../model/tool.ts";
import type { Spent, Usage } from "../model/usage.ts";
import type { WaitAnswer, WaitedTurns } from "../model/wait.ts";
import type { PlacedCall, PlacedSleep } from "./effect.ts";

/** What a plugin stores: its state, and large values as blobs by name. */
export interface PluginState {
  readonly state: Json;
  readonly blobs?: { readonly [name: string]: BlobHash };
}
/** The whole new state of every plugin that changed something, by plugin id. */
export type Changes = { readonly [plugin: string]: PluginState };

/** Everything that the fold needs of the world at the start of the turn. It never reads the current configuration. */
export interface Opened {
  readonly kind: "opened";
  readonly at: number;
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  readonly inputId: InputId;
  /** A store may keep the input only in the input's row, and put it back here when it reads. */
  readonly input: Draft;
  readonly step: number;
  /** `options`: the protocol's own, in the frame in which the turn starts. */
  readonly protocol: { readonly id: string; readonly version: number; readonly options?: Json };
  readonly host: string;
  readonly plugins: readonly { readonly id: string; readonly version: string }[];
  readonly limits: Limits;
  readonly config: SessionConfig;
  /** The session's plugin options, as given. */
  readonly options?: { readonly [plugin: string]: Json };
  /** Input for plugins, by extension id. */
  readonly extensions?: JsonObject;
  /** Prompt parts for this turn only. */
  readonly prompt?: readonly PromptPart[];
  /** The JSON Schema of the typed result, if one was requested. */
  readonly output?: JsonObject;
  /** The schema was wrapped in an object: the result is its field `value`. */
  readonly unwraps?: true;
  /** Before it starts, the turn takes other inputs that wait for separate turns. */
  readonly merges?: true;
  /** The turn takes in waiting injected inputs before it starts. */
  readonly takes?: true;
  /** The caller's notes about the input. */
  readonly metadata?: JsonObject;
  /** When the input was accepted, if the turn was not opened at that time. */
  readonly acceptedAt?: number;
  readonly generation: number;
}

/** Stages without a hook in this turn. The machine skips them, and the journal does not contain them. */
export interface Skips {
  /** Later rounds need no preparation; `unless-code`: until code has run in the turn. */
  readonly prepare?: true | "unless-code";
  readonly gate?: true;
  readonly settle?: true;
  /** `unless-code`: only a turn in which code ran has something to store there. */
  readonly finalize?: true | "unless-code";
}
/** The policies of tools with one, by name. Used without a gate, which would give them per call. */
export type Policies = { readonly [tool: string]: CallPolicy };

export interface Abort {
  readonly plugin: string;
  readonly code: string;
  readonly message: string;
}

export type Verdict =
  | { readonly kind: "pass"; readonly input?: Json; readonly policy?: CallPolicy }
  /** The call will not run: it was denied, answered by a hook, unknown or invalid. */
  | { readonly kind: "settled"; readonly output: ToolOutput }
  | {
      readonly kind: "wait";
      readonly key: WaitKey;
      readonly until: number;
      /** The reason that is shown with the question, and the plugin that asks. */
      readonly reason?: string;
      readonly plugin?: string;
      /** The JSON Schema of the tool's arguments, which checks edited ones when the answer is given. */
      readonly schema?: JsonObject;
      readonly input?: Json;
      readonly policy?: CallPolicy;
    };

type Wait = Extract<Verdict, { readonly kind: "wait" }>;
/** A verdict before it is recorded: it has the duration of its wait. `verdictAt` sets the end. */
export type Judged = Exclude<Verdict, Wait> | (Omit<Wait, "until"> & { readonly waitMs: number });

/** The change of one result by the after-hooks. Null if they did not change it and the plain projection is used. */
export type Settlement = { readonly output?: ToolOutput; readonly parts?: readonly ResultPart[] } | null;

export interface Failure {
  readonly class: ProviderFailureClass | "plugin" | "runtime" | "limit";
  readonly code: string;
  readonly message: string;
  readonly plugin?: string;
}

/** How a code cell ended, and what a model sees of it. */
export interface CellOutput {
  readonly state: CellStatus;
  readonly parts: readonly ResultPart[];
  readonly finish?: Json;
  /** The code asks to continue with this task in a fresh frame. */
  readonly continues?: { readonly task: string; readonly seed?: Json };
}

/** An input that a turn takes at a boundary: a message, or nodes that others appended. */
export type TakenInput =
  | { readonly inputId: InputId; readonly message: Draft }
  | { readonly inputId: InputId; readonly nodes: readonly Addition[] };

/** Nodes that a hook or a tool appends to its own session. */
export interface Appending {
  readonly nodes: readonly Addition[];
  /** The caller's name for it: a repeat, in this turn or later, appends nothing. `hash` is that of the nodes. */
  readonly operation?: { readonly name: string; readonly hash: string };
}

/** An answer closes the effect that it names. */
type Answered = {
  readonly at: number;
  readonly effect: EffectName;
  readonly changes?: Changes;
  /** The spending of nested model calls (`complete`) during the effect. */
  readonly spent?: readonly Spent[];
  /** The notes of nested calls that `spent` includes, so that none is counted twice. */
  readonly booked?: readonly string[];
  /** The nodes that hooks and tools appended to the conversation during the effect. */
  readonly appends?: readonly Appending[];
  /** Inputs whose nodes are in `appends`: others appended them while the turn was open. */
  readonly taken?: readonly InputId[];
  /** Jobs that start with this answer. Their rows are written with it. */
  readonly spawns?: readonly NewJob[];
};

export type Answer = Answered &
  (
    | {
        readonly kind: "prepared";
        /** The prompt and the catalog; omitted if unchanged since the round before. */
        readonly prompt?: BlobHash;
        readonly catalog?: BlobHash;
        /** The volatile prompt parts of this round, placed after the conversation. */
        readonly tail?: string;
        /** The messages that plugins show the model in place of the conversation, as JSON. */
        readonly shown?: BlobHash;
        /** The parts of the prompt as JSON; omitted if no plugin added one. */
        readonly parts?: BlobHash;
        /** Plugins added tools for this turn only. */
        readonly hasTools?: true;
        readonly messages?: readonly Draft[];
        readonly abort?: Abort;
        /** A plugin answers the turn, without a model call. */
        readonly answer?: { readonly plugin: string; readonly text: string };
        /** A plugin wants the conversation compacted before the model call. `instructions` are for the compactor. */
        readonly compact?: true;
        readonly instructions?: string;
        readonly frame?: { readonly task: string; readonly seed?: Json; readonly name?: string };
        /** Whether response hooks and compactors are installed. Without them, the turn skips these stages. */
        readonly responds?: true;
        readonly compacts?: true;
        readonly skips?: Skips;
        readonly policies?: Policies;
      }
    | {
        readonly kind: "replied";
        readonly reply: Reply;
        readonly attempts?: readonly Attempt[];
        /** The model that was called instead of the session's. */
        readonly model?: string;
        /** The time from the start of the last attempt to its first output. Omitted if it took no measurable time. */
        readonly firstMs?: number;
      }
    | { readonly kind: "responded"; readonly parts?: readonly Part[] }
    | { readonly kind: "gated"; readonly verdicts: readonly Verdict[]; readonly abort?: Abort }
    | { readonly kind: "returned"; readonly output: ToolOutput }
    /**
     * The call continues without its tool: until its result is given, or until the turns that it waits for have ended.
     */
    | {
        readonly kind: "deferred";
        readonly key: WaitKey;
        readonly until: number;
        /** The question to a person; omitted for a result from elsewhere. */
        readonly question?: string;
        readonly schema?: JsonObject;
        readonly on?: WaitedTurns;
        /** The result of the call if the turn is cancelled meanwhile; omitted if it is unknown. */
        readonly ifStopped?: ToolFailure;
      }
    | {
        readonly kind: "settled";
        readonly results: readonly Settlement[];
        readonly messages?: readonly Draft[];
        readonly abort?: Abort;
      }
    /** The code waits for these calls and sleeps, and for earlier open ones. */
    | {
        readonly kind: "called";
        readonly calls: readonly PlacedCall[];
        readonly sleeps?: readonly PlacedSleep[];
        /** How far the cell has computed. A replay must reach the same value. */
        readonly meter?: number;
        /** The external values that the segment got. A replay gets the same. */
        readonly given?: Json;
      }
    /** The cell has ended. */
    | {
        readonly kind: "executed";
        readonly output: CellOutput;
        readonly meter?: number;
        /** A hash of what the code keeps. A replay must reach the same value. */
        readonly heap?: string;
        readonly given?: Json;
      }
    | {
        readonly kind: "bounded";
        readonly inputs?: readonly TakenInput[];
        readonly messages?: readonly Draft[];
        readonly abort?: Abort;
        readonly compact?: true;
        readonly instructions?: string;
        /** Tools were added to the session, so the next round is prepared again. */
        readonly hasNewTools?: true;
      }
    | { readonly kind: "compacted"; readonly seed?: readonly Draft[] }
    | { readonly kind: "resolved"; readonly answer: WaitAnswer }
    | { readonly kind: "slept" }
    | { readonly kind: "interrupted"; readonly key?: WaitKey; readonly until?: number }
    /** `forgets`: cells ran, and their variables could not be stored. */
    | { readonly kind: "finalized"; readonly messages?: readonly Draft[]; readonly forgets?: true }
    | {
        readonly kind: "failed";
        readonly error: Failure;
        readonly attempts?: readonly Attempt[];
        readonly usage?: Usage;
        readonly model?: string;
        /** The output of the model before the call broke off. */
        readonly partial?: readonly Part[];
      }
  );

/** An operation that ran while the turn only waited. Its changes belong to the turn and are committed with it. */
export interface Applied {
  readonly kind: "applied";
  readonly at: number;
  /** The name of the operation, unique over all sessions. */
  readonly operation: string;
  /** The receipts for repeats, if the caller named the operation. */
  readonly parts?: readonly { readonly operation: string; readonly receipt: Json }[];
  readonly changes?: Changes;
  readonly appends?: readonly Appending[];
  /** The session's own settings from the next turn on. */
  readonly config?: Partial<SessionConfig>;
  readonly spent?: readonly Spent[];
  readonly spawns?: readonly NewJob[];
}

export type TurnEvent =
  | Opened
  | Answer
  | {
      readonly kind: "resumed";
      readonly at: number;
      readonly step: number;
      readonly generation: number;
      /** The process had abandoned the turn because its store failed. That is not a crash, however often it happens. */
      readonly isFault?: true;
      /** The process that resumed the turn. */
      readonly by?: string;
    }
  | Applied
  | { readonly kind: "cancelled"; readonly at: number; readonly requestId: string; readonly reason: string };
