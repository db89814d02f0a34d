import { existsSync } from "node:fs";
import pg from "pg";
import { expect, test } from "vitest";
import { canMount, smallDisk } from "./disk.ts";
import { startPgbouncer } from "./pgbouncer.ts";
import { type Postgres, queryOnce, startPostgres } from "./postgres.ts";
import { startProxy } from "./proxy.ts";
import { codeOf, eventually, passed, within } from "./reading.ts";
import { describePgbouncer, describePostgres, freshDatabase, freshSchema, sharedPostgres } from "./shared-postgres.ts";

class Connected extends pg.Client implements AsyncDisposable {
  constructor(given: string | pg.ClientConfig) {
    super(given);
    this.on("error", () => {}); // That it is lost shows in what is asked of it.
  }
  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }
}
async function connected(url: string, more: pg.ClientConfig = {}): Promise<Connected> {
  const client = new Connected({ connectionString: url, ...more });
  await client.connect();
  return client;
}
const rowsIn = async (server: Postgres): Promise<unknown> =>
  (await server.query("SELECT count(*)::int AS n FROM kept"))[0]?.n;

describePostgres("a server of a test's own", () => {
  test("is reached by TCP and by its socket, and leaves nothing behind", async () => {
    const server = await startPostgres({ settings: { work_mem: "3MB" } });
    for (const url of [server.url, server.socketUrl])
      expect(await queryOnce(url, "SHOW work_mem")).toEqual([{ work_mem: "3MB" }]);
    expect(await queryOnce(await server.createDatabase("other"), "SELECT current_database() AS name")).toEqual([
      { name: "other" },
    ]);
    const { pid, folder } = server;
    await server.stop();
    expect(existsSync(folder)).toBe(false);
    expect(await codeOf(() => process.kill(pid!, 0))).toBe("ESRCH");
  });

  test("sorts text as people do, unless told to sort bytes", async () => {
    await using server = await startPostgres();
    const sorted = async (order: string) =>
      (await server.query(`SELECT * FROM (VALUES ('B'), ('a')) AS v (x) ORDER BY ${order}`)).map(({ x }) => x);
    expect(await sorted('x COLLATE "C"')).toEqual(["B", "a"]);
    expect(await sorted("x")).toEqual(["a", "B"]);
  });

  test("that is killed has what was committed, and not what was open", async () => {
    await using server = await startPostgres({ fsync: true });
    await server.query("CREATE TABLE kept (n int)");
    await using open = await connected(server.url);
    await open.query("BEGIN");
    await open.query("INSERT INTO kept VALUES (1), (2)");
    await server.query("INSERT INTO kept VALUES (3)");
    const busy = codeOf(open.query("SELECT pg_sleep(60)"));
    await eventually(
      async () => (await server.query("SELECT 1 FROM pg_stat_activity WHERE query ~ '^SELECT pg_sl'"))[0],
    );

    await server.kill();
    expect(server.pid).toBeUndefined();
    expect(await within(busy)).toMatch(/terminated|ECONNRESET/);
    expect(await codeOf(queryOnce(server.url, "SELECT 1"))).toBe("ECONNREFUSED");

    await server.start();
    expect(await rowsIn(server)).toBe(1);
    expect(server.log()).toContain("automatic recovery in progress");
  });

  test("that is restarted has the same URL and data", async () => {
    await using server = await startPostgres();
    const { url, pid } = server;
    await server.query("CREATE TABLE kept (n int)");
    await server.restart();
    expect(server.url).toBe(url);
    expect(server.pid).not.toBe(pid);
    expect(await rowsIn(server)).toBe(0);
  });

  test("asks for passwords and supports users without rights", async () => {
    await using server = await startPostgres({ password: "s3cr/t" });
    const stranger = await server.createUser("stranger", "pass");
    expect(await queryOnce(server.url, "SELECT current_user AS me")).toEqual([{ me: "postgres" }]);
    expect(await codeOf(queryOnce(server.urlOf({ password: "wrong" }), "SELECT 1"))).toBe("28P01");
    expect(await codeOf(queryOnce(server.urlOf({ user: "stranger", password: "wrong" }), "SELECT 1"))).toBe("28P01");
    expect(await codeOf(queryOnce(stranger, "CREATE TABLE mine (n int)"))).toBe("42501");
    expect(await codeOf(queryOnce(server.urlOf({ database: "none" }), "SELECT 1"))).toBe("3D000");
    await server.restart();
    expect(await codeOf(queryOnce(server.urlOf({ password: "wrong" }), "SELECT 1"))).toBe("28P01");
  });

  test.skipIf(!canMount())(
    "on a full disk refuses data that has no room, and continues when there is room",
    async () => {
      using disk = smallDisk(64);
      await using server = await startPostgres({ dataIn: disk.folder, settings: { max_wal_size: "8MB" } });
      await server.query("CREATE TABLE kept (n int, body text)");
      disk.fill(512 * 1024);
      await using client = await connected(server.url);
      const big = "INSERT INTO kept SELECT n, repeat(md5(n::text), 20) FROM generate_series(1, 20000) AS n";
      expect(["53100", "Connection terminated unexpectedly"]).toContain(await codeOf(client.query(big)));
      disk.free();
      if (server.pid === undefined) await server.start();
      await eventually(
        () =>
          rowsIn(server).then(
            (n) => n === 0,
            () => false,
          ),
        10_000,
      );
    },
  );
});

