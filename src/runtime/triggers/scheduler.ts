// Serves due schedules, and subscriptions to commits.
// Not its job: subscriptions and events (`service.ts`), times (`schedule.ts`), the started jobs (`../jobs/`).
// scheduler-1: No process leads. Each process that sees a due subscription writes the occurrence, its jobs and the next
//    position in one write. The write fails if another process has moved the subscription. So each time occurs once,
//    also after crashes.
// scheduler-2: The id of an occurrence contains its time. So after the clock goes back, a time that occurred does not
//    occur again, and other times still occur.
// scheduler-3: A subscription that fails does not block the others.
import { unavailable } from "../../kernel/services.ts";
import type { Triggers } from "../../kernel/trigger.ts";
import type { Awaitable } from "../../model/awaitable.ts";
import type { Cursor, SessionId } from "../../model/ids.ts";
import { describeThrown, type Json, ownJson } from "../../model/json.ts";
import type { Occurrence, Subscription } from "../../model/trigger.ts";
import type { Agenda, MovedTrigger, Store } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import { resting } from "../resting.ts";
import type { CallerPlace } from "../services/session-service.ts";
import { deliveryOf, isPassedBy, ownOccurrence } from "./delivery.ts";
import { dueAt, LATE_MS, nextAfter, occasionOf, type Schedule } from "./schedule.ts";
import { SessionTriggers } from "./service.ts";

const PAGE = 100;
const FACTS_PAGE = 1_000;
/** The most times that one look serves. The next look follows at once. */
const SERVED_MAX = 500;
/** A failed subscription is retried after this time. */
const RETRY_MS = 10_000;

export class Scheduler {
  readonly #core: () => Core;
  /** The last fact up to which commits are served. */
  #served: Cursor | undefined;
  /** Subscriptions wait for commits, so each commit makes the watch look at once. */
  hasCommits = false;
  /** The time of the last look. */
  #now: number | undefined;
  /** scheduler-3: when to retry failed subscriptions, by incarnation. */
  readonly #retryAt = new Map<string, number>();

  constructor(core: () => Core) {
    this.#core = core;
  }

  /** The triggers service for a place of a session. A custom store without `triggers` has none. */
  at(place: CallerPlace): Triggers {
    const { triggers } = place.core.store as Partial<Store>;
    return triggers === undefined ? unavailable("triggers", place.plugin) : new SessionTriggers(place);
  }

  // ── Looking (scheduler-1) ──────────────────────────────────────────────────────────────────────────────────────────

  /** Called with the agenda of the store. Returns whether more is due at once. */
  async look(agenda: Agenda): Promise<boolean> {
    const { world, store } = this.#core();
    if ((store as Partial<Store>).triggers === undefined) return false;
    const now = world.now();
    const before = this.#now;
    this.#now = now;
    if (before === undefined ? agenda.next !== undefined : now < before - LATE_MS) await this.#clockWentBack(now);
    this.hasCommits = agenda.hasCommits === true;
    if (this.hasCommits && agenda.latest !== this.#served) await this.#serveCommits(agenda.latest);
    return agenda.hasSchedules === true && this.#serveSchedules(now);
  }

  async #serveSchedules(now: number): Promise<boolean> {
    const { store } = this.#core();
    for (const [id, until] of this.#retryAt) if (until <= now) this.#retryAt.delete(id);
    const passed = new Set(this.#retryAt.keys());
    for (let served = 0; served < SERVED_MAX; ) {
      const due = await store.triggers.due(now, PAGE + passed.size);
      const ours = due.filter(({ incarnation }) => !passed.has(incarnation));
      if (ours.length === 0) return false;
      for (const subscription of ours) {
        const isServed = await this.#attempt(subscription, () => this.#serveSchedule(subscription, now));
        if (!isServed) passed.add(subscription.incarnation); // It failed, or another process has served it.
        await this.#rest();
      }
      served += ours.length;
    }
    return true;
  }

  readonly #rest = resting();

  async #serveSchedule(subscription: Subscription, now: number): Promise<boolean> {
    const { store } = this.#core();
    const { next: from } = subscription;
    if (from === undefined || from > now) return false;
    const { at, next } = dueAt(subscription.on as Schedule, from, now);
    const moved = moving(subscription, { next: from }, next === undefined ? {} : { next });
    if (at === undefined) {
      this.#trace("trigger.missed", subscription, { from, until: now });
      return store.triggers.move(moved);
    }
    return (await this.#occur(subscription, `${at}`, occasionOf(at), at, moved)) !== undefined;
  }

  /** Writes an occurrence of this subscription only. */
  async #occur(
    subscription: Subscription,
    name: string,
    payload: Json,
    at: number,
    moved: MovedTrigger,
  ): Promise<Occurrence | undefined> {
    const core = this.#core();
    const occurrence = ownOccurrence(subscription, name, payload, at);
    const delivery = await deliveryOf(core, occurrence, subscription);
    const answer = await core.store.triggers.occur(occurrence, [delivery], core.limits.occurrencesMax, moved);
    if (answer.kind === "stale") return undefined; // Another process has served it, or it was changed.
    if (answer.kind === "occurred" && delivery.job !== undefined) core.background.jobs.starts.begin([delivery.job]);
    return answer.occurrence;
  }

  // ── Commits ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async #serveCommits(latest: Cursor | undefined): Promise<void> {
    const { store } = this.#core();
    const moved = this.#served === undefined ? undefined : await this.#committedAfter(this.#served);
    let isWhole = true;
    const serve = async (subscription: Subscription): Promise<void> => {
      isWhole = (await this.#attempt(subscription, () => this.#serveCommitsOf(subscription))) && isWhole;
    };
    const kinds = ["commits"] as const;
    if (moved === undefined) await this.#each(kinds, serve);
    for (const session of moved ?? [])
      for (const each of await store.triggers.list({ session, kinds, max: Infinity })) await serve(each);
    if (isWhole) this.#served = latest;
  }

  /** Called for a new subscription: serves all commits again, because it can be behind the served facts. */
  subscribed(): void {
    this.#served = undefined;
  }

  async #committedAfter(cursor: Cursor): Promise<ReadonlySet<SessionId>> {
    const sessions = new Set<SessionId>();
    for (let after = cursor; ; ) {
      const facts = await this.#core().store.changes(after, { max: FACTS_PAGE });
      for (const fact of facts) if (fact.kind === "committed" && fact.by === "turn") sessions.add(fact.sessionId);
      after = facts.at(-1)?.cursor ?? after;
      if (facts.length < FACTS_PAGE) return sessions;
    }
  }

