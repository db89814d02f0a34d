// The entry `bowline`: what an app imports. Plugins, protocols and providers have separate entries: `plugin.ts`,
// `protocol.ts`, `provider.ts`. Sorted by topic, by hand.
import type { Runtime, RuntimeOptions } from "./runtime/runtime.ts";

/** Opens a runtime. The first call loads its code, with the default host, protocol and model adapter. */
export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { openWithDefaults } = await import("./defaults.ts");
  return openWithDefaults(options);
}

// The runtime
export type { EffectHost } from "./hosts/host.ts";
export type { Budget, SessionConfig } from "./model/config.ts";
export { DEFAULT_LIMITS, type Limits } from "./model/limits.ts";
export type { PromptPart } from "./model/prompt.ts";
export type { ModelSettings } from "./model/request.ts";
export type { PriceTable, Usage } from "./model/usage.ts";
export type { World } from "./model/world.ts";
export type { Model, ModelResolver } from "./providers/provider.ts";
export type { Runtime, RuntimeOptions } from "./runtime/runtime.ts";
export type { SessionSummary } from "./runtime/session/list.ts";
export type { Store } from "./stores/store.ts";
export type { Span, TelemetryEvent, TelemetryListener } from "./telemetry/telemetry.ts";

// Sessions and turns
export type { Node } from "./graph/history.ts";
export type { RuntimeFact, SessionEvent, TurnProgress } from "./model/event.ts";
export type { Cursor, JobId, NodeId, SessionId, TurnId, WaitId } from "./model/ids.ts";
export type { Input } from "./model/input.ts";
export type { Json } from "./model/json.ts";
export type { Message } from "./model/message.ts";
export type { TurnOutcome } from "./model/outcome.ts";
export type { RecordedWait, TimelineItem, TurnDetails, TurnRecord, TurnTimeline } from "./model/turn-record.ts";
export type { SessionView } from "./model/view.ts";
export type { Turn, TurnResult } from "./runtime/live-turn/handle.ts";
export type { KeepJournals } from "./runtime/records/keep-journals.ts";
export type { TurnsPage } from "./runtime/records/turns.ts";
export type { Session, TurnOptions } from "./runtime/session/public-api.ts";
export type { Receipt } from "./runtime/session/operate.ts";

// Tools, and what a tool may return or throw
export type { Tool, ToolContext, ToolProvider } from "./kernel/tool.ts";
export { described, type JsonSchema } from "./model/schema.ts";
export { attach, defer, fail, finish, question, retryable, switchFrame, ToolError } from "./model/tool.ts";
export { defineTool, defineToolProvider } from "./tools/define.ts";
export { jsonSchema } from "./tools/validator.ts";

// Plugins
export { definePlugin, type Plugin } from "./kernel/plugin.ts";

// Jobs, triggers and waits
export { defineTrigger, type Trigger } from "./kernel/trigger.ts";
export type { JobRecord } from "./model/job.ts";
export type { WebhookOptions } from "./runtime/triggers/webhook-options.ts";
export type { Approval, Delivery, PendingWait } from "./runtime/waits.ts";

// Errors
export { type Code, hasCode, RuntimeError } from "./model/errors.ts";
