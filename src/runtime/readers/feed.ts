import type { TurnProgress } from "../../model/event.ts";
import { joined } from "./previews.ts";

type Waiter = (result: IteratorResult<TurnProgress> | PromiseLike<never>) => void;

export const DONE: { readonly value: undefined; readonly done: true } = { value: undefined, done: true };

/**
 * The events of one turn, for iterations over its handle. The first iteration gets all events from the start. A later
 * iteration is a separate feed and gets the events from then on. Unread events wait here, within a bound.
 */
export class Feed {
  readonly #max: number;
  #unread: TurnProgress[] | undefined;
  #head = 0;
  #waiter: Waiter | undefined;
  /** Further calls of `next` while one call waits, which is rare. */
  #waiters: Waiter[] | undefined;
  #others: readonly Feed[] | undefined;
  #isTaken = false;
  #hasLeft = false;
  #isDone = false;
  /** Thrown by one call of `next`; after that the iteration is done. */
  #error: unknown;
  /** How the turn ended, for iterations that begin after it. */
  #fact: TurnProgress | undefined;
  #ended: { readonly error: unknown } | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  push(event: TurnProgress): void {
    if (event.fact) this.#fact = event;
    if (this.#others !== undefined) for (const each of this.#others) each.push(event);
    if (this.#hasLeft) return;
    const waiter = this.#waiter;
    if (waiter !== undefined) {
      this.#waiter = this.#waiters?.shift();
      return waiter({ value: event, done: false });
    }
    if (this.#unread === undefined) this.#unread = [event];
    else {
      if (this.#unread.length - this.#head >= this.#max) this.#shrink(this.#unread);
      this.#unread.push(event);
    }
  }

  /** A slow iteration gets joined deltas. If that is not enough, it loses the oldest previews, but never the fact. */
  #shrink(unread: readonly TurnProgress[]): void {
    const remaining = joined(unread.slice(this.#head));
    const over = remaining.length - this.#max / 2;
    let dropped = 0;
    this.#unread = over <= 0 ? remaining : remaining.filter((event) => event.fact || dropped >= over || !++dropped);
    this.#head = 0;
  }

  /** `error`: the turn was not accepted, or is lost; `next` throws it. */
  end(error?: unknown): void {
    this.#ended = { error };
    if (this.#others !== undefined) for (const each of this.#others) each.end(error);
    this.#close(error);
  }

  #close(error?: unknown): void {
    this.#isDone = true;
    this.#error = error;
    const waiter = this.#waiter;
    const others = this.#waiters;
    this.#waiter = undefined;
    this.#waiters = undefined;
    waiter?.(error === undefined ? DONE : Promise.reject(this.#takeError()));
    if (others !== undefined) for (const other of others) other(DONE);
  }

  #takeError(): unknown {
    const error = this.#error;
    this.#error = undefined;
    return error;
  }

  next(): Promise<IteratorResult<TurnProgress>> {
    const unread = this.#unread;
    if (unread !== undefined && this.#head < unread.length) {
      const value = unread[this.#head++] as TurnProgress;
      if (this.#head === unread.length) {
        unread.length = 0;
        this.#head = 0;
      }
      return Promise.resolve({ value, done: false });
    }
    if (this.#error !== undefined) return Promise.reject(this.#takeError());
    if (this.#isDone) return Promise.resolve(DONE);
    return new Promise((resolve) => {
      if (this.#waiter === undefined) this.#waiter = resolve;
      else (this.#waiters ??= []).push(resolve);
    });
  }

  /** Leaving does not cancel the turn. The turn and other iterations continue. */
  return(): Promise<IteratorResult<TurnProgress>> {
    this.#hasLeft = true;
    this.#unread = undefined;
    this.#head = 0;
    this.#close();
    return Promise.resolve(DONE);
  }

  /** Whether an iteration has begun. */
  get isRead(): boolean {
    return this.#isTaken;
  }

  /** Drops unread events: the turn is parked, and a first read gets them again. */
  clear(): void {
    this.#unread = undefined;
    this.#head = 0;
  }

  read(): AsyncIterator<TurnProgress> {
    if (!this.#isTaken) {
      this.#isTaken = true;
      return readerOf(this);
    }
    const reader = new Feed(this.#max);
    if (this.#ended !== undefined) {
      if (this.#fact !== undefined) reader.push(this.#fact);
      reader.end(this.#ended.error);
    } else this.#others = [...(this.#others ?? []).filter((each) => !each.#hasLeft), reader];
    return readerOf(reader);
  }
}

/** Callers get an iterator, not the feed, because they must not push or end. */
const readerOf = (feed: Feed): AsyncIterator<TurnProgress> => ({
  next: () => feed.next(),
  return: () => feed.return(),
});
