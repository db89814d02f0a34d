// A turn whose effects run in this process: performs them, returns their answers in one order, reads mail, commits and
// leaves. Events are in memory only; `JournalRun` adds storing them and delays effects.
// run-1: An event is returned only if it answers an open effect. Late and second answers are dropped and traced.
// run-2: Once `isOver` is set, no effect starts, and no event is stored or returned.
// run-3: A cancel is returned once, whether mail, the commit or parking brings it.

import { type Awaitable, isThenable } from "../../model/awaitable.ts";
import { hasCode, passingFault, RuntimeError } from "../../model/errors.ts";
import type { EffectName, WaitKey } from "../../model/ids.ts";
import type { NewJob } from "../../model/job.ts";
import { describeThrown } from "../../model/json.ts";
import { LazyScope } from "../../model/scope.ts";
import type {
  Appended,
  CommitAnswer,
  Committed,
  EndedTurn,
  JobSpawn,
  Lease,
  Mail,
  NewWait,
  ParkedTurn,
} from "../../stores/store.ts";
import { type Effect, type EffectOf, GRACE } from "../../turn/effect.ts";
import type { Answer, Applied, TurnEvent } from "../../turn/event.ts";
import type { HostContext, Perform, TurnRef, TurnRun } from "../host.ts";
import type { Runs } from "./runs.ts";

/** An open effect and its cancellation. */
export class OpenEffect extends LazyScope {
  readonly effect: Effect;
  /** The time of the event that opened it. */
  readonly openedAt: number;
  isResumed = false;
  constructor(effect: Effect, openedAt: number) {
    super();
    this.effect = effect;
    this.openedAt = openedAt;
  }
}

/** A waiting call of `next`. With `quietMs` it resolves without an event after that time. */
interface Waiter {
  resolve(event: TurnEvent | undefined): void;
  reject(error: unknown): void;
  readonly quiet?: AbortController;
}

/** Returns the row of a wait. */
export const waitOf = ({ key, name, at, until, about }: EffectOf<"wait">): NewWait => ({
  key,
  effect: name,
  at,
  until,
  about,
});

/**
 * Returns the jobs that events start, in the store's form. A job that is bound to its process gets the turn's owner.
 */
export function spawnsIn(events: readonly TurnEvent[], { owner }: Lease): readonly JobSpawn[] {
  let found = NO_SPAWNS;
  for (let index = 0; index < events.length; index++) {
    const { spawns } = events[index] as { readonly spawns?: readonly NewJob[] };
    if (spawns === undefined) continue; // The usual case.
    found = [...found, ...spawns.map((job) => (job.recovery === "owner-bound" ? { job, owner } : { job }))];
  }
  return found;
}
const NO_SPAWNS: readonly JobSpawn[] = [];

/** A turn whose effects run in this process and whose events are in memory only. */
export class LocalRun implements TurnRun {
  protected readonly turn: TurnRef;
  protected readonly context: HostContext;
  readonly #perform: Perform;
  readonly #runs: Runs;
  /** Open effects, in no order. There are few, so a list is faster than a map. */
  #open: OpenEffect[] = [];
  /** Events that were not returned yet. Recorded ones are first. */
  readonly #queue: TurnEvent[];
  #waits: Map<WaitKey, EffectName> | undefined;
  #head = 0;
  #waiter: Waiter | undefined;
  #lost: unknown;
  protected get lost(): unknown {
    return this.#lost;
  }
  /** How many reads of mail are running. */
  #looks = 0;
  #cancelSeen = false;
  /** The time of the event that opens the next effects. */
  #openedAt: number;
  /** The index of this run in `Runs`, which alone sets it. */
  place = 0;
  protected isOver = false;

