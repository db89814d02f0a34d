import { eachIsMissed, type Mutants } from "../../../test/stores/mutant.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { JobId } from "../../model/ids.ts";
import { isOver } from "../../model/job.ts";
import { isSchedule, type Occurrence, type Subscription } from "../../model/trigger.ts";
import type { MovedTrigger, NewDelivery, Store } from "../../stores/store.ts";
import { triggerLaws } from "./triggers.ts";

type Triggers = Store["triggers"];

/** The store with some of its methods for triggers replaced. */
const overTriggers = (inner: Store, own: Partial<Triggers>): Partial<Store> => ({
  triggers: { ...inner.triggers, ...own },
});

const all = (inner: Store, page: object = {}) => inner.triggers.list({ max: 1_000, ...page });
const happened = (inner: Store) => inner.triggers.occurrences({ max: 1_000 });
const isThere = async (inner: Store, id: string) => (await happened(inner)).some((each) => each.id === id);
/** The subscription that a delivery or a move is of, as it stands. */
const standing = (inner: Store, it: NewDelivery | MovedTrigger) =>
  inner.triggers.load(it.sessionId, "subscription" in it ? it.subscription : it.id);
const without = ({ job: _, ...rest }: NewDelivery): NewDelivery => rest;
const jobsOf = (occurrences: readonly Occurrence[]): readonly JobId[] =>
  occurrences.flatMap(({ deliveries }) => deliveries.flatMap(({ jobId }) => jobId ?? []));

