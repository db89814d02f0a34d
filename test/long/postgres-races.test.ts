import { expect, test } from "vitest";
import { describePostgres } from "../kit/shared-postgres.ts";
import { CAUGHT_BY, RACES, type RaceName, raced, rowOf } from "../postgres/races.ts";

const TIMES = 600;

describePostgres("two workers, one turn", () => {
  test.each(Object.keys(RACES) as RaceName[])(
    "E7 D5 %s: whichever comes first, both know",
    async (name) => {
      const found = await raced(name, TIMES);
      console.log(rowOf(name, found));
      expect(found.wrong).toEqual([]);
      expect(Object.keys(found.how).length).toBeGreaterThan(1); // Now the one came first, and now the other.
    },
    120_000,
  );

  test.each(CAUGHT_BY)(
    "E7 D6 the races catch a store with %s: %s",
    async (mutant, name) => {
      const found = await raced(name, TIMES, mutant);
      console.log(rowOf(`${name}, ${mutant}`, found));
      expect(found.changed).toBeGreaterThan(0);
      expect(found.wrong.length).toBeGreaterThan(0);
    },
    300_000,
  );
});
