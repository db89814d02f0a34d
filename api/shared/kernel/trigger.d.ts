import { InputOf, JsonSchema, Schema, ToolSchema } from "../model/schema.js";
import { JobWake } from "../model/job.js";
import { Json } from "../model/json.js";
import { MissedRuns, Occurrence, Subscription } from "../model/trigger.js";
import { Optional } from "../model/known.js";
/** An event that work can be subscribed to. */
interface TriggerDeclaration {
  /** `resource.event`, such as `mail.received`. */
  readonly name: string;
  readonly description?: string | undefined;
  /** The JSON Schema of the event's payload. */
  readonly payload?: JsonSchema | undefined;
}
/** A declaration that knows the type of its payload, as `defineTrigger` makes it. */
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
/** An event, by its name or declaration; with `source` only from there. */
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
/** At least 1,000. */
{
  readonly everyMs: number;
  readonly missed?: MissedRuns | undefined;
} |
/** The turns of the session that are committed. What opens turns itself is not told of those that triggers opened. */
{
  readonly commits: true;
};
/** What a subscription is made from. It starts a turn (`send`) or a job (`operation`). */
interface SubscribeOptions {
  /** Its name in the session. Default: a generated one; in a turn, one that a rerun after a crash has again. */
  readonly id?: string | undefined;
  /** What it is for, in a few words. Default: the id. */
  readonly label?: string | undefined;
  readonly on: TriggerOn;
  /** Opens a turn with these words; what happened is told after them. */
  readonly send?: string | undefined;
  /** Begins a job with this task, as in `jobs.spawn`. */
  readonly operation?: string | undefined;
  /** Allows a task whose plugin is not installed in this process, as in `jobs.spawn`. Default: false. */
  readonly isElsewhere?: boolean | undefined;
  /** The input of the task. Default: what happened. */
  readonly input?: Json | undefined;
  /** What the end of the job does to the session. Default: `none`. */
  readonly wake?: JobWake | undefined;
  /** Default: true. */
  readonly isEnabled?: boolean | undefined;
}
/** What to change. What is left out stays. */
type SubscriptionPatch = Optional<Omit<SubscribeOptions, "id">>;
interface RevisionOptions {
  /** The change is refused with `trigger.conflict` unless the subscription is at this revision. Default: whatever it is. */
  readonly revision?: number | undefined;
}
interface EmitOptions {
  /**
   * Names what happened: the same key again is the same occurrence, and starts nothing. Default: a new one; in a turn, one
   * that a rerun after a crash has again.
   */
  readonly key?: string | undefined;
  /** Where it happened, for subscriptions that name a source. */
  readonly source?: string | undefined;
}
interface OccurrencesFilter {
  /** Only occurrences of this event. */
  readonly event?: string | Trigger<never> | undefined;
  /** Only what was delivered to this subscription of the session. */
  readonly subscription?: string | undefined;
  /** Only older ones than this occurrence. */
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
  /** What has happened and was delivered to the session, newest first, and what it started there. */
  occurrences(filter?: OccurrencesFilter): Promise<readonly Occurrence[]>;
}
/** What starts work of a session by itself. */
interface Triggers extends TriggersView {
  /** Subscribes the session. The same again is answered as it stands; other content under an id is `trigger.conflict`. */
  subscribe(options: SubscribeOptions): Promise<Subscription>;
  /** Changes a subscription, which adds 1 to its revision. */
  update(id: string, patch: SubscriptionPatch, options?: RevisionOptions): Promise<Subscription>;
  /** Removes a subscription, and answers whether there was one. What it has started goes on. */
  remove(id: string, options?: RevisionOptions): Promise<boolean>;
  /** Says that an event has happened. All enabled subscriptions to it, of whatever session, start their work. */
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
