import { Availability, ToolManifest } from "../model/tool.js";
import { BlobHash, NodeId, SessionId, TurnId } from "../model/ids.js";
import { CancelAnswer, TurnOutcome } from "../model/outcome.js";
import { Draft, Message } from "../model/message.js";
import { Json, JsonObject } from "../model/json.js";
import { JsonSchema, OutputOf, Schema } from "../model/schema.js";
import { ModelSettings, Reply, ToolDeclaration } from "../model/request.js";
import { SessionConfig } from "../model/config.js";
import { Usage } from "../model/usage.js";
/** A session as it may be read: what is committed, and of the current one what its turn has added so far. */
interface SessionReading {
  readonly id: SessionId;
  readonly parentId?: SessionId;
  readonly head?: NodeId;
  readonly messages: readonly Message[];
  readonly config: SessionConfig;
  readonly usage: Usage;
  readonly turns: number;
  /** The turn that is open, here or elsewhere. */
  readonly openTurn?: TurnId;
  /** What it may do, where that is less than everything. */
  readonly authority?: Authority;
}
/** Authority to call one tool under a name of its own. */
interface ToolGrant {
  /** `app`, a plugin's id, or a provider's. */
  readonly source: string;
  readonly tool: string;
  /** Given to the tool with its own bindings. */
  readonly bindings?: JsonObject;
}
/** What a child may do. */
interface Authority {
  /** Tools it never has, whatever plugins or tool search say. */
  readonly hiddenTools?: readonly string[];
  /** The only tools it has. */
  readonly toolAccess?: readonly string[];
  readonly subagent?: {
    readonly capability: string;
    /** 1 in a child of a root. */
    readonly depth: number;
    readonly depthMax: number;
    /** The turn that made it. */
    readonly cause?: string;
  };
}
/** One edit of a session's catalog. */
interface CatalogOverlay {
  readonly tool: string;
  readonly hide?: true;
  readonly availability?: Availability;
  readonly description?: string;
  readonly note?: string;
}
/** How a turn of another session ended. */
interface TurnEnd {
  readonly turnId: TurnId;
  readonly outcome: TurnOutcome;
  readonly usage: Usage;
}
interface NewSessionRequest {
  readonly id?: string;
  /** What to do when there is one of this id: `refuse` it (`session.exists`), unless `take` says that it is the same. */
  readonly ifExists?: "refuse" | "take";
  /** The session to fork, if not this one, and the node. */
  readonly from?: string;
  readonly at?: string;
  /** `child` of the session that asks, with its authority; `fork` shares its history and copies its states. */
  readonly kind?: "fresh" | "child" | "fork";
  readonly config?: Partial<SessionConfig>;
  readonly authority?: Authority;
  /** Edits of its catalog, after those of plugins; a fork without its own has its origin's. */
  readonly overlay?: readonly CatalogOverlay[];
  /** Whether a child begins with a copy of the parent's plugin states. */
  readonly copiesState?: boolean;
  /** Said to it first; `sessions.takeFirstInput` gives it once. */
  readonly firstInput?: string;
  /** User and system messages that its conversation begins with. */
  readonly seed?: readonly Draft[];
}
/** One model call outside the conversation. */
interface CompletionRequest {
  readonly system?: string;
  readonly messages?: readonly Draft[];
  /** Another model than the session's. */
  readonly model?: string;
  readonly settings?: ModelSettings;
}
interface CompletionOptions {
  /** Under which its usage is booked. */
  readonly label?: string;
  readonly signal?: AbortSignal;
}
interface Complete {
  text(prompt: string | CompletionRequest, options?: CompletionOptions): Promise<string>;
  object<S extends Schema>(prompt: string | CompletionRequest, schema: S, options?: CompletionOptions): Promise<OutputOf<S>>;
  reply(request: CompletionRequest, options?: CompletionOptions): Promise<Reply>;
}
/** Work in the background; with the jobs runtime. */
interface Jobs {
  list(): Promise<readonly Json[]>;
}
/** What the runtime offers to plugins. A hook is given exactly the services that its row in the table names. */
interface Services {
  readonly session: {
    read(): SessionReading;
    /** Of any session; throws `session.unknown`. */
    snapshot(id: string): Promise<SessionReading>;
  };
  readonly catalog: {
    /** Also those that can only be found by a search; `availability` tells. */
    list(): readonly ToolManifest[];
    /** With its schema, which is loaded if need be. */
    describe(name: string): Promise<ToolDeclaration | undefined>;
  };
  /** Which tools this session has, from the next round on, also after a restart. A tool needs `writes: true` for it. */
  readonly membership: {
    set(names: string | readonly string[], availability: Availability): void;
    /** Lets the model call this tool of this source under this name, whatever the catalog shows. */
    grant(name: string, grant: ToolGrant): void;
    revoke(name: string): void;
  };
  readonly sessions: {
    create(request: NewSessionRequest): Promise<{
      readonly id: SessionId;
    }>;
    /** What `firstInput` said, once. */
    takeFirstInput(id: string): Promise<string | undefined>;
    /** Starts a turn of another session; the same key gives the same turn. It goes on whatever becomes of this one. */
    send(id: string, input: string, options?: {
      readonly key?: string;
      readonly output?: JsonSchema;
    }): Promise<{
      readonly turnId: TurnId;
    }>;
    /** How a turn of another session ended; waits for it, wherever it runs. */
    result(id: string, turnId: string, options?: {
      readonly signal?: AbortSignal;
    }): Promise<TurnEnd>;
    /** Asks a turn of another session to end; without one, whatever is open there, and takes back what waits. */
    cancel(id: string, turnId?: string, reason?: string): Promise<CancelAnswer>;
    /** The children of this session, or of another; without their messages. */
    children(id?: string): Promise<readonly SessionReading[]>;
  };
  readonly graph: {
    /** Adds plugin nodes and messages to the conversation between turns. */
    append(nodes: readonly AppendNode[], options?: AppendOptions): Promise<Appended>;
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
  /** Must still be on the active path; content that came after it is fine. */
  readonly requiresAncestor?: string;
  /** The same operation again is answered as the first time. */
  readonly operationId?: string;
}
type Appended = {
  readonly kind: "appended";
  readonly nodes: readonly NodeId[];
  readonly head: NodeId;
} | {
  readonly kind: "stale-branch";
  readonly required: string;
};
export { AppendNode, AppendOptions, Appended, CatalogOverlay, Complete, NewSessionRequest, Services, SessionReading };
