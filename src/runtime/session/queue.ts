import { POLL_MS } from "../poller.ts";

/**
 * The queue of one session: which turn or operation has the session now, and which is next.
 *
 * `doing` is its state:
 *
 * | doing         | meaning                                                                | next                        |
 * |---------------|------------------------------------------------------------------------|-----------------------------|
 * | `idle`        | nothing runs, is ready or waits                                        | any                         |
 * | `turn`        | a turn that holds the session's lease runs                             | turn, operation, looking    |
 * | `accepting`   | an operation is next, but an acceptance may still bring a turn         | turn, operation             |
 * | `operation`   | an operation has the session to itself                                 | turn, operation, looking    |
 * | `looking`     | it asks the store for the next turn                                    | turn, operation, looking    |
 * | `backing-off` | the store failed; it asks again after a pause                          | looking, turn, idle         |
 *
 * `door` limits what begins: `open`, `closing` (present work may end within its grace), `closed` (nothing begins).
 *
 * Invariants:
 * - queue-1 At most one turn or operation has the session, and neither while the queue looks. A turn that only waits lets
 *   operations run inside it (`takeOperation`).
 * - queue-2 A turn goes before an operation, because the turn holds the lease, and the store refuses changes beside it.
 * - queue-3 No operation begins while an input is being accepted or `takeUp` asks the store. Both may bring a lease. The
 *   operation would wait until that lease expires, and the turn would wait behind the operation. While an operation has
 *   the session (`doing`), neither of the two opens a turn.
 * - queue-4 Every turn and operation begins exactly once, each kind in its order, unless the door closes first.
 * - queue-5 The queue becomes idle only when nothing is ready and no input of this process waits in the store that could
 *   begin. `session-watcher.ts` polls for turns that are parked or that other processes hold.
 * - queue-6 After the door is closed nothing begins: the lease of a ready turn is released, an operation is refused.
 *
 * Not its job: what a turn, an operation or a look does (`QueueWork`), and reentrancy (`session.ts`).
 */
export interface QueueWork<Turn, Operation> {
  /** Runs a turn to its end. Throws when the store failed: the turn must then run again. */
  runTurn(turn: Turn): Promise<void>;
  /** Runs an operation. Its caller gets its failure. */
  runOperation(operation: Operation): Promise<void>;
  /** Releases the lease of a turn that must no longer begin. */
  giveBack(turn: Turn): Promise<void>;
  refuse(operation: Operation): void;
  /** Asks the store for the next turn and adds it to the queue. If there is none, clears `mayHaveMore`. */
  look(): Promise<void>;
  /** The store failed again. */
  failed(error: unknown): void;
  /** The store failed too often: waiting handles fail. */
  gaveUp(error: unknown): void;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export type Doing = "idle" | "accepting" | "turn" | "operation" | "looking" | "backing-off";

const STORE_TRIES = 5;

export class Queue<Turn extends object, Operation extends object> {
  readonly #work: QueueWork<Turn, Operation>;
  doing: Doing = "idle";
  door: "open" | "closing" | "closed" = "open";
  /** The turn or the operation that has the session. */
  has: Turn | Operation | undefined = undefined;
  /** An input of this process may wait in the store. The loop asks the store until nothing waits. */
  mayHaveMore = false;
  #turns: Turn[] = NONE;
  #operations: Operation[] = NONE;
  #running: Promise<void> | undefined;
  #accepting = 0;
  /** Called when the last acceptance has ended. */
  #arrived: (() => void)[] | undefined;
  #pause: AbortController | undefined;

  constructor(work: QueueWork<Turn, Operation>) {
    this.#work = work;
  }

  // ── What comes in ───────────────────────────────────────────────────────────────────────────────────────────────

