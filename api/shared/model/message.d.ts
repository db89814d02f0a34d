import { BlobHash, CallId, NodeId } from "./ids.js";
import { Json } from "./json.js";
/** Who made a part, and what only that route understands: replayed to it and to nobody else. */
interface Provenance {
  /** `provider/model`. */
  readonly route: string;
  readonly data?: Json;
}
interface TextPart {
  readonly kind: "text";
  readonly text: string;
  readonly made?: Provenance;
}
interface ReasoningPart {
  readonly kind: "reasoning";
  readonly text: string;
  readonly made?: Provenance;
}
interface ToolCallPart {
  readonly kind: "toolCall";
  readonly callId: CallId;
  readonly name: string;
  readonly input: Json;
  /** What the model wrote, when it was not JSON; `input` is then {}. */
  readonly malformed?: string;
  readonly made?: Provenance;
}
interface Attachment {
  readonly kind: "attachment";
  readonly hash: BlobHash;
  readonly mediaType: string;
  readonly bytes: number;
  readonly name?: string;
}
interface ToolResultPart {
  readonly kind: "toolResult";
  readonly callId: CallId;
  readonly name: string;
  readonly status: ToolStatus;
  readonly parts: readonly (TextPart | Attachment)[];
}
/** What a code cell printed and how it ended, as the model is shown it. */
interface CodeOutputPart {
  readonly kind: "codeOutput";
  readonly status: "done" | "threw" | "stalled" | "stopped";
  readonly parts: readonly (TextPart | Attachment)[];
}
type Part = TextPart | ReasoningPart | ToolCallPart | ToolResultPart | CodeOutputPart | Attachment;
type ToolStatus = "ok" | "failed" | "denied" | "cancelled" | "unknown";
type Role = "system" | "user" | "assistant" | "tool";
type Origin = {
  readonly kind: "input";
  readonly inputId: string;
} | {
  readonly kind: "plugin";
  readonly plugin: string;
} |
/** The runtime's own words to the model: a repair, a limit. */
{
  readonly kind: "runtime";
} |
/** The reply was cut short by a cancel or a failure; this much was said. */
{
  readonly kind: "partial";
} |
/** Said in an older frame, and carried over into this one. */
{
  readonly kind: "carried";
  readonly from: string;
};
interface Draft {
  readonly role: Role;
  readonly parts: readonly Part[];
  readonly origin?: Origin;
}
interface Message extends Draft {
  readonly id: NodeId;
}
export { Attachment, Draft, Message, Origin, Part, TextPart, ToolStatus };
