import { setImmediate as immediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { later } from "../../test/stores/later.ts";
import { over } from "../../test/stores/mutant.ts";
import { memory } from "../stores/memory.ts";
import type { Appended, Mail, Store } from "../stores/store.ts";
import { amnesiac } from "../testing/amnesiac.ts";
import { ann, begin, ben, newSession, opening } from "../testing/cast.ts";
import { hostLaws } from "../testing/host-laws.ts";
import { simulatedWorld } from "../testing/world.ts";
import { type Effect, name } from "../turn/effect.ts";
import type { TurnEvent } from "../turn/event.ts";
import type { EffectHost, TurnRun } from "./host.ts";
import { inline } from "./inline.ts";
import { journal } from "./journal.ts";

describe.concurrent("journal", () => {
  for (const { law, check } of hostLaws) {
    test(`D5 journal: ${law}`, () => check({ host: journal, store: memory }));
    test(`D5 journal, on a store that takes its time: ${law}`, () =>
      check({ host: journal, store: () => later(memory()) }));
    test(`D5 a host without a memory: ${law}`, () => check({ host: amnesiac, store: () => later(memory()) }));
  }
});

const ask = (round: number): Effect => ({ name: name(`r${round}.ask`), kind: "ask", round });

/** A turn on a host, whose store answers appends and renewals when the test lets it, and as the test says. */
class Stage {
  readonly world = simulatedWorld();
  readonly inner = memory();
  readonly performed: string[] = [];
  readonly told: (readonly [is: boolean, sent: number])[] = [];
  /** How long the calls of appends and renewals take, one after the other; nothing where none are left. */
  readonly delays: number[] = [];
  /** No look for mail is answered: it would renew the lease, too. */
  isDeaf = false;
  appends = 0;
  pending: boolean | undefined;
  run!: TurnRun;

  /** `lateMs`: how long the lease was on its way. */
  async open(host: EffectHost, lateMs = 0): Promise<this> {
    const { inner, world } = this;
    await inner.create(newSession());
    const sent = world.now();
    const lease = await begin(inner, "hello", { at: sent, by: ann });
    await world.advance(lateMs);
    const recorded = (await inner.journal(lease.turnId, 0)) as readonly TurnEvent[];
    this.run = await host.open(
      { lease, until: sent + lease.heldMs, journal: recorded },
      (effect) => {
        this.performed.push(effect.name);
        return {
          kind: "failed",
          at: world.now(),
          effect: effect.name,
          error: { class: "runtime", code: "x", message: "" },
        };
      },
      {
        store: this.#slow(),
        world,
        waiting: () => {},
        spawned: () => {},
        pending: (is, sent) => void this.told.push([is, sent]),
        followed: () => {},
        trace: () => {},
      },
    );
    return this;
  }

  #slow(): Store {
    const answered = async <A extends Appended>(answer: A): Promise<A> => {
      const ms = this.delays.shift();
      if (ms !== undefined) await this.world.jump(ms);
      return this.pending === undefined ? answer : { ...answer, pending: this.pending };
    };
    return over(this.inner, {
      append: async (...given) => {
        this.appends++;
        return answered(await this.inner.append(...given));
      },
      renew: async (...given) =>
        this.isDeaf ? new Promise<Mail>(() => {}) : answered(await this.inner.renew(...given)),
    });
  }

  /** Starts an effect, and waits for all that needs no clock. */
  async start(effect: Effect): Promise<void> {
    this.run.start([effect], []);
    for (let times = 0; times < 50; times++) await immediate();
  }
}

test("D4 journal: an expired lease, counted from before the request, is renewed before an outward effect starts", async () => {
  const stage = await new Stage().open(journal(), 30_000);
  await stage.start(ask(1));
  expect([stage.appends, stage.performed]).toEqual([1, ["r1.ask"]]);
  await stage.run.leave();
});

test("D4 journal: a renewal that is answered after its own expiry does not count", async () => {
  const stage = await new Stage().open(journal());
  await stage.start(ask(1));
  await stage.run.next();
  stage.isDeaf = true;
  stage.delays.push(29_999, 30_000, 30_000);
  await stage.start(ask(2)); // One write is in time.
  expect([stage.appends, stage.performed]).toEqual([1, ["r1.ask", "r2.ask"]]);
  await stage.run.next();
  await stage.start(ask(3)); // Two are too late.
  expect([stage.appends, stage.performed]).toEqual([4, ["r1.ask", "r2.ask", "r3.ask"]]);
  await stage.run.leave();
});

test.each([
  ["inline", inline],
  ["journal", journal],
])("D4 %s: a running turn keeps its lease in a simulated world, however much time passes there", async (_, host) => {
  const stage = await new Stage().open(host());
  await stage.world.advance(300_000);
  const found = await stage.inner.open(newSession().id, ben, stage.world.now(), opening);
  expect(found).toMatchObject({ kind: "busy", holder: ann });
  await stage.run.leave();
});

test.each([
  ["inline", inline],
  ["journal", journal],
])(
  "D5 %s: the host reports the waiting inputs of the store, with the time before it asked the store",
  async (_, host) => {
    const stage = await new Stage().open(host());
    await stage.start(ask(1));
    await stage.run.poke();
    expect(stage.told).toEqual([]); // A store need not know.
    for (const is of [true, false]) {
      stage.pending = is;
      stage.delays.push(10);
      const sent = stage.world.now();
      await stage.run.poke();
      expect(stage.told.splice(0)).toEqual([[is, sent]]);
    }
    await stage.run.leave();
  },
);

test("D5 journal: an append's answer about waiting inputs is passed on", async () => {
  const stage = await new Stage().open(journal());
  await stage.start(ask(1));
  await stage.run.next();
  stage.pending = true;
  stage.delays.push(10);
  const sent = stage.world.now();
  await stage.start(ask(2));
  expect(stage.told).toEqual([[true, sent]]);
  await stage.run.leave();
});
