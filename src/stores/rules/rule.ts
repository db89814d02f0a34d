/**
 * A rule is a generator that reads with `yield*` and writes with plain calls. So the same code serves synchronous and
 * asynchronous stores.
 */
export type Rule<T> = Generator<Promise<unknown>, T, unknown>;

/** A read: an available value, or one that a promise brings. */
export interface Read<T> {
  [Symbol.iterator](): Iterator<Promise<unknown>, T, unknown>;
}

/** An available value. It is its own iterator and its own result, so that a read costs one object. */
class Now<T> implements Read<T> {
  readonly done = true;
  readonly value: T;
  constructor(value: T) {
    this.value = value;
  }
  next(): IteratorReturnResult<T> {
    return this;
  }
  [Symbol.iterator](): Iterator<Promise<unknown>, T, unknown> {
    return this;
  }
}
export const now = <T>(value: T): Read<T> => new Now(value);

export function* later<T>(promise: Promise<T>): Rule<T> {
  return (yield promise) as T;
}

/** Runs a rule of a synchronous store. */
export function runNow<T>(rule: Rule<T>): T {
  const step = rule.next();
  if (step.done !== true) throw new Error("A store that answers at once was given a promise.");
  return step.value;
}

/** Runs a rule of an asynchronous store. A promise that fails is thrown where the rule reads it. */
export async function runLater<T>(rule: Iterator<Promise<unknown>, T, unknown>): Promise<T> {
  let step = rule.next();
  while (step.done !== true) {
    let value: unknown;
    try {
      value = await step.value;
    } catch (error) {
      if (rule.throw === undefined) throw error;
      step = rule.throw(error);
      continue;
    }
    step = rule.next(value);
  }
  return step.value;
}

type Value<Part> = Part extends Read<infer T> ? T : undefined;
type Values<Parts> = { -readonly [at in keyof Parts]: Value<Parts[at]> };

/** Reads in parallel. Each part is a read, a rule, or undefined if there is nothing to read. */
export function* all<const Parts extends readonly (Read<unknown> | undefined)[]>(parts: Parts): Rule<Values<Parts>> {
  const values: unknown[] = [];
  const open: Promise<unknown>[] = [];
  for (const [at, part] of parts.entries()) {
    values.push(undefined);
    if (part === undefined) continue;
    const iterator = part[Symbol.iterator]();
    const step = iterator.next();
    if (step.done === true) values[at] = step.value;
    else open.push(finishLater(iterator, step.value).then((value) => (values[at] = value)));
  }
  if (open.length > 0) {
    for (const each of open) each.catch(() => {}); // The first failure is thrown; the others must not become unhandled rejections.
    yield Promise.all(open);
  }
  return values as Values<Parts>;
}

const finishLater = <T>(iterator: Iterator<Promise<unknown>, T, unknown>, first: Promise<unknown>): Promise<T> => {
  let isFirst = true;
  return runLater({
    next: (...sent) => {
      if (!isFirst) return iterator.next(...(sent as [unknown]));
      isFirst = false;
      return { done: false, value: first };
    },
    throw: (error) => {
      if (iterator.throw === undefined) throw error;
      return iterator.throw(error);
    },
  });
};
