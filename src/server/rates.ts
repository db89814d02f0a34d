const MINUTE_MS = 60_000;
const CALLERS_MAX = 10_000;

/** Limits the changing requests of each caller per minute, with a token bucket. */
export class Rates {
  readonly #max: number;
  readonly #buckets = new Map<string, { left: number; at: number }>();

  constructor(max: number) {
    this.#max = max;
  }

  allows(caller: string, now = performance.now()): boolean {
    if (this.#buckets.size >= CALLERS_MAX) this.#buckets.clear();
    const { left, at } = this.#buckets.get(caller) ?? { left: this.#max, at: now };
    const filled = Math.min(this.#max, left + ((now - at) / MINUTE_MS) * this.#max);
    this.#buckets.set(caller, { left: filled >= 1 ? filled - 1 : filled, at: now });
    return filled >= 1;
  }
}
