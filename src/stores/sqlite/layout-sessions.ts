import type { SessionId, WaitId } from "../../model/ids.ts";
import { decodeUsage, type EncodedUsage, encodeUsage, fromKeyText, keyText } from "../rows/codec.ts";
import { corrupt } from "../rows/faults.ts";
import type { SessionOptions } from "../store.ts";
import type { ProfileRow, SessionRow } from "../tables.ts";
import { requireFit, seal, sumOf, unseal } from "./checksum.ts";
import type { Connection } from "./connection.ts";
import type { RowCounts } from "./layout-counts.ts";
import { type Cell, SEQS, type StoredRow } from "./layout-rows.ts";

/**
 * A session is stored in `session`, `config`, `options` and `parked`. The tables SESSION and PROFILE both read and
 * write these.
 *
 * session-1: One checksum covers all columns of `session` that a commit or a lease changes, including those of the
 * profile.
 * session-2: The end of a lease is the later of two: that in `session`, and that in the last row of the journal, which
 * every append writes.
 */

/** The columns of `session` under its checksum (session-1), in the order of the checksum. */
export interface Sealed {
  readonly id: SessionId;
  parent_id: string | null;
  created_at: number;
  revision: number;
  turns: number;
  head: number | null;
  head_index: number | null;
  usage: string;
  origin_id: string | null;
  origin_at: string | null;
  generation: number;
  turn: number | null;
  owner: string | null;
  process: string | null;
  owned_by: string | null;
  tags: string | null;
  activity: number;
  words: string | null;
}
/** A session as this write has left it in the file. */
interface StoredSessionRow extends Sealed {
  readonly n: number;
  seal: number;
  until: number;
  written: number;
  /** The end of the lease in the journal (session-2); null if the journal is empty. */
  renewed: number | null;
  /** Columns of `parked`; null if no turn is parked. */
  parked_turn: number | null;
  wake: number | null;
  waits: string | null;
  parked_seal: number | null;
}

const IN_SEAL = `t.n, t.id, t.parent_id, t.created_at, t.revision, t.turns, t.head, t.head_index, t.usage, t.origin_id,
  t.origin_at, t.seal, t.generation, t.turn, t.owner, t.process, t.owned_by, t.tags, t.activity, t.words`;
export const SESSIONS = `${IN_SEAL}, t.until, t.written, CASE WHEN t.turn IS NULL THEN 0 ELSE (SELECT j.until FROM journal j
    WHERE j.k >= t.n * ${SEQS} AND j.k < (t.n + 1) * ${SEQS} ORDER BY j.k DESC LIMIT 1) END AS renewed,
  p.turn AS parked_turn, p.wake, p.waits, p.seal AS parked_seal`;
export const SESSIONS_FROM = "session t LEFT JOIN parked p ON p.session = t.n";
export const PROFILES = `${IN_SEAL}, c.body AS config, o.body AS options`;
export const PROFILES_FROM = "session t LEFT JOIN config c ON c.session = t.n LEFT JOIN options o ON o.session = t.n";

/** Every open turn has a journal, whose key leads from one open session to the next. */
export const OPEN_SESSIONS = `WITH RECURSIVE open(n) AS (
    SELECT (SELECT k / ${SEQS} FROM journal ORDER BY k LIMIT 1)
    UNION ALL
    SELECT (SELECT k / ${SEQS} FROM journal WHERE k >= (open.n + 1) * ${SEQS} ORDER BY k LIMIT 1) FROM open
      WHERE open.n IS NOT NULL
  ) `;

const identityOf = (row: Sealed) => [
  ...[row.id, row.parent_id, row.created_at, row.revision, row.turns, row.head, row.head_index, row.usage],
];
export function sealOf(row: Sealed): number {
  const { origin_id, origin_at, generation, turn, owner, process, owned_by, tags, activity, words } = row;
  // A session that has not changed since schema 11 has the checksum from before.
  const listed = activity === 0 && owned_by === null && tags === null && words === null;
  const cells = [...identityOf(row), origin_id, origin_at, generation, turn, owner, process];
  if (!listed) cells.push(owned_by, tags, activity, words);
  return sumOf(cells);
}

