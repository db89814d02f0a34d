import { addUsage, NO_USAGE, type Spent, type Usage, withEstimate } from "../../model/usage.ts";
import { requireFit, sumOf } from "./checksum.ts";
import type { Connection } from "./connection.ts";

const BOOK = "REPLACE INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
const COLUMNS = `session, source, model, nth, calls, input, cache_read AS cacheRead, cache_write AS cacheWrite, output,
    reasoning, unknown_calls AS unknownCalls, estimated_input AS estimatedInput, estimated_output AS estimatedOutput, seal`;
const BOOKED = `SELECT ${COLUMNS} FROM ledger WHERE session = ? AND source = ? AND model = ?`;
const LEDGER = `SELECT ${COLUMNS} FROM ledger WHERE session = ? ORDER BY nth`;
interface BookedRow extends Required<Usage> {
  readonly session: number;
  readonly source: string;
  readonly model: string;
  readonly nth: number;
  readonly calls: number;
  readonly seal: number | null;
}

/** Adds to the ledger of a session, and returns the number of new rows. `isFirst`: the session has no spending yet. */
export function bookSpent(
  db: Connection,
  session: number,
  spent: readonly Spent[],
  fact: number,
  isFirst: boolean,
): number {
  let added = 0;
  for (const [at, { source, model, usage, calls }] of spent.entries()) {
    const before = isFirst && at === 0 ? undefined : db.row<BookedRow>(BOOKED, session, source, model);
    if (before === undefined) added += 1;
    const sum = addUsage(before === undefined ? NO_USAGE : usageIn(before), usage);
    // `nth`: a ledger is read in the order of the first spending of each row.
    const nth = before?.nth ?? fact + at / spent.length;
    const row = [session, source, model, nth, (before?.calls ?? 0) + calls, ...tokensOf(sum)] as const;
    db.run(BOOK, ...row, sumOf(row));
  }
  return added;
}

export const ledgerOf = (db: Connection, session: number): readonly Spent[] =>
  db.rows<BookedRow>(LEDGER, session).map((row) => {
    const { source, model, calls } = row;
    return { source, model, usage: usageIn(row), calls };
  });

const tokensOf = (usage: Usage): readonly number[] => [
  ...[usage.input, usage.cacheRead, usage.cacheWrite, usage.output, usage.reasoning, usage.unknownCalls],
  ...[usage.estimatedInput ?? 0, usage.estimatedOutput ?? 0],
];

function usageIn(row: BookedRow): Usage {
  const { session, source, model, nth, calls, input, cacheRead, cacheWrite, output, reasoning, unknownCalls } = row;
  requireFit(row.seal, [session, source, model, nth, calls, ...tokensOf(row)], `The ledger of session ${session}`);
  const usage = { input, cacheRead, cacheWrite, output, reasoning, unknownCalls };
  return withEstimate(usage, row.estimatedInput, row.estimatedOutput);
}
