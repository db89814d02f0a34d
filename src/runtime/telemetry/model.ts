import type { ModelRequest, ProviderFailureClass, Reply } from "../../model/request.ts";
import { addUsage, type Usage } from "../../model/usage.ts";
import type { Provider } from "../../providers/provider.ts";
import type { ModelSpan, Span } from "../../telemetry/telemetry.ts";
import type { TelemetryHub } from "./hub.ts";

/** The result of an attempt at a model call. */
export interface AttemptResult {
  readonly reply?: Reply;
  readonly usage: Usage;
  readonly firstMs?: number;
  readonly failure?: { readonly class: ProviderFailureClass; readonly message: string };
}
/**
 * Begins an attempt. `lost`: the tokens of a call that a killed process made. The returned function ends the attempt.
 */
export type ObserveAttempt = (attempt: number, lost: Usage) => (result: AttemptResult) => void;

/** Makes the spans of the attempts at one model call. */
export const attemptsOf =
  (
    hub: TelemetryHub,
    place: Pick<Span, "parent" | "sessionId" | "turnId">,
    { id: provider }: Provider,
    { model, purpose, request }: { readonly model: string; readonly purpose: string; readonly request: ModelRequest },
  ): ObserveAttempt =>
  (attempt, lost) => {
    const span = hub.begin<ModelSpan>({ kind: "model", ...place, model, provider, attempt, purpose, request });
    return ({ failure, usage, ...result }) =>
      hub.end(span, {
        ...result,
        usage: addUsage(usage, lost),
        ...(failure && { failure: failure.class, error: { code: failure.class, message: failure.message } }),
      });
  };
