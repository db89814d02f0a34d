// A host that runs effects in this process and decides when each may start, so that a turn survives the process.
// `LocalRun` performs effects, queues answers and reads mail; `turn/step.ts` interprets the events.
// journal-1: An outward effect starts only when all events returned so far are stored.
// journal-2: No effect starts while recorded events are being folded, nor before `resumed` is written.
// journal-3: No outward effect starts after `#until`, because another worker may have the lease. A write renews it.
// journal-4: One write at a time (`#writing`).

import { type Awaitable, andThen, isThenable } from "../model/awaitable.ts";
import { asWaitKey, type EffectName } from "../model/ids.ts";
import { TEXTS } from "../model/texts.ts";
import type { Appended, Committed, EndedTurn, JobSpawn, Mail, NewWait, ParkedTurn } from "../stores/store.ts";
import { type Effect, OUTWARD } from "../turn/effect.ts";
import type { Applied, TurnEvent } from "../turn/event.ts";
import { STEP_VERSION } from "../turn/state.ts";
import type { EffectHost, HostContext, Perform, TurnRef } from "./host.ts";
import { LocalRun, type OpenEffect, spawnsIn, waitOf } from "./local/local-run.ts";
import { LOOK_MS, Runs } from "./local/runs.ts";

/**
 * A host that runs effects in this process and stores every event before an outward effect follows from it. So the next
 * process that opens the turn folds the same events and continues. The default for durable stores.
 */
export function journal(): EffectHost {
  const runs = new Runs();
  return {
    kind: "journal",
    parks: true,
    open: (turn, perform, context) => new JournalRun(turn, perform, context, runs),
  };
}

/**
 * Passed to `LocalRun` as its recorded events. This class returns the journal itself, because effects must wait until
 * all of it is folded.
 */
const NOTHING_RECORDED: readonly TurnEvent[] = [];
const WEEK_MS = 7 * 24 * 3_600_000;

class JournalRun extends LocalRun {
  /** Events that an earlier run recorded. */
  readonly #replay: TurnEvent[];
  /** How many of them were returned. */
  #replayed = 0;
  /** An earlier run had this turn: `resumed` must be written first (journal-2). */
  #isToResume: boolean;
  /** Recorded events are still being returned, or `resumed` is not written yet (journal-2). */
  #isFolding: boolean;
  /** Returned events that are not stored yet. */
  #unwritten: TurnEvent[] = [];
  #newWaits: NewWait[] = [];
  /** Effects that have not started (journal-1, journal-2). */
  #unreleased: OpenEffect[] = [];
  #seq: number;
  /** When the lease expires (journal-3), by this process's clock, counted from before the request. */
  #until: number;
  /** When mail was last read. */
  #looked: number;
  #writing: PromiseLike<void> | undefined;
  /** Whether the last returned event has been folded. */
  #isStepped = true;
  #isLeaving = false;

  constructor(turn: TurnRef, perform: Perform, context: HostContext, runs: Runs) {
    super(turn, perform, context, runs, NOTHING_RECORDED);
    this.#replay = turn.journal.slice(1);
    this.#seq = turn.journal.length;
    this.#isToResume = turn.isResumed === true;
    this.#isFolding = this.#replay.length > 0 || this.#isToResume;
    this.#until = turn.until;
    this.#looked = turn.until - turn.lease.heldMs;
  }

