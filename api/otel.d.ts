import { ContentPlace, Redact } from "./shared/telemetry/otel-attributes.js";
import { MeterProvider, TracerProvider } from "@opentelemetry/api";
import { TelemetryListener } from "./shared/telemetry/telemetry.js";
interface OtelOptions {
  /** Default: the global one, also if it is registered later. */
  readonly tracerProvider?: TracerProvider | undefined;
  /** Default: the global one at the first measurement. */
  readonly meterProvider?: MeterProvider | undefined;
  /** Exports messages, instructions, arguments, results and texts of errors. Default: false. */
  readonly content?: boolean | undefined;
  /** Called for each value of content. Its result is exported. If it throws, nothing is exported. */
  readonly redact?: Redact | undefined;
  /** Makes spans for calls of hooks. Default: true. */
  readonly hooks?: boolean | undefined;
  /** Makes spans for rounds, between the spans of turns and calls. Default: false. */
  readonly rounds?: boolean | undefined;
  /** Makes spans and metrics for store calls. Default: false. */
  readonly stores?: boolean | undefined;
}
/**
 * Exports spans and metrics to OpenTelemetry. Make one for each runtime, because closing the runtime ends the open
 * spans.
 */
declare function otel(options?: OtelOptions): TelemetryListener;
export { type ContentPlace, OtelOptions, type Redact, otel };
