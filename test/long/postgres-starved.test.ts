import { expect, test } from "vitest";
import { canMount } from "../kit/disk.ts";
import { describePostgres } from "../kit/shared-postgres.ts";
import { fewConnections, fullDisk, noConnections, rowOf, type Starved } from "../postgres/starved.ts";

describePostgres("a server without room", () => {
  const judge = (name: string, found: Starved): void => {
    console.log(rowOf(name, found));
    expect(found.wrong).toEqual([]);
    expect(found.answered).toBe(found.turns);
  };

  test("E7 fifty sessions that share one connection all come to their end", async () => {
    judge("one connection", await fewConnections(50));
  }, 120_000);

  test("E7 D1 the server has no connection left, ten times: all work continues when it has one", async () => {
    judge("no connections", await noConnections(10, 10));
  }, 120_000);

  test.skipIf(!canMount())(
    "E7 D1 D2 the disk is full, ten times: the same worker continues when it has room",
    async () => {
      judge("disk full", await fullDisk(10, 10));
    },
    120_000,
  );
});
