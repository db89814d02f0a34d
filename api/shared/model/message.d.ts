import { BlobHash, CallId, NodeId } from "./ids.js";
import { Json } from "./json.js";
/**
 * The route that made a part, and data that only this route understands. The data is sent back to that route and to no
 * other.
 */
interface Provenance {
  /** `provider/model`. */
  readonly route: string;
  readonly data?: Json;
}
/** Plain text, said by the user, the model or the runtime. */
interface TextPart {
  readonly kind: "text";
  readonly text: string;
  /** What a person sees of it, where a protocol's grammar is not for their eyes. */
  readonly shown?: string;
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
  /** The text that the model wrote, when it was not JSON; `input` is then {}. */
  readonly malformed?: string;
  readonly made?: Provenance;
}
/** A reference to bytes that the store keeps once per content. `bytes` is their number. */
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
  /** What else happened to the call, or to those of a batch; the model does not see it. Left out where nothing did. */
  readonly trail?: readonly CallTrail[];
}
/** What happened to a call between the model's wish and its result: who was asked about it, and what really ran. */
interface CallTrail {
  readonly callId: CallId;
  readonly name: string;
  /** The arguments that it was made with, where a plugin or a person put others in place of the model's. */
  readonly input?: Json;
  readonly asked?: readonly AskedTrail[];
}
/** Somebody was asked about a call. */
interface AskedTrail {
  readonly kind: "approval" | "result" | "question" | "interrupted";
  readonly reason: string;
  /** The plugin that wanted it. */
  readonly plugin?: string;
  /** Of the arguments that were shown. */
  readonly argsHash: string;
  readonly at: number;
  /** Left out when the turn ended first. */
  readonly answer?: AnsweredTrail;
}
interface AnsweredTrail {
  readonly how: "answered" | "timeout" | "revoked";
  readonly at: number;
  /** Who answered, as the app named them. */
  readonly by?: string;
  /** Of an approval, and of a call that was interrupted. */
  readonly approved?: boolean;
  readonly reason?: string;
  /** Other arguments were put in place of those that were shown. */
  readonly isEdited?: true;
  /** How long an approval or a denial is to be remembered in the session: milliseconds, or for good. */
  readonly remember?: number | true;
}
/**
 * How a code cell ended. `stalled`: it waits for what can never come. `stopped`: a bound ended it, and what it did to the
 * heap is undone. `refused`: it was not run at all.
 */
type CellStatus = "done" | "threw" | "stalled" | "stopped" | "refused";
/** What a code cell printed and how it ended, in the form the model sees. */
interface CodeOutputPart {
  readonly kind: "codeOutput";
  readonly status: CellStatus;
  readonly parts: readonly (TextPart | Attachment)[];
  /** How many of its calls were made or denied, whatever came of them. Left out where none was. */
  readonly calls?: number;
  /** What else happened to its calls: who was asked, and arguments that were not the code's. */
  readonly trail?: readonly CallTrail[];
}
/** A piece of a message. */
type Part = TextPart | ReasoningPart | ToolCallPart | ToolResultPart | CodeOutputPart | Attachment;
type ToolStatus = "ok" | "failed" | "denied" | "cancelled" | "unknown";
type Role = "system" | "user" | "assistant" | "tool";
/** Where a message came from, when it is not the model's own reply. */
type Origin = {
  readonly kind: "input";
  readonly inputId: string;
} |
/** `inputId`: the plugin injected it, perhaps from another session. */
{
  readonly kind: "plugin";
  readonly plugin: string;
  readonly inputId?: string;
} |
/** Written by the runtime, for example a repair or a limit. */
{
  readonly kind: "runtime";
} |
/** The reply was cut short by a cancel or a failure; this much had arrived. */
{
  readonly kind: "partial";
} |
/** Copied from an older frame into this one. */
{
  readonly kind: "carried";
  readonly from: string;
};
/** A message that is not in the graph yet, so it has no id. */
interface Draft {
  readonly role: Role;
  readonly parts: readonly Part[];
  readonly origin?: Origin;
}
/** A message of the conversation: a node of the session graph. */
interface Message extends Draft {
  readonly id: NodeId;
}
export { AskedTrail, Attachment, CallTrail, CellStatus, Draft, Message, Origin, Part, TextPart, ToolStatus };
