import { Draft } from "../model/message.js";
import { Json } from "../model/json.js";
import { NewSessionRequest } from "./session-requests.js";
/**
 * What a hook can request besides its answer. The hook table lists the directives of each hook; any other throws
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
  readonly instructions?: string | undefined;
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
/** Options of a compaction. */
interface CompactOptions {
  /** What the summary must keep, as a text for the plugin that compacts. */
  readonly instructions?: string | undefined;
}
type DirectiveKind = Directive["kind"];
type DirectiveOf<K extends DirectiveKind> = Extract<Directive, {
  readonly kind: K;
}>;
/** Ends the turn: `stopped` by `plugin`, with this code and message. */
declare const abortTurn: (code: string, message: string) => DirectiveOf<"abortTurn">;
/**
 * Answers the turn without a model call: the turn ends `answered` with this text. If several plugins answer, the first
 * answer counts. `abortTurn` is stronger. A turn with a typed result cannot be answered in this way.
 */
declare const answer: (text: string) => DirectiveOf<"answer">;
/** Adds messages to the conversation. A string is a user message. Only user and system messages are allowed. */
declare const enqueueMessages: (...messages: readonly (string | Draft)[]) => DirectiveOf<"enqueueMessages">;
/**
 * Compacts the conversation before the next model call, by a `compact` hook. At most once in two rounds. `instructions`
 * describe what to keep. Instructions of several plugins are joined.
 */
declare const compactHistory: (options?: CompactOptions) => DirectiveOf<"compactHistory">;
/** Makes another session: a fresh one, a child of this one, or a fork. */
declare const createSession: (request: NewSessionRequest) => DirectiveOf<"createSession">;
/** Sends a `plugin` event to readers of the session. */
declare const emitEvent: (name: string, payload?: Json) => DirectiveOf<"emitEvent">;
/** Sends a record to the runtime's `trace`. */
declare const emitTrace: (name: string, payload?: Json) => DirectiveOf<"emitTrace">;
/** Before or after a tool call: settles the round's calls and stops the turn. */
declare const abort: (code: string, message: string) => DirectiveOf<"abort">;
/**
 * Before a tool call: the call does not run. After it: its result is not shown. The model reads the reason, and the
 * turn continues.
 */
declare const deny: (reason: string) => DirectiveOf<"deny">;
/**
 * Makes the call wait for an answer `{ approved, reason?, args? }`. When `waitMs` has passed, the call is denied.
 * Default: seven days.
 */
declare const ask: (reason: string, options?: {
  readonly waitMs?: number | undefined;
}) => DirectiveOf<"ask">;
/** Answers the call with this value instead of running it. */
declare const shortCircuit: (value: Json) => DirectiveOf<"shortCircuit">;
/** Runs the call with these arguments. Earlier handlers check the call once more and can only become stricter. */
declare const replaceArgs: (args: Json) => DirectiveOf<"replaceArgs">;
/** Replaces the result of the call with this value. Earlier handlers check the result once more. */
declare const replaceResult: (value: Json) => DirectiveOf<"replaceResult">;
export {
  CompactOptions,
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
