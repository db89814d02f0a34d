import { type Awaitable, isThenable } from "./json.ts";

/** One after the other; waits only from the first one on that makes it wait. */
export function inOrder<T, R>(items: readonly T[], run: (item: T, index: number) => Awaitable<R>): Awaitable<R[]> {
  const results: R[] = [];
  for (let index = 0; index < items.length; index++) {
    const result = run(items[index] as T, index);
    if (isThenable(result)) return rest(items, run, results, result, index);
    results.push(result);
  }
  return results;
}

async function rest<T, R>(
  items: readonly T[],
  run: (item: T, index: number) => Awaitable<R>,
  results: R[],
  first: PromiseLike<R>,
  from: number,
): Promise<R[]> {
  results.push(await first);
  for (let index = from + 1; index < items.length; index++) results.push(await run(items[index] as T, index));
  return results;
}

/** `then` that does not wait for what is already there. */
export const after = <T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> =>
  isThenable(value) ? value.then(next) : next(value);
