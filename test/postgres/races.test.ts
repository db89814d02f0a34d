import { expect, test } from "vitest";
import { describePostgres } from "../kit/shared-postgres.ts";
import { isFull, sample } from "../kit/size.ts";
import { CAUGHT_BY, RACES, type RaceName, raced } from "./races.ts";

describePostgres("two workers, one turn", () => {
  test.each(Object.keys(RACES) as RaceName[])("E7 D5 %s: whichever comes first, both know", async (name) => {
    const { wrong } = await raced(name, sample(25, 200));
    expect(wrong).toEqual([]);
  });

  test.runIf(isFull).each(CAUGHT_BY)("E7 D6 the races catch a store with %s: %s", async (mutant, name) => {
    const { wrong, changed } = await raced(name, 600, mutant, { isSample: true });
    expect(changed).toBeGreaterThan(0);
    expect(wrong.length).toBeGreaterThan(0);
  });
});
