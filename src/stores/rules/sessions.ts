import { RuntimeError } from "../../model/errors.ts";
import { type NodeId, nodeAddress, nodeId, type SessionId } from "../../model/ids.ts";
import { addUsage, NO_USAGE, type Spent, withEstimate } from "../../model/usage.ts";
import { corrupt } from "../rows/faults.ts";
import { blobsOfState } from "../rows/named-blobs.ts";
import { changedPlugins } from "../rows/states.ts";
import type { Booked, NewSession, PluginSnapshot, PluginSnapshots, SessionOptions, StoredSession } from "../store.ts";
import {
  GONE,
  LEDGER,
  type LedgerRow,
  PROFILE,
  type ProfileRow,
  SEGMENT,
  SESSION,
  SESSION_TAG,
  type SessionRow,
  STATE,
  TURN,
} from "../tables.ts";
import { addUser, forkPoint, headId, headOf, type NodePosition, requirePosition, tipOf } from "./graph.ts";
import type { Port } from "./port.ts";
import { all, type Rule } from "./rule.ts";

export function* requireSession(db: Port, id: SessionId): Rule<SessionRow> {
  const session = yield* db.session(id);
  if (session === undefined) throw new RuntimeError("session.unknown", { id });
  return session;
}

export function* requireProfile(db: Port, { n, id }: SessionRow): Rule<ProfileRow> {
  const profile = yield* db.get(PROFILE, "key", n);
  if (profile === undefined) throw corrupt(`Session ${id}`, "its configuration is missing");
  return profile;
}

// ── States of plugins ───────────────────────────────────────────────────────────────────────────────────────────────

/** Returns a session's plugin states as of a revision. */
export function* statesOf(db: Port, session: number, revision: number): Rule<PluginSnapshots> {
  if (db.states !== undefined) return yield* db.states(session, revision);
  const latest = new Map<string, PluginSnapshot | null>();
  for (const { plugin, since, body } of yield* db.scan(STATE, "session", [session]))
    if (since <= revision) latest.set(plugin, body);
  return Object.fromEntries([...latest].filter(([, body]) => body !== null)) as PluginSnapshots;
}

/** Stores the changed states under the revision that contains them. */
export function keepStates(
  db: Port,
  session: number,
  since: number,
  before: PluginSnapshots,
  after: PluginSnapshots,
): void {
  const changed = changedPlugins(before, after);
  if (changed.length === 0) return;
  if (db.keepStates !== undefined) return db.keepStates(session, since, after);
  for (const [plugin, body] of changed) db.insert(STATE, { session, plugin, since, body });
}

// ── The ledger ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** Adds to the ledger of a session. `fact` orders new rows. */
export function* addToLedger(db: Port, session: number, spent: readonly Spent[], fact: number): Rule<void> {
  if (spent.length === 0) return;
  if (db.book !== undefined) return db.book(session, spent, fact);
  for (const [at, { source, model, usage, calls }] of spent.entries()) {
    const before = yield* db.get(LEDGER, "key", session, source, model);
    const sum = addUsage(before === undefined ? NO_USAGE : spentOf(before).usage, usage);
    const sums = { ...sum, estimatedInput: sum.estimatedInput ?? 0, estimatedOutput: sum.estimatedOutput ?? 0 };
    if (before !== undefined) db.update(LEDGER, before, { ...sums, calls: before.calls + calls });
    else db.insert(LEDGER, { session, source, model, nth: fact + at / spent.length, calls, ...sums });
  }
}

function spentOf(row: LedgerRow): Spent {
  const { source, model, calls, input, cacheRead, cacheWrite, output, reasoning, unknownCalls } = row;
  const usage = { input, cacheRead, cacheWrite, output, reasoning, unknownCalls };
  return { source, model, usage: withEstimate(usage, row.estimatedInput, row.estimatedOutput), calls };
}

export function* ledgerOf(db: Port, session: number): Rule<readonly Spent[]> {
  return (yield* db.scan(LEDGER, "session", [session])).map(spentOf);
}

