// `otel()` with the real SDK of OpenTelemetry.
import { SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { InMemorySpanExporter, type ReadableSpan } from "@opentelemetry/sdk-trace";
import { createRuntime, definePlugin, defineTool, finish, question, type Session, ToolError } from "bowline";
import { otel } from "bowline/otel";
import { type Provider, ProviderFailure } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { calls, cut, says, scripted } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { eventually, within } from "../kit/reading.ts";
import { file } from "../kit/stores.ts";
import { held, lifetimes, named, open, runningQuickly } from "../kit/worlds.ts";
import {
  INPUT,
  KEPT_IN,
  nanosOf,
  recorder,
  SECRET,
  search,
  searches,
  type Traced,
  tellSecrets,
  traced,
  tracerTo,
} from "./kit.ts";

const TURN = "invoke_agent agent";
const isFailed = ({ status }: ReadableSpan): boolean => status.code === SpanStatusCode.ERROR;
const sumOf = (spans: readonly ReadableSpan[], name: string): number =>
  spans.reduce((sum, { attributes }) => sum + Number(attributes[name] ?? 0), 0);

// ── Spans ───────────────────────────────────────────────────────────────────────────────────────────────────────────

describe.each(KEPT_IN)("OpenTelemetry %s", (_, make) => {
  test("E4 a turn is one trace, whose spans have the names and attributes of the GenAI conventions", async () => {
    const otel = traced();
    await using world = await open(searches(), { store: make(), tools: [search], telemetry: otel.listener });
    const session = await world.runtime.session("s", { config: { label: "Finder" } });
    const { turnId } = await session.turn(INPUT, { metadata: { user: "u1" } }).result();

    expect(otel.tree()).toEqual([
      "invoke_agent Finder",
      "  bowline.round",
      "    chat test",
      "    execute_tool search",
      "  bowline.round",
      "    chat test",
      "  bowline.commit",
    ]);
    expect(new Set(otel.spans.map((span) => span.spanContext().traceId)).size).toBe(1);
    const ids = { "gen_ai.conversation.id": "s", "bowline.turn.id": turnId };
    for (const { attributes } of otel.spans) expect(attributes).toMatchObject(ids);

    expect(otel.one("invoke_agent Finder")).toMatchObject({
      kind: SpanKind.INTERNAL,
      attributes: {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "Finder",
        "bowline.turn.outcome": "answered",
        "bowline.turn.resumed": false,
        "bowline.metadata.user": "u1",
      },
    });
    const [first, second] = otel.named("chat test");
    expect(first).toMatchObject({
      kind: SpanKind.CLIENT,
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "follows",
        "gen_ai.request.model": "test",
        "gen_ai.request.stream": true,
        "gen_ai.response.finish_reasons": ["tool_call"],
        "gen_ai.response.time_to_first_chunk": expect.any(Number),
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
      },
    });
    expect(second?.attributes["gen_ai.response.finish_reasons"]).toEqual(["stop"]);
    expect(otel.one("execute_tool search")).toMatchObject({
      kind: SpanKind.INTERNAL,
      attributes: {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.type": "function",
        "bowline.tool.status": "ok",
      },
    });
    expect(otel.spans.filter(isFailed)).toEqual([]);
  });
});

test("E4 spans have the times of the runtime, to the microsecond", async () => {
  const otel = traced();
  const seen = recorder();
  await using world = await open(searches(), { tools: [search], telemetry: [otel.listener, seen] });
  await world.session.turn(INPUT).result();
  const [turn] = seen.of("turn");
  const { startTime, endTime } = otel.one(TURN);
  expect(Number(nanosOf(startTime)) / 1e6).toBeCloseTo(turn?.startedAt ?? 0, 2);
  expect(Number(nanosOf(endTime)) / 1e6).toBeCloseTo(turn?.endedAt ?? 0, 2);
});

test("E4 a runtime in a simulated time of the past has spans of that time", async () => {
  const otel = traced();
  await using runtime = await runningQuickly({ model: searches(), tools: [search], telemetry: otel.listener });
  await (await runtime.session()).turn(INPUT).result();
  for (const { startTime } of otel.spans) expect(startTime[0]).toBe(1_767_225_600);
});

