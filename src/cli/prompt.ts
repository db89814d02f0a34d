import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";
import type { Io, Output } from "./io.ts";

/**
 * The line in which the user types. It is hidden while an answer streams, so that the two do not mix. Text that is
 * typed meanwhile is not lost: whole lines go to the next turns, the rest to the next prompt.
 */
export class Prompt {
  readonly #mark: string;
  readonly #stdout: Output;
  readonly #screen: Screen;
  readonly #editor: Interface;
  readonly #lines: string[] = [];
  #waiter: ((line: string | undefined) => void) | undefined;
  #isClosed = false;
  readonly #closed = Promise.withResolvers<void>();

  /** `typed`: text that is already in the line. Each whole line of it is entered. */
  constructor({ stdin, stdout, interrupts }: Io, mark: string, typed = "") {
    this.#mark = mark;
    this.#stdout = stdout;
    this.#screen = new Screen(stdout);
    this.#editor = createInterface({ input: stdin, output: this.#screen, terminal: true });
    this.#editor.on("line", (line) => {
      this.#screen.isHidden = true; // Hidden immediately, because more lines may come in the same chunk.
      if (this.#waiter === undefined) this.#lines.push(line);
      else this.#answer(line);
    });
    this.#editor.on("SIGINT", () => interrupts.emit("interrupt"));
    this.#editor.on("close", () => {
      this.#isClosed = true;
      this.#closed.resolve();
      if (this.#waiter !== undefined) this.#answer(undefined);
    });
    if (typed !== "") this.#editor.write(typed);
  }

  /** Text that was typed and that `next` has not returned. */
  get typed(): string {
    return [...this.#lines, this.#editor.line].join("\n");
  }

  /** Resolves at the end of the input. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** The next line; undefined at the end of the input. */
  async next(): Promise<string | undefined> {
    const line = this.#lines.shift();
    if (line !== undefined) {
      this.#stdout.write(`${this.#mark}${line}\n`);
      return line;
    }
    return this.#read(this.#mark);
  }

  /**
   * Asks for a line that is typed from now on. Text from before belongs to the next turn, and comes back after the
   * answer. Undefined at the end of the input, or when the question is withdrawn. `typed`: text that is already in the
   * line, to be edited.
   */
  async ask(mark: string, withdrawn: AbortSignal, typed = ""): Promise<string | undefined> {
    if (this.#isClosed || withdrawn.aborted) return undefined;
    const { line: before } = this.#editor;
    this.clear();
    if (typed !== "") this.#editor.write(typed);
    const leave = (): void => {
      this.#stdout.write("\n");
      this.#screen.isHidden = true;
    };
    const withdraw = (): void => {
      this.clear();
      leave(); // Leaves immediately, because another text is printed next.
      this.#answer(undefined);
    };
    withdrawn.addEventListener("abort", withdraw);
    const line = await this.#read(mark);
    withdrawn.removeEventListener("abort", withdraw);
    if (this.#isClosed) leave();
    else this.#editor.write(before);
    return line;
  }

  get isShown(): boolean {
    return this.#waiter !== undefined;
  }

  /** Clears the typed text. Returns false if there was none. */
  clear(): boolean {
    if (this.#editor.line === "") return false;
    this.#editor.write(null, { ctrl: true, name: "e" });
    this.#editor.write(null, { ctrl: true, name: "u" });
    return true;
  }

  /** Prints words on separate lines, then shows the prompt again. */
  notify(words: string): void {
    if (this.#screen.isHidden) return void this.#stdout.write(`${words}\n`);
    this.#stdout.write(`\n${words}\n`);
    this.#show();
  }

  close(): void {
    this.#editor.close();
  }

  async #read(mark: string): Promise<string | undefined> {
    if (this.#isClosed) return undefined;
    this.#editor.setPrompt(mark);
    this.#screen.isHidden = false;
    this.#show();
    return new Promise((resolve) => {
      this.#waiter = resolve;
    });
  }

  #show(): void {
    // The line editor counts the rows of hidden text, which are not on the screen. It would move the cursor up over the
    // answer.
    (this.#editor as Interface & { prevRows: number }).prevRows = 0;
    this.#editor.prompt(true);
  }

  #answer(line: string | undefined): void {
    this.#waiter?.(line);
    this.#waiter = undefined;
  }
}

/** The output of the line editor. It drops everything that the editor writes while it is hidden. */
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
