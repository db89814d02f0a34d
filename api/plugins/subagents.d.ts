import { Agent } from "../shared/plugins/subagents/roster.js";
import { Capability, SubagentsOptions } from "../shared/plugins/subagents/options.js";
import { PluginFactory } from "../shared/kernel/plugin.js";
/**
 * Lets the model start agents. An agent is a child session with a task; its last answer is the result of the call.
 *
 * Tools run in parallel and change no state (`calls.ts`). Hooks run one at a time and write the results to the roster
 * of agents (`keep.ts`).
 */
declare const subagents: PluginFactory<SubagentsOptions, {
  readonly agents: {
    readonly kind: "query";
    readonly input: undefined;
    readonly output: Agent[];
  };
}>;
export { type Agent, type Capability, type SubagentsOptions, subagents };
