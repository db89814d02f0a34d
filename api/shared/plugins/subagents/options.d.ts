import { ModelSettings } from "../../model/request.js";
/** A kind of agent that the model can start. */
interface Capability {
  /** What such an agent is good for. The model reads it to choose. */
  readonly description: string;
  /** The name of the agent's model. Default: that of the session which starts it. */
  readonly model?: string | undefined;
  /** The agent's instructions, in place of the runtime's. */
  readonly instructions?: string | undefined;
  /** Settings of the agent's model calls, such as its temperature. */
  readonly settings?: ModelSettings | undefined;
  /** The only tools that the agent has, besides `submit_error`. Default: those of the session which starts it. */
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
  /** The most agents of one session that are not closed. Default 100, which is also the greatest value. */
  readonly childrenMax?: number | undefined;
}
export { Capability, SubagentsOptions };
