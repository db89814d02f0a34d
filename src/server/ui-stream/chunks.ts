// The UI message stream of AI SDK UI, as far as this server writes it. The package `ai` is not imported: its types alone
// would be a dependency of the server.
import type { Json } from "../../model/json.ts";

export type UiChunk =
  | { readonly type: "start"; readonly messageId: string }
  | { readonly type: "start-step" | "finish-step" | "reset-step" }
  | { readonly type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; readonly id: string }
  | { readonly type: "text-delta" | "reasoning-delta"; readonly id: string; readonly delta: string }
  | {
      readonly type: "tool-input-available";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: Json;
      /** The client does not need to define the tool. */
      readonly dynamic: true;
    }
  | { readonly type: "tool-output-available"; readonly toolCallId: string; readonly output: Json }
  | { readonly type: "tool-output-error"; readonly toolCallId: string; readonly errorText: string }
  | { readonly type: "tool-output-denied"; readonly toolCallId: string }
  | {
      readonly type: "tool-approval-request";
      readonly approvalId: string;
      readonly toolCallId: string;
      readonly reason: string;
    }
  | { readonly type: "abort"; readonly reason: string }
  | { readonly type: "error"; readonly errorText: string }
  | {
      readonly type: "finish";
      readonly finishReason: "stop" | "length" | "tool-calls" | "error" | "other";
      readonly messageMetadata?: UiMetadata;
    };

/** How the turn of a message ended. */
export interface UiMetadata {
  readonly outcome: "answered" | "finished" | "stopped" | "failed";
  /** Of a stopped or failed turn. */
  readonly code?: string;
  /** The result of a finished turn. */
  readonly value?: Json;
}

/** A message for the `messages` option of `useChat`. */
export interface UiMessage {
  /** The turn, for an answer of the assistant. */
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly parts: UiPart[];
}

export type UiPart =
  | { readonly type: "step-start" }
  | { readonly type: "text"; readonly text: string; readonly state?: "done" }
  | { readonly type: "reasoning"; readonly text: string; readonly state: "done" }
  | { readonly type: "file"; readonly mediaType: string; readonly filename?: string; readonly url: string }
  | (UiTool & { readonly state: "input-available" | "output-denied" })
  | (UiTool & { readonly state: "output-available"; readonly output: Json })
  | (UiTool & { readonly state: "output-error"; readonly errorText: string });

interface UiTool {
  readonly type: "dynamic-tool";
  readonly toolName: string;
  /** `turnId/effect`: providers repeat the ids of their calls. */
  readonly toolCallId: string;
  readonly input: Json;
}

/** What ends a stream for clients that read raw server-sent events. */
export const DONE = "data: [DONE]\n\n";
export const frameOf = (chunk: UiChunk): string => `data: ${JSON.stringify(chunk)}\n\n`;
