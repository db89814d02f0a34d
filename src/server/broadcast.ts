// One source of events for many readers: each event is serialised once, and deltas are joined.
//
// broadcast-1 A reader that is too slow loses previews and never facts: its stream ends after what it has got, and it
//             comes back with the last id. So no reader costs more memory than its bound.
// broadcast-2 A reader that joins late gets what earlier ones got since the beginning. If that is too much, it gets a
//             source of its own.
import type { SessionEvent } from "../model/event.ts";
import { problemOf } from "./problem.ts";

type Event = SessionEvent | { readonly fact: true; readonly kind: string; readonly cursor: string };

/** How long deltas wait for more of them. */
const JOIN_MS = 20;
/** What a source keeps for readers that join late, in characters. */
const REPLAY_MAX = 256 * 1024;
/** What may wait for one reader, in characters. */
const WAITING_MAX = 512 * 1024;

const frameOf = (data: string, id?: string): string => `${id === undefined ? "" : `id: ${id}\n`}data: ${data}\n\n`;

/** Joins the deltas of one preview. A delta after the first is `[number, "text"]`, because its key has been sent. */
class Deltas {
  #numbers = new Map<string, number>();
  #open:
    | { readonly event: Event & { readonly delta: string }; readonly number: number; readonly isFirst: boolean }
    | undefined;
  #text = "";

  /** Returns the frames that are complete because of this event. */
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

/** A client that has missed previews reads the session: the view is not sent to each of them. */
function plainFrame(event: Event): string {
  if (event.kind === "gap" && "view" in event) {
    const { view: _, ...rest } = event;
    return frameOf(JSON.stringify(rest), event.cursor);
  }
  return frameOf(JSON.stringify(event), event.fact ? event.cursor : undefined);
}

/** What waits for one reader. */
export class Reader {
  #frames: string[] = [];
  #size = 0;
  #isOver = false;
  #wake: (() => void) | undefined;

  push(frame: string): void {
    if (this.#isOver || frame === "") return;
    this.#size += frame.length;
    if (this.#size > WAITING_MAX)
      this.end(); // broadcast-1
    else this.#frames.push(frame);
    this.#wake?.();
  }

  end(): void {
    this.#isOver = true;
    this.#wake?.();
  }

  /** The frames that wait; undefined at the end. */
  async next(): Promise<string | undefined> {
    while (this.#frames.length === 0) {
      if (this.#isOver) return undefined;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    const text = this.#frames.join("");
    this.#frames = [];
    this.#size = 0;
    return text;
  }
}

export class Broadcast {
  readonly #source: AsyncIterator<Event>;
  readonly #readers = new Set<Reader>();
  readonly #deltas = new Deltas();
  readonly #over: () => void;
  #replay: string[] = [];
  #replaySize = 0;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(source: AsyncIterator<Event>, over: () => void) {
    this.#source = source;
    this.#over = over;
    void this.#run();
  }

  /** Undefined if a reader would miss what earlier readers got (broadcast-2). */
  join(): Reader | undefined {
    if (this.#isOver || this.#replaySize > REPLAY_MAX) return undefined;
    const reader = new Reader();
    for (const frame of this.#replay) reader.push(frame);
    this.#readers.add(reader);
    return reader;
  }

  leave(reader: Reader): void {
    reader.end();
    this.#readers.delete(reader);
    if (this.#readers.size === 0) this.#end();
  }

  async #run(): Promise<void> {
    try {
      for (;;) {
        const { value, done } = await this.#source.next();
        if (done === true) break;
        this.#send(this.#deltas.add(value));
        if ("delta" in value) this.#timer ??= setTimeout(this.#flush, JOIN_MS);
      }
      this.#flush();
    } catch (error) {
      this.#flush();
      for (const reader of this.#readers) reader.push(`event: problem\n${frameOf(JSON.stringify(problemOf(error)))}`);
    }
    this.#end();
  }

  readonly #flush = (): void => {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#send(this.#deltas.flush());
  };

  #send(frame: string): void {
    if (frame === "") return;
    if (this.#replaySize <= REPLAY_MAX) {
      this.#replay.push(frame);
      this.#replaySize += frame.length;
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
