import type { SessionConfig } from "../../model/config.ts";
import { RuntimeError } from "../../model/errors.ts";
import {
  asSessionId,
  asTurnId,
  type NodeId,
  nodeAddress,
  nodeId,
  type SessionId,
  type TurnId,
} from "../../model/ids.ts";
import type { Json } from "../../model/json.ts";
import { addUsage, NO_USAGE, type Spent, type Usage, withEstimate } from "../../model/usage.ts";
import { decodeUsage, type EncodedUsage, encodeUsage, fromKeyText, keyText } from "../rows/codec.ts";
import { corrupt } from "../rows/faults.ts";
import { changedStates } from "../rows/states.ts";
import type { Booked, NewSession, PluginSnapshots, SessionOptions, Store, StoredSession } from "../store.ts";
import { requireFit, seal, sumOf, unseal } from "./checksum.ts";
import type { Connection } from "./connection.ts";
import { LATEST_FACT, limit, requireMeta, sealMeta } from "./facts.ts";
import { forgetStates, forkPoint, type Place, release, requirePlace, type Tip, tipOf, use } from "./graph.ts";
import { forgetJournal } from "./journal.ts";
import { keepOptions, OPTIONS, optionsIn, WITH_OPTIONS } from "./options.ts";
import { keepStates, statesAt } from "./states.ts";

/** The columns of a session that only commits and changes move. */
export interface Kept {
  readonly n: number;
  readonly id: SessionId;
  readonly parent_id: string | null;
  readonly created_at: number;
  readonly revision: number;
  readonly turns: number;
  readonly head: number | null;
  readonly head_index: number | null;
  readonly usage: string;
  /** The session that this one was forked from, and the node where it begins. */
  readonly origin_id: string | null;
  readonly origin_at: string | null;
}
/** The columns that say who holds a session. */
interface Held {
  readonly generation: number;
  /** The open turn. */
  readonly turn: number | null;
  readonly owner: string | null;
  readonly process: string | null;
}
export interface SessionRow extends Kept, Held {
  readonly seal: number;
}
interface FoundRow extends SessionRow {
  readonly options: string | null;
}
const heldByNobody = (generation: number): Held => ({ generation, turn: null, owner: null, process: null });
const NOT_HELD = "turn = NULL, owner = NULL, process = NULL, until = 0";
const COLUMNS = `s.n, s.id, s.parent_id, s.created_at, s.revision, s.turns, s.head, s.head_index, s.usage, s.origin_id,
  s.origin_at, s.seal, s.generation, s.turn, s.owner, s.process`;
const FIND = `SELECT ${COLUMNS}, ${OPTIONS} FROM session s ${WITH_OPTIONS} WHERE s.id = ?`;
const REMEMBERED = `SELECT ${COLUMNS}, c.body AS config, g.name AS tip_name, g.depth AS tip_depth,
    EXISTS (SELECT 1 FROM state WHERE session = s.n) AS has_states
  FROM session s LEFT JOIN config c ON c.session = s.n LEFT JOIN segment g ON g.n = s.head WHERE s.n = ?`;
interface RememberedRow extends SessionRow {
  readonly config: string | null;
  readonly tip_name: string | null;
  readonly tip_depth: number | null;
  readonly has_states: number;
}
const ADD = `INSERT INTO session (id, parent_id, created_at, revision, turns, head, head_index, usage, origin_id,
    origin_at, seal, own_rows, generation, until)
  SELECT ?, ?, ?, 0, 0, ?, ?, ?, ?, ?, ?, ?, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM gone WHERE id = ?)`;
const KEEP = `UPDATE session
  SET revision = ?, turns = ?, head = ?, head_index = ?, usage = ?, seal = ?, own_rows = own_rows + ?, ${NOT_HELD}
  WHERE n = ?`;

/** A session as of a revision. The process that made a commit most often makes the next: it need not read again. */
export interface Memo {
  readonly row: Kept;
  readonly usage: Usage;
  /** The segment of its head. */
  readonly tip: Tip | undefined;
  readonly config: Partial<SessionConfig>;
  readonly plugins: PluginSnapshots;
}
const MEMOS = 500;

