/** Tokens in disjoint buckets. Their sum is what the provider billed. */
export interface Usage {
  /** Input tokens neither read from a cache nor written to one. */
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** Output tokens other than reasoning. */
  readonly output: number;
  readonly reasoning: number;
  /** Calls that can have been billed without a report of their usage: cut off, killed, retried, or not reported. */
  readonly unknownCalls: number;
  /** The estimated usage of those calls, from the bytes sent and received. Omitted if it is zero. */
  readonly estimatedInput?: number;
  readonly estimatedOutput?: number;
}

export const NO_USAGE: Usage = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0, unknownCalls: 0 };
export const UNKNOWN_CALL: Usage = { ...NO_USAGE, unknownCalls: 1 };

export function addUsage(a: Usage, b: Usage): Usage {
  const sum = {
    input: a.input + b.input,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
    unknownCalls: a.unknownCalls + b.unknownCalls,
  };
  const input = (a.estimatedInput ?? 0) + (b.estimatedInput ?? 0);
  const output = (a.estimatedOutput ?? 0) + (b.estimatedOutput ?? 0);
  return input + output === 0 ? sum : withEstimate(sum, input, output);
}

/**
 * Adds an estimate to usage without one. Omits zeros, so that most records stay the same as in versions without
 * estimates.
 */
export const withEstimate = (usage: Usage, input: number, output: number): Usage => ({
  ...usage,
  ...(input === 0 ? {} : { estimatedInput: input }),
  ...(output === 0 ? {} : { estimatedOutput: output }),
});

/** What the calls of one source used on one model. */
export interface Spent {
  /** `turn` for the calls of the turn itself, or the label of a completion. */
  readonly source: string;
  readonly model: string;
  readonly usage: Usage;
  readonly calls: number;
}

/** Adds to the ledger, which has one row per source and model. */
export function addSpent(ledger: readonly Spent[], spent: readonly Spent[]): readonly Spent[] {
  if (spent.length === 0) return ledger;
  if (ledger.length === 0 && spent.length === 1) return spent;
  const rows = ledger.slice();
  for (const { source, model, usage, calls } of spent) {
    const index = rows.findIndex((row) => row.source === source && row.model === model);
    const row = rows[index];
    if (row === undefined) rows.push({ source, model, usage, calls });
    else rows[index] = { source, model, usage: addUsage(row.usage, usage), calls: row.calls + calls };
  }
  return rows;
}

export const totalOf = (spent: readonly Spent[]): Usage =>
  spent.reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE);

/** All tokens, with estimated ones. */
export function tokensIn(usage: Usage): number {
  const { input, cacheRead, cacheWrite, output, reasoning, estimatedInput = 0, estimatedOutput = 0 } = usage;
  return input + cacheRead + cacheWrite + output + reasoning + estimatedInput + estimatedOutput;
}

/**
 * Prices per million tokens. A bucket without a price costs the same as `input` (cacheRead, cacheWrite) or `output`
 * (reasoning). Estimated tokens cost the same as `input` and `output`.
 */
export interface Price {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number | undefined;
  readonly cacheWrite?: number | undefined;
  readonly reasoning?: number | undefined;
}
/** Prices by `provider/model`, or by the model name in the session's config. */
export type PriceTable = { readonly [model: string]: Price };

/** The cost, or undefined if the price of a model is missing. */
export function costOf(spent: readonly Pick<Spent, "model" | "usage">[], prices: PriceTable): number | undefined {
  let sum = 0;
  for (const { model, usage } of spent) {
    const price = Object.hasOwn(prices, model) ? prices[model] : undefined;
    if (price === undefined) return undefined;
    const { input, output, cacheRead = input, cacheWrite = input, reasoning = output } = price;
    sum +=
      usage.input * input +
      usage.cacheRead * cacheRead +
      usage.cacheWrite * cacheWrite +
      usage.output * output +
      usage.reasoning * reasoning +
      (usage.estimatedInput ?? 0) * input +
      (usage.estimatedOutput ?? 0) * output;
  }
  return sum / 1_000_000;
}
