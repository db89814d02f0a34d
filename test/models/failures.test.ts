import { readFileSync } from "node:fs";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createRuntime, type TurnResult } from "bowline";
import { type Provider, ProviderFailure } from "bowline/provider";
import { aiSdk, installed } from "bowline/providers/ai-sdk";
import { memory } from "bowline/stores/memory";
import { scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { toFailure } from "../../src/providers/ai-sdk/failure.ts";
import { onEvent } from "../kit/telemetry.ts";
import { runningQuickly } from "../kit/worlds.ts";
import { serveWire } from "../wire/server.ts";

// ── The table in the guide ──────────────────────────────────────────────────────────────────────────────────────────

const [, section = ""] = /### When a provider fails([\s\S]*?)\n## /.exec(readFileSync("docs/guide.md", "utf8")) ?? [];
const ROWS = Array.from(section.matchAll(/^\| (.+?) +\| `([a-z-]+)`.*? +\| (\w+) +\| (.+?) +\|$/gm)).map(
  ([, when = "", kind = "", again = "", end = ""]) => {
    const [outcome, by] = Array.from(end.matchAll(/`(\w+)`/g), ([, word]) => word);
    const statuses = Array.from(when.matchAll(/\b\d{3}\b/g), ([status]) => Number(status));
    const errors = Array.from(when.matchAll(/`(\w+Error)`/g), ([, name]) => name);
    return { statuses, errors, kind, again, end: { kind: outcome, by } };
  },
);
const ASKED: { readonly [again: string]: number } = { no: 1, attempt: 4, throttle: 11 };

async function turnWith(model: Provider): Promise<TurnResult> {
  await using runtime = await runningQuickly({ model });
  return await (await runtime.session()).turn("Hello.").result();
}

test.each(ROWS.flatMap(({ statuses, ...row }) => statuses.map((status) => ({ status, ...row }))))(
  "S12 E1 status $status is $kind: tried again $again, and the turn ends as the guide describes",
  async ({ status, kind, again, end }) => {
    // A provider that would like to be asked again at once, and again and again.
    const refusal = { status, headers: { "retry-after-ms": "1" }, body: '{"error":{"message":"No."}}' };
    await using server = await serveWire(Array.from({ length: 60 }, () => refusal));
    const model = aiSdk(createOpenAICompatible({ name: "local", baseURL: server.url })("m"));
    const { outcome } = await turnWith(model);
    expect(outcome).toMatchObject(end);
    if (kind !== "context-overflow") expect("reason" in outcome && outcome.reason).toContain(`(${kind}): No.`);
    expect(server.requests).toHaveLength(ASKED[again] as number);
  },
);

test.each(ROWS.flatMap(({ errors, ...row }) => errors.map((error) => ({ error, ...row }))))(
  "E1 $error is $kind, and the turn ends as the guide describes",
  async ({ error, kind, again, end }) => {
    const failure = toFailure(Object.assign(new Error("No."), { name: error }));
    expect(failure).toMatchObject({ class: kind, isRetryable: again !== "no" });
    expect((await turnWith(scripted(failure, failure, failure, failure))).outcome).toMatchObject(end);
  },
);

test("E1 every class that a provider may give is in the guide's table, or in the words below it", () => {
  const named = new Set(Array.from(section.matchAll(/`([a-z-]+)`/g), ([, word]) => word));
  const source = readFileSync("src/model/request.ts", "utf8");
  const [, union = ""] = /export type ProviderFailureClass =([^;]+);/.exec(source) ?? [];
  const classes = Array.from(union.matchAll(/"([a-z-]+)"/g), ([, word]) => word as string);
  expect(classes.filter((each) => !named.has(each))).toEqual(["cancelled", "unknown"]);
});

// ── Models that are not there ───────────────────────────────────────────────────────────────────────────────────────

test("S13 a model that the provider does not have fails the turn, and the reason lists what to check", async () => {
  const error = {
    message: "The model `gpt-9` does not exist.",
    type: "invalid_request_error",
    code: "model_not_found",
  };
  await using server = await serveWire([{ status: 404, body: JSON.stringify({ error }) }]);
  const { outcome } = await turnWith(aiSdk(createOpenAICompatible({ name: "local", baseURL: server.url })("gpt-9")));
  expect(outcome).toMatchObject({ kind: "failed", by: "provider", code: "provider.failed" });
  expect("reason" in outcome && outcome.reason).toMatch(/\(setup\): The model `gpt-9` does not exist.*model's name/);
});

test("E1 what the provider's policy forbids is the input's fault", async () => {
  const flagged = new ProviderFailure({ class: "input", message: "It was flagged." });
  expect((await turnWith(scripted(flagged))).outcome).toMatchObject({ kind: "stopped", by: "input" });
});

test("S13 createRuntime reports a package that is not installed", async () => {
  const opening = createRuntime({ store: memory(), model: "no-such-vendor/large", models: installed() });
  await expect(opening).rejects.toMatchObject({
    code: "provider.unavailable",
    message: expect.stringContaining("npm install @ai-sdk/no-such-vendor"),
  });
});

test("S13 a setting that is missing when the model is asked is a failure of the provider's setup", async () => {
  const before = process.env.BOWLINE_BASE_URL;
  process.env.BOWLINE_BASE_URL = "http://127.0.0.1:9";
  try {
    const model = (await installed()("openai-compatible/m")) as Provider;
    delete process.env.BOWLINE_BASE_URL;
    const { outcome, usage } = await turnWith(model);
    expect(outcome).toMatchObject({ kind: "failed", by: "provider" });
    expect("reason" in outcome && outcome.reason).toMatch(/\(setup\).*BOWLINE_BASE_URL is not set/);
    expect(usage.unknownCalls).toBe(0);
  } finally {
    if (before === undefined) delete process.env.BOWLINE_BASE_URL;
    else process.env.BOWLINE_BASE_URL = before;
  }
});

// ── Throttles ───────────────────────────────────────────────────────────────────────────────────────────────────────

const busy = (retryAfterMs: number): ProviderFailure =>
  new ProviderFailure({ class: "rate-limit", message: "Slow down.", retryAfterMs });

test("S12 a busy provider is never asked faster than by our pauses, and each wait is reported before it begins", async () => {
  const model = scripted(...Array.from({ length: 60 }, () => busy(1)));
  await using runtime = await runningQuickly({ model, limits: { modelAttemptsMax: 1 } });
  const waits: number[] = [];
  for await (const event of (await runtime.session()).turn("Hi."))
    if (event.kind === "retrying") {
      expect(event).toMatchObject({ class: "rate-limit", attempt: waits.length + 1, key: { attempt: event.attempt } });
      expect(model.requests).toHaveLength(event.attempt);
      waits.push(event.waitMs);
    }
  expect(waits).toEqual([500, 1_000, 2_000, 4_000, ...Array.from({ length: 6 }, () => 8_000)]);
  expect(model.requests).toHaveLength(11);
});

test.each([
  [{ throttlesMax: 2 }, 1, 3],
  [{ throttleMs: 3_500 }, 1, 4],
  [{ throttleMs: 60_000 }, 25_000, 3],
] as const)("S12 with %o, waits for a provider that asks for %i ms end after %i calls", async (limits, wait, calls) => {
  const model = scripted(...Array.from({ length: 60 }, () => busy(wait)));
  await using runtime = await runningQuickly({ model, limits });
  const { outcome } = await (await runtime.session()).turn("Hi.").result();
  expect(outcome).toMatchObject({ kind: "failed", by: "provider" });
  expect(model.requests).toHaveLength(calls);
});

test("S12 S9 the trace has a completion that is tried again", async () => {
  const traces: object[] = [];
  const model = scripted(busy(1), [
    { kind: "text", delta: "Hello." },
    { kind: "finish", reason: "stop" },
  ]);
  await using runtime = await runningQuickly({
    model,
    telemetry: onEvent(({ name, about }) => void traces.push({ name, ...about })),
  });
  expect(await (await runtime.session()).complete.text("Hi.")).toBe("Hello.");
  expect(traces).toContainEqual({
    name: "completion.retrying",
    model: "scripted/test",
    class: "rate-limit",
    attempt: 1,
    waitMs: 500,
  });
});
