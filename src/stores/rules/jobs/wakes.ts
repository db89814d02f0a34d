import type { InputId, JobId } from "../../../model/ids.ts";
import type { JobWrites, NewInput } from "../../store.ts";
import { JOB, type SessionRow } from "../../tables.ts";
import { inputBefore } from "../inputs.ts";
import type { Port } from "../port.ts";
import { all, type Rule } from "../rule.ts";
import type { JobDraft } from "./draft.ts";

/** A job wakes its session with inputs, which the same write accepts. */

export type Wakes = Pick<JobWrites, "wakes" | "wakesMax">;

/** Locks the session of a job. The rule locks the job next and must check that the job has not moved. */
export function* lockSessionOf(db: Port, id: JobId): Rule<SessionRow | undefined> {
  const row = yield* db.get(JOB, "id", id);
  return row && (yield* db.sessionOf(row.session));
}

/** Records the inputs as events of the job, and returns those that the rule must accept. */
export function* wakeSession(
  db: Port,
  draft: JobDraft,
  session: SessionRow | undefined,
  { wakes = [], wakesMax = Infinity }: Wakes,
  now: number,
): Rule<readonly NewInput[]> {
  if (session === undefined || wakes.length === 0) return [];
  const inputs = wakes.map((input) => ({ ...input, sessionId: session.id }));
  const known = yield* all(inputs.map((input) => inputBefore(db, session.n, input)));
  yield* draft.lookUp(
    db,
    inputs.map(({ id }, at) => keyOf(known[at] ?? id)),
  );
  const accepted: NewInput[] = [];
  for (const [at, input] of inputs.entries()) {
    // An input that exists under this key is the one that was recorded, even if this one differs.
    const before = beforeIn(accepted, input) ?? known[at];
    const inputId = before ?? input.id;
    const key = keyOf(inputId);
    if (draft.eventUnder(key) !== undefined) continue;
    const isFull = before === undefined && draft.moves.wakes >= wakesMax;
    if (!isFull && before === undefined) accepted.push(input);
    draft.add({ key, event: { kind: "woke", inputId, at: now, ...(isFull ? { lost: "full" } : {}) } });
  }
  return accepted;
}

const keyOf = (input: InputId): string => `wake/${input}`;

/** Returns the id of an earlier input of the same write that this one repeats. */
const beforeIn = (inputs: readonly NewInput[], { key, turnId }: NewInput): InputId | undefined =>
  inputs.find((each) => (key !== undefined && each.key === key) || each.turnId === turnId)?.id;
