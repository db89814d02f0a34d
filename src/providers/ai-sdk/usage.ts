import { isObject } from "../../model/json.ts";
import type { Usage } from "../../model/usage.ts";

/** The usage of a `finish` part in disjoint buckets; undefined if nothing was counted. */
export function usageOf(finish: { readonly [key: string]: unknown }): Usage | undefined {
  const usage = isObject(finish.usage) ? finish.usage : {};
  const counted = isObject(usage.inputTokens) || isObject(usage.outputTokens) ? nested(usage) : flat(usage, finish);
  if (Object.values(counted).every((tokens) => tokens === undefined)) return undefined;
  const { total, cacheRead = 0, cacheWrite = 0, output, reasoning = 0 } = counted;
  return {
    input: without(total ?? cacheRead + cacheWrite, cacheRead + cacheWrite),
    cacheRead,
    cacheWrite,
    output: without(output ?? reasoning, reasoning),
    reasoning,
    unknownCalls: 0,
  };
}

/** Token counts as v3 and v4 define them: `total` is all input, and `output` includes reasoning. */
interface Counted {
  readonly total: number | undefined;
  readonly cacheRead: number | undefined;
  readonly cacheWrite: number | undefined;
  readonly output: number | undefined;
  readonly reasoning: number | undefined;
}

/** Reads usage of v3 and v4. */
function nested(usage: { readonly [key: string]: unknown }): Counted {
  const input = isObject(usage.inputTokens) ? usage.inputTokens : {};
  const output = isObject(usage.outputTokens) ? usage.outputTokens : {};
  const [cacheRead, cacheWrite, reasoning] = [count(input.cacheRead), count(input.cacheWrite), count(output.reasoning)];
  return {
    total: count(input.total) ?? sum(count(input.noCache), cacheRead, cacheWrite),
    cacheRead,
    cacheWrite,
    output: count(output.total) ?? sum(count(output.text), reasoning),
    reasoning,
  };
}

/** Reads usage of v2, whose packages disagree on what the totals include. */
function flat(usage: { readonly [key: string]: unknown }, finish: { readonly [key: string]: unknown }): Counted {
  const input = count(usage.inputTokens);
  const output = count(usage.outputTokens);
  const reasoning = count(usage.reasoningTokens);
  const cacheRead = count(usage.cachedInputTokens);
  const { anthropic, bedrock } = isObject(finish.providerMetadata) ? finish.providerMetadata : {};
  // The input of Anthropic and Bedrock does not include cached tokens. Only their metadata has the tokens written to
  // the cache.
  const isBeside = isObject(anthropic) || isObject(bedrock);
  const cacheWrite = isObject(anthropic)
    ? count(anthropic.cacheCreationInputTokens)
    : isObject(bedrock) && isObject(bedrock.usage)
      ? count(bedrock.usage.cacheWriteInputTokens)
      : undefined;
  // The output of Google does not include reasoning: its total shows that.
  const isApart = reasoning !== undefined && count(usage.totalTokens) === sum(input, output, reasoning);
  return {
    total: isBeside ? sum(input, cacheRead, cacheWrite) : input,
    cacheRead,
    cacheWrite,
    output: isApart ? sum(output, reasoning) : output,
    reasoning,
  };
}

const count = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;

const sum = (first: number | undefined, ...more: readonly (number | undefined)[]): number | undefined =>
  first === undefined ? undefined : more.reduce<number>((total, each) => total + (each ?? 0), first);

/** If a part is larger than its whole, the provider counts the two separately. */
const without = (whole: number, part: number): number => (part > whole ? whole : whole - part);
