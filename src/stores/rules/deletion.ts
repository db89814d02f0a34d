import type { SessionId } from "../../model/ids.ts";
import {
  ATTEMPT,
  GONE,
  JOURNAL,
  LEDGER,
  NOTE,
  OPERATION,
  OPERATION_NOTE,
  PROFILE,
  SEGMENT,
  SESSION,
  SESSION_TAG,
  TURN,
  WAIT,
} from "../tables.ts";
import { forgetStates, removeUser } from "./graph.ts";
import { forgetJobsOf } from "./jobs/ends.ts";
import { forgetTriggersOf } from "./occurrences.ts";
import type { Port } from "./port.ts";
import type { Rule } from "./rule.ts";

/** Deletes a session. Its id is never used again. Forks keep the shared history. */
export function* deleteSession(db: Port, id: SessionId): Rule<void> {
  const session = yield* db.session(id);
  if (session === undefined) return;
  const { n } = session;
  yield* forgetTriggersOf(db, n);
  yield* forgetJobsOf(db, n);
  const branches = yield* db.scan(SEGMENT, "branch", [n]);
  yield* nameSegments(db, n);
  db.insert(GONE, { id });
  db.remove(SESSION, session);
  if (session.turn !== null) for (const table of [NOTE, ATTEMPT]) db.removeAll(table, "turn", session.turn);
  for (const table of [OPERATION, OPERATION_NOTE, LEDGER, WAIT, TURN, JOURNAL, SESSION_TAG])
    db.removeAll(table, "session", n);
  db.removeAll(PROFILE, "key", n);
  if (session.head !== null) yield* removeUser(db, session.head);
  for (const branch of branches) yield* removeUser(db, branch.n);
  yield* forgetStates(db, n);
}

/** Gives segments names that forks can find after the turns of the deleted session are gone. */
function* nameSegments(db: Port, session: number): Rule<void> {
  if (db.nameSegments !== undefined) return db.nameSegments(session);
  for (const { n } of yield* db.scan(TURN, "session", [session])) {
    const segment = yield* db.get(SEGMENT, "key", n);
    if (segment !== undefined) db.update(SEGMENT, segment, { isNamed: true });
  }
}
