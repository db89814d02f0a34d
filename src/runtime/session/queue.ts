/**
 * The queue of one session: what has the session now, and what has it next.
 *
 * `doing` says what has it:
 *
 * | doing         | meaning                                                                | next                        |
 * |---------------|------------------------------------------------------------------------|-----------------------------|
 * | `idle`        | nothing runs, nothing is ready, nobody waits                           | any                         |
 * | `turn`        | a turn that holds the session's lease runs                             | turn, operation, looking    |
 * | `accepting`   | an operation is next, and a turn may still be on its way in            | turn, operation             |
 * | `operation`   | an operation has the session to itself                                 | turn, operation, looking    |
 * | `looking`     | the store is asked for the next turn                                   | turn, operation, looking    |
 * | `backing-off` | the store failed; it is asked again after a while                      | looking, turn, idle         |
 *
 * `door` says whether it may begin anything: `open`, `closing` (what is here may end within its grace), `closed`.
 *
 * Invariants:
 * - Q1 One thing at a time: at most one turn or operation has the session, and neither while it looks. A turn that only
 *   waits lets operations run in it (`takeOperation`).
 * - Q2 A turn goes before an operation. It holds the lease, beside which an operation could keep nothing.
 * - Q3 No operation begins while a turn may be on its way in: an input is being accepted, or `takeUp` asks the store. Both
 *   may bring a lease, and an operation would wait for that lease to expire while the turn waits behind the operation. While
 *   an operation has the session (`doing`), neither opens a turn.
 * - Q4 What was put in begins exactly once, turns and operations each in their order, unless the door closes first.
 * - Q5 It comes to rest only when nothing is ready, and nothing waits in the store that came through here and could be
 *   begun. What is held elsewhere or parked is the business of `watch.ts`.
 * - Q6 Once the door is closed nothing begins: a turn that is ready is given back, an operation is refused.
 *
 * Not its job: what a turn, an operation or a look does (`QueueWork`), and reentrancy (`session.ts`).
 */
export interface QueueWork<Turn, Operation> {
  /** Runs a turn to its end. Throws when the store failed: the turn is then still to be done. */
  runTurn(turn: Turn): Promise<void>;
  /** Runs an operation; its failure is its caller's. */
  runOperation(operation: Operation): Promise<void>;
  /** Gives back a turn that may not begin any more. */
  giveBack(turn: Turn): Promise<void>;
  refuse(operation: Operation): void;
  /** Asks the store for the next turn, and puts it in; else clears `mayHaveMore`. */
  look(): Promise<void>;
  /** The store failed once more. */
  failed(error: unknown): void;
  /** The store failed too often: the handles that wait are told. */
  gaveUp(error: unknown): void;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export type Doing = "idle" | "accepting" | "turn" | "operation" | "looking" | "backing-off";

/** How long a session waits before it asks the store again. */
export const LOOK_MS = 250;
const STORE_TRIES = 5;

export class Queue<Turn extends object, Operation extends object> {
  readonly #work: QueueWork<Turn, Operation>;
  doing: Doing = "idle";
  door: "open" | "closing" | "closed" = "open";
  /** The turn or the operation that has the session. */
  has: Turn | Operation | undefined = undefined;
  /** Something came through here that may wait in the store: it is asked until it has nothing more. */
  mayHaveMore = false;
  #turns: Turn[] = NONE;
  #operations: Operation[] = NONE;
  #running: Promise<void> | undefined;
  #accepting = 0;
  /** Called when nothing is on its way in any more. */
  #arrived: (() => void)[] | undefined;
  #pause: AbortController | undefined;

  constructor(work: QueueWork<Turn, Operation>) {
    this.#work = work;
  }

  // ── What comes in ───────────────────────────────────────────────────────────────────────────────────────────────

  /** A turn may be on its way in (Q3), from now to `accepted`. */
  accepting(): void {
    this.#accepting++;
  }
  accepted(): void {
    if (--this.#accepting > 0 || this.#arrived === undefined) return;
    const arrived = this.#arrived;
    this.#arrived = undefined;
    for (const tell of arrived) tell();
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

  /** Something may wait in the store that has to begin here. */
  lookAgain(): void {
    this.mayHaveMore = true;
    this.#wake();
  }

  /** An operation, for a turn that only waits. */
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
  /** No operation has it, and nothing is ready, waits or comes in; a turn may still be telling how it ended. */
  get isResting(): boolean {
    const { doing, mayHaveMore, isAccepting, hasReady } = this;
    return doing !== "operation" && !mayHaveMore && !isAccepting && !hasReady;
  }

  /** Settles when nothing is on its way in. */
  arrived(): Promise<void> {
    if (this.#accepting === 0) return Promise.resolve();
    return new Promise((resolve) => (this.#arrived ??= []).push(resolve));
  }

  /** Settles when it has come to rest. */
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
   * Waits for what runs and is ready, for `graceMs` at most: a turn may take days. Then the door is closed and `letGo`
   * stops what still runs; it answers whether that ends soon and is worth waiting for.
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
    // Q6: a turn that is still on its way in is given back before the store closes; else its lease would have to expire.
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

  /** Q5 */
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
        this.has = undefined; // Whatever it left running has lost the session.
        this.#work.failed(error);
        if (++failures < STORE_TRIES && this.door === "open") {
          this.doing = "backing-off";
          this.mayHaveMore = true; // The turn that ran here is still to be done.
          await this.#work.sleep(LOOK_MS * failures);
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

  /** The one thing that has the session next; a function of its own so that the loop stays one promise deep. */
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
