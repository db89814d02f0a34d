// Fits text of models, tools and errors into one line of a terminal. `src/cli/text.ts` prints whole texts.

/** Characters that control a terminal, break a line or are invisible. */
const UNSAFE = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;
const WIDE =
  /[\p{Emoji_Presentation}\u{1100}-\u{115f}\u{2e80}-\u{a4cf}\u{a960}-\u{a97f}\u{ac00}-\u{d7a3}\u{f900}-\u{faff}\u{fe10}-\u{fe6f}\u{ff00}-\u{ff60}\u{ffe0}-\u{ffe6}\u{1f000}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const NARROWEST = /[\p{Mn}\p{Me}\p{Cf}]/u;
const ELLIPSIS = "…";

const spelt = (character: string): string => `\\u{${character.codePointAt(0)?.toString(16)}}`;

/** The text in one line of at most this many columns. Unsafe characters are escaped. */
export function fitted(words: string, columns: number): string {
  // More characters than these can fit only if most have no width.
  const line = words
    .slice(0, columns * 8)
    .replace(/[\n\r\t]+/g, " ")
    .replace(UNSAFE, spelt)
    .trimEnd();
  let width = 0;
  let kept = "";
  let cut: string | undefined;
  for (const character of line) {
    width += widthOf(character);
    if (cut === undefined && width > columns - 1) cut = kept;
    if (width > columns) return `${cut}${ELLIPSIS}`;
    kept += character;
  }
  return words.length > columns * 8 ? `${cut ?? kept}${ELLIPSIS}` : kept;
}

/** The minimum number of columns that terminals use for a character. */
function widthOf(character: string): number {
  if (character <= "~") return 1;
  return WIDE.test(character) ? 2 : NARROWEST.test(character) ? 0 : 1;
}
