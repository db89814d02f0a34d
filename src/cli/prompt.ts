import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";
import type { Io, Output } from "./io.ts";

/**
 * The line a person types on. While nobody waits for a line it is hidden, so that it does not mix with an answer;
 * what is typed meanwhile is kept, whole lines for the next turns and the rest for the next prompt.
 */
export class Prompt {
  readonly #mark: string;
  readonly #stdout: Output;
  readonly #screen: Screen;
  readonly #editor: Interface;
  readonly #lines: string[] = [];
  #waiter: ((line: string | undefined) => void) | undefined;
  #isClosed = false;

  constructor({ stdin, stdout, interrupts }: Io, mark: string) {
    this.#mark = mark;
    this.#stdout = stdout;
    this.#screen = new Screen(stdout);
    this.#editor = createInterface({ input: stdin, output: this.#screen, terminal: true, prompt: mark });
    this.#editor.on("line", (line) => {
      this.#screen.isHidden = true; // At once: more lines may come in the same chunk.
      if (this.#waiter === undefined) this.#lines.push(line);
      else this.#answer(line);
    });
    this.#editor.on("SIGINT", () => interrupts.emit("interrupt"));
    this.#editor.on("close", () => {
      this.#isClosed = true;
      if (this.#waiter !== undefined) this.#answer(undefined);
    });
  }

  /** The next line; undefined when there will be none. */
  async next(): Promise<string | undefined> {
    const line = this.#lines.shift();
    if (line !== undefined) {
      this.#stdout.write(`${this.#mark}${line}\n`);
      return line;
    }
    if (this.#isClosed) return undefined;
    this.#screen.isHidden = false;
    this.#show();
    return new Promise((resolve) => {
      this.#waiter = resolve;
    });
  }

  /** Throws away what is typed so far. False when there was nothing. */
  clear(): boolean {
    if (this.#editor.line === "") return false;
    this.#editor.write(null, { ctrl: true, name: "e" });
    this.#editor.write(null, { ctrl: true, name: "u" });
    return true;
  }

  /** Says something on lines of its own, below what is typed. */
  tell(words: string): void {
    if (this.#screen.isHidden) return void this.#stdout.write(`${words}\n`);
    this.#stdout.write(`\n${words}\n`);
    this.#show();
  }

  close(): void {
    this.#editor.close();
  }

  #show(): void {
    (this.#editor as Interface & { prevRows: number }).prevRows = 0; // What was typed unseen takes no rows of the screen.
    this.#editor.prompt(true);
  }

  #answer(line: string | undefined): void {
    this.#waiter?.(line);
    this.#waiter = undefined;
  }
}

/** The terminal as the line editor sees it. */
class Screen extends Writable {
  readonly #stdout: Output;
  isHidden = true;

  constructor(stdout: Output) {
    super({ decodeStrings: false });
    this.#stdout = stdout;
    stdout.on("resize", () => this.emit("resize"));
  }

  get columns(): number | undefined {
    return this.#stdout.columns;
  }

  override _write(chunk: string, _: BufferEncoding, done: () => void): void {
    if (!this.isHidden) this.#stdout.write(chunk);
    done();
  }
}
