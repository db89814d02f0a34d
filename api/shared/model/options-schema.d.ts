import { Schema } from "./schema.js";
/**
 * Makes a schema from a function, for plugins that use no schema library: for options, states and the inputs of
 * operations. `read` returns what the plugin works with; what a reader of `given` refuses is reported by the field's name.
 */
declare function optionsSchema<In, Out = In>(read: (given: Fields) => Out): Schema<In, Out>;
/** The value that a field has when it is not given. Without one, the field must be given. */
type UnlessGiven<D> = [] | [unlessGiven: D];
/**
 * The fields of an object that was given, each read and checked by its name. The last argument of a reader is the value
 * of a field that is not given: `text("title", "Untitled")`, `text("model", undefined)`; a reader without it, `text("path")`,
 * requires the field.
 */
declare class Fields {
  #private;
  constructor(given: {
    readonly [name: string]: unknown;
  }, path: string);
  /** The names of all fields that were given, for objects whose names are free. */
  get names(): readonly string[];
  /** Refuses every field but these. Leave it out where fields of a later version must pass, as in a state. */
  only(...names: readonly string[]): void;
  /** The field as it was given, unchecked. */
  value(name: string): unknown;
  /** A field that `isRight` accepts; `what` completes the sentence "name must be …". */
  checked<T, D = never>(name: string, isRight: (value: unknown) => value is T, what: string, ...unlessGiven: UnlessGiven<D>): T | D;
  text<D = never>(name: string, ...unlessGiven: UnlessGiven<D>): string | D;
  texts<D = never>(name: string, ...unlessGiven: UnlessGiven<D>): readonly string[] | D;
  flag<D = never>(name: string, ...unlessGiven: UnlessGiven<D>): boolean | D;
  /** A whole number within these bounds, both included; from 0 unless `min` says otherwise. */
  whole<D = never>(name: string, { min, max }?: {
    readonly min?: number;
    readonly max?: number;
  }, ...unlessGiven: UnlessGiven<D>): number | D;
  oneOf<const T extends string, D = never>(name: string, choices: readonly T[], ...unlessGiven: UnlessGiven<D>): T | D;
  /** An object within this one. */
  object<D = never>(name: string, ...unlessGiven: UnlessGiven<D>): Fields | D;
  /** A list of objects, each read by `read`. */
  objects<T, D = never>(name: string, read: (item: Fields) => T, ...unlessGiven: UnlessGiven<D>): readonly T[] | D;
  /** The error to throw for a rule that no reader knows: `throw given.wrong("must begin with a slash", "path")`. */
  wrong(problem: string, name?: string): Error;
}
export { Fields, optionsSchema };
