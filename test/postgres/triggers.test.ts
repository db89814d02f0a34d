import pg from "pg";
import { expect, test } from "vitest";
import type { Awaitable } from "../../src/model/awaitable.ts";
import { asSessionId, type SessionId } from "../../src/model/ids.ts";
import type { Subscription } from "../../src/model/trigger.ts";
import { postgres } from "../../src/stores/postgres.ts";
import type { Store } from "../../src/stores/store.ts";
import { alice, NOW, newSession } from "../../src/testing/cast.ts";
import {
  change,
  delivery,
  EVENT,
  found,
  happened,
  INTERVAL,
  moved,
  occur,
  occurrence,
  scheduled,
  sourceOf,
  subscribe,
  subscription,
} from "../../src/testing/trigger-cast.ts";
import { describePostgres, freshDatabase } from "../kit/shared-postgres.ts";
import { sample } from "../kit/size.ts";

const MAX = 4;

/** Several processes, as far as the server can tell: each worker has connections of its own. */
async function workersOf(url: string, count: number): Promise<readonly Store[]> {
  const stores = Array.from({ length: count }, () => postgres(url, { clock: "caller", connections: 3 }));
  await stores[0]!.create(newSession(alice));
  return stores;
}
const closed = (stores: readonly Store[]) => Promise.all(stores.map((store) => store.close()));

async function rowsOf(url: string, sql: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: url, options: "-c search_path=bowline" });
  await client.connect();
  const { rows } = await client.query<Record<string, unknown>>(sql);
  await client.end();
  return rows;
}

