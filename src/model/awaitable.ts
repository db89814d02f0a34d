/**
 * A value, or a promise of it. A store or hook that answers at once returns the bare value; callers test with
 * `isThenable` before they wait, so the synchronous path makes no promise.
 */
export type Awaitable<T> = T | PromiseLike<T>;

export const isThenable = <T>(value: Awaitable<T>): value is PromiseLike<T> =>
  typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";

/** Runs the items one after the other. Stays synchronous, and makes no promise, until one of the runs returns one. */
export function inOrder<T, R>(items: readonly T[], run: (item: T, index: number) => Awaitable<R>): Awaitable<R[]> {
  const results: R[] = [];
  for (let index = 0; index < items.length; index++) {
    const result = run(items[index] as T, index);
    if (isThenable(result)) return continueInOrder(items, run, results, result, index);
    results.push(result);
  }
  return results;
}

async function continueInOrder<T, R>(
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

/** `then` for an `Awaitable`: calls `next` at once when the value is already there. */
export const andThen = <T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> =>
  isThenable(value) ? value.then(next) : next(value);

/** Ignores the rejection of a promise that no code awaits, because an unhandled rejection would end the process. */
export function ignoreRejection(value: unknown): void {
  try {
    if (isThenable(value as Awaitable<unknown>)) (value as PromiseLike<unknown>).then(undefined, () => {});
  } catch {
    // Reading `then` threw, so there is no promise that could reject.
  }
}

/**
 * A promise that a caller need not await: without an await there is no unhandled rejection, which would end the
 * process. With an await the caller gets the error.
 */
export function unwaited<T>(run: () => Promise<T>): Promise<T> {
  const running = run();
  running.catch(() => {});
  return running;
}

/** Makes the value at the first call. All later calls return the same value. */
export const once = <T>(make: () => T): (() => T) => {
  let made: T | undefined;
  return () => (made ??= make());
};
