import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { builtArgv } from "../kit/built.ts";
import { startPostgres } from "../kit/postgres.ts";
import { describePostgres, freshDatabase } from "../kit/shared-postgres.ts";
import { Cluster, faultsIn } from "./cluster.ts";

const execArgv = await builtArgv();

// A sample; `npm run test:long` has ten thousand turns, and kills the server forty times.
describePostgres("a cluster on Postgres", () => {
  test("E7 D1 D2 D5 three workers share sessions while they are killed, stopped and cancelled: no turn is lost, doubled or stuck", async () => {
    const report = await new Cluster({
      ...{ workers: 3, sessions: 6, turns: 4, leaseMs: 1_000, execArgv, timeoutMs: 60_000 },
      url: await freshDatabase(),
      async disturb(cluster, nth) {
        await sleep(250);
        await (nth === 1 ? cluster.stop() : cluster.kill());
        return nth < 2 ? "again" : "enough";
      },
    }).run();
    expect(faultsIn(report)).toEqual([]);
    expect(report.counts.turns).toBe(72);
  }, 90_000);

  test("E7 D1 D2 the server is killed while two workers run turns: what it had said is there, and they go on", async () => {
    await using server = await startPostgres({ fsync: true });
    const report = await new Cluster({
      ...{ workers: 2, sessions: 4, turns: 6, leaseMs: 5_000, execArgv, timeoutMs: 60_000 },
      url: server.url,
      async disturb(_, nth) {
        await sleep(400);
        await server.kill();
        await server.start();
        return nth < 1 ? "again" : "enough";
      },
    }).run();
    expect(faultsIn(report)).toEqual([]);
    expect(report.counts.turns).toBe(48);
  }, 90_000);
});
