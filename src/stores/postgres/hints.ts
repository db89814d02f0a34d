import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { SessionId } from "../../model/ids.ts";
import type { Hint } from "../store.ts";

const SESSION_NEWS = ["input", "cancel", "resolved", "fact", "preview", "followed"] as const;

// ── As texts ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The text that the server passes on: some bytes more than a session's id, and far from the 8000 that it takes. */
export const payloadOf = (hint: Hint): string =>
  JSON.stringify(hint.kind === "session" ? [hint.what, hint.sessionId] : [hint.kind]);

/** What a text says; nothing where a later version of this program, or another program, said something of its own. */
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
  /** How often the connection is tried: one that is dead on the way says nothing by itself. */
  checkMs: 30_000,
  /** How long the server may take to answer. */
  answerMs: 10_000,
  /** Before a connection that was lost is opened again: at first, and at most. */
  waitMs: 100,
  waitMaxMs: 5_000,
};

/**
 * Hears hints over a connection of its own, which is open while anybody listens. A hint saves waiting and nothing else: the
 * server forgets hints while nobody is connected, so whoever listens looks from time to time, too.
 *
 * 1. Each time the connection has been opened, every listener is told "all": what happened before was not heard.
 * 2. Nothing here keeps the process alive.
 */
export class Hints {
  readonly #connect: () => Promise<pg.Client>;
  readonly #channel: string;
  readonly #onTrouble: (error: unknown) => void;
  readonly #times: typeof TIMES;
  readonly #listeners = new Set<{ readonly tell: Listener }>();
  /** Ends the connection that is open now, or that is to be. */
  #stop: AbortController | undefined;
  /** Connections that are open, or about to end. */
  readonly #running = new Set<Promise<void>>();
  #isClosed = false;

  /** `connect` makes a client that is not connected yet, without pipelining. Trouble is reported, and tried to get over. */
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

  /** Answers how to stop listening. */
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

  /** Holds a connection until it is to end, and opens another whenever it is lost. */
  async #run(stopped: AbortSignal): Promise<void> {
    const { waitMs, waitMaxMs } = this.#times;
    let wait = waitMs;
    while (!stopped.aborted) {
      try {
        // Not before it has lasted: one that is lost each time it is open must not make everybody look all the time.
        await this.#hold(stopped, () => {
          wait = waitMs;
        });
      } catch (error) {
        if (stopped.aborted) return;
        this.#onTrouble(error);
      }
      // By chance, so that the processes that lost one server do not come back to it all at once.
      await sleep(wait * (0.5 + Math.random()), undefined, { ref: false, signal: stopped }).catch(() => {});
      wait = Math.min(wait * 2, waitMaxMs);
    }
  }

  /** Opens a connection and hears what comes. Throws when it is lost, or is to end. */
  async #hold(stopped: AbortSignal, lasted: () => void): Promise<never> {
    const { checkMs, answerMs } = this.#times;
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
      const late = pause(answerMs).then(() => {
        throw new Error(`The server did not answer within ${answerMs} ms.`);
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
      unref(client); // With TLS it has another socket by now.
      await answered(client.query(`LISTEN "${this.#channel}"`));
      this.#tell({ kind: "all" });
      for (;;) {
        await Promise.race([pause(checkMs), ended]);
        await answered(client.query("SELECT 1"));
        lasted();
      }
    } finally {
      over.abort();
      await goodbye(client, answerMs);
    }
  }

  #tell(hint: Hint): void {
    for (const { tell } of [...this.#listeners])
      try {
        tell(hint);
      } catch (error) {
        this.#onTrouble(error); // The others are told all the same.
      }
  }
}

/** What the driver has, and its types do not tell. */
interface Inside {
  ref(): void;
  unref(): void;
  readonly connection: { readonly stream: { destroy(): void } };
}
const insideOf = (client: pg.Client): Inside => client as unknown as Inside;

const unref = (client: pg.Client): void => insideOf(client).unref();

/**
 * Ends a connection politely, and where the server does not answer to that, without it. That keeps the process alive, for a
 * moment: whoever waits for `close` as the last thing that a process does is told that it is done.
 */
async function goodbye(client: pg.Client, answerMs: number): Promise<void> {
  const late = new AbortController();
  const isLate = sleep(Math.min(answerMs, 1_000), undefined, { signal: late.signal }).catch(() => {});
  insideOf(client).ref();
  await Promise.race([client.end().catch(() => {}), isLate]);
  late.abort();
  insideOf(client).connection.stream.destroy();
}
