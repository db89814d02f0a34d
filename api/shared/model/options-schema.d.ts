import { Schema } from "./schema.js";
/**
 * Makes a schema from a function, for plugins that use no schema library: for options, states and the inputs of
 * operations. `read` returns the value for the plugin. If a method of `given` refuses a field, the error contains the
 * field's name.
 */
declare function optionsSchema<In, Out = In>(read: (given: Fields) => Out): Schema<In, Out>;
/** The default of a field. A field without a default is required. */
type UnlessGiven<D> = [] | [unlessGiven: D];
/**
 * Reads and checks the fields of an object by their names. The last argument of a method is the default: `text("title",
 * "Untitled")`, `text("model", undefined)`. Without a default, as in `text("path")`, the field is required.
 */
declare class Fields {
  #private;
  constructor(given: {
    readonly [name: string]: unknown;
  }, path: string);
  /** The names of all fields, for objects with any names. */
  get names(): readonly string[];
  /** Refuses all other fields. Do not call it if fields of a later version must pass, as in a state. */
  only(...names: readonly string[]): void;
  /** The value of the field, unchecked. */
  value(name: string): unknown;
  /** A field that `isRight` accepts; `what` completes the sentence "name must be …". */
  checked<T, D = never>(name: string, isRight: (value: unknown) => value is T, what: string, ...unlessGiven: UnlessGiven<D>): T | D;
  text<D = never>(name: string, ...unlessGiven: UnlessGiven<D>): string | D;
  texts<D = never>(name: string, ...unlessGiven: UnlessGiven<D>): readonly string[] | D;
  flag<D = never>(name: string, ...unlessGiven: UnlessGiven<D>): boolean | D;
  /** A whole number between `min` and `max`, both included. Default of `min`: 0. */
  whole<D = never>(name: string, { min, max }?: {
    readonly min?: number;
    readonly max?: number;
  }, ...unlessGiven: UnlessGiven<D>): number | D;
  oneOf<const T extends string, D = never>(name: string, choices: readonly T[], ...unlessGiven: UnlessGiven<D>): T | D;
  /** An object within this one. */
  object<D = never>(name: string, ...unlessGiven: UnlessGiven<D>): Fields | D;
  /** A list of objects, each read by `read`. */
  objects<T, D = never>(name: string, read: (item: Fields) => T, ...unlessGiven: UnlessGiven<D>): readonly T[] | D;
  /**
   * The error to throw for a rule that the methods do not have: `throw given.wrong("must begin with a slash", "path")`.
   */
  wrong(problem: string, name?: string): Error;
}
export { Fields, optionsSchema };
