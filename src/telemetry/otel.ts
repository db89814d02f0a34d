// Job: `otel()`, a listener that exports spans and metrics to OpenTelemetry. The only file that imports its API. Not
// its job: names (`otel-names.ts`), attributes (`otel-attributes.ts`), what is measured (`otel-metrics.ts`).
// otel-1 Parents are given explicitly, so no context manager is needed. A span can be a parent after its end.
// otel-2 A resumed turn starts a new trace, with a link to its earlier run if this process ran it. Only the first run
//        has the `traceparent` of the metadata as its parent: days can lie between the runs.
// otel-3 Times are pairs of seconds and nanoseconds, because the SDK takes a small number for the time of the process.
import {
  type Context,
  type Histogram,
  type HrTime,
  isSpanContextValid,
  type Link,
  type Meter,
  type MeterProvider,
  metrics,
  type Span as OtelSpan,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import { type Known, requireKnown } from "../model/known.ts";
import {
  attributesAtEnd,
  attributesAtStart,
  type Content,
  contentBy,
  errorTypeOf,
  eventAttributes,
  nameOf,
  type Redact,
} from "./otel-attributes.ts";
import { type Measured, measure } from "./otel-metrics.ts";
import { BOWLINE, METRIC, SECOND_BOUNDS, STORE_BOUNDS, TOKEN_BOUNDS } from "./otel-names.ts";
import type { Span, TelemetryEvent, TelemetryListener, TurnSpan } from "./telemetry.ts";
import { parseTraceparent } from "./traceparent.ts";

export type { ContentPlace, Redact } from "./otel-attributes.ts";

export interface OtelOptions {
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
const OPTIONS: Known<OtelOptions> = {
  tracerProvider: true,
  meterProvider: true,
  content: true,
  redact: true,
  hooks: true,
  rounds: true,
  stores: true,
};

/**
 * Exports spans and metrics to OpenTelemetry. Make one for each runtime, because closing the runtime ends the open
 * spans.
 */
export function otel(options: OtelOptions = {}): TelemetryListener {
  requireKnown("otel", options, OPTIONS);
  return new OtelListener(options);
}

/** The position of a span in its trace. */
interface Place {
  readonly parent: Context;
  readonly links?: Link[];
}

const SCOPE = "bowline";
/** How many parked and lost turns stay in memory, so that their next runs can link to them. */
const RUNS_MAX = 10_000;

/** The kinds of spans that can have child spans. */
const HOLDS: ReadonlySet<Span["kind"]> = new Set(["turn", "round", "tool", "cell", "job"]);

const ALWAYS = ["turn", "model", "tool", "cell", "wait", "commit", "job"] as const;

class OtelListener implements TelemetryListener {
  readonly #tracer: Tracer;
  readonly #meters: MeterProvider | undefined;
  readonly #content: Content;
  readonly kinds: readonly Span["kind"][];
  readonly #spans = new WeakMap<Span, OtelSpan>();
  readonly #open = new Map<Span, OtelSpan>();
  readonly #runs = new Map<string, SpanContext>();
  #histograms: Histograms | undefined;
  /** The latest time of a span, on the runtime's clock. */
  #now = 0;

  constructor({ tracerProvider, meterProvider, content = false, redact, ...options }: OtelOptions) {
    const { hooks = true, rounds = false, stores = false } = options;
    this.#tracer = (tracerProvider ?? trace.getTracerProvider()).getTracer(SCOPE);
    this.#meters = meterProvider;
    this.#content = contentBy(content, redact);
    const chosen = { hook: hooks, round: rounds, store: stores } as const;
    this.kinds = [...ALWAYS, ...(Object.keys(chosen) as (keyof typeof chosen)[]).filter((kind) => chosen[kind])];
  }

  start(span: Span): void {
    this.#passed(span.startedAt);
    const { parent, links } = this.#placeOf(span);
    const attributes = attributesAtStart(span, this.#content);
    const kind = span.kind === "model" || span.kind === "store" ? SpanKind.CLIENT : SpanKind.INTERNAL;
    const options = { kind, attributes, startTime: timeOf(span.startedAt) };
    const made = this.#tracer.startSpan(nameOf(span), links === undefined ? options : { ...options, links }, parent);
    if (HOLDS.has(span.kind)) this.#spans.set(span, made);
    this.#open.set(span, made);
  }

  end(span: Span): void {
    const { endedAt = span.startedAt } = span;
    this.#passed(endedAt);
    measure(span, (this.#histograms ??= histogramsOf((this.#meters ?? metrics.getMeterProvider()).getMeter(SCOPE))));
    const made = this.#open.get(span);
    if (made === undefined) return;
    this.#open.delete(span);
    if (span.kind === "turn") this.#remember(span, made);
    if (made.isRecording()) this.#conclude(span, made);
    made.end(timeOf(endedAt));
  }

  event(span: Span | undefined, event: TelemetryEvent): void {
    this.#passed(event.at);
    const made = span === undefined ? undefined : this.#open.get(span);
    if (made?.isRecording() === true)
      made.addEvent(event.name, eventAttributes(event, this.#content), timeOf(event.at));
  }

  close(): void {
    for (const [span, made] of this.#open) {
      made.setAttribute(BOWLINE.isUnended, true);
      made.end(timeOf(Math.max(this.#now, span.startedAt)));
    }
    this.#open.clear();
    this.#runs.clear();
  }

  #passed(at: number): void {
    if (at > this.#now) this.#now = at;
  }

  /** otel-1, otel-2 */
  #placeOf(span: Span): Place {
    for (let above = span.parent; above !== undefined; above = above.parent) {
      const made = this.#spans.get(above);
      if (made !== undefined) return { parent: trace.setSpan(ROOT_CONTEXT, made) };
    }
    return span.kind === "turn" ? this.#placeOfTurn(span) : { parent: ROOT_CONTEXT };
  }

  #placeOfTurn({ turnId, isResumed, metadata }: TurnSpan): Place {
    const caller = callerOf(metadata?.traceparent);
    if (!isResumed) return { parent: caller === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, caller) };
    const earlier = this.#runs.get(turnId);
    const links: Link[] = [];
    if (earlier !== undefined) links.push({ context: earlier, attributes: { [BOWLINE.link]: "earlier_run" } });
    if (caller !== undefined) links.push({ context: caller, attributes: { [BOWLINE.link]: "traceparent" } });
    return { parent: ROOT_CONTEXT, links };
  }

  #remember({ turnId, how }: TurnSpan, made: OtelSpan): void {
    this.#runs.delete(turnId);
    if (how === "committed") return;
    this.#runs.set(turnId, made.spanContext());
    const [oldest] = this.#runs.keys();
    if (this.#runs.size > RUNS_MAX && oldest !== undefined) this.#runs.delete(oldest);
  }

  #conclude(span: Span, made: OtelSpan): void {
    made.setAttributes(attributesAtEnd(span, this.#content));
    if (errorTypeOf(span) === undefined) return;
    const message = this.#content(span.kind, "error", () => span.error?.message);
    made.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) });
  }
}

/** otel-3 */
function timeOf(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000);
  const nanoseconds = Math.round((ms - seconds * 1_000) * 1_000_000);
  return nanoseconds < 1_000_000_000 ? [seconds, nanoseconds] : [seconds + 1, 0];
}

function callerOf(traceparent: unknown): SpanContext | undefined {
  const parsed = parseTraceparent(traceparent);
  return parsed !== undefined && isSpanContextValid(parsed) ? parsed : undefined;
}

type Histograms = { readonly [M in Measured]: Histogram };

function histogramsOf(meter: Meter): Histograms {
  const seconds = (metric: Measured, description: string, bounds = SECOND_BOUNDS): Histogram =>
    meter.createHistogram(METRIC[metric], {
      unit: "s",
      description,
      advice: { explicitBucketBoundaries: bounds },
    });
  return {
    tokens: meter.createHistogram(METRIC.tokens, {
      unit: "{token}",
      description: "Tokens of a model call.",
      advice: { explicitBucketBoundaries: TOKEN_BOUNDS },
    }),
    model: seconds("model", "Duration of an attempt at a model call."),
    turn: seconds("turn", "Duration of a run of a turn."),
    tool: seconds("tool", "Duration of an attempt at a tool call."),
    store: seconds("store", "Duration of a store call.", STORE_BOUNDS),
  };
}
