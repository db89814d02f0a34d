import type { SessionConfig } from "../../model/config.ts";
import { asTurnId, type NodeId, nodeAddress, nodeId, type SessionId } from "../../model/ids.ts";
import { NO_USAGE, type Usage } from "../../model/usage.ts";
import { decodeUsage, type EncodedUsage, encodeUsage, fromKeyText } from "../rows/codec.ts";
import { corrupt } from "../rows/faults.ts";
import type { LatestStates } from "../rows/latest-states.ts";
import type { NewSession, PluginSnapshots, StoredSession } from "../store.ts";
import { seal, unseal } from "./checksum.ts";
import type { Connection } from "./connection.ts";
import { statesAt } from "./layout-reads.ts";
import { optionsIn, requireSealed, type Sealed, sealOf } from "./layout-sessions.ts";
import { ledgerOf } from "./ledger.ts";

/**
 * A session as of a revision. The process that committed last usually commits next, and need not read the session
 * again.
 */
export interface Memo {
  readonly row: Sealed & { readonly n: number };
  readonly usage: Usage;
  /** Name and depth of the head's segment. */
  readonly tip: { readonly name: string; readonly depth: number } | undefined;
  readonly config: Partial<SessionConfig>;
  readonly plugins: PluginSnapshots;
}
const MEMOS = 500;

/** Caches recent sessions of this process. */
export class Memos {
  readonly #db: Connection;
  readonly #states: LatestStates;
  readonly #memos: Map<number, Memo>;

  constructor(db: Connection, states: LatestStates) {
    this.#db = db;
    this.#states = states;
    this.#memos = db.remembers(new Map());
  }

  /** Returns the session at this revision, which must be the current one. */
  at(n: number, revision: number): Memo {
    const known = this.#memos.get(n);
    if (known?.row.revision === revision) return known;
    const row = this.#db.row<RememberedRow>(REMEMBERED, n)!;
    requireSealed(row);
    const { id, config, head, tip_name: name, tip_depth: depth } = row;
    if (config === null) throw corrupt(`Session ${id}`, "its configuration is missing");
    if (head !== null && (name === null || depth === null)) throw corrupt(`Segment ${head}`, "it is missing");
    return this.remember({
      row,
      usage: decodeUsage(JSON.parse(row.usage) as EncodedUsage),
      tip: name === null || depth === null ? undefined : { name: fromKeyText(name), depth },
      config: unseal(config, n, `The configuration of session ${id}`),
      plugins: this.#states.at(n, revision) ?? (row.has_states === 1 ? this.#read(n, revision) : {}),
    });
  }

  #read(n: number, revision: number): PluginSnapshots {
    return this.#states.set(n, revision, statesAt(this.#db, n, revision));
  }

  remember(memo: Memo): Memo {
    if (this.#memos.size >= MEMOS) this.#memos.clear();
    this.#memos.set(memo.row.n, memo);
    return memo;
  }

  /** Creates a session that only has a configuration; undefined if its id is used. */
  create({ id, at, config }: NewSession): StoredSession | undefined {
    const row: Sealed = {
      ...{ id, parent_id: null, created_at: at, revision: 0, turns: 0, head: null, head_index: null },
      ...{ usage: JSON.stringify(encodeUsage(NO_USAGE)), origin_id: null, origin_at: null },
      ...{
        generation: 0,
        turn: null,
        owner: null,
        process: null,
        owned_by: null,
        tags: null,
        activity: at,
        words: null,
      },
    };
    const n = this.#db.insert(ADD, id, at, row.usage, sealOf(row), at, id, id);
    if (n === undefined) return undefined;
    this.#db.run("INSERT INTO config (session, body) VALUES (?, ?)", n, seal(config, n));
    this.remember({ row: { n, ...row }, usage: NO_USAGE, tip: undefined, config, plugins: {} });
    return { id, createdAt: at, config, revision: 0, plugins: {}, usage: NO_USAGE, ledger: [], turns: 0 };
  }

  load(id: SessionId): StoredSession | undefined {
    const row = this.#db.row<LoadedRow>(LOAD, id);
    if (row === undefined) return undefined;
    requireSealed(row);
    const { n, revision, turns, parent_id, origin_id, origin_at, head_index, open_turn } = row;
    const { config, plugins, tip, usage } = this.at(n, revision);
    if (row.turn !== null && open_turn === null) throw corrupt(`Turn ${row.turn}`, "it is missing");
    return {
      id,
      ...(parent_id === null ? {} : { parentId: parent_id as SessionId }),
      ...(origin_id === null ? {} : { origin: originOf(origin_id as SessionId, origin_at) }),
      ...(row.owned_by === null ? {} : { owner: fromKeyText(row.owned_by) }),
      ...(row.tags === null ? {} : { tags: JSON.parse(row.tags) as readonly string[] }),
      createdAt: row.created_at,
      config,
      revision,
      ...(tip === undefined || head_index === null ? {} : { head: nodeId(tip.name, head_index) }),
      plugins,
      ...optionsIn(row.options, n),
      usage,
      ledger: revision === 0 ? [] : ledgerOf(this.#db, n),
      turns,
      ...(open_turn === null ? {} : { openTurn: asTurnId(open_turn) }),
    };
  }
}

function originOf(sessionId: SessionId, at: string | null): NonNullable<StoredSession["origin"]> {
  const address = at === null ? undefined : nodeAddress(fromKeyText(at) as NodeId);
  return { sessionId, ...(address === undefined ? {} : { at: nodeId(address.commit, address.index) }) };
}

const COLUMNS = `s.n, s.id, s.parent_id, s.created_at, s.revision, s.turns, s.head, s.head_index, s.usage, s.origin_id,
    s.origin_at, s.seal, s.generation, s.turn, s.owner, s.process, s.owned_by, s.tags, s.activity, s.words`;
interface SealedRow extends Sealed {
  readonly n: number;
  readonly seal: number;
}
interface RememberedRow extends SealedRow {
  readonly config: string | null;
  readonly tip_name: string | null;
  readonly tip_depth: number | null;
  readonly has_states: number;
}
const REMEMBERED = `SELECT ${COLUMNS}, c.body AS config, g.name AS tip_name, g.depth AS tip_depth,
    EXISTS (SELECT 1 FROM state WHERE session = s.n) AS has_states
  FROM session s LEFT JOIN config c ON c.session = s.n LEFT JOIN segment g ON g.n = s.head WHERE s.n = ?`;
interface LoadedRow extends SealedRow {
  readonly options: string | null;
  readonly open_turn: string | null;
}
const LOAD = `SELECT ${COLUMNS}, o.body AS options, t.id AS open_turn
  FROM session s LEFT JOIN options o ON o.session = s.n LEFT JOIN turn t ON t.n = s.turn WHERE s.id = ?`;
const ADD = `INSERT INTO session (id, created_at, revision, turns, usage, seal, own_rows, generation, until, activity)
  SELECT ?, ?, 0, 0, ?, ?, 0, 0, 0, ?
    WHERE NOT EXISTS (SELECT 1 FROM gone WHERE id = ?) AND NOT EXISTS (SELECT 1 FROM session WHERE id = ?)`;
