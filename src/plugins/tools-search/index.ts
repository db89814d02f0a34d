// Finds tools that are not declared to the model, and opens them. Not its job: ranking (`src/tools/search`).
//
// tools-search-1: The prompt does not depend on which tools are open: opening one must not void the provider's cache.
// tools-search-2: Opening sets a tool's membership, which is state: it is journaled, and lasts for later turns.
import { definePlugin, hasCode, jsonSchema, optionsSchema, type ToolContext, type ToolManifest } from "../../plugin.ts";
import { cutAt, signatureOf, type ToolIndex, toolGroups, toolIndexer } from "../../tools/search/index.ts";
import { NAME, TEXTS } from "./texts.ts";

export interface ToolsSearchOptions {
  /** How many tools one search opens. Default 8. */
  readonly max?: number | undefined;
}

interface Found {
  readonly name: string;
  readonly description: string;
  /** The arguments, written like a TypeScript type. */
  readonly signature: string;
}
export interface ToolsSearchResult {
  /** Tools that the model can call from its next reply on. */
  readonly opened: readonly Found[];
  /** Names of further matches that the model can already call. */
  readonly open?: readonly string[];
  /** A note for the model: what is missing, and what to do next. */
  readonly note: string;
}

const QUERY_CHARS_MAX = 1_000;
const DESCRIPTION_CHARS_MAX = 600;
const SIGNATURE_CHARS_MAX = 1_200;
const GROUPS_MAX = 24;

/** Lets the model search for tools that are not declared to it, and call the ones it finds. */
export const toolsSearch = definePlugin({
  id: "bowline/tools-search",
  options: optionsSchema<ToolsSearchOptions, { readonly max: number }>((given) => {
    given.only("max");
    return { max: given.whole("max", { min: 1, max: 64 }, 8) };
  }),
  setup: ({ options: { max }, tool }) => {
    const indexOf = toolIndexer();
    return {
      prompt: ({ catalog }) => {
        const tools = catalog.list();
        if (!tools.some(isSearchable)) return;
        return { slot: "guidance", tools: [NAME], text: TEXTS.guidance(roughly(tools.length)) };
      },
      tools: [
        tool({
          name: NAME,
          description: TEXTS.description,
          input: inputSchema(max),
          writes: true,
          execute: ({ query, max: wanted = max }, context): Promise<ToolsSearchResult> => {
            const all = context.catalog.list().filter(({ name }) => name !== NAME);
            const search = new Search(all, indexOf(all), context, Math.min(wanted, max));
            const [, names] = /^\s*select\s*:(.*)$/is.exec(query) ?? [];
            return names === undefined ? search.byWords(query) : search.byNames(names.split(/[\s,;]+/).filter(Boolean));
          },
        }),
      ],
    };
  },
});

const isSearchable = ({ availability }: ToolManifest): boolean => availability === "searchable";

/**
 * A rounded number of all tools, so that the prompt stays the same when a tool is opened (tools-search-1) or a few
 * tools change.
 */
const roughly = (count: number): string => (count < 10 ? "a few" : `about ${Number(count.toPrecision(1))}`);

type SearchContext = Pick<ToolContext, "catalog" | "membership">;

class Search {
  readonly #tools: readonly ToolManifest[];
  readonly #index: ToolIndex;
  readonly #context: SearchContext;
  readonly #max: number;

  constructor(tools: readonly ToolManifest[], index: ToolIndex, context: SearchContext, max: number) {
    this.#tools = tools;
    this.#index = index;
    this.#context = context;
    this.#max = max;
  }

