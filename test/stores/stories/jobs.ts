import fc from "fast-check";
import {
  asSessionId,
  asWaitKey,
  type JobId,
  type SessionId,
  type TurnId,
  type WaitKey,
} from "../../../src/model/ids.ts";
import type { NewJob } from "../../../src/model/job.ts";
import { waitIdOf } from "../../../src/model/wait.ts";
import type { JobLease, JobWrites, KeyedEvent, Lease, Owner, Store } from "../../../src/stores/store.ts";
import { ann, ben, ended, NOW, newInput, newSession, newWait, opening, slept } from "../../../src/testing/cast.ts";
import { cancelling, jobId, newJob, over, signal, stepped, turned } from "../../../src/testing/job-cast.ts";
import { type Asked, answer, answers, at, type Stories, step, storyOf, type Weighted } from "./tell.ts";

// Stories of jobs, of the turns that begin and await them, and of what they wait for.

const ids = ["a", "b", "c"].map(asSessionId);
/** Jobs that turns wait for: an agenda on Postgres lists a turn that waits for an odder name, so that somebody looks. */
const PLAIN = ["j0", "j1", "j2", "j3", "j4", "j5"];
const NAMES = [...PLAIN, "j\u0000"];
const OPERATIONS = ["p.one", "p.two"];

interface Teller {
  readonly store: Store;
  readonly leases: JobLease[];
  readonly turns: Map<SessionId, Lease>;
  readonly opened: TurnId[];
  readonly keys: WaitKey[];
  /** What a clock says that never goes back: an owner whose time is over may be forgotten. */
  clock: number;
}

const session = fc.constantFrom(...ids);
const name = fc.constantFrom(...NAMES);
const owner = fc.constantFrom(ann, ben, { id: "eve", process: "elsewhere" });
/** How much later it is: at times later than the time of whoever holds something. */
const time = fc.constantFrom(0, 0, 0, 1, 2, 3, 10_000, 30_000, 30_001);
const later = (teller: Teller, ms: number): number => {
  teller.clock += ms;
  return teller.clock;
};
/** When the turns of the story happen: after all else. */
const FAR = NOW + 90_000_000;
const nat = fc.nat(30);

const WHAT = ["task", "other task", "bound", "external", "delivers", "late", "free"] as const;
function jobOf(what: (typeof WHAT)[number], name: string, more: Partial<NewJob>): NewJob {
  const { id, turnId, message, hash } = newInput(`delivered ${name}`);
  switch (what) {
    case "bound":
      return newJob(name, { recovery: "owner-bound", visibility: "hidden", ...more });
    case "external":
      return newJob(name, { recovery: "external", kind: "external", ...more });
    case "delivers":
      return newJob(name, { delivers: { id, turnId, message, hash, place: "turn" }, ...more });
    case "late":
      return newJob(name, { operation: OPERATIONS[0]!, notBefore: NOW + 3, ...more });
    default:
      return newJob(name, { operation: OPERATIONS[what === "task" ? 0 : 1]!, ...more });
  }
}

const parentOf = ({ opened }: Teller, nth: number): Partial<NewJob> => {
  const turnId = at(opened, nth);
  if (nth % 3 === 0 || (nth % 3 === 1 && turnId === undefined)) return {};
  const parent = nth % 3 === 1 ? { turnId: turnId! } : { jobId: jobId(at(NAMES, nth)!) };
  return { parent, onParentEnd: nth % 2 === 0 ? "cancel" : "keep" };
};

const eventsOf = fc.array(fc.constantFrom("a", "b", "c", "idle", "running", "end", "end2", "abandoned"), {
  maxLength: 3,
});
const keyed = (word: string): KeyedEvent => {
  if (word === "idle" || word === "running") return turned(word);
  if (word === "abandoned") return over("abandoned", "left");
  return word.startsWith("end") ? over("completed", word, { result: word }) : stepped(word);
};

const leaseOf = ({ leases }: Teller, nth: number): JobLease =>
  at(leases, nth) ?? { jobId: jobId("none"), generation: 1, owner: ann };

const spawning = fc
  .tuple(session, fc.constantFrom(...WHAT), name, fc.option(owner, { nil: undefined }), nat)
  .map(([of, what, name, by, nth]) => {
    const make = (teller: Teller) => ({
      job: jobOf(what, name, { sessionId: of, at: teller.clock, ...parentOf(teller, nth) }),
      ...(by === undefined ? {} : { owner: by }),
    });
    return { said: `${of} ${what} ${name} ${by?.id} ${nth}`, make, by };
  });

