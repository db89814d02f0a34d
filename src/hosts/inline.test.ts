import { describe, expect, test } from "vitest";
import { later } from "../../test/stores/later.ts";
import { hasCode } from "../model/errors.ts";
import { memory } from "../stores/memory.ts";
import type { Lease, ParkAnswer, ParkedTurn, Receipt, Store } from "../stores/store.ts";
import { ann, ended, newInput, newSession, opening } from "../testing/cast.ts";
import { hostLaws } from "../testing/host-laws.ts";
import { simulatedWorld } from "../testing/world.ts";
import { type Effect, name } from "../turn/effect.ts";
import type { Applied, TurnEvent } from "../turn/event.ts";
import type { EffectHost, TurnRef, TurnRun } from "./host.ts";
import { inline } from "./inline.ts";

describe.concurrent("inline", () => {
  for (const { law, needs, check } of hostLaws) {
    if (needs !== undefined) continue; // It keeps no journal, and parks no turn.
    test(`D5 inline: ${law}`, () => check({ host: inline, store: memory }));
    test(`D5 inline, on a store that takes its time: ${law}`, () =>
      check({ host: inline, store: () => later(memory()) }));
  }
});

describe.concurrent("the laws", () => {
  for (const { law, check } of hostLaws) {
    test(`D5 a host that keeps a journal: ${law}`, () => check({ host: recording, store: () => later(memory()) }));
  }
});

/** No real one: the least that makes the journal's own laws hold, so that they are known to be laws one can keep. */
function recording(): EffectHost {
  const host = inline();
  return {
    kind: "recording",
    parks: true,
    async open(turn, perform, context) {
      const opened = turn.journal.slice(0, 1);
      const run = await host.open({ ...turn, journal: opened }, perform, context);
      const { store, world } = context;
      return new RecordingRun(run, turn, {
        append: (seq, events) => store.append(turn.lease, seq, events, world.now()),
        park: async (parked) => store.park(turn.lease, parked, world.now()),
      });
    },
  };
}

interface Writes {
  append(seq: number, events: readonly TurnEvent[]): unknown;
  park(parked: ParkedTurn): Promise<ParkAnswer>;
}

class RecordingRun implements TurnRun {
  readonly #run: TurnRun;
  readonly #writes: Writes;
  readonly #recorded: TurnEvent[];
  #seq: number;
  #unwritten: TurnEvent[] = [];
  #held: readonly Effect[] = [];
  #writing: Promise<unknown> = Promise.resolve();
  #isCancelled: boolean;

  constructor(run: TurnRun, { journal, isResumed }: TurnRef, writes: Writes) {
    this.#run = run;
    this.#writes = writes;
    this.#recorded = journal.slice(1);
    this.#seq = journal.length;
    this.#isCancelled = journal.some((event) => event.kind === "cancelled");
    if (isResumed === true) this.#recorded.push(this.#keep({ kind: "resumed", at: 0, step: 1, generation: 2 }));
  }

  #keep(event: TurnEvent): TurnEvent {
    this.#unwritten.push(event);
    return event;
  }

  /** While the past is told, effects are only remembered: a later event of it may answer or drop them. */
  start(effects: readonly Effect[], dropped: readonly string[]): void {
    this.#held = [...this.#held, ...effects].filter(({ name }) => !dropped.includes(name));
    this.#run.start([], dropped as Parameters<TurnRun["start"]>[1]);
    if (this.#recorded.length === 0) this.#release();
  }

  #release(): void {
    const [effects, events, seq] = [this.#held, this.#unwritten, this.#seq];
    [this.#held, this.#unwritten, this.#seq] = [[], [], seq + events.length];
    this.#writing = this.#writing.then(() => events.length > 0 && this.#writes.append(seq, events));
    const look = () => this.#run.poke(); // It may find a cancel, or that the lease is lost.
    this.#writing.then(() => this.#run.start(effects, [])).then(look, look);
    this.#writing.catch((error: unknown) => !hasCode(error, "lease.lost") && this.#run.leave());
  }

  next(): Promise<TurnEvent>;
  next(quietMs: number | undefined): Promise<TurnEvent | undefined>;
  async next(quietMs?: number): Promise<TurnEvent | undefined> {
    const recorded = this.#recorded.shift();
    if (recorded !== undefined) {
      this.#held = this.#held.filter(({ name }) => !("effect" in recorded) || recorded.effect !== name);
      return recorded;
    }
    if (this.#held.length > 0) this.#release();
    const event = await this.#run.next(quietMs);
    if (event?.kind !== "cancelled") return event && this.#keep(event);
    if (this.#isCancelled) return this.next(quietMs);
    this.#isCancelled = true;
    return this.#keep(event);
  }

  hurry(): void {
    this.#run.hurry();
  }

  async record(event: Applied): Promise<void> {
    this.#keep(event);
    this.#release();
    await this.#writing;
    await this.#run.record(event); // Its jobs.
  }

  async park(parked: ParkedTurn): Promise<Awaited<ReturnType<TurnRun["park"]>>> {
    const first = await this.next(0);
    if (first !== undefined) return { reopen: [first] };
    this.#release();
    await this.#writing;
    const answer = await this.#writes.park(parked);
    if (answer.kind === "parked")
      await this.#run.leave(); // What it releases is given up already.
    else await this.#run.poke();
    return answer.kind === "parked" ? answer : { reopen: [] };
  }

  commit(...args: Parameters<TurnRun["commit"]>): ReturnType<TurnRun["commit"]> {
    return this.#run.commit(...args);
  }

  poke(): void {
    this.#run.poke();
  }

  leave(): ReturnType<TurnRun["leave"]> {
    return this.#run.leave();
  }
}

test("D5 no host law is written twice", () => {
  const titles = hostLaws.map(({ law }) => law);
  expect(titles.filter((title, index) => titles.indexOf(title) !== index)).toEqual([]);
});

test("D5 inline: on a synchronous store a synchronous answer is returned without a promise", () => {
  const [world, store] = [simulatedWorld(), memory()];
  const lease = openTurn(store, world.now());
  const effect: Effect = { name: name("r1.prepare"), kind: "prepare", round: 1 };
  const run = inline().open(
    { lease, until: world.now() + lease.heldMs, journal: store.journal(lease.turnId, 0) as readonly TurnEvent[] },
    ({ name }) => ({ kind: "prepared", at: world.now(), effect: name }),
    { store, world, waiting: () => {}, spawned: () => {}, pending: () => {}, followed: () => {}, trace: () => {} },
  ) as TurnRun;
  run.start([effect], []);
  expect(run.next()).toEqual({ kind: "prepared", at: world.now(), effect: "r1.prepare" });
  expect(run.commit(ended(lease, { at: world.now() }))).toMatchObject({ kind: "committed", revision: 1 });
});

/** The cast's `begin`, but for a store that answers at once: a promise would hide whether the host makes one. */
function openTurn(store: Store, at: number): Lease {
  store.create({ ...newSession(), at });
  const receipt = store.accept(newInput("hello", { at }), ann, opening, 1);
  return (receipt as Extract<Receipt, { kind: "opened" }>).lease;
}
