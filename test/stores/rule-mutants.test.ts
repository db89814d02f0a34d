import { afterAll, beforeAll, expect, test } from "vitest";
import type { Awaitable } from "../../src/model/awaitable.ts";
import { memory } from "../../src/stores/memory.ts";
import { sqlite } from "../../src/stores/sqlite.ts";
import type { Store } from "../../src/stores/store.ts";
import type { StoreLaw } from "../../src/testing/law.ts";
import { storeLaws } from "../../src/testing/store-laws.ts";
import { describePostgres, freshDatabase } from "../kit/shared-postgres.ts";
import { sample } from "../kit/size.ts";
import { SharedSchema } from "../postgres/schemas.ts";
import { type Mutant, mutated, RULE_MUTANTS } from "./rule-mutants.ts";

// A decision is written once, for all stores. So a rule that is broken breaks the same laws in each of them.

const ALL = Object.entries(RULE_MUTANTS);
/** The full run has all mutants. */
const SOME = picked(ALL, sample(8, ALL.length));
const FEW = picked(SOME, sample(2, ALL.length));
/** Laws that hold for a mutant are tried too, as many of them. */
const OTHERS = sample(5, 40);
const UNCHANGED: Mutant = () => ({});

/** Some of a list, by chance, in the order of the list. */
function picked<T>(list: readonly T[], count: number): readonly T[] {
  const places = list.map((_, at) => [Math.random(), at] as const).sort(([a], [b]) => a - b);
  const chosen = new Set(places.slice(0, count).map(([, at]) => at));
  return list.filter((_, at) => chosen.has(at));
}

const inMemory = (mutant: Mutant): Store => mutated(memory(), mutant);
const inFile = (mutant: Mutant): Store => mutated(sqlite(":memory:", { durability: "process" }), mutant);

/** The laws that a store breaks. */
async function brokenOf(laws: readonly StoreLaw[], make: () => Awaitable<Store>): Promise<readonly StoreLaw[]> {
  const broken: StoreLaw[] = [];
  for (const law of laws) {
    const store = await make();
    try {
      await law.check(store);
    } catch {
      broken.push(law);
    }
    await store.close();
  }
  return broken;
}

/** All laws that a mutant breaks in memory. They are looked for once. */
function missed(name: string): Promise<readonly StoreLaw[]> {
  const known = found.get(name) ?? brokenOf(storeLaws, () => inMemory(RULE_MUTANTS[name]!));
  found.set(name, known);
  return known;
}
const found = new Map<string, Promise<readonly StoreLaw[]>>();

const namesOf = (laws: readonly StoreLaw[]): readonly string[] => laws.map(({ law }) => law);

test("D5 D7 the laws of stores hold for the rules alone, without anything that a store does faster", async () => {
  expect(namesOf(await brokenOf(storeLaws, () => inMemory(UNCHANGED)))).toEqual([]);
  const some = picked(storeLaws, sample(20, storeLaws.length));
  expect(namesOf(await brokenOf(some, () => inFile(UNCHANGED)))).toEqual([]);
});

test.each(SOME)("D5 memory and sqlite break the same laws where %s", async (name, mutant) => {
  const broken = await missed(name);
  expect(broken.length).toBeGreaterThan(0);
  expect(broken.length).toBeLessThan(storeLaws.length / 2); // It is one rule that is missed, and not the store.
  const others = picked(storeLaws, OTHERS);
  const tried = storeLaws.filter((law) => broken.includes(law) || others.includes(law));
  expect(namesOf(await brokenOf(tried, () => inFile(mutant)))).toEqual(namesOf(broken));
});

describePostgres("broken rules on Postgres", () => {
  let schema: SharedSchema;
  beforeAll(async () => {
    schema = new SharedSchema(await freshDatabase(), "mutants");
  });
  afterAll(() => schema.end());
  // A write that finds a row which the mutant has hidden is done again, as if another process had added it meanwhile.
  const options = { listen: false, retryMs: 500 } as const;
  const onServer = async (mutant: Mutant): Promise<Store> => mutated(await schema.emptied(options), mutant);

  test("E7 D7 postgres: the laws of stores hold for the rules alone", async () => {
    const some = picked(storeLaws, sample(5, 100));
    expect(namesOf(await brokenOf(some, () => onServer(UNCHANGED)))).toEqual([]);
  });

  test.each(FEW)("E7 D5 postgres breaks the same laws where %s", async (name, mutant) => {
    const broken = await missed(name);
    const held = storeLaws.filter((law) => !broken.includes(law));
    const some = broken.slice(0, sample(2, Infinity));
    const tried = [...some, ...picked(held, sample(1, 3))];
    expect(namesOf(await brokenOf(tried, () => onServer(mutant)))).toEqual(namesOf(some));
  });
});