describePostgres("triggers of many workers", () => {
  test("J7 D3 postgres: workers that see the same schedules due serve each time once, in its order", async () => {
    const url = await freshDatabase();
    const workers = await workersOf(url, 3);
    const TICKS = 8;
    const clocks = [];
    for (const id of ["a", "b", "c", "d"])
      clocks.push(await scheduled(workers[0]!, id, NOW, { sessionId: asSessionId(`of ${id}`) }));

    const served: string[] = [];
    const serve = async (store: Store, clock: Subscription): Promise<void> => {
      const at = clock.next!;
      const name = `${clock.id}${at - NOW}`;
      const answer = await occur(store, name, [clock], {
        ...{ source: sourceOf(clock), at, max: MAX, moved: moved(clock, { next: at + 1 }) },
      });
      if (answer.kind === "occurred") served.push(name);
    };
    const work = async (store: Store): Promise<void> => {
      for (;;) {
        const due = await store.triggers.due(NOW + TICKS - 1, 100);
        if (due.length === 0) return;
        await Promise.all(due.map((clock) => serve(store, clock)));
      }
    };
    await Promise.all(workers.map(work));

    const all = clocks.flatMap(({ id }) => Array.from({ length: TICKS }, (_, nth) => `${id}${nth}`));
    expect(served.sort()).toEqual(all);
    for (const clock of clocks)
      expect(await happened(workers[0]!, { source: sourceOf(clock) })).toEqual(
        [7, 6, 5, 4].map((nth) => `${clock.id}${nth}`),
      );
    expect(await rowsOf(url, "SELECT count(*)::int AS jobs FROM job")).toEqual([{ jobs: all.length }]);
    await closed(workers);
  });

  test("J7 D3 postgres: whatever workers do at once, each source has what it may have, and the deleted leave nothing", async () => {
    const url = await freshDatabase();
    const workers = await workersOf(url, 3);
    const ids = ["a", "b", "c"].map(asSessionId);
    for (const id of ids) await workers[0]!.create(newSession(id));
    let next = 1;
    const chance = (n: number): number => {
      next = (next * 48_271) % 2_147_483_647; // The same each time, as far as chance goes; not in what order they meet.
      return next % n;
    };
    let made = 0;
    const acts: readonly ((store: Store, session: SessionId, id: string) => Promise<unknown>)[] = [
      async (store, sessionId, id) => {
        const schedule = chance(2) === 0 ? {} : { on: INTERVAL, next: NOW };
        await store.triggers.put(subscription(id, { sessionId, incarnation: `${++made}`, ...schedule }), undefined, 3);
      },
      async (store, session, id) => {
        const it = await store.triggers.load(session, id);
        if (it !== undefined) await change(store, it, { label: `${++made}` });
      },
      async (store, session, id) => store.triggers.remove(session, id),
      async (store, session, id) => {
        const it = await store.triggers.load(session, id);
        if (it?.next === undefined) return;
        const on = { source: sourceOf(it), max: MAX, moved: moved(it, { next: it.next + 1 }) };
        await occur(store, `${it.incarnation}@${it.next}`, [it], on);
      },
      async (store) => {
        const to = await store.triggers.list({ event: { name: EVENT }, max: 9 });
        const name = `${chance(40)}`;
        const deliveries = to.map((each) => delivery(`${name}-${each.sessionId}`, each)).reverse();
        await store.triggers.occur(occurrence(name, { source: `event:${chance(2)}` }), deliveries, MAX);
      },
      async (store, session) => {
        await store.delete(session);
        // Its id is never used again: what the laws say of that is not what this is about.
        const id = asSessionId(`another ${++made}`);
        ids[ids.indexOf(session)] = id;
        await store.create(newSession(id));
      },
    ];
    const WEIGHTS = [0, 0, 0, 1, 1, 2, 3, 3, 3, 4, 4, 4, 4, 4, 5];
    const EXPECTED = ["trigger.conflict", "trigger.full", "session.unknown", "session.deleted"];
    const work = async (store: Store): Promise<void> => {
      for (let nth = 0; nth < sample(40, 160); nth++) {
        const act = acts[WEIGHTS[chance(WEIGHTS.length)]!]!;
        await act(store, ids[chance(3)]!, `s${chance(4)}`).catch((error: { readonly code?: string }) => {
          if (!EXPECTED.includes(error.code ?? "")) throw error;
        });
      }
    };
    await Promise.all(workers.flatMap((store) => [work(store), work(store)]));

    for (const [what, sql] of [
      ["too many", `SELECT source FROM occurrence GROUP BY source HAVING count(*) > ${MAX}`],
      ["too many in a session", "SELECT session FROM subscription GROUP BY session HAVING count(*) > 3"],
      ["of no occurrence", "SELECT * FROM delivery WHERE occurrence NOT IN (SELECT n FROM occurrence)"],
      ["to nobody", "SELECT * FROM delivery WHERE session NOT IN (SELECT n FROM session)"],
      ["of nobody", "SELECT * FROM subscription WHERE session NOT IN (SELECT n FROM session)"],
      ["for nobody", "SELECT id FROM job WHERE session NOT IN (SELECT n FROM session)"],
      [
        "of a subscription that went with its session",
        `SELECT o.id FROM occurrence o WHERE o.source LIKE 'subscription:%'
           AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.occurrence = o.n)`,
      ],
    ] as const)
      expect([what, await rowsOf(url, sql)]).toEqual([what, []]);
    await closed(workers);
  });

  test("J7 D3 postgres: what was written though its answer was lost is answered as if it had not been", async () => {
    const url = await freshDatabase();
    const pool = new pg.Pool({ connectionString: url, pipeline: true } as pg.PoolConfig);
    let isLossy = false;
    const connect = async (): Promise<pg.PoolClient> => {
      const client = await pool.connect();
      const query = async (statement: pg.QueryConfig): Promise<unknown> => {
        const answer = await client.query(statement);
        if (!isLossy || statement.text !== "COMMIT") return answer;
        isLossy = false;
        throw Object.assign(new Error("of a network"), { code: "ECONNRESET" });
      };
      return { pipeline: true, query, release: () => client.release() } as unknown as pg.PoolClient;
    };
    const store = postgres({ connect }, { clock: "caller" });
    const lossy = async <T>(act: () => Awaitable<T>): Promise<T> => {
      isLossy = true;
      const answer = await act();
      expect(isLossy).toBe(false);
      return answer;
    };
    await store.create(newSession(alice));
    for (const id of ["one", "two"]) {
      const made = subscription(id, { on: INTERVAL, next: NOW });
      await lossy(() => store.triggers.put(made, undefined, 100));
      expect(await found(store, id)).toEqual(made);
      const clock = await lossy(() => change(store, made, { label: "changed" }));
      expect(await lossy(() => store.triggers.move(moved(clock, { next: NOW + 1 })))).toBe(true);
      const now = { ...clock, next: NOW + 1 };
      const on = { moved: moved(now, { next: NOW + 2 }), source: sourceOf(clock) };
      const answer = await lossy(() => occur(store, id, [now], on));
      expect(answer).toMatchObject({ kind: "occurred", occurrence: { deliveries: [{ subscription: id }] } });
      expect(await found(store, id)).toEqual({ ...clock, next: NOW + 2 });
      expect((await occur(store, id, [now], on)).kind).toBe("known");
      expect(await lossy(() => store.triggers.remove(alice, id, 2))).toBe(true);
      expect(await store.triggers.remove(alice, id, 2)).toBe(false);
    }
    expect(await rowsOf(url, "SELECT count(*)::int AS jobs FROM job")).toEqual([{ jobs: 2 }]);
    await store.close();
    await pool.end();
  });

  test("J7 D3 postgres: of one who serves a schedule and one who passes over it, one does", async () => {
    const workers = await workersOf(await freshDatabase(), 2);
    const [one, two] = [workers[0]!, workers[1]!];
    let clock = await scheduled(one, "clock", NOW);
    for (let nth = 0; nth < sample(10, 40); nth++) {
      const [at, next] = [NOW + nth, NOW + nth + 1];
      const [answer, isMoved] = await Promise.all([
        occur(one, `${nth}`, [clock], { source: sourceOf(clock), moved: moved(clock, { next }), at }),
        two.triggers.move(moved(clock, { next })),
      ]);
      expect([answer.kind, isMoved]).toEqual(isMoved ? ["stale", true] : ["occurred", false]);
      clock = await found(one, "clock");
    }
    await closed(workers);
  });

  test("J7 D3 postgres: of what comes from one source at once no more is kept than may be", async () => {
    const workers = await workersOf(await freshDatabase(), 3);
    for (let nth = 0; nth < sample(10, 40); nth++) {
      await Promise.all(workers.map((store, which) => occur(store, `${nth}/${which}`, [], { max: MAX })));
      expect((await happened(workers[0]!)).length).toBe(nth === 0 ? 3 : MAX);
    }
    await closed(workers);
  });

  test("J7 D3 postgres: nobody makes one subscription too many, and of two changes at once one is made", async () => {
    const workers = await workersOf(await freshDatabase(), 3);
    const one = workers[0]!;
    const put = (nth: number) => workers[nth % 3]!.triggers.put(subscription(`s${nth}`), undefined, 5);
    const puts = await Promise.allSettled(Array.from({ length: 12 }, (_, nth) => put(nth)));
    expect(puts.filter(({ status }) => status === "fulfilled")).toHaveLength(5);
    const it = (await one.triggers.list({ session: alice, max: 1 }))[0]!;
    const changes = await Promise.allSettled(workers.map((store, nth) => change(store, it, { label: `${nth}` })));
    expect(changes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    await subscribe(one, "of another", { sessionId: asSessionId("bob") }, 1);
    await closed(workers);
  });
});
