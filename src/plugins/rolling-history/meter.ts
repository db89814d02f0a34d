import type { Message, ModelRequest, Reply } from "../../plugin.ts";
import type { HistoryState } from "./options.ts";
import { tokensIn, tokensOfRequest } from "./tokens.ts";

/**
 * A report below this share of the estimate is ignored: some servers report nothing, or only the tokens that were not
 * cached.
 */
const REPORTED_MIN = 0.25;

export const frameOf = (messages: readonly Message[]): string | null => messages[0]?.id ?? null;

/** Tokens of a request with these messages. The error of a frame counts only in that frame. */
export const sizeOf = (messages: readonly Message[], { around, frame, error }: HistoryState): number =>
  around + tokensIn(messages) + (frameOf(messages) === frame ? error : 0);

/** Measures the requests of this process. Before its first request, a process uses the measurements in the state. */
export class Meter {
  #around: number | undefined;
  #frame: string | null = null;
  #sent: number | undefined;
  /** The reported input tokens minus the estimated ones: negative if the estimate was too high. */
  #error: number | undefined;

  /** Measures a request: `request` is the one before pruning, `sent` the one after it. */
  sent(request: ModelRequest, sent: ModelRequest, conversation: readonly Message[]): void {
    const frame = frameOf(conversation);
    if (frame !== this.#frame) this.#error = undefined;
    this.#frame = frame;
    this.#around = tokensOfRequest(request) - tokensIn(conversation);
    this.#sent = tokensOfRequest(sent);
  }

  replied({ usage: { input, cacheRead, cacheWrite } }: Reply): void {
    if (this.#sent === undefined) return; // Another process sent the request and died before it handled the reply.
    const reported = input + cacheRead + cacheWrite;
    this.#error = reported < this.#sent * REPORTED_MIN ? undefined : reported - this.#sent;
  }

  /**
   * The state with newer measurements. Returns the same object if they differ by at most `littleTokens`, which saves a
   * write.
   */
  correct(saved: HistoryState, frame: string | null, littleTokens: number): HistoryState {
    const better = (known: number | undefined, before: number): number =>
      known === undefined || Math.abs(known - before) <= littleTokens ? before : known;
    const isSame = saved.frame === frame;
    const around = better(this.#around, saved.around);
    const error = better(this.#frame === frame ? this.#error : undefined, isSame ? saved.error : 0);
    const isPruned = isSame && saved.isPruned;
    if (around === saved.around && (isSame ? error === saved.error : error === 0)) return saved;
    return { around, frame, error, isPruned };
  }
}
