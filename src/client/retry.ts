// Retries what can succeed later, with growing pauses.
import { ClientError } from "./http.ts";

const FIRST_MS = 250;
const MOST_MS = 10_000;
/** How many tries there are before the first success. */
export const TRIES = 5;

export interface Retrying {
  /** Ends the stream, or aborts the request. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the reason when the connection is lost, and without a reason when it works again. */
  readonly onConnection?: ((lost?: ClientError) => void) | undefined;
}

/** Whether a retry of the same request can succeed. */
export const isPassing = (error: unknown): error is ClientError =>
  error instanceof ClientError && error.retry !== "never";

/** Waits before the next try. The pauses are random, so that clients of a restarted server do not come all at once. */
export function pause(tries: number, error: ClientError | undefined, signal?: AbortSignal): Promise<void> {
  const ms = Math.min(MOST_MS, FIRST_MS * 2 ** tries) * (0.5 + Math.random() / 2);
  return new Promise((resolve) => {
    const timer = setTimeout(done, Math.max(ms, error?.retryAfterMs ?? 0));
    function done(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    }
    if (signal?.aborted === true) done();
    else signal?.addEventListener("abort", done);
  });
}

export async function retrying<T>(run: () => Promise<T>, most: number, { signal, onConnection }: Retrying): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      const result = await run();
      if (tries > 0) onConnection?.();
      return result;
    } catch (error) {
      if (!isPassing(error) || tries + 1 >= most) throw error;
      onConnection?.(error);
      await pause(tries, error, signal);
      signal?.throwIfAborted();
    }
  }
}
