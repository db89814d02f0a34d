// The names in a cell's surroundings, for the compiler: which names are used, and which calls reach an existing tool.

import { nearest } from "../../model/known.ts";
import type { Surface } from "../sandbox.ts";

/** `tools.search(…)` always exists. */
const SEARCH = "search";

export class Names {
  readonly #modules: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #tools: ReadonlySet<string>;
  readonly #values: ReadonlySet<string>;

  constructor({ modules, tools, names }: Surface) {
    this.#modules = new Map(Object.entries(modules).map(([module, operations]) => [module, new Set(operations)]));
    this.#tools = new Set(tools);
    this.#values = new Set(names);
  }

  /** Returns the meaning of a name that a cell must not use; undefined if it is free. */
  meaningOf(name: string): string | undefined {
    if (this.#values.has(name)) return "a read-only value here";
    return this.#modules.has(name) ? "a module of tools here" : undefined;
  }

  /**
   * Returns what is wrong with a call of `object.property`; undefined if it is right or the object is not known here.
   */
  missing(object: string, property: string): string | undefined {
    if (object === "tools") {
      if (property === SEARCH || this.#tools.has(property)) return undefined;
      return `${absent(`tools.${property}`, nearest(property, [...this.#tools]), "tools.")} Search with tools.search("…").`;
    }
    const operations = this.#values.has(object) ? undefined : this.#modules.get(object);
    if (operations === undefined || operations.has(property)) return undefined;
    return absent(`${object}.${property}`, nearest(property, [...operations]), `${object}.`);
  }
}

const absent = (path: string, meant: string | undefined, of: string): string =>
  `There is no ${path}.${meant === undefined ? "" : ` Did you mean ${of}${meant}?`}`;

let last: { readonly text: string; readonly names: Names } | undefined;

/** Parses a surface. The latest one is cached, because the cells of a session usually share it. */
export function namesIn(text: string): Names {
  if (last?.text !== text) last = { text, names: new Names(JSON.parse(text) as Surface) };
  return last.names;
}
