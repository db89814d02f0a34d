import { StringDecoder } from "node:string_decoder";

export type Channel = "out" | "err";

/** The rest of a longer line is dropped: a command may print for ever without ending one. */
const LINE_MAX = 4_000;
const CUT = " … (cut)";

/** Cuts what a command prints into lines, and passes over empty ones. It keeps no more than one line of any length. */
export class LineReader {
  readonly #tell: (line: string) => void;
  readonly #decoder = new StringDecoder("utf8");
  #line = "";
  #isCut = false;

  constructor(tell: (line: string) => void) {
    this.#tell = tell;
  }

  take(chunk: Buffer): void {
    this.#add(this.#decoder.write(chunk));
  }

  /** What came after the last line break is a line too. */
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
    if (line.trim() !== "") this.#tell(this.#isCut ? `${line}${CUT}` : line);
    this.#line = "";
    this.#isCut = false;
  }
}
