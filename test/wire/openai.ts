import { createOpenAI } from "@ai-sdk/openai";
import { asCallId } from "../../src/model/ids.ts";
import { type ProviderWire, usage } from "./provider-wire.ts";

const response = (more: object) => ({
  id: "resp_1",
  object: "response",
  created_at: 1,
  model: "gpt-5-mini",
  output: [],
  ...more,
});
const created = { type: "response.created", response: response({ status: "in_progress", usage: null }) };
const completed = (input: number, cached: number, output: number, reasoning: number) => ({
  type: "response.completed",
  response: response({
    status: "completed",
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: reasoning },
    },
  }),
});
const added = (index: number, item: object) => ({ type: "response.output_item.added", output_index: index, item });
const done = (index: number, item: object) => ({ type: "response.output_item.done", output_index: index, item });
const words = (index: number, delta: string) => ({
  type: "response.output_text.delta",
  item_id: `msg_${index}`,
  output_index: index,
  content_index: 0,
  delta,
});
const message = (index: number, text: string) => ({
  type: "message",
  id: `msg_${index}`,
  role: "assistant",
  status: text === "" ? "in_progress" : "completed",
  content: text === "" ? [] : [{ type: "output_text", text, annotations: [] }],
});
const call = (id: string, name: string, input: string) => ({
  type: "function_call",
  id: `fc_${id}`,
  call_id: id,
  name,
  arguments: input,
  status: "completed",
});
const input = (index: number, id: string, delta: string) => ({
  type: "response.function_call_arguments.delta",
  item_id: `fc_${id}`,
  output_index: index,
  delta,
});
const summary = { item_id: "rs_1", output_index: 0, summary_index: 0 };

export const openai: ProviderWire = {
  name: "openai",
  model: (url, modelId = "gpt-5-mini") => createOpenAI({ baseURL: url, apiKey: "test-key" })(modelId),
  // Items that OpenAI does not keep are sent back whole; of kept ones only the id.
  settings: { providerOptions: { openai: { store: false } } },
  text: {
    events: [
      created,
      added(0, message(0, "")),
      words(0, "Grüße, "),
      words(0, "Welt 🌍."),
      done(0, message(0, "Grüße, Welt 🌍.")),
      completed(42, 30, 9, 0),
    ],
    parts: [
      { kind: "text", delta: "Grüße, ", id: "msg_0" },
      { kind: "text", delta: "Welt 🌍.", id: "msg_0" },
      { kind: "made", of: "text", id: "msg_0", data: { openai: { itemId: "msg_0" } } },
      { kind: "finish", reason: "stop", usage: usage(12, 30, 0, 9, 0) },
    ],
  },
  calls: {
    events: [
      created,
      added(0, call("call_1", "weather", "")),
      added(1, call("call_2", "clock", "")),
      input(0, "call_1", '{"city": "Os'),
      input(1, "call_2", "{}"),
      input(0, "call_1", 'lo"}'),
      done(0, call("call_1", "weather", '{"city": "Oslo"}')),
      done(1, call("call_2", "clock", "{}")),
      completed(12, 0, 40, 0),
    ],
    parts: [
      {
        kind: "call",
        callId: asCallId("call_1"),
        name: "weather",
        input: '{"city": "Oslo"}',
        data: { openai: { itemId: "fc_call_1" } },
      },
      {
        kind: "call",
        callId: asCallId("call_2"),
        name: "clock",
        input: "{}",
        data: { openai: { itemId: "fc_call_2" } },
      },
      { kind: "finish", reason: "calls", usage: usage(12, 0, 0, 40, 0) },
    ],
  },
  reasoning: {
    events: [
      created,
      added(0, { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "" }),
      { type: "response.reasoning_summary_part.added", ...summary },
      { type: "response.reasoning_summary_text.delta", ...summary, delta: "The capital " },
      { type: "response.reasoning_summary_text.delta", ...summary, delta: "is old." },
      { type: "response.reasoning_summary_part.done", ...summary },
      done(0, {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: "The capital is old." }],
        encrypted_content: "ZW5jcnlwdGVk",
      }),
      added(1, message(1, "")),
      words(1, "Oslo."),
      done(1, message(1, "Oslo.")),
      completed(12, 0, 50, 20),
    ],
    parts: [
      { kind: "reasoning", delta: "The capital ", id: "rs_1:0" },
      { kind: "reasoning", delta: "is old.", id: "rs_1:0" },
      {
        kind: "made",
        of: "reasoning",
        id: "rs_1:0",
        data: { openai: { itemId: "rs_1", reasoningEncryptedContent: "ZW5jcnlwdGVk" } },
      },
      { kind: "text", delta: "Oslo.", id: "msg_1" },
      { kind: "made", of: "text", id: "msg_1", data: { openai: { itemId: "msg_1" } } },
      { kind: "finish", reason: "stop", usage: usage(12, 0, 0, 30, 20) },
    ],
  },
  secrets: ["ZW5jcnlwdGVk", "The capital is old."],
  broken: {
    events: [
      created,
      added(0, message(0, "")),
      words(0, "Half"),
      {
        type: "error",
        sequence_number: 3,
        error: { type: "server_error", code: "server_is_overloaded", message: "Overloaded", param: null },
      },
    ],
    parts: [{ kind: "text", delta: "Half", id: "msg_0" }],
  },
  limited: {
    status: 429,
    headers: { "retry-after-ms": "7000", "retry-after": "8" },
    body: JSON.stringify({ error: { message: "Too fast.", type: "requests", code: "rate_limit_exceeded" } }),
  },
};
