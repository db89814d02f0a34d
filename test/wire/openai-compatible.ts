import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { asCallId } from "../../src/model/ids.ts";
import { type ProviderWire, usage } from "./provider-wire.ts";

const chunk = (more: object) => ({
  id: "chat_1",
  object: "chat.completion.chunk",
  created: 1,
  model: "some-model",
  ...more,
});
const delta = (change: object, finish: string | null = null) =>
  chunk({ choices: [{ index: 0, delta: change, finish_reason: finish }] });
const words = (content: string) => delta({ content });
const call = (index: number, id: string, name: string, more: object = {}) =>
  delta({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" }, ...more }] });
const input = (index: number, partial: string) => delta({ tool_calls: [{ index, function: { arguments: partial } }] });
const tokens = (prompt: number, cached: number, completion: number, reasoning: number) =>
  chunk({
    choices: [],
    usage: {
      prompt_tokens: prompt,
      prompt_tokens_details: { cached_tokens: cached },
      completion_tokens: completion,
      completion_tokens_details: { reasoning_tokens: reasoning },
    },
  });

export const openaiCompatible: ProviderWire = {
  name: "openai-compatible",
  model: (url, modelId = "some-model") =>
    createOpenAICompatible({ name: "local", baseURL: url, apiKey: "test-key", includeUsage: true })(modelId),
  text: {
    events: [
      delta({ role: "assistant", content: "" }),
      words("Grüße, "),
      words("Welt 🌍."),
      delta({}, "stop"),
      tokens(42, 30, 9, 0),
      "[DONE]",
    ],
    parts: [
      { kind: "text", delta: "Grüße, ", id: "txt-0" },
      { kind: "text", delta: "Welt 🌍.", id: "txt-0" },
      { kind: "finish", reason: "stop", usage: usage(12, 30, 0, 9, 0) },
    ],
  },
  calls: {
    events: [
      words("Both."),
      call(0, "call_1", "weather"),
      input(0, '{"city": "Os'),
      input(0, 'lo"}'),
      call(1, "call_2", "clock"),
      input(1, "{}"),
      delta({}, "tool_calls"),
      tokens(12, 0, 40, 0),
      "[DONE]",
    ],
    parts: [
      { kind: "text", delta: "Both.", id: "txt-0" },
      { kind: "call", callId: asCallId("call_1"), name: "weather", input: '{"city": "Oslo"}' },
      { kind: "call", callId: asCallId("call_2"), name: "clock", input: "{}" },
      { kind: "finish", reason: "calls", usage: usage(12, 0, 0, 40, 0) },
    ],
  },
  reasoning: {
    events: [
      delta({ reasoning_content: "The capital " }),
      delta({ reasoning_content: "is old." }),
      call(0, "call_1", "clock", { extra_content: { google: { thought_signature: "c2lnbmVk" } } }),
      input(0, "{}"),
      delta({}, "tool_calls"),
      tokens(12, 0, 50, 20),
      "[DONE]",
    ],
    parts: [
      { kind: "reasoning", delta: "The capital ", id: "reasoning-0" },
      { kind: "reasoning", delta: "is old.", id: "reasoning-0" },
      {
        kind: "call",
        callId: asCallId("call_1"),
        name: "clock",
        input: "{}",
        data: { local: { thoughtSignature: "c2lnbmVk" } },
      },
      { kind: "finish", reason: "calls", usage: usage(12, 0, 0, 30, 20) },
    ],
  },
  secrets: ["c2lnbmVk", "The capital is old."],
  broken: {
    events: [words("Half"), { error: { message: "Overloaded", type: "server_error", code: 503 } }],
    parts: [{ kind: "text", delta: "Half", id: "txt-0" }],
  },
  limited: {
    status: 429,
    headers: { "retry-after": "7" },
    body: JSON.stringify({ error: { message: "Too fast.", type: "rate_limit", code: null } }),
  },
};
