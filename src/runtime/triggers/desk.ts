// What starts work by itself, as far as this process serves it: schedules that are due, and commits that are waited for.
// Not its job: subscriptions and events (`service.ts`), times (`schedule.ts`), the jobs that are started (`../jobs/`).
// R1 No process leads. Whoever sees that something is due writes what happened, the jobs that it starts and where the
//    subscription goes on, in one write that holds only if the subscription stands where it was read. So among all
//    processes, and through every crash, each time occurs once.
// R2 A time that occurred is known by its name. When the clock goes back, what occurred does not occur again, and what did
//    not still does.
// R3 One subscription that cannot be served does not keep the others from it.
import { unavailable } from "../../kernel/services.ts";
import type { Triggers } from "../../kernel/trigger.ts";
import type { Awaitable } from "../../model/awaitable.ts";
import { hashOf } from "../../model/hash.ts";
import type { Cursor, SessionId } from "../../model/ids.ts";
import { describeThrown, type Json, ownJson } from "../../model/json.ts";
import type { Occurrence, Subscription } from "../../model/trigger.ts";
import type { Agenda, MovedTrigger, Store } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import { deliveryOf, isPassedBy } from "./delivery.ts";
import { dueAt, LATE_MS, nextAfter, occasionOf, type Schedule } from "./schedule.ts";
import { SessionTriggers, type TriggersPlace } from "./service.ts";

const PAGE = 100;
const FACTS = 1_000;
const BREATH_MS = 10;
/** How many times of schedules are served in one look; the next look follows at once. */
const SERVED_MAX = 500;
/** One that failed is tried again so much later. */
const AGAIN_MS = 10_000;

export class TriggerDesk {
  readonly #core: () => Core;
  /** Up to which fact commits are served. */
  #served: Cursor | undefined;
  /** Subscriptions wait for commits: whoever commits a turn lets the watch look at once. */
  hasCommits = false;
  /** The latest time that was seen here. */
  #now: number | undefined;
  /** R3: by incarnation, until when. */
  readonly #left = new Map<string, number>();

  constructor(core: () => Core) {
    this.#core = core;
  }

  /** The service at a place of a session. A store of before there were triggers has none. */
  at(place: TriggersPlace): Triggers {
    const { triggers } = place.core.store as Partial<Store>;
    return triggers === undefined ? unavailable("triggers", place.plugin) : new SessionTriggers(place);
  }

  // ── Looking (R1) ────────────────────────────────────────────────────────────────────────────────────────────────

