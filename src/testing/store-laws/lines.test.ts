import { eachIsMissed, type Mutants } from "../../../test/stores/mutant.ts";
import type { JobId } from "../../model/ids.ts";
import { isOver } from "../../model/job.ts";
import type { JobLine, Store } from "../../stores/store.ts";
import { lineLaws } from "./lines.ts";

/** The store with some of its methods for jobs replaced. */
const overJobs = (inner: Store, own: Partial<Store["jobs"]>): Partial<Store> => ({ jobs: { ...inner.jobs, ...own } });

/** Rules of lines, each broken in its own way. */
const MUTANTS: Mutants = {
  "a line is given to everyone": (inner) =>
    overJobs(inner, {
      async take(id, key) {
        await inner.jobs.take(id, key);
        return (await inner.jobs.lines(id)).lines;
      },
    }),
  "a call again is given what came since": (inner) => {
    let nth = 0;
    return overJobs(inner, { take: (id, key) => inner.jobs.take(id, `${key}/${nth++}`) });
  },
  "every call again is given the same lines, however many came since": (inner) => {
    const given = new Map<string, readonly JobLine[]>();
    return overJobs(inner, {
      async take(id, key) {
        const lines = given.get(`${id} ${key}`) ?? (await inner.jobs.take(id, key));
        given.set(`${id} ${key}`, lines);
        return lines;
      },
    });
  },
  "lines have no bound": (inner) =>
    overJobs(inner, {
      append: (lease, events, now, { says, ...more } = {}) =>
        inner.jobs.append(lease, events, now, { ...more, ...(says && { says: { ...says, max: Infinity } }) }),
    }),
  "a line that was taken is not told any more": (inner) =>
    overJobs(inner, {
      async lines(id) {
        const { lines, taken } = await inner.jobs.lines(id);
        return { lines: lines.filter(({ n }) => n > taken), taken };
      },
    }),
  "a line that was said before is said again": (inner) => {
    const last = new Map<JobId, number>();
    return overJobs(inner, {
      append(lease, events, now, { says, ...more } = {}) {
        let n = last.get(lease.jobId) ?? 0;
        const lines = says?.lines.map((line) => {
          n = Math.max(n + 1, line.n);
          return { ...line, n };
        });
        last.set(lease.jobId, n);
        return inner.jobs.append(lease, events, now, { ...more, ...(says && lines && { says: { ...says, lines } }) });
      },
    });
  },
  "lines are said in a second write, which is made though the first is refused": (inner) => {
    const said = new Map<JobId, JobLine[]>();
    const linesOf = (id: JobId): JobLine[] => said.get(id) ?? [];
    return overJobs(inner, {
      append(lease, events, now, more) {
        const last = linesOf(lease.jobId).at(-1)?.n ?? 0;
        const fresh = (more?.says?.lines ?? []).filter(({ n }) => n > last);
        if (more?.says) said.set(lease.jobId, [...linesOf(lease.jobId), ...fresh].slice(-more.says.max));
        return inner.jobs.append(lease, events, now, more);
      },
      async lines(id) {
        const known = await inner.jobs.lines(id);
        return known.lines.length === 0 ? known : { ...known, lines: linesOf(id) };
      },
    });
  },
  "lines are events": (inner) =>
    overJobs(inner, {
      append(lease, events, now, more) {
        const step = { kind: "stepped", at: now, name: "said", value: 1 } as const;
        const isEnd = events.some(({ event }) => event.kind === "ended");
        const told = more?.says && !isEnd ? [...events, { key: "said", event: step }] : events;
        return inner.jobs.append(lease, told, now, more);
      },
    }),
  "the lines of a job that is over are gone": (inner) =>
    overJobs(inner, {
      async lines(id) {
        const job = await inner.jobs.load(id);
        return job && isOver(job.record) ? { lines: [], taken: 0 } : inner.jobs.lines(id);
      },
    }),
  "what a job says with its end is lost": (inner) =>
    overJobs(inner, {
      append(lease, events, now, { says, ...more } = {}) {
        const isEnd = events.some(({ event }) => event.kind === "ended");
        return inner.jobs.append(lease, events, now, isEnd || says === undefined ? more : { ...more, says });
      },
    }),
  "the lines of a job stay when it goes": (inner) => {
    const known = new Map<JobId, Awaited<ReturnType<Store["jobs"]["lines"]>>>();
    return overJobs(inner, {
      async remove(id) {
        known.set(id, await inner.jobs.lines(id));
        return inner.jobs.remove(id);
      },
      lines: async (id) =>
        (await inner.jobs.load(id)) ? inner.jobs.lines(id) : (known.get(id) ?? inner.jobs.lines(id)),
    });
  },
  "a job that is handed over leaves its lines": (inner) => {
    const moved = new Set<JobId>();
    return overJobs(inner, {
      transfer(from, to, ids, now) {
        for (const id of ids) moved.add(id);
        return inner.jobs.transfer(from, to, ids, now);
      },
      lines: async (id) => (moved.has(id) ? { lines: [], taken: 0 } : inner.jobs.lines(id)),
    });
  },
};

eachIsMissed("J4 the laws of lines", lineLaws, MUTANTS);
