import { type Fields, type ModelSettings, optionsSchema } from "../../plugin.ts";

/** A kind of agent that the model can start. */
export interface Capability {
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

export interface SubagentsOptions {
  /** The kinds of agents, by name; at least one. */
  readonly capabilities: { readonly [name: string]: Capability };
  /** How many levels of agents there may be below a root session. Default 5. */
  readonly depthMax?: number | undefined;
  /** Tools that no agent has, for example those that talk to a person. */
  readonly hiddenTools?: readonly string[] | undefined;
  /** How long a call waits for an agent at most, in milliseconds. Default 7 days: the agent may wait for a person. */
  readonly timeoutMs?: number | undefined;
  /** How many open agents one session can have. Default and maximum: 100. */
  readonly childrenMax?: number | undefined;
}

export interface Settings {
  readonly capabilities: ReadonlyMap<string, Capability>;
  readonly depthMax: number;
  readonly hiddenTools: readonly string[];
  readonly timeoutMs: number;
  readonly childrenMax: number;
}

const DAY_MS = 86_400_000;

export const OPTIONS = optionsSchema<SubagentsOptions, Settings>((given) => {
  given.only("capabilities", "depthMax", "hiddenTools", "timeoutMs", "childrenMax");
  const capabilities = given.object("capabilities");
  if (capabilities.names.length === 0) throw given.wrong("must have at least one capability", "capabilities");
  return {
    capabilities: new Map(capabilities.names.map((name) => [name, capabilityOf(capabilities, name)])),
    depthMax: given.whole("depthMax", { min: 1, max: 32 }, 5),
    hiddenTools: given.texts("hiddenTools", []),
    timeoutMs: given.whole("timeoutMs", { min: 1, max: 7 * DAY_MS }, 7 * DAY_MS),
    childrenMax: given.whole("childrenMax", { min: 1, max: 100 }, 100),
  };
});

function capabilityOf(capabilities: Fields, name: string): Capability {
  if (!/^[\w-]{1,64}$/.test(name)) throw capabilities.wrong("must be named with 1 to 64 of A-Z a-z 0-9 _ and -", name);
  const given = capabilities.object(name);
  given.only("description", "model", "instructions", "settings", "tools", "hiddenTools", "copiesState");
  if (given.text("description").trim() === "") throw given.wrong("must not be empty", "description");
  if (given.text("model", undefined) === "") throw given.wrong("must not be empty", "model");
  given.text("instructions", undefined);
  given.object("settings", undefined);
  given.texts("tools", undefined);
  given.texts("hiddenTools", undefined);
  given.flag("copiesState", undefined);
  return capabilities.value(name) as Capability;
}