  /** With what the store has to do. Answers whether more is due at once. */
  async look(agenda: Agenda): Promise<boolean> {
    const { world, store } = this.#core();
    if ((store as Partial<Store>).triggers === undefined) return false;
    const now = world.now();
    const before = this.#now;
    this.#now = now;
    if (before === undefined ? agenda.next !== undefined : now < before - LATE_MS) await this.#wentBack(now);
    this.hasCommits = agenda.hasCommits === true;
    if (this.hasCommits && agenda.latest !== this.#served) await this.#serveCommits(agenda.latest);
    return agenda.hasSchedules === true && this.#serveSchedules(now);
  }

  async #serveSchedules(now: number): Promise<boolean> {
    const { store } = this.#core();
    for (const [id, until] of this.#left) if (until <= now) this.#left.delete(id);
    const passed = new Set(this.#left.keys());
    for (let served = 0; served < SERVED_MAX; ) {
      const due = await store.triggers.due(now, PAGE + passed.size);
      const ours = due.filter(({ incarnation }) => !passed.has(incarnation));
      if (ours.length === 0) return false;
      for (const subscription of ours) {
        const isServed = await this.#surely(subscription, () => this.#serveSchedule(subscription, now));
        if (!isServed) passed.add(subscription.incarnation); // It failed, or others are at it.
        await this.#breathe();
      }
      served += ours.length;
    }
    return true;
  }

  /** A store that answers at once would let nothing else happen while a thousand schedules are due. */
  async #breathe(): Promise<void> {
    if (performance.now() - this.#breathed < BREATH_MS) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#breathed = performance.now();
  }
  #breathed = 0;

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

  /** Something that only this subscription waits for. */
  async #occur(
    subscription: Subscription,
    name: string,
    payload: Json,
    at: number,
    moved: MovedTrigger,
  ): Promise<Occurrence | undefined> {
    const core = this.#core();
    const source = `subscription:${subscription.incarnation}`;
    const occurrence = { id: `occ_${hashOf(`${source}/${name}`).slice(0, 26)}`, source, payload, at };
    const delivery = await deliveryOf(core, occurrence, subscription);
    const answer = await core.store.triggers.occur(occurrence, [delivery], core.limits.occurrencesMax, moved);
    if (answer.kind === "stale") return undefined; // Another process has served it, or it was changed.
    if (answer.kind === "occurred" && delivery.job !== undefined) core.background.jobs.begin([delivery.job]);
    return answer.occurrence;
  }

  // ── Commits ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async #serveCommits(latest: Cursor | undefined): Promise<void> {
    const { store } = this.#core();
    const moved = this.#served === undefined ? undefined : await this.#committedAfter(this.#served);
    let isWhole = true;
    const serve = async (subscription: Subscription): Promise<void> => {
      isWhole = (await this.#surely(subscription, () => this.#serveCommitsOf(subscription))) && isWhole;
    };
    const kinds = ["commits"] as const;
    if (moved === undefined) await this.#each(kinds, serve);
    for (const session of moved ?? [])
      for (const each of await store.triggers.list({ session, kinds, max: Infinity })) await serve(each);
    if (isWhole) this.#served = latest;
  }

  /** A new subscription may be behind what is served. */
  subscribed(): void {
    this.#served = undefined;
  }

  async #committedAfter(cursor: Cursor): Promise<ReadonlySet<SessionId>> {
    const sessions = new Set<SessionId>();
    for (let after = cursor; ; ) {
      const facts = await this.#core().store.changes(after, { max: FACTS });
      for (const fact of facts) if (fact.kind === "committed" && fact.by === "turn") sessions.add(fact.sessionId);
      after = facts.at(-1)?.cursor ?? after;
      if (facts.length < FACTS) return sessions;
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

  // ── Clocks (R2) ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** Schedules that were served by a clock which was ahead would be silent until this one has caught up. */
  async #wentBack(now: number): Promise<void> {
    const { store } = this.#core();
    const putBack = async (subscription: Subscription): Promise<boolean> => {
      const { next: kept = Infinity } = subscription;
      const isAhead = (next: number | undefined): next is number => next !== undefined && kept - next > LATE_MS;
      if (!isAhead(nextAfter(subscription.on as Schedule, now))) return true;
      const next = nextAfter(subscription.on as Schedule, Math.max(now, await this.#knownSince(subscription)));
      if (!isAhead(next)) return true;
      this.#trace("trigger.clock", subscription, { next, ...(kept === Infinity ? {} : { kept }) });
      return store.triggers.move(moving(subscription, kept === Infinity ? {} : { next: kept }, { next }));
    };
    await this.#each(["cron", "interval"], async (each) => void (await this.#surely(each, () => putBack(each))));
  }

  /** From when on all that occurred is known. What was before may have occurred, and is not done again. */
  async #knownSince({ incarnation }: Subscription): Promise<number> {
    const { store, limits } = this.#core();
    const source = `subscription:${incarnation}`;
    const known = await store.triggers.occurrences({ source, max: limits.occurrencesMax });
    return known.length < limits.occurrencesMax ? 0 : Math.min(...known.map(({ at }) => at)) - 1;
  }

  /** R3: whether it was served. */
  async #surely(subscription: Subscription, serve: () => Awaitable<boolean>): Promise<boolean> {
    try {
      return await serve();
    } catch (error) {
      this.#left.set(subscription.incarnation, this.#core().world.now() + AGAIN_MS);
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
