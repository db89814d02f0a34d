import { RuntimeError } from "../../model/errors.ts";
import type { TurnId } from "../../model/ids.ts";
import type { ListedSession, SessionState, Store } from "../store.ts";
import { SESSION, SESSION_TAG, type SessionRow, type SessionTagRow, TURN } from "../tables.ts";
import type { Port, ScanOptions } from "./port.ts";
import { all, type Rule } from "./rule.ts";
import { ledgerOf, originOf, related, requireProfile } from "./sessions.ts";

/**
 * Lists of sessions. A list by activity reads a page of one index, with or without an owner and a tag. The other orders
 * sort the sessions of the owner or of the tag. Few sessions have an open turn, so a list by state sorts those.
 */

type Page = NonNullable<Parameters<Store["list"]>[0]>;

/** A filtered list reads rows in slices, because it may skip some of them. */
const SLICE = 200;

export function* listSessions(db: Port, page: Page): Rule<readonly ListedSession[]> {
  const time = page.now === undefined ? undefined : yield* db.now(page.now);
  const found = yield* sessionsOf(db, page, time);
  return yield* all(found.map((row) => listed(db, row, page, time)));
}

/** Adds to the activity of a session. Returns the changed columns of its row; its tags are rewritten here. */
export function moveInLists(db: Port, { n, tags, ownedBy, activity }: SessionRow, at: number): { activity: number } {
  const moved = Math.max(activity, at);
  if (tags !== null && moved !== activity) {
    db.removeAll(SESSION_TAG, "session", n);
    for (const tag of tags) db.insert(SESSION_TAG, { session: n, tag, ownedBy, activity: moved });
  }
  return { activity: moved };
}

// ── One session ─────────────────────────────────────────────────────────────────────────────────────────────────────

function* listed(db: Port, row: SessionRow, { order }: Page, time: number | undefined): Rule<ListedSession> {
  const { n, id, usage, turns, ownedBy, tags, activity, words } = row;
  const [profile, ledger, open] = yield* all([
    requireProfile(db, row),
    row.revision === 0 ? undefined : ledgerOf(db, n),
    row.turn === null ? undefined : db.get(TURN, "key", row.turn),
  ]);
  const { parentId, originId, createdAt, config } = profile;
  return {
    id,
    ...(parentId === null ? {} : { parentId }),
    ...(originId === null ? {} : { origin: originOf(originId, profile.originAt) }),
    ...(ownedBy === null ? {} : { owner: ownedBy }),
    ...(tags === null ? {} : { tags }),
    createdAt,
    activeAt: Math.max(activity, createdAt),
    config,
    usage,
    ledger: ledger ?? [],
    turns,
    state: stateOf(db, row, time),
    ...(words === null ? {} : { words }),
    ...(open === undefined ? {} : { openTurn: open.id as TurnId }),
    cursor: order === "activity" ? `${activity}.${n}` : order === "created" ? String(n) : id,
  };
}

/** Without a time, every lease counts as valid. */
function stateOf(db: Port, { turn, wake, until, process }: SessionRow, time: number | undefined): SessionState {
  if (turn === null) return "idle";
  if (wake !== null) return "waiting";
  const isLost = (time !== undefined && until <= time) || (process !== null && db.isDead(process));
  return isLost ? "interrupted" : "running";
}

// ── Finding ─────────────────────────────────────────────────────────────────────────────────────────────────────────

function* sessionsOf(db: Port, page: Page, time: number | undefined): Rule<readonly SessionRow[]> {
  const { max = Infinity, state, order = "id" } = page;
  positionOf(page); // Throws for a wrong cursor, also if nothing is found.
  if (max <= 0) return [];
  const some = yield* few(db, page);
  if (some !== undefined) {
    const rows = some.filter((row) => isMeant(db, row, page, time));
    return rows
      .toSorted((a, b) => compare(a, b, order))
      .filter((row) => isAfter(row, page))
      .slice(0, max);
  }
  const found: SessionRow[] = [];
  for (let from = boundsOf(page); found.length < max; ) {
    const size = state === undefined ? max : SLICE;
    const rows = yield* slice(db, page, { ...from, max: size });
    found.push(...rows.filter((row) => isMeant(db, row, page, time)));
    const last = rows.at(-1);
    if (last === undefined || rows.length < size) break;
    from = order === "id" ? { above: last.id } : upTo(order, last.activity, last.n);
  }
  return found.slice(0, max);
}

