import { Json } from "../../model/json.js";
/** How the turn of a message ended. */
interface UiMetadata {
  readonly outcome: "answered" | "finished" | "stopped" | "failed";
  /** Of a stopped or failed turn. */
  readonly code?: string;
  /** The result of a finished turn. */
  readonly value?: Json;
}
/** A message for the `messages` option of `useChat`. */
interface UiMessage {
  /** The turn, for an answer of the assistant. */
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly parts: UiPart[];
}
type UiPart = {
  readonly type: "step-start";
} | {
  readonly type: "text";
  readonly text: string;
  readonly state?: "done";
} | {
  readonly type: "reasoning";
  readonly text: string;
  readonly state: "done";
} | {
  readonly type: "file";
  readonly mediaType: string;
  readonly filename?: string;
  readonly url: string;
} | (UiTool & {
  readonly state: "input-available" | "output-denied";
}) | (UiTool & {
  readonly state: "output-available";
  readonly output: Json;
}) | (UiTool & {
  readonly state: "output-error";
  readonly errorText: string;
});
interface UiTool {
  readonly type: "dynamic-tool";
  readonly toolName: string;
  /** `turnId/effect`: providers repeat the ids of their calls. */
  readonly toolCallId: string;
  readonly input: Json;
}
export { UiMessage, UiMetadata, UiPart };
