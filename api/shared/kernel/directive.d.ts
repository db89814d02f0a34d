import { Draft } from "../model/message.js";
import { Json } from "../model/json.js";
import { NewSessionRequest } from "./services.js";
/** What a hook may ask for besides its answer: plain objects with a `kind`. Which hook may give which is in the table. */
type Directive = {
  readonly kind: "abortTurn";
  readonly code: string;
  readonly message: string;
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
  readonly waitMs?: number;
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
/** Puts messages into the conversation; a string is a user message. Only user and system messages may be put in. */
declare const enqueueMessages: (...messages: readonly (string | Draft)[]) => DirectiveOf<"enqueueMessages">;
/** Has the conversation compacted before the next model call, where a `compact` hook can. At most once in two rounds. */
declare const compactHistory: () => DirectiveOf<"compactHistory">;
/** Makes another session: a fresh one, a child of this one, or a fork. */
declare const createSession: (request: NewSessionRequest) => DirectiveOf<"createSession">;
/** Shows readers of the session a `plugin` event. */
declare const emitEvent: (name: string, payload?: Json) => DirectiveOf<"emitEvent">;
declare const emitTrace: (name: string, payload?: Json) => DirectiveOf<"emitTrace">;
/** At a tool seam: the round is settled and the turn stops. */
declare const abort: (code: string, message: string) => DirectiveOf<"abort">;
/** The call does not run, or its result is not shown; the model is told why and the turn goes on. */
declare const deny: (reason: string) => DirectiveOf<"deny">;
/** The call waits until somebody answers the wait with `{ approved, reason? }`; by default for seven days. */
declare const ask: (reason: string, options?: {
  readonly waitMs?: number;
}) => DirectiveOf<"ask">;
/** The call is answered with this value and does not run. */
declare const shortCircuit: (value: Json) => DirectiveOf<"shortCircuit">;
declare const replaceArgs: (args: Json) => DirectiveOf<"replaceArgs">;
declare const replaceResult: (value: Json) => DirectiveOf<"replaceResult">;
export {
  DirectiveKind,
  DirectiveOf,
  abort,
  abortTurn,
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
