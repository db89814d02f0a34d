import fc from "fast-check";
import { asCursor, asSessionId } from "../../../src/model/ids.ts";
import type { Subscription, TriggerSource } from "../../../src/model/trigger.ts";
import type { JobLease, MovedTrigger, Store } from "../../../src/stores/store.ts";
import { ann, NOW, newSession } from "../../../src/testing/cast.ts";
import { cancelling, jobId, over, stepped, TASK } from "../../../src/testing/job-cast.ts";
import {
  delivery,
  EVENT,
  INTERVAL,
  MAIL,
  moved,
  occurrence,
  sourceOf,
  subscription,
} from "../../../src/testing/trigger-cast.ts";
import { type Asked, answers, at, type Stories, step, storyOf, type Weighted } from "./tell.ts";

// Stories of triggers, and of what their jobs say.

const ids = ["a", "b", "c"].map(asSessionId);
const NAMES = ["s0", "s1", "s2", "s\u0000"];
const HAPPENINGS = ["h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7"];
const JOBS = HAPPENINGS.flatMap((happening) => NAMES.map((name) => jobId(`${happening}-${name}`)));
const SOURCES: readonly TriggerSource[] = [
  { kind: "event", event: EVENT },
  { kind: "event", event: EVENT, source: "home" },
  { kind: "event", event: "other" },
  { kind: "commits" },
  { kind: "cron", cron: "* * * * *", timeZone: "UTC", missed: "skip" },
  INTERVAL,
];

interface Teller {
  readonly store: Store;
  readonly leases: JobLease[];
  /** Subscriptions as they were at some time: the present ones are among them. */
  readonly seen: Subscription[];
}

const session = fc.constantFrom(...ids);
const name = fc.constantFrom(...NAMES);
const nat = fc.nat(30);

/** Where a subscription of this source stands: mostly somewhere. */
const placeOf = ({ kind }: TriggerSource, nth: number): Pick<Subscription, "next" | "after"> => {
  if (nth % 4 === 0 || kind === "event") return {};
  return kind === "commits" ? { after: asCursor(`${1 + (nth % 3)}`) } : { next: NOW + (nth % 5) };
};

/** One that was seen, as it is now, or at times as it was. */
async function pick({ store, seen }: Teller, nth: number): Promise<Subscription | undefined> {
  const it = at(seen, nth);
  return it && nth % 5 !== 0 ? ((await store.triggers.load(it.sessionId, it.id)) ?? it) : it;
}

/** A move of a subscription from where it is, or at times from elsewhere. */
function moveOf(it: Subscription, nth: number): MovedTrigger {
  const move = moved(it, placeOf(it.on, nth + 1));
  return nth % 7 === 0 ? { ...move, from: placeOf(it.on, nth) } : move;
}

