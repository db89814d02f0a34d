import type { JobId, WaitId } from "../../../model/ids.ts";
import type { WaitAnswer } from "../../../model/wait.ts";
import { corrupt } from "../../rows/faults.ts";
import { EXTERNAL, OVER } from "../../rows/job.ts";
import type { JobSent, KeyedEvent } from "../../store.ts";
import { WAIT } from "../../tables.ts";
import { acceptWaiting } from "../inputs.ts";
import type { Numbered, Port } from "../port.ts";
import { all, type Rule } from "../rule.ts";
import { draftOf, type JobDraft, mayAffectOthers } from "./draft.ts";
import { endCancelled, writeAll } from "./ends.ts";
import { requireSpawned, toStoredJob } from "./events.ts";
import { isUnattended, readOwners } from "./owners.ts";
import { lockSessionOf, type Wakes, wakeSession } from "./wakes.ts";

/** Sends an event to a job from outside its holder. */

export function* sendToJob(
  db: Port,
  id: JobId,
  sent: KeyedEvent,
  now: number,
  more: Wakes = {},
): Rule<Numbered<JobSent>> {
  const isTelling = more.wakes !== undefined && more.wakes.length > 0;
  const session = isTelling ? yield* lockSessionOf(db, id) : undefined;
  db.lock(mayAffectOthers(sent.event) ? { endings: [id] } : { jobs: [id] });
  const [draft, owners] = yield* all([
    draftOf(db, id, ["spawned", "end", sent.key]),
    sent.event.kind === "cancelling" ? readOwners(db, now) : undefined,
  ]);
  if (draft === undefined) return () => ({ said: "unknown" });
  if (isTelling && session?.n !== draft.before.session) db.startOver?.();
  const first = requireSpawned(id, draft.eventUnder("spawned")?.event);
  const said = refusal(db, draft, sent);
  if (said === undefined) {
    yield* db.keepNamed(() => JSON.stringify([sent.event]));
    db.tried.set(SENT, draft.add(sent).seq);
    if (owners !== undefined && isUnattended(db, draft.before, owners)) yield* endCancelled(db, draft, now);
    draft.wake();
    const inputs = yield* wakeSession(db, draft, session, more, now);
    yield* writeAll(db, [draft], now);
    db.hint({ kind: "jobs" });
    for (const input of inputs) yield* acceptWaiting(db, session!, input);
  }
  return (changed) => ({ said: said ?? "accepted", job: toStoredJob(draft.stored, first, changed(draft.stored)) });
}

const SENT = "sent";

/** Returns why an event is not written. */
function refusal(db: Port, draft: JobDraft, { key, event }: KeyedEvent): JobSent["said"] | undefined {
  const there = draft.eventUnder(key);
  // An earlier attempt may have been kept. The sender then gets the answer of that attempt.
  if (there !== undefined) return db.attempt > 1 && db.tried.get(SENT) === there.seq ? "accepted" : "known";
  if (draft.state === OVER) return "over";
  const isFree = event.kind === "signalled" || event.kind === "cancelling";
  const isOfExternal = event.kind === "transitioned" || event.kind === "ended";
  return isFree || (isOfExternal && draft.before.recovery === EXTERNAL) ? undefined : "bound";
}

/** Records that a wait of a job was answered. Its session is locked; a rule calls this before it numbers the fact. */
export function* jobResolved(db: Port, job: JobId, wait: WaitId, answer: WaitAnswer, now: number): Rule<void> {
  const key = `wait/${wait}`;
  db.lock({ jobs: [job] });
  const [draft, open] = yield* all([draftOf(db, job, [key]), db.get(WAIT, "id", wait)]);
  if (open === undefined) db.startOver?.(); // The job ended before it was locked.
  if (draft === undefined) throw corrupt(`The wait ${wait}`, "its job is missing");
  draft.add({ key: yield* draft.freeKey(db, key), event: { kind: "resolved", wait, answer, at: now } });
  draft.wake();
  draft.write(db);
  db.hint({ kind: "jobs" });
}
