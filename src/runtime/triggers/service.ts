// The triggers service of a session, for plugins and apps: subscriptions and events.
// Not its job: serving schedules and commits (`scheduler.ts`), the started jobs (`delivery.ts`).
// triggers-1: An event must be declared and its payload must fit, so that subscribers can rely on it. Otherwise it is
//    refused before anything is written.
// triggers-2: An occurrence and its jobs are one write. If a subscription changed meanwhile, the write is repeated with
//    new deliveries.
import { isDeepStrictEqual } from "node:util";
import {
  type EmitOptions,
  type OccurrencesFilter,
  type RevisionOptions,
  type RunTriggerOptions,
  type SubscribeOptions,
  type SubscriptionPatch,
  type Trigger,
  type TriggerDeclaration,
  type Triggers,
  triggerName,
} from "../../kernel/trigger.ts";
import { hasCode, RuntimeError } from "../../model/errors.ts";
import { hashOf } from "../../model/hash.ts";
import type { SessionId } from "../../model/ids.ts";
import { defined, frozen, idText, type Json } from "../../model/json.ts";
import type { Known } from "../../model/known.ts";
import { isSchedule, type Occurrence, type Subscription, type TriggerSource } from "../../model/trigger.ts";
import type { NewDelivery } from "../../stores/store.ts";
import { validatorOf } from "../../tools/validator.ts";
import { requireOptions, requireWords } from "../checks.ts";
import type { Core } from "../core.ts";
import { recordable } from "../jobs/options.ts";
import { freshId, SessionService } from "../services/session-service.ts";
import { deliveryOf, ownOccurrence } from "./delivery.ts";
import { ID_MAX, invalid, SUBSCRIBE, sourceOf, targetOf } from "./options.ts";
import { nextAfter, occasionOf, type Schedule } from "./schedule.ts";

const REVISION: Known<RevisionOptions> = { revision: true };
const EMIT: Known<EmitOptions> = { key: true, source: true };
const RUN: Known<RunTriggerOptions> = { key: true };
const FILTER: Known<OccurrencesFilter> = { event: true, subscription: true, before: true, max: true };
const LIST_MAX = 100;
const PAGE = 1_000;
/** triggers-2: how often the write is repeated before `trigger.busy`. */
const ATTEMPTS_MAX = 100;

export class SessionTriggers extends SessionService implements Triggers {
  // ── Reading ─────────────────────────────────────────────────────────────────────────────────────────────────────

  declared(): readonly TriggerDeclaration[] {
    return this.core.background.declared(this.session);
  }

  list(): Promise<readonly Subscription[]> {
    return this.call(async () => {
      await this.requireStored();
      return frozen(await this.core.store.triggers.list({ session: this.session, max: Infinity }));
    });
  }