const steps: readonly Weighted<Teller>[] = [
  {
    weight: 10,
    arbitrary: fc.tuple(session, name, fc.constantFrom(...SOURCES), nat).map(([sessionId, name, on, nth]) =>
      step(`put ${sessionId} ${name} ${on.kind} ${nth}`, ({ store, seen }, here) => {
        const isEnabled = nth % 3 !== 0;
        const it = subscription(name, { sessionId, on, isEnabled, incarnation: `${here}`, ...placeOf(on, nth) });
        seen.push(it);
        return store.triggers.put(it, undefined, 3);
      }),
    ),
  },
  {
    weight: 6,
    arbitrary: fc.tuple(nat, fc.constantFrom(...SOURCES), nat).map(([which, on, nth]) =>
      step(`change ${which} ${on.kind} ${nth}`, async (teller) => {
        const before = await pick(teller, which);
        if (before === undefined) return undefined;
        const { next: _, after: __, ...rest } = before;
        const how = nth % 2 === 0 ? { on, ...placeOf(on, nth) } : placeOf(before.on, nth);
        const it = { ...rest, revision: before.revision + 1, isEnabled: nth % 3 !== 0, ...how };
        teller.seen.push(it);
        return teller.store.triggers.put(it, before.revision, 3);
      }),
    ),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(session, name, fc.option(fc.constantFrom(1, 2), { nil: undefined }))
      .map(([of, name, revision]) =>
        step(`remove ${of} ${name} ${revision}`, ({ store }) => store.triggers.remove(of, name, revision)),
      ),
  },
  {
    weight: 5,
    arbitrary: fc.tuple(nat, nat).map(([which, nth]) =>
      step(`move ${which} ${nth}`, async (teller) => {
        const it = await pick(teller, which);
        return it && teller.store.triggers.move(moveOf(it, nth));
      }),
    ),
  },
  {
    weight: 16,
    arbitrary: fc
      .tuple(fc.constantFrom(...HAPPENINGS), fc.array(nat, { maxLength: 3 }), nat, fc.constantFrom(1, 2, 9))
      .map(([what, to, nth, max]) =>
        step(`occur ${what} ${to} ${nth} ${max}`, async (teller) => {
          const picked = await Promise.all(to.map((which) => pick(teller, which)));
          const met = picked.filter((it) => it !== undefined);
          const deliveries = met.map((it, index) => {
            const { job, jobId: id, ...lost } = delivery(what, it);
            return (nth + index) % 6 === 0 ? { ...lost, lost: "full" as const } : { ...lost, job: job!, jobId: id! };
          });
          const source = nth % 3 === 0 && met[0] ? sourceOf(met[0]) : nth % 3 === 1 ? "event:other" : MAIL;
          const move = nth % 2 === 0 && met[0] ? moveOf(met[0], nth) : undefined;
          return teller.store.triggers.occur(occurrence(what, { source, at: NOW - nth }), deliveries, max, move);
        }),
      ),
  },
  {
    weight: 8,
    arbitrary: fc.constantFrom(1, Infinity).map((max) =>
      step(`claim ${max}`, async ({ store, leases }) => {
        const jobs = await store.jobs.claim(ann, NOW, max, [TASK]);
        leases.push(...jobs.map(({ lease }) => lease));
        return jobs;
      }),
    ),
  },
  {
    weight: 14,
    arbitrary: fc
      .tuple(nat, fc.array(fc.nat(9), { maxLength: 4 }), fc.constantFrom(0, 1, 3, 100), fc.constantFrom("", "a", "end"))
      .map(([which, ns, max, word]) =>
        step(`say ${which} ${ns} ${max} ${word}`, ({ store, leases }, here) => {
          const lease = at(leases, which) ?? { jobId: jobId("none"), generation: 1, owner: ann };
          const lines = ns.map((n) => ({ n: n + 1, at: here, channel: "out" as const, text: `${here}` }));
          const events = word === "" ? [] : [word === "end" ? over() : stepped(word)];
          return store.jobs.append(lease, events, NOW, { says: { lines, max } });
        }),
      ),
  },
  {
    weight: 8,
    arbitrary: fc.tuple(nat, fc.constantFrom("k", "l", "m")).map(([which, key]) =>
      step(`take ${which} ${key}`, ({ store, leases }) => {
        const id = at(leases, which)?.jobId ?? jobId("none");
        return store.jobs.take(id, key);
      }),
    ),
  },
  {
    weight: 3,
    arbitrary: nat.map((which) =>
      step(`cancel ${which}`, ({ store }) => store.jobs.send(at(JOBS, which)!, cancelling(), NOW)),
    ),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(session, session, nat)
      .map(([from, to, which]) =>
        step(`transfer ${from} ${to} ${which}`, ({ store }) => store.jobs.transfer(from, to, [at(JOBS, which)!], NOW)),
      ),
  },
  {
    weight: 2,
    arbitrary: nat.map((which) => step(`forget ${which}`, ({ store }) => store.jobs.remove(at(JOBS, which)!))),
  },
  { weight: 1, arbitrary: session.map((of) => step(`delete ${of}`, ({ store }) => store.delete(of))) },
];

/** Each store numbers the events of jobs in its own way. */
const hidden: ReadonlySet<string> = new Set(["cursor", "jobs"]);

async function ask({ store }: Teller): Promise<Asked> {
  const told = (...acts: readonly (() => unknown)[]): Promise<readonly unknown[]> => answers(acts, hidden);
  const { list, due, occurrences } = store.triggers;
  return {
    facts: [],
    agendas: await told(...[0, 1, 3, 9].map((ms) => () => store.agenda(NOW + ms, 9, [TASK]))),
    lists: await told(
      () => list({ max: 99 }),
      () => list({ max: 2 }),
      () => list({ max: 2, after: { session: ids[0]!, id: "s1" } }),
      ...ids.map((id) => () => list({ session: id, max: 99 })),
      () => list({ event: { name: EVENT }, max: 99 }),
      () => list({ event: { name: EVENT, source: "home" }, max: 99 }),
      () => list({ kinds: ["cron", "interval"], max: 99 }),
      () => list({ kinds: ["commits"], max: 99 }),
    ),
    due: await told(...[0, 2, 9].map((ms) => () => due(NOW + ms, ms === 2 ? 2 : 99))),
    occurrences: await told(
      () => occurrences({ max: 99 }),
      () => occurrences({ source: MAIL, max: 2 }),
      () => occurrences({ before: occurrence("h3").id, max: 99 }),
    ),
    records: await told(async () => (await store.jobs.list({ max: 99 })).map(({ record }) => record)),
    counts: await told(...ids.map((id) => () => store.jobs.count(id))),
    lines: await told(...JOBS.map((id) => () => store.jobs.lines(id))),
  };
}

export const triggerStories: Stories<Teller> = {
  story: storyOf(steps, 60),
  hidden,
  ask,
  async begin(store) {
    for (const id of ids) await store.create(newSession(id));
    return { store, leases: [], seen: [] };
  },
};
