import { StringDecoder } from "node:string_decoder";

export type Channel = "out" | "err";

/** A longer line is cut, because a command can print forever without a line break. */
const LINE_MAX = 4_000;
const CUT = " … (cut)";

/** Splits output into lines and skips empty ones. It keeps at most one line in memory. */
export class LineReader {
  readonly #onLine: (line: string) => void;
  readonly #decoder = new StringDecoder("utf8");
  #line = "";
  #isCut = false;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  take(chunk: Buffer): void {
    this.#add(this.#decoder.write(chunk));
  }

  /** Reports the text after the last line break as a line. */
  end(): void {
    this.#add(this.#decoder.end());
    this.#finish();
  }

  #add(text: string): void {
    let start = 0;
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", start)) {
      this.#keep(text.slice(start, at));
      this.#finish();
      start = at + 1;
    }
    this.#keep(text.slice(start));
  }

  #keep(text: string): void {
    if (this.#isCut || text === "") return;
    const room = LINE_MAX - this.#line.length;
    this.#isCut = text.length > room;
    this.#line += this.#isCut ? text.slice(0, room).toWellFormed() : text;
  }

  #finish(): void {
    const line = this.#line.replace(/\r$/, "");
    if (line.trim() !== "") this.#onLine(this.#isCut ? `${line}${CUT}` : line);
    this.#line = "";
    this.#isCut = false;
  }
}
