import { expect, test } from "vitest";
import { postgres } from "../../src/stores/postgres.ts";
import { queryOnce } from "../kit/postgres.ts";
import { describePostgres, freshDatabase } from "../kit/shared-postgres.ts";
import { fillTables } from "../stores/every-table.ts";
import { inProcess } from "./in-process.ts";

const PASSWORD = "a-secret-of-ours";
/** With a password, whether the server asks for one or not. */
function secret(url: string): string {
  const address = new URL(url);
  address.password = PASSWORD;
  return address.href;
}

/** What all tables hold. */
async function contentOf(url: string): Promise<unknown> {
  const tables = await queryOnce(url, "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'bowline'");
  const each = tables.map(({ name }) => `SELECT '${name}' AS name, t::text AS content FROM bowline.${name} t`);
  return queryOnce(url, `${each.join(" UNION ALL ")} ORDER BY 1, 2`);
}

describePostgres("bowline doctor on Postgres", () => {
  async function kept(): Promise<string> {
    const url = await freshDatabase();
    const store = postgres(url, { listen: false, clock: "caller" });
    await fillTables(store);
    await store.close();
    return secret(url);
  }

  test("E6 the doctor reports on a database as on a file, without its password", async () => {
    const db = await kept();
    const { code, stdout, stderr } = await inProcess(["doctor", "--db", db]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^postgres:\/\/\S*test_\w+\S*: schema \d+, [\d.]+ [kM]B, 6 sessions, \d+ turns\n/);
    expect(stdout).toMatch(
      /^Open in busy: turn-open .*\(bowline chat --db postgres:\/\/\S+ --session busy, or with --app\)$/m,
    );
    expect(stdout).toMatch(/\nNo damage was found\.\n$/);
    expect(stdout).not.toContain(PASSWORD);
  });

  test("E6 the doctor finds damage in a database, names it and changes nothing", async () => {
    const db = await kept();
    await queryOnce(db, "UPDATE bowline.segment SET entries = 'x' WHERE name = 'turn-two'");
    const before = await contentOf(db);
    const { code, stdout } = await inProcess(["doctor", "--json"], "", { env: { BOWLINE_DB: db } });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      sessions: 6,
      logBytes: 0,
      findings: [{ item: "The segment of turn-two", problem: "it is not JSON" }],
    });
    expect(stdout).not.toContain(PASSWORD);
    expect(await contentOf(db)).toEqual(before);
  });

  test("E6 a database without a store is one line, and stays without one", async () => {
    const db = secret(await freshDatabase());
    const { code, stdout, stderr } = await inProcess(["doctor", "--db", db]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^bowline: postgres:\/\/\S+ has no schema bowline\. .*\n$/);
    expect(stderr).not.toContain(PASSWORD);
    expect(await queryOnce(db, "SELECT 1 FROM pg_namespace WHERE nspname = 'bowline'")).toEqual([]);
  });

  test("E6 a database that is not there, and an address that is none, are one line", async () => {
    const url = new URL(secret(await freshDatabase()));
    url.pathname = "nothing_of_this_name";
    const absent = await inProcess(["doctor", "--db", url.href], "", { env: { BOWLINE_DEBUG: "1" } });
    expect(absent.code).toBe(1);
    expect(absent.stderr).toMatch(
      /^bowline: postgres:\/\/\S+, schema bowline cannot be used: .*nothing_of_this_name.*\n/,
    );
    expect(absent.stderr).not.toContain(PASSWORD);
    const wrong = await inProcess(["doctor", "--db", "postgres://host"]);
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining("it does not name a database") });
  });
});

test("E6 every command takes an address, and reports a missing server without its password", async () => {
  const db = "postgres://user:a-secret-of-ours@127.0.0.1:1/db";
  for (const args of [["run", "hi"], ["chat"], ["sessions"], ["turns"], ["show", "s"], ["doctor"]]) {
    const wrong = await inProcess([...args, "--db", "postgres://host"]);
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining("it does not name a database") });
    if (args[0] !== "sessions") continue; // To find out takes 10 seconds.
    const { code, stderr } = await inProcess([...args, "--db", db]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^bowline: postgres:\/\/127\.0\.0\.1:1\/db.*\n$/);
    expect(stderr).not.toContain("a-secret-of-ours");
  }
});
