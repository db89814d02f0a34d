import { expect, test } from "vitest";
import { broken, over } from "../../test/stores/mutant.ts";
import type { JobId, SessionId } from "../model/ids.ts";
import type { JobEvent, NewJob } from "../model/job.ts";
import { memory } from "../stores/memory.ts";
import type { JobLease, JobSpawn, KeyedEvent, Lease, Store, StoredJobEvent } from "../stores/store.ts";
import { storeLaws } from "./store-laws.ts";

/** The store without a word of some sessions in its agenda, once they were passed to the returned function. */
function silent(inner: Store): { readonly agenda: Store["agenda"]; readonly forget: (id?: SessionId) => void } {
  const forgotten = new Set<SessionId>();
  return {
    forget: (id) => void (id === undefined || forgotten.add(id)),
    async agenda(...given) {
      const agenda = await inner.agenda(...given);
      return { ...agenda, sessions: agenda.sessions.filter((id) => !forgotten.has(id)) };
    },
  };
}

/** Rules of waits and parking, each broken in its own way. */
const MUTANTS: { readonly [rule: string]: (inner: Store) => Partial<Store> } = {
  "a renewal answers until when, by the clock of its caller": (inner) => ({
    async renew(lease, now) {
      const mail = await inner.renew(lease, now);
      return { ...mail, heldMs: now + mail.heldMs };
    },
  }),
  "an append says that nothing waits, whatever does": (inner) => ({
    append: async (...given) => ({ ...(await inner.append(...given)), pending: false }),
  }),
  "what was claimed is not counted as waiting": (inner) => ({
    async append(lease, ...given) {
      const { heldMs } = await inner.append(lease, ...given);
      const { length } = await inner.inputs.list(lease.sessionId);
      return { heldMs, pending: length > 0 };
    },
  }),
  "park ignores mail": (inner) => ({
    async park(lease, parked, now) {
      const answer = await inner.park(lease, parked, now);
      if (answer.kind === "mail") await inner.release(lease);
      return { kind: "parked" };
    },
  }),
  "park ignores a cancel": (inner) => ({
    async park(lease, parked, now) {
      const { cancel } = await inner.renew(lease, now);
      return inner.park(lease, cancel === undefined ? parked : { ...parked, cancel: cancel.requestId }, now);
    },
  }),
  "a folded cancel keeps a turn from being parked": (inner) => ({
    park: (lease, { cancel: _, ...parked }, now) => inner.park(lease, parked, now),
  }),
  "park answers a repeat with an error": (inner) => {
    const done = new Set<Lease>();
    return {
      async park(lease, parked, now) {
        if (done.has(lease)) await inner.renew(lease, now);
        done.add(lease);
        return inner.park(lease, parked, now);
      },
    };
  },
  "an answer that was folded wakes the turn": (inner) => {
    const given = new Map<string, string[]>();
    return {
      async append(lease, seq, events, now, waits = [], spawns) {
        const keys = given.get(lease.turnId) ?? [];
        given.set(lease.turnId, [...keys, ...waits.map(({ key }) => key)]);
        return inner.append(lease, seq, events, now, waits, spawns);
      },
      park: (lease, parked, now) => inner.park(lease, { ...parked, waits: given.get(lease.turnId) as never }, now),
    };
  },
  "resolve does not wake": (inner) => {
    const { agenda, forget } = silent(inner);
    const { list, get } = inner.waits;
    const resolve: Store["waits"]["resolve"] = async (...given) => {
      const answer = await inner.waits.resolve(...given);
      forget(answer.sessionId);
      return answer;
    };
    return { agenda, waits: { list, get, resolve } };
  },
  "cancel does not wake": (inner) => {
    const { agenda, forget } = silent(inner);
    return {
      agenda,
      async cancel(turn, request, session) {
        forget((await inner.find(turn))?.sessionId);
        return inner.cancel(turn, request, session);
      },
    };
  },
  "the end of a turn does not wake who waits for it": (inner) => {
    const { agenda, forget } = silent(inner);
    return {
      agenda,
      async park(lease, parked, now) {
        const waits = await Promise.all(
          parked.waits.map((key) => inner.waits.resolve(key, { kind: "value", value: 0 }, 1e15)),
        );
        if (waits.some(({ said }) => said === "unknown")) forget(lease.sessionId);
        return inner.park(lease, parked, now);
      },
    };
  },
  "the agenda lists parked turns that have no mail": (inner) => ({
    async agenda(...given) {
      const agenda = await inner.agenda(...given);
      const parked = (await inner.list()).filter(({ openTurn }) => openTurn !== undefined).map(({ id }) => id);
      return agenda.next === undefined ? agenda : { ...agenda, sessions: parked };
    },
  }),
  "a parked turn is taken without mail": (inner) => ({
    open: (session, owner, now, opening) => inner.open(session, owner, now, opening, true),
  }),
  "an early wait is a fact": (inner) => ({
    append: (lease, seq, events, now, waits = [], spawns) =>
      inner.append(
        lease,
        seq,
        events,
        now,
        waits.map(({ isEarly: _, ...wait }) => wait),
        spawns,
      ),
  }),
  "a value is taken however late": (inner) => {
    const { list, get } = inner.waits;
    return { waits: { list, get, resolve: (key, answer) => inner.waits.resolve(key, answer, 0) } };
  },
  "a commit forgets the settings": (inner) => ({
    commit: (lease, { config: _, ...ended }) => inner.commit(lease, ended),
  }),
};

