import { isDeepStrictEqual } from "node:util";
import { RuntimeError } from "../../../model/errors.ts";
import type { JobId, SessionId } from "../../../model/ids.ts";
import { foldJob, type NewJob } from "../../../model/job.ts";
import { EXTERNAL, movesOf, parentOfJob, RUNNING, recoveryOf, taskOf } from "../../rows/job.ts";
import type { JobSpawn, StoredJob } from "../../store.ts";
import { JOB, JOB_EVENT, type JobRow, SESSION, type SessionRow } from "../../tables.ts";
import type { Numbered, Port } from "../port.ts";
import { all, type Rule } from "../rule.ts";
import { requireSpawned, type Spawned, toStoredJob } from "./events.ts";
import { lockOwners, prolong, readOwners } from "./owners.ts";

/** Two ways to start jobs: a call that limits their number, and a part of another write. */

/** Starts a job unless it exists. The session is locked, so that its jobs can be counted. */
export function* spawnJob(db: Port, spawn: JobSpawn, max: number): Rule<Numbered<StoredJob>> {
  const { job, owner } = spawn;
  const [session, known] = yield* all([db.session(job.sessionId), db.get(JOB, "id", job.id)]);
  if (known !== undefined) return yield* existingJob(db, known, job);
  const { n } = requireSession(job.sessionId, session);
  const [live, owners] = yield* all([
    max === Infinity ? undefined : db.count(JOB, "live", n),
    owner && lockOwners(db, owner, job.at),
    db.keepNamed(() => JSON.stringify([spawnedOf(job)])),
  ]);
  if (live !== undefined && live >= max) throw new RuntimeError("job.full", { max });
  if (owner !== undefined) prolong(db, owners!, owner);
  const begun = yield* addJob(db, n, spawn);
  if (begun === undefined) return yield* existingJob(db, yield* db.get(JOB, "id", job.id), job);
  db.hint({ kind: "jobs" });
  return shown(begun.row, begun.first);
}

const shown =
  (row: JobRow, first: Spawned): Numbered<StoredJob> =>
  (changed) =>
    toStoredJob(row, first, changed(row));

/** Answers for a job that exists. Throws `job.conflict` if it differs. The time of a retry may differ. */
function* existingJob(db: Port, row: JobRow | undefined, job: NewJob): Rule<Numbered<StoredJob>> {
  if (row === undefined) return db.startOver!(); // Another write started it first, and it was removed since.
  const found = (yield* db.get(JOB_EVENT, "key", row.n, 1))?.event;
  // Nothing locks an existing job here: a deletion of its session can come between the two reads.
  if (found === undefined && (yield* db.get(JOB, "id", job.id))?.n !== row.n) db.startOver?.();
  const first = requireSpawned(row.id, found);
  const [{ at: _, ...before }, { at: __, ...given }] = [first.job, asJson(job)];
  if (!isDeepStrictEqual(before, given)) throw new RuntimeError("job.conflict", { id: job.id });
  return shown(row, first);
}

/**
 * Starts jobs as part of another write, without a maximum. An existing job is unchanged. A rule calls this before it
 * numbers facts.
 */
export function* spawnAll(db: Port, spawns: readonly JobSpawn[], now: number): Rule<void> {
  if (spawns.length === 0) return;
  const unique = firstOfEach(spawns);
  const ids = [...new Set(unique.map(({ job }) => job.sessionId))];
  db.lock({ sessions: ids }); // Locked, so that none of the sessions is deleted before its jobs exist.
  const [known, found] = yield* all([
    all(unique.map(({ job }) => db.get(JOB, "id", job.id))),
    all(ids.map((id) => db.get(SESSION, "id", id))),
  ]);
  const sessions = new Map(ids.map((id, at) => [id, found[at]]));
  const fresh = unique.filter((_, at) => known[at] === undefined);
  const numbers = fresh.map(({ job: { sessionId } }) => requireSession(sessionId, sessions.get(sessionId)).n);
  if (fresh.length === 0) return;
  yield* db.keepNamed(() => JSON.stringify(fresh.map(({ job }) => spawnedOf(job))));
  yield* prolongAll(db, fresh, now);
  yield* all(fresh.map((spawn, at) => addJob(db, numbers[at]!, spawn)));
  db.hint({ kind: "jobs" });
}

/** Drops later jobs with an id that an earlier one has. */
function firstOfEach(spawns: readonly JobSpawn[]): readonly JobSpawn[] {
  const seen = new Set<JobId>();
  return spawns.filter(({ job: { id } }) => !seen.has(id) && seen.add(id));
}

function* prolongAll(db: Port, spawns: readonly JobSpawn[], now: number): Rule<void> {
  const given = new Map(spawns.flatMap(({ owner }) => (owner === undefined ? [] : [[owner.id, owner]])));
  if (given.size === 0) return;
  for (const owner of [...given.keys()].sort()) db.lock({ owner });
  const owners = yield* readOwners(db, now);
  for (const owner of given.values()) prolong(db, owners, owner);
}

function requireSession(id: SessionId, row: SessionRow | undefined): SessionRow {
  if (row === undefined) throw new RuntimeError("session.unknown", { id });
  return row;
}

const spawnedOf = (job: NewJob): Spawned => ({ kind: "spawned", job, at: job.at });

interface Begun {
  readonly row: JobRow;
  readonly first: Spawned;
}

/** Adds a job, held by the owner if one is given. Returns undefined if another write added the same id first. */
function* addJob(db: Port, session: number, { job, owner }: JobSpawn): Rule<Begun | undefined> {
  const first = asJson(spawnedOf(job));
  const started = owner === undefined ? undefined : ({ kind: "started", generation: 1, at: job.at } as const);
  const record = foldJob(undefined, first);
  const recovery = recoveryOf(job);
  const columns: Omit<JobRow, "n"> = {
    id: job.id,
    session,
    kind: job.kind,
    isHidden: job.visibility === "hidden",
    recovery,
    operation: taskOf(job),
    parent: parentOfJob(job),
    state: RUNNING,
    owner: owner?.id ?? null,
    generation: started === undefined ? 0 : 1,
    isParked: false,
    due: recovery === EXTERNAL || started !== undefined ? null : (job.notBefore ?? 0),
    awaits: null,
    seq: started === undefined ? 1 : 2,
    changed: 0,
    moves: movesOf(started === undefined ? record : foldJob(record, started)),
  };
  const row = yield* db.addOnce === undefined ? db.add(JOB, columns) : db.addOnce(JOB, "id", columns);
  if (row === undefined) return undefined;
  db.insert(JOB_EVENT, { job: row.n, seq: 1, key: "spawned", event: first });
  if (started !== undefined) db.insert(JOB_EVENT, { job: row.n, seq: 2, key: "started/1", event: started });
  return { row, first };
}

/** Drops undefined fields, so that the value equals what any store reads back. */
const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
