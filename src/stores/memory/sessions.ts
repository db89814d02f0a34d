import { RuntimeError } from "../../model/errors.ts";
import type { SessionId } from "../../model/ids.ts";
import { NO_USAGE } from "../../model/usage.ts";
import type { NewSession, PluginSnapshots, SessionOptions, Standing, StoredSession } from "../store.ts";
import { hasInjected, NOBODY } from "./queue.ts";
import type { Place, SessionRow } from "./rows.ts";

/** All sessions, by id and in order, and the ids that must not be used again. */
export class Sessions {
  readonly #rows = new Map<SessionId, SessionRow>();
  readonly byId: ReadonlyMap<SessionId, SessionRow> = this.#rows;
  readonly #deleted = new Set<SessionId>();
  readonly #children: Groups = new Map();
  readonly #forks: Groups = new Map();
  /** Ids mostly arrive in order; when one does not, the next page sorts. */
  readonly #ids: SessionId[] = [];
  #isSorted = true;

  /** How many were deleted. */
  get gone(): number {
    return this.#deleted.size;
  }

  require(id: SessionId): SessionRow {
    const row = this.#rows.get(id);
    if (row === undefined) throw new RuntimeError("session.unknown", { id });
    return row;
  }

  /** As `require`, with an error of its own for one that was deleted. */
  requireLasting(id: SessionId): SessionRow {
    if (this.#deleted.has(id)) throw new RuntimeError("session.deleted", { id });
    return this.require(id);
  }

  add(row: SessionRow): SessionRow {
    if (this.#deleted.has(row.id)) throw new RuntimeError("session.deleted", { id: row.id });
    const last = this.#ids.at(-1);
    if (last !== undefined && row.id < last) this.#isSorted = false;
    this.#ids.push(row.id);
    this.#rows.set(row.id, row);
    if (row.parentId !== undefined) join(this.#children, row.parentId, row);
    if (row.origin !== undefined) join(this.#forks, row.origin.sessionId, row);
    return row;
  }

  delete(id: SessionId): void {
    const row = this.require(id);
    if (row.parentId !== undefined) leave(this.#children, row.parentId, row);
    if (row.origin !== undefined) leave(this.#forks, row.origin.sessionId, row);
    this.#rows.delete(id);
    this.#deleted.add(id);
    this.#sort();
    this.#ids.splice(this.#firstAfter(id) - 1, 1);
  }

  after(id: SessionId | undefined, max: number): readonly SessionRow[] {
    this.#sort();
    const first = id === undefined ? 0 : this.#firstAfter(id);
    return this.#ids.slice(first, first + max).map((each) => this.#rows.get(each)!);
  }

  /** Sessions with this parent, or this origin, or both. */
  related(
    { parent, origin }: { readonly parent?: SessionId; readonly origin?: SessionId },
    after: SessionId | undefined,
    max: number,
  ): readonly SessionRow[] {
    const all = (parent === undefined ? this.#forks.get(origin!) : this.#children.get(parent)) ?? [];
    return [...all]
      .filter(
        (row) => (origin === undefined || row.origin?.sessionId === origin) && (after === undefined || row.id > after),
      )
      .sort(byId)
      .slice(0, max);
  }

  /** A session and all that descend from it, by id. A deleted session still ties its children to the tree. */
  tree(root: SessionId): readonly SessionRow[] {
    const ids = new Set([root]);
    // The loop also visits what it adds.
    for (const id of ids) for (const child of this.#children.get(id) ?? []) ids.add(child.id);
    return [...ids].flatMap((id) => this.#rows.get(id) ?? []).sort(byId);
  }

  #sort(): void {
    if (!this.#isSorted) this.#ids.sort((a, b) => (a < b ? -1 : 1));
    this.#isSorted = true;
  }

  #firstAfter(id: SessionId): number {
    let low = 0;
    let high = this.#ids.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#ids[middle]! <= id) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const byId = (a: SessionRow, b: SessionRow): number => (a.id < b.id ? -1 : 1);

type Groups = Map<SessionId, Set<SessionRow>>;

function join(groups: Groups, id: SessionId, row: SessionRow): void {
  const group = groups.get(id);
  if (group === undefined) groups.set(id, new Set([row]));
  else group.add(row);
}

function leave(groups: Groups, id: SessionId, row: SessionRow): void {
  const group = groups.get(id);
  group?.delete(row);
  if (group?.size === 0) groups.delete(id);
}

/** What a fork takes from its origin. */
export interface Forked {
  readonly from: SessionId;
  readonly place: Place | undefined;
  readonly plugins: PluginSnapshots;
  readonly options: SessionOptions | undefined;
}

// Shared by the many sessions that have none. They are replaced, never changed.
const NO_PLUGINS: PluginSnapshots = {};
const NO_LEDGER: SessionRow["ledger"] = [];

export const newSession = (session: NewSession, fork?: Forked): SessionRow => ({
  id: session.id,
  parentId: session.parentId,
  origin: fork && { sessionId: fork.from, ...(fork.place === undefined ? {} : { at: fork.place.id }) },
  createdAt: session.at,
  config: session.config,
  revision: 0,
  head: fork?.place,
  plugins: fork === undefined && session.plugins === undefined ? NO_PLUGINS : { ...fork?.plugins, ...session.plugins },
  options: session.options === undefined ? fork?.options : optionsOf(session.options),
  usage: NO_USAGE,
  ledger: NO_LEDGER,
  turns: 0,
  operations: undefined,
  appends: undefined,
  parts: undefined,
  notes: undefined,
  generation: 0,
  run: undefined,
  accepted: 0,
  waiting: NOBODY,
  keys: undefined,
  facts: undefined,
  branches: undefined,
  latest: undefined,
  byInput: undefined,
  indexed: undefined,
});

/** Options as they are kept: none instead of empty ones. */
export const optionsOf = (options: SessionOptions): SessionOptions | undefined =>
  Object.keys(options).length === 0 ? undefined : options;

export function standingOf(session: SessionRow): Standing {
  const { plugins, options } = session;
  return {
    plugins,
    ...(options === undefined ? {} : { options }),
    ...(hasInjected(session) ? { hasInjected: true } : {}),
  };
}

/** A session that is there is answered as it is, unless it was to be a new one. */
export function existing(row: SessionRow, { id, isNew }: NewSession): StoredSession {
  if (isNew === true) throw new RuntimeError("session.exists", { id });
  return stored(row);
}

export function stored(row: SessionRow): StoredSession {
  const { id, createdAt, config, revision, plugins, usage, ledger, turns } = row;
  const session: Writable<StoredSession> = { id, createdAt, config, revision, plugins, usage, ledger, turns };
  if (row.parentId !== undefined) session.parentId = row.parentId;
  if (row.origin !== undefined) session.origin = row.origin;
  if (row.head !== undefined) session.head = row.head.id;
  if (row.options !== undefined) session.options = row.options;
  if (row.run !== undefined) session.openTurn = row.run.turn.id;
  return session;
}
type Writable<T> = { -readonly [field in keyof T]: T[field] };
