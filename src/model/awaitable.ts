/** What may be there already. A member that answers at once costs no promise where the caller looks before it waits. */
export type Awaitable<T> = T | PromiseLike<T>;

export const isThenable = <T>(value: Awaitable<T>): value is PromiseLike<T> =>
  typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";

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
export const andThen = <T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> =>
  isThenable(value) ? value.then(next) : next(value);

/** A promise that nobody will wait for: its failure is not left unheard, which would end the process. */
export function unheard(value: unknown): void {
  try {
    if (isThenable(value as Awaitable<unknown>)) (value as PromiseLike<unknown>).then(undefined, () => {});
  } catch {
    // A thenable that throws has nothing to say.
  }
}

/** Made when it is first asked for, and then the same for all who ask. */
export const once = <T>(make: () => T): (() => T) => {
  let made: T | undefined;
  return () => (made ??= make());
};
