import type { Runtime, RuntimeOptions } from "./runtime/runtime.ts";

/** Opens a runtime. Its code is loaded by the first call; the default host, protocol and model adapter are bound there. */
export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { openWithDefaults } = await import("./defaults.ts");
  return openWithDefaults(options);
}

// The handles
export type { Comparison, HistoryPage, Node } from "./graph/history.ts";
export type { EffectHost } from "./hosts/host.ts";
export type { CellProgress, CellSegment, CodeContext, CodeExecutor, CodePast } from "./kernel/code.ts";
export {
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
} from "./kernel/directive.ts";
export { type Extension, type ExtensionValue, extension } from "./kernel/extension.ts";
export type { Issue, Probe } from "./kernel/hook-runner.ts";
export { type Compaction, type CompactionSees, HOOKS, type HookName } from "./kernel/hooks.ts";
export type {
  MonitorDeclaration,
  MonitorSnapshot,
  MonitorSpec,
  MonitorStatus,
  Monitors,
  MonitorUpdate,
} from "./kernel/monitor.ts";
export type { OperationDefinition } from "./kernel/operation.ts";
// Plugins
export { definePlugin, type Plugin, type PluginFactory } from "./kernel/plugin.ts";
export { type Point, point } from "./kernel/point.ts";
export type { Section } from "./kernel/prompt.ts";
export type {
  Appended,
  AppendNode,
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
} from "./kernel/services.ts";
export type { PreambleInput, ProseProjector } from "./kernel/slots.ts";
export type { Tool, ToolContext, ToolProvider, ToolSpec } from "./kernel/tool.ts";
export {
  defineTrigger,
  type SubscribeOptions,
  type Trigger,
  type TriggerDeclaration,
  type TriggerOn,
  type Triggers,
} from "./kernel/trigger.ts";
export type { Allowance, Budget, SessionConfig } from "./model/config.ts";
export { type Code, hasCode, RuntimeError } from "./model/errors.ts";
export type { PreviewKey, SessionEvent, TurnProgress } from "./model/event.ts";
export type { Cursor, JobCursor, JobId, NodeId, SessionId, TurnId, WaitId } from "./model/ids.ts";
export type { InjectedMessage, InjectOptions, Input } from "./model/input.ts";
export type { JobKind, JobRecord, JobState } from "./model/job.ts";
export type { Json } from "./model/json.ts";
export { DEFAULT_LIMITS, type Limits } from "./model/limits.ts";
export type { AskedTrail, Attachment, CallTrail, Draft, Message, Origin, Part, TextPart } from "./model/message.ts";
export { type Fields, optionsSchema } from "./model/options-schema.ts";
export type { Failed, Stopped, TurnOutcome } from "./model/outcome.ts";
export type { PromptPart } from "./model/prompt.ts";
export { type ModelPart, type ModelRequest, type ModelSettings, ProviderFailure, type Reply } from "./model/request.ts";
export { type DescribedSchema, described, type JsonSchema, type Schema, type ToolSchema } from "./model/schema.ts";
export {
  type Attachable,
  type Availability,
  attach,
  type Deferral,
  defer,
  type FailureClass,
  fail,
  finish,
  question,
  retryable,
  type StateCell,
  type StateView,
  switchFrame,
  type ToolCall,
  ToolError,
  type ToolManifest,
  type ToolOutput,
} from "./model/tool.ts";
export { shortened, type TranscriptOptions, transcriptText, transcriptTexts } from "./model/transcript-text.ts";
export type { MissedRuns, Occurrence, Subscription } from "./model/trigger.ts";
export type { Price, PriceTable, Spent, Usage } from "./model/usage.ts";
export type { OpenCall, OpenInput, OpenTurn, OpenWait, SessionView } from "./model/view.ts";
export type { WaitKind } from "./model/wait.ts";
export type { World } from "./model/world.ts";
export type { Protocol } from "./protocols/protocol.ts";
export type { Capabilities, LanguageModel, Model, ModelResolver, Provider } from "./providers/provider.ts";
export type { AppJobs } from "./runtime/jobs/app.ts";
export type { Turn, TurnResult } from "./runtime/live-turn/handle.ts";
export type { CloseOptions, Runtime, RuntimeOptions, SessionSummary, TreeUsage } from "./runtime/runtime.ts";
export type { Session, SessionInputs, TurnOptions } from "./runtime/session/handle.ts";
export type { Receipt } from "./runtime/session/operate.ts";
export type { SessionTools } from "./runtime/toolset/tools.ts";
export type { AppTriggers } from "./runtime/triggers/app.ts";
export type { WebhookOptions } from "./runtime/triggers/webhook-options.ts";
export type { Approval, Delivery, PendingWait, WaitRef, Waits } from "./runtime/waits.ts";
// Contracts of what can be exchanged
export type { CancelAnswer, Store } from "./stores/store.ts";
// Tools
export { defineTool, defineToolProvider } from "./tools/define.ts";
export { jsonSchema } from "./tools/validator.ts";
export type { TraceRecord, TraceSink } from "./trace/trace.ts";
export type { Decision, ProtocolDriver, RequestView, RoundView } from "./turn/driver.ts";
