/**
 * An append-only list that is shared, not copied. `append` is O(1) while only one log grows the list, so a long turn
 * stays linear. If another log has appended to the list, it is copied first.
 */
export interface Log<T> {
  readonly items: readonly T[];
  readonly length: number;
}

export const emptyLog = <T>(): Log<T> => ({ items: [], length: 0 });

export function append<T>(log: Log<T>, ...added: readonly T[]): Log<T> {
  if (added.length === 0) return log;
  const owns = log.items.length === log.length && !Object.isFrozen(log.items);
  // The only place that changes a shared list, and only beyond the length of every log that uses it.
  const items = (owns ? log.items : log.items.slice(0, log.length)) as T[];
  for (const item of added) items.push(item);
  return { items, length: items.length };
}

export const itemsOf = <T>(log: Log<T>): readonly T[] =>
  log.items.length === log.length ? log.items : log.items.slice(0, log.length);
