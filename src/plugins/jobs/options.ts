import {
  type DescribedSchema,
  type Fields,
  type JsonSchema,
  jsonSchema,
  optionsSchema,
  type ToolSchema,
} from "../../index.ts";

/** A task that the model may start. */
export interface TaskOffer {
  /** What the task does and what comes of it. The model reads it to choose. */
  readonly description?: string | undefined;
  /**
   * What the model may pass, an object; it is shown this, and held to it besides what the task itself checks. Default: the
   * model is told nothing, for a plugin cannot read the schemas of another.
   */
  readonly input?: ToolSchema | undefined;
  /** The signals that such a job takes, each with the schema of its payload; the model is shown them. Default: none. */
  readonly signals?: { readonly [name: string]: ToolSchema } | undefined;
  /** Allows a task whose plugin only another process has, as in `jobs.spawn`. Default: false. */
  readonly isElsewhere?: boolean | undefined;
}

export interface JobsOptions {
  /** How long `jobs_wait` waits at most, in milliseconds. Default 7 days: a job may wait for a person. */
  readonly timeoutMs?: number | undefined;
  /**
   * The tasks that the model may start, by their whole names, such as `acme/reports.write`: it then has `jobs_start` and
   * `jobs_signal`. Default: none, and neither tool.
   */
  readonly tasks?: readonly string[] | { readonly [name: string]: TaskOffer } | undefined;
  /**
   * How the model hears of the end of a job that it starts, where it does not say: `notify` waits until it next acts, `wake`
   * opens a turn, `none` leaves it to `jobs_wait`. Default `notify`.
   */
  readonly wake?: "none" | "notify" | "wake" | undefined;
}

export interface Offer {
  readonly description: string;
  readonly input?: DescribedSchema;
  readonly signals: { readonly [name: string]: DescribedSchema };
  readonly isElsewhere: boolean;
}
export type Wake = NonNullable<JobsOptions["wake"]>;
export interface Settings {
  readonly timeoutMs: number;
  readonly tasks: ReadonlyMap<string, Offer>;
  readonly wake: Wake;
}

export const WAKES = ["none", "notify", "wake"] as const satisfies readonly Wake[];
const WEEK_MS = 7 * 86_400_000;

export const OPTIONS = optionsSchema<JobsOptions, Settings>((given) => {
  given.only("timeoutMs", "tasks", "wake");
  return {
    timeoutMs: given.whole("timeoutMs", { min: 1, max: WEEK_MS }, WEEK_MS),
    tasks: tasksIn(given),
    wake: given.oneOf("wake", WAKES, "notify"),
  };
});

// ── Tasks ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const NOTHING_SAID: Offer = { description: "", signals: {}, isElsewhere: false };

function tasksIn(given: Fields): ReadonlyMap<string, Offer> {
  const isList = Array.isArray(given.value("tasks"));
  const offers = isList ? undefined : given.object("tasks", undefined);
  const names = isList ? given.texts("tasks") : (offers?.names ?? []);
  for (const name of names)
    if (!/^.+\.[\w-]{1,64}$/.test(name))
      throw given.wrong(
        `must have whole names, such as acme/reports.write, and ${JSON.stringify(name)} is none`,
        "tasks",
      );
  return new Map(names.map((name) => [name, offers === undefined ? NOTHING_SAID : offerOf(offers.object(name))]));
}

function offerOf(given: Fields): Offer {
  given.only("description", "input", "signals", "isElsewhere");
  const description = given.text("description", "").trim();
  const signals = given.object("signals", undefined);
  const names = signals?.names ?? [];
  const unfit = names.find((name) => !/^[\w-]{1,64}$/.test(name));
  if (unfit !== undefined) throw given.wrong("must be named with 1 to 64 of A-Z a-z 0-9 _ and -", `signals.${unfit}`);
  const taken = Object.fromEntries(names.map((name) => [name, schemaOf(signals as Fields, name)]));
  const isElsewhere = given.flag("isElsewhere", false);
  if (given.value("input") === undefined) return { description, signals: taken, isElsewhere };
  const input = schemaOf(given, "input");
  const { type = "object" } = documentOf(input);
  if (type !== "object") throw given.wrong("must be the schema of an object", "input");
  return { description, input, signals: taken, isElsewhere };
}

function schemaOf(given: Fields, name: string): DescribedSchema {
  const schema = given.checked(name, isSchema, "a schema that can describe itself");
  return isDescribed(schema) ? schema : jsonSchema(schema);
}

const isDescribed = (schema: ToolSchema): schema is DescribedSchema => schema["~standard"] !== undefined;
const isSchema = (value: unknown): value is ToolSchema => {
  if (typeof value !== "function" && (typeof value !== "object" || value === null || Array.isArray(value)))
    return false;
  const { "~standard": standard } = value as { readonly "~standard"?: Partial<DescribedSchema["~standard"]> };
  return standard === undefined ? typeof value === "object" : typeof standard.jsonSchema?.input === "function";
};

/** What a model is shown of a schema. */
export function documentOf(schema: DescribedSchema): JsonSchema {
  const { $schema: _, ...document } = schema["~standard"].jsonSchema.input({ target: "draft-2020-12" });
  return document;
}
