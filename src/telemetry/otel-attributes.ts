// The attributes of spans and events.
// Not its job: names (`otel-names.ts`), the beginning and end of spans (`otel.ts`), metrics (`otel-metrics.ts`).
import { type Json, type JsonObject, storable } from "../model/json.ts";
import { statusOf } from "../model/tool.ts";
import type { Usage } from "../model/usage.ts";
import { messagesOf } from "./otel-messages.ts";
import { BOWLINE, ERROR_TYPE, finishName, GEN_AI, OPERATION, OTHER, providerName, SPAN } from "./otel-names.ts";
import { isCode, isNoContent } from "./plain.ts";
import type { ModelSpan, Span, TelemetryEvent, ToolSpan, TurnSpan } from "./telemetry.ts";

export interface Attributes {
  [name: string]: string | number | boolean | string[];
}

/** Where a value of content comes from. */
export interface ContentPlace {
  /** The kind of the span, or `event`. */
  readonly kind: Span["kind"] | "event";
  /** For example `messages`, `arguments`, `result` or `error`. */
  readonly field: string;
}
export type Redact = (value: Json, where: ContentPlace) => Json;

/** Returns the exported text of some content, if any. Calls `read` only if content is exported. */
export type Content = (kind: ContentPlace["kind"], field: string, read: () => unknown) => string | undefined;

/** If `redact` throws or returns no JSON, nothing is exported. */
export function contentBy(isOn: boolean, redact: Redact = (value) => value): Content {
  if (!isOn) return () => undefined;
  return (kind, field, read) => {
    try {
      const value = storable(read());
      const shown = value === undefined ? undefined : redact(value, { kind, field });
      return typeof shown === "string" || shown === undefined ? shown : JSON.stringify(shown);
    } catch {
      return undefined;
    }
  };
}

// ── At the beginning of a span ──────────────────────────────────────────────────────────────────────────────────────

export function nameOf(span: Span): string {
  switch (span.kind) {
    case "turn":
      return `${OPERATION.turn} ${agentOf(span)}`;
    case "model":
      return `${OPERATION.model} ${modelOf(span)}`;
    case "tool":
      return `${OPERATION.tool} ${span.call.name}`;
    default:
      return SPAN[span.kind];
  }
}

const agentOf = ({ label = "agent" }: TurnSpan): string => label;

/** The model without its provider: `gpt-5` of `openai/gpt-5`. */
export function modelOf({ model, provider }: Pick<ModelSpan, "model" | "provider">): string {
  const isRoute = model.length > provider.length + 1 && model.startsWith(`${provider}/`);
  return isRoute ? model.slice(provider.length + 1) : model;
}

export function attributesAtStart(span: Span, content: Content): Attributes {
  const fields = startOf(span, content);
  fields[GEN_AI.conversation] = span.sessionId;
  fields[BOWLINE.turnId] = span.turnId;
  return present(fields);
}

function startOf(span: Span, content: Content): Fields {
  switch (span.kind) {
    case "turn":
      return turnAtStart(span, content);
    case "round":
      return { [BOWLINE.round]: span.round };
    case "model":
      return modelAtStart(span, content);
    case "tool":
      return toolAtStart(span, content);
    case "cell":
      return { [BOWLINE.code]: content("cell", "code", () => span.code) };
    case "hook":
      return {
        [BOWLINE.hook]: span.hook,
        [BOWLINE.plugin]: span.plugin,
        [BOWLINE.hookEvent]: span.event,
        [GEN_AI.tool]: span.call?.name,
        [GEN_AI.callId]: span.call?.id,
      };
    case "wait":
      return {
        [BOWLINE.waitsFor]: span.wants,
        [BOWLINE.waitId]: span.waitId,
        [GEN_AI.tool]: span.call?.name,
        [GEN_AI.callId]: span.call?.id,
        [BOWLINE.waitReason]: content("wait", "reason", () => span.reason),
      };
    case "commit":
      return { [BOWLINE.outcome]: span.outcome };
    case "job":
      return {
        [BOWLINE.jobId]: span.jobId,
        [BOWLINE.jobKind]: span.job,
        [BOWLINE.jobOperation]: span.operation,
        [BOWLINE.jobLabel]: content("job", "label", () => span.label),
      };
    case "store":
      return { [BOWLINE.store]: span.operation };
  }
}

const turnAtStart = (span: TurnSpan, content: Content): Fields => ({
  [GEN_AI.operation]: OPERATION.turn,
  [GEN_AI.agent]: agentOf(span),
  [BOWLINE.model]: span.model,
  [BOWLINE.isResumed]: span.isResumed,
  [BOWLINE.generation]: span.generation,
  [BOWLINE.owner]: span.owner,
  ...metadataOf(span.metadata),
  [GEN_AI.inputMessages]: content("turn", "input", () => messagesOf([{ role: "user", parts: span.input }])),
});

/** The app's metadata. A backend can search its texts, numbers and booleans. */
function metadataOf(metadata: JsonObject = {}): Fields {
  const fields: Fields = {};
  for (const [name, value] of Object.entries(metadata))
    if (name !== "traceparent" && isPlain(value)) fields[BOWLINE.metadata + name] = value;
  return fields;
}

const modelAtStart = (span: ModelSpan, content: Content): Fields => ({
  [GEN_AI.operation]: OPERATION.model,
  [GEN_AI.provider]: providerName(span.provider),
  [GEN_AI.model]: modelOf(span),
  [GEN_AI.isStream]: true,
  [GEN_AI.temperature]: span.request.settings?.temperature,
  [GEN_AI.topP]: span.request.settings?.topP,
  [GEN_AI.maxTokens]: span.request.settings?.maxOutputTokens,
  [GEN_AI.seed]: span.request.settings?.seed,
  [BOWLINE.attempt]: span.attempt,
  [BOWLINE.purpose]: span.purpose,
  [GEN_AI.instructions]: content("model", "instructions", () => span.request.system),
  [GEN_AI.inputMessages]: content("model", "messages", () => messagesOf(span.request.messages)),
});

