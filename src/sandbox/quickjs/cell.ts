// A running cell: what it has announced, printed and left open.

import type { GuestRead, GuestSleep } from "../sandbox.ts";
import { columnIn } from "./compile.ts";
import type { SentCall } from "./message.ts";
import { type Frame, frameIn } from "./stack.ts";
import type { Pointer, ValueHandle } from "./vm.ts";

/** Maximum number of watched rejections. Nearly all of them get a handler a moment later. */
const WATCHED_MAX = 1000;

export class Cell {
  readonly file: string;
  readonly #text: string;
  /** The promise of its code, or what the engine threw when it parsed the code. */
  code: { readonly promise: Pointer } | { readonly thrown: Pointer } = { promise: 0 };
  /** The value that it finished with, or the task that it continues with, as JSON. The first one wins. */
  over: { readonly finish: string } | { readonly continues: string } | undefined;
  printed = "";
  steps = 0;
  outputBytes = 0;
  /** Calls, sleeps and reads together. Their numbers count from 0. */
  announced = 0;
  readonly rejections = new Rejections();
  readonly #open = new Map<number, "call" | "sleep" | "read" | "forgotten">();
  #openCalls = 0;
  #openSleeps = 0;
  #calls: SentCall[] = [];
  #sleeps: GuestSleep[] = [];

  constructor(file: string, text: string) {
    this.file = file;
    this.#text = text;
  }

  /** Returns the innermost stack frame in this cell. */
  placeIn(stack: string): Frame | undefined {
    const frame = frameIn(stack, this.file);
    if (frame === undefined || frame.line > this.#text.split("\n").length) return undefined; // Guest code may write a stack itself.
    return { line: frame.line, column: columnIn(this.#text, frame.line, frame.column) };
  }

  get openCalls(): number {
    return this.#openCalls;
  }

  get isWaiting(): boolean {
    return this.#openCalls + this.#openSleeps > 0;
  }

  call(call: Omit<SentCall, "id">): void {
    const id = this.announced++;
    this.#open.set(id, "call");
    this.#openCalls++;
    this.#calls.push({ id, ...call });
  }

  sleep(ms: number): void {
    const id = this.announced++;
    this.#open.set(id, "sleep");
    this.#openSleeps++;
    this.#sleeps.push({ id, ms });
  }

  /** Until it ends it counts as a sleep that nothing clears: finished code does not wait for it. */
  read(reads: GuestRead): void {
    const id = this.announced++;
    this.#open.set(id, "read");
    this.#openSleeps++;
    this.#sleeps.push({ id, ms: 0, reads });
  }

  /** Forgets a sleep that nothing waits for any more. The host still reports its end. */
  forget(id: number): void {
    if (this.#open.get(id) !== "sleep") return;
    this.#open.set(id, "forgotten");
    this.#openSleeps--;
  }

  /** Returns false if nothing with this number waits for an answer or for the end of a sleep. */
  answer(id: number, isSlept: boolean): boolean {
    const open = this.#open.get(id);
    if (open === undefined || (open === "sleep" || open === "forgotten") !== isSlept) return false;
    if (open === "call") this.#openCalls--;
    if (open === "sleep" || open === "read") this.#openSleeps--;
    return this.#open.delete(id);
  }

  /** Returns and clears what the cell has announced and printed. */
  take(): { readonly calls: readonly SentCall[]; readonly sleeps: readonly GuestSleep[]; readonly printed: string } {
    const taken = { calls: this.#calls, sleeps: this.#sleeps, printed: this.printed };
    [this.#calls, this.#sleeps, this.printed] = [[], [], ""];
    return taken;
  }
}

/** Promises that were rejected without a handler. Each is kept, so that no other value gets its address. */
class Rejections {
  readonly #rejections = new Map<number, { readonly promise: ValueHandle; readonly reason: ValueHandle }>();

  add(promise: ValueHandle, reason: ValueHandle): void {
    if (this.#rejections.size < WATCHED_MAX)
      this.#rejections.set(promise.identity, { promise: promise.dup(), reason: reason.dup() });
  }

  handled(identity: number): void {
    const rejection = this.#rejections.get(identity);
    rejection?.promise.dispose();
    rejection?.reason.dispose();
    this.#rejections.delete(identity);
  }

  /** Releases all of them and describes the first few. */
  take<Description>(max: number, tell: (reason: ValueHandle) => Description): readonly Description[] {
    const descriptions = [...this.#rejections.values()].slice(0, max).map(({ reason }) => tell(reason));
    for (const identity of this.#rejections.keys()) this.handled(identity);
    return descriptions;
  }
}
