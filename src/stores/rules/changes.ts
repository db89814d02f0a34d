import { RuntimeError } from "../../model/errors.ts";
import { nodeId } from "../../model/ids.ts";
import { addUsage, totalOf } from "../../model/usage.ts";
import { contentOf } from "../rows/content.ts";
import type { ChangeAnswer, Committed, SessionChange } from "../store.ts";
import { OPERATION, PROFILE, SESSION, type SessionRow, TURN } from "../tables.ts";
import { cursorOf } from "./cursors.ts";
import { moveInLists } from "./directory.ts";
import { appendSegment, headOf, isNamed, isOnPath, tipOf } from "./graph.ts";
import { addAppend, appendRow, requireRoom } from "./inputs.ts";
import { spawnAll } from "./jobs/spawn.ts";
import { appliedOf, forgetNotes, hasPart, keepParts, operationRow, receiptIn } from "./operations.ts";
import type { Port } from "./port.ts";
import { all, type Rule } from "./rule.ts";
import { addToLedger, keepStates, requireProfile, requireSession, statesOf } from "./sessions.ts";

/** Applies a change between turns: whole or not at all. */
export function* apply(db: Port, change: SessionChange): Rule<ChangeAnswer> {
  const session = yield* requireSession(db, change.sessionId);
  const { operation, by, base, requires, queueMax, entries = [], plugins, receipt, parts, spawns } = change;
  const content = contentOf(change);
  const [before, queued] = yield* all([operationRow(db, session.n, operation), appendRow(db, operation)]);
  if (before !== undefined) {
    if (before.hash !== content) throw conflict(operation);
    return appliedOf(before).committed;
  }
  if (queued !== undefined) {
    if (queued.hash !== content || queued.session !== session.n) throw conflict(operation);
    return { kind: "queued" };
  }
  if (session.turn !== null && queueMax === undefined) return { kind: "busy" };
  const stale = { kind: "stale", revision: session.revision } as const;
  if (by === "append" && (yield* hasPart(db, session.n, operation))) return stale;
  if (base !== undefined && base !== session.revision) return stale;
  if (requires !== undefined && !(yield* isOnPath(db, headOf(session), requires))) return stale;
  yield* db.keepNamed(() => JSON.stringify([entries, plugins, receipt, parts, spawns]));
  if (session.turn === null) {
    const { committed } = yield* applyChange(db, session, change, content);
    db.hint({ kind: "session", sessionId: session.id, what: "fact" });
    return committed;
  }
  // A commit applies this append later and must not fail because of its name.
  const [isTaken, waiting] = yield* all([isNamed(db, operation), db.count(TURN, "waiting", session.n)]);
  if (isTaken) throw conflict(operation);
  requireRoom(waiting, queueMax!);
  yield* addAppend(db, session.n, change, content);
  db.hint({ kind: "session", sessionId: session.id, what: "input" });
  return { kind: "queued" };
}

const conflict = (operation: string): RuntimeError => new RuntimeError("append.conflict", { operation });

/** Makes a change of a session that has no open turn. */
export function* applyChange(
  db: Port,
  session: SessionRow,
  change: SessionChange,
  hash: string,
): Rule<{ readonly committed: Committed; readonly session: SessionRow }> {
  const { operation, plugins, config, spent = [], by, receipt, parts = [], spawns = [], entries = [] } = change;
  const { n } = session;
  // A node id contains the name of its operation. The same name in another session would give two nodes one id.
  const [isTaken, tip, states, profile] = yield* all([
    entries.length === 0 ? undefined : isNamed(db, operation),
    tipOf(db, session),
    plugins === undefined ? undefined : statesOf(db, n, session.revision),
    config === undefined ? undefined : requireProfile(db, session),
  ]);
  if (isTaken === true) throw conflict(operation);
  yield* forgetNotes(db, n, [operation]);
  yield* keepParts(db, n, parts);
  yield* spawnAll(db, spawns, change.at);
  // The row is added first, because the segment uses its number. Its receipt is known only after the fact is numbered.
  const row = yield* db.add(OPERATION, { session: n, name: operation, hash, committed: null });
  const fact = yield* db.fact(n, "applied", row.n);
  const own = { n: row.n, name: operation, depth: (tip?.depth ?? -1) + 1, isNamed: true, isBranch: false };
  const place = entries.length === 0 ? headOf(session) : appendSegment(db, own, session, headOf(session), entries);
  const revision = session.revision + 1;
  const after = states && { ...states, ...plugins };
  if (states !== undefined && after !== undefined) keepStates(db, n, revision, states, after);
  db.moved?.(n, session.revision, revision, after);
  yield* addToLedger(db, n, spent, fact);
  if (profile !== undefined) db.update(PROFILE, profile, { config: config! });
  const moved = db.update(SESSION, session, {
    ...{ revision, head: place?.segment ?? null, headIndex: place?.index ?? null },
    usage: addUsage(session.usage, totalOf(spent)),
    ...moveInLists(db, session, change.at),
  });
  const name = entries.length === 0 ? tip?.name : operation;
  const committed: Committed = {
    kind: "committed",
    revision,
    ...(place === undefined || name === undefined ? {} : { head: nodeId(name, place.index) }),
    cursor: cursorOf(fact),
  };
  db.update(OPERATION, row, { committed: receiptIn(committed, { at: change.at, by, receipt }) });
  return { committed, session: moved };
}
