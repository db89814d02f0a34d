/**
 * A rule is a generator that reads with `yield*` and writes with plain calls. So the same code serves synchronous and
 * asynchronous stores.
 */
type Rule<T> = Generator<Promise<unknown>, T, unknown>;
/** A read: an available value, or one that a promise brings. */
interface Read<T> {
  [Symbol.iterator](): Iterator<Promise<unknown>, T, unknown>;
}
declare const now: <T>(value: T) => Read<T>;
declare function later<T>(promise: Promise<T>): Rule<T>;
/** Runs a rule of a synchronous store. */
declare function runNow<T>(rule: Rule<T>): T;
/** Runs a rule of an asynchronous store. A promise that fails is thrown where the rule reads it. */
declare function runLater<T>(rule: Iterator<Promise<unknown>, T, unknown>): Promise<T>;
type Value<Part> = Part extends Read<infer T> ? T : undefined;
type Values<Parts> = { -readonly [at in keyof Parts]: Value<Parts[at]>; };
/** Reads in parallel. Each part is a read, a rule, or undefined if there is nothing to read. */
declare function all<const Parts extends readonly (Read<unknown> | undefined)[]>(parts: Parts): Rule<Values<Parts>>;
export { Read, Rule, all, later, now, runLater, runNow };
