/**
 * A value, or a promise of it. A store or hook that answers at once returns the bare value; callers test with
 * `isThenable` before they wait, so the synchronous path makes no promise.
 */
type Awaitable<T> = T | PromiseLike<T>;
export { Awaitable };