/** Rules of triggers, each broken in its own way. */
const TRIGGER_MUTANTS: Mutants = {
  "a change is made whatever the revision": (inner) =>
    overTriggers(inner, {
      async put(it, before, max) {
        const known = await inner.triggers.load(it.sessionId, it.id);
        return inner.triggers.put(it, before === undefined ? before : known?.revision, max);
      },
    }),
  "a new subscription replaces one of its id": (inner) =>
    overTriggers(inner, {
      async put(it, before, max) {
        return inner.triggers.put(it, before ?? (await inner.triggers.load(it.sessionId, it.id))?.revision, max);
      },
    }),
  "a change leaves the time as it was": (inner) =>
    overTriggers(inner, {
      async put(it, before, max) {
        const { next: _, ...rest } = it;
        const known = before === undefined ? it : await inner.triggers.load(it.sessionId, it.id);
        return inner.triggers.put(known?.next === undefined ? rest : { ...rest, next: known.next }, before, max);
      },
    }),
  "a session may have any number of subscriptions": (inner) =>
    overTriggers(inner, { put: (it, before) => inner.triggers.put(it, before, Infinity) }),
  "a change is counted as a new subscription": (inner) =>
    overTriggers(inner, {
      async put(it, before, max) {
        const { length } = await all(inner, { session: it.sessionId });
        if (before !== undefined && length >= max) throw new RuntimeError("trigger.full", { max });
        return inner.triggers.put(it, before, max);
      },
    }),
  "only enabled subscriptions are counted": (inner) =>
    overTriggers(inner, {
      async put(it, before, max) {
        const asleep = (await all(inner, { session: it.sessionId })).filter(({ isEnabled }) => !isEnabled);
        return inner.triggers.put(it, before, max + asleep.length);
      },
    }),
  "a subscription is removed whatever the revision": (inner) =>
    overTriggers(inner, { remove: (session, id) => inner.triggers.remove(session, id) }),
  "with a subscription goes what has happened": (inner) => {
    const gone = new Set<string>();
    return overTriggers(inner, {
      async remove(...given) {
        for (const { id } of await happened(inner)) gone.add(id);
        return inner.triggers.remove(...given);
      },
      occurrences: async (page) => (await inner.triggers.occurrences(page)).filter(({ id }) => !gone.has(id)),
    });
  },
  "with a subscription go the jobs that it started": (inner) =>
    overTriggers(inner, {
      async remove(session, id, revision) {
        for (const jobId of jobsOf(await happened(inner)))
          await inner.jobs.send(jobId, { key: "x", event: { kind: "cancelling", at: 0, reason: "." } }, 0);
        return inner.triggers.remove(session, id, revision);
      },
    }),
  "subscriptions are listed in the order in which they were made": (inner) => {
    const made: string[] = [];
    const nameOf = ({ sessionId, id }: Subscription): string => `${sessionId} ${id}`;
    return overTriggers(inner, {
      put(it, before, max) {
        made.push(nameOf(it));
        return inner.triggers.put(it, before, max);
      },
      list: async (page) =>
        [...(await inner.triggers.list(page))].sort((a, b) => made.indexOf(nameOf(a)) - made.indexOf(nameOf(b))),
    });
  },
  "a list ends where its place was removed": (inner) =>
    overTriggers(inner, {
      async list(page) {
        const { after } = page;
        const isThere = after === undefined || (await inner.triggers.load(after.session, after.id));
        return isThere ? inner.triggers.list(page) : [];
      },
    }),
  "an event meets those that want it from elsewhere": (inner) =>
    overTriggers(inner, {
      async list(page) {
        if (page.event === undefined) return inner.triggers.list(page);
        const rows = await inner.triggers.list({ ...page, event: undefined, kinds: ["event"] } as never);
        return rows.filter(({ on }) => on.kind === "event" && on.event === page.event?.name);
      },
    }),
  "an event from nowhere meets everyone": (inner) =>
    overTriggers(inner, {
      async list(page) {
        if (page.event === undefined || page.event.source !== undefined) return inner.triggers.list(page);
        const rows = await inner.triggers.list({ ...page, event: undefined, kinds: ["event"] } as never);
        return rows.filter(({ on }) => on.kind === "event" && on.event === page.event?.name);
      },
    }),
  "an event does not meet those that want it from anywhere": (inner) =>
    overTriggers(inner, {
      async list(page) {
        const rows = await inner.triggers.list(page);
        const { source } = page.event ?? {};
        return source === undefined ? rows : rows.filter(({ on }) => on.kind === "event" && on.source === source);
      },
    }),
  "those that are not enabled are met and due": (inner) =>
    overTriggers(inner, {
      async list({ event, kinds, ...page }) {
        const rows = await inner.triggers.list(page);
        return rows
          .filter(({ on }) => !event || (on.kind === "event" && on.event === event.name && !on.source))
          .filter(({ on }) => !kinds || kinds.includes(on.kind));
      },
      async due(now, max) {
        const rows = [...(await all(inner))].sort((a, b) => (a.next ?? 0) - (b.next ?? 0));
        return rows.filter(({ on, next }) => isSchedule(on) && next !== undefined && next <= now).slice(0, max);
      },
    }),
  "schedules are due by id": (inner) =>
    overTriggers(inner, {
      due: async (now, max) =>
        [...(await inner.triggers.due(now, Infinity))].sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, max),
    }),
  "a schedule is due before its time": (inner) =>
    overTriggers(inner, { due: (now, max) => inner.triggers.due(now + 1, max) }),
  "a subscription is moved wherever it stands": (inner) =>
    overTriggers(inner, {
      async move(moved) {
        const { next, after } = (await standing(inner, moved)) ?? {};
        return inner.triggers.move({ ...moved, from: { next, after } as never });
      },
    }),
  "a subscription is moved whatever its revision": (inner) =>
    overTriggers(inner, {
      async move(moved) {
        const { revision = 0 } = (await standing(inner, moved)) ?? {};
        return inner.triggers.move({ ...moved, revision });
      },
    }),
  "another subscription of the same id is moved": (inner) =>
    overTriggers(inner, {
      async move(moved) {
        const { incarnation = "" } = (await standing(inner, moved)) ?? {};
        return inner.triggers.move({ ...moved, incarnation });
      },
    }),
  "a move is a change": (inner) =>
    overTriggers(inner, {
      async move(moved) {
        const isMoved = await inner.triggers.move(moved);
        const it = await standing(inner, moved);
        if (isMoved && it) await inner.triggers.put({ ...it, revision: it.revision + 1 }, it.revision, Infinity);
        return isMoved;
      },
    }),
  "the agenda is silent about schedules that are due": (inner) => ({
    async agenda(...given) {
      const { hasSchedules: _, ...agenda } = await inner.agenda(...given);
      return agenda;
    },
  }),
  "the agenda does not tell when schedules will be due": (inner) => ({
    async agenda(now, ...rest) {
      const { next, ...agenda } = await inner.agenda(now, ...rest);
      const isSchedules = (await all(inner)).some((it) => it.next === next);
      return next === undefined || isSchedules ? agenda : { ...agenda, next };
    },
  }),
  "the agenda tells of schedules when something is written, not when their time comes": (inner) => {
    let known: { readonly rows: string; readonly hasSchedules?: true } | undefined;
    return {
      async agenda(now, ...rest) {
        const { hasSchedules, ...agenda } = await inner.agenda(now, ...rest);
        const rows = JSON.stringify(await all(inner));
        if (known?.rows !== rows) known = { rows, ...(hasSchedules && { hasSchedules }) };
        return { ...agenda, ...(known.hasSchedules && { hasSchedules: true }) };
      },
    };
  },
  "the agenda tells of commits that nobody enabled waits for": (inner) => ({
    async agenda(...given) {
      const isAny = (await all(inner)).some(({ on }) => on.kind === "commits");
      return { ...(await inner.agenda(...given)), ...(isAny && { hasCommits: true }) };
    },
  }),
  "a schedule advances although the occurrence was not written": (inner) =>
    overTriggers(inner, {
      async occur(occurrence, deliveries, max, moved) {
        if (moved !== undefined && !(await inner.triggers.move(moved)) && !(await isThere(inner, occurrence.id)))
          return { kind: "stale" };
        return inner.triggers.occur(occurrence, deliveries, max);
      },
    }),
  "an occurrence is written without advancing its schedule": (inner) =>
    overTriggers(inner, { occur: (occurrence, deliveries, max) => inner.triggers.occur(occurrence, deliveries, max) }),
  "an occurrence that is known does not advance its schedule": (inner) =>
    overTriggers(inner, {
      async occur(occurrence, deliveries, max, moved) {
        const isKnown = await isThere(inner, occurrence.id);
        return inner.triggers.occur(occurrence, deliveries, max, isKnown ? undefined : moved);
      },
    }),
  "an occurrence that is known is stale where its subscription was changed": (inner) =>
    overTriggers(inner, {
      async occur(occurrence, deliveries, max, moved) {
        for (const each of deliveries)
          if ((await standing(inner, each))?.revision !== each.revision) return { kind: "stale" };
        return inner.triggers.occur(occurrence, deliveries, max, moved);
      },
    }),
  "an occurrence that is known is answered with what is given": (inner) =>
    overTriggers(inner, {
      async occur(occurrence, deliveries, max, moved) {
        const answer = await inner.triggers.occur(occurrence, deliveries, max, moved);
        return answer.kind === "known" ? { ...answer, occurrence: { ...answer.occurrence, ...occurrence } } : answer;
      },
    }),
  "what happens again begins its jobs again": (inner) => {
    let nth = 0;
    return overTriggers(inner, {
      async occur(occurrence, deliveries, max, moved) {
        const answer = await inner.triggers.occur(occurrence, deliveries, max, moved);
        if (answer.kind === "known")
          for (const { job } of deliveries)
            if (job) await inner.jobs.spawn({ job: { ...job, id: `${job.id}/${nth++}` as JobId } }, Infinity);
        return answer;
      },
    });
  },
  "something is delivered to a subscription that is not enabled": (inner) =>
    overTriggers(inner, {
      async occur(occurrence, deliveries, max, moved) {
        const rows = await Promise.all(deliveries.map((each) => standing(inner, each)));
        const fine = deliveries.filter((each, nth) => rows[nth]?.isEnabled || rows[nth]?.revision !== each.revision);
        return inner.triggers.occur(occurrence, fine, max, moved);
      },
    }),
  "something is delivered to a subscription that has changed": (inner) =>
    overTriggers(inner, {
      async occur(occurrence, deliveries, max, moved) {
        const now = deliveries.map(async (each) => {
          const it = await standing(inner, each);
          return it?.incarnation === each.incarnation ? { ...each, revision: it.revision } : each;
        });
        return inner.triggers.occur(occurrence, await Promise.all(now), max, moved);
      },
    }),
  "something is delivered to another subscription of the same id": (inner) =>
    overTriggers(inner, {
      async occur(occurrence, deliveries, max, moved) {
        const now = deliveries.map(async (each) => {
          const { incarnation = "" } = (await standing(inner, each)) ?? {};
          return { ...each, incarnation };
        });
        return inner.triggers.occur(occurrence, await Promise.all(now), max, moved);
      },
    }),
  "a delivery that is lost is not looked at": (inner) =>
    overTriggers(inner, {
      occur: (occurrence, deliveries, max, moved) =>
        inner.triggers.occur(occurrence, deliveries.every(({ lost }) => lost) ? [] : deliveries, max, moved),
    }),
  "jobs begin before the occurrence is written": (inner) =>
    overTriggers(inner, {
      async occur(occurrence, deliveries, max, moved) {
        if (!(await isThere(inner, occurrence.id)))
          for (const { job } of deliveries)
            if (job && !(await inner.jobs.load(job.id))) await inner.jobs.spawn({ job }, Infinity);
        return inner.triggers.occur(occurrence, deliveries.map(without), max, moved);
      },
    }),
  "an occurrence is written before its jobs begin": (inner) =>
    overTriggers(inner, {
      async occur(occurrence, deliveries, max, moved) {
        const answer = await inner.triggers.occur(occurrence, deliveries.map(without), max, moved);
        if (answer.kind === "occurred")
          for (const { job } of deliveries)
            if (job && !(await inner.jobs.load(job.id))) await inner.jobs.spawn({ job }, Infinity);
        return answer;
      },
    }),
  "jobs that something starts are counted": (inner) =>
    overTriggers(inner, {
      async occur(occurrence, deliveries, max, moved) {
        for (const { sessionId } of deliveries)
          if ((await inner.jobs.count(sessionId)) > 1) throw new RuntimeError("job.full", { max: 1 });
        return inner.triggers.occur(occurrence, deliveries, max, moved);
      },
    }),
  "a job whose id is taken keeps the occurrence from being kept": (inner) =>
    overTriggers(inner, {
      async occur(occurrence, deliveries, max, moved) {
        for (const { job } of deliveries)
          if (job && !(await isThere(inner, occurrence.id)) && (await inner.jobs.load(job.id)))
            throw new RuntimeError("job.conflict", { id: job.id });
        return inner.triggers.occur(occurrence, deliveries, max, moved);
      },
    }),
  "what has happened is listed oldest first": (inner) =>
    overTriggers(inner, { occurrences: async (page) => [...(await inner.triggers.occurrences(page))].reverse() }),
  "what has happened is told again where its place is lost": (inner) =>
    overTriggers(inner, {
      async occurrences({ before, ...page }) {
        const isKnown = before === undefined || (await isThere(inner, before));
        return inner.triggers.occurrences(isKnown && before !== undefined ? { ...page, before } : page);
      },
    }),
  "any number of occurrences is kept": (inner) =>
    overTriggers(inner, {
      occur: (occurrence, deliveries, _, moved) => inner.triggers.occur(occurrence, deliveries, Infinity, moved),
    }),
  "the newest occurrences of all sources are kept": (inner) => {
    let most = Infinity;
    return overTriggers(inner, {
      occur(occurrence, deliveries, max, moved) {
        most = max;
        return inner.triggers.occur(occurrence, deliveries, max, moved);
      },
      occurrences: async (page) => {
        const kept = new Set((await happened(inner)).slice(0, most).map(({ id }) => id));
        return (await inner.triggers.occurrences(page)).filter(({ id }) => kept.has(id));
      },
    });
  },
  "with an old occurrence go jobs that are not over": (inner) => pruning(inner, () => true),
  "with an old occurrence goes no job": (inner) => pruning(inner, () => false),
  "a deleted session leaves its subscriptions": (inner) => {
    const left: Subscription[] = [];
    return {
      async delete(id) {
        left.push(...(await all(inner, { session: id })));
        return inner.delete(id);
      },
      ...overTriggers(inner, { list: async (page) => [...left, ...(await inner.triggers.list(page))] }),
    };
  },
  "a deleted session leaves what was delivered to it": (inner) => {
    const left = new Map<string, Occurrence>();
    return {
      async delete(id) {
        for (const each of await happened(inner)) left.set(each.id, each);
        return inner.delete(id);
      },
      ...overTriggers(inner, {
        occurrences: async (page) => (await inner.triggers.occurrences(page)).map((each) => left.get(each.id) ?? each),
      }),
    };
  },
  "a deleted session leaves what only its subscriptions waited for": (inner) => {
    let left: readonly Occurrence[] = [];
    return {
      async delete(id) {
        left = (await happened(inner)).filter(({ source }) => source.startsWith("subscription:"));
        return inner.delete(id);
      },
      ...overTriggers(inner, {
        occurrences: async (page) => [...left, ...(await inner.triggers.occurrences(page))],
      }),
    };
  },
  "with a deleted session goes what others were told of too": (inner) => {
    const gone = new Set<string>();
    return {
      async delete(session) {
        for (const { id, deliveries } of await happened(inner))
          if (deliveries.some(({ sessionId }) => sessionId === session)) gone.add(id);
        return inner.delete(session);
      },
      ...overTriggers(inner, {
        occurrences: async (page) => (await inner.triggers.occurrences(page)).filter(({ id }) => !gone.has(id)),
      }),
    };
  },
  "a fork takes the subscriptions of its origin": (inner) => ({
    async fork(from, to, at) {
      const fork = await inner.fork(from, to, at);
      for (const it of await all(inner, { session: from }))
        await inner.triggers.put({ ...it, sessionId: to.id }, undefined, Infinity);
      return fork;
    },
  }),
};