export class Sessions {
  readonly #db: Connection;
  readonly #memos: Map<number, Memo>;

  constructor(db: Connection) {
    this.#db = db;
    this.#memos = db.remembers(new Map());
  }

  has(id: SessionId): boolean {
    return this.#db.row("SELECT 1 FROM session WHERE id = ?", id) !== undefined;
  }

  find(id: SessionId): FoundRow | undefined {
    const row = this.#db.row<FoundRow>(FIND, id);
    if (row !== undefined) requireSealed(row);
    return row;
  }

  require(id: SessionId): FoundRow {
    const row = this.find(id);
    if (row === undefined) throw new RuntimeError("session.unknown", { id });
    return row;
  }

  /** The session at this revision, which must be its present one. */
  memo({ n, revision, id }: Pick<Kept, "n" | "revision" | "id">): Memo {
    const known = this.#memos.get(n);
    if (known?.row.revision === revision) return known;
    const row = this.#db.row<RememberedRow>(REMEMBERED, n);
    if (row === undefined) throw new RuntimeError("session.unknown", { id });
    requireSealed(row);
    if (row.config === null) throw corrupt(`Session ${id}`, "its configuration is missing");
    const config = unseal<Partial<SessionConfig>>(row.config, n, `The configuration of session ${id}`);
    const plugins = row.has_states === 1 ? statesAt(this.#db, n, revision) : {};
    return this.#remember({ row, usage: usageOf(row), tip: tipIn(row), config, plugins });
  }

  #remember(memo: Memo): Memo {
    if (this.#memos.size >= MEMOS) this.#memos.clear();
    this.#memos.set(memo.row.n, memo);
    return memo;
  }

  create(session: NewSession): StoredSession {
    const known = this.find(session.id);
    if (known !== undefined) return this.#existing(known, session);
    return this.stored(this.#add(session, undefined));
  }

  list({ after, max = Infinity, parent, origin }: NonNullable<Parameters<Store["list"]>[0]>): readonly StoredSession[] {
    const terms = { "id > ?": after ?? "", "parent_id = ?": parent, "origin_id = ?": origin };
    const given = Object.entries(terms).filter((term): term is [string, string] => term[1] !== undefined);
    const which = given.map(([term]) => term).join(" AND ");
    return this.#db
      .rows<{ id: string }>(
        `SELECT id FROM session WHERE ${which} ORDER BY id LIMIT ?`,
        ...given.map(([, id]) => id),
        limit(max),
      )
      .map(({ id }) => this.stored(this.require(asSessionId(id))));
  }

  fork(from: SessionId, to: NewSession, at: NodeId | undefined): StoredSession {
    const known = this.find(to.id);
    if (known !== undefined) return this.#existing(known, to);
    const source = this.require(from);
    const head = headOf(source);
    const now = { session: source.n, revision: source.revision };
    const place = at === undefined ? head : requirePlace(this.#db, at);
    const states = at === undefined || place === undefined ? now : forkPoint(this.#db, head, now, place, at);
    const plugins = statesAt(this.#db, states.session, states.revision);
    return this.stored(this.#add(to, { from, place, plugins, ...optionsIn(source.options, source.n) }));
  }

  setOptions(id: SessionId, given: SessionOptions): SessionOptions {
    const { n, options } = this.require(id);
    const all = { ...optionsIn(options, n).options, ...given };
    keepOptions(this.#db, n, all);
    return all;
  }

  #add(session: NewSession, fork: Forked | undefined): FoundRow {
    const db = this.#db;
    const head = fork?.place;
    const tip = head === undefined ? undefined : tipOf(db, head.segment);
    const { id } = session;
    const kept = {
      id,
      parent_id: session.parentId ?? null,
      created_at: session.at,
      revision: 0,
      turns: 0,
      head: head?.segment ?? null,
      head_index: head?.index ?? null,
      usage: JSON.stringify(encodeUsage(NO_USAGE)),
      origin_id: fork?.from ?? null,
      origin_at: head === undefined || tip === undefined ? null : keyText(nodeId(tip.name, head.index)),
    };
    const plugins = { ...fork?.plugins, ...session.plugins };
    const states = changedStates({}, plugins);
    const held = heldByNobody(0);
    const sum = sealOf(kept, held);
    const n = db.insert(
      ADD,
      id,
      kept.parent_id,
      kept.created_at,
      kept.head,
      kept.head_index,
      kept.usage,
      kept.origin_id,
      kept.origin_at,
      sum,
      states.length,
      id,
    );
    if (n === undefined) throw new RuntimeError("session.deleted", { id });
    db.run("INSERT INTO config (session, body) VALUES (?, ?)", n, seal(session.config, n));
    keepStates(db, n, 0, states);
    const given = session.options ?? fork?.options;
    const options = given === undefined ? null : keepOptions(db, n, given);
    if (head !== undefined) use(db, head);
    const row = { n, ...kept };
    if (states.length === 0) this.#remember({ row, usage: NO_USAGE, tip, config: session.config, plugins });
    return { ...row, ...held, seal: sum, options };
  }

  #existing(row: FoundRow, { id, isNew }: NewSession): StoredSession {
    if (isNew === true) throw new RuntimeError("session.exists", { id });
    return this.stored(row);
  }

  stored(row: FoundRow): StoredSession {
    const { config, plugins, tip, usage } = this.memo(row);
    const head = headId(row, tip);
    return {
      id: row.id,
      ...(row.parent_id === null ? {} : { parentId: asSessionId(row.parent_id) }),
      ...(row.origin_id === null ? {} : { origin: originOf(row.origin_id, row.origin_at) }),
      createdAt: row.created_at,
      config,
      revision: row.revision,
      ...(head === undefined ? {} : { head }),
      plugins,
      ...optionsIn(row.options, row.n),
      usage,
      ledger: row.revision === 0 ? [] : ledgerOf(this.#db, row.n),
      turns: row.turns,
      ...(row.turn === null ? {} : { openTurn: idOfTurn(this.#db, row.turn) }),
    };
  }

  /** Keeps what a commit or a change made of the session, ends its lease, and answers its revision. */
  keep(
    { row, usage, config, plugins }: Memo,
    generation: number,
    next: {
      readonly place: Place | undefined;
      readonly tip: Tip | undefined;
      readonly turns: number;
      /** To be added to the session's. */
      readonly usage: Usage;
      /** How many rows came to the session, besides those of plugin states. */
      readonly rows: number;
    },
    change: Partial<Pick<Memo, "config" | "plugins">>,
  ): number {
    const db = this.#db;
    const { n } = row;
    const revision = row.revision + 1;
    const states = change.plugins === undefined ? [] : changedStates(plugins, change.plugins);
    keepStates(db, n, revision, states);
    if (change.config !== undefined) db.run("UPDATE config SET body = ? WHERE session = ?", seal(change.config, n), n);
    const [head, head_index] = [next.place?.segment ?? null, next.place?.index ?? null];
    const used = addUsage(usage, next.usage);
    const text = JSON.stringify(encodeUsage(used));
    const now: Kept = { ...row, revision, turns: next.turns, head, head_index, usage: text };
    const sum = sealOf(now, heldByNobody(generation));
    db.run(KEEP, revision, next.turns, head, head_index, text, sum, next.rows + states.length, n);
    this.#remember({ row: now, usage: used, tip: next.tip, config, plugins, ...change });
    return revision;
  }

  endLease(row: Kept, generation: number): void {
    const sum = sealOf(row, heldByNobody(generation));
    this.#db.run(`UPDATE session SET ${NOT_HELD}, seal = ? WHERE n = ?`, sum, row.n);
  }

  delete(id: SessionId): void {
    const db = this.#db;
    const row = this.find(id);
    if (row === undefined) return;
    const { n } = row;
    requireMeta(db);
    db.run(`UPDATE meta SET floor = ${LATEST_FACT}, gone = gone + 1`);
    sealMeta(db);
    const { states } = db.row<{ states: number }>("SELECT count(*) AS states FROM state WHERE session = ?", n)!;
    db.run("INSERT INTO gone VALUES (?, ?, ?, ?)", id, n, states, sumOf([id, n, states]));
    db.run("DELETE FROM session WHERE n = ?", n);
    // Forks may go on using the segments; without their turns these are found by name.
    db.run("UPDATE segment SET is_named = 1 WHERE n IN (SELECT n FROM turn WHERE session = ?)", n);
    if (row.head !== null) release(db, row.head);
    for (const branch of db.rows<{ n: number }>("SELECT n FROM segment WHERE session = ? AND is_branch = 1", n))
      release(db, branch.n);
    for (const table of ["note", "attempt"])
      db.run(`DELETE FROM ${table} WHERE turn IN (SELECT n FROM turn WHERE session = ?)`, n);
    for (const table of [
      "turn",
      "operation",
      "operation_note",
      "ledger",
      "options",
      "wait",
      "parked",
      "preview",
      "follower",
    ])
      db.run(`DELETE FROM ${table} WHERE session = ?`, n);
    db.run("DELETE FROM config WHERE session = ?", n);
    forgetJournal(db, n);
    forgetStates(db, n);
    this.#memos.delete(n);
  }
}

export const headOf = ({ head, head_index: index }: Pick<Kept, "head" | "head_index">): Place | undefined =>
  head === null || index === null ? undefined : { segment: head, index };

export function idOfTurn(db: Connection, n: number): TurnId {
  const row = db.row<{ id: string }>("SELECT id FROM turn WHERE n = ?", n);
  if (row === undefined) throw corrupt(`Turn ${n}`, "it is missing");
  return asTurnId(row.id);
}

/** The id of the head; undefined while there is none. */
export const headId = ({ head_index: index }: Pick<Kept, "head_index">, tip: Tip | undefined): NodeId | undefined =>
  tip === undefined || index === null ? undefined : nodeId(tip.name, index);

function tipIn({ head, tip_name: name, tip_depth: depth }: RememberedRow): Tip | undefined {
  if (head === null) return undefined;
  if (name === null || depth === null) throw corrupt(`Segment ${head}`, "it is missing");
  return { name: fromKeyText(name), depth };
}

const usageOf = ({ usage }: Pick<Kept, "usage">): Usage => decodeUsage(JSON.parse(usage) as EncodedUsage);

/** What a fork takes from its origin. */
interface Forked {
  readonly from: SessionId;
  readonly place: Place | undefined;
  readonly plugins: PluginSnapshots;
  readonly options?: SessionOptions;
}
function originOf(id: string, at: string | null): NonNullable<StoredSession["origin"]> {
  const address = at === null ? undefined : nodeAddress(fromKeyText(at));
  return {
    sessionId: asSessionId(id),
    ...(address === undefined ? {} : { at: nodeId(address.commit, address.index) }),
  };
}

/** The checksum of a session. The end of its lease is not in it: that is written again and again. */
export function sealOf(row: Omit<Kept, "n">, { generation, turn, owner, process }: Held): number {
  return sumOf([...keptOf(row), row.origin_id, row.origin_at, generation, turn, owner, process]);
}

const keptOf = (row: Omit<Kept, "n">): readonly Json[] => {
  const { id, parent_id, created_at, revision, turns, head, head_index, usage } = row;
  return [id, parent_id, created_at, revision, turns, head, head_index, usage];
};

export function requireSealed(row: SessionRow): void {
  const { seal, origin_id, origin_at } = row;
  if (seal === sealOf(row, row)) return;
  // Before schema 5 the lease was not in it, and where there was none, neither was the origin.
  const origin = origin_id === null && origin_at === null ? [] : [origin_id, origin_at];
  if (seal !== sumOf([...keptOf(row), ...origin])) throw corrupt(`Session ${row.id}`, "its checksum does not fit");
}

/** Adds to the ledger, and answers how many rows it has more. */
export function bookSpent(
  db: Connection,
  { n: session, revision }: Pick<Kept, "n" | "revision">,
  spent: readonly Spent[],
  fact: number,
): number {
  let added = 0;
  for (let index = 0; index < spent.length; index++) {
    const { source, model, usage, calls } = spent[index] as Spent;
    const isFirst = revision === 0 && index === 0; // Then there is none to be found.
    const before = isFirst ? undefined : db.row<SpentRow>(BOOKED_AS, session, source, model);
    if (before === undefined) added += 1;
    const had = before === undefined ? { calls: 0, usage: NO_USAGE } : spentOf(before);
    const sum = addUsage(had.usage, usage);
    // `nth`: a ledger is read in the order in which its rows first came.
    const nth = before?.nth ?? fact + index / spent.length;
    const row = [
      session,
      source,
      model,
      nth,
      had.calls + calls,
      sum.input,
      sum.cacheRead,
      sum.cacheWrite,
      sum.output,
      sum.reasoning,
      sum.unknownCalls,
      sum.estimatedInput ?? 0,
      sum.estimatedOutput ?? 0,
    ] as const;
    db.run(BOOK, ...row, sumOf(row));
  }
  return added;
}

const BOOK = "REPLACE INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
const SPENT = `l.session, l.source, l.model, l.nth, l.calls, l.input, l.cache_read AS cacheRead,
  l.cache_write AS cacheWrite, l.output, l.reasoning, l.unknown_calls AS unknownCalls,
  l.estimated_input AS estimatedInput, l.estimated_output AS estimatedOutput, l.seal`;
export const ALL_BOOKED = `SELECT ${SPENT} FROM ledger l WHERE (session, source, model) > (?, ?, ?)
  ORDER BY session, source, model`;
const BOOKED_AS = `SELECT ${SPENT} FROM ledger l WHERE session = ? AND source = ? AND model = ?`;
const LEDGER = `SELECT ${SPENT} FROM ledger l WHERE session = ? ORDER BY nth`;
export interface SpentRow extends Omit<Spent, "usage">, Required<Usage> {
  readonly session: number;
  readonly nth: number;
  readonly seal: number | null;
}

const ledgerOf = (db: Connection, session: number): readonly Spent[] => db.rows<SpentRow>(LEDGER, session).map(spentOf);

export function spentOf(row: SpentRow): Spent {
  const { session, source, model, nth, calls, input, cacheRead, cacheWrite, output, reasoning, unknownCalls } = row;
  const { estimatedInput, estimatedOutput } = row;
  const tokens = [input, cacheRead, cacheWrite, output, reasoning, unknownCalls, estimatedInput, estimatedOutput];
  requireFit(row.seal, [session, source, model, nth, calls, ...tokens], `The ledger of session ${session}`);
  const usage = { input, cacheRead, cacheWrite, output, reasoning, unknownCalls };
  return { source, model, usage: withEstimate(usage, estimatedInput, estimatedOutput), calls };
}

/** The ids of a session and of all that descend from it; `UNION` ends a circle. Its one value is the session. */
export const TREE = `WITH RECURSIVE tree(id) AS (
  VALUES (?) UNION SELECT child.id FROM tree JOIN session child ON child.parent_id = tree.id)`;
const BOOKED = `${TREE} SELECT s.id AS sessionId, ${SPENT} FROM session s JOIN ledger l ON l.session = s.n
  WHERE s.id IN (SELECT id FROM tree) ORDER BY s.id, l.nth`;

export const booked = (db: Connection, tree: SessionId): readonly Booked[] =>
  db
    .rows<SpentRow & { readonly sessionId: SessionId }>(BOOKED, tree)
    .map((row) => ({ sessionId: row.sessionId, ...spentOf(row) }));
