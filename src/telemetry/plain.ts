// Spans and events as plain JSON, one line each.
import { defined, type Json, type JsonObject } from "../model/json.ts";
import { statusOf } from "../model/tool.ts";
import type { Span, TelemetryEvent } from "./telemetry.ts";

/** The fields of a span: ids, times and results. With `content` also messages, arguments and results of tools. */
export function plainSpan(span: Span, content: boolean): JsonObject {
  const { kind, id, parent, sessionId, turnId, startedAt, endedAt = startedAt, error } = span;
  return defined({
    kind,
    id,
    parentId: parent?.id,
    sessionId,
    turnId,
    startedAt,
    endedAt,
    ms: Math.max(0, Math.round((endedAt - startedAt) * 1_000) / 1_000),
    ...resultsOf(span),
    error: error && (content ? error : { code: plainCode(error.code) }),
    content: content ? contentOf(span) : undefined,
  }) as JsonObject;
}

function resultsOf(span: Span): object {
  switch (span.kind) {
    case "turn": {
      const { owner, label, model, metadata, generation, isResumed, how, outcome, usage, rounds } = span;
      const kept = { owner, label, model, metadata, generation, isResumed, how, usage, rounds };
      return {
        ...kept,
        outcome: outcome?.kind,
        code: outcome && "code" in outcome ? plainCode(outcome.code) : undefined,
      };
    }
    case "round":
      return { round: span.round };
    case "model": {
      const { model, provider, attempt, purpose, reply, usage, firstMs, failure } = span;
      return { model, provider, attempt, purpose, finish: reply?.finish, usage, firstMs, failure };
    }
    case "tool": {
      const { call, attempt, isResumed, output } = span;
      const made = { tool: call.name, callId: call.id, parentCallId: call.parentId };
      return { ...made, attempt, isResumed, status: output && statusOf(output) };
    }
    case "cell":
      return { state: span.state };
    case "hook": {
      const { hook, plugin, event, call } = span;
      return { hook, plugin, event, callId: call?.id };
    }
    case "wait": {
      const { wants, waitId, call, until, how, by } = span;
      return {
        wants,
        waitId,
        tool: call?.name,
        callId: call?.id,
        until: Number.isFinite(until) ? until : null,
        how,
        by,
      };
    }
    case "commit":
      return { outcome: span.outcome };
    case "job": {
      const { jobId, job, operation, state } = span;
      return { jobId, job, operation, state };
    }
    case "store":
      return { operation: span.operation };
  }
}

function contentOf(span: Span): object | undefined {
  switch (span.kind) {
    case "turn":
      return { input: span.input, outcome: span.outcome };
    case "model":
      return { request: span.request, reply: span.reply };
    case "tool":
      return { arguments: span.call.input, output: span.output };
    case "cell":
      return { code: span.code };
    case "wait":
      return { reason: span.reason, arguments: span.call?.input };
    case "job":
      return { label: span.label };
    default:
      return undefined;
  }
}

export function plainEvent(event: TelemetryEvent, content: boolean): JsonObject {
  const { at, name, sessionId, turnId, context, about } = event;
  const shown = content ? about : Object.fromEntries(Object.entries(about).filter((field) => isNoContent(...field)));
  return defined({ kind: "event", at, name, sessionId, turnId, context, about: shown }) as JsonObject;
}

/** Whether a code of a tool or plugin is a short name and not a free text. */
export const isCode = (code: string): boolean => /^[A-Za-z][\w.:/-]{0,99}$/.test(code);
const plainCode = (code: string): string => (isCode(code) ? code : "other");

/** Fields of events whose values are names of the runtime or of a plugin. All other texts are content. */
const NAMES: ReadonlySet<string> = new Set([
  "class",
  "code",
  "effect",
  "event",
  "hook",
  "job",
  "kind",
  "loser",
  "model",
  "operation",
  "plugin",
  "session",
  "tool",
  "turn",
  "winner",
]);
const NAME = /^[^\s\p{Cc}]{1,200}$/u;

/** Whether a field of an event can be exported without `content`: a number, a boolean or a name. */
export const isNoContent = (field: string, value: Json): boolean =>
  typeof value === "string" ? NAMES.has(field) && NAME.test(value) : typeof value !== "object";
