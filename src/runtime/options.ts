import type { EffectHost } from "../hosts/host.ts";
import type { Owned } from "../kernel/hooks.ts";
import type { Plugin } from "../kernel/plugin.ts";
import type { Section } from "../kernel/prompt.ts";
import type { Probe } from "../kernel/run.ts";
import { isTool, isToolProvider, type Tool, type ToolProvider } from "../kernel/tool.ts";
import type { Budget } from "../model/config.ts";
import { RuntimeError } from "../model/errors.ts";
import { isObject } from "../model/json.ts";
import { DEFAULT_LIMITS, type Limits } from "../model/limits.ts";
import type { PromptPart } from "../model/prompt.ts";
import type { ModelSettings } from "../model/request.ts";
import type { PriceTable } from "../model/usage.ts";
import type { Model, ModelResolver } from "../providers/provider.ts";
import type { Store } from "../stores/store.ts";
import { APP } from "../tools/catalog.ts";
import { NO_CHOICES, Registry } from "../tools/registry.ts";
import { staticSource } from "../tools/source.ts";
import type { TraceSink } from "../trace/trace.ts";

export type RuntimeOptions = {
  readonly store: Store;
  readonly host?: EffectHost;
  readonly trace?: TraceSink;
  readonly tools?: readonly (Tool | ToolProvider)[];
  readonly plugins?: readonly Plugin[];
  readonly instructions?: string;
  /** More of the prompt, for every session: the lowest of its layers. */
  readonly prompt?: readonly PromptPart[];
  /** Headings and order of the prompt's slots. */
  readonly template?: readonly Section[];
  readonly settings?: ModelSettings;
  readonly limits?: Partial<Limits>;
  /** What may be spent, unless a session has a budget of its own. */
  readonly budget?: Budget;
  /** What models cost, by the name that sessions keep. */
  readonly prices?: PriceTable;
  /** Whether turns that others left are gone on with by themselves: `auto` on a durable store, unless set. */
  readonly recover?: "auto" | "manual";
  /** Sees the beginning and the end of every hook call. */
  readonly probe?: Probe;
} & (
  | { readonly model: Model; readonly models?: ModelResolver }
  | { readonly model: string; readonly models: ModelResolver }
);

export function checkedOptions(options: RuntimeOptions): RuntimeOptions {
  const wrong = (option: string, problem: string): never => {
    throw new RuntimeError("options.invalid", { option, problem });
  };
  if (typeof options !== "object" || options === null) return wrong("options", "createRuntime takes an object");
  if (typeof options.store?.accept !== "function")
    wrong("store", "it is no store; for example memory() of bowline/stores/memory");
  if (options.model === undefined || options.model === null) wrong("model", "it is missing");
  if (typeof options.model === "string" && options.models === undefined)
    wrong("models", "a model's name needs a resolver, for example installed()");
  for (const list of ["tools", "plugins"] as const)
    if (options[list] !== undefined && !Array.isArray(options[list])) wrong(list, "it is no list");
  for (const tool of options.tools ?? [])
    if (!isTool(tool) && !isToolProvider(tool))
      wrong("tools", "one was made with neither defineTool nor defineToolProvider");
  return options;
}

export function requireDistinct(tools: readonly Owned<Tool>[], providers: readonly Owned<ToolProvider>[]): void {
  const listed = providers.map(({ value: { id } }) => ({ id, owner: APP, revision: 0, offers: [], isStatic: false }));
  const app = staticSource(
    APP,
    tools.map(({ value }) => value),
  );
  new Registry([app, ...listed], NO_CHOICES, { clash: () => {}, isHidden: () => false });
}

const BUCKETS: ReadonlySet<string> = new Set(["input", "output", "cacheRead", "cacheWrite", "reasoning"]);

export function requirePrices(prices: PriceTable): void {
  const isRight = (price: unknown): boolean =>
    isObject(price) &&
    "input" in price &&
    "output" in price &&
    Object.entries(price).every(
      ([bucket, value]) => BUCKETS.has(bucket) && typeof value === "number" && value >= 0 && value < Infinity,
    );
  if (!isObject(prices) || !Object.values(prices).every(isRight))
    throw new RuntimeError("options.invalid", {
      option: "prices",
      problem: "a price says what a million tokens cost: input and output at least",
    });
}

/** Infinity is a choice, and journals are JSON: it is recorded as the largest whole number. */
export function checkedLimits(given: Partial<Limits>): Limits {
  const limits: { [limit: string]: number } = { ...DEFAULT_LIMITS };
  for (const [limit, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (!Object.hasOwn(DEFAULT_LIMITS, limit))
      throw new RuntimeError("options.invalid", { option: `limits.${limit}`, problem: "there is no such limit" });
    if (typeof value !== "number" || !(value > 0))
      throw new RuntimeError("options.invalid", { option: `limits.${limit}`, problem: "it must be a number above 0" });
    limits[limit] = Math.min(value, Number.MAX_SAFE_INTEGER);
  }
  return limits as unknown as Limits;
}
