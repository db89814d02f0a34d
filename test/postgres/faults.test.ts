import assert from "node:assert/strict";
import { createServer } from "node:net";
import { inspect } from "node:util";
import { createRuntime } from "bowline";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RuntimeError } from "../../src/model/errors.ts";
import type { Pool } from "../../src/stores/postgres/database.ts";
import { type PostgresOptions, postgres } from "../../src/stores/postgres.ts";
import { newSession } from "../../src/testing/cast.ts";
import { echo } from "../kit/models.ts";
import { type Postgres, queryOnce, startPostgres } from "../kit/postgres.ts";
import { freePort } from "../kit/programs.ts";
import { startProxy } from "../kit/proxy.ts";
import { describePostgres, freshDatabase } from "../kit/shared-postgres.ts";

const SECRET = "s3cret-p4ss";
/** A call is not tried for long where the server cannot be reached. */
const HASTY: PostgresOptions = { retryMs: 200, statementTimeoutMs: 1_000, listen: false };

/** What a call fails with: an error that says what to do, and nothing secret however it is printed. */
async function failure(act: () => unknown): Promise<RuntimeError> {
  const error: unknown = await (async () => act())().then(
    (answer) => assert.fail(`it answered ${inspect(answer, { depth: 0 })}`),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof RuntimeError)) return assert.fail(`it is no error of ours: ${inspect(error)}`);
  assert.ok(error.hint.length > 10);
  for (const printed of [
    inspect(error, { depth: Infinity, showHidden: true }),
    JSON.stringify(error),
    String(error.stack),
  ])
    assert.ok(!printed.includes(SECRET), `the password is in ${printed}`);
  return error;
}

/** What the first call of a store fails with, whoever makes it, and again what the next one does. */
async function refusal(where: string | Pool, options: PostgresOptions = {}): Promise<RuntimeError> {
  const store = postgres(where, { ...HASTY, ...options });
  const first = await failure(() => store.ready());
  const again = await failure(() => store.create(newSession()));
  assert.equal(again.code, first.code);
  await store.close();

  const own = postgres(where, { ...HASTY, ...options });
  const byRuntime = await failure(async () => {
    const runtime = await createRuntime({ store: own, model: echo() });
    try {
      await (await runtime.session("one")).turn("go").result();
    } finally {
      await runtime.close();
    }
  });
  assert.equal(byRuntime.code, first.code);
  await own.close();
  return first;
}

describe("invalid addresses", () => {
  test.each([
    ["no URL", "localhost/db", "it is not a URL"],
    ["nothing", "", "it is not a URL"],
    ["another protocol", `mysql://me:${SECRET}@localhost/db`, "it begins with mysql:"],
    ["no database", `postgres://me:${SECRET}@localhost:5432`, "it does not name a database"],
    ["a slash for a database", `postgres://me:${SECRET}@localhost:5432/`, "it does not name a database"],
    ["a password with a #", `postgres://me:${SECRET}#x@localhost/db`, "it is not a URL"],
    ["a socket without a database", `socket://me:${SECRET}@/var/run/postgresql`, "it does not name a database"],
    ["a password of digits with a / before a socket", `socket://me:12/${SECRET}@/tmp?db=db`, "%2F"],
    ["a password of digits with a / and no host", `postgres://me:12/${SECRET}@/db?host=/tmp`, "%2F"],
    ["a password of digits with a /", `postgres://me:12/${SECRET}@localhost/db`, "%2F"],
    ["a port of a socket in letters", `postgres://me:${SECRET}@/db?host=/tmp&port=abc`, "its port must be a number"],
    ["a port that is too large", `socket:/tmp?db=db&port=70000`, "its port must be a number"],
    ["null", null, "it is null"],
    ["a number", 5432, "it is a number"],
    ["an object", { url: "postgres://localhost/db" }, "it is a object"],
  ])("E7 postgres: %s is store.url, at once", async (_, where, problem) => {
    const error = await failure(() => postgres(where as string));
    expect(error.code).toBe("store.url");
    expect(error.message).toContain(problem);
    expect(error.hint).toContain("postgres://");
  });

  test.each<readonly [string, object, string]>([
    ["schema", { schema: "my schema" }, "letters, digits"],
    ["schema", { schema: 'a"; DROP SCHEMA public; --' }, "letters, digits"],
    ["schema", { schema: "pg_mine" }, "pg_"],
    ["schema", { schema: "" }, "letters, digits"],
    ["schema", { schema: "x".repeat(64) }, "letters, digits"],
    ["schema", { schema: 7 }, "letters, digits"],
    ["connections", { connections: 0 }, "above 0"],
    ["connections", { connections: Number.NaN }, "above 0"],
    ["connections", { connections: 1.5 }, "whole number"],
    ["connections", { connections: "ten" }, "above 0"],
    ["connections", { connections: "10" }, "whole number"],
    ["leaseMs", { leaseMs: -1 }, "above 0"],
    ["statementTimeoutMs", { statementTimeoutMs: 0 }, "above 0"],
    ["statementTimeoutMs", { statementTimeoutMs: Infinity }, "whole number"],
    ["statementTimeoutMs", { statementTimeoutMs: 2 ** 31 }, "whole number"],
    ["retryMs", { retryMs: -1 }, "0 or more"],
    ["retryMs", { retryMs: "1" }, "0 or more"],
    ["clock", { clock: "mine" }, '"server" or "caller"'],
    ["listen", { listen: true }, "a URL or false"],
  ])("E7 postgres: the option %s as in %j is refused, at once", async (option, options, problem) => {
    const error = await failure(() => postgres("postgres://localhost/db", options as PostgresOptions));
    expect(error.code).toBe("options.invalid");
    expect(error.details).toMatchObject({ option });
    expect(error.message).toContain(problem);
  });

  test("E7 postgres: an unknown option is refused and named, and so is another place to listen that is none", async () => {
    const unknown = await failure(() => postgres("postgres://localhost/db", { poolSize: 3 } as PostgresOptions));
    expect(unknown.message).toContain("poolSize");
    const listen = await failure(() => postgres("postgres://localhost/db", { listen: `redis://:${SECRET}@localhost` }));
    expect(listen.code).toBe("store.url");
  });
});

