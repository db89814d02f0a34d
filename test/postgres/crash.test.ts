import { expect, test } from "vitest";
import { postgres } from "../../src/stores/postgres.ts";
import { newSession } from "../../src/testing/cast.ts";
import { startPostgres } from "../kit/postgres.ts";
import { startProxy } from "../kit/proxy.ts";
import { describePostgres } from "../kit/shared-postgres.ts";

describePostgres("servers that crash", () => {
  test("E7 postgres: what a crash has undone is done again, though its number was given to a transaction that was kept", async () => {
    // A number that the log on disk does not tell of is given out again.
    await using server = await startPostgres({ settings: { wal_writer_delay: "10s" } });
    const url = await server.createDatabase("crashed");
    await using proxy = await startProxy(url);
    const store = postgres(proxy.url(url), { listen: false });
    await store.ready();
    await server.query("CREATE TABLE other (n text)");

    const sent = Promise.withResolvers<void>();
    const isCommit = (piece: Buffer): boolean => {
      if (!piece.includes("COMMIT\0")) return false;
      proxy.freeze(true);
      sent.resolve();
      void proxy.cutWhen({ client: () => false, when: "before" });
      return false;
    };
    void proxy.cutWhen({ client: isCommit, when: "before" });
    const created = store.create({ ...newSession(), isNew: true });
    await sent.promise;
    const numbers = "SELECT backend_xid::text AS n FROM pg_stat_activity WHERE backend_xid IS NOT NULL";
    const [undone] = await server.query(numbers);
    await server.kill();
    await server.start();
    const given: unknown[] = [];
    while (given.length === 0 || Number(given.at(-1)) < Number(undone!.n))
      given.push((await server.query("INSERT INTO other VALUES (pg_current_xact_id()::text) RETURNING n"))[0]!.n);
    expect(given).toContain(undone!.n);
    proxy.freeze(false);

    expect((await created).id).toBe("alice");
    expect((await store.load(newSession().id))?.id).toBe("alice");
    await store.close();
  });
});
