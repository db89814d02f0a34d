import type { Json } from "../model/json.ts";
import type { Draft } from "../model/message.ts";
import type { NewSessionRequest } from "./services.ts";

/** What a hook may ask for besides its answer: plain objects with a `kind`. Which hook may give which is in the table. */
export type Directive =
  | { readonly kind: "abortTurn"; readonly code: string; readonly message: string }
  | { readonly kind: "enqueueMessages"; readonly messages: readonly Draft[] }
  | { readonly kind: "compactHistory" }
  | { readonly kind: "createSession"; readonly request: NewSessionRequest }
  | { readonly kind: "emitEvent"; readonly name: string; readonly payload: Json }
  | { readonly kind: "emitTrace"; readonly name: string; readonly payload: Json }
  | { readonly kind: "abort"; readonly code: string; readonly message: string }
  | { readonly kind: "deny"; readonly reason: string }
  | { readonly kind: "ask"; readonly reason: string; readonly waitMs?: number }
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

/** Puts messages into the conversation; a string is a user message. Only user and system messages may be put in. */
export const enqueueMessages = (...messages: readonly (string | Draft)[]): DirectiveOf<"enqueueMessages"> => ({
  kind: "enqueueMessages",
  messages: messages.map((message) =>
    typeof message === "string" ? { role: "user", parts: [{ kind: "text", text: message }] } : message,
  ),
});

/** Has the conversation compacted before the next model call, where a `compact` hook can. At most once in two rounds. */
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
export const emitTrace = (name: string, payload: Json = null): DirectiveOf<"emitTrace"> => ({
  kind: "emitTrace",
  name,
  payload,
});

/** At a tool seam: the round is settled and the turn stops. */
export const abort = (code: string, message: string): DirectiveOf<"abort"> => ({ kind: "abort", code, message });

/** The call does not run, or its result is not shown; the model is told why and the turn goes on. */
export const deny = (reason: string): DirectiveOf<"deny"> => ({ kind: "deny", reason });

/** The call waits until somebody answers the wait with `{ approved, reason? }`; by default for seven days. */
export const ask = (reason: string, options: { readonly waitMs?: number } = {}): DirectiveOf<"ask"> => ({
  kind: "ask",
  reason,
  ...options,
});

/** The call is answered with this value and does not run. */
export const shortCircuit = (value: Json): DirectiveOf<"shortCircuit"> => ({ kind: "shortCircuit", value });
export const replaceArgs = (args: Json): DirectiveOf<"replaceArgs"> => ({ kind: "replaceArgs", args });
export const replaceResult = (value: Json): DirectiveOf<"replaceResult"> => ({ kind: "replaceResult", value });
