import { AskedTrail, Draft, Message } from "../model/message.js";
import { CatalogOverlay } from "./session-requests.js";
import {
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
} from "./hook-values.js";
import { CodeExecutor } from "./code.js";
import { ModelRequest, Reply } from "../model/request.js";
import { PromptPart } from "../model/prompt.js";
import { ProseProjector, ProtocolDriverSlot, ProtocolSession } from "./slots.js";
import { ResultPart, ToolCall, ToolOutput } from "../model/tool.js";
import { SessionConfig } from "../model/config.js";
import { Usage } from "../model/usage.js";
/**
 * An object of types, because without `exactOptionalPropertyTypes` a field of type `never` would be read as
 * `undefined`.
 */
interface HookTypes<Sees, Answer> {
  readonly "~types"?: {
    readonly sees: Sees;
    readonly answer: Answer;
  };
}
/** The rules of composition: when each hook fires, what it gets, what it can answer, and what a throw means. */
declare const HOOKS: {
  readonly input: {
    readonly family: "transform";
    readonly fires: "before an input is stored, once for each key";
    readonly onThrow: "refuse-input";
    readonly deadlineMs: 30000;
    readonly state: "read";
    readonly services: readonly ["session", "catalog", "blobs"];
  } & HookTypes<{
    readonly input: GivenInput;
  }, string | readonly ResultPart[]>;
  /** `latestUsage`: the usage of the latest model call; left out without a call in the active frame. */
  readonly context: {
    readonly family: "transform";
    readonly fires: "at the start of a turn";
    readonly onThrow: "fail-turn";
    readonly deadlineMs: 30000;
    readonly state: "write";
    readonly services: readonly ["session", "sessions", "graph", "jobs", "triggers", "complete"];
  } & HookTypes<{
    readonly context: TurnContext;
    readonly latestUsage?: Usage;
  }, TurnContext>;
  readonly compact: {
    readonly family: "first";
    readonly fires: "when the conversation must be compacted";
    readonly onThrow: "fail-compaction";
    readonly deadlineMs: 300000;
    readonly state: "write";
    readonly services: readonly ["session", "sessions", "graph", "jobs", "triggers", "complete"];
  } & HookTypes<CompactionSees, Compaction | readonly Draft[]>;
  readonly prompt: {
    readonly family: "collect";
    readonly fires: "when the prompt is built";
    readonly onThrow: "fail-turn";
    readonly deadlineMs: 30000;
    readonly state: "read";
    readonly services: readonly ["session", "catalog", "sessions", "jobs", "triggers", "complete"];
  } & HookTypes<object, PromptPart>;
  readonly toolCatalog: {
    readonly family: "collect";
    readonly fires: "when the catalog is built";
    readonly onThrow: "fail-build";
    readonly deadlineMs: 1000;
    readonly state: "read";
    readonly services: readonly [];
    readonly isSync: true;
  } & HookTypes<CatalogSees, CatalogOverlay>;
  readonly beforeTurn: {
    readonly family: "collect";
    readonly fires: "after `context`, before the first model call";
    readonly onThrow: "fail-turn";
    readonly deadlineMs: 30000;
    readonly state: "write";
    readonly services: readonly ["session", "membership", "sessions", "trace", "jobs", "triggers"];
    readonly directives: readonly ["abortTurn", "answer", "enqueueMessages", "compactHistory", "createSession", "emitEvent", "emitTrace"];
  } & HookTypes<{
    readonly input: Message;
  }, never>;
  readonly checkpoint: {
    readonly family: "collect";
    readonly fires: "when work is done, and before the turn completes";
    readonly onThrow: "fail-turn";
    readonly deadlineMs: 30000;
    readonly state: "write";
    readonly services: readonly ["session", "sessions", "trace", "jobs", "triggers"];
    readonly directives: readonly ["abortTurn", "enqueueMessages", "compactHistory", "createSession", "emitEvent", "emitTrace"];
  } & HookTypes<{
    readonly at: "after-work" | "before-completion";
  }, never>;
  readonly afterTurn: {
    readonly family: "collect";
    readonly fires: "when the turn is assembled, before its commit";
    readonly onThrow: "fail-turn";
    readonly deadlineMs: 30000;
    readonly state: "write";
    readonly services: readonly ["session", "sessions", "trace", "jobs", "triggers"];
    readonly directives: readonly ["enqueueMessages", "createSession", "emitEvent", "emitTrace"];
  } & HookTypes<{
    readonly report: TurnReport;
  }, never>;
  readonly request: {
    readonly family: "transform";
    readonly fires: "before each model call; the change is for this call only";
    readonly onThrow: "fail-call";
    readonly deadlineMs: 30000;
    readonly state: "read";
    readonly services: readonly ["session", "catalog"];
  } & HookTypes<{
    readonly request: ModelRequest;
  }, ModelRequest>;
  readonly stream: {
    readonly family: "transform";
    readonly fires: "for each delta of a reply";
    readonly onThrow: "fail-call";
    readonly deadlineMs: 5000;
    readonly state: "read";
    readonly services: readonly [];
  } & HookTypes<{
    readonly chunk: Chunk;
  }, ChunkAnswer>;
  readonly response: {
    readonly family: "transform";
    readonly fires: "for each complete reply, after it is recorded; at least once, so derive and do not count";
    readonly onThrow: "retry";
    readonly deadlineMs: 30000;
    readonly state: "read";
    readonly services: readonly ["session", "catalog"];
  } & HookTypes<{
    readonly reply: Reply;
  }, ReplyAnswer>;
  readonly streamFinished: {
    readonly family: "observe";
    readonly fires: "when a stream ends, for any reason";
    readonly onThrow: "trace";
    readonly deadlineMs: 5000;
    readonly state: "read";
    readonly services: readonly [];
    readonly inOrder: true;
  } & HookTypes<{
    readonly reason: StreamEnd;
  }, never>;
  readonly beforeToolCall: {
    readonly family: "gate";
    readonly fires: "for each resolved call, before its final arguments are validated";
    readonly onThrow: "deny";
    readonly deadlineMs: 30000;
    readonly state: "write";
    readonly services: readonly ["session", "catalog", "membership", "sessions", "graph", "complete", "blobs", "trace", "jobs", "monitors", "triggers"];
    readonly directives: readonly ["abort", "deny", "ask", "shortCircuit", "replaceArgs", "createSession", "emitEvent", "emitTrace"];
  } & HookTypes<{
    readonly call: ToolCall;
  }, never>;
  /**
   * `durationMs`: the time of all attempts and waits of the call; left out if the call was not made. `asked`: the
   * people who were asked about the call, with their answers; left out if there were none.
   */
  readonly afterToolCall: {
    readonly family: "gate";
    readonly fires: "for each final result, in call order";
    readonly onThrow: "withhold";
    readonly deadlineMs: 30000;
    readonly state: "write";
    readonly services: readonly ["session", "catalog", "membership", "sessions", "graph", "complete", "blobs", "trace", "jobs", "monitors", "triggers"];
    readonly directives: readonly ["abort", "deny", "replaceResult", "enqueueMessages", "createSession", "emitEvent", "emitTrace"];
  } & HookTypes<{
    readonly call: ToolCall;
    readonly output: ToolOutput;
    readonly durationMs?: number;
    readonly asked?: readonly AskedTrail[];
  }, never>;
  readonly projectResult: {
    readonly family: "single";
    readonly fires: "when a result is shown to the model";
    readonly onThrow: "show";
    readonly deadlineMs: 30000;
    readonly state: "read";
    readonly services: readonly ["session", "catalog", "blobs"];
  } & HookTypes<{
    readonly call: ToolCall;
    readonly output: ToolOutput;
    readonly parts: readonly ResultPart[];
    readonly durationMs?: number;
  }, readonly ResultPart[]>;
  readonly config: {
    readonly family: "transform";
    readonly fires: "when the session's config really changed";
    readonly onThrow: "skip";
    readonly deadlineMs: 5000;
    readonly state: "read";
    readonly services: readonly ["session", "catalog"];
  } & HookTypes<{
    readonly config: SessionConfig;
  }, SessionConfig>;
  readonly lifecycle: {
    readonly family: "observe";
    readonly fires: "when a turn is finalized or persisted; when a session is restored, reconfigured, forked or closed";
    readonly onThrow: "issue";
    readonly deadlineMs: 30000;
    readonly state: "read";
    readonly services: readonly ["session", "catalog", "graph", "complete", "trace", "jobs", "triggers"];
  } & HookTypes<{
    readonly event: LifecycleEvent;
  }, never>;
  readonly protocolSession: {
    readonly family: "single";
    readonly fires: "see protocols";
    readonly onThrow: "fail-build";
    readonly deadlineMs: 300000;
    readonly state: "read";
    readonly services: readonly ["session", "membership", "graph", "jobs", "triggers", "complete"];
    readonly isRequired: true;
  } & HookTypes<never, ProtocolSession>;
  readonly protocolDriver: {
    readonly family: "single";
    readonly fires: "see protocols";
    readonly onThrow: "fail-build";
    readonly deadlineMs: 5000;
    readonly state: "read";
    readonly services: readonly [];
    readonly isRequired: true;
  } & HookTypes<never, ProtocolDriverSlot>;
  readonly codeExecutor: {
    readonly family: "single";
    readonly fires: "see protocols";
    readonly onThrow: "fail-build";
    readonly deadlineMs: 3600000;
    readonly state: "write";
    readonly services: readonly ["session", "sessions", "catalog", "membership", "graph", "complete", "blobs", "trace", "jobs", "triggers"];
  } & HookTypes<never, CodeExecutor<any>>;
  readonly proseProjector: {
    readonly family: "single";
    readonly fires: "see protocols";
    readonly onThrow: "fail-build";
    readonly deadlineMs: 5000;
    readonly state: "read";
    readonly services: readonly [];
  } & HookTypes<never, ProseProjector>;
};
type Rows = typeof HOOKS;
type HookName = keyof Rows;
export { HOOKS, HookName, HookTypes, Rows };
