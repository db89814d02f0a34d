// `otel()` with the exporter to OTLP/HTTP: what a collector receives.
import { otel } from "bowline/otel";
import { describe, expect, test } from "vitest";
import { open } from "../kit/worlds.ts";
import { type CollectedSpan, collector } from "./collector.ts";
import { INPUT, KEPT_IN, recorder, SECRET, search, searches, tellSecrets } from "./kit.ts";

describe.each(KEPT_IN)("a collector %s", (_, make) => {
  test("E4 a collector receives the trace of a turn over OTLP/HTTP, with the parents and times of the runtime", async () => {
    await using server = await collector();
    const seen = recorder();
    const telemetry = [otel({ tracerProvider: server.tracerProvider }), seen];
    await using world = await open(searches(), { store: make(), tools: [search], telemetry });
    await world.session.turn(INPUT).result();

    const spans = await server.spans();
    const byId = new Map(spans.map((span) => [span.spanId, span]));
    const parentOf = ({ parentSpanId = "" }: CollectedSpan): string => byId.get(parentSpanId)?.name ?? "";
    expect(spans.map((span) => `${parentOf(span)} > ${span.name}`)).toEqual([
      "invoke_agent agent > chat test",
      "invoke_agent agent > execute_tool search",
      "invoke_agent agent > chat test",
      "invoke_agent agent > bowline.commit",
      " > invoke_agent agent",
    ]);
    const turn = spans.at(-1);
    const ms = Number(BigInt(turn?.endTimeUnixNano ?? 0) - BigInt(turn?.startTimeUnixNano ?? 0)) / 1e6;
    const [{ startedAt, endedAt = 0 } = { startedAt: 0 }] = seen.of("turn");
    expect(ms).toBeCloseTo(endedAt - startedAt, 2);
    expect(turn?.attributes).toContainEqual({ key: "bowline.turn.outcome", value: { stringValue: "answered" } });
  });

  test("E4 no byte that a collector receives has a word of users, models, tools or errors, unless content is on", async () => {
    await using silent = await collector();
    await using open = await collector();
    await tellSecrets(
      [
        otel({ tracerProvider: silent.tracerProvider, stores: true }),
        otel({ tracerProvider: open.tracerProvider, content: true }),
      ],
      make(),
    );
    expect((await silent.spans()).length).toBeGreaterThan(10);
    expect(silent.bytes()).not.toContain(SECRET);
    expect((await open.spans()).length).toBeGreaterThan(10);
    expect(open.bytes()).toContain(SECRET);
  });
});
