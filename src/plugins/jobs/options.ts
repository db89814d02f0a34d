import {
  type DescribedSchema,
  type Fields,
  type JsonSchema,
  jsonSchema,
  optionsSchema,
  type ToolSchema,
} from "../../plugin.ts";

/** A task that the model may start. */
export interface TaskOffer {
  /** What the task does and returns. The model reads it to choose a task. */
  readonly description?: string | undefined;
  /**
   * The schema of the model's input, an object. The model sees the schema. Its input must fit this schema and the
   * task's own one. Default: the model sees no schema, because a plugin cannot read the schemas of another plugin.
   */
  readonly input?: ToolSchema | undefined;
  /** The signals of such a job, each with the schema of its payload. The model sees them. Default: none. */
  readonly signals?: { readonly [name: string]: ToolSchema } | undefined;
  /** Allows a task whose plugin is installed only in another process, as in `jobs.spawn`. Default: false. */
  readonly isElsewhere?: boolean | undefined;
}

export interface JobsOptions {
  /** The longest wait of `jobs_wait`, in milliseconds. Default 7 days, because a job can wait for a person. */
  readonly timeoutMs?: number | undefined;
  /**
   * The tasks that the model can start, by full name, such as `acme/reports.write`. With tasks the model has the tools
   * `jobs_start` and `jobs_signal`. Default: none.
   */
  readonly tasks?: readonly string[] | { readonly [name: string]: TaskOffer } | undefined;
  /**
   * The default for how the end of a job reaches the model. `notify` waits until the model next acts, `wake` opens a
   * turn, `none` leaves it to `jobs_wait`. Default `notify`.
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

/** A schema as the model sees it. */
export function documentOf(schema: DescribedSchema): JsonSchema {
  const { $schema: _, ...document } = schema["~standard"].jsonSchema.input({ target: "draft-2020-12" });
  return document;
}
