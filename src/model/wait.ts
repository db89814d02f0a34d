// Job: the shared types of waits: what a turn waits for, and its answer.
// Not its job: rows of waits (`stores/`), checking an answer (`runtime/waits.ts`).
import { hashOf } from "./hash.ts";
import { asWaitId, type JobId, type SessionId, type TurnId, type WaitId, type WaitKey } from "./ids.ts";
import type { Json, JsonObject } from "./json.ts";
import type { ToolCall } from "./tool.ts";

/**
 * What an answer decides. `approval`: whether the call can run. `result`: the result of a call that has started.
 * `question`: an answer that the tool needs. `interrupted`: whether a call that a crash interrupted can run again.
 */
export type WaitKind = "approval" | "result" | "question" | "interrupted";

/** What a person or another program needs to know to answer. */
export interface WaitAbout {
  readonly kind: WaitKind;
  /** The call as it would run: its arguments fit the tool's schema. */
  readonly call: ToolCall;
  readonly reason: string;
  /** JSON Schema of edited arguments (`approval`), or of the requested value. */
  readonly schema?: JsonObject;
  /** A hash of the call's arguments: an approval is valid only for them. */
  readonly argsHash: string;
}

/**
 * A wait for the ends of jobs and of turns of other sessions. It needs no answer, so it is not listed and has no fact.
 */
export interface WaitedTurns {
  readonly kind: "turns";
  readonly turns: readonly WaitedTurn[];
  /** An idle job and a deleted job count as ended. */
  readonly jobs?: readonly JobId[];
  readonly need: "any" | "all";
  /** Cancels these when the waiting turn is stopped. */
  readonly cancels?: true;
}
export interface WaitedTurn {
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
}

/** The answer to a wait. `by`: the app's name for the person or program that answered. */
export type WaitAnswer =
  | { readonly kind: "value"; readonly value: Json; readonly by?: string }
  | { readonly kind: "timeout" }
  | { readonly kind: "revoked"; readonly by?: string };

/** The public id of a wait. Events and facts contain the id and not the key, because the key can answer the wait. */
export const waitIdOf = (key: WaitKey): WaitId =>
  asWaitId(`wai_${hashOf(key.isWellFormed() ? key : unitsOf(key)).slice(0, 26)}`);

/**
 * The UTF-16 units of a text with lone surrogates, because UTF-8 would replace all of them by one character. The byte
 * 255, which UTF-8 never has, marks such a text.
 */
const unitsOf = (text: string): Uint8Array => Buffer.concat([Buffer.of(255), Buffer.from(text, "utf16le")]);

/** A hash of the arguments of a call. */
export const argsHashOf = (input: Json): string => hashOf(JSON.stringify(input));
