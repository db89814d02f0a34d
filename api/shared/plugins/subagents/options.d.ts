import { ModelSettings } from "../../model/request.js";
/** A kind of agent. */
interface Capability {
  /** For the model that chooses: what such an agent is good for. */
  readonly description: string;
  /** That of the session which starts it, unless given. */
  readonly model?: string;
  /** In the place of the runtime's. */
  readonly instructions?: string;
  readonly settings?: ModelSettings;
  /** The only tools that such an agent has; `submit_error` is always one of them. */
  readonly tools?: readonly string[];
  /** Tools that it never has. */
  readonly hiddenTools?: readonly string[];
  /** Whether it begins with a copy of the plugin states of the session that starts it. */
  readonly copiesState?: boolean;
}
interface SubagentsOptions {
  /** By name; at least one. */
  readonly capabilities: {
    readonly [name: string]: Capability;
  };
  /** How deep agents may start agents; 5 unless given. */
  readonly depthMax?: number;
  /** Tools that no agent has: those that talk to a person, for example. */
  readonly hiddenTools?: readonly string[];
  /** The longest that a call waits for an agent; one hour unless given. */
  readonly timeoutMs?: number;
  /** Agents of one session that are not closed; 100 unless given, which is also the most. */
  readonly childrenMax?: number;
}
export { Capability, SubagentsOptions };