/** Returns the spending of a session and its descendants. */
export function* ledgerOfTree(db: Port, root: SessionId): Rule<readonly Booked[]> {
  const tree = [...(yield* treeOf(db, root))].sort((a, b) => (a.id < b.id ? -1 : 1));
  const ledgers = yield* all(tree.map(({ n }) => ledgerOf(db, n)));
  return tree.flatMap(({ id }, at) => ledgers[at]!.map((spent) => ({ sessionId: id, ...spent })));
}

// ── Reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export function* load(db: Port, id: SessionId): Rule<StoredSession | undefined> {
  const session = yield* db.session(id);
  return session && (yield* stored(db, session));
}

export function* stored(db: Port, session: SessionRow): Rule<StoredSession> {
  const { n, id, revision, turns, usage, ownedBy, tags } = session;
  const [profile, plugins, tip, ledger, open] = yield* all([
    requireProfile(db, session),
    statesOf(db, n, revision),
    tipOf(db, session),
    revision === 0 ? undefined : ledgerOf(db, n),
    session.turn === null ? undefined : db.get(TURN, "key", session.turn),
  ]);
  const { parentId, originId, createdAt, config, options } = profile;
  const head = headId(session, tip);
  return {
    id,
    ...(parentId === null ? {} : { parentId }),
    ...(originId === null ? {} : { origin: originOf(originId, profile.originAt) }),
    ...(ownedBy === null ? {} : { owner: ownedBy }),
    ...(tags === null ? {} : { tags }),
    createdAt,
    config,
    revision,
    ...(head === undefined ? {} : { head }),
    plugins,
    ...(options === null ? {} : { options }),
    usage,
    ledger: ledger ?? [],
    turns,
    ...(open === undefined ? {} : { openTurn: open.id }),
  };
}

export function originOf(sessionId: SessionId, at: string | null): NonNullable<StoredSession["origin"]> {
  const address = at === null ? undefined : nodeAddress(at as NodeId);
  return { sessionId, ...(address === undefined ? {} : { at: nodeId(address.commit, address.index) }) };
}

/** Returns the sessions with this parent, this origin, or both. */
export function* related(db: Port, parent?: SessionId, origin?: SessionId): Rule<readonly SessionRow[]> {
  const profiles =
    parent === undefined ? yield* db.scan(PROFILE, "origin", [origin!]) : yield* db.scan(PROFILE, "parent", [parent]);
  const own = profiles.filter(({ originId }) => origin === undefined || originId === origin);
  const sessions = yield* all(own.map(({ session }) => db.get(SESSION, "key", session)));
  return sessions.filter((row) => row !== undefined);
}

/** Returns a session and its descendants. A deleted session still connects its children to the tree. */
export function* treeOf(db: Port, root: SessionId): Rule<readonly SessionRow[]> {
  const first = yield* db.get(SESSION, "id", root);
  const tree = new Map<SessionId, SessionRow>(first === undefined ? [] : [[root, first]]);
  for (let ids: readonly SessionId[] = [root]; ids.length > 0; ) {
    const families = yield* all(ids.map((id) => related(db, id)));
    const children = families.flat().filter(({ id }) => !tree.has(id) && id !== root);
    for (const child of children) tree.set(child.id, child);
    ids = children.map(({ id }) => id);
  }
  return [...tree.values()];
}

/** Returns the ids from the root of the tree to a session, both included. A cycle of parents ends the path. */
export function* pathTo(db: Port, session: number): Rule<readonly SessionId[]> {
  const path = new Set<SessionId>();
  for (let row = yield* db.get(SESSION, "key", session); row !== undefined && !path.has(row.id); ) {
    path.add(row.id);
    const { parentId }: ProfileRow = yield* requireProfile(db, row);
    row = parentId === null ? undefined : yield* db.get(SESSION, "id", parentId);
    if (row === undefined && parentId !== null) path.add(parentId);
  }
  return [...path].reverse();
}

// ── Beginning ───────────────────────────────────────────────────────────────────────────────────────────────────────

export function* create(db: Port, session: NewSession): Rule<StoredSession> {
  const known = yield* db.session(session.id);
  return known === undefined ? yield* add(db, session, undefined) : yield* existingSession(db, known, session);
}

/** The data that a fork copies from its origin. */
interface Forked {
  readonly from: SessionRow;
  readonly place: NodePosition | undefined;
  readonly plugins: PluginSnapshots;
  readonly options: SessionOptions | null;
}

