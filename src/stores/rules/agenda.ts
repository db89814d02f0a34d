import type { SessionId } from "../../model/ids.ts";
import { jobCursorOf, tasksOf } from "../rows/job.ts";
import type { Agenda } from "../store.ts";
import { JOB, SESSION, type SessionRow, TURN, WAIT, type WaitRow } from "../tables.ts";
import { cursorOf } from "./cursors.ts";
import { goneOwners, readOwners } from "./jobs/owners.ts";
import type { Port } from "./port.ts";
import { all, type Rule } from "./rule.ts";
import { triggersToDo } from "./triggers.ts";
import { isOver } from "./waits.ts";

/** Returns the work that a store has: turns to resume or to open, jobs to claim, schedules that are due. */
export function* agenda(db: Port, now: number, max: number, operations: readonly string[] | undefined): Rule<Agenda> {
  if (db.agenda !== undefined) return yield* db.agenda(now, max, operations);
  const [turns, jobs, triggers, latest, change, gone] = yield* all([
    turnsToDo(db, now),
    jobsToDo(db, now, operations),
    triggersToDo(db, now),
    db.latestFact(),
    db.latestChange(),
    db.gone(),
  ]);
  const next = Math.min(turns.next, jobs.next, triggers.next ?? Infinity);
  return {
    ...triggers,
    sessions: turns.sessions.slice(0, max),
    ...(next === Infinity ? {} : { next }),
    ...(jobs.hasJobs ? { hasJobs: true } : {}),
    ...(change === 0 ? {} : { jobs: jobCursorOf(change) }),
    ...(latest === 0 ? {} : { latest: cursorOf(latest) }),
    gone,
  };
}

/** Returns the sessions whose work no process holds, and the next time at which a parked turn is due. */
function* turnsToDo(db: Port, now: number): Rule<{ readonly sessions: readonly SessionId[]; readonly next: number }> {
  const [time, open, parked, waiting, waits] = yield* all([
    db.now(now),
    db.scan(SESSION, "open", []),
    db.scan(SESSION, "wake", []),
    db.scan(TURN, "ready", []),
    db.scan(WAIT, "turns", []),
  ]);
  const lapsed = open.filter(({ until, process }) => until <= time || db.isDead(process!));
  const woken = yield* wokenBy(db, parked, waits);
  const due = parked.filter((session) => session.wake! <= now || woken.has(session.n));
  const rest = parked.filter((session) => !due.includes(session));
  const idle = yield* all([...new Set(waiting.map(({ session }) => session))].map((n) => db.get(SESSION, "key", n)));
  const ready = idle.filter((session) => session !== undefined).filter(({ turn }) => turn === null);
  return {
    sessions: [...lapsed, ...due, ...ready].map(({ id }) => id),
    next: rest[0]?.wake ?? Infinity,
  };
}

/** Returns the parked sessions whose turn waits for turns and jobs that are all over. */
function* wokenBy(db: Port, parked: readonly SessionRow[], waits: readonly WaitRow[]): Rule<ReadonlySet<number>> {
  const sessions = new Map(parked.map((session) => [session.n, session]));
  const own = waits.filter((wait) => {
    const session = sessions.get(wait.session);
    return session?.turn === wait.turn && session.parked?.includes(wait.id) === true;
  });
  const over = yield* all(own.map((wait) => isOver(db, wait)));
  return new Set(own.filter((_, at) => over[at]).map(({ session }) => session));
}

/** Returns whether a process that has these tasks can claim a job, and when the next job is due. */
function* jobsToDo(
  db: Port,
  now: number,
  operations: readonly string[] | undefined,
): Rule<{ readonly hasJobs: boolean; readonly next: number }> {
  if (operations === undefined) return { hasJobs: false, next: Infinity };
  const tasks = tasksOf(operations);
  const gone = goneOwners(db, yield* readOwners(db, now));
  const [due, later, left] = yield* all([
    all(tasks.map((task) => db.scan(JOB, "due", [task], { upTo: now, max: 1 }))),
    all(tasks.map((task) => db.scan(JOB, "due", [task], { above: now, max: 1 }))),
    all(gone.flatMap((owner) => tasks.map((task) => db.scan(JOB, "held", [owner, task], { max: 1 })))),
  ]);
  const next = Math.min(Infinity, ...later.flat().map((job) => job.due!));
  return { hasJobs: [...due, ...left].some((jobs) => jobs.length > 0), next };
}
