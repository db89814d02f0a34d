// Job: the table of hooks. `handlers.ts` has the types that follow from it. The runner, the checks at run time and docs/hooks.md read
// the same rows, so none of them can disagree with the others.
// Not its job: calling hooks (`hook-runner.ts`), merging verdicts on calls (`tool-gates.ts`), checking answers
// (`answers.ts`).

import type { SessionConfig } from "../model/config.ts";
import type { AskedTrail, Draft, Message } from "../model/message.ts";
import type { PromptPart } from "../model/prompt.ts";
import type { ModelRequest, Reply } from "../model/request.ts";
import type { Any } from "../model/schema.ts";
import type { ResultPart, ToolCall, ToolOutput } from "../model/tool.ts";
import type { Usage } from "../model/usage.ts";
import type { CodeExecutor } from "./code.ts";
import type { DirectiveKind } from "./directive.ts";
import type {
  CatalogEdit,
  CatalogSees,
  Chunk,
  ChunkAnswer,
  Compaction,
  CompactionSees,
  GivenInput,
  LifecycleEvent,
  ReplyAnswer,
  StreamEnd,
  TurnContext,
  TurnReport,
} from "./hook-values.ts";
import type { ServiceName } from "./services.ts";
import type { ProseProjector, ProtocolDriverSlot, ProtocolSession } from "./slots.ts";

/**
 * How several answers become one. `observe` has no answers and runs concurrently. `transform` pipes. `collect` keeps
 * all answers in order. In a `gate` the strictest answer wins. `first` takes the first answer that is not empty.
 * `single` has one owner.
 */
export type Family = "observe" | "transform" | "collect" | "gate" | "first" | "single";

export type OnThrow =
  | "fail-turn"
  | "fail-call"
  | "fail-build"
  | "fail-compaction"
  | "refuse-input"
  | "deny"
  | "withhold"
  | "retry"
  | "skip"
  | "issue"
  | "trace"
  | "show";

export interface RowData {
  readonly family: Family;
  /** When the hook fires, as a text for the documentation. */
  readonly fires: string;
  readonly onThrow: OnThrow;
  readonly deadlineMs: number;
  /** Whether the event's `state` can be changed, if the plugin has one. */
  readonly state: "read" | "write";
  /** Exactly these are in the event. */
  readonly services: readonly ServiceName[];
  /** The directives that an answer can contain. The check at run time reads the same list. */
  readonly directives?: readonly DirectiveKind[];
  /** The answer must not be a promise. */
  readonly isSync?: true;
  /** Observers run one after the other instead of concurrently. */
  readonly inOrder?: true;
  /** A slot that must be filled. */
  readonly isRequired?: true;
}

/**
 * An object of types, because without `exactOptionalPropertyTypes` a field of type `never` would be read as
 * `undefined`.
 */
export interface HookTypes<Sees, Answer> {
  readonly "~types"?: { readonly sees: Sees; readonly answer: Answer };
}
const hook =
  <Sees, Answer = never>() =>
  <const Row extends RowData>(row: Row): Row & HookTypes<Sees, Answer> =>
    row;

const EMIT = ["createSession", "emitEvent", "emitTrace"] as const;
const READS = ["session", "catalog"] as const;
const HISTORY = ["session", "sessions", "graph", "jobs", "triggers", "complete"] as const;
const EVERYTHING = [
  "session",
  "catalog",
  "membership",
  "sessions",
  "graph",
  "complete",
  "blobs",
  "trace",
  "jobs",
  "monitors",
  "triggers",
] as const;