export function* fork(db: Port, from: SessionId, to: NewSession, at: NodeId | undefined): Rule<StoredSession> {
  const known = yield* db.get(SESSION, "id", to.id);
  if (known !== undefined) return yield* existingSession(db, known, to);
  const source = yield* requireSession(db, from); // Locked, so that its history is not deleted meanwhile.
  const place = at === undefined ? undefined : yield* requirePosition(db, at);
  const states =
    place === undefined || at === undefined
      ? { session: source.n, revision: source.revision }
      : yield* forkPoint(db, source, place, at);
  const [plugins, { options }] = yield* all([
    statesOf(db, states.session, states.revision),
    requireProfile(db, source),
  ]);
  return yield* add(db, to, { from: source, place: place ?? headOf(source), plugins, options });
}

function* add(db: Port, session: NewSession, fork: Forked | undefined): Rule<StoredSession> {
  const { id, parentId = null, at: createdAt, config } = session;
  const place = fork?.place;
  const [gone, tip, parent] = yield* all([
    db.get(GONE, "key", id),
    place === undefined ? undefined : db.get(SEGMENT, "key", place.segment),
    parentId === null ? undefined : db.get(SESSION, "id", parentId),
  ]);
  if (gone !== undefined) throw new RuntimeError("session.deleted", { id });
  const inLists = listColumns(session, fork?.from ?? parent);
  const head = { head: place?.segment ?? null, headIndex: place?.index ?? null };
  const idle = {
    generation: 0,
    turn: null,
    owner: null,
    process: null,
    until: 0,
    written: 0,
    wake: null,
    parked: null,
  };
  const row = yield* addSession(db, { id, revision: 0, turns: 0, ...head, usage: NO_USAGE, ...idle, ...inLists });
  // Another process created the session first, or deleted it.
  if (row === undefined) return yield* existingSession(db, yield* requireSession(db, id), session);
  const given = session.options ?? fork?.options ?? null;
  const options = given === null || Object.keys(given).length === 0 ? null : given;
  const originAt = tip === undefined || place === undefined ? null : nodeId(tip.name, place.index);
  db.insert(PROFILE, {
    session: row.n,
    parentId,
    originId: fork?.from.id ?? null,
    originAt,
    createdAt,
    config,
    options,
  });
  const { ownedBy, tags, activity } = row;
  for (const tag of tags ?? []) db.insert(SESSION_TAG, { session: row.n, tag, ownedBy, activity });
  yield* db.keepBlobs(Object.values(session.plugins ?? {}).flatMap(blobsOfState));
  keepStates(db, row.n, 0, {}, { ...fork?.plugins, ...session.plugins });
  if (place !== undefined) yield* addUser(db, place.segment);
  return yield* stored(db, row);
}

/** A child and a fork have the owner and the tags of the session that they come from. */
function listColumns({ owner, tags = [], at }: NewSession, from: SessionRow | undefined) {
  const ownedBy = from?.ownedBy ?? owner ?? null;
  const all = [...new Set([...(from?.tags ?? []), ...tags])];
  return { ownedBy, tags: all.length === 0 ? null : all, activity: at, words: null };
}

function* addSession(db: Port, row: Omit<SessionRow, "n">): Rule<SessionRow | undefined> {
  return yield* db.addOnce === undefined ? db.add(SESSION, row) : db.addOnce(SESSION, "id", row);
}

/** Returns an existing session, or throws if it had to be new. A retry may find the session that it made itself. */
function* existingSession(db: Port, row: SessionRow, { id, isNew, at }: NewSession): Rule<StoredSession> {
  const session = yield* stored(db, row);
  const isOwn = db.attempt > 1 && session.createdAt === at && session.revision === 0;
  if (isNew === true && !isOwn) throw new RuntimeError("session.exists", { id });
  return session;
}

export function* setOptions(db: Port, id: SessionId, given: SessionOptions): Rule<SessionOptions> {
  const session = yield* requireSession(db, id);
  const profile = yield* requireProfile(db, session);
  const all = { ...profile.options, ...given };
  db.update(PROFILE, profile, { options: Object.keys(all).length === 0 ? null : all });
  return all;
}