  async byWords(query: string): Promise<ToolsSearchResult> {
    const ranked = this.#index.rank(query, this.#tools);
    const { opened, open, failed } = await this.#open(ranked);
    if (opened.length + open.length === 0) return { opened, note: this.#nothing(query, failed) };
    const left = ranked.length - opened.length - open.length - failed.length;
    return result(opened, open, joined(said(opened, failed), left > 0 ? TEXTS.moreFit(left) : ""));
  }

  async byNames(names: readonly string[]): Promise<ToolsSearchResult> {
    const asked = [...new Set(names)];
    const known = new Map(this.#tools.map((manifest) => [manifest.name, manifest]));
    const { opened, open, failed, left } = await this.#open(asked.flatMap((name) => known.get(name) ?? []));
    const unknown = asked.filter((name) => !known.has(name));
    const notes = [
      said(opened, failed),
      ...(left.length === 0 ? [] : [TEXTS.atMost(this.#max, listed(left))]),
      ...(unknown.length === 0 ? [] : [TEXTS.unknown(listed(unknown)), this.#alike(unknown)]),
      ...(asked.length === 0 ? [this.#whatThereIs()] : []),
    ];
    return result(opened, open, joined(...notes));
  }

  /** Opens the first `#max` tools. If a tool is no longer available, the next one takes its place. */
  async #open(ranked: readonly ToolManifest[]): Promise<Opened> {
    const [opened, open, failed]: [Found[], string[], string[]] = [[], [], []];
    let next = 0;
    const reach = (): number => this.#max - opened.length - open.length;
    while (next < ranked.length && reach() > 0 && failed.length <= this.#max) {
      const tried = ranked.slice(next, next + reach());
      next += tried.length;
      const found = await Promise.all(
        tried.map((manifest) => (isSearchable(manifest) ? this.#describe(manifest) : OPEN)),
      );
      for (const [index, { name }] of tried.entries()) {
        const each = found[index];
        if (each === OPEN) open.push(name);
        else if (each !== undefined && this.#callable(name)) opened.push(each);
        else failed.push(name);
      }
    }
    return { opened, open, failed, left: ranked.slice(next).map(({ name }) => name) };
  }

  async #describe({ name, description }: ToolManifest): Promise<Found | undefined> {
    const declared = await this.#context.catalog.describe(name);
    if (declared === undefined) return undefined;
    const isLong = description.length > DESCRIPTION_CHARS_MAX;
    return {
      name,
      description: isLong ? `${cutAt(description, DESCRIPTION_CHARS_MAX - 1)}…` : description,
      signature: signatureOf(name, declared.inputSchema, SIGNATURE_CHARS_MAX),
    };
  }

  #callable(name: string): boolean {
    try {
      this.#context.membership.set(name, "callable");
      return true;
    } catch (error) {
      if (hasCode(error, "tool.unknown")) return false; // The tool no longer exists, or belongs to this turn only.
      throw error;
    }
  }

  #nothing(query: string, failed: readonly string[]): string {
    const shown = query.length > 100 ? `${cutAt(query, 99)}…` : query;
    const what = query.trim() === "" ? TEXTS.noQuery : TEXTS.nothingFits(JSON.stringify(shown));
    return joined(what, cannotOpen(failed), this.#whatThereIs());
  }

  #whatThereIs(): string {
    const tools = this.#tools.filter(isSearchable);
    if (tools.length === 0) return TEXTS.noOthers;
    return TEXTS.whatThereIs(tools.length, toolGroups(tools, GROUPS_MAX));
  }

  #alike(names: readonly string[]): string {
    const alike = new Set(names.slice(0, 8).flatMap((name) => this.#index.rank(name).slice(0, 3)));
    return alike.size === 0 ? "" : TEXTS.similar(listed([...alike].slice(0, 8).map(({ name }) => name)));
  }
}

const OPEN = "open";
interface Opened {
  readonly opened: readonly Found[];
  readonly open: readonly string[];
  readonly failed: readonly string[];
  /** Names of tools that were not tried, because there was no room for more. */
  readonly left: readonly string[];
}

const result = (opened: readonly Found[], open: readonly string[], note: string): ToolsSearchResult => ({
  opened,
  ...(open.length === 0 ? {} : { open }),
  note,
});

const said = (opened: readonly Found[], failed: readonly string[]): string =>
  joined(opened.length === 0 ? "" : TEXTS.callThem, cannotOpen(failed));

const cannotOpen = (failed: readonly string[]): string => (failed.length === 0 ? "" : TEXTS.cannotOpen(listed(failed)));

const joined = (...notes: readonly string[]): string => notes.filter((note) => note !== "").join(" ");

function listed(names: readonly string[]): string {
  const shown = names.slice(0, 16).map((name) => (name.length > 64 ? `${cutAt(name, 63)}…` : name));
  return names.length > 16 ? TEXTS.others(shown.join(", "), names.length - 16) : shown.join(", ");
}

interface SearchInput {
  readonly query: string;
  readonly max?: number;
}
const inputSchema = (max: number) =>
  jsonSchema<SearchInput>({
    type: "object",
    properties: {
      query: {
        type: "string",
        maxLength: QUERY_CHARS_MAX,
        description: TEXTS.query,
      },
      max: { type: "integer", minimum: 1, description: TEXTS.max(max) },
    },
    required: ["query"],
    additionalProperties: false,
  });
