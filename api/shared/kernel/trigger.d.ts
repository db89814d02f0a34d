import { InputOf, JsonSchema, Schema, ToolSchema } from "../model/schema.js";
import { JobWake } from "../model/job.js";
import { Json } from "../model/json.js";
import { MissedRuns, Occurrence, Subscription } from "../model/trigger.js";
import { Optional } from "../model/known.js";
/** An event that a session can subscribe to. */
interface TriggerDeclaration {
  /** `resource.event`, such as `mail.received`. */
  readonly name: string;
  readonly description?: string | undefined;
  /** The JSON Schema of the event's payload. */
  readonly payload?: JsonSchema | undefined;
}
/** A declaration with the type of its payload, made by `defineTrigger`. */
interface Trigger<Payload = Json> extends TriggerDeclaration {
  /** Types only. */
  readonly "~payload"?: (payload: Payload) => void;
}
interface TriggerSpec<P extends ToolSchema> {
  readonly name: string;
  readonly description?: string | undefined;
  readonly payload?: P | undefined;
}
/**
 * Makes an event with a typed payload: `defineTrigger({ name: "mail.received", payload: z.object({ from: z.string() }) })`.
 * Declare it in the `triggers` of a plugin, and use it where an event is named.
 */
declare function defineTrigger<P extends ToolSchema = JsonSchema>(spec: TriggerSpec<P>): Trigger<[P] extends [Schema] ? InputOf<P> : Json>;
/** What a subscription waits for. */
type TriggerOn =
/** An event, by its name or declaration. With `source`, only events of this source. */
{
  readonly event: string | Trigger<never>;
  readonly source?: string | undefined;
} |
/** A cron pattern of 5 fields, or 6 with seconds. `timeZone` is a name such as `Europe/Berlin`. Default: UTC. */
{
  readonly cron: string;
  readonly timeZone?: string | undefined;
  readonly missed?: MissedRuns | undefined;
} |
/** An interval of at least 1,000 ms. */
{
  readonly everyMs: number;
  readonly missed?: MissedRuns | undefined;
} |
/** Commits of the session's turns. A subscription that opens turns ignores turns that triggers opened. */
{
  readonly commits: true;
};
/** Options of a new subscription. It starts a turn (`send`) or a job (`operation`). */
interface SubscribeOptions {
  /** Its name in the session. Default: a generated name; in a turn, a name that a rerun after a crash repeats. */
  readonly id?: string | undefined;
  /** A short description. Default: the id. */
  readonly label?: string | undefined;
  readonly on: TriggerOn;
  /** Opens a turn with this text. A description of the event follows it. */
  readonly send?: string | undefined;
  /** Starts a job with this task, as in `jobs.spawn`. */
  readonly operation?: string | undefined;
  /** Allows a task whose plugin is not installed in this process, as in `jobs.spawn`. Default: false. */
  readonly isElsewhere?: boolean | undefined;
  /** The input of the task. Default: the payload of the occurrence. */
  readonly input?: Json | undefined;
  /** What the end of the job does to the session. Default: `none`. */
  readonly wake?: JobWake | undefined;
  /** Default: true. */
  readonly isEnabled?: boolean | undefined;
}
/** Fields to change. A field that is left out stays as it is. */
type SubscriptionPatch = Optional<Omit<SubscribeOptions, "id">>;
interface RevisionOptions {
  /** Throws `trigger.conflict` if the subscription has another revision. Default: no such check. */
  readonly revision?: number | undefined;
}
interface EmitOptions {
  /**
   * Identifies the event: a second call with the same key returns the same occurrence and starts nothing. Default: a
   * new key; in a turn, a key that a rerun after a crash repeats.
   */
  readonly key?: string | undefined;
  /** Where the event happened, for subscriptions that name a source. */
  readonly source?: string | undefined;
}
interface RunTriggerOptions {
  /**
   * Identifies the run: a second call with the same key returns the same occurrence and starts nothing. Default: a new
   * key; in a turn, a key that a rerun after a crash repeats.
   */
  readonly key?: string | undefined;
}
interface OccurrencesFilter {
  /** Only occurrences of this event. */
  readonly event?: string | Trigger<never> | undefined;
  /** Only what was delivered to this subscription of the session. */
  readonly subscription?: string | undefined;
  /** Only occurrences before this one. */
  readonly before?: string | undefined;
  /** Default: 100. */
  readonly max?: number | undefined;
}
/** The events that plugins declare. */
interface TriggersView {
  /** The events that the plugins of the session declare. */
  declared(): readonly TriggerDeclaration[];
  /** The subscriptions of the session, by id. */
  list(): Promise<readonly Subscription[]>;
  /** Throws `trigger.missing`. */
  get(id: string): Promise<Subscription>;
  /** Occurrences that were delivered to the session, newest first, with the work that they started there. */
  occurrences(filter?: OccurrencesFilter): Promise<readonly Occurrence[]>;
}
/** Subscriptions that start work of a session, and the events that they wait for. */
interface Triggers extends TriggersView {
  /**
   * Subscribes the session. A second call with the same options returns the existing subscription. Other options with
   * the same id throw `trigger.conflict`.
   */
  subscribe(options: SubscribeOptions): Promise<Subscription>;
  /** Changes a subscription, which adds 1 to its revision. */
  update(id: string, patch: SubscriptionPatch, options?: RevisionOptions): Promise<Subscription>;
  /** Removes a subscription and returns whether it existed. Work that it started continues. */
  remove(id: string, options?: RevisionOptions): Promise<boolean>;
  /**
   * Starts the work of a schedule now. Its planned times stay. Throws `trigger.no-schedule` if it waits for events or
   * commits, and `trigger.disabled`.
   */
  run(id: string, options?: RunTriggerOptions): Promise<Occurrence>;
  /** Records an event. All enabled subscriptions to it, in all sessions, start their work. */
  emit<P = Json>(event: string | Trigger<P>, payload: NoInfer<P>, options?: EmitOptions): Promise<Occurrence>;
}
export {
  EmitOptions,
  OccurrencesFilter,
  SubscribeOptions,
  Trigger,
  TriggerDeclaration,
  TriggerOn,
  Triggers,
  TriggersView,
  defineTrigger,
};
