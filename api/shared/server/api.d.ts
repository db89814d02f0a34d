import { AnyWait, Approval, Delivery } from "../runtime/waits.js";
import { Attachment, TextPart } from "../model/message.js";
import { CancelAnswer } from "../model/outcome.js";
import { CancelledInput, WaitingInput } from "../runtime/session/public-api.js";
import { Comparison, Node } from "../graph/history.js";
import { CreatedSession, SavedStates } from "../kernel/created.js";
import { InstalledPlugin } from "../runtime/session/installed.js";
import { JobEvent, JobRecord } from "../model/job.js";
import { Json, JsonObject } from "../model/json.js";
import { Occurrence, Subscription } from "../model/trigger.js";
import { OperationDefinition } from "../kernel/operation.js";
import { Receipt } from "../runtime/session/operate.js";
import { RuntimeStatus } from "../runtime/status.js";
import { SessionConfig } from "../model/config.js";
import { SessionDetails } from "../runtime/session/closed.js";
import { SessionSummary, SessionsPage } from "../runtime/session/list.js";
import { ToolListing } from "../model/tool.js";
import { TreeUsage } from "../runtime/session/app.js";
import { TurnDetails, TurnRecord, TurnTimeline } from "../model/turn-record.js";
import { TurnEvent } from "../turn/event.js";
import { TurnsPage } from "../runtime/records/turns.js";
import { UsagePage, UsageReport } from "../runtime/records/usage.js";
/** A wait without its key, which never leaves the server. */
type PublicWait = Omit<AnyWait, "key">;
interface NewSessionBody {
  /** Default: a generated id. */
  readonly id?: string;
  /** A child or a fork comes from the session `from`. Default: `fresh`. */
  readonly kind?: "fresh" | "child" | "fork";
  readonly from?: string;
  readonly tags?: readonly string[];
  /** Only for callers that no owner is bound to. */
  readonly owner?: string;
  readonly config?: Partial<SessionConfig>;
  /** `take` returns the existing session if the same request made it. */
  readonly ifExists?: "take";
}
interface InputBody {
  /** Either `text` or `parts`. */
  readonly text?: string;
  readonly parts?: readonly (string | TextPart | Attachment)[];
  /** A repeated request with the same key is accepted once. */
  readonly key?: string;
  readonly at?: "boundary" | "next-turn";
  readonly metadata?: JsonObject;
}
interface Accepted {
  readonly turnId: string;
}
interface Health {
  readonly ok: true;
  readonly version: string;
}
/** How the runtime and its store are. Numbers stop at about 1,000. */
interface Status extends RuntimeStatus {
  readonly version: string;
  /** When this process began. */
  readonly since: number;
}
type Page = {
  readonly after?: string;
  readonly max?: number;
};
type Reason = {
  readonly reason?: string;
};
/** The input of each route besides the parameters of its path, and its answer. */
interface Api {
  listSessions: {
    query: SessionsPage & {
      /** A text in the id, the label, the owner, a tag or the last answer. */
      readonly search?: string | undefined;
      /** Only sessions without a parent. */
      readonly isRoot?: boolean | undefined;
    };
    output: readonly SessionSummary[];
  };
  createSession: {
    body: NewSessionBody;
    output: CreatedSession;
  };
  getSession: {
    output: SessionDetails;
  };
  findSession: {
    output: SessionSummary;
  };
  configureSession: {
    body: Partial<SessionConfig>;
    output: SessionConfig;
  };
  deleteSession: {
    output: null;
  };
  sessionHistory: {
    query: {
      readonly before?: string;
      readonly max?: number;
    };
    output: readonly Node[];
  };
  sessionStates: {
    output: SavedStates;
  };
  sessionTools: {
    output: readonly ToolListing[];
  };
  sessionUsage: {
    output: TreeUsage;
  };
  sessionOperations: {
    output: readonly OperationDefinition[];
  };
  invokeOperation: {
    body: {
      readonly kind: "query" | "command" | "task";
      readonly input?: Json;
      readonly id?: string;
    };
    output: Receipt<Json>;
  };
  sessionPlugins: {
    output: readonly InstalledPlugin[];
  };
  compareSessions: {
    output: Comparison;
  };
  forkSession: {
    body: {
      readonly at?: string;
      readonly before?: string;
      readonly id?: string;
      readonly label?: string;
    };
    output: {
      readonly id: string;
    };
  };
  compactSession: {
    body: {
      readonly instructions?: string;
    };
    output: Json;
  };
  cancelSession: {
    body: Reason;
    output: CancelAnswer;
  };
  sendInput: {
    body: InputBody;
    output: Accepted;
  };
  listInputs: {
    output: readonly WaitingInput[];
  };
  withdrawInput: {
    output: readonly CancelledInput[];
  };
  sessionEvents: {
    query: {
      readonly after?: string;
      readonly tree?: boolean;
    };
    output: "events";
  };
  putBlob: {
    query: {
      readonly name?: string;
    };
    output: Attachment;
  };
  getBlob: {
    output: "bytes";
  };
  listTurns: {
    query: TurnsPage;
    output: readonly TurnRecord[];
  };
  getTurn: {
    output: TurnDetails;
  };
  turnTimeline: {
    output: TurnTimeline;
  };
  turnJournal: {
    output: readonly TurnEvent[];
  };
  turnEvents: {
    output: "events";
  };
  cancelTurn: {
    body: Reason;
    output: CancelAnswer;
  };
  listWaits: {
    query: Page & {
      readonly session?: string;
      readonly tree?: string;
    };
    output: readonly PublicWait[];
  };
  getWait: {
    output: PublicWait;
  };
  answerWait: {
    body: Approval | Delivery;
    output: {
      readonly kind: "accepted" | "already-resolved";
    };
  };
  revokeWait: {
    output: {
      readonly kind: "accepted" | "already-resolved";
    };
  };
  listJobs: {
    query: Page & {
      readonly session?: string;
      readonly isLive?: boolean;
    };
    output: readonly JobRecord[];
  };
  getJob: {
    output: JobRecord;
  };
  jobEvents: {
    output: readonly JobEvent[];
  };
  cancelJob: {
    body: Reason;
    output: JobRecord;
  };
  signalJob: {
    body: {
      readonly payload?: Json;
      readonly key?: string;
    };
    output: null;
  };
  listTriggers: {
    query: {
      readonly session?: string;
    };
    output: readonly Subscription[];
  };
  runTrigger: {
    /** A repeated request with the same key starts nothing. */
    body: {
      readonly key?: string;
    };
    output: Occurrence;
  };
  setTrigger: {
    body: {
      readonly isEnabled: boolean;
    };
    output: Subscription;
  };
  removeTrigger: {
    output: null;
  };
  listOccurrences: {
    query: {
      readonly event?: string;
      readonly before?: string;
      readonly max?: number;
    };
    output: readonly Occurrence[];
  };
  emitEvent: {
    body: {
      readonly payload?: Json;
      readonly key?: string;
      readonly source?: string;
    };
    output: Occurrence;
  };
  events: {
    query: {
      readonly after?: string;
      readonly owner?: string;
      readonly tag?: string;
    };
    output: "events";
  };
  usage: {
    query: UsagePage;
    output: UsageReport;
  };
  status: {
    output: Status;
  };
  check: {
    body: {
      readonly deep?: boolean;
    };
    output: {
      readonly findings: readonly {
        readonly item: string;
        readonly problem: string;
      }[];
      readonly ms: number;
    };
  };
  health: {
    output: Health;
  };
  openapi: {
    output: JsonObject;
  };
}
type RouteName = keyof Api;
type QueryOf<N extends RouteName> = Api[N] extends {
  query: infer Q;
} ? Q : Record<never, never>;
type BodyOf<N extends RouteName> = Api[N] extends {
  body: infer B;
} ? B : undefined;
type OutputOf<N extends RouteName> = Api[N]["output"];
/** The body of an error: `application/problem+json`. */
interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: string;
  readonly hint: string;
  /** Whether a retry can help: the `retry` of Bowline's errors. */
  readonly retry: "never" | "unchanged" | "reload" | "reopen";
}
export {
  Accepted,
  Api,
  BodyOf,
  Health,
  InputBody,
  NewSessionBody,
  OutputOf,
  Problem,
  PublicWait,
  QueryOf,
  RouteName,
  Status,
};
