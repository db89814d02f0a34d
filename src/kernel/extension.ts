// Typed input for plugins and the protocol, for a turn or a session: extensions, their declarations, and their stored
// values.
// extension-1: A value is checked by its owner before anything is stored: by the schema, then by `validate`.
// extension-2: The stored value is the output of the schema, as JSON. A value that JSON would change is refused.
import { ignoreRejection } from "../model/awaitable.ts";
import { RuntimeError } from "../model/errors.ts";
import { describeThrown, frozen, isObject, type Json, type JsonObject, toJson } from "../model/json.ts";
import { type Known, requireKnown } from "../model/known.ts";
import { type Any, check, type InputOf, isStandard, type OutputOf, type Schema } from "../model/schema.ts";
import type { Owned } from "./owned.ts";

/** A value for an extension, made with `extension.of(value)`. The call that receives it checks it. */
export interface ExtensionValue {
  readonly id: string;
  readonly value: unknown;
}

/** Typed input for plugins. Its id identifies it, so any version of its plugin can read a recorded value. */
export interface Extension<In, Out = In> {
  readonly id: string;
  readonly schema: Schema<In, Out>;
  /** Makes a value to pass: `session.turn(input, { extensions: [urgency.of({ level: 2 })] })`. */
  of(value: In): ExtensionValue;
}

/** How a plugin declares an extension that it owns. */
export type ExtensionDeclaration = Extension<Any, Any> | CheckedExtension;
interface CheckedExtension {
  readonly extension: Extension<Any, Any>;
  /** Checks the output of the schema. Returns the problem, or nothing. */
  readonly validate?: ((value: Any) => string | undefined) | undefined;
}

/** The extensions of a session's plugins, by id. */
export type Extensions = ReadonlyMap<string, Owned<CheckedExtension>>;

/**
 * Makes an extension. The plugin that owns it lists it in its `extensions`; others read it with the same object. The
 * schema must be synchronous and return JSON. It must return the same for the same value, because a repeated `key`
 * compares these outputs.
 */
export function extension<S extends Schema>(id: string, schema: S): Extension<InputOf<S>, OutputOf<S>> {
  if (typeof id !== "string" || id === "__proto__" || !/^[\w.@/-]{1,128}$/.test(id))
    throw new RuntimeError("options.invalid", {
      option: "id",
      problem: "the id of an extension must be 1 to 128 of letters, digits and . _ - / @",
    });
  if (!isStandard(schema))
    throw new RuntimeError("schema.invalid", { of: `the extension ${id}`, problem: "it is not a Standard Schema" });
  return { id, schema, of: (value) => ({ id, value }) };
}

const isExtension = (given: unknown): given is Extension<Any, Any> =>
  isObject(given) && typeof given.id === "string" && typeof given.of === "function" && isStandard(given.schema);

const DECLARATION: Known<CheckedExtension> = { extension: true, validate: true };

/** Adds the extensions that a plugin declares. An extension has one owner. */
export function declareExtensions(declared: Map<string, Owned<CheckedExtension>>, plugin: string, part: unknown): void {
  const wrong = (problem: string): never => {
    throw new RuntimeError("plugin.invalid", { plugin, problem });
  };
  const isDeclaration = (each: unknown): each is CheckedExtension =>
    isObject(each) &&
    isExtension(each.extension) &&
    (each.validate === undefined || typeof each.validate === "function");
  if (!Array.isArray(part)) return wrong("its extensions must be a list");
  for (const each of part as readonly unknown[]) {
    const value = isExtension(each) ? { extension: each } : each;
    if (!isDeclaration(value))
      return wrong("every item of its extensions must be made with `extension`, or be { extension, validate }");
    requireKnown(`extensions of ${plugin}`, value, DECLARATION);
    const { id } = value.extension;
    const before = declared.get(id);
    if (before !== undefined) wrong(`the extension ${id} is also declared by ${before.plugin}`);
    declared.set(id, { plugin, value });
  }
}

/** The stored values of a turn's extensions; undefined without any. */
export function keptExtensions(declared: Extensions, given: unknown, bytesMax: number): JsonObject | undefined {
  if (!Array.isArray(given))
    throw new RuntimeError("options.invalid", { option: "extensions", problem: "it must be a list" });
  const checked = new Map<string, Json>();
  for (const each of given as readonly unknown[]) {
    const { id, value } = keptExtension(declared, each, bytesMax);
    if (checked.has(id)) throw invalid(declared, id, "it is given twice");
    checked.set(id, value);
  }
  if (checked.size === 0) return undefined;
  // Sorted, because a repeated call can have another order.
  const all = Object.fromEntries([...checked].sort(([a], [b]) => (a < b ? -1 : 1)));
  requireSize("The turn's extensions together", JSON.stringify(all), bytesMax);
  return frozen(all);
}

/** Checks one value (extension-1) and returns the stored value (extension-2). */
export function keptExtension(
  declared: Extensions,
  given: unknown,
  bytesMax: number,
): { readonly id: string; readonly value: Json } {
  if (!isObject(given) || typeof given.id !== "string")
    throw new RuntimeError("options.invalid", { option: "extensions", problem: "every item must be made with `of`" });
  const { id } = given;
  const owned = declared.get(id);
  if (owned === undefined) throw new RuntimeError("extension.unknown", { extension: id, known: [...declared.keys()] });
  const { extension, validate } = owned.value;
  const within = <T>(run: () => T): T => {
    try {
      return run();
    } catch (error) {
      throw error instanceof RuntimeError ? error : invalid(declared, id, describeThrown(error), error);
    }
  };
  const result = within(() => check(extension.schema, given.value, `the extension ${id} of plugin ${owned.plugin}`));
  if (!result.ok) throw invalid(declared, id, result.problem);
  const found = toJson(result.value);
  if ("problem" in found) throw invalid(declared, id, `${found.path}: ${found.problem}`);
  const text = within(() => JSON.stringify(result.value, unchanged) as string | undefined);
  if (text === undefined) throw invalid(declared, id, "its schema makes nothing of it");
  requireSize(`The extension ${id}`, text, bytesMax);
  const value = frozen(JSON.parse(text) as Json);
  const problem: unknown = within(() => validate?.(value));
  ignoreRejection(problem);
  if (problem !== undefined && problem !== null)
    throw invalid(
      declared,
      id,
      typeof problem === "string" ? problem : "its `validate` returned something else than a text",
    );
  return { id, value };
}

/** extension-2: a Date, for example, would come back as text. */
function unchanged(this: { readonly [key: string]: unknown }, key: string, value: unknown): unknown {
  if (!Object.is(this[key], value)) throw new TypeError(`${key || "its value"}: what its schema makes is not JSON`);
  return value;
}

function requireSize(what: string, text: string, max: number): void {
  const bytes = Buffer.byteLength(text);
  if (bytes > max) throw new RuntimeError("limit.bytes", { what, bytes, max });
}

const invalid = (declared: Extensions, id: string, problem: string, cause?: unknown): RuntimeError =>
  new RuntimeError("extension.invalid", { extension: id, plugin: declared.get(id)?.plugin ?? "", problem }, { cause });

/** Reads a recorded value, also one that no plugin declares any more. */
export const extensionIn = (stored: JsonObject | undefined, id: string): Json | undefined =>
  stored !== undefined && Object.hasOwn(stored, id) ? stored[id] : undefined;
