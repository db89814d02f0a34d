import type { ToolManifest } from "../../model/tool.ts";
import { likeness, wordsOf } from "./words.ts";

/** A word in a tool's name counts as much as this many words in its description. */
const NAME_WEIGHT = 3;
const NAME_WORDS_MAX = 64;
const DESCRIPTION_WORDS_MAX = 256;
const QUERY_WORDS_MAX = 32;
/** Tools below this share of the best score are left out: each opened tool costs tokens in every later request. */
const LEAST = 0.3;
// The usual parameters of BM25. K: how fast repeated words lose weight. B: how much a long text lowers the score.
const [K, B] = [1.2, 0.75];

interface Document {
  readonly manifest: ToolManifest;
  readonly length: number;
}
/** The documents that have a word, with its weighted count. */
type Places = Map<number, number>;

/** An index of tools by the words of their names and descriptions. Equal lists and queries give equal answers. */
export class ToolIndex {
  readonly #documents: readonly Document[];
  readonly #places = new Map<string, Places>();
  readonly #byName: ReadonlyMap<string, number>;
  readonly #averageLength: number;

  constructor(tools: readonly ToolManifest[]) {
    this.#documents = tools.map((manifest, index) => {
      const name = wordsOf(manifest.name, NAME_WORDS_MAX);
      const description = wordsOf(manifest.description.slice(0, 16 * DESCRIPTION_WORDS_MAX), DESCRIPTION_WORDS_MAX);
      for (const word of name) this.#add(word, index, NAME_WEIGHT);
      for (const word of description) this.#add(word, index, 1);
      return { manifest, length: NAME_WEIGHT * name.length + description.length };
    });
    this.#byName = new Map(tools.map(({ name }, index) => [name.toLowerCase(), index]));
    this.#averageLength = this.#documents.reduce((sum, { length }) => sum + length, 0) / Math.max(1, tools.length) || 1;
  }

  #add(word: string, index: number, weight: number): void {
    let places = this.#places.get(word);
    if (places === undefined) this.#places.set(word, (places = new Map()));
    places.set(index, (places.get(index) ?? 0) + weight);
  }

  /**
   * The tools that fit the query, best first; tools with equal scores by name. `tools`: the same tools in their present
   * state, if anything but their words may have changed.
   */
  rank(query: string, tools?: readonly ToolManifest[]): readonly ToolManifest[] {
    const scores = new Map<number, number>();
    for (const word of new Set(wordsOf(query, QUERY_WORDS_MAX)))
      for (const [index, score] of this.#scoresOf(word)) scores.set(index, (scores.get(index) ?? 0) + score);
    const best = [...scores.values()].reduce((one, other) => Math.max(one, other), 0);
    for (const name of query.toLowerCase().split(/[^\w-]+/, QUERY_WORDS_MAX)) {
      const named = this.#byName.get(name);
      // A tool with exactly this name comes first.
      if (named !== undefined) scores.set(named, best + (scores.get(named) ?? 0) + 1);
    }
    return [...scores]
      .filter(([, score]) => score >= LEAST * best)
      .map(([index, score]) => ({ score, manifest: tools?.[index] ?? (this.#documents[index] as Document).manifest }))
      .sort((a, b) => b.score - a.score || (a.manifest.name < b.manifest.name ? -1 : 1))
      .map(({ manifest }) => manifest);
  }

  #scoresOf(asked: string): ReadonlyMap<number, number> {
    const frequencies: Places = new Map();
    for (const [word, places] of this.#places) {
      const like = likeness(asked, word);
      if (like === 0) continue;
      for (const [index, count] of places) {
        const { length } = this.#documents[index] as Document;
        const discount = K * (1 - B + (B * length) / this.#averageLength);
        const frequency = (like * count * (K + 1)) / (count + discount);
        if (frequency > (frequencies.get(index) ?? 0)) frequencies.set(index, frequency);
      }
    }
    const rarity = Math.log(1 + (this.#documents.length - frequencies.size + 0.5) / (frequencies.size + 0.5));
    return new Map([...frequencies].map(([index, frequency]) => [index, frequency * rarity]));
  }
}

/** Keeps the index of the last list of tools, so that rounds and turns with the same tools do not build it again. */
export function toolIndexer(): (tools: readonly ToolManifest[]) => ToolIndex {
  let known: { readonly of: readonly ToolManifest[]; readonly index: ToolIndex } | undefined;
  return (tools) => {
    const isSame =
      known?.of.length === tools.length &&
      tools.every(
        ({ name, description }, at) => name === known?.of[at]?.name && description === known.of[at]?.description,
      );
    if (known === undefined || !isSame) known = { of: tools, index: new ToolIndex(tools) };
    return known.index;
  };
}

/**
 * A short description of groups of tools: tools of an MCP server under its name, others under the first word of their
 * names.
 */
export function toolGroups(tools: readonly ToolManifest[], max: number): string {
  const counts = new Map<string, number>();
  for (const { name } of tools) {
    const group = /^(mcp__.+?)__/.exec(name)?.[1] ?? `${wordsOf(name, 1)[0] ?? name}`;
    counts.set(group, (counts.get(group) ?? 0) + 1);
  }
  const sorted = [...counts].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1));
  const more = sorted.length > max ? `, and ${sorted.length - max} others` : "";
  return `${sorted
    .slice(0, max)
    .map(([group, count]) => `${group} (${count})`)
    .join(", ")}${more}`;
}
