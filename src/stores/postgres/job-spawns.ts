import { isDeepStrictEqual } from "node:util";
import { RuntimeError } from "../../model/errors.ts";
import { foldJob, type JobEvent, type NewJob } from "../../model/job.ts";
import { keyText } from "../rows/codec.ts";
import { EXTERNAL, movesOf, parentOf, recoveryOf, takerOf } from "../rows/job.ts";
import type { JobSpawn, StoredJob } from "../store.ts";
import type { Blobs } from "./blobs.ts";
import type { Database, Transaction } from "./database.ts";
import { hintAtJobs } from "./job-ends.ts";
import { prolong } from "./job-owners.ts";
import {
  firstOf,
  type JobRow,
  type KeptId,
  keptId,
  LIVE,
  RUNNING,
  STORED_BY_ID,
  type StoredRow,
  shownJob,
  storedOf,
} from "./job-row.ts";
import type { SessionRow } from "./session-row.ts";

/** How jobs begin: by themselves, where they are counted, or with something else that is written. */

// The session of the job, and that of the turn which it is to end with.
const LOCK_FOR_SPAWN = `SELECT * FROM @session
  WHERE id = $1 OR n = (SELECT session FROM @turn WHERE id = $2) ORDER BY n FOR UPDATE`;
// They stay as long as the transaction does; whoever works in them is not disturbed more than that needs.
const HOLD_SESSIONS = "SELECT n, id FROM @session WHERE id = ANY ($1::text[]) ORDER BY n FOR KEY SHARE";
// An open turn that has jobs to end says so in the row of its session: other turns need not look for any.
const HAS_MORE = `UPDATE @session s SET has_more = true FROM @turn t
  WHERE t.id = $1 AND s.n = t.session AND s.turn = t.n AND NOT s.has_more`;
const ADD = `WITH c AS (UPDATE @counter SET value = value + 1 WHERE name = 'job' RETURNING value),
  j AS (INSERT INTO @job (id, session, kind, is_hidden, recovery, operation, parent, state, owner, generation, is_parked,
      due, seq, moves, changed)
    SELECT $1, $2::bigint, $3, $4::boolean, $5::smallint, $6, $7, ${RUNNING}, $8, $9::bigint, false, $10::float8,
      $11::integer, $12, value FROM c
    ON CONFLICT (id) DO NOTHING RETURNING n, changed),
  a AS (INSERT INTO @job_change SELECT changed, n FROM j),
  e AS (INSERT INTO @job_event SELECT n, seq, key, event FROM j
    CROSS JOIN (VALUES (1, 'spawned', $13::text), (2, 'started/1', $14::text)) AS v (seq, key, event)
    WHERE event IS NOT NULL)
  SELECT changed FROM j`;

/** Begins a job unless it is there. Its session is locked, so that jobs can be counted. */
export async function spawnJob(
  tx: Transaction,
  db: Database,
  blobs: Blobs,
  spawn: JobSpawn,
  max: number,
): Promise<StoredJob> {
  const { job, owner } = spawn;
  const turn = turnOf(job);
  const [sessions, known, count] = await Promise.all([
    tx.rows<SessionRow>(LOCK_FOR_SPAWN, job.sessionId, turn),
    tx.row<StoredRow>(STORED_BY_ID, keptId(job.id)),
    max === Infinity ? undefined : tx.row<{ live: number }>(LIVE, job.sessionId),
  ]);
  if (known !== undefined) return same(known, job);
  const session = requireSession(spawn, sessions);
  if (count !== undefined && count.live >= max) throw new RuntimeError("job.full", { max });
  await blobs.keepNamed(tx, () => JSON.stringify([spawnedOf(job)]));
  if (owner !== undefined) prolong(tx, db, owner, job.at);
  if (turn !== null) tx.queue(HAS_MORE, turn);
  const { row, first, values } = begun(session, spawn);
  const added = await tx.row<{ changed: number }>(ADD, ...values);
  // One of another session may have come first.
  if (added === undefined) return same((await tx.row<StoredRow>(STORED_BY_ID, row.id))!, job);
  hintAtJobs(tx);
  return shownJob(row, first, added.changed);
}

