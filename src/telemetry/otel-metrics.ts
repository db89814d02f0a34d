// The measurements of a span. Their attributes have few different values: no ids, and no text of users or models.
import { statusOf } from "../model/tool.ts";
import { type Attributes, errorTypeOf, inputTokens, isReported, modelOf, outputTokens } from "./otel-attributes.ts";
import { BOWLINE, ERROR_TYPE, GEN_AI, type METRIC, OPERATION, OTHER, providerName } from "./otel-names.ts";
import type { ModelSpan, Span, ToolSpan, TurnSpan } from "./telemetry.ts";

export type Measured = keyof typeof METRIC;
/** By the names of `METRIC`. */
export type Meters = { readonly [M in Measured]: { record(value: number, attributes: Attributes): void } };

/** Measures a span that has ended. */
export function measure(span: Span, meters: Meters): void {
  const { kind, startedAt, endedAt = startedAt } = span;
  const seconds = Math.max(0, endedAt - startedAt) / 1_000;
  if (kind === "store") meters.store.record(seconds, failing({ [BOWLINE.store]: span.operation }, span));
  else if (kind === "turn") meters.turn.record(seconds, failing(turnAttributes(span), span));
  else if (kind === "tool") meters.tool.record(seconds, failing(toolAttributes(span), span));
  else if (kind === "model") measureModel(span, seconds, meters);
}

function measureModel(span: ModelSpan, seconds: number, { model, tokens }: Meters): void {
  const attributes = {
    [GEN_AI.operation]: OPERATION.model,
    [GEN_AI.provider]: providerName(span.provider),
    [GEN_AI.model]: modelOf(span),
  };
  model.record(seconds, failing(attributes, span));
  const { usage } = span;
  if (usage === undefined || !isReported(usage)) return;
  tokens.record(inputTokens(usage), { ...attributes, [GEN_AI.tokenType]: "input" });
  tokens.record(outputTokens(usage), { ...attributes, [GEN_AI.tokenType]: "output" });
}

const turnAttributes = ({ model, how = "lost", outcome }: TurnSpan): Attributes => ({
  [BOWLINE.model]: model,
  [BOWLINE.how]: how,
  ...(outcome !== undefined && { [BOWLINE.outcome]: outcome.kind }),
});

function toolAttributes({ call, output }: ToolSpan): Attributes {
  // The model invented the name.
  const isUnknown = output?.kind === "failure" && output.failure.code === "tool.unknown";
  return {
    [GEN_AI.tool]: isUnknown ? OTHER : call.name,
    ...(output !== undefined && { [BOWLINE.toolStatus]: statusOf(output) }),
  };
}

function failing(attributes: Attributes, span: Span): Attributes {
  const code = errorTypeOf(span);
  if (code !== undefined) attributes[ERROR_TYPE] = code;
  return attributes;
}
