// The entry `bowline/plugin`: everything that a file with a plugin imports. Sorted by topic, by hand.

// Plugins
export { definePlugin, type Plugin, type PluginFactory } from "./kernel/plugin.ts";
export type { PluginOptions } from "./kernel/session-requests.ts";
export { type Fields, optionsSchema } from "./model/options-schema.ts";

// Hooks, and the directives that they may return
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
export type { Issue } from "./kernel/hook-runner.ts";
export type { Compaction, CompactionSees } from "./kernel/hook-values.ts";
export { HOOKS, type HookName } from "./kernel/hooks.ts";

// States, points, extensions and operations
export { type Extension, type ExtensionValue, extension } from "./kernel/extension.ts";
export type { OperationDefinition } from "./kernel/operation.ts";
export { type Point, point } from "./kernel/point.ts";
export type { StateCell, StateView } from "./model/tool.ts";

// Services
export type { CreatedSession, FirstInput, SavedStates } from "./kernel/created.ts";
export type { Appended, AppendNode } from "./kernel/append.ts";
export type { NewSessionRequest, SessionReading, SessionTurn } from "./kernel/session-requests.ts";
export type { Services } from "./kernel/services.ts";
export type { InjectedMessage, InjectOptions } from "./model/input.ts";

// Jobs, monitors and triggers
export type {
  MonitorDeclaration,
  MonitorSnapshot,
  MonitorSpec,
  MonitorStatus,
  Monitors,
  MonitorUpdate,
} from "./kernel/monitor.ts";
export type { JobContext, Jobs } from "./kernel/services.ts";
export type { JobOptions, TaskJob, TaskJobOptions } from "./kernel/job-options.ts";
export {
  defineTrigger,
  type SubscribeOptions,
  type Trigger,
  type TriggerDeclaration,
  type TriggerOn,
  type Triggers,
} from "./kernel/trigger.ts";
export type { JobKind, JobRecord, JobState } from "./model/job.ts";
export type { MissedRuns, Occurrence, Subscription } from "./model/trigger.ts";

// Tools, and what a tool may return or throw
export type { Tool, ToolContext, ToolProvider, ToolSpec } from "./kernel/tool.ts";
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
  switchFrame,
  type ToolCall,
  ToolError,
  type ToolManifest,
  type ToolOutput,
} from "./model/tool.ts";
export { defineTool, defineToolProvider } from "./tools/define.ts";
export { jsonSchema } from "./tools/validator.ts";

// Messages, models and turns
export type { SessionConfig } from "./model/config.ts";
export type { TurnProgress } from "./model/event.ts";
export type { JobCursor, JobId, NodeId, SessionId, TurnId, WaitId } from "./model/ids.ts";
export type { Input } from "./model/input.ts";
export type { Json } from "./model/json.ts";
export type { AskedTrail, Attachment, CallTrail, Draft, Message, Origin, Part, TextPart } from "./model/message.ts";
export type { Failed, Stopped, TurnOutcome } from "./model/outcome.ts";
export type { PromptPart } from "./model/prompt.ts";
export type { ModelRequest, ModelSettings, Reply } from "./model/request.ts";
export { shortened, type TranscriptOptions, transcriptText, transcriptTexts } from "./model/transcript-text.ts";
export type { Spent, Usage } from "./model/usage.ts";

// Errors
export { type Code, hasCode, RuntimeError } from "./model/errors.ts";