  /** `recorded` events are returned before new ones. */
  constructor(
    turn: TurnRef,
    perform: Perform,
    context: HostContext,
    runs: Runs,
    recorded: readonly TurnEvent[] = turn.journal.slice(1),
  ) {
    this.turn = turn;
    this.#perform = perform;
    this.context = context;
    this.#runs = runs;
    this.#queue = recorded.slice();
    this.#openedAt = turn.journal[0]?.at ?? 0;
    if (turn.journal.length > 1) this.#cancelSeen = turn.journal.some(({ kind }) => kind === "cancelled");
    runs.add(this, context.world);
  }

  start(effects: readonly Effect[], dropped: readonly EffectName[]): void {
    // The turn was abandoned while its last event was on the way to the caller. Nothing more may start.
    if (this.isOver) return;
    for (let index = 0; index < dropped.length; index++) this.#close(dropped[index] as EffectName)?.abort();
    let isGrace = false;
    for (let index = 0; index < effects.length; index++) {
      const openEffect = new OpenEffect(effects[index] as Effect, this.#openedAt);
      if (this.#open.length === 0) this.#open = [openEffect];
      else this.#open.push(openEffect);
      if (openEffect.effect.name === GRACE) isGrace = true;
      this.begin(openEffect);
    }
    if (isGrace) this.#abortWork();
  }

  /** Performs an effect. A journal delays some of them. */
  protected begin(scope: OpenEffect): void {
    const { effect } = scope;
    if (effect.kind === "sleep") return this.#sleep(effect.name, effect.until, scope);
    if (effect.kind === "wait") return void this.#wait(effect, scope);
    let answer: Awaitable<Answer>;
    try {
      answer = this.#perform(effect, scope);
    } catch (error) {
      return this.#threw(effect, error);
    }
    if (!isThenable(answer)) return this.arrive(answer);
    answer.then(
      (event) => this.arrive(event),
      (error: unknown) => this.#threw(effect, error),
    );
  }

  #close(name: EffectName): OpenEffect | undefined {
    const open = this.#open;
    for (let index = 0; index < open.length; index++) {
      const openEffect = open[index] as OpenEffect;
      if (openEffect.effect.name !== name) continue;
      const last = open.pop() as OpenEffect;
      if (last !== openEffect) open[index] = last;
      return openEffect;
    }
    return undefined;
  }

  #threw(effect: Effect, error: unknown): void {
    if (passingFault(error, this.context.store) === undefined) this.arrive(this.#failed(effect, error));
    else this.lose(error);
  }

  #failed(effect: Effect, error: unknown): Answer {
    const code = error instanceof RuntimeError ? error.code : "protocol.failed";
    return {
      kind: "failed",
      at: this.context.world.now(),
      effect: effect.name,
      error: { class: "runtime", code, message: describeThrown(error) },
    };
  }

