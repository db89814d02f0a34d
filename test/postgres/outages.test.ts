import { createRuntime } from "bowline";
import { calls, says, scripted } from "bowline/testing";
import pg from "pg";
import { expect, test, vi } from "vitest";
import { RuntimeError } from "../../src/model/errors.ts";
import type { Preview } from "../../src/model/event.ts";
import { postgres } from "../../src/stores/postgres.ts";
import { alice, begin, bob, newSession, send } from "../../src/testing/cast.ts";
import { startPostgres } from "../kit/postgres.ts";
import { startProxy, type TcpProxy } from "../kit/proxy.ts";
import { describePostgres, freshDatabase } from "../kit/shared-postgres.ts";
import { held } from "../kit/worlds.ts";

const codeOf = async (call: unknown): Promise<string> => {
  try {
    await call;
    return "nothing";
  } catch (error) {
    return error instanceof RuntimeError ? error.code : String(error);
  }
};
const sessionOf = (nth: number) => ({ ...newSession(), id: `s${nth}` as typeof alice });
const since = (start: number): number => performance.now() - start;

/** Settles when the client is about to send its COMMIT, and lets `act` decide what becomes of it. */
function atCommit(proxy: TcpProxy, act: () => void): Promise<void> {
  const sent = Promise.withResolvers<void>();
  const isCommit = (piece: Buffer): boolean => {
    if (!piece.includes("COMMIT\0")) return false;
    void proxy.cutWhen({ client: () => false, when: "before" }); // Once.
    act();
    sent.resolve();
    return false;
  };
  void proxy.cutWhen({ client: isCommit, when: "before" });
  return sent.promise;
}

describePostgres("connections that say nothing", () => {
  test.concurrent("E7 postgres: a connection that is dead on the way is noticed, and the call continues over another", async () => {
    const url = await freshDatabase();
    await using proxy = await startProxy(url);
    const store = postgres(proxy.url(url), { statementTimeoutMs: 300, retryMs: 300, listen: false });
    await store.create(newSession());
    proxy.strand();
    const start = performance.now();
    expect((await store.create(newSession(bob))).id).toBe("bob");
    expect(since(start)).toBeGreaterThan(250);
    proxy.strand("closed");
    expect((await store.load(bob))?.id).toBe("bob");
    await store.close();
  });

  test.concurrent("E7 S11 postgres: what a turn shows is not shown twice when its answer is lost", async () => {
    const url = await freshDatabase();
    await using proxy = await startProxy(url);
    const store = postgres(proxy.url(url), { listen: false });
    await store.create(newSession());
    const lease = await begin(store, "hello");
    const said = (delta: string): Preview => ({ kind: "text", delta }) as unknown as Preview;
    await store.live!.show(lease, { part: "first", previews: [said("One")] });
    const cut = proxy.cutWhen({ client: /INSERT INTO|bowline_/, when: "answered" });
    expect(await codeOf(store.live!.show(lease, { part: "more", previews: [said(", two")] }))).toBe(
      "store.unreachable",
    );
    await cut;
    expect((await store.live!.read(alice, 0)).rows.length).toBe(2);
    await store.live!.show(lease, { part: "first", previews: [said("One, two")] });
    expect((await store.live!.read(alice, 0)).rows.length).toBe(1);
    await store.close();
  });

  test.concurrent("E7 postgres: a connection that dies while the tables are made keeps nobody from making them", async () => {
    const url = await freshDatabase();
    await using proxy = await startProxy(url);
    const options = { statementTimeoutMs: 500, retryMs: 5_000, listen: false } as const;
    const [one, other] = [postgres(proxy.url(url), options), postgres(url, options)];
    const stranded = atCommit(proxy, () => proxy.strand());
    const ready = one.ready();
    await stranded;
    await Promise.all([ready, other.ready()]);
    expect((await other.create(newSession())).id).toBe("alice");
    await Promise.all([one.close(), other.close()]);
  });

  test.concurrent("E7 postgres: a silent server is store.unreachable in time, and is used again when it answers", async () => {
    const url = await freshDatabase();
    await using proxy = await startProxy(url);
    const store = postgres(proxy.url(url), { statementTimeoutMs: 300, retryMs: 500, listen: false });
    await store.create(newSession());
    proxy.freeze(true);
    const start = performance.now();
    const calls = [store.load(alice), store.create(newSession(bob)), store.latest()];
    expect(await Promise.all(calls.map(codeOf))).toEqual(calls.map(() => "store.unreachable"));
    expect(since(start)).toBeLessThan(3_000);
    proxy.freeze(false);
    expect((await store.create(newSession(bob))).id).toBe("bob");
    await store.close();
  });

  test.concurrent("E7 postgres: a transaction whose process is gone keeps others from its session no longer than a moment", async () => {
    const url = await freshDatabase();
    await using proxy = await startProxy(url);
    const options = { statementTimeoutMs: 500, retryMs: 5_000, leaseMs: 5_000, listen: false } as const;
    const [gone, other] = [postgres(proxy.url(url), options), postgres(url, options)];
    await other.create(newSession());
    const stranded = atCommit(proxy, () => proxy.strand());
    const sent = send(gone, "from the one");
    await stranded;
    const start = performance.now();
    const kinds = [(await send(other, "from the other")).kind];
    expect(since(start)).toBeLessThan(3_000);
    kinds.push((await sent).kind);
    expect(kinds.sort()).toEqual(["opened", "queued"]); // The one has tried again meanwhile: either may come first.
    expect((await other.inputs.list(alice)).length).toBe(1);
    await Promise.all([gone.close(), other.close()]);
  });
});

