import { afterAll, beforeAll, expect, test } from "vitest";
import { describePostgres } from "../kit/shared-postgres.ts";
import { CutWorld } from "./cuts.ts";
import { WRITES } from "./writes.ts";

// `npm run test:long` loses every piece of every call. Here it is the last one, whose answer tells whether all was kept.
describePostgres("connections that are lost in a call", () => {
  let world: CutWorld;
  beforeAll(async () => {
    world = await CutWorld.start();
  });
  afterAll(() => world.end());

  test.each(WRITES)("E7 postgres: the answer to $name is lost, and it is done once", async (write) => {
    const whole = await world.run(write);
    expect(whole.pieces).toBeGreaterThan(0);
    await world.judge(write, { piece: whole.pieces, when: "answered" }, whole);
  });
});
