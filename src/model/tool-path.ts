// How code calls tools: `files.read({ path })`. Only this file has the rule, because the text for the model, the
// compiler's check and the run must agree.
import { isToolName, type ToolManifest } from "./tool.ts";

type Pathed = Pick<ToolManifest, "name" | "path">;

/** Tools by the paths in code: `module.operation`, or the tool's name as a property of `tools`. */
export interface ToolPaths {
  /** The tool that a path means. The tool's own name is always a path too. */
  nameOf(path: string): string | undefined;
  pathOf(name: string): string;
  /** The operations of each module. */
  readonly modules: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Reserved names. Code can neither declare them at its top level nor assign to them. */
export const CODE_NAMES: ReadonlySet<string> = new Set(
  [
    "tools print console finish continueAs sleep setTimeout clearTimeout history seed",
    "globalThis undefined NaN Infinity",
    // A new value of one of these names would stay in all later cells.
    "Object Function Array String Number Boolean Symbol BigInt Math JSON Reflect Proxy Promise Error Map Set Date RegExp",
  ].flatMap((names) => names.split(" ")),
);

/** Other built-in names of the language. A module with such a name would hide the built-in value from the code. */
const BUILTINS: ReadonlySet<string> = new Set(
  [
    "parseInt parseFloat isNaN isFinite encodeURI encodeURIComponent decodeURI decodeURIComponent escape unescape",
    "ArrayBuffer DataView WeakMap WeakSet WeakRef Iterator Intl WebAssembly queueMicrotask performance",
    "Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array Float16Array Float32Array",
    "Float64Array BigInt64Array BigUint64Array TypeError RangeError SyntaxError ReferenceError EvalError URIError",
    "AggregateError InternalError toString valueOf hasOwnProperty isPrototypeOf propertyIsEnumerable toLocaleString",
  ].flatMap((names) => names.split(" ")),
);

/** A module's name begins with a letter, because names with `_` and `$` belong to the code. */
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
/**
 * `tools` is not a module, because `tools.search` could then mean two tools: one of the module, and the one with the
 * name `search`.
 */
const isModule = (name = ""): boolean =>
  MODULE.test(name) && !RESERVED_WORDS.has(name) && !CODE_NAMES.has(name) && !BUILTINS.has(name);
/** After a dot any word is a name, except words with a meaning in the language. */
const isOperation = (name = ""): boolean => OPERATION.test(name) && !OTHER_PROPERTIES.has(name);

/**
 * The path of each tool. First, the tool's own `path` counts. Second, `mcp__server__tool` becomes `server.tool`. Third,
 * `module_operation` becomes `module.operation` if at least two tools share the module. If two tools have the same
 * path, the first in the list gets it. Reserved names such as `print`, and names in `taken`, cannot be modules. All
 * other tools are called by name: `tools.name(…)`.
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

/** The text of a tool call in code: `files.read`, `tools.weather`, `tools["get-weather"]`. */
export function calleeOf(path: string): string {
  if (path.includes(".")) return path;
  return isOperation(path) ? `tools.${path}` : `tools[${JSON.stringify(path)}]`;
}
