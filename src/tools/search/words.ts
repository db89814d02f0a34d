const WORD = /[\p{L}\p{M}\p{N}]+/gu;
const MARKS = /\p{M}+/gu;
/** `createUser`, `HTTPServer`, `v2Users`: the boundary between two words. */
const SEAM = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})/u;
/** Scripts without spaces: each pair of characters counts as a word. */
const UNSPACED =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]{2,}$/u;
/** Words without meaning for a search. */
const EMPTY = new Set(
  "a an and are as at be by for from i in is it me my of on or that the this to tool tools with".split(" "),
);

/** The words of a text in lower case and without accents; without words that have no meaning for a search. */
export function wordsOf(text: string, max: number): readonly string[] {
  const words: string[] = [];
  for (const [run] of text.normalize("NFKD").matchAll(WORD))
    for (const word of partsOf(run)) {
      if (words.length === max) return words;
      if (!EMPTY.has(word)) words.push(word);
    }
  return words;
}

const WORD_CHARS_MAX = 64;

function partsOf(run: string): readonly string[] {
  const bare = run.replace(MARKS, "");
  if (UNSPACED.test(bare)) {
    const characters = [...bare];
    return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
  }
  return bare.split(SEAM).flatMap((part) => (part === "" ? [] : [part.toLowerCase().slice(0, WORD_CHARS_MAX)]));
}

/** How well a word of the query fits a word of a tool: 1 for the same word, 0 for another. */
export function likeness(asked: string, there: string): number {
  if (asked === there) return 1;
  if (asked.length >= 3 && there.startsWith(asked)) return 0.4 + (0.4 * asked.length) / there.length;
  if (there.length >= 4 && asked.startsWith(there) && asked.length - there.length <= 4) return 0.6;
  const slips = asked.length < 4 ? 0 : asked.length < 7 ? 1 : 2;
  if (Math.abs(asked.length - there.length) > slips || slips === 0) return 0;
  return isNear(asked, there, slips) ? 0.4 : 0;
}

/** Whether at most `slips` letters are missing, added, changed or swapped with a neighbour (edit distance). */
function isNear(one: string, other: string, slips: number): boolean {
  let [older, old] = [[] as number[], Array.from({ length: other.length + 1 }, (_, index) => index)];
  for (let row = 1; row <= one.length; row++) {
    const now = [row];
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1];
      let least = Math.min(old[column]! + 1, now[column - 1]! + 1, old[column - 1]! + (isSame ? 0 : 1));
      const isSwapped =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      if (isSwapped) least = Math.min(least, older[column - 2]! + 1);
      now.push(least);
    }
    if (Math.min(...now) > slips) return false;
    [older, old] = [old, now];
  }
  return (old[other.length] ?? 0) <= slips;
}
