import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Queue, type QueueWork } from "./queue.ts";

interface Turn {
  readonly turn: number;
}
interface Operation {
  readonly operation: number;
}

/** Work that ends when the test says so, and a store that opens turns for inputs: one lease at a time, here or elsewhere. */
class World implements QueueWork<Turn, Operation> {
  readonly queue = new Queue<Turn, Operation>(this);
  readonly begun: string[] = [];
  readonly problems: string[] = [];
  gaveUps = 0;
  #running: { readonly name: string; readonly end: PromiseWithResolvers<void> } | undefined;
  #looking: PromiseWithResolvers<void> | undefined;
  #sleeping: (() => void)[] = [];
  readonly #arriving: (() => void)[] = [];
  #waiting = 0;
  #isLeased = false;
  /** Another process has the session. */
  #isElsewhere = false;
  #isClosed = false;
  #turns = 0;
  #operations = 0;
  put = { turns: 0, operations: 0 };

  #begin(name: string): Promise<void> {
    if (this.#running !== undefined) this.problems.push(`Q1 ${name} began beside ${this.#running.name}`);
    if (this.#looking !== undefined) this.problems.push(`Q1 ${name} began while it looked`);
    if (this.begun.includes(name)) this.problems.push(`Q4 ${name} began twice`);
    if (this.#isClosed && this.queue.door === "closed") this.problems.push(`Q6 ${name} began behind a closed door`);
    this.begun.push(name);
    this.#running = { name, end: Promise.withResolvers<void>() };
    return this.#running.end.promise.finally(() => {
      this.#running = undefined;
    });
  }