  /** All enabled subscriptions of these kinds. */
  async #each(kinds: readonly Subscription["on"]["kind"][], see: (each: Subscription) => Promise<void>): Promise<void> {
    for (let after: { readonly session: SessionId; readonly id: string } | undefined; ; ) {
      const page = { kinds, max: PAGE, ...(after === undefined ? {} : { after }) };
      const found = await this.#core().store.triggers.list(page);
      for (const subscription of found) await see(subscription);
      const last = found.at(-1);
      if (found.length < PAGE || last === undefined) return;
      after = { session: last.sessionId, id: last.id };
    }
  }

  async #serveCommitsOf(subscription: Subscription): Promise<boolean> {
    const { store, world } = this.#core();
    const { sessionId } = subscription;
    for (let at = subscription.after; ; ) {
      const facts = await store.changes(at, { session: sessionId, max: PAGE });
      for (const fact of facts) {
        if (fact.kind !== "committed" || fact.by !== "turn") continue;
        if (isPassedBy(subscription, fact.turnId)) continue;
        const { turnId, outcome, cursor } = fact;
        const moved = moving(subscription, at === undefined ? {} : { after: at }, { after: cursor });
        const payload = ownJson({ sessionId, turnId, outcome });
        if ((await this.#occur(subscription, cursor, payload, world.now(), moved)) === undefined) return false;
        at = cursor;
      }
      const last = facts.at(-1)?.cursor;
      if (last !== undefined && last !== at) {
        const moved = moving(subscription, at === undefined ? {} : { after: at }, { after: last });
        if (!(await store.triggers.move(moved))) return false;
        at = last;
      }
      if (facts.length < PAGE) return true;
    }
  }

  // ── Clocks (scheduler-2) ───────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Moves schedules back that a fast clock has moved ahead. Otherwise they would not occur until this clock reaches
   * that time.
   */
  async #clockWentBack(now: number): Promise<void> {
    const { store } = this.#core();
    const putBack = async (subscription: Subscription): Promise<boolean> => {
      const { next: storedNext = Infinity } = subscription;
      const isAhead = (next: number | undefined): next is number => next !== undefined && storedNext - next > LATE_MS;
      if (!isAhead(nextAfter(subscription.on as Schedule, now))) return true;
      const next = nextAfter(subscription.on as Schedule, Math.max(now, await this.#knownSince(subscription)));
      if (!isAhead(next)) return true;
      this.#trace("trigger.clock", subscription, { next, ...(storedNext === Infinity ? {} : { kept: storedNext }) });
      return store.triggers.move(moving(subscription, storedNext === Infinity ? {} : { next: storedNext }, { next }));
    };
    await this.#each(["cron", "interval"], async (each) => void (await this.#attempt(each, () => putBack(each))));
  }

  /**
   * The time after which all occurrences are known. An earlier time can have occurred already, so it does not occur
   * again.
   */
  async #knownSince({ incarnation }: Subscription): Promise<number> {
    const { store, limits } = this.#core();
    const source = `subscription:${incarnation}`;
    const known = await store.triggers.occurrences({ source, max: limits.occurrencesMax });
    return known.length < limits.occurrencesMax ? 0 : Math.min(...known.map(({ at }) => at)) - 1;
  }

  /** scheduler-3: returns whether the subscription was served. */
  async #attempt(subscription: Subscription, serve: () => Awaitable<boolean>): Promise<boolean> {
    try {
      return await serve();
    } catch (error) {
      this.#retryAt.set(subscription.incarnation, this.#core().world.now() + RETRY_MS);
      this.#trace("trigger.failed", subscription, { problem: describeThrown(error) });
      return false;
    }
  }

  #trace(event: string, { sessionId, id }: Subscription, about: { readonly [key: string]: Json }): void {
    this.#core().trace(event, { subscription: id, ...about }, { sessionId });
  }
}

const moving = (
  { sessionId, id, incarnation, revision }: Subscription,
  from: MovedTrigger["from"],
  to: MovedTrigger["to"],
): MovedTrigger => ({ sessionId, id, incarnation, revision, from, to });