const toolAtStart = ({ call, attempt, isResumed }: ToolSpan, content: Content): Fields => ({
  [GEN_AI.operation]: OPERATION.tool,
  [GEN_AI.tool]: call.name,
  [GEN_AI.callId]: call.id,
  [GEN_AI.toolType]: "function",
  [BOWLINE.parentCall]: call.parentId,
  [BOWLINE.attempt]: attempt,
  [BOWLINE.toolResumed]: isResumed,
  [GEN_AI.arguments]: content("tool", "arguments", () => call.input),
});

// ── At its end ──────────────────────────────────────────────────────────────────────────────────────────────────────

export function attributesAtEnd(span: Span, content: Content): Attributes {
  const fields = endOf(span, content);
  fields[ERROR_TYPE] = errorTypeOf(span);
  return present(fields);
}

function endOf(span: Span, content: Content): Fields {
  switch (span.kind) {
    case "turn":
      return turnAtEnd(span, content);
    case "model":
      return modelAtEnd(span, content);
    case "tool":
      return toolAtEnd(span, content);
    case "cell":
      return { [BOWLINE.cellState]: span.state };
    case "wait":
      return { [BOWLINE.waitHow]: span.how, [BOWLINE.waitBy]: span.by };
    case "job":
      return { [BOWLINE.jobState]: span.state };
    default:
      return {};
  }
}

const turnAtEnd = ({ how, outcome, usage, rounds }: TurnSpan, content: Content): Fields => ({
  [BOWLINE.how]: how,
  [BOWLINE.outcome]: outcome?.kind,
  [BOWLINE.rounds]: rounds,
  [BOWLINE.turnInput]: usage && inputTokens(usage),
  [BOWLINE.turnOutput]: usage && outputTokens(usage),
  [GEN_AI.outputMessages]: content("turn", "outcome", () => saidIn(outcome)),
});

function saidIn(outcome: TurnSpan["outcome"]): Json | undefined {
  if (outcome === undefined) return undefined;
  if (outcome.kind === "answered") return messagesOf([outcome.message]);
  const value = outcome.kind === "finished" ? outcome.value : outcome.text;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return messagesOf([{ role: "assistant", parts: [{ kind: "text", text }] }]);
}

const modelAtEnd = (
  { reply, usage, firstMs, startedAt, endedAt = startedAt }: ModelSpan,
  content: Content,
): Fields => ({
  [GEN_AI.finishReasons]: reply && [finishName(reply.finish)],
  [GEN_AI.firstChunk]: firstMs === undefined ? undefined : Math.min(firstMs, endedAt - startedAt) / 1_000,
  ...(usage && usageOf(usage)),
  [GEN_AI.outputMessages]: content("model", "reply", () =>
    reply === undefined ? undefined : messagesOf([{ role: "assistant", parts: reply.parts }]),
  ),
});

const toolAtEnd = ({ output }: ToolSpan, content: Content): Fields => ({
  [BOWLINE.toolStatus]: output && statusOf(output),
  [GEN_AI.result]: content("tool", "result", () => (output?.kind === "value" ? output.value : undefined)),
});

/** The code of a failure; undefined for work that ended well or was stopped. */
export function errorTypeOf(span: Span): string | undefined {
  if (span.kind === "model" && span.failure === "cancelled") return undefined;
  if (span.kind === "job" && span.state === "cancelled") return undefined;
  if (span.kind === "turn" && span.how === "lost" && span.error?.code === "runtime.closed") return undefined;
  if (span.error === undefined) return undefined;
  return isCode(span.error.code) ? span.error.code : OTHER;
}

// ── Tokens ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export const inputTokens = ({ input, cacheRead, cacheWrite }: Usage): number => input + cacheRead + cacheWrite;
export const outputTokens = ({ output, reasoning }: Usage): number => output + reasoning;
/** Whether the provider reported the usage. The usage of an interrupted call is only estimated. */
export const isReported = (usage: Usage): boolean => inputTokens(usage) + outputTokens(usage) > 0;

const usageOf = (usage: Usage): Fields => ({
  ...(isReported(usage) && {
    [GEN_AI.inputTokens]: inputTokens(usage),
    [GEN_AI.outputTokens]: outputTokens(usage),
    [GEN_AI.cacheReadTokens]: usage.cacheRead,
    [GEN_AI.cacheWriteTokens]: usage.cacheWrite,
    [GEN_AI.reasoningTokens]: usage.reasoning,
  }),
  [BOWLINE.estimatedInput]: usage.estimatedInput,
  [BOWLINE.estimatedOutput]: usage.estimatedOutput,
});

// ── Events ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export function eventAttributes({ about }: TelemetryEvent, content: Content): Attributes {
  const fields: Fields = {};
  for (const [name, value] of Object.entries(about)) {
    fields[name] = isPlain(value) && isNoContent(name, value) ? value : content("event", name, () => value);
  }
  return present(fields);
}

interface Fields {
  [name: string]: Attributes[string] | undefined;
}

const isPlain = (value: Json): value is string | number | boolean => typeof value !== "object";

function present(fields: Fields): Attributes {
  const attributes: Attributes = {};
  for (const name in fields) {
    const value = fields[name];
    if (value !== undefined) attributes[name] = value;
  }
  return attributes;
}
