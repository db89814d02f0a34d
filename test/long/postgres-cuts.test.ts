import { afterAll, beforeAll, expect, test } from "vitest";
import { describePostgres } from "../kit/shared-postgres.ts";
import { CutWorld, MOMENTS } from "../postgres/cuts.ts";
import { WRITES } from "../postgres/writes.ts";

describePostgres("connections that are lost in a call, wherever it is", () => {
  let world: CutWorld;
  let cuts = 0;
  beforeAll(async () => {
    world = await CutWorld.start();
  });
  afterAll(async () => {
    process.stdout.write(`${cuts} connections were lost.\n`);
    await world.end();
  });

  test.each(WRITES)(
    "E7 postgres: $name is done once, whenever its connection is lost",
    { timeout: 600_000 },
    async (write) => {
      const whole = await world.run(write);
      let lost = 0;
      for (const when of MOMENTS)
        for (const isInDoubt of [false, true])
          for (let piece = 1; await world.judge(write, { piece, when, isInDoubt }, whole); piece++) lost++;
      expect(lost).toBeGreaterThan(0);
      cuts += lost;
    },
  );
});
