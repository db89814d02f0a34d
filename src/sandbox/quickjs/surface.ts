// What a cell can name of what is around it, as the compiler asks for it: which names are taken, and which calls mean a
// tool that is there.

import { nearest } from "../../model/known.ts";
import type { Surface } from "../sandbox.ts";

/** `tools.search(…)` is there whatever tools there are. */
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

  /** What a name stands for, which a cell may not take for its own; undefined when it is free. */
  meaningOf(name: string): string | undefined {
    if (this.#values.has(name)) return "a read-only value here";
    return this.#modules.has(name) ? "a module of tools here" : undefined;
  }

  /** What is wrong with the call of `object.property`; undefined when nothing is, or the object is none of these. */
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

/** From a surface as JSON. Cells of one session have the same again and again, so the latest is kept. */
export function namesIn(text: string): Names {
  if (last?.text !== text) last = { text, names: new Names(JSON.parse(text) as Surface) };
  return last.names;
}