/** The store with some of its methods for jobs replaced. */
const overJobs = (inner: Store, own: Partial<Store["jobs"]>): Partial<Store> => ({ jobs: { ...inner.jobs, ...own } });

/** Rules of jobs, each broken in its own way. */
const JOB_MUTANTS: { readonly [rule: string]: (inner: Store) => Partial<Store> } = {
  "a job begins before the append that makes it": (inner) => ({
    async append(lease, seq, events, now, waits, spawns = []) {
      for (const spawn of spawns) await inner.jobs.spawn(spawn, Infinity);
      return inner.append(lease, seq, events, now, waits);
    },
  }),
  "a job begins before the commit that makes it": (inner) => ({
    async commit(lease, { spawns = [], ...ended }) {
      for (const spawn of spawns) await inner.jobs.spawn(spawn, Infinity);
      return inner.commit(lease, ended);
    },
  }),
  "a change forgets its jobs": (inner) => ({ apply: ({ spawns: _, ...change }) => inner.apply(change) }),
  "a spawn under a taken id is answered, whatever it is": (inner) =>
    overJobs(inner, {
      async spawn(spawn, max) {
        return (await inner.jobs.load(spawn.job.id)) ?? inner.jobs.spawn(spawn, max);
      },
    }),
  "a session may have any number of jobs": (inner) =>
    overJobs(inner, { spawn: (spawn) => inner.jobs.spawn(spawn, Infinity) }),
  "a wake is accepted in a second write, which is made though the first is refused": (inner) =>
    overJobs(inner, {
      async append(lease, events, now, more = {}) {
        for (const wake of more.wakes ?? [])
          if (await inner.has(wake.sessionId)) await inner.accept(wake, lease.owner, undefined, Infinity);
        return inner.jobs.append(lease, events, now, more);
      },
    }),
  "a wake is accepted in a second write, and the job is not told": (inner) =>
    overJobs(inner, {
      async append(lease, events, now, { wakes = [], ...more } = {}) {
        const answer = await inner.jobs.append(lease, events, now, more);
        for (const wake of wakes) await inner.accept(wake, lease.owner, undefined, Infinity);
        return answer;
      },
    }),
  "a wake has no key": (inner) => {
    let nth = 0;
    return overJobs(inner, {
      append: (lease, events, now, { wakes, ...more } = {}) =>
        inner.jobs.append(lease, events, now, {
          ...more,
          ...(wakes && {
            wakes: wakes.map(({ key: _, ...wake }) => ({
              ...wake,
              id: `${wake.id}${nth++ || ""}` as never,
              turnId: `${wake.turnId}${nth}` as never,
            })),
          }),
        }),
    });
  },
  "wakes have no bound": (inner) =>
    overJobs(inner, {
      append: (lease, events, now, { wakesMax: _, ...more } = {}) => inner.jobs.append(lease, events, now, more),
    }),
  "a job that is bound to an owner is run again by others": (inner) =>
    overJobs(inner, {
      async claim(...given) {
        return (await inner.jobs.claim(...given)).map(({ isOrphan: _, ...job }) => job);
      },
    }),
  "a claim does not fence who held the job before": (inner) => {
    const latest = new Map<JobId, JobLease>();
    return overJobs(inner, {
      async claim(...given) {
        const jobs = await inner.jobs.claim(...given);
        for (const { lease } of jobs) latest.set(lease.jobId, lease);
        return jobs;
      },
      append: (lease, ...rest) => inner.jobs.append(latest.get(lease.jobId) ?? lease, ...rest),
    });
  },
  "a job is claimed by processes that do not have its task": (inner) => {
    const all = new Set<string>();
    return overJobs(inner, {
      spawn(spawn, max) {
        if (spawn.job.operation !== undefined) all.add(spawn.job.operation);
        return inner.jobs.spawn(spawn, max);
      },
      claim: (owner, now, max) => inner.jobs.claim(owner, now, max, [...all]),
    });
  },
  "a job begins before its time": (inner) =>
    overJobs(inner, { claim: (owner, now, ...rest) => inner.jobs.claim(owner, now + 5, ...rest) }),
  "an owner that leaves is waited for": (inner) => overJobs(inner, { leave: () => undefined }),
  "a renewal tells of all jobs, changed or not": (inner) =>
    overJobs(inner, { renew: (owner, now) => inner.jobs.renew(owner, now) }),
  "a job is parked whatever came": (inner) =>
    overJobs(inner, {
      append: (lease, events, now, { parks, ...more } = {}) =>
        inner.jobs.append(lease, events, now, { ...more, ...(parks && { parks: { ...parks, seen: 99 } }) }),
    }),
  "a job is parked though what it awaits is over": (inner) =>
    overJobs(inner, {
      async append(lease, events, now, more = {}) {
        const answer = await inner.jobs.append(lease, events, now, more);
        if (answer.isParked !== false || more.parks?.awaits === undefined) return answer;
        const { awaits: _, ...parks } = more.parks;
        return inner.jobs.append(lease, events, now, { ...more, parks: { ...parks, seen: answer.seq } });
      },
    }),
  "a parked job does not go on when what it awaits is over": (inner) =>
    overJobs(inner, {
      async append(lease, events, now, more = {}) {
        if (more.parks?.awaits === undefined) return inner.jobs.append(lease, events, now, more);
        const { jobs, need } = more.parks.awaits;
        const isThere = await Promise.all(
          jobs.map(async (id) => (await inner.jobs.load(id))?.record.state === "running"),
        );
        const isMet = need === "all" ? !isThere.includes(true) : isThere.includes(false);
        const { awaits: _, ...parks } = more.parks;
        return inner.jobs.append(lease, events, now, isMet ? more : { ...more, parks });
      },
    }),
  "what is sent does not wake a parked job": (inner) => {
    const parked = new Set<JobId>();
    return overJobs(inner, {
      async append(...given) {
        const answer = await inner.jobs.append(...given);
        if (answer.isParked) parked.add(given[0].jobId);
        return answer;
      },
      async send(id, sent, now, more) {
        const job = await inner.jobs.load(id);
        const isLost = parked.has(id) && sent.event.kind === "signalled";
        return isLost && job !== undefined ? { said: "accepted", job } : inner.jobs.send(id, sent, now, more);
      },
    });
  },
  "a job ends twice": (inner) => {
    const ends = new Map<JobId, StoredJobEvent[]>();
    return overJobs(inner, {
      async append(lease, events, now, more) {
        try {
          return await inner.jobs.append(lease, events, now, more);
        } catch (error) {
          const [job, sent] = [await inner.jobs.load(lease.jobId), events[0]];
          if (job === undefined || sent?.event.kind !== "ended" || job.record.endedAt === undefined) throw error;
          const end = { ...sent, seq: job.seq + 1 };
          ends.set(lease.jobId, [...(ends.get(lease.jobId) ?? []), end]);
          return { events: [end], cursor: job.cursor, seq: end.seq };
        }
      },
      events: async (id, after) => [...(await inner.jobs.events(id, after)), ...(ends.get(id) ?? [])],
    });
  },
  "the last write of a key wins": (inner) => {
    const last = new Map<string, KeyedEvent>();
    const nameOf = (id: JobId, key: string): string => `${id} ${key}`;
    return overJobs(inner, {
      async append(lease, events, now, more) {
        const answer = await inner.jobs.append(lease, events, now, more);
        for (const sent of events) if (sent.event.kind === "stepped") last.set(nameOf(lease.jobId, sent.key), sent);
        return {
          ...answer,
          events: answer.events.map((each) => ({ ...each, ...last.get(nameOf(lease.jobId, each.key)) })),
        };
      },
    });
  },
  "the same key is written again": (inner) => {
    let nth = 0;
    return overJobs(inner, {
      async send(id, { key, event }, now, more) {
        const isKnown = (await inner.jobs.events(id, 0)).some((each) => each.key === key);
        return inner.jobs.send(id, { key: isKnown ? `${key}/${nth++}` : key, event }, now, more);
      },
    });
  },
  "others may end a job": (inner) =>
    overJobs(inner, {
      async send(id, sent, now, more) {
        const answer = await inner.jobs.send(id, sent, now, more);
        return answer.said === "bound" ? { ...answer, said: "accepted" } : answer;
      },
    }),
  "jobs are handed over one by one": (inner) =>
    overJobs(inner, {
      async transfer(from, to, ids, now) {
        const done = [];
        for (const id of ids) done.push(...(await inner.jobs.transfer(from, to, [id], now)));
        return done;
      },
    }),
  "the end of a turn leaves its jobs alone": (inner) => withoutParents(inner, (parent) => "turnId" in parent),
  "the end of a job leaves its children alone": (inner) => withoutParents(inner, (parent) => "jobId" in parent),
  "a turn that is reopened cancels its jobs": (inner) => ({
    async commit(lease, ended) {
      const answer = await inner.commit(lease, ended);
      if (answer.kind === "reopen")
        for (const { record } of await inner.jobs.list({ max: 100, isLive: true }))
          if (record.onParentEnd === "cancel" && record.parent && "turnId" in record.parent)
            await inner.jobs.send(record.id, { key: "cancel", event: CANCEL }, ended.at);
      return answer;
    },
  }),
  "a job that is to stay ends with its parent": (inner) => ({
    async commit(lease, ended) {
      const answer = await inner.commit(lease, ended);
      for (const { record } of await inner.jobs.list({ max: 100, isLive: true }))
        if (record.parent && "turnId" in record.parent && record.parent.turnId === ended.turnId)
          await inner.jobs.send(record.id, { key: "cancel", event: CANCEL }, ended.at);
      return answer;
    },
  }),
  "the feed of changes forgets a job": (inner) =>
    overJobs(inner, {
      async changes(after, options) {
        const jobs = await inner.jobs.changes(after, options);
        return jobs.length > 1 ? jobs.slice(1) : jobs;
      },
    }),
  "the feed of changes is in the order of beginning": (inner) =>
    overJobs(inner, {
      async changes(after, options) {
        const order = (await inner.jobs.list({ max: 100 })).map(({ record }) => record.id);
        const jobs = [...(await inner.jobs.changes(after, options))];
        return jobs.sort((a, b) => order.indexOf(a.record.id) - order.indexOf(b.record.id));
      },
    }),
  "the agenda is silent about jobs": (inner) => ({
    async agenda(...given) {
      const { hasJobs: _, ...agenda } = await inner.agenda(...given);
      return agenda;
    },
  }),
  "the agenda tells everyone of jobs": (inner) => ({
    async agenda(now, max) {
      return inner.agenda(now, max, ["notes.index"]);
    },
  }),
  "a fork takes the jobs of its origin": (inner) => ({
    async fork(from, to, at) {
      const fork = await inner.fork(from, to, at);
      for (const { record } of await inner.jobs.list({ session: from, max: 100 }))
        await inner.jobs.transfer(from, to.id, [record.id], to.at);
      return fork;
    },
  }),
};

