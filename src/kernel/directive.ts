import type { Json } from "../model/json.ts";
import type { Draft } from "../model/message.ts";
import type { NewSessionRequest } from "./services.ts";

/**
 * What a hook may ask for besides its answer. The hook table says which hook may give which; anything else is
 * `hook.directive`.
 */
export type Directive =
  | { readonly kind: "abortTurn"; readonly code: string; readonly message: string }
  | { readonly kind: "answer"; readonly text: string }
  | { readonly kind: "enqueueMessages"; readonly messages: readonly Draft[] }
  | { readonly kind: "compactHistory" }
  | { readonly kind: "createSession"; readonly request: NewSessionRequest }
  | { readonly kind: "emitEvent"; readonly name: string; readonly payload: Json }
  | { readonly kind: "emitTrace"; readonly name: string; readonly payload: Json }
  | { readonly kind: "abort"; readonly code: string; readonly message: string }
  | { readonly kind: "deny"; readonly reason: string }
  | { readonly kind: "ask"; readonly reason: string; readonly waitMs?: number | undefined }
  | { readonly kind: "shortCircuit"; readonly value: Json }
  | { readonly kind: "replaceArgs"; readonly args: Json }
  | { readonly kind: "replaceResult"; readonly value: Json };

export type DirectiveKind = Directive["kind"];
export type DirectiveOf<K extends DirectiveKind> = Extract<Directive, { readonly kind: K }>;

/** Ends the turn: `stopped` by `plugin`, with this code and message. */
export const abortTurn = (code: string, message: string): DirectiveOf<"abortTurn"> => ({
  kind: "abortTurn",
  code,
  message,
});

/**
 * Answers the turn without asking a model: it ends `answered` with this text. If several plugins answer, the first one
 * counts; `abortTurn` outranks it. A turn that wants a typed result cannot be answered so.
 */
export const answer = (text: string): DirectiveOf<"answer"> => ({ kind: "answer", text });

/** Puts messages into the conversation; a string is a user message. Only user and system messages may be put in. */
export const enqueueMessages = (...messages: readonly (string | Draft)[]): DirectiveOf<"enqueueMessages"> => ({
  kind: "enqueueMessages",
  messages: messages.map((message) =>
    typeof message === "string" ? { role: "user", parts: [{ kind: "text", text: message }] } : message,
  ),
});

/**
 * Asks for the conversation to be compacted before the next model call, by a `compact` hook. At most once in two
 * rounds.
 */
export const compactHistory = (): DirectiveOf<"compactHistory"> => ({ kind: "compactHistory" });

/** Makes another session: a fresh one, a child of this one, or a fork. */
export const createSession = (request: NewSessionRequest): DirectiveOf<"createSession"> => ({
  kind: "createSession",
  request,
});

/** Shows readers of the session a `plugin` event. */
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

/** At a tool seam: settles the round's calls and stops the turn. */
export const abort = (code: string, message: string): DirectiveOf<"abort"> => ({ kind: "abort", code, message });

/** At a tool seam: the call does not run, or its result is not shown. The model is told why, and the turn goes on. */
export const deny = (reason: string): DirectiveOf<"deny"> => ({ kind: "deny", reason });

/**
 * Makes the call wait until somebody answers with `{ approved, reason?, args? }`. Default for `waitMs`: seven days;
 * then it is denied.
 */
export const ask = (reason: string, options: { readonly waitMs?: number | undefined } = {}): DirectiveOf<"ask"> => ({
  kind: "ask",
  reason,
  ...options,
});

/** Answers the call with this value instead of running it. */
export const shortCircuit = (value: Json): DirectiveOf<"shortCircuit"> => ({ kind: "shortCircuit", value });
/** Runs the call with these arguments. Handlers that looked before look once more and may only become stricter. */
export const replaceArgs = (args: Json): DirectiveOf<"replaceArgs"> => ({ kind: "replaceArgs", args });
/** Puts this value in the place of the call's result. Handlers that looked before look once more. */
export const replaceResult = (value: Json): DirectiveOf<"replaceResult"> => ({ kind: "replaceResult", value });
