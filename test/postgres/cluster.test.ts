import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { builtArgv } from "../kit/built.ts";
import { startPostgres } from "../kit/postgres.ts";
import { describePostgres, freshDatabase } from "../kit/shared-postgres.ts";
import { sample } from "../kit/size.ts";
import { Cluster, faultsIn } from "./cluster.ts";

const execArgv = await builtArgv();

// A sample; `npm run test:long` has ten thousand turns, and kills the server forty times.
describePostgres("a cluster on Postgres", () => {
  test("E7 D1 D2 D5 three workers share sessions while they are killed, stopped and cancelled: no turn is lost, doubled or stuck", async () => {
    const report = await new Cluster({
      ...{ workers: 3, sessions: sample(4, 12), turns: sample(3, 6), leaseMs: 800, execArgv, timeoutMs: 120_000 },
      url: await freshDatabase(),
      async disturb(cluster, nth) {
        await sleep(250);
        await (nth === 1 ? cluster.stop() : cluster.kill());
        return nth < sample(2, 8) ? "again" : "enough";
      },
    }).run();
    expect(faultsIn(report)).toEqual([]);
    expect(report.counts.turns).toBe(3 * sample(4, 12) * sample(3, 6));
  }, 180_000);

  test("E7 D1 D2 the server is killed while two workers run turns: the shown output is stored, and they continue", async () => {
    await using server = await startPostgres({ fsync: true });
    const report = await new Cluster({
      ...{ workers: 2, sessions: sample(3, 4), turns: sample(4, 12), leaseMs: 5_000, execArgv, timeoutMs: 120_000 },
      url: server.url,
      async disturb(_, nth) {
        await sleep(300);
        await server.kill();
        await server.start();
        return nth < sample(0, 4) ? "again" : "enough";
      },
    }).run();
    expect(faultsIn(report)).toEqual([]);
    expect(report.counts.turns).toBe(2 * sample(3, 4) * sample(4, 12));
  }, 180_000);
});
