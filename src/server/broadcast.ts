// One source of events for many readers: each event is serialised once, and deltas are joined.
//
// broadcast-1 A reader that is too slow loses previews and never facts: its stream ends, and the client connects again
//             with the last id. So no reader costs more memory than its bound.
// broadcast-2 A reader that joins late first gets the events that earlier readers got. If these are too many, it gets a
//             separate source.
// broadcast-3 The fastest reader sets the pace: while all readers are behind, nothing is read from the source. This
//             bounds its memory, and a long history flows as fast as readers take it.
import type { SessionEvent } from "../model/event.ts";
import { problemOf } from "./problem.ts";

type Event = SessionEvent | { readonly fact: true; readonly kind: string; readonly cursor: string };

/** How long a delta waits for more deltas. */
const JOIN_MS = 20;
/** How many bytes a source keeps for readers that join late. */
const REPLAY_MAX = 64 * 1024;
/** How many bytes can wait for one reader. */
const WAITING_MAX = 512 * 1024;
const ENOUGH = WAITING_MAX / 8;
/** Small frames are joined into one write of up to this many bytes. */
const CHUNK_MAX = 16 * 1024;

export const utf8 = new TextEncoder();
const frameOf = (data: string, id?: string): string => `${id === undefined ? "" : `id: ${id}\n`}data: ${data}\n\n`;

/** Joins the deltas of one preview. A delta after the first is `[number, "text"]`, because its key has been sent. */
class Deltas {
  #numbers = new Map<string, number>();
  #open:
    | { readonly event: Event & { readonly delta: string }; readonly number: number; readonly isFirst: boolean }
    | undefined;
  #text = "";

  /** Returns the frames that this event completes. */
  add(event: Event): string {
    if (!("delta" in event) || (event.kind !== "text" && event.kind !== "reasoning")) {
      const before = this.flush();
      if (event.fact && event.kind === "committed") this.#numbers.clear();
      return before + plainFrame(event);
    }
    const { effect, generation, attempt } = event.key;
    const name = `${event.turnId} ${effect} ${generation} ${attempt} ${event.kind}`;
    const known = this.#numbers.get(name);
    if (this.#open !== undefined && this.#open.number === known) {
      this.#text += event.delta;
      return "";
    }
    const before = this.flush();
    const number = known ?? this.#numbers.size + 1;
    this.#numbers.set(name, number);
    this.#open = { event, number, isFirst: known === undefined };
    this.#text = event.delta;
    return before;
  }

  flush(): string {
    if (this.#open === undefined) return "";
    const { event, number, isFirst } = this.#open;
    const text = this.#text;
    this.#open = undefined;
    this.#text = "";
    return frameOf(JSON.stringify(isFirst ? { ...event, delta: text, n: number } : [number, text]));
  }
}

/** A client that missed previews reads the session itself: the view is not sent to every client. */
function plainFrame(event: Event): string {
  if (event.kind === "gap" && "view" in event) {
    const { view: _, ...rest } = event;
    return frameOf(JSON.stringify(rest), event.cursor);
  }
  return frameOf(JSON.stringify(event), event.fact ? event.cursor : undefined);
}

/** The frames that wait for one reader. All readers share their bytes. */
export class Reader {
  readonly #frames: Uint8Array[] = [];
  #size = 0;
  #isOver = false;
  #wake: (() => void) | undefined;
  readonly #taken: () => void;

  /** Calls `taken` when the reader takes frames. */
  constructor(taken: () => void) {
    this.#taken = taken;
  }

  get hasEnough(): boolean {
    return this.#isOver || this.#size > ENOUGH;
  }

  /** A reader within its bound accepts one more frame of any size, because a large fact must arrive. */
  push(frame: Uint8Array): void {
    if (this.#isOver) return;
    if (this.#size > WAITING_MAX) return this.end(); // broadcast-1
    this.#size += frame.byteLength;
    this.#frames.push(frame);
    this.#wake?.();
  }

  end(): void {
    this.#isOver = true;
    this.#wake?.();
  }

  /** The waiting bytes, with small frames joined; undefined at the end. */
  async next(): Promise<Uint8Array | undefined> {
    while (this.#frames.length === 0) {
      if (this.#isOver) return undefined;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    let [count, size] = [0, 0];
    for (const { byteLength } of this.#frames) {
      if (count > 0 && size + byteLength > CHUNK_MAX) break;
      count++;
      size += byteLength;
    }
    const taken = this.#frames.splice(0, count);
    this.#size -= size;
    this.#taken();
    return taken.length === 1 ? taken[0] : Buffer.concat(taken, size);
  }
}

export class Broadcast {
  readonly #source: AsyncIterator<Event>;
  readonly #readers = new Set<Reader>();
  readonly #deltas = new Deltas();
  readonly #over: () => void;
  #replay: Uint8Array[] = [];
  #replaySize = 0;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;
  #wake: (() => void) | undefined;

  constructor(source: AsyncIterator<Event>, over: () => void) {
    this.#source = source;
    this.#over = over;
    void this.#run();
  }

  /** Undefined if the reader would miss events that earlier readers got (broadcast-2), unless `fromNow`. */
  join(fromNow = false): Reader | undefined {
    if (this.#isOver || (!fromNow && this.#replaySize > REPLAY_MAX)) return undefined;
    const reader = new Reader(() => this.#wake?.());
    if (!fromNow) for (const frame of this.#replay) reader.push(frame);
    this.#readers.add(reader);
    this.#wake?.();
    return reader;
  }

  leave(reader: Reader): void {
    reader.end();
    this.#readers.delete(reader);
    if (this.#readers.size === 0) this.#end();
    this.#wake?.();
  }

  async #run(): Promise<void> {
    try {
      for (;;) {
        const { value, done } = await this.#source.next();
        if (this.#isBehind) await this.#caughtUp();
        if (done === true || this.#isOver) break;
        this.#send(this.#deltas.add(value));
        if ("delta" in value) this.#timer ??= setTimeout(this.#flush, JOIN_MS);
      }
      this.#flush();
    } catch (error) {
      this.#flush();
      this.#send(`event: problem\n${frameOf(JSON.stringify(problemOf(error)))}`);
    }
    this.#end();
  }

  get #isBehind(): boolean {
    for (const reader of this.#readers) if (!reader.hasEnough) return false;
    return true;
  }

  /** broadcast-3 */
  async #caughtUp(): Promise<void> {
    while (!this.#isOver && this.#isBehind) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#wake = undefined;
  }

  readonly #flush = (): void => {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#send(this.#deltas.flush());
  };

  #send(text: string): void {
    if (text === "") return;
    const frame = utf8.encode(text);
    if (this.#replaySize <= REPLAY_MAX) {
      this.#replay.push(frame);
      this.#replaySize += frame.byteLength;
      if (this.#replaySize > REPLAY_MAX) this.#replay = [];
    }
    for (const reader of this.#readers) reader.push(frame);
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    for (const reader of this.#readers) reader.end();
    this.#source.return?.().catch(() => {});
    this.#over();
  }
}
