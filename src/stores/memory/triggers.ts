import { RuntimeError } from "../../model/errors.ts";
import type { SessionId } from "../../model/ids.ts";
import type { NewOccurrence, Occurrence, Subscription } from "../../model/trigger.ts";
import type { Agenda, MovedTrigger, NewDelivery, OccurAnswer, Store } from "../store.ts";
import type { Jobs } from "./jobs.ts";
import type { Sessions } from "./sessions.ts";

/** A subscription as it stands; the row stays the same when it is changed. */
interface Row {
  /** How many were made before it. */
  readonly nth: number;
  subscription: Subscription;
}

type Listed = Parameters<Store["triggers"]["list"]>[0];

/**
 * What starts work by itself, and what has happened. Every method checks before it changes anything, so that a throw, and
 * an answer that something is stale, leave all as it was.
 */
export class Triggers {
  readonly #sessions: Sessions;
  readonly #jobs: Jobs;
  readonly #rows = new Map<SessionId, Map<string, Row>>();
  #made = 0;
  /** Enabled ones: by the name of their event, those that have a next time, and those to commits. */
  readonly #events = new Map<string, Set<Row>>();
  readonly #schedules = new Set<Row>();
  readonly #commits = new Set<Row>();
  /** In the order in which they came. */
  readonly #occurrences = new Map<string, Occurrence>();
  readonly #bySource = new Map<string, Set<Occurrence>>();

  constructor(sessions: Sessions, jobs: Jobs) {
    this.#sessions = sessions;
    this.#jobs = jobs;
  }

  // ── Subscriptions ─────────────────────────────────────────────────────────────────────────────────────────────────

