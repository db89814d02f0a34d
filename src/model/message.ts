import type { BlobHash, CallId, NodeId } from "./ids.ts";
import { frozen, type Json } from "./json.ts";

/** The route that made a part, and data that only this route understands. The data is sent back only to that route. */
export interface Provenance {
  /** `provider/model`. */
  readonly route: string;
  readonly data?: Json;
}

/** Plain text of the user, the model or the runtime. */
export interface TextPart {
  readonly kind: "text";
  readonly text: string;
  /** The text that a person sees, if the protocol's grammar must not be shown. */
  readonly shown?: string;
  readonly made?: Provenance;
}
export interface ReasoningPart {
  readonly kind: "reasoning";
  readonly text: string;
  readonly made?: Provenance;
}
export interface ToolCallPart {
  readonly kind: "toolCall";
  readonly callId: CallId;
  readonly name: string;
  readonly input: Json;
  /** The text of the model, if it was not valid JSON. `input` is then {}. */
  readonly malformed?: string;
  readonly made?: Provenance;
}
/** A reference to bytes that the store keeps once per content. `bytes` is their number. */
export interface Attachment {
  readonly kind: "attachment";
  readonly hash: BlobHash;
  readonly mediaType: string;
  readonly bytes: number;
  readonly name?: string;
}
export interface ToolResultPart {
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
export interface CallTrail {
  readonly callId: CallId;
  readonly name: string;
  /** The arguments of the call, if a plugin or a person replaced the model's. */
  readonly input?: Json;
  readonly asked?: readonly AskedTrail[];
}
/** A question about a call. */
export interface AskedTrail {
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
export interface AnsweredTrail {
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
export type CellStatus = "done" | "threw" | "stalled" | "stopped" | "refused";
/** The output of a code cell and how it ended, in the form that the model sees. */
export interface CodeOutputPart {
  readonly kind: "codeOutput";
  readonly status: CellStatus;
  readonly parts: readonly (TextPart | Attachment)[];
  /** How many calls it made, with denied ones. Omitted if there are none. */
  readonly calls?: number;
  /** Further records about its calls: the people who were asked, and replaced arguments. */
  readonly trail?: readonly CallTrail[];
}
/** A piece of a message. */
export type Part = TextPart | ReasoningPart | ToolCallPart | ToolResultPart | CodeOutputPart | Attachment;

export type ToolStatus = "ok" | "failed" | "denied" | "cancelled" | "unknown";

export type Role = "system" | "user" | "assistant" | "tool";

/** Where a message came from, when it is not the model's own reply. */
export type Origin =
  | { readonly kind: "input"; readonly inputId: string }
  /** `inputId`: the plugin injected the message, possibly from another session. */
  | { readonly kind: "plugin"; readonly plugin: string; readonly inputId?: string }
  /** Written by the runtime, for example a repair or a limit. */
  | { readonly kind: "runtime" }
  /** The reply was cut short by a cancel or a failure; this much had arrived. */
  | { readonly kind: "partial" }
  /** Copied from an older frame into this one. */
  | { readonly kind: "carried"; readonly from: string };

/** A message that is not in the graph yet, so it has no id. */
export interface Draft {
  readonly role: Role;
  readonly parts: readonly Part[];
  readonly origin?: Origin;
}
/** A message of the conversation: a node of the session graph. */
export interface Message extends Draft {
  readonly id: NodeId;
}

/** Freezes a message as `frozen` does. It freezes only known fields, so a `request` hook costs less. */
export function freezeMessage(message: Message): void {
  if (Object.isFrozen(message)) return;
  const { parts, origin } = message;
  Object.freeze(message);
  if (origin !== undefined) Object.freeze(origin);
  Object.freeze(parts);
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index] as Part;
    Object.freeze(part);
    if (part.kind === "toolCall") frozen(part.input);
    if (part.kind === "toolResult" || part.kind === "codeOutput") frozen(part.parts);
    else if (part.kind !== "attachment" && part.made !== undefined) frozen(part.made);
  }
}

/** The id of the input that a message came with. */
export const inputIdOf = ({ origin }: Draft): string | undefined =>
  origin?.kind === "input" || origin?.kind === "plugin" ? origin.inputId : undefined;

export const text = (words: string): TextPart => ({ kind: "text", text: words });

/** The text that was said, or the part of it that a person sees. */
export function textOf(parts: readonly Part[], of: "said" | "shown" = "said"): string {
  let words = "";
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index] as Part;
    if (part.kind === "text") words += of === "shown" ? (part.shown ?? part.text) : part.text;
  }
  return words;
}

export function callsOf(parts: readonly Part[]): readonly ToolCallPart[] {
  let calls: ToolCallPart[] | undefined;
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index] as Part;
    if (part.kind !== "toolCall") continue;
    if (calls === undefined) calls = [part];
    else calls.push(part);
  }
  return calls ?? NO_CALLS;
}
const NO_CALLS: readonly ToolCallPart[] = [];
