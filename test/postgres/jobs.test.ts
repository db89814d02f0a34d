import pg from "pg";
import { expect, test } from "vitest";
import { asSessionId, asWaitKey, type JobCursor } from "../../src/model/ids.ts";
import { postgres } from "../../src/stores/postgres.ts";
import type { JobLease, JobWrites, KeyedEvent, Owner, Store } from "../../src/stores/store.ts";
import { alice, ann, bob, LAPSED, NOW, newInput, newSession, newWait } from "../../src/testing/cast.ts";
import {
  bound,
  cancelling,
  claimJobs,
  jobId,
  kindsOf,
  newJob,
  over,
  parks,
  signal,
  spawn,
  stateOf,
  stepped,
  stored,
  TASK,
  turned,
  working,
  write,
} from "../../src/testing/job-cast.ts";
import { startProxy } from "../kit/proxy.ts";
import { describePostgres, freshDatabase } from "../kit/shared-postgres.ts";
import { sample } from "../kit/size.ts";

/** Several processes, as far as the server can tell: each worker has connections of its own. */
async function workersOf(url: string, count: number): Promise<readonly Store[]> {
  const stores = Array.from({ length: count }, () => postgres(url, { clock: "caller", connections: 3 }));
  await stores[0]!.create(newSession(alice));
  return stores;
}
const closed = (stores: readonly Store[]) => Promise.all(stores.map((store) => store.close()));
const ownerOf = (nth: number): Owner => ({ id: `worker ${nth}`, process: "elsewhere" });

/** Runs statements in the schema of the store, over one connection, and returns the rows of each. */
async function rowsOf(url: string, ...statements: readonly string[]): Promise<readonly (readonly unknown[])[]> {
  const client = new pg.Client({ connectionString: url, options: "-c search_path=bowline" });
  await client.connect();
  const found: unknown[][] = [];
  for (const sql of statements) found.push((await client.query<Record<string, unknown>>(sql)).rows);
  await client.end();
  return found;
}

/** What must be true of all rows, whatever happened. Each statement finds what is wrong. */
const WRONG = {
  "events are missing, or too many": `SELECT j.id FROM job j WHERE j.seq <> (SELECT count(*) FROM job_event e WHERE e.job = j.n)
    OR j.seq <> (SELECT max(e.seq) FROM job_event e WHERE e.job = j.n)`,
  "ended twice": `SELECT job FROM job_event WHERE event LIKE '{"kind":"ended"%' GROUP BY job HAVING count(*) > 1`,
  "its change is not told":
    "SELECT id FROM job j WHERE NOT EXISTS (SELECT 1 FROM job_change c WHERE c.n = j.changed AND c.job = j.n)",
  "a change of nothing":
    "SELECT * FROM job_change c WHERE NOT EXISTS (SELECT 1 FROM job j WHERE j.changed = c.n AND j.n = c.job)",
  "of no session": "SELECT id FROM job WHERE session NOT IN (SELECT n FROM session)",
  "told after its end": `SELECT a.job, a.key FROM job_event a JOIN job_event e ON e.job = a.job AND e.event LIKE '{"kind":"ended"%'
    WHERE a.seq > e.seq AND a.event NOT LIKE '{"kind":"woke"%'`,
  "held and due": "SELECT id FROM job WHERE owner IS NOT NULL AND due IS NOT NULL",
  "over and held, due or parked":
    "SELECT id FROM job WHERE state = 2 AND (owner IS NOT NULL OR due IS NOT NULL OR is_parked)",
  "awaits something though it is not parked":
    "SELECT * FROM job_await WHERE job NOT IN (SELECT n FROM job WHERE is_parked AND awaits IS NOT NULL)",
  "sleeps though what it awaits has come": `SELECT id FROM job w WHERE awaits IS NOT NULL AND due IS DISTINCT FROM 0
    AND CASE awaits WHEN 'all' THEN 0 ELSE (SELECT count(*) - 1 FROM job_await a WHERE a.job = w.n) END
      >= (SELECT count(*) FROM job_await a JOIN job r ON r.id = a.awaited AND r.state = 0 WHERE a.job = w.n)`,
  "waits for an answer though it is over": `SELECT w.id FROM wait w WHERE w.key IS NOT NULL AND w.job IS NOT NULL
    AND w.job NOT IN (SELECT id FROM job WHERE state < 2)`,
  "waits in another session":
    "SELECT w.id FROM wait w JOIN job j ON j.id = w.job WHERE w.key IS NOT NULL AND w.answer IS NULL AND w.session <> j.session",
} as const;