test("E4 store calls and rounds have spans if `stores` and `rounds` are true, and hooks have none if `hooks` is false", async () => {
  const plain = traced();
  const all = traced({ stores: true, hooks: false, rounds: false });
  const plugin = definePlugin({ id: "acme/watch", setup: () => ({ lifecycle: () => {} }) });
  const telemetry = [plain.listener, all.listener];
  const world = await open(searches(), { tools: [search], plugins: [plugin], telemetry });
  await world.session.turn(INPUT).result();
  await world.runtime.close();
  expect(plain.named("bowline.store")).toEqual([]);
  expect(plain.named("bowline.hook")[0]?.attributes).toMatchObject({ "bowline.plugin": "acme/watch" });
  expect(all.named("bowline.hook")).toEqual([]);
  expect(plain.named("bowline.round")).toHaveLength(2);
  expect(all.named("bowline.round")).toEqual([]);
  const operations = all.named("bowline.store").map(({ attributes }) => attributes["bowline.store.operation"]);
  expect(operations).toContain("commit");
});

test("E4 providers that are registered later as the global ones are used", async () => {
  const exporter = new InMemorySpanExporter();
  const listener = otel();
  trace.setGlobalTracerProvider(tracerTo(exporter));
  try {
    await using world = await open(searches(), { tools: [search], telemetry: listener });
    await world.session.turn(INPUT).result();
    expect(exporter.getFinishedSpans().map(({ name }) => name)).toContain(TURN);
  } finally {
    trace.disable();
  }
});

test("E4 an unknown option of otel is refused", () => {
  expect(() => otel({ contents: true } as never)).toThrow(/contents/);
});

test("E4 spans that are open when the runtime is closed are ended", async () => {
  const otel = traced();
  const turn = { id: "1", kind: "turn", sessionId: "s", turnId: "t", startedAt: 5_000, model: "m" } as const;
  otel.listener.start?.({ ...turn, generation: 1, isResumed: false, input: [] } as never);
  otel.listener.event?.(undefined, { at: 7_000, name: "host.late", about: {} });
  await otel.listener.close?.();
  expect(otel.one(TURN)).toMatchObject({ endTime: [7, 0], attributes: { "bowline.unended": true } });
});

// ── Failures ────────────────────────────────────────────────────────────────────────────────────────────────────────

const failing = (code: string) =>
  named("fails", () => {
    throw new ToolError(code, "It failed.");
  });

test("E4 a failed turn is an error with its code, and a failed tool call with its own", async () => {
  const otel = traced();
  const model = scripted(calls("fails"), new ProviderFailure({ class: "auth", message: "No key." }));
  await using world = await open(model, { tools: [failing("acme.broken")], telemetry: otel.listener });
  const { outcome } = await world.session.turn("Go.").result();
  expect(outcome).toMatchObject({ kind: "failed", code: "provider.failed" });
  expect(otel.one(TURN)).toMatchObject({
    status: { code: SpanStatusCode.ERROR },
    attributes: { "error.type": "provider.failed", "bowline.turn.outcome": "failed" },
  });
  expect(otel.one("execute_tool fails").attributes["error.type"]).toBe("acme.broken");
  expect(otel.named("chat test").map(({ attributes }) => attributes["error.type"])).toEqual([undefined, "auth"]);
});

test("E4 a cancelled turn does not set an error status", async () => {
  const otel = traced();
  const work = held();
  await using world = await open(scripted(calls("work")), { tools: [work.tool], telemetry: otel.listener });
  const turn = world.session.turn("Go.");
  await within(work.began());
  await turn.cancel("Enough.");
  await turn.result();
  expect(otel.one(TURN)).toMatchObject({
    status: { code: SpanStatusCode.UNSET },
    attributes: { "bowline.turn.outcome": "stopped" },
  });
  expect(otel.spans.filter(isFailed)).toEqual([]);
});

test("E4 a turn that its closing runtime leaves does not set an error status", async () => {
  const otel = traced();
  const work = held();
  const store = sqlite(file(), { durability: "process" });
  const world = await open(scripted(calls("work")), { store, tools: [work.tool], telemetry: otel.listener });
  const turn = world.session.turn("Go.");
  turn.result().catch(() => {});
  await within(work.began());
  await world.runtime.close({ graceMs: 10 });
  expect(otel.one(TURN)).toMatchObject({
    status: { code: SpanStatusCode.UNSET },
    attributes: { "bowline.turn.how": "lost" },
  });
});

// ── Tokens ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const USAGE = { input: 7, cacheRead: 100, cacheWrite: 30, output: 5, reasoning: 11, unknownCalls: 0 };
const withUsage = (parts: ReturnType<typeof says>): ReturnType<typeof says> =>
  parts.map((part) => (part.kind === "finish" ? { ...part, usage: USAGE } : part));

const think = defineTool({
  name: "think",
  description: "Thinks.",
  input: z.object({}),
  execute: (_, { complete }) => complete.text("Think.", { label: "thought" }),
});

