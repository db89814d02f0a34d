import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "vitest";
import { sample } from "../../test/kit/size.ts";
import { asWaitKey, type WaitKey } from "../model/ids.ts";
import type { WaitAnswer } from "../model/wait.ts";
import { alice, ann, begin, ben, bob, commit, newSession, newWait, opening, slept, turnId } from "../testing/cast.ts";
import { memory } from "./memory.ts";
import { sqlite } from "./sqlite.ts";
import { LEASE_MS, type Lease, type Owner, type Store } from "./store.ts";

// One turn that waits, parks and goes on, those who answer it, and time: whatever they do in whatever order, mail that
// came for the turn is not left lying, and without mail nobody is bothered.

class World {
  now = 1_000;
  length = 1;
  /** The lease that counts; undefined while the turn is parked. */
  lease: Lease | undefined;
  until = 0;
  /** What the turn waits for, and what it has not folded of the answers. */
  readonly open = new Map<WaitKey, { readonly until: number; readonly isForTurn: boolean }>();
  readonly answers = new Map<WaitKey, WaitAnswer>();
  cancel: "none" | "requested" | "folded" = "none";
  wakeAt = Infinity;
  child: Lease | undefined;

  get hasMail(): boolean {
    return this.cancel === "requested" || [...this.open.keys()].some((key) => this.answers.has(key));
  }
  /** Whether the agenda must list the session. */
  get isWork(): boolean {
    return this.lease === undefined ? this.hasMail || this.wakeAt <= this.now : this.until <= this.now;
  }
  childEnded(): void {
    for (const [key, { isForTurn }] of this.open)
      if (isForTurn && !this.answers.has(key)) this.answers.set(key, { kind: "value", value: null });
  }
}
type Step = (world: World, store: Store) => Promise<void>;
const keys = ["a", "b", "c", "d"].map(asWaitKey);

const ask =
  (key: WaitKey, ms: number, isForTurn: boolean): Step =>
  async (world, store) => {
    if (world.lease === undefined || world.open.has(key) || world.answers.has(key)) return;
    const until = world.now + ms;
    const about = { kind: "turns", need: "all", turns: [{ sessionId: bob, turnId: turnId("child") }] } as const;
    const wait = newWait(key, { until, ...(isForTurn ? { about } : {}) });
    const { heldMs } = await store.append(world.lease, world.length++, [slept(key)], world.now, [wait]);
    world.until = world.now + heldMs;
    world.open.set(key, { until, isForTurn });
    if (isForTurn && world.child === undefined) world.childEnded();
  };

/** Folds all mail, as a turn does before it waits on. */
const look: Step = async (world, store) => {
  if (world.lease === undefined) return;
  const mail = await store.renew(world.lease, world.now);
  world.until = world.now + mail.heldMs;
  const resolved = new Map(mail.resolved?.map(({ key, answer }) => [key, answer]));
  assert.deepEqual(new Map([...resolved].sort()), new Map([...world.answers].sort()));
  assert.equal(mail.cancel !== undefined, world.cancel !== "none");
  for (const key of resolved.keys()) world.open.delete(key);
  if (mail.cancel !== undefined) world.cancel = "folded";
};

const park: Step = async (world, store) => {
  if (world.lease === undefined) return;
  const { turnId } = world.lease;
  const [waits, wakeAt] = [[...world.open.keys()], Math.min(...[...world.open.values()].map(({ until }) => until))];
  const parked = { turnId, waits, wakeAt, ...(world.cancel === "folded" ? { cancel: "r" } : {}) };
  const answer = await store.park(world.lease, parked, world.now);
  assert.equal(answer.kind, world.hasMail ? "mail" : "parked");
  if (answer.kind === "mail") world.until = world.now + answer.mail.heldMs;
  else [world.lease, world.wakeAt] = [undefined, wakeAt];
};