  runTurn({ turn }: Turn): Promise<void> {
    if (this.queue.doing !== "turn") this.problems.push(`a turn runs while it is ${this.queue.doing}`);
    return this.#begin(`turn ${turn}`).finally(() => {
      this.#isLeased = false;
    });
  }
  runOperation({ operation }: Operation): Promise<void> {
    if (this.queue.next !== undefined) this.problems.push("Q2 an operation began before a turn that was ready");
    if (this.queue.isAccepting) this.problems.push("Q3 an operation began while a turn was on its way in");
    if (this.#isLeased) this.problems.push("Q3 an operation began behind a lease of its own process");
    return this.#begin(`operation ${operation}`);
  }
  async giveBack({ turn }: Turn): Promise<void> {
    this.begun.push(`turn ${turn}`);
    this.#isLeased = false;
  }
  refuse({ operation }: Operation): void {
    this.begun.push(`operation ${operation}`);
  }
  async look(): Promise<void> {
    if (this.#running !== undefined) this.problems.push(`Q1 it looked beside ${this.#running.name}`);
    this.queue.mayHaveMore = false;
    this.#looking = Promise.withResolvers<void>();
    await this.#looking.promise.finally(() => {
      this.#looking = undefined;
    });
    if (this.#takeUp() || this.queue.hasReady || !this.queue.isAccepting) return;
    this.queue.mayHaveMore = true;
    await this.queue.arrived(); // The lease may be ours.
  }
  failed(): void {}
  gaveUp(): void {
    this.gaveUps++;
    this.#waiting = 0;
  }
  sleep(_ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#sleeping.push(resolve);
      signal?.addEventListener("abort", () => resolve());
    });
  }

  #open(): void {
    this.#isLeased = true;
    this.put.turns++;
    this.queue.putTurn({ turn: this.#turns++ });
  }

  // ── What happens ────────────────────────────────────────────────────────────────────────────────────────────────

  /** As a session accepts: an idle store opens the turn at once, unless an operation has the session. */
  accept(): void {
    if (this.#isClosed) return;
    this.queue.accepting();
    const opens = this.queue.doing !== "operation" && this.#isFree && this.#waiting === 0;
    if (opens) this.#isLeased = true;
    else this.#waiting++;
    this.#arriving.push(() => {
      if (opens) {
        this.put.turns++;
        this.queue.putTurn({ turn: this.#turns++ });
      } else this.queue.lookAgain();
      this.queue.accepted();
    });
  }
  arrive(): void {
    this.#arriving.shift()?.();
  }
  get #isFree(): boolean {
    return !this.#isLeased && !this.#isElsewhere;
  }
  /** Another process takes the session, if nobody has it. */
  goElsewhere(): void {
    if (this.#isFree) this.#isElsewhere = true;
  }
  /** It lets the session go. As `LiveSession.takeUp` does, the store is asked beside the queue for what waits. */
  comeBack(): void {
    this.#isElsewhere = false;
    if (this.queue.isTaken || this.queue.hasReady || this.#isClosed) return;
    this.queue.accepting();
    const opens = this.#waiting > 0 && this.#isFree;
    if (opens) this.#waiting--;
    if (opens) this.#isLeased = true;
    this.#arriving.push(() => {
      if (opens) this.queue.mayHaveMore = true;
      if (opens) this.#open();
      this.queue.accepted();
    });
  }
  /** Opens the turn of an input that waits; false when there is none, or somebody has the session. */
  #takeUp(): boolean {
    if (this.#waiting === 0 || !this.#isFree) return false;
    this.#waiting--;
    this.queue.mayHaveMore = true;
    this.#open();
    return true;
  }
  /** The turn that has the session only waits, and lets an operation in. */
  visit(): void {
    if (this.#running?.name.startsWith("turn") !== true) return;
    const visitor = this.queue.takeOperation();
    if (visitor === undefined) return;
    if (this.queue.door === "closed") this.problems.push("Q6 an operation began in a turn, behind a closed door");
    const name = `operation ${visitor.operation}`;
    if (this.begun.includes(name)) this.problems.push(`Q4 ${name} began twice`);
    this.begun.push(name);
  }
  operate(): void {
    if (this.#isClosed) return;
    this.put.operations++;
    this.queue.putOperation({ operation: this.#operations++ });
  }
  lookAgain(): void {
    if (!this.#isClosed) this.queue.lookAgain();
  }
  end(): void {
    if (this.#running !== undefined) this.#running.end.resolve();
    else this.#looking?.resolve();
  }
  fault(): void {
    const isTurn = this.#running?.name.startsWith("turn");
    if (isTurn) this.#waiting++; // As it was recorded: it is still to be done.
    if (isTurn) this.#running?.end.reject(new Error("the store failed"));
    else this.#looking?.reject(new Error("the store failed"));
  }
  wake(): void {
    for (const resolve of this.#sleeping.splice(0)) resolve();
  }
  close(): Promise<void> {
    this.#isClosed = true;
    return this.queue.close(5_000, async () => false);
  }
  /** Inputs that came through here, have not had their turn, and could have it. */
  get left(): number {
    return this.#isElsewhere ? 0 : this.#waiting;
  }
  get isAtRest(): boolean {
    return this.queue.doing === "idle" && !this.queue.isAccepting;
  }
}

/** Long enough for everything that needs nobody else. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const STEPS = [
  "accept",
  "arrive",
  "operate",
  "visit",
  "lookAgain",
  "goElsewhere",
  "comeBack",
  "end",
  "fault",
  "wake",
] as const;

async function play(steps: readonly (typeof STEPS)[number][], closesAt?: number): Promise<World> {
  const world = new World();
  let closing: Promise<void> | undefined;
  for (const [index, step] of steps.entries()) {
    if (index === closesAt) closing = world.close();
    world[step]();
    await settle();
  }
  for (let left = 0; left < 400 && !world.isAtRest; left++) {
    world.arrive();
    world.end();
    world.wake();
    await settle();
  }
  world.wake();
  await closing;
  await settle();
  return world;
}

describe("the queue of a session", () => {
  const steps = fc.array(fc.constantFrom(...STEPS), { maxLength: 40 });

  test("Q1 to Q4: one thing at a time, turns before operations, each once and in order, whatever happens", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (given) => {
        const world = await play(given);
        expect(world.problems).toEqual([]);
        const turns = world.begun.filter((name) => name.startsWith("turn"));
        const operations = world.begun.filter((name) => name.startsWith("operation"));
        expect(turns).toEqual(turns.map((_, index) => `turn ${index}`));
        expect(operations).toEqual(operations.map((_, index) => `operation ${index}`));
        expect([turns.length, operations.length]).toEqual([world.put.turns, world.put.operations]);
      }),
      { numRuns: 300 },
    );
  });

  test("Q5: it comes to rest, and rests only when there is nothing more to do", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (given) => {
        const { queue, isAtRest, left } = await play(given);
        expect([isAtRest, left]).toEqual([true, 0]);
        expect([queue.hasReady, queue.mayHaveMore, queue.has]).toEqual([false, false, undefined]);
      }),
      { numRuns: 200 },
    );
  });

  test("Q6: behind a closed door nothing begins; what was ready is given back or refused", async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.nat({ max: 40 }), async (given, closesAt) => {
        const world = await play(given, Math.min(closesAt, Math.max(0, given.length - 1)));
        expect(world.problems).toEqual([]);
        expect(world.queue.hasReady).toBe(false);
        expect(world.begun.length).toBe(world.put.turns + world.put.operations);
      }),
      { numRuns: 300 },
    );
  });

  test("Q6: behind a closed door a turn that only waits lets no operation in: it is refused", async () => {
    const world = new World();
    for (const step of ["accept", "arrive", "operate"] as const) world[step]();
    await settle();
    const closing = world.close();
    await settle();
    world.wake(); // The grace is over, and the turn still waits.
    await closing;
    world.visit();
    expect([world.problems, world.begun]).toEqual([[], ["turn 0"]]);
    world.end();
    await settle();
    expect([world.begun, world.isAtRest]).toEqual([["turn 0", "operation 0"], true]);
  });

  test("after five failures of the store in a row the queue stops, and each waiting caller is notified once", async () => {
    const world = new World();
    world.lookAgain();
    for (let failures = 0; failures < 5; failures++) {
      await settle();
      world.fault();
      await settle();
      world.wake();
    }
    await settle();
    expect([world.gaveUps, world.queue.doing]).toEqual([1, "idle"]);
  });
});
