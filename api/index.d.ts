import { Approval, Delivery, PendingWait } from "./shared/runtime/waits.js";
import { Budget, SessionConfig } from "./shared/model/config.js";
import { Code, RuntimeError, hasCode } from "./shared/model/errors.js";
import { Cursor, JobId, NodeId, SessionId, TurnId, WaitId } from "./shared/model/ids.js";
import { DEFAULT_LIMITS, Limits } from "./shared/model/limits.js";
import { EffectHost } from "./shared/hosts/host.js";
import { Input } from "./shared/model/input.js";
import { JobRecord } from "./shared/model/job.js";
import { Json } from "./shared/model/json.js";
import { JsonSchema, described } from "./shared/model/schema.js";
import { KeepJournals } from "./shared/runtime/records/keep-journals.js";
import { Message } from "./shared/model/message.js";
import { Model, ModelResolver } from "./shared/providers/provider.js";
import { ModelSettings } from "./shared/model/request.js";
import { Node } from "./shared/graph/history.js";
import { Plugin, definePlugin } from "./shared/kernel/plugin.js";
import { PriceTable, Usage } from "./shared/model/usage.js";
import { PromptPart } from "./shared/model/prompt.js";
import { Receipt } from "./shared/runtime/session/operate.js";
import { RecordedWait, TimelineItem, TurnDetails, TurnRecord, TurnTimeline } from "./shared/model/turn-record.js";
import { Runtime, RuntimeOptions } from "./shared/runtime/runtime.js";
import { RuntimeFact, SessionEvent, TurnProgress } from "./shared/model/event.js";
import { Session, TurnOptions } from "./shared/runtime/session/public-api.js";
import { SessionSummary } from "./shared/runtime/session/list.js";
import { SessionView } from "./shared/model/view.js";
import { Span, TelemetryEvent, TelemetryListener } from "./shared/telemetry/telemetry.js";
import { Store } from "./shared/stores/store.js";
import { Tool, ToolContext, ToolProvider } from "./shared/kernel/tool.js";
import { ToolError, attach, defer, fail, finish, question, retryable, switchFrame } from "./shared/model/tool.js";
import { Trigger, defineTrigger } from "./shared/kernel/trigger.js";
import { Turn, TurnResult } from "./shared/runtime/live-turn/handle.js";
import { TurnOutcome } from "./shared/model/outcome.js";
import { TurnsPage } from "./shared/runtime/records/turns.js";
import { WebhookOptions } from "./shared/runtime/triggers/webhook-options.js";
import { World } from "./shared/model/world.js";
import { defineTool, defineToolProvider } from "./shared/tools/define.js";
import { jsonSchema } from "./shared/tools/validator.js";
/** Opens a runtime. The first call loads its code, with the default host, protocol and model adapter. */
declare function createRuntime(options: RuntimeOptions): Promise<Runtime>;
export {
  type Approval,
  type Budget,
  type Code,
  type Cursor,
  DEFAULT_LIMITS,
  type Delivery,
  type EffectHost,
  type Input,
  type JobId,
  type JobRecord,
  type Json,
  type JsonSchema,
  type KeepJournals,
  type Limits,
  type Message,
  type Model,
  type ModelResolver,
  type ModelSettings,
  type Node,
  type NodeId,
  type PendingWait,
  type Plugin,
  type PriceTable,
  type PromptPart,
  type Receipt,
  type RecordedWait,
  type Runtime,
  RuntimeError,
  type RuntimeFact,
  type RuntimeOptions,
  type Session,
  type SessionConfig,
  type SessionEvent,
  type SessionId,
  type SessionSummary,
  type SessionView,
  type Span,
  type Store,
  type TelemetryEvent,
  type TelemetryListener,
  type TimelineItem,
  type Tool,
  type ToolContext,
  ToolError,
  type ToolProvider,
  type Trigger,
  type Turn,
  type TurnDetails,
  type TurnId,
  type TurnOptions,
  type TurnOutcome,
  type TurnProgress,
  type TurnRecord,
  type TurnResult,
  type TurnTimeline,
  type TurnsPage,
  type Usage,
  type WaitId,
  type WebhookOptions,
  type World,
  attach,
  createRuntime,
  defer,
  definePlugin,
  defineTool,
  defineToolProvider,
  defineTrigger,
  described,
  fail,
  finish,
  hasCode,
  jsonSchema,
  question,
  retryable,
  switchFrame,
};