describePostgres("the server that tests share", () => {
  test("gives a database or a schema to each who asks", async () => {
    const [one, two] = [await freshDatabase(), await freshDatabase()];
    for (const url of [one, two]) await queryOnce(url, "CREATE TABLE same (n int)");
    expect(new URL(one).host).toBe(new URL(await sharedPostgres()).host);
    const [left, right] = [await freshSchema(), await freshSchema()];
    for (const { url } of [left, right]) await queryOnce(url, "CREATE TABLE same (n int)");
    expect(await queryOnce(left.url, `SELECT count(*)::int AS n FROM ${right.schema}.same`)).toEqual([{ n: 0 }]);
  });
});

describePostgres("a proxy before PostgreSQL", () => {
  const setUp = async () => {
    const url = await freshDatabase();
    await queryOnce(url, "CREATE TABLE kept (n int)");
    const proxy = await startProxy(url);
    const client = await connected(proxy.url(url));
    const kept = async () => (await queryOnce(url, "SELECT count(*)::int AS n FROM kept"))[0]?.n;
    return { url, proxy, client, kept };
  };

  test("counts the round trips of statements, one by one and in a pipeline", async () => {
    const { proxy, client, url } = await setUp();
    const connecting = proxy.roundTrips();
    for (let n = 0; n < 3; n++) await client.query("INSERT INTO kept VALUES ($1)", [n]);
    expect(proxy.roundTrips() - connecting).toBe(3);

    await using piped = await connected(proxy.url(url), { pipeline: true } as pg.ClientConfig);
    await piped.query("SELECT 1");
    proxy.delay(100); // So that all are on their way before the first is answered.
    const before = proxy.roundTrips();
    await Promise.all([1, 2, 3, 4].map((n) => piped.query("INSERT INTO kept VALUES ($1)", [n])));
    expect(proxy.roundTrips() - before).toBe(1);
    await client.end();
  });

  test.each([
    ["before", 0],
    ["sent", 1],
    ["answered", 1],
  ] as const)("cuts a commit (%s), and the client cannot tell what became of it", async (when, rows) => {
    const { proxy, client, kept } = await setUp();
    await client.query("BEGIN");
    await client.query("INSERT INTO kept VALUES (1)");
    const cut = proxy.cutWhen({ client: "COMMIT", when });
    expect(await codeOf(client.query("COMMIT"))).toMatch(/terminated|ECONNRESET/);
    await within(cut);
    await eventually(async () => (await kept()) === rows);
  });

  test("runs a frozen statement late, after its client has stopped waiting", async () => {
    const { proxy, client, kept } = await setUp();
    proxy.freeze(true);
    const lost = codeOf(client.query("INSERT INTO kept VALUES (1)"));
    await passed(20);
    expect(await kept()).toBe(0);
    (
      client as unknown as { readonly connection: { readonly stream: { destroy(): void } } }
    ).connection.stream.destroy();
    expect(await within(lost)).toMatch(/terminated/);
    proxy.freeze(false);
    await eventually(async () => (await kept()) === 1);
  });

  test("leaves a stranded client waiting, and its transaction open in the server", async () => {
    const { proxy, client, url } = await setUp();
    await client.query("BEGIN");
    await client.query("LOCK TABLE kept");
    proxy.strand();
    let isAnswered = false;
    client.query("COMMIT").then(
      () => (isAnswered = true),
      () => {},
    );
    await passed(30);
    expect(isAnswered).toBe(false);
    const held = "SELECT 1 FROM pg_locks WHERE relation = 'kept'::regclass AND mode = 'AccessExclusiveLock'";
    expect(await queryOnce(url, held)).toHaveLength(1);
    await proxy.close();
    await eventually(async () => (await queryOnce(url, held)).length === 0);
  });
});

