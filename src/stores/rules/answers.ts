import type { WaitId, WaitKey } from "../../model/ids.ts";
import { type WaitAnswer, waitIdOf } from "../../model/wait.ts";
import { corrupt } from "../rows/faults.ts";
import type { Store } from "../store.ts";
import { type SessionRow, WAIT, type WaitRow } from "../tables.ts";
import { jobResolved } from "./jobs/send.ts";
import { wakeTurn } from "./parked.ts";
import type { Port } from "./port.ts";
import type { Rule } from "./rule.ts";
import { askedAs, isAnswered, itemOf } from "./waits.ts";

type Resolved = Awaited<ReturnType<Store["waits"]["resolve"]>>;

export function* resolve(db: Port, key: WaitKey, answer: WaitAnswer, now: number): Rule<Resolved> {
  const found = yield* lockedWait(db, waitIdOf(key));
  if (found === undefined || found.row.key !== key) return { said: "unknown" };
  const { row, session } = found;
  if (row.answer?.kind === "revoked" || (row.isTurns && answer.kind === "value")) return { said: "unknown" };
  const whose = row.job === null ? { sessionId: session.id } : { jobId: row.job };
  if (row.job === null && session.turn !== row.turn) throw corrupt(itemOf(row), "its turn is not open");
  if (yield* isAnswered(db, row)) return { said: "already-resolved", ...whose };
  if (answer.kind === "value" && now >= row.until) return { said: "expired", ...whose };
  const nth = row.job === null ? 1 + (yield* latestAnswer(db, row.turn)) : null;
  if (row.job !== null) yield* jobResolved(db, row.job, row.id, answer, now);
  const answered = askedAs(row) === null ? null : yield* db.fact(row.session, "answered", row.n);
  db.update(WAIT, row, { answer, answered, nth });
  if (row.job === null) wakeTurn(db, session, row.turn, row.id);
  db.hint({ kind: "session", sessionId: session.id, what: "resolved" });
  return { said: "accepted", ...whose };
}

/**
 * Returns a wait with its session, which is locked. Reads the wait again, because its job may move to another session
 * before the lock is taken.
 */
function* lockedWait(db: Port, id: WaitId): Rule<{ readonly row: WaitRow; readonly session: SessionRow } | undefined> {
  for (;;) {
    const before = yield* db.get(WAIT, "id", id);
    const session = before && (yield* db.sessionOf(before.session));
    const row = session && (yield* db.get(WAIT, "id", id));
    if (row === undefined || session === undefined) return undefined;
    if (row.session === session.n) return { row, session };
  }
}

/** Returns the order number of the latest answer to a turn. */
function* latestAnswer(db: Port, turn: number): Rule<number> {
  if (db.latestAnswer !== undefined) return yield* db.latestAnswer(turn);
  // Another wait of the turn may be damaged. That must not prevent an answer to this one.
  const rows = yield* db.scan(WAIT, "turn", [turn], { damage: [] });
  return rows.reduce((last, { nth }) => Math.max(last, nth ?? 0), 0);
}
