import { expect, test } from "vitest";
import { describePostgres } from "../kit/shared-postgres.ts";
import { sample } from "../kit/size.ts";
import { RACES, type RaceName, raced } from "./races.ts";

describePostgres("two workers, one turn", () => {
  test.each(Object.keys(RACES) as RaceName[])("E7 D5 %s: whichever comes first, both know", async (name) => {
    const { wrong } = await raced(name, sample(25, 200));
    expect(wrong).toEqual([]);
  });
});
