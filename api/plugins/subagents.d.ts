import { Agent } from "../shared/plugins/subagents/roster.js";
import { Capability, SubagentsOptions } from "../shared/plugins/subagents/options.js";
import { PluginFactory } from "../shared/kernel/plugin.js";
/** Lets the model start agents: sessions of their own, which work at a task and answer with a result. */
declare const subagents: PluginFactory<SubagentsOptions, {
  readonly agents: {
    readonly kind: "query";
    readonly input: undefined;
    readonly output: Agent[];
  };
}>;
export { type Agent, type Capability, type SubagentsOptions, subagents };
