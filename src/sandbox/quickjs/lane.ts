// One worker thread and its requests. It receives one at a time, so that the running guest is known if it does not
// answer. Native code cannot be interrupted, so the only remedy is to end the thread.

import { Worker } from "node:worker_threads";
import { RuntimeError } from "../../model/errors.ts";
import type { Answer, Request, WorkerInput } from "./message.ts";

/** Deep recursion in a guest needs this stack. With 4 MB it could overflow the thread's stack and trap. */
const STACK_MB = 16;
const HEAP_MB = 512;

/** Why a lane ended: a request took too long, the thread died, or it was closed. */
export type Ended = "late" | "died" | "closed";
/** The result of a request. `ended`: it was running when the lane ended. */
export type LaneAnswer = Answer | { readonly kind: "ended"; readonly by: Ended };

interface Waiting {
  readonly request: Request;
  readonly timeoutMs: number;
  readonly resolve: (asked: LaneAnswer) => void;
  readonly reject: (error: Error) => void;
}

export class Lane {
  readonly #worker: Worker;
  readonly #unwanted: WorkerInput["unwanted"];
  readonly #onEnd: (lane: Lane) => void;
  readonly #queue: Waiting[] = [];
  #running: Waiting | undefined;
  #timer: NodeJS.Timeout | undefined;
  #watching: (() => void)[] = [];
  #isReady = false;
  #hasEnded = false;
  #fault: Error | undefined;

  constructor(entry: URL, wasm: WorkerInput["wasm"], onEnd: (lane: Lane) => void) {
    this.#onEnd = onEnd;
    this.#unwanted = new Int32Array(new SharedArrayBuffer(4)).fill(-1);
    // The thread gets nothing from the process. Its output is discarded, because reading it would keep the process
    // alive.
    this.#worker = new Worker(entry, {
      workerData: { wasm, unwanted: this.#unwanted } satisfies WorkerInput,
      argv: [],
      execArgv: ["--no-warnings"],
      env: {},
      stdin: false,
      stdout: true,
      stderr: true,
      resourceLimits: { stackSizeMb: STACK_MB, maxOldGenerationSizeMb: HEAP_MB },
    });
    this.#worker.on("message", (answer: Answer) => this.#answered(answer));
    this.#worker.on("error", (error: Error) => {
      this.#fault = error;
    });
    this.#worker.on("exit", () => this.#end("died"));
  }

  /** The number of unanswered requests. */
  get load(): number {
    return this.#queue.length + (this.#running === undefined ? 0 : 1);
  }

  /** Rejects with `code.lost` if the lane ends before this request runs. */
  ask(request: Request, timeoutMs: number): Promise<LaneAnswer> {
    if (this.#hasEnded) return Promise.reject(new RuntimeError("code.lost", {}));
    return new Promise((resolve, reject) => {
      this.#queue.push({ request, timeoutMs: timeoutMs, resolve, reject });
      this.#sendNext();
    });
  }

  /** Returns whether this guest has unanswered requests. */
  isAsked(guest: number): boolean {
    return this.#running?.request.guest === guest || this.#queue.some(({ request }) => request.guest === guest);
  }

  /** Resolves at the next answer, or at the end of the lane. */
  answered(): Promise<void> {
    return this.#hasEnded ? Promise.resolve() : new Promise((resolve) => this.#watching.push(resolve));
  }

  /** Cancels the requests of a guest: it stops computing, and queued ones are dropped. */
  forget(guest: number): void {
    if (this.#running?.request.guest === guest) Atomics.store(this.#unwanted, 0, guest);
    for (const waiting of this.#queue.splice(0))
      if (waiting.request.guest === guest) waiting.reject(new RuntimeError("code.lost", {}));
      else this.#queue.push(waiting);
  }

  /** Ends the thread and everything in it. */
  async close(): Promise<void> {
    this.#end("closed");
    await this.#worker.terminate();
  }

  #sendNext(): void {
    // An idle thread must not keep the process alive.
    if (this.load > 0) this.#worker.ref();
    else this.#worker.unref();
    if (!this.#isReady || this.#running !== undefined) return;
    const next = this.#queue.shift();
    if (next === undefined) return;
    this.#running = next;
    this.#timer = setTimeout(() => this.#end("late"), next.timeoutMs);
    try {
      this.#worker.postMessage(next.request);
    } catch (error) {
      this.#settle().reject(error as Error); // The request contains a value that cannot be copied.
      this.#sendNext();
    }
  }

  #answered(answer: Answer): void {
    if (this.#hasEnded) return;
    if (answer.kind === "ready") this.#isReady = true;
    else this.#settle().resolve(answer);
    if (answer.isLast) this.#end("died");
    else this.#sendNext();
  }

  /** Removes and returns the running request, which now has its answer. */
  #settle(): Waiting {
    const running = this.#running;
    if (running === undefined) throw new Error("The worker answered a request that nobody made.");
    clearTimeout(this.#timer);
    this.#running = undefined;
    this.#tell();
    return running;
  }

  #tell(): void {
    for (const resolve of this.#watching.splice(0)) resolve();
  }

  #end(by: Ended): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#tell();
    this.#onEnd(this);
    if (this.#running !== undefined) this.#settle().resolve({ kind: "ended", by });
    // A thread that never started would not start at the next try either. So the error must not be `code.lost`, which
    // would cause a retry.
    const error =
      this.#isReady || by === "closed"
        ? new RuntimeError("code.lost", {})
        : new RuntimeError("code.stopped", { problem: "its worker did not start." }, { cause: this.#fault });
    for (const waiting of this.#queue.splice(0)) waiting.reject(error);
    if (by !== "closed") void this.#worker.terminate();
  }
}
