// The tools of a session as its code can name them.
import type { ToolManifest } from "../../plugin.ts";
import { type Surface, type ToolPaths, toolPaths } from "../../sandbox/quickjs/index.ts";

/** How a call of code is carried out: the tool, and how the code named it where that is not its name. */
interface Meant {
  readonly tool: string;
  readonly as?: string;
}

export class CodeTools {
  readonly #paths: ToolPaths;
  readonly #known: ReadonlySet<string>;
  readonly surface: Surface;

  /** `values`: names that stand for something else, where they would be modules. */
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

  /** The modules that the text of a cell mentions, in a comment or not. */
  mentionedIn(code: string): readonly string[] {
    const words = new Set(code.match(WORD));
    return [...this.#paths.modules.keys()].filter((module) => words.has(module));
  }

  meant(path: string): Meant {
    const name = this.#paths.nameOf(path);
    if (name !== undefined) return name === path ? { tool: name } : { tool: name, as: path };
    if (!path.includes(".")) return { tool: path };
    // No tool may be meant by accident: the code is to learn that there is none.
    let tool = path.replace(/[^\w-]/g, "_");
    while (this.#known.has(tool)) tool += "_";
    return { tool, as: path };
  }
}

const WORD = /[A-Za-z]\w*/g;

export const isCallable = ({ availability = "callable" }: ToolManifest): boolean =>
  availability === "callable" || availability === "documented";

/** Keeps what was made of the latest list: the same one comes with every segment. */
export function toolsKeeper(): (tools: readonly ToolManifest[], values: readonly string[]) => CodeTools {
  let cached: { readonly of: readonly ToolManifest[]; readonly values: string; readonly tools: CodeTools } | undefined;
  return (tools, values) => {
    const key = values.join();
    if (cached?.of !== tools || cached.values !== key)
      cached = { of: tools, values: key, tools: new CodeTools(tools, values) };
    return cached.tools;
  };
}
