import { afterAll, beforeAll, expect, test } from "vitest";
import { describePostgres } from "../kit/shared-postgres.ts";
import { sample } from "../kit/size.ts";
import { CutWorld } from "./cuts.ts";
import { WRITES } from "./writes.ts";

// The piece that is lost is the last one, whose answer tells whether all was kept. The full run does so for all calls.
const NTH = sample(5, 1);

describePostgres("connections that are lost in a call", () => {
  let world: CutWorld;
  beforeAll(async () => {
    world = await CutWorld.start();
  });
  afterAll(() => world.end());

  test.each(WRITES.filter((_, index) => index % NTH === 0))(
    "E7 postgres: the answer to $name is lost, and it is done once",
    async (write) => {
      const whole = await world.run(write);
      expect(whole.pieces).toBeGreaterThan(0);
      const last = { piece: whole.pieces, when: "answered" } as const;
      await world.judge(write, last, whole);
      await world.judge(write, { ...last, isInDoubt: true }, whole);
    },
  );
});
