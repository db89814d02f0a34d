import { BlobHash, CallId, NodeId } from "./ids.js";
import { Json } from "./json.js";
/** The route that made a part, and data that only this route understands. The data is sent back only to that route. */
interface Provenance {
  /** `provider/model`. */
  readonly route: string;
  readonly data?: Json;
}
/** Plain text of the user, the model or the runtime. */
interface TextPart {
  readonly kind: "text";
  readonly text: string;
  /** The text that a person sees, if the protocol's grammar must not be shown. */
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
  /** The text of the model, if it was not valid JSON. `input` is then {}. */
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
  /**
   * Further records about the call, or about the calls of a batch. The model does not see them. Omitted if there are
   * none.
   */
  readonly trail?: readonly CallTrail[];
}
/**
 * What happened to a call between the model's request and its result: the people who were asked about it, and the
 * arguments that ran.
 */
interface CallTrail {
  readonly callId: CallId;
  readonly name: string;
  /** The arguments of the call, if a plugin or a person replaced the model's. */
  readonly input?: Json;
  readonly asked?: readonly AskedTrail[];
}
/** A question about a call. */
interface AskedTrail {
  readonly kind: "approval" | "result" | "question" | "interrupted";
  readonly reason: string;
  /** The plugin that asked. */
  readonly plugin?: string;
  /** A hash of the arguments that were shown. */
  readonly argsHash: string;
  readonly at: number;
  /** Omitted if the turn ended before an answer. */
  readonly answer?: AnsweredTrail;
}
interface AnsweredTrail {
  readonly how: "answered" | "timeout" | "revoked";
  readonly at: number;
  /** The name that the app gave for the person who answered. */
  readonly by?: string;
  /** For an approval, and for a call that was interrupted. */
  readonly approved?: boolean;
  readonly reason?: string;
  /** The person replaced the arguments that were shown. */
  readonly isEdited?: true;
  /** How long the session remembers an approval or a denial: in milliseconds, or `true` for ever. */
  readonly remember?: number | true;
}
/**
 * How a code cell ended. `stalled`: it waits for something that can never come. `stopped`: a limit ended it, and its
 * changes of the heap are undone. `refused`: it did not run.
 */
type CellStatus = "done" | "threw" | "stalled" | "stopped" | "refused";
/** The output of a code cell and how it ended, in the form that the model sees. */
interface CodeOutputPart {
  readonly kind: "codeOutput";
  readonly status: CellStatus;
  readonly parts: readonly (TextPart | Attachment)[];
  /** How many calls it made, with denied ones. Omitted if there are none. */
  readonly calls?: number;
  /** Further records about its calls: the people who were asked, and replaced arguments. */
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
/** `inputId`: the plugin injected the message, possibly from another session. */
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
