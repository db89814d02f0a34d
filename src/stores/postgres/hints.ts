import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { SessionId } from "../../model/ids.ts";
import type { Hint } from "../store.ts";

const SESSION_NEWS = ["input", "cancel", "resolved", "fact", "preview", "followed"] as const;

// ── As texts ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The payload of a notification: a few bytes more than a session id, far below the limit of 8000. */
export const payloadOf = (hint: Hint): string =>
  JSON.stringify(hint.kind === "session" ? [hint.what, hint.sessionId] : [hint.kind]);

/** Parses a payload. Returns undefined for a payload of a later version or of another program. */
export function hintIn(payload: string): Hint | undefined {
  const [word, sessionId] = wordsIn(payload);
  if (word === "jobs" || word === "all") return { kind: word };
  const what = SESSION_NEWS.find((each) => each === word);
  if (what === undefined || typeof sessionId !== "string") return undefined;
  return { kind: "session", sessionId: sessionId as SessionId, what };
}

function wordsIn(payload: string): readonly unknown[] {
  try {
    const words: unknown = JSON.parse(payload);
    return Array.isArray(words) ? words : [];
  } catch {
    return [];
  }
}

// ── The connection ──────────────────────────────────────────────────────────────────────────────────────────────────

export type Listener = (hint: Hint) => void;

const TIMES = {
  /** Interval of connection checks: a connection that broke silently sends no error. */
  checkMs: 30_000,
  /** Maximum time for the server to answer. */
  statementTimeoutMs: 10_000,
  /** Delay before a lost connection is opened again: first and maximum. */
  waitMs: 100,
  waitMaxMs: 5_000,
};

/**
 * Receives hints over a separate connection, which is open while there is a listener. Hints only save waiting. The
 * server drops hints while no listener is connected, so listeners also poll.
 *
 * hint-1: Each time the connection opens, every listener receives "all", because earlier hints were missed.
 * hint-2: Nothing here keeps the process alive.
 */
export class Hints {
  readonly #connect: () => Promise<pg.Client>;
  readonly #channel: string;
  readonly #onTrouble: (error: unknown) => void;
  readonly #times: typeof TIMES;
  readonly #listeners = new Set<{ readonly tell: Listener }>();
  /** Ends the current or next connection. */
  #stop: AbortController | undefined;
  /** Connections that are open or closing. */
  readonly #running = new Set<Promise<void>>();
  #isClosed = false;

  /**
   * `connect` creates an unconnected client without pipelining. Errors are reported to `onTrouble`, and the connection
   * is retried.
   */
  constructor(
    connect: () => Promise<pg.Client>,
    channel: string,
    onTrouble: (error: unknown) => void,
    times: Partial<typeof TIMES> = {},
  ) {
    this.#connect = connect;
    this.#channel = channel;
    this.#onTrouble = onTrouble;
    this.#times = { ...TIMES, ...times };
  }

  /** Returns a function that stops listening. */
  listen(tell: Listener): () => void {
    if (this.#isClosed) return () => {};
    const listener = { tell };
    this.#listeners.add(listener);
    if (this.#stop === undefined) this.#start();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#end();
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#listeners.clear();
    this.#end();
    await Promise.all(this.#running);
  }

  #start(): void {
    this.#stop = new AbortController();
    const running = this.#run(this.#stop.signal).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  #end(): void {
    this.#stop?.abort();
    this.#stop = undefined;
  }

  /** Keeps a connection open until it is stopped, and replaces it when it is lost. */
  async #run(stopped: AbortSignal): Promise<void> {
    const { waitMs, waitMaxMs } = this.#times;
    let wait = waitMs;
    while (!stopped.aborted) {
      try {
        // Resets the delay only after the connection has lasted. A connection that breaks immediately each time must
        // not make every listener poll constantly.
        await this.#hold(stopped, () => {
          wait = waitMs;
        });
      } catch (error) {
        if (stopped.aborted) return;
        this.#onTrouble(error);
      }
      // Random, so that processes that lost the same server do not reconnect at once.
      await sleep(wait * (0.5 + Math.random()), undefined, { ref: false, signal: stopped }).catch(() => {});
      wait = Math.min(wait * 2, waitMaxMs);
    }
  }

  /** Opens a connection and receives hints. Throws when it is lost or stopped. */
  async #hold(stopped: AbortSignal, lasted: () => void): Promise<never> {
    const { checkMs, statementTimeoutMs } = this.#times;
    const over = new AbortController();
    const signal = AbortSignal.any([stopped, over.signal]);
    const client = await this.#connect();
    stopped.throwIfAborted();
    const ended = new Promise<never>((_, reject) => {
      client.on("error", reject);
      client.on("end", () => reject(new Error("The connection for hints was closed.")));
      stopped.addEventListener("abort", () => reject(stopped.reason), { signal: over.signal });
    });
    ended.catch(() => {});
    const pause = (ms: number): Promise<void> => sleep(ms, undefined, { ref: false, signal });
    const answered = <T>(work: Promise<T>): Promise<T> => {
      const late = pause(statementTimeoutMs).then(() => {
        throw new Error(`The server did not answer within ${statementTimeoutMs} ms.`);
      });
      return Promise.race([work, late, ended]);
    };
    client.on("notification", ({ payload }) => {
      const hint = payload === undefined || signal.aborted ? undefined : hintIn(payload);
      if (hint !== undefined) this.#tell(hint);
    });
    try {
      unref(client);
      await answered(client.connect());
      unref(client); // TLS has replaced the socket.
      await answered(client.query(`LISTEN "${this.#channel}"`));
      this.#tell({ kind: "all" });
      for (;;) {
        await Promise.race([pause(checkMs), ended]);
        await answered(client.query("SELECT 1"));
        lasted();
      }
    } finally {
      over.abort();
      await goodbye(client, statementTimeoutMs);
    }
  }

  #tell(hint: Hint): void {
    for (const { tell } of [...this.#listeners])
      try {
        tell(hint);
      } catch (error) {
        this.#onTrouble(error); // The other listeners still receive the hint.
      }
  }
}

/** Fields of the driver that its types omit. */
interface ClientInternals {
  ref(): void;
  unref(): void;
  readonly connection: { readonly stream: { destroy(): void } };
}
const insideOf = (client: pg.Client): ClientInternals => client as unknown as ClientInternals;

const unref = (client: pg.Client): void => insideOf(client).unref();

/**
 * Closes a connection cleanly, or without the server if it does not answer. This keeps the process alive for a moment,
 * so that an awaited `close` at the end of a process resolves.
 */
async function goodbye(client: pg.Client, statementTimeoutMs: number): Promise<void> {
  const late = new AbortController();
  const isLate = sleep(Math.min(statementTimeoutMs, 1_000), undefined, { signal: late.signal }).catch(() => {});
  insideOf(client).ref();
  await Promise.race([client.end().catch(() => {}), isLate]);
  late.abort();
  insideOf(client).connection.stream.destroy();
}