/** Returns a superset of the sessions, unless the index of the order can give them page by page. */
function* few(db: Port, page: Page): Rule<readonly SessionRow[] | undefined> {
  const { id, owner, parent, origin, state, tag, order = "id" } = page;
  if (id !== undefined) {
    const row = yield* db.get(SESSION, "id", id);
    return row === undefined ? [] : [row];
  }
  if (parent !== undefined || origin !== undefined) return yield* related(db, parent, origin);
  if (state === "waiting") return yield* db.scan(SESSION, "wake", []);
  if (state === "running" || state === "interrupted") return yield* db.scan(SESSION, "open", []);
  if (order === "activity" || (owner === undefined && tag === undefined)) return undefined;
  return yield* slice(db, { ...page, order: "activity" }, {});
}

/** Returns a page of the sessions of an owner, a tag or both by activity, or of all sessions in any order. */
function* slice(db: Port, { owner, tag, order = "id" }: Page, options: ScanOptions): Rule<readonly SessionRow[]> {
  const paged = order === "id" ? options : { ...options, isDescending: true };
  if (tag !== undefined && owner !== undefined)
    return yield* sessionsIn(db, yield* db.scan(SESSION_TAG, "ownedActive", [owner, tag], paged));
  if (tag !== undefined) return yield* sessionsIn(db, yield* db.scan(SESSION_TAG, "active", [tag], paged));
  if (owner !== undefined) return yield* db.scan(SESSION, "ownedActive", [owner], paged);
  return yield* db.scan(SESSION, INDEX_OF[order], [], paged);
}
const INDEX_OF = { id: "ids", created: "numbers", activity: "active" } as const;

function* sessionsIn(db: Port, tags: readonly SessionTagRow[]): Rule<readonly SessionRow[]> {
  const sessions = yield* all(tags.map(({ session }) => db.get(SESSION, "key", session)));
  return sessions.filter((row) => row !== undefined);
}

function isMeant(db: Port, row: SessionRow, { owner, tag, state }: Page, time: number | undefined): boolean {
  if (owner !== undefined && row.ownedBy !== owner) return false;
  if (tag !== undefined && row.tags?.includes(tag) !== true) return false;
  return state === undefined || stateOf(db, row, time) === state;
}

// ── Orders and cursors ──────────────────────────────────────────────────────────────────────────────────────────────

type Order = NonNullable<Page["order"]>;

function compare(a: SessionRow, b: SessionRow, order: Order): number {
  if (order === "id") return a.id < b.id ? -1 : 1;
  return (order === "activity" ? b.activity - a.activity : 0) || b.n - a.n;
}

const upTo = (order: Order, activity: number, n: number): ScanOptions =>
  order === "created" ? { upTo: n - 1 } : { upTo: activity, upToNext: n - 1 };

/** The position of a cursor: the activity and the number of the last session of the page before. */
function positionOf({ order = "id", before }: Page): { readonly activity: number; readonly n: number } | undefined {
  if (before === undefined || order === "id") return undefined;
  const [, activity, n] =
    (order === "created" ? /^()(\d{1,15})$/ : /^(\d{1,15}(?:\.\d{1,15})?)\.(\d{1,15})$/).exec(before) ?? [];
  if (n === undefined) throw new RuntimeError("cursor.unknown", { cursor: before.slice(0, 80) });
  return { activity: Number(activity), n: Number(n) };
}

function boundsOf(page: Page): ScanOptions {
  if ((page.order ?? "id") === "id") return page.after === undefined ? {} : { above: page.after };
  const position = positionOf(page);
  return position === undefined ? {} : upTo(page.order!, position.activity, position.n);
}

/** Whether a row comes after the page before. */
function isAfter(row: SessionRow, page: Page): boolean {
  if ((page.order ?? "id") === "id") return page.after === undefined || row.id > page.after;
  const position = positionOf(page);
  if (position === undefined) return true;
  return compare(row, { ...row, ...position }, page.order!) > 0;
}
