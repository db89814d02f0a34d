import { Budget } from "../model/config.js";
import { EffectHost } from "../hosts/host.js";
import { Limits } from "../model/limits.js";
import { Model, ModelResolver } from "../providers/provider.js";
import { ModelSettings } from "../model/request.js";
import { Plugin } from "../kernel/plugin.js";
import { PriceTable } from "../model/usage.js";
import { Probe } from "../kernel/run.js";
import { PromptPart } from "../model/prompt.js";
import { Section } from "../kernel/prompt.js";
import { Store } from "../stores/store.js";
import { Tool, ToolProvider } from "../kernel/tool.js";
import { TraceSink } from "../trace/trace.js";
type RuntimeOptions = {
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
} & ({
  readonly model: Model;
  readonly models?: ModelResolver;
} | {
  readonly model: string;
  readonly models: ModelResolver;
});
export { RuntimeOptions };
