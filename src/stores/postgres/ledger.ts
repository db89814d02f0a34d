import { addUsage, type Spent } from "../../model/usage.ts";

/** The spending of sessions, summed by the server. */

const SUMS =
  "calls, input, cache_read, cache_write, output, reasoning, unknown_calls, estimated_input, estimated_output";

/**
 * Returns the statement that adds to the ledger. `session` is SQL for its number; the rows are arrays from parameter
 * `first` on.
 */
export const bookStatement = (session: string, from: string, first: number): string => {
  const arrays = [0, 1, ...SUMS.split(", ").map((_, index) => index + 2)];
  const unnested = arrays.map((at) => `$${first + at}::${at < 2 ? "text" : "float8"}[]`).join(", ");
  const sums = SUMS.split(", ").map((sum) => `${sum} = l.${sum} + excluded.${sum}`);
  return `INSERT INTO @ledger AS l (session, source, model, ${SUMS})
    SELECT ${session}, b.* FROM ${from} unnest(${unnested}) AS b
    ON CONFLICT (session, source, model) DO UPDATE SET ${sums.join(", ")}`;
};

/**
 * Returns the arrays for `bookStatement`. Equal keys are summed, because the server refuses a row that occurs twice in
 * one statement.
 */
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

export const BOOK = bookStatement("$1::bigint", "", 2);
