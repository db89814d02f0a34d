import { AnyWait, Approval, Delivery } from "../runtime/waits.js";
import { Attachment, TextPart } from "../model/message.js";
import { CancelAnswer } from "../model/outcome.js";
import { CancelledInput, WaitingInput } from "../runtime/session/public-api.js";
import { Comparison, Node } from "../graph/history.js";
import { CreatedSession, SavedStates } from "../kernel/created.js";
import { JobEvent, JobRecord } from "../model/job.js";
import { Json, JsonObject } from "../model/json.js";
import { Occurrence, Subscription } from "../model/trigger.js";
import { OperationDefinition } from "../kernel/operation.js";
import { Receipt } from "../runtime/session/operate.js";
import { SessionConfig } from "../model/config.js";
import { SessionDetails } from "../runtime/session/closed.js";
import { SessionSummary, SessionsPage } from "../runtime/session/list.js";
import { ToolListing } from "../model/tool.js";
import { TreeUsage } from "../runtime/session/app.js";
import { TurnDetails, TurnRecord, TurnTimeline } from "../model/turn-record.js";
import { TurnEvent } from "../turn/event.js";
import { TurnsPage } from "../runtime/records/turns.js";
import { Usage } from "../model/usage.js";
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
/** The spending of turns, in steps of time. */
interface UsageReport {
  readonly since: number;
  readonly until: number;
  /** The length of a step: an hour, or a day when the time is longer than three days. */
  readonly stepMs: number;
  /** A row for each step and model with turns. */
  readonly rows: readonly UsageRow[];
  /** The sessions that spent the most: at most 20. */
  readonly sessions: readonly (Spending & {
    readonly id: string;
    readonly label?: string;
  })[];
  /** Tool calls of turns whose journal is kept: of the latest `toolTurns` turns. */
  readonly tools: readonly {
    readonly name: string;
    readonly calls: number;
    readonly failed: number;
    readonly ms: number;
  }[];
  readonly toolTurns: number;
  /** A report reads a limited number of turns: older turns are missing. */
  readonly isPartial: boolean;
}
interface Spending {
  readonly turns: number;
  readonly usage: Usage;
  /** Omitted if a price is unknown. */
  readonly cost?: number;
}
interface UsageRow extends Spending {
  /** The beginning of the step. */
  readonly at: number;
  readonly model: string;
  /** Turns that failed or were stopped. */
  readonly failed: number;
}
/** A plugin of a session, and what it adds. */
interface InstalledPlugin {
  readonly id: string;
  readonly version?: string;
  readonly hooks: readonly string[];
  readonly tools: readonly string[];
  readonly operations: readonly OperationDefinition[];
  /** The events that it declares. */
  readonly events: readonly string[];
  readonly monitors: readonly string[];
  readonly hasState: boolean;
}
/** The state of the runtime and its store. Counts stop at 1,000. */
interface Status {
  readonly version: string;
  /** The time of the server. */
  readonly now: number;
  /** When this process began to serve. */
  readonly since: number;
  readonly store: string;
  readonly turns: { readonly [S in "queued" | "running" | "waiting" | "interrupted"]: number; };
  readonly waits: number;
  readonly jobs: number;
  /** When the oldest queued input was accepted: how far behind the workers are. */
  readonly oldestQueuedAt?: number;
  /** Processes that run turns or jobs now. */
  readonly workers: readonly {
    readonly name: string;
    readonly turns: number;
    readonly jobs: number;
    /** When its earliest lease ends unless it is renewed. */
    readonly until?: number;
  }[];
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
    query: {
      readonly since?: number;
      readonly until?: number;
      readonly owner?: string;
    };
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
  InstalledPlugin,
  NewSessionBody,
  OutputOf,
  Problem,
  PublicWait,
  QueryOf,
  RouteName,
  Status,
  UsageReport,
  UsageRow,
};
