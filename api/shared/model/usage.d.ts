/** Tokens in disjoint buckets: their sum is what the provider billed. */
interface Usage {
  /** Not read from a cache and not written to one. */
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** Not spent on reasoning. */
  readonly output: number;
  readonly reasoning: number;
  /** Calls that may have been billed although no usage was ever reported: cut, killed or retried. */
  readonly unknownCalls: number;
}
/** What calls of one source cost on one model. */
interface Spent {
  /** `turn`, or the label of direct completions. */
  readonly source: string;
  readonly model: string;
  readonly usage: Usage;
  readonly calls: number;
}
/** What a million tokens cost; without its own price a bucket costs what its kind does: input, or output. */
interface Price {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  readonly reasoning?: number;
}
/** By `provider/model`, or the name that a session keeps. */
type PriceTable = {
  readonly [model: string]: Price;
};
export { Price, PriceTable, Spent, Usage };