/** The rules of composition: when each hook fires, what it gets, what it can answer, and what a throw means. */
export const HOOKS = {
  input: hook<{ readonly input: GivenInput }, string | readonly ResultPart[]>()({
    family: "transform",
    fires: "before an input is stored, once for each key",
    onThrow: "refuse-input",
    deadlineMs: 30_000,
    state: "read",
    services: ["session", "catalog", "blobs"],
  }),
  /** `latestUsage`: the usage of the latest model call; left out without a call in the active frame. */
  context: hook<{ readonly context: TurnContext; readonly latestUsage?: Usage }, TurnContext>()({
    family: "transform",
    fires: "at the start of a turn",
    onThrow: "fail-turn",
    deadlineMs: 30_000,
    state: "write",
    services: HISTORY,
  }),
  compact: hook<CompactionSees, Compaction | readonly Draft[]>()({
    family: "first",
    fires: "when the conversation must be compacted",
    onThrow: "fail-compaction",
    deadlineMs: 300_000,
    state: "write",
    services: HISTORY,
  }),
  prompt: hook<object, PromptPart>()({
    family: "collect",
    fires: "when the prompt is built",
    onThrow: "fail-turn",
    deadlineMs: 30_000,
    state: "read",
    services: ["session", "catalog", "sessions", "jobs", "triggers", "complete"],
  }),
  toolCatalog: hook<CatalogSees, CatalogEdit>()({
    family: "collect",
    fires: "when the catalog is built",
    onThrow: "fail-build",
    deadlineMs: 1_000,
    state: "read",
    services: [],
    isSync: true,
  }),
  beforeTurn: hook<{ readonly input: Message }>()({
    family: "collect",
    fires: "after `context`, before the first model call",
    onThrow: "fail-turn",
    deadlineMs: 30_000,
    state: "write",
    services: ["session", "membership", "sessions", "trace", "jobs", "triggers"],
    directives: ["abortTurn", "answer", "enqueueMessages", "compactHistory", ...EMIT],
  }),
  checkpoint: hook<{ readonly at: "after-work" | "before-completion" }>()({
    family: "collect",
    fires: "when work is done, and before the turn completes",
    onThrow: "fail-turn",
    deadlineMs: 30_000,
    state: "write",
    services: ["session", "sessions", "trace", "jobs", "triggers"],
    directives: ["abortTurn", "enqueueMessages", "compactHistory", ...EMIT],
  }),
  afterTurn: hook<{ readonly report: TurnReport }>()({
    family: "collect",
    fires: "when the turn is assembled, before its commit",
    onThrow: "fail-turn",
    deadlineMs: 30_000,
    state: "write",
    services: ["session", "sessions", "trace", "jobs", "triggers"],
    directives: ["enqueueMessages", ...EMIT],
  }),
  request: hook<{ readonly request: ModelRequest }, ModelRequest>()({
    family: "transform",
    fires: "before each model call; the change is for this call only",
    onThrow: "fail-call",
    deadlineMs: 30_000,
    state: "read",
    services: READS,
  }),
  stream: hook<{ readonly chunk: Chunk }, ChunkAnswer>()({
    family: "transform",
    fires: "for each delta of a reply",
    onThrow: "fail-call",
    deadlineMs: 5_000,
    state: "read",
    services: [],
  }),
  response: hook<{ readonly reply: Reply }, ReplyAnswer>()({
    family: "transform",
    fires: "for each complete reply, after it is recorded; at least once, so derive and do not count",
    onThrow: "retry",
    deadlineMs: 30_000,
    state: "read",
    services: READS,
  }),
  streamFinished: hook<{ readonly reason: StreamEnd }>()({
    family: "observe",
    fires: "when a stream ends, for any reason",
    onThrow: "trace",
    deadlineMs: 5_000,
    state: "read",
    services: [],
    inOrder: true,
  }),
  beforeToolCall: hook<{ readonly call: ToolCall }>()({
    family: "gate",
    fires: "for each resolved call, before its final arguments are validated",
    onThrow: "deny",
    deadlineMs: 30_000,
    state: "write",
    services: EVERYTHING,
    directives: ["abort", "deny", "ask", "shortCircuit", "replaceArgs", ...EMIT],
  }),
  /**
   * `durationMs`: the time of all attempts and waits of the call; left out if the call was not made. `asked`: the
   * people who were asked about the call, with their answers; left out if there were none.
   */
  afterToolCall: hook<{
    readonly call: ToolCall;
    readonly output: ToolOutput;
    readonly durationMs?: number;
    readonly asked?: readonly AskedTrail[];
  }>()({
    family: "gate",
    fires: "for each final result, in call order",
    onThrow: "withhold",
    deadlineMs: 30_000,
    state: "write",
    services: EVERYTHING,
    directives: ["abort", "deny", "replaceResult", "enqueueMessages", ...EMIT],
  }),
  projectResult: hook<
    /** `parts`: what the model would see without the hook. */
    {
      readonly call: ToolCall;
      readonly output: ToolOutput;
      readonly parts: readonly ResultPart[];
      readonly durationMs?: number;
    },
    readonly ResultPart[]
  >()({
    family: "single",
    fires: "when a result is shown to the model",
    onThrow: "show",
    deadlineMs: 30_000,
    state: "read",
    services: ["session", "catalog", "blobs"],
  }),
  config: hook<{ readonly config: SessionConfig }, SessionConfig>()({
    family: "transform",
    fires: "when the session's config really changed",
    onThrow: "skip",
    deadlineMs: 5_000,
    state: "read",
    services: READS,
  }),
  lifecycle: hook<{ readonly event: LifecycleEvent }>()({
    family: "observe",
    fires: "when a turn is finalized or persisted; when a session is restored, reconfigured, forked or closed",
    onThrow: "issue",
    deadlineMs: 30_000,
    state: "read",
    services: ["session", "catalog", "graph", "complete", "trace", "jobs", "triggers"],
  }),
  protocolSession: hook<never, ProtocolSession>()({
    family: "single",
    fires: "see protocols",
    onThrow: "fail-build",
    deadlineMs: 300_000,
    state: "read",
    services: ["session", "membership", "graph", "jobs", "triggers", "complete"],
    isRequired: true,
  }),
  protocolDriver: hook<never, ProtocolDriverSlot>()({
    family: "single",
    fires: "see protocols",
    onThrow: "fail-build",
    deadlineMs: 5_000,
    state: "read",
    services: [],
    isRequired: true,
  }),
  codeExecutor: hook<never, CodeExecutor<Any>>()({
    family: "single",
    fires: "see protocols",
    onThrow: "fail-build",
    deadlineMs: 3_600_000, // Restoring repeats all computations of the turn.
    state: "write",
    services: [
      "session",
      "sessions",
      "catalog",
      "membership",
      "graph",
      "complete",
      "blobs",
      "trace",
      "jobs",
      "triggers",
    ],
  }),
  proseProjector: hook<never, ProseProjector>()({
    family: "single",
    fires: "see protocols",
    onThrow: "fail-build",
    deadlineMs: 5_000,
    state: "read",
    services: [],
  }),
} as const satisfies { readonly [name: string]: RowData };

export type Rows = typeof HOOKS;
export type HookName = keyof Rows;
export const HOOK_NAMES: readonly HookName[] = Object.keys(HOOKS) as HookName[];

export type { Owned } from "./owned.ts";
