import type { Message, ModelRequest, Reply } from "../../index.ts";
import type { Kept } from "./options.ts";
import { tokensIn, tokensOfRequest } from "./tokens.ts";

/** A report of less than this share of the estimate is none: some servers tell nothing, or only what was not cached. */
const REPORTED_MIN = 0.25;

export const frameOf = (messages: readonly Message[]): string | null => messages[0]?.id ?? null;

/** What a request with these messages takes. What was found wrong in one frame says nothing of another. */
export const sizeOf = (messages: readonly Message[], { around, frame, error }: Kept): number =>
  around + tokensIn(messages) + (frameOf(messages) === frame ? error : 0);

/** What is known of the last request of this process. A new one goes by what is kept until it has made its first. */
export class Meter {
  #around: number | undefined;
  #frame: string | null = null;
  #sent: number | undefined;
  /** By how much the estimate was wrong. */
  #error: number | undefined;

  /** The request as others made it, as it is sent, and the conversation that it is about. */
  sent(request: ModelRequest, sent: ModelRequest, conversation: readonly Message[]): void {
    const frame = frameOf(conversation);
    if (frame !== this.#frame) this.#error = undefined;
    this.#frame = frame;
    this.#around = tokensOfRequest(request) - tokensIn(conversation);
    this.#sent = tokensOfRequest(sent);
  }

  replied({ usage: { input, cacheRead, cacheWrite } }: Reply): void {
    if (this.#sent === undefined) return; // Another process sent it.
    const reported = input + cacheRead + cacheWrite;
    this.#error = reported < this.#sent * REPORTED_MIN ? undefined : reported - this.#sent;
  }

  /** What is kept, with what is known better by now; the same where that is no more than a little. */
  correct(kept: Kept, frame: string | null, littleTokens: number): Kept {
    const better = (known: number | undefined, before: number): number =>
      known === undefined || Math.abs(known - before) <= littleTokens ? before : known;
    const isSame = kept.frame === frame;
    const around = better(this.#around, kept.around);
    const error = better(this.#frame === frame ? this.#error : undefined, isSame ? kept.error : 0);
    const isPruned = isSame && kept.isPruned;
    if (around === kept.around && (isSame ? error === kept.error : error === 0)) return kept;
    return { around, frame, error, isPruned };
  }
}
