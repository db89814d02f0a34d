// Cells are for the sandbox, not for people: what these see of a reply, and where its stream is cut.
import type { Chunk, ChunkAnswer } from "../../kernel/hooks.ts";
import type { ProseProjector } from "../../kernel/slots.ts";
import { read, Scanner } from "./grammar.ts";

export const prose: ProseProjector = {
  text: (raw) => {
    const reading = read(raw);
    return reading.code === undefined ? raw : reading.prose;
  },
  stream: () => new Scanner(),
};

/** Ends a reply with its cell, so that what a model would go on to say is not paid for. One reply at a time. */
export class Cutter {
  #scanner = new Scanner();
  #said = "";
  #isTold = false;

  /** Another attempt, or another reply. */
  reset(): void {
    this.#scanner = new Scanner();
    this.#said = "";
    this.#isTold = false;
  }

  take({ kind, delta, isEnd }: Chunk): ChunkAnswer | undefined {
    if (kind !== "text") return undefined;
    const before = this.#said.length;
    this.#said += delta;
    this.#scanner.push(delta);
    if (isEnd === true) this.#scanner.end();
    if (!this.#scanner.isClosed || (this.#isTold && !this.#scanner.isOver)) return undefined;
    const { end, code = "" } = read(this.#said);
    const events = this.#isTold ? [] : [{ name: "cell", payload: { code } }];
    this.#isTold = true;
    return this.#scanner.isOver ? { events, delta: this.#said.slice(before, end), abort: true } : { events };
  }
}
