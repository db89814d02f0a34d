/** Turns to look at, listeners, and an OpenTelemetry in memory. */
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanExporter,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import {
  createRuntime,
  definePlugin,
  defineTool,
  type RuntimeOptions,
  type Span,
  type Store,
  type TelemetryEvent,
  type TelemetryListener,
} from "bowline";
import { type OtelOptions, otel } from "bowline/otel";
import { type Provider, ProviderFailure } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { z } from "zod";
import { call, end, endInCalls, follows, text } from "../kit/models.ts";
import { file } from "../kit/stores.ts";
import { quickWorld } from "../kit/worlds.ts";

// ── Turns ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What users, models and tools say here. It must be nowhere unless it is asked for. */
export const SECRET = "hunter2";
export const INPUT = `# ${SECRET}`;

/** Calls `search` and then answers. */
export const searches = (): Provider =>
  follows({
    [INPUT]: [
      [call("search", { words: SECRET }, "c1"), endInCalls],
      [text(`It is ${SECRET}.`), end],
    ],
  });

export const search = defineTool({
  name: "search",
  description: `Searches for ${SECRET}.`,
  input: z.object({ words: z.string() }),
  execute: ({ words }) => `Found ${words}.`,
});

const breaks = defineTool({
  name: "breaks",
  description: "Breaks.",
  input: z.object({}),
  execute: () => {
    throw new Error(`It broke at ${SECRET}.`);
  },
});

/** Has words of users, models, tools and plugins in all places where there can be any. */
export async function tellSecrets(telemetry: RuntimeOptions["telemetry"], store: Store = memory()): Promise<void> {
  const failure = new ProviderFailure({ class: "server", message: `500 for ${SECRET}` });
  let asked = 0;
  const model: Provider = {
    id: "teller",
    modelId: "test",
    async *stream() {
      asked++;
      if (asked === 1) throw failure;
      if (asked === 2) yield [text(`I search for ${SECRET}.`), call("search", { words: SECRET }), call("breaks")];
      else yield text(`It is ${SECRET}.`);
      yield asked === 2 ? endInCalls : end;
    },
  };
  const clumsy = definePlugin({
    id: "acme/clumsy",
    setup: () => ({
      lifecycle: () => {
        throw new Error(`I lost ${SECRET}.`);
      },
    }),
  });
  const options = { store, tools: [search, breaks], plugins: [clumsy], instructions: `The word is ${SECRET}.` };
  await using runtime = await createRuntime({ ...options, model, telemetry, world: quickWorld() });
  const session = await runtime.session("s");
  await session.turn(`Find ${SECRET}.`).result();
  const { id } = await session.jobs.spawn({ label: `Count ${SECRET}` }, () => SECRET);
  await session.jobs.await([id]);
}

/** `describe.each(KEPT_IN)("…, %s", (_, make) => …)`; Postgres is in `postgres.test.ts`. */
export const KEPT_IN: readonly (readonly [name: string, make: () => Store])[] = [
  ["in memory", memory],
  ["in SQLite", () => sqlite(file(), { durability: "process" })],
];

// ── Listeners ───────────────────────────────────────────────────────────────────────────────────────────────────────

export interface Recorder extends TelemetryListener {
  readonly started: readonly Span[];
  readonly events: readonly TelemetryEvent[];
  of<K extends Span["kind"]>(kind: K): Extract<Span, { kind: K }>[];
  /** The spans in short, without those of the store. */
  tree(): string[];
}

/** Keeps all spans, those that have begun. */
export function recorder(): Recorder {
  const started: Span[] = [];
  const events: TelemetryEvent[] = [];
  const isOf =
    <K extends Span["kind"]>(kind: K) =>
    (span: Span): span is Extract<Span, { kind: K }> =>
      span.kind === kind;
  return {
    started,
    events,
    start: (span) => void started.push(span),
    end: () => {},
    event: (_, event) => void events.push(event),
    of: (kind) => started.filter(isOf(kind)),
    tree: () =>
      treeOf(
        started.filter(({ kind }) => kind !== "store"),
        ({ parent }) => parent,
        ({ kind }) => kind,
      ),
  };
}

function treeOf<T>(spans: readonly T[], parentOf: (span: T) => T | undefined, nameOf: (span: T) => string): string[] {
  const below = (parent: T | undefined, depth: number): string[] =>
    spans
      .filter((span) => parentOf(span) === parent)
      .flatMap((span) => [`${"  ".repeat(depth)}${nameOf(span)}`, ...below(span, depth + 1)]);
  return below(undefined, 0);
}

// ── OpenTelemetry ───────────────────────────────────────────────────────────────────────────────────────────────────

export interface Traced {
  readonly listener: TelemetryListener;
  readonly spans: readonly ReadableSpan[];
  named(name: string): readonly ReadableSpan[];
  /** The only span of this name. */
  one(name: string): ReadableSpan;
  /** The spans in short. A span whose parent is not here stands at the left. */
  tree(): string[];
  metrics(): Promise<readonly Metric[]>;
}
export interface Metric {
  readonly name: string;
  readonly unit: string;
  readonly points: readonly { readonly attributes: object; readonly count: number; readonly sum: number }[];
}

export const tracerTo = (exporter: SpanExporter): TracerProvider =>
  new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });

/** A listener of `otel()` on the real SDK, which keeps everything in memory. */
export function traced(options: Omit<OtelOptions, "tracerProvider" | "meterProvider"> = {}): Traced {
  const exporter = new InMemorySpanExporter();
  const measured = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: measured, exportIntervalMillis: 1_000_000_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const named = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name);
  return {
    listener: otel({ tracerProvider: tracerTo(exporter), meterProvider, rounds: true, ...options }),
    get spans() {
      return exporter.getFinishedSpans();
    },
    named,
    one(name) {
      const [span, ...more] = named(name);
      if (span === undefined || more.length > 0) throw new Error(`There are ${named(name).length} spans ${name}.`);
      return span;
    },
    tree() {
      const all = exporter.getFinishedSpans().sort((a, b) => Number(nanosOf(a.startTime) - nanosOf(b.startTime)));
      const byId = new Map(all.map((span) => [span.spanContext().spanId, span]));
      const parentOf = ({ parentSpanContext }: ReadableSpan) => byId.get(parentSpanContext?.spanId ?? "");
      return treeOf(all, parentOf, ({ name }) => name);
    },
    async metrics() {
      await reader.forceFlush();
      const latest = measured.getMetrics().at(-1);
      await meterProvider.shutdown();
      return (latest?.scopeMetrics ?? []).flatMap(({ metrics }) =>
        metrics.map(({ descriptor: { name, unit }, dataPoints }) => {
          const points = dataPoints.map(({ attributes, value }) => ({ attributes, ...(value as Histogram) }));
          return { name, unit, points };
        }),
      );
    },
  };
}
interface Histogram {
  readonly count: number;
  readonly sum: number;
}

export const nanosOf = ([seconds, nanos]: readonly [number, number]): bigint =>
  BigInt(seconds) * 1_000_000_000n + BigInt(nanos);
