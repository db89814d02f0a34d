// Job: the words for waits that everyone shares: what a turn waits for, and how it is answered.
// Not its job: rows of waits (`stores/`), checking an answer (`runtime/waits.ts`).
import { hashOf } from "./hash.ts";
import { asWaitId, type JobId, type SessionId, type TurnId, type WaitId, type WaitKey } from "./ids.ts";
import type { Json, JsonObject } from "./json.ts";
import type { ToolCall } from "./tool.ts";

/**
 * What somebody is asked for. `approval`: may the call run; `result`: what the call that was begun has come to;
 * `question`: something that the tool wants to know; `interrupted`: may a call run again that a crash broke off.
 */
export type WaitKind = "approval" | "result" | "question" | "interrupted";

/** What a person or another program needs to know to answer. */
export interface WaitAbout {
  readonly kind: WaitKind;
  /** The call as it would be made: its arguments fit the tool's schema. */
  readonly call: ToolCall;
  readonly reason: string;
  /** JSON Schema: of edited arguments (`approval`), or of the value that is asked for. */
  readonly schema?: JsonObject;
  /** Of the call's arguments: an approval is for exactly these. */
  readonly argsHash: string;
}

/**
 * Turns of other sessions, and jobs, whose ends are waited for. Nobody answers such a wait: it is not listed and is no
 * fact.
 */
export interface WaitedTurns {
  readonly kind: "turns";
  readonly turns: readonly WaitedTurn[];
  /** A job that is idle counts as ended, and so does one that is not there any more. */
  readonly jobs?: readonly JobId[];
  readonly need: "any" | "all";
  /** When the turn that waits is stopped, these are cancelled. */
  readonly cancels?: true;
}
export interface WaitedTurn {
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
}

/** The answer to a wait. `by`: who gave it, as the app names them. */
export type WaitAnswer =
  | { readonly kind: "value"; readonly value: Json; readonly by?: string }
  | { readonly kind: "timeout" }
  | { readonly kind: "revoked"; readonly by?: string };

/** The public name of a wait. The key answers it, so events and facts carry this instead. */
export const waitIdOf = (key: WaitKey): WaitId => asWaitId(`wai_${hashOf(key).slice(0, 26)}`);

/** Of the arguments of a call. */
export const argsHashOf = (input: Json): string => hashOf(JSON.stringify(input));
