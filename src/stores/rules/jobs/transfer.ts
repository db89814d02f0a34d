import { RuntimeError } from "../../../model/errors.ts";
import type { JobId, SessionId } from "../../../model/ids.ts";
import { OVER } from "../../rows/job.ts";
import type { StoredJob } from "../../store.ts";
import { GONE, type GoneRow, JOB, type JobRow, SESSION, type SessionRow } from "../../tables.ts";
import type { Numbered, Port } from "../port.ts";
import { all, type Rule } from "../rule.ts";
import { moveWaits } from "../waits.ts";
import { JobDraft } from "./draft.ts";
import { firstOf, toStoredJob } from "./events.ts";

/** Hands jobs over to another session, all or none. Jobs that the session already has are unchanged. */
export function* transferJobs(
  db: Port,
  from: SessionId,
  to: SessionId,
  ids: readonly JobId[],
  now: number,
): Rule<Numbered<readonly StoredJob[]>> {
  const unique = [...new Set(ids)];
  db.lock({ sessions: [from, to] });
  db.lock({ jobs: unique });
  const [ends, found] = yield* all([
    all([from, to].map((id) => all([db.get(SESSION, "id", id), db.get(GONE, "key", id)]))),
    all(unique.map((id) => db.get(JOB, "id", id))),
  ]);
  const [source, target] = [requireThere(from, ...ends[0]!), requireThere(to, ...ends[1]!)];
  const drafts = unique.map((id, at) => new JobDraft(requireJob(id, found[at]), [], []));
  const moving = drafts.filter(({ before }) => before.session !== target);
  for (const { before } of moving) requireMovable(before, source, from);
  const [keys, firsts] = yield* all([
    all(moving.map((draft) => draft.freeKey(db, `transferred/${draft.before.seq + 1}`))),
    all(drafts.map(({ before }) => firstOf(db, before))),
  ]);
  for (const [at, draft] of moving.entries()) {
    draft.add({ key: keys[at]!, event: { kind: "transferred", to, at: now } });
    draft.change({ session: target });
  }
  yield* all(moving.map(({ before }) => moveWaits(db, before.id, target)));
  for (const draft of moving) draft.write(db);
  return (changed) => {
    const jobs = new Map(
      drafts.map(({ stored: row }, at) => [row.id, toStoredJob(row, firsts[at]!, changed(row))] as const),
    );
    return ids.map((id) => jobs.get(id)!);
  };
}

/** Returns the number of a session. Throws if it is missing or deleted. */
function requireThere(id: SessionId, row: SessionRow | undefined, gone: GoneRow | undefined): number {
  if (gone !== undefined) throw new RuntimeError("session.deleted", { id });
  if (row === undefined) throw new RuntimeError("session.unknown", { id });
  return row.n;
}

function requireJob(id: JobId, row: JobRow | undefined): JobRow {
  if (row === undefined) throw new RuntimeError("job.unknown", { id });
  return row;
}

function requireMovable({ id, session, state, moves }: JobRow, source: number, from: SessionId): void {
  if (session !== source) throw new RuntimeError("job.foreign", { id, session: from });
  if (state === OVER) throw new RuntimeError("job.over", { id, state: moves.state });
}
