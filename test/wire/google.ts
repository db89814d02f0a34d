import { createGoogle } from "@ai-sdk/google";
import { asCallId } from "../../src/model/ids.ts";
import { type ProviderWire, usage } from "./provider-wire.ts";

const chunk = (parts: readonly object[], more: object = {}, tokens: object = {}) => ({
  candidates: [{ index: 0, content: { role: "model", parts }, ...more }],
  usageMetadata: { promptTokenCount: 12, ...tokens },
  modelVersion: "gemini-2.5-flash",
});
const end = (tokens: object) => chunk([], { finishReason: "STOP" }, tokens);

export const google: ProviderWire = {
  name: "google",
  model: (url, modelId = "gemini-2.5-flash") => createGoogle({ baseURL: url, apiKey: "test-key" })(modelId),
  text: {
    events: [
      chunk([{ text: "Grüße, " }]),
      chunk([{ text: "Welt 🌍." }]),
      end({ promptTokenCount: 42, cachedContentTokenCount: 30, candidatesTokenCount: 9 }),
    ],
    parts: [
      { kind: "text", delta: "Grüße, ", id: "0" },
      { kind: "text", delta: "Welt 🌍.", id: "0" },
      { kind: "finish", reason: "stop", usage: usage(12, 30, 0, 9, 0) },
    ],
  },
  calls: {
    events: [
      chunk([{ text: "Both." }]),
      chunk([
        { functionCall: { id: "call_1", name: "weather", args: { city: "Oslo" } } },
        { functionCall: { id: "call_2", name: "clock", args: {} } },
      ]),
      end({ candidatesTokenCount: 40 }),
    ],
    parts: [
      { kind: "text", delta: "Both.", id: "0" },
      { kind: "call", callId: asCallId("call_1"), name: "weather", input: '{"city":"Oslo"}' },
      { kind: "call", callId: asCallId("call_2"), name: "clock", input: "{}" },
      { kind: "finish", reason: "calls", usage: usage(12, 0, 0, 40, 0) },
    ],
  },
  reasoning: {
    events: [
      chunk([{ text: "The capital ", thought: true }]),
      chunk([{ text: "is old.", thought: true }]),
      chunk([{ text: "One moment." }]),
      chunk([{ functionCall: { id: "call_1", name: "clock", args: {} }, thoughtSignature: "c2lnbmVk" }]),
      end({ candidatesTokenCount: 30, thoughtsTokenCount: 20 }),
    ],
    parts: [
      { kind: "reasoning", delta: "The capital ", id: "0" },
      { kind: "reasoning", delta: "is old.", id: "0" },
      { kind: "text", delta: "One moment.", id: "1" },
      {
        kind: "call",
        callId: asCallId("call_1"),
        name: "clock",
        input: "{}",
        data: { google: { thoughtSignature: "c2lnbmVk" } },
      },
      { kind: "finish", reason: "calls", usage: usage(12, 0, 0, 30, 20) },
    ],
  },
  secrets: ["c2lnbmVk", "The capital is old."],
  broken: {
    events: [chunk([{ text: "Half" }]), { error: { code: 503, message: "Overloaded", status: "UNAVAILABLE" } }],
    parts: [{ kind: "text", delta: "Half", id: "0" }],
  },
  limited: {
    status: 429,
    body: JSON.stringify({
      error: {
        code: 429,
        message: "Too fast.",
        status: "RESOURCE_EXHAUSTED",
        details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "7s" }],
      },
    }),
  },
};