export function requireSealed(row: Sealed & { readonly seal: number }): void {
  const { origin_id, origin_at } = row;
  if (row.seal === sealOf(row)) return;
  // Before schema 5 the checksum did not contain the lease, nor an origin that was missing.
  const origin = origin_id === null && origin_at === null ? [] : [origin_id, origin_at];
  if (row.seal !== sumOf([...identityOf(row), ...origin]))
    throw corrupt(`Session ${row.id}`, "its checksum does not fit");
}

/** Returns the stored row of SESSION. */
export function sessionIn(row: StoredSessionRow): SessionRow {
  requireSealed(row);
  const { n, parked_turn: turn, wake, waits } = row;
  if (turn !== null) requireFit(row.parked_seal, [n, turn, wake, waits], `The parking of turn ${turn}`);
  return {
    n,
    id: row.id,
    revision: row.revision,
    turns: row.turns,
    head: row.head,
    headIndex: row.head_index,
    usage: decodeUsage(JSON.parse(row.usage) as EncodedUsage),
    generation: row.generation,
    turn: row.turn,
    owner: row.owner,
    process: row.process,
    until: Math.max(row.until, row.renewed ?? 0),
    written: row.written,
    wake,
    parked: waits === null ? null : (JSON.parse(waits) as readonly WaitId[]),
    ownedBy: row.owned_by === null ? null : fromKeyText(row.owned_by),
    tags: row.tags === null ? null : (JSON.parse(row.tags) as readonly string[]),
    activity: row.activity,
    words: row.words === null ? null : fromKeyText(row.words),
  };
}

/** Returns the stored row of PROFILE. */
export function profileIn(
  row: Sealed & { n: number; seal: number; config: string | null; options: string | null },
): ProfileRow {
  requireSealed(row);
  const { n, id, config, options } = row;
  if (config === null) throw corrupt(`Session ${id}`, "its configuration is missing");
  return {
    session: n,
    parentId: row.parent_id as SessionId | null,
    originId: row.origin_id as SessionId | null,
    originAt: row.origin_at === null ? null : fromKeyText(row.origin_at),
    createdAt: row.created_at,
    config: unseal(config, n, `The configuration of session ${id}`),
    options: optionsIn(options, n).options ?? null,
  };
}

export const optionsIn = (body: string | null, session: number): { readonly options?: SessionOptions } =>
  body === null ? {} : { options: unseal(body, optionsSeed(session), `The options of session ${session}`) };

const optionsSeed = (session: number): number => sumOf([session, "options"]);

/** The columns of `session` that SESSION changes. The last two are not under the checksum. */
const CHANGING = [
  ...["revision", "turns", "head", "headIndex", "usage", "generation", "turn", "owner", "process", "activity", "words"],
  ...["until", "written"],
] as readonly (keyof SessionRow & string)[];
const COLUMNS = [
  ...[
    "revision",
    "turns",
    "head",
    "head_index",
    "usage",
    "generation",
    "turn",
    "owner",
    "process",
    "activity",
    "words",
  ],
  ...["until", "written"],
] as readonly (keyof StoredSessionRow & string)[];
const UNSEALED = 0b11 << 11;
/** The mask bit of the row count, after those of the columns. */
const COUNTS = 1 << COLUMNS.length;