/** Begins those of these jobs that are not there. */
export async function spawnJobs(
  tx: Transaction,
  db: Database,
  blobs: Blobs,
  spawns: readonly JobSpawn[],
  now: number,
): Promise<void> {
  const ids = spawns.map(({ job }) => keptId(job.id));
  const [sessions, known] = await Promise.all([
    tx.rows<Found>(HOLD_SESSIONS, [...new Set(spawns.map(({ job }) => job.sessionId))]),
    tx.rows<{ id: KeptId }>("SELECT id FROM @job WHERE id = ANY ($1::text[])", ids),
  ]);
  const there = new Set(known.map(({ id }) => id));
  const fresh = spawns.filter((_, nth) => !there.has(ids[nth]!));
  await blobs.keepNamed(tx, () => JSON.stringify(fresh.map(({ job }) => spawnedOf(job))));
  const values = fresh.map((spawn) => begun(requireSession(spawn, sessions), spawn).values);
  for (const { owner } of fresh) if (owner !== undefined) prolong(tx, db, owner, now);
  for (const turn of new Set(fresh.map(({ job }) => turnOf(job)))) if (turn !== null) tx.queue(HAS_MORE, turn);
  for (const each of values) tx.queue(ADD, ...each);
  if (fresh.length > 0) hintAtJobs(tx);
}

type Found = Pick<SessionRow, "n" | "id">;

function requireSession({ job: { sessionId: id } }: JobSpawn, sessions: readonly Found[]): number {
  const session = sessions.find((each) => each.id === id);
  if (session === undefined) throw new RuntimeError("session.unknown", { id });
  return session.n;
}

const spawnedOf = (job: NewJob): JobEvent & { readonly kind: "spawned" } => ({ kind: "spawned", job, at: job.at });

/** The turn that a job is to end with. */
const turnOf = ({ parent, onParentEnd }: NewJob): string | null =>
  onParentEnd === "cancel" && parent !== undefined && "turnId" in parent ? keyText(parent.turnId) : null;

/** A job of which nothing is written yet, and the values of `ADD`. With an owner it is in the hands of that one. */
function begun(session: number, { job, owner }: JobSpawn) {
  const spawned = spawnedOf(job);
  const started = owner === undefined ? undefined : ({ kind: "started", generation: 1, at: job.at } as const);
  const record = foldJob(undefined, spawned);
  const recovery = recoveryOf(job);
  const parent = parentOf(job);
  const row: JobRow = {
    n: 0,
    id: keptId(job.id),
    session,
    kind: job.kind,
    is_hidden: job.visibility === "hidden",
    recovery,
    operation: takerOf(job),
    parent: parent === null ? null : keyText(parent),
    state: RUNNING,
    owner: owner?.id ?? null,
    generation: started === undefined ? 0 : 1,
    is_parked: false,
    due: recovery === EXTERNAL || started !== undefined ? null : (job.notBefore ?? 0),
    awaits: null,
    seq: started === undefined ? 1 : 2,
    changed: 0,
    moves: JSON.stringify(movesOf(started === undefined ? record : foldJob(record, started))),
  };
  const values = [
    ...[row.id, session, row.kind, row.is_hidden, recovery, row.operation, row.parent, row.owner, row.generation],
    ...[row.due, row.seq, row.moves, JSON.stringify(spawned), started === undefined ? null : JSON.stringify(started)],
  ];
  return { row, first: asJson(spawned), values };
}

function same(row: StoredRow, job: NewJob): StoredJob {
  const [{ at: _, ...before }, { at: __, ...now }] = [firstOf(row).job, asJson(job)];
  if (!isDeepStrictEqual(before, now)) throw new RuntimeError("job.conflict", { id: job.id });
  return storedOf(row);
}

const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
