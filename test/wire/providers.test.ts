import fc from "fast-check";
import { expect, test } from "vitest";
import type { Message } from "../../src/model/message.ts";
import type { ModelRequest } from "../../src/model/request.ts";
import { aiSdk } from "../../src/providers/ai-sdk.ts";
import { routeOf } from "../../src/providers/provider.ts";
import { anthropic } from "./anthropic.ts";
import { ask, optionsOf, replyOf, requestOf, resultsOf, says } from "./ask.ts";
import { google } from "./google.ts";
import { openai } from "./openai.ts";
import { openaiCompatible } from "./openai-compatible.ts";
import type { ProviderWire } from "./provider-wire.ts";
import { bytesOf, serveWire, type WireResponse } from "./server.ts";

const WIRES: readonly ProviderWire[] = [anthropic, openai, openaiCompatible, google];

for (const wire of WIRES) {
  const title = (promise: string): string => `E1 ${wire.name}: ${promise}`;
  const request = (...messages: readonly Message[]): ModelRequest =>
    frozen(requestOf([says("Hello"), ...messages], wire.settings === undefined ? {} : { settings: wire.settings }));
  const askOnce = async (response: WireResponse) => {
    await using server = await serveWire([response]);
    return await ask(aiSdk(wire.model(server.url)), request());
  };

  test(title("text comes out as it was said, and ends with its usage"), async () => {
    expect(await askOnce(wire.text)).toEqual({ parts: wire.text.parts });
  });

  test(title("parallel tool calls come out in order"), async () => {
    expect(await askOnce(wire.calls)).toEqual({ parts: wire.calls.parts });
  });

  test(title("reasoning goes back to its own route and to no other"), async () => {
    await using server = await serveWire([wire.reasoning, wire.text, wire.text]);
    const model = aiSdk(wire.model(server.url));
    const { parts } = await ask(model, request());
    expect(parts).toEqual(wire.reasoning.parts);

    const reply = replyOf(parts, routeOf(model));
    const next = request(reply, ...resultsOf(reply));
    expect(await ask(model, next)).toEqual({ parts: wire.text.parts });
    expect(await ask(aiSdk(wire.model(server.url, "another-model")), next)).toEqual({ parts: wire.text.parts });

    const [, same, other] = server.requests.map(({ body }) => JSON.stringify(body));
    for (const secret of wire.secrets) {
      expect(same).toContain(secret);
      expect(other).not.toContain(secret);
    }
  });

  test(title("a reply of any other provider can be sent on"), async () => {
    for (const foreign of WIRES.filter((each) => each !== wire)) {
      await using server = await serveWire([wire.text]);
      const reply = replyOf(foreign.reasoning.parts, "elsewhere/model");
      expect(await ask(aiSdk(wire.model(server.url)), request(reply, ...resultsOf(reply)))).toEqual({
        parts: wire.text.parts,
      });
      const sent = JSON.stringify(server.requests[0]?.body);
      for (const secret of foreign.secrets) expect(sent).not.toContain(secret);
    }
  });

  test(title("a 429 is a rate limit that says how long to wait"), async () => {
    const { parts, failure } = await askOnce(wire.limited);
    expect(parts).toEqual([]);
    expect(failure).toMatchObject({
      class: "rate-limit",
      isRetryable: true,
      retryAfterMs: 7000,
      message: "Too fast. (status 429)",
    });
    expect(failure?.cause).toBeUndefined();
  });

  test(title("a stream cut in the middle keeps what was said and fails as network"), async () => {
    const { parts, failure } = await askOnce({ ...wire.text, cutAfterBytes: bytesOf(wire.text) - 3 });
    expect(parts[0]).toEqual(wire.text.parts[0]);
    expect(parts.map(({ kind }) => kind)).not.toContain("finish");
    expect(failure).toMatchObject({ class: "network", isRetryable: true });
  });

  test(title("a body that ends early, without the provider's last word, gives no finish"), async () => {
    const half = wire.text.events.slice(
      0,
      wire.text.events.findIndex((event) => JSON.stringify(event).includes("Welt")) + 1,
    );
    const { parts, failure } = await askOnce({ events: half });
    expect(parts.map(({ kind }) => kind)).toEqual(["text", "text"]);
    if (failure !== undefined) expect(failure).toMatchObject({ class: "stream", isRetryable: true });
  });

  test(title("an error in the middle of the stream is a failure, after what was said"), async () => {
    const { parts, failure } = await askOnce(wire.broken);
    expect(parts).toEqual(wire.broken.parts);
    expect(failure).toMatchObject({ class: "overloaded", isRetryable: true });
    expect(failure?.message).toContain("Overloaded");
  });

  test(title("a refused key is named by its status and not shown"), async () => {
    const error = { type: "authentication_error", message: "Incorrect API key provided: sk-live-0123456789abcdef." };
    const body = JSON.stringify({ type: "error", error: { ...error, code: 401, status: "UNAUTHENTICATED" } });
    const { failure } = await askOnce({ status: 401, body });
    expect(failure).toMatchObject({ class: "auth", isRetryable: false });
    expect(failure?.message).not.toContain("0123456789");
  });

  test(title("an abort in the middle ends the stream and the connection"), async () => {
    await using server = await serveWire([{ events: wire.text.events.slice(0, -1), hangs: true }]);
    const abort = new AbortController();
    const asked = await ask(aiSdk(wire.model(server.url)), request(), optionsOf({ signal: abort.signal }), () =>
      abort.abort(),
    );
    expect(asked.parts).toHaveLength(1);
    expect(asked.failure).toMatchObject({ class: "cancelled", isRetryable: false });
    await server.requests[0]!.hungUp;
  });

  test(title("a reader that stops early closes the connection"), async () => {
    await using server = await serveWire([{ events: wire.text.events.slice(0, -1), hangs: true }]);
    for await (const _ of aiSdk(wire.model(server.url)).stream(request(), optionsOf())) break;
    await server.requests[0]!.hungUp;
  });

  test(title("where the bytes are cut changes nothing"), async () => {
    for (const story of [wire.text, wire.calls, wire.reasoning]) {
      const cuts = fc.array(fc.nat(bytesOf(story)), { maxLength: 40 });
      const same = fc.asyncProperty(cuts, async (at) => {
        expect(await askOnce({ events: story.events, cuts: at })).toEqual({ parts: story.parts });
      });
      await fc.assert(same, { numRuns: 12 });
    }
  });
}

/** The request is shared with the runtime: a package that changed it would throw here. */
function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(frozen);
  }
  return value;
}
