import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import pg from "pg";
import { describe, expect, test } from "vitest";
import { startPostgres } from "../../../test/kit/postgres.ts";
import { startProxy } from "../../../test/kit/proxy.ts";
import { eventually, passed, within } from "../../../test/kit/reading.ts";
import { describePostgres, freshSchema, sharedPostgres } from "../../../test/kit/shared-postgres.ts";
import { asSessionId } from "../../model/ids.ts";
import type { Hint } from "../store.ts";
import { Hints, hintIn, payloadOf } from "./hints.ts";

const ALL: Hint = { kind: "all" };
const news = (id: string, what: "input" | "fact" | "preview" = "input"): Hint => ({
  ...{ kind: "session", sessionId: asSessionId(id), what },
});

describe("hints as texts", () => {
  test("D5 postgres: every hint is parsed as it was sent, for any session id", () => {
    const longest = "😀".repeat(64);
    for (const id of ["alice", '["input","bob"]', "' \" \\ é 😀 \ud800", longest])
      for (const what of ["input", "cancel", "resolved", "fact", "preview"] as const) {
        const hint: Hint = { kind: "session", sessionId: asSessionId(id), what };
        expect(hintIn(payloadOf(hint))).toEqual(hint);
        expect(Buffer.byteLength(payloadOf(hint))).toBeLessThan(1_000);
      }
    for (const hint of [ALL, { kind: "jobs" }] as const) expect(hintIn(payloadOf(hint))).toEqual(hint);
  });

  test("D5 postgres: an unknown hint is ignored", () => {
    for (const text of ["", "input", "{}", "null", "[]", '["later","alice"]', '["input"]', '["input",7]', "[[1]]"])
      expect(hintIn(text)).toBe(undefined);
    expect(hintIn('["jobs","more"]')).toEqual({ kind: "jobs" });
  });
});

let channels = 0;
/** Somebody who hears hints of a channel of its own over this URL, and somebody who tells them without a detour. */
function world(url: string, direct: string, times: ConstructorParameters<typeof Hints>[3] = {}) {
  const channel = `bowline_test_${process.pid}_${++channels}`;
  const troubles: unknown[] = [];
  const clients: pg.Client[] = [];
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: url, application_name: channel });
    clients.push(client);
    return client;
  };
  const hints = new Hints(connect, channel, (error) => troubles.push(error), { waitMs: 10, ...times });
  const heard: Hint[] = [];
  const say = async (text: string): Promise<void> => {
    const client = new pg.Client(direct);
    await client.connect();
    await client.query("SELECT pg_notify($1, $2)", [channel, text]);
    await client.end();
  };
  return {
    ...{ hints, troubles, clients, channel, heard, say },
    tell: (hint: Hint) => say(payloadOf(hint)),
    hear: () => hints.listen((hint) => void heard.push(hint)),
    /** Waits until so many hints were heard, and answers them. */
    has: (count: number): Promise<readonly Hint[]> =>
      eventually(() => (heard.length >= count ? [...heard] : undefined), 10_000),
    [Symbol.asyncDispose]: () => hints.close(),
  };
}

