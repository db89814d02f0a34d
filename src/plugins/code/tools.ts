// The tools of a session, by the names that code can use.
import type { ToolManifest } from "../../plugin.ts";
import { type Surface, type ToolPaths, toolPaths } from "../../sandbox/quickjs/index.ts";

/** The tool that a call of code means, and the name in the code if it differs. */
interface Meant {
  readonly tool: string;
  readonly as?: string;
}

export class CodeTools {
  readonly #paths: ToolPaths;
  readonly #known: ReadonlySet<string>;
  readonly surface: Surface;

  /** `values`: names that belong to values, so no module can have them. */
  constructor(tools: readonly ToolManifest[], values: readonly string[] = []) {
    const callable = tools.filter(isCallable);
    this.#paths = toolPaths(callable, new Set(values));
    this.#known = new Set(tools.map(({ name }) => name));
    this.surface = {
      modules: Object.fromEntries([...this.#paths.modules].map(([module, operations]) => [module, [...operations]])),
      tools: callable.map(({ name }) => name),
      names: values,
    };
  }

  get hasSearch(): boolean {
    return this.surface.tools.includes("search");
  }

  isModule(name: string): boolean {
    return this.#paths.modules.has(name);
  }

  pathOf(name: string): string {
    return this.#paths.pathOf(name);
  }

  /** The modules that the text of a cell mentions, also in comments. */
  mentionedIn(code: string): readonly string[] {
    const words = new Set(code.match(WORD));
    return [...this.#paths.modules.keys()].filter((module) => words.has(module));
  }

  meant(path: string): Meant {
    const name = this.#paths.nameOf(path);
    if (name !== undefined) return name === path ? { tool: name } : { tool: name, as: path };
    if (!path.includes(".")) return { tool: path };
    // A wrong name must not call another tool by accident: the code must receive an error.
    let tool = path.replace(/[^\w-]/g, "_");
    while (this.#known.has(tool)) tool += "_";
    return { tool, as: path };
  }
}

const WORD = /[A-Za-z]\w*/g;

export const isCallable = ({ availability = "callable" }: ToolManifest): boolean =>
  availability === "callable" || availability === "documented";

/** Caches the result for the latest list, because every segment passes the same list. */
export function toolsKeeper(): (tools: readonly ToolManifest[], values: readonly string[]) => CodeTools {
  let cached: { readonly of: readonly ToolManifest[]; readonly values: string; readonly tools: CodeTools } | undefined;
  return (tools, values) => {
    const key = values.join();
    if (cached?.of !== tools || cached.values !== key)
      cached = { of: tools, values: key, tools: new CodeTools(tools, values) };
    return cached.tools;
  };
}
