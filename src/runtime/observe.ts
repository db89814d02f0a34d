import type { Preview, SessionEvent, TurnProgress } from "../model/event.ts";

type Waiter = (result: IteratorResult<TurnProgress> | PromiseLike<never>) => void;

/** One reader of a turn's events. What it has not read waits here, within a bound. */
class Reader implements AsyncIterator<TurnProgress> {
  readonly #max: number;
  #unread: TurnProgress[] = [];
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

  push(event: TurnProgress): void {
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
    const kept = joined(this.#unread.slice(this.#head));
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

  next(): Promise<IteratorResult<TurnProgress>> {
    if (this.#head < this.#unread.length) {
      const value = this.#unread[this.#head++] as TurnProgress;
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
  return(): Promise<IteratorResult<TurnProgress>> {
    this.hasLeft = true;
    this.#unread = [];
    this.#head = 0;
    this.end();
    return Promise.resolve(DONE);
  }
}

export const DONE: { readonly value: undefined; readonly done: true } = { value: undefined, done: true };

type Delta = Extract<SessionEvent, { readonly delta: string }>;
const isDelta = (event: SessionEvent): event is Delta => event.kind === "text" || event.kind === "reasoning";

/** With deltas that follow each other in one piece. */
export function joined<E extends SessionEvent>(events: readonly E[]): E[] {
  const kept: E[] = [];
  let run: string[] = [];
  const close = (): void => {
    const last = kept[kept.length - 1];
    if (run.length > 1 && last !== undefined) kept[kept.length - 1] = { ...last, delta: run.join("") };
    run = [];
  };
  for (const event of events) {
    const last = kept[kept.length - 1];
    const isMore =
      last !== undefined && isDelta(last) && isDelta(event) && last.kind === event.kind && last.key === event.key;
    if (!isMore) {
      close();
      kept.push(event);
    }
    if (isDelta(event)) run.push(event.delta);
  }
  close();
  return kept;
}

/** What a running turn has shown, within a bound, for those who come late. */
export class Shown {
  #events: Preview[] = [];
  #isJoined = false;
  /** The beginning is lost. */
  isTrimmed = false;

  add(event: Preview): void {
    this.#events.push(event);
    this.#isJoined = false;
    if (this.#events.length >= 2 * SHOWN_MAX) this.#trim();
  }

  list(): readonly Preview[] {
    if (!this.#isJoined) this.#trim();
    return this.#events.slice();
  }

  #trim(): void {
    this.#events = joined(this.#events);
    this.#isJoined = true;
    if (this.#events.length <= SHOWN_MAX) return;
    this.#events = this.#events.slice(-SHOWN_MAX / 2);
    this.isTrimmed = true;
  }
}
const SHOWN_MAX = 2_048;

/** A turn's events, for any number of readers. The first one hears everything from the start. */
export class Feed {
  readonly #max: number;
  readonly #first: Reader;
  #others: readonly Reader[] | undefined;
  #isTaken = false;
  #isDone = false;
  #error: unknown;
  #fact: TurnProgress | undefined;

  constructor(max: number) {
    this.#max = max;
    this.#first = new Reader(max);
  }

  push(event: TurnProgress): void {
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

  read(): AsyncIterator<TurnProgress> {
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
