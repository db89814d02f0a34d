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
  /** Called for each value of content. Its answer is exported; if it throws, nothing is. */
  readonly redact?: Redact | undefined;
  /** Whether calls of hooks have spans. Default: true. */
  readonly hooks?: boolean | undefined;
  /** Whether rounds have spans, between those of turns and those of calls. Default: false. */
  readonly rounds?: boolean | undefined;
  /** Whether store calls have spans and are measured. Default: false. */
  readonly stores?: boolean | undefined;
}
/** Gives spans and metrics to OpenTelemetry. Make one for each runtime: when that is closed, its open spans are ended. */
declare function otel(options?: OtelOptions): TelemetryListener;
export { type ContentPlace, OtelOptions, type Redact, otel };
