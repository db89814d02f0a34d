import { expect, test } from "vitest";
import { toFailure } from "./failure.ts";

/** An error as the SDK makes it: known by its name, with the request inside. */
const apiError = (statusCode: number | undefined, message: string, more: object = {}) =>
  named("AI_APICallError", message, {
    statusCode,
    url: "https://x",
    requestBodyValues: { prompt: "secret words" },
    ...more,
  });

const named = (name: string, message: string, more: object = {}) =>
  Object.assign(new Error(message), { name, ...more });

test.each([
  "prompt is too long: 210000 tokens > 200000 maximum",
  "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
  "Your input exceeds the context window of this model.",
  "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
  "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
  "the request exceeds the available context size, try increasing it",
])("E1 a 400 with “%s” is a context overflow", (message) => {
  expect(toFailure(apiError(400, message))).toMatchObject({ class: "context-overflow", isRetryable: false });
});

test("a 400 has more in its body than in its message", () => {
  const body = (error: object) => ({ responseBody: JSON.stringify({ error }) });
  const classOf = (error: object) => toFailure(apiError(400, "Bad request", body(error))).class;
  expect(classOf({ code: "context_length_exceeded" })).toBe("context-overflow");
  expect(classOf({ details: [{ reason: "API_KEY_INVALID" }] })).toBe("auth");
  expect(classOf({ code: "model_unavailable" })).toBe("setup");
  expect(classOf({ message: "The model `gpt-9` does not exist or you do not have access to it." })).toBe("setup");
  expect(classOf({ code: "content_filter", message: "The prompt was filtered." })).toBe("input");
  expect(classOf({ message: "messages.0.content.1.image.source: Could not process image" })).toBe("input");
  expect(classOf({ code: "unsupported_value", message: "temperature does not support 3." })).toBe("request");
  expect(classOf({ message: "Invalid schema for function 'look'." })).toBe("request");
  expect(toFailure(apiError(400, "Your credit balance is too low."))).toMatchObject({
    class: "rate-limit",
    isRetryable: false,
  });
});

test.each([
  [{ type: "overloaded_error", message: "Overloaded" }, "overloaded"],
  [{ type: "error", error: { type: "rate_limit_error", message: "Slow down" } }, "rate-limit"],
  [{ code: 503, message: "Try later", status: "UNAVAILABLE" }, "overloaded"],
  [{ type: "error", error: { type: "api_error", message: "Internal server error" } }, "server"],
  [{ type: "error", error: { type: "not_found_error", message: "model: gpt-9" } }, "setup"],
  [
    { type: "response.failed", response: { error: { code: "context_length_exceeded", message: "Too long" } } },
    "context-overflow",
  ],
  ["something", "stream"],
  [undefined, "stream"],
  [
    named("AI_TypeValidationError", 'Type validation failed: Value: {"text":"rate_limit and context window"}'),
    "stream",
  ],
] as const)("E1 an error sent in the stream, %o, is %s", (error, kind) => {
  expect(toFailure(error, undefined, "stream").class).toBe(kind);
});

test("a spent quota is a rate limit that waiting does not lift", () => {
  const data = { error: { type: "insufficient_quota", code: "insufficient_quota" } };
  expect(toFailure(apiError(429, "You exceeded your current quota.", { data }))).toMatchObject({
    class: "rate-limit",
    isRetryable: false,
  });
});

test.each([
  [
    new TypeError("terminated", { cause: named("SocketError", "other side closed", { code: "UND_ERR_SOCKET" }) }),
    "network",
  ],
  [new TypeError("fetch failed"), "network"],
  [
    apiError(undefined, "Cannot connect to API: refused", {
      cause: named("Error", "refused", { code: "ECONNREFUSED" }),
    }),
    "network",
  ],
  [apiError(200, "Failed to process successful response", { cause: new TypeError("terminated") }), "network"],
  [named("Error", "read ECONNRESET", { code: "ECONNRESET" }), "network"],
  [named("HeadersTimeoutError", "Headers Timeout Error", { code: "UND_ERR_HEADERS_TIMEOUT" }), "timeout"],
  [named("TimeoutError", "The operation was aborted due to timeout"), "timeout"],
  [named("AbortError", "This operation was aborted"), "cancelled"],
  [
    named("AI_UnsupportedFunctionalityError", "'file part media type text/plain' functionality not supported."),
    "unsupported",
  ],
  [named("AI_NoSuchModelError", "No such model"), "setup"],
  [named("AI_InvalidResponseDataError", "Response stream ended without a finish reason."), "stream"],
] as const)("E1 %o is %s", (error, kind) => {
  expect(toFailure(error).class).toBe(kind);
});

test.each([
  [{ "retry-after": "2" }, 2000],
  [{ "Retry-After": "0.5" }, 500],
  [{ "retry-after-ms": "1234", "retry-after": "9" }, 1234],
  [{ "retry-after": new Date(0).toUTCString() }, 0],
  [{ date: new Date(0).toUTCString(), "retry-after": new Date(7_000).toUTCString() }, 7000],
  [{ "retry-after": "soon" }, undefined],
  [{}, undefined],
])("E1 the headers %o ask to wait %s ms", (responseHeaders, ms) => {
  expect(toFailure(apiError(429, "No.", { responseHeaders })).retryAfterMs).toBe(ms);
});

test("a date to wait for is counted from now", () => {
  const responseHeaders = { "retry-after": new Date(Date.now() + 60_000).toUTCString() };
  const { retryAfterMs = 0 } = toFailure(apiError(503, "No.", { responseHeaders }));
  expect(retryAfterMs).toBeGreaterThan(50_000);
  expect(retryAfterMs).toBeLessThanOrEqual(60_000);
});

test("a missing key is named by its variable", () => {
  const message =
    "Anthropic API key is missing. Pass it using the 'apiKey' parameter or the ANTHROPIC_API_KEY environment variable.";
  expect(toFailure(named("AI_LoadAPIKeyError", message))).toMatchObject({
    class: "auth",
    message: "There is no API key: set ANTHROPIC_API_KEY.",
  });
});

test.each([
  "Incorrect API key provided: sk-proj-abcd1234efgh.",
  "Incorrect API key provided: whatever-0123456789 was sent",
  'Bad header {"Authorization": "Bearer abcd1234efgh"}',
  "key AIzaSyabcd1234efgh is not valid",
  "token=abcd1234efgh",
])("a message shows no key: %s", (message) => {
  expect(toFailure(apiError(401, message)).message).not.toMatch(/abcd1234|0123456789/);
});

test("a message is one line of readable length, and the request is nowhere in the failure", () => {
  const failure = toFailure(apiError(500, `No.\n\n  ${"Really. ".repeat(1000)}`));
  expect(failure.message.length).toBeLessThan(450);
  expect(failure.message).not.toContain("\n");
  expect(failure.cause).toBeUndefined();
  expect(toFailure(apiError(502, "")).message).toBe("The provider answered with status 502.");
});

test("an unrecognized error is unknown, with its cause", () => {
  const bug = new RangeError("Invalid array length");
  expect(toFailure(bug)).toMatchObject({
    class: "unknown",
    isRetryable: false,
    message: "Invalid array length",
    cause: bug,
  });
});