  override start(effects: readonly Effect[], dropped: readonly EffectName[]): void {
    this.#isStepped = true;
    if (dropped.length > 0) this.#unreleased = this.#unreleased.filter(({ effect }) => !dropped.includes(effect.name));
    super.start(effects, dropped);
    // Usually `next` is called before this microtask runs, and writes first.
    if (this.#unreleased.length > 0 && !this.#isFolding) queueMicrotask(this.#soon);
  }
  readonly #soon = (): void => {
    if (this.#unreleased.length > 0) void this.#write();
  };

  protected override begin(openEffect: OpenEffect): void {
    const { effect } = openEffect;
    if (!this.#isFolding && !OUTWARD.has(effect.kind)) return super.begin(openEffect);
    if (effect.kind === "wait" && !this.#isFolding) this.#newWaits.push(waitOf(effect));
    this.#unreleased.push(openEffect);
  }

  protected override hand(event: TurnEvent): boolean {
    if (!super.hand(event)) return false;
    this.#answered(event);
    this.#unwritten.push(event);
    this.#isStepped = false;
    return true;
  }

  #answered(event: TurnEvent): void {
    if (this.#unreleased.length > 0 && "effect" in event)
      this.#unreleased = this.#unreleased.filter(({ effect }) => effect.name !== event.effect);
  }

  override next(): Awaitable<TurnEvent>;
  override next(quietMs: number | undefined): Awaitable<TurnEvent | undefined>;
  override next(quietMs?: number): Awaitable<TurnEvent | undefined> {
    this.#isStepped = true;
    if (this.#replayed < this.#replay.length) {
      const event = this.#replay[this.#replayed++] as TurnEvent;
      this.#isFolding = this.#replayed < this.#replay.length || this.#isToResume;
      super.hand(event);
      this.#answered(event);
      return event;
    }
    if (this.#isToResume) return this.#resume();
    for (;;) {
      const ready = this.ready();
      if (ready !== undefined) return ready;
      const writing = this.#write();
      if (writing !== undefined) return writing.then(() => this.next(quietMs));
      if (!this.hasArrivals || this.isOver) return this.arrival(quietMs);
    }
  }

  /** Writes `resumed` at once, so that a turn that crashes its process before anything else counts as tried. */
  #resume(): Awaitable<TurnEvent> {
    const { world } = this.context;
    this.#isToResume = this.#isFolding = false;
    for (const openEffect of this.#unreleased) {
      openEffect.isResumed = true;
      // The earlier run may have died after it stored the event and before it stored the row of the wait.
      const { effect } = openEffect;
      if (effect.kind === "wait") this.#newWaits.push(waitOf(effect));
    }
    const resumed: TurnEvent = {
      kind: "resumed",
      at: world.now(),
      step: STEP_VERSION,
      generation: this.turn.lease.generation,
      by: this.turn.lease.owner.process,
      ...(this.turn.isFault === true ? { isFault: true } : {}),
    };
    this.#unwritten.push(resumed);
    return andThen(this.#append(), () => resumed);
  }

  /**
   * Stores the returned events, then starts the effects that waited for them. Returns undefined if there is nothing to
   * wait for.
   */
  #write(): PromiseLike<void> | undefined {
    if (this.#writing !== undefined) return this.#writing;
    if (this.isOver || this.#isLeaving) return undefined;
    const isNothingNew = this.#unwritten.length === 0 && this.#newWaits.length === 0;
    if (isNothingNew && this.#unreleased.length === 0) return undefined;
    const written = isNothingNew && this.context.world.now() < this.#until ? undefined : this.#append();
    if (written === undefined) return void this.#beginHeld();
    this.#writing = written.then(() => {
      this.#writing = undefined;
      // The process may have been suspended during the write for longer than the lease (journal-3).
      if (this.context.world.now() >= this.#until) return this.#write();
      this.#beginHeld();
      return undefined;
    });
    return this.#writing;
  }

  #append(): PromiseLike<void> | undefined {
    const { store, world } = this.context;
    const events = this.#unwritten;
    const waits = this.#newWaits;
    this.#unwritten = [];
    if (waits.length > 0) this.#newWaits = [];
    const spawns = spawnsIn(events, this.turn.lease);
    const sent = world.now();
    try {
      const answer = store.append(this.turn.lease, this.#seq, events, sent, waits, spawns);
      if (!isThenable(answer)) return void this.#appended(events, waits, spawns, sent, answer);
      return answer
        .then((found) => this.#appended(events, waits, spawns, sent, found))
        .then(undefined, (error: unknown) => this.lose(error));
    } catch (error) {
      this.lose(error);
      return undefined;
    }
  }

  #appended(
    events: readonly TurnEvent[],
    waits: readonly NewWait[],
    spawns: readonly JobSpawn[],
    sent: number,
    { heldMs, pending }: Appended,
  ): void {
    this.#seq += events.length;
    this.#until = sent + heldMs;
    if (pending !== undefined) this.context.pending(pending, sent);
    for (const { key } of waits) this.context.waiting(key);
    this.#tellSpawned(spawns);
    if (sent - this.#looked < LOOK_MS) return;
    this.#looked = sent;
    void this.poke(); // A turn that never waits gives the timer no chance to read mail.
  }

  #tellSpawned(spawns: readonly JobSpawn[]): void {
    if (spawns.length > 0) this.context.spawned(spawns.map(({ job }) => job));
  }

  /** Keeps the effects waiting while there are events to fold, because a cancel among them may drop some. */
  #beginHeld(): void {
    if (this.#unreleased.length === 0 || this.hasArrivals || this.isOver || this.#isLeaving) return;
    const unreleased = this.#unreleased;
    this.#unreleased = [];
    for (let index = 0; index < unreleased.length; index++) {
      const each = unreleased[index] as OpenEffect;
      // The process may also have been suspended between two effects (journal-3).
      if (this.context.world.now() >= this.#until) {
        this.#unreleased = [...unreleased.slice(index), ...this.#unreleased];
        return void this.#write();
      }
      const { effect, isResumed } = each;
      // `settle` and `finalize` still run in a cancelled turn, so that hooks see its results and its data is stored.
      if (each.isAborted && effect.kind !== "settle" && effect.kind !== "finalize") {
        this.#given(each);
        continue;
      }
      if (isResumed && effect.kind === "call" && effect.onInterrupt !== undefined) this.#interrupted(effect);
      else super.begin(each);
    }
    // The wait may have been answered before the crash.
    if (unreleased.some(({ effect }) => effect.kind === "wait")) void this.poke();
  }

  /** Answers for an effect that had not started when the turn was cancelled. */
  #given({ effect, isResumed }: OpenEffect): void {
    const at = this.context.world.now();
    const { name } = effect;
    const reason = TEXTS.turnStopped;
    if (effect.kind !== "call")
      return this.arrive({
        kind: "failed",
        at,
        effect: name,
        error: { class: "cancelled", code: "turn.cancelled", message: reason },
      });
    // A resumed call may have run before the crash. It gets no answer here and becomes unknown after the grace period.
    if (!isResumed) this.arrive({ kind: "returned", at, effect: name, output: { kind: "cancelled", reason } });
  }

  /** Answers for a call that may have run before the crash and whose tool must not be repeated. */
  #interrupted({ name, onInterrupt }: Extract<Effect, { kind: "call" }>): void {
    const { world } = this.context;
    const at = world.now();
    const asks = onInterrupt === "ask" ? { key: asWaitKey(world.secret()), until: at + WEEK_MS } : {};
    this.arrive({ kind: "interrupted", at, effect: name, ...asks });
  }

  /** Does nothing: jobs are written together with the event that starts them. */
  protected override spawn(): void {}

  /** Jobs of events that are not stored start with the commit, which makes those events obsolete. */
  override commit(ended: EndedTurn): Awaitable<Committed | { readonly reopen: readonly TurnEvent[] }> {
    const spawns = spawnsIn(this.#unwritten, this.turn.lease);
    if (spawns.length === 0) return super.commit(ended);
    return andThen(super.commit({ ...ended, spawns }), (answer) => {
      // Jobs that end with the turn have already ended with this commit.
      if (!("reopen" in answer)) this.#tellSpawned(spawns.filter(({ job }) => job.onParentEnd === "keep"));
      return answer;
    });
  }

  /** Does nothing: the row of the wait was written together with the event that opened it. */
  protected override async announce(): Promise<void> {}

  override async record(event: Applied): Promise<void> {
    await this.#writing;
    if (this.lost !== undefined) throw this.lost;
    this.#unwritten.push(event);
    await this.#append();
    if (this.lost !== undefined) throw this.lost;
  }

  /** Stores the returned events before it releases the lease, so that the next run folds all of them. */
  override async park(parked: ParkedTurn): Promise<{ kind: "parked" } | { reopen: readonly TurnEvent[] }> {
    await this.#write();
    if (this.lost !== undefined) throw this.lost;
    if (this.hasArrivals) return { reopen: [] };
    const { store, world } = this.context;
    const sent = world.now();
    const answer = await store.park(this.turn.lease, parked, sent);
    if (answer.kind === "mail") this.read(answer.mail, sent);
    else this.end();
    return answer.kind === "mail" ? { reopen: [] } : answer;
  }

  protected override reopened(event: TurnEvent): TurnEvent {
    this.#unwritten.push(event);
    return event;
  }

  protected override read(mail: Mail, sent: number): void {
    this.#until = sent + mail.heldMs; // Earlier than necessary if an append that was sent later was answered first, which is safe.
    this.#looked = sent;
    super.read(mail, sent);
  }

  /** Stores returned and folded events as far as possible, so that the next run need not repeat their effects. */
  override async leave(): Promise<void> {
    if (!this.isOver && !this.#isLeaving) {
      this.#isLeaving = true;
      await this.#writing;
      // The last event was not folded, so what follows from it is unknown. The next run performs its effect again.
      if (!this.#isStepped) this.#unwritten.pop();
      if (this.#unwritten.length > 0) await this.#append();
    }
    await super.leave();
  }
}