const CANCEL: JobEvent = { kind: "cancelling", at: 0, reason: "The mutant says so." };

/** The store without what the end of some parents does to their jobs, which say otherwise all the same. */
function withoutParents(inner: Store, isMeant: (parent: NonNullable<NewJob["parent"]>) => boolean): Partial<Store> {
  const deaf = ({ job, ...rest }: JobSpawn): JobSpawn =>
    job.parent !== undefined && isMeant(job.parent)
      ? { ...rest, job: { ...job, onParentEnd: "keep" } }
      : { ...rest, job };
  return {
    ...overJobs(inner, { spawn: (spawn, max) => inner.jobs.spawn(deaf(spawn), max) }),
    commit: (lease, ended) =>
      inner.commit(lease, ended.spawns === undefined ? ended : { ...ended, spawns: ended.spawns.map(deaf) }),
  };
}

test("D5 the laws of stores hold for a store that is only passed on", async () => {
  expect(await broken(storeLaws, () => over(memory(), {}))).toEqual([]);
});

test.each(Object.entries({ ...MUTANTS, ...JOB_MUTANTS }))(
  "D4 the laws of stores are broken where %s",
  async (_, mutant) => {
    const found = await broken(storeLaws, () => {
      const inner = memory();
      return over(inner, mutant(inner));
    });
    expect(found.length).toBeGreaterThan(0);
    expect(found.length).toBeLessThan(storeLaws.length / 4); // It is the rule that is missed, not the store.
  },
);
