import type { Json } from "../model/json.ts";
import type { Draft } from "../model/message.ts";
import type { NewSessionRequest } from "./session-requests.ts";

/**
 * What a hook can request besides its answer. The hook table lists the directives of each hook; any other throws
 * `hook.directive`.
 */
export type Directive =
  | { readonly kind: "abortTurn"; readonly code: string; readonly message: string }
  | { readonly kind: "answer"; readonly text: string }
  | { readonly kind: "enqueueMessages"; readonly messages: readonly Draft[] }
  | { readonly kind: "compactHistory"; readonly instructions?: string | undefined }
  | { readonly kind: "createSession"; readonly request: NewSessionRequest }
  | { readonly kind: "emitEvent"; readonly name: string; readonly payload: Json }
  | { readonly kind: "emitTrace"; readonly name: string; readonly payload: Json }
  | { readonly kind: "abort"; readonly code: string; readonly message: string }
  | { readonly kind: "deny"; readonly reason: string }
  | { readonly kind: "ask"; readonly reason: string; readonly waitMs?: number | undefined }
  | { readonly kind: "shortCircuit"; readonly value: Json }
  | { readonly kind: "replaceArgs"; readonly args: Json }
  | { readonly kind: "replaceResult"; readonly value: Json };

/** Options of a compaction. */
export interface CompactOptions {
  /** What the summary must keep, as a text for the plugin that compacts. */
  readonly instructions?: string | undefined;
}
/** The maximum length of instructions, because they are stored with the turn. */
export const INSTRUCTIONS_MAX = 4_096;

export type DirectiveKind = Directive["kind"];
export type DirectiveOf<K extends DirectiveKind> = Extract<Directive, { readonly kind: K }>;

/** Ends the turn: `stopped` by `plugin`, with this code and message. */
export const abortTurn = (code: string, message: string): DirectiveOf<"abortTurn"> => ({
  kind: "abortTurn",
  code,
  message,
});

/**
 * Answers the turn without a model call: the turn ends `answered` with this text. If several plugins answer, the first
 * answer counts. `abortTurn` is stronger. A turn with a typed result cannot be answered in this way.
 */
export const answer = (text: string): DirectiveOf<"answer"> => ({ kind: "answer", text });

/** Adds messages to the conversation. A string is a user message. Only user and system messages are allowed. */
export const enqueueMessages = (...messages: readonly (string | Draft)[]): DirectiveOf<"enqueueMessages"> => ({
  kind: "enqueueMessages",
  messages: messages.map((message) =>
    typeof message === "string" ? { role: "user", parts: [{ kind: "text", text: message }] } : message,
  ),
});

/**
 * Compacts the conversation before the next model call, by a `compact` hook. At most once in two rounds. `instructions`
 * describe what to keep. Instructions of several plugins are joined.
 */
export const compactHistory = (options: CompactOptions = {}): DirectiveOf<"compactHistory"> => ({
  ...options,
  kind: "compactHistory",
});

/** Makes another session: a fresh one, a child of this one, or a fork. */
export const createSession = (request: NewSessionRequest): DirectiveOf<"createSession"> => ({
  kind: "createSession",
  request,
});

/** Sends a `plugin` event to readers of the session. */
export const emitEvent = (name: string, payload: Json = null): DirectiveOf<"emitEvent"> => ({
  kind: "emitEvent",
  name,
  payload,
});
/** Sends a record to the runtime's `trace`. */
export const emitTrace = (name: string, payload: Json = null): DirectiveOf<"emitTrace"> => ({
  kind: "emitTrace",
  name,
  payload,
});

/** Before or after a tool call: settles the round's calls and stops the turn. */
export const abort = (code: string, message: string): DirectiveOf<"abort"> => ({ kind: "abort", code, message });

/**
 * Before a tool call: the call does not run. After it: its result is not shown. The model reads the reason, and the
 * turn continues.
 */
export const deny = (reason: string): DirectiveOf<"deny"> => ({ kind: "deny", reason });

/**
 * Makes the call wait for an answer `{ approved, reason?, args? }`. When `waitMs` has passed, the call is denied.
 * Default: seven days.
 */
export const ask = (reason: string, options: { readonly waitMs?: number | undefined } = {}): DirectiveOf<"ask"> => ({
  kind: "ask",
  reason,
  ...options,
});

/** Answers the call with this value instead of running it. */
export const shortCircuit = (value: Json): DirectiveOf<"shortCircuit"> => ({ kind: "shortCircuit", value });
/** Runs the call with these arguments. Earlier handlers check the call once more and can only become stricter. */
export const replaceArgs = (args: Json): DirectiveOf<"replaceArgs"> => ({ kind: "replaceArgs", args });
/** Replaces the result of the call with this value. Earlier handlers check the result once more. */
export const replaceResult = (value: Json): DirectiveOf<"replaceResult"> => ({ kind: "replaceResult", value });