describePostgres("connections that are all in use", () => {
  test.concurrent.each([
    ["that waits for ever", {}],
    ["that waits a moment", { connectionTimeoutMillis: 100 }],
  ])("E7 postgres: a pool %s and is empty is store.exhausted, and is used again when it is not", async (_, waits) => {
    const pool = new pg.Pool({ connectionString: await freshDatabase(), max: 1, ...waits });
    const store = postgres(pool, { statementTimeoutMs: 200, retryMs: 300 });
    await store.create(newSession());
    const client = await pool.connect();
    const error = await Promise.resolve(store.create(newSession(bob))).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "store.exhausted", hint: expect.stringContaining("connections") });
    const late = store.create(newSession(bob));
    client.release();
    expect((await late).id).toBe("bob");
    await store.close();
    await pool.end();
  });

  test.concurrent("E7 postgres: a hundred calls wait in line for one connection", async () => {
    const store = postgres(await freshDatabase(), { connections: 1, listen: false });
    const made = await Promise.all(Array.from({ length: 100 }, (_, nth) => store.create(sessionOf(nth))));
    expect(made.length).toBe(100);
    expect((await store.list()).length).toBe(100);
    await store.close();
  });

  test.concurrent("E7 postgres: a server that accepts no more connections is store.exhausted, and is used again when it does", async () => {
    await using server = await startPostgres({ settings: { max_connections: 8, superuser_reserved_connections: 3 } });
    await server.createUser("worker");
    await server.query("GRANT CREATE ON DATABASE postgres TO worker");
    const url = server.urlOf({ user: "worker" });
    const store = postgres(url, { retryMs: 300, listen: false });
    const others = Array.from({ length: 5 }, () => new pg.Client(url));
    for (const other of others) await other.connect();
    const error = await Promise.resolve(store.create(newSession())).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "store.exhausted", hint: expect.stringContaining("max_connections") });
    const late = store.create(newSession());
    for (const other of others) await other.end();
    expect((await late).id).toBe("alice");
    await store.close();
  });
});

describePostgres("servers that go and come back", () => {
  test.concurrent("E7 postgres: hints of other processes arrive again after a restart, and each listener is asked to look", async () => {
    await using server = await startPostgres();
    const [here, there] = [postgres(server.url), postgres(server.url, { listen: false })];
    await here.ready();
    const heard: string[] = [];
    const stop = here.hints!((hint) => heard.push(hint.kind === "session" ? hint.what : hint.kind));
    const all = () => heard.filter((each) => each === "all").length;
    await vi.waitFor(() => expect(all()).toBe(1), { timeout: 5_000 });
    await server.restart();
    await vi.waitFor(() => expect(all()).toBe(2), { timeout: 5_000 });
    await there.create(newSession());
    await send(there, "hello");
    await vi.waitFor(() => expect(heard).toContain("fact"), { timeout: 5_000 });
    stop();
    await Promise.all([here.close(), there.close()]);
  });

  test.concurrent("E7 postgres: the name of a server that was there may be unknown for a moment", async () => {
    const pool = new pg.Pool({ connectionString: await freshDatabase() });
    let misses = 0;
    const connect = async (): Promise<pg.PoolClient> => {
      if (misses-- > 0) throw Object.assign(new Error("getaddrinfo ENOTFOUND db"), { code: "ENOTFOUND" });
      return pool.connect();
    };
    const store = postgres({ connect }, { retryMs: 2_000 });
    misses = 1;
    expect(await codeOf(store.ready())).toBe("store.unreachable"); // At once: it was never there.
    await store.ready();
    misses = 3;
    expect((await store.create(newSession())).id).toBe("alice");
    await store.close();
    await pool.end();
  });

  test.concurrent.each(["restart", "kill"] as const)(
    "E7 D3 postgres: a turn that runs through a %s of the server ends as if nothing had happened",
    async (how) => {
      await using server = await startPostgres();
      const work = held();
      const store = postgres(server.url);
      const model = scripted(calls("work"), says("Done."), says("Again."));
      const runtime = await createRuntime({ store, model, tools: [work.tool] });
      const session = await runtime.session("one");
      const result = session.turn("Work.").result();
      await work.began();
      if (how === "kill") await server.kill();
      else await server.shutDown();
      work.release();
      await vi.waitFor(() => expect(server.pid).toBeUndefined());
      await server.start();
      expect((await result).outcome).toMatchObject({ kind: "answered", text: "Done." });
      expect((await session.turn("More.").result()).outcome).toMatchObject({ kind: "answered", text: "Again." });
      const [kept] = await server.query("SELECT revision::int, turns::int FROM bowline.session");
      expect(kept).toEqual({ revision: 2, turns: 2 });
      await runtime.close();
    },
  );
});