  get(id: string): Promise<Subscription> {
    return this.call(async () => frozen(await this.#require(id)));
  }
  async #require(id: string): Promise<Subscription> {
    const found = typeof id === "string" ? await this.core.store.triggers.load(this.session, id) : undefined;
    if (found === undefined) throw new RuntimeError("trigger.missing", { id: idText(id), session: this.session });
    return found;
  }

  occurrences(filter: OccurrencesFilter = {}): Promise<readonly Occurrence[]> {
    return this.call(async () => {
      requireOptions("triggers.occurrences", filter, FILTER);
      const { subscription, ...page } = filter;
      if (subscription !== undefined) requireWords("subscription", subscription, ID_MAX);
      await this.requireStored();
      const to = { session: this.session, ...defined({ subscription }) };
      const found = await occurrencesOf(this.core, page, to);
      // Deliveries to other sessions are not visible here.
      const isOurs = ({ sessionId }: Occurrence["deliveries"][number]): boolean => sessionId === this.session;
      return frozen(found.map((each) => ({ ...each, deliveries: each.deliveries.filter(isOurs) })));
    });
  }

  // ── Subscriptions ───────────────────────────────────────────────────────────────────────────────────────────────

  subscribe(options: SubscribeOptions): Promise<Subscription> {
    return this.call(async () => {
      requireOptions("triggers.subscribe", options, SUBSCRIBE);
      const core = this.core;
      await this.requireStored();
      if (options.id !== undefined) requireWords("id", options.id, ID_MAX);
      const id = options.id ?? freshId(this.place, "sub", "subscription");
      const made = await this.#made(id, options);
      const known = await core.store.triggers.load(this.session, id);
      if (known !== undefined) return frozen(sameAs(known, made));
      try {
        await core.store.triggers.put(made, undefined, core.limits.subscriptionsMax);
      } catch (error) {
        if (!hasCode(error, "trigger.conflict")) throw error;
        return frozen(sameAs(await this.#require(id), made)); // Another one was quicker.
      }
      this.#attend(made);
      return frozen(made);
    });
  }

  async #made(id: string, options: SubscribeOptions): Promise<Subscription> {
    const core = this.core;
    const now = core.world.now();
    const { label = id, isEnabled = true } = options;
    requireWords("label", label);
    if (typeof isEnabled !== "boolean") invalid("isEnabled", "is not true or false");
    const on = sourceOf(options.on, this.declared(), now);
    const starts = targetOf(this.place, options, on);
    const incarnation = core.world.id("sub");
    const made = { id, sessionId: this.session, revision: 1, incarnation, label, on, starts, isEnabled };
    return this.#placed({ ...made, createdAt: now, changedAt: now }, now);
  }

  /** Sets the start position of a new or changed subscription. */
  async #placed(given: Subscription, now: number): Promise<Subscription> {
    const { next: _, after: __, ...bare } = given;
    if (!given.isEnabled) return bare;
    if (isSchedule(given.on)) return { ...bare, ...defined({ next: nextAfter(given.on as Schedule, now) }) };
    if (given.on.kind !== "commits") return bare;
    return { ...bare, ...defined({ after: await this.core.store.latest() }) };
  }

  update(id: string, patch: SubscriptionPatch, options: RevisionOptions = {}): Promise<Subscription> {
    return this.call(async () => {
      requireOptions("triggers.update", options, REVISION);
      const { id: _, ...known } = SUBSCRIBE;
      requireOptions("triggers.update", patch, known);
      for (;;) {
        const before = await this.#require(id);
        const { revision = before.revision } = options;
        if (revision !== before.revision) throw new RuntimeError("trigger.conflict", { id, revision: before.revision });
        const after = await this.#patched(before, patch);
        if (after === before) return frozen(before);
        try {
          await this.core.store.triggers.put(after, before.revision, Infinity);
        } catch (error) {
          if (hasCode(error, "trigger.conflict") && options.revision === undefined) continue;
          throw error;
        }
        this.#attend(after);
        return frozen(after);
      }
    });
  }

  async #patched(before: Subscription, patch: SubscriptionPatch): Promise<Subscription> {
    const now = this.core.world.now();
    const { label = before.label, isEnabled = before.isEnabled } = patch;
    requireWords("label", label);
    if (typeof isEnabled !== "boolean") invalid("isEnabled", "is not true or false");
    const given = patch.on === undefined ? before.on : sourceOf(patch.on, this.declared(), now);
    const on = isSameSource(given, before.on) ? before.on : given;
    const starts = targetOf(this.place, patch, on, before.starts);
    const after = { ...before, label, isEnabled, on, starts, revision: before.revision + 1, changedAt: now };
    if (isSame(before, after) && isEnabled === before.isEnabled) return before;
    // Events while it was disabled do not count.
    const isMoved = on !== before.on || isEnabled !== before.isEnabled;
    return isMoved ? this.#placed(after, now) : after;
  }

  remove(id: string, options: RevisionOptions = {}): Promise<boolean> {
    return this.call(async () => {
      requireOptions("triggers.remove", options, REVISION);
      if (typeof id !== "string") return false;
      return this.core.store.triggers.remove(this.session, id, options.revision);
    });
  }

  /**
   * The occurrence moves nothing, so the planned times stay. Its id contains the key: a repeat of the call finds it,
   * also after a crash.
   */
  run(id: string, options: RunTriggerOptions = {}): Promise<Occurrence> {
    return this.call(async () => {
      requireOptions("triggers.run", options, RUN);
      const { callContext, plugin, core } = this.place;
      const key = options.key ?? callContext?.nextKey(plugin, "background") ?? core.world.id("");
      requireWords("key", key);
      for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        const subscription = await this.#require(id);
        const { on, isEnabled } = subscription;
        if (!isSchedule(on)) throw new RuntimeError("trigger.no-schedule", { id, waitsFor: waitedFor(on) });
        if (!isEnabled) throw new RuntimeError("trigger.disabled", { id });
        const at = core.world.now();
        const occurrence = ownOccurrence(subscription, `run/${key}`, occasionOf(at), at);
        const delivery = await deliveryOf(core, occurrence, subscription);
        const answer = await core.store.triggers.occur(occurrence, [delivery], core.limits.occurrencesMax);
        if (answer.kind === "stale") continue; // It was changed meanwhile.
        if (answer.kind === "occurred") core.background.jobs.starts.begin(jobsIn([delivery]));
        return frozen(answer.occurrence);
      }
      throw new RuntimeError("trigger.busy", { event: id });
    });
  }

  /** Makes the watch of this process look when the subscription is due. */
  #attend({ next, on }: Subscription): void {
    const { watcher, world, background } = this.core;
    if (next !== undefined) watcher.attend(Math.max(0, next - world.now()));
    if (on.kind !== "commits") return;
    background.triggers.subscribed();
    watcher.attend(0);
  }

  // ── Events (triggers-1, triggers-2) ────────────────────────────────────────────────────────────────────────────────

  emit<P = Json>(event: string | Trigger<P>, payload: NoInfer<P>, options: EmitOptions = {}): Promise<Occurrence> {
    return this.call(async () => {
      requireOptions("triggers.emit", options, EMIT);
      const { callContext, plugin, core } = this.place;
      const key = options.key ?? callContext?.nextKey(plugin, "background");
      return emit(core, this.declared(), triggerName(event), payload, { ...options, key });
    });
  }
}

/** Records an event, once for each key. */
export const emit = async (...args: Parameters<typeof occur>): Promise<Occurrence> => (await occur(...args)).occurrence;

