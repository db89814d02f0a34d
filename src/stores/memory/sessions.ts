import { RuntimeError } from "../../model/errors.ts";
import type { SessionId } from "../../model/ids.ts";
import { NO_USAGE } from "../../model/usage.ts";
import type { NewSession, PluginSnapshots, StoredSession } from "../store.ts";
import type { Place, SessionRow } from "./rows.ts";

/** All sessions by id, also in order; and the ids that were used up. */
export class Sessions {
  readonly #rows = new Map<SessionId, SessionRow>();
  readonly #deleted = new Set<SessionId>();
  /** Ids mostly arrive in order; when one does not, the next page sorts. */
  readonly #ids: SessionId[] = [];
  #isSorted = true;

  get(id: SessionId): SessionRow | undefined {
    return this.#rows.get(id);
  }

  require(id: SessionId): SessionRow {
    const row = this.#rows.get(id);
    if (row === undefined) throw new RuntimeError("session.unknown", { id });
    return row;
  }

  add(row: SessionRow): SessionRow {
    if (this.#deleted.has(row.id)) throw new RuntimeError("session.deleted", { id: row.id });
    const last = this.#ids.at(-1);
    if (last !== undefined && row.id < last) this.#isSorted = false;
    this.#ids.push(row.id);
    this.#rows.set(row.id, row);
    return row;
  }

  delete(id: SessionId): void {
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

export const newSession = (session: NewSession, head?: Place, plugins: PluginSnapshots = {}): SessionRow => ({
  id: session.id,
  parentId: session.parentId,
  createdAt: session.at,
  config: session.config,
  revision: 0,
  head,
  plugins,
  usage: NO_USAGE,
  ledger: [],
  turns: 0,
  operations: undefined,
  generation: 0,
  run: undefined,
  accepted: 0,
  waiting: [],
  boundaryInputs: 0,
  keys: undefined,
  facts: undefined,
  branches: undefined,
  latest: undefined,
  byInput: undefined,
  indexed: undefined,
});

export const stored = (row: SessionRow): StoredSession => ({
  id: row.id,
  ...(row.parentId === undefined ? {} : { parentId: row.parentId }),
  createdAt: row.createdAt,
  config: row.config,
  revision: row.revision,
  ...(row.head === undefined ? {} : { head: row.head.id }),
  plugins: row.plugins,
  usage: row.usage,
  ledger: row.ledger,
  turns: row.turns,
});