  /** From now until `accepted`, an acceptance may bring a turn (queue-3). */
  accepting(): void {
    this.#accepting++;
  }
  accepted(): void {
    if (--this.#accepting > 0 || this.#arrived === undefined) return;
    const arrived = this.#arrived;
    this.#arrived = undefined;
    for (const resolve of arrived) resolve();
  }

  putTurn(turn: Turn): void {
    if (this.#turns.length === 0) this.#turns = [turn];
    else this.#turns.push(turn);
    this.#wake();
  }

  putOperation(operation: Operation): void {
    if (this.#operations.length === 0) this.#operations = [operation];
    else this.#operations.push(operation);
    this.#wake();
  }

  /** An input that must begin here may wait in the store. */
  lookAgain(): void {
    this.mayHaveMore = true;
    this.#wake();
  }

  /** Returns the next operation, to run inside a turn that only waits. */
  takeOperation(): Operation | undefined {
    return this.#operations.length === 0 || this.door === "closed" ? undefined : this.#operations.shift();
  }

  // ── What has the session ────────────────────────────────────────────────────────────────────────────────────────

  get isTaken(): boolean {
    return this.doing === "turn" || this.doing === "operation";
  }
  get hasReady(): boolean {
    return this.#turns.length > 0 || this.hasOperations;
  }
  get hasOperations(): boolean {
    return this.#operations.length > 0;
  }
  /** The turn that has the session next. */
  get next(): Turn | undefined {
    return this.#turns[0];
  }
  get isAccepting(): boolean {
    return this.#accepting > 0;
  }
  /** No operation runs, and nothing is ready, waits or comes in. A turn may still notify about its end. */
  get isIdle(): boolean {
    const { doing, mayHaveMore, isAccepting, hasReady } = this;
    return doing !== "operation" && !mayHaveMore && !isAccepting && !hasReady;
  }

  /** Settles when no acceptance is under way. */
  arrived(): Promise<void> {
    if (this.#accepting === 0) return Promise.resolve();
    return new Promise((resolve) => (this.#arrived ??= []).push(resolve));
  }

  /** Settles when the loop has ended. */
  async settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  /** Sleeps in the operation that has the session, until `close` at the latest. */
  async pause(ms: number): Promise<void> {
    if (this.door !== "open") return;
    this.#pause = new AbortController();
    await this.#work.sleep(ms, this.#pause.signal);
    this.#pause = undefined;
  }

  /**
   * Waits at most `graceMs` for running and ready work, because a turn may take days. Then the door closes and `letGo`
   * stops what still runs. `letGo` returns true if that work ends soon, so that `close` can wait for it.
   */
  async close(graceMs: number, letGo: () => Promise<boolean>): Promise<void> {
    const running = this.#running;
    this.door = "closing";
    this.#pause?.abort();
    const isBusy = running !== undefined && (this.isTaken || this.hasReady);
    const hasEnded = isBusy && (await this.#endsIn(graceMs, running));
    this.door = "closed";
    this.mayHaveMore = false;
    if (!hasEnded && (await letGo())) await running;
    // queue-6: an acceptance may still bring a turn. Its lease is released before the store closes, or it must expire.
    if (this.isAccepting)
      await this.#endsIn(
        graceMs,
        this.arrived().then(() => this.settled()),
      );
  }

  async #endsIn(graceMs: number, work: Promise<void>): Promise<boolean> {
    const timer = new AbortController();
    const grace = this.#work.sleep(graceMs, timer.signal).then(() => false);
    return Promise.race([work.then(() => true), grace]).finally(() => timer.abort());
  }

  // ── The loop ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** queue-5 */
  get #hasWork(): boolean {
    if (this.#turns.length > 0 || this.#operations.length > 0) return true;
    return this.door !== "closed" && this.mayHaveMore;
  }

  /** Without work the loop would end before `#running` is set, and `#running` would never be cleared. */
  #wake(): void {
    if (this.#running === undefined && this.#hasWork) this.#running = this.#run();
  }

  async #run(): Promise<void> {
    for (let failures = 0; this.#hasWork; ) {
      try {
        await this.#begin();
        failures = 0;
      } catch (error) {
        this.has = undefined; // Code that still runs no longer has the session.
        this.#work.failed(error);
        if (++failures < STORE_TRIES && this.door === "open") {
          this.doing = "backing-off";
          this.mayHaveMore = true; // The turn that ran here must run again.
          await this.#work.sleep(POLL_MS.session * failures);
        } else {
          this.mayHaveMore = false;
          this.#work.gaveUp(error);
        }
      } finally {
        this.has = undefined;
      }
    }
    this.doing = "idle";
    this.#running = undefined;
  }

  /** Begins the next turn, operation or look. A separate function keeps the loop one promise deep. */
  #begin(): Promise<void> {
    const isClosed = this.door === "closed";
    const turn = this.#turns.shift();
    if (turn !== undefined) {
      if (isClosed) return this.#work.giveBack(turn);
      this.doing = "turn";
      this.has = turn;
      return this.#work.runTurn(turn);
    }
    if (this.#operations.length === 0) {
      this.doing = "looking";
      return this.#work.look();
    }
    if (this.#accepting > 0 && !isClosed) {
      this.doing = "accepting";
      return this.arrived();
    }
    const operation = this.#operations.shift() as Operation;
    if (isClosed) return Promise.resolve(this.#work.refuse(operation));
    this.doing = "operation";
    this.has = operation;
    return this.#work.runOperation(operation);
  }
}

/** Shared by all queues and never written to: most sessions have nothing ready. */
const NONE: never[] = [];
