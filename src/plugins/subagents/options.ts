import { type Fields, type ModelSettings, optionsSchema } from "../../index.ts";

/** A kind of agent. */
export interface Capability {
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

export interface SubagentsOptions {
  /** By name; at least one. */
  readonly capabilities: { readonly [name: string]: Capability };
  /** How deep agents may start agents; 5 unless given. */
  readonly depthMax?: number;
  /** Tools that no agent has: those that talk to a person, for example. */
  readonly hiddenTools?: readonly string[];
  /** The longest that a call waits for an agent; one hour unless given. */
  readonly timeoutMs?: number;
  /** Agents of one session that are not closed; 100 unless given, which is also the most. */
  readonly childrenMax?: number;
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
    timeoutMs: given.whole("timeoutMs", { min: 1, max: 7 * DAY_MS }, 3_600_000),
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
