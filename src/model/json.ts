export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

export const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export type JsonProblem = { readonly path: string; readonly problem: string };

/**
 * A copy as pure JSON, or the reason why the value is not JSON: a cycle, a function, a BigInt, a class without a JSON
 * form. Like `JSON.stringify` it omits `undefined` fields and uses `toJSON`. It refuses values that `JSON.stringify`
 * would change to null or {} (NaN, a Map), because this loss would be visible only after a restart.
 */
export function toJson(value: unknown, max = 2_000_000): { readonly json: Json } | JsonProblem {
  let left = max;
  const seen = new Set<object>();
  const fail = (path: string, problem: string): never => {
    throw new NotJson(path, problem);
  };
  const copy = (item: unknown, path: string): Json => {
    if (--left < 0) fail(path, `more than ${max} values`);
    switch (typeof item) {
      case "string":
      case "boolean":
        return item;
      case "number":
        return Number.isFinite(item) ? item : fail(path, `${item} is not a JSON number`);
      case "object":
        break;
      default:
        return fail(path, `a ${typeof item} is not JSON`);
    }
    if (item === null) return null;
    if (seen.has(item)) fail(path, "it contains itself");
    if (seen.size > 1_000) fail(path, "it is nested more than 1000 deep");
    seen.add(item);
    const json = copyObject(item, path);
    seen.delete(item);
    return json;
  };
  const copyObject = (item: object, path: string): Json => {
    if (Array.isArray(item))
      return item.map((each, index) => copy(each === undefined ? null : each, `${path}[${index}]`));
    if (typeof (item as { toJSON?: unknown }).toJSON === "function") {
      const converted: unknown = (item as { toJSON(key: string): unknown }).toJSON("");
      return converted === item ? fail(path, "its toJSON returns itself") : copy(converted, path);
    }
    const prototype: unknown = Object.getPrototypeOf(item);
    if (prototype !== null && prototype !== Object.prototype && !isPlainElsewhere(prototype)) {
      fail(path, `a ${(item.constructor as { name?: string } | undefined)?.name ?? "class instance"} is not JSON`);
    }
    const out: Record<string, Json> = {};
    for (const key of Object.keys(item)) {
      const field = (item as Record<string, unknown>)[key];
      if (field === undefined) continue;
      const json = copy(field, `${path}.${key}`);
      if (key === "__proto__") Object.defineProperty(out, key, { value: json, enumerable: true });
      else out[key] = json;
    }
    return out;
  };
  try {
    return { json: copy(value === undefined ? null : value, "") };
  } catch (error) {
    if (error instanceof NotJson) return { path: error.path, problem: error.problem };
    return { path: "", problem: error instanceof RangeError ? "it is nested too deep" : describeThrown(error) };
  }
}

/**
 * The value after storing and reading: NaN becomes null, a Date a text, -0 becomes 0, and undefined fields are missing.
 * Undefined if the value cannot be stored, or is nested more than 1000 levels deep.
 */
export function storable(value: unknown): Json | undefined {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(value));
    return isStorable(copy) ? copy : undefined;
  } catch {
    return undefined;
  }
}

/** Whether `storable` would return an equal value. Then no copy is needed, which is so for nearly all values. */
export function isStorable(value: unknown, depth = 0): value is Json {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0);
    case "object":
      break;
    default:
      return false;
  }
  if (value === null) return true;
  if (depth > 1_000 || typeof (value as { toJSON?: unknown }).toJSON === "function") return false;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) if (!isStorable(value[index], depth + 1)) return false;
    return true;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  for (const key in value) if (!isStorable((value as Record<string, unknown>)[key], depth + 1)) return false;
  return true;
}

class NotJson extends Error {
  readonly path: string;
  readonly problem: string;
  constructor(path: string, problem: string) {
    super(problem);
    this.path = path === "" ? "(the value)" : path.replace(/^\./, "");
    this.problem = problem;
  }
}

/** Plain objects of another realm (a vm context, a worker) have another `Object.prototype`. */
const isPlainElsewhere = (prototype: unknown): boolean =>
  Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, "hasOwnProperty");

/**
 * Freezes lists and plain objects, deeply, and returns the value. Does not freeze instances of classes, and bytes,
 * which cannot be frozen. A frozen object counts as deeply frozen, so that in a long conversation only new messages
 * cost time.
 */
export function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) freeze(value);
  return value;
}

function freeze(value: object): void {
  if (Array.isArray(value)) {
    Object.freeze(value);
    for (let index = 0; index < value.length; index++) if (typeof value[index] === "object") frozen(value[index]);
    return;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null && !isPlainElsewhere(prototype)) return;
  Object.freeze(value);
  const fields = value as { readonly [field: string]: unknown };
  for (const name in fields) {
    const field = fields[name];
    if (typeof field === "object") frozen(field);
  }
}

/** A frozen JSON copy, so that the caller cannot change it after the check. A value that is not JSON becomes null. */
export function ownJson(value: unknown): Json {
  const found = toJson(value);
  return frozen("problem" in found ? null : found.json);
}

/** A message for any thrown value, also if it is not an Error. Never throws itself. */
export function describeThrown(thrown: unknown): string {
  try {
    if (typeof thrown === "string") return thrown;
    if (thrown instanceof Error) {
      const { message, name } = thrown as { readonly message: unknown; readonly name: unknown };
      if (typeof message === "string" && message !== "") return message;
      return typeof message === "object" && message !== null ? JSON.stringify(message).slice(0, 500) : String(name);
    }
    return `${JSON.stringify(thrown) ?? String(thrown)} was thrown`.slice(0, 500);
  } catch {
    return "something that cannot be shown was thrown";
  }
}

/**
 * The text of an id or a number in an error message, for untyped callers. For an object it is the type, because
 * `String(value)` would call a `toString` that can throw.
 */
export const idText = (value: unknown): string =>
  (Object(value) === value ? `[${typeof value}]` : String(value)).slice(0, 256);

/**
 * The number of UTF-8 bytes if it exceeds `max`, else undefined. Does not count short texts, which cannot exceed it.
 */
export function bytesOver(text: string, max: number): number | undefined {
  if (text.length * 3 <= max) return undefined;
  const bytes = Buffer.byteLength(text);
  return bytes > max ? bytes : undefined;
}

type Defined<T> = { readonly [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  readonly [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** The fields that are not undefined, as in JSON. */
export const defined = <T extends object>(fields: T): Defined<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;

/** A copy of JSON, faster than `structuredClone`. A key named `__proto__` stays an own field. */
export function copyOf(input: Json): Json {
  if (typeof input !== "object" || input === null) return input;
  if (Array.isArray(input)) return input.map(copyOf);
  const copy: Record<string, Json> = {};
  const keys = Object.keys(input);
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string;
    const field = copyOf((input as JsonObject)[key] as Json);
    if (key === "__proto__") Object.defineProperty(copy, key, { value: field, ...OWN });
    else copy[key] = field;
  }
  return copy;
}
const OWN = { enumerable: true, writable: true, configurable: true };
