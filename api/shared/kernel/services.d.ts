import { Availability, ToolListing, ToolManifest, ToolState } from "../model/tool.js";
import { BlobHash, InputId, NodeId, SessionId, TurnId } from "../model/ids.js";
import { CancelAnswer, TurnOutcome } from "../model/outcome.js";
import { Draft, Message } from "../model/message.js";
import { ExtensionValue } from "./extension.js";
import { InjectOptions, InjectedMessage, Input } from "../model/input.js";
import { Json, JsonObject } from "../model/json.js";
import { JsonSchema, OutputOf, Schema } from "../model/schema.js";
import { ModelSettings, Reply, ToolDeclaration } from "../model/request.js";
import { Optional } from "../model/known.js";
import { SessionConfig } from "../model/config.js";
import { TurnProgress } from "../model/event.js";
import { Usage } from "../model/usage.js";
/**
 * A session as plugins may read it: what is committed, and for the current session also what its turn has added so far.
 */
interface SessionReading {
  readonly id: SessionId;
  readonly parentId?: SessionId;
  readonly head?: NodeId;
  readonly messages: readonly Message[];
  readonly config: SessionConfig;
  readonly usage: Usage;
  readonly turns: number;
  /** The turn that is open, in this process or another. */
  readonly openTurn?: TurnId;
  /** Restrictions of the session; left out when there are none. */
  readonly authority?: Authority;
}
/** Permission to call one tool, under a name of its own. */
interface ToolGrant {
  /** The source of the tool: `app`, a plugin's id, or a provider's id. */
  readonly source: string;
  readonly tool: string;
  /** Given to the tool together with the bindings of its manifest. */
  readonly bindings?: JsonObject | undefined;
}
/** Restrictions of a session, most often of a child. Default: none. */
interface Authority {
  /** Tools that it never has, whatever plugins or the tool search say. */
  readonly hiddenTools?: readonly string[] | undefined;
  /** The only tools that it may have. Default: no such restriction. */
  readonly toolAccess?: readonly string[] | undefined;
  readonly subagent?: {
    readonly capability: string;
    /** Generations below the root: 1 in a child of a root session. */
    readonly depth: number;
    readonly depthMax: number;
    /** The id of the turn that made it. */
    readonly cause?: string | undefined;
  } | undefined;
}
/** One edit of one tool in a catalog. */
interface CatalogOverlay {
  readonly tool: string;
  readonly hide?: true | undefined;
  readonly availability?: Availability | undefined;
  readonly description?: string | undefined;
  readonly note?: string | undefined;
}
/** How a turn of another session ended. */
interface TurnEnd {
  readonly turnId: TurnId;
  readonly outcome: TurnOutcome;
  readonly usage: Usage;
}
/** Options of `sessions.turn`. */
interface SessionTurnOptions {
  /** The same key gives the same turn. Default in a turn: one that a rerun after a crash has again. */
  readonly key?: string | undefined;
  /** Lets the turn end with a value of this schema. */
  readonly output?: JsonSchema | undefined;
  /** Cancels the turn when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Input for plugins and the protocol of that session, as in `TurnOptions`. */
  readonly extensions?: readonly ExtensionValue[] | undefined;
}
/** A turn of another session. It goes on whatever becomes of the caller. */
interface SessionTurn extends AsyncIterable<TurnProgress> {
  /** Resolves when the input is durable. */
  readonly id: Promise<TurnId>;
  /** Waits for its end, wherever it runs. In a turn of that session, or below it, that is `operation.reentrant`. */
  result(): Promise<TurnEnd>;
  cancel(reason?: string): Promise<CancelAnswer>;
}
/** The tools of a session, for plugins. */
interface ToolsOfSession {
  /** Lists all tools, also those that are off and those whose source is gone. */
  list(): Promise<readonly ToolListing[]>;
  /** Gives the choices as data, to edit and `apply`. */
  export(): Promise<ToolState>;
  /** Applies an edited export; gives the new generation. Throws `tool.generation` when the tools have changed since. */
  apply(state: ToolState): Promise<number>;
  /** Sets how far tools are open to the model, or with `null` back to their default; gives the new generation. */
  set(names: string | readonly string[], availability: Availability | null): Promise<number>;
}
/** Options of one plugin for one session, as they were given. They replace those it was installed with. */
interface PluginOptions {
  readonly plugin: string;
  readonly options: unknown;
}
/** How to make another session. */
interface NewSessionRequest {
  readonly id?: string | undefined;
  /**
   * What to do when a session of this id exists: `refuse` (the default) throws `session.exists`; `take` uses the
   * existing one.
   */
  readonly ifExists?: "refuse" | "take" | undefined;
  /** The session to fork, if not the asking one; `at` is the node at which. */
  readonly from?: string | undefined;
  readonly at?: string | undefined;
  /**
   * `fresh` stands alone; `child` belongs to the asking session and has at most its authority; `fork` shares the
   * history and copies the plugin states.
   */
  readonly kind?: "fresh" | "child" | "fork" | undefined;
  readonly config?: Optional<SessionConfig> | undefined;
  readonly authority?: Authority | undefined;
  /** Edits of its catalog, applied after those of plugins. A fork without its own takes over those of its origin. */
  readonly overlay?: readonly CatalogOverlay[] | undefined;
  /**
   * Options of plugins for it: `[frugal.options({ … })]`. A child and a fork begin with those of the session that they
   * come from, and these replace them plugin by plugin. JSON, and no secrets.
   */
  readonly options?: readonly PluginOptions[] | undefined;
  /** Starts a child with a copy of the parent's plugin states. Default: false. */
  readonly copiesState?: boolean | undefined;
  /** A text for its first turn. `sessions.takeFirstInput` returns it once. */
  readonly firstInput?: string | undefined;
  /** User and system messages with which its conversation begins. */
  readonly seed?: readonly Draft[] | undefined;
}
/** One model call outside the conversation. */
interface CompletionRequest {
  readonly system?: string | undefined;
  readonly messages?: readonly Draft[] | undefined;
  /** A model other than the session's. */
  readonly model?: string | undefined;
  readonly settings?: ModelSettings | undefined;
}
interface CompletionOptions {
  /** A model other than the session's, and than that of the request. */
  readonly model?: string | undefined;
  /** Settings in place of those of the request. */
  readonly settings?: ModelSettings | undefined;
  /** The label under which usage is booked in the ledger. */
  readonly label?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * Told once what the completion cost, in a rerun as well: all model calls of it, also when it fails. It is booked
   * already. What this throws, the completion throws.
   */
  readonly onUsage?: ((usage: Usage) => void) | undefined;
}
/**
 * Model calls beside the conversation. They are booked in the session's ledger, and a rerun after a crash gets the
 * recorded reply.
 */
