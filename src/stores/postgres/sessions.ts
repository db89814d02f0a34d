import type { SessionConfig } from "../../model/config.ts";
import { RuntimeError } from "../../model/errors.ts";
import { asSessionId, asTurnId, type NodeId, nodeAddress, nodeId, type SessionId } from "../../model/ids.ts";
import { addUsage, NO_USAGE, type Spent, type Usage, withEstimate } from "../../model/usage.ts";
import { decodeUsage, type EncodedUsage, encodeUsage, fromKeyText, keyText } from "../rows/codec.ts";
import { corrupt } from "../rows/faults.ts";
import { changedStates } from "../rows/states.ts";
import type { Booked, NewSession, PluginSnapshots, SessionOptions, Store, StoredSession } from "../store.ts";
import type { Database, Transaction } from "./database.ts";
import { limit } from "./facts.ts";
import { forgetStates, forkPoint, type Place, release, requirePlace, type Tip, tipOf, use } from "./graph.ts";
import { requireLocked, type SessionRow } from "./session-row.ts";
import { keepStates, statesAt } from "./states.ts";
import { parsed } from "./text.ts";

interface ProfileRow {
  readonly session: number;
  readonly parent_id: string | null;
  readonly origin_id: string | null;
  readonly origin_at: string | null;
  readonly created_at: number;
  readonly config: string;
  readonly options: string | null;
}

/**
 * A session as of a revision. The process that made a commit most often makes the next: it need not read again. What is
 * written on the strength of it says so in its condition, so that one which is out of date writes nothing.
 */
export interface Memo {
  readonly row: SessionRow;
  readonly usage: Usage;
  /** The segment of its head. */
  readonly tip: Tip | undefined;
  readonly config: Partial<SessionConfig>;
  readonly plugins: PluginSnapshots;
  readonly options: SessionOptions | undefined;
}
const MEMOS = 1_000;

const FIND = "SELECT * FROM @session WHERE id = $1";
const PROFILE = "SELECT * FROM @profile WHERE session = $1";
const ADD = `INSERT INTO @session (id, head, head_index, usage) SELECT $1, $2, $3, $4
  WHERE NOT EXISTS (SELECT 1 FROM @gone WHERE id = $1) ON CONFLICT (id) DO NOTHING RETURNING *`;
const ADD_PROFILE = "INSERT INTO @profile VALUES ($1, $2, $3, $4, $5, $6, $7)";

export class Sessions {
  readonly #memos: Map<SessionId, Memo>;

  constructor(db: Database) {
    this.#memos = db.remembers(new Map());
  }

  find(tx: Transaction | Database, id: SessionId): Promise<SessionRow | undefined> {
    return tx.row(FIND, id);
  }

  async require(tx: Transaction, id: SessionId): Promise<SessionRow> {
    const row = await this.find(tx, id);
    if (row === undefined) throw new RuntimeError("session.unknown", { id });
    return row;
  }

  // ── Memory ────────────────────────────────────────────────────────────────────────────────────────────────────────

  known(id: SessionId): Memo | undefined {
    return this.#memos.get(id);
  }

  /** Remembers a session as it will be when the transaction is kept: a memo that comes true only sometimes does no harm. */
  remember(memo: Memo): Memo {
    if (this.#memos.size >= MEMOS) this.#memos.clear();
    this.#memos.set(memo.row.id, memo);
    return memo;
  }

  forget(id: SessionId): void {
    this.#memos.delete(id);
  }

  /** The session of a row that is locked, or was read in the same moment. */
  async memo(tx: Transaction, row: SessionRow): Promise<Memo> {
    const known = this.#memos.get(row.id);
    const isSame = known?.row.n === row.n && known.row.revision === row.revision && known.row.optioned === row.optioned;
    if (isSame) return this.remember({ ...known, row });
    const [profile, plugins, tip] = await Promise.all([
      this.#profile(tx, row),
      statesAt(tx, row.n, row.revision),
      row.head === null ? undefined : tipOf(tx, row.head),
    ]);
    return this.remember({ row, usage: usageOf(row), tip, plugins, ...settingsOf(row, profile) });
  }

  async #profile(tx: Transaction, { n, id }: SessionRow): Promise<ProfileRow> {
    const profile = await tx.row<ProfileRow>(PROFILE, n);
    if (profile === undefined) throw corrupt(`Session ${id}`, "its configuration is missing");
    return profile;
  }

