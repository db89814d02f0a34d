import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { builtArgv } from "../kit/built.ts";
import { startPostgres } from "../kit/postgres.ts";
import { describePostgres, freshDatabase } from "../kit/shared-postgres.ts";
import { Cluster, faultsIn, table } from "../postgres/cluster.ts";

const execArgv = await builtArgv();

describePostgres("a cluster on Postgres", () => {
  test("E7 D1 D2 D3 D5 ten thousand turns of four workers on fifty sessions, with kills, stops and cancels: none is lost, doubled or stuck", async () => {
    const report = await new Cluster({
      ...{ workers: 4, sessions: 50, turns: 50, leaseMs: 1_000, execArgv, timeoutMs: 900_000 },
      url: await freshDatabase(),
      async disturb(cluster, nth) {
        await sleep(1_000);
        await (nth % 4 === 3 ? cluster.stop() : cluster.kill());
        return "again";
      },
    }).run();
    console.log(table("four workers", report));
    expect(faultsIn(report)).toEqual([]);
    expect(report.counts.turns).toBe(10_000);
  }, 1_200_000);

  test("E7 D1 D2 the server is killed again and again while two workers run turns: what it had said is there", async () => {
    await using server = await startPostgres({ fsync: true });
    const report = await new Cluster({
      ...{ workers: 2, sessions: 20, turns: 40, leaseMs: 5_000, execArgv, timeoutMs: 300_000 },
      url: server.url,
      async disturb(_, nth) {
        await sleep(500 + Math.random() * 1_000);
        await server.kill();
        await sleep(Math.random() * 500);
        await server.start();
        return nth < 39 ? "again" : "enough";
      },
    }).run();
    console.log(table("server kills", report));
    expect(faultsIn(report)).toEqual([]);
  }, 600_000);
});
