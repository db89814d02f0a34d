// Text in the columns of a terminal: how wide it is, cut to fit, as a table, and bars.

const GRAPHEMES = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const ASCII = /^[ -~]*$/;
/** Characters that are two columns wide. */
const WIDE =
  /[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]|(?!\p{Regional_Indicator})\p{Emoji_Presentation}/u;
/** Characters without width: marks on the character before, joiners and similar. */
const NONE = /(?![\xad\u0600-\u0605\u06dd\u070f])[\p{Mn}\p{Me}\p{Cf}]/u;
/** Selects the picture of a character that can also be text. */
const AS_PICTURE = "\ufe0f";

/** The width of a text in columns. Where terminals differ, the largest one. */
export function widthOf(words: string): number {
  if (ASCII.test(words)) return words.length;
  let width = 0;
  for (const { segment } of GRAPHEMES.segment(words)) width += widthOfGrapheme(segment);
  return width;
}

function widthOfGrapheme(grapheme: string): number {
  let width = 0;
  for (const character of grapheme) width += NONE.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return grapheme.includes(AS_PICTURE) ? Math.max(width, 2) : width;
}

/** Cuts a line to at most this many columns. `…` replaces the rest. */
export function fit(words: string, max: number): string {
  if (words.length <= max && ASCII.test(words)) return words;
  let [width, kept, room] = [0, "", ""];
  for (const { segment } of GRAPHEMES.segment(words)) {
    width += widthOfGrapheme(segment);
    if (width > max) return max < 1 ? "" : `${room}…`;
    kept += segment;
    if (width <= max - 1) room = kept;
  }
  return words;
}

export const padded = (words: string, width: number): string => words + " ".repeat(Math.max(0, width - widthOf(words)));

/** Breaks a line at its spaces. */
export function wrapped(words: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of words.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && widthOf(`${last} ${word}`) <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(fit(word, width));
  }
  return lines;
}

export interface Column {
  readonly head: string;
  readonly cells: readonly string[];
  readonly isRight?: boolean;
  /** The column can be cut to this width. */
  readonly least?: number;
}

/** The space before a column. Numbers are right-aligned and need less. */
const gapOf = ({ isRight }: Column): string => (isRight ? " " : "  ");

/** The width of the table if no cell is cut. */
export const widthOfTable = (columns: readonly Column[]): number =>
  filled(columns).reduce((sum, column, at) => sum + naturalWidth(column) + (at === 0 ? 0 : gapOf(column).length), 0);

/** The lines of a table, with a line of heads. It leaves out empty columns, and cuts the widest cells first. */
export function table(columns: readonly Column[], width: number): readonly string[] {
  const shown = filled(columns);
  const widths = shown.map(naturalWidth);
  for (let over = widthOfTable(shown) - width; over > 0; over--) {
    const most = widths.reduce(
      (most, each, at) => (each > (shown[at]?.least ?? each) ? Math.max(most, each) : most),
      0,
    );
    const widest = widths.findLastIndex((each, at) => each === most && each > (shown[at]?.least ?? each));
    if (widest < 0) break;
    widths[widest] = most - 1;
  }
  const line = (cellOf: (column: Column) => string): string => {
    const cells = shown.map((column, at) => {
      const most = widths[at] as number;
      const cell = fit(cellOf(column), most);
      const gap = at === 0 ? "" : gapOf(column);
      return gap + (column.isRight ? " ".repeat(most - widthOf(cell)) + cell : padded(cell, most));
    });
    return fit(cells.join("").trimEnd(), width);
  };
  const rows = Array.from({ length: shown[0]?.cells.length ?? 0 }, (_, row) =>
    line(({ cells }) => cells[row] as string),
  );
  return [line(({ head }) => head), ...rows];
}

const filled = (columns: readonly Column[]): readonly Column[] =>
  columns.filter(({ cells }) => cells.some((cell) => cell !== ""));
const naturalWidth = ({ head, cells }: Column): number =>
  cells.reduce((most, cell) => Math.max(most, widthOf(cell)), head.length);

/** A bar of `cells` columns that shows when an item ran within the whole time. A very short item is a thin line. */
export function bar(from: number, to: number, whole: { from: number; to: number }, cells: number, full = "█"): string {
  const place = (at: number): number =>
    whole.to <= whole.from
      ? 0
      : (Math.min(Math.max(at - whole.from, 0), whole.to - whole.from) / (whole.to - whole.from)) * cells;
  const [start, end] = [place(from), place(to)];
  const first = Math.min(Math.floor(start), cells - 1);
  const length = Math.max(1, Math.round(end) - first);
  return " ".repeat(first) + (end - start < 0.5 && length === 1 && full === "█" ? "▏" : full.repeat(length));
}

// ── Numbers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];

/** A length of time in at most 7 characters: `12 ms`, `1.2 s`, `2m 05s`, `3h 20m`, `2d 04h`. */
export function lasting(ms: number): string {
  if (ms < 999.5) return `${Math.round(Math.max(ms, 0))} ms`;
  if (ms < MINUTE) return `${(ms / 1_000).toFixed(1)} s`;
  const both = (large: number, small: number, names: string): string =>
    `${Math.floor(ms / large)}${names[0]} ${String(Math.floor((ms % large) / small)).padStart(2, "0")}${names[1]}`;
  if (ms < HOUR) return both(MINUTE, 1_000, "ms");
  if (ms < DAY) return both(HOUR, MINUTE, "hm");
  return ms < 100 * DAY ? both(DAY, HOUR, "dh") : `${Math.floor(ms / DAY)}d`;
}

/** How long ago it was, as `--since` takes it: `43s`, `2h`, `3d`. */
export function since(at: number, now: number): string {
  const ms = Math.max(0, now - at);
  if (ms < MINUTE) return `${Math.floor(ms / 1_000)}s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)}m`;
  return ms < DAY ? `${Math.floor(ms / HOUR)}h` : `${Math.floor(ms / DAY)}d`;
}

/** A number of tokens in at most 5 characters, below a billion. */
export function short(count: number): string {
  if (count < 1_000) return String(count);
  const [size, unit] = count < 999_500 ? [1_000, "k"] : [1_000_000, "M"];
  return `${(count / size).toFixed(count < 9.95 * size ? 1 : 0)}${unit}`;
}

/** Without prices, only a cost of 0 is certain, and it is not shown. */
export function price(cost: number | undefined, prices: string | undefined): string {
  if (cost === undefined || prices === undefined) return "";
  if (cost > 0 && cost < 0.0001) return "<0.0001";
  return cost === 0 ? "0" : cost.toFixed(cost < 1 ? 4 : 2);
}
