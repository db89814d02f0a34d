import { ModelSettings } from "../../model/request.js";
/** A kind of agent that the model can start. */
interface Capability {
  /** What such an agent is good for. The model reads it to choose. */
  readonly description: string;
  /** The name of the agent's model. Default: the model of the session that starts it. */
  readonly model?: string | undefined;
  /** The agent's instructions. They replace the runtime's. */
  readonly instructions?: string | undefined;
  /** Settings of the agent's model calls, such as its temperature. */
  readonly settings?: ModelSettings | undefined;
  /** The only tools that the agent has, besides `submit_error`. Default: the tools of the session that starts it. */
  readonly tools?: readonly string[] | undefined;
  /** Tools that the agent does not have. */
  readonly hiddenTools?: readonly string[] | undefined;
  /** Whether the agent begins with a copy of the plugin states of the session that starts it. Default false. */
  readonly copiesState?: boolean | undefined;
}
interface SubagentsOptions {
  /** The kinds of agents, by name; at least one. */
  readonly capabilities: {
    readonly [name: string]: Capability;
  };
  /** How many levels of agents there may be below a root session. Default 5. */
  readonly depthMax?: number | undefined;
  /** Tools that no agent has, for example those that talk to a person. */
  readonly hiddenTools?: readonly string[] | undefined;
  /** How long a call waits for an agent at most, in milliseconds. Default 7 days: the agent may wait for a person. */
  readonly timeoutMs?: number | undefined;
  /** How many open agents one session can have. Default and maximum: 100. */
  readonly childrenMax?: number | undefined;
}
export { Capability, SubagentsOptions };