  // ── Reading ───────────────────────────────────────────────────────────────────────────────────────────────────────

  async load(tx: Transaction, id: SessionId): Promise<StoredSession | undefined> {
    const row = await this.find(tx, id);
    return row && this.stored(tx, row);
  }

  async stored(tx: Transaction, row: SessionRow): Promise<StoredSession> {
    const [profile, plugins, tip, ledger, turn] = await Promise.all([
      this.#profile(tx, row),
      statesAt(tx, row.n, row.revision),
      row.head === null ? undefined : tipOf(tx, row.head),
      tx.rows<SpentRow>(LEDGER, row.n),
      row.turn === null ? undefined : tx.row<{ id: string }>("SELECT id FROM @turn WHERE n = $1", row.turn),
    ]);
    const { config, options } = settingsOf(row, profile);
    const head = headId(row, tip);
    return {
      id: row.id,
      ...(profile.parent_id === null ? {} : { parentId: asSessionId(profile.parent_id) }),
      ...(profile.origin_id === null ? {} : { origin: originOf(profile.origin_id, profile.origin_at) }),
      createdAt: profile.created_at,
      config,
      revision: row.revision,
      ...(head === undefined ? {} : { head }),
      plugins,
      ...(options === undefined ? {} : { options }),
      usage: usageOf(row),
      ledger: ledger.map(spentOf),
      turns: row.turns,
      ...(turn === undefined ? {} : { openTurn: asTurnId(turn.id) }),
    };
  }

  async list(
    tx: Transaction,
    { after, max = Infinity, parent, origin }: NonNullable<Parameters<Store["list"]>[0]>,
  ): Promise<readonly StoredSession[]> {
    const rows = await tx.rows<SessionRow>(
      `SELECT s.* FROM @session s JOIN @profile p ON p.session = s.n WHERE s.id > $1
         AND ($2::text IS NULL OR p.parent_id = $2) AND ($3::text IS NULL OR p.origin_id = $3) ORDER BY s.id LIMIT $4`,
      after ?? "",
      parent ?? null,
      origin ?? null,
      limit(max),
    );
    return Promise.all(rows.map((row) => this.stored(tx, row)));
  }