const steps: readonly Weighted<Teller>[] = [
  {
    weight: 16,
    arbitrary: spawning.map(({ said, make, by }) =>
      step(`spawn ${said}`, async (teller) => {
        const spawn = make(teller);
        const job = await teller.store.jobs.spawn(spawn, 6);
        if (by !== undefined && job.seq === 2) teller.leases.push(leaseFor(spawn.job.id, 1, by));
        return job;
      }),
    ),
  },
  {
    weight: 14,
    arbitrary: fc
      .tuple(owner, time, fc.constantFrom(1, 2, Infinity), fc.subarray(OPERATIONS))
      .map(([by, t, max, can]) =>
        step(`claim ${by.id} ${t} ${max} ${can}`, async (teller) => {
          const { store, leases } = teller;
          const jobs = await store.jobs.claim(by, later(teller, t), max, can);
          leases.push(...jobs.map(({ lease }) => lease));
          return jobs;
        }),
      ),
  },
  {
    weight: 24,
    arbitrary: fc.tuple(nat, eventsOf, fc.nat(7), session, nat, time).map(([nth, words, more, to, which, t]) =>
      step(`append ${nth} ${words} ${more} ${to} ${which} ${t}`, async (teller, here) => {
        const lease = leaseOf(teller, nth);
        const { store, keys } = teller;
        const key = which % 3 === 0 ? at(keys, which) : asWaitKey(`wait-${here}`);
        const early = which % 5 === 0 ? { isEarly: true as const } : {};
        const seen = ((await store.jobs.load(lease.jobId))?.seq ?? 0) - (which % 4 === 0 ? 1 : 0);
        const due = which % 2 === 0 ? {} : { due: teller.clock + (which % 5) };
        const jobs = [jobId(at(NAMES, which)!), jobId(at(NAMES, which + 2)!)].filter((id) => id !== lease.jobId);
        const awaits = which % 3 === 0 ? {} : { awaits: { jobs, need: which % 3 === 1 ? "any" : "all" } as const };
        const writes: JobWrites = {
          ...(more % 2 === 0 ? {} : { waits: [newWait(key ?? asWaitKey("w"), { until: NOW + 400_000, ...early })] }),
          ...(more < 4 ? {} : { wakes: [newInput(`wake ${which}`, { to, key: `k${which % 7}` })], wakesMax: 2 }),
          ...(more === 2 || more === 3 || more === 6 ? { parks: { seen, ...due, ...awaits } } : {}),
        };
        const answer = await store.jobs.append(lease, words.map(keyed), later(teller, t), writes);
        for (const wait of writes.waits ?? []) if (!keys.includes(wait.key)) keys.push(wait.key);
        return answer;
      }),
    ),
  },
  {
    weight: 12,
    arbitrary: fc
      .tuple(name, fc.constantFrom("go", "go2", "stop", "stop2", "cancel", "idle", "running", "end"), time, nat)
      .map(([name, word, t, nth]) =>
        step(`send ${name} ${word} ${t}`, (teller) => {
          const sent = word.startsWith("go")
            ? signal(word)
            : word.startsWith("stop") || word === "cancel"
              ? cancelling(word)
              : keyed(word);
          const wakes = nth % 3 === 0 ? { wakes: [newInput(`sent ${nth}`, { to: ids[0]!, key: `k${nth % 7}` })] } : {};
          return teller.store.jobs.send(jobId(name), sent, later(teller, t), wakes);
        }),
      ),
  },
  {
    weight: 8,
    arbitrary: fc.tuple(nat, fc.boolean(), time).map(([nth, isValue, t]) =>
      step(`resolve ${nth} ${isValue}`, (teller) => {
        const { store, keys } = teller;
        const key = at(keys, nth) ?? asWaitKey("none");
        return store.waits.resolve(
          key,
          isValue ? { kind: "value", value: nth } : { kind: "timeout" },
          later(teller, t),
        );
      }),
    ),
  },
  {
    weight: 4,
    arbitrary: fc
      .tuple(owner, time)
      .map(([by, t]) => step(`renew ${by.id} ${t}`, (teller) => changedOf(teller.store, by, later(teller, t)))),
  },
  { weight: 3, arbitrary: owner.map((by) => step(`leave ${by.id}`, ({ store }) => store.jobs.leave(by))) },
  {
    weight: 5,
    arbitrary: fc
      .tuple(session, session, fc.array(name, { minLength: 1, maxLength: 2 }))
      .map(([from, to, names]) =>
        step(`transfer ${from} ${to} ${names}`, ({ store }) => store.jobs.transfer(from, to, names.map(jobId), NOW)),
      ),
  },
  { weight: 4, arbitrary: name.map((name) => step(`remove ${name}`, ({ store }) => store.jobs.remove(jobId(name)))) },
  { weight: 1, arbitrary: session.map((of) => step(`delete ${of}`, ({ store }) => store.delete(of))) },
  {
    weight: 8,
    arbitrary: fc.tuple(session, fc.boolean()).map(([to, opens]) =>
      step(`turn of ${to} ${opens}`, async ({ store, turns, opened }, nth) => {
        const answer = opens
          ? await store.accept(newInput(`turn ${nth}`, { to }), ann, opening, 9)
          : await store.open(to, ann, FAR, opening, true);
        if (answer.kind !== "opened" && answer.kind !== "resumed") return answer;
        turns.set(to, answer.lease);
        opened.push(answer.lease.turnId);
        return answer;
      }),
    ),
  },
  {
    weight: 8,
    arbitrary: fc.tuple(session, spawning, nat, fc.boolean()).map(([of, { said, make }, nth, parks]) =>
      step(`append of a turn ${of} ${said} ${nth} ${parks}`, async (teller, here) => {
        const lease = teller.turns.get(of);
        if (lease === undefined) return undefined;
        const { store } = teller;
        const key = asWaitKey(`turn-wait-${here}`);
        const jobs = [jobId(at(PLAIN, nth)!), jobId(at(PLAIN, nth + 3)!)];
        const about = { kind: "turns", turns: [], jobs, need: nth % 2 === 0 ? "any" : "all" } as const;
        const { length } = await store.journal(lease.turnId, 0);
        const spawns = nth % 2 === 0 ? [make(teller)] : [];
        const answer = await store.append(lease, length, [slept(key)], FAR, [newWait(key, { about })], spawns);
        if (!parks) return answer;
        return [answer, await store.park(lease, { turnId: lease.turnId, wakeAt: FAR + 9_000, waits: [key] }, FAR)];
      }),
    ),
  },
  {
    weight: 5,
    arbitrary: fc.tuple(session, spawning, nat).map(([of, { said, make }, nth]) =>
      step(`commit ${of} ${said} ${nth}`, async (teller) => {
        const { store, turns } = teller;
        const lease = turns.get(of);
        if (lease === undefined) return undefined;
        const head = (await store.load(of))?.head;
        const spawns = nth % 2 === 0 ? { spawns: [make(teller)] } : {};
        return store.commit(
          lease,
          ended(lease, { at: teller.clock, ...spawns, ...(head === undefined ? {} : { base: head }) }),
        );
      }),
    ),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(session, spawning)
      .map(([of, { said, make }]) =>
        step(`apply ${of} ${said}`, (teller, nth) =>
          teller.store.apply({ sessionId: of, operation: `op-${nth}`, at: teller.clock, spawns: [make(teller)] }),
        ),
      ),
  },
];
const leaseFor = (jobId: JobId, generation: number, owner: Owner): JobLease => ({ jobId, generation, owner });