describe("servers that are not there", () => {
  test.concurrent("E7 postgres: where nobody listens it is store.unreachable, after the patience that was given", async () => {
    const port = await freePort();
    const began = performance.now();
    const error = await failure(() => postgres(`postgres://me:${SECRET}@127.0.0.1:${port}/db`, HASTY).ready());
    expect(performance.now() - began).toBeLessThan(2_000);
    expect(error.code).toBe("store.unreachable");
    expect(error.message).toContain(`postgres://127.0.0.1:${port}/db, schema bowline`);
    expect(error.message).toContain("ECONNREFUSED");
    expect((await refusal(`postgres://me:${SECRET}@localhost:${port}/db`)).message).toContain("ECONNREFUSED");
  });

  test.concurrent("E7 postgres: a socket that is not there is store.unreachable", async () => {
    const error = await refusal(`postgres://me:${SECRET}@%2Ftmp%2Fnobody-is-here/db`);
    expect(error.code).toBe("store.unreachable");
    expect(error.message).toContain("postgres:///db?host=/tmp/nobody-is-here, schema bowline");
  });

  test.concurrent("E7 postgres: a socket that this user cannot open is store.refused, and the hint is about its folder", async () => {
    const address = "/run/postgresql/.s.PGSQL.5432";
    const refused = Object.assign(new Error(`connect EACCES ${address}`), {
      code: "EACCES",
      syscall: "connect",
      address,
    });
    const error = await refusal({ connect: () => Promise.reject(refused) } as unknown as Pool);
    expect(error.code).toBe("store.refused");
    expect(error.message).toContain(address);
    expect(error.hint).toContain("the socket's folder");
    expect(error.hint).not.toMatch(/password|TLS/);
  });

  test.concurrent("E7 postgres: an unknown host is store.unreachable", async () => {
    const error = await refusal(`postgres://me:${SECRET}@no-such-host.invalid/db`);
    expect(error.code).toBe("store.unreachable");
    expect(error.hint).toContain("host and port");
  });

  test.concurrent.each([
    ["sends nothing", () => {}],
    ["hangs up", (socket: { destroy(): void }) => socket.destroy()],
    ["speaks HTTP", (socket: { end(text: string): void }) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")],
  ])("E7 postgres: a program that is not Postgres and %s is store.unreachable", async (_, greet) => {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.on("data", () => greet(socket));
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const { port } = server.address() as { port: number };
    const error = await refusal(`postgres://me:${SECRET}@127.0.0.1:${port}/db`, { statementTimeoutMs: 200 });
    expect(error.code).toBe("store.unreachable");
    server.close();
  });
});

describePostgres("servers that refuse", () => {
  let server: Postgres;
  beforeAll(async () => {
    server = await startPostgres({ password: SECRET });
  });
  afterAll(() => server.stop());

  const rows = (sql: string, database?: string) => server.query(sql, database);

  test("E7 postgres: a wrong password is store.refused, and the error shows neither password", async () => {
    const error = await refusal(server.urlOf({ password: `not ${SECRET}` }));
    expect(error.code).toBe("store.refused");
    expect(error.message).toContain("password authentication failed");
    expect(error.hint).toContain("password");
  });

  test("E7 postgres: a missing password is store.refused, and no socket stays open", async () => {
    const url = `postgres://postgres@127.0.0.1:${server.port}/postgres`;
    await using proxy = await startProxy(url);
    const error = await refusal(proxy.url(url), { listen: undefined });
    expect(error.code).toBe("store.refused");
    expect(error.message).toContain("requires a password");
    expect(error.hint).toContain("password");
    expect(proxy.accepted).toBeGreaterThan(1);
    await expect.poll(() => proxy.connections).toBe(0);
  });

  test("E7 postgres: a user that is not there is store.refused", async () => {
    expect((await refusal(server.urlOf({ user: "nobody", password: SECRET }))).code).toBe("store.refused");
  });

  test("E7 postgres: a database that is not there is store.refused and named", async () => {
    const error = await refusal(server.urlOf({ database: "nowhere" }));
    expect(error.code).toBe("store.refused");
    expect(error.message).toContain("nowhere");
  });

  test("E7 postgres: TLS that the server does not speak is store.refused", async () => {
    const error = await refusal(`${server.url}?sslmode=verify-full`);
    expect(error.code).toBe("store.refused");
    expect(error.message).toContain("SSL");
  });

  test("E7 postgres: a user without the right to create the schema is store.refused, and nothing is written", async () => {
    const user = await server.createUser("visitor", SECRET);
    const error = await refusal(user);
    expect(error.code).toBe("store.refused");
    expect(error.message).toContain("permission denied");
    expect(error.hint).toContain("may create and use the schema");
    expect(await rows("SELECT 1 FROM pg_namespace WHERE nspname = 'bowline'")).toEqual([]);
  });

  test("E7 postgres: a user who owns an empty schema needs no right to create schemas", async () => {
    await server.createDatabase("given");
    const user = new URL(await server.createUser("tenant", SECRET));
    user.pathname = "given";
    await rows("CREATE SCHEMA mine AUTHORIZATION tenant", "given");
    const store = postgres(user.href, { ...HASTY, schema: "mine" });
    expect((await store.create(newSession())).id).toBe("alice");
    await store.close();
  });

  test("E7 postgres: tables of somebody else are store.refused: those that cannot be read, and those that cannot be written", async () => {
    const url = await server.createDatabase("owned");
    const owner = postgres(url, HASTY);
    await owner.create(newSession());
    const user = new URL(await server.createUser("reader", SECRET));
    user.pathname = "owned";
    expect((await refusal(user.href)).code).toBe("store.refused");
    await rows("GRANT USAGE ON SCHEMA bowline TO reader", "owned");
    expect((await refusal(user.href)).code).toBe("store.refused");
    await rows("GRANT SELECT ON ALL TABLES IN SCHEMA bowline TO reader", "owned");
    const store = postgres(user.href, HASTY);
    expect((await store.load(newSession().id))?.id).toBe("alice");
    const other = { ...newSession(), id: newSession().id.replace("alice", "eve") as never };
    expect((await failure(() => store.create(other))).code).toBe("store.refused");
    // The same store works as soon as it may.
    await rows("GRANT ALL ON ALL TABLES IN SCHEMA bowline TO reader", "owned");
    await rows("GRANT ALL ON ALL SEQUENCES IN SCHEMA bowline TO reader", "owned");
    expect((await store.create(other)).id).toBe("eve");
    await store.close();
    await owner.close();
  });

  test("E7 postgres: a server that only reads is store.readonly", async () => {
    const url = new URL(await server.createDatabase("frozen"));
    await rows("ALTER DATABASE frozen SET default_transaction_read_only = on");
    const error = await refusal(url.href);
    expect(error.code).toBe("store.readonly");
    expect(error.message).toContain("schema bowline");
    expect(error.hint).toContain("standby");
  });
});

describePostgres("databases that are not ours", () => {
  const ours = async () => {
    const url = await freshDatabase();
    const store = postgres(url, HASTY);
    await store.ready();
    await store.close();
    return url;
  };
  const dump = async (url: string) =>
    queryOnce(
      url,
      `SELECT relname, relkind FROM pg_class WHERE relnamespace = 'bowline'::regnamespace ORDER BY relname`,
    );

  test("E7 postgres: a server that is too old is store.old, and nothing is written", async () => {
    const url = await freshDatabase();
    const pool = new pg.Pool({ connectionString: url });
    const old: Pool = {
      async connect() {
        const client = await pool.connect();
        return {
          release: (broken) => client.release(broken),
          query: async (statement) =>
            statement.text.includes("server_version_num")
              ? { rows: [{ version: "140011" }], rowCount: 1 }
              : client.query(statement as pg.QueryConfig),
        };
      },
    };
    const error = await refusal(old);
    expect(error.code).toBe("store.old");
    expect(error.message).toContain("PostgreSQL 14");
    expect(error.hint).toContain("PostgreSQL 15");
    expect(await queryOnce(url, "SELECT 1 FROM pg_namespace WHERE nspname = 'bowline'")).toEqual([]);
    await pool.end();
  });

  test("E7 postgres: a schema of a later version is store.newer and stays as it is", async () => {
    const url = await ours();
    const before = await dump(url);
    await queryOnce(url, "UPDATE bowline.meta SET version = 99");
    const error = await refusal(url);
    expect(error.code).toBe("store.newer");
    expect(error.message).toContain("99");
    expect(error.hint).toContain("Update bowline");
    expect(await dump(url)).toEqual(before);
    expect(await queryOnce(url, "SELECT app, version FROM bowline.meta")).toEqual([{ app: "bowline", version: 99 }]);
  });

  test.each([
    ["other tables", "CREATE TABLE bowline.knots (name text)"],
    ["a table that is called like one of ours", "CREATE TABLE bowline.session (name text)"],
    ["a view that is called like one of ours", "CREATE VIEW bowline.session AS SELECT 1 AS one"],
    ["a sequence that is called like ours", "CREATE SEQUENCE bowline.number"],
    ["a type that is called like one of our tables", "CREATE TYPE bowline.session AS ENUM ('one')"],
    ["a meta table of another form", "CREATE TABLE bowline.meta (key text, value text)"],
    [
      "a meta table without a version",
      "CREATE TABLE bowline.meta (app text); INSERT INTO bowline.meta VALUES ('bowline')",
    ],
    [
      "a meta table of another program",
      "CREATE TABLE bowline.meta (app text, version int); INSERT INTO bowline.meta VALUES ('knots', 1)",
    ],
    ["an empty meta table", "CREATE TABLE bowline.meta (app text, version int)"],
    [
      "a meta table whose version is not a number",
      "CREATE TABLE bowline.meta (app text, version text); INSERT INTO bowline.meta VALUES ('bowline', 'one')",
    ],
    ["a meta table that is a view", "CREATE VIEW bowline.meta AS SELECT 'knots' AS app, 1 AS version"],
  ])("E7 postgres: a schema with %s is store.foreign and stays as it is", async (_, made) => {
    const url = await freshDatabase();
    await queryOnce(url, `CREATE SCHEMA bowline; ${made}`);
    const before = await dump(url);
    const error = await refusal(url);
    expect(error.code).toBe("store.foreign");
    expect(error.message).toContain("schema bowline");
    expect(error.hint).toContain("another schema");
    expect(await dump(url)).toEqual(before);
  });

  test("E7 postgres: an empty schema that somebody made is ours", async () => {
    const url = await freshDatabase();
    await queryOnce(url, "CREATE SCHEMA bowline");
    const store = postgres(url, HASTY);
    expect((await store.create(newSession())).id).toBe("alice");
    await store.close();
  });

  test("E7 postgres: a schema of which tables are missing is store.corrupt, and the table is named", async () => {
    const url = await ours();
    await queryOnce(url, "DROP TABLE bowline.session");
    const store = postgres(url, HASTY);
    const error = await failure(() => store.create(newSession()));
    expect(error.code).toBe("store.corrupt");
    expect(error.message).toContain("session");
    await store.close();
  });

  test("E7 postgres: a schema that is dropped while it is used is created again by the next store", async () => {
    const url = await ours();
    const store = postgres(url, HASTY);
    await store.create(newSession());
    await queryOnce(url, "DROP SCHEMA bowline CASCADE");
    expect((await failure(() => store.create(newSession()))).code).toBe("store.corrupt");
    const next = postgres(url, HASTY);
    expect((await next.create(newSession())).id).toBe("alice");
    await store.close();
    await next.close();
  });

  test("E7 postgres: eight processes make one schema at the same moment", async () => {
    const url = await freshDatabase();
    const stores = Array.from({ length: 8 }, () => postgres(url, { connections: 1, listen: false }));
    await Promise.all(stores.map((store) => store.ready()));
    expect(await queryOnce(url, "SELECT app FROM bowline.meta")).toEqual([{ app: "bowline" }]);
    const made = await Promise.all(stores.map((store) => store.create(newSession())));
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    await Promise.all(stores.map((store) => store.close()));
  });

  test("E7 postgres: eight processes make one schema where transactions see the moment at which they began", async () => {
    const url = await freshDatabase();
    const name = new URL(url).pathname.slice(1);
    await queryOnce(url, `ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`);
    const stores = Array.from({ length: 8 }, () => postgres(url, { connections: 1, listen: false }));
    await Promise.all(stores.map((store) => store.ready()));
    expect(await queryOnce(url, "SELECT count(*)::int AS n FROM bowline.meta")).toEqual([{ n: 1 }]);
    await Promise.all(stores.map((store) => store.close()));
  });
});