  /**
   * Waits for the end of a grace period or a backoff. A dropped one ends early without an answer. It never waits longer
   * than planned, because the clock may have been set back since, or be another machine's.
   */
  #sleep(effect: EffectName, until: number, scope: OpenEffect): void {
    const { world } = this.context;
    const ms = Math.min(until - world.now(), until - scope.openedAt);
    void world.sleep(Math.max(0, ms), scope.signal).then(() => {
      // Timers use another clock than `now` and can fire a millisecond before `until`. Code that measures its sleep
      // would see a shorter one than it asked for.
      if (!scope.isAborted) this.arrive({ kind: "slept", at: Math.max(world.now(), until), effect });
    });
  }

  async #wait(effect: EffectOf<"wait">, scope: LazyScope): Promise<void> {
    const { world, store } = this.context;
    const { key, until, name } = effect;
    this.#waits ??= new Map();
    this.#waits.set(key, name);
    try {
      await this.announce(effect);
      await world.sleep(Math.max(0, until - world.now()), scope.signal);
      if (scope.isAborted || !this.#waits.has(key)) return;
      // The first writer wins, so an answer that came just before the timeout stays.
      await store.waits.resolve(key, { kind: "timeout" }, world.now());
      this.poke();
    } catch (error) {
      this.lose(error);
    }
  }

  /** Writes the row of a wait, then notifies readers that it can be answered. */
  protected async announce(effect: EffectOf<"wait">): Promise<void> {
    const { store, world } = this.context;
    const sent = world.now();
    this.#heard(await store.append(this.turn.lease, 0, [], sent, [waitOf(effect)]), sent);
    this.context.waiting(effect.key);
    // An earlier run may have announced the wait, and it may already be answered.
    await this.poke();
  }

  #abortWork(): void {
    for (const openEffect of [...this.#open])
      if (openEffect.effect.kind !== "sleep" && openEffect.effect.kind !== "wait") openEffect.abort();
  }

  protected arrive(event: TurnEvent): void {
    if (this.isOver) return this.context.trace("host.late", { event: event.kind });
    const waiter = this.#waiter;
    if (waiter === undefined) {
      this.#queue.push(event);
      return;
    }
    if (!this.hand(event)) return;
    this.#waiter = undefined;
    waiter.quiet?.abort();
    waiter.resolve(event);
  }

  /**
   * Closes the effect that the event answers. Checked here and not on arrival, because an earlier event may have
   * dropped that effect; then the answer is dropped and traced.
   */
  protected hand(event: TurnEvent): boolean {
    this.#openedAt = event.at;
    if (!("effect" in event)) return true;
    const openEffect = this.#close(event.effect);
    if (openEffect !== undefined) {
      if (event.kind === "resolved") openEffect.abort(); // Stops the timer of the timeout.
      if (event.spawns !== undefined) this.spawn(event);
      return true;
    }
    this.context.trace("host.late", { event: event.kind, effect: event.effect });
    return false;
  }

  /** Jobs that are being written. The commit waits for them. */
  #spawning: Promise<void> | undefined;

  /** Writes the jobs that an event starts. A journal writes them with the event. */
  protected spawn(event: TurnEvent): Awaitable<void> {
    const { store, world } = this.context;
    const spawns = spawnsIn([event], this.turn.lease);
    const sent = world.now();
    const written = store.append(this.turn.lease, 0, [], sent, [], spawns);
    const tell = (answer: Appended): void => {
      this.#heard(answer, sent);
      this.context.spawned(spawns.map(({ job }) => job));
    };
    if (!isThenable(written)) return tell(written);
    const before = this.#spawning;
    this.#spawning = Promise.resolve(written)
      .then(tell, (error: unknown) => this.lose(error))
      .then(() => before);
    return this.#spawning;
  }

  next(): Awaitable<TurnEvent>;
  next(quietMs: number | undefined): Awaitable<TurnEvent | undefined>;
  next(quietMs?: number): Awaitable<TurnEvent | undefined> {
    return this.ready() ?? this.arrival(quietMs);
  }

  /** Returns the next event that has arrived and still answers an open effect. */
  protected ready(): TurnEvent | undefined {
    const queue = this.#queue;
    while (this.#lost === undefined && this.#head < queue.length) {
      const event = queue[this.#head++] as TurnEvent;
      if (this.#head === queue.length) {
        queue.length = 0;
        this.#head = 0;
      }
      if (this.hand(event)) return event;
    }
    return undefined;
  }

  protected get hasArrivals(): boolean {
    return this.#head < this.#queue.length;
  }

  protected arrival(quietMs?: number): Promise<TurnEvent | undefined> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    const { promise, resolve, reject } = Promise.withResolvers<TurnEvent | undefined>();
    if (quietMs === undefined) this.#waiter = { resolve, reject };
    else {
      const quiet = new AbortController();
      this.#waiter = { resolve, reject, quiet };
      if (quietMs !== Infinity)
        void this.context.world.sleep(quietMs, quiet.signal).then(() => {
          if (!quiet.signal.aborted) this.hurry();
        });
    }
    return promise;
  }

  hurry(): void {
    const waiter = this.#waiter;
    if (waiter?.quiet === undefined) return;
    this.#waiter = undefined;
    waiter.quiet.abort();
    waiter.resolve(undefined);
  }

  /** Stores no event, because they are in memory only. */
  record(event: Applied): Awaitable<void> {
    if (event.spawns !== undefined) return this.spawn(event);
  }

  /** Refuses, because a turn whose events are in memory cannot be resumed. */
  park(_parked: ParkedTurn): Awaitable<{ readonly kind: "parked" } | { readonly reopen: readonly TurnEvent[] }> {
    return { reopen: [] };
  }

  commit(ended: EndedTurn): Awaitable<Committed | { readonly reopen: readonly TurnEvent[] }> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    const spawning = this.#spawning;
    if (spawning !== undefined) {
      this.#spawning = undefined;
      return spawning.then(() => this.commit(ended));
    }
    const answer = this.context.store.commit(this.turn.lease, ended);
    return isThenable(answer) ? answer.then((found) => this.#committed(found)) : this.#committed(answer);
  }

  #committed(answer: CommitAnswer): Committed | { readonly reopen: readonly TurnEvent[] } {
    if (answer.kind === "committed") {
      this.end();
      return answer;
    }
    this.#cancelSeen = true;
    this.#openedAt = answer.cancel.at;
    const inLine = this.#queue.findIndex((event, index) => index >= this.#head && event.kind === "cancelled");
    if (inLine >= 0) this.#queue.splice(inLine, 1); // Mail brought the same cancel, which must be folded once.
    return { reopen: [this.reopened({ kind: "cancelled", ...answer.cancel })] };
  }

  protected reopened(event: TurnEvent): TurnEvent {
    return event;
  }

  /**
   * Called by the timer. It skips while a read is running, because reads must not pile up while the store is locked.
   */
  look(): void {
    if (this.#looks === 0) void this.poke();
  }

  poke(): Awaitable<void> {
    if (this.isOver) return;
    const sent = this.context.world.now();
    try {
      const mail = this.context.store.renew(this.turn.lease, sent);
      if (!isThenable(mail)) return this.read(mail, sent);
      this.#looks++;
      return mail
        .then(
          (found) => this.read(found, sent),
          (error: unknown) => this.lose(error),
        )
        .then(() => void this.#looks--);
    } catch (error) {
      this.lose(error);
    }
  }

  protected read(mail: Mail, sent: number): void {
    this.#heard(mail, sent);
    this.context.followed(mail.isFollowed === true);
    if (mail.cancel !== undefined && !this.#cancelSeen) {
      this.#cancelSeen = true;
      this.arrive({ kind: "cancelled", ...mail.cancel });
    }
    for (const { key, answer } of mail.resolved ?? []) {
      const effect = this.#waits?.get(key);
      if (effect === undefined || this.#waits?.delete(key) !== true) continue;
      this.arrive({ kind: "resolved", at: this.context.world.now(), effect, answer });
    }
  }

  #heard({ pending }: Appended, sent: number): void {
    if (pending !== undefined) this.context.pending(pending, sent);
  }

  /**
   * Ends this run because of a lost lease or a failing store: nothing more is stored, signals abort, and the caller of
   * `next` gets the error.
   */
  protected lose(error: unknown): void {
    if (this.isOver) return;
    this.context.trace("host.lost", { problem: describeThrown(error) });
    this.#letGo(error);
    if (hasCode(error, "lease.lost")) return;
    // The lease is still valid. Released, so that the next worker need not wait for it to expire.
    const { store } = this.context;
    void Promise.resolve()
      .then(() => store.release(this.turn.lease))
      .catch(() => {});
  }

  #letGo(error: unknown): void {
    this.#lost = error;
    this.end();
    this.#waiter?.quiet?.abort();
    this.#waiter?.reject(error);
    this.#waiter = undefined;
  }

  /** run-2 */
  protected end(): void {
    this.isOver = true;
    this.#runs.delete(this);
    if (this.#open.length > 0) for (const openEffect of this.#open.splice(0)) openEffect.abort(this.#lost);
  }

  async leave(): Promise<void> {
    if (this.isOver) return;
    this.#letGo(new RuntimeError("runtime.closed", {}));
    await this.context.store.release(this.turn.lease);
  }
}
