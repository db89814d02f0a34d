import type { ModelSettings, Schema } from "../../index.ts";

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

type Given = { readonly [key: string]: unknown };

export class Wrong extends Error {}

export function schemaOf<In, Out>(parse: (given: Given) => Out): Schema<In, Out> {
  return {
    "~standard": {
      version: 1,
      vendor: "bowline",
      validate(given) {
        if (!isObject(given)) return { issues: [{ message: "it must be an object" }] };
        try {
          return { value: parse(given) };
        } catch (error) {
          if (error instanceof Wrong) return { issues: [{ message: error.message }] };
          throw error;
        }
      },
    },
  };
}

export const isObject = (given: unknown): given is Given =>
  typeof given === "object" && given !== null && !Array.isArray(given);

const DAY_MS = 86_400_000;

export const optionsSchema = schemaOf<SubagentsOptions, Settings>((given) => {
  const { capabilities, depthMax, hiddenTools, timeoutMs, childrenMax, ...others } = given;
  refuseOthers(others, "option");
  return {
    capabilities: capabilitiesOf(capabilities),
    depthMax: whole(depthMax, "depthMax", 5, 1, 32),
    hiddenTools: namesOf(hiddenTools, "hiddenTools") ?? [],
    timeoutMs: whole(timeoutMs, "timeoutMs", 3_600_000, 1, 7 * DAY_MS),
    childrenMax: whole(childrenMax, "childrenMax", 100, 1, 100),
  };
});

function capabilitiesOf(given: unknown): ReadonlyMap<string, Capability> {
  if (!isObject(given)) throw new Wrong("capabilities must be an object, by their names");
  const found = Object.entries(given).map(([name, capability]) => [name, capabilityOf(name, capability)] as const);
  if (found.length === 0) throw new Wrong("there must be at least one capability");
  return new Map(found);
}

function capabilityOf(name: string, given: unknown): Capability {
  const of = `the capability ${name}`;
  if (!/^[\w-]{1,64}$/.test(name)) throw new Wrong(`${of} must be named with 1 to 64 of A-Z a-z 0-9 _ and -`);
  if (!isObject(given)) throw new Wrong(`${of} must be an object`);
  const { description, model, instructions, settings, tools, hiddenTools, copiesState, ...others } = given;
  refuseOthers(others, `field of ${of}:`);
  if (typeof description !== "string" || description.trim() === "") throw new Wrong(`${of} needs a description`);
  if (model !== undefined && (typeof model !== "string" || model === ""))
    throw new Wrong(`the model of ${of} must be a name`);
  if (instructions !== undefined && typeof instructions !== "string")
    throw new Wrong(`the instructions of ${of} must be text`);
  if (settings !== undefined && !isObject(settings)) throw new Wrong(`the settings of ${of} must be an object`);
  if (copiesState !== undefined && typeof copiesState !== "boolean")
    throw new Wrong(`copiesState of ${of} must be true or false`);
  namesOf(tools, `the tools of ${of}`);
  namesOf(hiddenTools, `hiddenTools of ${of}`);
  return given as unknown as Capability;
}

function refuseOthers(others: object, what: string): void {
  const [other] = Object.keys(others);
  if (other !== undefined) throw new Wrong(`there is no ${what} ${other}`);
}

function namesOf(given: unknown, what: string): readonly string[] | undefined {
  if (given === undefined) return undefined;
  if (Array.isArray(given) && given.every((name) => typeof name === "string")) return given;
  throw new Wrong(`${what} must be a list of names`);
}

function whole(given: unknown, what: string, unlessGiven: number, min: number, max: number): number {
  if (given === undefined) return unlessGiven;
  if (typeof given === "number" && Number.isInteger(given) && given >= min && given <= max) return given;
  throw new Wrong(`${what} must be a whole number from ${min} to ${max}`);
}
