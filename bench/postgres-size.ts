// What is on the server after many turns, table by table: rows, old versions of rows that nobody has cleared away yet, and
// room. Autovacuum has the settings of a new installation, and comes once a minute: a run that is shorter than that shows
// what pages clear by themselves, and all that is left for it.
import type { Row } from "./report.ts";
import * as script from "./script.ts";
import { serve } from "./server.ts";
import { builtPostgres, openerOf } from "./sides.ts";
import { expectAnswer } from "./workloads.ts";

const TURNS = 1_000;
const TURNS_LONG = 10_000;
const SESSIONS = 20;
const KB = 1_024;

interface Table {
  readonly name: string;
  readonly live: number;
  readonly dead: number;
  readonly updated: number;
  readonly hot: number;
  readonly vacuums: number;
  readonly heap: number;
  readonly indexes: number;
  readonly total: number;
}
/** As the server counts it for its autovacuum. */
const TABLES = `SELECT c.relname AS name, s.n_live_tup::float8 AS live, s.n_dead_tup::float8 AS dead,
    s.n_tup_upd::float8 AS updated, s.n_tup_hot_upd::float8 AS hot, s.autovacuum_count::float8 AS vacuums,
    pg_relation_size(c.oid)::float8 AS heap, pg_indexes_size(c.oid)::float8 AS indexes,
    pg_total_relation_size(c.oid)::float8 AS total
  FROM pg_class c JOIN pg_stat_user_tables s ON s.relid = c.oid
  WHERE s.schemaname = 'bowline' AND s.n_tup_ins > 0 ORDER BY total DESC, name`;

/** A row in all, and one for each table that was written to. */
export async function postgresSizes(isLong: boolean): Promise<Row[]> {
  const turns = isLong ? TURNS_LONG : TURNS;
  await using server = await serve();
  const [open, { postgres }] = [await openerOf("bowline"), await builtPostgres()];
  const agent = await open({ script, durable: true, store: postgres(server.url) });
  const session = async (_: unknown, index: number): Promise<void> => {
    for (let turn = index; turn < turns; turn += SESSIONS) await agent.turn(`s${index}`, "loop:1");
  };
  await Promise.all(Array.from({ length: SESSIONS }, session));
  await expectAnswer(agent, "s0", "loop:1", 1);
  await agent.close(); // Its connections tell what they did at the latest when they end.
  const tables = (await server.query(TABLES)) as unknown as readonly Table[];
  const sum = (of: keyof Omit<Table, "name">): number => tables.reduce((all, table) => all + table[of], 0);
  const alone = { floor: null, ratio: null };
  const about = `after ${turns} turns of ${SESSIONS} sessions, one call each, with indexes`;
  return [
    { workload: "PG-size", about, unit: "bytes/turn", ...alone, bowline: sum("total") / turns },
    ...tables.map((table) => ({
      workload: `PG-size.${table.name}`,
      about: told(table),
      unit: "KB",
      ...alone,
      bowline: table.total / KB,
    })),
  ];
}

function told({ live, dead, updated, hot, vacuums, heap, indexes }: Table): string {
  const updates = updated === 0 ? "never updated" : `${updated} updates, ${((100 * hot) / updated).toFixed(1)} % HOT`;
  const rows = `${live} rows, ${dead} dead; ${updates}; vacuumed ${vacuums} times`;
  return `${rows}; ${(heap / KB).toFixed(0)} KB of rows, ${(indexes / KB).toFixed(0)} KB of indexes`;
}
