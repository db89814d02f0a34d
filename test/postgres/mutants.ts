/**
 * Stores on Postgres that break one rule each, as SQLite, which has one writer, would never show. They are made by writing
 * other statements over a connection than the store asks for: the store itself has no switch for it.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Store } from "bowline";
import { type PostgresOptions, postgres } from "bowline/stores/postgres";
import pg from "pg";
import type { Client, Pool } from "../../src/stores/postgres/database.ts";

type Statement = Parameters<Client["query"]>[0];
type Answer = Awaited<ReturnType<Client["query"]>>;
type Send = (statement: Statement) => Promise<Answer>;

interface Mutant {
  /** The methods whose statements are changed, such as `waits.resolve`; left out for all of them. */
  readonly of?: readonly string[];
  /** Answers instead of the server, or undefined for a statement that is left as it is. */
  change(statement: Statement, send: Send, transaction: Transaction): Promise<Answer> | undefined;
}
/** What a mutant keeps from one statement to the next on the same connection. */
type Transaction = Map<string, Answer>;

const rewritten =
  (from: RegExp, to: string): Mutant["change"] =>
  (statement, send) => {
    if (!from.test(statement.text)) return undefined;
    const { name, text, ...rest } = statement;
    // Under the same name the server would go on with what it has prepared.
    return send({ ...rest, text: text.replace(from, to), ...(name === undefined ? {} : { name: `${name}_mutant` }) });
  };

const LOCK = /^(SELECT \* FROM \S+session WHERE (?:id|n) = \$1) FOR UPDATE$/;
const withoutLock = rewritten(LOCK, "$1");
/** The condition of the fence is read first, and what it allows is done to whatever is there by then. */
const fenceBySelect = rewritten(
  /WITH s AS \(\s*UPDATE (\S+) SET ([^;]*?)\s+WHERE (n = \$1 AND turn = \$2 AND generation = \$3[^\n]*)\n/,
  "WITH c AS (SELECT n FROM $1 WHERE $3), s AS (UPDATE $1 SET $2 WHERE n = $$1 AND EXISTS (SELECT 1 FROM c)\n",
);

export const MUTANTS = {
  "cancel and commit without the lock": { of: ["cancel", "commit"], change: withoutLock },
  "park and answer without the lock": { of: ["park", "waits.resolve", "cancel"], change: withoutLock },
  "takeover and journal read as of one moment": { of: ["open"], change: withoutLock },
  "journal read before the lock": {
    of: ["open"],
    change(statement, send, kept) {
      const [, schema] = /^SELECT seq, size, events FROM (\S+)journal WHERE/.exec(statement.text) ?? [];
      const early = kept.get("journal");
      if (schema !== undefined && early !== undefined) return Promise.resolve(early);
      const [, of] = /^SELECT \* FROM (\S+)session WHERE id = \$1 FOR UPDATE$/.exec(statement.text) ?? [];
      if (of === undefined) return undefined;
      const journal = `SELECT seq, size, events FROM ${of}journal WHERE session = (SELECT n FROM ${of}session WHERE id = $1) ORDER BY seq`;
      const { values, types } = statement;
      return send({
        text: journal,
        ...(values === undefined ? {} : { values }),
        ...(types === undefined ? {} : { types }),
      }).then((found) => {
        kept.set("journal", found);
        return send(statement);
      });
    },
  },
  "fence by a read": {
    of: ["append", "commit"],
    change: (statement, send, kept) => fenceBySelect(statement, send, kept) ?? withoutLock(statement, send, kept),
  },
  "claims are not pending": { change: rewritten(/waiting > 0 OR has_more AS pending/, "waiting > 0 AS pending") },
} satisfies { readonly [name: string]: Mutant };
export type MutantName = keyof typeof MUTANTS;

/** Which method of the store is under way. */
const method = new AsyncLocalStorage<string>();

export interface Mutated {
  readonly store: Store;
  /** How many statements were changed: a mutant that finds none to change proves nothing. */
  changed(): number;
  close(): Promise<void>;
}

export function mutated(url: string, name: MutantName, options: PostgresOptions): Mutated {
  const mutant: Mutant = MUTANTS[name];
  const max = options.connections ?? 10;
  // Without locks two transactions end in a deadlock now and then, which the server would look for after a second.
  const pool = new pg.Pool({ connectionString: url, max, options: "-c deadlock_timeout=20" });
  pool.on("error", () => {});
  let changed = 0;
  const around = (client: pg.PoolClient): Client => {
    const send: Send = (statement) => client.query(statement as pg.QueryConfig) as Promise<Answer>;
    const kept: Transaction = new Map();
    return {
      release: (broken) => client.release(broken),
      query(statement) {
        const isMeant = mutant.of === undefined || mutant.of.includes(method.getStore() ?? "");
        const answer = isMeant ? mutant.change(statement, send, kept) : undefined;
        if (answer !== undefined) changed++;
        return answer ?? send(statement);
      },
    };
  };
  const wrapped: Pool = { connect: async () => around(await pool.connect()) };
  const { connections: _, ...rest } = options;
  const store = postgres(wrapped, rest);
  return {
    store: told(store, ""),
    changed: () => changed,
    async close() {
      await store.close();
      await pool.end();
    },
  };
}

/** The same store, whose statements know of which method they are. */
function told<T extends object>(of: T, path: string): T {
  return new Proxy(of, {
    get(target, key) {
      const found: unknown = Reflect.get(target, key);
      const name = path + String(key);
      if (typeof found === "object" && found !== null) return told(found, `${name}.`);
      if (typeof found !== "function") return found;
      return (...given: unknown[]) => method.run(name, () => Reflect.apply(found, target, given) as unknown);
    },
  });
}