test("E4 the tokens of all chat spans are those of the ledger, with retries and a completion", async () => {
  const otel = traced();
  const server = new ProviderFailure({ class: "server", message: "500" });
  const model = scripted(
    cut("Half of it"),
    server,
    withUsage(calls("think")),
    cut("Half a thought"),
    withUsage(says("A thought.")),
    withUsage(says("Done.")),
  );
  await using runtime = await runningQuickly({ model, tools: [think], telemetry: otel.listener });
  const session = await runtime.session();
  await session.turn("Go.").result();

  const { usage } = await session.read();
  const chats = otel.named("chat test");
  expect(chats.map(isFailed)).toEqual([true, true, false, true, false, false]);
  expect(chats.map(({ attributes }) => attributes["bowline.attempt"])).toEqual([1, 2, 3, 1, 2, 1]);
  expect(chats.map(({ attributes }) => attributes["bowline.purpose"])).toContain("thought");
  expect(sumOf(chats, "gen_ai.usage.input_tokens")).toBe(usage.input + usage.cacheRead + usage.cacheWrite);
  expect(sumOf(chats, "gen_ai.usage.output_tokens")).toBe(usage.output + usage.reasoning);
  expect(sumOf(chats, "gen_ai.usage.cache_read.input_tokens")).toBe(usage.cacheRead);
  expect(sumOf(chats, "gen_ai.usage.cache_creation.input_tokens")).toBe(usage.cacheWrite);
  expect(sumOf(chats, "gen_ai.usage.reasoning.output_tokens")).toBe(usage.reasoning);
  expect(usage.estimatedInput).toBeGreaterThan(0);
  expect(sumOf(chats, "bowline.usage.estimated_input_tokens")).toBe(usage.estimatedInput);
  expect(sumOf(chats, "bowline.usage.estimated_output_tokens")).toBe(usage.estimatedOutput);
  expect(usage.input).toBe(3 * USAGE.input);

  const tokens = (await otel.metrics()).find(({ name }) => name === "gen_ai.client.token.usage");
  expect(tokens?.points.map(({ sum }) => sum)).toEqual([
    usage.input + usage.cacheRead + usage.cacheWrite,
    usage.output + usage.reasoning,
  ]);
});

// ── Traces of several runs ──────────────────────────────────────────────────────────────────────────────────────────

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";
const TRACEPARENT = `00-${TRACE}-${PARENT}-01`;

const turned = async (session: Session, traceparent: string): Promise<void> =>
  void (await session.turn(INPUT, { metadata: { traceparent } }).result());

test.each([TRACEPARENT, `01-${TRACE}-${PARENT}-01-more`])(
  "E4 a turn is in the trace of its caller: %s",
  async (traceparent) => {
    const otel = traced();
    await using world = await open(searches(), { tools: [search], telemetry: otel.listener });
    await turned(world.session, traceparent);
    const turn = otel.one(TURN);
    expect(turn.spanContext().traceId).toBe(TRACE);
    expect(turn.parentSpanContext).toMatchObject({ spanId: PARENT, isRemote: true });
    expect(JSON.stringify(turn.attributes)).not.toContain(PARENT);
  },
);

test("E4 a caller that does not sample is followed", async () => {
  const otel = traced();
  await using world = await open(searches(), { tools: [search], telemetry: otel.listener });
  await turned(world.session, `00-${TRACE}-${PARENT}-00`);
  expect(otel.spans).toEqual([]);
});

test.each([
  "",
  "nonsense",
  `00-${TRACE}-${PARENT}`,
  `00-${TRACE}-${PARENT}-01-more`,
  `ff-${TRACE}-${PARENT}-01`,
  `00-${"0".repeat(32)}-${PARENT}-01`,
  `00-${TRACE}-${"0".repeat(16)}-01`,
  `00-${TRACE.toUpperCase()}-${PARENT}-01`,
])("E4 a traceparent that is none is ignored: %s", async (traceparent) => {
  const otel = traced();
  await using world = await open(searches(), { tools: [search], telemetry: otel.listener });
  await turned(world.session, traceparent);
  expect(otel.one(TURN).parentSpanContext).toBeUndefined();
});

