import assert from "node:assert/strict";
import fc from "fast-check";
import { expect, test } from "vitest";
import { later } from "../../test/stores/later.ts";
import { capabilitiesOf } from "../../test/stores/titles.ts";
import { hasCode } from "../model/errors.ts";
import { asEffectName, asInputId, asTurnId, type EffectName, type InputId } from "../model/ids.ts";
import { alice, ann, ben, ended, inputId, newInput, newSession, opening, slept } from "../testing/cast.ts";
import { storeLaws } from "../testing/store-laws.ts";
import { memory } from "./memory.ts";
import { LEASE_MS, type Lease, type Owner, type PendingAppend, type PendingInput, type Store } from "./store.ts";

for (const each of storeLaws) test(`${capabilitiesOf(each)} memory: ${each.law}`, () => each.check(memory()));

test("D5 memory: every law holds on an asynchronous store", async () => {
  for (const { check } of storeLaws) await check(later(memory()));
}, 30_000);

test("D5 memory: no law has a duplicate", () => {
  const titles = storeLaws.map(({ law }) => law);
  expect(titles.filter((title, index) => titles.indexOf(title) !== index)).toEqual([]);
});

test("D5 memory: every method answers without a promise", () => {
  const store = memory();
  const created = store.create(newSession());
  expect(created).toMatchObject({ id: alice, revision: 0 });
  expect([store.kind, store.isDurable]).toEqual(["memory", false]);
});

// Two workers that come and go, senders, and time: whatever they do in whatever order, no input is lost or run twice.

/** The state of an input as its sender was told. */
type Whereabouts = "waiting" | "held" | "settled" | "withdrawn";

class World {
  now = 0;
  revision = 0;
  /** The inputs in the order of acceptance. */
  readonly inputs = new Map<InputId, Whereabouts>();
  readonly places = new Map<InputId, "boundary" | "turn" | "wants">();
  /** The accepted inputs by key. */
  readonly keys = new Map<string, InputId>();
  /** The open turn: its opening input, what its boundaries were given, and how long its journal is. */
  turn: { readonly own: InputId; readonly claims: Map<EffectName, readonly InputId[]>; length: number } | undefined;
  /** The latest lease, the only one that counts for the store; the other worker's is stale. */
  lease: Lease | undefined;
  until = 0;
  cancel: string | undefined;
  /** What each worker believes to hold. */
  readonly believed = new Map<Owner, Lease>();

  of(where: Whereabouts): InputId[] {
    return [...this.inputs].filter(([, at]) => at === where).map(([id]) => id);
  }

  took(own: InputId, lease: Lease): void {
    this.inputs.set(own, "held");
    this.turn = { own, claims: new Map(), length: 1 };
    this.holds(lease);
  }

  renewed(heldMs: number): void {
    this.until = this.now + LEASE_MS;
    assert.equal(heldMs, LEASE_MS);
  }

  holds(lease: Lease): void {
    this.lease = lease;
    this.renewed(lease.heldMs);
    this.believed.set(lease.owner, lease);
  }
}

type Step = (world: World, store: Store) => Promise<void>;

/** Runs what a worker does under the lease it believes in; a stale one must be refused. */
async function underLease(world: World, owner: Owner, act: (lease: Lease) => unknown): Promise<boolean> {
  const lease = world.believed.get(owner);
  if (lease === undefined) return false;
  if (lease === world.lease) {
    await act(lease);
    return true;
  }
  await assert.rejects(
    async () => act(lease),
    (error) => hasCode(error, "lease.lost"),
  );
  return false;
}

const accept =
  (name: number, place: "boundary" | "turn" | "wants", owner: Owner): Step =>
  async (world, store) => {
    const key = `k${name}`;
    const input = newInput(`${world.inputs.size}`, {
      key,
      place: place === "boundary" ? place : "turn",
      wants: place === "wants" ? { unwraps: true } : undefined,
      hash: "h",
      at: world.now,
    });
    const isIdle = world.turn === undefined && world.of("waiting").length === 0;
    const receipt = await store.accept(input, owner, opening, Infinity);
    const latest = world.keys.get(key);
    const known = latest !== undefined && world.inputs.get(latest) === "withdrawn" ? undefined : latest;
    assert.equal(receipt.kind, known !== undefined ? "known" : isIdle ? "opened" : "queued");
    assert.equal(receipt.inputId, known ?? input.id);
    if (known !== undefined) return;
    world.keys.set(key, input.id);
    world.places.set(input.id, place);
    world.inputs.set(input.id, "waiting");
    if (receipt.kind === "opened") world.took(input.id, receipt.lease);
  };

