import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createRuntime, defineTool, type Runtime } from "bowline";
import { calls, says, scripted } from "bowline/testing";
import { expect, test, vi } from "vitest";
import { RuntimeError } from "../../src/model/errors.ts";
import { postgres } from "../../src/stores/postgres.ts";
import { alice, newSession, send } from "../../src/testing/cast.ts";
import { canMount, type SmallDisk, smallDisk } from "../kit/disk.ts";
import { type Postgres, startPostgres } from "../kit/postgres.ts";
import { giveToServer } from "../kit/programs.ts";
import { describePostgres } from "../kit/shared-postgres.ts";

const WAIT = { timeout: 20_000, interval: 50 };
/** More than the free space of pages that are there. No two parts are alike: the server would write them shorter. */
const LONG = Array.from({ length: 200_000 }, (_, n) => (n * 2_654_435_761).toString(36)).join(" ");

/** The tool answers more than there is room for, once `fill` has filled the disk. */
function working(url: string, fill: () => Promise<void>): Promise<Runtime> {
  const work = defineTool({
    name: "work",
    description: "Works.",
    input: { type: "object" },
    execute: async () => {
      await fill();
      return LONG;
    },
  });
  const store = postgres(url, { leaseMs: 1_500, retryMs: 1_000, listen: false });
  const model = scripted(calls("work"), says("Done."), says("Again."));
  // What is small still finds room, such as the event that the turn was resumed: each try counts.
  return createRuntime({ store, model, tools: [work] });
}

/** A turn meets a full disk, is left, and the same runtime ends it when there is room. */
async function story(server: Postgres, url: string, disk: SmallDisk, fill: () => Promise<void>): Promise<RuntimeError> {
  let isFull = false;
  const runtime = await working(url, async () => {
    if (isFull) return;
    isFull = true;
    await fill();
  });
  const session = await runtime.session("one");
  const { turnId } = await session.send("Work.");
  const result: unknown = await session
    .follow(turnId)
    .result()
    .catch((error: unknown) => error);
  assert.ok(result instanceof RuntimeError, "the turn has ended though nothing could be kept");
  disk.free();
  if (server.pid === undefined) await server.start();
  const ended = await vi.waitFor(() => session.follow(turnId).result(), WAIT);
  expect(ended.outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect((await session.turn("More.").result()).outcome).toMatchObject({ kind: "answered", text: "Again." });
  expect(await server.query("SELECT revision::int, turns::int FROM bowline.session", "small")).toEqual([
    { revision: 2, turns: 2 },
  ]);
  await runtime.close();
  return result;
}

describePostgres("disks that are full", () => {
  test
    .skipIf(!canMount())
    .concurrent("E7 postgres: a table for which there is no room is store.full, and nothing is written", async () => {
      using disk = smallDisk(48);
      await using server = await startPostgres();
      const url = await onDisk(server, disk);
      const store = postgres(url, { listen: false });
      await store.create(newSession());
      disk.fill();
      const parts = [{ kind: "text", text: LONG }] as const;
      const error = await send(store, "long", { parts }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "store.full", hint: expect.stringContaining("Free space") });
      expect([await store.inputs.list(alice), await store.latest()]).toEqual([[], undefined]);
      disk.free();
      expect((await send(store, "long", { parts })).kind).toBe("opened");
      await store.close();
    });

  test
    .skipIf(!canMount())
    .concurrent("E7 D3 postgres: a turn that meets a full disk is left, and ended when there is room", async () => {
      using disk = smallDisk(48);
      await using server = await startPostgres();
      const error = await story(server, await onDisk(server, disk), disk, async () => disk.fill());
      expect(error.code).toBe("store.full");
    });

  test
    .skipIf(!canMount())
    .concurrent("E7 D3 postgres: a turn outlives a server that crashed for want of room", async () => {
      using disk = smallDisk(96);
      await using server = await startPostgres({ dataIn: disk.folder, settings: { max_wal_size: "8MB" } });
      const url = await server.createDatabase("small");
      await server.query("CREATE TABLE filler (n int)");
      const error = await story(server, url, disk, async () => {
        disk.fill();
        // Uses up the pieces of its log that are there. It cannot go on without another, and crashes.
        const used = "INSERT INTO filler VALUES (1); SELECT pg_switch_wal()";
        await expect(Promise.reject(await until(() => server.query(used)))).rejects.toThrow(/terminated|ECONN|57P/);
      });
      expect(["store.unreachable", "store.full"]).toContain(error.code); // It may have come up again by itself.
    });
});

/** What it fails with in the end. */
async function until(act: () => Promise<unknown>): Promise<unknown> {
  for (let nth = 0; nth < 1_000; nth++)
    try {
      await act();
    } catch (error) {
      return error;
    }
  return assert.fail("it does not fail");
}

/** A database whose tables are on the disk, and the log of the server elsewhere. */
async function onDisk(server: Postgres, disk: SmallDisk): Promise<string> {
  const folder = join(disk.folder, "tables");
  mkdirSync(folder);
  giveToServer(disk.folder);
  giveToServer(folder);
  await server.query(`CREATE TABLESPACE small LOCATION '${folder}'`);
  await server.query("CREATE DATABASE small TABLESPACE small");
  return server.urlOf({ database: "small" });
}
