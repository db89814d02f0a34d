import { Worker } from "node:worker_threads";
import { Refusal } from "./refusal.ts";
import { TEXTS } from "./texts.ts";

/** A line with a match: its number, and its text around the match. */
export interface Hit {
  readonly line: number;
  readonly text: string;
}
interface Answer {
  readonly hits: readonly Hit[];
  readonly isBinary: boolean;
}

/** The pattern took too long on one file. The matcher still runs it, so it must be closed. */
export class TooSlow extends Error {}

// The worker's program is a text and not a file, so that a bundler includes it.
const PROGRAM = `
const { parentPort, workerData } = require("node:worker_threads");
const { source, flags, around } = workerData;
const pattern = new RegExp(source, flags);
const decoder = new TextDecoder();
parentPort.on("message", ({ bytes, max }) => {
  if (bytes.includes(0)) return parentPort.postMessage({ hits: [], isBinary: true });
  const text = decoder.decode(bytes);
  const hits = [];
  let line = 0;
  for (let from = 0; from < text.length && hits.length < max; ) {
    let to = text.indexOf("\\n", from);
    if (to === -1) to = text.length;
    line++;
    const whole = text.slice(from, text[to - 1] === "\\r" && to > from ? to - 1 : to);
    const match = pattern.exec(whole);
    if (match !== null) {
      const start = Math.max(0, match.index - around);
      const end = Math.min(whole.length, match.index + Math.min(match[0].length, around) + around);
      hits.push({ line, text: (start > 0 ? "…" : "") + whole.slice(start, end) + (end < whole.length ? "…" : "") });
    }
    from = to + 1;
  }
  parentPort.postMessage({ hits, isBinary: false });
});
`;

const AROUND_CHARS = 200;

/**
 * Runs a pattern in a worker thread, one file at a time. Some patterns take exponential time, and the thread that runs
 * one cannot stop it.
 */
export class Matcher {
  readonly #worker: Worker;
  readonly #ms: number;

  constructor(source: string, flags: string, ms: number) {
    this.#ms = ms;
    this.#worker = new Worker(PROGRAM, {
      eval: true,
      workerData: { source, flags, around: AROUND_CHARS },
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 128 },
    });
    this.#worker.on("error", () => {}); // `hits` handles errors. A later error must not end the process.
  }

  /** Transfers the bytes to the worker: the caller can no longer use them. */
  hits(bytes: Uint8Array<ArrayBuffer>, max: number, signal: AbortSignal): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const worker = this.#worker;
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
        for (const [event, listener] of Object.entries(listeners)) worker.off(event, listener);
        settle();
      };
      const listeners = {
        message: (answer: Answer) => end(() => resolve(answer)),
        error: (cause: Error) => end(() => reject(unusable(cause))),
        exit: () => end(() => reject(unusable(new Error("it ended")))),
      };
      const onAbort = () => end(() => reject(signal.reason));
      const timer = setTimeout(() => end(() => reject(new TooSlow())), this.#ms);
      signal.addEventListener("abort", onAbort, { once: true });
      for (const [event, listener] of Object.entries(listeners)) worker.on(event, listener);
      worker.postMessage({ bytes, max }, [bytes.buffer]);
    });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}

const unusable = (cause: Error): Refusal =>
  new Refusal("workspace.pattern", TEXTS.patternFailed(cause.message), { cause });
