import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { ask, HASH, message, optionsOf, requestOf } from "../../test/wire/ask.ts";
import { fake, finish } from "../../test/wire/fake.ts";
import { hasCode } from "../model/errors.ts";
import type { Part } from "../model/message.ts";
import { aiSdk } from "./ai-sdk.ts";
import { routeOf } from "./provider.ts";

test("the route is the vendor and the model", () => {
  const route = (provider: string) => routeOf(aiSdk(fake("v4", [], provider).model));
  expect(["anthropic.messages", "google.vertex.chat", "gateway"].map(route)).toEqual([
    "anthropic/m-1",
    "google.vertex/m-1",
    "gateway/m-1",
  ]);
});

test.each([
  ["an older version", { ...fake("v2", []).model, specificationVersion: "v1" }, "specification version is v1"],
  ["no version", { ...fake("v2", []).model, specificationVersion: undefined }, "specification version is none"],
  ["another thing", { model: "m-1" }, "not an AI SDK language model"],
  ["a mere name", "anthropic/claude", "not an AI SDK language model"],
  ["nothing", undefined, "not an AI SDK language model"],
])("E1 %s is refused with a reason", (_, model, problem) => {
  try {
    aiSdk(model as never);
    expect.unreachable();
  } catch (error) {
    expect(hasCode(error, "provider.unavailable") && error.details.problem).toContain(problem);
  }
});

test("a model without a stream is a failure", async () => {
  const { model } = fake("v4", []);
  const { failure } = await ask(aiSdk({ ...model, doStream: async () => ({ stream: undefined }) }));
  expect(failure).toMatchObject({ class: "unsupported" });
});

const never = () => new Promise<never>(() => undefined);

test("an abort ends a model that ignores it, before and after its stream opened", async () => {
  const { model } = fake("v4", []);
  const abort = new AbortController();
  const opening = ask(aiSdk({ ...model, doStream: never }), requestOf([]), optionsOf({ signal: abort.signal }));
  let isCancelled = false;
  const stream = new ReadableStream({
    start: (controller) => controller.enqueue({ type: "text-delta", id: "0", delta: "A" }),
    cancel: () => {
      isCancelled = true;
    },
  });
  const streaming = ask(
    aiSdk({ ...model, doStream: async () => ({ stream }) }),
    requestOf([]),
    optionsOf({ signal: abort.signal }),
    () => abort.abort(new Error("enough")),
  );
  expect((await streaming).failure).toMatchObject({ class: "cancelled", isRetryable: false });
  expect((await opening).failure).toMatchObject({ class: "cancelled" });
  expect(isCancelled).toBe(true);
  expect(getEventListeners(abort.signal, "abort")).toEqual([]);
});

test("a signal that was aborted before is not even asked with", async () => {
  const { model, calls } = fake("v4", []);
  const { failure } = await ask(aiSdk(model), requestOf([]), optionsOf({ signal: AbortSignal.abort() }));
  expect(failure).toMatchObject({ class: "cancelled" });
  expect(calls).toEqual([]);
});

test("no listener stays behind, whichever way it ends", async () => {
  const { signal } = new AbortController();
  const words = { type: "text-delta", id: "0", delta: "A" };
  for (const parts of [[words, finish("v4")], [words], [words, { type: "error", error: "no" }]]) {
    await ask(aiSdk(fake("v4", parts).model), requestOf([]), optionsOf({ signal }));
    for await (const _ of aiSdk(fake("v4", parts).model).stream(requestOf([]), optionsOf({ signal }))) break;
  }
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("an attachment that cannot be loaded is a failure", async () => {
  const picture: Part = { kind: "attachment", hash: HASH, mediaType: "image/png", bytes: 3 };
  const load = () => Promise.reject(new Error("The blob is gone."));
  const request = requestOf([message({ role: "user", parts: [picture] })]);
  const { failure } = await ask(aiSdk(fake("v4", []).model), request, optionsOf({ load }));
  expect(failure).toMatchObject({ class: "unknown", message: "The blob is gone." });
});