test("E4 a turn that another process resumes begins a trace, with a link to its caller, and repeats no span", async () => {
  const [before, after] = [traced(), traced()];
  const life = lifetimes();
  const work = held();
  const one = await life.next({ model: scripted(calls("work")), tools: [work.tool], telemetry: before.listener });
  const turn = (await one.runtime.session("s")).turn("Go.", { metadata: { traceparent: TRACEPARENT } });
  turn.result().catch(() => {});
  await within(work.began());
  life.kill();

  const again = held();
  again.release();
  const two = await life.next({ model: scripted(says("Done.")), tools: [again.tool], telemetry: after.listener });
  await within(two.runtime.recover());
  await two.runtime.close();

  expect(after.tree()).toEqual([
    TURN,
    "  bowline.round",
    "    execute_tool work",
    "  bowline.round",
    "    chat test",
    "  bowline.commit",
  ]);
  const resumed = after.one(TURN);
  expect(resumed.attributes["bowline.turn.resumed"]).toBe(true);
  expect(after.one("execute_tool work").attributes["bowline.tool.resumed"]).toBe(true);
  expect(resumed.parentSpanContext).toBeUndefined();
  expect(resumed.spanContext().traceId).not.toBe(TRACE);
  expect(linksOf(resumed)).toEqual([["traceparent", PARENT]]);
});

const linksOf = ({ links }: ReadableSpan) =>
  links.map(({ attributes, context }) => [attributes?.["bowline.link"], context.spanId]);

test("E4 a turn that was parked here is linked to its run before, and its wait has a span in both", async () => {
  const otel = traced();
  const size = named("size", () => question(z.string(), { text: `Which, ${SECRET}?` }));
  const store = sqlite(file(), { durability: "process" });
  const options = { store, tools: [size], limits: { parkAfterMs: 20 }, telemetry: otel.listener };
  await using runtime = await createRuntime({ ...options, model: scripted(calls("size"), says("Done.")) });
  const turn = (await runtime.session()).turn("Go.", { metadata: { traceparent: TRACEPARENT } });
  const [earlier] = await eventually(() => (otel.named(TURN).length > 0 ? otel.named(TURN) : undefined));
  const [wait] = await runtime.waits.list();
  await runtime.waits.resolve(wait?.id ?? "", { value: "M" }, { by: "anna" });
  await turn.result();

  const [, later] = otel.named(TURN);
  expect(earlier?.attributes["bowline.turn.how"]).toBe("parked");
  expect(later && linksOf(later)).toEqual([
    ["earlier_run", earlier?.spanContext().spanId],
    ["traceparent", PARENT],
  ]);
  const waits = otel.named("bowline.wait").map(({ attributes }) => attributes);
  expect(waits).toMatchObject([
    { "bowline.wait.kind": "question", "bowline.wait.how": "left", "gen_ai.tool.name": "size" },
    { "bowline.wait.kind": "question", "bowline.wait.how": "answered", "bowline.wait.by": "anna" },
  ]);
});

// ── Content ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const textOf = ({ spans }: Traced): string =>
  JSON.stringify(
    spans.map(({ name, attributes, events, status, links }) => ({ name, attributes, events, status, links })),
  );

test("E4 no word of users, models, tools, plugins or errors is exported unless it is asked for", async () => {
  const otel = traced({ stores: true });
  await tellSecrets(otel.listener);
  expect(textOf(otel)).not.toContain(SECRET);
  expect(JSON.stringify(await otel.metrics())).not.toContain(SECRET);
  expect(otel.spans.length).toBeGreaterThan(10);
});

test("E4 events of the runtime are events of the turn's span, with names and numbers", async () => {
  const otel = traced();
  await tellSecrets(otel.listener);
  const events = otel.one(TURN).events;
  expect(events.map(({ name }) => name)).toContain("hook.issue");
  expect(events.find(({ name }) => name === "hook.issue")?.attributes).toEqual({
    plugin: "acme/clumsy",
    code: "hook.failed",
  });
});

const inputOf = (span: ReadableSpan): unknown => JSON.parse(String(span.attributes["gen_ai.input.messages"]));

test("E4 with content: true messages, instructions, arguments and results are exported in the JSON of the conventions", async () => {
  const otel = traced({ content: true });
  const options = { tools: [search], instructions: "Be brief.", telemetry: otel.listener };
  await using world = await open(searches(), options);
  await world.session.turn(INPUT).result();
  const [first, second] = otel.named("chat test") as [ReadableSpan, ReadableSpan];
  expect(first.attributes["gen_ai.system_instructions"]).toContain("Be brief.");
  expect(inputOf(first)).toEqual([{ role: "user", parts: [{ type: "text", content: INPUT }] }]);
  expect(inputOf(second)).toEqual([
    { role: "user", parts: [{ type: "text", content: INPUT }] },
    { role: "assistant", parts: [{ type: "tool_call", id: "c1", name: "search", arguments: { words: SECRET } }] },
    { role: "tool", parts: [{ type: "tool_call_response", id: "c1", response: `Found ${SECRET}.` }] },
  ]);
  expect(JSON.parse(String(second.attributes["gen_ai.output.messages"]))).toEqual([
    { role: "assistant", parts: [{ type: "text", content: `It is ${SECRET}.` }] },
  ]);
  expect(otel.one("execute_tool search").attributes).toMatchObject({
    "gen_ai.tool.call.arguments": JSON.stringify({ words: SECRET }),
    "gen_ai.tool.call.result": `Found ${SECRET}.`,
  });
});

