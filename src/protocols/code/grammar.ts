// The grammar of a reply: prose, and at most one cell.
//
// A cell starts with a line that begins with `<typescript>`, and ends with the first line from there on that ends with
// `</typescript>`. The text between the tags is its code. The text after it is ignored. Up to a hundred blanks around a
// tag are ignored, and so is case. Everything else is prose: tags inside a line, markdown fences, other tags.
//
// grammar-1: A reply is parsed the same way however its text was split into pieces.
// grammar-2: While a reply streams, no text is shown that may become part of a cell.
// grammar-3: The work is proportional to the text, even in pieces of one character.

export const OPEN = "<typescript>";
export const CLOSE = "</typescript>";

/** A parsed reply. */
export interface Reading {
  /** The whole text, or the text before the cell. */
  readonly prose: string;
  /** The code of the cell; undefined if there is none. */
  readonly code?: string;
  /** The cell has its closing tag. */
  readonly isClosed: boolean;
  /** The length of the parsed text, which excludes what comes after a cell. */
  readonly end: number;
}

// Only a line feed ends a line, so that parsing does not depend on Unicode's line breaks.
const OPENING = /(?:^|\n)[ \t]{0,100}<typescript>/i;
const CLOSING = /<\/typescript>(?=[ \t\r]{0,100}(?:\n|$))/i;

export function read(text: string): Reading {
  const open = OPENING.exec(text);
  if (open === null) return { prose: text, isClosed: false, end: text.length };
  const prose = text.slice(0, open.index).trimEnd();
  const from = open.index + open[0].length;
  const close = CLOSING.exec(text.slice(from));
  const to = close === null ? text.length : from + close.index;
  const code = unfenced(text.slice(from, to).replace(/^[ \t\r]{0,100}\n/, ""));
  return { prose, code, isClosed: close !== null, end: close === null ? to : to + CLOSE.length };
}

/** Removes a markdown fence around code. Its lines stay as empty lines, so that line numbers are right. */
function unfenced(code: string): string {
  const lines = code.trimEnd().split("\n");
  const first = lines.findIndex((line) => line.trim() !== "");
  const isFenced = /^```[\w-]*$/.test(lines[first]?.trim() ?? "") && lines.at(-1)?.trim() === "```";
  if (!isFenced || first === lines.length - 1) return code.trimEnd();
  return lines
    .map((line, index) => (index === first ? "" : line))
    .slice(0, -1)
    .join("\n");
}

/** Returns whether a line with this beginning may still open a cell. */
const mayOpen = (line: string): boolean => {
  const tag = line.trimStart();
  return tag.length < OPEN.length && line.length - tag.length <= 100 && OPEN.startsWith(tag.toLowerCase());
};

/** How much of an unfinished line of code can decide whether it closes the cell. */
const LINE_END = CLOSE.length + 101;

/** Parses a reply while it streams. */
export class Scanner {
  #state: "prose" | "code" | "closed" | "over" = "prose";
  /**
   * In prose, the part of a line that was not shown because it may open a cell. In code, the end of the unfinished
   * line.
   */
  #line = "";
  /** The line cannot open a cell. */
  #isShown = false;
  /** Held back blanks and empty lines, which are not prose if a cell follows. */
  #gap = "";

  /**
   * Set once text follows the cell: how much of the last piece belongs to the reply. Blanks are ignored, because most
   * models end there, and a stream that ends by itself reports its usage.
   */
  keeps: number | undefined;

  get isClosed(): boolean {
    return this.#state === "closed" || this.#state === "over";
  }

  /** Returns what may be shown now (grammar-2). */
  push(delta: string): string {
    if (this.#state !== "prose") return this.#code(delta, 0);
    let shown = "";
    for (let from = 0; ; ) {
      const feed = delta.indexOf("\n", from);
      shown += this.#prose(delta.slice(from, feed < 0 ? undefined : feed));
      if ((this.#state as string) !== "prose") {
        if (feed >= 0) this.#code(delta.slice(feed), feed);
        return shown;
      }
      if (feed < 0) return shown;
      shown += this.#endLine();
      from = feed + 1;
    }
  }

  /** Ends the reply, and returns held back text that turned out to be prose. */
  end(): string {
    const remaining = this.#state === "prose" ? this.#gap + this.#line : "";
    if (this.#state === "code" && CLOSING.test(this.#line)) this.#state = "closed";
    this.#gap = "";
    this.#line = "";
    return remaining;
  }

  #prose(piece: string): string {
    if (this.#isShown) return this.#show(piece);
    this.#line += piece;
    if (OPENING.test(this.#line)) {
      this.#state = "code";
      this.#line = this.#line.slice(this.#line.indexOf(">") + 1);
      return "";
    }
    if (mayOpen(this.#line)) return "";
    const line = this.#line;
    this.#isShown = true;
    this.#line = "";
    return this.#show(line);
  }

  #endLine(): string {
    const rest = this.#isShown ? "" : this.#show(this.#line);
    this.#gap += "\n";
    this.#line = "";
    this.#isShown = false;
    return rest;
  }

  #show(words: string): string {
    const body = words.trimEnd();
    if (body === "") {
      this.#gap += words;
      return "";
    }
    const shown = this.#gap + body;
    this.#gap = words.slice(body.length);
    return shown;
  }

  /** Reads code from this position of a piece on. */
  #code(text: string, place: number): string {
    if (this.#state === "over") this.keeps = 0;
    else if (this.#state === "closed") this.#after(text, 0);
    else this.#lines(text, place);
    return "";
  }

  #lines(text: string, place: number): void {
    for (let from = 0; ; ) {
      const feed = text.indexOf("\n", from);
      if (feed < 0) {
        this.#line = (this.#line + text.slice(from)).slice(-LINE_END);
        return;
      }
      const close = CLOSING.exec(this.#line + text.slice(from, feed));
      if (close !== null) {
        this.#state = "closed";
        const end = place + from + close.index + CLOSE.length - this.#line.length;
        return this.#after(text.slice(feed), Math.max(0, end));
      }
      this.#line = "";
      from = feed + 1;
    }
  }

  #after(text: string, keeps: number): void {
    if (text.trim() === "") return;
    this.#state = "over";
    this.keeps = keeps;
  }
}
