/** Tokens in disjoint buckets. Their sum is what the provider billed. */
interface Usage {
  /** Input tokens neither read from a cache nor written to one. */
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** Output tokens other than reasoning. */
  readonly output: number;
  readonly reasoning: number;
  /** Calls that may have been billed without any usage being reported: cut off, killed or retried. */
  readonly unknownCalls: number;
}
/** What the calls of one source used on one model. */
interface Spent {
  /** `turn` for the turn's own calls, else the label of a completion. */
  readonly source: string;
  readonly model: string;
  readonly usage: Usage;
  readonly calls: number;
}
/**
 * Prices per million tokens. A bucket without a price costs the same as `input` (cacheRead, cacheWrite) or `output`
 * (reasoning).
 */
interface Price {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number | undefined;
  readonly cacheWrite?: number | undefined;
  readonly reasoning?: number | undefined;
}
/** Prices by `provider/model`, or by the name that the session's config has. */
type PriceTable = {
  readonly [model: string]: Price;
};
export { Price, PriceTable, Spent, Usage };