const open =
  (owner: Owner): Step =>
  async (world, store) => {
    const before = world.lease;
    const answer = await store.open(alice, owner, world.now, opening);
    const oldest = world.of("waiting")[0];
    if (world.turn !== undefined) {
      assert.equal(answer.kind, world.until > world.now ? "busy" : "resumed");
    } else assert.equal(answer.kind, oldest === undefined ? "idle" : "opened");
    if (answer.kind === "opened") {
      assert.equal(answer.opened.inputId, oldest);
      world.took(answer.opened.inputId, answer.lease);
    }
    if (answer.kind === "resumed") {
      assert.equal(answer.journal.length, world.turn?.length);
      assert.equal(answer.lease.generation, before!.generation + 1);
      world.holds(answer.lease);
    }
  };

const append =
  (owner: Owner): Step =>
  async (world, store) => {
    await underLease(world, owner, async (lease) => {
      const length = world.turn?.length ?? 1;
      const { heldMs } = await store.append(lease, length, [slept(`e${length}`)], world.now);
      world.turn!.length += 1;
      world.renewed(heldMs);
      assert.equal((await store.renew(lease, world.now)).cancel?.requestId, world.cancel);
    });
  };

const claim =
  (owner: Owner, boundary: EffectName, max: number, takesTurns?: true): Step =>
  async (world, store) => {
    let given: readonly (PendingInput | PendingAppend)[] = [];
    const take = async (lease: Lease) => (given = await store.inputs.claim(lease, boundary, max, takesTurns));
    if (!(await underLease(world, owner, take))) return;
    const ids = given.map((input) => input.id);
    const before = world.turn!.claims.get(boundary);
    const waiting = world.of("waiting");
    const end = waiting.findIndex((id) => world.places.get(id) === "wants");
    const free = takesTurns
      ? waiting.slice(0, end < 0 ? waiting.length : end)
      : waiting.filter((id) => world.places.get(id) === "boundary");
    assert.deepEqual(ids, before ?? free.slice(0, max));
    for (const id of ids) world.inputs.set(id, "held");
    if (ids.length > 0) world.turn!.claims.set(boundary, ids);
  };

const cancel =
  (requestId: string): Step =>
  async (world, store) => {
    if (world.turn === undefined) return;
    const turnId = world.lease!.turnId;
    const answer = await store.cancel(turnId, { requestId, reason: "", at: world.now });
    assert.equal(answer.kind, world.cancel === undefined ? "requested" : "already-requested");
    world.cancel ??= requestId;
  };

const commit =
  (owner: Owner, hasSeenCancel: boolean, settlesAll: boolean): Step =>
  async (world, store) => {
    const head = (await store.load(alice))?.head;
    const hasEnded = (await store.terminal(world.believed.get(owner)?.turnId ?? asTurnId(""))) !== undefined;
    if (hasEnded) return; // The other worker ended it: a law says when that is answered by the receipt and when by a conflict.
    await underLease(world, owner, async (lease) => {
      const { claims, own } = world.turn ?? { claims: new Map<EffectName, readonly InputId[]>(), own: asInputId("") };
      const claimed = [...claims.values()].flat();
      const settled = settlesAll ? claimed : claimed.slice(1);
      const ending = {
        at: world.now,
        inputs: settled,
        ...(head === undefined ? {} : { base: head }),
        ...(hasSeenCancel && world.cancel !== undefined ? { cancel: world.cancel } : {}),
      };
      const answer = await store.commit(lease, ended(lease, ending));
      assert.equal(answer.kind, world.cancel === undefined || hasSeenCancel ? "committed" : "reopen");
      if (answer.kind === "reopen") return;
      world.revision += 1;
      assert.equal(answer.revision, world.revision);
      for (const id of claimed) world.inputs.set(id, "waiting");
      for (const id of [own, ...settled]) world.inputs.set(id, "settled");
      for (const [worker, believed] of world.believed) if (believed === lease) world.believed.delete(worker);
      world.turn = world.lease = world.cancel = undefined;
    });
  };

const BECAME = { waiting: "withdrawn", withdrawn: "withdrawn", held: "taken", settled: "ended" } as const;