describePgbouncer("PgBouncer in transaction mode", () => {
  /** Two clients who share one connection of the server, so each finds what the other left on it. */
  const setUp = async (connections = 1) => {
    const url = await freshDatabase();
    const bouncer = await startPgbouncer(url, { connections });
    return { url, bouncer, one: await connected(bouncer.url), two: await connected(bouncer.url) };
  };

  test("runs transactions of more clients than there are connections", async () => {
    const { one, two, bouncer } = await setUp();
    await one.query("BEGIN");
    const waiting = two.query("SELECT 1");
    const pools = (await queryOnce(bouncer.consoleUrl, "SHOW POOLS")).filter(({ database }) =>
      /^test_/.test(String(database)),
    );
    expect(pools).toMatchObject([{ cl_waiting: 1, sv_active: 1 }]);
    await one.query("COMMIT");
    await within(waiting);
    await Promise.all([one.end(), two.end()]);
  });

  test("forgets a LISTEN: what is notified does not come", async () => {
    const { one, two, url } = await setUp();
    const notes: unknown[] = [];
    for (const client of [one, two]) client.on("notification", (note) => notes.push(note.payload));
    await one.query("LISTEN news");
    await queryOnce(url, "NOTIFY news, 'lost'");
    await passed(50);
    await one.query("SELECT 1");
    expect(notes).toEqual([]);
    await Promise.all([one.end(), two.end()]);
  });

  test("mixes up named statements of its clients", async () => {
    const { one, two } = await setUp();
    expect((await one.query({ name: "same", text: "SELECT 1 AS n" })).rows).toEqual([{ n: 1 }]);
    expect(await codeOf(two.query({ name: "same", text: "SELECT 2 AS n" }))).toBe("42P05"); // It exists.
    await Promise.all([one.end(), two.end()]);
  });

  test("lacks a named statement on the next connection", async () => {
    const { one, two } = await setUp(2);
    await one.query({ name: "mine", text: "SELECT 1 AS n" });
    await two.query("BEGIN"); // Takes the connection that has it.
    const codes = [await codeOf(one.query({ name: "mine", text: "SELECT 1 AS n" }))];
    await two.query("COMMIT");
    expect(codes).toEqual(["26000"]);
    await Promise.all([one.end(), two.end()]);
  });

  test("leaves a SET to the next client, and keeps a SET LOCAL in its transaction", async () => {
    const { one, two } = await setUp();
    await one.query("SET lock_timeout = '7s'");
    expect((await two.query("SHOW lock_timeout")).rows).toEqual([{ lock_timeout: "7s" }]);
    await one.query("BEGIN");
    await one.query("SET LOCAL statement_timeout = '9s'");
    await one.query("COMMIT");
    expect((await two.query("SHOW statement_timeout")).rows).toEqual([{ statement_timeout: "0" }]);
    await Promise.all([one.end(), two.end()]);
  });

  test("leaves an advisory lock of a session behind, and ends that of a transaction", async () => {
    const { one, two, url } = await setUp();
    const isFree = async (key: number) =>
      (await queryOnce(url, `SELECT pg_try_advisory_lock(${key}) AS free`))[0]?.free;
    await one.query("SELECT pg_advisory_lock(1), pg_advisory_xact_lock(2)");
    expect((await two.query("SELECT pg_try_advisory_lock(1) AS mine")).rows).toEqual([{ mine: true }]); // As if it had it.
    await Promise.all([one.end(), two.end()]);
    expect([await isFree(1), await isFree(2)]).toEqual([false, true]);
  });

  test("refuses settings in the connection, and passes statements without a name and whole pipelines", async () => {
    const { one, two, bouncer } = await setUp();
    expect(await codeOf(connected(bouncer.url, { options: "-c search_path=x" }))).toBe("08P01");
    expect(await codeOf(connected(bouncer.url, { statement_timeout: 1_000 }))).toBe("08P01");
    expect((await one.query("SELECT $1::int AS n", [1])).rows).toEqual([{ n: 1 }]);
    await using piped = await connected(bouncer.url, { pipeline: true } as pg.ClientConfig);
    const sums = Array.from({ length: 50 }, (_, n) => piped.query("SELECT $1::int + 1 AS n", [n]));
    expect((await Promise.all(sums)).map(({ rows }) => rows[0].n)).toEqual(sums.map((_, n) => n + 1));
    await Promise.all([one.end(), two.end()]);
  });
});