/** Without the cursor of jobs: each store numbers their events in its own way. */
async function changedOf(store: Store, by: Owner, t: number): Promise<unknown> {
  const { heldMs, changed } = await store.jobs.renew(by, t);
  return { heldMs, changed };
}
const hidden: ReadonlySet<string> = new Set(["cursor", "jobs"]);

async function ask({ store, keys, clock }: Teller): Promise<Asked> {
  const told = (...acts: readonly (() => unknown)[]): Promise<readonly unknown[]> => answers(acts, hidden);
  const listed = (page: object) => async () =>
    (await store.jobs.list({ max: Infinity, ...page })).map(({ record }) => record.id);
  const agendas = [0, 3, 30_002, 60_000].flatMap((ms) =>
    [undefined, [], ...OPERATIONS.map((one) => [one])].map((can) => async () => {
      const agenda = await store.agenda(clock + ms, Infinity, can);
      return { ...agenda, sessions: [...agenda.sessions].sort() };
    }),
  );
  // Those that one write changes may come in any order.
  const changes = [undefined, ...ids].map((id) => async () => {
    const page = { max: Infinity, ...(id === undefined ? {} : { session: id }) };
    return (await store.jobs.changes(undefined, page)).map(({ record }) => record.id).sort();
  });
  const pages = [{ visibility: "hidden" }, { kind: "external" }, { isLive: true }, { after: jobId("j1") }];
  const ofSessions = ids.flatMap((id) => [{ session: id, isLive: true }, { session: id }]);
  return {
    agendas: await told(...agendas),
    records: await told(async () => (await store.jobs.list({ max: Infinity })).map(({ record }) => record)),
    events: await told(...NAMES.flatMap((name) => [0, 2].map((after) => () => store.jobs.events(jobId(name), after)))),
    listed: await told(...[...pages, ...ofSessions].map(listed)),
    changes: await told(...changes),
    counts: await told(...ids.map((id) => () => store.jobs.count(id))),
    waits: await told(...keys.map((key) => () => store.waits.get(waitIdOf(key)))),
    open: await told(
      () => store.waits.list({ max: 9 }),
      ...ids.flatMap((id) => [
        () => store.waits.list({ session: id, max: 9 }),
        () => store.waits.list({ tree: id, max: 2 }),
        async () => (await store.inputs.list(id)).map((input) => input.id),
      ]),
    ),
    facts: (await answer(() => store.changes(undefined, { max: Infinity }))) as Asked["facts"],
    factsOf: await answers(ids.map((id) => () => store.changes(undefined, { session: id, max: Infinity }))),
  };
}

export const jobStories: Stories<Teller> = {
  story: storyOf(steps, 60),
  hidden,
  ask,
  async begin(store) {
    for (const id of ids) await store.create({ ...newSession(id), ...(id === "c" ? { parentId: ids[0]! } : {}) });
    return { store, leases: [], turns: new Map(), opened: [], keys: [], clock: NOW };
  },
};
