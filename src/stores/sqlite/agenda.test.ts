import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, test } from "vitest";
import { asSessionId, asWaitKey, type WaitKey } from "../../model/ids.ts";
import { alice, begin, bob, commit, NOW, newSession, newWait, slept } from "../../testing/cast.ts";
import { type Database, sqlite } from "../sqlite.ts";
import type { Store } from "../store.ts";

const folder = mkdtempSync(join(tmpdir(), "bowline-agenda-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const newFile = (): string => join(folder, `${++files}.db`);

const sessionOf = (n: number) => asSessionId(`s${n}`);
const keyOf = (n: number): WaitKey => asWaitKey(`key-${n}`);
/** Sessions whose turns are parked until `NOW + 100 + n`. */
async function sleepers(store: Store, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    const [to, key] = [sessionOf(n), keyOf(n)];
    await store.create(newSession(to));
    const lease = await begin(store, `turn ${n}`, { to });
    await store.append(lease, 1, [slept("a")], NOW, [newWait(key, { until: NOW + 100 + n })]);
    await store.park(lease, { turnId: lease.turnId, wakeAt: NOW + 100 + n, waits: [key] }, NOW);
  }
}

/** A database that counts the statements which read rows. */
function counted(path: string): { readonly db: Database; reads: number } {
  const db = new DatabaseSync(path);
  const count = {
    reads: 0,
    db: {
      exec: (sql) => db.exec(sql),
      close: () => db.close(),
      prepare(sql) {
        const statement = db.prepare(sql);
        return {
          run: (...values) => statement.run(...values),
          get(...values) {
            count.reads++;
            return statement.get(...values);
          },
          all(...values) {
            count.reads++;
            return statement.all(...values);
          },
        };
      },
    } satisfies Database,
  };
  return count;
}

test("D7 sqlite: without writes an agenda only asks whether there was one, with any number of parked turns", async () => {
  const path = newFile();
  const others = sqlite(path);
  await sleepers(others, 20);
  const count = counted(path);
  const store = sqlite(count.db);
  const readsOf = async (now: number) => {
    const before = count.reads;
    const agenda = await store.agenda(now, 10);
    return { reads: count.reads - before, sessions: agenda.sessions, next: agenda.next };
  };
  const first = await readsOf(NOW);
  expect(first).toMatchObject({ sessions: [], next: NOW + 100 });
  expect(first.reads).toBeGreaterThan(4);
  for (const later of [0, 1, 99]) expect(await readsOf(NOW + later)).toMatchObject({ reads: 1, sessions: [] });
  expect((await readsOf(NOW + 100)).sessions).toEqual(["s0"]); // Time alone brings this.
  expect((await readsOf(NOW)).sessions).toEqual([]);

  // What another connection writes is seen at once, and what this one writes too.
  await others.waits.resolve(keyOf(7), { kind: "value", value: 1 }, NOW);
  expect(await readsOf(NOW)).toMatchObject({ sessions: ["s7"], next: NOW + 100 });
  expect((await readsOf(NOW)).reads).toBe(1);
  await store.waits.resolve(keyOf(0), { kind: "value", value: 1 }, NOW);
  expect([...(await readsOf(NOW)).sessions].sort()).toEqual(["s0", "s7"]);
  await others.close();
  await store.close();
});

test("D2 sqlite: a dead process's turn is in the agenda at once, without a write", async () => {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  const store = sqlite(newFile());
  await store.create(newSession());
  await begin(store, "hello", { by: { id: "child", process: `${hostname()}//${child.pid}/` }, at: Date.now() });
  for (let n = 0; n < 2; n++) expect((await store.agenda(Date.now(), 10)).sessions).toEqual([]);
  child.kill("SIGKILL");
  await once(child, "close");
  expect((await store.agenda(Date.now(), 10)).sessions).toEqual([alice]);
  await store.close();
});

test("D8 sqlite: a damaged wait does not hide other waits", async () => {
  const path = newFile();
  const store = sqlite(path);
  await store.create(newSession(bob));
  const child = await begin(store, "child", { to: bob });
  const about = { kind: "turns", need: "all", turns: [{ sessionId: bob, turnId: child.turnId }] } as const;
  for (const n of [0, 1]) {
    const [to, key] = [sessionOf(n), keyOf(n)];
    await store.create(newSession(to));
    const lease = await begin(store, `turn ${n}`, { to });
    await store.append(lease, 1, [slept("a")], NOW, [newWait(key, { about })]);
    await store.park(lease, { turnId: lease.turnId, wakeAt: NOW + 100, waits: [key] }, NOW);
  }
  const db = new DatabaseSync(path);
  db.exec("UPDATE wait SET about = substr(about, 1, 20) WHERE n = 1");
  db.close();
  expect((await store.agenda(NOW, 10)).sessions).toEqual(["s0"]); // Whoever opens it is told.
  await expect(async () =>
    store.open(sessionOf(0), { id: "a", process: "b" }, NOW, () => ({}) as never),
  ).rejects.toThrow(/checksum/);
  await commit(store, child);
  expect([...(await store.agenda(NOW, 10)).sessions].sort()).toEqual(["s0", "s1"]);
  await store.close();
});