  // ── Beginning ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async create(tx: Transaction, session: NewSession, attempt: number): Promise<StoredSession> {
    const known = await this.find(tx, session.id);
    if (known !== undefined) return this.#existing(tx, known, session, attempt);
    return this.#add(tx, session, undefined, attempt);
  }

  async fork(
    tx: Transaction,
    from: SessionId,
    to: NewSession,
    at: NodeId | undefined,
    attempt: number,
  ): Promise<StoredSession> {
    const known = await this.find(tx, to.id);
    if (known !== undefined) return this.#existing(tx, known, to, attempt);
    const source = await requireLocked(tx, from); // So that its history is not deleted meanwhile.
    const head = headOf(source);
    const now = { session: source.n, revision: source.revision };
    const place = at === undefined ? head : await requirePlace(tx, at);
    const states = at === undefined || place === undefined ? now : await forkPoint(tx, head, now, place, at);
    const plugins = await statesAt(tx, states.session, states.revision);
    const { options } = settingsOf(source, await this.#profile(tx, source));
    return this.#add(tx, to, { from, place, plugins, options }, attempt);
  }

  async #add(tx: Transaction, session: NewSession, fork: Forked | undefined, attempt: number): Promise<StoredSession> {
    const { id } = session;
    const head = fork?.place;
    const tip = head === undefined ? undefined : await tipOf(tx, head.segment);
    const usage = JSON.stringify(encodeUsage(NO_USAGE));
    const row = await tx.row<SessionRow>(ADD, id, head?.segment ?? null, head?.index ?? null, usage);
    // Asked once more, in a later statement: it may have been deleted while the insert waited for that.
    if ((await tx.row("SELECT 1 FROM @gone WHERE id = $1", id)) !== undefined)
      throw new RuntimeError("session.deleted", { id });
    if (row === undefined) return this.#existing(tx, await this.require(tx, id), session, attempt);
    const options = session.options ?? fork?.options;
    const hasOptions = options !== undefined && Object.keys(options).length > 0;
    const origin = tip === undefined || head === undefined ? null : keyText(nodeId(tip.name, head.index));
    tx.queue(
      ADD_PROFILE,
      row.n,
      session.parentId ?? null,
      fork?.from ?? null,
      origin,
      session.at,
      JSON.stringify(session.config),
      hasOptions ? JSON.stringify(options) : null,
    );
    const plugins = { ...fork?.plugins, ...session.plugins };
    keepStates(tx, row.n, 0, changedStates({}, plugins));
    if (head !== undefined) use(tx, head);
    return this.stored(tx, row);
  }

  /** A retry may find what its first attempt made. */
  async #existing(
    tx: Transaction,
    row: SessionRow,
    { id, isNew, at }: NewSession,
    attempt: number,
  ): Promise<StoredSession> {
    const session = await this.stored(tx, row);
    const isOwn = attempt > 1 && session.createdAt === at && session.revision === 0;
    if (isNew === true && !isOwn) throw new RuntimeError("session.exists", { id });
    return session;
  }

  async setOptions(tx: Transaction, id: SessionId, given: SessionOptions): Promise<SessionOptions> {
    const row = await requireLocked(tx, id);
    const all = { ...settingsOf(row, await this.#profile(tx, row)).options, ...given };
    const text = Object.keys(all).length === 0 ? null : JSON.stringify(all);
    tx.queue("UPDATE @profile SET options = $2 WHERE session = $1", row.n, text);
    tx.queue("UPDATE @session SET optioned = optioned + 1 WHERE n = $1", row.n);
    return all;
  }

  // ── Ending ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Deletes a session whose row is locked. Its jobs and subscriptions are gone already. */
  async delete(tx: Transaction, { n, id, head }: SessionRow): Promise<void> {
    this.forget(id);
    const branches = await tx.rows<{ n: number }>("SELECT n FROM @segment WHERE session = $1 AND is_branch", n);
    tx.queue("INSERT INTO @gone VALUES ($1)", id);
    // Forks may go on using the segments; without their turns these are found by name.
    tx.queue("UPDATE @segment SET is_named = true WHERE n IN (SELECT n FROM @turn WHERE session = $1)", n);
    tx.queue("DELETE FROM @session WHERE n = $1", n);
    for (const table of ["note", "attempt"])
      tx.queue(`DELETE FROM @${table} WHERE turn IN (SELECT n FROM @turn WHERE session = $1)`, n);
    for (const table of [
      "turn",
      "operation",
      "operation_note",
      "ledger",
      "wait",
      "profile",
      "journal",
      "fact",
      "preview",
    ])
      tx.queue(`DELETE FROM @${table} WHERE session = $1`, n);
    if (head !== null) await release(tx, head);
    for (const branch of branches) await release(tx, branch.n);
    forgetStates(tx, n);
    tx.queue("UPDATE @counter SET value = value + 1 WHERE name = 'gone'");
  }
}

/** What a fork takes from its origin. */
interface Forked {
  readonly from: SessionId;
  readonly place: Place | undefined;
  readonly plugins: PluginSnapshots;
  readonly options: SessionOptions | undefined;
}

const usageOf = ({ id, usage }: SessionRow): Usage =>
  decodeUsage(parsed<EncodedUsage>(usage, `The usage of session ${id}`));

function settingsOf(
  { id }: SessionRow,
  { config, options }: ProfileRow,
): { readonly config: Partial<SessionConfig>; readonly options: SessionOptions | undefined } {
  return {
    config: parsed(config, `The configuration of session ${id}`),
    options: options === null ? undefined : parsed(options, `The options of session ${id}`),
  };
}

export const headOf = ({ head, head_index: index }: Pick<SessionRow, "head" | "head_index">): Place | undefined =>
  head === null || index === null ? undefined : { segment: head, index };

/** The id of the head; undefined while there is none. */
export const headId = (
  { head_index: index }: Pick<SessionRow, "head_index">,
  tip: Tip | undefined,
): NodeId | undefined => (tip === undefined || index === null ? undefined : nodeId(tip.name, index));

function originOf(id: string, at: string | null): NonNullable<StoredSession["origin"]> {
  const address = at === null ? undefined : nodeAddress(fromKeyText(at));
  return {
    sessionId: asSessionId(id),
    ...(address === undefined ? {} : { at: nodeId(address.commit, address.index) }),
  };
}

// ── The ledger ──────────────────────────────────────────────────────────────────────────────────────────────────────

const SUMS =
  "calls, input, cache_read, cache_write, output, reasoning, unknown_calls, estimated_input, estimated_output";

/** Adds rows to the ledger: `session` is SQL for its number, and the others come as arrays from parameter `first` on. */
export const bookStatement = (session: string, from: string, first: number): string => {
  const arrays = [0, 1, ...SUMS.split(", ").map((_, index) => index + 2)];
  const unnested = arrays.map((at) => `$${first + at}::${at < 2 ? "text" : "float8"}[]`).join(", ");
  const sums = SUMS.split(", ").map((sum) => `${sum} = l.${sum} + excluded.${sum}`);
  return `INSERT INTO @ledger AS l (session, source, model, ${SUMS})
    SELECT ${session}, b.* FROM ${from} unnest(${unnested}) AS b
    ON CONFLICT (session, source, model) DO UPDATE SET ${sums.join(", ")}`;
};

/** The arrays for `bookStatement`. A row that comes twice in one statement would be refused, so equal ones are added up. */
export function bookValues(spent: readonly Spent[]): readonly (readonly (string | number)[])[] {
  const sums = new Map<string, Spent>();
  for (const each of spent) {
    const key = JSON.stringify([each.source, each.model]);
    const had = sums.get(key);
    sums.set(
      key,
      had === undefined ? each : { ...each, calls: had.calls + each.calls, usage: addUsage(had.usage, each.usage) },
    );
  }
  const rows = [...sums.values()].map(({ source, model, calls, usage: u }) => [
    ...[source, model, calls, u.input, u.cacheRead, u.cacheWrite, u.output, u.reasoning, u.unknownCalls],
    ...[u.estimatedInput ?? 0, u.estimatedOutput ?? 0],
  ]);
  return Array.from({ length: 11 }, (_, at) => rows.map((row) => row[at]!));
}

const BOOK = bookStatement("$1::bigint", "", 2);

export function bookSpent(tx: Transaction, session: number, spent: readonly Spent[]): void {
  if (spent.length > 0) tx.queue(BOOK, session, ...bookValues(spent));
}

const SPENT = `l.source, l.model, l.calls, l.input, l.cache_read AS "cacheRead", l.cache_write AS "cacheWrite", l.output,
  l.reasoning, l.unknown_calls AS "unknownCalls", l.estimated_input AS "estimatedInput",
  l.estimated_output AS "estimatedOutput"`;
const LEDGER = `SELECT ${SPENT} FROM @ledger l WHERE session = $1 ORDER BY nth`;
interface SpentRow extends Omit<Spent, "usage">, Required<Usage> {}

function spentOf(row: SpentRow): Spent {
  const { source, model, calls, input, cacheRead, cacheWrite, output, reasoning, unknownCalls } = row;
  const usage = { input, cacheRead, cacheWrite, output, reasoning, unknownCalls };
  return { source, model, usage: withEstimate(usage, row.estimatedInput, row.estimatedOutput), calls };
}

/** The ids of a session and of all that descend from it; `UNION` ends a circle. `$1` is the session. */
export const TREE = `WITH RECURSIVE tree(id) AS (
  SELECT $1::text COLLATE "C" UNION SELECT s.id FROM tree JOIN @profile p ON p.parent_id = tree.id
    JOIN @session s ON s.n = p.session)`;
const BOOKED = `${TREE} SELECT s.id AS "sessionId", ${SPENT} FROM @session s JOIN @ledger l ON l.session = s.n
  WHERE s.id IN (SELECT id FROM tree) ORDER BY s.id, l.nth`;

export const booked = async (db: Database, tree: SessionId): Promise<readonly Booked[]> =>
  (await db.rows<SpentRow & { readonly sessionId: SessionId }>(BOOKED, tree)).map((row) => ({
    sessionId: row.sessionId,
    ...spentOf(row),
  }));
