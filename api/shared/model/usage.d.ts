/** Tokens in disjoint buckets. Their sum is what the provider billed. */
interface Usage {
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
/** What the calls of one source used on one model. */
interface Spent {
  /** `turn` for the calls of the turn itself, or the label of a completion. */
  readonly source: string;
  readonly model: string;
  readonly usage: Usage;
  readonly calls: number;
}
/**
 * Prices per million tokens. A bucket without a price costs the same as `input` (cacheRead, cacheWrite) or `output`
 * (reasoning). Estimated tokens cost the same as `input` and `output`.
 */
interface Price {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number | undefined;
  readonly cacheWrite?: number | undefined;
  readonly reasoning?: number | undefined;
}
/** Prices by `provider/model`, or by the model name in the session's config. */
type PriceTable = {
  readonly [model: string]: Price;
};
export { PriceTable, Spent, Usage };
