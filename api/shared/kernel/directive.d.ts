import { Draft } from "../model/message.js";
import { Json } from "../model/json.js";
import { NewSessionRequest } from "./services.js";
/**
 * What a hook may ask for besides its answer. The hook table says which hook may give which; anything else is
 * `hook.directive`.
 */
type Directive = {
  readonly kind: "abortTurn";
  readonly code: string;
  readonly message: string;
} | {
  readonly kind: "answer";
  readonly text: string;
} | {
  readonly kind: "enqueueMessages";
  readonly messages: readonly Draft[];
} | {
  readonly kind: "compactHistory";
} | {
  readonly kind: "createSession";
  readonly request: NewSessionRequest;
} | {
  readonly kind: "emitEvent";
  readonly name: string;
  readonly payload: Json;
} | {
  readonly kind: "emitTrace";
  readonly name: string;
  readonly payload: Json;
} | {
  readonly kind: "abort";
  readonly code: string;
  readonly message: string;
} | {
  readonly kind: "deny";
  readonly reason: string;
} | {
  readonly kind: "ask";
  readonly reason: string;
  readonly waitMs?: number | undefined;
} | {
  readonly kind: "shortCircuit";
  readonly value: Json;
} | {
  readonly kind: "replaceArgs";
  readonly args: Json;
} | {
  readonly kind: "replaceResult";
  readonly value: Json;
};
type DirectiveKind = Directive["kind"];
type DirectiveOf<K extends DirectiveKind> = Extract<Directive, {
  readonly kind: K;
}>;
/** Ends the turn: `stopped` by `plugin`, with this code and message. */
declare const abortTurn: (code: string, message: string) => DirectiveOf<"abortTurn">;
/**
 * Answers the turn without asking a model: it ends `answered` with this text. If several plugins answer, the first one
 * counts; `abortTurn` outranks it. A turn that wants a typed result cannot be answered so.
 */
declare const answer: (text: string) => DirectiveOf<"answer">;
/** Puts messages into the conversation; a string is a user message. Only user and system messages may be put in. */
declare const enqueueMessages: (...messages: readonly (string | Draft)[]) => DirectiveOf<"enqueueMessages">;
/**
 * Asks for the conversation to be compacted before the next model call, by a `compact` hook. At most once in two
 * rounds.
 */
declare const compactHistory: () => DirectiveOf<"compactHistory">;
/** Makes another session: a fresh one, a child of this one, or a fork. */
declare const createSession: (request: NewSessionRequest) => DirectiveOf<"createSession">;
/** Shows readers of the session a `plugin` event. */
declare const emitEvent: (name: string, payload?: Json) => DirectiveOf<"emitEvent">;
/** Sends a record to the runtime's `trace`. */
declare const emitTrace: (name: string, payload?: Json) => DirectiveOf<"emitTrace">;
/** At a tool seam: settles the round's calls and stops the turn. */
declare const abort: (code: string, message: string) => DirectiveOf<"abort">;
/** At a tool seam: the call does not run, or its result is not shown. The model is told why, and the turn goes on. */
declare const deny: (reason: string) => DirectiveOf<"deny">;
/**
 * Makes the call wait until somebody answers with `{ approved, reason?, args? }`. Default for `waitMs`: seven days;
 * then it is denied.
 */
declare const ask: (reason: string, options?: {
  readonly waitMs?: number | undefined;
}) => DirectiveOf<"ask">;
/** Answers the call with this value instead of running it. */
declare const shortCircuit: (value: Json) => DirectiveOf<"shortCircuit">;
/** Runs the call with these arguments. Handlers that looked before look once more and may only become stricter. */
declare const replaceArgs: (args: Json) => DirectiveOf<"replaceArgs">;
/** Puts this value in the place of the call's result. Handlers that looked before look once more. */
declare const replaceResult: (value: Json) => DirectiveOf<"replaceResult">;
export {
  DirectiveKind,
  DirectiveOf,
  abort,
  abortTurn,
  answer,
  ask,
  compactHistory,
  createSession,
  deny,
  emitEvent,
  emitTrace,
  enqueueMessages,
  replaceArgs,
  replaceResult,
  shortCircuit,
};