/** The same, and returns whether the occurrence is new. */
export async function occur(
  core: Core,
  declared: readonly TriggerDeclaration[],
  event: string,
  given: unknown,
  { key, source }: EmitOptions,
): Promise<{ readonly occurrence: Occurrence; readonly isNew: boolean }> {
  const { store, world, limits, background } = core;
  if (key !== undefined) requireWords("key", key);
  if (source !== undefined) requireWords("source", source);
  const payload = await checkedPayload(core, declared, event, given);
  const id = `occ_${key === undefined ? world.id("").slice(1) : hashOf(JSON.stringify([event, source ?? null, key])).slice(0, 26)}`;
  const occurrence = { id, source: `event:${event}`, payload, at: world.now() };
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const deliveries = await Promise.all(
      (await subscribersOf(core, event, source)).map((each) => deliveryOf(core, occurrence, each)),
    );
    const answer = await store.triggers.occur(occurrence, deliveries, limits.occurrencesMax);
    if (answer.kind === "stale") continue;
    if (answer.kind === "occurred") background.jobs.starts.begin(jobsIn(deliveries));
    else if (!isDeepStrictEqual(answer.occurrence.payload, JSON.parse(JSON.stringify(payload))))
      throw new RuntimeError("trigger.occurred", { event, key: key ?? id });
    return { occurrence: frozen(answer.occurrence), isNew: answer.kind === "occurred" };
  }
  throw new RuntimeError("trigger.busy", { event });
}

const jobsIn = (deliveries: readonly NewDelivery[]) => deliveries.flatMap(({ job }) => job ?? []);

const waitedFor = (on: TriggerSource): string => (on.kind === "event" ? `the event ${on.event}` : "commits");

async function subscribersOf({ store }: Core, name: string, source: string | undefined) {
  const event = { name, ...defined({ source }) };
  const found: Subscription[] = [];
  for (;;) {
    const last = found.at(-1);
    const after = last === undefined ? undefined : { session: last.sessionId, id: last.id };
    const page = await store.triggers.list({ event, max: PAGE, ...defined({ after }) });
    found.push(...page);
    if (page.length < PAGE) return found;
  }
}

/** triggers-1 */
async function checkedPayload(
  core: Core,
  declared: readonly TriggerDeclaration[],
  event: string,
  given: unknown,
): Promise<Json> {
  const found = declared.find(({ name }) => name === event);
  if (found === undefined)
    throw new RuntimeError("trigger.unknown", { event, known: declared.map(({ name }) => name) });
  const wrong = (problem: string): never => {
    throw new RuntimeError("trigger.payload", { event, problem: `it ${problem}` });
  };
  const payload = recordable(core, "payload", given, wrong, "trigger");
  if (found.payload === undefined) return payload;
  const checked = await validatorOf(found.payload, `the trigger ${event}`)(payload);
  if (!checked.ok) throw new RuntimeError("trigger.payload", { event, problem: checked.problem });
  return payload;
}

/** All occurrences, or the occurrences that were delivered to one session. */
export async function occurrencesOf(
  { store }: Core,
  { event, before, max = LIST_MAX }: Omit<OccurrencesFilter, "subscription">,
  to?: { readonly session: SessionId; readonly subscription?: string },
): Promise<readonly Occurrence[]> {
  if (!(typeof max === "number" && max >= 1))
    throw new RuntimeError("options.invalid", { option: "max", problem: "it must be a number above 0" });
  const source = event === undefined ? undefined : `event:${triggerName(event)}`;
  return frozen(await store.triggers.occurrences({ max, ...defined({ source, before, to }) }));
}

/** Returns the existing subscription. Throws `trigger.conflict`, with the options that differ. */
function sameAs(known: Subscription, made: Subscription): Subscription {
  if (isSame(known, made)) return known;
  const fields = [
    ...differing({ label: known.label }, { label: made.label }),
    ...(known.on.kind === made.on.kind ? differing({ ...known.on, from: 0 }, { ...made.on, from: 0 }, "on.") : ["on"]),
    ...(known.starts.kind === made.starts.kind ? differing(known.starts, made.starts) : ["send", "operation"]),
  ].map((field) => (field === "text" ? "send" : field)); // The names of `subscribe`.
  throw new RuntimeError("trigger.conflict", { id: known.id, revision: known.revision, fields });
}

/** The fields in which two objects differ. */
function differing(one: object, other: object, of = ""): readonly string[] {
  const [a, b] = [one, other] as readonly { readonly [field: string]: unknown }[];
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  return names.filter((name) => !isDeepStrictEqual(a?.[name], b?.[name])).map((name) => of + name);
}

/** Whether both wait for the same events and start the same work. */
const isSame = (one: Subscription, other: Subscription): boolean =>
  one.label === other.label && isSameSource(one.on, other.on) && isDeepStrictEqual(one.starts, other.starts);

/** Ignores the start of an interval. */
const isSameSource = (one: TriggerSource, other: TriggerSource): boolean =>
  isDeepStrictEqual({ ...one, from: 0 }, { ...other, from: 0 });
