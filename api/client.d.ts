import {
  Accepted,
  Api,
  BodyOf,
  InputBody,
  NewSessionBody,
  OutputOf,
  Problem,
  PublicWait,
  QueryOf,
  Status,
} from "./shared/server/api.js";
import { Attachment } from "./shared/model/message.js";
import { CancelAnswer } from "./shared/model/outcome.js";
import {
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
} from "./shared/client/fold.js";
import { ClientError, ClientOptions } from "./shared/client/http.js";
import { CreatedSession } from "./shared/kernel/created.js";
import { InstalledPlugin } from "./shared/runtime/session/installed.js";
import { JobRecord } from "./shared/model/job.js";
import { JsonRoute, PathOf, RequestOptions } from "./shared/client/routes.js";
import { Node } from "./shared/graph/history.js";
import { Occurrence, Subscription } from "./shared/model/trigger.js";
import { Retrying } from "./shared/client/retry.js";
import { RuntimeFact, SessionEvent } from "./shared/model/event.js";
import { SessionDetails } from "./shared/runtime/session/closed.js";
import { SessionSummary } from "./shared/runtime/session/list.js";
import { ToolListing } from "./shared/model/tool.js";
import { TreeUsage } from "./shared/runtime/session/app.js";
import { TurnDetails, TurnRecord, TurnTimeline } from "./shared/model/turn-record.js";
import { TurnEvent } from "./shared/turn/event.js";
import { UsageReport, UsageRow } from "./shared/runtime/records/usage.js";
/** The id of a turn, or a session after a cursor. */
type FollowTarget = string | {
  readonly session: string;
  readonly after?: string | undefined;
};
type StreamOptions = Retrying;
interface ObserveOptions extends Retrying {
  /** The cursor of the last fact that you have. Default: all facts from the first. */
  readonly after?: string | undefined;
  /** Also the events of all descendants. */
  readonly tree?: boolean | undefined;
}
interface EventsOptions extends Retrying {
  /** The cursor of the last fact that you have. Default: all facts from the first. */
  readonly after?: string | undefined;
  readonly owner?: string | undefined;
  readonly tag?: string | undefined;
}
interface SendOptions extends Omit<InputBody, "text" | "parts"> {
  readonly signal?: AbortSignal | undefined;
}
type Client = ReturnType<typeof createClient>;
/** Makes a client. It keeps no connection open between calls. */
declare function createClient(options: ClientOptions): {
  /** Sends a request of the table of routes. */
  request: <N extends JsonRoute>(name: N, options: RequestOptions<N>) => Promise<OutputOf<N>>;
  /** Sends an input. The server accepts it once, even if the client loses the answer and retries. */
  send: (id: string, input: string | NonNullable<InputBody["parts"]>, { signal, key, ...more }?: SendOptions) => Promise<Accepted>;
  /** Reads a session: its messages, its open turn and its waits. */
  read: (id: string) => Promise<SessionDetails>;
  /** The events of a turn until its end, or those of a session after a cursor. */
  follow: (target: FollowTarget, options?: StreamOptions) => AsyncGenerator<SessionEvent, void>;
  /** The events of a session: each fact once, and previews while turns run. */
  observe: (id: string, { after, tree, ...again }?: ObserveOptions) => AsyncGenerator<SessionEvent, void>;
  /** The facts of all sessions that the caller may see. */
  events: ({ after, owner, tag, ...again }?: EventsOptions) => AsyncGenerator<RuntimeFact, void>;
  /** The view of a session after each change. */
  view: (id: string, again?: StreamOptions) => AsyncGenerator<ClientView, void>;
  sessions: {
    create: (body?: BodyOf<"createSession">) => Promise<CreatedSession>;
    get: (id: string) => Promise<SessionDetails>;
    /** The entry of a session in lists. */
    find: (id: string) => Promise<SessionSummary>;
    list: (query?: QueryOf<"listSessions">) => Promise<readonly SessionSummary[]>;
    history: (id: string, query?: QueryOf<"sessionHistory">) => Promise<readonly Node[]>;
    fork: (id: string, body?: BodyOf<"forkSession">) => Promise<{
      readonly id: string;
    }>;
    delete: (id: string) => Promise<null>;
    /** Cancels the open turn and all waiting inputs. */
    cancel: (id: string, reason?: string) => Promise<CancelAnswer>;
    usage: (id: string) => Promise<TreeUsage>;
    tools: (id: string) => Promise<readonly ToolListing[]>;
  };
  turns: {
    list: (query?: QueryOf<"listTurns">) => Promise<readonly TurnRecord[]>;
    get: (id: string) => Promise<TurnDetails>;
    timeline: (id: string) => Promise<TurnTimeline>;
    journal: (id: string) => Promise<readonly TurnEvent[]>;
    cancel: (id: string, reason?: string) => Promise<CancelAnswer>;
  };
  waits: {
    list: (query?: QueryOf<"listWaits">) => Promise<readonly PublicWait[]>;
    get: (id: string) => Promise<PublicWait>;
    /** Answers a wait: an approval, or a value. The first answer counts. */
    answer: (id: string, body: BodyOf<"answerWait">) => Promise<{
      readonly kind: "accepted" | "already-resolved";
    }>;
    /** Withdraws the question. */
    revoke: (id: string) => Promise<{
      readonly kind: "accepted" | "already-resolved";
    }>;
  };
  jobs: {
    list: (query?: QueryOf<"listJobs">) => Promise<readonly JobRecord[]>;
    get: (id: string) => Promise<JobRecord>;
    cancel: (id: string, reason?: string) => Promise<JobRecord>;
    signal: (id: string, name: string, body?: BodyOf<"signalJob">) => Promise<null>;
  };
  triggers: {
    list: (query?: QueryOf<"listTriggers">) => Promise<readonly Subscription[]>;
    occurrences: (query?: QueryOf<"listOccurrences">) => Promise<readonly Occurrence[]>;
    emit: (event: string, body?: BodyOf<"emitEvent">) => Promise<Occurrence>;
  };
  blobs: {
    /** Stores bytes. Pass the returned attachment to `send` in `parts`. */
    put: (session: string, data: Uint8Array | Blob, { mediaType, name }?: BlobOptions) => Promise<Attachment>;
    get: (session: string, hash: string) => Promise<Uint8Array>;
  };
};
interface BlobOptions {
  readonly mediaType?: string | undefined;
  readonly name?: string | undefined;
}
export {
  type Accepted,
  type Api,
  BlobOptions,
  Client,
  type ClientCall,
  ClientError,
  type ClientInput,
  type ClientOptions,
  type ClientRetry,
  type ClientText,
  type ClientTurn,
  type ClientView,
  type ClientWait,
  type EndedTurn,
  EventsOptions,
  FollowTarget,
  type InputBody,
  type InstalledPlugin,
  type JsonRoute,
  type NewSessionBody,
  ObserveOptions,
  type PathOf,
  type Problem,
  type PublicWait,
  type RequestOptions,
  type RunningTurn,
  SendOptions,
  type Status,
  StreamOptions,
  type UsageReport,
  type UsageRow,
  createClient,
  fold,
  foldTree,
  rejoined,
};