/** The store with another rule for the jobs of what is not kept any more. */
function pruning(inner: Store, goes: (isOver: boolean) => boolean): Partial<Store> {
  const pruned = new Set<string>();
  return overTriggers(inner, {
    async occur(occurrence, deliveries, max, moved) {
      const answer = await inner.triggers.occur(occurrence, deliveries, Infinity, moved);
      const old = (await inner.triggers.occurrences({ source: occurrence.source, max: Infinity })).slice(max);
      for (const { id } of old) pruned.add(id);
      for (const id of jobsOf(old)) {
        const job = await inner.jobs.load(id);
        if (job === undefined || !goes(isOver(job.record))) continue;
        if (!isOver(job.record)) {
          await inner.jobs.claim({ id: "x", process: "x" }, 1e15, 99, [job.record.operation ?? ""]);
          await inner.jobs.leave({ id: "x", process: "x" });
          await inner.jobs.send(id, { key: "x", event: { kind: "cancelling", at: 0, reason: "." } }, 0);
        }
        await inner.jobs.remove(id);
      }
      return answer;
    },
    occurrences: async (page) =>
      page.before !== undefined && pruned.has(page.before)
        ? []
        : (await inner.triggers.occurrences(page)).filter(({ id }) => !pruned.has(id)),
  });
}

eachIsMissed("J7 the laws of triggers", triggerLaws, TRIGGER_MUTANTS);