describePostgres("hints over a connection", () => {
  test("D5 postgres: a listener receives hints, after a first one that some may have been missed", async () => {
    const url = await sharedPostgres();
    await using it = world(url, url);
    it.hear();
    expect(await it.has(1)).toEqual([ALL]);
    await it.tell(news("alice"));
    await it.say("something else");
    await it.tell({ kind: "jobs" });
    expect(await it.has(3)).toEqual([ALL, news("alice"), { kind: "jobs" }]);
    expect(it.troubles).toEqual([]);
  });

  test("D5 postgres: hints of a transaction come after its commit, and those of another schema never", async () => {
    const { url } = await freshSchema();
    await using it = world(url, url);
    await using other = world(url, url);
    for (const each of [it, other]) each.hear();
    await Promise.all([it.has(1), other.has(1)]);
    const client = new pg.Client(url);
    await client.connect();
    for (const end of ["ROLLBACK", "COMMIT"]) {
      await client.query("BEGIN");
      await client.query("SELECT pg_notify($1, $2)", [it.channel, payloadOf(news(end, "fact"))]);
      await client.query(end);
    }
    await client.end();
    expect(await it.has(2)).toEqual([ALL, news("COMMIT", "fact")]);
    expect(other.heard).toEqual([ALL]);
  });

  test("D5 postgres: one connection serves all listeners, and is open only while there is one", async () => {
    const url = await sharedPostgres();
    await using it = world(url, url);
    const open = async (): Promise<number> => {
      const client = new pg.Client(url);
      await client.connect();
      const count = "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = $1";
      const { rows } = await client.query<{ n: number }>(count, [it.channel]);
      await client.end();
      return rows[0]!.n;
    };
    expect(await open()).toBe(0);
    const [first, second] = [it.hear(), it.hear()];
    await it.has(2);
    expect(await open()).toBe(1);
    first();
    await it.tell(news("alice"));
    expect(await it.has(3)).toEqual([ALL, ALL, news("alice")]);
    second();
    second();
    await eventually(async () => ((await open()) === 0 ? true : undefined));
    it.hear();
    await it.has(4);
    expect([await open(), it.clients.length]).toEqual([1, 2]);
    await it.hints.close();
    it.hear();
    expect([await open(), it.clients.length, it.troubles]).toEqual([0, 2, []]);
  });

  test("D5 postgres: a listener that throws does not stop the others, and a stopped one receives nothing", async () => {
    const url = await sharedPostgres();
    await using it = world(url, url);
    it.hints.listen(() => {
      throw new Error("of a listener");
    });
    const stop = it.hear();
    const more: Hint[] = [];
    it.hints.listen((hint) => void more.push(hint));
    await it.has(1);
    stop();
    await it.tell(news("alice"));
    await eventually(() => more[1]);
    expect([it.heard, more]).toEqual([[ALL], [ALL, news("alice")]]);
    expect(it.troubles).toEqual([new Error("of a listener"), new Error("of a listener")]);
  });

  test("D5 postgres: a lost connection is opened again, and every listener is then notified", async () => {
    const url = await sharedPostgres();
    await using proxy = await startProxy(url);
    await using it = world(proxy.url(url), url);
    it.hear();
    await it.has(1);
    for (const [nth, how] of (["end", "reset"] as const).entries()) {
      proxy.cut(how);
      expect(await it.has(2 + nth)).toEqual(Array(2 + nth).fill(ALL));
    }
    await it.tell(news("alice"));
    expect((await it.has(4)).at(-1)).toEqual(news("alice"));
    expect(it.troubles.length).toBeGreaterThan(1);
  });

  test.concurrent("D5 postgres: reconnecting to a server that is down waits longer each time", async () => {
    await using server = await startPostgres();
    await using it = world(server.url, server.url, { waitMs: 20, waitMaxMs: 200 });
    await server.shutDown();
    it.hear();
    await passed(1_000);
    expect(it.heard).toEqual([]);
    expect(it.clients.length).toBeGreaterThan(3);
    expect(it.clients.length).toBeLessThan(20); // Each 20 ms it would be 50.
    await server.start();
    expect(await it.has(1)).toEqual([ALL]);
    await server.kill();
    await server.start();
    expect(await it.has(2)).toEqual([ALL, ALL]);
  });

  test.concurrent("D5 postgres: a connection that broke silently is noticed", async () => {
    const url = await sharedPostgres();
    await using proxy = await startProxy(url);
    await using it = world(proxy.url(url), url, { checkMs: 50, statementTimeoutMs: 200 });
    it.hear();
    await it.has(1);
    await passed(200); // Some checks that are answered.
    expect([it.heard.length, it.troubles]).toEqual([1, []]);
    proxy.strand();
    expect(await it.has(2)).toEqual([ALL, ALL]);
    await it.tell(news("alice"));
    expect(await it.has(3)).toEqual([ALL, ALL, news("alice")]);
  });

  test.concurrent("D5 postgres: an unresponsive server does not block closing", async () => {
    const url = await sharedPostgres();
    await using proxy = await startProxy(url);
    for (const when of ["open", "opening"] as const) {
      await using it = world(proxy.url(url), url, { statementTimeoutMs: 60_000 });
      proxy.freeze(when === "opening");
      it.hear();
      if (when === "open") await it.has(1);
      else await passed(50);
      proxy.freeze(true);
      await within(it.hints.close(), 5_000);
      expect(it.troubles).toEqual([]);
      proxy.freeze(false);
    }
  });

  test.concurrent("D5 postgres: a process that only listens can end", async () => {
    const url = await sharedPostgres();
    const program = (then: string) => `
      import pg from "pg";
      import { Hints } from "${fileURLToPath(new URL("./hints.ts", import.meta.url))}";
      const hints = new Hints(async () => new pg.Client("${url}"), "bowline_test_idle", (error) => console.log(error));
      const opened = Promise.withResolvers();
      hints.listen((hint) => opened.resolve(hint));
      const timer = setTimeout(() => {}, 60_000);
      console.log((await opened.promise).kind);
      clearTimeout(timer);
      ${then}`;
    const cwd = fileURLToPath(new URL("../../..", import.meta.url));
    for (const [then, said] of [
      ["", "all\n"],
      ["await hints.close(); console.log('closed');", "all\nclosed\n"],
    ] as const) {
      const ran = promisify(execFile)(process.execPath, ["--input-type=module", "-e", program(then)], { cwd });
      expect((await within(ran, 10_000)).stdout).toBe(said);
    }
  });
});
