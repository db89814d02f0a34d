// How code calls tools: `files.read({ path })`. The only place with the rule: what a model reads, what the
// compiler checks and what runs must agree.
import { isToolName, type ToolManifest } from "./tool.ts";

type Pathed = Pick<ToolManifest, "name" | "path">;

/** Tools by the path by which code calls them: `module.operation`, or their name, which is a property of `tools`. */
export interface ToolPaths {
  /** The tool that code means by a path. The tool's own name is always one, whatever other path it has. */
  nameOf(path: string): string | undefined;
  pathOf(name: string): string;
  /** The operations of each module. */
  readonly modules: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Names that code has for something else. It can neither declare them at its top level nor assign to them. */
export const CODE_NAMES: ReadonlySet<string> = new Set(
  [
    "tools print console finish continueAs sleep setTimeout clearTimeout history seed",
    "globalThis undefined NaN Infinity",
    // Another value under one of these names would be there in all later cells.
    "Object Function Array String Number Boolean Symbol BigInt Math JSON Reflect Proxy Promise Error Map Set Date RegExp",
  ].flatMap((names) => names.split(" ")),
);

/** What the language has besides: a module by one of these names would take it away from code that mentions it. */
const BUILTINS: ReadonlySet<string> = new Set(
  [
    "parseInt parseFloat isNaN isFinite encodeURI encodeURIComponent decodeURI decodeURIComponent escape unescape",
    "ArrayBuffer DataView WeakMap WeakSet WeakRef Iterator Intl WebAssembly queueMicrotask performance",
    "Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array Float16Array Float32Array",
    "Float64Array BigInt64Array BigUint64Array TypeError RangeError SyntaxError ReferenceError EvalError URIError",
    "AggregateError InternalError toString valueOf hasOwnProperty isPrototypeOf propertyIsEnumerable toLocaleString",
  ].flatMap((names) => names.split(" ")),
);

/** A module's name begins with a letter: code has names with `_` and `$` to itself. */
const MODULE = /^[A-Za-z][A-Za-z0-9_]*$/;
const OPERATION = /^[A-Za-z_][A-Za-z0-9_]*$/;
const RESERVED_WORDS: ReadonlySet<string> = new Set(
  (
    "break case catch class const continue debugger default delete do else enum export extends false finally for function " +
    "if implements import in instanceof interface let new null package private protected public return static super switch " +
    "this throw true try typeof undefined var void while with yield async await arguments eval"
  ).split(" "),
);

const OTHER_PROPERTIES: ReadonlySet<string> = new Set(
  "then constructor toJSON toString valueOf __proto__ prototype".split(" "),
);

/** Whether this can be a tool's `path`. */
export function isToolPath(path: unknown): path is string {
  if (typeof path !== "string" || path.length > 128) return false;
  const [module, operation, more] = path.split(".");
  return more === undefined && isModule(module) && isOperation(operation);
}
/** `tools` is none: `tools.search` would mean two tools, that of a module and the one with the name `search`. */
const isModule = (name = ""): boolean =>
  MODULE.test(name) && !RESERVED_WORDS.has(name) && !CODE_NAMES.has(name) && !BUILTINS.has(name);
/** After a dot any word is a name. These mean something else to the language. */
const isOperation = (name = ""): boolean => OPERATION.test(name) && !OTHER_PROPERTIES.has(name);

/**
 * A tool's own `path` counts, then `mcp__server__tool` as `server.tool`, then `module_operation` where at least two tools
 * share the module. Of two tools with one path the first in the list has it; a module whose name code has for something
 * else, as `print` or what is `taken` besides, is none. Other tools are called by name: `tools.name(…)`.
 */
export function toolPaths(tools: readonly Pathed[], taken: ReadonlySet<string> = NONE): ToolPaths {
  const shared = new Map<string, number>();
  for (const tool of tools) {
    const [module] = splitName(tool) ?? [];
    if (module !== undefined) shared.set(module, (shared.get(module) ?? 0) + 1);
  }
  const names = new Map<string, string>();
  const paths = new Map<string, string>();
  const modules = new Map<string, Set<string>>();
  const give = ({ name }: Pathed, [module, operation]: Split): void => {
    const path = `${module}.${operation}`;
    if (taken.has(module) || names.has(path) || paths.has(name)) return;
    names.set(path, name);
    paths.set(name, path);
    const operations = modules.get(module);
    if (operations === undefined) modules.set(module, new Set([operation]));
    else operations.add(operation);
  };
  for (const tool of tools) if (isToolPath(tool.path)) give(tool, tool.path.split(".") as unknown as Split);
  for (const tool of tools) {
    const split = splitMcp(tool) ?? splitName(tool);
    if (split !== undefined && (tool.name.startsWith(MCP) || (shared.get(split[0]) ?? 0) > 1)) give(tool, split);
  }
  const known = new Set(tools.map(({ name }) => name));
  return {
    nameOf: (path) => names.get(path) ?? (known.has(path) ? path : undefined),
    pathOf: (name) => paths.get(name) ?? name,
    modules,
  };
}
const NONE: ReadonlySet<string> = new Set();

type Split = readonly [module: string, operation: string];
const MCP = "mcp__";

function splitMcp({ name }: Pathed): Split | undefined {
  const [, module, operation] = /^mcp__(.+?)__(.+)$/.exec(name) ?? [];
  return isModule(module) && isOperation(operation) ? [module as string, operation as string] : undefined;
}

function splitName({ name, path }: Pathed): Split | undefined {
  if (path !== undefined || name.startsWith(MCP) || !isToolName(name)) return undefined;
  const at = name.indexOf("_");
  const [module, operation] = [name.slice(0, at), name.slice(at + 1)];
  return at > 0 && isModule(module) && isOperation(operation) ? [module, operation] : undefined;
}

/** How a call of a tool is written: `files.read`, `tools.weather`, `tools["get-weather"]`. */
export function calleeOf(path: string): string {
  if (path.includes(".")) return path;
  return isOperation(path) ? `tools.${path}` : `tools[${JSON.stringify(path)}]`;
}
