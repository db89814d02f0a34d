/** Every answer of the store is a promise, kept in the order of the calls. */
export function later<T extends object>(target: T): T {
  return new Proxy(target, {
    get(_, key) {
      const value: unknown = Reflect.get(target, key);
      if (typeof value === "object" && value !== null) return later(value);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) =>
        new Promise((resolve) => setImmediate(resolve)).then(() => value.apply(target, args));
    },
  });
}