async function expectSound(url: string): Promise<void> {
  const names = Object.keys(WRONG);
  const found = await rowsOf(url, ...Object.values(WRONG));
  expect(Object.fromEntries(found.map((rows, nth) => [names[nth], rows]))).toEqual(
    Object.fromEntries(names.map((name) => [name, []])),
  );
}

describePostgres("jobs of many workers", () => {
  test("J2 D3 postgres: workers that claim at once share all jobs, and each job has one holder", async () => {
    const url = await freshDatabase();
    const workers = await workersOf(url, 4);
    const names = Array.from({ length: sample(30, 90) }, (_, nth) => `w${nth}`);
    for (const name of names) await spawn(workers[0]!, name, name.endsWith("3") ? { operation: "other.task" } : {});
    const done: string[] = [];
    const work = async (store: Store, nth: number): Promise<void> => {
      for (let idle = 0; idle < 3; ) {
        const jobs = await store.jobs.claim(ownerOf(nth), NOW, 4, [TASK, "other.task"]);
        idle = jobs.length === 0 ? idle + 1 : 0;
        for (const { lease, record } of jobs) {
          await write(store, lease, [stepped("a")]);
          await write(store, lease, [over()]);
          done.push(record.label.slice("to ".length));
        }
      }
    };
    await Promise.all(workers.flatMap((store, nth) => [work(store, nth), work(store, nth)]));
    expect(done.sort()).toEqual(names.sort());
    for (const name of names)
      expect(await kindsOf(workers[0]!, name)).toEqual(["spawned", "started", "stepped", "ended"]);
    await expectSound(url);
    await closed(workers);
  });

  test("J2 D3 postgres: workers that begin jobs at once begin no more than a session may have", async () => {
    const url = await freshDatabase();
    const workers = await workersOf(url, 3);
    const begin = (store: Store, nth: number) => store.jobs.spawn({ job: newJob(`w${nth}`) }, 5);
    const all = await Promise.allSettled(
      Array.from({ length: 24 }, async (_, nth) => begin(workers[nth % 3]!, Math.floor(nth / 2))),
    );
    expect(await workers[0]!.jobs.count(alice)).toBe(5);
    expect(all.filter(({ status }) => status === "fulfilled").length).toBe(10); // Each of the five was sent twice.
    await expectSound(url);
    await closed(workers);
  });

  test("J3 D3 postgres: of jobs that end at once the last one wakes who awaits them all, and no parent meets its child in a lock", async () => {
    const url = await freshDatabase();
    const workers = await workersOf(url, 3);
    const [store] = workers as [Store];
    for (let round = 0; round < sample(6, 24); round++) {
      const child = { parent: { jobId: jobId(`root${round}`) }, onParentEnd: "cancel" } as const;
      const names = ["a", "b", "c"].map((name) => `${name}${round}`);
      const root = await working(store, `root${round}`);
      const leases: JobLease[] = [];
      for (const name of names) leases.push(await working(store, name, child));
      expect(await parks(store, root, { awaits: { jobs: names.map(jobId), need: "all" } })).toBe(true);
      const ends = leases.map((lease, nth) => () => write(workers[nth]!, lease, [over()]));
      // In every other round the one that waits is cancelled meanwhile, which tells its children.
      if (round % 2 === 1) ends.push(async () => (await store.jobs.send(root.jobId, cancelling(), NOW)) as never);
      await Promise.all(ends.map((end) => end()));
      expect((await claimJobs(store, ann, NOW)).map(({ record }) => record.id)).toEqual(
        round % 2 === 1 ? [] : [root.jobId],
      );
      if (round % 2 === 1) expect(await stateOf(store, `root${round}`)).toBe("cancelled");
    }
    await expectSound(url);
    const met = "SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()";
    expect(await rowsOf(url, met)).toEqual([[{ deadlocks: 0 }]]);
    await closed(workers);
  });

  test("J3 D3 postgres: of a job that is parked and what it awaits, which ends at that moment, nothing is lost", async () => {
    const url = await freshDatabase();
    const workers = await workersOf(url, 2);
    const [one, two] = workers as [Store, Store];
    for (let round = 0; round < sample(8, 32); round++) {
      const awaited = await working(one, `awaited${round}`);
      const waits = await working(one, `waits${round}`);
      const parking = { parks: { seen: 2, awaits: { jobs: [awaited.jobId], need: "any" } } } as const;
      const both = [() => write(one, waits, [], parking), () => write(two, awaited, [over()])] as const;
      const acts = round % 2 === 0 ? both : ([both[1], both[0]] as const);
      const answers = await Promise.all(acts.map((act) => act()));
      const isParked = answers.some((answer) => answer.isParked === true);
      expect((await claimJobs(one)).map(({ record }) => record.id)).toEqual(isParked ? [waits.jobId] : []);
    }
    await expectSound(url);
    await closed(workers);
  });

  test("J5 D3 postgres: a wait that is answered while its job ends is an event of the job, or unknown", async () => {
    const url = await freshDatabase();
    const workers = await workersOf(url, 2);
    const [one, two] = workers as [Store, Store];
    for (let round = 0; round < sample(8, 32); round++) {
      const lease = await working(one, `w${round}`);
      const key = asWaitKey(`wait ${round}`);
      await write(one, lease, [], { waits: [newWait(key, { until: LAPSED })] });
      const [{ said }] = await Promise.all([
        two.waits.resolve(key, { kind: "value", value: 1 }, NOW),
        write(one, lease, [over()]),
      ]);
      const told = said === "accepted" ? ["resolved", "ended"] : ["ended"];
      expect([said, (await kindsOf(one, `w${round}`)).slice(2)]).toEqual([said, told]);
      expect(["accepted", "unknown"]).toContain(said);
    }
    await expectSound(url);
    await closed(workers);
  });

  test("J5 D3 postgres: a wake goes to the session that has the job, also while it is handed over", async () => {
    const url = await freshDatabase();
    const workers = await workersOf(url, 2);
    const [one, two] = workers as [Store, Store];
    await one.create(newSession(bob));
    for (let round = 0; round < sample(8, 32); round++) {
      const lease = await working(one, `w${round}`);
      await Promise.all([
        write(one, lease, [], { wakes: [newInput(`wake ${round}`, { key: `k${round}` })] }),
        two.jobs.transfer(alice, bob, [lease.jobId], NOW),
      ]);
      const told = (await kindsOf(one, `w${round}`)).slice(2);
      const [has, other] = told[0] === "woke" ? [alice, bob] : [bob, alice];
      expect([
        told.length,
        await one.inputs.holds(has, `k${round}`),
        await one.inputs.holds(other, `k${round}`),
      ]).toEqual([...[2, true, false]]);
    }
    await expectSound(url);
    await closed(workers);
  });

  test("J2 J3 D3 postgres: whatever workers do at once, one worker at most holds a job, and each follower receives all of them", async () => {
    const url = await freshDatabase();
    const workers = await workersOf(url, 3);
    const ids = [alice, bob, asSessionId("carol")];
    for (const id of ids) await workers[0]!.create(newSession(id));
    let next = 7;
    const chance = (n: number): number => {
      next = (next * 48_271) % 2_147_483_647; // The same each time, as far as chance goes; not in what order they meet.
      return next % n;
    };
    const nameOf = () => `w${chance(14)}`;
    const leases: JobLease[] = [];
    const given: string[] = [];
    let made = 0;
    const events = (): readonly KeyedEvent[] =>
      [[stepped(`${++made}`)], [turned("idle", `${++made}`)], [turned("running", `${++made}`)], [over()], []][
        chance(5)
      ]!;
    const more = async (store: Store, { jobId: id }: JobLease): Promise<JobWrites> => {
      const seen = (await store.jobs.load(id))?.seq ?? 0;
      const jobs = [nameOf(), nameOf()].map(jobId).filter((each) => each !== id);
      const awaits = { jobs, need: chance(2) === 0 ? "any" : "all" } as const;
      return [
        {},
        { wakes: [newInput(`wake ${++made}`, { key: `k${made}` })] },
        { waits: [newWait(asWaitKey(`wait ${chance(9)}`), { until: LAPSED })] },
        { parks: { seen, awaits } },
        {
          parks: { seen, due: NOW },
          says: { lines: [{ n: ++made, at: NOW, channel: "out", text: "" } as const], max: 3 },
        },
      ][chance(5)]!;
    };
    const acts: readonly ((store: Store, nth: number) => Promise<unknown>)[] = [
      async (store) => {
        const parent = chance(2) === 0 ? {} : ({ parent: { jobId: jobId(nameOf()) }, onParentEnd: "cancel" } as const);
        const recovery = chance(6) === 0 ? ({ recovery: "external", kind: "external" } as const) : {};
        await store.jobs.spawn(
          { job: newJob(nameOf(), { sessionId: ids[chance(3)]!, at: ++made, ...parent, ...recovery }) },
          9,
        );
      },
      async (store, nth) => {
        for (const { lease, record } of await store.jobs.claim(ownerOf(nth), NOW, 1 + chance(3), [TASK])) {
          leases.push(lease);
          given.push(`${lease.jobId}/${lease.generation}/${record.createdAt}`); // An id may be used again.
        }
      },
      async (store) => {
        const lease = leases[chance(leases.length || 1)];
        if (lease !== undefined) await store.jobs.append(lease, events(), NOW, await more(store, lease));
      },
      async (store) => {
        const sent = [signal(`${++made}`), cancelling(`${++made}`), over("completed", `${++made}`)][chance(3)]!;
        const wakes = chance(3) === 0 ? { wakes: [newInput(`sent ${++made}`, { key: `k${made}` })] } : {};
        await store.jobs.send(jobId(nameOf()), sent, NOW, wakes);
      },
      async (store) => store.waits.resolve(asWaitKey(`wait ${chance(9)}`), { kind: "value", value: made }, NOW),
      async (store) => store.jobs.transfer(ids[chance(3)]!, ids[chance(3)]!, [jobId(nameOf()), jobId(nameOf())], NOW),
      async (store) => store.jobs.remove(jobId(nameOf())),
      async (store, nth) => (chance(4) === 0 ? store.jobs.leave(ownerOf(nth)) : store.jobs.renew(ownerOf(nth), NOW)),
      async (store) => store.jobs.take(jobId(nameOf()), `${chance(3)}`),
    ];
    const WEIGHTS = [0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8];
    const EXPECTED = /^(lease.lost|job\.(full|conflict|unknown|foreign|over|bound))$/;
    const work = async (store: Store, nth: number): Promise<void> => {
      for (let time = 0; time < sample(60, 240); time++)
        await acts[WEIGHTS[chance(WEIGHTS.length)]!]!(store, nth).catch((error: { readonly code?: string }) => {
          if (!EXPECTED.test(error.code ?? "")) throw error;
        });
    };
    const seen = new Map<string, JobCursor>();
    let isOver = false;
    const follow = async (store: Store): Promise<void> => {
      let after: JobCursor | undefined;
      for (let last = false; ; ) {
        const jobs = await store.jobs.changes(after, { max: 3 });
        for (const { record, cursor } of jobs) seen.set(record.id, cursor);
        after = jobs.at(-1)?.cursor ?? after;
        if (jobs.length === 0 && last) return;
        last = isOver;
      }
    };
    const working = Promise.all(workers.flatMap((store, nth) => [work(store, nth), work(store, nth)]));
    const following = follow(workers[0]!);
    await working.finally(() => {
      isOver = true;
    });
    await following;

    expect(given.length).toBe(new Set(given).size);
    for (const { record, cursor } of await workers[0]!.jobs.list({ max: 100 })) {
      expect([record.id, seen.get(record.id)]).toEqual([record.id, cursor]);
      await stored(workers[0]!, record.id.slice("job-".length));
    }
    await expectSound(url);
    await closed(workers);
  });

  test("J2 D3 postgres: what was written though its answer was lost is answered as if it had not been", async () => {
    const url = await freshDatabase();
    await using proxy = await startProxy(url);
    const store = postgres(proxy.url(url), { clock: "caller", connections: 2 });
    proxy.delay(4); // So that all that is sent with a commit is under way when its answer is lost.
    const lossy = async <T>(act: () => PromiseLike<T> | T): Promise<T> => {
      const cut = proxy.cutWhen({ client: "COMMIT\0", when: "answered" });
      const answer = await act();
      await cut;
      return answer;
    };
    for (const id of [alice, bob]) await store.create(newSession(id));
    const job = await lossy(() => store.jobs.spawn({ job: newJob() }, 1));
    expect(job.seq).toBe(1);
    const [claim, ...others] = await lossy(() => claimJobs(store));
    expect([claim?.lease.generation, claim?.seq, others, await kindsOf(store)]).toEqual([
      1,
      2,
      [],
      ["spawned", "started"],
    ]);
    const { lease } = claim!;
    await bound(store, "bound");
    const [orphan] = await lossy(() => claimJobs(store, ownerOf(1), LAPSED, []));
    expect([orphan?.isOrphan, orphan?.lease.generation]).toEqual([true, 2]);
    const wakes = [newInput("up", { key: "k" })];
    const step = await lossy(() => write(store, lease, [stepped("a")], { wakes }));
    expect([step.seq, step.events.map(({ seq }) => seq), step.cursor]).toEqual([4, [3], (await stored(store)).cursor]);
    expect((await lossy(() => store.jobs.send(lease.jobId, signal("s"), NOW))).said).toBe("accepted");
    expect((await lossy(() => store.jobs.send(lease.jobId, signal("s"), NOW))).said).toBe("known");
    expect((await lossy(() => store.jobs.send(lease.jobId, signal("t"), NOW))).job).toEqual(await stored(store));
    const moved = await lossy(() => store.jobs.transfer(alice, bob, [lease.jobId], NOW));
    expect(moved.map(({ record, seq }) => [record.sessionId, seq])).toEqual([[bob, 7]]);
    const said = { says: { lines: [{ n: 1, at: NOW, channel: "out", text: "hi" } as const], max: 9 } };
    await lossy(() => write(store, lease, [], said));
    expect((await lossy(() => store.jobs.take(lease.jobId, "t"))).map(({ n }) => n)).toEqual([1]);
    const parking = { parks: { seen: 7, due: NOW } };
    expect((await lossy(() => write(store, lease, [stepped("b")], parking))).isParked).toBe(true);
    const [again] = await lossy(() => claimJobs(store));
    expect(again?.lease.generation).toBe(2);
    expect((await lossy(() => store.jobs.renew(ann, NOW))).changed).toEqual([{ jobId: lease.jobId, seq: 9 }]);
    expect((await lossy(() => write(store, again!.lease, [over()]))).seq).toBe(10);
    expect(await lossy(() => store.jobs.remove(lease.jobId))).toBe(true);
    expect(await store.jobs.remove(lease.jobId)).toBe(false);
    await lossy(() => store.jobs.leave(ownerOf(1)));
    await store.close();
    await expectSound(url);
  });
});
