import { Allowance, Budget, SessionConfig } from "./shared/model/config.js";
import { AppJobs } from "./shared/runtime/jobs/app.js";
import { AppTriggers } from "./shared/runtime/triggers/app.js";
import {
  AppendNode,
  Appended,
  JobContext,
  JobOptions,
  Jobs,
  NewSessionRequest,
  PluginOptions,
  Services,
  SessionReading,
  SessionTurn,
  TaskJob,
  TaskJobOptions,
} from "./shared/kernel/services.js";
import { Approval, Delivery, PendingWait, WaitRef, Waits } from "./shared/runtime/waits.js";
import { AskedTrail, Attachment, CallTrail, Draft, Message, Origin, Part, TextPart } from "./shared/model/message.js";
import {
  Attachable,
  Availability,
  Deferral,
  FailureClass,
  StateCell,
  StateView,
  ToolCall,
  ToolError,
  ToolManifest,
  ToolOutput,
  attach,
  defer,
  fail,
  finish,
  question,
  retryable,
  switchFrame,
} from "./shared/model/tool.js";
import { CancelAnswer, Failed, Stopped, TurnOutcome } from "./shared/model/outcome.js";
import { Capabilities, LanguageModel, Model, ModelResolver, Provider } from "./shared/providers/provider.js";
import { CellProgress, CellSegment, CodeContext, CodeExecutor, CodePast } from "./shared/kernel/code.js";
import { CloseOptions, Runtime, RuntimeOptions, SessionSummary, TreeUsage } from "./shared/runtime/runtime.js";
import { Code, RuntimeError, hasCode } from "./shared/model/errors.js";
import { Compaction, CompactionSees, HOOKS, HookName } from "./shared/kernel/hooks.js";
import { Comparison, HistoryPage, Node } from "./shared/graph/history.js";
import { Cursor, JobCursor, JobId, NodeId, SessionId, TurnId, WaitId } from "./shared/model/ids.js";
import { DEFAULT_LIMITS, Limits } from "./shared/model/limits.js";
import { Decision, ProtocolDriver, RequestView, RoundView } from "./shared/turn/driver.js";
import { DescribedSchema, JsonSchema, Schema, ToolSchema, described } from "./shared/model/schema.js";
import { EffectHost } from "./shared/hosts/host.js";
import { Extension, ExtensionValue, extension } from "./shared/kernel/extension.js";
import { Fields, optionsSchema } from "./shared/model/options-schema.js";
import { InjectOptions, InjectedMessage, Input } from "./shared/model/input.js";
import { Issue, Probe } from "./shared/kernel/hook-runner.js";
import { JobKind, JobRecord, JobState } from "./shared/model/job.js";
import { Json } from "./shared/model/json.js";
import { MissedRuns, Occurrence, Subscription } from "./shared/model/trigger.js";
import { ModelPart, ModelRequest, ModelSettings, ProviderFailure, Reply } from "./shared/model/request.js";
import {
  MonitorDeclaration,
  MonitorSnapshot,
  MonitorSpec,
  MonitorStatus,
  MonitorUpdate,
  Monitors,
} from "./shared/kernel/monitor.js";
import { OpenCall, OpenInput, OpenTurn, OpenWait, SessionView } from "./shared/model/view.js";
import { OperationDefinition } from "./shared/kernel/operation.js";
import { Plugin, PluginFactory, definePlugin } from "./shared/kernel/plugin.js";
import { Point, point } from "./shared/kernel/point.js";
import { PreambleInput, ProseProjector } from "./shared/kernel/slots.js";
import { PreviewKey, SessionEvent, TurnProgress } from "./shared/model/event.js";
import { Price, PriceTable, Spent, Usage } from "./shared/model/usage.js";
import { PromptPart } from "./shared/model/prompt.js";
import { Protocol } from "./shared/protocols/protocol.js";
import { Receipt } from "./shared/runtime/session/operate.js";
import { Section } from "./shared/kernel/prompt.js";
import { Session, SessionInputs, TurnOptions } from "./shared/runtime/session/handle.js";
import { SessionTools } from "./shared/runtime/toolset/tools.js";
import { Store } from "./shared/stores/store.js";
import {
  SubscribeOptions,
  Trigger,
  TriggerDeclaration,
  TriggerOn,
  Triggers,
  defineTrigger,
} from "./shared/kernel/trigger.js";
import { Tool, ToolContext, ToolProvider, ToolSpec } from "./shared/kernel/tool.js";
import { TraceRecord, TraceSink } from "./shared/trace/trace.js";
import { TranscriptOptions, shortened, transcriptText, transcriptTexts } from "./shared/model/transcript-text.js";
import { Turn, TurnResult } from "./shared/runtime/live-turn/handle.js";
import { WaitKind } from "./shared/model/wait.js";
import { WebhookOptions } from "./shared/runtime/triggers/webhook-options.js";
import { World } from "./shared/model/world.js";
import {
  abort,
  abortTurn,
  answer,
  ask,
  compactHistory,
  createSession,
  deny,
  emitEvent,
  emitTrace,
  enqueueMessages,
  replaceArgs,
  replaceResult,
  shortCircuit,
} from "./shared/kernel/directive.js";
import { defineTool, defineToolProvider } from "./shared/tools/define.js";
import { jsonSchema } from "./shared/tools/validator.js";
/** Opens a runtime. Its code is loaded by the first call; the default host, protocol and model adapter are bound there. */
declare function createRuntime(options: RuntimeOptions): Promise<Runtime>;
export {
  type Allowance,
  type AppJobs,
  type AppTriggers,
  type AppendNode,
  type Appended,
  type Approval,
  type AskedTrail,
  type Attachable,
  type Attachment,
  type Availability,
  type Budget,
  type CallTrail,
  type CancelAnswer,
  type Capabilities,
  type CellProgress,
  type CellSegment,
  type CloseOptions,
  type Code,
  type CodeContext,
  type CodeExecutor,
  type CodePast,
  type Compaction,
  type CompactionSees,
  type Comparison,
  type Cursor,
  DEFAULT_LIMITS,
  type Decision,
  type Deferral,
  type Delivery,
  type DescribedSchema,
  type Draft,
  type EffectHost,
  type Extension,
  type ExtensionValue,
  type Failed,
  type FailureClass,
  type Fields,
  HOOKS,
  type HistoryPage,
  type HookName,
  type InjectOptions,
  type InjectedMessage,
  type Input,
  type Issue,
  type JobContext,
  type JobCursor,
  type JobId,
  type JobKind,
  type JobOptions,
  type JobRecord,
  type JobState,
  type Jobs,
  type Json,
  type JsonSchema,
  type LanguageModel,
  type Limits,
  type Message,
  type MissedRuns,
  type Model,
  type ModelPart,
  type ModelRequest,
  type ModelResolver,
  type ModelSettings,
  type MonitorDeclaration,
  type MonitorSnapshot,
  type MonitorSpec,
  type MonitorStatus,
  type MonitorUpdate,
  type Monitors,
  type NewSessionRequest,
  type Node,
  type NodeId,
  type Occurrence,
  type OpenCall,
  type OpenInput,
  type OpenTurn,
  type OpenWait,
  type OperationDefinition,
  type Origin,
  type Part,
  type PendingWait,
  type Plugin,
  type PluginFactory,
  type PluginOptions,
  type Point,
  type PreambleInput,
  type PreviewKey,
  type Price,
  type PriceTable,
  type Probe,
  type PromptPart,
  type ProseProjector,
  type Protocol,
  type ProtocolDriver,
  type Provider,
  ProviderFailure,
  type Receipt,
  type Reply,
  type RequestView,
  type RoundView,
  type Runtime,
  RuntimeError,
  type RuntimeOptions,
  type Schema,
  type Section,
  type Services,
  type Session,
  type SessionConfig,
  type SessionEvent,
  type SessionId,
  type SessionInputs,
  type SessionReading,
  type SessionSummary,
  type SessionTools,
  type SessionTurn,
  type SessionView,
  type Spent,
  type StateCell,
  type StateView,
  type Stopped,
  type Store,
  type SubscribeOptions,
  type Subscription,
  type TaskJob,
  type TaskJobOptions,
  type TextPart,
  type Tool,
  type ToolCall,
  type ToolContext,
  ToolError,
  type ToolManifest,
  type ToolOutput,
  type ToolProvider,
  type ToolSchema,
  type ToolSpec,
  type TraceRecord,
  type TraceSink,
  type TranscriptOptions,
  type TreeUsage,
  type Trigger,
  type TriggerDeclaration,
  type TriggerOn,
  type Triggers,
  type Turn,
  type TurnId,
  type TurnOptions,
  type TurnOutcome,
  type TurnProgress,
  type TurnResult,
  type Usage,
  type WaitId,
  type WaitKind,
  type WaitRef,
  type Waits,
  type WebhookOptions,
  type World,
  abort,
  abortTurn,
  answer,
  ask,
  attach,
  compactHistory,
  createRuntime,
  createSession,
  defer,
  definePlugin,
  defineTool,
  defineToolProvider,
  defineTrigger,
  deny,
  described,
  emitEvent,
  emitTrace,
  enqueueMessages,
  extension,
  fail,
  finish,
  hasCode,
  jsonSchema,
  optionsSchema,
  point,
  question,
  replaceArgs,
  replaceResult,
  retryable,
  shortCircuit,
  shortened,
  switchFrame,
  transcriptText,
  transcriptTexts,
};
