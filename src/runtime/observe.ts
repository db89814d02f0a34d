import type { SessionEvent } from "../model/event.ts";

type Waiter = (result: IteratorResult<SessionEvent> | PromiseLike<never>) => void;

/** One reader of a turn's events. What it has not read waits here, within a bound. */
class Reader implements AsyncIterator<SessionEvent> {
  readonly #max: number;
  #unread: SessionEvent[] = [];
  #head = 0;
  #waiter: Waiter | undefined;
  /** More calls of `next` at once than one, which is rare. */
  #waiters: Waiter[] | undefined;
  #isDone = false;
  #error: unknown;
  hasLeft = false;

  constructor(max: number) {
    this.#max = max;
  }

  push(event: SessionEvent): void {
    if (this.hasLeft) return;
    const waiter = this.#waiter;
    if (waiter !== undefined) {
      this.#waiter = this.#waiters?.shift();
      return waiter({ value: event, done: false });
    }
    if (this.#unread.length - this.#head >= this.#max) this.#shrink();
    this.#unread.push(event);
  }

  /** A reader that lags is given longer deltas; when that is not enough it loses the oldest previews, never a fact. */
  #shrink(): void {
    const kept: SessionEvent[] = [];
    for (const event of this.#unread.slice(this.#head)) {
      const last = kept[kept.length - 1];
      if (last !== undefined && isDelta(last) && isDelta(event) && last.kind === event.kind && last.key === event.key) {
        kept[kept.length - 1] = { ...last, delta: last.delta + event.delta };
      } else kept.push(event);
    }
    const over = kept.length - this.#max / 2;
    let dropped = 0;
    this.#unread = over <= 0 ? kept : kept.filter((event) => event.fact || dropped >= over || !++dropped);
    this.#head = 0;
  }

  /** With an error, when the turn was not accepted or is lost: whoever reads on is told. */
  end(error?: unknown): void {
    this.#isDone = true;
    this.#error = error;
    const waiter = this.#waiter;
    const others = this.#waiters ?? [];
    this.#waiter = undefined;
    this.#waiters = undefined;
    waiter?.(error === undefined ? DONE : Promise.reject(this.#taken()));
    for (const other of others) other(DONE);
  }

  #taken(): unknown {
    const error = this.#error;
    this.#error = undefined;
    return error;
  }

  next(): Promise<IteratorResult<SessionEvent>> {
    if (this.#head < this.#unread.length) {
      const value = this.#unread[this.#head++] as SessionEvent;
      if (this.#head === this.#unread.length) {
        this.#unread.length = 0;
        this.#head = 0;
      }
      return Promise.resolve({ value, done: false });
    }
    if (this.#error !== undefined) return Promise.reject(this.#taken());
    if (this.#isDone) return Promise.resolve(DONE);
    return new Promise((resolve) => {
      if (this.#waiter === undefined) this.#waiter = resolve;
      else (this.#waiters ??= []).push(resolve);
    });
  }

  /** Leaving is not cancelling: the turn goes on. */
  return(): Promise<IteratorResult<SessionEvent>> {
    this.hasLeft = true;
    this.#unread = [];
    this.#head = 0;
    this.end();
    return Promise.resolve(DONE);
  }
}

const DONE: IteratorResult<SessionEvent> = { value: undefined, done: true };

type Delta = Extract<SessionEvent, { readonly delta: string }>;
const isDelta = (event: SessionEvent): event is Delta => event.kind === "text" || event.kind === "reasoning";

/** A turn's events, for any number of readers. The first one hears everything from the start. */
export class Feed {
  readonly #max: number;
  readonly #first: Reader;
  #others: readonly Reader[] | undefined;
  #isTaken = false;
  #isDone = false;
  #error: unknown;
  #fact: SessionEvent | undefined;

  constructor(max: number) {
    this.#max = max;
    this.#first = new Reader(max);
  }

  push(event: SessionEvent): void {
    if (event.fact) this.#fact = event;
    this.#first.push(event);
    if (this.#others !== undefined) for (const reader of this.#others) reader.push(event);
  }

  end(error?: unknown): void {
    this.#isDone = true;
    this.#error = error;
    this.#first.end(error);
    if (this.#others !== undefined) for (const reader of this.#others) reader.end(error);
  }

  read(): AsyncIterator<SessionEvent> {
    if (!this.#isTaken) {
      this.#isTaken = true;
      return this.#first;
    }
    const reader = new Reader(this.#max);
    if (this.#isDone) {
      if (this.#fact !== undefined) reader.push(this.#fact); // Whoever comes late is told how it ended.
      reader.end(this.#error);
    } else this.#others = [...(this.#others ?? []).filter((each) => !each.hasLeft), reader];
    return reader;
  }
}
