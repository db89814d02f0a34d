import { createInterface, type Interface } from "node:readline";
import type { Io } from "./io.ts";

/** The lines of a pipe. Reads nothing before the first call of `next`. */
export class Lines {
  readonly #input: Io["stdin"];
  #reader: Interface | undefined;
  #lines: AsyncIterator<string> | undefined;

  constructor({ stdin }: Pick<Io, "stdin">) {
    this.#input = stdin;
  }

  /** The next line; undefined at the end of the input, and after `close`. */
  async next(): Promise<string | undefined> {
    this.#reader ??= createInterface({ input: this.#input, crlfDelay: Number.POSITIVE_INFINITY });
    this.#lines ??= this.#reader[Symbol.asyncIterator]();
    const { value, done } = await this.#lines.next();
    return done === true ? undefined : value;
  }

  close(): void {
    this.#reader?.close();
  }
}