test("E4 each value of content goes through redact, with its place", async () => {
  const places = new Set<string>();
  const otel = traced({
    content: true,
    redact: (value, { kind, field }) => {
      places.add(`${kind} ${field}`);
      return JSON.parse(JSON.stringify(value).replaceAll(SECRET, "[hidden]"));
    },
  });
  await tellSecrets(otel.listener);
  expect(textOf(otel)).not.toContain(SECRET);
  expect(textOf(otel)).toContain("It is [hidden].");
  expect(otel.one("execute_tool breaks").status.message).toContain("[hidden]");
  expect([...places].sort()).toEqual([
    "event message",
    "hook error",
    "job label",
    "model error",
    "model instructions",
    "model messages",
    "model reply",
    "tool arguments",
    "tool error",
    "tool result",
    "turn input",
    "turn outcome",
  ]);
});

test.each<[string, () => never]>([
  [
    "throws",
    () => {
      throw new Error("No rule.");
    },
  ],
  ["returns no JSON", () => 1n as never],
])("E4 a redact that %s exports nothing, and the turn does not notice", async (_, redact) => {
  const otel = traced({ content: true, redact });
  const seen = recorder();
  await tellSecrets([otel.listener, seen]);
  expect(textOf(otel)).not.toContain(SECRET);
  expect(otel.one("execute_tool search").attributes).not.toHaveProperty("gen_ai.tool.call.arguments");
  expect(seen.of("turn")[0]?.outcome).toMatchObject({ kind: "answered" });
  expect(seen.events.filter(({ name }) => name.startsWith("telemetry."))).toEqual([]);
});

// ── Metrics ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Makes up the name of a tool. */
const madeUp = (): Provider => scripted(calls("tool_of_session_42"), says("Done."));
const ends = named("ends", () => finish("ended"));

test("E4 metrics have attributes of few values: no ids, and no names that a model or a tool made up", async () => {
  const otel = traced({ stores: true });
  await using one = await open(searches(), { tools: [search], telemetry: otel.listener });
  await one.session.turn(INPUT).result();
  await using two = await open(madeUp(), { store: memory(), telemetry: otel.listener });
  await two.session.turn("Go.").result();
  const model = scripted(calls("fails"), calls("ends"));
  await using three = await open(model, { tools: [failing("no such order 4711"), ends], telemetry: otel.listener });
  await three.session.turn("Go.").result();

  const metrics = await otel.metrics();
  expect(metrics.map(({ name, unit }) => `${name} ${unit}`).sort()).toEqual([
    "bowline.store.duration s",
    "bowline.tool.duration s",
    "bowline.turn.duration s",
    "gen_ai.client.operation.duration s",
    "gen_ai.client.token.usage {token}",
  ]);
  const pointsOf = (name: string) => metrics.find((metric) => metric.name === name)?.points ?? [];
  expect(pointsOf("bowline.tool.duration").map(({ attributes, count }) => ({ ...attributes, count }))).toEqual([
    { "gen_ai.tool.name": "search", "bowline.tool.status": "ok", count: 1 },
    { "gen_ai.tool.name": "_OTHER", "bowline.tool.status": "failed", "error.type": "tool.unknown", count: 1 },
    { "gen_ai.tool.name": "fails", "bowline.tool.status": "failed", "error.type": "_OTHER", count: 1 },
    { "gen_ai.tool.name": "ends", "bowline.tool.status": "ok", count: 1 },
  ]);
  expect(pointsOf("bowline.turn.duration").map(({ attributes }) => attributes)).toContainEqual({
    "bowline.model": "follows/test",
    "bowline.turn.how": "committed",
    "bowline.turn.outcome": "answered",
  });
  expect(pointsOf("gen_ai.client.operation.duration")[0]?.attributes).toEqual({
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "follows",
    "gen_ai.request.model": "test",
  });
  const attributes = metrics.flatMap(({ points }) => points.map((point) => point.attributes));
  expect(JSON.stringify(attributes)).not.toMatch(/ses_|trn_|4711|session_42/);
});
