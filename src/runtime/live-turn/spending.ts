// The spending of a running turn besides its own model calls.
// spending-1 The next answer records the spending.
// spending-2 A recorded completion is booked once over all runs of the turn.
import { type Spent, tokensIn, totalOf } from "../../model/usage.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { LiveTurn } from "./turn.ts";

export class Spending {
  readonly #live: LiveTurn;
  #spent: readonly Spent[] | undefined;
  #booked: Set<string> | undefined;
  #bookedNow: readonly string[] | undefined;

  constructor(live: LiveTurn) {
    this.#live = live;
  }

  /** Applies an event that an earlier run recorded. */
  learn(event: TurnEvent): void {
    if ("booked" in event) for (const key of event.booked ?? []) (this.#booked ??= new Set()).add(key);
  }

  /** spending-2: `key` names a recorded completion. */
  add(spent: Spent, key?: string): void {
    this.#spent = [...(this.#spent ?? []), spent];
    if (key === undefined) return;
    (this.#booked ??= new Set()).add(key);
    this.#bookedNow = [...(this.#bookedNow ?? []), key];
  }

  isBooked(key: string): boolean {
    return this.#booked?.has(key) ?? false;
  }

  /** All that the turn has spent, recorded or not: budgets count both. */
  get total(): readonly Spent[] {
    const { state, opened } = this.#live;
    if (state === undefined) return []; // The turn is still being opened.
    const { usage, asks, spent } = state;
    const own = { source: "turn", model: opened.config.model, usage, calls: asks };
    return [...(tokensIn(usage) === 0 ? [] : [own]), ...spent, ...(this.#spent ?? [])];
  }

  /** How many of its calls may have been billed, though no usage was reported. */
  get unknownCalls(): number {
    const { usage, spent } = this.#live.state;
    return usage.unknownCalls + totalOf([...spent, ...(this.#spent ?? [])]).unknownCalls;
  }

  /** spending-1: what was spent since the last answer, and the keys of the completions in it. */
  take(): { readonly spent: readonly Spent[]; readonly booked?: readonly string[] } | undefined {
    const spent = this.#spent;
    if (spent === undefined) return undefined;
    const booked = this.#bookedNow;
    this.#spent = undefined;
    this.#bookedNow = undefined;
    return booked === undefined ? { spent } : { spent, booked };
  }
}
