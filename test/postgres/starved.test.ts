import { expect, test } from "vitest";
import { canMount } from "../kit/disk.ts";
import { describePostgres } from "../kit/shared-postgres.ts";
import { sample } from "../kit/size.ts";
import { fewConnections, fullDisk, noConnections, rowOf } from "./starved.ts";

describePostgres("a server without room", () => {
  test.concurrent("E7 many sessions that share one connection all come to their end", async () => {
    expect(await fewConnections(sample(8, 40))).toMatchObject({ told: {}, wrong: [] });
  });

  test.concurrent("E7 D1 when the server has no connection left, callers get an error, and all work continues when it has one", async () => {
    const found = await noConnections(4, sample(1, 5));
    console.log(rowOf("no connections", found));
    expect(found.wrong).toEqual([]);
  }, 120_000);

  test.skipIf(!canMount()).concurrent(
    "E7 D1 D2 when the disk is full, callers are told, and the same worker goes on when it is not",
    async () => {
      const found = await fullDisk(4, sample(1, 3));
      console.log(rowOf("disk full", found));
      expect(found.wrong).toEqual([]);
    },
    120_000,
  );
});