const ADD = `INSERT INTO session (id, created_at, revision, turns, head, head_index, usage, seal, own_rows, generation, turn,
    owner, process, until, written, owned_by, tags, activity, words)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const BEGIN = "UPDATE session SET parent_id = ?, origin_id = ?, origin_at = ?, created_at = ?, seal = ? WHERE n = ?";
const FIND = `SELECT ${SESSIONS} FROM ${SESSIONS_FROM} WHERE t.n = ?`;

export class SessionRows {
  readonly #db: Connection;
  readonly #rows: RowCounts;
  /** The sessions that this write has read or added. */
  readonly #cached = new Map<number, StoredSessionRow>();
  readonly #texts = new Map<number, string>();

  constructor(db: Connection, rows: RowCounts) {
    this.#db = db;
    this.#rows = rows;
  }

  clear(): void {
    this.#cached.clear();
  }

  /** Caches a read row: a change needs the columns that a SESSION row does not have. */
  hold(stored: StoredRow): void {
    const row = stored as unknown as StoredSessionRow;
    this.#cached.set(row.n, row);
  }

  #require(n: number): StoredSessionRow {
    const row = this.#cached.get(n) ?? this.#db.row<StoredSessionRow>(FIND, n);
    if (row === undefined) throw corrupt(`Session ${n}`, "it is missing");
    this.#cached.set(n, row);
    return row;
  }

  /** Returns the open turn of a session. */
  turnOf(n: number): number | null {
    const cached = this.#cached.get(n);
    return cached === undefined ? (this.#db.row<{ turn: number | null }>(TURN_OF, n)?.turn ?? null) : cached.turn;
  }

  /** Adds a session. The next call adds its profile and computes the checksum again. */
  add(row: Omit<SessionRow, "n">): SessionRow {
    const { id, revision, turns, head, headIndex, generation, turn, owner, process, until, written } = row;
    const sealed: Sealed = {
      ...{ id, parent_id: null, created_at: 0, revision, turns, head, head_index: headIndex },
      ...{ usage: usageText(row), origin_id: null, origin_at: null, generation, turn, owner, process },
      ...listCells(row),
    };
    const sum = sealOf(sealed);
    const first = [id, 0, revision, turns, head, headIndex, sealed.usage, sum, generation, turn, owner, process];
    const { owned_by, tags, activity, words } = sealed;
    const n = this.#db.insert(ADD, ...first, until, written, owned_by, tags, activity, words)!;
    const unparked = { parked_turn: null, wake: null, waits: null, parked_seal: null };
    this.#cached.set(n, { n, ...sealed, seal: sum, until, written, renewed: 0, ...unparked });
    const added: SessionRow = { n, ...row };
    return row.wake === null ? added : this.update({ ...added, wake: null }, { wake: row.wake, parked: row.parked });
  }

  /** Writes only changed columns. */
  update(row: SessionRow, change: Partial<SessionRow>): SessionRow {
    const stored = this.#require(row.n);
    const cells = stored as unknown as StoredRow;
    const values: Cell[] = [];
    let mask = 0;
    for (let at = 0; at < CHANGING.length; at++) {
      const name = CHANGING[at]!;
      const value = change[name];
      if (value === undefined) continue;
      const cell = cellOf(name, value, change as SessionRow);
      const column = COLUMNS[at]!;
      if (cell === cells[column]) continue;
      cells[column] = cell;
      values.push(cell);
      mask |= 1 << at;
    }
    if (change.wake !== undefined || change.parked !== undefined) this.#park(stored, change);
    // Journal rows also prolong the lease (session-2). Those of an ended turn are about to be removed.
    if (change.until === 0 && stored.turn !== null && stored.renewed !== 0) this.#release(stored);
    if ((mask & ~UNSEALED) !== 0) {
      stored.seal = sealOf(stored);
      values.push(stored.seal);
    }
    const rows = mask === 0 ? 0 : this.#rows.take(row.n);
    if (rows !== 0) {
      mask |= COUNTS;
      values.push(rows);
    }
    if (mask !== 0) this.#db.run(this.#text(mask), ...values, row.n);
    return { ...row, ...change };
  }

  #text(mask: number): string {
    const known = this.#texts.get(mask);
    if (known !== undefined) return known;
    const sets = COLUMNS.flatMap((column, at) => ((mask & (1 << at)) === 0 ? [] : [`${column} = ?`]));
    if ((mask & ~UNSEALED & ~COUNTS) !== 0) sets.push("seal = ?");
    if ((mask & COUNTS) !== 0) sets.push("own_rows = own_rows + ?");
    const text = `UPDATE session SET ${sets.join(", ")} WHERE n = ?`;
    this.#texts.set(mask, text);
    return text;
  }

  #park(stored: StoredSessionRow, { wake = stored.wake, parked }: Partial<SessionRow>): void {
    const { n } = stored;
    if (wake === null) {
      if (stored.wake !== null) this.#rows.change(n, -this.#db.run("DELETE FROM parked WHERE session = ?", n));
      Object.assign(stored, { parked_turn: null, wake: null, waits: null });
      return;
    }
    const waits = parked === undefined ? (stored.waits ?? "[]") : JSON.stringify(parked ?? []);
    const turn = stored.turn!;
    this.#db.run("REPLACE INTO parked VALUES (?, ?, ?, ?, ?)", n, turn, wake, waits, sumOf([n, turn, wake, waits]));
    if (stored.wake === null) this.#rows.change(n, 1);
    Object.assign(stored, { parked_turn: turn, wake, waits });
  }

  #release(stored: StoredSessionRow): void {
    const start = stored.n * SEQS;
    this.#db.run("UPDATE journal SET until = 0 WHERE k >= ? AND k < ? AND until > 0", start, start + SEQS);
    stored.renewed = 0;
  }

  /** Removes a session with its profile, its parking and its followers. */
  remove(n: number): void {
    for (const sql of REMOVALS) this.#db.run(sql, n);
    this.#cached.delete(n);
    this.#rows.forget(n);
  }

  // ── Profiles ──────────────────────────────────────────────────────────────────────────────────────────────────────

  addProfile(row: ProfileRow): void {
    const { session: n, parentId, originId, originAt, createdAt, config, options } = row;
    const stored = this.#require(n);
    stored.parent_id = parentId;
    stored.origin_id = originId;
    stored.origin_at = originAt === null ? null : keyText(originAt);
    stored.created_at = createdAt;
    stored.seal = sealOf(stored);
    this.#db.run(BEGIN, stored.parent_id, stored.origin_id, stored.origin_at, createdAt, stored.seal, n);
    this.#db.run("INSERT INTO config (session, body) VALUES (?, ?)", n, seal(config, n));
    if (options !== null) this.#keepOptions(n, options);
  }

  updateProfile(row: ProfileRow, change: Partial<ProfileRow>): ProfileRow {
    const { config, options, ...others } = change;
    if (Object.keys(others).length > 0) throw new Error("What a session began with never changes.");
    const { session: n } = row;
    if (config !== undefined) this.#db.run("UPDATE config SET body = ? WHERE session = ?", seal(config, n), n);
    if (options !== undefined) this.#keepOptions(n, options ?? {});
    return { ...row, ...change };
  }

  removeProfile(n: number): void {
    this.#db.run("DELETE FROM config WHERE session = ?", n);
    this.#keepOptions(n, {});
  }

  /** Most sessions have no options, and then no row. */
  #keepOptions(n: number, options: SessionOptions): void {
    const before = this.#db.run("DELETE FROM options WHERE session = ?", n);
    const isEmpty = Object.keys(options).length === 0;
    if (!isEmpty) this.#db.run("INSERT INTO options VALUES (?, ?)", n, seal(options, optionsSeed(n)));
    this.#rows.change(n, (isEmpty ? 0 : 1) - before);
  }
}

const TURN_OF = "SELECT turn FROM session WHERE n = ?";
const REMOVALS: readonly string[] = [
  "DELETE FROM session WHERE n = ?",
  ...["config", "options", "parked", "preview", "follower"].map((table) => `DELETE FROM ${table} WHERE session = ?`),
];

const nameText = (text: string | null): string | null => (text === null ? null : keyText(text));

/** The columns that only lists of sessions read. */
const listCells = ({ ownedBy, tags, activity, words }: Omit<SessionRow, "n">) => ({
  owned_by: nameText(ownedBy),
  tags: tags === null ? null : JSON.stringify(tags),
  activity,
  words: nameText(words),
});

function cellOf(name: string, value: unknown, change: SessionRow): Cell {
  if (name === "usage") return usageText(change);
  return name === "words" ? nameText(value as string | null) : (value as Cell);
}

const usageText = ({ usage }: Pick<SessionRow, "usage">): string => JSON.stringify(encodeUsage(usage));
