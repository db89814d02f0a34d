import { createAnthropic } from "@ai-sdk/anthropic";
import { asCallId } from "../../src/model/ids.ts";
import { type ProviderWire, usage } from "./provider-wire.ts";

const start = (tokens: object) => ({
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-5",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 12, output_tokens: 1, ...tokens },
  },
});
const open = (index: number, block: object) => ({ type: "content_block_start", index, content_block: block });
const delta = (index: number, change: object) => ({ type: "content_block_delta", index, delta: change });
const close = (index: number) => ({ type: "content_block_stop", index });
const words = (index: number, text: string) => delta(index, { type: "text_delta", text });
const json = (index: number, partial: string) => delta(index, { type: "input_json_delta", partial_json: partial });
const stop = (reason: string, output: number, details: object = {}) => [
  {
    type: "message_delta",
    delta: { stop_reason: reason, stop_sequence: null },
    usage: { output_tokens: output, ...details },
  },
  { type: "message_stop" },
];

export const anthropic: ProviderWire = {
  name: "anthropic",
  model: (url, modelId = "claude-sonnet-4-5") => createAnthropic({ baseURL: url, apiKey: "test-key" })(modelId),
  text: {
    events: [
      start({ cache_read_input_tokens: 30, cache_creation_input_tokens: 4 }),
      open(0, { type: "text", text: "" }),
      { type: "ping" },
      words(0, "Grüße, "),
      words(0, "Welt 🌍."),
      close(0),
      ...stop("end_turn", 9),
    ],
    parts: [
      { kind: "text", delta: "Grüße, ", id: "0" },
      { kind: "text", delta: "Welt 🌍.", id: "0" },
      { kind: "finish", reason: "stop", usage: usage(12, 30, 4, 9, 0) },
    ],
  },
  calls: {
    events: [
      start({}),
      open(0, { type: "text", text: "" }),
      words(0, "Both."),
      close(0),
      open(1, { type: "tool_use", id: "toolu_1", name: "weather", input: {} }),
      json(1, ""),
      json(1, '{"city": "Os'),
      json(1, 'lo"}'),
      close(1),
      open(2, { type: "tool_use", id: "toolu_2", name: "clock", input: {} }),
      json(2, ""),
      close(2),
      ...stop("tool_use", 40),
    ],
    parts: [
      { kind: "text", delta: "Both.", id: "0" },
      { kind: "call", callId: asCallId("toolu_1"), name: "weather", input: '{"city": "Oslo"}' },
      { kind: "call", callId: asCallId("toolu_2"), name: "clock", input: "{}" },
      { kind: "finish", reason: "calls", usage: usage(12, 0, 0, 40, 0) },
    ],
  },
  reasoning: {
    events: [
      start({}),
      open(0, { type: "thinking", thinking: "", signature: "" }),
      delta(0, { type: "thinking_delta", thinking: "The capital " }),
      delta(0, { type: "thinking_delta", thinking: "is old." }),
      delta(0, { type: "signature_delta", signature: "c2lnbmVk" }),
      close(0),
      open(1, { type: "redacted_thinking", data: "aGlkZGVu" }),
      close(1),
      open(2, { type: "text", text: "" }),
      words(2, "Oslo."),
      close(2),
      ...stop("end_turn", 50, { output_tokens_details: { thinking_tokens: 20 } }),
    ],
    parts: [
      { kind: "reasoning", delta: "The capital ", id: "0" },
      { kind: "reasoning", delta: "is old.", id: "0" },
      { kind: "made", of: "reasoning", id: "0", data: { anthropic: { signature: "c2lnbmVk" } } },
      { kind: "reasoning", delta: "", id: "1" },
      { kind: "made", of: "reasoning", id: "1", data: { anthropic: { redactedData: "aGlkZGVu" } } },
      { kind: "text", delta: "Oslo.", id: "2" },
      { kind: "finish", reason: "stop", usage: usage(12, 0, 0, 30, 20) },
    ],
  },
  secrets: ["c2lnbmVk", "aGlkZGVu", "The capital is old."],
  broken: {
    events: [
      start({}),
      open(0, { type: "text", text: "" }),
      words(0, "Half"),
      { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
    ],
    parts: [{ kind: "text", delta: "Half", id: "0" }],
  },
  limited: {
    status: 429,
    headers: { "retry-after": "7" },
    body: JSON.stringify({ type: "error", error: { type: "rate_limit_error", message: "Too fast." } }),
  },
};