/** Names one input by its id, all from it on, or one by its key. */
const withdraw =
  (nth: number, by: "id" | "from" | "key"): Step =>
  async (world, store) => {
    const all = [...world.inputs.keys()];
    const id = by === "key" ? world.keys.get(`k${nth}`) : all[nth];
    if (id === undefined) return;
    const which = by === "from" ? all.slice(nth) : [id];
    const ref = by === "id" ? { id } : by === "from" ? { from: id } : { key: `k${nth}` };
    const answers = await store.inputs.withdraw(alice, ref);
    assert.deepEqual(
      answers.map(({ inputId: id, answer }) => [id, answer]),
      which.map((each) => [each, BECAME[world.inputs.get(each)!]]),
    );
    for (const each of which) if (world.inputs.get(each) === "waiting") world.inputs.set(each, "withdrawn");
  };

const pass =
  (ms: number): Step =>
  async (world) => {
    world.now += ms;
  };

const release =
  (owner: Owner): Step =>
  async (world, store) => {
    const lease = world.believed.get(owner);
    if (lease === undefined) return;
    await store.release(lease);
    if (lease === world.lease) world.until = 0;
  };

/** What must be true after every step. */
async function check(world: World, store: Store): Promise<void> {
  const waiting = await store.inputs.list(alice);
  assert.deepEqual(
    waiting.map((input) => input.id),
    world.of("waiting"),
  );
  const held = world.turn === undefined ? [] : [world.turn.own, ...[...world.turn.claims.values()].flat()];
  assert.deepEqual(world.of("held"), [...new Set(held)].sort(byAge));
  assert.equal(held.length, new Set(held).size);
  assert.equal((await store.load(alice))?.revision, world.revision);
  const isRunnable = world.turn === undefined ? waiting.length > 0 : world.until <= world.now;
  assert.deepEqual((await store.agenda(world.now, 10)).sessions, isRunnable ? [alice] : []);
}
const ageOf = (id: InputId): number => Number(id.slice(inputId("").length));
const byAge = (a: InputId, b: InputId): number => ageOf(a) - ageOf(b);

const owner = fc.constantFrom(ann, ben);
const place = fc.constantFrom("boundary" as const, "turn" as const, "wants" as const);
const boundary = fc.constantFrom("b1", "b2").map(asEffectName);
const step: fc.Arbitrary<readonly [string, Step]> = fc.oneof(
  fc.tuple(fc.nat(30), place, owner).map(([n, p, o]) => [`accept ${n} ${p} ${o.id}`, accept(n, p, o)] as const),
  owner.map((o) => [`open ${o.id}`, open(o)] as const),
  owner.map((o) => [`append ${o.id}`, append(o)] as const),
  fc
    .tuple(owner, boundary, fc.integer({ min: 1, max: 3 }), fc.constantFrom(undefined, true as const))
    .map(([o, b, n, turns]) => [`claim ${o.id} ${b} ${n} ${turns ? "turns" : ""}`, claim(o, b, n, turns)] as const),
  fc.constantFrom("r1", "r2").map((r) => [`cancel ${r}`, cancel(r)] as const),
  fc
    .tuple(owner, fc.boolean(), fc.boolean())
    .map(
      ([o, seen, all]) => [`commit ${o.id} ${seen ? "seen" : ""} ${all ? "all" : ""}`, commit(o, seen, all)] as const,
    ),
  fc
    .tuple(fc.nat(20), fc.constantFrom("id" as const, "from" as const, "key" as const))
    .map(([n, by]) => [`withdraw ${by} ${n}`, withdraw(n, by)] as const),
  fc.constantFrom(1, LEASE_MS - 1, LEASE_MS).map((ms) => [`pass ${ms}`, pass(ms)] as const),
  owner.map((o) => [`release ${o.id}`, release(o)] as const),
);
const steps = fc.array(
  step.map(([name, run]) => Object.assign(run, { [fc.toStringMethod]: () => name })),
  { maxLength: 80, size: "max" },
);

test("D5 memory: whatever two workers do, no input is lost or run twice and one lease lives", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (story) => {
      const [world, store] = [new World(), memory()];
      await store.create(newSession());
      for (const run of story) {
        await run(world, store);
        await check(world, store);
      }
      // In the end everything that was accepted and not withdrawn is run, once.
      for (let left = world.inputs.size; left >= 0; left -= 1) {
        world.now += LEASE_MS;
        await open(ann)(world, store);
        await commit(ann, true, true)(world, store);
        await check(world, store);
      }
      assert.deepEqual([...world.of("waiting"), ...world.of("held")], []);
    }),
    { numRuns: 500 },
  );
});
