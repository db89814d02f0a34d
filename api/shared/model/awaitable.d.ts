/** What may be there already. A member that answers at once costs no promise where the caller looks before it waits. */
type Awaitable<T> = T | PromiseLike<T>;
export { Awaitable };
