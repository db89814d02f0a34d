import { Availability, ToolListOptions, ToolListing, ToolState } from "../model/tool.js";
import { CancelAnswer, TurnOutcome } from "../model/outcome.js";
import { Draft, Message } from "../model/message.js";
import { ExtensionValue } from "./extension.js";
import { Input } from "../model/input.js";
import { Json, JsonObject } from "../model/json.js";
import { JsonSchema } from "../model/schema.js";
import { ModelMismatch } from "../model/view.js";
import { NodeId, SessionId, TurnId } from "../model/ids.js";
import { Optional } from "../model/known.js";
import { SavedStates, SessionKind } from "./created.js";
import { SessionConfig } from "../model/config.js";
import { Spent, Usage } from "../model/usage.js";
import { TurnProgress } from "../model/event.js";
/**
 * What plugins read of a session: its committed data, and for the current session also the data that its turn has added
 * so far.
 */
interface SessionReading {
  readonly id: SessionId;
  readonly parentId?: SessionId;
  readonly head?: NodeId;
  readonly messages: readonly Message[];
  readonly config: SessionConfig;
  readonly usage: Usage;
  /** The usage by source and model. */
  readonly ledger: readonly Spent[];
  readonly turns: number;
  /** The options that the protocol keeps in the session. */
  readonly protocolOptions?: Json;
  /** The turn that is open, in this process or another. */
  readonly openTurn?: TurnId;
  /** Restrictions of the session; left out when there are none. */
  readonly permissions?: Permissions;
  readonly modelMismatch?: ModelMismatch;
}
/** Permission to call one tool under a separate name. */
interface ToolGrant {
  /** The source of the tool: `app`, a plugin's id, or a provider's id. */
  readonly source: string;
  readonly tool: string;
  /** Given to the tool together with the bindings of its manifest. */
  readonly bindings?: JsonObject | undefined;
}
/** Restrictions of a session, most often of a child. Default: none. */
interface Permissions {
  /** Tools that it never gets, even if plugins or the tool search offer them. */
  readonly hiddenTools?: readonly string[] | undefined;
  /** The only tools that it may have. Default: no such restriction. */
  readonly toolAccess?: readonly string[] | undefined;
  readonly subagent?: {
    readonly capability: string;
    /** The number of ancestors: 1 in a child of a root session. */
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
  /** Two calls with the same key return the same turn. Default in a turn: a key that a rerun after a crash repeats. */
  readonly key?: string | undefined;
  /** Lets the turn end with a value of this schema. */
  readonly output?: JsonSchema | undefined;
  /** Cancels the turn when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Input for plugins and the protocol of that session, as in `TurnOptions`. */
  readonly extensions?: readonly ExtensionValue[] | undefined;
}
/** A turn of another session. It continues also when the caller fails or ends. */
interface SessionTurn extends AsyncIterable<TurnProgress> {
  /** Resolves when the input is durable. */
  readonly id: Promise<TurnId>;
  /**
   * Waits until the turn ends, in any process. Throws `operation.reentrant` in a turn of that session or of a session
   * below it, because such a turn would wait for itself.
   */
  result(): Promise<TurnEnd>;
  /** Waits as `result()` does, and resolves with the text of the answer. Throws `turn.unanswered`, as `Turn.text` does. */
  text(): Promise<string>;
  cancel(reason?: string): Promise<CancelAnswer>;
}
/** The tools of a session, for plugins. */
interface ToolsOfSession {
  /**
   * Lists the tools that the model gets: after the edits of plugins, the session's overlay and its permissions, without
   * tools that are switched off. A `searchable` tool is found by a search only. A protocol may declare them in its own
   * way.
   */
  list(options?: ToolListOptions): Promise<readonly ToolListing[]>;
  /** Returns the choices as data, to edit and `apply`. */
  export(): Promise<ToolState>;
  /** Applies an edited export and returns the new generation. Throws `tool.generation` if the tools changed since. */
  apply(state: ToolState): Promise<number>;
  /** Sets the availability of tools, with `null` to their default, and returns the new generation. */
  set(names: string | readonly string[], availability: Availability | null): Promise<number>;
}
/** Options of one plugin for one session. They replace the options of the installed plugin. */
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
  /**
   * For an app: the parent of a child, or the session to fork. For a plugin: the session to fork. Default: the asking
   * session.
   */
  readonly from?: string | undefined;
  /** The last node that a fork shares. Default: the head. */
  readonly at?: string | undefined;
  /**
   * `fresh` (the default) has no parent; `child` has a parent and at most its permissions; `fork` shares the history
   * and copies the plugin states.
   */
  readonly kind?: SessionKind | undefined;
  readonly config?: Optional<SessionConfig> | undefined;
  readonly permissions?: Permissions | undefined;
  /** Edits of its catalog, applied after those of plugins. A fork without own edits gets those of its origin. */
  readonly overlay?: readonly CatalogOverlay[] | undefined;
  /**
   * False omits the tools of the runtime and its plugins: a turn has only the tools of its `context` hooks and granted
   * tools. Default: true; in a fork the value of its origin.
   */
  readonly includeBaseTools?: boolean | undefined;
  /**
   * Options of plugins for it: `[frugal.options({ … })]`. A child and a fork begin with the options of the session that
   * they come from. For each plugin given here, these options replace them. They are JSON, without secrets.
   */
  readonly options?: readonly PluginOptions[] | undefined;
  /** Starts a child with a copy of the parent's plugin states. Default: false. */
  readonly copiesState?: boolean | undefined;
  /** The first plugin states, in the form of `session.states()`. They replace copied ones of the same plugins. */
  readonly states?: SavedStates | undefined;
  /** The input of its first turn. `sessions.takeFirstInput` returns it once. */
  readonly firstInput?: Input | undefined;
  /** User and system messages with which its conversation begins. */
  readonly seed?: readonly Draft[] | undefined;
}
export {
  CatalogOverlay,
  NewSessionRequest,
  Permissions,
  PluginOptions,
  SessionReading,
  SessionTurn,
  SessionTurnOptions,
  ToolGrant,
  ToolsOfSession,
  TurnEnd,
};