interface Complete {
  text(prompt: string | CompletionRequest, options?: CompletionOptions): Promise<string>;
  object<S extends Schema>(prompt: string | CompletionRequest, schema: S, options?: CompletionOptions): Promise<OutputOf<S>>;
  reply(request: CompletionRequest, options?: CompletionOptions): Promise<Reply>;
}
/**
 * Background work. Not available yet: what would begin, list or cancel it throws `service.unavailable`; what has nothing
 * to do succeeds.
 */
interface Jobs {
  list(): Promise<readonly Json[]>;
  /** Waits for work that is not shown; there is none. */
  awaitHidden(): Promise<void>;
  /** Throws when one of these handles is not visible here; none is refused. */
  validate(handles: readonly string[]): Promise<void>;
  /** Hands work over to another session. */
  transfer(from: string, to: string, handles: readonly string[]): Promise<void>;
  /** These three never fail: of work that is not known there is nothing to say. */
  unregister(id: string): Promise<void>;
  complete(id: string, state: string): Promise<void>;
  transition(id: string, state: "running" | "idle"): Promise<void>;
  /** Cancels work that nobody refers to any more, and gives the records of what it cancelled. */
  cancelUnreferenced(keep: readonly string[]): Promise<readonly Json[]>;
}
/** What the runtime offers to plugins. A hook is given exactly the services that its row in the table names. */
interface Services {
  readonly session: {
    read(): SessionReading;
    /** Reads any session. Throws `session.unknown`. */
    snapshot(id: string): Promise<SessionReading>;
  };
  readonly catalog: {
    /** All tools that are not off, including those that only a search finds; see `availability`. */
    list(): readonly ToolManifest[];
    /** The declaration of a tool with its schema, which is loaded if need be. */
    describe(name: string): Promise<ToolDeclaration | undefined>;
  };
  /**
   * Changes which tools this session has, from the next round on and across restarts. A tool that uses this needs
   * `writes: true`.
   */
  readonly membership: {
    /** `null` sets tools back to their default. */
    set(names: string | readonly string[], availability: Availability | null): void;
    /** Lets the model call this tool of this source under this name, whether or not the catalog shows it. */
    grant(name: string, grant: ToolGrant): void;
    revoke(name: string): void;
  };
  readonly sessions: {
    create(request: NewSessionRequest): Promise<{
      readonly id: SessionId;
    }>;
    /** Returns the `firstInput` of a session; undefined from the second time on. */
    takeFirstInput(id: string): Promise<string | undefined>;
    /** Starts a turn of another session, to be followed and cancelled as an app would. Never throws. */
    turn(id: string, input: Input, options?: SessionTurnOptions): SessionTurn;
    /**
     * Starts a turn of another session. The same key gives the same turn; in a turn the default key is one that a rerun
     * after a crash has again. The turn goes on whatever becomes of the caller.
     */
    send(id: string, input: Input, options?: {
      readonly key?: string | undefined;
      readonly output?: JsonSchema | undefined;
    }): Promise<{
      readonly turnId: TurnId;
    }>;
    /** Waits for the end of a turn of another session, in whichever process it runs. */
    result(id: string, turnId: string, options?: {
      readonly signal?: AbortSignal | undefined;
    }): Promise<TurnEnd>;
    /** Asks a turn of another session to end. Without `turnId`: the open turn, and inputs that wait are withdrawn. */
    cancel(id: string, turnId?: string, reason?: string): Promise<CancelAnswer>;
    /**
     * Puts a message into a session, this one or another, at the next boundary of its running turn, else when its next
     * turn begins. It opens no turn. In a turn the default id is one that a rerun after a crash has again.
     */
    inject(id: string, message: string | InjectedMessage, options?: InjectOptions): Promise<{
      readonly id: InputId;
    }>;
    /** Lets go of a session that `turn` holds open in this process. Its turns go on. */
    close(id: string): Promise<void>;
    /**
     * The tools of a session. Those of this one change as with `membership`, those of another between its turns.
     */
    tools(id: string): ToolsOfSession;
    /** The children of this session, or of another, without their messages. */
    children(id?: string): Promise<readonly SessionReading[]>;
  };
  readonly graph: {
    /**
     * Adds plugin nodes and messages to the conversation of this session, or of another. In a turn they are kept with
     * what the hook or the tool answers, and follow the results of the round.
     */
    append(nodes: readonly AppendNode[], options?: GraphAppendOptions): Promise<Appended>;
  };
  readonly complete: Complete;
  readonly blobs: {
    put(data: Uint8Array): Promise<BlobHash>;
    get(hash: BlobHash): Promise<Uint8Array | undefined>;
  };
  readonly trace: {
    emit(name: string, payload?: Json): void;
  };
  readonly jobs: Jobs;
}
type AppendNode = {
  readonly kind: "message";
  readonly role: "user" | "system";
  readonly text: string;
} | {
  readonly kind: "plugin";
  readonly type: string;
  readonly body: Json;
};
interface AppendOptions {
  /**
   * A node that must still be on the active path, else the answer is `stale-branch`. Content that was added after it
   * does not matter.
   */
  readonly requiresAncestor?: string | undefined;
  /** Makes the call repeatable: the same id again gets the answer of the first time and adds nothing. */
  readonly operationId?: string | undefined;
}
interface GraphAppendOptions extends AppendOptions {
  /** The session to append to. Default: the one in which the hook, tool or operation runs. */
  readonly session?: string | undefined;
}
type Appended = {
  readonly kind: "appended";
  readonly nodes: readonly NodeId[];
  readonly head: NodeId;
} |
/** Taken, and not yet in its place: an open turn takes it in after the results of its round, or at its end. */
{
  readonly kind: "queued";
  readonly operationId: string;
} | {
  readonly kind: "stale-branch";
  readonly required: string;
};
export {
  AppendNode,
  AppendOptions,
  Appended,
  Authority,
  CatalogOverlay,
  Complete,
  NewSessionRequest,
  PluginOptions,
  Services,
  SessionReading,
  SessionTurn,
};