  put(subscription: Subscription, before: number | undefined, max: number): void {
    const { sessionId, id } = subscription;
    this.#sessions.require(sessionId);
    const known = this.#find(sessionId, id);
    if (known?.subscription.revision !== before) throw conflict(id, known);
    if (known !== undefined) return this.#set(known, subscription);
    const group = this.#rows.get(sessionId) ?? new Map<string, Row>();
    if (group.size >= max) throw new RuntimeError("trigger.full", { max });
    const row = { nth: this.#made++, subscription };
    this.#rows.set(sessionId, group.set(id, row));
    this.#index(row);
  }

  load(session: SessionId, id: string): Subscription | undefined {
    return this.#find(session, id)?.subscription;
  }

  list({ session, event, kinds, after, max }: Listed): readonly Subscription[] {
    return this.#candidates(session, event?.name)
      .map(({ subscription }) => subscription)
      .filter((it) => session === undefined || it.sessionId === session)
      .filter((it) => event === undefined || meets(it, event))
      .filter(({ on, isEnabled }) => kinds === undefined || (isEnabled && kinds.includes(on.kind)))
      .filter((it) => after === undefined || compare(it, { sessionId: after.session, id: after.id }) > 0)
      .sort(compare)
      .slice(0, max);
  }

  /** Rows among which all are that are asked for. */
  #candidates(session: SessionId | undefined, event: string | undefined): readonly Row[] {
    if (event !== undefined) return [...(this.#events.get(event) ?? [])];
    if (session !== undefined) return [...(this.#rows.get(session)?.values() ?? [])];
    return [...this.#rows.values()].flatMap((group) => [...group.values()]);
  }

  due(now: number, max: number): readonly Subscription[] {
    return [...this.#schedules]
      .filter((row) => nextOf(row) <= now)
      .sort((a, b) => nextOf(a) - nextOf(b) || a.nth - b.nth)
      .slice(0, max)
      .map(({ subscription }) => subscription);
  }

  remove(session: SessionId, id: string, revision?: number): boolean {
    const row = this.#find(session, id);
    if (row === undefined) return false;
    if (revision !== undefined && row.subscription.revision !== revision) throw conflict(id, row);
    this.#unindex(row);
    const group = this.#rows.get(session)!;
    group.delete(id);
    if (group.size === 0) this.#rows.delete(session);
    return true;
  }

  move(moved: MovedTrigger): boolean {
    const row = this.#standing(moved);
    if (row === undefined) return false;
    const { next: _, after: __, ...rest } = row.subscription;
    const { next, after } = moved.to;
    this.#set(row, { ...rest, ...(next === undefined ? {} : { next }), ...(after === undefined ? {} : { after }) });
    return true;
  }

  /** The subscription that is to be moved, unless it was changed or stands elsewhere. */
  #standing({ sessionId, id, incarnation, revision, from }: MovedTrigger): Row | undefined {
    const row = this.#find(sessionId, id);
    const it = row?.subscription;
    if (it?.incarnation !== incarnation || it.revision !== revision) return undefined;
    return it.next === from.next && it.after === from.after ? row : undefined;
  }

  #find(session: SessionId, id: string): Row | undefined {
    return this.#rows.get(session)?.get(id);
  }

  #set(row: Row, subscription: Subscription): void {
    this.#unindex(row);
    row.subscription = subscription;
    this.#index(row);
  }

  #index(row: Row): void {
    const { on, isEnabled, next } = row.subscription;
    if (!isEnabled) return;
    if (on.kind === "event") this.#events.set(on.event, (this.#events.get(on.event) ?? new Set()).add(row));
    else if (on.kind === "commits") this.#commits.add(row);
    else if (next !== undefined) this.#schedules.add(row);
  }

  #unindex(row: Row): void {
    const { on } = row.subscription;
    this.#schedules.delete(row);
    this.#commits.delete(row);
    if (on.kind !== "event") return;
    const group = this.#events.get(on.event);
    group?.delete(row);
    if (group?.size === 0) this.#events.delete(on.event);
  }

  agenda(now: number): Pick<Agenda, "hasSchedules" | "hasCommits" | "next"> {
    let isDue = false;
    let next = Infinity;
    for (const row of this.#schedules) {
      const time = nextOf(row);
      if (time <= now) isDue = true;
      else if (time < next) next = time;
    }
    return {
      ...(isDue ? { hasSchedules: true } : {}),
      ...(this.#commits.size > 0 ? { hasCommits: true } : {}),
      ...(next === Infinity ? {} : { next }),
    };
  }

  // ── What happens ──────────────────────────────────────────────────────────────────────────────────────────────────

  occur(given: NewOccurrence, deliveries: readonly NewDelivery[], max: number, moved?: MovedTrigger): OccurAnswer {
    const known = this.#occurrences.get(given.id);
    if (known !== undefined) {
      if (moved !== undefined) this.move(moved);
      return { kind: "known", occurrence: known };
    }
    if (moved !== undefined && this.#standing(moved) === undefined) return { kind: "stale" };
    if (!deliveries.every((delivery) => this.#isCurrent(delivery))) return { kind: "stale" };
    const spawns = deliveries.flatMap(({ job }) => (job === undefined ? [] : [{ job }]));
    this.#jobs.check(spawns);

    const { id, source, payload, at } = given;
    const kept = deliveries.map(({ job: _, incarnation: __, ...delivery }) => delivery);
    const occurrence = { id, source, payload, at, deliveries: kept };
    this.#occurrences.set(id, occurrence);
    const same = this.#bySource.get(source) ?? new Set();
    this.#bySource.set(source, same.add(occurrence));
    this.#jobs.begin(spawns, at);
    if (moved !== undefined) this.move(moved);
    for (const old of same) {
      if (same.size <= max) break;
      this.#forget(old);
      this.#jobs.forgetOver(old.deliveries.flatMap(({ jobId }) => jobId ?? []));
    }
    return { kind: "occurred", occurrence };
  }

  /** Whether a subscription is still the one that this was to be delivered to. */
  #isCurrent({ sessionId, subscription, incarnation, revision }: NewDelivery): boolean {
    const it = this.#find(sessionId, subscription)?.subscription;
    return it?.incarnation === incarnation && it.revision === revision && it.isEnabled;
  }

  occurrences({ source, to, before, max }: Parameters<Store["triggers"]["occurrences"]>[0]): readonly Occurrence[] {
    const all = [...this.#occurrences.values()];
    const end = before === undefined ? all.length : all.findIndex(({ id }) => id === before);
    return all
      .slice(0, Math.max(end, 0))
      .filter((it) => source === undefined || it.source === source)
      .filter((it) => to === undefined || it.deliveries.some((each) => isTo(each, to)))
      .reverse()
      .slice(0, max);
  }

  #forget(occurrence: Occurrence): void {
    const { id, source } = occurrence;
    this.#occurrences.delete(id);
    const same = this.#bySource.get(source);
    same?.delete(occurrence);
    if (same?.size === 0) this.#bySource.delete(source);
  }

  /** A session goes, and with it its subscriptions, and what was delivered to it. */
  forget(session: SessionId): void {
    for (const row of this.#rows.get(session)?.values() ?? []) {
      this.#unindex(row);
      for (const old of this.#bySource.get(ownSource(row.subscription)) ?? []) this.#forget(old);
    }
    this.#rows.delete(session);
    for (const occurrence of this.#occurrences.values()) this.#forgetDeliveries(occurrence, session);
  }

  #forgetDeliveries(occurrence: Occurrence, session: SessionId): void {
    const { id, source } = occurrence;
    const deliveries = occurrence.deliveries.filter(({ sessionId }) => sessionId !== session);
    if (deliveries.length === occurrence.deliveries.length) return;
    // It was of a subscription that is not there any more.
    if (deliveries.length === 0 && source.startsWith(OWN)) return this.#forget(occurrence);
    const left = { ...occurrence, deliveries };
    this.#occurrences.set(id, left);
    this.#bySource.set(
      source,
      new Set([...this.#bySource.get(source)!].map((each) => (each === occurrence ? left : each))),
    );
  }
}

/** What begins the source of everything that only one subscription waits for. */
const OWN = "subscription:";
const ownSource = ({ incarnation }: Subscription): string => OWN + incarnation;

const isTo = (
  { sessionId, subscription }: Occurrence["deliveries"][number],
  to: NonNullable<Parameters<Store["triggers"]["occurrences"]>[0]["to"]>,
): boolean => sessionId === to.session && (to.subscription === undefined || to.subscription === subscription);

const conflict = (id: string, row: Row | undefined): RuntimeError =>
  new RuntimeError("trigger.conflict", row === undefined ? { id } : { id, revision: row.subscription.revision });

const nextOf = ({ subscription }: Row): number => subscription.next ?? Infinity;

function meets({ on, isEnabled }: Subscription, { name, source }: NonNullable<Listed["event"]>): boolean {
  if (on.kind !== "event" || !isEnabled || on.event !== name) return false;
  return on.source === undefined || on.source === source;
}

type Place = Pick<Subscription, "sessionId" | "id">;
const compare = (a: Place, b: Place): number => order(a.sessionId, b.sessionId) || order(a.id, b.id);
const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The methods of a store for triggers, each of which begins with `requireOpen`. */
export function triggerMethods(triggers: Triggers, requireOpen: () => void): Store["triggers"] {
  const method =
    <Given extends readonly unknown[], Answer>(call: (...given: Given) => Answer) =>
    (...given: Given): Answer => {
      requireOpen();
      return call.apply(triggers, given as never);
    };
  return {
    put: method(triggers.put),
    load: method(triggers.load),
    list: method(triggers.list),
    due: method(triggers.due),
    remove: method(triggers.remove),
    move: method(triggers.move),
    occur: method(triggers.occur),
    occurrences: method(triggers.occurrences),
  };
}
