import type { BlobHash, CallId, NodeId } from "./ids.ts";
import { frozen, type Json } from "./json.ts";

/**
 * The route that made a part, and data that only this route understands. The data is sent back to that route and to no
 * other.
 */
export interface Provenance {
  /** `provider/model`. */
  readonly route: string;
  readonly data?: Json;
}

/** Plain text, said by the user, the model or the runtime. */
export interface TextPart {
  readonly kind: "text";
  readonly text: string;
  /** What a person sees of it, where a protocol's grammar is not for their eyes. */
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
  /** The text that the model wrote, when it was not JSON; `input` is then {}. */
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
  /** What else happened to the call, or to those of a batch; the model does not see it. Left out where nothing did. */
  readonly trail?: readonly CallTrail[];
}

/** What happened to a call between the model's wish and its result: who was asked about it, and what really ran. */
export interface CallTrail {
  readonly callId: CallId;
  readonly name: string;
  /** The arguments that it was made with, where a plugin or a person put others in place of the model's. */
  readonly input?: Json;
  readonly asked?: readonly AskedTrail[];
}
/** Somebody was asked about a call. */
export interface AskedTrail {
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
export interface AnsweredTrail {
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
export type CellStatus = "done" | "threw" | "stalled" | "stopped" | "refused";
/** What a code cell printed and how it ended, in the form the model sees. */
export interface CodeOutputPart {
  readonly kind: "codeOutput";
  readonly status: CellStatus;
  readonly parts: readonly (TextPart | Attachment)[];
  /** How many of its calls were made or denied, whatever came of them. Left out where none was. */
  readonly calls?: number;
  /** What else happened to its calls: who was asked, and arguments that were not the code's. */
  readonly trail?: readonly CallTrail[];
}
/** A piece of a message. */
export type Part = TextPart | ReasoningPart | ToolCallPart | ToolResultPart | CodeOutputPart | Attachment;

export type ToolStatus = "ok" | "failed" | "denied" | "cancelled" | "unknown";

export type Role = "system" | "user" | "assistant" | "tool";

/** Where a message came from, when it is not the model's own reply. */
export type Origin =
  | { readonly kind: "input"; readonly inputId: string }
  /** `inputId`: the plugin injected it, perhaps from another session. */
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

/** The input that a message was said with. */
export const inputIdOf = ({ origin }: Draft): string | undefined =>
  origin?.kind === "input" || origin?.kind === "plugin" ? origin.inputId : undefined;

export const text = (words: string): TextPart => ({ kind: "text", text: words });

/** What was said; or, of that, what a person sees. */
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
