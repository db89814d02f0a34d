import { isObject } from "./json.ts";
import { nearest } from "./known.ts";
import type { Schema } from "./schema.ts";

/**
 * Makes a schema from a function, for plugins that use no schema library: for options, states and the inputs of
 * operations. `read` returns the value for the plugin. If a method of `given` refuses a field, the error contains the
 * field's name.
 */
export function optionsSchema<In, Out = In>(read: (given: Fields) => Out): Schema<In, Out> {
  return {
    "~standard": {
      version: 1,
      vendor: "bowline",
      validate(given) {
        try {
          return { value: read(new Fields(requireObject(given, "it"), "")) };
        } catch (error) {
          if (error instanceof Wrong) return { issues: [{ message: error.message }] };
          throw error;
        }
      },
    },
  };
}

/** The default of a field. A field without a default is required. */
type UnlessGiven<D> = [] | [unlessGiven: D];

/**
 * Reads and checks the fields of an object by their names. The last argument of a method is the default: `text("title",
 * "Untitled")`, `text("model", undefined)`. Without a default, as in `text("path")`, the field is required.
 */
export class Fields {
  readonly #given: { readonly [name: string]: unknown };
  readonly #path: string;

  constructor(given: { readonly [name: string]: unknown }, path: string) {
    this.#given = given;
    this.#path = path;
  }

  /** The names of all fields, for objects with any names. */
  get names(): readonly string[] {
    return Object.keys(this.#given);
  }

  /** Refuses all other fields. Do not call it if fields of a later version must pass, as in a state. */
  only(...names: readonly string[]): void {
    const other = this.names.find((name) => !names.includes(name));
    if (other === undefined) return;
    const meant = nearest(other, names);
    const nearby = meant === undefined ? "" : `; the nearest is ${meant}`;
    throw new Wrong(`there is no field ${this.#at(other)}; there are ${names.join(", ")}${nearby}`);
  }

  /** The value of the field, unchecked. */
  value(name: string): unknown {
    return this.#given[name];
  }

  /** A field that `isRight` accepts; `what` completes the sentence "name must be …". */
  checked<T, D = never>(
    name: string,
    isRight: (value: unknown) => value is T,
    what: string,
    ...unlessGiven: UnlessGiven<D>
  ): T | D {
    const value = this.#given[name];
    if (value === undefined && unlessGiven.length === 1) return unlessGiven[0];
    if (isRight(value)) return value;
    throw this.wrong(`must be ${what}`, name);
  }

  text<D = never>(name: string, ...unlessGiven: UnlessGiven<D>): string | D {
    return this.checked(name, isText, "a text", ...unlessGiven);
  }

  texts<D = never>(name: string, ...unlessGiven: UnlessGiven<D>): readonly string[] | D {
    return this.checked(name, isTexts, "a list of texts", ...unlessGiven);
  }

  flag<D = never>(name: string, ...unlessGiven: UnlessGiven<D>): boolean | D {
    return this.checked(name, isFlag, "true or false", ...unlessGiven);
  }

  /** A whole number between `min` and `max`, both included. Default of `min`: 0. */
  whole<D = never>(
    name: string,
    { min = 0, max }: { readonly min?: number; readonly max?: number } = {},
    ...unlessGiven: UnlessGiven<D>
  ): number | D {
    const isWithin = (value: unknown): value is number =>
      Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= (max ?? Number.MAX_SAFE_INTEGER);
    const range = max === undefined ? `of ${min} or more` : `from ${min} to ${max}`;
    return this.checked(name, isWithin, `a whole number ${range}`, ...unlessGiven);
  }

  oneOf<const T extends string, D = never>(name: string, choices: readonly T[], ...unlessGiven: UnlessGiven<D>): T | D {
    const isChoice = (value: unknown): value is T => choices.includes(value as T);
    return this.checked(name, isChoice, `one of ${choices.join(", ")}`, ...unlessGiven);
  }

  /** An object within this one. */
  object<D = never>(name: string, ...unlessGiven: UnlessGiven<D>): Fields | D {
    const value = this.#given[name];
    if (value === undefined && unlessGiven.length === 1) return unlessGiven[0];
    return this.#inner(value, this.#at(name));
  }

  /** A list of objects, each read by `read`. */
  objects<T, D = never>(name: string, read: (item: Fields) => T, ...unlessGiven: UnlessGiven<D>): readonly T[] | D {
    const list = this.checked(name, isList, "a list", ...unlessGiven);
    if (!isList(list)) return list;
    return list.map((item, index) => read(this.#inner(item, this.#at(`${name}.${index}`))));
  }

  /**
   * The error to throw for a rule that the methods do not have: `throw given.wrong("must begin with a slash", "path")`.
   */
  wrong(problem: string, name?: string): Error {
    return new Wrong(`${(name === undefined ? this.#path : this.#at(name)) || "it"} ${problem}`);
  }

  #at(name: string): string {
    return this.#path === "" ? name : `${this.#path}.${name}`;
  }

  #inner(value: unknown, path: string): Fields {
    return new Fields(requireObject(value, path), path);
  }
}

/** Only these are reported as issues: any other error that a reading function throws is a bug and passes through. */
class Wrong extends Error {}

function requireObject(value: unknown, what: string): { readonly [name: string]: unknown } {
  if (isObject(value)) return value;
  throw new Wrong(`${what} must be an object`);
}

const isText = (value: unknown): value is string => typeof value === "string";
const isFlag = (value: unknown): value is boolean => typeof value === "boolean";
const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);
const isTexts = (value: unknown): value is readonly string[] => isList(value) && value.every(isText);