const answer =
  (key: WaitKey, given: WaitAnswer): Step =>
  async (world, store) => {
    const { said } = await store.waits.resolve(key, given, world.now);
    const before = world.answers.get(key);
    const wait = world.open.get(key);
    if (wait === undefined && before === undefined) return assert.equal(said, "unknown");
    if (before?.kind === "revoked") return assert.equal(said, "unknown");
    if (wait?.isForTurn && given.kind === "value") return assert.equal(said, "unknown");
    if (before !== undefined) return assert.ok(said === "already-resolved" || given.kind === "value");
    if (given.kind === "value" && wait!.until <= world.now) return assert.equal(said, "expired");
    assert.equal(said, "accepted");
    world.answers.set(key, given);
  };

const cancel: Step = async (world, store) => {
  const { kind } = await store.cancel(turnId("parent"), { requestId: "r", reason: "", at: world.now });
  assert.equal(kind, world.cancel === "none" ? "requested" : "already-requested");
  if (world.cancel === "none") world.cancel = "requested";
};

const endChild: Step = async (world, store) => {
  if (world.child === undefined) return;
  await commit(store, world.child);
  world.child = undefined;
  world.childEnded();
};

const open =
  (owner: Owner, forOperation?: true): Step =>
  async (world, store) => {
    const found = await store.open(alice, owner, world.now, opening, forOperation);
    const wasParked = world.lease === undefined;
    if (!world.isWork && !(wasParked && forOperation)) return assert.equal(found.kind, wasParked ? "parked" : "busy");
    assert.ok(found.kind === "resumed");
    assert.equal(found.journal.length, world.length);
    [world.lease, world.until] = [found.lease, world.now + found.lease.heldMs];
  };

const pass =
  (ms: number): Step =>
  async (world) => {
    world.now += ms;
  };

/** The longest that is waited for comes after a lease has lapsed. */
const ms = fc.constantFrom(1, 50, LEASE_MS - 1, LEASE_MS, LEASE_MS * 2);
const key = fc.constantFrom(...keys);
const given = fc.constantFrom<WaitAnswer>({ kind: "value", value: 1 }, { kind: "timeout" }, { kind: "revoked" });
const step: fc.Arbitrary<readonly [string, Step]> = fc.oneof(
  {
    arbitrary: fc.tuple(key, ms, fc.boolean()).map(([k, n, t]) => [`ask ${k} ${n} ${t}`, ask(k, n, t)] as const),
    weight: 4,
  },
  { arbitrary: fc.constant(["look", look] as const), weight: 3 },
  { arbitrary: fc.constant(["park", park] as const), weight: 5 },
  { arbitrary: fc.tuple(key, given).map(([k, a]) => [`answer ${k} ${a.kind}`, answer(k, a)] as const), weight: 4 },
  { arbitrary: fc.constant(["cancel", cancel] as const), weight: 1 },
  { arbitrary: fc.constant(["end the child", endChild] as const), weight: 1 },
  { arbitrary: fc.constantFrom(ann, ben).map((o) => [`open ${o.id}`, open(o)] as const), weight: 3 },
  { arbitrary: fc.constant(["open for an operation", open(ann, true)] as const), weight: 1 },
  { arbitrary: ms.map((n) => [`pass ${n}`, pass(n)] as const), weight: 2 },
);
const steps = fc.array(
  step.map(([name, run]) => Object.assign(run, { [fc.toStringMethod]: () => name })),
  { maxLength: 40, size: "max" },
);

const members = { memory, sqlite: () => sqlite(":memory:", { durability: "process" }) };
for (const [member, make] of Object.entries(members))
  test(`D4 ${member}: a parking turn is woken by mail and by nothing else`, async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (story) => {
        const [world, store] = [new World(), make()];
        for (const id of [alice, bob]) await store.create(newSession(id));
        world.child = await begin(store, "child", { to: bob, at: 1e12 });
        world.lease = await begin(store, "parent", { at: world.now });
        world.until = world.now + world.lease.heldMs;
        for (const run of story) {
          await run(world, store);
          const { sessions, next } = await store.agenda(world.now, 10);
          assert.deepEqual(sessions, world.isWork ? [alice] : []);
          const isAsleep: boolean = world.lease === undefined && !world.isWork && world.wakeAt !== Infinity;
          assert.equal(next, isAsleep ? world.wakeAt : undefined);
        }
        await store.close();
      }),
      { numRuns: member === "memory" ? sample(150, 1_000) : sample(50, 300) },
    );
  }, 60_000);
