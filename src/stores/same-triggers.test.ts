import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "vitest";
import { sample } from "../../test/kit/size.ts";
import type { Awaitable } from "../model/awaitable.ts";
import { asCursor, asSessionId } from "../model/ids.ts";
import type { Subscription, TriggerSource } from "../model/trigger.ts";
import { ann, NOW, newSession } from "../testing/cast.ts";
import { cancelling, jobId, over, stepped, TASK } from "../testing/job-cast.ts";
import { delivery, EVENT, INTERVAL, MAIL, moved, occurrence, sourceOf, subscription } from "../testing/trigger-cast.ts";
import { memory } from "./memory.ts";
import { sqlite } from "./sqlite.ts";
import type { JobLease, MovedTrigger, Store } from "./store.ts";

// One story of triggers, and of what their jobs say, told to two stores: both give the same answers, whatever happens.

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
type Step = (teller: Teller, nth: number) => unknown;
const now = <T>(answer: Awaitable<T>): T => answer as T;
const step = (name: string, run: Step): Step => Object.assign(run, { [fc.toStringMethod]: () => name });
const at = <T>(list: readonly T[], nth: number): T | undefined => list[nth % (list.length || 1)];

const session = fc.constantFrom(...ids);
const name = fc.constantFrom(...NAMES);
const nat = fc.nat(30);

/** Where a subscription of this source stands: mostly somewhere. */
const placeOf = ({ kind }: TriggerSource, nth: number): Pick<Subscription, "next" | "after"> => {
  if (nth % 4 === 0 || kind === "event") return {};
  return kind === "commits" ? { after: asCursor(`${1 + (nth % 3)}`) } : { next: NOW + (nth % 5) };
};

/** One that was seen, as it is now, or at times as it was. */
function pick({ store, seen }: Teller, nth: number): Subscription | undefined {
  const it = at(seen, nth);
  return it && nth % 5 !== 0 ? (now(store.triggers.load(it.sessionId, it.id)) ?? it) : it;
}

/** A move of a subscription from where it is, or at times from elsewhere. */
function moveOf(it: Subscription, nth: number): MovedTrigger {
  const move = moved(it, placeOf(it.on, nth + 1));
  return nth % 7 === 0 ? { ...move, from: placeOf(it.on, nth) } : move;
}

const steps: readonly { readonly weight: number; readonly arbitrary: fc.Arbitrary<Step> }[] = [
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
      step(`change ${which} ${on.kind} ${nth}`, (teller) => {
        const before = pick(teller, which);
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
      step(`move ${which} ${nth}`, (teller) => {
        const it = pick(teller, which);
        return it && teller.store.triggers.move(moveOf(it, nth));
      }),
    ),
  },
  {
    weight: 16,
    arbitrary: fc
      .tuple(fc.constantFrom(...HAPPENINGS), fc.array(nat, { maxLength: 3 }), nat, fc.constantFrom(1, 2, 9))
      .map(([what, to, nth, max]) =>
        step(`occur ${what} ${to} ${nth} ${max}`, (teller) => {
          const met = to.flatMap((which) => pick(teller, which) ?? []);
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
      step(`claim ${max}`, ({ store, leases }) => {
        const jobs = now(store.jobs.claim(ann, NOW, max, [TASK]));
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
const story = fc.array(fc.oneof(...steps), { maxLength: 60, size: "max" });

function answer(act: () => unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(act() ?? null, (key, value) => (HIDDEN.has(key) ? undefined : value)));
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (code === undefined) throw error;
    return { code };
  }
}
/** Each store numbers the events of jobs in its own way. */
const HIDDEN = new Set(["cursor", "jobs"]);

/** Everything that can be asked. */
function all({ store }: Teller): unknown {
  const { list, due, occurrences } = store.triggers;
  return {
    agendas: [0, 1, 3, 9].map((ms) => store.agenda(NOW + ms, 9, [TASK])),
    lists: [
      list({ max: 99 }),
      list({ max: 2 }),
      list({ max: 2, after: { session: ids[0]!, id: "s1" } }),
      ...ids.map((id) => list({ session: id, max: 99 })),
      list({ event: { name: EVENT }, max: 99 }),
      list({ event: { name: EVENT, source: "home" }, max: 99 }),
      list({ kinds: ["cron", "interval"], max: 99 }),
      list({ kinds: ["commits"], max: 99 }),
    ],
    due: [0, 2, 9].map((ms) => due(NOW + ms, ms === 2 ? 2 : 99)),
    occurrences: [
      occurrences({ max: 99 }),
      occurrences({ source: MAIL, max: 2 }),
      occurrences({ before: occurrence("h3").id, max: 99 }),
    ],
    jobs: now(store.jobs.list({ max: 99 })).map(({ record }) => record),
    counts: ids.map((id) => store.jobs.count(id)),
    lines: JOBS.map((id) => store.jobs.lines(id)),
  };
}

test("D5 J7 J4 memory and sqlite give the same answers about triggers and lines, whatever happens", async () => {
  await fc.assert(
    fc.asyncProperty(story, async (steps) => {
      const kept = sqlite(":memory:", { strength: "process" });
      const tellers = [memory(), kept].map((store): Teller => ({ store, leases: [], seen: [] }));
      for (const { store } of tellers) for (const id of ids) await store.create(newSession(id));
      for (const [nth, step] of steps.entries()) {
        const [one, two] = tellers.map((teller) => answer(() => step(teller, nth)));
        assert.deepEqual(two, one);
        if (nth % 10 !== 9 && nth !== steps.length - 1) continue;
        const [known, found] = tellers.map((teller) => answer(() => all(teller)));
        assert.deepEqual(found, known);
      }
      assert.deepEqual(await kept.check(), []);
      for (const { store } of tellers) await store.close();
    }),
    { numRuns: sample(20, 180) },
  );
}, 60_000);
